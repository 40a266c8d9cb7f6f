//! What becomes of logs: the tables of nccl-tests and rccl-tests of every version, and a job's debug lines.

use std::io::Cursor;

use collectune::{
    collective::{Collective, Scale},
    intake::{
        self, FileContent, FileReport, Mapping, MappingRequest, Outcome,
        files::{FileSource, FileToLoad, OpenedFiles, read_files},
    },
    progress::Silent,
    text::Problems,
    tuning::{
        job::JobLog,
        read::{Evidence, Row, RunKind},
    },
};
use proptest::prelude::*;

use crate::support::{
    real,
    samples::{CALL, COSTS, DECISION, END, HEADER, JSON, REPORT, ROWS, START, log},
};

fn open_named(bytes: &[u8], name: &str, configuration: Option<&str>) -> (FileReport, FileContent) {
    let mapping = configuration.map(|text| Mapping::configuration(text).expect("it is a configuration"));
    intake::open(bytes, name, bytes.len() as u64, 3, mapping.as_ref(), &mut Silent)
}

/// Rows, problems, notes and job of a log that can be read.
#[track_caller]
fn read(text: &str, name: &str, configuration: Option<&str>) -> (Vec<Row>, Problems, Vec<String>, JobLog) {
    match open_named(text.as_bytes(), name, configuration) {
        (
            FileReport { outcome: Outcome::Loaded { rows, default_rows, problems, notes, .. }, .. },
            FileContent::Log { rows: mut read, job },
        ) => {
            // Rows with wrong values are handed on, since they tell of their configuration, and are no measurements.
            read.retain(|row| !row.marks.has_wrong_values);
            assert_eq!(rows, read.len() as u64);
            assert_eq!(default_rows, read.iter().filter(|r| r.kind == RunKind::Default).count() as u64);
            (read, problems, notes, job)
        }
        (report, _) => panic!("{report:?}"),
    }
}

#[track_caller]
fn asks(text: &str, name: &str) -> MappingRequest {
    match open_named(text.as_bytes(), name, None) {
        (FileReport { outcome: Outcome::NeedsMapping(request), .. }, FileContent::Nothing) => request,
        (report, _) => panic!("{report:?}"),
    }
}

/// What the rows ran, and how that is known.
fn ran(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {:?}", row.ran, row.evidence)).collect()
}

#[test]
fn a_log_says_everything_but_the_configuration() {
    let request = asks(&log(), "log.txt");
    assert_eq!(
        request.problem,
        "does not say which algorithm ran, which protocol and on how many channels; give the same for all rows that lack it, \
         or DEFAULT as the algorithm where the library chose"
    );
    assert_eq!(request.headers[..4], ["collective", "num_nodes", "num_gpus", "size_bytes"]);
    assert_eq!(request.sample[0], ["all_reduce", "2", "2", "1048576", "126.1", "8.31", "8.31", "131.1", "8", "8"]);
    let lacks: Vec<&str> =
        request.wanted.iter().filter(|w| w.needed && w.guess.is_none()).map(|w| w.name.as_str()).collect();
    assert_eq!(lacks, ["algo", "proto", "nchannels"]);

    let (rows, problems, notes, _) = read(&log(), "log.txt", Some("ring/LL128/24"));
    assert_eq!((problems.count, notes), (0, vec![]));
    assert_eq!(ran(&rows), ["RING/LL128/24 Given"; 3]);
    let row = rows[0];
    assert_eq!((row.workload.collective, row.workload.scale), (Collective::AllReduce, Scale { nodes: 2, ranks: 2 }));
    assert_eq!((row.workload.size_bytes, row.line, row.file, row.kind), (1 << 20, 12, 3, RunKind::Asked));
    assert_eq!(row.in_place.and_then(|s| s.time_us), Some(131.1));
    assert_eq!(row.out_of_place.map(|s| s.busbw_gbps), Some(8.31));

    let (rows, ..) = read(&log(), "log.txt", Some("default"));
    assert!(rows.iter().all(|row| row.kind == RunKind::Default && row.ran.channels == 0), "{rows:?}");
}

#[test]
fn where_the_configuration_is() {
    let all = "NCCL_ALGO=Ring NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=24 NCCL_MAX_NCHANNELS=24";
    let tuning = |size: u64, what: &str| format!("secret-a:7:7 [0] NCCL INFO AllReduce: {size} Bytes -> Algo {what}\n");
    let decided = |what: &str| [1 << 20, 2 << 20, 4 << 20].map(|size| tuning(size, what)).concat();
    let whole = log();
    let with = |before: &str, in_it: &str| format!("{before}{START}{in_it}{HEADER}{}\n{END}", ROWS.join("\n"));
    let columns =
        ROWS.iter().fold(whole.clone(), |all, row| all.replace(row, &format!("{row}     RING*   LL128          24")));
    for (text, name, expected) in [
        (with(&format!("{all} mpirun -np 2 ./all_reduce_perf -b 1M\n"), ""), "log", "RING/LL128/24 Asked"),
        (
            with("", "secret-a:7:7 [0] NCCL INFO NCCL_ALGO set by environment to Tree\n"),
            "a_simple_c8.log",
            "TREE/SIMPLE/8 FileName",
        ),
        (whole.clone(), "all_reduce_2n_ring_ll128_c24.log", "RING/LL128/24 FileName"),
        (with("", &decided("RING proto LL128 channel{Lo..Hi}={0..23}")), "log", "RING/LL128/24 Executed"),
        (with("", &decided("1 proto 1 time 43.5")), "x_c24.log", "RING/LL128/24 FileName"),
        (columns, "log", "RING/LL128/24 Planned"),
    ] {
        let (rows, problems, ..) = read(&text, name, None);
        assert_eq!((rows.len(), problems.count), (3, 0), "{text}\n{:?}", problems.kept);
        assert_eq!(ran(&rows), [expected; 3], "{text}");
        assert!(rows.iter().all(|row| row.kind == RunKind::Asked && !row.marks.substituted));
    }
    // What was asked for and what ran disagree.
    let (rows, ..) =
        read(&with(&format!("{all} mpirun x\n"), &decided("TREE proto LL channel{Lo..Hi}={0..3}")), "log", None);
    assert!(rows.iter().all(|row| row.marks.substituted && row.asked.channels.is_some_and(|n| n.get() == 24)));
    assert_eq!(ran(&rows), ["TREE/LL/4 Executed"; 3]);
    // Nothing was asked for, and what ran changes with the size.
    let own = format!(
        "{}{}{}",
        tuning(1 << 20, "TREE proto LL channel{Lo..Hi}={0..3}"),
        tuning(2 << 20, "RING proto LL channel{Lo..Hi}={0..7}"),
        tuning(4 << 20, "RING proto SIMPLE channel{Lo..Hi}={0..15}")
    );
    let (rows, _, notes, job) = read(&with("", &own), "log", None);
    assert!(rows.iter().all(|row| row.kind == RunKind::Default));
    assert_eq!(ran(&rows)[2], "RING/SIMPLE/16 Executed");
    assert!(notes[0].starts_with("3 rows for which nothing says what was asked"), "{notes:?}");
    assert_eq!(job.decisions.len(), 3);
}

#[test]
fn bytes_of_one_rank_meet_the_rows_of_all_ranks() {
    const GATHERED: [&str; 3] = [
        "1048576 131072 float none -1 126.1 8.31 4.16 0 131.1 8.00 4.00 0",
        "2097152 262144 float none -1 201.1 10.43 5.21 0 183.8 11.41 5.71 0",
        "4194304 524288 float none -1 236.0 17.78 8.89 0 234.8 17.87 8.94 0",
    ];
    // From NCCL 2.24 on all_gather logs the bytes of one rank of the two; before, those of both.
    let with = |decision: &dyn Fn(u64) -> String| {
        let lines: String = [1_u64 << 20, 2 << 20, 4 << 20].map(decision).concat();
        format!("{START}{lines}{HEADER}{}\n{END}", GATHERED.join("\n")).replace("all_reduce_perf", "all_gather_perf")
    };
    let newer = |size: u64| {
        let half = size / 2;
        format!("a:7:7 [0] NCCL INFO AllGather: {half} Bytes -> Algo RING proto LL128 channel{{Lo..Hi}}={{0..23}}\n")
    };
    let older = |size: u64| format!("a:7:7 [0] NCCL INFO AllGather: {size} Bytes -> Algo 1 proto 1 time 43.5\n");
    for (text, name, expected) in
        [(with(&newer), "log", "RING/LL128/24 Executed"), (with(&older), "x_c24.log", "RING/LL128/24 FileName")]
    {
        let (rows, ..) = read(&text, name, None);
        assert!(rows.iter().all(|row| row.workload.collective == Collective::AllGather));
        assert_eq!(ran(&rows), [expected; 3], "{text}");
    }
    // A size of the rows that the newer form prints for one rank is another size of all ranks.
    let whole = |size: u64| newer(size * 2);
    assert_eq!(asks(&with(&whole), "log").headers[0], "collective");
}

#[test]
fn of_a_row_with_one_bad_time_the_other_placement_counts() {
    let row = ROWS[1];
    for (good, bad, column) in [
        ("201.1", "nan", "out-of-place time"),
        ("201.1", "-12.3", "out-of-place time"),
        ("183.8", "0.00", "in-place time"),
        ("183.8", "nan", "in-place time"),
    ] {
        let (rows, problems, ..) = read(&log().replace(row, &row.replace(good, bad)), "log", Some("RING/LL/8"));
        let is_in_place = column == "out-of-place time";
        assert_eq!((rows.len(), problems.count), (3, 1), "{bad}");
        assert_eq!((rows[1].in_place.is_some(), rows[1].out_of_place.is_some()), (is_in_place, !is_in_place), "{bad}");
        let said = problems.kept[0].to_string();
        let shown = bad.trim_end_matches("0").trim_end_matches('.');
        let shown = if shown.is_empty() { "0" } else { shown };
        assert!(said.starts_with(&format!("line 13, column {column}: \"{shown}\"")), "{said}");
        assert!(said.ends_with("the placement was left out"), "{said}");
    }
}

/// A log of as many devices, each in a group of ranks, with this line behind the options.
fn grouped(groups: &[u32], options: &str, more: &str) -> String {
    let (head, _) = START.split_once("# Using devices").expect("the log has a head");
    let head = head.replace(" unalign: 0\n", &format!("{options}\n"));
    let device = |(rank, group): (usize, &u32)| {
        format!("#  Rank {rank:2} Group {group:2} Pid {} on node{} device 0 [0000:05:00] x\n", 100 + rank, rank / 8)
    };
    let devices: String = groups.iter().enumerate().map(device).collect();
    format!("{head}{more}# Using devices\n{devices}#\n{HEADER}{}\n{END}", ROWS.join("\n"))
}

#[test]
fn of_groups_of_ranks_those_of_the_first_are_counted() {
    // NCCL_TESTS_SPLIT_MASK=7 on two nodes of eight: ranks 0 and 8 are a group, and ranks are counted through.
    let split: Vec<u32> = (0..16).map(|rank| rank & 7).collect();
    let (rows, _, notes, _) = read(&grouped(&split, "", ""), "log", Some("RING/LL/8"));
    assert_eq!(rows[0].workload.scale, Scale { nodes: 2, ranks: 2 });
    assert!(
        notes.iter().any(|note| note.starts_with("7 other groups of ranks measured at the same time")),
        "{notes:?}"
    );
    // One group with a torn line still has its last rank.
    let torn = grouped(&[0; 4], "", "").replace("#  Rank  1", "#  Ra").replace("all_reduce", "broadcast");
    let (rows, _, notes, _) = read(&torn, "log", Some("RING/LL/8"));
    assert_eq!(rows[0].workload.scale.ranks, 4);
    assert!(notes.iter().all(|note| !note.contains("group")), "{notes:?}");
}

#[test]
fn blocking_unaligned_and_grouped_launches_are_sets_of_their_own() {
    let blocking = "# Blocking Enabled: wait for completion and barrier after each collective\n";
    let without_barrier = "# Blocking Enabled: wait after each inner iteration (-m), no barrier\n";
    let usual = || grouped(&[0; 2], " unalign: 0", "");
    for (other, label) in [
        (grouped(&[0; 2], "", blocking), "blocking mode 1"),
        (grouped(&[0; 2], "", without_barrier), "blocking mode 2"),
        (grouped(&[0; 2], " unalign: 4", ""), "unaligned by 4"),
        (grouped(&[0, 1, 0, 1], "", ""), "beside other groups: 1"),
    ] {
        let (sets, _) = sets_of(&[("a_ring_ll_c8.log", usual()), ("b_ring_ll_c8.log", other)]);
        let labels: Vec<&str> = sets.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels.len(), 2, "{labels:?}");
        assert!(labels.iter().any(|of| of.contains(label)), "{label}: {labels:?}");
    }
    let (sets, _) = sets_of(&[("a_ring_ll_c8.log", usual()), ("b_ring_ll_c8.log", grouped(&[0; 2], "", ""))]);
    assert!(sets.is_empty(), "{sets:?}");
}

#[test]
fn json_lists_one_device_of_each_process_and_says_how_operations_are_launched() {
    let json = |config: &str, devices: usize, root: &str| {
        let device = |at: usize, step: usize| {
            format!(r#"{{"rank":{},"group":0,"pid":{at},"hostname":"n{at}","device":0,"device_info":"x"}}"#, at * step)
        };
        let step = if config.contains("\"ngpus\":4") { 4 } else { 1 };
        let devices: Vec<String> = (0..devices).map(|at| device(at, step)).collect();
        let bw = 1_048_576.0 / 126.1 / 1000.0;
        format!(
            r#"{{"args":["broadcast_perf"],"env":[],"config":{{{config},"devices":[{}]}},"results":[{{"size":1048576,"count":262144,"type":"float","redop":"none","root":"{root}","in_place":{{"time":126.1,"alg_bw":{bw},"bus_bw":{bw},"nwrong":0}}}}]}}"#,
            devices.join(",")
        )
    };
    let ranks = |config: &str, devices: usize| {
        let (rows, ..) = read(&json(config, devices, "     0"), "x_ring_ll_c8.json", None);
        rows[0].workload.scale
    };
    assert_eq!(ranks(r#""nthreads":1,"ngpus":8"#, 1), Scale { nodes: 1, ranks: 8 });
    assert_eq!(ranks(r#""nthreads":2,"ngpus":2"#, 1), Scale { nodes: 1, ranks: 4 });
    assert_eq!(ranks(r#""nthreads":1,"ngpus":4"#, 2), Scale { nodes: 2, ranks: 8 });
    assert_eq!(ranks(r#""nthreads":1,"ngpus":1"#, 2), Scale { nodes: 2, ranks: 2 });
    let plain = r#""nthreads":1,"ngpus":1,"graph":0,"aggregated_iterations":1,"blocking_collectives":"false""#;
    let set = |config: &str, root: &str| {
        let files = [json(plain, 2, "     0"), json(config, 2, root)];
        let [one, other] = files;
        let (sets, _) = sets_of(&[("a_ring_ll_c8.json", one), ("b_ring_ll_c8.json", other)]);
        sets.into_iter().map(|(label, _)| label).collect::<Vec<String>>().join(" | ")
    };
    assert_eq!(set(plain, "     0"), "");
    assert!(set(&plain.replace("iterations\":1", "iterations\":8"), "     0").contains("8 operations at once"));
    assert!(set(&plain.replace("\"false\"", "\"true\""), "     0").contains("blocking mode 1"));
    assert!(set(plain, "     3").contains("root 3"));
    // How buffers are registered only the arguments say.
    let one = json(plain, 2, "     0");
    let registered = one.replace("\"broadcast_perf\"", "\"broadcast_perf\",\"-R\",\"2\"");
    let files = [("a_ring_ll_c8.json", one), ("b_ring_ll_c8.json", registered)];
    let sets: Vec<String> = sets_of(&files).0.into_iter().map(|(label, _)| label).collect();
    assert!(sets.join(" | ").contains("registered buffers 2"), "{sets:?}");
}

#[test]
fn tables_of_every_version() {
    let table = |names: &str, rows: &[&str]| format!("{START}# {names}\n{}\n{END}", rows.join("\n"));
    let two = "time algbw busbw #wrong time algbw busbw #wrong";
    let old = "time algbw busbw error time algbw busbw error";
    let iterations = "time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%";
    let halves = "126.1 8.31 8.31 0 131.1 8.00 8.00 N/A";
    for text in [
        table(&format!("size count type redop root {two}"), &[&format!("1048576 262144 float sum -1 {halves}")]),
        table(&format!("size count type {old}"), &["1048576 262144 float 126.1 8.31 8.31 5e-07 131.1 8.00 8.00 5e-07"]),
        table(
            &format!("size count type redop {old}"),
            &["1048576 262144 float sum 126.1 8.31 8.31 0e+00 131.1 8.00 8.00 N/A"],
        ),
        table(&format!("size count type root {two}"), &[&format!("1048576 524288 bfloat16 0 {halves}")]),
        table(
            &format!("size count type redop root {two} timestamp"),
            &[&format!("1048576 262144 float sum -1 {halves} 2026-11-21 10:11:12")],
        ),
        table(
            &format!("size count type redop root {iterations}"),
            &["1048576 262144 float sum -1 126.1 8.31 8.31 0 120 130.5 130 2.1 131.1 8.00 8.00 0 121 140 139 1.2"],
        ),
        // Without a header, in place only, behind a label, with numbers that shrank.
        format!("{START}0: 1048576 262144 float sum -1 {halves}\n"),
        format!("{START}[1,0]<stdout>:     1048576 262144 float sum -1 131.1 8.0 8.0 0\n"),
        table(
            &format!("size count type redop root {two}"),
            &["1048576 262144 float sum -1 1.3e+02 8.31 8.31 0 1.3e+02 8 8 0"],
        ),
    ] {
        let (rows, problems, ..) = read(&text, "log", Some("RING/LL/8"));
        assert_eq!((rows.len(), problems.count), (1, 0), "{text}\n{:?}", problems.kept);
        let time = rows[0].in_place.and_then(|s| s.time_us);
        assert!(time.is_some_and(|t| (129.0..132.0).contains(&t)), "{text}\n{rows:?}");
    }
    let out_of_place = "#   out-of-place\n# size count type redop root time algbw busbw #wrong\n1048576 262144 float sum -1 131.1 8.00 8.00 0\n";
    let (rows, ..) = read(&format!("{START}{out_of_place}{END}"), "log", Some("RING/LL/8"));
    assert!(rows[0].in_place.is_none() && rows[0].out_of_place.is_some());
}

#[test]
fn lines_of_others_in_between() {
    // With the debug output on the same stream, a row is printed in pieces.
    let speech =
        "secret-a:4711:4711 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}";
    let text = format!(
        "{START}{HEADER}     1048576        262144     float     sum      -1{speech}\n{speech}\n    126.1    8.31    8.31       0{speech}\n\
         srun: something else 12\n    131.1    8.00    8.00       0\n{END}"
    );
    let (rows, problems, _, job) = read(&text, "log", None);
    assert_eq!(problems.count, 0, "{:?}", problems.kept);
    assert_eq!(ran(&rows), ["RING/LL128/24 Executed"]);
    assert_eq!(rows[0].in_place.and_then(|s| s.time_us), Some(131.1));
    assert_eq!(job.decisions.values().sum::<u64>(), 3);
    // Labels of the launcher.
    for label in ["0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "10: "] {
        let labelled: String = log().lines().map(|line| format!("{label}{line}\n")).collect();
        let (rows, problems, ..) = read(&labelled, "log", Some("RING/LL/8"));
        assert_eq!((rows.len(), problems.count, rows[0].workload.scale.nodes), (3, 0, 2), "{label}");
    }
}

#[test]
fn several_runs_in_a_file() {
    let run = |command: &str| format!("{command}\n{}", log());
    let ring = "NCCL_ALGO=Ring NCCL_PROTO=LL NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8 mpirun ./all_reduce_perf";
    let tree = "NCCL_ALGO=Tree NCCL_PROTO=LL NCCL_MIN_NCHANNELS=4 NCCL_MAX_NCHANNELS=4 mpirun ./all_reduce_perf";
    let (rows, ..) = read(&format!("{}{}", run(ring), run(tree)), "log", None);
    let expected = [["RING/LL/8 Asked"; 3], ["TREE/LL/4 Asked"; 3]].concat();
    assert_eq!(ran(&rows), expected);
    // A command that asks for nothing does not inherit what the one before asked for.
    let request = asks(&format!("{}{}", run(ring), run("mpirun ./all_reduce_perf")), "log");
    assert!(request.problem.contains("which algorithm"), "{}", request.problem);
    // What is exported holds on.
    let exported = format!(
        "export NCCL_ALGO=Ring\nexport NCCL_PROTO=LL\nNCCL_MIN_NCHANNELS=8\nNCCL_MAX_NCHANNELS=8\n{0}{0}",
        log()
    );
    assert_eq!(ran(&read(&exported, "log", None).0), ["RING/LL/8 Asked"; 6]);
    // Exported after a table, it is for the next run; what is unset holds no longer.
    let set = |algorithm: &str, channels: &str| {
        format!(
            "+ export NCCL_ALGO={algorithm} NCCL_PROTO=LL NCCL_MIN_NCHANNELS={channels} NCCL_MAX_NCHANNELS={channels}\n"
        )
    };
    let (ring, tree) = (set("Ring", "8"), set("Tree", "4"));
    let cut =
        log().lines().take_while(|line| !line.contains("Out of bounds")).map(|line| format!("{line}\n")).collect();
    for log in [log(), cut] {
        let (rows, ..) = read(&format!("{ring}{log}{tree}{log}"), "log", None);
        assert_eq!(ran(&rows), expected);
        // The next run died before it printed anything.
        let (rows, ..) = read(&format!("{ring}{log}{tree}srun: error: time limit\n"), "log", None);
        assert_eq!(ran(&rows), expected[..3]);
        let unset = "+ unset NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS\n";
        let (rows, ..) = read(&format!("{ring}{log}{unset}{log}"), "log", Some("DEFAULT"));
        assert_eq!(ran(&rows)[..3], expected[..3]);
        assert!(rows[3..].iter().all(|row| row.kind == RunKind::Default), "{:?}", ran(&rows));
        // The library repeats what is set before the head of the run's table.
        let lines = ["ALGO=Tree", "PROTO=LL", "MIN_NCHANNELS=4", "MAX_NCHANNELS=4"].map(|setting| {
            format!(
                "node:1:1 [0] NCCL INFO NCCL_{} set by environment to {}.\n",
                setting.split('=').next().unwrap(),
                setting.split('=').nth(1).unwrap()
            )
        });
        if log.contains("Avg bus") {
            let (rows, ..) = read(&format!("{log}{}{log}", lines.concat()), "log", Some("DEFAULT"));
            assert!(rows[..3].iter().all(|row| row.kind == RunKind::Default), "{:?}", ran(&rows));
            assert_eq!(ran(&rows)[3..], expected[3..]);
        }
    }
    // Colours change nothing.
    let coloured: String =
        format!("{ring}{}", log()).lines().map(|line| format!("\u{1b}[1;32m{line}\u{1b}[0m\n")).collect();
    assert_eq!(ran(&read(&coloured, "log", None).0), expected[..3]);
    // Older ones name no collective; the command does.
    let nameless =
        log().lines().filter(|l| !l.contains("Collective test")).fold(String::new(), |all, l| all + l + "\n");
    let broadcast = format!("$ mpirun ./build/broadcast_perf -b 8\n{nameless}");
    assert_eq!(read(&broadcast, "log", Some("RING/LL/8")).0[0].workload.collective, Collective::Broadcast);
    assert!(asks(&nameless, "ring_ll_c8.log").problem.starts_with("does not say which collective it measured; give"));
}

#[test]
fn roots_are_kept_apart() {
    let of = |root: &str| {
        log().replace("all_reduce", "broadcast").replace("     -1 ", &format!("{root:>7} ")).replace(" sum ", "none ")
    };
    let files = [("a_ring_ll_c8.log", of("0")), ("b_ring_ll_c8.log", of("5"))];
    let (rows, ..) = read(&of("5"), "ring_ll_c8.log", None);
    assert_eq!(rows.len(), 3);
    assert_eq!(sets_of(&files), (vec![("root 0".to_owned(), 3), ("root 5".to_owned(), 3)], 3));
}

/// The sets that logs fall into, with the rows that are studied.
fn sets_of(files: &[(&str, String)]) -> (Vec<(String, u64)>, usize) {
    let named: Vec<FileToLoad> =
        (0..).zip(files).map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None }).collect();
    let bytes = files.iter().map(|(_, text)| text.clone().into_bytes().into()).collect();
    let opened = read_files(&named, bytes, &mut Silent);
    (opened.sets.all.into_iter().map(|set| (set.label, set.rows)).collect(), opened.rows.len())
}

#[test]
fn runs_that_were_timed_with_other_options_are_pooled_and_that_is_told() {
    let opened = |other: &str| {
        let files = [("a_default.log", log()), ("b_default.log", log().replace("warmup iters: 1 iters: 20", other))];
        let named: Vec<FileToLoad> = (0..)
            .zip(&files)
            .map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None })
            .collect();
        read_files(&named, files.map(|(_, text)| text.into_bytes().into()).into(), &mut Silent)
    };
    let told = |opened: &OpenedFiles| {
        opened.notes.iter().find(|note| note.contains("were timed with")).cloned().unwrap_or_default()
    };
    assert!(log().contains("warmup iters: 1 iters: 20"), "{}", log());
    let mixed = opened("warmup iters: 2 iters: 50");
    let said = told(&mixed);
    assert!(mixed.sets.all.is_empty() && said.contains("nccl-tests -w 1 -n 20 -g "), "{said}");
    assert!(said.contains(", nccl-tests -w 2 -n 50 -g "), "{said}");
    let same = opened("warmup iters: 1 iters: 20");
    assert_eq!(told(&same), "");
    let words = same.measured_with.values().next().unwrap();
    assert!(words.iter().any(|word| word.starts_with("nccl-tests -w 1 -n 20 -g ")), "{words:?}");
}

#[test]
fn runs_with_other_transports_are_kept_apart() {
    let command = |variables: &str| format!("$ mpirun -np 2 {variables} ./all_reduce_perf -b 1M\n{}", log());
    let said = |name: &str| format!("secret-a:7:7 [0] NCCL INFO {name} set by environment to 1.\n");
    let within = |lines: &str| format!("{START}{lines}{HEADER}{}\n{END}", ROWS.join("\n"));
    let forced = "-x NCCL_ALGO=Ring -x NCCL_PROTO=LL128 -x NCCL_MIN_NCHANNELS=8 -x NCCL_MAX_NCHANNELS=8";
    let default = |text: String| ("a_default.log", text);
    let ring = |text: String| ("b_ring_ll128_c8.log", text);
    let apart = vec![("NCCL_P2P_DISABLE=1".to_owned(), 3), ("default environment".to_owned(), 3)];
    for [one, other] in [
        [command("-x NCCL_P2P_DISABLE=1"), command(forced)],
        [command("-x NCCL_P2P_DISABLE=1"), command("")],
        [within(&said("NCCL_P2P_DISABLE")), within(&said("NCCL_DEBUG_FILE"))],
        [
            within(&said("NCCL_P2P_DISABLE")),
            within("secret-a:7:7 [0] NCCL INFO ncclCommInitRank comm 0x1 - Init COMPLETE\n"),
        ],
    ] {
        assert_eq!(sets_of(&[default(one), ring(other)]), (apart.clone(), 3));
    }
    // Nothing contradicts a log that shows no variable, and what makes an algorithm possible is no other transport.
    for [one, other] in [
        [command("-x NCCL_P2P_DISABLE=1"), log()],
        [command("-x NCCL_P2P_DISABLE=1"), command("-x NCCL_P2P_DISABLE=1 -x NCCL_NVLS_ENABLE=1")],
        [command("-x NCCL_DEBUG=INFO"), command(forced)],
    ] {
        assert_eq!(sets_of(&[default(one), ring(other)]), (vec![], 6));
    }
}

#[test]
fn a_table_of_one_rank_is_left_out_as_such() {
    let alone = "# nThread 1 nGpus 1 minBytes 4096 maxBytes 8388608 step: 2(factor) warmup iters: 1 iters: 20\n\
                 #  Rank  0 Group  0 Pid   1000 on host0 device  0 [0000:00:00] NVIDIA H100 80GB HBM3\n";
    let table = "4096 1024 float sum -1 20.40 0.20 0.00 0 19.92 0.21 0.00 0\n\
                 8192 2048 float sum -1 20.27 0.40 0.00 0 20.49 0.40 0.00 0\n";
    for name in ["all_reduce_1n_default.log", "all_reduce_2n_8gpus_default.log"] {
        let (read, problems, ..) = read(&format!("{alone}{HEADER}{table}"), name, None);
        let [said] = &problems.kept[..] else { panic!("{:?}", problems.kept) };
        let said = said.to_string();
        assert!(read.is_empty() && said.contains("column ranks: \"1\" is one: nothing moves between ranks"), "{said}");
    }
}

/// A placement that did not run leaves the other one.
#[test]
fn a_row_with_one_placement_is_used() {
    let missing = "N/A     N/A     N/A     N/A";
    let (first, second) = ("201.1   10.43   10.43       0", "183.8   11.41   11.41       0");
    for (own, is_in_place) in [(second, false), (first, true)] {
        let rows = ROWS.map(|row| row.replace(own, missing));
        let text = format!("{START}{HEADER}{}\n{END}", rows.join("\n"));
        let (read, problems, ..) = read(&text, "all_reduce_perf.log", Some("RING/LL/8"));
        assert_eq!((read.len(), problems.count), (3, 0), "{problems:?}");
        assert_eq!((read[1].in_place.is_some(), read[1].out_of_place.is_some()), (is_in_place, !is_in_place));
    }
    let rows = ROWS.map(|row| row.replace(first, missing).replace(second, missing));
    let (read, problems, ..) =
        read(&format!("{START}{HEADER}{}\n{END}", rows.join("\n")), "all_reduce_perf.log", Some("RING/LL/8"));
    assert_eq!((read.len(), problems.count), (2, 1), "{problems:?}");
}

#[test]
fn what_can_not_be_used_is_located() {
    let row = ROWS[1];
    for (spoilt, expected) in [
        (
            row.replace("183.8", "18x.8"),
            "line 13, whole line: \"2097152 524288 float sum -1 201.1 10.43 10.43 0\" has 9 cells where the table has 13; the row was left out",
        ),
        (
            row.replace("11.41       0", "11.41       3"),
            "line 13, column #wrong: \"3\" wrong values came out of this run; the row was left out",
        ),
        (
            row.replace("10.43       0", "10.43       5"),
            "line 13, column #wrong: \"5\" wrong values came out of this run; the row was left out",
        ),
        (
            row.replace("11.41   11.41", "11.41   51.41"),
            "line 13, column busbw: \"51.41\" contradicts size / time, which is 11.41 GB/s; the row was left out",
        ),
        (
            row.replace(" 524288", " 52428"),
            "line 13, column count: \"52428\" contradicts the size; the row was left out",
        ),
        (
            row.replace("  183.8   11.41   11.41       0", ""),
            "line 13, whole line: \"2097152 524288 float sum -1 201.1 10.43 10.43 0\" has 9 cells where the table has 13; the row was left out",
        ),
        (
            row.replace("183.8", "0.00").replace("201.1", "nan"),
            "line 13, column out-of-place time: \"nan\" is not a time above zero with its bandwidths; the row was left out",
        ),
    ] {
        let (rows, problems, ..) = read(&log().replace(row, &spoilt), "log", Some("RING/LL/8"));
        assert_eq!((rows.len(), problems.count), (2, 1), "{spoilt}");
        assert_eq!(problems.kept[0].to_string(), expected);
    }
    // The run died before its first row.
    let dead = format!("{START}{HEADER}");
    let (rows, problems, ..) = read(&format!("{dead}{}", log()), "log", Some("RING/LL/8"));
    assert_eq!(rows.len(), 3);
    assert_eq!(
        problems.kept[0].to_string(),
        "line 1, whole line: \"a run of all_reduce\" has no row in its table: it died, or its rows went elsewhere"
    );
    // Wrong values, and no row says where.
    let failed = log().replace(": 0 OK", ": 12 FAILED");
    let (rows, problems, ..) = read(&failed, "log", Some("RING/LL/8"));
    assert_eq!((rows.len(), problems.count), (0, 3));
    assert!(problems.kept[0].to_string().contains("no row says which"));
    // Times of the CPU.
    let cpu = log()
        .replace("126.1 ", "5.1 ")
        .replace("131.1 ", "5.2 ")
        .replace("201.1 ", "5.3 ")
        .replace("183.8 ", "6.1 ")
        .replace("236.0 ", "6.4 ")
        .replace("234.8 ", "6.5 ");
    let (rows, problems, ..) = read(&cpu, "log", Some("RING/LL/8"));
    assert_eq!(rows.len(), 0);
    assert_eq!(
        problems.kept[0].to_string(),
        "line 12, column time: \"5.2\" is a time of the CPU (option -C), not of the operation, as busbw shows; the table was left out"
    );
    let (rows, ..) = read(&log().replace("  time ", " cputime "), "log", Some("RING/LL/8"));
    assert_eq!(rows.len(), 0);
}

#[test]
fn cut_logs_and_cold_ones_say_so() {
    let whole = log();
    let cut = &whole[..whole.find(ROWS[2]).expect("it is there") + 40];
    let (rows, problems, notes, _) = read(cut, "log", Some("RING/LL/8"));
    assert_eq!((rows.len(), problems.count), (2, 1));
    assert!(
        problems.kept[0].to_string().starts_with("line 14, whole line: \"4194304 1048576 float"),
        "{:?}",
        problems.kept
    );
    assert!(notes.iter().any(|note| note.starts_with("1 run without an end")), "{notes:?}");
    let (.., notes, _) = read(&whole.replace("warmup iters: 1", "warmup iters: 0"), "log", Some("RING/LL/8"));
    assert!(notes[0].starts_with("1 run without warm-up"), "{notes:?}");
}

#[test]
fn alltoall_has_rows_of_size_0_and_no_algorithm() {
    let text = log()
        .replace("all_reduce_perf", "alltoall_perf")
        .replace(ROWS[0], "           0             0     float    none      -1     0.13    0.00    0.00      0     0.04    0.00    0.00    N/A")
        .replace(ROWS[1], "     2097152        262144     float    none      -1    201.1   10.43    5.21      0    183.8   11.41    5.70    N/A")
        .replace(ROWS[2], "     4194304        524288     float    none      -1    236.0   17.78    8.89      0    234.8   17.87    8.93    N/A");
    let (rows, problems, notes, _) = read(&text, "log", Some("default"));
    assert_eq!((rows.len(), problems.count), (2, 0), "{:?}", problems.kept);
    assert!(notes[0].starts_with("1 row of size 0"), "{notes:?}");
    let pinned = format!("-x NCCL_MIN_P2P_NCHANNELS=8 -x NCCL_MAX_P2P_NCHANNELS=8 mpirun ./alltoall_perf\n{text}");
    assert_eq!(ran(&read(&pinned, "log", None).0), ["N/A/N/A/8 Asked"; 2]);
}

#[test]
fn json_of_nccl_tests() {
    let whole = format!("{JSON}],\"out_of_bounds\":{{\"count\":0,\"okay\":\"true\"}},\"end_time\":\"\"}}");
    let (rows, problems, notes, _) = read(&whole, "x.json", None);
    assert_eq!((rows.len(), problems.count, notes), (2, 0, vec![]));
    assert_eq!(ran(&rows), ["RING/SIMPLE/8 Asked"; 2]);
    assert_eq!(
        (rows[0].workload.collective, rows[0].workload.scale),
        (Collective::AllGather, Scale { nodes: 1, ranks: 2 })
    );
    assert!(rows[1].out_of_place.is_none() && rows[0].out_of_place.is_some());
    // Cut off: what is whole is read.
    for cut in [format!("{JSON},"), format!("{JSON},{{\"size\":4194304,\"count\""), JSON[..JSON.len() - 3].to_owned()] {
        let (rows, _, notes, _) = read(&cut, "x.json", None);
        assert!(!rows.is_empty() && notes[0].starts_with("1 run without an end"), "{notes:?}");
    }
    // An environment that asks for nothing is a run of the default.
    let nothing = whole.replace("NCCL_ALGO=", "A=").replace("NCCL_PROTO=", "B=").replace("NCCL_M", "M");
    let (rows, _, notes, _) = read(&nothing, "x.json", None);
    assert!(
        rows.iter().all(|row| row.kind == RunKind::Default) && notes[0].contains("as their environment shows"),
        "{notes:?}"
    );
    let bad = whole.replace("\"count\":262144", "\"count\":\"many\"");
    let (rows, problems, ..) = read(&bad, "x.json", None);
    assert_eq!((rows.len(), problems.count), (1, 1));
    assert_eq!(
        problems.kept[0].to_string(),
        "line 2, column results[1].count: \"\"many\"\" is not a number of elements; the result was left out"
    );
    let cpu = whole.replace("\"time\":", "\"cpu_time\":");
    assert!(read(&cpu, "x.json", None).0.is_empty());
}

#[test]
fn reports_of_rccl_tests() {
    let (read_rows, problems, ..) = read(&REPORT.replace("128.1", "wrong"), "x.csv", Some("RING/LL/8"));
    assert_eq!((read_rows.len(), problems.count), (2, 1));
    assert_eq!(problems.kept[0].to_string(), "line 5, column time: \"wrong\" is not a number; the row was left out");
    assert!(read_rows[0].in_place.is_some() && read_rows[0].out_of_place.is_some() && read_rows[1].in_place.is_none());
    assert_eq!(read_rows[0].workload.scale, Scale { nodes: 2, ranks: 2 });
    let json = r#"[
{"numCycle":0,"name":"AllReduce","gpus":8,"size":1048576,"type":"float","redop":"sum","inPlace":1,"time":131.1,"algBw":8.0,"busBw":14.0,"wrong":"N/A"},
{"numCycle":0,"name":"AllReduce","gpus":8,"size":2097152,"type":"float","redop":"sum","inPlace":1,"time":183.8,"algBw":11.41,"busBw":19.97,"wrong":0}
]"#;
    let (rows, ..) = read(json, "ring_ll_c8.json", None);
    assert_eq!((rows.len(), rows[0].workload.scale), (2, Scale { nodes: 1, ranks: 8 }));
}

#[test]
fn nothing_private_leaves_the_reader() {
    let speech =
        "secret-a:4711:4711 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}\n";
    let command = "NCCL_ALGO=Ring HF_TOKEN=secret /home/secret/all_reduce_perf\n";
    let torn = format!("     1048576        262144     float     sum      -1secret-a secret /home/secret\n{}", ROWS[0]);
    let text = format!("{command}{START}{HEADER}{speech}{torn}\n");
    for text in [text.as_str(), JSON, &log(), &log().replace("0 OK", "7 FAILED")] {
        for configuration in [None, Some("default"), Some("RING/LL/8")] {
            let (report, content) = open_named(text.as_bytes(), "log", configuration);
            assert!(!format!("{report:?}{content:?}").contains("secret"), "{report:?}");
        }
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_tables() {
    for (name, rows, empty, scale) in [
        ("scale_2x1gpu_all_reduce.log", 32, 0, Scale { nodes: 2, ranks: 2 }),
        ("scale_2x8gpu_all_reduce.log", 32, 0, Scale { nodes: 2, ranks: 16 }),
        ("scale_8gpu_all_reduce.log", 32, 0, Scale { nodes: 1, ranks: 8 }),
        ("scale_8gpu_alltoall.log", 27, 5, Scale { nodes: 1, ranks: 8 }),
    ] {
        let bytes = real::file(&format!("tuning/logs/{name}"));
        let text = String::from_utf8_lossy(&bytes);
        let request = asks(&text, name);
        assert!(request.problem.starts_with("does not say which algorithm ran"), "{}", request.problem);
        let (read_rows, problems, notes, _) = read(&text, name, Some("default"));
        assert_eq!((read_rows.len(), problems.count), (rows, 0), "{name}: {:?}", problems.kept);
        assert_eq!(read_rows[0].workload.scale, scale);
        assert_eq!(notes.iter().any(|n| n.starts_with(&format!("{empty} rows of size 0"))), empty > 0, "{notes:?}");
        assert!(read_rows.iter().all(|row| row.in_place.is_some() && row.out_of_place.is_some()));
    }
    let bytes = real::file("tuning/logs/scale_2x8gpu_alltoall.log");
    let (rows, problems, ..) = read(&String::from_utf8_lossy(&bytes), "dead.log", None);
    assert_eq!((rows.len(), problems.count), (0, 1));
    assert!(problems.kept[0].to_string().contains("\"a run of alltoall\" has no row in its table"));
}

/// A table and a log of debug lines, read together.
fn table_and_debug_log(texts: [&str; 2]) -> OpenedFiles {
    let named = |(id, name): (u32, &str)| FileToLoad { id, name: name.to_owned(), mapping: None };
    let names: Vec<FileToLoad> = (0..).zip(["table.log", "debug.log"]).map(named).collect();
    let sources = texts.map(|text| FileSource { content: Box::new(Cursor::new(text.to_owned())), size_bytes: 1 });
    read_files(&names, sources.into(), &mut Silent)
}

#[test]
fn what_ran_is_told_in_another_file() {
    let decided =
        |size: u64, what: &str| format!("secret-a:4711:4720 [0] NCCL INFO AllReduce: {size} Bytes -> Algo {what}\n");
    let debug = [
        decided(1 << 20, "TREE proto LL channel{Lo..Hi}={0..3}"),
        decided(2 << 20, "RING proto LL channel{Lo..Hi}={0..7}"),
        decided(4 << 20, "RING proto SIMPLE channel{Lo..Hi}={0..15}"),
    ]
    .concat();
    let opened = table_and_debug_log([&log(), &debug]);
    assert_eq!(ran(&opened.rows), ["TREE/LL/4 Executed", "RING/LL/8 Executed", "RING/SIMPLE/16 Executed"]);
    assert!(matches!(&opened.files[0].outcome, Outcome::Loaded { notes, .. }
        if notes[0] == "What ran is told by debug.log, a log of the same processes"));
    assert_eq!(opened.documents.jobs.len(), 1);
    // Of other processes: it says nothing about this table.
    let opened = table_and_debug_log([&log(), &debug.replace("4711", "4799")]);
    assert!(opened.rows.is_empty() && matches!(opened.files[0].outcome, Outcome::NeedsMapping(_)));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_ran_is_told_in_another_real_file() {
    let names = ["scale_2x1gpu_all_reduce.log", "scale_2x1gpu_all_reduce_nccl_debug_excerpt.log"];
    let [table, debug] = names.map(|name| real::file(&format!("tuning/logs/{name}")));
    let opened = table_and_debug_log([&String::from_utf8_lossy(&table), &String::from_utf8_lossy(&debug)]);
    assert_eq!((opened.rows.len(), opened.rows[0].ran.to_string()), (32, "TREE/LL/1".to_owned()));
    assert!(opened.rows.iter().all(|row| row.kind == RunKind::Default && row.evidence == Evidence::Executed));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_debug_logs() {
    let job = |name: &str| {
        let bytes = real::file(&format!("tuning/logs/{name}"));
        match open_named(&bytes, name, None) {
            (FileReport { outcome: Outcome::Known { format, .. }, .. }, FileContent::Log { rows, job }) => {
                assert_eq!((format.as_str(), rows.len()), ("debug log of RCCL", 0));
                job
            }
            (report, _) => panic!("{report:?}"),
        }
    };
    let excerpt = job("scale_2x1gpu_all_reduce_nccl_debug_excerpt.log");
    assert_eq!((excerpt.decisions.len(), excerpt.calls.values().sum::<u64>(), excerpt.torn_lines), (32, 31, 0));
    let silent = real::file("tuning/logs/scale_2x8gpu_alltoall_nccl_debug.log");
    let (report, _) = open_named(&silent, "silent.log", None);
    assert!(matches!(report.outcome, Outcome::Refused(why) if why.contains("NCCL_DEBUG_SUBSYS=COLL,TUNING")));
    let torn = job("scale_2x8gpu_all_reduce_nccl_debug.log");
    let (calls, decisions) = (torn.calls.values().sum::<u64>(), torn.decisions.values().sum::<u64>());
    // 1,789 calls begin in this file; of 11 the end is torn off.
    assert_eq!((calls, decisions, torn.torn_lines), (1778, 345, 11));
    assert!(torn.calls.keys().all(|call| call.ranks == Some(16) && call.collective == Collective::AllReduce));
}

fn mutated(text: &str, edits: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (index, byte) in edits {
        let at = index.index(bytes.len());
        bytes[at] = *byte;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_edit(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..80), cut in any::<prop::sample::Index>()) {
        for text in [format!("{}{DECISION}{CALL}{COSTS}{}", log(), log()), JSON.to_owned()] {
            let bytes = mutated(&text, &edits);
            for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
                for configuration in [None, Some("default"), Some("RING/LL/8")] {
                    let (report, content) = open_named(bytes, "log", configuration);
                    if let Outcome::Loaded { problems, .. } = &report.outcome {
                        prop_assert!(problems.kept.iter().all(|problem| problem.line > 0));
                    }
                    if let FileContent::Log { rows, .. } = content {
                        let is_sound = |row: &Row| row.in_place.or(row.out_of_place).is_some_and(|s| s.busbw_gbps.is_finite());
                        prop_assert!(rows.iter().all(|row| is_sound(row) && row.evidence >= Evidence::Executed));
                    }
                }
            }
        }
    }

    #[test]
    fn any_cut(at in any::<prop::sample::Index>()) {
        let text = log();
        open_named(&text.as_bytes()[..at.index(text.len())], "log", Some("RING/LL/8"));
    }
}
