//! The modules of Collectune whose loops decide how long an answer takes: learning, scheduling, bandits, reading.
//!
//! They are a crate of their own so that the page can optimise them for speed and everything else for size.

pub mod bandit;
pub mod intervals;
#[cfg(feature = "learn")]
pub mod learn;
pub mod math;
pub mod order;
pub mod pipeline;
pub mod progress;
pub mod records;
pub mod schedule;
