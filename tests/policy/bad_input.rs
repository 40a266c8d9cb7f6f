//! What no log, no policy and no answer of a form should be: each is met with a sentence.
//!
//! Two further ones have tests of their own because they take long or run in the plugin: ten million lines and a line
//! of two gigabytes in `tests/policy/reward_logs.rs`; tuner files that nobody can follow, and folders that vanish, in
//! `plugin/host/tests`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write;

use collectune::{
    collective::Scale,
    intake::{self, FileContent, Outcome},
    policy::{
        arm::Arm,
        bands::Bands,
        file::{Policy, with_checksum},
        read::NamedLog,
        replay,
        request::{Highlight, LatencySource, LogSettings, ReplaySettings, Schedule, Settings},
        study::PolicyStudy,
    },
    progress::Silent,
};

/// Everything that is said of a file: why it is refused, or what could not be used, what must be known, and what it
/// comes to.
fn said(bytes: &[u8]) -> String {
    let (report, content) = intake::open(bytes, "rewards.log", bytes.len() as u64, 0, None, &mut Silent);
    let mut all = match report.outcome {
        Outcome::Refused(why) => return format!("refused: {why}"),
        Outcome::Known { problems, notes, holds, .. } => {
            let problems: Vec<String> = problems.kept.iter().map(ToString::to_string).collect();
            format!("{holds}\n{}\n{}", problems.join("\n"), notes.join("\n"))
        }
        other => return format!("{other:?}"),
    };
    let FileContent::Rewards(log) = content else { return all };
    let mut study = PolicyStudy::new(vec![NamedLog { name: "rewards.log".to_owned(), log: *log }]);
    let arms = ["auto", "tree/simple"].iter().filter_map(|arm| Arm::parse(arm)).collect();
    let given = LogSettings { scale: Some(Scale { nodes: 1, ranks: 8 }), ..LogSettings::default() };
    let settings =
        Settings { logs: vec![given], schedule: Schedule { arms, ..Schedule::default() }, ..Settings::default() };
    match study.study(settings, &mut Silent) {
        Err(error) => all += &format!("\nrefused: {error}"),
        Ok(studied) => {
            for (place, of) in (0..).zip(&studied.results) {
                all += &format!("\n{}: {}\n{}", studied.keys[place as usize], of.verdict, of.sentences.join("\n"));
                let charts = study.key(place, &Highlight::default()).unwrap();
                let finite = |chart: &collectune::plot::Chart| {
                    chart
                        .series
                        .iter()
                        .flat_map(|of| &of.points)
                        .all(|point| point.x.is_finite() && point.y.is_finite())
                };
                assert!(finite(&charts.latencies) && charts.posteriors.as_ref().is_none_or(finite));
                if studied.can_replay[place as usize] {
                    let start = ReplaySettings {
                        world: LatencySource::Key(place),
                        steps: 300,
                        seeds: 2,
                        strategies: Vec::new(),
                    };
                    let prepared = study.prepare(&start).unwrap();
                    let played = replay::play(&prepared.game, &[0], &mut Silent).unwrap();
                    let of = study.bring_together(&prepared.game, &[played], &Highlight::default()).unwrap();
                    assert!(of.strategies.iter().flat_map(|of| &of.regret_ms).all(|regret| regret.is_finite()));
                    all += "\nreplayed, all finite";
                }
            }
            all += &format!("\n{}", studied.notes.join("\n"));
        }
    }
    all
}

const GOOD: &str = "allreduce,4194304,1,8,12.34\n";
const HEAD: &str = "collective,bytes,nodes,ranks,latency_ms,arm,propensity\n";

/// A line among good ones.
fn among(line: &str) -> Vec<u8> {
    format!("{}{line}\n{}", GOOD.repeat(3), GOOD.repeat(3)).into_bytes()
}

fn headed(head: &str, lines: &[&str], times: usize) -> Vec<u8> {
    let lines: String = lines.iter().map(|line| format!("allreduce,4096,1,8,{line}\n")).collect();
    format!("collective,bytes,nodes,ranks,{head}\n{}", lines.repeat(times)).into_bytes()
}

/// Each with what is to be said of it.
fn logs() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let wide = GOOD.repeat(4).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(GOOD.repeat(4).as_bytes()).unwrap();
    let one = |name: &'static str, line: &str, said| (name, among(line), said);
    vec![
        ("empty file", Vec::new(), "is empty"),
        ("comments only", b"# a\n# b\n".to_vec(), "refused: "),
        ("NUL bytes", b"allreduce,4096,1,8,3\0\n\0\0\0\0".to_vec(), "is a binary file"),
        ("NUL byte in a line", among("allre\0duce,4096,1,8,3"), "is a binary file"),
        ("UTF-16 with its mark", [vec![0xFF, 0xFE], wide.clone()].concat(), "4 lines"),
        ("UTF-16 without", wide, "refused: "),
        ("gzip", gzip.finish().unwrap(), "4 lines"),
        (
            "a long line",
            [GOOD.repeat(3).into_bytes(), vec![b'1'; 8 << 20], b"\n".to_vec()].concat(),
            "longer than any line",
        ),
        ("CR LF", GOOD.repeat(4).replace('\n', "\r\n").into_bytes(), "4 lines"),
        ("lone CR", GOOD.repeat(4).replace('\n', "\r").into_bytes(), "4 lines"),
        (
            "no last line end",
            (GOOD.repeat(4) + GOOD.trim_end()).into_bytes(),
            "line 5, whole line: \"allreduce,4194304,1,8,12.34\" has no line end",
        ),
        one("no size", "allreduce,,1,8,3", "line 4, column nBytes: \"\" is not a whole number"),
        one(
            "units in fields",
            "ALLREDUCE , 4M , 1 , 8 , 3ms",
            "column latency_ms: \"3ms\" is not a positive finite number",
        ),
        one("decimal comma", "allreduce,4194304,1,8,12,34", "has 6 fields where 5 are expected"),
        one("size 0", "allreduce,0,1,8,3", "column nBytes: \"0\" is less than 1"),
        one(
            "size 2^64",
            "allreduce,18446744073709551616,1,8,3",
            "\"18446744073709551616\" is not a whole number below 2⁶⁴",
        ),
        one("size below 0", "allreduce,-4,1,8,3", "column nBytes: \"-4\" is not a whole number"),
        one("latency 0", "allreduce,4096,1,8,0", "column latency_ms: \"0\" is not a positive finite number"),
        one("latency -1", "allreduce,4096,1,8,-1", "column latency_ms: \"-1\" is not a positive finite number"),
        one(
            "latency 1e309",
            "allreduce,4096,1,8,1e309",
            "column latency_ms: \"1e309\" is not a positive finite number",
        ),
        one("latency NaN", "allreduce,4096,1,8,NaN", "column latency_ms: \"NaN\" is not a positive finite number"),
        one("more nodes than ranks", "allreduce,4096,16,8,3", "column nNodes: \"16\" is more than the 8 ranks"),
        one(
            "unknown collective",
            "allmadeup,4096,1,8,3",
            "column collType: \"allmadeup\" is no collective that is known",
        ),
        (
            "header twice",
            [headed("latency_ms", &["3"], 4), headed("latency_ms", &["3"], 4)].concat(),
            "The header stands 1 time more, first in line 6",
        ),
        (
            "two logs interleaved",
            headed("latency_ms,call", &["3,0", "9,0", "3,1", "9,1", "3,2", "9,2"], 1),
            "repeats the call",
        ),
        (
            "all ranks wrote",
            headed("latency_ms,rank", &["3,0", "3,1", "3,2"], 4),
            "Every rank wrote: 8 lines of other ranks were left out",
        ),
        ("one arm only", headed("latency_ms,arm", &["3,auto"], 30), "Only the library's own choice ran"),
        (
            "arm beyond the table",
            headed("latency_ms,arm", &["3,0", "3,7"], 9),
            "9 lines: the arm's number is beyond the table of arms",
        ),
        ("arm beyond any table", headed("latency_ms,arm", &["3,0", "3,0", "3,999"], 1), "beyond any table of arms"),
        (
            "propensity 0",
            headed("latency_ms,arm,propensity", &["3,0,0.5", "3,1,0.5", "3,0,0"], 3),
            "\"0\" is no probability above 0, up to 1",
        ),
        (
            "propensity above 1",
            headed("latency_ms,arm,propensity", &["3,0,0.5", "3,1,0.5", "3,0,1.5"], 3),
            "\"1.5\" is no probability above 0, up to 1",
        ),
        (
            "propensities that sum to 1.8",
            headed("latency_ms,arm,propensity", &["3,0,0.9", "4,1,0.9"], 30),
            "ran 0.56 times as often as its propensities say: propensities are not used",
        ),
        ("equal latencies", headed("latency_ms,arm", &["3,auto", "3,tree/simple"], 20), "replayed, all finite"),
        ("one line", headed("latency_ms,arm", &["3,auto"], 1), "no decision"),
        ("four lines", headed("latency_ms,arm", &["3,auto", "4,tree/simple"], 2), "no decision"),
        ("calls that go back", headed("latency_ms,call,arm", &["3,5,0", "3,3,1", "3,4,0"], 1), "lower call"),
        ("calls with gaps", headed("latency_ms,call,arm", &["3,0,0", "3,9,1"], 1), "calls that were not logged"),
        ("calls that repeat", headed("latency_ms,call,arm", &["3,0,0", "3,0,1"], 1), "repeats the call"),
        ("a quote that stays open", among("\"allreduce,4096,1,8,3"), "opens a quote that is not closed"),
        (
            "most lines unreadable",
            (GOOD.to_owned() + &"allreduce,4096,1,8,-1\n".repeat(9)).into_bytes(),
            "has 10 lines of which 1 can be read: line 2",
        ),
        ("a header alone", HEAD.as_bytes().to_vec(), "refused: "),
    ]
}

#[test]
fn every_bad_log_is_met_with_a_sentence() {
    let mut wrong = String::new();
    for (name, bytes, expected) in logs() {
        let told = said(&bytes);
        if !told.contains(expected) {
            wrong += &format!("{name}: {expected:?} is not in:\n{told}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const POLICY: &str = r#"{"format":"collectune-policy","version":1,"generation":1,"bands":[1024],"seed":"0x1","arms":[{"name":"auto"}],"keys":[KEYS]}"#;
const KEY: &str = r#"{"coll":"allreduce","band":0,"nodes":1,"ranks":8,"arm":0}"#;

fn sealed_line(text: String) -> String {
    with_checksum(text + "\n")
}

#[test]
fn every_bad_policy_is_met_with_a_sentence() {
    let with = |keys: &str| sealed_line(POLICY.replace("KEYS", keys));
    let good = with(KEY);
    assert!(said(good.as_bytes()).starts_with("1 key\n"), "{}", said(good.as_bytes()));
    let many = |keys: u32| {
        let one = |key: u32| KEY.replace("\"ranks\":8", &format!("\"ranks\":{}", key + 8));
        with(&(0..keys).map(one).collect::<Vec<_>>().join(","))
    };
    for (name, text, expected) in [
        ("duplicate keys", with(&format!("{KEY},{KEY}")), "key 1 is key 0 again"),
        ("duplicate member", good.replace("\"version\":1", "\"version\":1,\"version\":1"), "it is torn"),
        (
            "duplicate member, sealed",
            sealed_line(POLICY.replace("KEYS", "").replace("\"seed\"", "\"version\":1,\"seed\"")),
            "duplicate field `version`",
        ),
        ("wrong checksum", good.replace("\"generation\":1", "\"generation\":2"), "it was changed or torn"),
        (
            "version 3",
            sealed_line(POLICY.replace("KEYS", KEY).replace("\"version\":1", "\"version\":3")),
            "is of version 3; this program reads versions 1 and 2",
        ),
        ("bands not ascending", sealed_line(POLICY.replace("KEYS", KEY).replace("[1024]", "[4096,1024]")), "ascend"),
        ("more keys than there may be", many(5000), "has 5000 keys; at most 4096 are possible"),
        ("a million keys", many(1_000_000), "has more than 16 MiB"),
        ("no JSON", sealed_line("{\"format\":\"collectune-policy\"".to_owned()), "is no policy: "),
    ] {
        let told = said(text.as_bytes());
        assert!(told.starts_with("refused: ") && told.contains(expected), "{name}: {}", &told[..told.len().min(300)]);
    }
    // What ranks take as the next policy: torn at any byte it is none.
    assert!((0..good.len()).all(|length| Policy::read(&good.as_bytes()[..length]).is_err()));
}

#[test]
fn bounds_that_do_not_ascend_are_refused() {
    for bands in [
        "8M,1M",
        "1M,1M",
        "",
        "abc",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32",
    ] {
        assert!(bands.parse::<Bands>().is_err(), "{bands}");
    }
}
