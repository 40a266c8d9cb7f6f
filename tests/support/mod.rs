//! What several tests need.

#![allow(dead_code, reason = "each test takes its part")]
#![allow(clippy::unwrap_used)]

pub mod archives;
pub mod campaigns;
pub mod clusters;
pub mod counts;
pub mod court;
pub mod hostile;
pub mod kfold;
#[cfg(unix)]
pub mod launcher;
pub mod real;
pub mod rewards;
pub mod samples;
pub mod terminal;
pub mod threads;
pub mod worker;
