//! Which features the default trees use, and which they need: by gain, and by permutation out of fold.

use serde::{Deserialize, Serialize};

use super::{
    features::{self, Settings, chosen},
    kernel::{Dataset, Kernel},
    models::{Columns, Kind, boosted},
    validate::{FOLDS, Scheme},
};
use crate::{
    learn::{LearnError, Table, boosting::Boosting, folds, importance},
    math::exp,
    progress::Progress,
};

/// The importance of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The feature, named as in an exported model.
    pub feature: String,
    /// The number of splits on the feature.
    pub splits: u32,
    /// The mean gain of a split.
    pub gain: f64,
    /// The total gain of all splits.
    pub total_gain: f64,
    /// By how much the mean error of durations rises, in points, when its values are shuffled among held-out kernels.
    pub permutation_points: f64,
}

/// The number of shuffles of a feature.
const ROUNDS: u32 = 5;

/// The features of the default trees, in the order of the table. Returns an error if there are too few kernels.
pub fn importances(
    dataset: &Dataset,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Vec<Importance>, LearnError> {
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    let chosen = chosen(dataset, settings);
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let all = boosted(Kind::TreesLad, columns, &overlapped, progress)?;
    let table = features::relative(columns.names, columns.chosen, &overlapped);
    let assignment = Scheme::Kernels(0).assign(dataset);
    let mut held_out: Vec<(Vec<usize>, Boosting)> = Vec::new();
    for fold in 0..FOLDS {
        let (kept, out) = folds::split(&assignment, fold);
        let kept: Vec<&Kernel> = kept.into_iter().map(|index| overlapped[index]).collect();
        held_out.push((out, boosted(Kind::TreesLad, columns, &kept, progress)?));
    }
    let error = |table: &Table| -> Result<f64, LearnError> {
        let mut sum = 0.0;
        for (rows, model) in &held_out {
            for (estimates, row) in model.predict(&table.take(rows))?.into_iter().zip(rows) {
                let kernel = overlapped[*row];
                sum += (exp(estimates) * kernel.alone_ns / kernel.duration_ns - 1.0).abs();
            }
        }
        Ok(sum / overlapped.len() as f64 * 100.0)
    };
    let width = table.names().len();
    let rises =
        importance::permutation(width, table.rows(), ROUNDS, settings.seed, progress, |shuffle| match shuffle {
            None => error(&table),
            Some(shuffle) => error(&table.shuffled(shuffle)),
        })?;
    let features = table.names().iter().zip(all.usage()).zip(rises);
    Ok(features
        .map(|((feature, usage), permutation_points)| Importance {
            feature: feature.to_string(),
            splits: usage.splits,
            gain: if usage.splits > 0 { usage.total_gain / f64::from(usage.splits) } else { 0.0 },
            total_gain: usage.total_gain,
            permutation_points,
        })
        .collect())
}
