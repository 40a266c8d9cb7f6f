//! Asks a predictor for the best configuration that can run.
//!
//! Coarse to fine: for each allowed algorithm and protocol the channels 1, 5, 9, … and every measured count, then
//! each count within three of the best. At two and more nodes the channel curve can have two humps, one of them at
//! a single channel: so the ladder starts at 1 and no measured count is skipped.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    aggregate::Point,
    features::ModelInput,
    parameters::SearchLimits,
    platform::Platform,
    result::PredictionSupport,
    support::{SupportMatrix, SupportOutcome},
    sweep::Sweep,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    learn::LearnError,
    order::{CompactCollect, CompactSort},
};

/// The configurations that may be chosen at each (collective, scale): those that were measured there, and those that
/// limits allow besides.
#[derive(Clone, Debug, Default)]
pub struct SearchSpace {
    groups: BTreeMap<(Collective, Scale), Vec<SearchCandidate>>,
    limits: SearchLimits,
    can_run: SupportMatrix,
}

/// One algorithm and protocol that may be chosen.
#[derive(Clone, Debug)]
struct SearchCandidate {
    algorithm: Algorithm,
    protocol: Protocol,
    /// Measured channels, ascending; none for a pair that is only allowed.
    channels: Vec<u32>,
    /// The sizes between which the pair was measured.
    measured: Option<(u64, u64)>,
    /// The sizes, as squares, between which it can be expected to run: half way (in log2) to the next size at
    /// which the library ran something else, or where Direct is known to end.
    runs: (u128, u128),
}

/// The best configuration of a search and what the predictor expects of it.
pub type Best = (Configuration, f64);

const STEP: u32 = 4;

impl SearchSpace {
    /// The configurations that the sweep measured, within limits, and those that the limits name besides and that can
    /// run on a platform.
    pub fn new(sweep: &Sweep, limits: &SearchLimits, platform: &Platform) -> Self {
        let can_run = SupportMatrix::new(platform.matrix(), sweep);
        let groups = sweep
            .groups()
            .into_iter()
            .map(|group| {
                let (collective, scale) = (group.collective, group.scale);
                let by_gpu = platform.gpu.filter(|_| collective == Collective::AllGather);
                let by_gpu = by_gpu.and_then(|gpu| Platform::direct_all_gather_bytes(gpu, scale));
                let direct_ends: Vec<u64> = by_gpu.into_iter().chain(can_run.limits(collective, scale.nodes)).collect();
                ((collective, scale), candidates(sweep.points_of(collective, scale), limits, &direct_ends))
            })
            .compact_collect();
        Self { groups, limits: limits.clone(), can_run }
    }

    /// Pairs that may run at a workload: those measured at its scale (where that was not measured, at the nearest),
    /// within the limits; and those that the limits name besides and that can run there.
    fn pairs(&self, workload: &Workload) -> Vec<SearchCandidate> {
        let known = self.known(workload);
        let square = u128::from(workload.size_bytes).pow(2);
        let SearchLimits { algorithms, protocols, .. } = &self.limits;
        let wanted = |pair: &&SearchCandidate| {
            (algorithms.is_empty() || algorithms.contains(&pair.algorithm))
                && (protocols.is_empty() || protocols.contains(&pair.protocol))
        };
        let is_here = self.groups.contains_key(&(workload.collective, workload.scale));
        // What ran at another scale need not run here. Direct and N/A are nobody's to ask for.
        let can_run = |pair: &&SearchCandidate| {
            is_here
                || matches!(pair.algorithm, Algorithm::Direct | Algorithm::None)
                || !matches!(self.can_run.outcome(workload, pair.algorithm, pair.protocol), SupportOutcome::RuledOut(_))
        };
        let known_here = known.iter().filter(wanted).filter(can_run);
        let mut pairs: Vec<SearchCandidate> =
            known_here.filter(|p| p.runs.0 <= square && square < p.runs.1).cloned().collect();
        if algorithms.is_empty() && protocols.is_empty() {
            return pairs;
        }
        for algorithm in or_measured(algorithms, known.iter().map(|pair| pair.algorithm)) {
            for protocol in or_measured(protocols, known.iter().map(|pair| pair.protocol)) {
                let is_new = known.iter().all(|pair| (pair.algorithm, pair.protocol) != (algorithm, protocol));
                if is_new && self.can_run.outcome(workload, algorithm, protocol) == SupportOutcome::Runs {
                    let measured = None;
                    pairs.push(SearchCandidate {
                        algorithm,
                        protocol,
                        channels: Vec::new(),
                        measured,
                        runs: (0, u128::MAX),
                    });
                }
            }
        }
        pairs
    }

    /// The algorithms that the limits name and that can't run at a workload with any protocol, and why, for people.
    pub fn cannot_run(&self, workload: &Workload) -> Vec<(Algorithm, &str)> {
        let named = |of: &Protocol| *of != Protocol::None && self.limits.protocols.is_empty();
        let own = Protocol::ALL.iter().filter(|protocol| named(protocol));
        // SIMPLE is the protocol that all algorithms run, where they run.
        let protocols: Vec<Protocol> = self.limits.protocols.iter().chain(own).rev().copied().collect();
        let known = self.groups.get(&(workload.collective, workload.scale)).map_or(&[][..], Vec::as_slice);
        let reason = |algorithm: Algorithm| {
            let is_known = known.iter().any(|pair| pair.algorithm == algorithm);
            let runs =
                |protocol: &&Protocol| self.can_run.outcome(workload, algorithm, **protocol) == SupportOutcome::Runs;
            let first = protocols.first().filter(|_| !is_known && !protocols.iter().any(|protocol| runs(&protocol)))?;
            Some((algorithm, self.can_run.reason(workload, algorithm, *first)))
        };
        self.limits.algorithms.iter().filter_map(|algorithm| reason(*algorithm)).collect()
    }

    fn known(&self, workload: &Workload) -> &[SearchCandidate] {
        let of_group = self.groups.get(&(workload.collective, workload.scale)).or_else(|| self.nearest(workload));
        of_group.map_or(&[], Vec::as_slice)
    }

    fn nearest(&self, workload: &Workload) -> Option<&Vec<SearchCandidate>> {
        let distance = |scale: &Scale| (scale.ranks.abs_diff(workload.scale.ranks), scale.ranks);
        let of_collective = self.groups.iter().filter(|((collective, _), _)| *collective == workload.collective);
        of_collective.min_by_key(|((_, scale), _)| distance(scale)).map(|(_, pairs)| pairs)
    }

    /// The most channels: as asked, else the largest measured at that scale.
    pub fn max_channels(&self, workload: &Workload) -> u32 {
        let measured = self.known(workload).iter().filter_map(|pair| pair.channels.last().copied()).max();
        self.limits.max_channels.or(measured).unwrap_or(0).min(MAX_CHANNELS)
    }

    /// The best of the search that the limits name.
    ///
    /// # Errors
    /// The error of the predictor.
    pub fn best(&self, workload: &Workload, predict: &mut Predict<'_>) -> Result<Option<Best>, LearnError> {
        if self.limits.exhaustive { self.exhaustive(workload, predict) } else { self.coarse_to_fine(workload, predict) }
    }

    /// The best of a few configurations: coarse, then fine around the best.
    ///
    /// # Errors
    /// The error of the predictor.
    pub fn coarse_to_fine(&self, workload: &Workload, predict: &mut Predict<'_>) -> Result<Option<Best>, LearnError> {
        let limit = self.max_channels(workload);
        let mut best: Option<Best> = None;
        for pair in self.pairs(workload) {
            let measured = pair.channels.iter().copied().filter(|channels| *channels <= limit);
            let mut ladder: Vec<u32> = (1..=limit).step_by(STEP as usize).chain([limit]).chain(measured).collect();
            ladder.compact_sort();
            ladder.dedup();
            let Some((coarse, _)) = highest(&pair, workload, &ladder, predict)? else { continue };
            let reach = STEP - 1;
            let mut fine: Vec<u32> =
                (coarse.channels.saturating_sub(reach).max(1)..=(coarse.channels + reach).min(limit)).collect();
            if coarse.channels == 0 {
                fine = vec![0];
            }
            best = better(best, highest(&pair, workload, &fine, predict)?);
        }
        Ok(best)
    }

    /// The best of all configurations up to the limit: the check of [`Self::coarse_to_fine`].
    ///
    /// # Errors
    /// The error of the predictor.
    pub fn exhaustive(&self, workload: &Workload, predict: &mut Predict<'_>) -> Result<Option<Best>, LearnError> {
        let limit = self.max_channels(workload);
        let mut best = None;
        for pair in self.pairs(workload) {
            let unstated = pair.channels.first().filter(|c| **c == 0).copied();
            let all: Vec<u32> = unstated.into_iter().chain(1..=limit).collect();
            best = better(best, highest(&pair, workload, &all, predict)?);
        }
        Ok(best)
    }

    /// Whether a configuration may be chosen at a workload.
    pub fn allows(&self, workload: &Workload, configuration: &Configuration) -> bool {
        let same = |p: &SearchCandidate| (p.algorithm, p.protocol) == (configuration.algorithm, configuration.protocol);
        configuration.channels <= self.max_channels(workload) && self.pairs(workload).iter().any(same)
    }

    /// Whether a choice is measured, interpolated or extrapolated.
    pub fn support(&self, sweep: &Sweep, workload: &Workload, configuration: &Configuration) -> PredictionSupport {
        if sweep.points_at(workload).iter().any(|point| point.configuration == *configuration) {
            return PredictionSupport::Measured;
        }
        let pairs = self.groups.get(&(workload.collective, workload.scale)).into_iter().flatten();
        let inside =
            pairs.filter(|p| (p.algorithm, p.protocol) == (configuration.algorithm, configuration.protocol)).any(|p| {
                let sizes = p.measured.is_some_and(|(low, high)| (low..=high).contains(&workload.size_bytes));
                let (low, high) = (p.channels.first(), p.channels.last());
                let channels = low.is_some_and(|low| *low <= configuration.channels)
                    && high.is_some_and(|high| *high >= configuration.channels);
                sizes && channels
            });
        if inside { PredictionSupport::Interpolated } else { PredictionSupport::Extrapolated }
    }
}

/// More channels than this are never searched: NCCL's own limit is 64, RCCL keeps the count in eight bits.
const MAX_CHANNELS: u32 = 255;

/// Predicts busbw in GB/s; `None` where nothing is known.
pub type Predict<'a> = dyn FnMut(&[ModelInput]) -> Result<Vec<Option<f64>>, LearnError> + 'a;

/// The wanted ones; where none is named, the measured ones.
fn or_measured<T: Ord + Copy>(wanted: &[T], measured: impl Iterator<Item = T>) -> BTreeSet<T> {
    if wanted.is_empty() { measured.compact_collect() } else { wanted.iter().copied().compact_collect() }
}

/// The pairs that a group's points measured. `direct_ends`: sizes in bytes up to which Direct may be known to run, the
/// surest first; one that the points contradict is passed over.
fn candidates(points: &[Point], limits: &SearchLimits, direct_ends: &[u64]) -> Vec<SearchCandidate> {
    // A count that was printed as a negative byte is a reading of ours: it is chosen only when asked for.
    let asked = |p: &Point| !p.marks.wrapped_channels || limits.max_channels.is_some_and(|most| most > 127);
    let mut sizes: Vec<u64> = points.iter().map(|point| point.workload.size_bytes).collect();
    sizes.dedup();
    let mut pairs: BTreeMap<(Algorithm, Protocol), SearchCandidate> = BTreeMap::new();
    for point in points.iter().filter(|point| asked(point) && !point.is_impossible()) {
        let Configuration { algorithm, protocol, channels } = point.configuration;
        let size = point.workload.size_bytes;
        let pair = pairs.entry((algorithm, protocol)).or_insert(SearchCandidate {
            algorithm,
            protocol,
            channels: Vec::new(),
            measured: None,
            runs: (0, u128::MAX),
        });
        pair.channels.push(channels);
        pair.measured = Some(pair.measured.map_or((size, size), |(low, high)| (low.min(size), high.max(size))));
    }
    let mut pairs: Vec<SearchCandidate> = pairs.into_values().collect();
    let last_direct = pairs.iter().filter(|pair| pair.algorithm == Algorithm::Direct).filter_map(|p| p.measured);
    let last_direct = last_direct.map(|(_, high)| high).max();
    // Between the last size of Direct and the next one, something else begins right after a known end.
    let between = |a: u64, b: u64| {
        let mut known = direct_ends.iter().filter(|end| Some(a) == last_direct && (a..b).contains(end));
        known.next().map_or(u128::from(a) * u128::from(b), |end| u128::from(end + 1).pow(2))
    };
    for pair in &mut pairs {
        pair.channels.compact_sort();
        pair.channels.dedup();
        if let Some((low, high)) = pair.measured {
            let below = sizes.iter().copied().filter(|size| *size < low).max();
            let above = sizes.iter().copied().filter(|size| *size > high).min();
            pair.runs =
                (below.map_or(0, |size| between(size, low)), above.map_or(u128::MAX, |size| between(high, size)));
        }
    }
    pairs
}

fn highest(
    pair: &SearchCandidate,
    workload: &Workload,
    channels: &[u32],
    predict: &mut Predict<'_>,
) -> Result<Option<Best>, LearnError> {
    let configuration = |channels| Configuration { algorithm: pair.algorithm, protocol: pair.protocol, channels };
    let asks: Vec<ModelInput> = channels.iter().map(|channels| (*workload, configuration(*channels))).collect();
    let predicted = predict(&asks)?;
    let known = asks.into_iter().zip(predicted).filter_map(|((_, c), busbw)| busbw.map(|busbw| (c, busbw)));
    Ok(known.fold(None, |best, next| better(best, Some(next))))
}

/// The higher one; equal: the one with fewer channels, then the first.
fn better(best: Option<Best>, next: Option<Best>) -> Option<Best> {
    match (best, next) {
        (Some(best), Some(next)) => {
            let order = next.1.total_cmp(&best.1);
            let takes = order.is_gt() || order.is_eq() && next.0.channels < best.0.channels;
            Some(if takes { next } else { best })
        }
        (best, next) => next.or(best),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::read::RowMarks;

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::AllGather, scale: SCALE, size_bytes }
    }

    fn point(size_bytes: u64, algorithm: Algorithm, channels: u32, wrapped_channels: bool) -> Point {
        let configuration = Configuration { algorithm, protocol: Protocol::Simple, channels };
        let marks = RowMarks { wrapped_channels, ..RowMarks::default() };
        Point { marks, ..Point::new(workload(size_bytes), configuration, 1.0) }
    }

    /// As RCCL does: Direct up to 4 MiB whatever is asked, RING from 8 MiB.
    fn sweep() -> Sweep {
        let small = (12..=22).flat_map(|e| [1, 8, 48].map(|c| point(1 << e, Algorithm::Direct, c, false)));
        let large = (23..=29).flat_map(|e| [1, 8, 48].map(|c| point(1 << e, Algorithm::Ring, c, false)));
        Sweep { points: small.chain(large).collect(), defaults: Vec::new() }
    }

    /// Two humps: one channel beats everything, then the curve falls, then it rises again to a lower top at 37.
    fn humps(asks: &[ModelInput]) -> Result<Vec<Option<f64>>, LearnError> {
        let busbw = |channels: u32| if channels == 1 { 10.0 } else { 9.0 - f64::from(channels.abs_diff(37)) / 10.0 };
        Ok(asks.iter().map(|(_, c)| Some(busbw(c.channels))).collect())
    }

    fn best(space: &SearchSpace, size_bytes: u64) -> Option<Best> {
        space.coarse_to_fine(&workload(size_bytes), &mut humps).ok().flatten()
    }

    #[test]
    fn both_humps_are_found_and_the_exhaustive_search_agrees() {
        let space = SearchSpace::new(&sweep(), &SearchLimits::default(), &Platform::default());
        let found = best(&space, 1 << 24);
        assert_eq!(found.map(|(c, _)| c.channels), Some(1));
        assert_eq!(space.exhaustive(&workload(1 << 24), &mut humps).ok().flatten(), found);
        let mut second = |asks: &[ModelInput]| {
            Ok(asks.iter().map(|(_, c)| Some(9.0 - f64::from(c.channels.abs_diff(37)) / 10.0)).collect())
        };
        let second = space.coarse_to_fine(&workload(1 << 24), &mut second).ok().flatten();
        assert_eq!(second.map(|(c, _)| c.channels), Some(37));
    }

    #[test]
    fn only_what_the_library_ran_near_that_size_is_chosen() {
        let space = SearchSpace::new(&sweep(), &SearchLimits::default(), &Platform::default());
        let algorithm = |size| best(&space, size).map(|(c, _)| c.algorithm);
        assert_eq!(algorithm(1 << 10), Some(Algorithm::Direct));
        assert_eq!(algorithm(1 << 22), Some(Algorithm::Direct));
        assert_eq!(algorithm(5 << 20), Some(Algorithm::Ring));
        assert_eq!(algorithm(1 << 33), Some(Algorithm::Ring));
    }

    #[test]
    fn direct_ends_where_the_library_is_known_to_end_it() {
        use crate::tuning::platform::Gpu;
        let at = |sweep: &Sweep, gpu: Option<Gpu>, size_bytes, scale| {
            let space = SearchSpace::new(sweep, &SearchLimits::default(), &Platform { gpu, ..Platform::default() });
            let workload = Workload { scale, ..workload(size_bytes) };
            space.coarse_to_fine(&workload, &mut humps).ok().flatten().map(|(c, _)| c.algorithm)
        };
        let ends = |sweep: &Sweep, gpu, end_bytes: u64, scale| {
            assert_eq!(at(sweep, gpu, end_bytes, scale), Some(Algorithm::Direct), "{gpu:?} {end_bytes}");
            assert_eq!(at(sweep, gpu, end_bytes + 4, scale), Some(Algorithm::Ring), "{gpu:?} {end_bytes}");
        };
        for gpu in [None, Some(Gpu::Gfx(0x950)), Some(Gpu::Gfx(0x942))] {
            ends(&sweep(), gpu, 4 << 20, SCALE);
        }
        // A GPU without a known end: half way to the next measured size.
        ends(&sweep(), Some(Gpu::Gfx(0x90a)), 5_931_640, SCALE);
        // Four nodes of gfx950 end at 8 MiB, here between 4 and 16 MiB.
        let on_four = Scale { nodes: 4, ranks: 32 };
        let mut sweep = sweep();
        for point in &mut sweep.points {
            point.workload.scale = on_four;
        }
        sweep.points.retain(|point| point.workload.size_bytes != 8 << 20);
        ends(&sweep, Some(Gpu::Gfx(0x950)), 8 << 20, on_four);
        // What was measured outweighs what is known: Direct ran beyond it.
        ends(&sweep, Some(Gpu::Gfx(0x942)), 4 << 20, on_four);
        for point in sweep.points.iter_mut().filter(|point| point.workload.size_bytes == 16 << 20) {
            point.configuration.algorithm = Algorithm::Direct;
        }
        ends(&sweep, Some(Gpu::Gfx(0x950)), 23_726_564, on_four);
    }

    #[test]
    fn limits_restrict_and_extend_but_never_to_what_cannot_run() {
        let ring = SearchLimits { algorithms: vec![Algorithm::Ring], ..SearchLimits::default() };
        assert_eq!(best(&SearchSpace::new(&sweep(), &ring, &Platform::default()), 1 << 12), None);
        let tree = SearchLimits { algorithms: vec![Algorithm::Tree], ..SearchLimits::default() };
        assert_eq!(best(&SearchSpace::new(&sweep(), &tree, &Platform::default()), 1 << 24), None);
        let ll = SearchLimits { protocols: vec![Protocol::Ll], ..SearchLimits::default() };
        let found = best(&SearchSpace::new(&sweep(), &ll, &Platform::default()), 1 << 24)
            .map(|(c, _)| (c.algorithm, c.protocol));
        assert_eq!(found, Some((Algorithm::Ring, Protocol::Ll)));
        let few = SearchLimits { max_channels: Some(4), ..SearchLimits::default() };
        let space = SearchSpace::new(&sweep(), &few, &Platform::default());
        assert_eq!(space.max_channels(&workload(1 << 24)), 4);
    }

    #[test]
    fn what_can_run_is_told_by_the_platform() {
        use crate::tuning::platform::{Gpu, Library};
        let of = |algorithm, nodes| {
            let scale = Scale { nodes, ranks: 8 * nodes };
            let workload = Workload { collective: Collective::AllReduce, scale, size_bytes: 1 << 24 };
            let configuration = Configuration { algorithm, protocol: Protocol::Simple, channels: 8 };
            Point::new(workload, configuration, 1.0)
        };
        let sweep = Sweep { points: vec![of(Algorithm::Ring, 1), of(Algorithm::Nvls, 2)], defaults: Vec::new() };
        let one_node = sweep.points[0].workload;
        let limits = SearchLimits { algorithms: vec![Algorithm::Nvls], ..SearchLimits::default() };
        let nccl = |gpu| Platform { gpu: Some(gpu), ..Library::Nccl.into() };
        let space = |platform: &Platform| SearchSpace::new(&sweep, &limits, platform);
        let found =
            |platform| space(&platform).coarse_to_fine(&one_node, &mut humps).ok().flatten().map(|(c, _)| c.algorithm);
        assert_eq!(found(nccl(Gpu::Sm(90))), Some(Algorithm::Nvls));
        assert_eq!((found(nccl(Gpu::Sm(80))), found(Platform::default())), (None, None));
        let why = [(Algorithm::Nvls, "RCCL substitutes NVLS and PAT")];
        assert_eq!(space(&Platform::default()).cannot_run(&one_node), why);
        assert!(space(&nccl(Gpu::Sm(90))).cannot_run(&one_node).is_empty());
        // Of another scale than the measured ones, what can run there.
        let on_four = Workload { scale: Scale { nodes: 4, ranks: 32 }, ..one_node };
        let all = |platform: &Platform| {
            let space = SearchSpace::new(&sweep, &SearchLimits::default(), platform);
            space.coarse_to_fine(&on_four, &mut humps).ok().flatten().map(|(c, _)| c.algorithm)
        };
        assert_eq!(all(&nccl(Gpu::Sm(90))), Some(Algorithm::Nvls));
        assert_eq!((all(&nccl(Gpu::Sm(80))), all(&Platform::default())), (None, None));
        // Measured to run, whatever the library.
        assert!(space(&Platform::default()).cannot_run(&sweep.points[1].workload).is_empty());
    }

    #[test]
    fn counts_read_from_negative_bytes_are_never_recommended_unasked() {
        let mut sweep = sweep();
        sweep.points.push(point(1 << 29, Algorithm::Ring, 168, true));
        let rising = |asks: &[ModelInput]| Ok(asks.iter().map(|(_, c)| Some(f64::from(c.channels))).collect());
        let top = |limits: &SearchLimits| {
            let space = SearchSpace::new(&sweep, limits, &Platform::default());
            space.coarse_to_fine(&workload(1 << 29), &mut { rising }).ok().flatten().map(|(c, _)| c.channels)
        };
        assert_eq!(top(&SearchLimits::default()), Some(48));
        assert_eq!(top(&SearchLimits { max_channels: Some(168), ..SearchLimits::default() }), Some(168));
    }

    #[test]
    fn support_is_measured_between_or_beyond() {
        let sweep = sweep();
        let space = SearchSpace::new(&sweep, &SearchLimits::default(), &Platform::default());
        let ring = |channels| Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels };
        assert_eq!(space.support(&sweep, &workload(1 << 24), &ring(8)), PredictionSupport::Measured);
        assert_eq!(space.support(&sweep, &workload(1 << 24), &ring(9)), PredictionSupport::Interpolated);
        assert_eq!(space.support(&sweep, &workload(3 << 23), &ring(8)), PredictionSupport::Interpolated);
        assert_eq!(space.support(&sweep, &workload(1 << 31), &ring(8)), PredictionSupport::Extrapolated);
        assert_eq!(space.support(&sweep, &workload(1 << 24), &ring(64)), PredictionSupport::Extrapolated);
    }
}
