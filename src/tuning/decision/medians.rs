//! Which configurations can't be told apart from the best, and what the best gains over the default for certain.
//!
//! Medians of a few runs are compared in ln busbw, each difference in units of its own standard error, with how medians
//! err drawn as [`super::draws`] says. *Tied* are those that lie below no other by more than chance puts the truly
//! best one below the highest of all, at the level: subset selection (Gupta 1965), by which the truly best is among
//! them with that probability. The *gain* over the default is at least what was measured, less the largest error in
//! favour of any contender that chance brings with half of what the level leaves: simultaneous lower bounds of many
//! against a control (Dunnett 1955; by resampling: Westfall and Young 1993), so that choosing the best of many is paid
//! for. Those that lie so far below the best that chance can't lift them to it are no contenders (as in Hansen 2005).
//! The upper end errs for the choice alone. Where everything is as fast as the default, a gain above nothing is
//! claimed with a probability of at most (1 − level) / 2.

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
    /// By how much ln busbw may lie above and below for rounding.
    rounded: [f64; 2],
}

/// The noise at a workload, and the level at which it is to be seen through.
#[derive(Clone, Copy, Debug)]
pub struct MedianComparison<'a> {
    noise: WorkloadNoise<'a>,
    level: f64,
}

/// The largest errors that chance brings at the level, in standard errors of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChanceErrors {
    /// The error in favour of any of the contenders over the default.
    pub in_favour: f64,
    /// The error against the choice.
    pub against: f64,
}

impl NoisyMedian {
    /// The standard error of the median, but for a factor that is the same for all.
    fn error(&self) -> f64 {
        self.deviation / f64::from(self.runs).sqrt()
    }

    /// By how much it may lie higher over another one than printed, for the rounding of both.
    pub fn rounded_over(&self, other: &Self) -> f64 {
        self.rounded[0] + other.rounded[1]
    }

    /// The standard error of the difference of two medians, but for the same factor.
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
        let moderated = self.noise.pooled.moderated(own.variance);
        // A deviation that is known from elsewhere is that of the median.
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

    /// The highest errors, in each round, of `sides` against one of them or a default, in standard errors.
    fn highest<'b>(&self, sides: impl Iterator<Item = &'b NoisyMedian>, against: &NoisyMedian) -> Vec<f32> {
        // One draw of the common side serves all others in a round, so that their differences stay correlated.
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

    /// Which sides can't be told apart from the best one, and which of the others chance might have kept from it.
    pub fn tied(&self, sides: &[NoisyMedian]) -> TiedMedians {
        /// A side may be the best if it lies behind by at most this many times the lead that ties.
        const CONTENDER_FACTOR: f64 = 2.0;
        /// A side further below the best than this many standard deviations is out of reach and not drawn.
        const MAX_DEVIATIONS_BELOW: f64 = 12.0;
        let Some(best) = sides.iter().max_by(|a, b| a.ln_busbw.total_cmp(&b.ln_busbw)) else {
            return TiedMedians::default();
        };
        // What rounding may hide is no lead.
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

    /// How the highest of sides errs, a round after the other, in ln busbw, with how badly its deviation may be known.
    /// Nothing of no side.
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

    /// The errors that chance brings to the gains of `contenders` over a default, where `choice` is chosen among them.
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

    /// By how much a side must lead another one like it to be told apart from it.
    pub fn lead(&self, side: &NoisyMedian) -> f64 {
        let other = NoisyMedian { column: 0, ..*side };
        let highest = self.highest(std::iter::once(side), &other);
        quantile(&highest, self.level).max(0.0) * side.difference_error(&other) + side.rounded_over(&other)
    }
}

/// The sides that are tied with the best, and those that chance might have kept from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TiedMedians {
    /// Whether each can't be told apart from the best.
    pub tied: Vec<bool>,
    /// Whether chance might have kept each from being the best.
    pub contenders: Vec<bool>,
}

/// The largest number of further runs that is recommended.
const MAX_MORE_RUNS: u32 = 50;

/// How many more runs of both sides make a margin as small as `wanted`; `None` for more than anybody would make.
///
/// Medians err with the root of the runs. Where `wanted` was measured as the best of many it is usually less, and more
/// runs are needed.
pub fn more_runs(margin: f64, wanted: f64, runs: [u32; 2]) -> Option<u32> {
    let weight = |more: u32| runs.iter().map(|runs| 1.0 / f64::from(runs.saturating_add(more).max(1))).sum::<f64>();
    let now = weight(0);
    (1..=MAX_MORE_RUNS).find(|more| margin * (weight(*more) / now).sqrt() < wanted)
}
