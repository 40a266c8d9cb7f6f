//! How long work says how far it is.

use serde::{Deserialize, Serialize};

/// Receives the progress of one piece of work.
pub trait Progress {
    /// `done` of `total` units of `doing` are finished; `doing` is a phrase for people ("Fitting the surface").
    fn report(&mut self, doing: &str, done: u64, total: u64);

    /// From now on the file of this number is read, or none any more. It is said before the first byte, so that the file
    /// is known even if reading it ends the program.
    fn reading(&mut self, _file: Option<u32>) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn report(&mut self, _doing: &str, _done: u64, _total: u64) {}
}

/// What a [`Progress`] was told last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What is being done, for people.
    pub doing: String,
    /// Units finished.
    pub done: u64,
    /// Units in all.
    pub total: u64,
}
