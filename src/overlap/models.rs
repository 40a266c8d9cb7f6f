//! The models of slowdown, from a constant to a neural network.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    features,
    kernel::{Kernel, ratio, slowdown},
};
use crate::{
    learn::{
        LearnError,
        boosting::{self, Boosting, Objective},
        forest::{self, Forest},
        perceptron::{self, Perceptron},
    },
    math::{exp, ln, median},
    order::CompactCollect,
    progress::Progress,
};

/// A model of slowdown, from the simplest to the most flexible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A kernel takes as long beside a collective as alone.
    NoSlowdown,
    /// Every kernel has the median slowdown.
    GlobalFactor,
    /// Every kernel has the median slowdown of its name.
    NameMedian,
    /// Gradient-boosted trees with the published settings: the slowdown, by squared error, from all rows.
    TreesPublished,
    /// Gradient-boosted trees on ln(duration / alone), with absolute error as loss.
    TreesLad,
    /// A random forest on ln(duration / alone).
    Forest,
    /// A multi-layer perceptron on the slowdown, trained on all rows.
    Perceptron,
}

impl Kind {
    /// All models, those that learn nothing first.
    pub const ALL: [Self; 7] = [
        Self::NoSlowdown,
        Self::GlobalFactor,
        Self::NameMedian,
        Self::TreesPublished,
        Self::TreesLad,
        Self::Forest,
        Self::Perceptron,
    ];

    /// The name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSlowdown => "no-slowdown",
            Self::GlobalFactor => "global-factor",
            Self::NameMedian => "name-median",
            Self::TreesPublished => "trees-published",
            Self::TreesLad => "trees-lad",
            Self::Forest => "forest",
            Self::Perceptron => "perceptron",
        }
    }

    /// The name that is shown to people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NoSlowdown => "No slowdown at all",
            Self::GlobalFactor => "One factor for all kernels",
            Self::NameMedian => "Median of each kernel name",
            Self::TreesPublished => "Boosted trees, published settings",
            Self::TreesLad => "Boosted trees, least absolute deviation",
            Self::Forest => "Random forest",
            Self::Perceptron => "Perceptron 64-32",
        }
    }

    /// Whether the model learns from metrics.
    pub const fn learns(self) -> bool {
        matches!(self, Self::TreesPublished | Self::TreesLad | Self::Forest | Self::Perceptron)
    }

    /// Whether the model consists of boosted trees, which XGBoost can load.
    pub const fn is_boosted(self) -> bool {
        matches!(self, Self::TreesPublished | Self::TreesLad)
    }

    /// The model with this name on the command line.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The slowdown of one kernel, as a model predicts it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The slowdown s as the model predicts it.
    pub slowdown: f64,
    /// The duration divided by the duration alone.
    pub ratio: f64,
}

impl Predicted {
    fn of_slowdown(slowdown: f64, kernel: &Kernel) -> Self {
        Self { slowdown, ratio: ratio(slowdown, kernel.overlap_ratio) }
    }

    /// The prediction from the ratio of durations.
    pub(super) fn of_ratio(ratio: f64, kernel: &Kernel) -> Self {
        Self { slowdown: slowdown(ratio, kernel.overlap_ratio), ratio }
    }
}

/// The published preset: XGBoost's own defaults with 100 trees of depth 12.
pub const PUBLISHED: boosting::Parameters = boosting::Parameters {
    objective: Objective::Xgboost { lambda: 1.0 },
    stages: 100,
    depth: 12,
    learning_rate: 0.3,
    min_samples_split: 2,
    min_samples_leaf: 1,
    early_stopping: 0,
    seed: 0,
};

/// Our default. Chosen on the two published runs, by the same folds as are scored.
pub const LEAST_ABSOLUTE_DEVIATION: boosting::Parameters = boosting::Parameters {
    objective: Objective::Absolute,
    stages: 300,
    depth: 4,
    learning_rate: 0.05,
    min_samples_split: 2,
    min_samples_leaf: 3,
    early_stopping: 0,
    seed: 0,
};

const TREES_OF_FOREST: u32 = 100;

/// A model that was fitted to a run.
pub enum Model {
    /// The same slowdown s for every kernel.
    Constant(f64),
    /// A slowdown for each name, and one for other names.
    Names(BTreeMap<String, f64>, f64),
    /// A regressor of slowdowns on [`features::published`]; slowdowns below 0 are clipped when durations are
    /// computed.
    Slowdown(Box<dyn Regressor>),
    /// A regressor of ln(duration / alone) on [`features::relative`].
    LogRatio(Box<dyn Regressor>),
}

/// A function from a row of features to a number.
pub trait Regressor {
    /// One prediction per row.
    ///
    /// # Errors
    /// Returns an error if the table is of another shape.
    fn predict(&self, table: &crate::learn::Table) -> Result<Vec<f64>, LearnError>;
}

macro_rules! regressors {
    ($($model:ty),*) => {
        $(impl Regressor for $model {
            fn predict(&self, table: &crate::learn::Table) -> Result<Vec<f64>, LearnError> {
                Self::predict(self, table)
            }
        })*
    };
}

regressors!(Boosting, Forest, Perceptron);

/// The columns of a run, and which of them a model uses.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The names of all columns of the run.
    pub names: &'a [String],
    /// The indices of the columns that models use.
    pub chosen: &'a [usize],
}

impl Model {
    /// Fits to kernels; from those that overlap nothing only the models of the slowdown learn.
    ///
    /// # Errors
    /// Returns an error if there are too few kernels.
    pub fn fit(
        kind: Kind,
        columns: Columns<'_>,
        kernels: &[&Kernel],
        seed: u64,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        let overlapped: Vec<&Kernel> = kernels.iter().copied().filter(|kernel| kernel.is_overlapped()).collect();
        let slowdowns = |kernels: &[&Kernel]| kernels.iter().map(|kernel| kernel.slowdown()).collect::<Vec<f64>>();
        let global = || median(&mut slowdowns(&overlapped)).unwrap_or(0.0);
        Ok(match kind {
            Kind::NoSlowdown => Self::Constant(0.0),
            Kind::GlobalFactor => Self::Constant(global()),
            Kind::NameMedian => Self::Names(name_medians(&overlapped), global()),
            Kind::TreesPublished => Self::Slowdown(Box::new(boosted(kind, columns, kernels, progress)?)),
            Kind::TreesLad => Self::LogRatio(Box::new(boosted(kind, columns, &overlapped, progress)?)),
            Kind::Forest => {
                let table = features::relative(columns.names, columns.chosen, &overlapped);
                let parameters = forest::Parameters { kind: forest::ForestKind::Random, trees: TREES_OF_FOREST, seed };
                Self::LogRatio(Box::new(Forest::fit(&table, &log_ratios(&overlapped), parameters, progress)?))
            }
            Kind::Perceptron => {
                let table = features::published(columns.names, columns.chosen, kernels);
                let parameters = perceptron::Parameters { epochs: 150, patience: 15, learning_rate: 1e-3, seed };
                let fitted = Perceptron::fit(&table, &slowdowns(kernels), parameters, progress)?;
                Self::Slowdown(Box::new(fitted))
            }
        })
    }

    /// The model's prediction for each kernel.
    ///
    /// # Errors
    /// Returns an error if the kernels have other metrics than those of the training.
    pub fn predict(&self, columns: Columns<'_>, kernels: &[&Kernel]) -> Result<Vec<Predicted>, LearnError> {
        let each = |predict: &dyn Fn(&Kernel) -> f64| {
            kernels.iter().map(|kernel| Predicted::of_slowdown(predict(kernel), kernel)).collect()
        };
        Ok(match self {
            Self::Constant(slowdown) => each(&|_| *slowdown),
            Self::Names(medians, global) => each(&|kernel| *medians.get(&kernel.name).unwrap_or(global)),
            Self::Slowdown(model) => {
                let estimates = model.predict(&features::published(columns.names, columns.chosen, kernels))?;
                let clipped = |(kernel, slowdown): (&&Kernel, f64)| Predicted {
                    slowdown,
                    ratio: ratio(slowdown.max(0.0), kernel.overlap_ratio),
                };
                kernels.iter().zip(estimates).map(clipped).collect()
            }
            Self::LogRatio(model) => {
                let estimates = model.predict(&features::relative(columns.names, columns.chosen, kernels))?;
                kernels.iter().zip(estimates).map(|(kernel, ln)| Predicted::of_ratio(exp(ln), kernel)).collect()
            }
        })
    }
}

/// The boosted trees of one of the two presets.
///
/// # Errors
/// Returns an error if there are too few kernels.
pub fn boosted(
    kind: Kind,
    columns: Columns<'_>,
    kernels: &[&Kernel],
    progress: &mut dyn Progress,
) -> Result<Boosting, LearnError> {
    if kind == Kind::TreesPublished {
        let table = features::published(columns.names, columns.chosen, kernels);
        let target: Vec<f64> = kernels.iter().map(|kernel| kernel.slowdown()).collect();
        return Boosting::fit(&table, &target, PUBLISHED, progress);
    }
    let table = features::relative(columns.names, columns.chosen, kernels);
    Boosting::fit(&table, &log_ratios(kernels), LEAST_ABSOLUTE_DEVIATION, progress)
}

fn log_ratios(kernels: &[&Kernel]) -> Vec<f64> {
    kernels.iter().map(|kernel| ln(kernel.duration_ns / kernel.alone_ns)).collect()
}

fn name_medians(kernels: &[&Kernel]) -> BTreeMap<String, f64> {
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for kernel in kernels {
        by_name.entry(&kernel.name).or_default().push(kernel.slowdown());
    }
    by_name.into_iter().filter_map(|(name, mut all)| Some((name.to_owned(), median(&mut all)?))).compact_collect()
}
