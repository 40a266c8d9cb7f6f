//! Input for which the commands of tuning (`train`, `predict`, `export`, `lint`, `coverage`, `plan`, `ab`, `compare`,
//! `report`) could give a wrong answer without a message: each test asserts the message, the flag in the JSON or that
//! no file was written, and the exit code. Verdicts between measured sizes are in `tests/tuning/between_sizes.rs`; how
//! readers read files is in `tests/tuning/tuner_files.rs`.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use crate::support::terminal::{collectune, ended, json, text, write};
use collectune::{
    collective::Collective,
    math::Stream,
    tuning::{conf::Reader, simulate::Simulation},
};
use serde_json::Value;
use tempfile::TempDir;

const HEADER: &str = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n";

fn simulated(folder: &TempDir) -> String {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![1],
        sizes: (14..=18).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4],
        ..Simulation::example()
    };
    write(folder, "sweep.csv", simulation.to_csv())
}

/// A sweep of two scales: on one node a forced configuration is fastest, on two the default is.
fn two_scales() -> String {
    let mut text = HEADER.to_owned();
    for (nodes, forced) in [(1, 20.0), (2, 5.0)] {
        for log2 in 14..=18 {
            for repeat in 0..3 {
                let (size, more) = (1_u64 << log2, f64::from(log2 - 14) + 0.01 * f64::from(repeat));
                text += &format!("all_reduce_perf,{nodes},{},{size},{},RING,LL,4\n", 8 * nodes, forced + more);
                text += &format!("all_reduce_perf,{nodes},{},{size},{},TREE,LL,4\n", 8 * nodes, forced + more - 1.0);
                text += &format!("all_reduce_perf,{nodes},{},{size},{},DEFAULT,DEFAULT,0\n", 8 * nodes, 10.0 + more);
            }
        }
    }
    text
}

fn said(arguments: &[&str], code: i32) -> String {
    let output = collectune(arguments);
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_refused_scale_writes_nothing_and_ends_with_1() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "two.csv", two_scales());
    let conf = folder.path().join("out.conf");
    let path = conf.display().to_string();
    let export = ["tuning", "export", &sweep, "--reader", "example", "-o", &path];
    let told = said(&export, 1);
    assert!(
        told.contains("error: Nothing is written for 2 nodes, 16 ranks: this reader can't keep the default"),
        "{told}"
    );
    assert!(told.contains("--by-scale writes a file for each of the other scales") && !conf.exists(), "{told}");
    // Nothing on the standard output either, which may be a file.
    let output = collectune(&export[..5]);
    assert!(ended(&output, 1).is_empty(), "{}", text(&output.stdout));
    let told = said(&[&export[..], &["--by-scale"]].concat(), 1);
    assert!(
        told.contains("Nothing is written for 2 nodes, 16 ranks") && !told.contains("no tuner file is written"),
        "{told}"
    );
    let written = fs::read_to_string(&conf).unwrap();
    assert!(
        written.contains("allreduce,0,18446744073709551615,ring,ll,4,1,8") && !written.contains(",2,16,"),
        "{written}"
    );
    // A reader that can keep the default is not refused.
    ended(&collectune(&["tuning", "export", &sweep, "--reader", "dn-tuner", "-o", &path]), 0);
}

#[test]
fn a_scale_of_which_only_the_default_is_known_is_refused_as_well() {
    let folder = TempDir::new().unwrap();
    let mut sweep = two_scales();
    for log2 in 14..=18 {
        sweep += &format!("all_gather_perf,1,8,{},7.5,DEFAULT,DEFAULT,0\n", 1 << log2);
    }
    let sweep = write(&folder, "default.csv", sweep);
    let told = said(&["tuning", "export", &sweep, "--reader", "example"], 1);
    assert!(told.contains("without a rule that can be written, all_gather would run on one channel"), "{told}");
}

#[test]
fn how_to_load_a_file_names_the_file_that_was_written() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let conf = folder.path().join("ours.csv").display().to_string();
    let output =
        collectune(&["tuning", "export", &sweep, "--reader", "dn-tuner", "-o", &conf, "--architecture", "gfx942"]);
    let written = ended(&output, 0);
    assert!(written.contains("NCCL_TUNER_CONFIG_FILE=/absolute/path/ours.csv"), "{written}");
    let told = text(&output.stderr);
    assert!(told.contains("warning: --architecture is not used: only the name that RCCL looks for has it"), "{told}");
}

#[test]
fn many_sweeps_take_three_lines_of_a_tuner_file() {
    let folder = TempDir::new().unwrap();
    let sweep = fs::read_to_string(simulated(&folder)).unwrap();
    let mut paths = Vec::new();
    for (number, chunk) in sweep.lines().skip(1).collect::<Vec<_>>().chunks(9).enumerate() {
        let inside = folder.path().join(format!("day{number}"));
        fs::create_dir(&inside).unwrap();
        let path = inside.join("merged_metrics.csv");
        let header = sweep.lines().next().unwrap();
        fs::write(&path, format!("{header}\n{}\n", chunk.join("\n"))).unwrap();
        paths.push(path.display().to_string());
    }
    let export = |paths: &[String]| {
        let mut arguments = vec!["tuning", "export", "--reader", "dn-tuner"];
        arguments.extend(paths.iter().map(String::as_str));
        let text = ended(&collectune(&arguments), 0);
        text.lines().filter(|line| line.contains("sweep")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(paths.len() > 3, "{}", paths.len());
    let last = format!("# the last sweep: day{}/merged_metrics.csv", paths.len() - 1);
    let first = "# the first sweep: day0/merged_metrics.csv".to_owned();
    assert_eq!(export(&paths), [format!("# sweeps: {}", paths.len()), first, last]);
    // Only the part of a path that distinguishes the files is written.
    let two = export(&paths[..2]);
    assert_eq!(two, ["# sweep: day0/merged_metrics.csv", "# sweep: day1/merged_metrics.csv"]);
}

#[test]
fn equal_findings_stand_once_with_their_number() {
    let folder = TempDir::new().unwrap();
    let rule = |size: u64| format!("allreduce,{size},{size},-1,ll,4,2,16\n");
    let conf = write(&folder, "many.conf", (0..40).map(|step| rule(4096 << (step / 2) | step)).collect::<String>());
    let lint = |more: &[&str]| ended(&collectune(&[&["tuning", "lint", &conf], more].concat()), 3);
    let (grouped, all) = (lint(&[]), lint(&["--all"]));
    assert!(grouped.lines().count() < 30 && all.lines().count() > 150, "{grouped}");
    assert!(grouped.contains("(39 more like it: lines 2, 3, 4, 5, 6, 7, …)"), "{grouped}");
    assert!(grouped.contains("--all lists every finding.") && !all.contains("--all"), "{grouped}");
    // The JSON has every finding.
    let findings: Value = serde_json::from_str(&lint(&["--json"])).unwrap();
    let of = |reader: Reader| findings.as_array().unwrap().iter().filter(|f| f["reader"] == reader.key()).count();
    assert!(Reader::OF_CONF.iter().all(|reader| of(*reader) >= 40), "{}", of(Reader::Example));
}

#[test]
fn an_empty_tuner_file_displaces_a_table_and_can_not_be_judged_by_an_ab() {
    let folder = TempDir::new().unwrap();
    let empty = write(&folder, "empty.conf", "\n");
    let runs = write(&folder, "runs.csv", "nodes,size_bytes,def_runs,cfg_runs\n1,4096,1;1.01;1.02,2;2.01;2.02\n");
    let out = folder.path().join("out.conf");
    let of_gfx950 = ["--reader", "rccl", "--library-version", "2.30.4", "--gpu", "gfx950"];
    let out_of_lint = ended(&collectune(&[&["tuning", "lint", &empty], &of_gfx950[..]].concat()), 3);
    assert!(out_of_lint.contains("empty-displaces: the file has no valid rule"), "{out_of_lint}");
    let told = said(&["tuning", "ab", &runs, "--conf", &empty, "-o", &out.display().to_string()], 1);
    assert!(told.contains("is empty: there is no rule to judge") && !out.exists(), "{told}");
    // A file of comments has no rules; its sizes are shown and not judged.
    let comments = write(&folder, "comments.conf", "# none\n");
    let told = said(&["tuning", "ab", &runs, "--conf", &comments, "-o", &out.display().to_string()], 1);
    assert!(told.contains("no campaign ran a tuner file with rules: nothing is written") && !out.exists(), "{told}");
    let report = json(&["tuning", "ab", &runs, "--conf", &comments, "--json"]);
    assert_eq!(report[0]["rules"].as_array().unwrap().len(), 0);
    assert!(report[0]["notes"].to_string().contains("The tuner file has no rule"), "{report}");
}

#[test]
fn the_arm_of_an_empty_file_is_not_judged_as_rules() {
    let text = "# collective: all_reduce\n# the arms ran in a balanced order\n# the second arm is the plugin with an empty \
                tuner file\nnodes,size_bytes,def_runs,cfg_runs\n1,4096,1;1.01;1.02,0.5;0.51;0.52\n";
    let folder = TempDir::new().unwrap();
    let runs = write(&folder, "runs.csv", text);
    let report = json(&["tuning", "ab", &runs, "--json"]);
    assert_eq!(report[0]["rules"].as_array().unwrap().len(), 0, "{report}");
    let people = ended(&collectune(&["tuning", "ab", &runs]), 0);
    assert!(people.contains("4 KiB") && !people.contains("landmine"), "{people}");
}

#[test]
fn a_file_of_ncclx_is_read_by_its_own_grammar_everywhere() {
    let folder = TempDir::new().unwrap();
    let conf = write(&folder, "n.csv", "allreduce,[0,1048576],ring,ll128,4,1,8\n");
    let rows = |gbps: f64| {
        format!(
            "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n\
             all_reduce,1,8,65536,{gbps},RING,LL128,4\nall_reduce,1,8,65536,{},TREE,LL,4\n",
            gbps / 2.0
        )
    };
    let (before, after) = (write(&folder, "a.csv", rows(10.0)), write(&folder, "b.csv", rows(11.0)));
    let one = json(&["tuning", "compare", &before, &after, "--conf", &conf, "--json"]);
    let other = json(&["tuning", "compare", &before, &after, "--conf", &conf, "--reader", "ncclx", "--json"]);
    assert_eq!(one, other);
    let call = ["tuning", "coverage", "--batches", "1", "--hidden", "32768", "--nodes", "1", "--ranks", "8"];
    let asked = |more: &[&str]| json(&[&call[..], &["--conf", &conf, "--json"], more].concat());
    let found = asked(&[]);
    assert_eq!(found, asked(&["--reader", "ncclx"]));
    assert!(found.to_string().to_lowercase().contains("ring"), "{found}");
    let runs = "nodes,size_bytes,def_runs,cfg_runs\n1,65536,100;101;102,110;111;112\n";
    let runs = write(&folder, "allreduce_1n.per_size_stats.csv", runs);
    let report = json(&["tuning", "ab", &runs, "--conf", &conf, "--json"]);
    assert!(report[0]["notes"].to_string().contains("one of NCCLX, whose rules are not judged here"), "{report}");
    assert_eq!(report, {
        let mut without = json(&["tuning", "ab", &runs, "--json"]);
        without[0]["notes"]
            .as_array_mut()
            .unwrap()
            .push(report[0]["notes"].as_array().unwrap().last().unwrap().clone());
        without
    });
    let out = folder.path().join("left.csv").display().to_string();
    assert!(said(&["tuning", "ab", &runs, "--conf", &conf, "-o", &out], 1).contains("nothing is written"));
}

#[test]
fn medians_of_older_tables_are_read_and_prove_nothing() {
    let folder = TempDir::new().unwrap();
    let conf = write(&folder, "a.conf", "allreduce,4096,8192,tree,ll,2,1,8\n");
    let older = "nodes,size_bytes,def_median,cfg_median,gain_pct,psup,n_def,n_cfg\n1,4096,0.32,0.36,12.5,1.0,9,9\n";
    let older = write(&folder, "allreduce_1n.per_size.csv", older);
    let report = json(&["tuning", "ab", &older, "--conf", &conf, "--json"]);
    assert!(report[0]["notes"].to_string().contains("The file has medians and not the runs behind them"), "{report}");
    let rule = &report[0]["rules"][0];
    assert_eq!(
        (rule["verdict"].as_str(), rule["sizes"][0]["gain_pct"].as_f64().map(f64::round)),
        (Some("drop"), Some(13.0))
    );
    assert_eq!(report[0]["problems"].as_array().unwrap().len(), 0, "{report}");
    // For a table that is no sweep, the message names what is needed as an option that the command has.
    let none = write(&folder, "sizes.csv", "size,before,after\n4096,1,2\n");
    let told = said(&["tuning", "ab", &none], 1);
    assert!(
        told.contains("def_runs and cfg_runs, or def_median and cfg_median") && !told.contains("--configuration"),
        "{told}"
    );
}

/// A campaign of nine runs of each arm; `run` says by how much one of the default is slower.
fn campaign(seed: u64, deviation: f64, slow: Option<(usize, f64)>) -> String {
    let mut stream = Stream::new(seed);
    let mut normal = || stream.normal();
    let mut text =
        "# collective: all_reduce\n# the arms ran in a balanced order\nnodes,size_bytes,def_runs,cfg_runs\n".to_owned();
    for log2 in 12..=29 {
        let middle = 100.0 * f64::from(log2 - 11);
        let mut runs = |slow: Option<(usize, f64)>| {
            let run = |place: usize, z: f64| {
                let factor = slow.filter(|(of, _)| *of == place).map_or(1.0, |(_, factor)| factor);
                format!("{:.2}", middle * (1.0 + deviation * z) * factor)
            };
            (0..9).map(|place| run(place, normal())).collect::<Vec<_>>().join(";")
        };
        text += &format!("1,{},{},{}\n", 1_u64 << log2, runs(slow), runs(None));
    }
    text
}

#[test]
fn nine_ordinary_runs_are_not_disturbed() {
    let disturbed = |text: &str| {
        let answer = collectune::tuning::ab::judge(text, "", None, &Default::default());
        answer.notes.into_iter().filter(|note| note.contains("disturbed")).collect::<Vec<_>>()
    };
    let mut alarms = 0;
    for seed in 0..60 {
        for deviation in [0.005, 0.02, 0.05] {
            alarms += usize::from(!disturbed(&campaign(seed, deviation, None)).is_empty());
        }
    }
    // Of 180 campaigns without a disturbed run.
    assert!(alarms <= 4, "{alarms}");
    let found = (0..60).filter(|seed| {
        let said = disturbed(&campaign(*seed, 0.01, Some((4, 0.92))));
        said.len() == 1 && said[0].starts_with("Run 5 of the default is more than")
    });
    assert!(found.count() >= 57);
}

#[test]
fn a_log_says_on_how_many_nodes_its_communicators_are() {
    let folder = TempDir::new().unwrap();
    let line = "node0:115:115 [0] NCCL INFO ";
    let called = format!(
        "{line}AllReduce: opCount 36 sendbuff 0x1 recvbuff 0x1 count 1048576 datatype 7 op 0 root 0 comm 0x55 [nranks=8] stream 0x1\n"
    );
    let told = write(
        &folder,
        "told.log",
        format!("{line}comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0\n{called}"),
    );
    let untold = write(&folder, "untold.log", &called);
    let conf = write(&folder, "one.conf", "allreduce,0,99999999,ring,ll,8,1,8,-1,-1\n");
    let ask = |log: &str| {
        let report = json(&["tuning", "coverage", log, "--conf", &conf, "--reader", "rccl", "--json"]);
        let line = &report["lines"][0];
        (
            line["num_nodes"].as_u64(),
            line["num_gpus"].as_u64(),
            line["hits"].as_str().unwrap().to_owned(),
            report["notes"].to_string(),
        )
    };
    let (nodes, ranks, hits, notes) = ask(&told);
    assert_eq!((nodes, ranks, hits.as_str()), (Some(2), Some(8), "gap"), "{notes}");
    assert!(!notes.contains("are taken for"), "{notes}");
    let (nodes, _, hits, notes) = ask(&untold);
    assert_eq!((nodes, hits.as_str()), (Some(1), "rule"));
    assert!(notes.contains("communicators of 8 ranks are taken for 1 node"), "{notes}");
}

#[test]
fn fewer_ranks_than_nodes_are_refused() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let why = "--nodes 2 --ranks 1: ranks are counted over all nodes, so there are at least as many";
    for arguments in [
        &["tuning", "predict", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "1", "--size", "1M"][..],
        &[
            "tuning",
            "ab-plan",
            "--collective",
            "all_reduce",
            "--nodes",
            "2",
            "--ranks",
            "1",
            "--plugin",
            "/a.so",
            "--conf",
            "a",
        ],
        &["tuning", "coverage", "--batches", "1", "--hidden", "4096", "--nodes", "2", "--ranks", "1"],
        &["policy", "replay", &sweep, "--nodes", "2", "--ranks", "1"],
    ] {
        let output = collectune(arguments);
        assert!(ended(&output, 1).is_empty(), "{}", text(&output.stdout));
        // A file of another kind may be named first.
        let is_said = text(&output.stderr).contains(why) || arguments[0] == "policy";
        assert!(is_said, "{}", text(&output.stderr));
    }
    let rows = write(&folder, "rows.csv", format!("{HEADER}all_reduce_perf,2,1,4096,0.2,TREE,LL,2\n"));
    let told = said(&["tuning", "train", &rows], 1);
    assert!(told.contains("column num_gpus: \"1\" is fewer than the 2 nodes: ranks count over all nodes"), "{told}");
}

#[test]
fn a_default_curve_alone_gives_a_report_with_its_dips() {
    let folder = TempDir::new().unwrap();
    let mut curve = HEADER.to_owned();
    for (step, busbw) in [1.0, 2.0, 4.0, 8.0, 3.0, 16.0].iter().enumerate() {
        curve += &format!("all_reduce_perf,2,16,{},{busbw},DEFAULT,DEFAULT,0\n", 4096 << step);
    }
    let curve = write(&folder, "curve.csv", curve);
    let output = collectune(&["report", &curve]);
    let report = ended(&output, 0);
    assert!(report.contains("Only the library's default was measured") && report.contains("64 KiB"), "{report}");
    assert!(report.to_lowercase().contains("dip") || report.to_lowercase().contains("hotspot"), "{report}");
    // There is nothing to learn from; the message names what is possible instead.
    let told = said(&["tuning", "train", &curve], 1);
    assert!(
        told.contains(
            "only the library's default was measured and gave right values; a report shows its curve and where it dips"
        ),
        "{told}"
    );
}

#[test]
fn scripts_lists_and_single_rows_are_called_what_they_are() {
    let folder = TempDir::new().unwrap();
    let perl = write(&folder, "a.pl", "#!/usr/bin/perl\nuse strict;\nmy @a = (1, 2, 3);\n");
    let list = write(&folder, "a.json", "[1, 2, 3]\n");
    let words = write(&folder, "b.json", "[\"a\", \"b\"]\n");
    let one = write(&folder, "one.csv", format!("{HEADER}all_reduce_perf,2,16,4096,0.2,TREE,LL,2\n"));
    assert!(said(&["tuning", "train", &perl], 1).contains("a.pl is a Perl script, not a table: give what it writes."));
    for list in [list, words] {
        assert!(said(&["tuning", "train", &list], 1).contains("is a JSON list without a name for anything in it"));
    }
    let told = said(&["tuning", "train", &one], 1);
    assert!(told.contains("there is 1 row to learn from, and at least 2 are needed"), "{told}");
}

#[test]
fn options_that_are_of_no_use_are_named_or_refused() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,2,16\n");
    let told = said(
        &["tuning", "train", &sweep, "--test-split", "0", "--stages", "10", "--learning-rate", "0.5", "--json"],
        0,
    );
    for option in ["--stages", "--learning-rate"] {
        assert!(told.contains(&format!("warning: {option} is not used: they are of boosting")), "{told}");
    }
    let told = said(
        &["tuning", "train", &sweep, "--test-split", "0", "--preset", "seed", "--stages", "10", "--trees", "9"],
        0,
    );
    assert!(told.contains("--trees is not used: the preset seed") && !told.contains("--stages is"), "{told}");
    let aside = ["tuning", "train", &sweep, "--test-split", "0", "--set-aside", "all_reduce:4x32:RING/LL/8"];
    let told = said(&aside, 0);
    let why =
        "RING/LL/8 of all_reduce on 4 nodes, 32 ranks is to be left out and was not measured: nothing is left out";
    assert!(told.contains(why), "{told}");
    let notes = json(&[&aside[..], &["--json"]].concat())["notes"].to_string();
    assert!(notes.contains(why), "{notes}");
    assert!(
        said(&["tuning", "lint", &conf, "--set", "1"], 3).contains("--set is not used: no sweep is given (--sweep)")
    );
    for arguments in [
        &["tuning", "coverage", "a.log", "--collective", "broadcast"][..],
        &["tuning", "coverage", "a.log", "--type", "fp64"],
        &["tuning", "coverage", "a.log", "--calls", "4"],
        &["tuning", "coverage", "a.log", "--reader", "rccl"],
        &["tuning", "coverage", "--batches", "1", "--hidden", "4096", "--nodes", "1", "--ranks", "8", "--steps", "100"],
        &["tuning", "coverage", "--batches", "1", "--hidden", "0", "--nodes", "1", "--ranks", "8"],
        &["report", &sweep, "--date", "banana"],
    ] {
        said(arguments, 2);
    }
    let backwards =
        ["tuning", "ab-plan", "--collective", "all_reduce", "--nodes", "2", "--ranks", "16", "--plugin", "/a.so"];
    let backwards = [&backwards[..], &["--conf", "a.conf", "--min", "1G", "--max", "4K"]].concat();
    assert!(said(&backwards, 1).contains("--min is above --max"));
}

/// What a library would cut is not measured under another name.
#[test]
fn channels_that_no_communicator_has_are_left_out_of_a_plan() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    for (library, version, most) in [("nccl", "2.25", 32), ("nccl", "2.27", 64), ("rccl", "2.27", 128)] {
        let asked = ["tuning", "plan", &sweep, "--channels", "4,48,100,200", "--library", library];
        let told = said(&[&asked[..], &["--library-version", version, "--gpu", "h100", "--json"]].concat(), 0);
        assert!(told.contains(&format!("has at most {most} there")), "{library} {version}: {told}");
    }
}

/// The tuner of RCCL's own that reads a file came with 2.28.3, and NCCL has none.
#[test]
fn an_export_that_nobody_reads_is_told() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let export = |more: &[&str]| said(&[&["tuning", "export", &sweep, "--reader", "rccl"][..], more].concat(), 0);
    assert!(export(&["--library-version", "2.27"]).contains("RCCL 2.27 has no tuner of its own that reads this file"));
    assert!(export(&["--library", "nccl"]).contains("NCCL does not read this file"));
    assert!(!export(&["--library-version", "2.30.4"]).contains("reads this file"));
}

/// An A/B of a tuner file that has nothing to say is a night for nothing.
#[test]
fn an_ab_of_rules_for_something_else_is_told() {
    let folder = TempDir::new().unwrap();
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,2,16,-1,-1\n");
    let planned = |collective: &str, nodes: &str, ranks: &str, conf: &str| {
        let asked = ["tuning", "ab-plan", "--collective", collective, "--nodes", nodes, "--ranks", ranks];
        said(&[&asked[..], &["--plugin", "/a.so", "--conf", conf]].concat(), 0)
    };
    assert!(planned("all_gather", "2", "16", &conf).contains("has no rule for all_gather on 2 nodes, 16 ranks"));
    assert!(planned("all_reduce", "4", "32", &conf).contains("has no rule for all_reduce on 4 nodes, 32 ranks"));
    assert_eq!(planned("all_reduce", "2", "16", &conf), "");
    assert_eq!(planned("all_gather", "2", "16", "/on/the/cluster.conf"), "");
}

#[test]
fn files_that_a_command_does_not_use_are_named() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let rewards = write(&folder, "rewards.log", "allreduce,4194304,1,8,12.34\nallreduce,4194304,1,8,12.35\n");
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,2,16\n");
    for file in [&rewards, &conf] {
        for command in [&["tuning", "train", &sweep, file, "--test-split", "0"][..], &["tuning", "plan", &sweep, file]]
        {
            let told = said(command, 0);
            assert!(told.contains(&format!("warning: {file} is not used: it holds")), "{told}");
        }
        let told = said(&["report", &sweep, file], 0);
        assert!(told.contains(&format!("warning: {file} is not in the report: it holds")), "{told}");
    }
    // A report that is written again does not change, and the options without effect are named.
    let made = folder.path().join("made.json").display().to_string();
    said(&["report", &sweep, "-o", &made], 0);
    let told = said(&["report", &made, "--no-charts", "--preset", "seed"], 0);
    assert!(told.contains("--no-charts is not used: a report is written again as it was made"), "{told}");
    assert!(told.contains("--preset is not used: only a report of sweeps has it"), "{told}");
}

#[test]
fn typed_calls_are_of_one_step() {
    let folder = TempDir::new().unwrap();
    let typed = [
        "tuning",
        "coverage",
        "--batches",
        "1,4611686018427387904",
        "--hidden",
        "4096",
        "--calls",
        "160",
        "--nodes",
        "1",
    ];
    let report = json(&[&typed[..], &["--ranks", "8", "--json"]].concat());
    assert_eq!(report["total"]["calls"].as_f64(), Some(160.0));
    assert!(report["notes"].to_string().contains("1 batch size left out"), "{report}");
    drop(folder);
}

#[test]
fn a_campaign_says_its_collective_itself() {
    let folder = TempDir::new().unwrap();
    let text = "# collective: all_reduce\n# the arms ran in a balanced order\nnodes,size_bytes,def_runs,cfg_runs\n\
                1,4096,1;1.01;1.02;1;1.01,2;2.01;2.02;2;2.01\n";
    let runs = write(&folder, "runs.csv", text);
    let conf = write(&folder, "a.conf", "allreduce,4096,4096,tree,ll,2,1,8\n");
    let report = json(&["tuning", "ab", &runs, "--conf", &conf, "--collective", "broadcast", "--json"]);
    assert_eq!(report[0]["rules"][0]["verdict"].as_str(), Some("keep"), "{report}");
    let why = "These logs are of all_reduce: broadcast, which is given, is not used";
    assert!(report[0]["notes"].to_string().contains(why), "{report}");
}

#[test]
fn what_one_campaign_leaves_is_written_and_what_none_does_is_not() {
    let folder = TempDir::new().unwrap();
    let runs = |name: &str, gain: f64| {
        let arm = |factor: f64| {
            (0..9).map(|i| format!("{:.3}", (10.0 + 0.01 * f64::from(i)) * factor)).collect::<Vec<_>>().join(";")
        };
        let text = format!("nodes,size_bytes,def_runs,cfg_runs\n1,4096,{},{}\n", arm(1.0), arm(gain));
        write(&folder, name, text)
    };
    let conf = write(&folder, "a.conf", "allreduce,4096,4096,tree,ll,2,1,8\n");
    let out = folder.path().join("out.conf");
    let path = out.display().to_string();
    let (won, lost) = (runs("allreduce_won.csv", 1.3), runs("allreduce_lost.csv", 0.7));
    let both = said(&["tuning", "ab", &won, &lost, "--conf", &conf, "-o", &path], 1);
    assert!(both.contains("-o takes what one campaign leaves") && !out.exists(), "{both}");
    let told = said(&["tuning", "ab", &lost, "--conf", &conf, "-o", &path], 0);
    assert!(told.contains("No rule is kept: deploy no tuner file") && Path::new(&path).exists(), "{told}");
    let told = said(&["tuning", "ab", &won, "--conf", &conf, "-o", &path], 0);
    assert!(!told.contains("No rule is kept"), "{told}");
    assert!(fs::read_to_string(&out).unwrap().contains("\nallreduce,4096,4096,tree,ll,2,1,8\n"));
}

#[test]
fn a_saved_model_keeps_what_it_was_learnt_from() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let (model, again) = (folder.path().join("a.json"), folder.path().join("b.json"));
    let [model, again] = [model, again].map(|path| path.display().to_string());
    said(&["tuning", "train", &sweep, "--test-split", "0", "--target", "printed", "--save", &model], 0);
    let told = said(&["tuning", "train", &model, "--test-split", "0", "--target", "time", "--save", &again], 0);
    assert!(told.contains("--target is not used: a saved model says it"), "{told}");
    let target =
        |path: &str| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()["target"].clone();
    assert_eq!((target(&model), target(&again)), ("printed".into(), "printed".into()));
}

#[test]
fn a_gain_lies_in_its_own_interval() {
    for seed in 0..400 {
        let stream = &mut Stream::new(seed);
        let runs = 3 + stream.below(8);
        let mut arm = || {
            let run = |_| format!("{:.2}", 10.0 * (1.0 + 0.3 * stream.unit() * stream.unit() * stream.unit()));
            (0..runs).map(run).collect::<Vec<_>>().join(";")
        };
        let text = format!("nodes,size_bytes,def_runs,cfg_runs\n1,4096,{},{}\n", arm(), arm());
        let answer = collectune::tuning::ab::judge(&text, "", None, &Default::default());
        let effect = &answer.rules[0].effects[0];
        let ((low, high), gain) = (effect.interval_90_pct.unwrap(), effect.gain_pct);
        assert!(low <= gain && gain <= high, "{seed}: {gain} is not in {low} to {high}: {text}");
    }
}

#[test]
fn notes_say_how_stalled_runs_are_used_once() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let mut rows: Vec<String> = fs::read_to_string(&sweep).unwrap().lines().map(str::to_owned).collect();
    let header: Vec<&str> = rows[0].split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (algbw, busbw, time) = (at("algbw_ip"), at("busbw_ip"), at("time_ip_us"));
    let mut cells: Vec<String> = rows[9].split(',').map(str::to_owned).collect();
    for (column, factor) in [(algbw, 0.05), (busbw, 0.05), (time, 20.0)] {
        cells[column] = (cells[column].parse::<f64>().unwrap() * factor).to_string();
    }
    rows[9] = cells.join(",");
    let stalled = write(&folder, "runs.csv", rows.join("\n"));
    let lines =
        |told: &str| told.lines().filter(|line| line.contains("stalled")).map(str::to_owned).collect::<Vec<_>>();
    for (option, used) in [("--json", "all set aside"), ("--keep-stalls", "all used")] {
        let told = lines(&said(&["tuning", "train", &stalled, "--test-split", "0", "--trees", "5", option], 0));
        assert!(told.len() == 1 && told[0].contains(used), "{told:?}");
    }
    let planned = lines(&said(&["tuning", "plan", &stalled, "--set-aside", "all_reduce:1x8:RING/LL/1"], 0));
    assert!(planned.len() == 1, "{planned:?}");
}

#[test]
fn a_plan_that_learns_nothing_names_what_is_to_be_left_out() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let back = format!("--bring-back={sweep}:3:in");
    for option in ["--set-aside=all_reduce:1x8:RING/LL/1", &back] {
        let told = said(&["tuning", "plan", &sweep, option], 0);
        let name = option.split('=').next().unwrap();
        assert!(told.contains(&format!("{name} is not used: nothing is learnt without --learn")), "{told}");
    }
}

#[test]
fn a_model_that_is_fitted_with_other_settings_does_not_count_as_changed() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let model = folder.path().join("a.json").display().to_string();
    said(&["tuning", "train", &sweep, "--test-split", "0", "--trees", "5", "--save", &model], 0);
    let predict =
        ["tuning", "predict", "--model", &model, "--collective", "all_reduce", "--nodes", "1", "--ranks", "8"];
    for (options, notes) in [(&[][..], false), (&["--minimum-gain", "3"], false), (&["--seed", "4"], true)] {
        let told = said(&[&predict[..], options].concat(), 0);
        assert!(!told.contains("predicts differently"), "{told}");
        assert_eq!(told.contains("was saved with other settings"), notes, "{told}");
    }
}

#[test]
fn a_model_whose_points_were_changed_says_so() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let model = folder.path().join("a.json").display().to_string();
    said(&["tuning", "train", &sweep, "--test-split", "0", "--save", &model], 0);
    let mut file: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
    let busbw = file["points"][0]["busbw_gbps"].as_f64().unwrap();
    file["points"][0]["busbw_gbps"] = (busbw * 1.5).into();
    let changed = write(&folder, "changed.json", file.to_string());
    let told = said(&["tuning", "train", &changed, "--test-split", "0"], 0);
    assert!(told.contains("1 point contradicted by the median of its runs"), "{told}");
    assert!(told.contains("predicts differently here"), "{told}");
}

#[test]
fn what_is_chosen_of_one_set_or_named_for_rccl_is_not_passed_over() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let told = said(&["tuning", "train", &sweep, "--test-split", "0", "--set", "2.26"], 0);
    assert!(told.contains("--set 2.26 chooses nothing: these files hold one set of measurements"), "{told}");
    assert!(!said(&["tuning", "train", &sweep, "--test-split", "0", "--set", "1"], 0).contains("chooses nothing"));
    let conf = folder.path().join("ours.csv").display().to_string();
    let export = ["tuning", "export", &sweep, "--reader", "rccl", "--architecture", "gfx942", "-o", &conf];
    let written = ended(&collectune(&export), 0);
    assert!(written.contains("# there under the name rccl_tuner_gfx942.csv"), "{written}");
}

#[test]
fn a_gpu_in_the_name_of_a_file_is_one_that_rccl_looks_for() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let conf = folder.path().join("ours.csv").display().to_string();
    let export = ["tuning", "export", &sweep, "--reader", "rccl", "-o", &conf];
    let with = |more: &[&str]| collectune(&[&export[..], more].concat());
    for gpu in [&["--architecture", "mi300x"][..], &["--architecture", "GFX942:sramecc+"], &["--gpu", "mi300x"]] {
        let written = ended(&with(gpu), 0);
        assert!(written.contains("# there under the name rccl_tuner_gfx942.csv"), "{gpu:?}: {written}");
    }
    fs::remove_file(&conf).unwrap();
    let contradiction = with(&["--gpu", "gfx950", "--architecture", "mi300x"]);
    assert!(ended(&contradiction, 1).is_empty() && !Path::new(&conf).exists());
    let told = text(&contradiction.stderr);
    assert!(told.contains("--architecture says gfx942 and --gpu says gfx950"), "{told}");
    ended(&with(&["--gpu", "mi300x", "--architecture", "gfx942"]), 0);
    for (name, why) in [("h100", "on which no RCCL looks for a tuner file"), ("mi999", "mi999 is no GPU that is known")]
    {
        let told = text(&with(&["--architecture", name]).stderr);
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn direct_is_named_up_to_its_end_alone() {
    let folder = TempDir::new().unwrap();
    let mut sweep = HEADER.to_owned();
    for log2 in 16..=26 {
        for (channels, share) in [(8, 1.0), (16, 1.2), (32, 1.4)] {
            let what = if log2 <= 22 { "DIRECT,SIMPLE" } else { "RING,SIMPLE" };
            let busbw = share * f64::from(log2 - 10);
            sweep += &format!("all_gather_perf,2,16,{},{busbw},{what},{channels}\n", 1_u64 << log2);
        }
    }
    let sweep = write(&folder, "sweep.csv", sweep);
    let on =
        ["--collective", "all_gather", "--nodes", "2", "--ranks", "16", "--sizes", "4M,4194308,4500K,5M,8M", "--json"];
    let answer = json(&[&["tuning", "predict", &sweep][..], &on].concat());
    let named: Vec<(u64, &str)> = answer
        .as_array()
        .unwrap()
        .iter()
        .map(|at| (at["size_bytes"].as_u64().unwrap(), at["algo"].as_str().unwrap()))
        .collect();
    assert_eq!(named[0], (4 << 20, "Direct"));
    assert!(named.len() == 5 && named[1..].iter().all(|(_, algorithm)| *algorithm == "RING"), "{named:?}");
}

#[test]
fn times_in_place_and_out_of_place_are_not_compared() {
    let folder = TempDir::new().unwrap();
    let state = |name: &str, columns: &[&str]| {
        let mut rows = format!("collective,num_nodes,num_gpus,size_bytes,algo,proto,nchannels,{}\n", columns.join(","));
        for log2 in 14..=18 {
            for repeat in 0..3 {
                let height = f64::from(log2 - 4) + 0.01 * f64::from(repeat);
                let cells: Vec<String> = columns
                    .iter()
                    .map(|column| format!("{}", height * if *column == "busbw_oop" { 0.5 } else { 1.0 }))
                    .collect();
                for what in ["RING,LL,4", "DEFAULT,DEFAULT,0"] {
                    rows += &format!("all_reduce_perf,1,8,{},{what},{}\n", 1_u64 << log2, cells.join(","));
                }
            }
        }
        write(&folder, name, rows)
    };
    let both = state("both.csv", &["busbw_ip", "busbw_oop"]);
    let [in_place, out_of_place] =
        [("ip.csv", "busbw_ip"), ("oop.csv", "busbw_oop")].map(|(name, column)| state(name, &[column]));
    // Twice as fast in place: of both states, the runs out of place are equal.
    for (before, after, when) in [(&both, &out_of_place, "after"), (&out_of_place, &both, "before")] {
        let output = collectune(&["tuning", "compare", before, after]);
        let told = text(&output.stderr);
        let why = format!("the state {when} has no run in place, so that runs out of place are compared");
        assert!(told.contains(&why) && ended(&output, 0).starts_with("Both sides hold the same runs"), "{told}");
    }
    let output = collectune(&["tuning", "compare", &in_place, &out_of_place]);
    assert!(ended(&output, 1).contains("no measurement in common"), "{}", text(&output.stdout));
    let told = text(&output.stderr);
    assert!(told.contains("the state after has runs out of place alone, and the other one in place"), "{told}");
    ended(&collectune(&["tuning", "compare", &in_place, &both]), 0);
}

#[test]
fn of_winners_alone_no_regret_is_stated() {
    let folder = TempDir::new().unwrap();
    let rows = |with_default: bool| {
        let mut rows = HEADER.to_owned();
        for log2 in 12..=24 {
            let (size, algo) = (1_u64 << log2, if log2 < 18 { "TREE" } else { "RING" });
            rows += &format!("all_reduce_perf,1,8,{size},{},{algo},LL,4\n", log2 - 10);
            if with_default {
                rows += &format!("all_reduce_perf,1,8,{size},{},DEFAULT,DEFAULT,0\n", log2 - 11);
            }
        }
        rows
    };
    let winners = write(&folder, "winners.csv", rows(false));
    let trained = json(&["tuning", "train", &winners, "--test-split", "0", "--json"]);
    let evaluation = &trained["evaluation"];
    assert!(evaluation["by_size"]["mape_pct"].is_f64(), "{evaluation}");
    assert!(evaluation["by_size"]["regret_mean_pct"].is_null(), "{evaluation}");
    assert!(evaluation["regret_deployed_mean_pct"].is_null(), "{evaluation}");
    let report = folder.path().join("report.md").display().to_string();
    ended(&collectune(&["report", &winners, "-o", &report]), 0);
    let report = fs::read_to_string(&report).unwrap();
    assert!(report.contains("judge choices: that takes several sizes with two configurations"), "{report}");
    assert!(!report.contains("% of the best on average"), "{report}");
    let beside = write(&folder, "beside.csv", rows(true));
    let trained = json(&["tuning", "train", &beside, "--test-split", "0", "--json"]);
    assert!(trained["evaluation"]["regret_deployed_mean_pct"].is_f64(), "{}", trained["evaluation"]);
}

#[test]
fn a_size_without_rule_beside_no_rule_says_so() {
    let folder = TempDir::new().unwrap();
    let row = |log2: u32| format!("all_gather_perf,1,8,{},7.5,DEFAULT,DEFAULT,0\n", 1_u64 << log2);
    let sweep = write(&folder, "default.csv", two_scales() + &(14..=18).map(row).collect::<String>());
    let told = said(&["tuning", "export", &sweep, "--reader", "example"], 1);
    assert!(told.contains("no forced configuration is known; there is no rule beside it"), "{told}");
    assert!(
        !told.contains("all_gather of 16 KiB on 1 node, 8 ranks: no forced configuration is known; the rules"),
        "{told}"
    );
}

#[test]
fn a_plan_measures_sizes_of_a_job_in_its_data_type() {
    let folder = TempDir::new().unwrap();
    let untyped = write(&folder, "untyped.csv", two_scales());
    let log: String = [("458754", 9), ("524290", 7)].map(|(bytes, data_type)| {
        let count = bytes.parse::<u64>().unwrap() / if data_type == 9 { 2 } else { 4 };
        format!(
            "n0:1:1 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count {count} datatype {data_type} op 0 root 0 \
             comm 0x5 [nranks=8] stream 0x6\n"
        )
    })
    .concat();
    let job = write(&folder, "job.log", log);
    let script = |sweep: &str| {
        let path = folder.path().join("measure.sh").display().to_string();
        ended(&collectune(&["tuning", "plan", sweep, &job, "--script", &path]), 0);
        fs::read_to_string(&path).unwrap()
    };
    let found = script(&untyped);
    assert!(found.contains("'-b 458754 -e 458754 -f 2 -d bfloat16' all_reduce_perf"), "{found}");
    assert!(found.contains("'-b 524288 -e 524288 -f 2 -d float' all_reduce_perf"), "{found}");
    // With a type that was measured before, sizes go with that.
    let typed = fs::read_to_string(&untyped).unwrap();
    let mut lines = typed.lines();
    let header = format!("{},data_type\n", lines.next().unwrap());
    let typed = write(&folder, "typed.csv", header + &lines.map(|line| format!("{line},half\n")).collect::<String>());
    let found = script(&typed);
    assert!(found.contains("'-b 458754 -e 458754 -f 2 -d half'") && !found.contains("bfloat16"), "{found}");
}

#[test]
fn what_computes_wrong_values_now_does_not_pass_a_comparison() {
    let folder = TempDir::new().unwrap();
    let rows = |errors: &str| {
        let mut text = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,errors_ip,algo,proto,nchannels\n".to_owned();
        for log2 in 14..=18 {
            for repeat in 0..3 {
                let (size, more) = (1_u64 << log2, f64::from(log2 - 14) + 0.01 * f64::from(repeat));
                text += &format!("all_reduce_perf,1,8,{size},{},{errors},TREE,LL,4\n", 20.0 + more);
                text += &format!("all_reduce_perf,1,8,{size},{},0,RING,LL,4\n", 15.0 + more);
                text += &format!("all_reduce_perf,1,8,{size},{},0,DEFAULT,DEFAULT,0\n", 10.0 + more);
            }
        }
        text
    };
    let (right, wrong) = (write(&folder, "right.csv", rows("0")), write(&folder, "wrong.csv", rows("5")));
    let output = collectune(&["tuning", "compare", &right, &wrong]);
    let summary = ended(&output, 3);
    assert!(
        summary.contains("After: Wrong values of all_reduce on 1 node, 8 ranks came out of TREE/LL/4"),
        "{summary}"
    );
    let answer = collectune(&["tuning", "compare", &right, &wrong, "--json"]);
    let answer: Value = serde_json::from_str(&ended(&answer, 3)).unwrap();
    assert_eq!(answer["got_slower"], true);
    assert!(!ended(&collectune(&["tuning", "compare", &wrong, &right]), 0).contains("Wrong values"));
    // Nothing in common is no pass.
    let other = write(&folder, "other.csv", rows("0").replace("all_reduce", "all_gather"));
    let told = said(&["tuning", "compare", &right, &other], 1);
    assert!(told.contains("nothing was compared") && !told.contains("No pass over"), "{told}");
}

#[test]
fn a_file_that_is_not_there_is_no_graph() {
    for (name, why) in [
        ("run:2.csv", "run:2.csv is not there, and \"run:2.csv\" is no topology"),
        ("meshh:8x8", "\"meshh:8x8\" is no topology"),
        ("ring:99999999", "between 2 and"),
    ] {
        let told = said(&["report", name], 1);
        assert!(told.contains(why), "{told}");
    }
    assert!(ended(&collectune(&["report", "mesh:2x2"]), 0).contains("all_gather over mesh"));
}

#[test]
fn a_file_with_rules_that_the_library_does_not_follow_says_so() {
    let folder = TempDir::new().unwrap();
    let mut rows = HEADER.to_owned();
    for log2 in 14..=18 {
        for repeat in 0..3 {
            let (size, more) = (1_u64 << log2, f64::from(log2 - 14) + 0.01 * f64::from(repeat));
            rows += &format!("all_reduce_perf,1,8,{size},{},NVLS,SIMPLE,16\n", 20.0 + more);
            rows += &format!("all_reduce_perf,1,8,{size},{},DEFAULT,DEFAULT,0\n", 10.0 + more);
        }
    }
    let sweep = write(&folder, "sweep.csv", rows);
    let export = |gpu: &str| {
        let asked = ["tuning", "export", &sweep, "--reader", "example", "--library", "nccl", "--gpu", gpu];
        text(&collectune(&asked).stderr)
    };
    // A100 has no NVLink SHARP.
    let told = export("a100");
    assert!(told.lines().any(|line| line.starts_with("warning: nccl_tuner.conf, line ")), "{told}");
    assert!(!export("h100").contains(", line "), "{}", export("h100"));
}

#[test]
fn options_that_no_written_command_depends_on_are_named() {
    let told = said(&["measure", "overlap", "--collective", "all_gather", "--min", "1M"], 0);
    for option in ["--collective", "--min"] {
        assert!(
            told.contains(&format!("{option} is not used: no command that is written here depends on it")),
            "{told}"
        );
    }
    assert_eq!(said(&["measure", "tuning", "--collective", "all_gather", "--min", "1M", "--nodes", "4"], 0), "");
}

const ASKED: &str = "collective,num_nodes,num_gpus,size_bytes,time_ip_us,algo,proto,nchannels,requested_algo,\
                     requested_proto,requested_nchannels\n";

/// Broadcasts: the default, RING/LL, which is fast up to 512 KiB, and what was measured under the name of a tree.
fn with_a_tree() -> String {
    let mut text = ASKED.to_owned();
    for repeat in 0..3 {
        for log2 in 12..=24 {
            let (size, noise) = (1_u64 << log2, 1.0 + 0.004 * f64::from((repeat * 7 + log2 * 3) % 5));
            let (default, ring) = (60.0 + size as f64 / 150e3, 40.0 + size as f64 / 30e3);
            text += &format!("broadcast,2,16,{size},{:.2},RING,SIMPLE,16,,,\n", default * noise);
            text += &format!("broadcast,2,16,{size},{:.2},RING,LL,8,RING,LL,8\n", ring * noise);
            text += &format!("broadcast,2,16,{size},{:.2},TREE,SIMPLE,16,TREE,SIMPLE,16\n", default * 0.98 * noise);
        }
    }
    text
}

#[test]
fn what_no_library_runs_neither_hides_what_runs_nor_is_launched() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "tree.csv", with_a_tree());
    let export = ["tuning", "export", &sweep, "--reader", "example", "--library", "nccl"];
    let told = said(&export, 1);
    assert!(
        told.contains("Nothing is written for 2 nodes, 16 ranks") && told.contains("broadcast of 16 MiB"),
        "{told}"
    );
    let plan = ["tuning", "plan", &sweep];
    let planned = ended(&collectune(&plan), 0);
    assert!(planned.contains("RING/LL") && !planned.contains("TREE"), "{planned}");
    // What was asked for can't run at all: nothing is to be measured.
    let of = ["--collective", "broadcast", "--nodes", "2", "--ranks", "16"];
    let predict = [&["tuning", "predict", &sweep, "--algorithms", "nvls", "--library", "nccl"], &of[..]].concat();
    let answer = ended(&collectune(&predict), 0);
    assert_eq!(answer, "Nothing of --algorithms runs there: there is nothing to predict and nothing to measure.\n");
}

#[test]
fn other_libraries_and_gpus_than_those_of_the_measurements_are_told() {
    let folder = TempDir::new().unwrap();
    let header = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels,nccl_version\n";
    let mut rows = header.to_owned();
    for log2 in 14..=18 {
        for repeat in 0..3 {
            let busbw = f64::from(log2) + 0.01 * f64::from(repeat);
            let size = 1_u64 << log2;
            rows += &format!("all_reduce,1,8,{size},{},RING,LL,4,NCCL 2.27.7\n", busbw + 5.0);
            rows += &format!("all_reduce,1,8,{size},{busbw},DEFAULT,DEFAULT,0,NCCL 2.27.7\n");
        }
    }
    let sweep = write(&folder, "nccl.csv", rows);
    let export = ["tuning", "export", &sweep, "--reader", "rccl", "--library", "rccl", "--gpu", "gfx950"];
    let told = said(&export, 0);
    assert!(told.contains("warning: the measurements are of NCCL, and the answer is for RCCL on gfx950"), "{told}");
    let of = ["--collective", "all_reduce", "--nodes", "1", "--ranks", "8"];
    let predict = |more: &[&str]| said(&[&["tuning", "predict", &sweep], &of[..], more].concat(), 0);
    assert!(predict(&["--gpu", "gfx950"]).contains("the answer is for RCCL on gfx950"));
    let told = predict(&["--library", "nccl", "--gpu", "gfx950"]);
    assert!(told.contains("gfx950 runs RCCL, and the library is NCCL"), "{told}");
    assert!(!predict(&["--library", "nccl", "--gpu", "h100"]).contains("warning"));
}

/// A log of nccl-tests on two ranks of one node; `time_us` gives the time of each of five sizes.
fn table(mut time_us: impl FnMut(u64) -> f64) -> String {
    let mut text = "# Collective test starting: all_reduce_perf\n#\n# Using devices\n".to_owned();
    for rank in 0..2 {
        text += &format!("#  Rank  {rank} Group  0 Pid {} on n0 device {rank} [0000:05:00] x\n", 70 + rank);
    }
    text += "#\n#                                 out-of-place                       in-place\n\
             # size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
    for log2 in 16..=20 {
        let size = 1_u64 << log2;
        let mut printed = || {
            let time_us = time_us(size);
            let busbw = size as f64 / time_us / 1000.0;
            format!("{time_us:.2} {busbw:.2} {busbw:.2} 0")
        };
        let (first, second) = (printed(), printed());
        text += &format!("{size} {} float sum -1 {first} {second}\n", size / 4);
    }
    text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n"
}

/// Logs of the arms of an A/B, three of each, with the times of the arm with the tuner file over those of the default.
fn ab_logs(folder: &TempDir, conf_over_default: f64) -> Vec<String> {
    let mut stream = Stream::new(8);
    let mut paths = Vec::new();
    for repeat in 1..=3 {
        for (arm, factor) in [("default", 1.0), ("conf", conf_over_default)] {
            let launch = 1.0 + 0.01 * stream.normal();
            let mut noisy = |size: u64| (50.0 + size as f64 / 5e4) * factor * launch * (1.0 + 0.001 * stream.normal());
            let text = table(&mut noisy);
            paths.push(write(folder, &format!("all_reduce_1n_{arm}_r{repeat}.log"), text));
        }
    }
    paths
}

#[test]
fn an_ab_counts_each_launch_once() {
    let folder = TempDir::new().unwrap();
    let conf = write(&folder, "c.conf", "allreduce,0,18446744073709551615,ring,ll,8,1,2,-1,-1\n");
    let judged = |files: &[String]| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = collectune(&[&["tuning", "ab"], &files[..], &["--conf", &conf, "--json"]].concat());
        let answer: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
        answer[0].clone()
    };
    let logs = ab_logs(&folder, 0.98);
    let once = judged(&logs);
    // One launch of each arm, three times by the same path, or as copies under other names.
    let [default, with_file] = [&logs[0], &logs[1]];
    let thrice = judged(&[default, default, default, with_file, with_file, with_file].map(String::clone));
    assert_ne!(thrice["rules"][0]["verdict"], "keep", "{thrice}");
    let mut copied = vec![default.clone(), with_file.clone()];
    for (from, arm) in [(default, "default"), (with_file, "conf")] {
        for repeat in 2..=3 {
            copied.push(write(&folder, &format!("copy_{arm}_r{repeat}.log"), fs::read(from).unwrap()));
        }
    }
    let of_copies = judged(&copied);
    assert_eq!(of_copies["rules"][0]["better"], thrice["rules"][0]["better"]);
    let notes = of_copies["notes"].to_string();
    assert!(notes.contains("copy_conf_r2.log holds the launch of") && notes.contains("counted once"), "{notes}");
    // Beside three launches of each arm a copy changes nothing.
    let beside = judged(&[&logs[..], &copied[2..]].concat());
    assert_eq!(beside["rules"], once["rules"]);
}

#[test]
fn logs_of_arms_that_are_not_used_are_named() {
    let folder = TempDir::new().unwrap();
    let logs = ab_logs(&folder, 0.9);
    let with_file: Vec<&str> = logs.iter().filter(|path| path.contains("_conf_")).map(String::as_str).collect();
    let told = said(&[&["tuning", "ab"], &with_file[..]].concat(), 1);
    assert!(told.contains("3 logs of the arms conf and empty, and no log of the arm default"), "{told}");
    let sweep = write(&folder, "all_reduce_1n_ring_ll_c8.log", table(|size| 40.0 + size as f64 / 5e4));
    let of = ["--collective", "all_reduce", "--nodes", "1", "--ranks", "2"];
    let all: Vec<&str> = logs.iter().map(String::as_str).chain([sweep.as_str()]).collect();
    let told = said(&[&["tuning", "predict"], &all[..], &of].concat(), 0);
    assert!(told.contains("3 logs of the arms conf and empty ran with a tuner file"), "{told}");
    // Each of these logs says what ran.
    let told =
        said(&[&["tuning", "export", &sweep, "--reader", "rccl", "--configuration", "TREE/LL/8"][..]].concat(), 0);
    assert!(told.contains("--configuration is not used"), "{told}");
}

#[test]
fn the_order_of_files_changes_no_answer() {
    let folder = TempDir::new().unwrap();
    let mut stream = Stream::new(11);
    let mut paths = Vec::new();
    for repeat in 1..=3 {
        let level = 1.0 + 0.02 * stream.normal();
        for (name, factor) in
            [("default", 1.0), ("ring_ll128_c16", 0.97), ("tree_ll_c16", 0.96), ("ring_simple_c8", 0.97)]
        {
            let mut noisy = |size: u64| (50.0 + size as f64 / 5e4) * factor * level * (1.0 + 0.02 * stream.normal());
            let text = table(&mut noisy);
            paths.push(write(&folder, &format!("all_reduce_1n_{name}_r{repeat}.log"), text));
        }
    }
    let of = ["--collective", "all_reduce", "--nodes", "1", "--ranks", "2", "--json"];
    let answer = |paths: &[String]| {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        ended(&collectune(&[&["tuning", "predict"], &paths[..], &of].concat()), 0)
    };
    let first = answer(&paths);
    paths.reverse();
    assert_eq!(answer(&paths), first);
    paths.sort_by_key(|path| path.chars().rev().collect::<String>());
    assert_eq!(answer(&paths), first);
    paths.swap(1, 6);
    assert_eq!(answer(&paths), first);
}

#[test]
fn a_copy_with_its_rows_in_another_order_holds_the_same_runs() {
    let folder = TempDir::new().unwrap();
    let text = two_scales();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut shuffled: Vec<&str> = rows.lines().collect();
    Stream::new(4).shuffle(&mut shuffled);
    let before = write(&folder, "before.csv", &text);
    let after = write(&folder, "after.csv", format!("{header}\n{}\n", shuffled.join("\n")));
    let told = ended(&collectune(&["tuning", "compare", &before, &after]), 0);
    assert!(told.contains("Both sides hold the same runs, value by value"), "{told}");
}

#[test]
fn lists_of_calls_and_files_that_are_not_here_are_told() {
    let folder = TempDir::new().unwrap();
    let plan = ["tuning", "ab-plan", "--collective", "all_reduce", "--nodes", "1", "--ranks", "8", "--plugin", "p.so"];
    let told = said(&[&plan[..], &["--conf", "not-here.conf"]].concat(), 0);
    assert!(told.contains("not-here.conf can't be read here"), "{told}");
    let calls =
        write(&folder, "calls.csv", "collective,num_nodes,num_gpus,size_bytes,calls\nall_reduce,1,8,65536,10\n");
    let told = said(&["tuning", "coverage", &calls], 1);
    assert!(told.contains("read by collectune reach") && !told.contains("reward"), "{told}");
}
