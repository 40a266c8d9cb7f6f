//! Tuning: two measured states compared with each other.

use collectune::{
    math::{Stream, exp},
    tuning::{
        aggregate::{Target, aggregate},
        change::{
            Question, Verdict, find,
            standing::{Standing, Stands},
        },
        read::Row,
        snapshot::{Deployed, Extent},
        sweep::Sweep,
    },
};

use super::{
    support::{
        campaigns::{any_change, campaign, changed, slower, snapshot},
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
fn is_wrong(truth: &Sweep, standing: &Standing) -> bool {
    let points = truth.points_at(&standing.workload);
    let default = truth.default_at(&standing.workload).unwrap().busbw_gbps;
    let of = |configuration| points.iter().find(|point| point.configuration == configuration).unwrap().busbw_gbps;
    let own = match standing.deployed {
        Deployed::Configuration(configuration) => of(configuration),
        _ => default,
    };
    match standing.stands {
        Stands::SlowerThanDefault { .. } => default <= own,
        Stands::Beaten { by, .. } => of(by) <= own,
        _ => false,
    }
}

#[test]
fn equal_campaigns_raise_no_more_false_alarms_than_stated() {
    const CAMPAIGNS: u32 = 60;
    let question = any_change(&Question::default());
    let truth = aggregate(&campaign(1_000_003, 41), Target::Time).sweep;
    let mut table = Table::new(
        "comparisons of equal campaigns",
        &[
            "design",
            "repeats before, after",
            "campaigns with any false alarm",
            "comparisons",
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
    ] {
        let of_campaign = |seed: usize| {
            let old = snapshot(made(design, 2 * seed as u64 + 1, before), extent);
            let new = snapshot(made(design, 2 * seed as u64 + 2, after), Extent::Whole);
            let findings = find(&old, &new, None, &question);
            let visible = findings.differences.iter().filter_map(|difference| difference.visible_pct).sum::<f64>();
            let fails = findings.standings.iter().any(|standing| standing.stands.fails());
            let wrongly = findings.standings.iter().any(|standing| is_wrong(&truth, standing));
            (changed(&findings) as u32, findings.differences.len() as u32, [fails, wrongly], visible)
        };
        let mut wrong_fail = Count::default();
        let (mut campaigns, mut comparisons, mut fail, mut visible) =
            (Count::default(), Count::default(), Count::default(), 0.0);
        for (wrong, compared, fails, seen) in on_threads(CAMPAIGNS as usize, of_campaign) {
            campaigns.add(wrong > 0);
            comparisons = comparisons.plus(Count { of: wrong, all: compared });
            fail.add(fails[0]);
            wrong_fail.add(fails[1]);
            visible += seen;
        }
        let visible = format!("{:.1} %", visible / f64::from(comparisons.all));
        table.row(&[&name, &format!("{before}, {after}"), &campaigns, &comparisons, &fail, &wrong_fail, &visible]);
        if !matches!(design, Design::Campaigns) {
            table.at_most(campaigns, 0.1);
            table.at_most(wrong_fail, 0.1);
        }
    }
    table.settle();
}

#[test]
fn a_known_slow_down_is_found_where_it_is_and_nowhere_else() {
    let is_slowed = |row_bytes: u64| (1 << 18..1 << 22).contains(&row_bytes);
    let mut table = Table::new(
        "comparisons after a slow-down at four of sixteen sizes",
        &["slower by", "repeats", "found", "found elsewhere, campaigns", "all intervals hold, campaigns"],
    );
    for (percent, repeats, least) in [(2_u32, 5, 0.0), (5, 5, 0.0), (8, 5, 0.9), (8, 3, 0.5)] {
        let factor = 1.0 + f64::from(percent) / 100.0;
        let of_campaign = |seed: usize| {
            let before = snapshot(campaign(100 + seed as u64, repeats), Extent::Whole);
            let mut rows = campaign(200 + seed as u64, repeats);
            slower(&mut rows, factor, |row| is_slowed(row.workload.size_bytes));
            let findings = find(&before, &snapshot(rows, Extent::Whole), None, &Question::default());
            let (mut found, mut elsewhere, mut hold) = (Count::default(), false, true);
            for difference in &findings.differences {
                let is_there = is_slowed(difference.workload.size_bytes);
                let is = if is_there { (1.0 / factor - 1.0) * 100.0 } else { 0.0 };
                if is_there {
                    found.add(difference.verdict == Verdict::Slower);
                } else {
                    elsewhere |= matches!(difference.verdict, Verdict::Slower | Verdict::Faster);
                }
                let (low, high) = difference.interval_pct.unwrap();
                hold &= (low..=high).contains(&is);
            }
            (found, elsewhere, hold)
        };
        let (mut found, mut elsewhere, mut hold) = (Count::default(), Count::default(), Count::default());
        for (of_campaign, any, all) in on_threads(20, of_campaign) {
            found = found.plus(of_campaign);
            elsewhere.add(any);
            hold.add(all);
        }
        table.row(&[&format!("{percent} %"), &repeats, &found, &elsewhere, &hold]);
        table.at_least(found, least);
        table.at_most(elsewhere, 0.1);
        table.at_least(hold, 0.9);
    }
    table.settle();
}
