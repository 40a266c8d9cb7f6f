//! The profiler beside the tuner: each line of its log is of the arm that the tuner answered, and what is not sure is
//! not in it.

#![allow(clippy::unwrap_used)]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use collectune::{
    collective::{Collective, Scale},
    conf::words::COLLECTIVES,
    intake::{self, FileContent, Outcome},
    policy::{
        arm::Arm,
        bands::Bands,
        file::{Choice, Entry, Policy},
        read::{Log, LogForm},
    },
    progress::Silent,
};
use support::{Printed, Rank};

const ID: u64 = 0x00C0_FFEE;
const RANKS: u32 = 16;
const ARMS: [&str; 4] = ["auto", "tree/simple/300", "tree/ll128", "ring/simple/4"];

/// Releases of the library: the version of the tuner's interface, and of the profiler's.
const RELEASES: [(u32, u32); 3] = [(4, 4), (5, 5), (6, 6)];

/// Every key explores four arms.
fn policy(folder: &Path) -> PathBuf {
    let arms: Vec<Arm> = ARMS.iter().filter_map(|arm| Arm::parse(arm)).collect();
    let (bands, scale) = (Bands::default(), Scale { nodes: 2, ranks: RANKS });
    let mut keys = Vec::new();
    for (_, collective) in COLLECTIVES {
        for band in 0..bands.len() as u32 {
            keys.push(Entry { collective, band, scale, overlap: None, choice: Choice::Counts(vec![4, 2, 1, 1]) });
        }
    }
    let policy = Policy { generation: 9, seed: 7, bands, arms, keys, ..Policy::default() };
    let path = folder.join("policy");
    fs::write(&path, policy.text()).unwrap();
    path
}

struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn logs(&self) -> PathBuf {
        self.folder.path().join("a folder").join("rewards")
    }

    fn rank(&self, tuner: u32) -> Rank {
        Rank::of(tuner, ID, RANKS, 2)
    }

    fn run(&self, (tuner, profiler): (u32, u32), rank: u32, steps: u32, how: &str) -> Printed {
        let job = self.rank(tuner).with("COLLECTUNE_TUNER_POLICY", policy(self.folder.path()));
        let job = job.with("COLLECTUNE_TUNER_REWARDS", self.logs()).with("NCCL_WORKLOAD_OVERLAP", "1");
        let printed = job.run(&["profile", &profiler.to_string(), &rank.to_string(), &steps.to_string(), how]);
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        printed
    }

    fn path(&self, id: u64) -> PathBuf {
        self.logs().join(format!("nccl_tuner_rewards_{id:016x}.log"))
    }

    /// The log of a communicator, by the reader of the command line and the page.
    fn log(&self, id: u64) -> Log {
        let path = self.path(id);
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (report, content) = intake::open(&bytes[..], &name, bytes.len() as u64, 0, None, &mut Silent);
        let FileContent::Rewards(log) = content else { panic!("{report:?}") };
        let Outcome::Known { problems, .. } = report.outcome else { panic!("{report:?}") };
        assert_eq!(problems.count, 0, "{problems:?}");
        assert_eq!((log.form, log.name.arm, log.name.size_bytes), (LogForm::Own, None, None));
        *log
    }
}

/// A line as the test compares it: collective, bytes, nanoseconds, arm, propensity, call, generation.
type Line = (Collective, u64, u64, Option<Arm>, u64, Option<u64>, Option<u64>);

/// What the job says that the log must hold.
fn expected(printed: &Printed, id: u64) -> Vec<Line> {
    let line = |line: &str| {
        let words: Vec<&str> = line.strip_prefix("expect ")?.split(' ').collect();
        let [comm, coll, bytes, ns, arm, propensity, call, generation] = words[..] else { panic!("{line}") };
        let arm: usize = arm.parse().unwrap_or(0);
        let per_mille = (propensity.parse().unwrap_or(1.0) * 1000.0_f64) as u64;
        Some((u64::from_str_radix(comm, 16).unwrap() == id).then(|| {
            let collective = COLLECTIVES[coll.parse::<usize>().unwrap()].1;
            let (bytes, ns) = (bytes.parse().unwrap(), ns.parse().unwrap());
            (collective, bytes, ns, Arm::parse(ARMS[arm]), per_mille, call.parse().ok(), generation.parse().ok())
        }))
    };
    sorted(printed.out.lines().filter_map(line).flatten().collect())
}

/// What ends late is written late: the order of the lines is not that of the calls.
fn sorted(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_unstable();
    lines
}

fn lines(log: &Log) -> Vec<Line> {
    let line = |row: &collectune::policy::read::Row| {
        let key = log.keys[row.key as usize];
        assert_eq!((key.scale, key.overlap), (Some(Scale { nodes: 2, ranks: RANKS }), Some(true)));
        let ns = (row.latency_ms * 1e6).round() as u64;
        let per_mille = (row.propensity.unwrap() * 1000.0) as u64;
        let arm = row.arm.map(|arm| log.arms[usize::from(arm)]);
        (key.collective.unwrap(), key.size_bytes.unwrap(), ns, arm, per_mille, row.call, row.generation)
    };
    sorted(log.rows.iter().map(line).collect())
}

/// The same lines; the first that only one of them has.
fn assert_same(log: &[Line], expected: &[Line], about: &str) {
    let differs = log.iter().zip(expected).find(|(one, other)| one != other);
    assert!(
        differs.is_none() && log.len() == expected.len(),
        "{about}: {} of {}: {differs:?}",
        log.len(),
        expected.len()
    );
}

fn has_said(printed: &Printed, words: &str) -> bool {
    printed.out.lines().any(|line| (line.starts_with("INFO") || line.starts_with("WARN")) && line.contains(words))
}

#[test]
fn each_line_has_the_arm_of_the_tuners_decision() {
    for release in RELEASES {
        let job = Job::new();
        let printed = job.run(release, 0, 3000, "single");
        let expected = expected(&printed, ID);
        assert_eq!(expected.len(), 3000);
        assert_same(&lines(&job.log(ID)), &expected, &format!("{release:?}"));
        assert!(
            printed.out.starts_with("mask 66 context true\n") && printed.out.contains("\nend 0 0\n"),
            "{printed:?}"
        );
        assert!(has_said(&printed, "3000 collectives were logged in"), "{:?}", printed.out.lines().last());
        assert!(!has_said(&printed, "left out"));
        let arms: std::collections::BTreeSet<_> = expected.iter().map(|line| line.3).collect();
        assert_eq!(arms.len(), 4);
    }
}

#[test]
fn ambiguous_collectives_are_counted_and_not_logged() {
    for release in RELEASES {
        let job = Job::new();
        let printed = job.run(release, 0, 4000, "mixed");
        let expected = expected(&printed, ID);
        assert!((2500..3500).contains(&expected.len()), "{release:?}: {}", expected.len());
        assert_same(&lines(&job.log(ID)), &expected, &format!("{release:?}"));
        for reason in ["in a group with others", "without a question", "otherwise than", "that never ended"] {
            assert!(has_said(&printed, reason), "{release:?}, {reason}: {}", printed.out.lines().last().unwrap());
        }
        for reason in ["beyond the room", "two threads", "can't be", "later one", "not be written", "a name"] {
            assert!(!has_said(&printed, reason), "{release:?}, {reason}: {}", printed.out.lines().last().unwrap());
        }
    }
}

#[test]
fn concurrent_communicators_have_a_log_each() {
    for release in RELEASES {
        let job = Job::new();
        let printed = job.run(release, 0, 1500, "two");
        for id in [ID, ID + 1] {
            let expected = expected(&printed, id);
            assert!(expected.len() > 800);
            assert_same(&lines(&job.log(id)), &expected, &format!("{release:?}, {id}"));
        }
    }
}

#[test]
fn only_the_lowest_rank_writes_and_only_when_it_is_asked_to() {
    for release in RELEASES {
        let job = Job::new();
        let printed = job.run(release, 3, 100, "single");
        assert!(printed.out.starts_with("mask 0 context false\n"), "{printed:?}");
        assert!(!job.logs().exists() && !has_said(&printed, "rewards"));
        // A rank of one communicator, beside the lowest of another: neither disturbs the other.
        let printed = job.run(release, 3, 300, "two");
        let expected = expected(&printed, ID);
        assert_same(&lines(&job.log(ID)), &expected, &format!("{release:?}"));
        assert!(expected.len() > 150 && !job.path(ID + 1).exists());

        let silent = Job::new();
        let steps = ["profile", &release.1.to_string(), "0", "100", "single"];
        let printed = silent.rank(release.0).run(&steps);
        assert!(printed.is_success && printed.out.starts_with("mask 0 context false\n"), "{printed:?}");
        assert!(!silent.logs().exists() && !has_said(&printed, ""));
    }
}

#[test]
fn without_a_policy_the_arm_is_the_requested_one() {
    let job = Job::new();
    let steps = ["profile", "6", "0", "200", "single"];
    let printed = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", job.logs()).run(&steps);
    assert!(printed.is_success, "{printed:?}");
    let log = job.log(ID);
    assert_eq!((log.rows.len(), &log.arms[..]), (200, &[Arm::Auto][..]));
    assert!(log.rows.iter().all(|row| row.call.is_none() && row.propensity == Some(1.0)));

    let job = Job::new();
    let conf = job.folder.path().join("conf");
    let rules = "allreduce,0,-1,tree,ll,7,-1,-1\nbroadcast,0,-1,-1,-1,2,-1,-1\nreduce,0,-1,ring,ll,auto,-1,-1\n";
    fs::write(&conf, rules).unwrap();
    let rank = job.rank(5).with("COLLECTUNE_TUNER_REWARDS", job.logs()).with("NCCL_TUNER_CONFIG_FILE", &conf);
    let printed = rank.run(&["profile", "5", "0", "200", "single"]);
    let log = job.log(ID);
    for row in &log.rows {
        let key = log.keys[row.key as usize];
        let arm = match key.collective.unwrap() {
            Collective::AllReduce => "tree/ll/7",
            Collective::Reduce => "ring/ll",
            Collective::Broadcast => panic!("only its channels were limited"),
            _ => "auto",
        };
        assert_eq!(log.arms[usize::from(row.arm.unwrap())], Arm::parse(arm).unwrap());
    }
    assert!(has_said(&printed, "of an arm without a name"), "{printed:?}");
}

#[test]
fn failing_to_log_gives_a_message() {
    // Interfaces without the GPU's timestamps.
    for (tuner, profiler) in [(3, 1), (4, 2), (4, 3)] {
        let job = Job::new();
        let printed = job.run((tuner, profiler), 0, 50, "single");
        assert!(printed.out.starts_with("mask 0 context false\n"), "{printed:?}");
        assert!(has_said(&printed, "doesn't tell a profiler when") && !job.logs().exists(), "{printed:?}");
    }
    // No profiler.
    let job = Job::new();
    let (answers, said) = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", job.logs()).ask(&["4:4096"]);
    assert!(answers[0].starts_with("- 0") && said.len() == 1, "{said:?}");
    assert!(said[0].contains("set NCCL_PROFILER_PLUGIN"), "{said:?}");
    // No folder.
    let file = job.folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let rank = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", &file);
    let printed = rank.run(&["profile", "6", "0", "50", "single"]);
    assert!(printed.is_success && printed.out.starts_with("mask 0 context false\n"), "{printed:?}");
    assert!(has_said(&printed, "nothing is logged"), "{printed:?}");
}

/// Two files of the plugin, one for each half: nothing is known of what the tuner answered.
#[test]
fn a_profiler_without_its_tuner_logs_nothing_and_says_why() {
    let job = Job::new();
    let copy = job.folder.path().join("another.so");
    fs::copy(support::plugin(), &copy).unwrap();
    let rank = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", job.logs());
    let printed = rank.run(&["profile-copy", copy.to_str().unwrap(), "6", "50"]);
    assert!(printed.is_success, "{printed:?}");
    assert!(has_said(&printed, "set NCCL_PROFILER_PLUGIN"), "{printed:?}");
    let line = printed.out.lines().last().unwrap();
    assert!(line.starts_with("WARN") && line.contains(" 0 collectives were logged"), "{printed:?}");
    assert!(line.ends_with("left out: 50 without a question to the tuner"), "{printed:?}");
}

#[test]
fn an_existing_log_is_continued() {
    let job = Job::new();
    let first = expected(&job.run((6, 6), 0, 100, "single"), ID);
    let second = expected(&job.run((6, 6), 0, 100, "single"), ID);
    assert_same(&lines(&job.log(ID)), &sorted([first, second].concat()), "twice");
    let text = fs::read_to_string(job.path(ID)).unwrap();
    assert_eq!(text.matches("# collectune-rewards 1\n").count(), 1);
    assert_eq!(text.matches("\ncollective,size_bytes,").count(), 1);
    assert!(text.contains("by the GPU's global timer (profiler interface, version 6)"), "{text}");
}

#[test]
fn invalid_profiler_arguments_do_nothing() {
    for (tuner, profiler) in RELEASES {
        let job = Job::new();
        let rank = job.rank(tuner).with("COLLECTUNE_TUNER_REWARDS", job.logs());
        let printed = rank.run(&["profile-nonsense", &profiler.to_string()]);
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        assert!(printed.out.ends_with("survived true at once 32 ends true\n"), "{printed:?}");
    }
}

#[test]
fn a_full_disk_gives_a_message_and_changes_nothing() {
    let job = Job::new();
    fs::create_dir_all(job.logs()).unwrap();
    std::os::unix::fs::symlink("/dev/full", job.path(ID)).unwrap();
    let rank = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", job.logs());
    let printed = rank.run(&["profile", "6", "0", "50", "single"]);
    assert!(printed.is_success && printed.out.contains("mask 0 context false"), "{printed:?}");
    assert!(has_said(&printed, "nothing is logged"), "{printed:?}");
}

#[test]
fn a_launch_allocates_nothing() {
    let job = Job::new();
    let rank = job.rank(6).with("COLLECTUNE_TUNER_REWARDS", job.logs());
    let printed = rank.with("COLLECTUNE_TUNER_POLICY", policy(job.folder.path())).run(&["profile-time", "6", "20"]);
    assert!(printed.is_success && printed.out.contains(" allocations 0\n"), "{printed:?}");
    assert!(has_said(&printed, "20480 collectives were logged"), "{printed:?}");
}

/// The interface that a release of the library takes of a plugin with all of them, if that says how long a kernel runs.
fn taken(version: u32) -> Option<u32> {
    match version {
        ..2_27_00 => None,
        2_27_00..2_28_00 => Some(4),
        2_28_00..2_29_00 => Some(5),
        _ => Some(6),
    }
}

#[test]
#[ignore = "needs real libraries, which COLLECTUNE_NCCL names: docs/plugin.md"]
fn real_libraries_begin_the_profiler_and_pass_events_on() {
    for library in support::libraries() {
        let (job, name) = (Job::new(), library.display());
        let folder = support::plugin().parent().unwrap();
        // 2.27.3 opens no path, only names that it completes.
        let rank = job.rank(6).with("NCCL_PROFILER_PLUGIN", support::plugin()).with("LD_LIBRARY_PATH", folder);
        let rank = rank.with("COLLECTUNE_TUNER_REWARDS", job.logs());
        let printed = rank.run(&["real-profile", library.to_str().unwrap()]);
        let Some(version) = printed.out.strip_prefix("version ").and_then(|text| text.trim().parse().ok()) else {
            assert!(printed.err.contains("it has no _Z22ncclProfilerPluginInit"), "{name}: {printed:?}");
            continue;
        };
        let text = fs::read_to_string(job.path(0)).unwrap_or_default();
        let log_is_of = |interface: u32| text.contains(&format!("(profiler interface, version {interface})"));
        let is_known_by_path = version != 2_27_03;
        assert_eq!((4..=6).find(|of| log_is_of(*of)), taken(version).filter(|_| is_known_by_path), "{name}");
        // Its wrappers around what it takes and around earlier versions pass on what is told of collectives.
        for interface in 4..=taken(version).unwrap_or(0) {
            let job = Job::new();
            let rank = job.rank(6).with("COLLECTUNE_TUNER_POLICY", policy(job.folder.path()));
            let rank = rank.with("COLLECTUNE_TUNER_REWARDS", job.logs()).with("NCCL_WORKLOAD_OVERLAP", "1");
            let words = ["real-profile", library.to_str().unwrap(), &interface.to_string(), "600"];
            let printed = rank.run(&words);
            assert!(printed.is_success, "{name}: {printed:?}");
            let expected = expected(&printed, ID);
            assert!(expected.len() > 300, "{name}: {}", expected.len());
            assert_same(&lines(&job.log(ID)), &expected, &format!("{name}, {interface}"));
        }
        println!("{name}: version {version} takes {:?}", taken(version));
    }
}
