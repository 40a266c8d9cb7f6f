//! The choices at held-out sizes, with the default among the candidates, and their regret. The highest expected busbw
//! decides here, without the interval that a deployment needs: the regret is to compare sources, and how sure a gain
//! must be is no property of a source.

use std::collections::BTreeMap;

use super::{folds::FoldScheme, scores::PredictorScores};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    learn::metrics,
    order::{CompactCollect, CompactSort},
    tuning::{aggregate::Point, decision::default_without, result::Source, sweep::Sweep},
};

/// The model answers unless the mean regret of a baseline is smaller by more than this, in percentage points: a smaller
/// difference says nothing about the next size.
pub const SLACK_POINTS: f64 = 0.2;

/// The mean regret of the choices of each source, in per cent.
pub type Regret = BTreeMap<Source, f64>;

/// The choice that would have been deployed at one held-out size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOutChoice {
    /// The workload whose runs were left out of training.
    pub workload: Workload,
    /// The source of the choice; [`Source::Default`] where nothing was expected to be faster than the default.
    pub source: Source,
    /// The choice; `None` where the default stays.
    pub configuration: Option<Configuration>,
    /// The regret of the choice: the share of the best measured busbw, the default's included, that it loses, in per
    /// cent.
    pub regret_pct: f64,
    /// How many were measured there, the default among them: of one there is nothing to choose, and no regret.
    pub measured: usize,
}

/// By source: the fold of each held-out workload, and the choice there.
type BySource = BTreeMap<Source, Vec<(usize, HeldOutChoice)>>;

/// The choices of each source, for each (collective, scale).
#[derive(Debug, Default)]
pub(super) struct HeldOutChoices {
    all: BTreeMap<(Collective, Scale), BySource>,
}

impl HeldOutChoices {
    pub(super) fn new(sweep: &Sweep, scores: &PredictorScores) -> Self {
        let folds: BTreeMap<Workload, usize> =
            sweep.points.iter().zip(&scores.folds).map(|(point, fold)| (point.workload, *fold)).compact_collect();
        let mut all: BTreeMap<_, BySource> = BTreeMap::new();
        for (workload, configurations) in &scores.workloads {
            let group = (workload.collective, workload.scale);
            let fold = folds[workload];
            // The default is held out together with the size.
            let own = sweep.default_at(workload).map(|default| default.busbw_gbps);
            let held_out = |point: &Point| folds.get(&point.workload) == Some(&fold);
            let there = default_without(sweep.defaults_of(group.0, group.1), workload.size_bytes, held_out);
            let measured = configurations.len() + usize::from(own.is_some());
            let best = configurations.values().copied().chain(own).fold(0.0, f64::max);
            if best <= 0.0 {
                continue;
            }
            for (source, predictor) in &scores.predictors {
                let Some((choice, expected)) = predictor.choices.get(workload).copied() else { continue };
                let default_is_expected_to_win =
                    expected.zip(there).is_some_and(|(choice, default)| choice <= default.busbw_gbps());
                let (source_of, configuration, got) = match own.filter(|_| default_is_expected_to_win) {
                    Some(own) => (Source::Default, None, own),
                    None => (*source, Some(choice), configurations.get(&choice).copied().unwrap_or(0.0)),
                };
                let regret_pct = (1.0 - got / best) * 100.0;
                let deployed =
                    HeldOutChoice { workload: *workload, source: source_of, configuration, regret_pct, measured };
                all.entry(group).or_default().entry(*source).or_default().push((fold, deployed));
            }
        }
        Self { all }
    }

    /// The mean regret of each collective and scale by source, over the folds for which `counts` is true.
    pub(super) fn regret(&self, counts: impl Fn(usize) -> bool) -> BTreeMap<(Collective, Scale), Regret> {
        let mean = |deployed: &Vec<(usize, HeldOutChoice)>| {
            let lost: Vec<f64> = deployed.iter().filter(|(f, _)| counts(*f)).map(|(_, d)| d.regret_pct).collect();
            metrics::mean(&lost)
        };
        let of = |sources: &BySource| {
            sources.iter().filter_map(|(source, deployed)| Some((*source, mean(deployed)?))).compact_collect()
        };
        self.all.iter().map(|(group, sources)| (*group, of(sources))).compact_collect()
    }

    /// The choices of the source with the smallest regret over all folds.
    pub(super) fn chosen(&self) -> Vec<HeldOutChoice> {
        let regret = self.regret(|_| true);
        self.pick(|group, _| least_regret(&regret[group]))
    }

    /// The same, with the source of each fold chosen by the regret in the other folds only.
    pub(super) fn nested(&self) -> Vec<HeldOutChoice> {
        let others: Vec<_> = (0..FoldScheme::Size.folds()).map(|fold| self.regret(|other| other != fold)).collect();
        self.pick(|group, fold| others.get(fold).and_then(|o| o.get(group)).map_or(Source::Model, least_regret))
    }

    fn pick(&self, source: impl Fn(&(Collective, Scale), usize) -> Source) -> Vec<HeldOutChoice> {
        let of_group = |(group, sources): (&(Collective, Scale), &BySource)| {
            let of_source = |(name, deployed): (&Source, &Vec<(usize, HeldOutChoice)>)| {
                deployed.iter().filter(|(f, _)| source(group, *f) == *name).map(|(_, d)| *d).collect::<Vec<_>>()
            };
            let mut picked: Vec<HeldOutChoice> = sources.iter().flat_map(of_source).collect();
            picked.compact_sort_by_key(|deployed| deployed.workload);
            picked
        };
        self.all.iter().flat_map(of_group).collect()
    }
}

/// The mean regret of each source over the scales of each collective.
pub(super) fn by_collective(regret: &BTreeMap<(Collective, Scale), Regret>) -> BTreeMap<Collective, Regret> {
    let mut all: BTreeMap<Collective, BTreeMap<Source, Vec<f64>>> = BTreeMap::new();
    for ((collective, _), of_scale) in regret {
        let of_collective = all.entry(*collective).or_default();
        of_scale.iter().for_each(|(source, lost)| of_collective.entry(*source).or_default().push(*lost));
    }
    let mean = |(source, lost): (Source, Vec<f64>)| Some((source, metrics::mean(&lost)?));
    all.into_iter()
        .map(|(collective, of)| (collective, of.into_iter().filter_map(mean).compact_collect()))
        .compact_collect()
}

/// The mean regret of choices between at least two; `None` of none.
pub(super) fn mean_regret(deployed: &[HeldOutChoice]) -> Option<f64> {
    let chosen = deployed.iter().filter(|deployed| deployed.measured > 1);
    metrics::mean(&chosen.map(|deployed| deployed.regret_pct).collect::<Vec<f64>>())
}

/// The source that answers: the model, unless a baseline's regret is smaller by more than [`SLACK_POINTS`].
pub fn least_regret(regret: &Regret) -> Source {
    let model = regret.get(&Source::Model).copied().unwrap_or(f64::INFINITY);
    regret
        .iter()
        .filter(|(_, lost)| **lost + SLACK_POINTS < model)
        .min_by(|a, b| a.1.total_cmp(b.1))
        .map_or(Source::Model, |(source, _)| *source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_answers_only_where_it_loses_clearly_less() {
        let regret = |model, interpolation| {
            Regret::from([(Source::Model, model), (Source::LogLinearInterpolation, interpolation)])
        };
        assert_eq!(least_regret(&regret(1.0, 0.9)), Source::Model);
        assert_eq!(least_regret(&regret(1.0, 0.7)), Source::LogLinearInterpolation);
        assert_eq!(least_regret(&Regret::from([(Source::NearestSize, 5.0)])), Source::NearestSize);
        assert_eq!(least_regret(&Regret::new()), Source::Model);
    }
}
