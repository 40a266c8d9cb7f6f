//! Learns busbw from a sweep.
//!
//! The default predicts a weighted geometric mean of three models of busbw. Two are kriged surfaces of ln busbw over
//! (log2 size, log2 channels), fitted for each (collective, scale, algorithm, protocol) by itself: scales are never
//! pooled. One is kriged around Hockney's law (latency, then bandwidth), which knows how a curve bends between the
//! measured sizes and flattens beyond them; the other around a plane, which believes in no law and so errs elsewhere.
//! The third are extra trees on what Hockney's law leaves: they may jump where a smooth surface can't, but are
//! stepped between sizes, and so have a small share.
//!
//! Beyond the sizes that such a group was measured at, none of them is asked: there busbw goes on from its values at the
//! outermost measured sizes by latency and size over bandwidth ([`growth`]), at most up to [`CEILING`].

use crate::sorted::{SortedMap, SortedSet};

use super::{
    aggregate::Point,
    baselines::CEILING,
    features::{self, Ask},
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
        kriging::{Kriging, Trend},
        latency_bandwidth::{POINTS, growth},
        polynomial::Polynomial,
    },
    math::{exp, ln, log2},
    order::Order,
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
pub const MOST_POINTS: usize = 20_000;

impl BusbwModel {
    /// Learns from points with a positive busbw; the others are passed over.
    ///
    /// # Errors
    /// Fewer than two such points, or parameters outside their range.
    pub fn fit(points: &[Point], parameters: &Parameters, progress: &mut dyn Progress) -> Result<Self, LearnError> {
        let points: Vec<&Point> = points.iter().filter(|p| p.busbw_gbps > 0.0 && p.busbw_gbps.is_finite()).collect();
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let few: Vec<&Point> = points.iter().copied().step_by(step).collect();
        let asks: Vec<Ask> = few.iter().map(|p| (p.workload, p.configuration)).collect();
        let busbw: Vec<f64> = few.iter().map(|p| p.busbw_gbps).collect();
        let logarithms = || busbw.iter().map(|b| ln(*b)).collect::<Vec<f64>>();
        let forest = |kind| forest::Parameters { kind, trees: parameters.trees, seed: parameters.seed };
        let fitted = match parameters.preset {
            Preset::Default => Fitted::Surfaces(Surfaces::fit(&points, &asks, &logarithms(), parameters, progress)?),
            Preset::Seed => {
                Fitted::Seed(Boosting::fit(&features::seed(&asks), &busbw, parameters.boosting(), progress)?)
            }
            Preset::Forest | Preset::ExtraTrees => {
                let kind =
                    if parameters.preset == Preset::Forest { forest::Kind::Random } else { forest::Kind::ExtraTrees };
                Fitted::Forest(Forest::fit(&features::logarithmic(&asks), &logarithms(), forest(kind), progress)?)
            }
        };
        Ok(Self { fitted })
    }

    /// The expected busbw in GB/s of each ask, never negative; `None` where the model knows nothing of the
    /// algorithm and protocol for that collective.
    ///
    /// # Errors
    /// What the trees say.
    pub fn predict(&self, asks: &[Ask]) -> Result<Vec<Option<f64>>, LearnError> {
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
    #[must_use]
    pub fn feature_names(&self) -> &'static [&'static str] {
        match self.fitted {
            Fitted::Seed(_) => &features::SEED,
            Fitted::Surfaces(_) | Fitted::Forest(_) => &features::LOGARITHMIC,
        }
    }

    /// [`Self::predict`] with one feature's values taken from other asks.
    ///
    /// # Errors
    /// What the trees say.
    pub fn predict_shuffled(&self, asks: &[Ask], shuffle: Option<&Shuffle>) -> Result<Vec<Option<f64>>, LearnError> {
        let Some(shuffle) = shuffle else { return self.predict(asks) };
        Ok(match &self.fitted {
            Fitted::Surfaces(surfaces) => surfaces.predict(&features::shuffled(asks, shuffle))?,
            Fitted::Seed(boosting) => {
                boosting.predict(&features::seed(asks).shuffled(shuffle))?.into_iter().map(Some).collect()
            }
            Fitted::Forest(forest) => {
                let heights = forest.predict(&features::logarithmic(asks).shuffled(shuffle))?;
                heights.into_iter().map(|height| Some(exp(height))).collect()
            }
        })
    }

    /// Impurity importance of each feature of the trees, summing to 1. Of the default's trees, which see only
    /// what Hockney's law leaves.
    ///
    /// # Errors
    /// What the trees say.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        match &self.fitted {
            Fitted::Surfaces(surfaces) => surfaces.trees.importances(),
            Fitted::Seed(boosting) => boosting.importances(),
            Fitted::Forest(forest) => forest.importances(),
        }
    }
}

/// One surface's group.
type Key = (Collective, Scale, Algorithm, Protocol);

fn key(workload: &Workload, configuration: &Configuration) -> Key {
    (workload.collective, workload.scale, configuration.algorithm, configuration.protocol)
}

struct Surfaces {
    groups: SortedMap<Key, Group>,
    /// ln of the largest busbw that is expected beyond measured sizes.
    ceilings: SortedMap<(Collective, Scale), f64>,
    trees: Forest,
}

/// The share of the trees in the default's prediction; the two kriged surfaces have half of the rest each. On six
/// sweeps anything up to a tenth lowers the mean error and hardly moves the choices; beyond, the steps of the trees
/// begin to decide between neighbouring channel counts.
const TREES_SHARE: f64 = 0.05;

/// A twentieth of a prediction needs no large forest: the default grows one tree where the forests grow this many.
const SMALL_FOREST: u32 = 5;

/// A plane is as good as determined by any group: this only keeps a group of one size or one channel count solvable.
const PLANE_RIDGE: f64 = 0.1;

/// The kriged surfaces of one group, over [`features::place`].
struct Group {
    around_hockney: Kriging,
    around_plane: Kriging,
    /// Up to [`POINTS`] of its measured sizes at each end, towards that end: the smallest, the largest.
    ends: [Vec<u64>; 2],
}

/// Where a prediction comes from.
enum From<'a> {
    /// A size between the measured ones.
    Here,
    /// The measured sizes next to it.
    End(&'a [u64]),
}

impl Group {
    fn fit(sizes: &SortedSet<u64>, places: &[[f64; 2]], heights: &[f64]) -> Result<Self, LearnError> {
        let hockney = Trend::Hockney(Hockney::fit(places, heights)?);
        let plane = Trend::Polynomial(Polynomial::fit(places, heights, 1, PLANE_RIDGE)?);
        let [around_hockney, around_plane] = Kriging::fit(places, heights, [hockney, plane])?;
        let smallest = sizes.iter().take(POINTS).rev().copied().collect();
        let largest = sizes.iter().skip(sizes.len().saturating_sub(POINTS)).copied().collect();
        Ok(Self { around_hockney, around_plane, ends: [smallest, largest] })
    }

    /// From which sizes a size is predicted.
    fn sizes_for(&self, size_bytes: u64) -> From<'_> {
        let [smallest, largest] = &self.ends;
        if smallest.last().is_some_and(|first| size_bytes < *first) {
            From::End(smallest)
        } else if largest.last().is_some_and(|last| size_bytes > *last) {
            From::End(largest)
        } else {
            From::Here
        }
    }

    /// What the trees start from.
    fn law(&self, place: [f64; 2]) -> f64 {
        self.around_hockney.trend().predict(place)
    }

    /// ln busbw, given what the trees expect above the law.
    fn height(&self, place: [f64; 2], residual: f64) -> f64 {
        let kriged = f64::midpoint(self.around_hockney.predict(place), self.around_plane.predict(place));
        kriged * (1.0 - TREES_SHARE) + (self.law(place) + residual) * TREES_SHARE
    }
}

impl Surfaces {
    fn fit(
        points: &[&Point],
        asks: &[Ask],
        target: &[f64],
        parameters: &Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        let mut members: SortedMap<Key, (SortedSet<u64>, Vec<[f64; 2]>, Vec<f64>)> = SortedMap::new();
        let mut ceilings: SortedMap<(Collective, Scale), f64> = SortedMap::new();
        for point in points {
            let ceiling = ln(point.busbw_gbps * CEILING);
            let held = ceilings.entry((point.workload.collective, point.workload.scale)).or_insert(ceiling);
            *held = held.max(ceiling);
            let (sizes, places, heights) = members.entry(key(&point.workload, &point.configuration)).or_default();
            sizes.insert(point.workload.size_bytes);
            places.push(features::place(point.workload.size_bytes, point.configuration.channels));
            heights.push(ln(point.busbw_gbps));
        }
        let mut groups = SortedMap::new();
        let total = members.len() as u64;
        for (key, (sizes, places, heights)) in members {
            progress.report("Fitting surfaces", groups.len() as u64, total);
            groups.insert(key, Group::fit(&sizes, &places, &heights)?);
        }
        let residual: Vec<f64> = asks
            .iter()
            .zip(target)
            .map(|((workload, configuration), height)| {
                let place = features::place(workload.size_bytes, configuration.channels);
                groups.get(&key(workload, configuration)).map_or(0.0, |group| height - group.law(place))
            })
            .collect();
        let trees = parameters.trees.div_ceil(SMALL_FOREST);
        let parameters = forest::Parameters { kind: forest::Kind::ExtraTrees, trees, seed: parameters.seed };
        let trees = Forest::fit(&features::logarithmic(asks), &residual, parameters, progress)?;
        Ok(Self { groups, ceilings, trees })
    }

    fn predict(&self, asks: &[Ask]) -> Result<Vec<Option<f64>>, LearnError> {
        // Each ask becomes asks at scales that are known and at sizes between measured ones.
        let mut inside: Vec<Ask> = Vec::with_capacity(asks.len());
        let mut parts = Vec::with_capacity(asks.len());
        for (index, (workload, configuration)) in asks.iter().enumerate() {
            for (scale, share) in self.known_scales(&(*workload, *configuration)) {
                let there = Workload { scale, ..*workload };
                let Some(group) = self.groups.get(&key(&there, configuration)) else { continue };
                let sizes = match group.sizes_for(workload.size_bytes) {
                    From::Here => std::slice::from_ref(&workload.size_bytes),
                    From::End(sizes) => sizes,
                };
                let first = inside.len();
                inside.extend(sizes.iter().map(|size| (Workload { size_bytes: *size, ..there }, *configuration)));
                parts.push((index, there, share, group, first..inside.len()));
            }
        }
        let residuals = self.trees.predict(&features::logarithmic(&inside))?;
        let mut sums: Vec<Option<f64>> = vec![None; asks.len()];
        for (index, there, share, group, range) in parts {
            let place = |ask: &Ask| features::place(ask.0.size_bytes, ask.1.channels);
            let heights: Vec<(f64, f64)> = inside[range.clone()]
                .iter()
                .zip(&residuals[range])
                .map(|(ask, residual)| (place(ask)[0], group.height(place(ask), *residual)))
                .collect();
            let Some((nearest, height)) = heights.last().copied() else { continue };
            let wanted = features::place(there.size_bytes, 1)[0];
            let height = if wanted.total_cmp(&nearest).is_eq() {
                height
            } else {
                (height + growth(&heights, wanted)).min(self.ceilings[&(there.collective, there.scale)])
            };
            *sums[index].get_or_insert(0.0) += share * height;
        }
        Ok(sums.into_iter().map(|sum| sum.map(exp).filter(|b| b.is_finite())).collect())
    }

    /// The measured scales that stand for an ask's: itself where it was measured, else its neighbours in ranks,
    /// weighted linearly over log2 of the ranks; beyond the ends the nearest.
    fn known_scales(&self, (workload, configuration): &Ask) -> Vec<(Scale, f64)> {
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
        known.order_by_key(order);
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
