//! How long the library waits for an answer, from both sides of the interface: `cargo bench -p collectune-plugin-host`.
//!
//! Fails where the mean is above 100 ns, one call in a thousand takes more than a microsecond, one first call of an
//! epoch in a hundred more than 20 ms, or with the profiler a launch with its question more than 1,000 ns or a channel
//! more than 200 ns.

use std::{fs, path::Path, process::Command};

use collectune::{
    collective::Scale,
    conf::words::{ALGORITHMS, COLLECTIVES, PROTOCOLS},
    math::Stream,
    policy::{
        arm::Arm,
        bands::Bands,
        chunks::{ChunkSize, MOST_CHUNK_SIZES},
        file::{Choice, Entry, Policy},
    },
};

const CALLS: u64 = 2_000_000;
const MOST_MEAN_NS: f64 = 100.0;
const MOST_P999_NS: f64 = 1000.0;
const MOST_BOUNDARY_US: f64 = 20_000.0;
const MOST_LAUNCH_NS: f64 = 1000.0;
const MOST_CHANNEL_NS: f64 = 200.0;

/// The number after a text.
fn number(text: &str, after: &str) -> Option<f64> {
    text.split(after).nth(1)?.trim_start().split(' ').next()?.parse().ok()
}

/// A tuner file as sweeps give it: five collectives, several scales, adjoining ranges.
fn conf(rules: usize) -> String {
    let mut stream = Stream::new(1);
    let mut text = String::new();
    for rule in 0..rules {
        let collective = COLLECTIVES[rule % 5].0;
        let from = (1_u64 << stream.below(34)) + stream.below(1 << 20) as u64;
        let to = from + (1_u64 << stream.below(30));
        let (algorithm, protocol) = (ALGORITHMS[stream.below(2)].0, PROTOCOLS[stream.below(3)].0);
        let channels = 1 + stream.below(64);
        text += &format!("{collective},{from},{to},{algorithm},{protocol},{channels},2,16,-1,-1\n");
    }
    text
}

/// A policy in which every key explores all arms, in blocks of `each` calls per arm.
fn policy(arms: usize, each: u32) -> String {
    let forced = (0..arms - 1).map(|n| Arm::Forced {
        algorithm: ALGORITHMS[n % 7].1,
        protocol: PROTOCOLS[n % 3].1,
        channels: n as u32,
    });
    let arms: Vec<Arm> = std::iter::once(Arm::Auto).chain(forced).collect();
    let bands = Bands::default();
    let scale = Scale { nodes: 2, ranks: 16 };
    let mut keys = Vec::new();
    for (_, collective) in COLLECTIVES {
        for band in 0..bands.len() as u32 {
            let choice = Choice::Counts(vec![each; arms.len()]);
            keys.push(Entry { collective, band, scale, overlap: None, choice });
        }
    }
    Policy { seed: 7, bands, arms, keys, chunk_sizes: chunk_sizes(), ..Policy::default() }.text()
}

/// As many chunk sizes as there can be, which fit few questions, so that most are looked through.
fn chunk_sizes() -> Vec<ChunkSize> {
    let size = |n: usize| ChunkSize {
        collective: COLLECTIVES[n % 5].1,
        scale: Scale { nodes: 2, ranks: 16 },
        algorithm: ALGORITHMS[n % 2].1,
        protocol: PROTOCOLS[n % 3].1,
        channel_bytes: 1000 * n as u64..=1000 * n as u64 + 999,
        chunk_bytes: 16_384,
    };
    (0..MOST_CHUNK_SIZES).map(size).collect()
}

fn main() {
    let plugin = xtask::plugin::build().unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
        path
    };
    let cases = [
        ("static, 20 rules", "NCCL_TUNER_CONFIG_FILE", file("20.conf", &conf(20))),
        ("static, 2,000 rules", "NCCL_TUNER_CONFIG_FILE", file("2000.conf", &conf(2000))),
        ("policy, 4 arms, blocks of 64", "COLLECTUNE_TUNER_POLICY", file("4.policy", &policy(4, 16))),
        ("policy, 64 arms, blocks of 1,024", "COLLECTUNE_TUNER_POLICY", file("64.policy", &policy(64, 16))),
        ("passive", "IGNORED", file("none", "")),
    ];
    let mut is_slow = false;
    let mut time = |version: u32, what: &str, name: &str, variable: &str, path: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_tuner-host"))
            .arg(&plugin)
            .args([&version.to_string(), "1", "16", "2", what, &CALLS.to_string()])
            .env(variable, path)
            .output()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next().unwrap_or_default();
        let (Some(mean), Some(p999)) = (number(line, "mean"), number(line, "p99.9")) else {
            panic!("{text}{}", String::from_utf8_lossy(&output.stderr))
        };
        println!("version {version}, {name}: {line}");
        is_slow |= mean > MOST_MEAN_NS || p999 > MOST_P999_NS;
    };
    for version in 2..=6 {
        for (name, variable, path) in &cases {
            time(version, "time", name, variable, path);
        }
    }
    time(6, "chunk-time", "chunk size, of 64 that are given", "COLLECTUNE_TUNER_POLICY", &cases[2].2);
    time(6, "chunk-time", "chunk size, passive", "IGNORED", &cases[4].2);
    for version in ["4", "5", "6"] {
        let output = Command::new(env!("CARGO_BIN_EXE_tuner-host"))
            .arg(&plugin)
            .args([version, "1", "16", "2", "profile-time", version, "200"])
            .env("COLLECTUNE_TUNER_POLICY", &cases[2].2)
            .env("COLLECTUNE_TUNER_REWARDS", folder.path().join("rewards"))
            .output()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next().unwrap_or_default();
        let (Some(launch), Some(channel)) = (number(line, "with its question"), number(line, "a channel")) else {
            panic!("{text}{}", String::from_utf8_lossy(&output.stderr))
        };
        println!("profiler of version {version}: {line}");
        is_slow |= launch > MOST_LAUNCH_NS || channel > MOST_CHANNEL_NS;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_tuner-host"))
        .arg(&plugin)
        .args(["6", "1", "1", "1", "epochs", "1000", "16", "0", "0"])
        .env("COLLECTUNE_TUNER_DIR", folder.path())
        .env("COLLECTUNE_TUNER_EPOCH", "16")
        .output()
        .unwrap_or_else(|error| panic!("{error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("first calls")).unwrap_or_else(|| panic!("{text}"));
    println!("the first calls of 1,000 epochs, one rank in {}: {line}", folder.path().display());
    let boundary_us = number(line, "p99").unwrap_or(f64::INFINITY);
    assert!(boundary_us <= MOST_BOUNDARY_US, "99 of 100 epochs begin within {MOST_BOUNDARY_US} us");
    assert!(
        !is_slow,
        "a call may take {MOST_MEAN_NS} ns in the mean, and {MOST_P999_NS} ns in one of a thousand calls; with the profiler a \
         launch {MOST_LAUNCH_NS} ns and a channel {MOST_CHANNEL_NS} ns"
    );
}
