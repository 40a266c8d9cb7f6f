//! The policy workbench: from logs of rewards to which arm to run, how sure that is, and files that a tuner loads.
//!
//! An arm is an algorithm with a protocol, and maybe channels, or `auto`: the library's own choice, which is always
//! among the candidates and wins unless beaten.
//!
//! [`arm`], [`bands`] and [`key`] are the nouns, [`file`] is what the plugin loads.

pub mod arm;
pub mod bands;
pub mod file;
pub mod key;
