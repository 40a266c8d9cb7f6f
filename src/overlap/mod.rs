//! The overlap workbench: how much slower a kernel gets beside a collective, told honestly.
//!
//! For a launch with the duration `alone` by itself and `duration` in a distributed run, of which the share
//! `overlap_ratio` runs beside communication: `duration = alone · (1 + overlap_ratio · s)`, and s is the slowdown
//! (Echo, arXiv 2412.12487). Errors are given of durations, since s gets arbitrarily large where the overlap is small.
//!
//! The way of the data: [`read`] turns tables ([`sheet`], [`xlsx`]) into statistics and metrics, [`trace`] what
//! profilers write; [`loaded`] brings them together by [`merge`] as the [`kernel::Dataset`]s of runs; [`checks`] says
//! what is odd about one; [`features`] chooses columns, [`models`] learns from them, [`validate`] predicts what was
//! held out, by kernels and by names; [`verdict`] says which model to use, if any; [`study`] holds it all, with
//! [`predict`], [`noise`], [`importance`], [`listing`], [`charts`] and [`export`].

mod charts;
pub mod checks;
mod command;
pub(crate) mod export;
pub mod features;
pub(crate) mod form;
mod importance;
pub(crate) mod imported;
pub mod kernel;
mod listing;
pub mod loaded;
pub mod measure;
mod merge;
pub mod models;
pub mod noise;
pub mod predict;
pub(crate) mod read;
mod report;
pub mod result;
mod settings;
pub(crate) mod sheet;
pub mod simulate;
pub mod study;
pub(crate) mod trace;
pub mod validate;
mod verdict;
pub(crate) mod xlsx;
