//! What a comparison of two states promises, on real repeats split in two:
//! `cargo test --test tuning compare_states -- --nocapture` prints the rates. Those of simulated campaigns are checked
//! in `tests/statistics`.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use crate::support::{
    campaigns::{any_change, campaign, changed, slower, snapshot, whole_changed},
    counts::Count,
    real,
    threads::on_threads,
};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    form::Choices,
    intake::files::{FileSource, FileToLoad},
    math::{Stream, exp, ln, median},
    progress::Silent,
    report::{
        Section, Workbench,
        snapshot::{DeployedChoice, Extent, Measurement, Snapshot, SnapshotGroup, SnapshotRuns, SnapshotSize},
    },
    tuning::{
        aggregate::Target,
        compare::{
            ChangeVerdict, CompareAnswer, CompareQuestion, Difference, Subject, compare, find_differences,
            relative::RelativeChange,
        },
        read::{Row, RunKind, Sample},
        sets::SetChoice,
        simulate::Simulation,
    },
    workbench::{WorkbenchAnswer, WorkbenchQuestion},
    worker::{
        executor::Executor,
        protocol::{GivenState, Request, Response},
    },
};
use proptest::prelude::*;
use serde_json::Value;

/// Sweeps with three single runs of everything.
const SWEEPS: [&str; 4] = ["all_gather_2n", "all_reduce_1n", "broadcast_1n", "broadcast_2n"];

/// Splits the runs of each place in two, at random; the odd one is the first half's.
fn split(rows: &[Row], stream: &mut Stream) -> [Vec<Row>; 2] {
    let key = |row: &Row| (row.workload, row.kind, (row.kind == RunKind::Asked).then_some(row.ran));
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|row| (key(row), row.line));
    let mut halves = [Vec::new(), Vec::new()];
    for place in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let mut runs = place.to_vec();
        stream.shuffle(&mut runs);
        halves[1].extend(runs.split_off(runs.len().div_ceil(2)));
        halves[0].append(&mut runs);
    }
    halves
}

/// Rows of one configuration as though it had been the default's.
fn as_default(rows: &[Row], configuration: Configuration) -> Vec<Row> {
    let is_it = |row: &&Row| row.kind == RunKind::Asked && row.ran == configuration;
    let asked = rows.iter().filter(|row| row.kind == RunKind::Asked).copied();
    let defaults =
        rows.iter().filter(is_it).map(|row| Row { kind: RunKind::Default, line: row.line + 1_000_000, ..*row });
    asked.chain(defaults).collect()
}

/// At small sizes of all_gather the library runs one thing whatever is asked: 27 runs each of several configurations.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_repeats_split_in_two_raise_no_more_false_alarms_than_stated() {
    let rows = real::rows("all_gather_2n");
    let rows: Vec<Row> = rows.into_iter().filter(|row| row.ran.algorithm == Algorithm::Direct).collect();
    let mut configurations: Vec<Configuration> = rows.iter().map(|row| row.ran).collect();
    configurations.sort();
    configurations.dedup();
    let mut stream = Stream::new(11);
    let (mut alarms, mut wrong, mut compared, mut splits) = (0, 0, 0, 0);
    for configuration in configurations {
        let rows = as_default(&rows, configuration);
        for _ in 0..6 {
            let [before, after] = split(&rows, &mut stream).map(|half| snapshot(half, Extent::Whole));
            let findings = find_differences(&before, &after, None, &any_change(&CompareQuestion::default()));
            alarms += u32::from(changed(&findings) > 0);
            wrong += changed(&findings);
            compared += findings.differences.iter().filter(|difference| difference.interval_pct.is_some()).count();
            splits += 1;
        }
    }
    println!("all_gather_2n: {alarms} of {splits} splits with any alarm, {wrong} of {compared} comparisons");
    assert!(Count { of: alarms, all: splits }.is_at_most(0.1), "{alarms}");
}

/// The first pass over a sweep was slower than the others as a whole: two campaigns may differ as much.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_passes_differ_in_is_no_change() {
    for name in SWEEPS {
        let rows = real::rows(name);
        let of_sweep = snapshot(rows, Extent::Whole);
        let drift = of_sweep.groups[0].drift.unwrap();
        println!("{name}: passes lie {:.2} % from each other", drift.deviation_pct);
        let expected = if name == "broadcast_2n" { 2.0..8.0 } else { 0.0..0.5 };
        assert!(drift.passes == 3 && expected.contains(&drift.deviation_pct), "{drift:?}");
        // Everything as much slower as the passes differ.
        let mut slowed = of_sweep.clone();
        for at in slowed.groups.iter_mut().flat_map(|group| &mut group.sizes) {
            for measurement in at.measured.iter_mut().chain(&mut at.default) {
                let SnapshotRuns::Each(runs) = &mut measurement.runs else { continue };
                runs.iter_mut().for_each(|run| *run /= 1.0 + drift.deviation_pct / 100.0);
            }
        }
        let findings = find_differences(&of_sweep, &slowed, None, &any_change(&CompareQuestion::default()));
        assert_eq!(changed(&findings), 0, "{name}");
    }
}

/// A campaign of a real sweep's medians with the noise of its runs: each run is off by what some run of that size lies
/// off the median of its three, widened by what the median takes out.
fn redrawn(rows: &[Row], stream: &mut Stream) -> Vec<Row> {
    const WIDENED: f64 = 1.13;
    let key = |row: &Row| (row.workload, row.kind, (row.kind == RunKind::Asked).then_some(row.ran));
    let busbw = |row: &Row| Target::Time.busbw_gbps(&row.workload, &row.in_place.unwrap());
    let middle = |place: &[Row]| median(&mut place.iter().map(busbw).collect::<Vec<_>>()).unwrap();
    let mut sorted: Vec<Row> = rows.iter().filter(|row| row.in_place.is_some()).copied().collect();
    sorted.sort_by_key(|row| (key(row), row.line));
    let mut drawn = Vec::new();
    for size in sorted.chunk_by(|a, b| a.workload == b.workload) {
        let places: Vec<&[Row]> = size.chunk_by(|a, b| key(a) == key(b)).collect();
        let off_of = |place: &&[Row]| {
            let middle = ln(middle(place));
            place.iter().map(|row| (ln(busbw(row)) - middle) * WIDENED).collect::<Vec<f64>>()
        };
        let off: Vec<f64> = places.iter().filter(|place| place.len() > 1).flat_map(off_of).collect();
        for place in places {
            let middle = middle(place);
            for row in place {
                let busbw_gbps = middle * exp(off[stream.below(off.len())]);
                drawn.push(Row { in_place: Some(Sample { time_us: None, busbw_gbps }), out_of_place: None, ..*row });
            }
        }
    }
    drawn
}

/// A campaign of a real sweep's medians that keeps what its launches and passes have in common: each of its passes is
/// one of the three of the sweep, and each launch of it is off its medians, at all sizes, by as much as some launch of
/// that pass.
fn redrawn_by_launch(rows: &[Row], stream: &mut Stream) -> Vec<Row> {
    let busbw = |row: &Row| Target::Time.busbw_gbps(&row.workload, &row.in_place.unwrap());
    // What was asked for: at small sizes the library runs one thing whatever that is.
    let launched = |row: &Row| (row.kind, row.asked);
    let mut sorted: Vec<Row> = rows.iter().filter(|row| row.in_place.is_some()).copied().collect();
    sorted.sort_by_key(|row| (launched(row), row.workload, row.line));
    let things: Vec<Vec<&[Row]>> = sorted
        .chunk_by(|a, b| launched(a) == launched(b))
        .map(|of| of.chunk_by(|a, b| a.workload == b.workload).collect())
        .collect();
    let sizes = things.iter().map(Vec::len).max().unwrap();
    let whole: Vec<&Vec<&[Row]>> =
        things.iter().filter(|of| of.len() == sizes && of.iter().all(|place| place.len() == 3)).collect();
    let middle = |place: &[Row]| median(&mut place.iter().map(busbw).collect::<Vec<_>>()).unwrap();
    let mut order = [0, 1, 2];
    stream.shuffle(&mut order);
    let mut drawn = Vec::new();
    for (pass, of) in order.into_iter().enumerate() {
        for thing in &whole {
            let like = whole[stream.below(whole.len())];
            for (place, other) in thing.iter().zip(like) {
                let off = busbw(&other[of]) / middle(other);
                let sample = Sample { time_us: None, busbw_gbps: middle(place) * off };
                // Lines in the order in which passes follow one another.
                let line = (pass * sorted.len() + drawn.len()) as u32;
                drawn.push(Row { in_place: Some(sample), out_of_place: None, line, ..place[0] });
            }
        }
    }
    drawn
}

/// What is found of a change of real sweeps, and how often anything is found where nothing changed; of campaigns whose
/// runs are drawn one by one, and of those that keep what launches and passes have in common, which may differ as a
/// whole.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_change_of_real_sweeps_is_found_by_all_of_a_size_together() {
    const CAMPAIGNS: usize = 16;
    type Redrawn = fn(&[Row], &mut Stream) -> Vec<Row>;
    let designs: [(&str, Redrawn); 2] = [("runs", redrawn), ("launches", redrawn_by_launch)];
    for (design, redrawn) in designs {
        let mut alarms = [Count::default(); 3];
        for name in SWEEPS {
            let rows = real::rows(name);
            let mut sizes: Vec<u64> = rows.iter().map(|row| row.workload.size_bytes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            let slowed = &sizes[10..14];
            let one =
                rows.iter().find(|row| row.kind == RunKind::Asked && row.workload.size_bytes == sizes[12]).unwrap().ran;
            let of_all = |difference: &Difference| matches!(difference.subject, Subject::All { .. });
            let of_campaign = |seed: usize| {
                let mut stream = Stream::new(1000 + seed as u64);
                let [before, after, mut shifted, mut four] = [(); 4].map(|()| redrawn(&rows, &mut stream));
                // The level of the second day is another one.
                let level = exp(0.02 * stream.normal());
                slower(&mut shifted, level, |_| true);
                let before = snapshot(before, Extent::Whole);
                let [alike, on_a_day] = [after.clone(), shifted].map(|rows| {
                    let findings = find_differences(
                        &before,
                        &snapshot(rows, Extent::Whole),
                        None,
                        &any_change(&CompareQuestion::default()),
                    );
                    let is = |of: fn(&Subject) -> bool| {
                        let is_changed = |verdict| matches!(verdict, ChangeVerdict::Slower | ChangeVerdict::Faster);
                        findings.differences.iter().any(|d| of(&d.subject) && is_changed(d.verdict))
                    };
                    let by = [
                        is(|subject| matches!(subject, Subject::All { .. })),
                        is(|subject| !matches!(subject, Subject::All { .. })),
                        !findings.relative.is_empty(),
                    ];
                    (changed(&findings) > 0, whole_changed(&findings), by)
                });
                slower(&mut four, 1.08, |row| slowed.contains(&row.workload.size_bytes));
                let findings =
                    find_differences(&before, &snapshot(four, Extent::Whole), None, &CompareQuestion::default());
                let (mut found, mut alone, mut elsewhere) = (Count::default(), Count::default(), Count::default());
                for difference in &findings.differences {
                    let is = difference.verdict == ChangeVerdict::Slower;
                    match (slowed.contains(&difference.workload.size_bytes), of_all(difference)) {
                        (true, true) => found.add(is),
                        (true, false) => alone.add(is),
                        (false, _) => elsewhere.add(difference.verdict == ChangeVerdict::Faster || is),
                    }
                }
                let mut slower_one = after;
                slower(&mut slower_one, 1.25, |row| row.kind == RunKind::Asked && row.ran == one);
                let findings =
                    find_differences(&before, &snapshot(slower_one, Extent::Whole), None, &CompareQuestion::default());
                let is_named = |moved: &RelativeChange| moved.configuration == Some(one) && moved.relative_pct < 0.0;
                (alike, on_a_day, [found, alone, elsewhere], findings.relative.iter().any(is_named))
            };
            let (mut alike, mut whole, mut by) = (Count::default(), Count::default(), [Count::default(); 3]);
            let (mut found, mut named, mut another_day) = ([Count::default(); 3], Count::default(), Count::default());
            for (equal, on_a_day, places, is_named) in on_threads(CAMPAIGNS, of_campaign) {
                alike.add(equal.0);
                another_day.add(on_a_day.0);
                whole.add(equal.1);
                by.iter_mut().zip(equal.2).for_each(|(count, is)| count.add(is));
                found.iter_mut().zip(places).for_each(|(sum, of)| *sum = sum.plus(of));
                named.add(is_named);
            }
            let [found, alone, elsewhere] = found;
            println!(
                "{name}, {design} drawn: alike, any alarm {alike} (all of a size {}, one of it {}, a configuration {}), \
                 the whole {whole}; on days that differ by 2 %, any alarm beside the whole {another_day}; 8 % at four sizes: \
                 all together {found}, the default, the deployed or the best alone {alone}, elsewhere {elsewhere}; one \
                 configuration slower by 25 % is named {named}",
                by[0], by[1], by[2]
            );
            alarms[0] = alarms[0].plus(alike);
            alarms[1] = alarms[1].plus(another_day);
            alarms[2] = alarms[2].plus(whole);
            assert!(found.is_at_least(0.97), "{name}: {found}");
            assert!(named.is_at_least(0.9), "{name}: {named}");
            assert!(elsewhere.is_at_most(0.01), "{name}: {elsewhere}");
        }
        println!("{design} drawn: alike {}, on another day {}, the whole {}", alarms[0], alarms[1], alarms[2]);
        assert!(alarms.iter().all(|alarms| alarms.is_at_most(0.1)), "{alarms:?}");
    }
}

/// The nine runs of the default and of a tuner file at each size of a real campaign, as they were printed.
fn nine_runs() -> Vec<(u64, [Vec<f64>; 2])> {
    let text = real::text("tuning/ab/allreduce_1n.per_size_stats.csv");
    let runs = |cell: &str| cell.split(';').map(|run| run.parse().unwrap()).collect::<Vec<f64>>();
    let size = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[1].parse().unwrap(), [runs(cells[12]), runs(cells[13])])
    };
    text.lines().skip(1).map(size).collect()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn nine_real_repeats_split_in_two_raise_no_more_false_alarms_than_stated() {
    let sizes = nine_runs();
    let mut stream = Stream::new(5);
    let splits = 60;
    let (mut alarms, mut wrong) = (0, 0);
    for _ in 0..splits {
        let mut halves = [Vec::new(), Vec::new()];
        for (size_bytes, arms) in &sizes {
            let dealt = arms.clone().map(|mut runs| {
                stream.shuffle(&mut runs);
                let second = runs.split_off(5);
                [runs, second]
            });
            for (half, sizes) in halves.iter_mut().enumerate() {
                sizes.push(at_size(*size_bytes, &dealt[0][half], &[(8, &dealt[1][half])]));
            }
        }
        let [before, after] = halves.map(of_sizes);
        let findings = find_differences(&before, &after, None, &any_change(&CompareQuestion::default()));
        alarms += u32::from(changed(&findings) > 0);
        wrong += changed(&findings);
    }
    println!("nine runs, five against four: {alarms} of {splits} splits with any alarm, {wrong} comparisons");
    assert!(Count { of: alarms, all: splits }.is_at_most(0.1), "{alarms}");
}

const RING: Configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 8 };
const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

fn at_size(size_bytes: u64, default: &[f64], measured: &[(u32, &[f64])]) -> SnapshotSize {
    let measurement = |configuration: Configuration, runs: &[f64]| {
        (!runs.is_empty()).then(|| Measurement {
            configuration,
            executed: true,
            runs: SnapshotRuns::Each(runs.to_vec()),
        })
    };
    SnapshotSize {
        size_bytes,
        deployed: measured.first().map_or(DeployedChoice::Unknown, |(channels, _)| {
            DeployedChoice::Configuration(Configuration { channels: *channels, ..RING })
        }),
        default: measurement(RING, default),
        measured: measured
            .iter()
            .filter_map(|(channels, runs)| measurement(Configuration { channels: *channels, ..RING }, runs))
            .collect(),
    }
}

fn of_sizes(sizes: Vec<SnapshotSize>) -> Snapshot {
    let group = SnapshotGroup {
        collective: Collective::AllReduce,
        scale: SCALE,
        measured_with: Vec::new(),
        drift: None,
        sizes,
    };
    Snapshot { is_whole: true, groups: vec![group], ..Snapshot::default() }
}

#[test]
fn a_deployed_configuration_that_got_slower_no_longer_holds() {
    let before = snapshot(campaign(1, 5), Extent::Whole);
    let at = 1 << 20;
    let deployed = before.groups[0].sizes.iter().find(|size| size.size_bytes == at).unwrap();
    let of_protocol = |c: &Configuration| match deployed.deployed {
        DeployedChoice::Configuration(d) => (c.algorithm, c.protocol) == (d.algorithm, d.protocol),
        _ => false,
    };
    let mut rows = campaign(2, 5);
    slower(&mut rows, 2.0, |row| row.kind == RunKind::Asked && row.workload.size_bytes == at && of_protocol(&row.ran));
    let findings = find_differences(&before, &snapshot(rows, Extent::Whole), None, &CompareQuestion::default());
    let deployed_check =
        findings.deployed_checks.iter().find(|deployed_check| deployed_check.workload.size_bytes == at).unwrap();
    assert!(deployed_check.status.fails(), "{deployed_check:?}");
    let slower: Vec<&Subject> = findings
        .differences
        .iter()
        .filter(|difference| difference.verdict == ChangeVerdict::Slower)
        .map(|difference| &difference.subject)
        .collect();
    assert!(slower.iter().any(|subject| matches!(subject, Subject::Deployed(_))), "{slower:?}");
    assert!(findings.differences.iter().all(|d| d.subject != Subject::Default || d.verdict != ChangeVerdict::Slower));
}

#[test]
fn the_same_state_twice_has_not_changed() {
    let whole = snapshot(campaign(1, 3), Extent::Whole);
    let thinned = snapshot(campaign(1, 3), Extent::Thinned);
    for (after, said) in [(&whole, "Both sides hold the same runs"), (&thinned, "Nothing changed")] {
        let answer = compare(&whole, after, None, &CompareQuestion::default());
        assert!(!answer.got_slower && answer.summary[0].starts_with(said), "{:?}", answer.summary);
        assert_eq!(answer.by_size.rows.is_empty(), after.is_whole);
        assert_eq!(answer.deployed_check.rows.len(), if after.is_whole { 0 } else { 16 });
        assert_eq!(answer.notes.is_empty(), after.is_whole, "{:?}", answer.notes);
        assert!(answer.unmatched.rows.is_empty(), "{:?}", answer.unmatched.rows);
    }
}

#[test]
fn what_only_one_side_has_is_listed() {
    let before = of_sizes(vec![at_size(1024, &[1.0, 1.1], &[(8, &[2.0, 2.1])]), at_size(2048, &[1.0], &[])]);
    let after = of_sizes(vec![at_size(1024, &[1.0, 1.1], &[(16, &[2.0, 2.1])])]);
    let answer = compare(&before, &after, None, &CompareQuestion::default());
    let words: Vec<String> =
        answer.unmatched.rows.iter().map(|row| format!("{}: {}", row[2].text, row[3].text)).collect();
    assert_eq!(words, ["before: size 2 KiB", "before: configuration RING/LL/8", "after: configuration RING/LL/16"]);
    assert_eq!(answer.by_size.rows.len(), 1);
    assert_eq!(answer.deployed_check.rows[0].last().unwrap().text, "not measured after");
    let nothing = compare(&before, &Snapshot::default(), None, &CompareQuestion::default());
    assert_eq!(nothing.summary, ["The two sides have no measurement in common."]);
}

#[test]
fn single_runs_on_both_sides_tell_nothing() {
    let before = of_sizes(vec![at_size(1024, &[1.0], &[(8, &[2.0])])]);
    let after = of_sizes(vec![at_size(1024, &[0.1], &[(8, &[0.2])])]);
    let answer = compare(&before, &after, None, &CompareQuestion::default());
    assert!(!answer.got_slower);
    assert!(answer.summary.iter().any(|line| line.contains("measure at least twice")), "{:?}", answer.summary);
}

#[test]
fn a_snapshot_travels_as_json() {
    for extent in [Extent::Whole, Extent::Thinned] {
        let snapshot = snapshot(campaign(3, 3), extent);
        let text = snapshot.to_value().to_string();
        println!("{extent:?}: {} bytes of JSON for 16 sizes", text.len());
        // Runs out of place stay where the measurements were read.
        let carried = Snapshot { out_of_place: Vec::new(), ..snapshot };
        assert_eq!(Snapshot::from_value(&serde_json::from_str(&text).unwrap()).unwrap(), carried);
    }
}

#[test]
fn what_is_wrong_in_a_snapshot_has_a_place() {
    let good = snapshot(campaign(3, 1), Extent::Whole).to_value();
    for (path, value, said) in [
        (
            "/groups/0/channels/0",
            Value::from(5000),
            "can't be read at groups[0].channels[0]: a whole number up to 1024 was expected",
        ),
        ("/groups/0/sizes", Value::from("x"), "can't be read at groups[0].sizes: a list was expected"),
        ("/groups/0/at/3", Value::from(99), "can't be read at groups[0].at[3]: one of 16 sizes was expected"),
        ("/groups/0/ran/3", Value::from(i64::MIN), "can't be read at groups[0].ran[3]: one of "),
        (
            "/groups/0/busbw_gbps/0",
            Value::from(-1.0),
            "can't be read at groups[0].busbw_gbps[0]: a number above zero was expected",
        ),
        (
            "/groups/0/collective",
            Value::from("<script>"),
            "can't be read at groups[0].collective: a name that this version knows",
        ),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        let error = Snapshot::from_value(&bad).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let mut marked = good;
    marked["groups"][0]["measured_with"] = vec!["NCCL 2.29 <img src=x>"].into();
    let read = Snapshot::from_value(&marked).unwrap();
    assert_eq!(read.groups[0].measured_with, ["NCCL 2.29 img srcx"]);
}

fn any_runs() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![4 => 0.5_f64..400.0, 1 => Just(1e-9), 1 => Just(1e9)], 0..4)
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let size = [any_runs(), any_runs(), any_runs()];
    prop::collection::vec(size, 0..5).prop_map(|sizes| {
        let at = |(log2, [default, a, b]): (u32, [Vec<f64>; 3])| at_size(1 << log2, &default, &[(4, &a), (8, &b)]);
        of_sizes((10..).zip(sizes).map(at).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sides_can_be_swapped_and_units_do_not_matter(before in any_snapshot(), after in any_snapshot()) {
        let question = CompareQuestion::default();
        let there = find_differences(&before, &after, None, &question).differences;
        let back = find_differences(&after, &before, None, &question).differences;
        prop_assert_eq!(there.len(), back.len());
        for (there, back) in there.iter().zip(&back).filter(|(difference, _)| difference.subject != Subject::Best) {
            if !(-99.0..1e4).contains(&there.change_pct) {
                continue;
            }
            let product = (1.0 + there.change_pct / 100.0) * (1.0 + back.change_pct / 100.0);
            prop_assert!((product - 1.0).abs() < 1e-6);
            prop_assert_eq!(there.interval_pct.is_some(), back.interval_pct.is_some());
        }
        for difference in &there {
            prop_assert!(difference.change_pct.is_finite(), "{difference:?}");
            if let Some((low, high)) = difference.interval_pct {
                prop_assert!(low <= high && !low.is_nan() && !high.is_nan());
            }
        }
    }

    #[test]
    fn no_snapshot_panics(value in any_json()) {
        if let Ok(snapshot) = Snapshot::from_value(&value) {
            let CompareAnswer { markdown, json, .. } = compare(&snapshot, &snapshot, None, &CompareQuestion::default());
            prop_assert!(!markdown.is_empty() && serde_json::from_str::<Value>(&json).is_ok());
        }
    }
}

/// A small snapshot in which something was replaced.
fn any_json() -> impl Strategy<Value = Value> {
    let replacement = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::from),
    ];
    let columns =
        ["sizes", "deployed", "algorithms", "protocols", "channels", "at", "ran", "busbw_gbps", "nodes", "runs"];
    let place = (prop::sample::select(columns.to_vec()), 0_usize..6, any::<bool>());
    (any_snapshot(), place, replacement).prop_map(|(snapshot, (column, at, whole), replacement)| {
        let mut value = snapshot.to_value();
        let path = if whole { format!("/groups/0/{column}") } else { format!("/groups/0/{column}/{at}") };
        if let Some(place) = value.pointer_mut(&path) {
            *place = replacement;
        }
        value
    })
}

fn csv(seed: u64, repeats: u32, factor: f64) -> String {
    let text = Simulation {
        collectives: vec![Collective::Broadcast],
        nodes: vec![1],
        sizes: (16..22).map(|log2| 1 << log2).collect(),
        channels: vec![8, 16],
        repeats,
        seed,
    }
    .to_csv();
    // A slower network: sizes stay, times grow.
    let mut lines = text.lines();
    let mut out = lines.next().unwrap().to_owned() + "\n";
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        for (time, bandwidths) in [(8, [9, 10]), (12, [13, 14])] {
            cells[time] = format!("{:.2}", cells[time].parse::<f64>().unwrap() * factor);
            bandwidths
                .into_iter()
                .for_each(|at| cells[at] = format!("{:.2}", cells[at].parse::<f64>().unwrap() / factor));
        }
        out += &(cells.join(",") + "\n");
    }
    out
}

fn load(name: &str, text: &str) -> (FileToLoad, FileSource) {
    let file = FileToLoad { id: 0, name: name.to_owned(), mapping: None };
    (file, text.as_bytes().to_vec().into())
}

/// The panel Compare of the page, after these choices, with the files that it wants by themselves.
fn compare_panel(worker: &mut Executor, choices: &[(&str, &str)]) -> (Section, Vec<u32>) {
    let mut chosen = Choices::default();
    chosen.set("p", "compare");
    choices.iter().for_each(|(key, value)| chosen.set(key, value));
    let question = Box::new(WorkbenchQuestion::Choose(chosen));
    let request = Request::Study { workbench: Workbench::Tuning, question, is_held: false };
    let Response::Study(answer) = worker.execute(request, Vec::new(), &mut Silent).unwrap() else { panic!() };
    let WorkbenchAnswer::Shown(view) = *answer else { panic!() };
    let section = view.report.sections.into_iter().find(|section| section.title == "Compare").unwrap();
    (section, view.jobs.files)
}

#[test]
fn the_page_compares_files_with_what_is_loaded_and_with_reports() {
    let mut worker = Executor::default();
    let (file, source) = load("before.csv", &csv(1, 5, 1.0));
    let alone = Request::Load { files: vec![file.clone()], target: Target::Time, set: SetChoice::Largest };
    worker.execute(alone, vec![source], &mut Silent).unwrap();
    let (section, unread) = compare_panel(&mut worker, &[]);
    assert!(section.tables.is_empty() && section.text[0].starts_with("Drop a second sweep"), "{:?}", section.text);
    assert!(unread.is_empty(), "{unread:?}");

    let report = worker.report(&collectune::report::Contents::whole()).unwrap();
    let of_report = report.snapshot.clone().unwrap();
    let texts = [csv(1, 5, 1.0), collectune::report::wire::write(&report), csv(2, 5, 1.2)];
    let names = ["before.csv", "report.json", "after.csv"];
    let given = |of: usize| {
        let (file, source) = load(names[of], &texts[of]);
        (FileToLoad { id: of as u32 + 1, ..file }, source)
    };
    let (files, sources): (Vec<_>, Vec<_>) = (0..3).map(given).unzip();
    let request = Request::Load { files, target: Target::Time, set: SetChoice::Largest };
    worker.execute(request, sources, &mut Silent).unwrap();
    let link = GivenState::Link("Earlier".to_owned(), Box::new(of_report));
    worker.execute(Request::TakeStates(vec![link]), Vec::new(), &mut Silent).unwrap();
    for before in ["", "link", "1", "2"] {
        let choices = [("before", before), ("after", "3")];
        let (section, unread) = compare_panel(&mut worker, &choices);
        assert_eq!(unread.is_empty(), section.placement.is_bad, "{before}");
        let (files, sources): (Vec<_>, Vec<_>) = unread.iter().map(|file| given(*file as usize - 1)).unzip();
        let states = files.into_iter().map(GivenState::File).collect();
        worker.execute(Request::TakeStates(states), sources, &mut Silent).unwrap();
        let (section, unread) = compare_panel(&mut worker, &choices);
        assert!(unread.is_empty(), "{unread:?}");
        assert!(section.placement.is_bad, "{before}: {:?}", section.text);
        assert_eq!(section.charts.len(), 1);
        let titles: Vec<&str> = section.tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles[..2], ["What changed", "What is deployed"]);
        assert!(section.files[0].text.starts_with("## Before and after"));
        // The limits are choices as well.
        let (section, _) = compare_panel(&mut worker, &[choices[0], choices[1], ("least-change", "60")]);
        assert!(!section.placement.is_bad, "{:?}", section.text);
    }
    // All that is loaded together, and a state that is not there any more.
    let (section, unread) = compare_panel(&mut worker, &[("before", "3"), ("after", "loaded")]);
    assert_eq!((unread, section.placement.error), (Vec::new(), None));
    let (section, unread) = compare_panel(&mut worker, &[("before", "9"), ("after", "3")]);
    assert_eq!((unread, section.placement.is_bad), (Vec::new(), true));
    // What was compared no longer is read once more.
    let (_, unread) = compare_panel(&mut worker, &[("before", "1"), ("after", "3")]);
    assert_eq!(unread, [1]);
    let (file, source) = load("empty.csv", "");
    let file = GivenState::File(FileToLoad { id: 1, ..file });
    worker.execute(Request::TakeStates(vec![file]), vec![source], &mut Silent).unwrap();
    let (section, _) = compare_panel(&mut worker, &[("before", "1"), ("after", "3")]);
    let why = section.placement.error.unwrap();
    assert!(why.starts_with("there is no state before: "), "{why}");
}

#[test]
fn the_terminal_ends_with_3_where_something_got_slower() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_collectune"))
            .args(["tuning", "compare"])
            .args(arguments)
            .output()
            .unwrap();
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, error)
    };
    let before = write("before.csv", &csv(1, 5, 1.0));
    let same = write("same.csv", &csv(2, 5, 1.0));
    let slow = write("slow.csv", &csv(3, 5, 1.2));
    let (code, out, error) = run(&[&before, &slow]);
    assert_eq!(code, Some(3), "{error}");
    assert!(out.contains("slower beyond noise") && out.contains("What was deployed:"), "{out}");
    let (code, out, error) = run(&[&before, &same, "--markdown"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.starts_with("## Before and after\n\n- Nothing changed beyond noise"), "{out}");
    // Faster is no failure, and several files are one side.
    let parts = format!("{},{}", write("one.csv", &csv(4, 2, 1.0)), write("two.csv", &csv(5, 3, 1.0)));
    let (code, out, _) = run(&[&slow, &parts, "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, found["got_slower"].as_bool()), (Some(0), Some(false)));
    assert_eq!(found["as_a_whole"][0]["verdict"], "faster");
    let compared = found["compared"].as_array().unwrap();
    assert!(compared.iter().all(|row| row["measured_pct"].as_f64() > Some(10.0)), "{out}");
    assert!(compared.iter().all(|row| row["verdict"] != "slower" && row["verdict"] != "faster"), "{out}");
    // What is deployed can stand in a file.
    let conf = write("a.conf", "broadcast,0,1048575,ring,ll,8,1,8\nbroadcast,1048576,1048576,ring,simple,-1,1,8\n");
    let to = folder.path().join("change.json").display().to_string();
    let (code, out, error) = run(&[&before, &same, "--conf", &conf, "--reader", "rccl", "-o", &to]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{error}");
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&to).unwrap()).unwrap();
    let deployed: Vec<&str> =
        found["deployed"].as_array().unwrap().iter().map(|row| row["deployed"].as_str().unwrap()).collect();
    assert_eq!(deployed[..4], ["RING/LL/8"; 4]);
    assert_eq!(deployed[4..], ["RING/SIMPLE, channels of the library's choice", "default"]);
    let (code, _, error) = run(&[&before, &write("no.csv", "what is this\n")]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("there is no state after"), "{error}");
}
