//! The tables of the policy workbench.

use super::{
    arm::Arm,
    file::{self, Choice, Policy},
    result::{ArmResult, Decision, KeyResult, StrategyResult},
};
use crate::{
    text::{Column, Entry, Listing},
    units::{Size, percent, significant, with_minus},
};

/// A table of keys, a row for each.
pub fn keys(results: &[KeyResult]) -> Listing {
    let columns = vec![
        Column::words("Collective", "the collective"),
        Column::numbers("Size", "message size"),
        Column::words("Scale", "nodes and ranks"),
        Column::words("Overlap", "whether the job computes meanwhile"),
        Column::words("Verdict", "what to do, and what makes the log less than it seems"),
        Column::words("Arm", "what to run; auto is the library's own choice"),
        Column::words("Best other", "the arm of the lowest mean besides auto"),
        Column::numbers("P(better)", "of that arm's mean being below auto's"),
        Column::numbers("Gain", "of that arm over auto's mean, in per cent of it; with its 95 % interval"),
        Column::numbers("Values", "lines of the smaller of the two arms").secondary(),
        Column::numbers("Worth", "independent values that these are worth").secondary(),
        Column::numbers("Needed", "lines per arm that would tell a gain of 5 % from none").secondary(),
        Column::words("Judged by", "the estimator that the log can bear").secondary(),
    ];
    let row = |of: &KeyResult| {
        let Some(key) = of.key else { return Vec::new() };
        let candidate = of.of_candidate();
        let comparison = candidate.and_then(|arm| arm.comparison);
        let n = candidate.map(|arm| if of.arms[0].n > 0 { arm.n.min(of.arms[0].n) } else { arm.n });
        vec![
            Entry::text(key.collective.name()),
            Entry::number(Some(key.size_bytes as f64), |_| Size(key.size_bytes).to_string()),
            Entry::text(key.scale.to_string()),
            Entry::text(match key.overlap {
                None => "",
                Some(true) => "yes",
                Some(false) => "no",
            }),
            Entry::text(of.verdict.as_str()),
            Entry::text(if of.decision == Decision::None { String::new() } else { of.chosen().to_string() }),
            Entry::text(candidate.map(|arm| arm.arm.to_string()).unwrap_or_default()),
            Entry::number(candidate.and_then(ArmResult::p_better), |p| format!("{p:.2}")),
            Entry::number(comparison.map(|of| of.gain_pct), |gain| match candidate.and_then(ArmResult::compared) {
                Some(of) => {
                    format!("{} ({} to {})", percent(gain), percent(of.gain_low_pct), percent(of.gain_high_pct))
                }
                None => percent(gain),
            }),
            Entry::number(n.or(of.arms.first().map(|arm| arm.n)).map(|n| n as f64), |n| format!("{n}")),
            Entry::number(Some(of.n_eff()), |n| format!("{n:.1}")),
            Entry::number(of.lines_needed.map(|n| n as f64), |n| format!("{n}")),
            Entry::text(of.estimator.key()),
        ]
    };
    Listing { columns, rows: results.iter().map(row).filter(|row| !row.is_empty()).collect() }
}

/// A table of the arms of a key, a row for each.
pub fn arms(of: &KeyResult) -> Listing {
    let columns = vec![
        Column::words("Arm", "algorithm, protocol and channels; auto is the library's own choice"),
        Column::numbers("Values", "measurements"),
        Column::numbers("Mean", "in milliseconds; what iteration time adds up"),
        Column::numbers("Median", "in milliseconds"),
        Column::numbers("Trimmed", "mean without outliers, in milliseconds").secondary(),
        Column::numbers("Deviation", "standard deviation, in milliseconds").secondary(),
        Column::numbers("ρ₁", "autocorrelation of neighbours").secondary(),
        Column::numbers("Worth", "independent values that they are worth").secondary(),
        Column::numbers("Block", "values that are drawn again together").secondary(),
        Column::numbers("Slow", "share of values in the slow one of two modes, in per cent").secondary(),
        Column::numbers("P(better)", "of its mean being below auto's"),
        Column::numbers("P(best)", "of its mean being the lowest"),
        Column::numbers("Gain", "over auto's mean, in per cent of it"),
    ];
    let row = |arm: &ArmResult| {
        let told = |value: f64| Entry::number((arm.n > 0).then_some(value), significant);
        let p = |of: Option<f64>| Entry::number(of, |p| format!("{p:.2}"));
        let beside = arm.comparison.filter(|_| arm.arm != Arm::Auto);
        vec![
            Entry::text(arm.arm.to_string()),
            Entry::number(Some(arm.n as f64), |n| format!("{n}")),
            told(arm.mean_ms),
            told(arm.median_ms),
            told(arm.trimmed_ms),
            told(arm.deviation_ms),
            Entry::number((arm.n > 0).then_some(arm.autocorrelation), |rho| format!("{rho:.3}")),
            Entry::number((arm.n > 0).then_some(arm.n_eff), |n| format!("{n:.1}")),
            Entry::number((arm.n > 0).then_some(f64::from(arm.block)), |block| format!("{block}")),
            Entry::number(arm.slow_share.map(|share| share * 100.0), |pct| format!("{pct:.0}")),
            p(beside.and_then(|_| arm.p_better())),
            p(arm.comparison.map(|of| of.p_best)),
            // Without the library's own choice there is nothing to gain over.
            Entry::number(beside.filter(|_| of.arms[0].n > 0).map(|of| of.gain_pct), percent),
        ]
    };
    Listing { columns, rows: of.arms.iter().map(row).collect() }
}

/// A table of estimates from the lines of a log: of always running one arm, and of each strategy.
pub fn estimates(of: &KeyResult) -> Listing {
    let columns = vec![
        Column::words("Policy", "an arm always, or a strategy"),
        Column::numbers("SNIPS", "self-normalised inverse propensities, in milliseconds; with its 95 % interval"),
        Column::numbers("DR", "doubly robust, in milliseconds; with its 95 % interval"),
        Column::numbers("DM", "direct method, in milliseconds"),
        Column::numbers("IPS", "inverse propensities, in milliseconds; wild, never used"),
        Column::numbers("Rejection", "mean of the lines on which it agrees with the log, in milliseconds"),
        Column::numbers("Lines", "that its weights are worth, or that were used"),
    ];
    let with = |value: f64, interval: Option<(f64, f64)>| {
        Entry::number(value.is_finite().then_some(value), |value| match interval {
            Some((low, high)) => format!("{} ({} to {})", significant(value), significant(low), significant(high)),
            None => format!("{}, too few lines", significant(value)),
        })
    };
    let empty = || Entry::number(None, significant);
    let of_arm = |arm: &ArmResult| {
        let estimate = arm.estimate?;
        Some(vec![
            Entry::text(format!("always {}", arm.arm)),
            with(estimate.snips, estimate.snips_interval),
            with(estimate.dr, estimate.dr_interval),
            Entry::number(Some(estimate.dm), significant),
            Entry::number(Some(estimate.ips), significant),
            empty(),
            Entry::number(Some(estimate.ess), |lines| format!("{lines:.1}")),
        ])
    };
    let walked = of.rejection.iter().map(|(name, of)| {
        vec![
            Entry::text(name.as_str()),
            empty(),
            empty(),
            empty(),
            empty(),
            Entry::number(Some(of.mean), |mean| format!("{} ± {}", significant(mean), significant(of.error))),
            Entry::number(Some(of.used), |used| format!("{used:.0} of {}", of.lines)),
        ]
    });
    Listing { columns, rows: of.arms.iter().filter_map(of_arm).chain(walked).collect() }
}

/// A table of strategies, a row for each.
pub fn strategies(results: &[StrategyResult]) -> Listing {
    let columns = vec![
        Column::words("Strategy", "with its parameters; raw ones depend on the unit and are for comparison"),
        Column::numbers(
            "Regret",
            "mean over seeds of what it took more than the best arm, in milliseconds; with the half of its 95 % interval",
        ),
        Column::numbers("Low", "5th percentile over seeds, in milliseconds").secondary(),
        Column::numbers("High", "95th percentile over seeds, in milliseconds").secondary(),
        Column::numbers("Latency", "mean over all steps, in milliseconds"),
        Column::numbers("Converges", "median first step from which every window of 100 has 95 pulls of the best arm"),
        Column::numbers("Ever", "seeds that do, in per cent").secondary(),
        Column::numbers("Best at end", "share of the best arm in the last 200 steps, in per cent"),
        Column::numbers("Right", "seeds that end on the best arm, in per cent"),
        Column::numbers(
            "Exploration",
            "what exploring pulls took more than auto, in milliseconds; below zero they gained",
        ),
        Column::numbers("Paid back, calls", "median number of calls after which it cost no more than auto"),
    ];
    let row = |of: &StrategyResult| {
        let last = of.regret_ms.last().copied();
        let half = of.regret_interval_ms.last().map_or(0.0, |(low, high)| (high - low) / 2.0);
        let spread = of.regret_spread_ms.last();
        let tenths = |ms: f64| with_minus(format!("{ms:.1}"));
        let pct = |share: f64| Entry::number(Some(share * 100.0), |pct| format!("{pct:.1}"));
        vec![
            Entry::text(of.title.as_str()),
            Entry::number(last, |ms| with_minus(format!("{ms:.1} ± {half:.1}"))),
            Entry::number(spread.map(|(low, _)| *low), tenths),
            Entry::number(spread.map(|(_, high)| *high), tenths),
            Entry::number(Some(of.mean_ms), significant),
            match of.converges_after {
                Some(step) => Entry::number(Some(f64::from(step)), |step| format!("{step}")),
                None => Entry { text: "never".to_owned(), number: Some(f64::INFINITY) },
            },
            pct(of.converged_share),
            pct(of.best_at_end),
            pct(of.ends_on_best),
            Entry::number(Some(of.exploration_ms), tenths),
            match of.paid_back_after {
                Some(calls) => Entry::number(Some(f64::from(calls)), |calls| format!("{calls}")),
                None => Entry { text: "never".to_owned(), number: Some(f64::INFINITY) },
            },
        ]
    };
    Listing { columns, rows: results.iter().map(row).collect() }
}

/// A table of the keys of a policy and what it runs for them.
pub fn policy(of: &Policy) -> Listing {
    let columns = vec![
        Column::words("Collective", "the collective"),
        Column::words("Sizes", "of the band, from and up to below"),
        Column::words("Scale", "nodes and ranks"),
        Column::words("Overlap", "whether the job computes meanwhile"),
        Column::words("Runs", "an arm, or several, each so often in a block of calls"),
        Column::numbers("P(better)", "of that arm's mean being below auto's, as the policy says"),
        Column::numbers("Gain", "over auto's mean, in per cent of it, as the policy says"),
    ];
    let name = |arm: usize| of.arms.get(arm).map(ToString::to_string).unwrap_or_default();
    let row = |(place, entry): (u32, &file::Entry)| {
        let evidence = of.evidence.iter().find(|of| of.key == place);
        let (from, end) = of.bands.range(entry.band);
        let sizes = match end {
            Some(end) => format!("{} to {}", Size(from), Size(end)),
            None => format!("from {}", Size(from)),
        };
        let runs = match &entry.choice {
            Choice::Fixed(arm) => name(*arm as usize),
            Choice::Counts(counts) => {
                let often = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                often.map(|(arm, count)| format!("{} {count}", name(arm))).collect::<Vec<_>>().join(", ")
            }
        };
        vec![
            Entry::text(entry.collective.name()),
            Entry::text(sizes),
            Entry::text(entry.scale.to_string()),
            Entry::text(match entry.overlap {
                None => "",
                Some(true) => "yes",
                Some(false) => "no",
            }),
            Entry::text(runs),
            Entry::number(evidence.map(|of| of.p_better), |p| format!("{p:.2}")),
            Entry::number(evidence.map(|of| of.gain_pct), percent),
        ]
    };
    Listing { columns, rows: (0..).zip(&of.keys).map(row).collect() }
}
