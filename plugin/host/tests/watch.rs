//! A job learns while it runs: its ranks ask the plugin in the mode `online`, one of them logs how long calls took, and
//! `collectune policy watch` makes the next generations of it.

#![allow(clippy::unwrap_used)]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use support::Rank;
use xtask::shell::{cargo, run};

const RANKS: u32 = 4;
const EPOCHS: usize = 40;
const CALLS: u32 = 64;

/// The command line: that of `COLLECTUNE_CLI`, or built here.
fn collectune() -> PathBuf {
    if let Some(built) = std::env::var_os("COLLECTUNE_CLI") {
        return built.into();
    }
    run(cargo().args(["build", "--quiet", "--package", "collectune", "--bin", "collectune"])).unwrap();
    let target = support::plugin().ancestors().nth(2).unwrap();
    target.join("debug/collectune")
}

fn epochs(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("epoch ")).collect()
}

#[test]
fn a_job_learns_from_its_own_log_and_its_ranks_agree() {
    let program = collectune();
    let folder = tempfile::tempdir().unwrap();
    let (shared, log) = (folder.path().join("shared"), folder.path().join("rewards.log"));
    let own = shared.join(format!("{:016x}", 11));
    fs::create_dir_all(&shared).unwrap();
    let mut watch = Command::new(&program)
        .args(["policy", "watch", "--every", "1"])
        .args([&log, &shared])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let rank = |rank: u32| {
        let log = if rank == 0 { log.to_str().unwrap() } else { "-" };
        Rank::of(5 + rank % 2, 11, RANKS, 2)
            .with("COLLECTUNE_TUNER_DIR", &shared)
            .with("COLLECTUNE_TUNER_EPOCH", CALLS.to_string())
            .command(&["learn", &EPOCHS.to_string(), &CALLS.to_string(), "250", log])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..RANKS).map(rank).collect();
    let is_over = AtomicBool::new(false);
    let outputs: Vec<String> = thread::scope(|scope| {
        // Now and then somebody tears the file that was just written.
        scope.spawn(|| tear(&own.join("next.policy"), &is_over));
        let all = children.into_iter().map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        });
        let all = all.collect();
        is_over.store(true, Ordering::Relaxed);
        all
    });
    watch.kill().unwrap();
    let told = String::from_utf8(watch.wait_with_output().unwrap().stderr).unwrap();
    let first = epochs(&outputs[0]);
    assert_eq!(first.len(), EPOCHS, "{}", outputs[0]);
    for output in &outputs {
        assert_eq!(epochs(output), first, "all ranks, all decisions");
    }
    let word = |line: &str, place: usize| line.split(' ').nth(place).unwrap().to_owned();
    let generations: Vec<u64> = first.iter().map(|line| word(line, 3).parse().unwrap()).collect();
    assert!(generations.is_sorted(), "{generations:?}");
    assert!(generations.iter().collect::<BTreeSet<_>>().len() >= 4, "it learns: {first:?}\n{told}");
    assert!(told.contains("generation 1; all_reduce, band 5: "), "{told}");
    // All arms alike at first; at last nearly all calls are of the fastest.
    assert!(first[0].contains("counts [16, 16, 16, 16]"), "{}", first[0]);
    let last = first[EPOCHS - 1];
    let of_best: u32 = last.split(['[', ',', ']']).nth(3).unwrap().trim().parse().unwrap();
    assert!(of_best > CALLS * 3 / 4, "{last}");
    // The records alone say afterwards which arm ran when.
    let mut records: Vec<PathBuf> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path()).collect();
    records.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("epoch-"));
    let replayed = Command::new(&program)
        .args(["policy", "replay", "--json", "--seeds", "0"])
        .arg(&log)
        .arg("--schedule")
        .args(&records)
        .output()
        .unwrap();
    let json = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
    assert!(json.contains("\"verdict\": \"run tree/ll128") || json.contains("\"verdict\":\"run tree/ll128"), "{json}");
}

fn tear(path: &Path, is_over: &AtomicBool) {
    for turn in 0.. {
        thread::sleep(Duration::from_millis(700));
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        if turn % 3 == 2
            && let Ok(whole) = fs::read(path)
        {
            let _ = fs::write(path, &whole[..whole.len() * 2 / 3]);
        }
    }
}
