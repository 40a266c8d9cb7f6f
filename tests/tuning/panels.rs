//! The panels of the workbench: what an address chooses is what the sections and fields say.

#![allow(clippy::unwrap_used)]

use collectune::{
    form::{Choices, Control, Field},
    report::{Section, Workbench},
    tuning::{address::Panel, simulate::Simulation},
    workbench::{WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{Request, Response},
    },
};

use crate::support::worker::{ask, with};

fn choose(executor: &mut Executor, fragment: &str) -> WorkbenchView {
    let question = Box::new(WorkbenchQuestion::Choose(Choices::parse(fragment)));
    match ask(executor, Request::Study { workbench: Workbench::Tuning, question, is_held: false }) {
        Response::Study(answer) => match *answer {
            WorkbenchAnswer::Shown(view) => *view,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn section<'a>(view: &'a WorkbenchView, title: &str) -> &'a Section {
    let titles: Vec<&str> = view.report.sections.iter().map(|section| &section.title[..]).collect();
    view.report.sections.iter().find(|section| section.title == title).unwrap_or_else(|| panic!("{titles:?}"))
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
                Control::NumberWithin { most, .. } => most.to_string(),
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
    let wrong = choose(&mut executor, &format!("{workload}&p=coverage&calls.batches=many"));
    assert_eq!(section(&wrong, "What the job sends").placement.error.as_deref(), Some("many is not a batch size"));
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
