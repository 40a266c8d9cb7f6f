//! Times of single operators and collectives, learnt from the samples of a cluster.
//!
//! A [`Library`] has a regressor for each operator and direction and for each collective and communicator. Each is
//! trained when it is first asked, so that only what a run needs is; or by other workers beforehand, as [`jobs`].
//! In parity mode they are those of the reference, in the default mode power laws with trees, and curves. What they
//! say carries a [`super::prediction::Mark`], and what they get wrong where they had not seen the answer is found by
//! [`validate`]. [`what_if`] changes what they say.

mod collectives;
pub mod jobs;
mod library;
mod listing;
mod model;
mod operators;
mod sampled;
mod settings;
pub mod validate;
pub(crate) mod what_if;

pub use library::{Library, Options, RegressorTarget, SavedModel};

pub use super::prediction::Mode;
pub use model::{Grid, Score, grid};
