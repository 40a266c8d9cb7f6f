//! Decides from noisy measurements whether to deploy a configuration or to keep the default.
//!
//! The best configurations are a set: those whose difference from the highest is within noise at the chosen level. Of
//! tied ones the default is preferred, then the one with fewer channels. A configuration is only deployed if the whole
//! interval of its gain over the default lies above the smallest gain asked for.
//!
//! [`deviations`] estimates the noise of single runs, [`draws`] the errors of medians of a few runs, [`medians`] which
//! medians differ beyond these errors, [`printed`] the effect of rounding, and [`aliases`] which channel counts run the
//! same. [`Judge`] combines them for measured configurations, [`unmeasured()`] decides on others, and [`words`] puts
//! decisions into sentences.

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
