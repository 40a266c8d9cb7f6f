//! Everybody's predictions and choices for what was held out in one scheme, and their scores.

use std::collections::BTreeMap;

use super::folds::{FoldPredictions, FoldScheme, assign};
use crate::{
    collective::{Configuration, Workload},
    learn::{folds, metrics},
    order::CompactCollect,
    tuning::{
        aggregate::Point,
        baselines::{Measurements, winner},
        decision::default_without,
        result::{Baselines, Score, Source},
        sweep::Sweep,
    },
};

/// The predictions of one predictor for held-out points, and its choices at held-out workloads.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldOutPredictor {
    /// busbw of each point; `None` where it can't say.
    pub(super) predicted: Vec<Option<f64>>,
    /// The choice at each workload, with the busbw that is expected of it, where it can say.
    pub(super) choices: BTreeMap<Workload, (Configuration, Option<f64>)>,
}

/// One scheme's folds, and who says what about them.
pub(super) struct PredictorScores<'a> {
    points: &'a [Point],
    /// The fold of each point.
    pub(super) folds: Vec<usize>,
    /// The fold of each workload.
    of_workload: BTreeMap<Workload, usize>,
    /// The measured configurations of each workload that was held out.
    pub(super) workloads: BTreeMap<Workload, BTreeMap<Configuration, f64>>,
    /// The predictors by their source.
    pub(super) predictors: BTreeMap<Source, HeldOutPredictor>,
}

impl<'a> PredictorScores<'a> {
    /// Takes the model's predictions and makes the baselines'. Folds that are missing leave their points unscored.
    pub(super) fn new(points: &'a [Point], predictions: &[FoldPredictions], scheme: FoldScheme) -> Self {
        let folds = assign(points, scheme);
        let mut workloads: BTreeMap<Workload, BTreeMap<Configuration, f64>> = BTreeMap::new();
        for (point, _) in points.iter().zip(&folds).filter(|(_, fold)| **fold < scheme.folds()) {
            workloads.entry(point.workload).or_default().insert(point.configuration, point.busbw_gbps);
        }
        let of_workload = points.iter().zip(&folds).map(|(point, fold)| (point.workload, *fold)).compact_collect();
        let mut scores = Self { points, folds, of_workload, workloads, predictors: BTreeMap::new() };
        let mut model = scores.predictor();
        for fold in predictions.iter().filter(|fold| fold.scheme == scheme) {
            let (_, held_out) = folds::split(&scores.folds, fold.fold);
            for (index, predicted) in held_out.into_iter().zip(&fold.predicted) {
                model.predicted[index] = *predicted;
            }
        }
        model.choices = scores.highest(&model.predicted);
        scores.predictors.insert(Source::Model, model);
        scores.add_baselines(scheme);
        scores
    }

    fn predictor(&self) -> HeldOutPredictor {
        HeldOutPredictor { predicted: vec![None; self.points.len()], choices: BTreeMap::new() }
    }

    /// Who needs no learning: for an unseen size all three of them, for an unseen configuration interpolation over
    /// channels, for an unseen scale interpolation over size and ranks and the winners of the nearest scale.
    fn add_baselines(&mut self, scheme: FoldScheme) {
        let mut interpolation = self.predictor();
        let (mut nearest, mut single) = (self.predictor(), self.predictor());
        for fold in 0..scheme.folds() {
            let (kept, held_out) = folds::split(&self.folds, fold);
            let known = Measurements::new(kept.into_iter().map(|i| &self.points[i]));
            for index in held_out {
                let Point { workload, configuration, .. } = self.points[index];
                let expect = |configuration| match scheme {
                    FoldScheme::Size => known.interpolate(&(workload, configuration)),
                    FoldScheme::Configuration => known.interpolate_channels(&(workload, configuration)),
                    FoldScheme::Scale => known.interpolate_scale(&(workload, configuration)),
                };
                interpolation.predicted[index] = expect(configuration);
                let there = match scheme {
                    FoldScheme::Size => Some(workload),
                    FoldScheme::Configuration => None,
                    FoldScheme::Scale => known
                        .nearest_scale(workload.collective, workload.scale)
                        .map(|scale| Workload { scale, ..workload }),
                };
                let Some(there) = there.filter(|_| !nearest.choices.contains_key(&workload)) else { continue };
                if let Some((choice, _)) = known.nearest_size_winner(&there) {
                    nearest.choices.insert(workload, (choice, expect(choice)));
                }
                if let Some(choice) = known.best_single(there.collective, there.scale) {
                    single.choices.insert(workload, (choice, expect(choice)));
                }
            }
        }
        interpolation.choices = self.highest(&interpolation.predicted);
        self.predictors.insert(Source::LogLinearInterpolation, interpolation);
        self.predictors.insert(Source::NearestSize, nearest);
        self.predictors.insert(Source::BestSingleConfiguration, single);
    }

    /// The configuration with the highest prediction at each workload; equal: the lowest in order.
    fn highest(&self, predicted: &[Option<f64>]) -> BTreeMap<Workload, (Configuration, Option<f64>)> {
        let mut best: BTreeMap<Workload, (Configuration, f64)> = BTreeMap::new();
        for (point, predicted) in self.points.iter().zip(predicted) {
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
        best.into_iter().map(|(workload, (choice, busbw))| (workload, (choice, Some(busbw)))).compact_collect()
    }

    /// The score of a source over all held-out points.
    pub(super) fn score(&self, source: Source) -> Score {
        let Some(predictor) = self.predictors.get(&source) else { return Score::default() };
        let pairs: Vec<(f64, f64)> = self
            .points
            .iter()
            .zip(&predictor.predicted)
            .filter_map(|(point, predicted)| Some((point.busbw_gbps, (*predicted)?)))
            .compact_collect();
        let (mut lost, mut agreed) = (Vec::new(), 0);
        // Of one configuration there is nothing to choose, and a regret of 0 would say nothing.
        for (workload, configurations) in self.workloads.iter().filter(|(_, measured)| measured.len() > 1) {
            let Some((choice, _)) = predictor.choices.get(workload) else { continue };
            let best = winner(configurations.iter().map(|(c, b)| (*c, *b)));
            let Some((_, best)) = best.filter(|(_, best)| *best > 0.0) else { continue };
            let got = configurations.get(choice).copied().unwrap_or(0.0);
            lost.push((1.0 - got / best) * 100.0);
            agreed += usize::from(got >= best);
        }
        Score {
            r2: metrics::r2(&pairs),
            mae_gbps: metrics::mean_absolute_error(&pairs),
            mape_pct: metrics::mean_absolute_percentage_error(&pairs),
            regret_mean_pct: metrics::mean(&lost),
            top1_pct: (!lost.is_empty()).then(|| agreed as f64 / lost.len() as f64 * 100.0),
            regret_max_pct: lost.into_iter().reduce(f64::max),
        }
    }

    /// The scores of all baselines.
    pub(super) fn baselines(&self) -> Baselines {
        Baselines {
            log_linear_interpolation: self.score(Source::LogLinearInterpolation),
            nearest_size: self.score(Source::NearestSize),
            best_single_configuration: self.score(Source::BestSingleConfiguration),
        }
    }

    /// The prediction of a source for each point, given the default as it was measured there: the held-out gain over
    /// the
    /// default that is expected between the sizes that are left. `None` where the default was not measured, or lies
    /// beyond them.
    pub(super) fn over_default(&self, source: Source, sweep: &Sweep) -> Vec<Option<f64>> {
        let mut ratios: BTreeMap<Workload, Option<f64>> = BTreeMap::new();
        let ratio = |workload: &Workload, fold: usize| {
            let own = sweep.default_at(workload)?.busbw_gbps;
            let of_group = sweep.defaults_of(workload.collective, workload.scale);
            let held_out = |point: &Point| self.of_workload.get(&point.workload) == Some(&fold);
            let expected = default_without(of_group, workload.size_bytes, held_out)?.busbw_gbps();
            Some(own / expected).filter(|ratio| *ratio > 0.0 && ratio.is_finite())
        };
        let of_point = |((point, predicted), fold): ((&Point, &Option<f64>), &usize)| {
            let ratio = *ratios.entry(point.workload).or_insert_with(|| ratio(&point.workload, *fold));
            Some((*predicted)? * ratio?)
        };
        self.points.iter().zip(self.predicted(source)).zip(&self.folds).map(of_point).compact_collect()
    }

    /// The prediction of a source for each point, in GB/s; `None` where it has none.
    pub(super) fn predicted(&self, source: Source) -> &[Option<f64>] {
        self.predictors.get(&source).map_or(&[], |predictor| &predictor.predicted)
    }
}
