//! Each version of the interface, driven as its library does.

#![allow(clippy::unwrap_used)]

mod support;

use collectune::{
    collective::{Algorithm, Collective, Protocol, Scale},
    policy::{
        arm::Arm,
        chunks::{ChunkSize, grain_bytes},
        file::{Choice, Entry, Policy},
    },
};
use support::{Printed, Rank, plugin};

/// Rules for every size and collective, some of which can't run.
const CONF: &str = "\
allreduce,0,64K,tree,ll,8,2,16
allreduce,65537,-1,ring,simple,-1,-1,-1
allgather,0,1M,auto,auto,4,2,16
allgather,0,-1,ring,ll,2,-1,-1,1
broadcast,0,-1,nvls,simple,12,-1,-1
broadcast,0,-1,ring,ll128,3,-1,-1
reduce,0,-1,ring,simple,5,2,16
";

fn exploring() -> String {
    let arms: Vec<Arm> =
        ["auto", "tree/simple", "tree/ll128", "ring/simple/24"].iter().filter_map(|a| Arm::parse(a)).collect();
    let mut keys = Vec::new();
    for collective in collectune::conf::words::COLLECTIVES.map(|(_, collective)| collective) {
        for band in 0..7 {
            let choice = if band % 2 == 0 { Choice::Counts(vec![13, 1, 1, 1]) } else { Choice::Fixed(3) };
            keys.push(Entry { collective, band, scale: Scale { nodes: 2, ranks: 16 }, overlap: None, choice });
        }
    }
    Policy { seed: 42, arms, keys, generation: 17, chunk_sizes: chunk_sizes(), ..Policy::default() }.text()
}

fn chunk_sizes() -> Vec<ChunkSize> {
    let size = |scale, protocol, channel_bytes, chunk_bytes| ChunkSize {
        collective: Collective::AllReduce,
        scale,
        algorithm: Algorithm::Ring,
        protocol,
        channel_bytes,
        chunk_bytes,
    };
    let (two, one) = (Scale { nodes: 2, ranks: 16 }, Scale { nodes: 1, ranks: 8 });
    vec![
        size(two, Protocol::Simple, 1 << 20..=(4 << 20) - 1, 262_144),
        size(two, Protocol::Simple, 2 << 20..=8 << 20, 524_288),
        size(two, Protocol::Ll128, 0..=u64::MAX, grain_bytes(Protocol::Ll128)),
        size(one, Protocol::Ll, 0..=u64::MAX, grain_bytes(Protocol::Ll)),
    ]
}

fn number(printed: &Printed, after: &str) -> u64 {
    let rest = printed.out.split(after).nth(1).unwrap_or_else(|| panic!("{printed:?}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

fn driven(version: u32, variable: &str, path: &std::path::Path) -> u64 {
    // An even seed comes with a logger and infos, an odd one with nulls.
    let mut forced = 0;
    for seed in [2, 3] {
        let rank = Rank::new(version).with(variable, path);
        let printed = rank.run(&["drive", "500000", &seed.to_string()]);
        assert!(printed.is_success && printed.err.is_empty(), "version {version}: {printed:?}");
        assert!(number(&printed, "allocations of init ") > 0, "the plugin's allocations are counted: {printed:?}");
        assert_eq!(number(&printed, "allocations of 500000 calls "), 0, "version {version}");
        assert_eq!(number(&printed, " end "), 0, "version {version}");
        forced += number(&printed, "forced ");
        let gives = version == 6 && variable == "COLLECTUNE_TUNER_POLICY";
        let chunks = number(&printed, "chunk sizes ");
        assert_eq!(chunks > 10_000, gives, "version {version}, {variable}: {chunks}");
        assert!(gives || chunks == 0, "version {version}, {variable}: {chunks}");
    }
    forced
}

#[test]
fn a_policy_gives_chunk_sizes_by_the_bytes_of_one_channel() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    let questions = [
        ("4:ring/simple:1048575", "-"),
        ("4:ring/simple:1048576", "262144"),
        ("4:ring/simple:4194303", "262144"),
        ("4:ring/simple:4194304", "524288"),
        ("4:ring/simple:8388609", "-"),
        ("4:ring/ll128:1", "1920"),
        ("4:ring/ll:1048576", "-"),
        ("4:tree/simple:1048576", "-"),
        ("2:ring/simple:1048576", "-"),
    ];
    let answers = |rank: Rank| {
        let printed = rank.run(&[&["chunk"], &questions.map(|(question, _)| question)[..]].concat());
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        let answers = printed.out.lines().filter_map(|line| Some(line.split_once(" = ")?.1.to_owned()));
        (answers.collect::<Vec<String>>(), printed.out)
    };
    let (given, said) = answers(Rank::new(6).with("COLLECTUNE_TUNER_POLICY", &policy));
    assert_eq!(given, questions.map(|(_, expected)| expected));
    assert!(said.contains("4 chunk sizes, 3 of them about 2 nodes, 16 ranks, by the bytes of one channel"), "{said}");
    // Another communicator has its own.
    let (given, _) = answers(Rank::of(6, 1, 8, 1).with("COLLECTUNE_TUNER_POLICY", &policy));
    assert_eq!(given.iter().filter(|answer| *answer != "-").collect::<Vec<_>>(), ["16"]);
    // The library's stay without a policy, and earlier versions do not ask.
    assert_eq!(answers(Rank::new(6)).0, ["-"; 9]);
    assert_eq!(answers(Rank::new(5).with("COLLECTUNE_TUNER_POLICY", &policy)).0, ["not asked"; 9]);
    // A size that the library would divide by is refused, whole.
    let mut wrong = chunk_sizes();
    wrong[0].chunk_bytes = 511;
    let arms = vec![Arm::Auto];
    std::fs::write(&policy, Policy { arms, chunk_sizes: wrong, ..Policy::default() }.text()).unwrap();
    let (given, said) = answers(Rank::new(6).with("COLLECTUNE_TUNER_POLICY", &policy));
    assert_eq!(given, ["-"; 9]);
    assert!(said.contains("chunk size 0: chunk_bytes 511 is below one grain of SIMPLE"), "{said}");
}

#[test]
fn a_million_calls_of_each_version_touch_what_they_may_and_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    std::fs::write(&conf, CONF).unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    for version in 2..=6 {
        assert!(driven(version, "NCCL_TUNER_CONFIG_FILE", &conf) > 100_000, "version {version}");
        assert!(driven(version, "COLLECTUNE_TUNER_POLICY", &policy) > 100_000, "version {version}");
        assert_eq!(driven(version, "IGNORED", &conf), 0, "passive, version {version}");
    }
}

#[test]
fn invalid_arguments_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    std::fs::write(&conf, CONF).unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    for version in 2..=6 {
        for (variable, path) in [("NCCL_TUNER_CONFIG_FILE", &conf), ("COLLECTUNE_TUNER_POLICY", &policy)] {
            let printed = Rank::new(version).with(variable, path).run(&["nonsense"]);
            assert!(printed.is_success, "version {version}: {printed:?}");
            assert_eq!(printed.out, "survived true\nname collectune end 0\n", "version {version}, {variable}");
        }
    }
}

#[test]
fn nothing_but_the_interface_is_exported() {
    let output = std::process::Command::new("nm").args(["-D", "--defined-only"]).arg(plugin()).output();
    let output = output.expect("nm, of binutils, lists the symbols");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    names.sort_unstable();
    let profilers = (1..=6).map(|version| format!("ncclProfiler_v{version}"));
    let tuners = (2..=6).map(|version| format!("ncclTunerPlugin_v{version}"));
    let expected = std::iter::once("collectune_tuner_last_decision".to_owned()).chain(profilers).chain(tuners);
    let expected: Vec<String> = expected.collect();
    assert_eq!(names, expected);
}

#[test]
fn the_first_rule_that_can_run_applies() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    std::fs::write(&conf, CONF).unwrap();
    let questions = [
        "4:65536",
        "4:65537",
        // Ruled out: the search goes on, and finds nothing.
        "4:65536:1:0:tree/ll",
        "2:1024",
        "2:1048577:1",
        "2:1048577:2",
        "0:8",
        "0:8:1:0:nvls/simple",
        // Whether buffers are registered can differ between ranks.
        "0:8:1:1:nvls/simple",
        "3:8",
        "5:8",
    ];
    let expected = [
        "tree/ll 8",
        "ring/simple 0",
        "- 0",
        "- 4",
        "ring/ll 2",
        "- 0",
        "nvls/simple 12",
        "ring/ll128 3",
        "ring/ll128 3",
        "- 0",
        "- 0",
    ];
    for version in 3..=6 {
        let (answers, said) = Rank::new(version).with("NCCL_TUNER_CONFIG_FILE", &conf).ask(&questions);
        assert_eq!(answers, expected, "version {version}");
        assert!(said[1].contains("7 rules, 7 of them about 2 nodes, 16 ranks"), "{said:?}");
    }
    // Another communicator: its own rules only.
    let (answers, _) =
        Rank::of(4, 1, 8, 1).with("NCCL_TUNER_CONFIG_FILE", &conf).ask(&["4:65536", "4:65537", "2:1024"]);
    assert_eq!(answers, ["- 0", "ring/simple 0", "ring/ll 2"]);
}

#[test]
fn version_2_offers_what_its_library_runs() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    std::fs::write(&conf, CONF.replace("nvls", "tree")).unwrap();
    let rank = || Rank::new(2).with("NCCL_TUNER_CONFIG_FILE", &conf);
    let questions = ["4:65536", "4:65537", "0:8", "2:1024", "1:8"];
    // A tree for a broadcast is not offered, nor LL128 unless somebody says that the machine has it.
    let without = ["tree/ll 8", "ring/simple 0", "- 0", "- 4", "ring/simple 5"];
    assert_eq!(rank().ask(&questions).0, without);
    let with = ["tree/ll 8", "ring/simple 0", "ring/ll128 3", "- 4", "ring/simple 5"];
    assert_eq!(rank().with("COLLECTUNE_TUNER_V2_LL128", "1").ask(&questions).0, with);
    // Nothing else would respect what the user set.
    assert_eq!(rank().with("NCCL_PROTO", "LL").ask(&questions).0, ["- 0"; 5]);
    assert_eq!(rank().with("NCCL_ALGO", "Ring").ask(&questions).0, ["- 0"; 5]);
}

#[test]
fn a_policy_is_followed_and_its_choices_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    // Band 3 holds 1 MiB, and its arm is fixed; band 6 explores.
    let mut questions = vec!["4:1M", "4:1M:1:0:ring/simple"];
    let big: Vec<&str> = vec!["4:134217728"; 32];
    questions[0] = "4:1048576";
    questions[1] = "4:1048576:1:0:ring/simple";
    questions.extend(&big);
    for version in 3..=6 {
        let rank = Rank::new(version).with("COLLECTUNE_TUNER_POLICY", &policy).with("COLLECTUNE_TUNER_LOG", "2");
        let (answers, said) = rank.ask(&questions);
        assert_eq!(answers[0], "ring/simple 24 call 0 arm 3 p 1 generation 17");
        assert_eq!(answers[1], "- 0 call 1 arm 0 p 1 generation 17");
        let autos = answers[2..].iter().filter(|answer| answer.contains(" arm 0 p 0.8125 ")).count();
        assert_eq!(autos, 26, "13 of 16 in each of two blocks: {answers:?}");
        for (arm, forced) in [(1, "tree/simple 0"), (2, "tree/ll128 0"), (3, "ring/simple 24")] {
            let is_it =
                |answer: &&String| answer.starts_with(forced) && answer.contains(&format!(" arm {arm} p 0.0625 "));
            assert_eq!(answers[2..].iter().filter(is_it).count(), 2, "{answers:?}");
        }
        assert_eq!(said.iter().filter(|line| line.contains("allreduce, band 6: arm")).count(), 4, "{said:?}");
    }
}

#[test]
fn two_communicators_in_two_threads_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    for version in 2..=6 {
        let printed = Rank::new(version).with("COLLECTUNE_TUNER_POLICY", &policy).run(&["threads", "200000"]);
        assert_eq!(printed.out, "same true\n", "{printed:?}");
    }
}

#[test]
fn the_plugin_can_be_unloaded_and_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy");
    std::fs::write(&policy, exploring()).unwrap();
    for version in 2..=6 {
        let printed = Rank::new(version).with("COLLECTUNE_TUNER_POLICY", &policy).run(&["reload", "50"]);
        assert_eq!(printed.out, "same true loaded false\n", "{printed:?}");
    }
    // A panic leaves nothing behind that points into it.
    let rank = Rank::new(6).with("COLLECTUNE_TUNER_DRILL", "0").with("COLLECTUNE_TUNER_POLICY", &policy);
    let printed = rank.run(&["reload", "5"]);
    assert!(printed.is_success && printed.out.ends_with("loaded false\n"), "{printed:?}");
}

#[test]
fn a_panic_fails_the_collective_and_leaves_the_host_alive() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    std::fs::write(&conf, CONF).unwrap();
    for version in 2..=6 {
        let rank = Rank::new(version).with("NCCL_TUNER_CONFIG_FILE", &conf).with("COLLECTUNE_TUNER_DRILL", "2");
        let (answers, said) = rank.ask(&["4:8"; 5]);
        assert_eq!(answers, ["tree/ll 8", "tree/ll 8", "3", "3", "3"], "version {version}");
        let warnings: Vec<&String> = said.iter().filter(|line| line.starts_with("WARN")).collect();
        assert_eq!(warnings.len(), 1, "{said:?}");
        assert!(warnings[0].contains("internal error at call 2"), "{said:?}");
    }
}
