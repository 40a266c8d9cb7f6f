//! The launches that are possible at one scale, and their measurements.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{ln, log2},
    order::{CompactCollect, CompactSort},
    tuning::{
        aggregate::Point,
        baselines::BusbwCurve,
        support::{SupportMatrix, SupportOutcome},
        sweep::Sweep,
    },
};

/// The channel counts that racing search tries, and beyond.
pub const LADDER: [u32; 18] = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224];

/// The most channels to try where nobody knows how many there are: those of racing search.
const UNKNOWN_MOST: u32 = 48;

/// More sizes than this are thinned evenly: neighbours tell the same.
const MAX_SIZES: usize = 48;

/// The launches of a collective at a scale, each of which measures all sizes at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// All launches of a grid are of this collective.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// Message sizes in bytes, ascending.
    pub sizes: Vec<u64>,
    /// The configurations that can be asked for, ascending.
    pub launches: Vec<Configuration>,
    /// ln busbw in GB/s of each launch at each size, where it was measured.
    measured: Vec<Vec<Option<f64>>>,
    /// Whether the library runs Direct at a size whatever is asked for.
    direct: Vec<bool>,
    /// The channels of Direct for each launch, where they are known: launches with as many are the same there.
    direct_channels: Vec<Option<u32>>,
}

impl Grid {
    /// The launches of a sweep: what was measured, and every pair that can run on every count of `channels`; where that
    /// is empty, on those of [`LADDER`] up to the most that were measured or that the default was seen to run. Where
    /// only the default was measured, nothing but what can run. `tried` are algorithms beside TREE and RING.
    pub fn new(
        sweep: &Sweep,
        support: &SupportMatrix,
        collective: Collective,
        scale: Scale,
        channels: &[u32],
        tried: &[Algorithm],
    ) -> Self {
        // What no library runs can't be launched either: what was measured under its name is something else.
        let points: Vec<&Point> =
            sweep.points_of(collective, scale).iter().filter(|point| !point.is_impossible()).collect();
        let is_direct = |c: &Configuration| c.algorithm == Algorithm::Direct;
        let defaults = sweep.defaults_of(collective, scale);
        let mut sizes: Vec<u64> = points.iter().copied().chain(defaults).map(|p| p.workload.size_bytes).collect();
        sizes.compact_sort();
        sizes.dedup();
        if sizes.len() > MAX_SIZES {
            sizes = (0..MAX_SIZES).map(|i| sizes[i * (sizes.len() - 1) / (MAX_SIZES - 1)]).collect();
        }
        let mut launches: BTreeSet<Configuration> = points.iter().map(|p| p.configuration).compact_collect();
        let others = launches.is_empty() || launches.iter().any(|c| !is_direct(c));
        launches.retain(|c| !others || !is_direct(c));
        let most =
            points.iter().copied().chain(defaults).map(|p| p.configuration.channels).max().filter(|most| *most > 0);
        let most = most.unwrap_or(if points.is_empty() { UNKNOWN_MOST } else { 0 });
        let ladder = LADDER.into_iter().filter(|count| channels.is_empty() && *count <= most);
        let counts: BTreeSet<u32> = ladder
            .chain(channels.iter().copied())
            .chain(launches.iter().map(|c| c.channels))
            .filter(|count| *count > 0)
            .compact_collect();
        let mut pairs: BTreeSet<(Algorithm, Protocol)> =
            launches.iter().map(|c| (c.algorithm, c.protocol)).compact_collect();
        let largest = Workload { collective, scale, size_bytes: u64::MAX };
        for algorithm in [Algorithm::Tree, Algorithm::Ring].into_iter().chain(tried.iter().copied()) {
            for protocol in [Protocol::Ll, Protocol::Ll128, Protocol::Simple] {
                if others && support.outcome(&largest, algorithm, protocol) == SupportOutcome::Runs {
                    pairs.insert((algorithm, protocol));
                }
            }
        }
        for (algorithm, protocol) in pairs {
            launches.extend(counts.iter().map(|channels| Configuration { algorithm, protocol, channels: *channels }));
        }
        let launches: Vec<Configuration> = launches.into_iter().filter(|c| c.channels > 0).collect();

        let known: BTreeMap<(u64, Configuration), f64> = points
            .iter()
            .filter(|p| p.busbw_gbps > 0.0)
            .map(|p| ((p.workload.size_bytes, p.configuration), ln(p.busbw_gbps)))
            .compact_collect();
        let direct: Vec<bool> = sizes
            .iter()
            .map(|size| {
                let mut at = sweep.points_at(&Workload { collective, scale, size_bytes: *size }).iter().peekable();
                at.peek().is_some() && at.all(|p| is_direct(&p.configuration))
            })
            .compact_collect();
        let by_channels: BTreeMap<(u64, u32), f64> = known
            .iter()
            .filter(|((_, c), _)| is_direct(c))
            .map(|((size, c), height)| ((*size, c.channels), *height))
            .compact_collect();
        let direct_counts: BTreeSet<u32> = by_channels.keys().map(|(_, channels)| *channels).compact_collect();
        let seen: BTreeSet<u32> =
            known.keys().filter(|(_, c)| !is_direct(c)).map(|(_, c)| c.channels).compact_collect();
        let direct_channels: Vec<Option<u32>> =
            launches.iter().map(|launch| direct_channels(launch.channels, &direct_counts, &seen)).collect();
        let row = |(launch, direct_channels): (&Configuration, &Option<u32>)| -> Vec<Option<f64>> {
            let own: Vec<Option<f64>> = sizes.iter().map(|size| known.get(&(*size, *launch)).copied()).collect();
            // A launch that was never seen at other sizes was not made by anybody.
            if own.iter().all(Option::is_none) {
                return own;
            }
            let shared = |size: &u64| by_channels.get(&(*size, (*direct_channels)?)).copied();
            let cells = sizes.iter().zip(own).zip(&direct);
            cells.map(|((size, own), direct)| own.or_else(|| shared(size).filter(|_| *direct))).collect()
        };
        let measured = launches.iter().zip(&direct_channels).map(row).collect();
        Self { collective, scale, sizes, launches, measured, direct, direct_channels }
    }

    /// The launches that were measured, and no others.
    pub fn measured(sweep: &Sweep, collective: Collective, scale: Scale) -> Self {
        let mut grid = Self::new(sweep, &SupportMatrix::default(), collective, scale, &[], &[]);
        let made: Vec<bool> = (0..grid.launches.len()).map(|launch| grid.row(launch).is_some()).collect();
        let mut keep = made.iter();
        grid.launches.retain(|_| *keep.next().unwrap_or(&false));
        let mut keep = made.iter();
        grid.measured.retain(|_| *keep.next().unwrap_or(&false));
        let mut keep = made.iter();
        grid.direct_channels.retain(|_| *keep.next().unwrap_or(&false));
        grid
    }

    /// ln busbw of a launch at all sizes, where at least half of them were measured: those between and beyond on the
    /// line through their neighbours over log2 size.
    pub fn row(&self, launch: usize) -> Option<Vec<f64>> {
        let cells = &self.measured[launch];
        let known: Vec<(f64, f64)> = self
            .sizes
            .iter()
            .zip(cells)
            .filter_map(|(size, cell)| Some((log2((*size).max(1) as f64), (*cell)?)))
            .collect();
        if known.is_empty() || known.len() * 2 < cells.len() {
            return None;
        }
        let curve = BusbwCurve::through(known);
        let height = |(size, cell): (&u64, &Option<f64>)| cell.or_else(|| curve.height(log2((*size).max(1) as f64)));
        self.sizes.iter().zip(cells).map(height).collect()
    }

    /// The highest measured ln busbw of each size; −∞ where nothing was measured.
    pub fn best(&self) -> Vec<f64> {
        let best = |size: usize| self.measured.iter().filter_map(|row| row[size]).fold(f64::NEG_INFINITY, f64::max);
        (0..self.sizes.len()).map(best).collect()
    }

    /// On how many channels Direct runs for a launch at the sizes of [`Self::is_direct`]; `None` where it is not known.
    pub fn direct_channels(&self, launch: usize) -> Option<u32> {
        self.direct_channels[launch]
    }

    /// Whether the library runs Direct at a size, whatever is asked: there, launches on as many channels are one.
    pub fn is_direct(&self, size: usize) -> bool {
        self.direct[size]
    }

    /// The launches with the most channels of each algorithm and protocol, then those with the fewest.
    pub fn ends(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.launches.len()).collect();
        let pair = |launch: usize| (self.launches[launch].algorithm, self.launches[launch].protocol);
        let ladders = || all.chunk_by(|a, b| pair(*a) == pair(*b));
        ladders()
            .filter_map(|ladder| ladder.last())
            .chain(ladders().filter_map(|ladder| ladder.first()))
            .copied()
            .collect()
    }
}

/// On how many channels Direct runs where `asked` are asked for: on as many, where that was seen; where such launches
/// were seen and Direct never on as many, on the nearest count that was (24 and 48 become 32).
fn direct_channels(asked: u32, direct: &BTreeSet<u32>, seen: &BTreeSet<u32>) -> Option<u32> {
    let distance = |count: &u32| (log2(f64::from(*count)) - log2(f64::from(asked))).abs();
    match (direct.contains(&asked), seen.contains(&asked)) {
        (true, _) => Some(asked),
        (false, true) => direct.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b))),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{math::exp, tuning::aggregate::Point};

    fn point(size_bytes: u64, algorithm: Algorithm, channels: u32, busbw_gbps: f64) -> Point {
        let scale = Scale { nodes: 2, ranks: 16 };
        let workload = Workload { collective: Collective::AllGather, scale, size_bytes };
        Point::new(workload, Configuration { algorithm, protocol: Protocol::Simple, channels }, busbw_gbps)
    }

    fn grid(points: Vec<Point>) -> Grid {
        let sweep = Sweep { points, defaults: Vec::new() };
        let group = sweep.groups().remove(0);
        Grid::new(&sweep, &SupportMatrix::new(Vec::new(), &sweep), group.collective, group.scale, &[], &[])
    }

    #[test]
    fn direct_stands_in_where_the_library_runs_nothing_else() {
        let points = vec![
            point(4096, Algorithm::Direct, 8, 1.0),
            point(4096, Algorithm::Direct, 32, 2.0),
            point(8 << 20, Algorithm::Ring, 8, 10.0),
            point(8 << 20, Algorithm::Ring, 48, 20.0),
        ];
        let grid = grid(points);
        let find = |channels| grid.launches.iter().position(|c| c.channels == channels).unwrap();
        assert!(grid.launches.iter().all(|c| c.algorithm == Algorithm::Ring));
        let row = grid.row(find(48)).unwrap();
        assert!((exp(row[0]) - 2.0).abs() < 1e-9 && (exp(row[1]) - 20.0).abs() < 1e-9);
        // 40 channels were never launched; 32 were by Direct only, and a ring was not.
        assert_eq!((grid.row(find(40)), grid.row(find(32))), (None, None));
        assert_eq!(
            [48, 32, 8, 40].map(|channels| grid.direct_channels(find(channels))),
            [Some(32), Some(32), Some(8), None]
        );
        assert!(grid.is_direct(0) && !grid.is_direct(1));
    }

    #[test]
    fn sizes_that_a_launch_lacks_lie_between_their_neighbours() {
        let ring = |size, channels, busbw| point(size, Algorithm::Ring, channels, busbw);
        let points = vec![ring(1024, 1, 1.0), ring(1024, 2, 3.0), ring(2048, 2, 5.0), ring(4096, 1, 4.0)];
        let grid = grid(points);
        let row = grid.row(0).unwrap();
        assert!((exp(row[1]) - 2.0).abs() < 1e-9);
        assert_eq!(grid.best().iter().map(|b| exp(*b).round()).collect::<Vec<_>>(), [3.0, 5.0, 4.0]);
        assert_eq!(grid.ends(), [1, 0]);
    }

    #[test]
    fn a_size_or_nothing_at_all_is_a_grid_too() {
        let one = grid(vec![point(4096, Algorithm::None, 0, 1.0)]);
        assert!(one.launches.is_empty());
        let defaults = vec![point(4096, Algorithm::None, 0, 1.0)];
        let sweep = Sweep { points: Vec::new(), defaults };
        let of_defaults = Grid::new(
            &sweep,
            &SupportMatrix::default(),
            Collective::AllGather,
            Scale { nodes: 2, ranks: 16 },
            &[],
            &[],
        );
        assert_eq!((of_defaults.sizes.len(), of_defaults.ends().len()), (1, 6));
        assert_eq!(of_defaults.launches.len(), 27);
        let one = grid(vec![point(4096, Algorithm::Direct, 4, 1.0)]);
        assert!(one.launches.iter().all(|c| c.algorithm == Algorithm::Direct) && one.launches.len() == 3);
    }
}
