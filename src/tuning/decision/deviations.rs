//! The noise of single runs, pooled over points, since a few repeats of one point don't show it.
//!
//! The noise of a sweep depends much more on the size than on the configuration, and three repeats give a standard
//! deviation only to within a factor of two. So variances of ln busbw are pooled over the points of a size and of its
//! neighbours. Each point then has a variance of its own, moderated by the pooled one as if that came from
//! [`PRIOR_FREEDOM`] further repeats (the moderated variance of Smyth 2004). Where rows are medians, the variance comes
//! from their spread, divided by the mean range of as many normal numbers (Tippett 1925).

use std::collections::BTreeMap;

use super::{draws::Draws, printed};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{ln, log2},
    order::{CompactCollect, CompactSort},
    tuning::{
        decision::NoiseBasis,
        read::RunKind,
        runs::{PointRuns, Run, Runs},
        stalls::{Screened, mean_range},
    },
};

/// The variances of sizes within this many doublings are pooled.
const NEAR_DOUBLINGS: f64 = 1.05;

/// Further sizes are pooled, the nearest first, until there are this many degrees of freedom.
const MIN_FREEDOM: f64 = 20.0;

/// The pooled variance counts like this many degrees of freedom of a place's own.
const PRIOR_FREEDOM: f64 = 2.0;

/// The smallest standard deviation of a run, as a share.
const MIN: f64 = 1e-4;

/// The fewest residuals that are resampled; with fewer, errors are drawn from a normal distribution.
const MIN_RESIDUALS: usize = 30;

/// The noise of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Deviations {
    groups: BTreeMap<(Collective, Scale), GroupDeviations>,
    normal: Draws,
    /// The noise of each point's own runs, by the index of its first run.
    owns: Vec<(usize, OwnSpread)>,
}

#[derive(Clone, Debug)]
struct GroupDeviations {
    basis: NoiseBasis,
    /// Each size with the variance of its places.
    sizes: Vec<(u64, PooledVariance)>,
    draws: Draws,
}

/// A variance of ln busbw and its degrees of freedom.
#[derive(Clone, Copy, Debug, Default)]
pub struct PooledVariance {
    variance: f64,
    freedom: f64,
}

/// The noise at a workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadNoise<'a> {
    /// The kind of measurements that it is estimated from.
    pub basis: NoiseBasis,
    /// Of one run: standard deviation of ln busbw, and its degrees of freedom.
    pub pooled: PooledVariance,
    /// Draws of the errors of medians of runs.
    pub draws: &'a Draws,
}

/// The noise of one point by its own runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnSpread {
    /// The number of runs that are used.
    pub runs: u32,
    /// The variance of these runs.
    pub variance: PooledVariance,
    /// Whether it comes from single runs, not from the spread of medians.
    pub is_of_runs: bool,
    /// The variance of what ran as a share of that of all at the same sizes, over all sizes; `None` where no repeats
    /// tell it.
    pub share: Option<f64>,
}

impl Deviations {
    /// The noise of the runs that are used.
    pub fn new(runs: &Runs, screened: &Screened) -> Self {
        let mut collected: BTreeMap<(Collective, Scale), BTreeMap<u64, Vec<OwnSpread>>> = BTreeMap::new();
        let mut owns = Vec::new();
        for (place, first, of_place) in runs.places() {
            let Workload { collective, scale, size_bytes } = place.workload;
            let own = OwnSpread::new(place, first, of_place, screened);
            owns.push((first, own));
            collected.entry((collective, scale)).or_default().entry(size_bytes).or_default().push(own);
        }
        let mut groups = BTreeMap::new();
        for (group, sizes) in collected {
            let all = || sizes.values().flatten().filter(|own| own.variance.freedom > 0.0);
            if all().next().is_none() {
                continue;
            }
            let basis = if all().any(|own| own.is_of_runs) { NoiseBasis::Repeats } else { NoiseBasis::Spreads };
            let mut counts: Vec<u32> = sizes.values().flatten().map(|own| own.runs).filter(|n| *n > 0).collect();
            counts.compact_sort();
            counts.dedup();
            let sizes = sizes.iter().map(|(size, owns)| (*size, pool(owns.iter().map(|o| o.variance))));
            let mut group_noise = GroupDeviations { basis, sizes: sizes.collect(), draws: Draws::default() };
            let near = group_noise.sizes.iter().map(|(size, _)| (*size, group_noise.near(*size).deviation()));
            let deviations: BTreeMap<u64, f64> = near.compact_collect();
            let shares = shares(runs, group, &deviations, &owns);
            for (place, first, _) in runs.places_of(group) {
                if let Ok(at) = owns.binary_search_by_key(&first, |(first, _)| *first) {
                    owns[at].1.share = shares.get(&who(place)).copied();
                }
            }
            let shape = residuals(runs, screened, group, &deviations, &owns);
            group_noise.draws = Draws::new(if shape.len() < MIN_RESIDUALS { &[] } else { &shape }, &counts);
            groups.insert(group, group_noise);
        }
        Self { groups, normal: Draws::new(&[], &[1]), owns }
    }

    /// The noise of a point by its own runs, the first of which has this index.
    pub fn own(&self, first: usize) -> OwnSpread {
        own_of(&self.owns, first)
    }

    /// The noise at a size; `None` without repeats and spreads.
    pub fn at(&self, workload: &Workload) -> Option<WorkloadNoise<'_>> {
        let group = self.groups.get(&(workload.collective, workload.scale))?;
        let pooled = group.near(workload.size_bytes);
        Some(WorkloadNoise { basis: group.basis, pooled, draws: &group.draws })
    }

    /// The measured sizes near a workload, itself among them.
    pub fn neighbours(&self, workload: &Workload) -> impl Iterator<Item = Workload> {
        let workload = *workload;
        let group = self.groups.get(&(workload.collective, workload.scale));
        let sizes = group.into_iter().flat_map(|group| &group.sizes).map(|(size, _)| *size);
        sizes
            .filter(move |size| doublings(*size, workload.size_bytes) <= NEAR_DOUBLINGS)
            .map(move |size_bytes| Workload { size_bytes, ..workload })
    }

    /// A noise that is known from elsewhere: the standard deviation of ln busbw of any median.
    pub fn known(&self, deviation: f64) -> WorkloadNoise<'_> {
        WorkloadNoise { basis: NoiseBasis::HeldOut, pooled: PooledVariance::known(deviation), draws: &self.normal }
    }
}

impl GroupDeviations {
    fn near(&self, size_bytes: u64) -> PooledVariance {
        let mut sizes: Vec<(f64, PooledVariance)> =
            self.sizes.iter().map(|(size, pooled)| (doublings(*size, size_bytes), *pooled)).collect();
        sizes.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut freedom = 0.0;
        pool(sizes.into_iter().map_while(|(distance, pooled)| {
            // Few runs make a poor estimate of a variance, so sizes further away are added.
            let wanted = distance <= NEAR_DOUBLINGS || freedom < MIN_FREEDOM;
            freedom += pooled.freedom;
            wanted.then_some(pooled)
        }))
    }
}

impl PooledVariance {
    /// The standard deviation of ln busbw of one run.
    pub fn deviation(self) -> f64 {
        self.variance.sqrt().max(MIN)
    }

    /// The degrees of freedom of the variance; infinite where it is known.
    pub const fn freedom(self) -> f64 {
        self.freedom
    }

    const fn known(deviation: f64) -> Self {
        Self { variance: deviation * deviation, freedom: f64::INFINITY }
    }

    /// The variance of a point, moderated by that of its neighbourhood as what ran has it elsewhere; degrees of freedom
    /// after Satterthwaite (1946).
    #[must_use]
    pub fn moderated(self, own: OwnSpread) -> Self {
        let usual = own.share.unwrap_or(1.0) * self.variance;
        let own = own.variance;
        if self.freedom.is_infinite() {
            return self;
        }
        if own.freedom <= 0.0 {
            return Self { variance: usual, ..self };
        }
        let share = own.freedom / (PRIOR_FREEDOM + own.freedom);
        let variance = (1.0 - share) * usual + share * own.variance;
        let freedom = 1.0 / (share * share / own.freedom + (1.0 - share) * (1.0 - share) / self.freedom);
        Self { variance, freedom }
    }
}

impl OwnSpread {
    /// The runs of this point, with a variance pooled over those of the same configuration at the neighbouring sizes.
    #[must_use]
    pub fn with_neighbours(self, neighbours: impl Iterator<Item = Self>) -> Self {
        Self { variance: pool(std::iter::once(self).chain(neighbours).map(|own| own.variance)), ..self }
    }

    /// The noise of the runs of a point that are used; `first` is the index of the first of them.
    pub fn new(place: &PointRuns, first: usize, runs: &[Run], screened: &Screened) -> Self {
        let kept = runs.iter().zip(first..).filter(|(_, index)| screened.keep(place, *index).busbw);
        let used: Vec<&Run> = kept.map(|(run, _)| run).collect();
        let count = used.iter().fold(0_u32, |sum, run| sum.saturating_add(run.repeats));
        let singles = used.iter().filter(|run| run.repeats == 1).count();
        if singles > 1 && singles == used.len() {
            let logarithms: Vec<f64> = used.iter().map(|run| ln(run.busbw_gbps)).collect();
            let mean = logarithms.iter().sum::<f64>() / singles as f64;
            let squares: f64 = logarithms.iter().map(|value| (value - mean) * (value - mean)).sum();
            let freedom = (singles - 1) as f64;
            // Rounding is no noise: intervals allow for it separately ([`printed`]).
            let variance = PooledVariance { variance: squares / freedom, freedom };
            return Self { runs: count, variance, is_of_runs: true, share: None };
        }
        let of_spreads = used.into_iter().filter(|run| run.repeats > 1).filter_map(|run| {
            let range = ln(1.0 + run.spread_pct()? / 100.0);
            let digit = printed::of_range(run.busbw_gbps);
            let deviation = (range * range + digit * digit).sqrt() / mean_range(run.repeats);
            Some(PooledVariance { variance: deviation * deviation, freedom: f64::from(run.repeats - 1) })
        });
        Self { runs: count, variance: pool(of_spreads), is_of_runs: false, share: None }
    }
}

fn own_of(owns: &[(usize, OwnSpread)], first: usize) -> OwnSpread {
    owns.binary_search_by_key(&first, |(first, _)| *first).map_or_else(|_| OwnSpread::default(), |at| owns[at].1)
}

fn doublings(a: u64, b: u64) -> f64 {
    (log2(a as f64) - log2(b as f64)).abs()
}

fn pool(variances: impl Iterator<Item = PooledVariance>) -> PooledVariance {
    let (squares, freedom) = variances.fold((0.0, 0.0), |(squares, freedom), pooled| {
        (squares + pooled.variance * pooled.freedom, freedom + pooled.freedom)
    });
    if freedom > 0.0 { PooledVariance { variance: squares / freedom, freedom } } else { PooledVariance::default() }
}

/// How noisy each configuration, and the default, is beside the others of its sizes: its variance as a share of theirs,
/// over all sizes of a group, in the order of the keys.
fn shares(
    runs: &Runs,
    group: (Collective, Scale),
    deviations: &BTreeMap<u64, f64>,
    owns: &[(usize, OwnSpread)],
) -> BTreeMap<(RunKind, Configuration), f64> {
    let mut sums: BTreeMap<(RunKind, Configuration), [f64; 2]> = BTreeMap::new();
    for (place, first, _) in runs.places_of(group) {
        let own = own_of(owns, first);
        let Some(deviation) = deviations.get(&place.workload.size_bytes) else { continue };
        let OwnSpread { variance: PooledVariance { variance, freedom }, .. } = own;
        let [sum, all] = sums.entry(who(place)).or_default();
        *sum += freedom * variance / (deviation * deviation);
        *all += freedom;
    }
    // As each place's variance, moderated by that of the others.
    let share = |[sum, all]: [f64; 2]| (PRIOR_FREEDOM + sum) / (PRIOR_FREEDOM + all);
    sums.into_iter().map(|(who, sums)| (who, share(sums))).compact_collect()
}

/// Whose runs a place has: those of a configuration, or of the default whatever it ran.
const fn who(place: &PointRuns) -> (RunKind, Configuration) {
    const ANY: Configuration = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 };
    match place.kind {
        RunKind::Default => (RunKind::Default, ANY),
        kind => (kind, place.configuration),
    }
}

/// The deviations of single runs from the mean of their place, over the deviation of their size and of what ran,
/// widened by what the mean takes out of them. Were they not taken for what ran, a noisy default among steady
/// configurations would look like one that is far off now and then, whose median hardly errs.
fn residuals(
    runs: &Runs,
    screened: &Screened,
    group: (Collective, Scale),
    deviations: &BTreeMap<u64, f64>,
    owns: &[(usize, OwnSpread)],
) -> Vec<f64> {
    let mut all = Vec::new();
    for (place, first, of_place) in runs.places_of(group) {
        let own = own_of(owns, first);
        if !own.is_of_runs {
            continue;
        }
        let Some((of_size, share)) = deviations.get(&place.workload.size_bytes).zip(own.share) else { continue };
        let deviation = of_size * share.sqrt();
        let used = of_place.iter().zip(first..).filter(|(_, index)| screened.keep(place, *index).busbw);
        let logarithms: Vec<f64> = used.map(|(run, _)| ln(run.busbw_gbps)).collect();
        let n = f64::from(own.runs);
        let mean = logarithms.iter().sum::<f64>() / n;
        let widened = (n / (n - 1.0)).sqrt() / deviation;
        all.extend(logarithms.iter().map(|value| (value - mean) * widened));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        math::exp,
        tuning::{
            aggregate::Target,
            read::{Asked, Evidence, Row, RowMarks, Sample},
        },
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::Broadcast, scale: SCALE, size_bytes }
    }

    fn row(size_bytes: u64, channels: u32, busbw_gbps: f64, repeats: u32, spread_pct: Option<f64>) -> Row {
        Row {
            file: 0,
            line: 0,
            workload: workload(size_bytes),
            ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels },
            in_place: Some(Sample { time_us: None, busbw_gbps }),
            out_of_place: None,
            repeats,
            spread_pct,
            kind: RunKind::Asked,
            marks: RowMarks::default(),
            asked: Asked::default(),
            evidence: Evidence::default(),
            origin: 0,
        }
    }

    /// Three runs of each of some configurations, whose ln busbw has this standard deviation in each three.
    fn threes(size_bytes: u64, configurations: u32, deviation: f64) -> Vec<Row> {
        let run = |channels: u32, off: f64| row(size_bytes, channels, 123.456 * exp(off * deviation), 1, None);
        (1..=configurations).flat_map(|channels| [-1.0, 0.0, 1.0].map(|off| run(channels, off))).collect()
    }

    fn noise(mut rows: Vec<Row>) -> (Runs, Deviations) {
        rows.iter_mut().zip(1..).for_each(|(row, line)| row.line = line);
        let runs = Runs::new(rows, Target::Time);
        let deviations = Deviations::new(&runs, &Screened::default());
        (runs, deviations)
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
    }

    #[test]
    fn the_noise_of_a_size_is_that_of_its_runs_and_of_those_of_its_neighbours() {
        let sizes = [0.01, 0.01, 0.01, 0.05, 0.05];
        let rows = sizes.iter().zip(0..).flat_map(|(deviation, doubling)| threes(4096 << doubling, 10, *deviation));
        let (_, deviations) = noise(rows.collect());
        let at = |doubling: u32| deviations.at(&workload(4096 << doubling)).unwrap();
        assert_eq!((at(1).basis, at(1).pooled.freedom()), (NoiseBasis::Repeats, 60.0));
        assert_near(at(1).pooled.deviation(), 0.01);
        assert_near(at(2).pooled.deviation(), ((2.0 * 0.01 * 0.01 + 0.05 * 0.05) / 3.0_f64).sqrt());
        assert_near(at(4).pooled.deviation(), 0.05);
        let near: Vec<Workload> = deviations.neighbours(&workload(8192)).collect();
        assert_eq!(near, [4096, 8192, 16_384].map(workload));
        assert!(deviations.at(&Workload { collective: Collective::Reduce, ..workload(8192) }).is_none());
    }

    #[test]
    fn where_few_runs_tell_the_noise_the_nearest_sizes_are_added_until_enough_do() {
        // One configuration has two degrees of freedom at each size: ten sizes are enough.
        let rows = (0..16).flat_map(|doubling| threes(4096 << doubling, 1, if doubling < 10 { 0.01 } else { 0.05 }));
        let (_, deviations) = noise(rows.collect());
        let at = |doubling: u32| deviations.at(&workload(4096 << doubling)).unwrap().pooled;
        assert_eq!((at(0).freedom(), at(15).freedom()), (20.0, 20.0));
        assert_near(at(0).deviation(), 0.01);
        assert_near(at(15).deviation(), ((6.0 * 0.05 * 0.05 + 4.0 * 0.01 * 0.01) / 10.0_f64).sqrt());
    }

    #[test]
    fn medians_tell_the_noise_by_their_spreads_and_single_rows_by_nothing() {
        // The range of three normal numbers is 1.693 deviations on average, and prints in digits of 0.01 GB/s.
        let of_spreads = |busbw_gbps| {
            let rows = (1..=10).map(|channels| row(4096, channels, busbw_gbps, 3, Some(5.0))).collect();
            let (_, deviations) = noise(rows);
            let noise = deviations.at(&workload(4096)).unwrap();
            assert_eq!((noise.basis, noise.pooled.freedom()), (NoiseBasis::Spreads, 20.0));
            noise.pooled.deviation()
        };
        assert!((of_spreads(400.0) / (ln(1.05) / 1.693) - 1.0).abs() < 1e-3);
        let rounded = 0.41 * 0.01 / 0.05;
        assert_near(of_spreads(0.05), (ln(1.05) * ln(1.05) + rounded * rounded).sqrt() / 1.693);
        // Neither single rows nor medians without a spread do.
        let silent = |repeats| (1..=10).map(|channels| row(4096, channels, 5.0, repeats, None)).collect();
        assert!(noise(silent(1)).1.at(&workload(4096)).is_none());
        assert!(noise(silent(3)).1.at(&workload(4096)).is_none());
        // A place of single runs and of a median counts the runs of both, and the median tells.
        let mut both = threes(4096, 1, 0.01);
        both.push(row(4096, 1, 123.456, 5, Some(2.0)));
        let (runs, deviations) = noise(both);
        let own = runs.places().map(|(_, first, _)| deviations.own(first)).next().unwrap();
        assert_eq!((own.runs, own.variance.freedom(), own.is_of_runs), (8, 4.0, false));
    }

    #[test]
    fn what_is_noisier_than_the_others_everywhere_is_expected_to_be_so() {
        // Nine configurations are steady, one is four times as noisy, at each of six sizes.
        let rows = (0..6).flat_map(|doubling| {
            let mut rows = threes(4096 << doubling, 9, 0.01);
            let noisy = threes(4096 << doubling, 1, 0.04).into_iter();
            rows.extend(noisy.map(|row| Row { ran: Configuration { channels: 32, ..row.ran }, ..row }));
            rows
        });
        let (runs, deviations) = noise(rows.collect());
        let at = |channels: u32| {
            let ran = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels };
            let (_, first, _) = runs.of(&workload(16_384), RunKind::Asked, ran).unwrap();
            deviations.own(first)
        };
        // All together have 2.5 times the variance of a steady one; each share counts two degrees of freedom of 1.
        let shares = [1, 32].map(|channels| at(channels).share.unwrap());
        assert_near(shares[0], (2.0 + 12.0 * 0.4) / 14.0);
        assert_near(shares[1], (2.0 + 12.0 * 6.4) / 14.0);
        let pooled = deviations.at(&workload(16_384)).unwrap().pooled;
        assert_near(pooled.deviation(), 0.01 * 2.5_f64.sqrt());
        // Without runs of its own, what ran has its share of the noise of all.
        let without = OwnSpread { variance: PooledVariance::default(), ..at(32) };
        assert_near(pooled.moderated(without).deviation(), pooled.deviation() * shares[1].sqrt());
        assert_eq!(pooled.moderated(without).freedom(), pooled.freedom());
        // Its own runs count as half, since there are as many degrees of freedom as are taken for known.
        let moderated = pooled.moderated(at(32));
        let usual = pooled.deviation() * pooled.deviation() * shares[1];
        assert_near(moderated.deviation(), (0.5 * usual + 0.5 * 0.04 * 0.04).sqrt());
        assert_near(moderated.freedom(), 1.0 / (0.25 / 2.0 + 0.25 / pooled.freedom()));
        // Three times as many runs at the neighbouring sizes count as three quarters.
        let with_neighbours = at(32).with_neighbours([at(32), at(32)].into_iter());
        assert_eq!((with_neighbours.variance.freedom(), with_neighbours.runs), (6.0, 3));
        assert_near(pooled.moderated(with_neighbours).deviation(), (0.25 * usual + 0.75 * 0.04 * 0.04).sqrt());
        // A noise that is known from elsewhere is not moderated.
        assert_near(deviations.known(0.1).pooled.moderated(at(32)).deviation(), 0.1);
    }

    #[test]
    fn runs_that_never_differ_have_a_smallest_noise() {
        let (_, deviations) = noise(threes(4096, 10, 0.0));
        assert_eq!(deviations.at(&workload(4096)).unwrap().pooled.deviation(), MIN);
    }
}
