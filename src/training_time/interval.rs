//! How far a step's time is known: draws of the regressors' errors through the same composition.

use super::{
    calibrate::Coefficients,
    prediction::{Mark, Regressors},
    step::Plan,
};
use crate::math::{Stream, ascending, exp, quantile};

/// How many draws.
pub const DRAWS: usize = 400;
/// Seed of the draws, unless told otherwise.
pub const SEED: u64 = 42;
/// What share of the draws an interval holds.
pub const LEVEL: f64 = 0.9;

/// Draws of errors. One regressor's error is common to all that it says, of whatever run; different ones are
/// independent. So the `n`-th draws of two layouts can be compared.
pub struct Draws<'a> {
    regressors: &'a dyn Regressors,
    seed: u64,
    /// By regressor and mark: what a predicted time is multiplied by, draw after draw.
    factors: Vec<((u32, Mark), Vec<f64>)>,
}

impl<'a> Draws<'a> {
    /// Draws from these regressors' residuals.
    #[must_use]
    pub fn new(regressors: &'a dyn Regressors, seed: u64) -> Self {
        Self { regressors, seed, factors: Vec::new() }
    }

    fn factors(&mut self, regressor: u32, mark: Mark) -> usize {
        if let Some(known) = self.factors.iter().position(|(key, _)| *key == (regressor, mark)) {
            return known;
        }
        let mut residuals = self.regressors.residuals(regressor, mark).to_vec();
        ascending(&mut residuals);
        let mut stream = Stream::new(self.seed ^ u64::from(regressor).wrapping_mul(0xA076_1D64_78BD_642F));
        let mut draw = || quantile(&residuals, stream.unit()).map_or(1.0, |residual| exp(-residual));
        let factors = (0..DRAWS).map(|_| draw()).collect();
        self.factors.push(((regressor, mark), factors));
        self.factors.len() - 1
    }

    /// The step's time in each draw, in µs.
    pub fn totals(&mut self, plan: &Plan, coefficients: &Coefficients) -> Vec<f64> {
        let places: Vec<usize> =
            plan.parts.iter().map(|part| self.factors(part.prediction.regressor, part.prediction.mark)).collect();
        let predicted = plan.times();
        let mut times = predicted.clone();
        let mut total = |draw: usize| {
            for ((time, predicted), place) in times.iter_mut().zip(&predicted).zip(&places) {
                *time = predicted * self.factors[*place].1[draw];
            }
            coefficients.total(plan, &plan.evaluate(&times))
        };
        (0..DRAWS).map(&mut total).collect()
    }
}

/// The interval that holds [`LEVEL`] of the draws, and what was predicted: at least as wide as `floor`, the residuals
/// ln(predicted ÷ measured) of a calibration where it had not seen the answer.
#[must_use]
pub fn interval(total_us: f64, mut draws: Vec<f64>, floor: &[f64]) -> [f64; 2] {
    ascending(&mut draws);
    let tails = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0];
    let [low, high] = tails.map(|share| quantile(&draws, share).unwrap_or(total_us));
    let mut floor = floor.to_vec();
    ascending(&mut floor);
    let [under, over] =
        tails.map(|share| quantile(&floor, 1.0 - share).map_or(total_us, |error| total_us * exp(-error)));
    [low.min(under).min(total_us), high.max(over).max(total_us)]
}
