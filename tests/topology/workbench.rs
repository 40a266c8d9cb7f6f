//! The topology workbench, asked as the page asks it.

#![allow(clippy::unwrap_used, reason = "tests")]

use collectune::{
    form::Choices,
    progress::Silent,
    registry::Studies,
    report::Workbench,
    topology::network::Network,
    workbench::{AttachmentKind, ReportContext, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
};

fn ask(studies: &mut Studies, question: WorkbenchQuestion) -> WorkbenchView {
    match studies.answer(Workbench::Topology, question, ReportContext::default(), &mut Silent).unwrap() {
        WorkbenchAnswer::Shown(shown) => *shown,
        other => panic!("{other:?}"),
    }
}

/// The whole answer to choices; each piece of the search is reported to have taken this many ms.
fn found(studies: &mut Studies, fragment: &str, piece_ms: u32) -> WorkbenchView {
    let mut shown = ask(studies, WorkbenchQuestion::Choose(Choices::parse(fragment)));
    let mut attachments = std::mem::take(&mut shown.attachments);
    let mut last_ms = 0;
    while shown.jobs.goes_on {
        shown = ask(studies, WorkbenchQuestion::GoOn(last_ms));
        if !shown.attachments.is_empty() {
            attachments = std::mem::take(&mut shown.attachments);
        }
        last_ms = piece_ms;
    }
    shown.attachments = attachments;
    shown
}

fn network(shown: &WorkbenchView) -> Network {
    shown.attachment(AttachmentKind::Network).unwrap()
}

#[test]
fn an_example_needs_no_files() {
    let shown = found(&mut Studies::default(), "", 80);
    assert_eq!(shown.report.title, "all_gather over dgx1v in 60.694 µs");
    let titles: Vec<&str> = shown.report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["Links", "Critical path", "Bounds", "Utilisation", "Robustness", "Comparison", "Run it"]);
    assert_eq!(shown.files.len(), 6);
    let network = network(&shown);
    assert_eq!((network.timelines.len(), network.timelines[0].1.len()), (1, 56));
}

#[test]
fn a_cut_link_is_gone_from_the_timeline_and_the_old_schedule_is_told() {
    let mut studies = Studies::default();
    let shown = found(&mut studies, "#graph=ring&cut=0-1,1-0", 2000);
    assert!(shown.report.summary[0].starts_with("Without the links between 0 and 1"), "{:?}", shown.report.summary);
    assert!(shown.report.summary.iter().any(|text| text.contains("undelivered")), "{:?}", shown.report.summary);
    let network = network(&shown);
    assert_eq!((network.whole().len(), network.timelines[0].1.links.len(), network.topology.links.len()), (8, 8, 10));
    let shown = found(&mut studies, "#graph=ring&slow=0-1*0.1", 2000);
    assert!(shown.report.summary.iter().any(|text| text.contains("in the same order it takes")));
}

#[test]
fn what_can_not_be_leaves_the_form() {
    let mut studies = Studies::default();
    for (fragment, why) in [
        ("#graph=mesh&mesh=4xq", "is no topology"),
        ("#graph=ring&cut=0-1,0-4", "no way leads there"),
        ("#graph=ring&collective=own", "none are given"),
        ("#graph=ring&chunk=much", "Chunk: \"much\""),
    ] {
        let shown = found(&mut studies, fragment, 80);
        let said = shown.report.summary.join(" ");
        assert!(said.contains(why), "{fragment}: {said}");
        assert!(shown.form.iter().any(|field| field.key == "graph") && shown.files.is_empty(), "{fragment}");
        assert!(network(&shown).timelines.is_empty(), "{fragment}");
    }
    let shown = found(&mut studies, "#graph=ring", 80);
    assert!(shown.report.title.ends_with("in 40.062 µs"), "{}", shown.report.title);
    // Of a file that is not there the usual graph is shown, and the answer says so.
    let shown = found(&mut studies, "#graph=f1", 80);
    let said = "Graph: f1 was chosen and is not there, DGX-1 with V100 is taken instead.";
    let in_view = &shown.report.summary[..shown.report.sentences_in_view()];
    assert!(in_view.iter().any(|sentence| sentence == said), "{in_view:?}");
    let graph = shown.form.iter().find(|field| field.key == "graph").unwrap();
    assert_eq!(graph.value, graph.usual);
}

#[test]
fn a_search_ends_with_its_time() {
    let mut studies = Studies::default();
    // This time is too short to prove it optimal.
    let fragment = "#graph=random&random=40:3:7&limit=1&with=tacos,restarts";
    let shown = ask(&mut studies, WorkbenchQuestion::Choose(Choices::parse(fragment)));
    assert!(shown.jobs.goes_on);
    let shown = found(&mut studies, fragment, 400);
    assert!(!shown.jobs.goes_on);
    assert!(network(&shown).timelines.len() >= 2, "what is beside it was found");
}

#[test]
fn a_search_whose_time_is_over_does_not_go_on() {
    let mut studies = Studies::default();
    let begun = ask(&mut studies, WorkbenchQuestion::Choose(Choices::parse("#remove=0-3&limit=5")));
    let note = |shown: &WorkbenchView| shown.report.figures[2].note.clone();
    assert_eq!(note(&begun), "so far: the search goes on");
    let shown = found(&mut studies, "#remove=0-3&limit=5", 6000);
    assert_eq!(note(&shown), "not proven to be the shortest");
    assert_eq!(shown.report.figures[1].note, "the larger one of L2 and L3");
    let columns = &shown.report.sections[0].tables[0].listing.columns;
    assert_eq!(columns[2].name, "Bandwidth, GiB/s");
}

#[test]
fn what_is_wrong_in_a_field_is_named_by_its_label() {
    for (choices, said) in [
        ("chunk=1.5", "Chunk: \"1.5\" is not a size such as 1 MiB."),
        ("latency=-1", "Latency, ns: \"-1\" is not a number that is not negative."),
        ("seed=-1", "Seed: \"-1\" is not a whole number from 0 on."),
        ("dead=99", "Dead nodes: \"99\" is not a node of this graph"),
        ("slow=0", "Slow links: \"0\" is not a link of this graph"),
    ] {
        let shown =
            ask(&mut Studies::default(), WorkbenchQuestion::Choose(Choices::parse(&format!("#graph=ring&{choices}"))));
        let summary = &shown.report.summary;
        assert!(summary.iter().any(|text| text.contains(said)), "{choices}: {summary:?}");
    }
}

#[test]
fn fields_that_were_emptied_are_no_options_of_the_command() {
    let mut studies = Studies::default();
    ask(&mut studies, WorkbenchQuestion::Choose(Choices::parse("#graph=ring&chunk=&seed=&root=&chunks=2")));
    let command = studies.commands(Workbench::Topology, &[]).unwrap().text();
    assert_eq!(command, "collectune topology synthesize ring:5 --time-limit 5s --chunks 2");
}
