//! What of several logs counts as a repeat, and what does not: `collectune policy replay` on lines of known truth.

#![allow(clippy::unwrap_used, reason = "tests")]

use collectune::math::Stream;
use tempfile::TempDir;

use crate::support::terminal::{collectune, ended, json, text, write};

const HEADER: &str = "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm,call,rank,timestamp\n";
const ARMS: [&str; 3] = ["auto", "tree/simple", "ring/simple"];

/// A call of a job: the arm that ran and its latency.
struct Call {
    arm: &'static str,
    latency_ms: f64,
}

/// Calls whose arms are drawn, and whose latencies are 1 ms, with a level of their own for each arm and noise.
fn calls(stream: &mut Stream, number: usize, level: f64, noise: f64) -> Vec<Call> {
    let levels = ARMS.map(|_| 1.0 + level * stream.normal());
    let call = |_| {
        let at = stream.below(ARMS.len());
        Call { arm: ARMS[at], latency_ms: levels[at] + noise * stream.normal() }
    };
    (0..number).map(call).collect()
}

/// The lines of calls as a rank logs them, each a second after the other from `start` on.
fn lines(calls: &[Call], rank: u32, start: usize) -> Vec<String> {
    let line = |(at, call): (usize, &Call)| {
        let Call { arm, latency_ms } = call;
        format!("allreduce,4194304,2,16,{latency_ms:.5},{arm},{at},{rank},{}\n", start + at)
    };
    calls.iter().enumerate().map(line).collect()
}

fn log(folder: &TempDir, name: &str, lines: &[String]) -> String {
    write(folder, name, HEADER.to_owned() + &lines.concat())
}

/// The decision on the only key of some logs, and all that is noted.
fn replayed(logs: &[String]) -> (String, String) {
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    let found = json(&[&["policy", "replay"][..], &logs, &["--seeds", "0", "--json"]].concat());
    (found["keys"][0]["decision"].as_str().unwrap_or_default().to_owned(), found["notes"].to_string())
}

const CLOCK: usize = 1_700_000_000;

/// Ranks of one run describe the same calls, each in its file or all in one.
#[test]
fn logs_of_the_ranks_of_one_run_count_once() {
    let folder = TempDir::new().unwrap();
    for seed in 0..12 {
        let mut stream = Stream::new(seed);
        let calls = calls(&mut stream, 300, 0.0, 0.08);
        let ranks: Vec<String> = (0..8)
            .map(|rank| {
                let own = |call: &Call| Call { latency_ms: call.latency_ms + 0.003 * stream.normal(), ..*call };
                let own: Vec<Call> = calls.iter().map(own).collect();
                log(&folder, &format!("rank{rank}.csv"), &lines(&own, rank, CLOCK))
            })
            .collect();
        let (alone, _) = replayed(&ranks[..1]);
        let (all, notes) = replayed(&ranks);
        assert_eq!(all, alone, "{seed}");
        assert!(notes.contains("rank7.csv is of another rank of the run of"), "{notes}");
        let (turned, notes) = replayed(&ranks.iter().rev().cloned().collect::<Vec<_>>());
        assert!(turned == alone && notes.contains("rank7.csv is of another rank"), "the order makes no difference");
    }
    // Two jobs of the same schedule, one after the other, are two runs.
    let mut stream = Stream::new(1);
    let first = calls(&mut stream, 300, 0.0, 0.08);
    let again = |call: &Call| Call { latency_ms: 1.0 + 0.08 * stream.normal(), ..*call };
    let second: Vec<Call> = first.iter().map(again).collect();
    let jobs = [(0, first, CLOCK), (3, second, CLOCK + 9000)];
    let jobs = jobs.map(|(rank, calls, start)| log(&folder, &format!("job{rank}.csv"), &lines(&calls, rank, start)));
    assert!(!replayed(&jobs).1.contains("another rank"));
}

#[test]
fn what_was_saved_of_a_log_before_counts_once() {
    let folder = TempDir::new().unwrap();
    let all = lines(&calls(&mut Stream::new(7), 300, 0.0, 0.08), 0, CLOCK);
    let whole = log(&folder, "whole.csv", &all);
    let before = log(&folder, "before.csv", &all[..200]);
    let behind = log(&folder, "behind.csv", &all[150..]);
    let (alone, _) = replayed(std::slice::from_ref(&whole));
    for logs in [[whole.clone(), before.clone(), behind.clone()], [behind, before, whole]] {
        let (decision, notes) = replayed(&logs);
        assert_eq!(decision, alone);
        for name in ["before.csv", "behind.csv"] {
            assert!(notes.contains(&format!("{name} is a part of ")), "{notes}");
        }
    }
}

/// Times say in which order lines stand; runs of a few values in a row that are shuffled look independent.
#[test]
fn lines_out_of_order_are_taken_by_their_times() {
    let folder = TempDir::new().unwrap();
    let mut deployed = 0;
    for seed in 0..20 {
        let mut stream = Stream::new(seed);
        let (mut level, mut arm) = (0.0, ARMS[0]);
        let calls: Vec<Call> = (0..400)
            .map(|at| {
                level = 0.99 * level + 0.03 * stream.normal();
                if at % 20 == 0 {
                    arm = ARMS[stream.below(3)];
                }
                Call { arm, latency_ms: 1.5 + level + 0.02 * stream.normal() }
            })
            .collect();
        let mut all = lines(&calls, 0, CLOCK);
        let ordered = replayed(&[log(&folder, "log.csv", &all)]);
        stream.shuffle(&mut all);
        let shuffled = replayed(&[log(&folder, "log.csv", &all)]);
        assert_eq!(shuffled.0, ordered.0);
        assert!(
            shuffled.1.contains("Lines are out of order: they are taken in the order of their times"),
            "{shuffled:?}"
        );
        deployed += usize::from(shuffled.0 != "auto" && !shuffled.0.is_empty());
    }
    assert!(deployed <= 1, "{deployed}");
}

/// Where each run has an arm's level of its own, runs are what repeats: the arms are all alike.
#[test]
fn runs_that_contradict_each_other_are_what_repeats() {
    let folder = TempDir::new().unwrap();
    let mut deployed = [0; 2];
    for seed in 0..60 {
        let mut stream = Stream::new(seed);
        let runs: Vec<Vec<String>> = (0..3).map(|_| lines(&calls(&mut stream, 120, 0.04, 0.02), 0, 0)).collect();
        let named = |(at, lines): (usize, &Vec<String>)| log(&folder, &format!("run{at}.csv"), lines);
        let files: Vec<String> = runs.iter().enumerate().map(named).collect();
        let appended = log(&folder, "all.csv", &runs.concat());
        for (count, logs) in deployed.iter_mut().zip([files, vec![appended]]) {
            *count += usize::from(!["auto", ""].contains(&&*replayed(&logs).0));
        }
    }
    assert!(deployed.iter().all(|count| *count <= 4), "{deployed:?}");
    // An arm that is faster in each of them is deployed, by stretches or by runs, which chance decides.
    let runs: Vec<String> = (0..3)
        .map(|run| {
            let mut calls = calls(&mut Stream::new(run), 120, 0.002, 0.02);
            calls.iter_mut().filter(|call| call.arm == ARMS[1]).for_each(|call| call.latency_ms -= 0.1);
            log(&folder, &format!("run{run}.csv"), &lines(&calls, 0, 0))
        })
        .collect();
    let logs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let output = collectune(&[&["policy", "replay"][..], &logs, &["--seeds", "0"]].concat());
    let said = ended(&output, 0);
    assert!(said.contains("3 runs") && said.contains("deploy it"), "{said}{}", text(&output.stderr));
}
