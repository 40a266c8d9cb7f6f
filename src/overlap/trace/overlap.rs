//! Durations and overlap ratios of the launches of a distributed run.

use std::collections::BTreeMap;

use super::Launch;
use crate::{
    math::median,
    overlap::read::{Durations, Statistic},
};

/// The durations of a run's launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// The computing kernels whose duration alone is known.
    pub statistics: Vec<Statistic>,
    pub communication: u64,
    /// The number of computing kernels whose duration alone is unknown.
    pub unknown: u64,
}

/// The launch is of a library of collectives, by its name.
pub fn is_communication(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["nccl", "rccl", "mscclpp", "nvshmem", "oneshotallreduce", "cross_device_reduce"]
        .iter()
        .any(|part| name.contains(part))
}

/// The share of each computing kernel that overlaps communication on its GPU, and its duration alone. The latter is
/// that of the launch with the same name and number among that name's launches in `alone`, a run without
/// communication; without such a run, the median of that name's launches in this run that don't overlap.
pub fn statistics(launches: &[Launch], alone: Option<&[Launch]>) -> Timing {
    let mut busy: BTreeMap<&str, BusyIntervals> = BTreeMap::new();
    let mut timing = Timing::default();
    for launch in launches.iter().filter(|launch| is_communication(&launch.name)) {
        timing.communication += 1;
        let intervals = &mut busy.entry(&launch.device).or_default().intervals;
        let end = launch.start_ns + launch.duration_ns;
        // Launches come in the order of their beginnings: one that begins before the last ends makes that longer.
        match intervals.last_mut() {
            Some((_, last)) if launch.start_ns <= *last => *last = last.max(end),
            _ => intervals.push((launch.start_ns, end)),
        }
    }
    busy.values_mut().for_each(BusyIntervals::add_up);
    let computing = || launches.iter().filter(|launch| !is_communication(&launch.name));
    let overlap = |launch: &Launch| {
        let end = launch.start_ns + launch.duration_ns;
        busy.get(launch.device.as_str()).map_or(0.0, |busy| busy.overlapping(launch.start_ns, end))
    };
    let mut alone_by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    match alone {
        Some(alone) => {
            for launch in alone.iter().filter(|launch| !is_communication(&launch.name)) {
                alone_by_name.entry(&launch.name).or_default().push(launch.duration_ns);
            }
        }
        None => {
            for launch in computing().filter(|launch| overlap(launch) == 0.0) {
                alone_by_name.entry(&launch.name).or_default().push(launch.duration_ns);
            }
            alone_by_name.values_mut().for_each(|durations| *durations = median(durations).into_iter().collect());
        }
    }
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for launch in computing() {
        let number = seen.entry((&launch.device, &launch.name)).or_default();
        let known = alone_by_name.get(launch.name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let duration = if alone.is_some() { known.get(*number) } else { known.first() };
        *number += 1;
        let Some(alone_ns) = duration.copied() else {
            timing.unknown += 1;
            continue;
        };
        let overlap_ratio = (overlap(launch) / launch.duration_ns).clamp(0.0, 1.0);
        let timed = Durations { alone_ns, duration_ns: launch.duration_ns, overlap_ratio };
        timing.statistics.push(Statistic { name: launch.name.clone(), line: launch.line, timed });
    }
    timing
}

/// The times during which a device communicates.
#[derive(Default)]
struct BusyIntervals {
    /// Starts and ends in ascending order; intervals are disjoint.
    intervals: Vec<(f64, f64)>,
    /// The sum of the lengths of all intervals before each.
    before: Vec<f64>,
}

impl BusyIntervals {
    fn add_up(&mut self) {
        let mut sum = 0.0;
        self.before = vec![0.0];
        self.before.extend(self.intervals.iter().map(|(begin, end)| {
            sum += end - begin;
            sum
        }));
    }

    /// The time between `begin` and `end` that intervals cover.
    fn overlapping(&self, begin: f64, end: f64) -> f64 {
        /// The number of intervals up to which they are added one by one. Launches that last as long as the run
        /// overlap all of them.
        const FEW: usize = 64;
        let first = self.intervals.partition_point(|interval| interval.1 <= begin);
        let last = self.intervals.partition_point(|interval| interval.0 < end).max(first);
        let inside = &self.intervals[first..last];
        let share = |interval: &(f64, f64)| interval.1.min(end) - interval.0.max(begin);
        match inside {
            [one, .., other] if inside.len() > FEW => {
                share(one) + (self.before[last - 1] - self.before[first + 1]) + share(other)
            }
            few => few.iter().map(share).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(name: &str, start_ns: f64, duration_ns: f64) -> Launch {
        Launch { name: name.into(), line: 1, device: "0".into(), start_ns, duration_ns }
    }

    fn run() -> Vec<Launch> {
        vec![
            launch("gemm", 0.0, 100.0),
            launch("ncclDevKernel_AllReduce", 120.0, 100.0),
            launch("gemm", 150.0, 150.0),
            launch("ncclDevKernel_AllReduce", 210.0, 30.0),
            launch("relu", 300.0, 10.0),
            launch("norm", 215.0, 10.0),
        ]
    }

    #[test]
    fn launches_beside_communication_overlap_it() {
        let timing = statistics(&run(), None);
        let all: Vec<_> =
            timing.statistics.iter().map(|s| (s.name.as_str(), s.timed.alone_ns, s.timed.overlap_ratio)).collect();
        assert_eq!(all, [("gemm", 100.0, 0.0), ("gemm", 100.0, 0.6), ("relu", 10.0, 0.0)]);
        assert_eq!((timing.communication, timing.unknown), (2, 1));
    }

    #[test]
    fn a_launch_over_many_others_is_added_up_at_once() {
        let mut busy = BusyIntervals {
            intervals: (0..1000).map(|at| (f64::from(at) * 10.0, f64::from(at) * 10.0 + 4.0)).collect(),
            ..BusyIntervals::default()
        };
        busy.add_up();
        for (begin, end) in [(0.0, 1e4), (2.0, 9993.0), (-5.0, 652.0), (641.0, 700.0), (9994.0, 1e9), (50.0, 50.0)] {
            let one_by_one: f64 = busy.intervals.iter().map(|of| (of.1.min(end) - of.0.max(begin)).max(0.0)).sum();
            assert_eq!(busy.overlapping(begin, end), one_by_one, "{begin} to {end}");
        }
    }

    #[test]
    fn a_run_alone_tells_each_launch() {
        let alone = [launch("gemm", 0.0, 90.0), launch("gemm", 100.0, 95.0), launch("norm", 300.0, 8.0)];
        let timing = statistics(&run(), Some(&alone));
        let all: Vec<_> = timing.statistics.iter().map(|s| (s.name.as_str(), s.timed.alone_ns)).collect();
        assert_eq!(all, [("gemm", 90.0), ("gemm", 95.0), ("norm", 8.0)]);
        assert_eq!(timing.unknown, 1);
    }
}
