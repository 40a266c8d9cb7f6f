//! What the page does: a dropped bundle with a run gives the breakdown without another question.

use collectune::{
    collective::Collective,
    form::{Choices, Control},
    intake::{self, FileContent},
    progress::{Progress, Silent},
    registry::{passed_values::receive, work},
    report::{Contents, Workbench},
    training_time::form::TrainingTime,
    training_time::{
        bundle::{DroppedFile, FileUse},
        loaded::DroppedFiles,
        prediction::{Direction, Mark, Regressors},
        regressors::{Library, Mode, Options, RegressorTarget},
        samples::Communicator,
        simulate::Simulation,
        study::{self, Settings},
    },
    workbench::{PassedValue, ReportContext, Study, TimeCurve},
};

use super::support::real;

/// Files as they are dropped.
fn opened(files: &[(String, String)]) -> Vec<DroppedFile> {
    let open = |(path, text): &(String, String)| {
        let bytes = text.as_bytes();
        match intake::open(bytes, path, bytes.len() as u64, 0, None, &mut Silent) {
            (_, FileContent::Training(file)) => *file,
            (report, _) => panic!("{report:?}"),
        }
    };
    files.iter().map(open).collect()
}

fn choices(of: &str) -> Choices {
    Choices::parse(&format!("#{of}"))
}

/// Has all jobs done as other workers would, each from the basis alone.
fn finish(bench: &mut TrainingTime) -> usize {
    let mut count = 0;
    loop {
        let jobs = bench.jobs().unwrap();
        let Some(round) = jobs.rounds.first() else {
            if !jobs.goes_on {
                return count;
            }
            bench.go_on(0, &mut Silent).unwrap();
            continue;
        };
        count += round.len();
        for part in round.chunks(8) {
            let numbers: Vec<u32> = part.iter().map(|(number, _)| *number).collect();
            let done = work(Workbench::TrainingTime, &jobs.basis, &numbers, &mut Silent).unwrap();
            bench.take(&done, &mut Silent).unwrap();
            bench.conclude(&mut Silent).unwrap();
        }
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_dropped_bundle_with_a_run_is_answered() {
    let files = real::dropped(&["ett/Perlmutter", "ett/examples"]);
    let mut bench = TrainingTime::new(DroppedFiles::new(files));
    bench.choose(Choices::default(), &mut Silent).unwrap();
    println!("{} jobs", finish(&mut bench));
    let report = bench.report(ReportContext::default(), &Contents::whole()).unwrap();
    println!("{}\n{}", report.title, report.summary.join("\n"));
    assert!(report.summary[0].contains("on 16 GPUs (pp 4, tp 2, dp 2)"));
    let titles: Vec<&str> = report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles[..4], ["Step", "What if", "Layer", "Memory"]);
    assert!(titles.contains(&"Health of the samples") && titles.contains(&"Regressors"));
    // What was sampled at other inputs can be sampled at the run's.
    let lacking = report.sections.iter().find(|section| section.title == "What was not sampled").unwrap();
    let row = &lacking.tables[0].listing.rows[0];
    assert_eq!(
        (row[0].text.as_str(), row[2].text.as_str()),
        ("operator linear2 at the run's inputs", "its samples at other inputs")
    );
    assert!(row[3].text.contains("mp 2: only 1 was sampled"), "{}", row[3].text);
    let written: Vec<&str> = lacking.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(written, ["sample.py"]);
    // Each operator and pass of a layer once.
    let layer = &report.sections[2].tables[0].listing.rows;
    let pairs: Vec<(&str, &str)> = layer.iter().map(|row| (row[0].text.as_str(), row[1].text.as_str())).collect();
    assert!((1..pairs.len()).all(|at| !pairs[..at].contains(&pairs[at])), "{pairs:?}");
    // The timeline is drawn, and every field of the form has a key of its own.
    assert_eq!(report.sections[0].charts.len(), 2);
    let form = bench.form().unwrap();
    let mut keys: Vec<&str> = form.iter().map(|field| field.key.as_str()).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");

    // What if messages took a tenth, and which layout is best then: nothing of the step is learnt again.
    bench.choose(Choices::parse("#x.p2p=0.1&s.gpus=16&s.batch=64&s.b=2,4"), &mut Silent).unwrap();
    println!("{} more jobs", finish(&mut bench));
    let report = bench.report(ReportContext::default(), &Contents::whole()).unwrap();
    println!("{}", report.summary.join("\n"));
    assert!(report.summary.iter().any(|line| line.starts_with("The changes make it −")), "{:?}", report.summary);
    assert!(report.summary.iter().any(|line| line.starts_with("The best layout is")));
    assert!(report.summary.iter().any(|line| line.starts_with("Without the changes")));
    assert!(bench.files().iter().any(|(key, _)| key == "layouts"));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn samples_without_a_run_show_their_health_and_the_search() {
    let files = real::dropped(&["ett/Vista"]);
    let mut bench = TrainingTime::new(DroppedFiles::new(files));
    bench.choose(Choices::default(), &mut Silent).unwrap();
    assert!(bench.jobs().unwrap().rounds.is_empty());
    let report = bench.report(ReportContext::default(), &Contents::whole()).unwrap();
    assert!(report.summary[0].starts_with("There is no run to predict"));
    let health = report.sections.iter().find(|section| section.title == "Health of the samples").unwrap();
    assert!(health.tables[0].listing.rows.len() > 3);
    let form = bench.form().unwrap();
    let leave = form.iter().find(|field| field.key == "out").unwrap();
    let Control::Many(flags) = &leave.control else { panic!("{leave:?}") };
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
    let mut bench = TrainingTime::new(DroppedFiles::new(opened(&[(
        "run.yml".to_owned(),
        "training_config: [4, 2, \"x\", 4]\n".to_owned(),
    )])));
    let error = bench.choose(Choices::default(), &mut Silent).unwrap_err().to_string();
    assert!(
        error.starts_with("there are no samples to study") && error.contains(". run.yml can't be used: line 1"),
        "{error}"
    );
}

/// The first rows of a search stand there before the search is over, for several numbers of GPUs at one batch.
#[test]
fn the_first_layouts_are_shown_at_once() {
    let mut bench = TrainingTime::new(DroppedFiles::new(opened(&Simulation::example().files())));
    bench.choose(choices("s.gpus=8,64, 16&s.batch=64"), &mut Silent).unwrap();
    let summary = |bench: &TrainingTime| bench.report(ReportContext::default(), &Contents::whole()).unwrap();
    while let Some(round) = bench.jobs().unwrap().rounds.first() {
        let numbers: Vec<u32> = round.iter().map(|(number, _)| *number).collect();
        let done = work(Workbench::TrainingTime, &bench.jobs().unwrap().basis, &numbers, &mut Silent);
        bench.take(&done.unwrap(), &mut Silent).unwrap();
        bench.conclude(&mut Silent).unwrap();
    }
    assert!(bench.jobs().unwrap().goes_on);
    let layouts = |bench: &TrainingTime| {
        let report = summary(bench);
        let section = report.sections.into_iter().find(|section| section.title == "Layouts").unwrap();
        (report.summary, section.text.last().unwrap().clone(), section.tables[0].listing.clone())
    };
    let (before, said, _) = layouts(&bench);
    println!("{}\n{said}", before.join("\n"));
    assert!(
        before.iter().any(|line| line.starts_with("The best layout so far is"))
            && said.ends_with("these are the first.")
    );
    assert!(bench.files().iter().all(|(key, _)| key != "layouts"));
    bench.go_on(0, &mut Silent).unwrap();
    assert!(!bench.jobs().unwrap().goes_on);
    let (after, said, rows) = layouts(&bench);
    println!("{}\n{said}", after.join("\n"));
    assert!(after.iter().any(|line| line.starts_with("The best layout is")));
    let gpus = rows.columns.iter().position(|column| column.name == "GPUs").unwrap();
    // The best on each number of GPUs.
    for count in [8.0, 16.0, 64.0] {
        assert!(rows.rows.iter().any(|row| row[gpus].number == Some(count)), "{count}");
    }
    assert!(bench.files().iter().any(|(key, _)| key == "layouts"));
    let error = bench.choose(choices("s.gpus=8,many"), &mut Silent).unwrap_err();
    assert_eq!(error.to_string(), "GPUs: \"many\" is not a whole number from 1 to 1048576");
}

#[test]
fn a_run_without_experts_or_chunks_is_refused_by_the_field() {
    let mut bench = TrainingTime::new(DroppedFiles::new(opened(&Simulation::example().files())));
    for (choice, label) in [("r.experts", "Experts"), ("r.chunks", "Chunks per stage"), ("r.tp", "Tensor degree")] {
        let error = bench.choose(choices(&format!("{choice}=0")), &mut Silent).unwrap_err();
        assert_eq!(error.to_string(), format!("{label}: \"0\" is not a whole number from 1 on"));
    }
}

/// What only a person can say is asked for by a field, and what was said can be taken back.
#[test]
fn questions_about_files_are_answered_on_the_page() {
    let mut files = Simulation::example().files();
    let renamed = files.iter_mut().find(|(path, _)| path.contains("linear3")).unwrap();
    renamed.0 = "simulated/operator/SimulatedGPU_renamed_fp16.csv".to_owned();
    // Two ranges that meet, the second in bytes.
    let sweep = |from: u64, bytes: u64| {
        let row = |step: u64| format!("{},2,1,{}\n", (from + step) * 1_000_000 * bytes, (from + step) * 100);
        format!("shape,nodes,GPUsPerNode,dur(us)\n{}", (1..=20).map(row).collect::<String>())
    };
    for (name, from, bytes) in [("allreduce_fp16_2_1", 20, 1), ("allreduce_large_fp16_2_1", 40, 2)] {
        files.iter_mut().find(|(path, _)| path.contains(name)).unwrap().1 = sweep(from, bytes);
    }
    let header = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,\
                  data parallelism,pipeline parallelism,iteration time (ms)\n2,16,8,1024,16,24,1024,1,1,2,0.37216\n";
    files.push(("simulated/steps.csv".to_owned(), header.to_owned()));
    let mut bench = TrainingTime::new(DroppedFiles::new(opened(&files)));
    bench.choose(Choices::default(), &mut Silent).unwrap();
    let asked = |bench: &TrainingTime| -> Vec<(String, String, Vec<String>)> {
        let form = bench.form().unwrap();
        let fields = form.into_iter().filter(|field| field.key.starts_with("ask."));
        fields
            .map(|field| match field.control {
                Control::One(all) => (field.key, field.label, all.into_iter().map(|(_, label)| label).collect()),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let fields = asked(&bench);
    for field in &fields {
        println!("{field:?}");
    }
    let key = |name: &str| fields.iter().find(|(_, label, _)| label.contains(name)).unwrap().0.clone();
    let (operator, bytes, seconds) = (key("renamed"), key("allreduce_large"), key("steps.csv"));
    assert_eq!(fields.len(), 3);
    assert!(fields.iter().any(|(.., all)| all.iter().any(|label| label.contains("are its shapes bytes"))));
    assert!(fields.iter().any(|(.., all)| all.iter().any(|label| label.contains("are they seconds?"))));
    let least = |bench: &TrainingTime| {
        let large = bench.study().bundle().clusters[0].collective("allreduce_large").unwrap();
        let rows = large.rows.iter().filter(|row| row.communicator == Communicator { nodes: 2, per_node: 1 });
        rows.map(|row| row.elements).min().unwrap()
    };
    assert_eq!(least(&bench), 82_000_000);
    let of = |name: &str, value: &str| format!("{name}={value}");
    let answers = [of(&operator, "linear3"), of(&bytes, "bytes"), of(&seconds, "seconds")].join("&");
    bench.choose(choices(&answers), &mut Silent).unwrap();
    let bundle = bench.study().bundle();
    assert!(bundle.clusters[0].operator("linear3").is_some() && bundle.questions.is_empty());
    assert_eq!(bundle.steps[0].steps[0].time_us.round(), 372_160.0);
    assert_eq!(least(&bench), 41_000_000);
    // The fields stay, as they were answered; and one is taken back.
    assert_eq!(asked(&bench).len(), 3);
    let form = bench.form().unwrap();
    assert!(form.iter().any(|field| field.key == operator && field.value == "linear3"));
    bench.choose(choices(&of(&bytes, "bytes")), &mut Silent).unwrap();
    let bundle = bench.study().bundle();
    assert!(bundle.clusters[0].operator("linear3").is_none() && bundle.questions.len() == 2);
    assert_eq!(least(&bench), 41_000_000);
    bench.choose(choices(&of(&operator, "out")), &mut Silent).unwrap();
    let file = bench.study().bundle().files.iter().find(|file| file.path.contains("renamed")).unwrap();
    assert_eq!(file.fate, FileUse::KnownUnused("left out by hand".to_owned()));
}

/// A model of XGBoost that says 4,321 µs whatever it is asked, for the forward time of gelu.
fn saved(features: u32) -> (String, String) {
    let model = serde_json::json!({"learner": {
        "objective": {"name": "reg:squarederror"},
        "learner_model_param": {"base_score": "4.321E3", "num_feature": features.to_string(), "num_class": "0"},
        "gradient_booster": {"name": "gbtree", "model": {"trees": [{
            "left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [0.0],
        }]}},
    }});
    ("simulated/operator/SimulatedGPU_gelu_fp16_fwd.json".to_owned(), model.to_string())
}

#[test]
fn saved_regressors_are_used_and_nobody_trains_them() {
    let mut files = Simulation::example().files();
    files.push(saved(3));
    let dropped = DroppedFiles::new(opened(&files));
    let run = dropped.bundle().runs[0].run.clone();
    let scope = run.scope();
    let mut study = study::TrainingTimeStudy::new(dropped);
    let said = |study: &study::TrainingTimeStudy, direction| {
        study.library().unwrap().operator("gelu", direction, &scope).map(|said| said.time_us)
    };
    let settings = Settings { mode: Mode::Parity, run: Some(run), ..Settings::default() };
    study.choose(settings.clone()).unwrap();
    let gelu = |direction| RegressorTarget::Operator { name: "gelu".to_owned(), direction };
    let library = study.library().unwrap();
    let [forward, backward] = [Direction::Forward, Direction::Backward].map(|way| library.find(&gelu(way)).unwrap());
    assert!(library.is_trained(forward) && !library.is_trained(backward));
    assert_eq!(said(&study, Direction::Forward), Ok(4321.0));
    assert!(
        library.residuals(forward, Mark::Interpolated).len() > 100
            && library.score(forward).unwrap().grouped_percent.is_none()
    );
    let row = library.listing().rows.into_iter().find(|row| row[0].text == "gelu forward").unwrap();
    assert_eq!((row[1].text.as_str(), row[7].text.as_str()), ("boosted trees that were saved", "trained"));
    // No worker is told to train it; the backward direction is trained as before.
    let numbers: Vec<u32> = study.rounds().unwrap().concat().into_iter().map(|(number, _)| number >> 2).collect();
    assert!(!numbers.contains(&forward) && numbers.contains(&backward));
    // Not in the default mode.
    study.choose(Settings { mode: Mode::Default, ..settings }).unwrap();
    assert_ne!(said(&study, Direction::Forward), Ok(4321.0));

    // Without samples there is nothing to predict by it.
    let bare: Vec<(String, String)> =
        files.iter().filter(|(path, _)| !path.contains("_gelu_fp16.csv")).cloned().collect();
    let mut study = study::TrainingTimeStudy::new(DroppedFiles::new(opened(&bare)));
    study.choose(Settings { mode: Mode::Parity, ..Settings::default() }).unwrap();
    let why = "there are no samples of what it predicts".to_owned();
    assert_eq!(study.library().unwrap().unusable(), [("gelu".to_owned(), why)]);

    // One that wants other features is told of.
    files.pop();
    files.push(saved(5));
    let other = DroppedFiles::new(opened(&files));
    let file = other.bundle().files.iter().find(|file| file.path.ends_with(".json")).unwrap();
    assert_eq!(file.fate, FileUse::KnownUnused("it wants 5 features where gelu has 3".to_owned()));
}

/// Where no curve exists, latency and bandwidths of the cluster in the catalogue stand in, marked.
#[test]
fn messages_that_nobody_measured_are_of_the_catalogue() {
    let mut files = Simulation::example().files();
    files.retain(|(path, _)| !path.contains("/nccl/"));
    let dropped = DroppedFiles::new(opened(&files));
    let bundle = dropped.bundle();
    let of = |cluster: &collectune::training_time::samples::Cluster| {
        let catalogue = std::sync::Arc::new(bundle.catalogue.clone());
        Library::new(std::sync::Arc::new(cluster.clone()), catalogue, Options::default())
    };
    let cluster = &bundle.clusters[0];
    // Their GPUs are of no other cluster that is known: another folder is the same cluster.
    let elsewhere = collectune::training_time::samples::Cluster { name: "elsewhere".to_owned(), ..cluster.clone() };
    for library in [of(cluster), of(&elsewhere)] {
        for (name, factor) in [
            ("allreduce", 1.75),
            ("allreduce_large", 1.75),
            ("allgather_large", 7.0),
            ("p2p", 1.0),
            ("alltoall", 0.875),
        ] {
            let over = Communicator { nodes: 2, per_node: 4 };
            let said = library.collective(name, 1_000_000, over).unwrap();
            // 45 µs; four links of 22 GB/s leave a node.
            assert!((said.time_us - 45.0 - 2e6 * factor / 88.0 / 1e3).abs() < 1e-9, "{name} {}", said.time_us);
            assert_eq!(said.mark, Mark::Extrapolated);
        }
    }
    // A mixture of experts in the same folder: only its tokens' exchange was not sampled.
    let mut run = bundle.runs[0].run.clone();
    (run.model.experts, run.model.top_k, run.layout.expert) = (8, 2, 2);
    let files = opened(&Simulation::example().files());
    let bundle = collectune::training_time::bundle::bring_together(files, &Vec::new());
    let needs = collectune::training_time::needs::needs(&bundle, &run, &[], Mode::Default);
    let need = needs.iter().find(|need| need.purpose == "the experts' tokens").unwrap();
    println!("{}", need.sentence);
    assert_eq!(need.instead.as_deref(), Some("the bandwidth of simulated in the catalogue"));
    let library = of(&bundle.clusters[0]);
    let plan = collectune::training_time::step::plan(&run, Mode::Default, &bundle.catalogue, &library).unwrap();
    let exchange = plan.parts.iter().find(|part| part.name == "alltoall").unwrap();
    assert!(exchange.prediction.time_us > 0.0 && exchange.prediction.mark == Mark::Extrapolated);
}

/// Counts what it is told.
#[derive(Default)]
struct Counting(Vec<(String, u64, u64)>);

impl Progress for Counting {
    fn report(&mut self, doing: &str, done: u64, total: u64) {
        self.0.push((doing.to_owned(), done, total));
    }
}

/// `cargo test --release --test training_time full_grid -- --ignored --nocapture`: the whole grid of a real operator
/// with two directions, as a worker searches it.
#[test]
#[ignore = "minutes, and needs ../shared/data"]
fn the_full_grid_is_searched_to_its_end() {
    let files = real::dropped(&["ett/Perlmutter/operator"]);
    let settings = |file: &DroppedFile| file.path.ends_with("80GB.csv");
    let bare: Vec<DroppedFile> = files.iter().filter(|file| !settings(file)).cloned().collect();
    let mut bench = TrainingTime::new(DroppedFiles::new(bare.clone()));
    bench.choose(choices("mode=parity&grid=layernorm"), &mut Silent).unwrap();
    let jobs = bench.jobs().unwrap();
    let numbers: Vec<u32> = jobs.rounds.concat().into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers.len(), 2, "nothing else is trained");
    for number in numbers {
        let begin = std::time::Instant::now();
        let mut told = Counting::default();
        let done = work(Workbench::TrainingTime, &jobs.basis, &[number], &mut told).unwrap();
        bench.take(&done, &mut Silent).unwrap();
        bench.conclude(&mut Silent).unwrap();
        let points: Vec<u64> =
            told.0.iter().filter(|(doing, ..)| doing == "Searching settings").map(|(_, done, _)| *done).collect();
        println!("{} points in {:.1?}", points.len() - 1, begin.elapsed());
        assert_eq!((points.len(), points.is_sorted(), points.last()), (664, true, Some(&663)));
    }
    assert!(bench.jobs().unwrap().rounds.is_empty());
    let (key, label) = bench.files().into_iter().find(|(key, _)| key.ends_with("_operators.csv")).unwrap();
    let text = bench.file(&key, &mut Silent).unwrap().text;
    println!("{label}\n{text}");
    let published = DroppedFiles::new(files);
    for of in &published.bundle().clusters[0].settings {
        if of.function == "layernorm" {
            println!("published: {:?}: {}, error {:?}", of.of, of.family.title(), of.error);
        }
    }
    // It reads back as settings.
    let mut again = opened(&[(format!("Perlmutter/operator/{key}"), text)]);
    again.extend(bare);
    assert_eq!(DroppedFiles::new(again).bundle().clusters[0].settings.len(), 2);
}

fn reported(bench: &TrainingTime) -> String {
    let material = ReportContext { files: Vec::new(), problems: Vec::new() };
    let report = bench.report(material, &Contents::default()).unwrap();
    let sections = report.sections.iter().flat_map(|section| section.text.clone());
    let rows = report.sections.iter().flat_map(|section| &section.tables).flat_map(|table| &table.listing.rows);
    let cells = rows.map(|row| row.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>().join(" "));
    report.summary.iter().cloned().chain(sections).chain(cells).collect::<Vec<_>>().join("\n")
}

/// What Tuning passes is used by an estimated step; a curve over other GPUs stands beside it.
#[test]
fn an_estimated_step_takes_curves_and_other_times() {
    let model = r#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}"#;
    let files = opened(&[("config.json".to_owned(), model.to_owned())]);
    let mut bench = TrainingTime::new(DroppedFiles::new(files));
    let layout = "e.given=1&e.tp=8&e.b=1";
    bench.choose(choices(layout), &mut Silent).unwrap();
    let before = reported(&bench);
    assert!(
        before.contains("Tensor groups all_reduce 1×8 32 MiB")
            && before.contains("These times and curves can be changed"),
        "{before}"
    );

    let mut passed = choices(layout);
    let curve = |nodes: u32, us: f64| {
        let points = vec![(1 << 20, us / 4.0), (32 << 20, us), (2 << 30, us * 60.0)];
        PassedValue::Curve(TimeCurve { collective: Collective::AllReduce, nodes, per_node: 8, points })
    };
    receive(&curve(1, 900.0), &mut passed);
    receive(&curve(2, 2000.0), &mut passed);
    receive(&curve(1, 600.0), &mut passed);
    let typed = passed.get("x.tensor-curve").unwrap();
    assert_eq!(typed.lines().filter(|line| line.contains('x')).collect::<Vec<_>>(), ["2x8", "1x8"]);
    bench.choose(passed.clone(), &mut Silent).unwrap();
    let after = reported(&bench);
    assert!(after.contains("600.0 µs measured") && after.contains("as all_reduce over 2×8"), "{after}");
    assert!(after.contains("of 3 exchanges 2 as measured, 1 by the bandwidth of links"), "{after}");

    passed.set("x.tensor", "2");
    passed.set("x.operators", "1.25");
    bench.choose(passed.clone(), &mut Silent).unwrap();
    let slower = reported(&bench);
    assert!(slower.contains("1.200 ms measured") && slower.contains("The changes make it +"), "{slower}");
    let left_out = bench.commands(&[], &passed, &[]).unwrap().left_out.join("\n");
    assert!(left_out.contains("give what was measured with --collectives"), "{left_out}");
    // A curve that can't be read is refused in its field.
    passed.set("x.tensor-curve", "1x8\nnothing");
    assert!(bench.choose(passed, &mut Silent).is_err());
}
