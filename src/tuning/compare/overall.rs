//! The overall change between two campaigns.
//!
//! The level of the day, the nodes, or a change that touches everything changes all sizes and configurations alike, and
//! one campaign of each state can't tell which it was. So the overall change is a finding of its own: the median over
//! the sizes of the common change at each. It is subtracted before sizes and configurations are compared. A change at
//! fewer than half of the sizes does not affect it.
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
}

/// The overall change of one collective and scale; `None` with fewer than [`MIN_SIZES`] sizes.
pub fn median_change(sizes: &[SizeChanges]) -> Option<MedianChange> {
    let told: Vec<(&SizeChanges, f64)> = sizes.iter().filter_map(|size| Some((size, size.middle()?))).collect();
    if told.len() < MIN_SIZES {
        return None;
    }
    let ln_ratio = median(&mut told.iter().map(|(_, change)| *change).collect::<Vec<_>>())?;
    let mut of_arms: Vec<(MeasuredArm, f64)> =
        told.iter().flat_map(|(size, change)| size.changes().map(move |(arm, own)| (arm, own - change))).collect();
    of_arms.compact_sort_by_key(|(arm, _)| *arm);
    let of_arm = |of: &[(MeasuredArm, f64)]| median(&mut of.iter().map(|(_, change)| *change).collect::<Vec<_>>());
    let arms: Vec<f64> = of_arms.chunk_by(|a, b| a.0 == b.0).filter_map(of_arm).collect();
    let by_size = scatter(told.iter().map(|(_, change)| *change).collect());
    let by_arm = if arms.len() > 2 { scatter(arms.clone()) } else { 0.0 };
    let fewest = if arms.len() > 2 { told.len().min(arms.len()) } else { told.len() };
    let rounded = median(&mut told.iter().map(|(size, _)| size.rounded()).collect::<Vec<_>>()).unwrap_or(0.0);
    Some(MedianChange {
        ln_ratio,
        error: (by_size * by_size + by_arm * by_arm).sqrt().max(MIN_ERROR),
        freedom: (fewest as f64 * MAD_FREEDOM_SHARE).clamp(1.0, MAX_FREEDOM),
        rounded,
        sizes: told.len(),
    })
}

/// The standard error of the median of some changes, from their scatter around it.
fn scatter(mut changes: Vec<f64>) -> f64 {
    let n = changes.len() as f64;
    let Some(median_change) = median(&mut changes) else { return 0.0 };
    let mut off: Vec<f64> = changes.iter().map(|change| (change - median_change).abs()).collect();
    MEDIAN_ERROR_FACTOR * MAD_TO_DEVIATION * median(&mut off).unwrap_or(0.0) / n.sqrt()
}
