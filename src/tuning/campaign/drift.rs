//! Takes the level of the day out of a campaign's measurements.
//!
//! The default runs again and again among the other launches. Its level at a launch is the median over the sizes of
//! ln(busbw / median busbw of all its launches). Where the levels of neighbouring launches are more alike than chance
//! lets them be (J. von Neumann, "Distribution of the ratio of the mean square successive difference to the variance",
//! Annals of Mathematical Statistics 12, 1941), and span more than [`MIN_RANGE_PCT`], the cluster drifts. Then every
//! launch is divided by the level at its place, on the line between the smoothed levels of the launches of the default
//! before and after it.

use std::collections::BTreeMap;

use crate::{
    collective::{Collective, Scale},
    math::{exp, ln, median},
    order::CompactSort,
    tuning::read::{Row, RunKind, Sample},
    units::significant,
};

/// The fewest launches of the default from which a drift can be told.
const MIN_DEFAULTS: usize = 5;

/// Levels that span less are left alone: their correction would add more noise than it takes away.
const MIN_RANGE_PCT: f64 = 2.0;

/// The standard deviations by which the ratio lies below its expectation where a drift is called one: one-sided 1 %.
const CRITICAL: f64 = 2.326;

/// Corrects the rows of each collective and scale. `order` has the number of the launch of each file that takes part.
/// Returns a sentence for each drift that was taken out.
pub fn correct(rows: &mut [Row], order: &BTreeMap<u16, u32>) -> Vec<String> {
    let mut groups: Vec<(Collective, Scale)> =
        rows.iter().map(|row| (row.workload.collective, row.workload.scale)).collect();
    groups.compact_sort();
    groups.dedup();
    groups.into_iter().filter_map(|group| correct_group(rows, order, group)).collect()
}

fn correct_group(
    rows: &mut [Row],
    order: &BTreeMap<u16, u32>,
    (collective, scale): (Collective, Scale),
) -> Option<String> {
    let is_own = |row: &Row| (row.workload.collective, row.workload.scale) == (collective, scale);
    let mut by_size: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_own(row) && row.kind == RunKind::Default) {
        let Some(launch) = order.get(&row.file) else { continue };
        if let Some(busbw) = row.in_place.or(row.out_of_place).map(|sample| sample.busbw_gbps).filter(|b| *b > 0.0) {
            by_size.entry(row.workload.size_bytes).or_default().push((*launch, ln(busbw)));
        }
    }
    let mut heights: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for runs in by_size.values() {
        let Some(middle) = median(&mut runs.iter().map(|(_, height)| *height).collect::<Vec<_>>()) else { continue };
        for (launch, height) in runs {
            heights.entry(*launch).or_default().push(height - middle);
        }
    }
    let levels: Vec<(u32, f64)> =
        heights.into_iter().filter_map(|(launch, mut heights)| Some((launch, median(&mut heights)?))).collect();
    let range = range(&levels)?;
    let smooth = smoothed(&levels);
    for row in rows.iter_mut().filter(|row| is_own(row)) {
        let Some(launch) = order.get(&row.file) else { continue };
        let factor = exp(-at(&smooth, *launch));
        for sample in [&mut row.in_place, &mut row.out_of_place].into_iter().flatten() {
            *sample = Sample {
                time_us: sample.time_us.map(|time_us| time_us / factor),
                busbw_gbps: sample.busbw_gbps * factor,
            };
        }
    }
    Some(format!(
        "{collective} on {scale}: the default drifted by {} % over {} launches; every launch is compared with the default \
         before and after it",
        significant(range),
        levels.len()
    ))
}

/// The span of the levels in per cent, where they drift.
fn range(levels: &[(u32, f64)]) -> Option<f64> {
    let n = levels.len();
    if n < MIN_DEFAULTS {
        return None;
    }
    let mean = levels.iter().map(|(_, level)| level).sum::<f64>() / n as f64;
    let around: f64 = levels.iter().map(|(_, level)| (level - mean) * (level - mean)).sum();
    let successive: f64 = levels.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[1].1 - pair[0].1)).sum();
    let (low, high) = levels
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, level)| (low.min(*level), high.max(*level)));
    let range_pct = (exp(high - low) - 1.0) * 100.0;
    if around <= 0.0 || range_pct < MIN_RANGE_PCT {
        return None;
    }
    let count = n as f64;
    let expected = 2.0;
    let deviation = (4.0 * (count - 2.0) / (count * count - 1.0)).sqrt();
    (successive / around < expected - CRITICAL * deviation).then_some(range_pct)
}

/// Medians of three neighbours; the ends stay.
fn smoothed(levels: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let middle = |index: usize| {
        let around = &levels[index.saturating_sub(1)..(index + 2).min(levels.len())];
        let middle = median(&mut around.iter().map(|(_, level)| *level).collect::<Vec<_>>());
        middle.filter(|_| around.len() == 3).unwrap_or(levels[index].1)
    };
    levels.iter().enumerate().map(|(index, (launch, _))| (*launch, middle(index))).collect()
}

/// The level at a launch, on the line between its neighbours; beyond the ends as at them.
fn at(levels: &[(u32, f64)], launch: u32) -> f64 {
    let above = levels.partition_point(|(known, _)| *known < launch);
    match (above.checked_sub(1).map(|below| levels[below]), levels.get(above)) {
        (Some((first, low)), Some((last, high))) => {
            low + (high - low) * f64::from(launch - first) / f64::from((last - first).max(1))
        }
        (Some((_, level)), None) => level,
        (None, Some((_, level))) => *level,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol, Workload},
        math::Stream,
    };

    const SIZES: [u64; 4] = [4096, 65_536, 1 << 20, 1 << 24];

    /// 40 launches; every fifth one is the default, the others are 10 % faster. `level` is that of the day.
    fn campaign(level: impl Fn(u32) -> f64, noise_pct: f64, seed: u64) -> (Vec<Row>, BTreeMap<u16, u32>) {
        let mut stream = Stream::new(seed);
        let scale = Scale { nodes: 2, ranks: 16 };
        let mut rows = Vec::new();
        for launch in 0..40_u32 {
            let is_default = launch % 5 == 0;
            let of_launch = exp(noise_pct / 100.0 * stream.normal());
            for size_bytes in SIZES {
                let busbw_gbps = 100.0 * exp(level(launch)) * of_launch * if is_default { 1.0 } else { 1.1 };
                rows.push(Row {
                    file: launch as u16,
                    line: 1,
                    workload: Workload { collective: Collective::AllReduce, scale, size_bytes },
                    ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: launch },
                    in_place: Some(Sample { time_us: Some(1000.0 / busbw_gbps), busbw_gbps }),
                    out_of_place: None,
                    repeats: 1,
                    spread_pct: None,
                    kind: if is_default { RunKind::Default } else { RunKind::Asked },
                    marks: Default::default(),
                    asked: Default::default(),
                    evidence: Default::default(),
                    origin: 0,
                });
            }
        }
        let order = (0..40).map(|launch| (launch as u16, launch)).collect();
        (rows, order)
    }

    /// The standard deviation of the busbw of the others, in per cent.
    fn deviation_pct(rows: &[Row]) -> f64 {
        let others = rows.iter().filter(|row| row.kind == RunKind::Asked);
        let heights: Vec<f64> = others.filter_map(|row| Some(ln(row.in_place?.busbw_gbps))).collect();
        let mean = heights.iter().sum::<f64>() / heights.len() as f64;
        100.0
            * (heights.iter().map(|height| (height - mean) * (height - mean)).sum::<f64>() / heights.len() as f64)
                .sqrt()
    }

    #[test]
    fn a_drift_is_taken_out_and_times_follow() {
        for level in
            [|launch: u32| -0.1 * f64::from(launch) / 40.0, |launch: u32| if launch < 20 { 0.0 } else { -0.08 }]
        {
            let (mut rows, order) = campaign(level, 0.3, 1);
            let before = deviation_pct(&rows);
            let notes = correct(&mut rows, &order);
            assert_eq!(notes.len(), 1);
            let after = deviation_pct(&rows);
            assert!(before > 2.0 && after < before / 1.9, "{before} {after} {notes:?}");
            let sample = rows[7].in_place.unwrap();
            assert!((sample.time_us.unwrap() - 1000.0 / sample.busbw_gbps).abs() < 1e-9);
        }
    }

    #[test]
    fn launches_that_only_differ_are_left_alone() {
        let mut corrected = 0;
        for seed in 0..400 {
            let (mut rows, order) = campaign(|_| 0.0, 3.0, seed);
            let untouched = rows.clone();
            if correct(&mut rows, &order).is_empty() {
                assert_eq!(rows, untouched);
            } else {
                corrected += 1;
            }
        }
        // One in a hundred is expected, 10 of 400 is two standard errors and a half above.
        assert!(corrected <= 10, "{corrected} of 400");
    }

    #[test]
    fn few_launches_of_the_default_tell_nothing() {
        let (mut rows, order) = campaign(|launch| f64::from(launch) * 0.01, 0.1, 1);
        rows.retain(|row| row.file < 20);
        assert!(correct(&mut rows, &order).is_empty());
        assert!(correct(&mut [], &BTreeMap::new()).is_empty());
    }
}
