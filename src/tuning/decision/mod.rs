//! From measurements with noise to what to do: deploy, or keep the default.
//!
//! "Best" is a set, not a point: the configurations that can't be told apart from the best one at the chosen level.
//! The tie goes to the default, then to fewer channels. A gain over the default has an interval, and what does not
//! beat the default over the whole of it is not recommended.

mod verdict;

pub use verdict::{Basis, Decision, Gain, KeepReason, MoreRuns, Noise, Witness};
