//! The policy workbench: from logs of rewards to which arm to run, how sure that is, and files that a tuner loads.
//!
//! An arm is an algorithm with a protocol, and maybe channels, or `auto`: the library's own choice, which is always
//! among the candidates and wins unless beaten.
//!
//! The way of the data: [`read`] turns logs into rows, [`attribution`] says which arm ran, [`pool`] brings logs
//! together by [`key`], [`judge`] decides about each by what its log can bear, [`iteration`] compares jobs with and
//! without overlap, [`replay`] lets strategies play in what was measured; [`study`] holds it all and answers
//! [`request`]s, with [`listing`], [`charts`] and [`export`]. [`arm`], [`bands`], [`key`] and [`chunks`] are
//! the nouns, [`mod@file`] is what the plugin loads, [`record`] what its ranks agree on. What computes lives in
//! [`crate::bandit`].

pub mod arm;
mod attribution;
pub mod bands;
mod charts;
pub mod chunks;
mod command;
mod copies;
mod export;
pub mod file;
pub mod form;
pub mod iteration;
pub mod judge;
pub mod key;
mod listing;
pub mod measure;
mod pool;
pub mod read;
pub mod record;
pub mod replay;
mod report;
pub mod request;
pub mod result;
mod settings;
pub mod simulate;
pub mod study;
pub mod watch;
