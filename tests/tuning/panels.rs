//! The panels of the workbench: what an address chooses is what the sections and fields say.

#![allow(clippy::unwrap_used)]

use collectune::{
    form::{Choices, Control, Field},
    report::{Section, Workbench, placement::RowMark},
    tuning::{
        address::Panel,
        result::{AnswerBasis, Recommended, View},
        simulate::Simulation,
    },
    workbench::{AttachmentKind, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{Request, Response},
    },
};

use crate::support::worker::{ask, with};

fn choose(executor: &mut Executor, fragment: &str) -> WorkbenchView {
    shown(executor, WorkbenchQuestion::Choose(Choices::parse(fragment)))
}

fn section<'a>(view: &'a WorkbenchView, title: &str) -> &'a Section {
    let titles: Vec<&str> = view.report.sections.iter().map(|section| &section.title[..]).collect();
    view.report.sections.iter().find(|section| section.title == title).unwrap_or_else(|| panic!("{titles:?}"))
}

fn answer(executor: &mut Executor, question: WorkbenchQuestion) -> WorkbenchAnswer {
    let request = Request::Study { workbench: Workbench::Tuning, question: Box::new(question), is_held: false };
    match ask(executor, request) {
        Response::Study(answer) => *answer,
        other => panic!("{other:?}"),
    }
}

fn shown(executor: &mut Executor, question: WorkbenchQuestion) -> WorkbenchView {
    match answer(executor, question) {
        WorkbenchAnswer::Shown(view) => *view,
        other => panic!("{other:?}"),
    }
}

/// Does the jobs of a view elsewhere.
fn done(view: &WorkbenchView) -> Vec<Vec<u8>> {
    let jobs = view.jobs.rounds[0].iter().rev().map(|(job, _)| *job);
    jobs.map(|job| {
        let question = WorkbenchQuestion::Do { basis: view.jobs.basis.clone(), jobs: vec![job] };
        match answer(&mut Executor::default(), question) {
            WorkbenchAnswer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    })
    .collect()
}

fn field<'a>(view: &'a WorkbenchView, key: &str) -> &'a Field {
    view.form.iter().find(|field| field.key == key).unwrap()
}

fn example() -> Executor {
    let conf = "allreduce,0,65536,tree,ll,8,2,16,-1,-1\n".to_owned();
    with(&[("sweep.csv", Simulation::example().to_csv()), ("old.conf", conf.clone()), ("new.conf", conf)])
}

#[test]
fn every_field_takes_its_own_default_and_shows_what_was_chosen() {
    let mut executor = example();
    for panel in Panel::ALL {
        let begin = format!("#v=1&w=tuning&c=all_reduce&n=2&r=16{}", panel.suffix());
        for field in choose(&mut executor, &begin).form {
            let other = match &field.control {
                Control::One(options) => {
                    options.last().unwrap_or_else(|| panic!("{} has no options", field.key)).0.clone()
                }
                Control::Switch => "1".to_owned(),
                Control::Many(options) => options[0].0.clone(),
                Control::Number => "7".to_owned(),
                Control::NumberWithin { most, .. } => most.to_string(),
                _ if field.key == "gpu" => "gfx942".to_owned(),
                _ if ["library-version", "nccl-version"].contains(&&*field.key) => "2.30.4".to_owned(),
                _ if field.key == "env" => "NCCL_ALGO=Ring".to_owned(),
                _ => "words".to_owned(),
            };
            let mut choices = Choices::parse(&begin);
            for value in [&field.usual, &other] {
                choices.set(&field.key, value);
                let view = choose(&mut executor, &choices.suffix());
                let shown = view.form.iter().find(|shown| shown.key == field.key);
                assert!(shown.is_none_or(|shown| shown.value == *value), "{}={value}: {shown:?}", field.key);
            }
        }
    }
}

#[test]
fn a_value_that_a_field_does_not_take_is_refused_with_its_label() {
    let mut executor = example();
    for (choices, label) in [
        ("p=plan&launches=0", "Launches, at most"),
        ("p=answer&dip=NaN", "Drop of more than"),
        ("p=plan&reader=nobody", "reader"),
        ("max-channels=0", "Max channels: \"0\" is not a whole number from 1 to 1024"),
        ("max-channels=1.5", "Max channels: \"1.5\" is not a whole number from 1 to 1024"),
        ("own-max-channels=-5", "Max channels: \"-5\" is not a whole number from 1 to 1024"),
        ("p=coverage&gpu=toaster", "GPU: \"toaster\""),
    ] {
        let question = Box::new(WorkbenchQuestion::Choose(Choices::parse(&format!("#v=1&{choices}"))));
        let request = Request::Study { workbench: Workbench::Tuning, question, is_held: false };
        let error = executor.execute(request, Vec::new(), &mut collectune::progress::Silent).unwrap_err();
        assert!(error.to_string().starts_with(label), "{error}");
    }
}

#[test]
fn the_newest_tuner_file_is_checked_until_another_one_is_chosen() {
    let mut executor = example();
    let view = choose(&mut executor, "#v=1&p=tuner-files");
    let (conf, newest) = (field(&view, "conf"), field(&view, "conf").value.clone());
    let Control::One(files) = &conf.control else { panic!("{conf:?}") };
    assert_eq!(files.iter().find(|(file, _)| *file == newest).map(|(_, name)| &name[..]), Some("new.conf"));
    let older = files.iter().find(|(file, _)| *file != newest).unwrap().0.clone();
    let chosen = choose(&mut executor, &format!("#v=1&p=tuner-files&conf={older}"));
    assert_eq!(field(&chosen, "conf").value, older);
    let closed = choose(&mut executor, "#v=1&p=tuner-files&conf=77");
    assert_eq!(field(&closed, "conf").value, newest);
}

#[test]
fn calls_that_are_typed_and_were_never_measured_are_planned() {
    let mut executor = example();
    let workload = "#v=1&c=all_reduce&n=2&r=16";
    let empty = choose(&mut executor, &format!("{workload}&p=coverage"));
    assert!(section(&empty, "Coverage").tables.is_empty(), "nothing was typed");
    assert_eq!(section(&empty, "What the job sends").placement.submit.as_deref(), Some("Show"));
    let typed = choose(&mut executor, &format!("{workload}&p=coverage&calls.batches=1,23"));
    assert_eq!(section(&typed, "Coverage").tables[0].listing.rows.len(), 2);
    let named = &section(&typed, "Called and never measured").placement.notes;
    assert!(named.iter().any(|note| note.text.contains("368 KiB")), "{named:?}");
    let plan = choose(&mut executor, &format!("{workload}&p=plan"));
    let launches = &section(&plan, "What to measure next").tables[0].listing.rows;
    assert!(launches.iter().flatten().any(|cell| cell.text == "a job sends it"), "{launches:?}");
    for wrong in ["many", "1.5", "0", "-1"] {
        let view = choose(&mut executor, &format!("{workload}&p=coverage&calls.batches=8,{wrong}"));
        let said = format!("Batch sizes or tokens: \"{wrong}\" is not a whole number above 0");
        assert_eq!(section(&view, "What the job sends").placement.error.as_ref(), Some(&said));
    }
}

#[test]
fn hotspots_mark_the_chart_of_the_workload_that_is_shown() {
    let mut executor = example();
    let mut of = |choices: &str| {
        let view = choose(&mut executor, &format!("#v=1&c=all_reduce&n=2&r=16&s=65536{choices}"));
        view.report.sections[0].tables.iter().map(|table| table.listing.rows.len()).sum::<usize>()
    };
    assert!(of("&dip=0") > of("&dip=99"), "a smaller dip counts more often");
}

const QUICK: &str = "#v=1&w=tuning&c=all_reduce&n=2&r=16&preset=extra-trees&trees=8";

fn recommended(view: &WorkbenchView) -> Recommended {
    view.attachment(AttachmentKind::Recommendations).unwrap()
}

#[test]
fn choices_are_learnt_from_and_validated_and_a_new_worker_takes_over_what_others_did() {
    let mut executor = example();
    let before = choose(&mut executor, QUICK);
    assert!(before.jobs.is_anew && before.jobs.goes_on && before.jobs.is_long && before.jobs.rounds.is_empty());
    assert!(before.files.is_empty(), "there is no model to save");
    assert!(!choose(&mut executor, &format!("{QUICK}&p=noise")).jobs.is_anew, "another panel learns nothing else");

    let trained = shown(&mut executor, WorkbenchQuestion::GoOn(0));
    assert_eq!(recommended(&trained).basis, AnswerBasis::Trained);
    assert!(!trained.jobs.goes_on && !trained.jobs.rounds[0].is_empty());
    let folds = done(&trained);
    let validated = shown(&mut executor, WorkbenchQuestion::Take(folds.clone()));
    let answer = recommended(&validated);
    assert_eq!((answer.basis, &validated.jobs), (AnswerBasis::Validated, &Default::default()));
    let again = choose(&mut executor, &format!("{QUICK}&s=4096"));
    assert_eq!(again.attachment::<Recommended>(AttachmentKind::Recommendations), None, "nothing else is recommended");
    assert_eq!(again.attachment::<View>(AttachmentKind::Charts).unwrap().workload.size_bytes, 4096);
    section(&choose(&mut executor, &format!("{QUICK}&s=4096&p=model")), "How far to trust it");

    let limits = choose(&mut executor, &format!("{QUICK}&max-channels=4"));
    assert!(limits.jobs.is_anew && limits.jobs.goes_on);
    let limited = shown(&mut executor, WorkbenchQuestion::GoOn(0));
    assert_eq!(limited.jobs, Default::default(), "the model and its validation are kept");
    let channels = recommended(&limited).answer.iter().filter_map(|of| Some(of.configuration?.channels)).max();
    assert_eq!(channels, Some(4));

    let mut another = example();
    choose(&mut another, QUICK);
    let restored = shown(&mut another, WorkbenchQuestion::Take(folds));
    assert_eq!(recommended(&restored), answer);
    assert!(matches!(self::answer(&mut another, WorkbenchQuestion::Save("model".into())), WorkbenchAnswer::File(_)));
}

#[test]
fn a_row_of_the_noise_panel_opens_its_runs_and_sets_its_configuration_aside() {
    let mut executor = example();
    let begin = "#v=1&w=tuning&c=all_reduce&n=2&r=16&s=1048576&p=noise";
    let view = choose(&mut executor, begin);
    let table = &section(&view, "Runs behind the answer").tables[0];
    let open = table.choose.as_ref().unwrap();
    assert_eq!((open.key.as_str(), open.values.last().map(String::as_str)), ("open", Some("default")));
    let opened = choose(&mut executor, &format!("{begin}&open={}", open.values[0]));
    let name = &table.listing.rows[0][0].text;
    section(&opened, &format!("Runs of {name}"));
    let closes = section(&opened, "Runs behind the answer").tables[0].choose.clone().unwrap();
    assert_eq!(closes.values[0], "", "opening it again closes it");
    let Control::Many(options) = &field(&opened, "aside").control else { panic!() };
    assert_eq!(options[0].1, format!("{name} of all_reduce on 2 nodes, 16 ranks"));

    let aside = format!("{begin}&preset=extra-trees&trees=8&aside={}", options[0].0);
    assert!(choose(&mut executor, &aside).jobs.is_anew, "what is set aside is not learnt from");
    let learnt = shown(&mut executor, WorkbenchQuestion::GoOn(0));
    assert_eq!(section(&learnt, "Runs behind the answer").tables[0].marks[0], RowMark::Dead);
    assert_eq!(field(&learnt, "aside").value, options[0].0);
}

#[test]
fn sizes_of_ones_own_are_answered_and_wrong_ones_are_named() {
    let mut executor = example();
    let begin = "#v=1&w=tuning&c=all_reduce&n=2&r=16";
    let view = choose(&mut executor, &format!("{begin}&sizes=300000,1M"));
    let table = &section(&view, "Sizes of your own").tables[0];
    assert_eq!(table.choose.as_ref().unwrap().values, ["300000", "1048576"]);
    assert_eq!(table.listing.rows.len(), 2);
    for (sizes, said) in [
        ("16M,many", "Sizes: \"many\" is not a size; write bytes or a number with K, M or G, like 65536 or 16M"),
        ("-1", "Sizes: \"-1\" is not a size; write bytes or a number with K, M or G, like 65536 or 16M"),
        ("0", "Sizes: \"0\" is not a size above 0: without bytes there is no bandwidth"),
        ("1.5", "Sizes: \"1.5\" is not a size; write bytes or a number with K, M or G, like 65536 or 16M"),
    ] {
        let wrong = choose(&mut executor, &format!("{begin}&sizes={sizes}"));
        assert_eq!(section(&wrong, "Sizes of your own").placement.error.as_deref(), Some(said));
    }
}
