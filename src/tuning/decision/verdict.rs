//! Decisions, gains and noise as plain, serialisable data.

use serde::{Deserialize, Serialize};

use crate::math::ln;

/// The decision at one workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Deploy the configuration: the whole interval of its gain lies above the smallest gain asked for.
    Deploy,
    /// No rule is written: the library chooses by itself.
    KeepDefault {
        /// Why nothing is deployed instead.
        reason: KeepReason,
    },
    /// Keep the default until the configuration was measured here: its gain may or may not exceed the smallest gain
    /// asked for.
    MeasureFirst,
    /// No default was measured: the configuration is the best known one, and no gain is claimed.
    NoDefault,
    /// No configuration that can run is known.
    #[default]
    Unknown,
}

/// Why the default is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// Nothing is expected to be faster than it.
    NotFaster,
    /// A configuration looks faster, but noise alone may explain it.
    Uncertain,
    /// A configuration is faster beyond noise, but the rounding of printed bandwidths may explain it.
    Rounded,
    /// The only run of the configuration, or of the default, has an in-place and an out-of-place time of which one must
    /// be wrong.
    Contradicted,
    /// There is a gain beyond noise, but it may be below the smallest gain asked for.
    TooSmall,
    /// The default was seen to run this configuration, and forcing it has no gain beyond noise.
    Same,
    /// The configuration and the default come from different files, whose defaults differ.
    OtherState,
}

impl Decision {
    /// Whether the default is kept: a tuner file has no rule there, if its reader can keep the default.
    pub const fn keeps_default(self) -> bool {
        matches!(self, Self::KeepDefault { .. } | Self::MeasureFirst)
    }

    /// Whether a configuration is named: to deploy, or as the best known one without a default.
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
    /// Lower end of its interval, corrected for the choice being the best of many.
    pub low_pct: f64,
    /// Upper end of its interval.
    pub high_pct: f64,
    /// The probability with which the interval holds the gain, in 0..1; a miss is equally likely on either side.
    pub level: f64,
    /// The kind of measurements from which the interval is made.
    pub basis: NoiseBasis,
}

/// The noise of the measurements of a workload, and the smallest gain that it lets one see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of one run, in per cent, pooled over the workload and the neighbouring sizes.
    pub spread_pct: f64,
    /// The number of runs of the choice.
    pub repeats: u32,
    /// Runs of the default; 0 where it was not measured.
    pub default_repeats: u32,
    /// The gain over the default that would be detected half of the time with this noise and these runs, in per cent;
    /// without a default, the gain over another configuration with as many runs.
    pub visible_gain_pct: f64,
    /// How many more runs would decide.
    pub more_runs: MoreRuns,
}

impl Noise {
    /// The half width, in ln busbw, of the interval around a median of `repeats` runs that should hold nine of ten new
    /// runs.
    pub fn half_width_90(&self, repeats: u32) -> f64 {
        /// The half width of the central 90 % of a normal distribution, in standard deviations.
        const DEVIATIONS_90: f64 = 1.645;
        /// The variance of the median of n normal numbers times n over that of one number, for large n.
        const MEDIAN_VARIANCE_FACTOR: f64 = std::f64::consts::FRAC_PI_2;
        DEVIATIONS_90
            * ln(1.0 + self.spread_pct / 100.0)
            * (1.0 + MEDIAN_VARIANCE_FACTOR / f64::from(repeats.max(1))).sqrt()
    }
}

/// How many more runs of each side (the default and the tied configurations) would decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoreRuns {
    /// The decision needs no more runs.
    Decided,
    /// About this many more runs of both would decide.
    Runs(u32),
    /// More runs than are practical: the difference is too small for this noise.
    OutOfReach,
}

/// The gain as the out-of-place runs of choice and default show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutOfPlaceCheck {
    /// Out-of-place busbw of the choice over the default's, minus one, in per cent.
    pub gain_pct: f64,
    /// Whether it has the other sign than the in-place gain, and differs from it by more than noise explains.
    pub contradicts: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Stream, median};

    #[test]
    fn nine_of_ten_new_runs_lie_within_the_half_width() {
        let noise = Noise {
            spread_pct: 5.0,
            repeats: 5,
            default_repeats: 5,
            visible_gain_pct: 5.0,
            more_runs: MoreRuns::Decided,
        };
        let mut stream = Stream::new(1);
        let mut run = || ln(1.05) * stream.normal();
        for (repeats, tolerance) in [(5, 0.015), (40, 0.01)] {
            let half_width = noise.half_width_90(repeats);
            let mut is_within = || {
                let mut runs: Vec<f64> = (0..repeats).map(|_| run()).collect();
                median(&mut runs).is_some_and(|middle| (run() - middle).abs() <= half_width)
            };
            let within = f64::from((0..20_000).map(|_| u32::from(is_within())).sum::<u32>()) / 20_000.0;
            assert!((within - 0.9).abs() < tolerance, "{repeats}: {within}");
        }
        assert_eq!(noise.half_width_90(0), noise.half_width_90(1));
    }
}
