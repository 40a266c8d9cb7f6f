//! The step: composed of times of operators and collectives.
//!
//! [`Plan`] holds the times and how often each is used where, made as the reference does (`parity`) or with real layers
//! and communicators (`default_mode`); [`evaluate`] turns it, with these times or others, into a [`Step`] of
//! [`component`]s. So one composition serves predictions, intervals, calibration and questions of what if.

pub(crate) mod charts;
mod component;
pub(crate) mod default_mode;
mod evaluate;
mod experts;
mod ignored;
pub(crate) mod listing;
mod parity;
pub mod plan;
mod result;
pub mod rules;
mod suspects;

pub use component::{Component, Times};
pub use ignored::ignored;
pub use plan::{Plan, StepPart};
pub use result::{StageTime, Step};
pub use suspects::SuspectTime;

pub use super::prediction::Mode;

use super::{
    anatomy::Anatomy,
    catalogue::Catalogue,
    prediction::{Missing, Regressors},
    run::Run,
};

/// The reason why a step can't be composed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// The layout breaks a rule.
    #[error(transparent)]
    Rule(#[from] rules::RuleError),
    /// Samples are missing; all of them are listed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Missing(Vec<Missing>),
}

/// The parts of a run's step.
///
/// # Errors
/// Returns [`StepError::Rule`] if the layout breaks a rule, and [`StepError::Missing`] with all missing samples
/// otherwise.
pub fn plan(run: &Run, mode: Mode, catalogue: &Catalogue, regressors: &dyn Regressors) -> Result<Plan, StepError> {
    rules::check(run, mode)?;
    let anatomy = Anatomy::of(run, catalogue);
    let planned = match mode {
        Mode::Parity => parity::plan(run, &anatomy, regressors),
        Mode::Default => default_mode::plan(run, &anatomy, regressors),
    };
    let mut plan = planned.map_err(StepError::Missing)?;
    plan.doubt_backward(catalogue);
    Ok(plan)
}
