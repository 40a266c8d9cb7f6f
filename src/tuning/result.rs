//! The results of the tuning workbench as plain, serialisable data for the page, the terminal and reports.

use serde::{Deserialize, Serialize};

use super::{
    decision::{Decision, Gain, Noise, OutOfPlaceCheck},
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
    /// The lower end in GB/s.
    pub low_gbps: f64,
    /// The upper end in GB/s.
    pub high_gbps: f64,
}

impl Interval {
    /// From a bandwidth in GB/s and the half width of ln busbw around it.
    pub fn around(busbw_gbps: f64, half_width: f64) -> Self {
        Self { low_gbps: busbw_gbps * exp(-half_width), high_gbps: busbw_gbps * exp(half_width) }
    }
}

/// Whether a recommendation is measured, interpolated or extrapolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionSupport {
    /// This configuration was measured at this size and scale.
    Measured,
    /// Between measured sizes and channels of this scale.
    Interpolated,
    /// Outside what was measured: beyond the sizes, the channels or the scales.
    Extrapolated,
}

/// The method that made a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The configuration with the highest measured bandwidth.
    Measured,
    /// The model, asked for every configuration that can run.
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
pub struct MeasuredBusbw {
    /// The configuration as it ran.
    pub configuration: Configuration,
    /// Median over repeats of in-place busbw.
    pub busbw_gbps: f64,
    /// How many runs the median is of.
    pub repeats: u32,
    /// (max − min) / median of the repeats, in per cent; `None` for one run.
    pub spread_pct: Option<f64>,
    /// Median over repeats of out-of-place busbw, where it was measured beside.
    pub out_of_place_gbps: Option<f64>,
    /// The settings that were asked of the library.
    pub asked: Asked,
    /// How it is known what ran.
    pub evidence: Evidence,
}

/// The recommendation for one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The collective, scale and message size that it is for.
    pub workload: Workload,
    /// The choice; `None` where nothing that may run is known.
    pub configuration: Option<Configuration>,
    /// The bus bandwidth in GB/s that the source predicts for the choice.
    pub predicted_busbw_gbps: Option<f64>,
    /// Where 90 % of measurements of the choice should fall; `None` until validation has run.
    pub interval_90: Option<Interval>,
    /// The highest measured configuration of this workload.
    pub measured_best: Option<MeasuredBusbw>,
    /// The library's default at this workload, where it was measured.
    pub default: Option<MeasuredBusbw>,
    /// The default's busbw, interpolated between the sizes at which it was measured, if this is not one of them.
    pub default_between_gbps: Option<f64>,
    /// The choice's own measurement at this workload, where there is one.
    pub measured: Option<MeasuredBusbw>,
    /// Expected busbw over the default's as it was measured here, minus one, in per cent of the default.
    pub gain_pct: Option<f64>,
    /// What to do: deploy it, keep the default, or measure first.
    pub decision: Decision,
    /// The gain with its interval; between the default's sizes over [`Self::default_between_gbps`]. `None` without a
    /// default, and where no interval is known yet.
    pub gain: Option<Gain>,
    /// Measured configurations that can't be told apart from the best one, by channels ascending, without aliases.
    pub tied: Vec<Configuration>,
    /// Configurations with more channels that ran the same at this size as the choice does.
    pub aliases: Vec<Configuration>,
    /// The noise of the measurements here; `None` where it is not known.
    pub noise: Option<Noise>,
    /// The gain by the out-of-place runs, which take no part in the decision.
    #[serde(rename = "witness")]
    pub out_of_place: Option<OutOfPlaceCheck>,
    /// To what the prediction, or the upper end of its interval, was held and by which file, in a sentence; `None`
    /// where both are below.
    pub held_to: Option<String>,
    /// Whether the choice is measured, interpolated or extrapolated.
    pub support: PredictionSupport,
    /// The method that made the choice.
    pub source: Source,
    /// The exhaustive search's choice and prediction, where it differs from the coarse-to-fine one.
    pub exhaustive: Option<(Configuration, f64)>,
}

impl Recommendation {
    /// The answer for a workload of which nothing is known.
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
            out_of_place: None,
            held_to: None,
            support: PredictionSupport::Extrapolated,
            source: Source::Measured,
            exhaustive: None,
        }
    }
}

/// The configuration that runs once a recommendation is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeployedRun {
    /// The configuration; `None` where it is the default's and nothing told what it ran.
    pub configuration: Option<Configuration>,
    /// The bus bandwidth of the configuration in GB/s, measured or predicted.
    pub busbw_gbps: Option<f64>,
    /// Where 90 % of its measurements should fall.
    pub interval_90: Option<Interval>,
}

impl Recommendation {
    /// The configuration that runs once the recommendation is followed: the default where it is kept, else the choice,
    /// also where that is to be measured first.
    pub fn runs(&self) -> DeployedRun {
        if !matches!(self.decision, Decision::KeepDefault { .. }) {
            return DeployedRun {
                configuration: self.configuration,
                busbw_gbps: self.predicted_busbw_gbps,
                interval_90: self.interval_90,
            };
        }
        let Some(default) = self.default else {
            return DeployedRun { busbw_gbps: self.default_between_gbps, ..DeployedRun::default() };
        };
        let around = |noise: Noise| Interval::around(default.busbw_gbps, noise.half_width_90(default.repeats));
        DeployedRun {
            configuration: Some(default.configuration).filter(|ran| ran.algorithm != Algorithm::None),
            busbw_gbps: Some(default.busbw_gbps),
            interval_90: self.noise.map(around),
        }
    }

    /// The best known configuration and its busbw in GB/s where the default is kept.
    pub fn best_known(&self) -> Option<(Configuration, f64)> {
        self.configuration
            .zip(self.predicted_busbw_gbps)
            .filter(|_| matches!(self.decision, Decision::KeepDefault { .. }))
    }
}

/// One (collective, scale) of a loaded sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The collective that was measured.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The measured sizes in bytes, ascending.
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
    /// The algorithm as it ran.
    pub algorithm: Algorithm,
    /// The protocol as it ran.
    pub protocol: crate::collective::Protocol,
    /// The measured channel counts, ascending.
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
    /// The largest regret of a workload, in per cent.
    pub regret_max_pct: Option<f64>,
    /// Share of workloads at which the choice is the best measured one, or as fast, in per cent.
    pub top1_pct: Option<f64>,
}

/// One way of holding out, and everybody's score in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldScores {
    /// The scores of the model itself.
    pub model: Score,
    /// The scores of the baselines.
    pub baselines: Baselines,
    /// Share of held-out points that fell into the stated 90 % interval, in per cent.
    pub coverage_90_pct: Option<f64>,
}

/// The scores of the predictors that do not learn.
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
    /// An unseen scale: a fold for each scale of the collectives that were measured at several. Its coverage is that of
    /// intervals whose widths come from the other scales.
    pub by_scale: FoldScores,
    /// Mean regret of what is deployed at held-out sizes, the default included, in per cent of the best measured.
    pub regret_deployed_mean_pct: Option<f64>,
    /// The same where the source that answers at a fold's sizes is chosen by the other folds alone.
    pub regret_deployed_nested_mean_pct: Option<f64>,
}

/// The importance of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The name of the feature.
    pub feature: String,
    /// Share of the impurity that its splits removed; sums to 1. `None` where the model has no trees.
    pub impurity: Option<f64>,
    /// Rise of the error in per cent points of MAPE when its values are shuffled.
    pub permutation_pct: f64,
}

/// The charts of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The workload that is shown.
    pub workload: Workload,
    /// The recommendation for the workload.
    pub recommendation: Recommendation,
    /// busbw against size for the collective and scale.
    pub busbw_over_size: Chart,
    /// busbw against channels at the size, a line per algorithm and protocol.
    pub busbw_over_channels: Chart,
    /// The loss of each configuration at each size of the collective and scale; `None` where none was measured.
    pub heat_map: Option<Chart>,
    /// Predicted against measured, out of fold; `None` until validation has run.
    pub predicted_over_measured: Option<Chart>,
}

/// The basis of the recommendations, from the first answer to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AnswerBasis {
    /// The configurations with the highest measured busbw.
    #[default]
    Measured,
    /// The predictions of the model.
    Trained,
    /// The predictor with the lowest regret in validation, with intervals.
    Validated,
}

/// What the page shows of the measured workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recommended {
    /// The basis of the recommendations.
    pub basis: AnswerBasis,
    /// The measured collectives and scales, without the runs that are set aside.
    pub groups: Vec<Group>,
    /// The recommendation for each measured workload.
    pub answer: Vec<Recommendation>,
    /// The notes of training and of validation.
    pub notes: Vec<String>,
}

/// What training gives: answers without intervals, and the work that validation needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// The recommendation for each measured workload.
    pub answer: Vec<Recommendation>,
    /// The measured groups, without the runs that are set aside now.
    pub groups: Vec<Group>,
    /// The training rows, from which [`predict_folds`](super::loaded::predict_folds) learns.
    pub training: Vec<u8>,
    /// The expected duration of each fold relative to the others. The index is the number of the fold.
    pub folds: Vec<f64>,
    /// Notes, such as that a model file's hash differs or that rows were thinned.
    pub notes: Vec<String>,
}

/// What validation gives: scores, and the answers with intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// The scores of the model and the baselines.
    pub evaluation: Evaluation,
    /// The answer again, with intervals, and from a baseline where that has the lower regret.
    pub answer: Vec<Recommendation>,
    /// Notes, such as that a baseline is used instead of the model.
    pub notes: Vec<String>,
}
