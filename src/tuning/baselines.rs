//! Predictors that need no learning, to be beaten or to be used.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::{aggregate::Point, features::ModelInput};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    learn::latency_bandwidth::growth,
    math::{exp, ln, log2},
    order::CompactCollect,
};

/// Nothing beyond the largest measured size of a collective and scale is expected to be faster than this times the
/// largest busbw that was measured there: a law that is fitted to a few points near an end may still promise more.
pub const EXTRAPOLATION_CAP: f64 = 1.15;

/// The largest ln busbw that is expected beyond the measured sizes of each (collective, scale): see
/// [`EXTRAPOLATION_CAP`].
#[derive(Clone, Debug, Default)]
pub struct ExtrapolationCaps(BTreeMap<(Collective, Scale), f64>);

impl ExtrapolationCaps {
    /// The ceilings over points with a positive busbw.
    pub fn new<'a>(points: impl IntoIterator<Item = &'a Point>) -> Self {
        let mut ceilings = Self::default();
        points.into_iter().for_each(|point| ceilings.add(point));
        ceilings
    }

    fn add(&mut self, point: &Point) {
        let Self(ceilings) = self;
        let ceiling = ln(point.busbw_gbps * EXTRAPOLATION_CAP);
        let held = ceilings.entry((point.workload.collective, point.workload.scale)).or_insert(ceiling);
        *held = held.max(ceiling);
    }

    /// In ln GB/s; infinite where nothing was measured.
    pub fn height(&self, collective: Collective, scale: Scale) -> f64 {
        self.0.get(&(collective, scale)).copied().unwrap_or(f64::INFINITY)
    }
}

/// busbw over size, as it is interpolated: ln busbw over log2 size, piecewise linear; below the smallest size the line
/// through the next two, beyond the largest latency and size over bandwidth ([`growth`]).
#[derive(Clone, Debug, Default)]
pub struct BusbwCurve(Vec<(f64, f64)>);

impl BusbwCurve {
    /// The curve through points of ascending size, whatever ran there.
    pub fn new<'a>(points: impl IntoIterator<Item = &'a Point>) -> Self {
        let mut curve = Self::default();
        for point in points.into_iter().filter(|point| is_measured(point)) {
            curve.push(point.workload.size_bytes as f64, point.busbw_gbps);
        }
        curve
    }

    /// The curve through places of log2 size and ln busbw, by size.
    pub fn through(places: Vec<(f64, f64)>) -> Self {
        Self(places)
    }

    fn push(&mut self, x: f64, busbw_gbps: f64) {
        self.0.push((log2(x), ln(busbw_gbps)));
    }

    /// busbw in GB/s at a size; `None` of an empty curve.
    pub fn at(&self, size_bytes: f64) -> Option<f64> {
        self.height(log2(size_bytes)).map(exp).filter(|busbw| busbw.is_finite())
    }

    /// ln busbw at a log2 size; `None` of an empty curve.
    pub fn height(&self, x: f64) -> Option<f64> {
        let Self(curve) = self;
        let last = curve.last()?;
        if x > last.0 { Some(last.1 + growth(curve, x)) } else { self.line(x) }
    }

    /// The same, with the line through the last two places beyond the ends.
    fn line(&self, x: f64) -> Option<f64> {
        let Self(curve) = self;
        let above = curve.partition_point(|(known, _)| *known < x).clamp(1, curve.len().max(2) - 1);
        let Some((x1, y1)) = curve.get(above) else { return curve.first().map(|(_, y)| *y) };
        let (x0, y0) = curve[above - 1];
        Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    }
}

/// The measurements of each (collective, scale), by size and configuration.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    by_size: BTreeMap<(Collective, Scale), BTreeMap<u64, BTreeMap<Configuration, f64>>>,
    curves: BTreeMap<(Collective, Scale), BTreeMap<Configuration, BusbwCurve>>,
    ceilings: ExtrapolationCaps,
    /// The scales of each collective by ranks, then nodes.
    by_ranks: BTreeSet<(Collective, u32, u32)>,
}

fn is_measured(point: &Point) -> bool {
    point.busbw_gbps > 0.0 && point.busbw_gbps.is_finite()
}

impl Measurements {
    /// Sorts points with a positive busbw.
    pub fn new<'a>(points: impl IntoIterator<Item = &'a Point>) -> Self {
        let mut measurements = Self::default();
        for point in points.into_iter().filter(|point| is_measured(point)) {
            measurements.ceilings.add(point);
            let Workload { collective, scale, size_bytes } = point.workload;
            let sizes = measurements.by_size.entry((collective, scale)).or_default();
            sizes.entry(size_bytes).or_default().insert(point.configuration, point.busbw_gbps);
        }
        for (group, sizes) in &measurements.by_size {
            let curves = measurements.curves.entry(*group).or_default();
            for (size_bytes, configurations) in sizes {
                for (configuration, busbw) in configurations {
                    curves.entry(*configuration).or_default().push(*size_bytes as f64, *busbw);
                }
            }
        }
        let groups = measurements.by_size.keys();
        measurements.by_ranks =
            groups.map(|(collective, scale)| (*collective, scale.ranks, scale.nodes)).compact_collect();
        measurements
    }

    /// The measured configurations of a workload with their bus bandwidth in GB/s, ascending by configuration.
    pub fn at(&self, workload: &Workload) -> impl Iterator<Item = (Configuration, f64)> {
        self.sizes(workload)
            .and_then(|sizes| sizes.get(&workload.size_bytes))
            .into_iter()
            .flatten()
            .map(|(configuration, busbw)| (*configuration, *busbw))
    }

    /// Configurations that were measured at a workload's collective and scale, ascending.
    pub fn configurations(&self, collective: Collective, scale: Scale) -> impl Iterator<Item = Configuration> {
        self.curves.get(&(collective, scale)).into_iter().flat_map(|curves| curves.keys().copied())
    }

    fn sizes(&self, workload: &Workload) -> Option<&BTreeMap<u64, BTreeMap<Configuration, f64>>> {
        self.by_size.get(&(workload.collective, workload.scale))
    }

    /// Log-linear interpolation over size for each configuration ([`BusbwCurve`]), beyond its sizes at most the
    /// [`EXTRAPOLATION_CAP`]. `None` where the configuration was never measured at that scale.
    pub fn interpolate(&self, (workload, configuration): &ModelInput) -> Option<f64> {
        let group = (workload.collective, workload.scale);
        let height = self.curves.get(&group)?.get(configuration)?.height(log2(workload.size_bytes as f64))?;
        Some(exp(height.min(self.ceilings.height(group.0, group.1)))).filter(|busbw| busbw.is_finite())
    }

    /// Whether anything was measured at a collective and scale.
    pub fn knows(&self, collective: Collective, scale: Scale) -> bool {
        self.by_size.contains_key(&(collective, scale))
    }

    /// [`Self::interpolate`] at a scale that was measured, else [`Self::interpolate_scale`].
    pub fn expect(&self, ask: &ModelInput) -> Option<f64> {
        let Workload { collective, scale, .. } = ask.0;
        if self.knows(collective, scale) { self.interpolate(ask) } else { self.interpolate_scale(ask) }
    }

    /// Log-linear interpolation over channels for each algorithm and protocol of one workload. `None` where the pair
    /// was not measured there.
    pub fn interpolate_channels(&self, (workload, configuration): &ModelInput) -> Option<f64> {
        let mut curve = BusbwCurve::default();
        for (known, busbw) in self.at(workload) {
            if (known.algorithm, known.protocol) == (configuration.algorithm, configuration.protocol) {
                curve.push(f64::from(known.channels.max(1)), busbw);
            }
        }
        curve.line(log2(f64::from(configuration.channels.max(1)))).map(exp).filter(|busbw| busbw.is_finite())
    }

    /// The measured scales of a collective that stand for another: its neighbours in ranks, with shares that are
    /// linear over log2 of the ranks; beyond the ends the nearest.
    fn neighbours(&self, collective: Collective, scale: Scale) -> Vec<(Scale, f64)> {
        let ranks = |scale: &Scale| f64::from(scale.ranks.max(1));
        let of_collective = |(known, ranks, nodes): &(Collective, u32, u32)| {
            (*known == collective).then_some(Scale { nodes: *nodes, ranks: *ranks })
        };
        let here = (collective, scale.ranks, u32::MAX);
        let below = self.by_ranks.range(..=here).next_back().and_then(of_collective);
        let above = self.by_ranks.range((Bound::Excluded(here), Bound::Unbounded)).next().and_then(of_collective);
        match (below, above) {
            (Some(low), Some(high)) => {
                let share = (log2(ranks(&scale)) - log2(ranks(&low))) / (log2(ranks(&high)) - log2(ranks(&low)));
                vec![(low, 1.0 - share), (high, share)]
            }
            (low, high) => low.or(high).map(|nearest| (nearest, 1.0)).into_iter().collect(),
        }
    }

    /// Log-linear interpolation over size and ranks, for a scale that was not measured. `None` where a neighbouring
    /// scale lacks the configuration.
    pub fn interpolate_scale(&self, (workload, configuration): &ModelInput) -> Option<f64> {
        let mut height = None;
        for (scale, share) in self.neighbours(workload.collective, workload.scale) {
            let there = self.interpolate(&(Workload { scale, ..*workload }, *configuration))?;
            *height.get_or_insert(0.0) += share * ln(there);
        }
        height.map(exp)
    }

    /// The measured scale of a collective that is nearest in log2 ranks, tie to the smaller.
    pub fn nearest_scale(&self, collective: Collective, scale: Scale) -> Option<Scale> {
        let neighbours = self.neighbours(collective, scale);
        neighbours.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(scale, _)| scale)
    }

    /// The winner of the measured size with the smallest |log2 ratio|, tie to the smaller size.
    pub fn nearest_size_winner(&self, workload: &Workload) -> Option<(Configuration, f64)> {
        let sizes = self.sizes(workload)?;
        let wanted = log2(workload.size_bytes as f64);
        let distance = |size: u64| (log2(size as f64) - wanted).abs();
        let (_, configurations) = sizes.iter().min_by(|a, b| distance(*a.0).total_cmp(&distance(*b.0)))?;
        winner(configurations.iter().map(|(c, b)| (*c, *b)))
    }

    /// The configuration with the highest mean of busbw / best of its size, over the sizes of a collective and
    /// scale; a size at which it was not measured counts as zero.
    pub fn best_single(&self, collective: Collective, scale: Scale) -> Option<Configuration> {
        let sizes = self.by_size.get(&(collective, scale))?;
        let mut shares: BTreeMap<Configuration, f64> = BTreeMap::new();
        for configurations in sizes.values() {
            let best = configurations.values().copied().fold(0.0, f64::max);
            for (configuration, busbw) in configurations {
                *shares.entry(*configuration).or_default() += busbw / best;
            }
        }
        winner(shares.into_iter()).map(|(configuration, _)| configuration)
    }
}

/// The highest value; equal: fewest channels, then algorithm code, then protocol code.
pub fn winner(candidates: impl Iterator<Item = (Configuration, f64)>) -> Option<(Configuration, f64)> {
    candidates.reduce(|best, next| {
        let order = |c: &Configuration| (c.channels, c.algorithm.code(), c.protocol.code());
        let better = next.1 > best.1 || next.1.total_cmp(&best.1).is_eq() && order(&next.0) < order(&best.0);
        if better { next } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
    }

    fn ring(channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels }
    }

    fn measured(size_bytes: u64, channels: u32, busbw_gbps: f64) -> Point {
        Point::new(workload(size_bytes), ring(channels), busbw_gbps)
    }

    fn sample() -> Measurements {
        Measurements::new(&[
            measured(1024, 1, 2.0),
            measured(4096, 1, 8.0),
            measured(1024, 2, 1.0),
            measured(4096, 2, 9.0),
            measured(16384, 2, 30.0),
        ])
    }

    #[test]
    fn interpolation_is_linear_in_the_logarithms_and_beyond_the_ends_latency_and_bandwidth_below_a_ceiling() {
        let at = |size, channels| sample().interpolate(&(workload(size), ring(channels))).unwrap_or_default();
        assert!((at(2048, 1) - 4.0).abs() < 1e-9);
        assert!((at(8192, 1) - 16.0).abs() < 1e-9);
        assert!((at(1 << 20, 1) - 30.0 * EXTRAPOLATION_CAP).abs() < 1e-9);
        assert!((at(512, 1) - 1.0).abs() < 1e-9);
        assert!((at(4096, 2) - 9.0).abs() < 1e-9);
        assert_eq!(sample().interpolate(&(workload(2048), ring(3))), None);
    }

    #[test]
    fn one_size_is_a_constant() {
        let measurements = Measurements::new(&[measured(1024, 1, 2.0)]);
        let at = measurements.interpolate(&(workload(1 << 20), ring(1))).unwrap_or_default();
        assert!((at - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_nearest_size_gives_its_winner_and_the_smaller_of_two_equally_near_ones() {
        assert_eq!(sample().nearest_size_winner(&workload(2048)), Some((ring(1), 2.0)));
        assert_eq!(sample().nearest_size_winner(&workload(3000)), Some((ring(2), 9.0)));
        assert_eq!(Measurements::default().nearest_size_winner(&workload(1)), None);
    }

    #[test]
    fn the_best_single_configuration_is_measured_everywhere() {
        assert_eq!(sample().best_single(Collective::AllReduce, SCALE), Some(ring(2)));
    }

    #[test]
    fn of_equal_winners_the_one_with_fewer_channels() {
        let tied = [(ring(8), 5.0), (ring(4), 5.0), (ring(2), 4.0)];
        assert_eq!(winner(tied.into_iter()), Some((ring(4), 5.0)));
    }
}
