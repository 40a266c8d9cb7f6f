//! From measurements with noise to what to do: deploy, or keep the default.
//!
//! "Best" is a set, not a point: the configurations that can't be told apart from the best one at the chosen level.
//! The tie goes to the default, then to fewer channels. A gain over the default has an interval, and what does not
//! beat the default over the whole of it is not recommended.
//!
//! [`deviations`] says how noisy single runs are, [`draws`] how medians of a few of them err, [`medians`] what can be
//! told apart through that, [`printed`] what rounding hides, [`aliases`] which channel counts are one configuration.
//! [`Judge`] puts it together for what was measured, [`unmeasured()`] decides where nothing was. [`words`] says it.

mod aliases;
pub mod deviations;
pub(crate) mod draws;
mod judge;
pub(crate) mod medians;
pub(crate) mod printed;
mod unmeasured;
mod verdict;
pub(crate) mod words;

pub use judge::{Judge, JudgedWorkload, MAX_LOSS_FOR_FEWER_CHANNELS};
pub use unmeasured::{DefaultBusbw, ExpectedBusbw, default_there, default_without, unmeasured};
pub use verdict::{Decision, Gain, KeepReason, MoreRuns, Noise, NoiseBasis, OutOfPlaceCheck};
