//! Overlap: kernels beside collectives.

#[path = "../support/mod.rs"]
mod support;

mod kernels;
