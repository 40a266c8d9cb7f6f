//! Configurations that changed relative to the others.
//!
//! At each size, the change of a configuration less the median change is divided by the scatter there, or by that of
//! its own runs if larger. These deviations are averaged over stretches of 1, 2, 4 … neighbouring sizes, up to all. An
//! average must stand out of the robust scatter of the averages of all configurations over stretches of the same
//! length: that allows for the error which all sizes of a launch share. The level is corrected for the number of
//! averages (Bonferroni), with the same share for each length. If any average stands out, the same is done on resampled
//! campaigns in which nothing changed ([`super::resample`]), and it must stand out of those as well.

use serde::{Deserialize, Serialize};

use super::{
    family::ChangeInterval,
    pooled::{MAD_FREEDOM_SHARE, MAX_FREEDOM, MIN_CELLS, MIN_ERROR, SizeChanges},
    resample::LaunchResiduals,
    state::MeasuredArm,
};
use crate::{
    bandit::student,
    collective::{Collective, Configuration, Scale, Workload},
    math::{MAD_TO_DEVIATION, Stream, median},
    order::CompactSort,
    tuning::decision::draws::quantile,
};

/// A configuration that changed relative to the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelativeChange {
    /// The collective of these measurements.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The configuration that changed; `None` for the default.
    pub configuration: Option<Configuration>,
    /// The smallest size at which it changed, in bytes.
    pub first_bytes: u64,
    /// The largest one, in bytes.
    pub last_bytes: u64,
    /// The number of neighbouring sizes at which it changed, these two included.
    pub sizes: usize,
    /// Its change less that of the others, in per cent of busbw.
    #[serde(rename = "beside_pct")]
    pub relative_pct: f64,
    /// The interval of that change. All such intervals hold at once.
    pub interval_pct: (f64, f64),
}

/// The deviation of a configuration's change from the median change of its size.
#[derive(Clone, Copy, Debug)]
struct DeviationFromMedian {
    change: f64,
    scatter: f64,
    rounded: f64,
}

/// An average over a stretch of sizes.
#[derive(Clone, Copy, Debug)]
struct SizeStretch {
    arm: MeasuredArm,
    first: usize,
    sizes: usize,
    /// The mean deviation, in units of the scatter at each size.
    mean: f64,
    /// One of these units in ln busbw.
    unit: f64,
    /// By how much rounding may have moved it, in ln busbw.
    rounded: f64,
}

impl SizeStretch {
    /// Whether the size at an index is in it.
    const fn has(&self, at: usize) -> bool {
        self.first <= at && at < self.first + self.sizes
    }

    /// Whether both are of the same arm and have a size in common.
    fn meets(&self, other: &Self) -> bool {
        self.arm == other.arm && self.first < other.first + other.sizes && other.first < self.first + self.sizes
    }
}

/// A stretch whose average stands out.
#[derive(Clone, Copy, Debug)]
struct StretchChange {
    stretch: SizeStretch,
    /// ln of after / before, less the change of the others.
    change: f64,
    /// The half width of its interval.
    half_width: f64,
}

/// The configurations of one collective and scale whose change differs from that of the others, by ascending size.
/// Where nothing changed, any is named with a probability of at most `chance`. `is_beyond` decides whether an interval
/// lies beyond the smallest change that matters.
pub fn relative_changes(
    sizes: &[SizeChanges],
    chance: f64,
    is_beyond: impl Fn(&ChangeInterval) -> bool,
) -> Vec<RelativeChange> {
    let told: Vec<SizeChanges> = sizes.iter().filter(|size| size.cells.len() >= MIN_CELLS).cloned().collect();
    let Some(first) = told.first() else { return Vec::new() };
    let mut all: Vec<MeasuredArm> = told.iter().flat_map(|size| size.cells.iter().map(|cell| cell.arm)).collect();
    all.compact_sort();
    all.dedup();
    let stands_out = |found: &StretchChange, wider: f64| {
        let half_width = Some(found.half_width * wider + found.stretch.rounded);
        is_beyond(&ChangeInterval { ln_ratio: found.change, half_width })
    };
    let mut found = averages(&told, &all, chance);
    let of_one_size: Vec<StretchChange> = found.iter().filter(|found| found.stretch.sizes == 1).copied().collect();
    found.retain(|found| stands_out(found, 1.0));
    if found.is_empty() {
        return Vec::new();
    }
    let wider = by_chance(&told, &all, chance).max(1.0);
    found.retain(|found| stands_out(found, wider));
    found.iter_mut().for_each(|found| found.half_width = found.half_width * wider + found.stretch.rounded);
    // The longest stretch is named, unless a part of it changed significantly more than the whole of it.
    found.compact_sort_by(|a, b| {
        b.stretch
            .sizes
            .cmp(&a.stretch.sizes)
            .then((b.change.abs() / b.half_width).total_cmp(&(a.change.abs() / a.half_width)))
    });
    let mut kept: Vec<&StretchChange> = Vec::new();
    for next in &found {
        let is_a_part =
            |other: &&StretchChange| other.stretch.meets(&next.stretch) && other.stretch.sizes < next.stretch.sizes;
        let is_of_a_part =
            found.iter().filter(is_a_part).any(|part| part.change.abs() - part.half_width > next.change.abs());
        // An end that changed by less than half of it is not named where what is left stands out without it.
        let is_wrong_end = |end: usize| {
            let mut own =
                of_one_size.iter().filter(|one| one.stretch.arm == next.stretch.arm && one.stretch.first == end);
            own.any(|one| one.change * next.change.signum() < next.change.abs() / 2.0)
                && found.iter().filter(is_a_part).any(|part| !part.stretch.has(end))
        };
        let has_wrong_end =
            is_wrong_end(next.stretch.first) || is_wrong_end(next.stretch.first + next.stretch.sizes - 1);
        if !is_of_a_part && !has_wrong_end && !kept.iter().any(|other| other.stretch.meets(&next.stretch)) {
            kept.push(next);
        }
    }
    let pct = |ln_ratio: f64| super::pct(ln_ratio);
    let Workload { collective, scale, .. } = first.workload;
    let told_of = |found: &StretchChange| {
        let StretchChange { stretch: SizeStretch { arm, first, sizes, .. }, change, half_width } = *found;
        RelativeChange {
            collective,
            scale,
            configuration: if let MeasuredArm::Asked(configuration) = arm { Some(configuration) } else { None },
            first_bytes: told[first].workload.size_bytes,
            last_bytes: told[first + sizes - 1].workload.size_bytes,
            sizes,
            relative_pct: pct(change),
            interval_pct: (pct(change - half_width), pct(change + half_width)),
        }
    };
    kept.into_iter().map(told_of).collect()
}

/// The averages over stretches of all lengths, each with its limit without rounding: by chance, any average exceeds its
/// limit with a probability of `chance`.
fn averages(told: &[SizeChanges], all: &[MeasuredArm], chance: f64) -> Vec<StretchChange> {
    let rows: Vec<Vec<Option<DeviationFromMedian>>> = deviations_from_median(told, all);
    let lengths: Vec<usize> =
        std::iter::successors(Some(1), |length| Some(length * 2)).take_while(|length| *length < told.len()).collect();
    let lengths: Vec<usize> = lengths.into_iter().chain([told.len()]).collect();
    let share = chance.clamp(0.0, 1.0) / lengths.len() as f64;
    let mut found: Vec<StretchChange> = Vec::new();
    for length in &lengths {
        let stretches = stretches(all, &rows, *length);
        let mut heights: Vec<f64> = stretches.iter().map(|stretch| stretch.mean.abs()).collect();
        let Some(middle) = median(&mut heights) else { continue };
        let freedom = (heights.len() as f64 * MAD_FREEDOM_SHARE).clamp(1.0, MAX_FREEDOM);
        // The scatter of averages is at least that of the mean of independent deviations.
        let scatter = (middle * MAD_TO_DEVIATION).max(1.0 / (*length as f64).sqrt());
        let width = student::quantile(1.0 - share / 2.0 / heights.len() as f64, freedom) * scatter;
        found.extend(stretches.into_iter().map(|stretch| StretchChange {
            stretch,
            change: stretch.mean * stretch.unit,
            half_width: width * stretch.unit,
        }));
    }
    found
}

/// The factor on the limits of [`averages`] with which any average exceeds its limit with a probability of `chance`, in
/// campaigns without a change whose runs and launches differ as much as these.
fn by_chance(told: &[SizeChanges], all: &[MeasuredArm], chance: f64) -> f64 {
    const RESAMPLES: usize = 200;
    let launches = LaunchResiduals::new(told, all);
    let mut stream = Stream::new(0x2ED2A);
    let largest: Vec<f32> = (0..RESAMPLES)
        .map(|_| {
            let drawn = averages(&launches.resampled(told, all, &mut stream), all, chance);
            drawn.iter().map(|found| found.change.abs() / found.half_width).fold(0.0, f64::max) as f32
        })
        .collect();
    quantile(&largest, 1.0 - chance)
}

/// The deviations of each arm's change at each size.
fn deviations_from_median(told: &[SizeChanges], all: &[MeasuredArm]) -> Vec<Vec<Option<DeviationFromMedian>>> {
    let mut rows: Vec<Vec<Option<DeviationFromMedian>>> = all.iter().map(|_| vec![None; told.len()]).collect();
    for (place, size) in told.iter().enumerate() {
        let Some(middle) = size.median() else { continue };
        let mut deviations: Vec<f64> = size.cells.iter().map(|cell| (cell.ln_ratio - middle).abs()).collect();
        let scatter = median(&mut deviations).unwrap_or(0.0) * MAD_TO_DEVIATION;
        let rounded = median(&mut size.cells.iter().map(|cell| cell.rounded).collect::<Vec<_>>()).unwrap_or(0.0);
        for cell in &size.cells {
            let Ok(row) = all.binary_search(&cell.arm) else { continue };
            rows[row][place] = Some(DeviationFromMedian {
                change: cell.ln_ratio - middle,
                // The arm's own runs spread far if one of them stalled.
                scatter: scatter.max(cell.error).max(MIN_ERROR),
                rounded: cell.rounded + rounded,
            });
        }
    }
    rows
}

/// The averages over all stretches of a length that begin at its multiples.
fn stretches(all: &[MeasuredArm], rows: &[Vec<Option<DeviationFromMedian>>], length: usize) -> Vec<SizeStretch> {
    let mut stretches = Vec::new();
    for (arm, row) in all.iter().zip(rows) {
        for (number, part) in row.chunks_exact(length).enumerate() {
            let cells: Option<Vec<DeviationFromMedian>> = part.iter().copied().collect();
            let Some(cells) = cells else { continue };
            let n = length as f64;
            let mean = cells.iter().map(|cell| cell.change / cell.scatter).sum::<f64>() / n;
            let unit = n / cells.iter().map(|cell| 1.0 / cell.scatter).sum::<f64>();
            let rounded = cells.iter().map(|cell| cell.rounded / cell.scatter).sum::<f64>() / n * unit;
            stretches.push(SizeStretch { arm: *arm, first: number * length, sizes: length, mean, unit, rounded });
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::{super::pooled::tests::sizes, *};

    fn named(sizes: &[SizeChanges]) -> Vec<(Option<u32>, u64, usize)> {
        let is_beyond =
            |interval: &ChangeInterval| interval.ln_ratio.abs() > interval.half_width.unwrap_or(f64::INFINITY);
        let of = relative_changes(sizes, 0.04, is_beyond);
        of.iter().map(|m| (m.configuration.map(|c| c.channels), m.first_bytes, m.sizes)).collect()
    }

    #[test]
    fn the_one_that_changed_is_named_with_its_sizes() {
        assert_eq!(named(&sizes(2, |c, _| if c == 7 { -0.05 } else { 0.0 })), [(Some(7), 4096, 16)]);
        // All of it got slower, and one more than the others.
        assert_eq!(named(&sizes(3, |c, _| if c == 7 { -0.15 } else { -0.1 })), [(Some(7), 4096, 16)]);
        let part = named(&sizes(4, |c, size| if c == 7 && (4..8).contains(&size) { -0.1 } else { 0.0 }));
        assert_eq!(part, [(Some(7), 4096 << 4, 4)]);
        let place = named(&sizes(5, |c, size| if c == 7 && size == 9 { 0.3 } else { 0.0 }));
        assert_eq!(place, [(Some(7), 4096 << 9, 1)]);
        // Its neighbour at the smallest size is noisy, and did not change.
        let mut noisy = sizes(6, |c, size| if c == 7 && size == 1 { -0.3 } else { 0.0 });
        noisy[0].cells.iter_mut().for_each(|cell| cell.ln_ratio *= 6.0);
        noisy[0].cells[7].ln_ratio = 0.0;
        assert_eq!(named(&noisy), [(Some(7), 4096 << 1, 1)]);
    }

    #[test]
    fn noise_names_nothing() {
        let mut stream = Stream::new(9);
        let launches: Vec<f64> = (0..20 * 60).map(|_| 0.02 * stream.normal()).collect();
        let alarms = |of_launches: bool| {
            let any = |seed: u64| {
                let launch = |c: u32| if of_launches { launches[seed as usize * 20 + c as usize] } else { 0.0 };
                !named(&sizes(seed, |c, _| launch(c))).is_empty()
            };
            (0..60).filter(|seed| any(*seed)).count()
        };
        // 4 % of 60 are 2.4.
        let counts = [alarms(false), alarms(true)];
        assert!(counts.iter().all(|count| *count <= 8), "{counts:?}");
    }

    #[test]
    fn the_interval_of_a_named_change_holds_it_and_allows_for_rounding() {
        let with = |rounded: f64| {
            let mut all = sizes(2, |c, _| if c == 7 { -0.1 } else { 0.0 });
            all.iter_mut().flat_map(|size| &mut size.cells).for_each(|cell| cell.rounded = rounded);
            let is_beyond =
                |interval: &ChangeInterval| interval.ln_ratio.abs() > interval.half_width.unwrap_or(f64::INFINITY);
            let [named] = relative_changes(&all, 0.04, is_beyond)[..] else { panic!() };
            named
        };
        let exact = with(0.0);
        let (low, high) = exact.interval_pct;
        let change = super::super::pct(-0.1);
        assert!(low < exact.relative_pct && exact.relative_pct < high && high < 0.0, "{exact:?}");
        assert!((low..high).contains(&change) && (exact.relative_pct - change).abs() < 2.0, "{exact:?}");
        // Both the configuration and those beside it may be off by a digit.
        let rounded = with(0.01);
        let width = |named: &RelativeChange| {
            let (low, high) = named.interval_pct;
            crate::math::ln((1.0 + high / 100.0) / (1.0 + low / 100.0))
        };
        assert!((width(&rounded) - width(&exact) - 0.04).abs() < 1e-6, "{rounded:?} {exact:?}");
    }

    #[test]
    fn sizes_with_too_few_configurations_and_campaigns_without_any_name_nothing() {
        assert_eq!(named(&[]), []);
        let mut few = sizes(2, |c, _| if c == 3 { -0.3 } else { 0.0 });
        few.iter_mut().for_each(|size| size.cells.truncate(MIN_CELLS));
        assert_eq!(named(&few), [(Some(3), 4096, 16)]);
        few.iter_mut().for_each(|size| size.cells.truncate(MIN_CELLS - 1));
        assert_eq!(named(&few), []);
    }

    #[test]
    fn each_of_several_changes_is_named() {
        let changed = |c: u32, size: usize| match (c, size) {
            (3, _) => -0.2,
            (7, 4..8) => 0.3,
            (7, 12..16) => -0.3,
            _ => 0.0,
        };
        let mut found = named(&sizes(2, changed));
        found.compact_sort_by_key(|(channels, first, _)| (*channels, *first));
        let expected = [(Some(3), 4096, 16), (Some(7), 4096 << 4, 4), (Some(7), 4096 << 12, 4)];
        assert_eq!(found, expected);
    }
}
