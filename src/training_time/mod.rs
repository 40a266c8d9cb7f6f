//! The training-time workbench: from samples of operators and collectives to the time of a training step, and to the
//! best layout.
//!
//! The way of the data: what was dropped becomes [`samples`] of clusters and a [`run`] to predict; regressors answer
//! with the times of single operators and collectives, each with its [`prediction::Mark`]; a step is composed of them.

pub mod anatomy;
pub mod bundle;
pub mod calibrate;
pub mod catalogue;
mod command;
pub mod communicators;
pub mod coverage;
pub mod degree_chart;
pub mod estimate;
pub mod expression;
pub mod form;
pub mod health;
pub mod interval;
pub mod listing;
pub mod loaded;
pub mod measure;
pub mod measured;
pub mod memory;
pub mod models;
pub mod needs;
pub mod prediction;
pub mod read;
pub mod regressors;
mod report;
pub mod run;
pub mod samples;
pub mod sampling_files;
pub mod scope;
pub mod search;
mod settings;
pub mod simulate;
pub mod step;
pub mod steps;
pub mod study;
pub mod trace;
