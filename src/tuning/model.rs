//! Learns busbw from a sweep.
//!
//! The default predicts the geometric mean of two models of busbw. One is trees, half of them extra trees and half a
//! random forest, on what Hockney's law (latency, then bandwidth, fitted for each (collective, scale, algorithm,
//! protocol)) leaves: they may jump where the library changes what it does. The other is a kriged surface of what a
//! plane through ln busbw over (log2 size, log2 channels) leaves, all algorithms and protocols of a collective and
//! scale together: what one of them does at a number of channels tells of the others there. Scales are never pooled.
//!
//! Beyond the largest size that an algorithm and protocol was measured at, neither is asked: there busbw goes on from
//! its values at the last measured sizes by latency and size over bandwidth ([`growth`]), at most up to
//! [`ExtrapolationCaps`].

use std::collections::{BTreeMap, BTreeSet};

use super::{
    aggregate::Point,
    baselines::ExtrapolationCaps,
    features::{self, ModelInput},
    parameters::{Parameters, Preset},
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    learn::{
        LearnError,
        boosting::Boosting,
        forest,
        forest::Forest,
        hockney::Hockney,
        importance::Shuffle,
        kriging::{Column, Kriging, Site},
        latency_bandwidth::{POINTS, growth},
        polynomial::Polynomial,
    },
    math::{exp, ln, log2},
    order::CompactSort,
    progress::Progress,
};

/// A fitted model of busbw.
pub struct BusbwModel {
    fitted: Fitted,
}

enum Fitted {
    Surfaces(Surfaces),
    Seed(Boosting),
    Forest(Forest),
}

/// Trees are grown on at most this many points, thinned evenly in the order of the sweep.
pub const MAX_POINTS: usize = 20_000;

impl BusbwModel {
    /// Learns from points with a positive busbw; the others are passed over.
    ///
    /// # Errors
    /// Fewer than two such points, or parameters outside their range.
    pub fn fit(points: &[Point], parameters: &Parameters, progress: &mut dyn Progress) -> Result<Self, LearnError> {
        let points: Vec<&Point> = points.iter().filter(|p| p.busbw_gbps > 0.0 && p.busbw_gbps.is_finite()).collect();
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        let few: Vec<&Point> = points.iter().copied().step_by(step).collect();
        let asks: Vec<ModelInput> = few.iter().map(|p| (p.workload, p.configuration)).collect();
        let busbw: Vec<f64> = few.iter().map(|p| p.busbw_gbps).collect();
        let logarithms = || busbw.iter().map(|b| ln(*b)).collect::<Vec<f64>>();
        let forest = |kind| forest::Parameters { kind, trees: parameters.trees, seed: parameters.seed };
        let fitted = match parameters.preset {
            Preset::Default => Fitted::Surfaces(Surfaces::fit(&points, &asks, &logarithms(), parameters, progress)?),
            Preset::Seed => {
                Fitted::Seed(Boosting::fit(&features::seed(&asks), &busbw, parameters.boosting(), progress)?)
            }
            Preset::Forest | Preset::ExtraTrees => {
                let kind = if parameters.preset == Preset::Forest {
                    forest::ForestKind::Random
                } else {
                    forest::ForestKind::ExtraTrees
                };
                Fitted::Forest(Forest::fit(&features::logarithmic(&asks), &logarithms(), forest(kind), progress)?)
            }
        };
        Ok(Self { fitted })
    }

    /// The expected busbw in GB/s of each ask, never negative; `None` where the model knows nothing of the
    /// algorithm and protocol for that collective.
    ///
    /// # Errors
    /// Returns an error if the trees can't be evaluated.
    pub fn predict(&self, asks: &[ModelInput]) -> Result<Vec<Option<f64>>, LearnError> {
        Ok(match &self.fitted {
            Fitted::Surfaces(surfaces) => surfaces.predict(asks)?,
            Fitted::Seed(boosting) => {
                boosting.predict(&features::seed(asks))?.into_iter().map(|b| Some(b.max(0.0))).collect()
            }
            Fitted::Forest(forest) => {
                forest.predict(&features::logarithmic(asks))?.into_iter().map(|b| Some(exp(b))).collect()
            }
        })
    }

    /// Names of the features, in the order of [`Self::importances`] and of a [`Shuffle`].
    pub fn feature_names(&self) -> &'static [&'static str] {
        match self.fitted {
            Fitted::Seed(_) => &features::SEED,
            Fitted::Surfaces(_) | Fitted::Forest(_) => &features::LOGARITHMIC,
        }
    }

    /// [`Self::predict`] with one feature's values taken from other asks.
    ///
    /// # Errors
    /// Returns an error if the trees can't be evaluated.
    pub fn predict_shuffled(
        &self,
        asks: &[ModelInput],
        shuffle: Option<&Shuffle>,
    ) -> Result<Vec<Option<f64>>, LearnError> {
        let Some(shuffle) = shuffle else { return self.predict(asks) };
        Ok(match &self.fitted {
            Fitted::Surfaces(surfaces) => surfaces.predict(&features::shuffled(asks, shuffle))?,
            Fitted::Seed(boosting) => {
                boosting.predict(&features::seed(asks).shuffled(shuffle))?.into_iter().map(Some).collect()
            }
            Fitted::Forest(_) => self.predict(&features::shuffled(asks, shuffle))?,
        })
    }

    /// Impurity importance of each feature of the trees, summing to 1. Of the default's trees, which see only
    /// what Hockney's law leaves.
    ///
    /// # Errors
    /// Returns an error if the trees can't be evaluated.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        match &self.fitted {
            Fitted::Surfaces(Surfaces { trees: [extra, random], .. }) => {
                let both = extra.importances()?.into_iter().zip(random.importances()?);
                Ok(features::of_named(both.map(|(a, b)| f64::midpoint(a, b)).collect()))
            }
            Fitted::Seed(boosting) => boosting.importances(),
            Fitted::Forest(forest) => Ok(features::of_named(forest.importances()?)),
        }
    }
}

/// The key of a surface.
type SurfaceKey = (Collective, Scale, Algorithm, Protocol);

fn key(workload: &Workload, configuration: &Configuration) -> SurfaceKey {
    (workload.collective, workload.scale, configuration.algorithm, configuration.protocol)
}

struct Surfaces {
    groups: BTreeMap<SurfaceKey, GroupSurface>,
    /// The residuals of the planes of all groups of a collective and scale, kriged.
    kriged: BTreeMap<(Collective, Scale), Kriging>,
    ceilings: ExtrapolationCaps,
    trees: [Forest; 2],
}

/// The share of the trees in the default's prediction; the kriged surface has the rest. Chosen on simulated sweeps,
/// judged on six real ones (docs/tuning.md).
const TREES_SHARE: f64 = 0.5;

/// A plane is as good as determined by any group: this only keeps a group of one size or one channel count solvable.
const PLANE_RIDGE: f64 = 0.1;

/// The measurements of one group: its sizes, and ln busbw at the coordinates of [`features::place`].
#[derive(Default)]
struct Members {
    sizes: BTreeSet<u64>,
    places: Vec<[f64; 2]>,
    heights: Vec<f64>,
}

/// The fitted trend of one group over the coordinates of [`features::place`].
struct GroupSurface {
    law: Hockney,
    plane: Polynomial,
    /// Its number among all groups, by which kriging distinguishes it from others.
    kind: u32,
    /// Its [`POINTS`] largest measured sizes, ascending.
    largest: Vec<u64>,
}

impl GroupSurface {
    fn fit(kind: u32, sizes: &BTreeSet<u64>, places: &[[f64; 2]], heights: &[f64]) -> Result<Self, LearnError> {
        let largest = sizes.iter().skip(sizes.len().saturating_sub(POINTS)).copied().collect();
        Ok(Self {
            law: Hockney::fit(places, heights)?,
            plane: Polynomial::fit(places, heights, 1, PLANE_RIDGE)?,
            kind,
            largest,
        })
    }

    /// Where a configuration of this group stands on the kriged surface.
    fn place(&self, [x, y]: [f64; 2]) -> Site {
        Site { x, column: Column { y, kind: self.kind } }
    }
}

impl Surfaces {
    fn fit(
        points: &[&Point],
        asks: &[ModelInput],
        target: &[f64],
        parameters: &Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        let mut members: BTreeMap<SurfaceKey, Members> = BTreeMap::new();
        for point in points {
            let Members { sizes, places, heights } =
                members.entry(key(&point.workload, &point.configuration)).or_default();
            sizes.insert(point.workload.size_bytes);
            places.push(features::place(point.workload.size_bytes, point.configuration.channels));
            heights.push(ln(point.busbw_gbps));
        }
        let mut groups: BTreeMap<SurfaceKey, GroupSurface> = BTreeMap::new();
        let mut left: BTreeMap<(Collective, Scale), (Vec<Site>, Vec<f64>)> = BTreeMap::new();
        let total = members.len() as u64;
        for (key, Members { sizes, places, heights }) in members {
            progress.report("Fitting surfaces", groups.len() as u64, total);
            let (all_places, all_heights) = left.entry((key.0, key.1)).or_default();
            let group = GroupSurface::fit(groups.len() as u32, &sizes, &places, &heights)?;
            all_places.extend(places.iter().map(|place| group.place(*place)));
            all_heights.extend(places.iter().zip(&heights).map(|(place, height)| height - group.plane.predict(*place)));
            groups.insert(key, group);
        }
        let mut kriged = BTreeMap::new();
        for (scale, (places, heights)) in left {
            progress.report("Fitting surfaces", total, total);
            kriged.insert(scale, Kriging::fit(&places, &heights)?);
        }
        let residual: Vec<f64> = asks
            .iter()
            .zip(target)
            .map(|((workload, configuration), height)| {
                let place = features::place(workload.size_bytes, configuration.channels);
                groups.get(&key(workload, configuration)).map_or(0.0, |group| height - group.law.predict(place))
            })
            .collect();
        let table = features::logarithmic(asks);
        let mut grow = |kind| {
            let parameters = forest::Parameters { kind, trees: parameters.trees.div_ceil(2), seed: parameters.seed };
            Forest::fit(&table, &residual, parameters, progress)
        };
        let trees = [grow(forest::ForestKind::ExtraTrees)?, grow(forest::ForestKind::Random)?];
        Ok(Self { groups, kriged, ceilings: ExtrapolationCaps::new(points.iter().copied()), trees })
    }

    fn predict(&self, asks: &[ModelInput]) -> Result<Vec<Option<f64>>, LearnError> {
        // Each ask becomes asks at scales that are known and at sizes between measured ones.
        let mut inside: Vec<ModelInput> = Vec::with_capacity(asks.len());
        let mut parts = Vec::with_capacity(asks.len());
        for (index, (workload, configuration)) in asks.iter().enumerate() {
            for (scale, share) in self.known_scales(&(*workload, *configuration)) {
                let there = Workload { scale, ..*workload };
                let Some(group) = self.groups.get(&key(&there, configuration)) else { continue };
                let is_beyond = group.largest.last().is_some_and(|last| workload.size_bytes > *last);
                // Trees are constant beyond the points that they were grown on, so beyond the largest size the model is
                // asked at the largest measured sizes, and their curve is continued by latency and bandwidth.
                let sizes = if is_beyond { &group.largest[..] } else { std::slice::from_ref(&workload.size_bytes) };
                let first = inside.len();
                inside.extend(sizes.iter().map(|size| (Workload { size_bytes: *size, ..there }, *configuration)));
                parts.push((index, there, share, group, first..inside.len()));
            }
        }
        let table = features::logarithmic(&inside);
        let [extra, random] = &self.trees;
        let residuals: Vec<f64> =
            extra.predict(&table)?.into_iter().zip(random.predict(&table)?).map(|(a, b)| f64::midpoint(a, b)).collect();
        let mut sums: Vec<Option<f64>> = vec![None; asks.len()];
        for (index, there, share, group, range) in parts {
            let place = |ask: &ModelInput| features::place(ask.0.size_bytes, ask.1.channels);
            let kriged = &self.kriged[&(there.collective, there.scale)];
            let height = |place: [f64; 2], residual: f64| {
                let surface = group.plane.predict(place) + kriged.predict(group.place(place));
                // Heights are logarithms: their weighted mean is the weighted geometric mean of the two models.
                surface + (group.law.predict(place) + residual - surface) * TREES_SHARE
            };
            let heights: Vec<(f64, f64)> = inside[range.clone()]
                .iter()
                .zip(&residuals[range])
                .map(|(ask, residual)| (place(ask)[0], height(place(ask), *residual)))
                .collect();
            let Some((nearest, height)) = heights.last().copied() else { continue };
            let wanted = features::place(there.size_bytes, 1)[0];
            let height = if wanted.total_cmp(&nearest).is_eq() {
                height
            } else {
                (height + growth(&heights, wanted)).min(self.ceilings.height(there.collective, there.scale))
            };
            *sums[index].get_or_insert(0.0) += share * height;
        }
        Ok(sums.into_iter().map(|sum| sum.map(exp).filter(|b| b.is_finite())).collect())
    }

    /// The measured scales that stand for an ask's: itself where it was measured, else its neighbours in ranks,
    /// weighted linearly over log2 of the ranks; beyond the ends the nearest.
    fn known_scales(&self, (workload, configuration): &ModelInput) -> Vec<(Scale, f64)> {
        if self.groups.contains_key(&key(workload, configuration)) {
            return vec![(workload.scale, 1.0)];
        }
        let order = |scale: &Scale| (scale.ranks, scale.nodes);
        let wanted = order(&workload.scale);
        let mut known: Vec<Scale> = self
            .groups
            .keys()
            .filter(|(c, _, a, p)| {
                (*c, *a, *p) == (workload.collective, configuration.algorithm, configuration.protocol)
            })
            .map(|(_, scale, _, _)| *scale)
            .collect();
        known.compact_sort_by_key(order);
        let above = known.partition_point(|scale| order(scale) < wanted);
        match (above.checked_sub(1).map(|below| known[below]), known.get(above)) {
            (Some(low), Some(high)) if low.ranks < high.ranks => {
                let place = |ranks: u32| log2(f64::from(ranks.max(1)));
                let share = (place(workload.scale.ranks) - place(low.ranks)) / (place(high.ranks) - place(low.ranks));
                vec![(low, 1.0 - share), (*high, share)]
            }
            (Some(nearest), _) => vec![(nearest, 1.0)],
            (None, Some(nearest)) => vec![(*nearest, 1.0)],
            (None, None) => Vec::new(),
        }
    }
}
