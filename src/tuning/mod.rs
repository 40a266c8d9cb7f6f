//! The tuning workbench: from a sweep of collectives to the configuration to deploy.
//!
//! The files tell the story in the order in which the data walks: [`read`] turns text into rows (by [`columns`]),
//! [`aggregate`] turns repeats into the points of a [`sweep`], [`model`] learns busbw from them, [`search`] asks the
//! model for the best configuration, [`validate`] says how far to trust it, [`charts`] draws it, [`result`] is what
//! comes out. [`simulate`] makes sweeps for examples and benchmarks.

pub mod aggregate;
pub mod baselines;
pub mod columns;
pub mod features;
pub mod intervals;
pub mod model;
pub mod parameters;
pub mod read;
pub mod result;
mod row;
pub mod simulate;
pub mod sweep;
pub mod validate;
