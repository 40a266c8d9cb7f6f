//! Predictions of what was held out: five repeats of five folds of the kernels that overlap, and five folds of names.
//!
//! The fold of overlapped kernel i (from 0) in repeat r (from 0) is splitmix64(r · 2³² + i) mod 5, and that of a kernel
//! that is the same launch as an earlier one is the earlier one's: else it would be known to a model that is asked for
//! it ([`held_out_with`]). A name's is its rank in byte order mod 5. Models that learn nothing are made on the spot;
//! the others' folds are [`Job`]s, which any worker can do from the dataset alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    features::{Settings, chosen},
    kernel::{Dataset, Kernel, held_out_with},
    models::{Columns, Kind, Model, Predicted},
    result::{ModelScores, Score},
};
use crate::{
    learn::{LearnError, folds},
    math::Stream,
    order::CompactCollect,
    progress::Progress,
};

/// The number of repeats when kernels are held out.
pub const REPEATS: u32 = 5;
/// The number of folds of each repeat, and of the names.
pub const FOLDS: usize = 5;

/// The way in which kernels are held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    /// Single kernels, in the repeat with this index.
    Kernels(u32),
    /// All kernels of a name together.
    Names,
}

impl Scheme {
    /// All of them, in the order in which they are wanted.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..REPEATS).map(Self::Kernels).chain([Self::Names])
    }

    /// The fold of each kernel that overlaps.
    pub fn assign(self, dataset: &Dataset) -> Vec<usize> {
        let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
        match self {
            Self::Kernels(repeat) => {
                let draw = |index: u64| Stream::new((u64::from(repeat) << 32) + index).next_u64();
                let of_first = |index: usize| (draw(index as u64) % FOLDS as u64) as usize;
                held_out_with(&overlapped, dataset.standard_metrics()).into_iter().map(of_first).collect()
            }
            Self::Names => {
                folds::by_rank(&overlapped.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), FOLDS)
            }
        }
    }
}

/// The fit of one model without one fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The model that is fitted.
    pub kind: Kind,
    /// What a fold holds out: kernels, or all kernels of a name.
    pub scheme: Scheme,
    /// The index of the fold that is held out.
    pub fold: usize,
}

/// The predictions of a model for the kernels of a fold, in their order; empty where too few other kernels are left
/// to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldPredictions {
    /// The job that made the predictions.
    pub job: Job,
    /// One prediction for each held-out kernel, or none at all.
    pub predicted: Vec<Predicted>,
}

/// The jobs of all models that learn, those by kernels first, with how long each takes relative to the others.
pub fn jobs() -> Vec<(Job, f64)> {
    let of_scheme = |scheme| {
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.learns());
        kinds.flat_map(move |kind| {
            let cost = match kind {
                Kind::Perceptron => 1.5,
                _ => 1.0,
            };
            (0..FOLDS).map(move |fold| (Job { kind, scheme, fold }, cost))
        })
    };
    Scheme::all().flat_map(of_scheme).collect()
}

/// The jobs by index in rounds: trees once, all models once, the other repeats, unseen names.
pub fn rounds() -> Vec<Vec<u32>> {
    let round = |job: &Job| match (job.scheme, job.kind) {
        (Scheme::Kernels(0), Kind::TreesPublished | Kind::TreesLad) => 0,
        (Scheme::Kernels(0), _) => 1,
        (Scheme::Kernels(_), _) => 2,
        (Scheme::Names, _) => 3,
    };
    let mut rounds = vec![Vec::new(); 4];
    for (index, (job, _)) in jobs().iter().enumerate() {
        rounds[round(job)].push(index as u32);
    }
    rounds
}

/// Fits a model without a fold and predicts the fold.
///
/// # Errors
/// Returns an error if the kernels can't be learnt from.
pub fn predict_fold(
    dataset: &Dataset,
    settings: &Settings,
    job: Job,
    progress: &mut dyn Progress,
) -> Result<FoldPredictions, LearnError> {
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    let chosen = chosen(dataset, settings);
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let (kept, held_out) = folds::split(&job.scheme.assign(dataset), job.fold);
    // Kernels that overlap nothing are known to all; of unseen names they would tell what must not be known.
    let names: BTreeSet<&str> = held_out.iter().map(|index| overlapped[*index].name.as_str()).compact_collect();
    let held_names = |kernel: &&Kernel| job.scheme != Scheme::Names || !names.contains(kernel.name.as_str());
    let others = dataset.kernels.iter().filter(|kernel| !kernel.is_overlapped()).filter(held_names);
    let training: Vec<&Kernel> = kept.iter().map(|index| overlapped[*index]).chain(others).collect();
    let asked: Vec<&Kernel> = held_out.iter().map(|index| overlapped[*index]).collect();
    if kept.is_empty() && job.kind != Kind::NoSlowdown {
        return Ok(FoldPredictions { job, predicted: Vec::new() });
    }
    let predicted = match Model::fit(job.kind, columns, &training, settings.seed, progress) {
        Ok(model) => model.predict(columns, &asked)?,
        Err(LearnError::TooFewRows { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(FoldPredictions { job, predicted })
}

/// The predictions for each kernel that overlaps by a model that was not trained on it; `None` where a fold is
/// missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfFold {
    /// The predictions of each repeat, where single kernels are held out.
    pub repeats: Vec<Vec<Option<Predicted>>>,
    /// The predictions where all kernels of a name are held out.
    pub names: Vec<Option<Predicted>>,
    /// Some fold leaves too few kernels to learn from, so that it will never be there.
    pub is_impossible: bool,
}

/// Joins the folds of one model.
pub fn out_of_fold(dataset: &Dataset, kind: Kind, predictions: &[FoldPredictions]) -> OutOfFold {
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    let mut result = OutOfFold::default();
    for scheme in Scheme::all() {
        let assignment = scheme.assign(dataset);
        let mut estimates = vec![None; overlapped.len()];
        let of_scheme = predictions.iter().filter(|folds| (folds.job.kind, folds.job.scheme) == (kind, scheme));
        for FoldPredictions { job, predicted } in of_scheme {
            let (_, held_out) = folds::split(&assignment, job.fold);
            result.is_impossible |= predicted.len() < held_out.len() && scheme != Scheme::Names;
            for (index, predicted) in held_out.into_iter().zip(predicted) {
                estimates[index] = Some(*predicted);
            }
        }
        match scheme {
            Scheme::Kernels(_) => result.repeats.push(estimates),
            Scheme::Names => result.names = estimates,
        }
    }
    result
}

/// The folds of the models that learn nothing.
///
/// # Errors
/// Never returns an error, as these models need no rows.
pub fn trivial_folds(dataset: &Dataset, settings: &Settings) -> Result<Vec<FoldPredictions>, LearnError> {
    let mut all = Vec::new();
    for scheme in Scheme::all() {
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.learns()) {
            for fold in 0..FOLDS {
                let job = Job { kind, scheme, fold };
                all.push(predict_fold(dataset, settings, job, &mut crate::progress::Silent)?);
            }
        }
    }
    Ok(all)
}

/// The scores of the out-of-fold predictions of one model.
pub fn scores(dataset: &Dataset, kind: Kind, estimates: &OutOfFold) -> ModelScores {
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    let score = |estimates: &Vec<Option<Predicted>>| {
        let pairs: Vec<(&Kernel, Predicted)> =
            overlapped.iter().zip(estimates).filter_map(|(kernel, estimates)| Some((*kernel, (*estimates)?))).collect();
        Score::of(&pairs).filter(|_| pairs.len() == overlapped.len())
    };
    let repeats: Vec<Score> = estimates.repeats.iter().filter_map(score).collect();
    let (mean, spread) = Score::mean_and_spread(&repeats).unzip();
    let is_impossible = estimates.is_impossible;
    ModelScores { kind, mean, spread, unseen_names: score(&estimates.names), repeats, is_impossible }
}
