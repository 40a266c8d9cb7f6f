//! Files that nobody can follow leave a plugin that runs, and a line in the log.

#![allow(clippy::unwrap_used)]

mod support;

use std::{fs, path::Path, time::Instant};

use collectune::{
    collective::{Algorithm, Collective, Protocol, Scale},
    policy::{
        arm::Arm,
        bands::Bands,
        chunks::ChunkSize,
        file::{Choice, Entry, Policy, with_checksum},
    },
};
use support::Rank;

/// The answer to one question about an allreduce of 4 KiB, and what was said.
fn loaded(version: u32, variable: &str, path: &Path) -> (String, Vec<String>) {
    let (mut answers, said) = Rank::new(version).with(variable, path).ask(&["4:4096"]);
    (answers.remove(0), said)
}

const RULE: &str = "allreduce,0,65536,ring,ll,8,-1,-1";

/// Tuner files, what an allreduce of 4 KiB runs with them, and what is said.
fn confs() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let utf16 = RULE.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("empty", text(""), "- 0", "INFO collectune: static: 0 rules"),
        ("comments only", text("# a\n   # b\n#"), "- 0", "INFO collectune: static: 0 rules"),
        ("blanks only", text(" \t\r\n\r\n  "), "- 0", "INFO collectune: static: 0 rules"),
        (
            "header",
            text(&format!("collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n{RULE}")),
            "ring/ll 8",
            "static: 1 rules",
        ),
        (
            "header twice",
            text(&format!(
                "colltype,min,max,algorithm,protocol,channels,nNodes,nRanks\n{RULE}\ncolltype,min,max,algorithm,protocol,channels,nNodes,nRanks\n"
            )),
            "ring/ll 8",
            "WARN collectune: line 3, collective: \"colltype\"",
        ),
        ("no line feed", text(RULE), "ring/ll 8", "static: 1 rules"),
        ("carriage returns", text(&format!("# x\r{RULE}\r")), "ring/ll 8", "static: 1 rules"),
        ("byte order mark", text(&format!("\u{FEFF}{RULE}\r\n")), "ring/ll 8", "static: 1 rules"),
        ("indented comment", text(&format!("   # {RULE}\n{RULE} # here\n")), "ring/ll 8", "static: 1 rules"),
        (
            "upper case and sizes",
            text(" AllReduce , 0 , 64K , RING , Simple , 4 , 2 , 16 "),
            "ring/simple 4",
            "static: 1 rules",
        ),
        (
            "alltoall",
            text("alltoall,0,65536,ring,simple,8,-1,-1\n"),
            "- 0",
            "WARN collectune: line 1, collective: \"alltoall\"",
        ),
        (
            "unknown words",
            text("allreduce,0,65536,rnig,simple,8,-1,-1\nallreduce,0,65536,ring,smiple,8,-1,-1\n"),
            "- 0",
            "line 2, protocol: \"smiple\" is not known",
        ),
        ("half a choice", text("allreduce,0,65536,-1,simple,8,-1,-1\n"), "- 0", "one is left to the library"),
        ("channels only", text("allreduce,0,65536,-1,-1,8,-1,-1\n"), "- 8", "static: 1 rules"),
        (
            "auto",
            text("allreduce,0,65536,auto,auto,auto,-1,-1\nallreduce,0,-1,ring,ll,8,-1,-1\n"),
            "- 0",
            "static: 2 rules",
        ),
        ("channels -1", text("allreduce,0,65536,ring,ll,-1,-1,-1\n"), "ring/ll 0", "static: 1 rules"),
        ("channels -2", text("allreduce,0,65536,ring,ll,-2,-1,-1\n"), "- 0", "channels: \"-2\""),
        ("256 channels", text("allreduce,0,65536,ring,ll,256,-1,-1\n"), "- 0", "channels: \"256\""),
        ("empty field", text("allreduce,,65536,ring,ll,8,-1,-1\n"), "- 0", "minbytes: \"\""),
        ("too few fields", text("allreduce,0,65536,ring,ll,8\n"), "- 0", "6 of the 8 fields"),
        ("more fields", text(&format!("{RULE},-1,-1,7,8,9\n")), "ring/ll 8", "static: 1 rules"),
        ("empty range", text("allreduce,65536,0,ring,ll,8,-1,-1\n"), "- 0", "minbytes 65536 is above maxbytes 0"),
        (
            "size of 2^64",
            text("allreduce,0,18446744073709551616,ring,ll,8,-1,-1\n"),
            "- 0",
            "maxbytes: \"18446744073709551616\"",
        ),
        ("negative size", text("allreduce,-4096,65536,ring,ll,8,-1,-1\n"), "- 0", "minbytes: \"-4096\""),
        ("decimal comma", text("allreduce,0,1,5M,ring,ll,8,-1,-1\n"), "- 0", "algorithm: \"5M\""),
        (
            "registered buffers",
            text(&format!("{RULE},-1,1\n")),
            "ring/ll 8",
            "WARN collectune: line 1: regBuff is not looked at",
        ),
        (
            "NUL",
            text(&format!("allreduce,0,65536,ring\0,ll,8,-1,-1\n{RULE}\n")),
            "ring/ll 8",
            "WARN collectune: line 1, a NUL byte",
        ),
        ("UTF-16", utf16, "- 0", "WARN collectune: line 1, a NUL byte"),
        ("gzip", vec![0x1F, 0x8B, 8, 0, 1, 2, 3, 4, 0, 3, 0xCB, 0x48], "- 0", "WARN"),
        ("formats", text("%s%n%s%n,0,65536,ring,ll,8,-1,-1\n"), "- 0", "collective: \"%s%n%s%n\""),
        (
            "not UTF-8",
            [b"all\xFFreduce,0,1,ring,ll,8,-1,-1\n".as_slice(), RULE.as_bytes()].concat(),
            "ring/ll 8",
            "WARN collectune: line 1",
        ),
        (
            "a long line",
            format!("{}{RULE}\n{RULE}\n", "x".repeat(1 << 20)).into_bytes(),
            "ring/ll 8",
            "WARN collectune: line 1",
        ),
        (
            "20,000 rules",
            [RULE, "\n"].concat().repeat(20_000).into_bytes(),
            "ring/ll 8",
            "those after 4096 are left out",
        ),
        ("many faults", "x\n".repeat(100_000).into_bytes(), "- 0", "(further messages are left out)"),
        ("too long", vec![b'#'; (16 << 20) + 1], "- 0", "has more than 16 MiB: passive"),
    ]
}

#[test]
fn a_tuner_file_that_can_not_be_followed_leaves_a_plugin_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, expected, message) in confs() {
        let path = folder.path().join("conf");
        fs::write(&path, bytes).unwrap();
        // Building it is not timed.
        support::plugin();
        let start = Instant::now();
        for version in [4, 6] {
            let (answer, said) = loaded(version, "NCCL_TUNER_CONFIG_FILE", &path);
            assert_eq!(answer, expected, "{name}: {said:?}");
            assert!(said.iter().any(|line| line.contains(message)), "{name}: {said:?}");
            assert!(said.len() <= 20, "{name}: {} messages", said.len());
            assert!(said.iter().all(|line| line.len() < 512 && !line.contains(char::is_control)), "{name}: {said:?}");
        }
        assert!(start.elapsed().as_secs() < 20, "{name}");
    }
}

#[test]
fn a_path_that_is_no_file_leaves_a_passive_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for variable in ["NCCL_TUNER_CONFIG_FILE", "COLLECTUNE_TUNER_POLICY"] {
        for path in [&folder.path().join("missing"), folder.path(), &pipe, Path::new("/dev/zero")] {
            let (answer, said) = loaded(5, variable, path);
            assert_eq!((answer.as_str(), said.len()), ("- 0", 1), "{said:?}");
            assert!(said[0].starts_with("WARN") && said[0].ends_with("passive"), "{said:?}");
        }
    }
    let (answers, said) = Rank::new(6).with("COLLECTUNE_TUNER_MODE", "bandit").ask(&["4:4096"]);
    assert_eq!((answers[0].as_str(), said.len()), ("- 0", 1), "{said:?}");
}

#[test]
fn no_setting_logs_nothing() {
    for version in 2..=6 {
        let answer = Rank::new(version).ask(&["4:4096", "2:8"]);
        assert_eq!(answer, (vec!["- 0".to_owned(); 2], Vec::new()));
    }
}

/// The rows of RCCL 2.31's table for 2 nodes of 8 ranks each answer where the file, the policy, or nothing does.
#[test]
fn the_library_s_own_rows_answer_where_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    fs::write(&conf, "allreduce,0,40000000,ring,simple,8,2,16\n").unwrap();
    let of = folder.path().join("policy");
    fs::write(&of, policy().text()).unwrap();
    let questions = ["4:4096", "4:33554432", "4:50000000", "4:117440511", "4:117440512", "4:234881025", "2:50000000"];
    let asked = |version, variable: &str, path: &Path, extra: &[(&str, &str)]| {
        let mut rank = Rank::new(version)
            .with(variable, path)
            .with("COLLECTUNE_TUNER_GPU", "mi355x")
            .with("COLLECTUNE_TUNER_LIBRARY_VERSION", "2.31.2");
        for (name, value) in extra {
            rank = rank.with(name, value);
        }
        rank.ask(&questions)
    };
    let rows = ["ring/ll128 64", "ring/ll128 64", "tree/simple 64", "ring/simple 48", "- 0", "- 0"];
    for version in [3, 4, 5, 6] {
        for (variable, path, first) in [
            ("IGNORED", &conf, ["- 0", rows[0]]),
            ("NCCL_TUNER_CONFIG_FILE", &conf, ["ring/simple 8", "ring/simple 8"]),
        ] {
            let (answers, said) = asked(version, variable, path, &[]);
            assert_eq!(answers, [&first[..], &rows[1..]].concat(), "{version} {variable}: {said:?}");
            let carried = "carries the 7 rows of RCCL 2.31.2 gfx950's own table, 3 of them about 2 nodes, 16 ranks";
            assert!(said.iter().any(|line| line.ends_with(carried)), "{said:?}");
            let (answers, said) = asked(version, variable, path, &[("COLLECTUNE_TUNER_BUILT_IN", "0")]);
            assert!(!answers.contains(&"tree/simple 64".to_owned()), "{answers:?}");
            assert!(said.iter().any(|line| line.ends_with("no table of the library: COLLECTUNE_TUNER_BUILT_IN=0")));
        }
        let (answers, said) = asked(version, "COLLECTUNE_TUNER_POLICY", &of, &[]);
        // What runs is the arm auto, and told as that.
        let runs = |answer: &String| answer.split_once(" call ").map(|(runs, _)| runs.to_owned());
        let answers: Vec<Option<String>> = answers[1..].iter().map(runs).collect();
        assert_eq!(answers, rows.map(|row| Some(row.to_owned())), "{version}: {said:?}");
    }
}

fn policy() -> Policy {
    let arms = ["auto", "tree/simple", "ring/ll/8"].iter().filter_map(|arm| Arm::parse(arm)).collect();
    let scale = Scale { nodes: 2, ranks: 16 };
    let entry = |band, choice| Entry { collective: Collective::AllReduce, band, scale, overlap: None, choice };
    Policy {
        generation: 4,
        arms,
        keys: vec![entry(1, Choice::Fixed(2)), entry(2, Choice::Counts(vec![1, 2, 1]))],
        ..Policy::default()
    }
}

#[test]
fn a_policy_that_can_not_be_followed_leaves_a_passive_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy");
    let whole = policy().text();
    let json = whole.split_inclusive('\n').next().unwrap().to_owned();
    let changed = |from: &str, to: &str| {
        assert!(json.contains(from), "{json}");
        with_checksum(json.replacen(from, to, 1)).into_bytes()
    };
    let key = "{\"coll\":\"allreduce\",\"band\":1,\"nodes\":2,\"ranks\":16,\"arm\":1},";
    let bad = [
        ("empty", Vec::new()),
        ("no checksum", json.clone().into_bytes()),
        ("wrong checksum", whole.replacen("ring", "tree", 1).into_bytes()),
        ("no JSON", with_checksum("{\n".to_owned()).into_bytes()),
        ("version 3", changed("\"version\":1", "\"version\":3")),
        ("a member twice", changed("\"version\":1", "\"version\":1,\"version\":1")),
        ("a key twice", changed("\"keys\":[", &format!("\"keys\":[{key}"))),
        ("a million keys", changed("\"keys\":[", &format!("\"keys\":[{}", key.repeat(200_000)))),
        ("bands that fall", changed("[1024,262144", "[262144,1024")),
        ("arm 0 is not auto", changed("{\"name\":\"auto\"}", "{\"algo\":\"ring\",\"proto\":\"ll\"}")),
        ("other counts", changed("[1,2,1]", "[1,2]")),
        ("counts of 0", changed("[1,2,1]", "[0,0,0]")),
        ("counts beyond all", changed("[1,2,1]", "[4294967295,4294967295,1]")),
        ("UTF-16", whole.encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ];
    for (name, bytes) in bad {
        fs::write(&path, bytes).unwrap();
        for version in [2, 6] {
            let (answer, said) = loaded(version, "COLLECTUNE_TUNER_POLICY", &path);
            assert_eq!((answer.as_str(), said.len()), ("- 0", 1), "{name}: {said:?}");
            assert!(said[0].starts_with("WARN") && said[0].ends_with("passive"), "{name}: {said:?}");
        }
    }
    // What can be followed in part is.
    fs::write(&path, changed("\"arm\":2", "\"arm\":9")).unwrap();
    let (answer, said) = loaded(6, "COLLECTUNE_TUNER_POLICY", &path);
    assert!(answer.starts_with("- 0 call 0 arm 0 p 1 "), "{answer}");
    assert!(said.iter().any(|line| line.contains("there is no arm 9; it runs auto")), "{said:?}");
    fs::write(&path, &whole).unwrap();
    let (answer, said) = loaded(6, "COLLECTUNE_TUNER_POLICY", &path);
    assert!(answer.starts_with("ring/ll 8 call 0 arm 2 p 1 generation 4"), "{answer}");
    assert_eq!(said.len(), 2, "{said:?}");
}

/// One rank by itself, online.
struct Online {
    folder: tempfile::TempDir,
}

impl Online {
    const ID: u64 = 3;

    fn new() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(this.own()).unwrap();
        fs::write(this.folder.path().join("beginning"), Policy { generation: 4, ..policy() }.text()).unwrap();
        this
    }

    fn own(&self) -> std::path::PathBuf {
        self.folder.path().join(format!("{:016x}", Self::ID))
    }

    /// The generations that three calls follow, with two calls to an epoch.
    fn generations(&self, next: &[u8]) -> Vec<String> {
        fs::write(self.own().join("next.policy"), next).unwrap();
        for epoch in 0..2 {
            let _ = fs::remove_file(self.own().join(format!("epoch-{epoch:06}")));
        }
        let printed = Rank::of(6, Self::ID, 1, 1)
            .with("COLLECTUNE_TUNER_DIR", self.folder.path())
            .with("COLLECTUNE_TUNER_MODE", "online")
            .with("COLLECTUNE_TUNER_POLICY", self.folder.path().join("beginning"))
            .with("COLLECTUNE_TUNER_EPOCH", "2")
            .run(&["ask", "4:4096", "4:4096", "4:4096"]);
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        let generation = |line: &str| line.split_once(" generation ").map(|(_, generation)| generation.to_owned());
        printed.out.lines().filter(|line| line.contains(" = ")).filter_map(generation).collect()
    }
}

#[test]
fn a_policy_cut_anywhere_is_not_followed() {
    let online = Online::new();
    let whole = Policy { generation: 5, ..policy() }.text();
    for length in 0..whole.len() {
        assert_eq!(online.generations(&whole.as_bytes()[..length]), ["4", "4", "4"], "{length}");
    }
    assert_eq!(online.generations(whole.as_bytes()), ["4", "4", "5"]);
}

#[test]
fn only_a_newer_policy_of_the_same_arms_bands_and_chunk_sizes_is_followed() {
    let online = Online::new();
    let mut other = policy();
    other.arms.swap(1, 2);
    let bands = Bands::new(vec![1024, 4096, 1 << 20]).unwrap();
    for (next, expected) in [
        (Policy { generation: 6, ..policy() }, "6"),
        (Policy { generation: 4, ..policy() }, "4"),
        (Policy { generation: 3, ..policy() }, "4"),
        (Policy { generation: 6, ..other }, "4"),
        (Policy { generation: 6, bands, ..policy() }, "4"),
        (Policy { generation: 6, chunk_sizes: vec![chunk_size(512)], ..policy() }, "4"),
    ] {
        assert_eq!(online.generations(next.text().as_bytes()), ["4", "4", expected], "{next:?}");
    }
}

fn chunk_size(chunk_bytes: u64) -> ChunkSize {
    ChunkSize {
        collective: Collective::AllReduce,
        scale: Scale { nodes: 1, ranks: 1 },
        algorithm: Algorithm::Ring,
        protocol: Protocol::Simple,
        channel_bytes: 0..=u64::MAX,
        chunk_bytes,
    }
}

#[test]
fn ranks_agree_on_chunk_sizes_whatever_their_own_files_give() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy");
    let given = |chunk_sizes: Vec<ChunkSize>| {
        fs::write(&path, Policy { chunk_sizes, ..policy() }.text()).unwrap();
        let printed = Rank::of(6, 3, 1, 1)
            .with("COLLECTUNE_TUNER_DIR", folder.path())
            .with("COLLECTUNE_TUNER_POLICY", &path)
            .run(&["chunk", "4:ring/simple:4096"]);
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        printed.out.lines().next().unwrap().to_owned()
    };
    // The first one's is the record; the others come to it later.
    assert_eq!(given(vec![chunk_size(1024)]), "4:ring/simple:4096 = 1024");
    assert_eq!(given(vec![chunk_size(2048)]), "4:ring/simple:4096 = 1024");
    assert_eq!(given(Vec::new()), "4:ring/simple:4096 = 1024");
}

/// Clusters run systems that are years old: what the plugin takes of the C library must be there.
#[test]
fn the_plugin_loads_where_glibc_is_of_2018() {
    const OLDEST: u32 = 28;
    let bytes = fs::read(support::plugin()).unwrap();
    let name = b"GLIBC_2.";
    let versions = bytes.windows(name.len() + 2).filter_map(|window| {
        let digits = window.strip_prefix(name)?.iter().take_while(|byte| byte.is_ascii_digit());
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    });
    let versions: Vec<u32> = versions.collect();
    assert!(versions.contains(&2), "it takes something: {versions:?}");
    assert!(versions.iter().all(|version| *version <= OLDEST), "{versions:?}");
}
