//! The task under way, and why it may end early.

use super::workers::failure::Failure;
use crate::progress::Step;

/// A task, as the status line shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The kind of work, such as `Reading`.
    pub name: &'static str,
    /// How far the task is.
    pub step: Step,
}

/// Why a run ended before it was complete.
pub enum RunError {
    /// A later run replaced it.
    Superseded,
    /// A job of the run failed.
    Failed(Failure),
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
