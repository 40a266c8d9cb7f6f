//! The work under way, and why it may end early.

use super::workers::failure::Failure;
use crate::progress::Step;

/// What is going on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// What kind of work, for people: `Reading`.
    pub name: &'static str,
    /// How far it is.
    pub step: Step,
}

/// Why a run ended early.
pub enum RunError {
    /// A later run took over.
    Superseded,
    /// The worker could not.
    Failed(Failure),
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
