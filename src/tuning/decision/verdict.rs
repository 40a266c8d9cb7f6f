//! Decisions, gains and noise as plain, serialisable data.

use serde::{Deserialize, Serialize};

use crate::math::ln;

/// The decision at one workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Deploy the configuration: it beats the default with the asked confidence.
    Deploy,
    /// No rule is written: the library chooses by itself.
    KeepDefault {
        /// Why nothing is deployed instead.
        reason: KeepReason,
    },
    /// The default stays until the configuration was run here: it may gain more than the smallest gain asked for, and
    /// it may not.
    MeasureFirst,
    /// No default was measured: the configuration is the best that is known, and no gain is claimed.
    NoDefault,
    /// Nothing that may run is known.
    #[default]
    Unknown,
}

/// Why the default is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// Nothing is expected to be faster than it.
    NotFaster,
    /// Something looks faster, and noise alone may have made it look so.
    Uncertain,
    /// Something looks faster beyond noise, and the rounding of printed bandwidths may have made it look so.
    Rounded,
    /// The gain is certain, and may be smaller than the smallest that was asked for.
    TooSmall,
    /// The configuration is the one that the default was seen to run, and forcing it gains nothing that is certain.
    Same,
}

impl Decision {
    /// The default stays: a gap in a conf of a reader that can keep it.
    pub const fn keeps_default(self) -> bool {
        matches!(self, Self::KeepDefault { .. } | Self::MeasureFirst)
    }

    /// A configuration is recommended, with a default to compare it with or without.
    pub const fn names_configuration(self) -> bool {
        matches!(self, Self::Deploy | Self::NoDefault)
    }
}

/// The kind of measurements from which an interval is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseBasis {
    /// Repeats on both sides: a bootstrap over them.
    Repeats,
    /// Medians with their numbers of runs and spreads.
    Spreads,
    /// Errors of the model, or of the baseline that answers, on held-out measurements.
    HeldOut,
}

/// The gain of a choice over the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// busbw of the choice over the default's, minus one, in per cent of the default.
    pub pct: f64,
    /// Lower end of its interval. It allows for the choice being the best of many.
    pub low_pct: f64,
    /// Upper end of its interval.
    pub high_pct: f64,
    /// The interval holds the gain with this probability, in 0..1: as likely to lie above the gain as below it.
    pub level: f64,
    /// The kind of measurements from which the interval is made.
    pub basis: NoiseBasis,
}

/// How noisy the measurements of a workload are, and what can be seen through that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of one run, in per cent, pooled over the workload and the neighbouring sizes.
    pub spread_pct: f64,
    /// The number of runs of the choice.
    pub repeats: u32,
    /// Runs of the default; 0 where it was not measured.
    pub default_repeats: u32,
    /// The smallest gain over the default that this noise and these runs would show half of the time, in per cent of
    /// the default; without a default, over another configuration of as many runs.
    pub visible_gain_pct: f64,
    /// How many more runs would decide.
    pub more_runs: MoreRuns,
}

impl Noise {
    /// The half width, in ln busbw, of where nine of ten more runs should fall around a median of `repeats` runs.
    pub fn half_width_90(&self, repeats: u32) -> f64 {
        /// So many standard deviations on either side hold nine tenths of a normal distribution.
        const DEVIATIONS_90: f64 = 1.645;
        /// The variance of the median of n normal numbers over that of one of them, times n.
        const MEDIAN_VARIANCE_FACTOR: f64 = std::f64::consts::FRAC_PI_2;
        DEVIATIONS_90
            * ln(1.0 + self.spread_pct / 100.0)
            * (1.0 + MEDIAN_VARIANCE_FACTOR / f64::from(repeats.max(1))).sqrt()
    }
}

/// How many more runs of each side (the default and what is tied) would decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoreRuns {
    /// The decision needs no more runs.
    Decided,
    /// About this many more runs of both would decide.
    Runs(u32),
    /// More than anybody would make: the difference is too small for this noise.
    OutOfReach,
}

/// The gain by the out-of-place runs of the same two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutOfPlaceCheck {
    /// Out-of-place busbw of the choice over the default's, minus one, in per cent.
    pub gain_pct: f64,
    /// It is further from the in-place gain than noise explains, and on the other side of nothing gained.
    pub contradicts: bool,
}
