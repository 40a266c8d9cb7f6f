//! Files and links that once took the page, a worker or the terminal down: each ends within ten seconds and a gigabyte,
//! with a sentence, and what stands beside it is read.

#![allow(clippy::unwrap_used)]

#[path = "../fuzz/clock.rs"]
mod clock;
#[path = "../fuzz/memory.rs"]
mod memory;
use std::time::{Duration, Instant};

use crate::support::{
    archives, hostile, real, samples,
    terminal::{collectune, text, write},
    worker::{ask, load},
};
use collectune::{
    form::Choices,
    intake::{Outcome, unpack::unpack},
    progress::Silent,
    registry::{Studies, work},
    report::{self, Contents, Report, ReportFormat, Workbench, Written, link, open, wire},
    training_time::simulate::Simulation,
    tuning::address::{Address, Panel},
    workbench::{ReportContext, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{Request, Response},
    },
};
use tempfile::TempDir;

const LONGEST: Duration = Duration::from_secs(10);
const MOST: usize = 1 << 30;

/// What the allocator calls where nothing can end well any more.
fn give_up(_: usize, _: u64, what: &str) -> ! {
    eprintln!("it {what}");
    std::process::exit(1)
}

/// Does something within the bounds of time and memory.
#[track_caller]
fn bounded<T>(what: &str, make: impl FnOnce() -> T) -> T {
    // Time of the processor: others may use it meanwhile.
    let (begin, before) = (clock::busy(), memory::watch());
    let made = make();
    let (time, bytes) = (clock::busy().saturating_sub(begin), memory::peak_since(before));
    let what = &what[..what.floor_char_boundary(120)];
    println!("{what}: {:.2} s, {:.1} MB", time.as_secs_f64(), bytes as f64 / 1e6);
    assert!(time < LONGEST, "{what} takes {time:?}");
    assert!(bytes < MOST, "{what} takes {} MB", bytes >> 20);
    made
}

/// Why a file is refused that is loaded between two good ones, which are read.
#[track_caller]
fn refused(name: &str, bytes: &[u8]) -> String {
    let sweep = hostile::good_sweep();
    let mut worker = Executor::default();
    let loaded = bounded(name, || load(&mut worker, &[("a.csv", &sweep), (name, bytes), ("b.csv", &sweep)]));
    let is_read = |at: usize| matches!(loaded.files[at].outcome, Outcome::Loaded { rows: 4, .. });
    assert!(is_read(0) && is_read(2), "{:?}", loaded.files);
    match &loaded.files[1].outcome {
        Outcome::Refused(why) => why.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn workbooks_are_read_within_bounds() {
    for (name, bytes, why) in [
        ("ampersands.xlsx", hostile::ampersands(), "is a workbook without a table of kernels"),
        ("cells.xlsx", hostile::one_text_in_many_cells(), "has more than 256 MiB of text; split it"),
        ("headers.xlsx", hostile::one_text_in_many_headers(), "has more than 256 MiB of text; split it"),
        ("wide.xlsx", hostile::wide_rows_of_nothing(), "is a workbook without a table of kernels"),
        ("sheets.xlsx", hostile::sheets_of_one_stream(), "share their bytes, as in no archive that a program packed"),
        ("changed.xlsx", hostile::changed(), "the checksum of xl/worksheets/sheet1.xml is wrong; pack it again"),
    ] {
        println!("{name}: {} bytes", bytes.len());
        let said = refused(name, &bytes);
        assert!(said.contains(why), "{name}: {said}");
        refused_in_the_terminal(name, &bytes, why);
    }
}

#[test]
fn archives_are_unpacked_within_bounds() {
    let spaces = archives::archive(&[("X_layernorm_fp16.csv", vec![b' '; 80 << 20])]);
    let long = || archives::tarred(&[("a.csv", vec![b'7'; 100 << 20]), ("b.csv", vec![b'7'; 100 << 20])]);
    let many: Vec<(String, &str)> = (0..5000).map(|file| (format!("{file}.csv"), "1")).collect();
    for (name, bytes, why) in [
        ("samples.zip", hostile::samples_of_one_stream(), "share their bytes, as in no archive that a program packed"),
        ("dense.zip", hostile::many_dense_entries(), "inflate to more than 192 MiB in all"),
        ("spaces.zip", spaces, "or to more than 200 times its size"),
        ("many.zip", archives::archive(&many), "it has more than 4096 entries"),
        ("many.tar", archives::tarred(&many), "it has more than 4096 entries"),
        ("long.tar", long(), "inflate to more than 192 MiB in all"),
        ("long.tgz", archives::gzipped(&long()), "it inflates to more than 200 times its size"),
        ("one.tar", archives::tarred(&[("a.csv", vec![b'7'; 129 << 20])]), "a.csv inflates to more than 128 MiB"),
    ] {
        println!("{name}: {} bytes", bytes.len());
        let said = bounded(name, || unpack(Box::new(&bytes[..]), name)).unwrap_err().to_string();
        assert!(said.contains(why), "{name}: {said}");
        refused_in_the_terminal(name, &bytes, why);
    }
}

/// Gives a file to the terminal, which refuses it.
#[track_caller]
fn refused_in_the_terminal(name: &str, bytes: &[u8], why: &str) {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, name, bytes);
    let begin = Instant::now();
    let output = collectune(&["overlap", "models", &path]);
    assert!(begin.elapsed() < LONGEST, "{name} takes {:?} in the terminal", begin.elapsed());
    assert!(!output.status.success() && text(&output.stderr).contains(why), "{}", text(&output.stderr));
}

#[test]
fn a_dump_of_thousands_of_gpus_is_refused_and_the_largest_machine_is_not() {
    let why = refused("dump.xml", &hostile::dump(4097));
    assert!(why.contains("it has 4,097 GPUs, and one node has at most 1,024"), "{why}");
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "dump.xml", hostile::dump(4097));
    let output = collectune(&["topology", "synthesize", &path]);
    assert!(!output.status.success() && text(&output.stderr).contains("at most 1,024"), "{}", text(&output.stderr));
    // As many as NCCL knows of, on one node and on more than can be.
    let largest = hostile::dump(576);
    for (choices, why) in [
        ("#graph=m1", ""),
        ("#graph=m1&machines=8", "4608 nodes: between 2 and 4096 can be made"),
        ("#graph=m1&machines=4294967295", "nodes: between 2 and 4096 can be made"),
    ] {
        let shown = studied(Workbench::Topology, &[("dump.xml", &largest)], choices);
        assert!(said(&shown.report).contains(why), "{}", said(&shown.report));
    }
}

/// All sentences of a report.
fn said(report: &Report) -> String {
    let sections = report.sections.iter().flat_map(|section| section.text.clone());
    report.summary.iter().cloned().chain(sections).collect::<Vec<_>>().join(" ")
}

fn studies(files: &[(&str, &[u8])]) -> Studies {
    let mut worker = Executor::default();
    load(&mut worker, files);
    std::mem::take(&mut worker.studies)
}

/// What a workbench shows for choices: one question, and the first pieces of what follows, each within the bounds.
#[track_caller]
fn studied(workbench: Workbench, files: &[(&str, &[u8])], choices: &str) -> Box<WorkbenchView> {
    let mut studies = studies(files);
    let mut ask = |question: WorkbenchQuestion| {
        let answer = bounded(choices, || studies.answer(workbench, question, ReportContext::default(), &mut Silent));
        match answer {
            Ok(WorkbenchAnswer::Shown(shown)) => Ok(shown),
            Ok(_) => panic!("another answer"),
            Err(error) => Err(error.to_string()),
        }
    };
    let mut shown = match ask(WorkbenchQuestion::Choose(Choices::parse(choices))) {
        Ok(shown) => shown,
        Err(error) => {
            let report = Report { summary: vec![error], ..Report::default() };
            return Box::new(WorkbenchView {
                form: Vec::new(),
                files: Vec::new(),
                report,
                jobs: Default::default(),
                attachments: Vec::new(),
            });
        }
    };
    for _ in 0..3 {
        if shown.jobs.goes_on {
            shown = ask(WorkbenchQuestion::GoOn(50)).unwrap();
        } else if let Some((job, _)) = shown.jobs.rounds.first().and_then(|round| round.first()) {
            let basis = &shown.jobs.basis;
            let done = bounded(choices, || match workbench {
                Workbench::TrainingTime => None,
                _ => work(workbench, basis, &[*job], &mut Silent).ok(),
            });
            let Some(done) = done else { break };
            shown = ask(WorkbenchQuestion::Take(vec![done])).unwrap();
        }
    }
    shown
}

#[test]
fn made_graphs_are_answered_or_refused() {
    for (choices, why) in [
        ("#v=1&w=topology&graph=full&full=1500", "1,500 nodes with 2,248,500 links: at most 200,000 links can be made"),
        ("#graph=switch&switch=4096", "links can be made"),
        ("#graph=random&random=4096:4294967295:1", "at most one to each other node"),
        ("#graph=random&random=4096:4095:1", "links can be made"),
        ("#graph=hypercube&hypercube=4294967295", "can be made"),
        ("#graph=mesh&mesh=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2", "is no topology"),
        ("#graph=ring&ring=2&chunks=4294967295", "more than can be held"),
        ("#graph=ring&ring=4096&chunks=4294967295&collective=alltoall", "more than can be held"),
        ("#graph=dgx1v&chunk=18446744073709551615", ""),
        ("#graph=dgx1v&seed=18446744073709551615&sigma=1e308&draws=4294967295&seeds=4294967295", ""),
        ("#graph=random&random=4096:48:1", "Ways from 4,096 places"),
        // The largest that are answered, and methods that make a schedule as a whole.
        ("#graph=full&full=440", ""),
        ("#graph=full&full=300&collective=all_reduce&by=symmetric", ""),
        ("#graph=full&full=300&collective=alltoall", "more than can be looked through in a moment"),
        ("#graph=ring&ring=2&chunks=4000000", ""),
        ("#graph=ring&ring=200&by=beam&chunks=20", ""),
        ("#graph=random&random=200:20:1&slower=7&by=exact", ""),
        // TACOS looks at all 800,000 pairs before each round of eight transfers.
        ("#graph=torus&torus=4&by=tacos&seeds=1000&latency=4294967296&chunks=65536", ""),
        // Each of 65,536 cuts of 16 nodes moves up to a million chunks.
        ("#graph=mesh&by=routed&collective=gather&chunks=65536", ""),
        // As an algorithm of MSCCL its million transfers would take 1.9 GB.
        ("#graph=torus&torus=1000&by=symmetric&every=1", ""),
    ] {
        let shown = studied(Workbench::Topology, &[], choices);
        assert!(said(&shown.report).contains(why), "{choices}: {}", said(&shown.report));
        assert!(shown.form.iter().any(|field| field.key == "graph"), "{choices}: the form is gone");
    }
    let long: String = (0..200_000).map(|at| format!("{}-{},", at % 5, (at + 1) % 5)).collect();
    for key in ["add", "remove", "cut", "slow", "dead", "weak"] {
        let shown = studied(Workbench::Topology, &[], &format!("#graph=ring&ring=5&{key}={long}"));
        let why = "is not a list of at most 1,000 links or nodes";
        assert!(said(&shown.report).contains(why), "{key}: {}", said(&shown.report));
    }
}

#[test]
fn numbers_of_the_other_workbenches_are_bounded() {
    let clusters = Simulation::example().files();
    let samples: Vec<(&str, &[u8])> = clusters.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    for choices in [
        "#r.dp=1000000000",
        "#r.dp=4294967295&r.pp=4294967295&r.tp=4294967295&r.ep=4294967295",
        "#r.layers=4294967295&r.hidden=4294967295&r.heads=4294967295&r.l=4294967295&r.vocabulary=4294967295",
        "#r.m=4294967295&r.pp=4096&r.chunks=4294967295",
        "#s.gpus=4294967295",
        "#s.gpus=1048576,720720,1000000&s.all=1&s.b=1,2,3,4,5,6,7,8&s.recompute=full,selective,none&s.between=1",
        "#s.gpus=64&s.batch=4294967295&s.memory=1e308&s.reserve=-1e308",
        "#s.gpus=1000000000",
        "#mode=parity&r.dp=1000000000&r.pp=1024&r.m=262144",
    ] {
        studied(Workbench::TrainingTime, &samples, choices);
    }
    for choices in [
        "#world=clear&steps=4294967295&seeds=4294967295",
        "#world=own&arms.own=auto&means.own=1",
        "#world=clear&window=100000&rounds=100000&gate-rounds=100000&calls=65536&steps=100000&seeds=2000",
        "#world=two-modes&spread.two-modes=1000000&rise.two-modes=1000&seed=18446744073709551615",
    ] {
        studied(Workbench::Policy, &[], choices);
    }
    let merged: &[u8] = samples::MERGED.as_bytes();
    for choices in
        ["#run=4294967295", "#launch=18446744073709551615", "#alone=1e308&overlap=-1e308", "#shown=model-4294967295"]
    {
        studied(Workbench::Overlap, &[("merged.csv", merged)], choices);
    }
}

#[test]
fn links_and_report_files_that_ask_for_much_are_refused() {
    for (what, json) in hostile::reports() {
        let fragment = hostile::fragment(&json);
        println!("{what}: {} characters", fragment.len());
        let error = bounded(what, || link::decode(&fragment)).unwrap_err().to_string();
        let said = error.contains("holds more than any report") || error.contains("unpacks to more than any report");
        assert!(said, "{what}: {error}");
        let page = format!(
            "<!doctype html><meta name=\"collectune-report\" content=\"1\"><script type=\"application/json\" \
             id=\"collectune-report\">{json}</script>"
        );
        for (name, file) in [("report.json", &json), ("report.html", &page)] {
            let why = refused(name, file.as_bytes());
            assert!(why.contains("holds more than any report") && why.contains(what), "{what}: {why}");
        }
    }
}

/// What is written of a report can be opened again, and nothing of it had to be left out.
#[track_caller]
fn leaves_whole(what: &str, report: &Report) {
    let again = wire::read(&wire::write(report));
    assert!(again.is_ok(), "{what}: {again:?}");
    let charts: usize = report.sections.iter().map(|section| section.charts.len()).sum();
    let tables = || report.sections.iter().flat_map(|section| &section.tables);
    let columns: usize = tables().map(|table| table.listing.columns.len()).sum();
    let series = report.sections.iter().flat_map(|section| &section.charts).map(|chart| chart.series.len()).max();
    println!("{what}: {charts} charts of at most {series:?} series, {} tables, {columns} columns", tables().count());
    assert!(charts <= 60 && tables().count() <= 60 && columns <= 600, "{what} comes near the bounds");
    for form in [ReportFormat::Html, ReportFormat::Json, ReportFormat::Link] {
        match report::write(report, &form.into()).unwrap() {
            Written::File { text, .. } => {
                let opened = open::open(&text).unwrap();
                assert_eq!(opened.sections.len(), report.sections.len(), "{what}");
                assert!(!said(&opened).contains("More than a report holds"), "{what}");
            }
            Written::Links(links) => {
                links
                    .sizes
                    .iter()
                    .for_each(|link| assert!(link.fits && link::decode(&link.fragment).is_ok(), "{what}"));
            }
        }
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn reports_of_real_data_stay_below_the_bounds() {
    let contents = |workbench| Contents { workbench, ..Contents::whole() };
    let sweeps = real::SWEEPS.map(|name| (format!("{name}.csv"), real::file(&format!("tuning/{name}.csv"))));
    let named: Vec<(&str, &[u8])> = sweeps.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let mut worker = Executor::default();
    load(&mut worker, &named);
    leaves_whole("tuning", &worker.report(&contents(Workbench::Tuning)).unwrap());
    let logs = ["rewards_2x4_64MB_a.log", "rewards_2x4_64MB_b.log", "overlap_1x8_a100.csv"];
    let kernels = ["merged_features.csv", "merged_features_82sm.csv", "xgb_model.json"];
    let dumps = ["nccl/mi355x_1x8_topo.xml", "nccl/mi355x_1x8_graph.xml"];
    for (workbench, folder, names, choices) in [
        (Workbench::Policy, "policy", &logs[..], "#"),
        (Workbench::Overlap, "overlap", &kernels, "#"),
        (Workbench::Topology, "topology", &dumps, "#with=tacos,earliest"),
    ] {
        let contents: Vec<Vec<u8>> = names.iter().map(|name| real::file(&format!("{folder}/{name}"))).collect();
        let files: Vec<(&str, &[u8])> = names.iter().copied().zip(contents.iter().map(Vec::as_slice)).collect();
        leaves_whole(workbench.key(), &studied(workbench, &files, choices).report);
    }
}

#[test]
fn reports_of_simulated_data_stay_below_the_bounds() {
    let clusters = Simulation::example().files();
    let samples: Vec<(&str, &[u8])> = clusters.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    for (workbench, files, choices) in [
        (Workbench::TrainingTime, &samples[..], "#s.gpus=64&s.all=1"),
        (Workbench::Policy, &[], "#world=clear&steps=200&seeds=10"),
        (Workbench::Topology, &[], "#graph=mesh&mesh=8x8"),
    ] {
        leaves_whole(workbench.key(), &studied(workbench, files, choices).report);
    }
}

#[test]
fn files_with_many_libraries_are_told_apart_in_a_moment() {
    let files: Vec<(String, Vec<u8>)> =
        (0..100).map(|file| (format!("{file}.csv"), hostile::many_libraries(file))).collect();
    let named: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let mut worker = Executor::default();
    let loaded = bounded("100 files with 999 libraries each", || load(&mut worker, &named));
    assert_eq!(loaded.sets.all.len(), 500);
    let note = &loaded.sets.note;
    assert!(
        note.contains("taken in 65,534 ways") && note.contains("only the 500 with the most rows can be chosen"),
        "{note}"
    );
    let lost = loaded.files.iter().filter(|file| match &file.outcome {
        Outcome::Loaded { notes, .. } => {
            notes.iter().any(|note| note.contains("more ways of measuring than can be told"))
        }
        _ => false,
    });
    assert_eq!(lost.count(), 35, "what is left out is said");
}

#[test]
fn a_sweep_of_thousands_of_scales_is_answered() {
    let sweep = hostile::many_scales(60_000);
    let mut worker = Executor::default();
    let loaded = bounded("60,000 scales", || load(&mut worker, &[("sweep.csv", &sweep)]));
    assert_eq!((loaded.groups.len(), loaded.winners.len()), (60_000, 60_000));
    let workload = loaded.winners[30_000].workload;
    let address = Address::of(&workload, Default::default(), false).fragment();
    for panel in Panel::ALL {
        let choices = Choices::parse(&format!("{address}&h=default&p={}", panel.key()));
        let question = Box::new(WorkbenchQuestion::Choose(choices));
        bounded(panel.name(), || {
            ask(&mut worker, Request::Study { workbench: Workbench::Tuning, question, is_held: false })
        });
    }
    let contents = Contents { workbench: Workbench::Tuning, ..Contents::whole() };
    let Response::Report(report) = bounded("a report", || ask(&mut worker, Request::Report(contents))) else {
        panic!()
    };
    assert!(
        said(&report).contains("Only the first 10 of 60,000 collectives and scales have sections"),
        "{}",
        said(&report)
    );
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "sweep.csv", &sweep);
    let begin = Instant::now();
    let output = collectune(&["report", &path, "-o", &write(&folder, "r.json", "")]);
    assert!(text(&output.stderr).contains("60,000 collectives and scales are more than the 2,000"), "{output:?}");
    assert!(begin.elapsed() < LONGEST, "{:?}", begin.elapsed());
}
