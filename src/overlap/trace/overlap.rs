//! Durations and overlap ratios of the launches of a distributed run.

use std::collections::{BTreeMap, BTreeSet};

use super::Launch;
use crate::{
    collective::is_communication,
    intervals::Intervals,
    math::median,
    order::CompactCollect,
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

/// The share of each computing kernel that overlaps communication on its GPU, and its duration alone. The latter is
/// that of the launch with the same name and number among that name's launches on the same GPU in `alone`, a run
/// without communication; without such a run, the median of that name's launches in this run that don't overlap.
pub fn statistics<'a>(launches: &'a [Launch], alone: Option<&'a [Launch]>) -> Timing {
    let mut communicating: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let mut timing = Timing::default();
    for launch in launches.iter().filter(|launch| is_communication(&launch.name)) {
        timing.communication += 1;
        let end_ns = launch.start_ns + launch.duration_ns;
        communicating.entry(&launch.device).or_default().push((launch.start_ns, end_ns));
    }
    // Launches come in the order of their beginnings.
    let busy: BTreeMap<&str, Intervals> =
        communicating.into_iter().map(|(device, all)| (device, Intervals::of(all))).compact_collect();
    let computing = || launches.iter().filter(|launch| !is_communication(&launch.name));
    let overlap = |launch: &Launch| {
        let end = launch.start_ns + launch.duration_ns;
        busy.get(launch.device.as_str()).map_or(0.0, |busy| busy.covered(launch.start_ns, end))
    };
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut alone_durations: Vec<Vec<f64>> = Vec::new();
    let mut add = |key: (&'a str, &'a str), duration_ns: f64| {
        let next = alone_durations.len();
        let place = *places.entry(key).or_insert(next);
        if place == next {
            alone_durations.push(Vec::new());
        }
        alone_durations[place].push(duration_ns);
    };
    // The run alone may be of other GPUs than the job: then its first one stands for each.
    let of_alone: BTreeSet<&str> = alone.into_iter().flatten().map(|launch| launch.device.as_str()).compact_collect();
    let first = alone.and_then(|alone| alone.first()).map_or("", |launch| launch.device.as_str());
    let stands_for = |launch: &'a Launch| of_alone.get(launch.device.as_str()).copied().unwrap_or(first);
    match alone {
        Some(alone) => {
            for launch in alone.iter().filter(|launch| !is_communication(&launch.name)) {
                add((&launch.device, &launch.name), launch.duration_ns);
            }
        }
        None => {
            for launch in computing().filter(|launch| overlap(launch) == 0.0) {
                add((first, &launch.name), launch.duration_ns);
            }
            alone_durations.iter_mut().for_each(|durations| *durations = median(durations).into_iter().collect());
        }
    }
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for launch in computing() {
        let number = seen.entry((&launch.device, &launch.name)).or_default();
        let key = (stands_for(launch), launch.name.as_str());
        let known = places.get(&key).map_or(&[][..], |place| &alone_durations[*place]);
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
    fn a_run_alone_tells_each_launch() {
        let alone = [launch("gemm", 0.0, 90.0), launch("gemm", 100.0, 95.0), launch("norm", 300.0, 8.0)];
        let timing = statistics(&run(), Some(&alone));
        let all: Vec<_> = timing.statistics.iter().map(|s| (s.name.as_str(), s.timed.alone_ns)).collect();
        assert_eq!(all, [("gemm", 90.0), ("gemm", 95.0), ("norm", 8.0)]);
        assert_eq!(timing.unknown, 1);
    }

    #[test]
    fn a_run_alone_on_several_gpus_tells_each_launch_on_its_own() {
        let on = |device: &str, launch: Launch| Launch { device: device.into(), ..launch };
        let alone = [
            on("0", launch("gemm", 0.0, 90.0)),
            on("1", launch("gemm", 1.0, 70.0)),
            on("0", launch("gemm", 100.0, 95.0)),
            on("1", launch("gemm", 101.0, 75.0)),
        ];
        let of = |device: &str| {
            let job: Vec<Launch> = run().into_iter().map(|launch| on(device, launch)).collect();
            let timing = statistics(&job, Some(&alone));
            timing.statistics.iter().map(|s| s.timed.alone_ns).collect::<Vec<_>>()
        };
        assert_eq!([of("0"), of("1"), of("elsewhere")], [[90.0, 95.0], [70.0, 75.0], [90.0, 95.0]]);
    }
}
