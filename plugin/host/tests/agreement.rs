//! The ranks of a communicator give the same answers, whatever happens to the files between them.

#![allow(clippy::unwrap_used)]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use collectune::{
    collective::Scale,
    math::Stream,
    policy::{
        arm::Arm,
        bands::Bands,
        file::{Choice, Entry, Policy},
    },
};
use support::Rank;

const RANKS: u32 = 16;
const EPOCHS: u64 = 200;
const CALLS_PER_EPOCH: u64 = 16;
const LATE: u32 = 3;
const KILLED: u32 = 7;

fn policy(generation: u64, arms: &[&str], stream: &mut Stream) -> Policy {
    let arms: Vec<Arm> = arms.iter().filter_map(|arm| Arm::parse(arm)).collect();
    let mut keys = Vec::new();
    for (_, collective) in collectune::conf::words::COLLECTIVES {
        for band in 0..7 {
            let choice = if stream.below(3) == 0 {
                Choice::Fixed(stream.below(arms.len()) as u32)
            } else {
                Choice::Counts((0..arms.len()).map(|_| 1 + stream.below(9) as u32).collect())
            };
            let scale = Scale { nodes: 2, ranks: RANKS };
            keys.push(Entry { collective, band, scale, overlap: None, choice });
        }
    }
    Policy { generation, seed: stream.next_u64(), bands: Bands::default(), arms, keys, ..Policy::default() }
}

const ARMS: [&str; 4] = ["auto", "tree/simple", "tree/ll128", "ring/simple"];

fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, path).unwrap();
}

/// What somebody may do to the file from which ranks take the next policy, in turn good and bad.
fn disturb(path: &Path, generation: &mut u64, stream: &mut Stream) {
    let sound =
        |generation: u64, arms: &[&str], stream: &mut Stream| policy(generation, arms, stream).text().into_bytes();
    match stream.below(9) {
        0..3 => {
            *generation += 1;
            replace(path, &sound(*generation, &ARMS, stream));
        }
        3 => {
            let whole = sound(*generation + 1, &ARMS, stream);
            replace(path, &whole[..stream.below(whole.len())]);
        }
        // Written in place: a rank may see any part of it.
        4 => {
            *generation += 1;
            fs::write(path, sound(*generation, &ARMS, stream)).unwrap();
        }
        5 => {
            let mut changed = sound(*generation + 1, &ARMS, stream);
            let place = stream.below(changed.len());
            changed[place] ^= 1 << stream.below(8);
            replace(path, &changed);
        }
        6 => replace(path, &sound(*generation + 1, &["auto", "ring/ll", "tree/simple", "tree/ll"], stream)),
        7 => replace(path, &sound(1, &ARMS, stream)),
        _ => drop(fs::remove_file(path)),
    }
}

fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn sixteen_processes_agree_on_every_decision() {
    for version in [5, 6] {
        sixteen_processes_agree(version);
    }
}

fn sixteen_processes_agree(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    let id = 0xC0FFEE + u64::from(version);
    let own = folder.path().join(format!("{id:016x}"));
    let mut children: Vec<Child> = (0..RANKS)
        .map(|rank| {
            // The one that is killed can't get to its end before.
            let (at, delay_ms) = match rank {
                LATE => (60, "2500"),
                KILLED => (150, "600000"),
                _ => (0, "0"),
            };
            let words = ["epochs", &EPOCHS.to_string(), &CALLS_PER_EPOCH.to_string(), &at.to_string(), delay_ms];
            Rank::of(version, id, RANKS, 2)
                .with("COLLECTUNE_TUNER_DIR", folder.path())
                .with("COLLECTUNE_TUNER_EPOCH", CALLS_PER_EPOCH.to_string())
                // What a rank's own environment says does not matter once all have agreed.
                .with("NCCL_WORKLOAD_OVERLAP", if rank % 2 == 0 { "0" } else { "1" })
                .command(&words)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let is_over = AtomicBool::new(false);
    let (shared, own, is_over) = (folder.path(), &own, &is_over);
    let (outputs, victim) = thread::scope(|scope| {
        scope.spawn(move || {
            let mut stream = Stream::new(u64::from(version));
            let mut generation = 1;
            while !is_over.load(Ordering::Relaxed) {
                if own.exists() {
                    // Of the communicator, or of all that share the folder.
                    let place = if stream.below(4) == 0 { shared } else { own.as_path() };
                    disturb(&place.join("next.policy"), &mut generation, &mut stream);
                }
                thread::sleep(Duration::from_millis(stream.below(12) as u64));
            }
        });
        let mut victim = children.remove(KILLED as usize);
        let victim = scope.spawn(move || {
            let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
            let mut all: Vec<String> = lines.by_ref().take(40).map(Result::unwrap).collect();
            victim.kill().unwrap();
            all.extend(lines.map(Result::unwrap));
            victim.wait().unwrap();
            all
        });
        let readers: Vec<_> =
            children.iter_mut().map(|child| scope.spawn(move || (printed(child), child.wait().unwrap()))).collect();
        let outputs: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        (outputs, victim.join().unwrap())
    });
    let epochs =
        |text: &str| text.lines().filter(|line| line.starts_with("epoch ")).map(str::to_owned).collect::<Vec<_>>();
    let first = epochs(&outputs[0].0);
    assert_eq!(first.len() as u64, EPOCHS);
    assert!((40..=150).contains(&victim.len()), "{victim:?}");
    assert_eq!(victim, first[..victim.len()], "the one that was killed, as far as it came");
    let mut medians_us = Vec::new();
    for (text, status) in &outputs {
        assert!(status.success(), "{text}");
        assert_eq!(epochs(text), first, "all decisions, their numbers and probabilities");
        assert!(text.contains("\nend 0\n"), "{text}");
        let times = text.lines().find(|line| line.starts_with("first calls")).unwrap();
        let median = times.split("median ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        medians_us.push(median.parse::<u64>().unwrap());
    }
    let word = |line: &String, place: usize| line.split(' ').nth(place).unwrap().to_owned();
    let generations: BTreeSet<String> = first.iter().map(|line| word(line, 3)).collect();
    let arms: BTreeSet<String> = first.iter().map(|line| word(line, 5)).collect();
    assert!(generations.len() > 10 && arms.len() > 2, "policies came and went: {generations:?}, {arms:?}");
    medians_us.sort_unstable();
    eprintln!(
        "version {version}: {} generations in {EPOCHS} epochs; the first call of an epoch takes {} to {} us (medians of ranks)",
        generations.len(),
        medians_us[0],
        medians_us[medians_us.len() - 1]
    );
}

/// Runs ranks at the same time; what each printed.
fn together(ranks: Vec<Rank>, words: &[&str]) -> Vec<String> {
    let mut children: Vec<Child> = ranks
        .into_iter()
        .map(|rank| rank.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let collect = |child: &mut Child| {
        let text = printed(child);
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        child.wait().unwrap();
        text + &errors
    };
    children.iter_mut().map(collect).collect()
}

fn answers(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_once(" = ")).map(|(_, answer)| answer).collect()
}

#[test]
fn files_that_differ_between_ranks_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    let of = |version: u32, rank: usize| {
        let mut stream = Stream::new(rank as u64 + 1);
        let conf = folder.path().join(format!("{rank}.conf"));
        fs::write(&conf, format!("allreduce,0,-1,ring,ll,{},-1,-1\n", rank + 1)).unwrap();
        let own = folder.path().join(format!("{rank}.policy"));
        fs::write(&own, policy(rank as u64, &ARMS, &mut stream).text()).unwrap();
        let rank_of = Rank::of(version, 77 + u64::from(version), 8, 2).with("COLLECTUNE_TUNER_DIR", &shared);
        match rank % 4 {
            0 => rank_of.with("NCCL_TUNER_CONFIG_FILE", conf),
            1 => rank_of.with("COLLECTUNE_TUNER_POLICY", own),
            2 => rank_of,
            // A file that is not there: this rank has nothing to propose, and follows the others.
            _ => rank_of.with("NCCL_TUNER_CONFIG_FILE", folder.path().join("missing")),
        }
    };
    let mut seen = BTreeSet::new();
    for version in [5, 6] {
        let questions = ["ask", "4:67108864", "4:67108864", "4:1024", "0:4096", "2:8"];
        let all = together((0..8).map(|rank| of(version, rank)).collect(), &questions);
        for text in &all {
            assert_eq!(answers(text).len(), 5, "{text}");
            assert_eq!(answers(text), answers(&all[0]), "{text}\n{}", all[0]);
            assert!(text.contains("agreed on "), "{text}");
        }
        seen.extend(answers(&all[0]).iter().map(ToString::to_string));
    }
    // Before version 5 there is no name for the communicator: each rank follows its own file.
    let (own, said) = of(4, 0).ask(&["4:8"]);
    assert_eq!(own, ["ring/ll 1"]);
    assert!(!said.iter().any(|line| line.contains("agreed")), "{said:?}");
    let (own, said) = of(4, 2).ask(&["4:8"]);
    assert_eq!(own, ["- 0"]);
    assert!(said.iter().any(|line| line.starts_with("WARN") && line.contains("online needs")), "{said:?}");
}

#[test]
fn ranks_that_miss_each_other_are_passive() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    fs::write(&conf, "allreduce,0,-1,ring,ll,4,-1,-1\n").unwrap();
    // Two nodes with a folder each.
    let of = |rank: u32| {
        Rank::of(6, 5, 4, 2)
            .with("NCCL_TUNER_CONFIG_FILE", &conf)
            .with("COLLECTUNE_TUNER_DIR", folder.path().join(format!("node{}", rank % 2)))
            .with("COLLECTUNE_TUNER_RENDEZVOUS_MS", "1500")
    };
    let all = together((0..4).map(of).collect(), &["ask", "4:8"]);
    for text in &all {
        assert_eq!(answers(text), ["- 0"], "{text}");
        assert!(text.contains("WARN collectune: agreed to be passive"), "{text}");
    }
    assert!(all.iter().any(|text| text.contains("is it shared by all nodes?")), "{all:?}");
    // A folder that can't be written to.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let rank = of(0).with("COLLECTUNE_TUNER_DIR", &file);
    let (answers, said) = rank.ask(&["4:8"]);
    assert_eq!(answers, ["- 0"]);
    assert!(said.iter().any(|line| line.starts_with("WARN") && line.ends_with("passive")), "{said:?}");
}

#[test]
fn a_missing_record_fails_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(format!("{:016x}", 9));
    let rank = || {
        Rank::of(6, 9, 1, 1)
            .with("COLLECTUNE_TUNER_DIR", folder.path())
            .with("COLLECTUNE_TUNER_EPOCH", "4")
            .with("COLLECTUNE_TUNER_TIMEOUT_MS", "300")
    };
    // The folder vanishes while the job runs.
    let mut child = rank()
        .command(&["epochs", "2", "4", "1", "1500"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !own.join("epoch-000000").exists() {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(300));
    fs::remove_dir_all(&own).unwrap();
    let text = printed(&mut child);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(text.contains("epoch 0 ") && text.contains("collectives of this communicator fail"), "{text}");
    assert!(errors.contains("getCollInfo answered 2"), "{errors}");

    // A file that is no record, whoever wrote it.
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("epoch-000000"), "collectune-record 2 new\n").unwrap();
    let printed = rank().run(&["ask", "4:8"]);
    assert!(!printed.is_success && printed.err.contains("init answered 2"), "{printed:?}");
    assert!(printed.out.contains("can't be read"), "{printed:?}");
    assert!(start.elapsed() < Duration::from_secs(60));
}
