//! The folds of a cross-validation, and the model's predictions of what each holds out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Configuration, Scale},
    learn::{LearnError, folds},
    order::CompactCollect,
    progress::Progress,
    tuning::{aggregate::Point, features::ModelInput, model::BusbwModel, parameters::Parameters},
};

/// The unit that a fold holds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FoldScheme {
    /// A fold holds out all measurements of some message sizes.
    Size,
    /// A fold holds out some configurations at all sizes.
    Configuration,
    /// A fold holds out all measurements of one scale.
    Scale,
}

impl FoldScheme {
    /// How many folds there can be.
    pub const fn folds(self) -> usize {
        match self {
            Self::Size => 9,
            Self::Configuration => 5,
            Self::Scale => 8,
        }
    }
}

/// The predictions of one fold's held-out points, in the order of the points; `None` where the model has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldPredictions {
    /// The unit that a fold holds out.
    pub scheme: FoldScheme,
    /// The number of the fold, from 0.
    pub fold: usize,
    /// The predicted bus bandwidths in GB/s.
    pub predicted: Vec<Option<f64>>,
}

/// The fold of points that are always kept.
const NEVER_HELD_OUT: usize = usize::MAX;

/// All folds of all schemes that hold anything out, the slowest first.
pub fn all_folds(points: &[Point]) -> Vec<(FoldScheme, usize)> {
    [FoldScheme::Size, FoldScheme::Configuration, FoldScheme::Scale]
        .into_iter()
        .flat_map(|scheme| {
            let assignment = assign(points, scheme);
            (0..scheme.folds())
                .filter(move |fold| {
                    let held_out = assignment.iter().filter(|f| *f == fold).count();
                    held_out > 0 && points.len() - held_out >= 2
                })
                .map(move |fold| (scheme, fold))
        })
        .compact_collect()
}

/// The fold of each point. Sizes and configurations are ranked within each (collective, scale), scales within each
/// collective. The points of a collective that was measured at only one scale have no fold by scale.
pub fn assign(points: &[Point], scheme: FoldScheme) -> Vec<usize> {
    let mut members: BTreeMap<(Collective, Option<Scale>), Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        let scale = Some(point.workload.scale).filter(|_| scheme != FoldScheme::Scale);
        members.entry((point.workload.collective, scale)).or_default().push(index);
    }
    let mut assignment = vec![NEVER_HELD_OUT; points.len()];
    for indices in members.values() {
        let ranked = match scheme {
            FoldScheme::Size => {
                let sizes: Vec<u64> = indices.iter().map(|&i| points[i].workload.size_bytes).collect();
                folds::by_rank(&sizes, scheme.folds())
            }
            FoldScheme::Configuration => {
                let configurations: Vec<Configuration> = indices.iter().map(|&i| points[i].configuration).collect();
                folds::by_rank(&configurations, scheme.folds())
            }
            FoldScheme::Scale => {
                let scales: Vec<Scale> = indices.iter().map(|&i| points[i].workload.scale).collect();
                if scales.iter().all(|scale| *scale == scales[0]) {
                    continue;
                }
                folds::by_rank(&scales, scheme.folds())
            }
        };
        for (index, fold) in indices.iter().zip(ranked) {
            assignment[*index] = fold;
        }
    }
    assignment
}

/// Trains on all points outside a fold and predicts those inside. Returns an error if the model can't be evaluated.
pub fn predict_fold(
    points: &[Point],
    parameters: &Parameters,
    scheme: FoldScheme,
    fold: usize,
    progress: &mut dyn Progress,
) -> Result<FoldPredictions, LearnError> {
    let (kept, held_out) = folds::split(&assign(points, scheme), fold);
    let training: Vec<Point> = kept.iter().map(|&i| points[i].clone()).collect();
    let asks: Vec<ModelInput> = held_out.iter().map(|&i| (points[i].workload, points[i].configuration)).collect();
    let model = BusbwModel::fit(&training, parameters, progress)?;
    Ok(FoldPredictions { scheme, fold, predicted: model.predict(&asks)? })
}
