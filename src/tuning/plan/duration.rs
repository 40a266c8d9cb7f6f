//! How long launches take on the cluster, from the times in the sweep.
//!
//! nccl-tests starts, and runs each size [`WARM_UPS`] times to warm up, then [`ITERATIONS`] times out of place and as
//! often in place. The time of an operation is that of the configuration where it was measured, else of the median
//! busbw of all that was measured at that scale; between and beyond measured sizes as busbw is interpolated.

use std::collections::BTreeMap;

use super::PlannedLaunch;
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    launch,
    math::{exp, ln, log2, median},
    order::CompactSort,
    tuning::{aggregate::Point, baselines::BusbwCurve, sweep::Sweep},
};

/// The warm-up iterations of each size that nccl-tests runs by default (`-w`).
pub const WARM_UPS: u32 = 5;

/// The measured iterations of each size by default (`-n`), out of place and again in place.
pub const ITERATIONS: u32 = 20;

/// The assumed time of a launch to start and to set up its communicators, in seconds.
pub const START_SECONDS: f64 = 15.0;

/// A collective at a scale.
type GroupKey = (Collective, Scale);

/// ln busbw over log2 size.
type Heights = Vec<(f64, f64)>;

/// The curves from which the time of an operation is estimated.
pub struct OperationTimes {
    of: BTreeMap<(GroupKey, Option<Configuration>), Heights>,
    any: BTreeMap<GroupKey, Heights>,
}

impl OperationTimes {
    /// The times of everything that a sweep measured.
    pub fn new(sweep: &Sweep) -> Self {
        let mut of: BTreeMap<(GroupKey, Option<Configuration>), Heights> = BTreeMap::new();
        let mut all: BTreeMap<GroupKey, Vec<(u64, f64)>> = BTreeMap::new();
        let mut take = |point: &Point, configuration: Option<Configuration>| {
            let Workload { collective, scale, size_bytes } = point.workload;
            let height = ln(point.busbw_gbps);
            if height.is_finite() && size_bytes > 0 {
                of.entry(((collective, scale), configuration)).or_default().push((log2(size_bytes as f64), height));
                all.entry((collective, scale)).or_default().push((size_bytes, height));
            }
        };
        sweep.points.iter().for_each(|point| take(point, Some(point.configuration)));
        sweep.defaults.iter().for_each(|point| take(point, None));
        let mut any: BTreeMap<GroupKey, Heights> = BTreeMap::new();
        for (group, mut points) in all {
            points.compact_sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let middle = |of_size: &[(u64, f64)]| {
                let mut heights: Vec<f64> = of_size.iter().map(|(_, height)| *height).collect();
                median(&mut heights).map(|height| (log2(of_size[0].0 as f64), height))
            };
            any.insert(group, points.chunk_by(|a, b| a.0 == b.0).filter_map(middle).collect());
        }
        Self { of, any }
    }

    /// ln busbw over log2 size of what an item launches; `None` where nothing was measured at its scale.
    fn curve(&self, item: &PlannedLaunch) -> Option<BusbwCurve> {
        let group = (item.collective, item.scale);
        let heights = self.of.get(&(group, item.configuration)).filter(|heights| heights.len() > 1);
        Some(BusbwCurve::through(heights.or_else(|| self.any.get(&group))?.clone()))
    }

    /// One operation of the smallest and of the largest size of an item, in µs; `None` where nothing was measured at
    /// its scale.
    pub fn ends_us(&self, item: &PlannedLaunch) -> Option<[f64; 2]> {
        let curve = self.curve(item)?;
        let time_us = |size_bytes: u64| {
            let workload = Workload { collective: item.collective, scale: item.scale, size_bytes };
            workload.time_us(curve.at(size_bytes as f64)?)
        };
        Some([time_us(item.sizes.first)?, time_us(item.sizes.last)?])
    }

    /// All launches of an item, in seconds; `None` where nothing was measured at its scale.
    pub fn of(&self, item: &PlannedLaunch) -> Option<f64> {
        let curve = self.curve(item)?;
        let sizes = std::iter::successors(Some(item.sizes.first.max(1)), |size| size.checked_mul(2));
        let runs = f64::from(WARM_UPS + 2 * ITERATIONS);
        let seconds = |size: u64, height: f64| item.collective.time_us(item.scale.ranks, size, exp(height)) / 1e6;
        let of_size = |size: u64| curve.height(log2(size as f64)).map(|height| runs * seconds(size, height));
        let launch: Option<f64> = sizes.take_while(|size| *size <= item.sizes.last).map(of_size).sum();
        launch.map(|seconds| f64::from(item.repeats) * (START_SECONDS + seconds)).filter(|seconds| seconds.is_finite())
    }
}

/// The time of all launches in seconds, with those that warm the clocks; `None` where it is not known.
pub fn seconds(items: &[PlannedLaunch], times: &OperationTimes) -> Option<f64> {
    let mut scales: Vec<Scale> = items.iter().map(|item| item.scale).collect();
    scales.compact_sort();
    scales.dedup();
    let warm_up = |scale: &Scale| {
        let first = items.iter().find(|item| item.scale == *scale)?;
        times.of(&PlannedLaunch { configuration: None, repeats: launch::WARM_UPS as u32, ..first.clone() })
    };
    let of_items: Option<f64> = items.iter().map(|item| item.seconds).sum();
    let of_warm_ups: Option<f64> = scales.iter().map(warm_up).sum();
    Some(of_items? + of_warm_ups?).filter(|_| !items.is_empty())
}

/// A sentence with the time of all launches and its assumptions; empty where it is not known.
pub fn sentence(items: &[PlannedLaunch], times: &OperationTimes) -> Option<String> {
    Some(format!(
        "About {} on the cluster: {START_SECONDS:.0} s to start a launch (assumed), and {WARM_UPS} + 2 × {ITERATIONS} runs of each \
         size with the times of the sweep, the launches that warm the clocks among them",
        words(seconds(items, times)?)
    ))
}

/// A duration for people: seconds below two minutes, minutes below two hours, then hours and minutes.
pub fn words(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    match () {
        () if seconds < 120.0 => format!("{seconds:.0} s"),
        () if minutes < 120.0 => format!("{minutes:.0} min"),
        () => format!("{:.0} h {:02.0} min", (minutes / 60.0).floor(), minutes % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Protocol},
        launch::Sizes,
        tuning::plan::Reason,
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };
    const RING: Configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 8 };

    fn item(configuration: Option<Configuration>, first: u64, last: u64, repeats: u32) -> PlannedLaunch {
        PlannedLaunch {
            collective: Collective::Broadcast,
            scale: SCALE,
            configuration,
            sizes: Sizes { first, last },
            repeats,
            reason: Reason::Gain,
            expected_pct: None,
            ends_us: None,
            seconds: None,
            why: String::new(),
        }
    }

    /// 1 ms and 2 ms with the ring, twice as long by default.
    fn sweep() -> Sweep {
        let point = |size_bytes: u64, ms: f64| {
            let workload = Workload { collective: Collective::Broadcast, scale: SCALE, size_bytes };
            Point::new(workload, RING, size_bytes as f64 / ms / 1e6)
        };
        Sweep {
            points: vec![point(1 << 20, 1.0), point(1 << 21, 2.0)],
            defaults: vec![point(1 << 20, 2.0), point(1 << 21, 4.0)],
        }
    }

    #[test]
    fn launches_take_their_start_and_their_runs() {
        let times = OperationTimes::new(&sweep());
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
        assert!(close(times.of(&item(Some(RING), 1 << 20, 1 << 21, 2)), 2.0 * (15.0 + 45.0 * 0.003)));
        assert!(close(times.of(&item(None, 1 << 20, 1 << 21, 1)), 15.0 + 45.0 * 0.006));
        // What was not measured takes the middle of what was.
        let other = Some(Configuration { channels: 16, ..RING });
        let middle = f64::sqrt(0.001 * 0.002) + f64::sqrt(0.002 * 0.004);
        assert!(close(times.of(&item(other, 1 << 20, 1 << 21, 1)), 15.0 + 45.0 * middle));
        let ends = times.ends_us(&item(Some(RING), 1 << 20, 1 << 21, 2)).unwrap();
        assert!(ends.iter().zip([1000.0, 2000.0]).all(|(found, expected)| (found - expected).abs() < 1e-6), "{ends:?}");
        assert_eq!(OperationTimes::new(&Sweep::default()).of(&item(None, 4096, 8192, 1)), None);
    }

    #[test]
    fn the_whole_plan_has_its_warm_up_launches() {
        let times = OperationTimes::new(&sweep());
        let mut items = vec![item(Some(RING), 1 << 20, 1 << 21, 3)];
        items[0].seconds = times.of(&items[0]);
        let expected = 3.0 * (15.0 + 45.0 * 0.003) + 4.0 * (15.0 + 45.0 * 0.006);
        assert!((seconds(&items, &times).unwrap() - expected).abs() < 1e-9);
        assert!(sentence(&items, &times).unwrap().starts_with("About 106 s on the cluster: 15 s to start"));
        assert_eq!(sentence(&[], &times), None);
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(
            [59.6, 119.0, 121.0, 7100.0, 7260.0].map(words),
            ["60 s", "119 s", "2 min", "118 min", "2 h 01 min"]
        );
    }
}
