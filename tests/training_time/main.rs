//! The step of training, against what the reference computes.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod architectures;
mod composition;
mod defects;
mod estimate;
mod exchanges;
mod experts;
mod intake;
mod kernel_forms;
mod measured_steps;
mod memory;
mod models;
mod physics;
mod profiles;
mod reference;
mod regressors;
mod rules;
mod samples;
mod search;
mod traces;
mod workbench;
