//! The measurements of a sweep, ready for training and look-ups.

use crate::order::CompactSort;
use serde::{Deserialize, Serialize};

use super::{
    aggregate::Point,
    result::{Group, Pair},
};
use crate::collective::{Collective, Scale, Workload};

/// The points of a sweep and its defaults, sorted for look-ups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Configurations that were asked for, ordered by workload, then configuration.
    pub points: Vec<Point>,
    /// The library's own choice, ordered by workload; `configuration` is what it chose (the most frequent).
    pub defaults: Vec<Point>,
}

impl Sweep {
    /// Whether there are neither points nor defaults.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.defaults.is_empty()
    }

    /// The points of a collective and scale, ordered by size, then configuration.
    pub fn points_of(&self, collective: Collective, scale: Scale) -> &[Point] {
        range(&self.points, |p| (p.workload.collective, p.workload.scale).cmp(&(collective, scale)))
    }

    /// The default's points of a collective and scale, ordered by size.
    pub fn defaults_of(&self, collective: Collective, scale: Scale) -> &[Point] {
        range(&self.defaults, |p| (p.workload.collective, p.workload.scale).cmp(&(collective, scale)))
    }

    /// The points of a workload, ordered by configuration.
    pub fn points_at(&self, workload: &Workload) -> &[Point] {
        range(&self.points, |p| p.workload.cmp(workload))
    }

    /// The default's point at a workload.
    pub fn default_at(&self, workload: &Workload) -> Option<&Point> {
        range(&self.defaults, |p| p.workload.cmp(workload)).first()
    }

    /// The measured winner of a workload: [`best`] of its points.
    pub fn best_at(&self, workload: &Workload) -> Option<&Point> {
        best(self.points_at(workload))
    }

    /// Every workload at which a configuration was measured, ascending.
    pub fn workloads(&self) -> impl Iterator<Item = Workload> {
        self.points.chunk_by(|a, b| a.workload == b.workload).map(|same| same[0].workload)
    }

    /// Each collective and scale, ascending. A group can have defaults only: then it has no pairs.
    pub fn groups(&self) -> Vec<Group> {
        let mut keys: Vec<_> = [&self.points, &self.defaults]
            .into_iter()
            .flat_map(|points| points.chunk_by(|a, b| key(a) == key(b)).map(|same| key(&same[0])))
            .collect();
        keys.compact_sort();
        keys.dedup();
        keys.into_iter().map(|(collective, scale)| self.group(collective, scale)).collect()
    }

    fn group(&self, collective: Collective, scale: Scale) -> Group {
        let points = self.points_of(collective, scale);
        let defaults = self.defaults_of(collective, scale);
        let mut sizes: Vec<u64> = points.iter().chain(defaults).map(|p| p.workload.size_bytes).collect();
        sizes.compact_sort();
        sizes.dedup();
        let mut configurations: Vec<_> = points.iter().map(|p| p.configuration).collect();
        configurations.compact_sort();
        configurations.dedup();
        let pairs = configurations
            .chunk_by(|a, b| (a.algorithm, a.protocol) == (b.algorithm, b.protocol))
            .map(|same| Pair {
                algorithm: same[0].algorithm,
                protocol: same[0].protocol,
                channels: same.iter().map(|c| c.channels).collect(),
            })
            .collect();
        Group { collective, scale, sizes, pairs, points: points.len(), default_sizes: defaults.len() }
    }

    /// Notes on the sweep as a whole, to be read before an answer is trusted.
    pub fn notes(&self) -> Vec<String> {
        /// Fewer sizes than this prove nothing about how a file was made.
        const MIN_SIZES: usize = 3;
        let mut notes = Vec::new();
        for group in self.groups() {
            let (collective, scale) = (group.collective, group.scale);
            let of = format!("{collective} on {scale}");
            let points = self.points_of(collective, scale);
            let is_single = points.chunk_by(|a, b| a.workload == b.workload).all(|same| same.len() == 1);
            let configurations: usize = group.pairs.iter().map(|pair| pair.channels.len()).sum();
            if points.is_empty() {
                notes.push(format!(
                    "{of}: only runs of the default were read; there is nothing to choose from. Give the sweep as well"
                ));
            } else if is_single && configurations > 1 && points.len() >= MIN_SIZES {
                notes.push(format!(
                    "{of}: only one configuration per size was read, as in a file of winners (optimized_metrics.csv). A \
                     model can hardly learn from winners what configurations do: give the merged file \
                     (merged_metrics.csv) instead"
                ));
            } else if is_single && points.len() >= MIN_SIZES {
                notes.push(format!(
                    "{of}: only one configuration was read, as in the file of a single run (metrics.csv). Give the \
                     merged file (merged_metrics.csv), or the files of the other runs as well"
                ));
            }
            if !points.is_empty() && group.default_sizes == 0 {
                notes.push(format!("{of}: no run of the library's default was read, so no gain over it can be told"));
            }
        }
        notes
    }
}

/// The highest busbw; of equal ones the fewest channels, then the lower algorithm code, then the lower protocol code.
pub fn best<'a>(points: impl IntoIterator<Item = &'a Point>) -> Option<&'a Point> {
    points.into_iter().reduce(|best, point| {
        let order = best.busbw_gbps.total_cmp(&point.busbw_gbps);
        let tie =
            |p: &Point| (p.configuration.channels, p.configuration.algorithm.code(), p.configuration.protocol.code());
        if order.is_lt() || (order.is_eq() && tie(point) < tie(best)) { point } else { best }
    })
}

/// The collective and scale of a point: points of one are never compared with those of another.
pub(super) fn key(point: &Point) -> (Collective, Scale) {
    (point.workload.collective, point.workload.scale)
}

/// The points for which `order` says that they are equal, of points that are in that order.
fn range(points: &[Point], order: impl Fn(&Point) -> std::cmp::Ordering) -> &[Point] {
    let begin = points.partition_point(|p| order(p).is_lt());
    let end = points.partition_point(|p| order(p).is_le());
    &points[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Configuration, Protocol};

    fn point(nodes: u32, size_bytes: u64, algorithm: Algorithm, channels: u32, busbw_gbps: f64) -> Point {
        let scale = Scale { nodes, ranks: nodes * 8 };
        let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
        let configuration = Configuration { algorithm, protocol: Protocol::Ll, channels };
        Point { repeats: 3, spread_pct: Some(1.0), ..Point::new(workload, configuration, busbw_gbps) }
    }

    fn sweep() -> Sweep {
        use Algorithm::{Ring, Tree};
        Sweep {
            points: vec![
                point(1, 4096, Tree, 4, 1.0),
                point(1, 4096, Ring, 2, 1.0),
                point(1, 4096, Ring, 4, 0.5),
                point(1, 8192, Tree, 4, 2.0),
                point(2, 4096, Tree, 4, 1.0),
            ],
            defaults: vec![point(1, 8192, Tree, 8, 1.5), point(4, 4096, Tree, 8, 1.5)],
        }
    }

    #[test]
    fn groups() {
        let groups = sweep().groups();
        let brief: Vec<_> = groups.iter().map(|g| (g.scale.nodes, g.points, g.default_sizes, g.sizes.len())).collect();
        assert_eq!(brief, [(1, 4, 1, 2), (2, 1, 0, 1), (4, 0, 1, 1)]);
        let pairs: Vec<_> = groups[0].pairs.iter().map(|p| (p.algorithm, p.channels.clone())).collect();
        assert_eq!(pairs, [(Algorithm::Tree, vec![4]), (Algorithm::Ring, vec![2, 4])]);
    }

    #[test]
    fn looking_up() {
        let sweep = sweep();
        let [small, large, two] = [0, 3, 4].map(|i| sweep.points[i].workload);
        assert_eq!(sweep.points_at(&small).len(), 3);
        assert_eq!(sweep.points_of(Collective::AllReduce, small.scale).len(), 4);
        assert_eq!(sweep.workloads().collect::<Vec<_>>(), [small, large, two]);
        assert_eq!(sweep.default_at(&large).map(|p| p.configuration.channels), Some(8));
        assert!(sweep.default_at(&small).is_none());
        // Equal bandwidth: the fewest channels.
        assert_eq!(sweep.best_at(&small).map(|p| p.configuration.channels), Some(2));
        let nowhere = Workload { size_bytes: 1, ..small };
        assert!(sweep.best_at(&nowhere).is_none() && sweep.points_at(&nowhere).is_empty());
    }

    #[test]
    fn equal_channels_go_to_the_lower_code() {
        let points = [point(1, 1, Algorithm::Ring, 4, 1.0), point(1, 1, Algorithm::Direct, 4, 1.0)];
        assert_eq!(best(&points).map(|p| p.configuration.algorithm), Some(Algorithm::Direct));
    }

    #[test]
    fn what_must_be_known_of_the_whole() {
        use Algorithm::{Ring, Tree};
        let of = |points: Vec<Point>| Sweep { points, defaults: vec![] }.notes().join("\n");
        let winners = vec![point(1, 1, Tree, 4, 1.0), point(1, 2, Ring, 4, 1.0), point(1, 3, Ring, 8, 1.0)];
        assert!(of(winners).contains("only one configuration per size"));
        let run = [1, 2, 3].map(|size| point(1, size, Tree, 4, 1.0)).to_vec();
        assert!(of(run).contains("file of a single run"));
        assert!(
            sweep().notes().iter().any(|n| n.starts_with("all_reduce on 4 nodes, 32 ranks: only runs of the default"))
        );
    }
}
