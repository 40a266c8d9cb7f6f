//! What comes out of the tuning workbench: plain, serialisable data for the page, the terminal and reports.

use serde::{Deserialize, Serialize};

use super::{
    ceilings::HeldTo,
    decision::{Decision, Gain, Noise, Witness},
    read::{Asked, Evidence},
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Scale, Workload},
    math::exp,
    plot::Chart,
};

/// An interval that holds 90 % of new measurements, in GB/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low_gbps: f64,
    /// Upper end.
    pub high_gbps: f64,
}

impl Interval {
    /// From a bandwidth in GB/s and the half width of ln busbw around it.
    #[must_use]
    pub fn around(busbw_gbps: f64, half_width: f64) -> Self {
        Self { low_gbps: busbw_gbps * exp(-half_width), high_gbps: busbw_gbps * exp(half_width) }
    }
}

/// What a recommendation stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// This configuration was measured at this size and scale.
    Measured,
    /// Between measured sizes and channels of this scale.
    Interpolated,
    /// Outside what was measured: beyond the sizes, the channels or the scales.
    Extrapolated,
}

/// Who made a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The highest measurement.
    Measured,
    /// The trained model.
    Model,
    /// Log-linear interpolation over size for each configuration.
    LogLinearInterpolation,
    /// The winner of the nearest measured size.
    NearestSize,
    /// The configuration that is best on average.
    BestSingleConfiguration,
    /// Nobody: the library's default stays.
    Default,
}

/// A measured configuration and its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// As it ran.
    pub configuration: Configuration,
    /// Median over repeats of in-place busbw.
    pub busbw_gbps: f64,
    /// How many runs the median is of.
    pub repeats: u32,
    /// (max − min) / median of the repeats, in per cent; `None` for one run.
    pub spread_pct: Option<f64>,
    /// Median over repeats of out-of-place busbw, where it was measured beside.
    pub out_of_place_gbps: Option<f64>,
    /// What was asked of the library.
    pub asked: Asked,
    /// How it is known what ran.
    pub evidence: Evidence,
}

/// What to deploy for one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// For what.
    pub workload: Workload,
    /// The choice; `None` where nothing that may run is known.
    pub configuration: Option<Configuration>,
    /// What the source expects of the choice.
    pub predicted_busbw_gbps: Option<f64>,
    /// Where 90 % of measurements of the choice should fall; `None` until validation has run.
    pub interval_90: Option<Interval>,
    /// The highest measured configuration of this workload.
    pub measured_best: Option<Measured>,
    /// The library's default at this workload, where it was measured.
    pub default: Option<Measured>,
    /// The default's busbw between the sizes at which it was measured, where this is none of them.
    pub default_between_gbps: Option<f64>,
    /// The choice's own measurement at this workload, where there is one.
    pub measured: Option<Measured>,
    /// Expected busbw over the default's as it was measured here, minus one, in per cent of the default.
    pub gain_pct: Option<f64>,
    /// What to do.
    pub decision: Decision,
    /// The gain with its interval; between the default's sizes over [`Self::default_between_gbps`]. `None` without a
    /// default, and where no interval is known yet.
    pub gain: Option<Gain>,
    /// Measured configurations that can't be told apart from the best one, by channels ascending, without aliases.
    pub tied: Vec<Configuration>,
    /// Configurations with more channels that ran the same at this size as the choice does.
    pub aliases: Vec<Configuration>,
    /// The noise of the measurements here; `None` where nothing tells it.
    pub noise: Option<Noise>,
    /// What the out-of-place runs say of the gain.
    pub witness: Option<Witness>,
    /// What the prediction, or the upper end of its interval, was held to; `None` where both are below.
    pub held_to: Option<HeldTo>,
    /// What the choice stands on.
    pub support: Support,
    /// Who chose.
    pub source: Source,
    /// The exhaustive search's choice and prediction, where it differs from the coarse-to-fine one.
    pub exhaustive: Option<(Configuration, f64)>,
}

impl Recommendation {
    /// The answer for a workload of which nothing is known.
    #[must_use]
    pub const fn unknown(workload: Workload) -> Self {
        Self {
            workload,
            configuration: None,
            predicted_busbw_gbps: None,
            interval_90: None,
            measured_best: None,
            default: None,
            default_between_gbps: None,
            measured: None,
            gain_pct: None,
            decision: Decision::Unknown,
            gain: None,
            tied: Vec::new(),
            aliases: Vec::new(),
            noise: None,
            witness: None,
            held_to: None,
            support: Support::Extrapolated,
            source: Source::Measured,
            exhaustive: None,
        }
    }
}

/// What a recommendation has run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Runs {
    /// The configuration; `None` where it is the default's and nothing told what it ran.
    pub configuration: Option<Configuration>,
    /// Its busbw in GB/s, measured or expected.
    pub busbw_gbps: Option<f64>,
    /// Where 90 % of its measurements should fall.
    pub interval_90: Option<Interval>,
}

impl Recommendation {
    /// What runs once the advice is followed: the default where it is kept, else the choice. A choice that is to be measured
    /// first is told as the choice.
    #[must_use]
    pub fn runs(&self) -> Runs {
        if !matches!(self.decision, Decision::KeepDefault { .. }) {
            return Runs {
                configuration: self.configuration,
                busbw_gbps: self.predicted_busbw_gbps,
                interval_90: self.interval_90,
            };
        }
        let Some(default) = self.default else {
            return Runs { busbw_gbps: self.default_between_gbps, ..Runs::default() };
        };
        let around = |noise: Noise| Interval::around(default.busbw_gbps, noise.half_width_90(default.repeats));
        Runs {
            configuration: Some(default.configuration).filter(|ran| ran.algorithm != Algorithm::None),
            busbw_gbps: Some(default.busbw_gbps),
            interval_90: self.noise.map(around),
        }
    }

    /// The best known configuration and its busbw in GB/s where the default is kept.
    #[must_use]
    pub fn best_known(&self) -> Option<(Configuration, f64)> {
        self.configuration
            .zip(self.predicted_busbw_gbps)
            .filter(|_| matches!(self.decision, Decision::KeepDefault { .. }))
    }
}

/// One (collective, scale) of a loaded sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The collective.
    pub collective: Collective,
    /// Nodes and ranks.
    pub scale: Scale,
    /// Measured sizes, ascending.
    pub sizes: Vec<u64>,
    /// The (algorithm, protocol) pairs that ran, each with its measured channels.
    pub pairs: Vec<Pair>,
    /// Points after aggregation, default rows not counted.
    pub points: usize,
    /// Sizes at which the default was measured.
    pub default_sizes: usize,
}

/// One (algorithm, protocol) that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Algorithm as it ran.
    pub algorithm: Algorithm,
    /// Protocol as it ran.
    pub protocol: crate::collective::Protocol,
    /// Measured channels, ascending.
    pub channels: Vec<u32>,
}

/// Accuracy and regret of one predictor on held-out points. Not a number becomes `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Coefficient of determination over all held-out points.
    pub r2: Option<f64>,
    /// Mean absolute error in GB/s.
    pub mae_gbps: Option<f64>,
    /// Mean absolute error in per cent of the measurement.
    pub mape_pct: Option<f64>,
    /// Mean over workloads of the measured bandwidth lost by taking this predictor's choice.
    pub regret_mean_pct: Option<f64>,
    /// The largest of those.
    pub regret_max_pct: Option<f64>,
    /// Share of workloads at which the choice is the best measured one, or as fast, in per cent.
    pub top1_pct: Option<f64>,
}

/// One way of holding out, and everybody's score in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldScores {
    /// The trained model.
    pub model: Score,
    /// What needs no learning.
    pub baselines: Baselines,
    /// Share of held-out points that fell into the stated 90 % interval, in per cent.
    pub coverage_90_pct: Option<f64>,
}

/// Scores of the baselines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// Log-linear interpolation over size for each configuration.
    pub log_linear_interpolation: Score,
    /// The winner of the nearest kept size.
    pub nearest_size: Score,
    /// The configuration with the highest mean share of the best.
    pub best_single_configuration: Score,
}

/// How far to trust the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// An unseen size: nine folds by the rank of the size.
    pub by_size: FoldScores,
    /// An unseen configuration: five folds by the rank of the configuration.
    pub by_configuration: FoldScores,
    /// An unseen scale: a fold for each scale of the collectives that were measured at several; its intervals have no
    /// coverage, since none are stated.
    pub by_scale: FoldScores,
    /// Mean regret of what is deployed at held-out sizes, the default included, in per cent of the best measured.
    pub regret_deployed_mean_pct: Option<f64>,
    /// The same where the source that answers at a fold's sizes is chosen by the other folds alone.
    pub regret_deployed_nested_mean_pct: Option<f64>,
}

/// One feature's importance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The feature.
    pub feature: String,
    /// Share of the impurity that its splits removed; sums to 1. `None` where the model has no trees.
    pub impurity: Option<f64>,
    /// Rise of the error in per cent points of MAPE when its values are shuffled.
    pub permutation_pct: f64,
}

/// The charts of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The workload shown.
    pub workload: Workload,
    /// Its recommendation.
    pub recommendation: Recommendation,
    /// busbw against size for the collective and scale.
    pub busbw_over_size: Chart,
    /// busbw against channels at the size, a line per algorithm and protocol.
    pub busbw_over_channels: Chart,
    /// What each configuration loses at each size of the collective and scale; `None` where none was measured.
    pub heat_map: Option<Chart>,
    /// Predicted against measured, out of fold; `None` until validation has run.
    pub predicted_over_measured: Option<Chart>,
}
