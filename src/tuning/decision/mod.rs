//! From measurements with noise to what to do: deploy, or keep the default.
//!
//! "Best" is a set, not a point: the configurations that can't be told apart from the best one at the chosen level.
//! The tie goes to the default, then to fewer channels. A gain over the default has an interval, and what does not
//! beat the default over the whole of it is not recommended.
//!
//! [`deviations`] says how noisy single runs are, [`draws`] how medians of a few of them err, [`contest`] what can be
//! told apart through that, [`printed`] what rounding hides, [`aliases`] which channel counts are one configuration.
//! [`Judge`] puts it together for what was measured, [`unmeasured()`] decides where nothing was. [`words`] says it.

pub mod aliases;
pub mod contest;
pub mod deviations;
pub mod draws;
mod judge;
pub mod printed;
mod unmeasured;
mod verdict;
pub mod words;

pub use judge::{GIVEN_AWAY, Judge, Judged};
pub use unmeasured::{DefaultThere, Expected, default_there, default_without, unmeasured};
pub use verdict::{Basis, Decision, Gain, KeepReason, MoreRuns, Noise, Witness};
