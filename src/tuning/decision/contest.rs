//! Which configurations can't be told apart from the best, and what the best gains over the default for certain.
//!
//! Medians of a few runs are compared in ln busbw, with how they err drawn [`super::draws`]. *Tied* are those that
//! lie below the best by no more than chance would put the truly best one below the best of all, at the level: subset
//! selection (Gupta 1965); the truly best is among them with that probability. The *gain* of a tied one over the
//! default is at least what it measured, less the largest error in favour of any of them that chance brings with half
//! of what the level leaves: simultaneous lower bounds of many against a control (Dunnett 1955; by resampling:
//! Westfall and Young 1993), so that choosing the best of many is paid for; the upper end errs for the choice alone.
//! Where everything is as fast as the default, a gain above nothing is claimed with a probability of at most
//! (1 − level) / 2.

use super::{
    deviations::{AtWorkload, Own},
    draws::{ROUNDS, quantile},
};

/// One side of a comparison: a configuration, or the default, at a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// ln of the median busbw.
    pub ln_busbw: f64,
    /// Standard deviation of ln busbw of one run.
    deviation: f64,
    /// How many runs the median is of, as far as its error goes.
    runs: u32,
    /// Which draws are its own.
    column: usize,
}

/// The noise at a workload, and the level at which it is to be seen through.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    noise: AtWorkload<'a>,
    level: f64,
}

/// What is certain about the gains of some sides over a default, in ln busbw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margins {
    /// The true gain of each is less than it measured by at most this.
    pub less: f64,
    /// The true gain of the choice is more than it measured by at most this.
    pub more: f64,
}

impl<'a> Contest<'a> {
    /// Compares with this noise at a level in 0..1.
    #[must_use]
    pub fn new(noise: AtWorkload<'a>, level: f64) -> Self {
        Self { noise, level: level.clamp(0.0, 0.9999) }
    }

    /// A median of runs; `column` is 0 for the default and different for each other side.
    #[must_use]
    pub fn side(&self, ln_busbw: f64, own: Own, column: usize) -> Side {
        let deviation = self.noise.pooled.moderated(own.variance).deviation();
        // A deviation that is known from elsewhere is that of the median.
        let runs = if self.noise.pooled.freedom().is_infinite() { 1 } else { own.runs.max(1) };
        Side { ln_busbw, deviation, runs, column }
    }

    fn errors(&self, side: &Side) -> impl Iterator<Item = f32> + use<'a> {
        let deviation = side.deviation as f32;
        self.noise.draws.errors(side.runs, side.column).map(move |error| error * deviation)
    }

    fn widening(&self) -> Vec<f32> {
        self.noise.draws.widening(self.noise.pooled.freedom()).collect()
    }

    /// Which sides can't be told apart from the best one, and by how much a side like the best one would have to lie
    /// below it to be told apart.
    #[must_use]
    pub fn tied(&self, sides: &[Side]) -> (Vec<bool>, f64) {
        /// Further below the best than this many deviations nobody needs to draw.
        const FAR: f64 = 12.0;
        let Some(best) = sides.iter().max_by(|a, b| a.ln_busbw.total_cmp(&b.ln_busbw)) else { return (vec![], 0.0) };
        let far = |side: &Side| best.ln_busbw - side.ln_busbw > FAR * side.deviation.max(best.deviation);
        let mut highest = vec![f32::NEG_INFINITY; ROUNDS];
        for side in sides.iter().filter(|side| !far(side)) {
            highest.iter_mut().zip(self.errors(side)).for_each(|(highest, error)| *highest = highest.max(error));
        }
        let widening = self.widening();
        let mut below = Vec::with_capacity(ROUNDS);
        let mut margin = |side: &Side| {
            below.clear();
            let errors = highest.iter().zip(self.errors(side)).zip(&widening);
            below.extend(errors.map(|((highest, error), wider)| (highest - error) * wider));
            quantile(&mut below, self.level)
        };
        let of_best = margin(best);
        let tied = sides.iter().map(|side| !far(side) && best.ln_busbw - side.ln_busbw <= margin(side));
        (tied.collect(), of_best)
    }

    /// What is certain about the gains of `sides` over a default, where `choice` is to be chosen of them.
    #[must_use]
    pub fn margins(&self, sides: &[Side], choice: &Side, default: &Side) -> Margins {
        let tail = (1.0 + self.level) / 2.0;
        let widening = self.widening();
        let of_default: Vec<f32> = self.errors(default).collect();
        let mut in_favour = vec![f32::NEG_INFINITY; ROUNDS];
        for side in sides {
            let errors = self.errors(side).zip(&of_default);
            in_favour
                .iter_mut()
                .zip(errors)
                .for_each(|(most, (error, of_default))| *most = most.max(error - of_default));
        }
        in_favour.iter_mut().zip(&widening).for_each(|(most, wider)| *most *= wider);
        let against = self.errors(choice).zip(&of_default).zip(&widening);
        let mut against: Vec<f32> = against.map(|((error, of_default), wider)| (of_default - error) * wider).collect();
        Margins { less: quantile(&mut in_favour, tail).max(0.0), more: quantile(&mut against, tail).max(0.0) }
    }
}

/// More runs than this nobody makes.
const MOST_MORE_RUNS: u32 = 50;

/// How many more runs of both sides make a margin as small as `wanted`; `None` for more than anybody would make.
///
/// Medians err with the root of the runs.
#[must_use]
pub fn more_runs(margin: f64, wanted: f64, runs: [u32; 2]) -> Option<u32> {
    let weight = |more: u32| runs.iter().map(|runs| 1.0 / f64::from(runs.saturating_add(more).max(1))).sum::<f64>();
    let now = weight(0);
    (1..=MOST_MORE_RUNS).find(|more| margin * (weight(*more) / now).sqrt() < wanted)
}
