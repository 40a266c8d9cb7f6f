//! The overall change between two campaigns.
//!
//! The level of the day, the nodes, or a change that touches everything changes all sizes and configurations alike, and
//! one campaign of each state can't tell which it was. So the overall change is a finding of its own: the median over
//! the sizes of the common change at each. It is subtracted before sizes and configurations are compared. A change at
//! fewer than half of the sizes does not affect it, and neither does one at up to three quarters of them where the
//! others take as long as before: what did not change at many sizes is not the level of the day.
//!
//! Its error comes from the scatter of sizes around it, from the scatter of configurations (all sizes of one launch
//! change together), and from the drift between passes, by which campaigns may differ without a change
//! ([`crate::report::snapshot::Drift`]). The drift only widens the interval of the overall change itself: it is common
//! to all differences that are compared after the subtraction.

use serde::{Deserialize, Serialize};

use super::{
    ChangeVerdict,
    pooled::{MAD_FREEDOM_SHARE, MAX_FREEDOM, MIN_ERROR, SizeChanges},
    state::MeasuredArm,
};
use crate::{
    collective::{Collective, Scale},
    math::{MAD_TO_DEVIATION, median},
    order::CompactSort,
};

/// The fewest sizes: with fewer, an overall change can't be distinguished from one at some sizes.
pub const MIN_SIZES: usize = 5;

/// The standard error of the median of normal numbers over that of their mean.
const MEDIAN_ERROR_FACTOR: f64 = 1.2533;

/// The change that all sizes and configurations of a collective and scale have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallChange {
    /// The collective of these measurements.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The number of sizes that it is computed from.
    pub sizes: usize,
    /// The smallest of them in bytes.
    pub first_bytes: u64,
    /// The largest of them in bytes.
    pub last_bytes: u64,
    /// after / before − 1 in per cent of busbw.
    pub change_pct: f64,
    /// Its interval; `None` while the noise is not known. Those of all collectives and scales hold at once.
    pub interval_pct: Option<(f64, f64)>,
    /// Whether the change is beyond noise, and in which direction.
    pub verdict: ChangeVerdict,
}

/// The median of the changes, without the error that the drift of passes adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianChange {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// Its standard error, without the drift of passes.
    pub error: f64,
    /// The degrees of freedom of the standard error.
    pub freedom: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// The number of sizes that it is computed from.
    pub sizes: usize,
    /// The smallest and the largest of them, in bytes.
    pub between_bytes: [u64; 2],
}

/// The share of sizes without a change of their own that tells the level, and the fewest of them.
const UNCHANGED: (f64, usize) = (0.25, 4);

/// How many times nearer to no change they are than the median of all.
const NEARER: f64 = 4.0;

/// How many standard errors of a size they and the median of all are apart at least.
const APART: f64 = 6.0;

/// Leaves the sizes that take as long as before, where there are many and the median of all is far from them.
fn keep_unchanged(told: &mut Vec<(&SizeChanges, f64)>) {
    let least = UNCHANGED.1.max((told.len() as f64 * UNCHANGED.0).ceil() as usize);
    if told.len() < 2 * UNCHANGED.1 {
        return;
    }
    let changes = || told.iter().map(|(_, change)| *change).collect::<Vec<f64>>();
    let mut nearest = changes();
    nearest.compact_sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    nearest.truncate(least);
    let Some((level, all)) = median(&mut nearest).zip(median(&mut changes())) else { return };
    let mut errors: Vec<f64> = told.iter().filter_map(|(size, _)| Some(size.pooled()?.error())).collect();
    let own = (nearest.iter().map(|change| (change - level) * (change - level)).sum::<f64>() / least as f64).sqrt();
    let noise = median(&mut errors).unwrap_or(0.0).max(own).max(MIN_ERROR);
    if level.abs() * NEARER <= all.abs() && (all - level).abs() > APART * noise {
        told.retain(|(_, change)| (change - level).abs() <= APART * noise);
    }
}

/// The changes of two arms that are apart at all sizes.
struct ArmsApart {
    /// The arm that takes as long as before, if one of them does.
    unchanged: Option<MeasuredArm>,
    /// Half of the distance between the two.
    half: f64,
}

/// Two arms, such as the default and one configuration, whose changes differ: no level of the day does that, and their
/// mean is neither's. `None` with other numbers of arms, or where chance explains the distance.
fn arms_apart(told: &[(&SizeChanges, f64)]) -> Option<ArmsApart> {
    let both: Vec<[(MeasuredArm, f64); 2]> =
        told.iter().filter_map(|(size, _)| <[_; 2]>::try_from(size.changes().collect::<Vec<_>>()).ok()).collect();
    let [(first, _), (second, _)] = *both.first()?;
    if both.len() < told.len() || both.iter().any(|pair| pair[0].0 != first || pair[1].0 != second) {
        return None;
    }
    let of = |change: fn(&[(MeasuredArm, f64); 2]) -> f64| -> Vec<f64> { both.iter().map(change).collect() };
    let distances = of(|pair| pair[1].1 - pair[0].1);
    let error = scatter(distances.clone()).max(MIN_ERROR);
    let distance = median(&mut distances.clone())?.abs();
    if distance <= APART * error {
        return None;
    }
    let [one, other] = [median(&mut of(|pair| pair[0].1))?, median(&mut of(|pair| pair[1].1))?];
    let is_none = |own: f64, other: f64| own.abs() * NEARER <= other.abs();
    let unchanged = if is_none(one, other) { Some(first) } else { Some(second).filter(|_| is_none(other, one)) };
    Some(ArmsApart { unchanged, half: distance / 2.0 })
}

/// The overall change of one collective and scale; `None` with fewer than [`MIN_SIZES`] sizes.
pub fn median_change(sizes: &[SizeChanges]) -> Option<MedianChange> {
    let mut told: Vec<(&SizeChanges, f64)> = sizes.iter().filter_map(|size| Some((size, size.middle()?))).collect();
    if told.len() < MIN_SIZES {
        return None;
    }
    let apart = arms_apart(&told);
    if let Some(unchanged) = apart.as_ref().and_then(|apart| apart.unchanged) {
        for (size, change) in &mut told {
            *change = size.changes().find(|(arm, _)| *arm == unchanged).map_or(*change, |(_, own)| own);
        }
    }
    keep_unchanged(&mut told);
    let ln_ratio = median(&mut told.iter().map(|(_, change)| *change).collect::<Vec<_>>())?;
    let mut of_arms: Vec<(MeasuredArm, f64)> =
        told.iter().flat_map(|(size, change)| size.changes().map(move |(arm, own)| (arm, own - change))).collect();
    of_arms.compact_sort_by_key(|(arm, _)| *arm);
    let of_arm = |of: &[(MeasuredArm, f64)]| median(&mut of.iter().map(|(_, change)| *change).collect::<Vec<_>>());
    let arms: Vec<f64> = of_arms.chunk_by(|a, b| a.0 == b.0).filter_map(of_arm).collect();
    let by_size = scatter(told.iter().map(|(_, change)| *change).collect());
    let by_arm = match apart {
        Some(ArmsApart { unchanged: None, half }) => half,
        _ if arms.len() > 2 => scatter(arms.clone()),
        _ => 0.0,
    };
    let fewest = if arms.len() > 2 { told.len().min(arms.len()) } else { told.len() };
    let rounded = median(&mut told.iter().map(|(size, _)| size.rounded()).collect::<Vec<_>>()).unwrap_or(0.0);
    Some(MedianChange {
        ln_ratio,
        error: (by_size * by_size + by_arm * by_arm).sqrt().max(MIN_ERROR),
        freedom: (fewest as f64 * MAD_FREEDOM_SHARE).clamp(1.0, MAX_FREEDOM),
        rounded,
        sizes: told.len(),
        between_bytes: [told.first()?.0.size_bytes(), told.last()?.0.size_bytes()],
    })
}

/// The standard error of the median of some changes, from their scatter around it.
fn scatter(mut changes: Vec<f64>) -> f64 {
    let n = changes.len() as f64;
    let Some(median_change) = median(&mut changes) else { return 0.0 };
    let mut off: Vec<f64> = changes.iter().map(|change| (change - median_change).abs()).collect();
    MEDIAN_ERROR_FACTOR * MAD_TO_DEVIATION * median(&mut off).unwrap_or(0.0) / n.sqrt()
}

#[cfg(test)]
mod tests {
    use super::{super::pooled::tests::sizes, *};

    fn level(change: impl Fn(usize) -> f64) -> MedianChange {
        median_change(&sizes(7, |_, size| change(size))).unwrap()
    }

    #[test]
    fn sizes_that_did_not_change_tell_the_level() {
        // Where most did not change, the median of all is theirs as well, and all of them tell it.
        for (first, change, last) in [(8, -0.26, 7), (6, 0.095, 5), (4, -0.2, 3), (12, -0.1, 15)] {
            let found = level(|size| if size < first { 0.0 } else { change });
            assert!(found.ln_ratio.abs() < 0.01 && found.error < 0.01, "{first} {found:?}");
            assert_eq!(found.between_bytes, [4096, 4096 << last]);
        }
        // A change that grows with the size.
        let growing = level(|size| if size < 6 { 0.0 } else { -0.03 * (size - 5) as f64 });
        assert!(growing.ln_ratio.abs() < 0.01, "{growing:?}");
    }

    /// The default and one configuration: the one that takes as long as before tells the level.
    #[test]
    fn of_two_arms_the_unchanged_one_tells_the_level() {
        // By how much the level errs over many draws, and the mean of the errors that it says.
        let two = |change: [f64; 2], level: f64| {
            let of = |seed| {
                let mut all = sizes(seed, |arm, _| change[arm as usize % 2]);
                all.iter_mut().for_each(|size| size.cells.truncate(2));
                median_change(&all).unwrap()
            };
            let found: Vec<MedianChange> = (0..200).map(of).collect();
            let squares: f64 = found.iter().map(|one| (one.ln_ratio - level) * (one.ln_ratio - level)).sum();
            [(squares / 200.0).sqrt(), found.iter().map(|one| one.error).sum::<f64>() / 200.0]
        };
        for (change, level) in [([-0.26, 0.0], 0.0), ([0.0, -0.14], 0.0), ([0.3, 0.0], 0.0), ([-0.1, -0.1], -0.1)] {
            let [errs, said] = two(change, level);
            assert!(errs < 0.01 && (0.8..2.0).contains(&(said / errs)), "{change:?} {errs} {said}");
        }
        // Neither is as before: the error reaches both.
        let [errs, said] = two([-0.1, -0.3], -0.2);
        assert!(errs < 0.01 && (0.09..0.11).contains(&said), "{errs} {said}");
    }

    #[test]
    fn a_change_of_everything_is_the_level() {
        for change in [0.0, -0.02, -0.1, 0.3] {
            let found = level(|_| change);
            assert!((found.ln_ratio - change).abs() < 0.01 && found.sizes == 16, "{change} {found:?}");
            let more = level(|size| if size < 4 { change - 0.08 } else { change });
            assert!((more.ln_ratio - change).abs() < 0.015, "{change} {more:?}");
        }
    }

    #[test]
    fn the_error_of_the_level_is_about_that_by_which_it_errs() {
        let found: Vec<MedianChange> = (0..200).filter_map(|seed| median_change(&sizes(seed, |_, _| 0.05))).collect();
        let squares: f64 = found.iter().map(|level| (level.ln_ratio - 0.05) * (level.ln_ratio - 0.05)).sum();
        let errs = (squares / 200.0).sqrt();
        let told = found.iter().map(|level| level.error).sum::<f64>() / 200.0;
        // Sizes and configurations both scatter for the same noise, so it is told somewhat larger.
        assert!(found.len() == 200 && (1.0..2.0).contains(&(told / errs)), "{told} {errs}");
        assert!((found[0].freedom - 16.0 * MAD_FREEDOM_SHARE).abs() < 1e-9, "{:?}", found[0]);
        let few: Vec<SizeChanges> = sizes(1, |_, _| 0.05).into_iter().take(MIN_SIZES).collect();
        assert_eq!(median_change(&few).unwrap().sizes, MIN_SIZES);
        assert_eq!(median_change(&few[1..]), None);
    }

    #[test]
    fn configurations_that_differ_make_the_level_less_certain() {
        // Each launch is off at all of its sizes.
        let found = median_change(&sizes(1, |arm, _| 0.02 * (f64::from(arm) - 9.5))).unwrap();
        let alike = level(|_| 0.0);
        assert!(found.error > 0.03 && alike.error < 0.005, "{found:?} {alike:?}");
    }

    #[test]
    fn rounding_moves_the_level_as_much_as_a_size() {
        let mut all = sizes(1, |_, _| 0.0);
        all.iter_mut().flat_map(|size| &mut size.cells).for_each(|cell| cell.rounded = 0.02);
        let found = median_change(&all).unwrap();
        assert!((found.rounded - 0.02).abs() < 1e-12, "{found:?}");
    }
}
