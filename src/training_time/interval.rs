//! The interval of a step's time: draws of the regressors' errors, composed like the step.

use serde::{Deserialize, Serialize};

use super::{
    calibrate::Coefficients,
    prediction::{Mark, Regressors, TAILS},
    step::Plan,
};
use crate::math::{Stream, ascending, exp, quantile};

/// The number of draws of a step's time from which an interval is taken.
pub const DRAWS: usize = 400;
/// The default seed of the draws.
pub const SEED: u64 = 42;

/// Draws of errors. One regressor's error is common to all that it says, of whatever run; different ones are
/// independent. So the `n`-th draws of two layouts can be compared.
pub struct Draws<'a> {
    regressors: &'a dyn Regressors,
    seed: u64,
    /// By regressor and mark: what a predicted time is multiplied by, draw after draw.
    factors: Vec<((u32, Mark), Vec<f64>)>,
}

impl<'a> Draws<'a> {
    /// Draws from the residuals of these regressors.
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

    /// The time of the step in each draw, in µs.
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

/// The source of the interval of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Basis {
    /// No residuals were computed yet, so there is no interval.
    #[default]
    Nothing,
    /// The errors of the single times alone: how far these spread a step, and no interval of steps, which are off by
    /// more than that.
    Samples,
    /// Measured steps, of which such intervals held a share in per cent; `None` where it is not known.
    Steps(Option<f64>),
}

impl Basis {
    /// It holds about nine of ten measured steps: 85 to 95 %.
    pub fn is_interval(self) -> bool {
        matches!(self, Self::Steps(Some(held)) if (85.0..=95.0).contains(&held))
    }

    /// The name of the interval, such as `90 % interval`.
    pub fn title(self) -> &'static str {
        match self {
            _ if self.is_interval() => "90 % interval",
            Self::Steps(_) => "Range of measured errors",
            Self::Samples | Self::Nothing => "Spread of the samples",
        }
    }

    /// A phrase to follow the ends of the interval, which names its source.
    pub fn source_phrase(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Samples => {
                "how far the errors of its samples alone spread it: no interval of steps, which only measured \
                              steps tell"
                    .to_owned()
            }
            Self::Steps(Some(held)) if self.is_interval() => {
                format!("a 90 % interval, as such ones held {held:.0} % of the measured steps")
            }
            Self::Steps(Some(held)) => format!("no 90 % interval: such ranges held {held:.0} % of the measured steps"),
            Self::Steps(None) => "no 90 % interval: nothing tells how many steps of other models it holds".to_owned(),
        }
    }
}

/// The interval between the [`TAILS`] of the draws, and what was predicted: at least as wide as `floor`, the residuals
/// ln(predicted ÷ measured) of a calibration where it had not seen the answer.
pub fn interval(total_us: f64, mut draws: Vec<f64>, floor: &[f64]) -> [f64; 2] {
    ascending(&mut draws);
    let [low, high] = TAILS.map(|share| quantile(&draws, share).unwrap_or(total_us));
    let mut floor = floor.to_vec();
    ascending(&mut floor);
    let [under, over] =
        TAILS.map(|share| quantile(&floor, 1.0 - share).map_or(total_us, |error| total_us * exp(-error)));
    [low.min(under).min(total_us), high.max(over).max(total_us)]
}
