//! Predicted times of single operators and collectives, and how far they can be trusted.

use serde::{Deserialize, Serialize};

use super::{samples::Communicator, scope::Scope};
use crate::units;

/// The shares of draws or residuals at which a 90 % interval begins and ends.
pub const TAILS: [f64; 2] = [(1.0 - 0.9) / 2.0, (1.0 + 0.9) / 2.0];

/// How regressors are made and how a step is composed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Power laws with trees, and curves.
    #[default]
    Default,
    /// Forests and boosted trees with the reference's settings, constant outside of the samples.
    Parity,
}

impl Mode {
    /// The mode's keyword in addresses, options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Parity => "parity",
        }
    }
}

/// Which of an operator's times is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// The forward pass; also the only time of a stage's optimizer.
    Forward,
    /// The backward pass, without recomputation.
    Backward,
}

/// How a predicted time was obtained. Later variants are worse, and a sum has the mark of its worst part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mark {
    /// The exact inputs were sampled.
    #[default]
    Measured,
    /// All inputs and features lie inside what was sampled, and each small count is a sampled value.
    Interpolated,
    /// Outside the range of the samples.
    Extrapolated,
    /// Faster than the hardware can be, or from samples that are doubtful.
    Suspect,
}

impl Mark {
    /// All marks, from the most to the least reliable.
    pub const ALL: [Self; 4] = [Self::Measured, Self::Interpolated, Self::Extrapolated, Self::Suspect];
}

/// An input outside the range of the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// The name of the input or feature.
    pub input: String,
    /// The value at which a time was asked for.
    pub value: f64,
    /// The smallest sampled value, in the input's unit.
    pub low: f64,
    /// The largest sampled value, in the input's unit.
    pub high: f64,
    /// In words, where a range would say less: `1×16 GPUs: 1×2, 1×4, 1×8 were sampled`.
    pub told: Option<String>,
}

impl std::fmt::Display for Extrapolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [value, low, high] = [self.value, self.low, self.high].map(plain);
        if let Some(told) = &self.told {
            return f.write_str(told);
        }
        if self.low == self.high {
            write!(f, "{} {value}: only {low} was sampled", self.input)
        } else {
            write!(f, "{} {value}: sampled {low} to {high}", self.input)
        }
    }
}

/// A number as text; whole numbers are grouped.
pub(super) fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { units::significant(value) }
}

/// A predicted time of an operator or a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The time of one call in µs.
    pub time_us: f64,
    /// How the time was obtained.
    pub mark: Mark,
    /// The input that lies farthest outside the samples, if the time is extrapolated.
    pub beyond: Option<Extrapolation>,
    /// The number of the regressor that predicted the time, among [`Regressors`]. Predictions of one regressor err
    /// together.
    pub regressor: u32,
    /// The least time in µs that it can take, by the peaks of the GPU and by what it is part of; 0 where nothing is
    /// known. What is suspect is weighed by this where it is more than its time.
    pub least_us: f64,
}

/// Samples that a prediction needs and that are missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// There are no samples of this operator.
    #[error("there are no samples of operator {0}")]
    Operator(String),
    /// An operator with samples that teach nothing, asked for something that is not among them.
    #[error(
        "operator {operator} has {} with {}: too few to learn from, and what is asked for is not among them",
        units::count(*rows as u64, "row"),
        units::count(*distinct as u64, "distinct feature")
    )]
    TooFew {
        /// The operator's name in the catalogue.
        operator: String,
        /// The number of its rows, repeated inputs included.
        rows: usize,
        /// The number of distinct features among them.
        distinct: usize,
    },
    /// A collective without samples over these GPUs, nor over others that could stand in.
    #[error("there are no samples of {collective} over {communicator}")]
    Collective {
        /// The collective's name in the catalogue.
        collective: String,
        /// The communicator that is asked for.
        communicator: Communicator,
    },
}

/// Times of single operators and collectives on one cluster, from whatever they were learnt.
pub trait Regressors {
    /// The time of an operator with the inputs that the scope names.
    ///
    /// # Errors
    /// Returns [`Missing`] if there are no samples from which to predict it.
    fn operator(&self, name: &str, direction: Direction, scope: &Scope) -> Result<Prediction, Missing>;

    /// The time of a collective (`allreduce`, `allreduce_large`, `allgather_large`, `p2p`, `alltoall`) of `elements`.
    ///
    /// # Errors
    /// Returns [`Missing`] if there are no samples from which to predict it.
    fn collective(&self, name: &str, elements: u64, communicator: Communicator) -> Result<Prediction, Missing>;

    /// Errors of a regressor where it had not seen the answer, ln(predicted ÷ measured), for predictions of this mark;
    /// empty where they were not computed.
    fn residuals(&self, regressor: u32, mark: Mark) -> &[f64];
}
