//! Comparison of arms with the library's choice, by block bootstrap.

use serde::{Deserialize, Serialize};

use super::{
    series::{Summary, block_length},
    statistics::Statistics,
};
use crate::math::{Stream, ascending, quantile};

/// The number of bootstrap resamples of each arm.
pub const DRAWS: usize = 10_000;
/// The most blocks of a series: longer series are resampled with longer blocks.
const MOST_BLOCKS: usize = 2000;

/// The means of [`DRAWS`] moving-block bootstrap resamples of a series (Künsch 1989).
pub fn resampled_means(values: &[f64], block: usize, seed: u64) -> Vec<f64> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let block = block.max(n.div_ceil(MOST_BLOCKS)).clamp(1, n);
    let mut sums = Vec::with_capacity(n + 1);
    let mut sum = 0.0;
    sums.push(sum);
    // Prefix sums give the sum of any block by one subtraction; of deviations, so that they do not cancel.
    let mean = Statistics::of(values).mean;
    for value in values {
        sum += value - mean;
        sums.push(sum);
    }
    let mut stream = Stream::new(seed);
    let (blocks, rest) = (n / block, n % block);
    let draw = |_| {
        let mut total = 0.0;
        for _ in 0..blocks {
            let start = stream.below(n - block + 1);
            total += sums[start + block] - sums[start];
        }
        if rest > 0 {
            let start = stream.below(n - rest + 1);
            total += sums[start + rest] - sums[start];
        }
        mean + total / n as f64
    };
    (0..DRAWS).map(draw).collect()
}

/// The comparison of an arm with `auto` over bootstrap resamples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The share of resamples in which its mean is below that of `auto`.
    pub p_better: f64,
    /// The share in which its mean is above that of `auto`.
    pub p_worse: f64,
    /// The share in which its mean is the lowest of all arms.
    pub p_best: f64,
    /// By how much its mean is below that of `auto`, in per cent of the latter.
    pub gain_pct: f64,
    /// The 2.5 % quantile of the gain over resamples.
    pub gain_low_pct: f64,
    /// The 97.5 % quantile of the gain.
    pub gain_high_pct: f64,
}

/// Compares the resampled means of arms with those of `auto`. The result of an arm without resamples is `None`.
pub fn compare(draws: &[Vec<f64>], means: &[f64], auto: usize) -> Vec<Option<Comparison>> {
    let with = |arm: usize| draws.get(arm).filter(|draws| draws.len() == DRAWS);
    let mut wins = vec![0.0; draws.len()];
    for draw in 0..DRAWS {
        let mut best: Option<(usize, f64)> = None;
        for arm in 0..draws.len() {
            let Some(mean) = with(arm).map(|draws| draws[draw]) else { continue };
            if best.is_none_or(|(_, lowest)| mean < lowest || (mean == lowest && arm == auto)) {
                best = Some((arm, mean));
            }
        }
        if let Some((arm, _)) = best {
            wins[arm] += 1.0 / DRAWS as f64;
        }
    }
    let reference = with(auto);
    let of = |arm: usize| {
        let own = with(arm)?;
        let Some(reference) = reference else { return Some(Comparison { p_best: wins[arm], ..Comparison::default() }) };
        let pairs = || own.iter().zip(reference);
        let share = |count: usize| count as f64 / DRAWS as f64;
        let mut gains: Vec<f64> = pairs().map(|(own, auto)| (1.0 - own / auto) * 100.0).collect();
        ascending(&mut gains);
        Some(Comparison {
            p_better: share(pairs().filter(|(own, auto)| own < auto).count()),
            p_worse: share(pairs().filter(|(own, auto)| own > auto).count()),
            p_best: wins[arm],
            gain_pct: (1.0 - means[arm] / means[auto]) * 100.0,
            gain_low_pct: quantile(&gains, 0.025).unwrap_or(0.0),
            gain_high_pct: quantile(&gains, 0.975).unwrap_or(0.0),
        })
    };
    (0..draws.len()).map(of).collect()
}

/// So many independent values per arm tell a difference of `difference` from none, one-sided at 5 %, with a power of 80
/// %: ⌈2 ((1.645 + 0.842) s / Δ)²⌉; `None` where it can't be said.
///
/// ```
/// use collectune_compute::bandit::compare::values_needed;
/// assert_eq!(values_needed(119.998, 0.05 * 217.654), Some(1505));
/// ```
pub fn values_needed(deviation: f64, difference: f64) -> Option<u64> {
    let ratio = (1.645 + 0.842) * deviation / difference;
    let values = (2.0 * ratio * ratio).ceil();
    (values.is_finite() && values < 1e15).then_some(values as u64)
}

/// As [`values_needed`], in lines of a log whose values are autocorrelated.
pub fn lines_needed(of: &Summary, difference: f64) -> Option<u64> {
    let values = values_needed(of.deviation, difference)?;
    let each = of.n as f64 / of.effective.max(f64::MIN_POSITIVE);
    let lines = (values as f64 * each).ceil();
    (lines.is_finite() && lines < 1e15).then_some(lines as u64)
}

/// The longest block length that any of several series needs.
pub fn common_block(summaries: &[Summary]) -> usize {
    summaries.iter().map(|of| block_length(of.n, of.autocorrelation)).max().unwrap_or(1)
}

/// Resampled means of all arms together, [`DRAWS`] of each: the resampled blocks are stretches of time that contain
/// every arm, so that a common drift affects all arms alike. `lines` are pairs of arm and value in the order of time.
/// `None` for fewer than eight stretches.
pub fn resampled_together(lines: &[(usize, f64)], arms: usize, seed: u64) -> Option<Vec<Vec<f64>>> {
    let mut ran = vec![false; arms];
    lines.iter().for_each(|(arm, _)| ran[*arm] = true);
    let all = ran.iter().filter(|ran| **ran).count();
    // For each stretch and arm the sum and the count.
    let empty = vec![(0.0, 0.0); arms];
    let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
    let least = lines.len().div_ceil(MOST_BLOCKS);
    let (mut current, mut length) = (empty.clone(), 0);
    for (arm, value) in lines {
        current[*arm] = (current[*arm].0 + value, current[*arm].1 + 1.0);
        length += 1;
        if length >= least && current.iter().filter(|(_, count)| *count > 0.0).count() == all {
            stretches.push(std::mem::replace(&mut current, empty.clone()));
            length = 0;
        }
    }
    if stretches.len() < 8 {
        return None;
    }
    let mut stream = Stream::new(seed ^ 0x7067);
    let mut draws = vec![Vec::with_capacity(DRAWS); arms];
    for _ in 0..DRAWS {
        let mut sums = empty.clone();
        for _ in 0..stretches.len() {
            let stretch = &stretches[stream.below(stretches.len())];
            sums.iter_mut().zip(stretch).for_each(|(sum, of)| *sum = (sum.0 + of.0, sum.1 + of.1));
        }
        for (draws, (sum, count)) in draws.iter_mut().zip(&sums) {
            if *count > 0.0 {
                draws.push(sum / count);
            }
        }
    }
    Some(draws)
}
