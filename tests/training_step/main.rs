//! The step of training, against what the reference computes.

#[path = "../support/mod.rs"]
mod support;

mod composition;
mod memory;
mod reference;
