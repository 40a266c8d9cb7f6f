//! Tuning: two measured states compared with each other.

use collectune::{
    collective::{Algorithm, Configuration, Protocol},
    math::{Stream, exp},
    report::snapshot::{DeployedChoice, Extent},
    tuning::{
        aggregate::Target,
        compare::{
            ChangeVerdict, CompareQuestion, Subject,
            deployment::{DeployedCheck, DeployedStatus},
            find_differences,
            relative::RelativeChange,
        },
        read::{Row, RunKind},
        runs::aggregate,
        sweep::Sweep,
    },
};

use super::{
    support::{
        campaigns::{any_change, campaign, changed, slower, snapshot, whole_changed},
        counts::Count,
        threads::on_threads,
    },
    table::Table,
};

/// How campaigns come about that are compared.
#[derive(Clone, Copy)]
enum Design {
    /// Single runs differ.
    Runs,
    /// Launches differ as a whole as well.
    Launches,
    /// So do passes over the whole sweep.
    Passes,
    /// One of the two campaigns is as a whole slower, and none of its passes shows it.
    Campaigns,
}

fn made(design: Design, seed: u64, repeats: u32) -> Vec<Row> {
    let mut rows = campaign(seed, repeats);
    let mut stream = Stream::new(seed ^ 0xCA);
    match design {
        Design::Runs => {}
        // A launch measures the sixteen sizes.
        Design::Launches => {
            rows.chunks_mut(16).for_each(|rows| slower(rows, exp(0.02 * stream.normal()), |_| true));
        }
        Design::Passes => {
            let pass = rows.len().div_ceil(repeats as usize);
            rows.chunks_mut(pass).for_each(|rows| slower(rows, exp(0.02 * stream.normal()), |_| true));
        }
        Design::Campaigns => slower(&mut rows, exp(0.02 * stream.normal()), |_| true),
    }
    rows
}

/// Something is said to be beaten by what is no faster.
fn is_wrong(truth: &Sweep, deployed_check: &DeployedCheck) -> bool {
    let points = truth.points_at(&deployed_check.workload);
    let default = truth.default_at(&deployed_check.workload).unwrap().busbw_gbps;
    let of = |configuration| points.iter().find(|point| point.configuration == configuration).unwrap().busbw_gbps;
    let own = match deployed_check.deployed {
        DeployedChoice::Configuration(configuration) => of(configuration),
        _ => default,
    };
    match deployed_check.status {
        DeployedStatus::SlowerThanDefault { .. } => default <= own,
        DeployedStatus::Beaten { by, .. } => of(by) <= own,
        _ => false,
    }
}

#[test]
fn equal_campaigns_raise_no_more_false_alarms_than_stated() {
    const CAMPAIGNS: u32 = 60;
    let question = any_change(&CompareQuestion::default());
    let truth = aggregate(&campaign(1_000_003, 41), Target::Time);
    let mut table = Table::new(
        "comparisons of equal campaigns",
        &[
            "design",
            "repeats before, after",
            "campaigns with any false alarm beside the whole",
            "comparisons",
            "the whole is said to differ",
            "something deployed is said to be beaten",
            "and is not",
            "visible, mean",
        ],
    );
    for (name, design, [before, after], extent) in [
        ("runs differ", Design::Runs, [3, 3], Extent::Whole),
        ("runs differ", Design::Runs, [5, 3], Extent::Whole),
        ("runs differ", Design::Runs, [3, 2], Extent::Whole),
        ("runs differ; of a report of which runs were left out", Design::Runs, [5, 3], Extent::Thinned),
        ("launches differ by 2 %", Design::Launches, [3, 3], Extent::Whole),
        ("passes differ by 2 %", Design::Passes, [3, 3], Extent::Whole),
        ("campaigns differ by 2 %, their passes do not", Design::Campaigns, [3, 3], Extent::Whole),
        ("the same; of a report of which runs were left out", Design::Campaigns, [5, 3], Extent::Thinned),
    ] {
        let of_campaign = |seed: usize| {
            let old = snapshot(made(design, 2 * seed as u64 + 1, before), extent);
            let new = snapshot(made(design, 2 * seed as u64 + 2, after), Extent::Whole);
            let findings = find_differences(&old, &new, None, &question);
            let visible = findings.differences.iter().filter_map(|difference| difference.visible_pct).sum::<f64>();
            let fails = findings.deployed_checks.iter().any(|deployed_check| deployed_check.status.fails());
            let wrongly = findings.deployed_checks.iter().any(|deployed_check| is_wrong(&truth, deployed_check));
            let changed = changed(&findings) as u32;
            (changed, whole_changed(&findings), findings.differences.len() as u32, [fails, wrongly], visible)
        };
        let (mut wrong_fail, mut whole, mut any) = (Count::default(), Count::default(), Count::default());
        let (mut campaigns, mut comparisons, mut fail, mut visible) =
            (Count::default(), Count::default(), Count::default(), 0.0);
        for (wrong, of_whole, compared, fails, seen) in on_threads(CAMPAIGNS as usize, of_campaign) {
            campaigns.add(wrong > 0);
            whole.add(of_whole);
            any.add(wrong > 0 || of_whole);
            comparisons = comparisons.plus(Count { of: wrong, all: compared });
            fail.add(fails[0]);
            wrong_fail.add(fails[1]);
            visible += seen;
        }
        let visible = format!("{:.1} %", visible / f64::from(comparisons.all));
        table.row(&[
            &name,
            &format!("{before}, {after}"),
            &campaigns,
            &comparisons,
            &whole,
            &fail,
            &wrong_fail,
            &visible,
        ]);
        // Days that differ do, as a whole; nothing beside that does.
        table.at_most(if matches!(design, Design::Campaigns) { campaigns } else { any }, 0.1);
        table.at_most(wrong_fail, 0.1);
    }
    table.settle();
}

#[test]
fn a_known_slow_down_is_found_where_it_is_and_nowhere_else() {
    let mut table = Table::new(
        "comparisons after a slow-down at some of sixteen sizes",
        &[
            "sizes",
            "slower by",
            "all of the campaign besides",
            "repeats",
            "by all together",
            "by the default, the deployed or the best alone",
            "found elsewhere, campaigns",
            "all intervals hold, campaigns",
            "that of the whole holds",
        ],
    );
    for (sizes, percent, besides, repeats, least) in [
        (4, 2_u32, 0_u32, 5, 0.2),
        (4, 5, 0, 5, 0.95),
        (4, 8, 0, 5, 0.97),
        (4, 8, 0, 3, 0.95),
        (4, 8, 3, 3, 0.95),
        (4, 8, 20, 3, 0.95),
        (8, 8, 0, 3, 0.95),
        (10, 8, 0, 3, 0.95),
    ] {
        let is_slowed = |row_bytes: u64| (1 << 18..1 << (18 + sizes)).contains(&row_bytes);
        let level = 1.0 + f64::from(besides) / 100.0;
        let factor = 1.0 + f64::from(percent) / 100.0;
        let of_campaign = |seed: usize| {
            let before = snapshot(campaign(100 + seed as u64, repeats), Extent::Whole);
            let mut rows = campaign(200 + seed as u64, repeats);
            slower(&mut rows, factor, |row| is_slowed(row.workload.size_bytes));
            slower(&mut rows, level, |_| true);
            let findings = find_differences(&before, &snapshot(rows, Extent::Whole), None, &CompareQuestion::default());
            let (mut found, mut alone, mut elsewhere, mut hold) = (Count::default(), Count::default(), false, true);
            for difference in &findings.differences {
                let is_there = is_slowed(difference.workload.size_bytes);
                let is = if is_there { (1.0 / factor - 1.0) * 100.0 } else { 0.0 };
                let is_slower = difference.verdict == ChangeVerdict::Slower;
                if is_there {
                    match difference.subject {
                        Subject::All { .. } => found.add(is_slower),
                        _ => alone.add(is_slower),
                    }
                } else {
                    elsewhere |= matches!(difference.verdict, ChangeVerdict::Slower | ChangeVerdict::Faster);
                }
                let (low, high) = difference.interval_pct.unwrap();
                hold &= (low..=high).contains(&is);
            }
            elsewhere |= findings.relative.iter().any(|moved| !is_slowed(moved.first_bytes));
            let (low, high) = findings.overall[0].interval_pct.unwrap();
            (found, alone, elsewhere, hold, (low..=high).contains(&((1.0 / level - 1.0) * 100.0)))
        };
        let (mut found, mut alone, mut elsewhere, mut hold, mut whole) =
            (Count::default(), Count::default(), Count::default(), Count::default(), Count::default());
        for (of_campaign, by_itself, any, all, of_whole) in on_threads(20, of_campaign) {
            whole.add(of_whole);
            found = found.plus(of_campaign);
            alone = alone.plus(by_itself);
            elsewhere.add(any);
            hold.add(all);
        }
        let [by, besides] = [percent, besides].map(|percent| format!("{percent} %"));
        table.row(&[&sizes, &by, &besides, &repeats, &found, &alone, &elsewhere, &hold, &whole]);
        table.at_least(found, least);
        table.at_most(elsewhere, 0.1);
        table.at_least(hold, 0.9);
        table.at_least(whole, 0.9);
    }
    table.settle();
}

/// One of 24 configurations got slower: it is named, with its sizes, and no other.
#[test]
fn one_configuration_that_changed_is_named() {
    let mut table = Table::new(
        "comparisons after one configuration got slower",
        &["slower by", "at", "repeats", "it is named", "another one is, campaigns"],
    );
    let slowed = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels: 16 };
    for (percent, sizes, repeats, least) in
        [(3_u32, 16_u32, 3, 0.2), (5, 16, 3, 0.7), (10, 16, 3, 0.95), (20, 4, 3, 0.9), (50, 1, 3, 0.8), (0, 16, 3, 0.0)]
    {
        let factor = 1.0 + f64::from(percent) / 100.0;
        let of_campaign = |seed: usize| {
            let before = snapshot(campaign(500 + seed as u64, repeats), Extent::Whole);
            let mut rows = campaign(700 + seed as u64, repeats);
            let is_there = |bytes: u64| (1 << 20..1 << (20 + sizes)).contains(&bytes) || sizes == 16;
            slower(&mut rows, factor, |row| {
                row.kind == RunKind::Asked && row.ran == slowed && is_there(row.workload.size_bytes)
            });
            let findings = find_differences(&before, &snapshot(rows, Extent::Whole), None, &CompareQuestion::default());
            let is_it = |moved: &&RelativeChange| moved.configuration == Some(slowed) && moved.relative_pct < 0.0;
            [findings.relative.iter().any(|moved| is_it(&moved)), !findings.relative.iter().all(|moved| is_it(&moved))]
        };
        let (mut named, mut another) = (Count::default(), Count::default());
        for [it, other] in on_threads(40, of_campaign) {
            named.add(it);
            another.add(other);
        }
        let at = if sizes == 1 { "1 size".to_owned() } else { format!("{sizes} sizes") };
        table.row(&[&format!("{percent} %"), &at, &repeats, &named, &another]);
        table.at_least(named, least);
        table.at_most(another, 0.04);
    }
    table.settle();
}
