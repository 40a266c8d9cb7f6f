//! What the page does: a dropped bundle with a run gives the breakdown without another question.

use collectune::{
    form::Choices,
    progress::Silent,
    report::{Contents, Workbench},
    training_time::dropped::Dropped,
    workbench::{self, Material, Study, TrainingTime},
};

use super::samples::files;

/// Has all jobs done as other workers would, each from the basis alone.
fn finish(bench: &mut TrainingTime) -> usize {
    let mut count = 0;
    loop {
        let jobs = bench.jobs().unwrap();
        let Some(round) = jobs.rounds.first() else { return count };
        count += round.len();
        for part in round.chunks(8) {
            let numbers: Vec<u32> = part.iter().map(|(number, _)| *number).collect();
            let done = workbench::work(Workbench::TrainingTime, &jobs.basis, &numbers, &mut Silent).unwrap();
            bench.take(&done, &mut Silent).unwrap();
            bench.conclude(&mut Silent).unwrap();
        }
    }
}

#[test]
fn a_dropped_bundle_with_a_run_is_answered() {
    let Some(files) = files(&["ett/Perlmutter", "ett/examples"]) else { return };
    let mut bench = TrainingTime::new(Dropped::new(files));
    bench.choose(Choices::default(), &mut Silent).unwrap();
    println!("{} jobs", finish(&mut bench));
    let report = bench.report(Material::default(), &Contents::whole()).unwrap();
    println!("{}\n{}", report.title, report.summary.join("\n"));
    assert!(report.summary[0].contains("on 16 GPUs (pp 4, tp 2, dp 2)"));
    let titles: Vec<&str> = report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles[..4], ["Step", "What if", "Layer", "Memory"]);
    assert!(titles.contains(&"Health of the samples") && titles.contains(&"Regressors"));
    // The timeline is drawn, and every field of the form has a key of its own.
    assert_eq!(report.sections[0].charts.len(), 2);
    let form = bench.form().unwrap();
    let mut keys: Vec<&str> = form.iter().map(|field| field.key.as_str()).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");

    // What if messages took a tenth, and which layout is best then: nothing of the step is learnt again.
    bench.choose(Choices::parse("#x.p2p=0.1&s.gpus=16&s.batch=64&s.b=2,4"), &mut Silent).unwrap();
    println!("{} more jobs", finish(&mut bench));
    let report = bench.report(Material::default(), &Contents::whole()).unwrap();
    println!("{}", report.summary.join("\n"));
    assert!(report.summary[1].starts_with("The changes make it −"), "{:?}", report.summary);
    assert!(report.summary.iter().any(|line| line.starts_with("The best layout is")));
    assert!(report.summary.iter().any(|line| line.starts_with("Without the changes")));
    assert!(bench.files().iter().any(|(key, _)| key == "layouts"));
}

#[test]
fn samples_without_a_run_show_their_health_and_the_search() {
    let Some(files) = files(&["ett/Vista"]) else { return };
    let mut bench = TrainingTime::new(Dropped::new(files));
    bench.choose(Choices::default(), &mut Silent).unwrap();
    assert!(bench.jobs().unwrap().rounds.is_empty());
    let report = bench.report(Material::default(), &Contents::whole()).unwrap();
    assert!(report.summary[0].starts_with("There is no run to predict"));
    let health = report.sections.iter().find(|section| section.title == "Health of the samples").unwrap();
    assert!(health.tables[0].listing.rows.len() > 3);
    let form = bench.form().unwrap();
    let leave = form.iter().find(|field| field.key == "out").unwrap();
    let collectune::form::Control::Many(flags) = &leave.control else { panic!("{leave:?}") };
    let first = flags.iter().find(|(_, label)| label.starts_with("firstStage_optimizer")).unwrap();
    let mut choices = Choices::default();
    choices.set("out", &first.0);
    bench.choose(choices, &mut Silent).unwrap();
    assert_eq!(bench.study().dropped().left_out().len(), 1);
    assert_eq!(bench.study().dropped().left_out()[0].places.len(), 48);
    assert!(form.iter().any(|field| field.key == "s.gpus"));
}

#[test]
fn nothing_dropped_says_what_to_drop() {
    let mut bench = TrainingTime::default();
    let error = bench.choose(Choices::default(), &mut Silent).unwrap_err();
    assert!(error.to_string().starts_with("there are no samples to study"), "{error}");
}
