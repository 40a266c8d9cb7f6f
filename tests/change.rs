//! What a comparison of two states promises, on simulated campaigns and on real repeats split in two:
//! `cargo test --test change -- --nocapture` prints the rates.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use collectune::{
    collective::{Collective, Configuration, Workload},
    intake::{self, Content},
    math::Stream,
    progress::Silent,
    tuning::{
        aggregate::Target,
        change::{Findings, Question, Subject, Verdict, find},
        read::{Kind, Row},
        runs::Runs,
        simulate::Simulation,
        snapshot::{Extent, Snapshot},
        study::Study,
    },
};

/// Sweeps with three single runs of everything.
const SWEEPS: [&str; 4] = ["all_gather_2n", "all_reduce_1n", "broadcast_1n", "broadcast_2n"];

fn read(name: &str, bytes: &[u8]) -> Vec<Row> {
    match intake::open(bytes, name, bytes.len() as u64, 0, None, &mut Silent) {
        (_, Content::Rows(rows)) => rows,
        (report, _) => panic!("{report:?}"),
    }
}

/// The rows of a real sweep; `None`, and a line that says so, where the data are not there.
fn real(name: &str) -> Option<Vec<Row>> {
    let shared = std::env::var_os("COLLECTUNE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = shared.join("tuning").join(name).with_extension("csv");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    };
    Some(read(name, &bytes))
}

fn snapshot(rows: Vec<Row>, extent: Extent) -> Snapshot {
    Snapshot::new(&Study::of_runs(Runs::new(rows, Target::Time), Target::Time), extent).unwrap()
}

/// A campaign of a small sweep.
fn campaign(seed: u64, repeats: u32) -> Vec<Row> {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes: (12..28).map(|log2| 1 << log2).collect(),
        channels: vec![4, 8, 16, 32],
        repeats,
        seed,
    };
    read("simulated.csv", simulation.to_csv().as_bytes())
}

/// Every run of some rows takes longer.
fn slower(rows: &mut [Row], factor: f64, which: impl Fn(&Row) -> bool) {
    for row in rows.iter_mut().filter(|row| which(row)) {
        for sample in [&mut row.in_place, &mut row.out_of_place].into_iter().flatten() {
            sample.time_us = sample.time_us.map(|time| time * factor);
            sample.busbw_gbps /= factor;
        }
    }
}

fn any_change(question: &Question) -> Question {
    Question { least_pct: 0.0, ..question.clone() }
}

fn changed(findings: &Findings) -> usize {
    let is_changed = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
    findings.differences.iter().filter(|difference| is_changed(difference.verdict)).count()
}

/// Whether so many alarms in so many campaigns are no more than the rate allows, but for one chance in a thousand.
fn at_most(alarms: u32, campaigns: u32, rate: f64) -> bool {
    let mut probability = (1.0 - rate).powi(campaigns as i32);
    let mut up_to = probability;
    for k in 1..alarms {
        probability *= f64::from(campaigns - k + 1) / f64::from(k) * rate / (1.0 - rate);
        up_to += probability;
    }
    alarms == 0 || 1.0 - up_to > 0.001
}

#[test]
fn equal_campaigns_raise_no_more_false_alarms_than_stated() {
    let question = any_change(&Question::default());
    for (before, after) in [(3, 3), (5, 3), (3, 1)] {
        for extent in [Extent::Whole, Extent::Thinned] {
            let campaigns = 60;
            let (mut alarms, mut wrong, mut compared, mut unheld) = (0, 0, 0, 0);
            for seed in 0..campaigns {
                let old = snapshot(campaign(2 * u64::from(seed) + 1, before), extent);
                let new = snapshot(campaign(2 * u64::from(seed) + 2, after), Extent::Whole);
                let findings = find(&old, &new, None, &question);
                alarms += u32::from(changed(&findings) > 0);
                wrong += changed(&findings);
                compared += findings.differences.len();
                unheld += findings.standings.iter().filter(|standing| standing.stands.fails()).count();
            }
            println!(
                "simulated, {before} and {after} runs, {extent:?}: {alarms} of {campaigns} campaigns with any alarm, \
                 {wrong} of {compared} comparisons; {unheld} standings fail"
            );
            assert!(at_most(alarms, campaigns, 0.1), "{alarms}");
        }
    }
}

/// Splits the repeats of each place: two to the first half, one to the second; at random or by pass.
fn split(rows: &[Row], stream: Option<&mut Stream>) -> [Vec<Row>; 2] {
    let key = |row: &Row| (row.workload, row.kind, (row.kind == Kind::Asked).then_some(row.ran));
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|row| (key(row), row.line));
    let mut halves = [Vec::new(), Vec::new()];
    let mut stream = stream;
    for place in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let second = stream.as_mut().map_or(2, |stream| stream.below(3)).min(place.len() - 1);
        for (at, row) in place.iter().enumerate() {
            halves[usize::from(at == second && place.len() > 1)].push(row.clone());
        }
    }
    halves
}

#[test]
fn real_repeats_split_in_two_raise_no_more_false_alarms_than_stated() {
    let question = any_change(&Question::default());
    for name in SWEEPS {
        let Some(rows) = real(name) else { return };
        let mut stream = Stream::new(11);
        let splits = 40;
        let (mut alarms, mut wrong, mut compared) = (0, 0, 0);
        for _ in 0..splits {
            let [before, after] = split(&rows, Some(&mut stream)).map(|half| snapshot(half, Extent::Whole));
            let findings = find(&before, &after, None, &question);
            alarms += u32::from(changed(&findings) > 0);
            wrong += changed(&findings);
            compared += findings.differences.len();
        }
        let [before, after] = split(&rows, None).map(|half| snapshot(half, Extent::Whole));
        let by_pass = find(&before, &after, None, &question);
        println!(
            "{name}: {alarms} of {splits} random splits with any alarm, {wrong} of {compared} comparisons; by pass {} of \
             {}, {:?}",
            changed(&by_pass),
            by_pass.differences.len(),
            by_pass.drifts.iter().map(|drift| drift.2).collect::<Vec<_>>(),
        );
        assert!(at_most(alarms, splits, 0.1), "{name}: {alarms}");
    }
}

#[test]
fn a_known_slow_down_is_found_where_it_is_and_nowhere_else() {
    let is_slowed = |workload: &Workload| (1 << 18..1 << 22).contains(&workload.size_bytes);
    let (mut found, mut slowed, mut elsewhere) = (0, 0, 0);
    for seed in 0..10 {
        let before = snapshot(campaign(100 + seed, 5), Extent::Whole);
        let mut rows = campaign(200 + seed, 5);
        slower(&mut rows, 1.08, |row| is_slowed(&row.workload));
        let findings = find(&before, &snapshot(rows, Extent::Whole), None, &Question::default());
        assert!(findings.got_slower());
        for difference in &findings.differences {
            let is_slower = difference.verdict == Verdict::Slower;
            if is_slowed(&difference.workload) {
                slowed += 1;
                found += u32::from(is_slower);
                let (low, high) = difference.interval_pct.unwrap();
                assert!(low < -7.4 && high > -7.4 || !is_slower, "{difference:?}");
            } else {
                elsewhere += u32::from(is_slower || difference.verdict == Verdict::Faster);
            }
        }
    }
    println!("8 % at four of sixteen sizes: {found} of {slowed} found, {elsewhere} elsewhere");
    assert!(f64::from(found) > 0.9 * f64::from(slowed) && elsewhere == 0);
}

#[test]
fn a_deployed_configuration_that_got_slower_no_longer_holds() {
    let before = snapshot(campaign(1, 5), Extent::Whole);
    let at = 1 << 20;
    let deployed = before.groups[0].sizes.iter().find(|size| size.size_bytes == at).unwrap();
    let of_protocol = |c: &Configuration| match deployed.deployed {
        collectune::tuning::snapshot::Deployed::Configuration(d) => (c.algorithm, c.protocol) == (d.algorithm, d.protocol),
        _ => false,
    };
    let mut rows = campaign(2, 5);
    slower(&mut rows, 2.0, |row| row.kind == Kind::Asked && row.workload.size_bytes == at && of_protocol(&row.ran));
    let findings = find(&before, &snapshot(rows, Extent::Whole), None, &Question::default());
    let standing = findings.standings.iter().find(|standing| standing.workload.size_bytes == at).unwrap();
    assert!(standing.stands.fails(), "{standing:?}");
    let slower: Vec<&Subject> = findings
        .differences
        .iter()
        .filter(|difference| difference.verdict == Verdict::Slower)
        .map(|difference| &difference.subject)
        .collect();
    assert!(slower.iter().any(|subject| matches!(subject, Subject::Deployed(_))), "{slower:?}");
    assert!(findings.differences.iter().all(|d| d.subject != Subject::Default || d.verdict != Verdict::Slower));
}
