//! Input for which the commands of `collectune policy` could give a wrong answer without a message: each test asserts
//! the message, the flag in the JSON or that no file was written, and the exit code.
//!
//! Similar tests are elsewhere: false winners among equal arms in `tests/policy/strategies.rs` and `reward_logs.rs`,
//! refused tuner files and `doctor` in `reward_logs.rs`, bad logs and policy files in `bad_input.rs`; what `watch`
//! waits for, and logs with a bad first line, in `tests/cli/policy.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{fs, process::Command};

use crate::support::{
    rewards::explored,
    terminal::{collectune, ended, json, text, write},
};
use collectune::{
    math::{Stream, mix},
    policy::file::{Policy, with_checksum, without_checksum},
};
use serde_json::Value;
use tempfile::TempDir;

fn said(arguments: &[&str], code: i32) -> String {
    let output = collectune(arguments);
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

/// Lines of a reward log, a little different from each other.
fn lines(collective: &str, latency: f64) -> String {
    (0..40).map(|i| format!("{collective},67108864,2,8,{:.3}\n", latency * (1.0 + 0.001 * f64::from(i % 7)))).collect()
}

/// A log whose lines name their arms.
fn named() -> String {
    let header = "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm\n".to_owned();
    let line = |i: u32| {
        let (arm, latency) = if i.is_multiple_of(2) { ("auto", 12.0) } else { ("tree/simple", 11.0) };
        format!("allreduce,67108864,2,8,{:.3},{arm}\n", latency * (1.0 + 0.001 * f64::from(i % 7)))
    };
    header + &(0..40).map(line).collect::<String>()
}

/// The notes of `replay --json` with some options. Each must also be on the standard error output.
fn notes(arguments: &[&str]) -> Vec<String> {
    let arguments = [&["policy", "replay"], arguments, &["--seeds", "0", "--json"]].concat();
    let output = collectune(&arguments);
    let report: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    let notes: Vec<String> =
        report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect();
    let told = text(&output.stderr);
    assert!(notes.iter().all(|note| told.contains(note)), "{told}");
    notes
}

#[track_caller]
fn has(notes: &[String], sentence: &str) {
    assert!(notes.iter().any(|note| note.contains(sentence)), "{sentence}: {notes:?}");
}

#[test]
fn a_part_of_a_name_that_no_log_has_is_refused() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "rewards.log", lines("allreduce", 12.0));
    for (option, value) in [("--arm", "rewrads=tree/simple"), ("--from", "rewrads=21"), ("--overlap", "rewrads=1")] {
        for command in ["replay", "export"] {
            let told = said(&["policy", command, &log, option, value], 1);
            assert!(told.contains(&format!("{option} rewrads=… names no log; there are {log}")), "{told}");
        }
    }
    // An impossible value is refused even if no log has the name.
    for (option, value) in
        [("--arm", "x=banana"), ("--from", "x=0"), ("--from", "x=a"), ("--overlap", "x=2"), ("--arm", "auto")]
    {
        said(&["policy", "replay", &log, option, value], 2);
    }
    let told = said(&["policy", "replay", &log, "--arm", "rewards=auto", "--arm", "log=tree/simple"], 1);
    assert!(told.contains("--arm rewards=… and --arm log=… both name"), "{told}");
}

#[test]
fn what_a_log_says_itself_is_not_silently_replaced() {
    let folder = TempDir::new().unwrap();
    let arms = write(&folder, "arms.csv", named());
    let given = notes(&[&arms, "--arm", "arms=ring/simple"]);
    has(&given, "It names the arms of its lines itself: ring/simple, which is given for all of them, stands instead");
    let named = write(&folder, "rewards_tree_simple_r1.log", lines("allreduce", 12.0));
    has(
        &notes(&[&named, "--arm", "rewards=ring/simple"]),
        "Its name says tree/simple: ring/simple, which is given, stands instead",
    );
    assert!(notes(&[&named, "--arm", "rewards=tree/simple"]).iter().all(|note| !note.contains("stands instead")));
    let key = ["--collective", "broadcast", "--size", "1M", "--nodes", "4", "--ranks", "16"];
    let given = notes(&[&[&*named][..], &key].concat());
    has(&given, "It says its collective itself: broadcast, which is given, is not used");
    has(&given, "It says its size itself: 1 MiB, which is given, is not used");
    has(&given, "It says its nodes and ranks itself: 4 nodes, 16 ranks, which is given, is not used");
    let same = notes(&[&named, "--collective", "allreduce", "--size", "64M", "--nodes", "2", "--ranks", "8"]);
    assert!(same.iter().all(|note| !note.contains("is not used")), "{same:?}");
}

#[test]
fn what_is_given_of_turns_and_used_for_no_log_is_named() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "arms.csv", named());
    let given = notes(&[&log, "--arms", "tree/simple,auto", "--warm-up", "15", "--turns", "35"]);
    has(&given, "The arms that are given in their order are not used");
    has(&given, "The calls before the first line are given and not used");
    has(&given, "The calls that took turns are given and not used");
    has(&notes(&[&log, "--from", "arms=21"]), "19 lines before line 21 left out");
    // Where they are used, there is no note.
    let turns = write(&folder, "turns.log", lines("allreduce", 12.0));
    let used = notes(&[&turns, "--arms", "tree/simple,auto", "--warm-up", "15", "--turns", "35"]);
    assert!(used.iter().all(|note| !note.contains("not used")), "{used:?}");
}

#[test]
fn a_schedule_without_a_policy_is_refused() {
    let folder = TempDir::new().unwrap();
    let (policy, rewards) = explored();
    let log = write(&folder, "rewards.log", rewards);
    let keeps = write(&folder, "epoch-000001", collectune::policy::record::Next::Keep.text());
    let told = said(&["policy", "replay", &log, "--schedule", &keeps], 1);
    assert!(told.contains("--schedule: none of these files holds a policy"), "{told}");
    // What such a file says besides is told with the logs' notes, on the page as well.
    let text = policy.text();
    let body = std::str::from_utf8(without_checksum(text.as_bytes()).unwrap()).unwrap();
    let more = with_checksum(body.replacen("{\"format\"", "{\"unrewarded\":5,\"format\"", 1));
    let file = write(&folder, "policy.json", &more);
    let given = notes(&[&log, "--schedule", &file]);
    has(&given, "what is not known in it is not used: unrewarded");
    assert_eq!(Policy::read(more.as_bytes()).unwrap().policy, policy);
}

#[test]
fn a_simulation_takes_no_logs() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "rewards.log", lines("allreduce", 12.0));
    let simulate = ["policy", "replay", "--simulate", "clear", "--seeds", "2", "--steps", "50"];
    for more in [&[&*log][..], &["--arms", "auto,tree/simple"], &["--bands", "six"], &["--seed", "3"]] {
        said(&[&simulate[..], more].concat(), 2);
    }
    let told = said(&["policy", "replay", "--simulate", "clear", "--seeds", "0"], 1);
    assert!(told.contains("--simulate needs --seeds above 0"), "{told}");
    said(&simulate, 0);
    let told = said(&["policy", "replay", &log, "--seeds", "0", "--steps", "50"], 0);
    assert!(told.contains("--steps is not used: with --seeds 0 nothing is replayed"), "{told}");
}

#[test]
fn options_of_one_export_are_not_taken_for_another() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "arms.csv", named());
    for arguments in [
        &["policy", "export", &log, "--reader", "rccl", "--generation", "7"][..],
        &["policy", "export", &log, "--script", "./job", "--generation", "7"],
        &["policy", "export", &log, "--reader", "rccl", "--library", "2.28.9"],
        // Only policy files contain it.
        &["policy", "replay", &log, "--library", "2.28.9"],
    ] {
        said(arguments, 2);
    }
    let output = collectune(&["policy", "export", &log, "--library", "2.28.9"]);
    let policy = Policy::read(ended(&output, 0).as_bytes()).unwrap().policy;
    assert_eq!(policy.library.as_deref(), Some("2.28.9"));
}

#[test]
fn two_tuner_files_are_not_written_as_one() {
    let folder = TempDir::new().unwrap();
    let header = "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm,overlap\n".to_owned();
    let line = |i: u32| {
        let (arm, latency) = if i.is_multiple_of(2) { ("auto", 12.0) } else { ("tree/simple", 11.0) };
        format!("allreduce,67108864,2,8,{:.3},{arm},{}\n", latency * (1.0 + 0.001 * f64::from(i % 7)), i / 2 % 2)
    };
    let log = write(&folder, "both.csv", header + &(0..80).map(line).collect::<String>());
    let export = ["policy", "export", &log, "--reader", "dn-tuner"];
    let output = collectune(&export);
    assert!(ended(&output, 1).is_empty(), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("the standard output takes one: name the first with -o"));
    let own = folder.path().join("nccl_tuner_overlap.conf").display().to_string();
    let told = said(&[&export[..], &["-o", &own]].concat(), 1);
    assert!(
        told.contains("nccl_tuner_overlap.conf is the name of the second file") && fs::metadata(&own).is_err(),
        "{told}"
    );
    let first = folder.path().join("first.conf").display().to_string();
    said(&[&export[..], &["-o", &first]].concat(), 0);
    assert!(fs::read_to_string(&first).unwrap().contains("# for jobs without overlap"));
    assert!(fs::read_to_string(&own).unwrap().contains("# for jobs that overlap"));
}

/// `policy watch --once` of a job that waits for a policy, with variables of the environment.
fn watched(more: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "rewards.log", lines("allreduce", 12.0));
    let ranks = folder.path().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_collectune"));
    command.args(["policy", "watch", &log, &ranks, "--once"]).args(more).envs(variables.iter().copied());
    let output = command.output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_strategy_that_is_not_known_is_not_replaced_by_another() {
    let (code, told) = watched(&[], &[("NCCL_TUNER_STRATEGY", "eps-gready")]);
    let why = "NCCL_TUNER_STRATEGY=eps-gready is no strategy that is known: one of epoch-thompson, eps-greedy";
    assert!(code == Some(1) && told.contains(why), "{told}");
    for (value, is_good) in [("0.2", true), ("5", false), ("a", false), ("nan", false)] {
        let (_, told) = watched(&["--strategy", "eps-greedy"], &[("NCCL_TUNER_EPS", value)]);
        assert_eq!(told.contains(&format!("NCCL_TUNER_EPS={value} is no number from 0 to 1")), !is_good, "{told}");
    }
    for keep in ["0", "1.5", "nan", "-1"] {
        assert_eq!(watched(&[&format!("--keep={keep}")], &[]).0, Some(2), "{keep}");
    }
    let (_, told) = watched(&["--strategy", "ucb1", "--keep", "0.9"], &[]);
    assert!(told.contains("--keep is not used: only epoch-thompson forgets"), "{told}");
    // The usual spelling of the variable is with an underscore.
    let (_, told) = watched(&[], &[("NCCL_TUNER_STRATEGY", "eps_greedy")]);
    assert!(!told.contains("no strategy"), "{told}");
}

#[test]
fn rounds_that_are_no_number_are_named() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "turns.log", lines("allreduce", 12.0));
    let run = |rounds: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collectune"));
        command.args(["policy", "replay", &log, "--arms", "auto,tree/simple", "--warm-up", "0", "--seeds", "0"]);
        let output = command.env("NCCL_TUNER_EXPLORE_ROUNDS", rounds).output().unwrap();
        ended(&output, 0);
        text(&output.stderr)
    };
    assert!(run("many").contains("warning: NCCL_TUNER_EXPLORE_ROUNDS=many is no number above 0, and is not used"));
    assert!(!run("5").contains("NCCL_TUNER_EXPLORE_ROUNDS"));
}

#[test]
fn the_doctor_names_variables_that_the_mode_does_not_use() {
    let folder = TempDir::new().unwrap();
    let (policy, _) = explored();
    let policy = write(&folder, "a.policy.json", policy.text());
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,2,16\n");
    let library = write(&folder, "libnccl.so.2", b"\x7FELF ncclTunerPlugin_v5 NCCL version 2.28.9+cuda13.0 ");
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collectune"));
        for name in [
            "NCCL_TUNER_PLUGIN",
            "NCCL_TUNER_CONFIG_FILE",
            "COLLECTUNE_TUNER_POLICY",
            "COLLECTUNE_TUNER_DIR",
            "COLLECTUNE_TUNER_MODE",
        ] {
            command.env_remove(name);
        }
        let output =
            command.args(["policy", "doctor", &library, "--json"]).envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), serde_json::from_str::<Value>(&text(&output.stdout)).unwrap())
    };
    let (_, found) = run(&[("NCCL_TUNER_CONFIG_FILE", &conf), ("COLLECTUNE_TUNER_POLICY", &policy)]);
    assert_eq!(found["mode"], "static");
    assert!(
        found["notes"].to_string().contains("COLLECTUNE_TUNER_POLICY is set, and the mode static does not use it"),
        "{found}"
    );
    // A file is no folder in which ranks could agree.
    let (code, found) = run(&[("COLLECTUNE_TUNER_DIR", &conf)]);
    assert_eq!(code, Some(3));
    assert!(found["problems"].to_string().contains("is no folder"), "{found}");
}

#[test]
fn the_doctor_says_whether_a_file_is_reached_and_by_whom() {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("lib/tuner")).unwrap();
    let library = b"\x7FELF RCCL version : ncclTunerPlugin_v6 Using built-in CSV tuner, \0rccl_tuner_gfx950.csv\0";
    let library = write(&folder, "lib/librccl.so.1", library);
    let own = write(&folder, "lib/tuner/rccl_tuner_gfx950.csv", "allreduce,0,4095,tree,ll,4,2,16,-1,-1\n");
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,2,16,-1,-1\n");
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collectune"));
        for (name, _) in std::env::vars() {
            if name.starts_with("NCCL_") || name.starts_with("COLLECTUNE_TUNER_") {
                command.env_remove(name);
            }
        }
        command.args(["policy", "doctor", &library, "--gpu", "gfx950", "--json"]).args(arguments);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), serde_json::from_str::<Value>(&text(&output.stdout)).unwrap())
    };
    let version = ["--library-version", "2.30.4"];
    let (code, found) = run(&[&version[..], &["--file", &conf]].concat(), &[]);
    assert_eq!(code, Some(3), "{found}");
    assert!(found["tuner"].as_str().unwrap().ends_with(&format!("with {own}")), "{found}");
    assert_eq!(found["displaced"][0], "the table of RCCL 2.30.4 gfx950");
    assert!(found["problems"].to_string().contains("a.conf would not be reached"), "{found}");
    let (_, found) = run(&["--file", &conf], &[("NCCL_TUNER_CONFIG_FILE", &conf), ("NCCL_NTHREADS", "100")]);
    assert!(found["notes"].to_string().contains("a.conf would be reached by RCCL's built-in CSV tuner"), "{found}");
    assert!(found["notes"].to_string().contains("--library-version gives it"), "{found}");
    assert!(found["problems"].to_string().contains("NCCL_NTHREADS=100 is no multiple of 32: 512 hold"), "{found}");
    let (_, found) = run(&version, &[("NCCL_TUNER_PLUGIN", "none")]);
    assert_eq!(found["tuner"], "none: NCCL_TUNER_PLUGIN=none");
    assert!(found["problems"].to_string().contains("turns off RCCL 2.30.4 gfx950's own table"), "{found}");
}

#[test]
fn a_policy_file_that_can_not_hold_everything_says_so() {
    let folder = TempDir::new().unwrap();
    // More arms than a file may have: each wins at a size of its own.
    let mut text = "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm\n".to_owned();
    for size in 0..70_u64 {
        for i in 0..24 {
            // Each arm has two turns of four.
            let (arm, latency) = match i % 4 {
                0 | 3 => ("auto".to_owned(), 12.0),
                _ => (format!("ring/simple/{}", size + 1), 6.0),
            };
            let drift = 1.0 + 0.001 * f64::from(i * 5 % 7);
            text += &format!("allreduce,{},2,8,{:.3},{arm}\n", (size + 1) * 1024, latency * drift);
        }
    }
    let log = write(&folder, "many.csv", text);
    let output = collectune(&["policy", "export", &log]);
    if output.status.code() == Some(0) {
        let policy = Policy::read(output.stdout.as_slice()).unwrap().policy;
        let report = json(&["policy", "replay", &log, "--seeds", "0", "--json"]);
        let found = report["keys"].as_array().unwrap().iter().filter(|key| key["decision"] != "auto").count();
        let told = text_of(&output);
        let holds = policy
            .keys
            .iter()
            .filter(|entry| !matches!(entry.choice, collectune::policy::file::Choice::Fixed(0)))
            .count();
        assert!(
            holds >= found || told.contains("not what was found, because the file holds at most"),
            "{holds} of {found}: {told}"
        );
    } else {
        assert!(text_of(&output).contains("one arm more than the 64"), "{}", text_of(&output));
    }
}

fn text_of(output: &std::process::Output) -> String {
    text(&output.stderr)
}

#[test]
fn what_turns_in_one_order_may_explain_is_not_deployed() {
    let folder = TempDir::new().unwrap();
    // The first of four calls of each step waits, and so does the arm that has this place.
    let log = |arm_of: &dyn Fn(u64) -> usize| {
        let arms = ["auto", "tree/simple", "tree/ll128", "ring/simple"];
        let mut stream = Stream::new(3);
        let row = |call: u64| {
            let ms = if call.is_multiple_of(4) { 130.0 } else { 100.0 } + 5.0 * stream.normal();
            format!("allreduce,67108864,2,8,{ms:.3},{}\n", arms[arm_of(call)])
        };
        "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm\n".to_owned() + &(0..480).map(row).collect::<String>()
    };
    let fixed = write(&folder, "fixed.csv", log(&|call| (call % 4) as usize));
    let output = collectune(&["policy", "replay", "--seeds", "0", &fixed]);
    let answer = ended(&output, 0);
    assert!(
        answer.contains("deploy it") && answer.contains("The arms took turns in one order, 4 calls a round"),
        "{answer}"
    );
    // Two turns of each arm in a round: that the first of six calls waits is seen in the arm that has it.
    let two_calls = |waits: f64, of_auto: f64| {
        let mut stream = Stream::new(4);
        let row = |call: u64| {
            let arm = (call / 2 % 3) as usize;
            let ms = if call.is_multiple_of(6) { waits } else { 100.0 } * if arm == 0 { of_auto } else { 1.0 };
            let arm = ["auto", "tree/simple", "ring/ll128"][arm];
            format!("allreduce,67108864,2,8,{:.3},{arm}\n", ms + stream.normal())
        };
        "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm\n".to_owned() + &(0..480).map(row).collect::<String>()
    };
    let first_waits = write(&folder, "first.csv", two_calls(130.0, 1.0));
    let answer = ended(&collectune(&["policy", "replay", "--seeds", "0", &first_waits]), 0);
    assert!(!answer.contains("deploy it") && answer.contains("from one turn to another"), "{answer}");
    // Where all turns of auto are slow alike, the arm is deployed, and what is written says how it was measured.
    let all_slow = write(&folder, "slow.csv", two_calls(100.0, 1.2));
    let answer = ended(&collectune(&["policy", "replay", "--seeds", "0", &all_slow]), 0);
    assert!(answer.contains("deploy it") && answer.contains("The arms took turns in one order"), "{answer}");
    let written = collectune(&["policy", "export", &all_slow, "--reader", "rccl"]);
    let conf = ended(&written, 0);
    assert!(conf.contains("# At 1 key the arms took turns in one order"), "{conf}");
    assert!(text_of(&written).contains("confirm the gain in whole runs"), "{}", text_of(&written));
    let mixed = |call: u64| (mix(call / 4 * 7 + 1).wrapping_add(call) % 4) as usize;
    let drawn = write(&folder, "drawn.csv", log(&mixed));
    let answer = ended(&collectune(&["policy", "replay", "--seeds", "0", &drawn]), 0);
    assert!(!answer.contains("in one order") && !answer.contains("deploy it"), "{answer}");
}
