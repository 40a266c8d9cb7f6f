//! What decisions and intervals promise, checked on simulations with a known truth: false alarms, coverage, power.
//!
//! `cargo test --test statistics -- --nocapture` prints the tables of docs/statistics.md and fails where a stated rate
//! does not hold, or where the document says something else; `STATISTICS=write cargo test --test statistics` writes
//! them there.

#![allow(clippy::unwrap_used)]

#[path = "../training_time/physics.rs"]
mod physics;
#[path = "../training_time/reference.rs"]
#[allow(dead_code, reason = "its runs and models are all that is needed")]
mod reference;
#[path = "../support"]
mod support {
    pub mod campaigns;
    pub mod counts;
    pub mod court;
    pub mod threads;
}

mod changes;
mod comparisons;
mod overlap;
mod policy;
mod predictions;
mod table;
mod training_time;
mod verdicts;
