//! Which configurations are tied with the best one, and the interval of the gain of the best over the default.
//!
//! Medians of a few runs are compared in ln busbw, each difference in units of its own standard error. The errors of
//! medians are drawn ([`super::draws`]).
//!
//! *Tied* configurations: by chance, the truly best one can lie below the highest median. A configuration is tied if it
//! lies below no other by more than the quantile, at the level, of that distance. This is subset selection (Gupta
//! 1965): with the probability of the level, the truly best one is among the tied ones.
//!
//! *Gain* over the default: the lower end of its interval is the measured gain less the largest error in favour of any
//! contender, at the quantile (1 + level) / 2. These are simultaneous lower bounds of many against a control (Dunnett
//! 1955; by resampling: Westfall and Young 1993), which corrects for choosing the best of many. Configurations so far
//! below the best that chance can't explain it are no contenders (as in Hansen 2005). The upper end uses the errors of
//! the choice alone. If all configurations are as fast as the default, the lower end lies above 0 with a probability of
//! at most (1 − level) / 2.

use super::{
    deviations::{OwnSpread, WorkloadNoise},
    draws::{ROUNDS, quantile},
    printed,
};
use crate::math::ln;

/// One side of a comparison: a configuration, or the default, at a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyMedian {
    /// ln of the median busbw.
    pub ln_busbw: f64,
    /// The standard deviation of ln busbw of one run.
    deviation: f64,
    /// The degrees of freedom of that deviation.
    freedom: f64,
    /// The number of runs that the error of the median is computed with.
    runs: u32,
    /// The column of the draws that belongs to this side.
    column: usize,
    /// By how much rounding may have moved ln busbw, upwards and downwards.
    rounded: [f64; 2],
}

/// The noise at a workload, and the level at which medians are compared.
#[derive(Clone, Copy, Debug)]
pub struct MedianComparison<'a> {
    noise: WorkloadNoise<'a>,
    level: f64,
}

/// Quantiles of the errors of gains, in standard errors of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChanceErrors {
    /// The largest error in favour of any of the contenders over the default.
    pub in_favour: f64,
    /// The error against the choice.
    pub against: f64,
}

impl NoisyMedian {
    /// The standard error of the median, up to a factor that is common to all.
    fn error(&self) -> f64 {
        self.deviation / f64::from(self.runs).sqrt()
    }

    /// The part of its lead over another one that the rounding of both may explain.
    pub fn rounded_over(&self, other: &Self) -> f64 {
        self.rounded[0] + other.rounded[1]
    }

    /// The standard error of the difference of two medians, up to the same factor.
    pub fn difference_error(&self, other: &Self) -> f64 {
        (self.error() * self.error() + other.error() * other.error()).sqrt()
    }
}

impl<'a> MedianComparison<'a> {
    /// Compares with this noise at a level in 0..1.
    pub fn new(noise: WorkloadNoise<'a>, level: f64) -> Self {
        Self { noise, level: level.clamp(0.0, 0.9999) }
    }

    /// A median of runs in GB/s; `column` is 0 for the default and different for each other side.
    pub fn side(&self, busbw_gbps: f64, own: OwnSpread, column: usize) -> NoisyMedian {
        let moderated = self.noise.pooled.moderated(own);
        // A known deviation (infinite degrees of freedom) is that of the median already.
        let runs = if self.noise.pooled.freedom().is_infinite() { 1 } else { own.runs.max(1) };
        NoisyMedian {
            ln_busbw: ln(busbw_gbps),
            deviation: moderated.deviation(),
            freedom: moderated.freedom(),
            runs,
            column,
            rounded: [printed::above(busbw_gbps), printed::below(busbw_gbps)],
        }
    }

    fn errors(&self, side: &NoisyMedian) -> impl Iterator<Item = f32> + use<'a> {
        let deviation = side.deviation as f32;
        self.noise.draws.errors(side.runs, side.column).map(move |error| error * deviation)
    }

    /// The highest error of `sides` against one of them or a default in each round, in standard errors.
    fn highest<'b>(&self, sides: impl Iterator<Item = &'b NoisyMedian>, against: &NoisyMedian) -> Vec<f32> {
        // In a round all sides are compared with the same draw of the common one, since their differences are
        // correlated.
        let of_other: Vec<f32> = self.errors(against).collect();
        let mut highest = vec![f32::NEG_INFINITY; ROUNDS];
        for side in sides {
            let scale = 1.0 / side.difference_error(against) as f32;
            for ((highest, error), of_other) in highest.iter_mut().zip(self.errors(side)).zip(&of_other) {
                *highest = highest.max((error - of_other) * scale);
            }
        }
        highest
            .iter_mut()
            .zip(self.noise.draws.widening(against.freedom))
            .for_each(|(highest, wider)| *highest *= wider);
        highest
    }

    /// Which sides are tied with the best one, and which may be the best if chance was against them.
    pub fn tied(&self, sides: &[NoisyMedian]) -> TiedMedians {
        /// A side may be the best if it lies behind by at most this many times the lead that ties.
        const CONTENDER_FACTOR: f64 = 2.0;
        /// A side further below the best than this many standard deviations is out of reach and not drawn.
        const MAX_DEVIATIONS_BELOW: f64 = 12.0;
        let Some(best) = sides.iter().max_by(|a, b| a.ln_busbw.total_cmp(&b.ln_busbw)) else {
            return TiedMedians::default();
        };
        // A lead that rounding may explain does not count.
        let lead = |side: &NoisyMedian, other: &NoisyMedian| side.ln_busbw - other.ln_busbw - other.rounded_over(side);
        let behind = |side: &NoisyMedian| lead(best, side);
        let is_near = |side: &&NoisyMedian| behind(side) <= MAX_DEVIATIONS_BELOW * side.deviation.max(best.deviation);
        let highest = self.highest(sides.iter().filter(is_near).filter(|side| *side != best), best);
        let chance = quantile(&highest, self.level).max(0.0);
        let is_tied = |side: &NoisyMedian| {
            is_near(&side) && sides.iter().all(|other| lead(other, side) <= chance * side.difference_error(other))
        };
        TiedMedians {
            tied: sides.iter().map(is_tied).collect(),
            contenders: sides
                .iter()
                .map(|side| behind(side) <= CONTENDER_FACTOR * chance * side.difference_error(best))
                .collect(),
        }
    }

    /// The error of the highest side in each round, in ln busbw, widened for the uncertainty of its deviation; empty
    /// without sides.
    pub fn errors_of_highest(&self, sides: &[NoisyMedian]) -> Vec<f32> {
        let Some(best) = sides.iter().max_by(|a, b| a.ln_busbw.total_cmp(&b.ln_busbw)) else { return Vec::new() };
        let mut highest = vec![f32::NEG_INFINITY; ROUNDS];
        for side in sides {
            let behind = (best.ln_busbw - side.ln_busbw) as f32;
            for (highest, error) in highest.iter_mut().zip(self.errors(side)) {
                *highest = highest.max(error - behind);
            }
        }
        let widening = self.noise.draws.widening(best.freedom);
        highest.iter_mut().zip(widening).for_each(|(highest, wider)| *highest *= wider);
        highest
    }

    /// The errors of the gains of `contenders` over a default by chance, if `choice` is chosen among them.
    pub fn chance<'b>(
        &self,
        contenders: impl Iterator<Item = &'b NoisyMedian>,
        choice: &NoisyMedian,
        default: &NoisyMedian,
    ) -> ChanceErrors {
        let tail = (1.0 + self.level) / 2.0;
        let in_favour = self.highest(contenders, default);
        let against = self.highest(std::iter::once(default), choice);
        ChanceErrors { in_favour: quantile(&in_favour, tail).max(0.0), against: quantile(&against, tail).max(0.0) }
    }

    /// The lead that a side needs over another one with the same noise not to be tied with it.
    pub fn lead(&self, side: &NoisyMedian) -> f64 {
        let other = NoisyMedian { column: 0, ..*side };
        let highest = self.highest(std::iter::once(side), &other);
        quantile(&highest, self.level).max(0.0) * side.difference_error(&other) + side.rounded_over(&other)
    }
}

/// The sides that are tied with the best one, and those that may be the best.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TiedMedians {
    /// Whether each is tied with the best.
    pub tied: Vec<bool>,
    /// Whether each may be the best if chance was against it.
    pub contenders: Vec<bool>,
}

/// The largest number of further runs that is recommended.
const MAX_MORE_RUNS: u32 = 50;

/// The number of further runs of both sides with which a margin gets as small as `wanted`; `None` for more than
/// [`MAX_MORE_RUNS`].
///
/// The errors of medians fall with the root of the number of runs. If `wanted` is the measured lead of the best of
/// many, the true one is usually smaller, and more runs are needed.
pub fn more_runs(margin: f64, wanted: f64, runs: [u32; 2]) -> Option<u32> {
    let weight = |more: u32| runs.iter().map(|runs| 1.0 / f64::from(runs.saturating_add(more).max(1))).sum::<f64>();
    let now = weight(0);
    (1..=MAX_MORE_RUNS).find(|more| margin * (weight(*more) / now).sqrt() < wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fall_with_the_root_of_the_runs() {
        // Half of the margin takes four times the runs, 9 more each; a little less takes one more.
        assert_eq!([1.01, 0.99].map(|wanted| more_runs(2.0, wanted, [3, 3])), [Some(9), Some(10)]);
        assert_eq!(more_runs(2.0, 1.99, [3, 3]), Some(1));
        // The side with fewer runs has most of the error.
        assert_eq!(more_runs(2.0, 1.6, [1, 50]), Some(1));
        assert_eq!(more_runs(2.0, 1.6, [10, 50]), Some(7));
        assert_eq!([0.3, 0.2, 0.0, -1.0].map(|wanted| more_runs(2.0, wanted, [1, 1])), [Some(44), None, None, None]);
    }
}
