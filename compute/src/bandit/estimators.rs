//! Off-policy estimators: what a strategy or a fixed policy would have taken, from the lines of a log.

use serde::{Deserialize, Serialize};

use super::strategies::StrategyKind;
use crate::math::{Stream, ascending, quantile};

/// A line of a log: the arm, its probability and its latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Index of the arm.
    pub arm: usize,
    /// The probability with which it was chosen, above 0.
    pub propensity: f64,
    /// Latency in milliseconds.
    pub latency: f64,
}

/// Off-policy estimates of a fixed policy's mean latency, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Inverse propensity score: Σ w x / n. Its variance is large, because latencies are far from 0.
    pub ips: f64,
    /// Self-normalised: Σ w x / Σ w.
    pub snips: f64,
    /// The direct method: Σ π(a) q(a), where q is the mean of an arm.
    pub dm: f64,
    /// Doubly robust: the mean of DM + w (x − q).
    pub dr: f64,
    /// The effective sample size of the weights: (Σ w)² / Σ w².
    pub ess: f64,
    /// The 95 % bootstrap interval of [`Estimate::snips`].
    pub snips_interval: Option<(f64, f64)>,
    /// The 95 % bootstrap interval of [`Estimate::dr`].
    pub dr_interval: Option<(f64, f64)>,
}

/// The least effective sample size with which an estimate is used.
pub const LEAST_ESS: f64 = 30.0;

/// Estimates the mean latency of `policy` (a probability per arm). `model` gives q for a line and an arm.
pub fn estimate(lines: &[Line], policy: &[f64], model: impl Fn(usize, usize) -> f64) -> Estimate {
    let n = lines.len() as f64;
    let mut of = Estimate::default();
    let (mut weights, mut squares, mut weighted) = (0.0, 0.0, 0.0);
    for (index, line) in lines.iter().enumerate() {
        let weight = policy.get(line.arm).copied().unwrap_or(0.0) / line.propensity;
        weights += weight;
        squares += weight * weight;
        weighted += weight * line.latency;
        let direct = direct(policy, index, &model);
        of.dm += direct / n;
        of.dr += (direct + correction(line, weight, index, &model)) / n;
    }
    of.ips = weighted / n;
    of.snips = if weights > 0.0 { weighted / weights } else { f64::NAN };
    of.ess = if squares > 0.0 { weights * weights / squares } else { 0.0 };
    of
}

fn direct(policy: &[f64], line: usize, model: &impl Fn(usize, usize) -> f64) -> f64 {
    policy.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(arm, p)| p * model(line, arm)).sum()
}

fn correction(line: &Line, weight: f64, index: usize, model: &impl Fn(usize, usize) -> f64) -> f64 {
    if weight > 0.0 { weight * (line.latency - model(index, line.arm)) } else { 0.0 }
}

/// As [`estimate`], with cross-fitting: q is the mean of an arm in the other half of the log. Adds intervals by a
/// bootstrap of blocks of `block` lines, where the effective sample size is large enough.
pub fn cross_fitted(lines: &[Line], arms: usize, policy: &[f64], block: usize, seed: u64) -> Estimate {
    const DRAWS: usize = 2000;
    let half = lines.len() / 2;
    let mut sums = vec![[(0.0, 0.0); 2]; arms];
    for (index, line) in lines.iter().enumerate() {
        let Some(sums) = sums.get_mut(line.arm) else { continue };
        let sum = &mut sums[usize::from(index >= half)];
        *sum = (sum.0 + line.latency, sum.1 + 1.0);
    }
    let whole = lines.iter().map(|line| line.latency).sum::<f64>() / (lines.len() as f64).max(1.0);
    let model = |line: usize, arm: usize| {
        let mean = |(sum, count): (f64, f64)| (count > 0.0).then(|| sum / count);
        let of = sums.get(arm).copied().unwrap_or_default();
        let other = usize::from(line < half);
        mean(of[other]).or(mean(of[1 - other])).unwrap_or(whole)
    };
    let mut of = estimate(lines, policy, model);
    if of.ess < LEAST_ESS {
        return of;
    }
    // For each line the weight, the weighted latency and the doubly robust term, as cumulative sums.
    let mut upto = vec![[0.0; 3]];
    for (index, line) in lines.iter().enumerate() {
        let weight = policy.get(line.arm).copied().unwrap_or(0.0) / line.propensity;
        let robust = direct(policy, index, &model) + correction(line, weight, index, &model);
        let last = upto[index];
        upto.push([last[0] + weight, last[1] + weight * line.latency, last[2] + robust]);
    }
    let n = lines.len();
    let block = block.max(n.div_ceil(2000)).clamp(1, n);
    let mut stream = Stream::new(seed ^ 0xE5);
    let (mut normalised, mut robust) = (Vec::with_capacity(DRAWS), Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let mut sums = [0.0; 3];
        for _ in 0..n / block {
            let start = stream.below(n - block + 1);
            for (place, sum) in sums.iter_mut().enumerate() {
                *sum += upto[start + block][place] - upto[start][place];
            }
        }
        if sums[0] > 0.0 {
            normalised.push(sums[1] / sums[0]);
        }
        robust.push(sums[2] / (n / block * block) as f64);
    }
    let interval = |mut values: Vec<f64>| {
        ascending(&mut values);
        Some((quantile(&values, 0.025)?, quantile(&values, 0.975)?))
    };
    of.snips_interval = interval(normalised);
    of.dr_interval = interval(robust);
    of
}

/// The replay evaluation of a strategy on a log whose arms were chosen uniformly at random (Li et al. 2011).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Mean latency over the lines on which the strategy agreed with the log, in milliseconds, averaged over seeds.
    pub mean: f64,
    /// The standard error of the mean over seeds.
    pub error: f64,
    /// The number of lines used, averaged over seeds: about one in K.
    pub used: f64,
    /// The number of lines of the log.
    pub lines: u64,
}

/// Replays the log once per seed: the strategy learns from a line only if it proposed the line's arm.
pub fn rejection(lines: &[Line], arms: usize, auto: usize, best: usize, kind: StrategyKind, seeds: u32) -> Rejection {
    let mut means = super::statistics::Statistics::default();
    let mut used = 0;
    for seed in 0..seeds {
        let mut strategy = kind.start(arms, auto, best, u64::from(seed));
        let mut stream = Stream::new(crate::math::mix(u64::from(seed) ^ 0x4E1));
        let (mut sum, mut count) = (0.0, 0);
        let mut proposed = None;
        for line in lines {
            let arm = *proposed.get_or_insert_with(|| strategy.choose(&mut stream));
            if arm == line.arm {
                strategy.learn(arm, line.latency);
                sum += line.latency;
                count += 1;
                proposed = None;
            }
        }
        used += count;
        if count > 0 {
            means.add(sum / f64::from(count));
        }
    }
    let seeds = f64::from(seeds.max(1));
    Rejection {
        mean: means.mean,
        error: means.deviation() / means.n.max(1.0).sqrt(),
        used: f64::from(used) / seeds,
        lines: lines.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: [(usize, f64, f64); 10] = [
        (0, 0.7, 10.2),
        (1, 0.1, 9.1),
        (0, 0.7, 9.8),
        (3, 0.1, 10.6),
        (0, 0.7, 10.1),
        (2, 0.1, 11.2),
        (0, 0.7, 9.9),
        (1, 0.1, 8.9),
        (0, 0.7, 10.3),
        (0, 0.7, 9.7),
    ];

    fn lines() -> Vec<Line> {
        LOG.map(|(arm, propensity, latency)| Line { arm, propensity, latency }).to_vec()
    }

    #[test]
    fn the_worked_example() {
        let q = [10.0, 9.2, 11.0, 10.5];
        for (policy, expected) in
            [([0.0, 1.0, 0.0, 0.0], [18.0, 9.0, 9.2, 8.8, 2.0]), ([0.25; 4], [12.0929, 9.9588, 10.175, 10.15, 5.723])]
        {
            let of = estimate(&lines(), &policy, |_, arm| q[arm]);
            for (said, expected) in [of.ips, of.snips, of.dm, of.dr, of.ess].into_iter().zip(expected) {
                assert!((said - expected).abs() < 6e-4, "{of:?}");
            }
        }
    }

    #[test]
    fn rejection_is_unbiased_for_a_fixed_arm() {
        let means = [10.0, 9.0, 11.0, 10.5];
        let mut stream = Stream::new(9);
        let lines: Vec<Line> = (0..8000)
            .map(|_| {
                let arm = stream.below(4);
                Line { arm, propensity: 0.25, latency: means[arm] + stream.normal() }
            })
            .collect();
        let of = rejection(&lines, 4, 0, 1, StrategyKind::Oracle, 3);
        assert!((of.mean - 9.0).abs() < 0.1 && (of.used - 2000.0).abs() < 150.0, "{of:?}");
        let learnt = rejection(&lines, 4, 0, 1, StrategyKind::Ucb1, 3);
        assert!((9.0..9.2).contains(&learnt.mean), "{learnt:?}");
        let crossed = cross_fitted(&lines, 4, &[0.0, 1.0, 0.0, 0.0], 1, 0);
        let (low, high) = crossed.dr_interval.unwrap();
        assert!(low < 9.0 && 9.0 < high && high - low < 0.2, "{crossed:?}");
    }
}
