//! A paired comparison of an arm with `auto` that is robust to other changes: differences are taken within a round of a
//! campaign, a run, or a stretch of a run.
//!
//! Values of one run of a job have the run's own level (its nodes, its neighbours, the clock of the day), so runs are
//! what is independent, not the values in them. Where both arms ran in turns within one run its level is common to both
//! and drops out of the difference.

use serde::{Deserialize, Serialize};

use super::{series::autocorrelation, statistics::Statistics, student};
use crate::order::CompactSort;

/// The least number of differences for a test.
pub const LEAST_DIFFERENCES: usize = 4;
/// The number of runs with both arms from which on each run gives one difference.
const RUNS_ARE_UNITS: usize = 6;
/// Consecutive stretches are merged until there are at most this many: long stretches are less correlated with their
/// neighbours. Both values are tried.
const STRETCHES: [usize; 2] = [24, 12];

/// A measured value of one of the two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The run in which it was measured. The values of a run are in the order of time.
    pub run: usize,
    /// The round of a campaign to which the run belongs, if known.
    pub round: Option<u32>,
    /// Whether it is a value of `auto`, else of the compared arm.
    pub is_auto: bool,
    /// The latency, in any unit.
    pub latency: f64,
}

/// The unit over which differences are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// A round of a campaign, in which each arm has runs of its own.
    Round,
    /// A run in which both arms alternate.
    Run,
    /// A stretch of a run in which both arms alternate.
    Stretch,
    /// Runs with one arm each and without rounds: two independent samples are compared.
    Sample,
}

/// The result of a paired comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedResult {
    /// The unit over which differences are taken; units are independent of each other.
    pub unit: Unit,
    /// The number of units; for two samples the size of the smaller.
    pub units: u32,
    /// The number of runs in which the units lie.
    pub runs: u32,
    /// By how much the arm is faster, as a share of the mean of `auto`.
    pub gain: f64,
    /// The standard error of the gain, as a share of the mean of `auto`.
    pub error: f64,
    /// The one-sided p-value: the probability of this gain or a larger one if the arm is not faster.
    pub p: f64,
}

/// Why the arms can't be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotComparable {
    /// One of the arms was measured in only one run, or one after the other: a difference between the arms can't be
    /// separated from one between runs or over time.
    NoRepeats,
    /// There are repeats, but fewer than [`LEAST_DIFFERENCES`].
    TooFew(u32),
}

/// Compares an arm with `auto`.
///
/// # Errors
/// Returns [`NotComparable`] if there are too few independent differences.
pub fn compare(values: &[Value]) -> Result<PairedResult, NotComparable> {
    let runs: Vec<&[Value]> = values.chunk_by(|a, b| a.run == b.run).collect();
    let has_both = |run: &&[Value]| run.iter().any(|value| value.is_auto != run[0].is_auto);
    let mixed: Vec<&[Value]> = runs.iter().copied().filter(has_both).collect();
    let auto = mean(values.iter().filter(|value| value.is_auto).map(|value| value.latency));
    if mixed.len() >= RUNS_ARE_UNITS {
        let differences: Vec<f64> = mixed.iter().filter_map(|run| difference(run)).collect();
        return Ok(tested(Unit::Run, &differences, auto));
    }
    let turns: Vec<Vec<&[Value]>> = mixed.iter().map(|run| stretches(run)).collect();
    if turns.iter().map(Vec::len).sum::<usize>() >= LEAST_DIFFERENCES {
        if !differ(&merged(&mixed, &turns, STRETCHES[0])) {
            let runs = mixed.len() as u32;
            return Ok(PairedResult { runs, ..of_stretches(&mixed, &turns, auto) });
        }
        // Runs are what repeats, however few they are: the test is the stricter for it.
        let differences: Vec<f64> = mixed.iter().filter_map(|run| difference(run)).collect();
        return Ok(tested(Unit::Run, &differences, auto));
    }
    let rounds = of_rounds(&runs);
    if !rounds.is_empty() {
        let enough = rounds.len() >= LEAST_DIFFERENCES;
        return if enough {
            Ok(tested(Unit::Round, &rounds, auto))
        } else {
            Err(NotComparable::TooFew(rounds.len() as u32))
        };
    }
    let means = |is_auto: bool| -> Vec<f64> {
        let own = runs.iter().filter(|run| !has_both(run) && run[0].is_auto == is_auto);
        own.map(|run| mean(run.iter().map(|value| value.latency))).collect()
    };
    let (of_auto, of_arm) = (means(true), means(false));
    match of_auto.len().min(of_arm.len()) {
        0 | 1 => Err(NotComparable::NoRepeats),
        few if few < LEAST_DIFFERENCES => Err(NotComparable::TooFew(few as u32)),
        _ => Ok(of_samples(&of_auto, &of_arm, auto)),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// The mean of `auto` minus that of the arm; `None` if one of them has no values.
fn difference(values: &[Value]) -> Option<f64> {
    let of = |is_auto| {
        let own: Vec<f64> = values.iter().filter(|value| value.is_auto == is_auto).map(|value| value.latency).collect();
        (!own.is_empty()).then(|| mean(own.into_iter()))
    };
    Some(of(true)? - of(false)?)
}

/// Divides a run into the shortest stretches that contain both arms.
fn stretches(run: &[Value]) -> Vec<&[Value]> {
    let (mut all, mut start) = (Vec::new(), 0);
    for end in 1..=run.len() {
        if run[end - 1].is_auto != run[start].is_auto {
            all.push(&run[start..end]);
            start = end;
        }
    }
    all
}

/// The differences of each run's stretches, of which consecutive ones are merged until all runs have at most about
/// `most`: the level of a run cancels in them.
fn merged(runs: &[&[Value]], turns: &[Vec<&[Value]>], most: usize) -> Vec<Vec<f64>> {
    let count: usize = turns.iter().map(Vec::len).sum();
    let each = count.div_ceil(most).max(1);
    let together = |(run, own): (&&[Value], &Vec<&[Value]>)| -> Vec<f64> {
        let mut at = 0;
        let joined = own.chunks(each).filter_map(|chunk| {
            let length: usize = chunk.iter().map(|stretch| stretch.len()).sum();
            at += length;
            difference(&run[at - length..at])
        });
        joined.collect()
    };
    runs.iter().zip(turns).map(together).collect()
}

/// Whether runs differ in their mean difference by more than it varies within them (analysis of variance): then a run
/// has something of its own in which the arms differ, and another run may have the opposite.
fn differ(runs: &[Vec<f64>]) -> bool {
    /// The p-value up to which they do. Such tests of a few runs miss much, and a test over runs is right in any case.
    const LEVEL: f64 = 0.2;
    let runs: Vec<Statistics> = runs.iter().filter(|run| !run.is_empty()).map(|run| Statistics::of(run)).collect();
    let all: f64 = runs.iter().map(|run| run.n).sum();
    let (between, within) = (runs.len() as f64 - 1.0, all - runs.len() as f64);
    if between < 1.0 || within < 1.0 {
        return false;
    }
    let mean = runs.iter().map(|run| run.n * run.mean).sum::<f64>() / all;
    let of_means: f64 = runs.iter().map(|run| run.n * (run.mean - mean) * (run.mean - mean)).sum();
    let of_values: f64 = runs.iter().map(|run| run.deviation() * run.deviation() * (run.n - 1.0)).sum();
    let f = (of_means / between) / (of_values / within).max(f64::MIN_POSITIVE);
    student::above_f(f, between, within) <= LEVEL
}

/// Tests the differences of stretches. Of several lengths the larger p-value counts; remaining autocorrelation widens
/// the error.
fn of_stretches(runs: &[&[Value]], turns: &[Vec<&[Value]>], auto: f64) -> PairedResult {
    let of = |most: usize| tested(Unit::Stretch, &merged(runs, turns, most).concat(), auto);
    let all = STRETCHES.map(of);
    if all[1].p > all[0].p && all[1].units as usize >= LEAST_DIFFERENCES { all[1] } else { all[0] }
}

/// The difference of each round that has both arms, in the order of rounds.
fn of_rounds(runs: &[&[Value]]) -> Vec<f64> {
    let mut rounds: Vec<u32> = runs.iter().filter_map(|run| run[0].round).collect();
    rounds.compact_sort();
    rounds.dedup();
    let of = |round: u32| {
        let means = |is_auto: bool| {
            let own = runs.iter().filter(|run| run[0].round == Some(round) && run[0].is_auto == is_auto);
            let own: Vec<f64> = own.map(|run| mean(run.iter().map(|value| value.latency))).collect();
            (!own.is_empty()).then(|| mean(own.into_iter()))
        };
        Some(means(true)? - means(false)?)
    };
    rounds.into_iter().filter_map(of).collect()
}

/// Student's t test of differences against zero.
fn tested(unit: Unit, differences: &[f64], auto: f64) -> PairedResult {
    let of = Statistics::of(differences);
    // Differences of neighbouring stretches may be correlated by slow changes.
    let common = if unit == Unit::Stretch { autocorrelation(differences).clamp(0.0, 0.9) } else { 0.0 };
    let error = of.deviation() / of.n.sqrt() * ((1.0 + common) / (1.0 - common)).sqrt();
    paired_result(unit, differences.len(), of.mean, error, of.n - 1.0, auto)
}

/// Welch's t test of two samples.
fn of_samples(of_auto: &[f64], of_arm: &[f64], auto: f64) -> PairedResult {
    let (a, b) = (Statistics::of(of_auto), Statistics::of(of_arm));
    let of_mean = |of: &Statistics| of.deviation() * of.deviation() / of.n;
    let (va, vb) = (of_mean(&a), of_mean(&b));
    let freedom = (va + vb) * (va + vb) / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0)).max(f64::MIN_POSITIVE);
    let units = of_auto.len().min(of_arm.len());
    paired_result(Unit::Sample, units, a.mean - b.mean, (va + vb).sqrt(), freedom.max(1.0), auto)
}

fn paired_result(unit: Unit, units: usize, gain: f64, error: f64, freedom: f64, auto: f64) -> PairedResult {
    let p = if error > 0.0 {
        1.0 - student::cumulative(gain / error, freedom)
    } else if gain > 0.0 {
        0.0
    } else {
        1.0
    };
    PairedResult { unit, units: units as u32, runs: units as u32, gain: gain / auto, error: error / auto, p }
}

/// p-values corrected for multiple tests (Holm 1979): if those up to a level count as significant, the probability of
/// any false alarm is at most that level.
pub fn corrected(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.compact_sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut out, mut highest) = (vec![1.0; p.len()], 0.0_f64);
    for (rank, at) in order.into_iter().enumerate() {
        highest = highest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        out[at] = highest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_measured_one_after_the_other_are_not_comparable() {
        let values = |runs: [usize; 4]| -> Vec<Value> {
            let of = |(at, run)| Value { run, round: None, is_auto: at < 2, latency: 10.0 + at as f64 };
            runs.into_iter().enumerate().map(of).collect()
        };
        assert_eq!(compare(&values([0, 0, 0, 0])), Err(NotComparable::NoRepeats));
        assert_eq!(compare(&values([0, 0, 1, 1])), Err(NotComparable::NoRepeats));
        assert_eq!(compare(&values([0, 1, 2, 3])), Err(NotComparable::TooFew(2)));
    }

    #[test]
    fn holms_correction() {
        let out = corrected(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(out.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{out:?}");
    }
}
