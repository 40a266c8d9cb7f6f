//! The changes of arms at one workload, from before to after.
//!
//! Medians of a few runs are compared in ln busbw. Their errors are drawn as for decisions
//! ([`crate::tuning::decision`]). The highest of several medians is biased upwards, because it was chosen for being
//! high: each draw chooses its highest as well, and their mean bias is subtracted. The caller subtracts the overall
//! change ([`super::overall`]).

use super::{
    family::{Estimate, Family, RawDifference},
    state::{MIN_RUNS, MeasuredArm, MeasuredState},
};
use crate::{
    collective::Workload,
    tuning::decision::{
        deviations::WorkloadNoise,
        draws::ROUNDS,
        medians::{MedianComparison, NoisyMedian},
    },
};

/// The columns of draws of each of the two states, which take every second one.
const COLUMNS: usize = 32;

/// The offset in rounds between the draws of two workloads, so that they don't share the draws of a round. It has no
/// divisor in common with the number of rounds, so the offsets don't repeat early.
const STEP: usize = 61;

/// The change that all arms of a workload have in common, with its errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonChange<'a> {
    /// ln of after / before, which is subtracted from the changes of arms.
    pub ln_ratio: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// Its error in each round of draws.
    pub errors: &'a [f32],
}

impl CommonChange<'_> {
    /// A difference less the common change, as a member of a family of intervals.
    pub fn relative(&self, family: &mut Family, difference: &RawDifference<'_>, is_chosen: bool) -> Estimate {
        let errors: Vec<f32> = difference.errors.iter().zip(self.errors).map(|(own, level)| own + level).collect();
        let ln_ratio = difference.ln_ratio - self.ln_ratio;
        let relative = RawDifference { ln_ratio, rounded: difference.rounded + self.rounded, errors: &errors };
        if is_chosen { family.add_chosen(&relative) } else { family.add(&relative) }
    }
}

/// One workload at both states.
pub struct WorkloadPair<'a> {
    before: &'a MeasuredState<'a>,
    after: &'a MeasuredState<'a>,
    workload: Workload,
    /// The number of the workload among all.
    number: usize,
    /// The arms that were measured before or after; the index of an arm chooses its draws.
    arms: Vec<MeasuredArm>,
}

impl<'a> WorkloadPair<'a> {
    /// A workload, the `number`th of all.
    pub fn new(before: &'a MeasuredState<'a>, after: &'a MeasuredState<'a>, workload: Workload, number: usize) -> Self {
        let mut arms = before.measured(&workload);
        arms.extend(after.measured(&workload).into_iter().filter(|arm| !arms.contains(arm)).collect::<Vec<_>>());
        Self { before, after, workload, number, arms }
    }

    /// The workload that both states measured.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The arms that both states measured.
    pub fn common(&self) -> impl Iterator<Item = MeasuredArm> {
        let is_there = |state: &MeasuredState<'_>, arm: MeasuredArm| state.point(&self.workload, arm).is_some();
        self.arms.iter().copied().filter(move |arm| is_there(self.before, *arm) && is_there(self.after, *arm))
    }

    /// The noise of a state, or that of the other if its own runs don't show it.
    fn noise(&self, of: &'a MeasuredState<'a>, other: &'a MeasuredState<'a>) -> Option<WorkloadNoise<'a>> {
        of.noise(&self.workload).or_else(|| other.noise(&self.workload))
    }

    /// The highest median of some arms in a state, in ln busbw, with its error in each round; no errors where the noise
    /// is not known.
    fn highest(&self, is_after: bool, of: &[MeasuredArm]) -> Option<HighestMedian> {
        let (state, other) = if is_after { (self.after, self.before) } else { (self.before, self.after) };
        let points = of.iter().filter_map(|arm| Some((*arm, state.point(&self.workload, *arm)?)));
        let (arm, highest) = points.max_by(|a, b| a.1.busbw_gbps.total_cmp(&b.1.busbw_gbps))?;
        let (height, rounded) = (crate::math::ln(highest.busbw_gbps), state.rounded(&self.workload, arm));
        let noise = self.noise(state, other).filter(|_| highest.repeats >= MIN_RUNS);
        let Some(noise) = noise else { return Some(HighestMedian { height, rounded, errors: Vec::new() }) };
        let comparison = MedianComparison::new(noise, 0.9);
        let side = |arm: &MeasuredArm| {
            let place = self.arms.iter().position(|known| known == arm).unwrap_or_default();
            state.side(&comparison, &self.workload, *arm, 2 * (place % COLUMNS) + usize::from(is_after))
        };
        let sides: Vec<NoisyMedian> = of.iter().filter_map(side).collect();
        let contenders = comparison.tied(&sides).contenders;
        let sides: Vec<NoisyMedian> =
            sides.into_iter().zip(contenders).filter(|(_, is)| *is).map(|(side, _)| side).collect();
        let mut errors = comparison.errors_of_highest(&sides);
        errors.rotate_left(self.number * STEP % ROUNDS);
        Some(HighestMedian { height, rounded, errors })
    }

    /// The change of the highest median of some arms from before to after, less the common change.
    pub fn change(&self, family: &mut Family, of: &[MeasuredArm], level: &CommonChange<'_>) -> Option<Estimate> {
        let (before, after) = (self.highest(false, of)?, self.highest(true, of)?);
        let errors: Vec<f32> = after.errors.iter().zip(&before.errors).map(|(after, before)| after - before).collect();
        let (ln_ratio, rounded) = (after.height - before.height, after.rounded + before.rounded);
        Some(level.relative(family, &RawDifference { ln_ratio, rounded, errors: &errors }, of.len() > 1))
    }

    /// The lead of one arm over another, both measured after.
    pub fn lead(&self, family: &mut Family, arm: MeasuredArm, over: MeasuredArm) -> Option<Estimate> {
        let (one, other) = (self.highest(true, &[arm])?, self.highest(true, &[over])?);
        let errors: Vec<f32> = one.errors.iter().zip(&other.errors).map(|(error, other)| error - other).collect();
        let (ln_ratio, rounded) = (one.height - other.height, one.rounded + other.rounded);
        Some(family.add(&RawDifference { ln_ratio, rounded, errors: &errors }))
    }
}

/// The highest median of some arms in a state.
struct HighestMedian {
    /// ln of its median busbw in GB/s.
    height: f64,
    /// By how much rounding may have moved it, to either side.
    rounded: f64,
    /// Its error in each round of draws; empty where the noise is not known.
    errors: Vec<f32>,
}
