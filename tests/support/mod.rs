//! What several tests need.

#![allow(dead_code, reason = "each test takes its part")]
#![allow(clippy::unwrap_used)]

pub mod clusters;
pub mod hostile;
#[cfg(unix)]
pub mod launcher;
pub mod real;
pub mod rewards;
pub mod terminal;
pub mod worker;
pub mod zip;
