//! Launches that stalled at a size where their configuration has no other measurement.
//!
//! A stalled time says nothing about the configuration. The same run also measured out of place, and from that its
//! in-place busbw can be estimated ([`Stall::expected_gbps`]). A plan uses the estimate as if it was measured, and
//! makes the launch again only where the estimate is high enough to change an answer.

use std::borrow::Cow;

use super::explore::LaunchThresholds;
use crate::{
    collective::{Algorithm, Configuration},
    math::ln,
    order::{CompactCollect, CompactSort},
    tuning::{result::Group, stalls::Stall, sweep::Sweep},
};

/// A sweep in which stalled measurements are replaced by their estimates.
pub fn as_expected<'a>(sweep: &'a Sweep, stalls: &[Stall]) -> Cow<'a, Sweep> {
    let mut sweep = Cow::Borrowed(sweep);
    for stall in stalls {
        let key = (stall.workload, stall.configuration);
        if let Ok(found) = sweep.points.binary_search_by_key(&key, |point| (point.workload, point.configuration)) {
            sweep.to_mut().points[found].busbw_gbps = stall.expected_gbps;
        }
    }
    sweep
}

/// A launch that stalled and is worth making again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StalledLaunch {
    /// Its stall whose estimate lies highest above the best that was measured.
    pub stall: Stall,
    /// By how much busbw rises if the estimates are right, in per cent ([`LaunchThresholds::gain_pct`]).
    pub expected_pct: f64,
}

/// The launches of a group that stalled and are worth making again. `sweep` has what was measured.
pub fn worth_repeating(group: &Group, sweep: &Sweep, stalls: &[Stall], worth: LaunchThresholds) -> Vec<StalledLaunch> {
    let is_own = |stall: &&Stall| {
        (stall.workload.collective, stall.workload.scale) == (group.collective, group.scale)
            // Direct can't be asked for.
            && stall.configuration.algorithm != Algorithm::Direct
    };
    let gain = |stall: &Stall| {
        let best_gbps = sweep.best_at(&stall.workload).map_or(0.0, |best| best.busbw_gbps);
        ln(stall.expected_gbps / best_gbps)
    };
    let mut launches: Vec<Configuration> =
        stalls.iter().filter(is_own).map(|stall| stall.configuration).compact_collect();
    launches.compact_sort();
    launches.dedup();
    let launch = |configuration: Configuration| {
        let of_launch = || stalls.iter().filter(is_own).filter(|stall| stall.configuration == configuration);
        let expected_pct = worth.gain_pct(of_launch().map(gain), group.sizes.len());
        let stall = *of_launch().max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
        Some(StalledLaunch { stall, expected_pct }).filter(|launch| launch.expected_pct >= worth.least_pct)
    };
    launches.into_iter().filter_map(launch).compact_collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Collective, Protocol, Scale, Workload},
        tuning::{aggregate::Point, read::Placement},
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn ring(channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels }
    }

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
    }

    /// Two configurations at four sizes; that with 16 channels stalled at the first two, where 12 and 10.2 GB/s are
    /// expected of it.
    fn example() -> (Sweep, [Stall; 2]) {
        let sizes = [12, 13, 14, 15].map(|log2| 1_u64 << log2);
        let points = sizes.into_iter().flat_map(|size| {
            let of_16 = if size <= 1 << 13 { 2.0 } else { 9.0 };
            [Point::new(workload(size), ring(8), 10.0), Point::new(workload(size), ring(16), of_16)]
        });
        let stall = |size: u64, expected_gbps: f64| Stall {
            file: 0,
            line: 1,
            workload: workload(size),
            configuration: ring(16),
            is_default: false,
            repeat: 1,
            of: 1,
            placement: Placement::InPlace,
            busbw_gbps: 2.0,
            expected_gbps,
            set_aside: false,
        };
        let stalls = [stall(sizes[0], 12.0), stall(sizes[1], 10.2)];
        (Sweep { points: points.collect(), defaults: Vec::new() }, stalls)
    }

    #[test]
    fn what_a_stalled_launch_lets_expect_stands_in_the_place_of_what_it_measured() {
        let (sweep, stalls) = example();
        let expected = as_expected(&sweep, &stalls);
        let busbw = |sweep: &Sweep| -> Vec<f64> {
            sweep.points.iter().filter(|p| p.configuration == ring(16)).map(|p| p.busbw_gbps).collect()
        };
        assert_eq!((busbw(&sweep), busbw(&expected)), (vec![2.0, 2.0, 9.0, 9.0], vec![12.0, 10.2, 9.0, 9.0]));
        assert!(matches!(as_expected(&sweep, &[]), Cow::Borrowed(_)));
    }

    #[test]
    fn a_stalled_launch_is_worth_repeating_only_where_it_may_be_faster_than_the_others() {
        let (sweep, stalls) = example();
        let group = sweep.groups().remove(0);
        let worth = LaunchThresholds::default();
        let found = worth_repeating(&group, &sweep, &stalls, worth);
        let [launch] = found[..] else { panic!("{found:?}") };
        assert_eq!(launch.stall, stalls[0]);
        // ln 1.2 and ln 1.02, each less 1 %: the root mean square over four sizes.
        assert!((launch.expected_pct - 8.63).abs() < 0.01, "{launch:?}");
        // 10.2 GB/s instead of 10 at one of four sizes raise busbw by 0.49 % in the root mean square.
        let only_second = |least_pct: f64| {
            worth_repeating(&group, &sweep, &stalls[1..], LaunchThresholds { least_pct, ..worth }).len()
        };
        assert_eq!([0.4, 0.6].map(only_second), [1, 0]);
        // Slower than the other: nothing is to be found.
        let slower = [Stall { expected_gbps: 9.9, ..stalls[0] }];
        assert!(worth_repeating(&group, &sweep, &slower, worth).is_empty());
        // Nothing else was measured at the size that stalled.
        let alone =
            Sweep { points: sweep.points.into_iter().filter(|p| p.configuration == ring(16)).collect(), ..sweep };
        assert_eq!(worth_repeating(&group, &alone, &slower, worth).len(), 1);
    }
}
