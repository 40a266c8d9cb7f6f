//! The overall change between two campaigns.
//!
//! The day, the nodes or a change that touches everything moves all sizes and configurations alike, and one campaign of
//! each can't tell which of these it was. So it is one finding of its own, the median over the sizes of what everything
//! changed by at each, and is taken off before sizes and configurations are compared: these are then held against each
//! other. A change at fewer than half of the sizes leaves it where it is.
//!
//! It errs by what sizes scatter around it, by what configurations do (those that one launch measured move together),
//! and by what both campaigns may differ in for their passes alone ([`crate::report::snapshot::Drift`]). The last is in
//! its own interval only: it moves all that is compared beside it alike.

use serde::{Deserialize, Serialize};

use super::{
    ChangeVerdict,
    pooled::{MAD_FREEDOM_SHARE, MAD_TO_DEVIATION, MAX_FREEDOM, MIN_ERROR, SizeChanges},
    state::MeasuredArm,
};
use crate::{
    collective::{Collective, Scale},
    math::median,
    order::CompactSort,
};

/// Fewer sizes don't tell a whole from a part.
pub const MIN_SIZES: usize = 5;

/// The standard error of a median over that of the mean, of normal numbers.
const MEDIAN_ERROR_FACTOR: f64 = 1.2533;

/// The change that all sizes and configurations of a collective and scale have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallChange {
    /// The collective of these measurements.
    pub collective: Collective,
    /// On how many nodes and ranks.
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

/// The middle of all changes, before the noise of passes is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianChange {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// Its standard error, without what passes bring.
    pub error: f64,
    /// The degrees of freedom of that.
    pub freedom: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// The number of sizes that it is computed from.
    pub sizes: usize,
}

/// The middle of what everything changed by, of one collective and scale; `None` of fewer than [`MIN_SIZES`] sizes.
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

/// The standard error of the median of some changes, by their scatter around it.
fn scatter(mut changes: Vec<f64>) -> f64 {
    let n = changes.len() as f64;
    let Some(median_change) = median(&mut changes) else { return 0.0 };
    let mut off: Vec<f64> = changes.iter().map(|change| (change - median_change).abs()).collect();
    MEDIAN_ERROR_FACTOR * MAD_TO_DEVIATION * median(&mut off).unwrap_or(0.0) / n.sqrt()
}
