//! The parameters of training, decisions and search.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::read::Placement;
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    learn::boosting,
    text::json::exact,
};

/// The kind of model that learns ln busbw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The geometric mean of trees around Hockney's law and of a kriged surface around planes.
    #[default]
    Default,
    /// The seed's gradient boosting on its ten features.
    Seed,
    /// A random forest (Breiman 2001).
    Forest,
    /// Extremely randomised trees, whose splits are drawn (Geurts, Ernst, Wehenkel 2006).
    ExtraTrees,
}

impl Preset {
    /// All of them, in the order in which they are offered.
    pub const ALL: &[Self] = &[Self::Default, Self::Seed, Self::Forest, Self::ExtraTrees];

    /// The key in addresses and model files.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Seed => "seed",
            Self::Forest => "forest",
            Self::ExtraTrees => "extra-trees",
        }
    }

    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "Mean of trees and a surface (default)",
            Self::Seed => "Gradient boosting",
            Self::Forest => "Random forest",
            Self::ExtraTrees => "Extra trees",
        }
    }
}

/// The parameters of training and search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The kind of model; its own parameters stand below.
    pub preset: Preset,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Trees of the default and of the forests.
    pub trees: u32,
    /// The number of boosting stages.
    pub stages: u32,
    /// Depth of a boosted tree.
    pub depth: u16,
    /// The learning rate of boosting.
    #[serde(deserialize_with = "exact")]
    pub learning_rate: f64,
    /// Boosting stops after this many stages without a better held-out error; 0 runs all stages.
    pub early_stopping: u32,
    /// The limits of the search for the best configuration.
    pub search: SearchLimits,
    /// Which runs to set aside before learning.
    #[serde(default)]
    pub screening: Screening,
    /// When to recommend something else than the default.
    #[serde(default)]
    pub confidence: Confidence,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            preset: Preset::Default,
            seed: 42,
            trees: 200,
            stages: 200,
            depth: 6,
            learning_rate: 0.1,
            early_stopping: 0,
            search: SearchLimits::default(),
            screening: Screening::default(),
            confidence: Confidence::default(),
        }
    }
}

/// When to recommend something else than the default. Changing it needs no new training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// Intervals of gains hold the gain with this probability, in 0..1.
    #[serde(deserialize_with = "exact")]
    pub level: f64,
    /// The smallest gain worth a rule, in per cent: the interval must lie above it as a whole.
    #[serde(deserialize_with = "exact")]
    pub minimum_gain_pct: f64,
}

impl Default for Confidence {
    fn default() -> Self {
        Self { level: 0.9, minimum_gain_pct: 1.0 }
    }
}

/// Which runs to set aside before learning. Changing it needs a new training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Screening {
    /// Use stalled runs like any other.
    pub keep_stalls: bool,
    /// Stalled measurements that are used nevertheless.
    pub brought_back: Vec<StallId>,
    /// Configurations that are set aside by hand.
    pub set_aside: Vec<SetAside>,
}

/// Names a measurement of a loaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallId {
    /// Which file, as the caller numbers them.
    pub file: u16,
    /// Line in the file, from 1.
    pub line: u32,
    /// Which of the line's measurements.
    #[serde(rename = "half")]
    pub placement: Placement,
}

/// A configuration that is set aside, at every size of a collective and scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// The collective of the points that are set aside.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The configuration, as it ran.
    pub configuration: Configuration,
}

/// The limits of the search for the best configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchLimits {
    /// The most channels; `None`: the largest measured at that scale.
    pub max_channels: Option<u32>,
    /// The algorithms to search; empty: the measured ones. One that was not measured is searched where it
    /// can run on the platform and the model can predict it.
    pub algorithms: Vec<Algorithm>,
    /// The protocols to search, likewise.
    pub protocols: Vec<Protocol>,
    /// Choose by the exhaustive search, not by the one from coarse to fine.
    pub exhaustive: bool,
}

/// The error of a text that names no configuration to set aside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" sets nothing aside; write it like all_reduce:2x16:RING/LL/8")]
pub struct SetAsideError(pub String);

impl FromStr for SetAside {
    type Err = SetAsideError;

    /// Reads `all_reduce:2x16:RING/LL/8`: collective, nodes × ranks, algorithm/protocol/channels.
    ///
    /// ```
    /// use collectune::tuning::parameters::SetAside;
    /// let aside = "all_reduce:2x16:RING/LL/8".parse().map(|aside: SetAside| aside.configuration.to_string());
    /// assert_eq!(aside.as_deref(), Ok("RING/LL/8"));
    /// assert!("RING/LL/8".parse::<SetAside>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, SetAsideError> {
        let aside = || {
            let [collective, scale, configuration] = text.split(':').collect::<Vec<_>>()[..] else { return None };
            let [algorithm, protocol, channels] = configuration.split('/').collect::<Vec<_>>()[..] else { return None };
            Some(Self {
                collective: Collective::parse(collective)?,
                scale: scale.parse().ok()?,
                configuration: Configuration {
                    algorithm: Algorithm::parse(algorithm)?,
                    protocol: Protocol::parse(protocol)?,
                    channels: channels.trim().parse().ok()?,
                },
            })
        };
        aside().ok_or_else(|| SetAsideError(text.chars().take(60).collect()))
    }
}

impl fmt::Display for SetAside {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scale { nodes, ranks } = self.scale;
        write!(f, "{}:{nodes}x{ranks}:{}", self.collective, self.configuration)
    }
}

impl fmt::Display for StallId {
    /// As [`FromStr`] reads it: `3:120:in` is the in-place measurement of line 120 of file 3.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let placement = if self.placement == Placement::InPlace { "in" } else { "out" };
        write!(f, "{}:{}:{placement}", self.file, self.line)
    }
}

impl FromStr for StallId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let [file, line, placement] = text.split(':').collect::<Vec<_>>()[..] else { return Err(()) };
        let placement = match placement {
            "in" => Placement::InPlace,
            "out" => Placement::OutOfPlace,
            _ => return Err(()),
        };
        Ok(Self { file: file.parse().map_err(drop)?, line: line.parse().map_err(drop)?, placement })
    }
}

impl Parameters {
    /// The most trees of a forest, and the most stages of boosting: more only take time.
    pub const MAX_TREES: u32 = 10_000;

    /// The largest depth of a boosted tree.
    pub const MAX_DEPTH: u16 = boosting::MAX_DEPTH;

    /// Whether the same model comes of the same rows: what is searched and decided may differ.
    pub fn fits_like(&self, other: &Self) -> bool {
        let of = |parameters: &Self| Self {
            search: SearchLimits::default(),
            confidence: Confidence::default(),
            ..parameters.clone()
        };
        of(self) == of(other)
    }

    /// Whether no number is so large that a training would not end.
    pub const fn end(&self) -> bool {
        self.trees <= Self::MAX_TREES && self.stages <= Self::MAX_TREES && self.depth <= Self::MAX_DEPTH
    }

    /// Those of boosting: the seed's, with scikit-learn's `min_samples_split=5` as it was published.
    pub fn boosting(&self) -> boosting::Parameters {
        boosting::Parameters {
            stages: self.stages,
            depth: self.depth,
            learning_rate: self.learning_rate,
            min_samples_split: 5,
            min_samples_leaf: 1,
            objective: boosting::Objective::Squared,
            early_stopping: self.early_stopping,
            seed: self.seed,
        }
    }
}
