//! The step of training, against what the reference computes.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod composition;
mod defects;
mod experts;
mod memory;
mod physics;
mod reference;
mod samples;
mod search;
mod workbench;
