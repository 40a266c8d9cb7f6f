//! How far to trust the model: predictions of what was held out, scored beside what needs no learning.
//!
//! Two questions, two ways to hold out. *An unseen size*: nine folds, the rank of the size modulo nine; the model
//! predicts every configuration at the held-out size and its best prediction is taken. *An unseen
//! configuration*: five folds, the rank of (algorithm, protocol, channels) modulo five. Ranks count within each
//! (collective, scale). Points are medians over repeats, so repeats never straddle a fold.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    aggregate::Point,
    baselines::{Measurements, winner},
    features::Ask,
    intervals::{HeldOutErrors, LEVEL, nested_coverage_pct},
    model::BusbwModel,
    parameters::Parameters,
    result::{Baselines, Evaluation, FoldScores, Score, Source},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    learn::{LearnError, folds, metrics},
    progress::Progress,
};

/// What is held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scheme {
    /// Sizes.
    Size,
    /// Configurations.
    Configuration,
}

impl Scheme {
    /// How many folds.
    #[must_use]
    pub const fn folds(self) -> usize {
        match self {
            Self::Size => 9,
            Self::Configuration => 5,
        }
    }
}

/// Predictions of one fold's held-out points, in the order of the points; `None` where the model can't say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldPredictions {
    /// What is held out.
    pub scheme: Scheme,
    /// Which fold.
    pub fold: usize,
    /// busbw in GB/s.
    pub predicted: Vec<Option<f64>>,
}

/// All folds of both schemes that hold anything out, the slow ones first.
#[must_use]
pub fn all_folds(points: &[Point]) -> Vec<(Scheme, usize)> {
    [Scheme::Size, Scheme::Configuration]
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
        .collect()
}

/// The fold of each point.
#[must_use]
pub fn assign(points: &[Point], scheme: Scheme) -> Vec<usize> {
    let mut members: BTreeMap<(Collective, Scale), Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        members.entry((point.workload.collective, point.workload.scale)).or_default().push(index);
    }
    let mut assignment = vec![0; points.len()];
    for indices in members.values() {
        let of_group = match scheme {
            Scheme::Size => folds::by_rank(
                &indices.iter().map(|&i| points[i].workload.size_bytes).collect::<Vec<_>>(),
                scheme.folds(),
            ),
            Scheme::Configuration => {
                folds::by_rank(&indices.iter().map(|&i| points[i].configuration).collect::<Vec<_>>(), scheme.folds())
            }
        };
        for (index, fold) in indices.iter().zip(of_group) {
            assignment[*index] = fold;
        }
    }
    assignment
}

fn asks(points: &[Point], indices: &[usize]) -> Vec<Ask> {
    indices.iter().map(|&i| (points[i].workload, points[i].configuration)).collect()
}

/// Learns from all points outside a fold and predicts those inside.
///
/// # Errors
/// What the model says.
pub fn predict_fold(
    points: &[Point],
    parameters: &Parameters,
    scheme: Scheme,
    fold: usize,
    progress: &mut dyn Progress,
) -> Result<FoldPredictions, LearnError> {
    let (kept, held_out) = folds::split(&assign(points, scheme), fold);
    let training: Vec<Point> = kept.iter().map(|&i| points[i].clone()).collect();
    let model = BusbwModel::fit(&training, parameters, progress)?;
    Ok(FoldPredictions { scheme, fold, predicted: model.predict(&asks(points, &held_out))? })
}

/// Scores, held-out predictions of the model, and the errors that intervals are made of.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Scores over everything.
    pub evaluation: Evaluation,
    /// Mean regret of each source by size, for each (collective, scale), in per cent.
    pub regret: BTreeMap<(Collective, Scale), BTreeMap<Source, f64>>,
    /// Out-of-fold predictions of the model: (point's index, by size, by configuration).
    pub out_of_fold: Vec<(Option<f64>, Option<f64>)>,
    /// Held-out errors of the model at unseen sizes.
    pub size_errors: HeldOutErrors,
    /// Held-out errors of the model for unseen configurations.
    pub configuration_errors: HeldOutErrors,
    /// Held-out errors of log-linear interpolation at unseen sizes.
    pub interpolation_errors: HeldOutErrors,
}

/// Puts all folds together. Folds that are missing leave their points unscored.
#[must_use]
pub fn evaluate(points: &[Point], predictions: &[FoldPredictions]) -> Validation {
    let by_size = collect(points, predictions, Scheme::Size);
    let by_configuration = collect(points, predictions, Scheme::Configuration);
    let sizes = assign(points, Scheme::Size);
    let configurations = assign(points, Scheme::Configuration);
    let mut baselines = Held { interpolated: vec![None; points.len()], ..Held::default() };
    for fold in 0..Scheme::Size.folds() {
        baselines.add_fold(points, &sizes, fold);
    }
    let interpolation = baselines.interpolated;
    let size_errors = HeldOutErrors::new(points, &by_size, &sizes, true);
    let configuration_errors = HeldOutErrors::new(points, &by_configuration, &configurations, false);
    let interpolation_errors = HeldOutErrors::new(points, &interpolation, &sizes, true);

    let model_choices = choices(points, &by_size);
    let workloads = best_of_each(points);
    let sources = [
        (Source::Model, model_choices.clone()),
        (Source::LogLinearInterpolation, choices(points, &interpolation)),
        (Source::NearestSize, baselines.nearest),
        (Source::BestSingleConfiguration, baselines.single),
    ];
    let fold_of: BTreeMap<Workload, usize> =
        points.iter().zip(&sizes).map(|(point, fold)| (point.workload, *fold)).collect();
    let lost: Vec<Lost> = sources
        .iter()
        .flat_map(|(source, chosen)| {
            let fold_of = &fold_of;
            regrets(&workloads, chosen).map(move |(workload, lost_pct)| Lost {
                source: *source,
                group: (workload.collective, workload.scale),
                fold: fold_of.get(&workload).copied().unwrap_or_default(),
                lost_pct,
            })
        })
        .collect();
    let regret = mean_regret(lost.iter());
    let groups: BTreeSet<(Collective, Scale)> = lost.iter().map(|lost| lost.group).collect();
    let nested: Vec<_> = (0..Scheme::Size.folds()).map(|f| mean_regret(lost.iter().filter(|l| l.fold != f))).collect();
    let folds_of = |scheme: Scheme| groups.iter().flat_map(move |g| (0..scheme.folds()).map(move |fold| (*g, fold)));
    let coverage_by_size = nested_coverage_pct(folds_of(Scheme::Size), LEVEL, |group, fold| {
        match nested[fold].get(group).map_or(Source::Model, least_regret) {
            Source::Model => &size_errors,
            _ => &interpolation_errors,
        }
    });
    let coverage_by_configuration =
        nested_coverage_pct(folds_of(Scheme::Configuration), LEVEL, |_, _| &configuration_errors);
    let [_, (_, interpolated), (_, nearest), (_, single)] = &sources;
    let evaluation = Evaluation {
        by_size: FoldScores {
            model: score(points, Some(&by_size), &workloads, &model_choices),
            baselines: Baselines {
                log_linear_interpolation: score(points, Some(&interpolation), &workloads, interpolated),
                nearest_size: score(points, None, &workloads, nearest),
                best_single_configuration: score(points, None, &workloads, single),
            },
            coverage_90_pct: coverage_by_size,
        },
        by_configuration: FoldScores {
            model: score(points, Some(&by_configuration), &workloads, &choices(points, &by_configuration)),
            baselines: Baselines::default(),
            coverage_90_pct: coverage_by_configuration,
        },
    };
    let out_of_fold = by_size.into_iter().zip(by_configuration).collect();
    Validation { evaluation, regret, out_of_fold, size_errors, configuration_errors, interpolation_errors }
}

/// What one source's choice loses at one held-out workload.
struct Lost {
    source: Source,
    group: (Collective, Scale),
    fold: usize,
    lost_pct: f64,
}

fn mean_regret<'a>(lost: impl Iterator<Item = &'a Lost>) -> BTreeMap<(Collective, Scale), BTreeMap<Source, f64>> {
    let mut all: BTreeMap<_, BTreeMap<Source, Vec<f64>>> = BTreeMap::new();
    for lost in lost {
        all.entry(lost.group).or_default().entry(lost.source).or_default().push(lost.lost_pct);
    }
    let mean = |(source, lost): (Source, Vec<f64>)| metrics::mean(&lost).map(|mean| (source, mean));
    all.into_iter().map(|(group, sources)| (group, sources.into_iter().filter_map(mean).collect())).collect()
}

/// The source that answers: the model, unless a baseline lost less on held-out sizes.
#[must_use]
pub fn least_regret(regret: &BTreeMap<Source, f64>) -> Source {
    let model = regret.get(&Source::Model).copied().unwrap_or(f64::INFINITY);
    regret
        .iter()
        .filter(|(_, lost)| **lost < model)
        .min_by(|a, b| a.1.total_cmp(b.1))
        .map_or(Source::Model, |(source, _)| *source)
}

fn collect(points: &[Point], predictions: &[FoldPredictions], scheme: Scheme) -> Vec<Option<f64>> {
    let assignment = assign(points, scheme);
    let mut all = vec![None; points.len()];
    for fold in predictions.iter().filter(|p| p.scheme == scheme) {
        let (_, held_out) = folds::split(&assignment, fold.fold);
        for (index, predicted) in held_out.into_iter().zip(&fold.predicted) {
            all[index] = *predicted;
        }
    }
    all
}

type Choices = BTreeMap<Workload, Configuration>;

#[derive(Default)]
struct Held {
    interpolated: Vec<Option<f64>>,
    nearest: Choices,
    single: Choices,
}

impl Held {
    fn add_fold(&mut self, points: &[Point], assignment: &[usize], fold: usize) {
        let (kept, held_out) = folds::split(assignment, fold);
        let measurements = Measurements::new(kept.iter().map(|&i| &points[i]));
        for index in held_out {
            let workload = points[index].workload;
            self.interpolated[index] = measurements.interpolate(&(workload, points[index].configuration));
            if let Some((configuration, _)) = measurements.nearest_size_winner(&workload) {
                self.nearest.insert(workload, configuration);
            }
            if let Some(configuration) = measurements.best_single(workload.collective, workload.scale) {
                self.single.insert(workload, configuration);
            }
        }
    }
}

/// The measured configurations of each workload.
fn best_of_each(points: &[Point]) -> BTreeMap<Workload, BTreeMap<Configuration, f64>> {
    let mut workloads: BTreeMap<Workload, BTreeMap<Configuration, f64>> = BTreeMap::new();
    for point in points {
        workloads.entry(point.workload).or_default().insert(point.configuration, point.busbw_gbps);
    }
    workloads
}

/// The configuration with the highest prediction at each workload; equal: the lowest in order.
fn choices(points: &[Point], predicted: &[Option<f64>]) -> Choices {
    let mut best: BTreeMap<Workload, (Configuration, f64)> = BTreeMap::new();
    for (point, predicted) in points.iter().zip(predicted) {
        let Some(predicted) = *predicted else { continue };
        let next = (point.configuration, predicted);
        best.entry(point.workload)
            .and_modify(|held| {
                if next.1 > held.1 || next.1.total_cmp(&held.1).is_eq() && next.0 < held.0 {
                    *held = next;
                }
            })
            .or_insert(next);
    }
    best.into_iter().map(|(workload, (configuration, _))| (workload, configuration)).collect()
}

/// The share of the best measured busbw that each choice loses, in per cent; all of it where the choice was not
/// measured there.
fn regrets<'a>(
    workloads: &'a BTreeMap<Workload, BTreeMap<Configuration, f64>>,
    chosen: &'a Choices,
) -> impl Iterator<Item = (Workload, f64)> + 'a {
    workloads.iter().filter_map(|(workload, configurations)| {
        let choice = chosen.get(workload)?;
        let (_, best) = winner(configurations.iter().map(|(c, b)| (*c, *b)))?;
        let got = configurations.get(choice).copied().unwrap_or(0.0);
        (best > 0.0).then(|| (*workload, (1.0 - got / best) * 100.0))
    })
}

fn score(
    points: &[Point],
    predicted: Option<&[Option<f64>]>,
    workloads: &BTreeMap<Workload, BTreeMap<Configuration, f64>>,
    chosen: &Choices,
) -> Score {
    let pairs: Vec<(f64, f64)> = predicted.map_or_else(Vec::new, |predicted| {
        points.iter().zip(predicted).filter_map(|(point, p)| p.map(|p| (point.busbw_gbps, p))).collect()
    });
    let lost: Vec<f64> = regrets(workloads, chosen).map(|(_, lost)| lost).collect();
    Score {
        r2: metrics::r2(&pairs),
        mae_gbps: metrics::mean_absolute_error(&pairs),
        mape_pct: metrics::mean_absolute_percentage_error(&pairs),
        regret_mean_pct: metrics::mean(&lost),
        regret_max_pct: lost.into_iter().reduce(f64::max),
    }
}
