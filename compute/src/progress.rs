//! How long-running work reports its progress.

use serde::{Deserialize, Serialize};

/// Receives the progress of a piece of work.
pub trait Progress {
    /// Reports that `done` of `total` units of `doing` are finished; `doing` is a phrase for people ("Fitting the
    /// surface").
    fn report(&mut self, doing: &str, done: u64, total: u64);

    /// Reports which file is read from now on, by its number; `None` for no file any more. It is called before the
    /// first byte is read, so that the file is known even if reading it ends the program.
    fn reading(&mut self, _file: Option<u32>) {}
}

/// A receiver that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn report(&mut self, _doing: &str, _done: u64, _total: u64) {}
}

/// The last report to a [`Progress`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What is being done, for people.
    pub doing: String,
    /// Number of finished units.
    pub done: u64,
    /// Total number of units.
    pub total: u64,
}
