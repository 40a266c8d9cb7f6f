//! The same things at one workload, before and after.
//!
//! Medians of a few runs are compared in ln busbw, with how they err drawn as the decisions draw it
//! ([`crate::tuning::decision`]). The highest of several errs upwards (it was chosen for being high): its draws choose
//! as well, and what they rise by on average is taken off. What everything changed by is taken off by who asks
//! ([`super::whole`]).

use super::{
    family::{Estimate, Family, Raw},
    side::{LEAST_RUNS, State, What},
};
use crate::{
    collective::Workload,
    tuning::decision::{
        contest::{Contest, Side},
        deviations::AtWorkload,
        draws::ROUNDS,
    },
};

/// The columns of draws that each of the two states has: every second one.
const COLUMNS: usize = 32;

/// Rounds that lie between the draws of two workloads: a step that visits all of them.
const STEP: usize = 61;

/// What all at a workload changed by, and how that errs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level<'a> {
    /// ln of after / before: what is taken off.
    pub ln_ratio: f64,
    /// By how much rounding may have moved that.
    pub rounded: f64,
    /// How it errs, by round.
    pub errors: &'a [f32],
}

impl Level<'_> {
    /// A difference beside what all changed by; `errors` are its own, by round, or none.
    pub fn beside(&self, family: &mut Family, difference: &Raw<'_>, is_chosen: bool) -> Estimate {
        let errors: Vec<f32> = difference.errors.iter().zip(self.errors).map(|(own, level)| own + level).collect();
        let ln_ratio = difference.ln_ratio - self.ln_ratio;
        let beside = Raw { ln_ratio, rounded: difference.rounded + self.rounded, errors: &errors };
        if is_chosen { family.add_chosen(&beside) } else { family.add(&beside) }
    }
}

/// One workload at both states.
pub struct Match<'a> {
    before: &'a State<'a>,
    after: &'a State<'a>,
    workload: Workload,
    /// Its number among all workloads.
    number: usize,
    /// All that was measured before or after: their places name their draws.
    field: Vec<What>,
}

impl<'a> Match<'a> {
    /// At a workload, the `number`th of all.
    #[must_use]
    pub fn new(before: &'a State<'a>, after: &'a State<'a>, workload: Workload, number: usize) -> Self {
        let mut field = before.measured(&workload);
        field.extend(after.measured(&workload).into_iter().filter(|what| !field.contains(what)).collect::<Vec<_>>());
        Self { before, after, workload, number, field }
    }

    /// Its workload.
    #[must_use]
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// What both states measured.
    pub fn common(&self) -> impl Iterator<Item = What> {
        let is_there = |state: &State<'_>, what: What| state.point(&self.workload, what).is_some();
        self.field.iter().copied().filter(move |what| is_there(self.before, *what) && is_there(self.after, *what))
    }

    /// The noise of a state, that of the other where its own runs don't tell.
    fn noise(&self, of: &'a State<'a>, other: &'a State<'a>) -> Option<AtWorkload<'a>> {
        of.noise(&self.workload).or_else(|| other.noise(&self.workload))
    }

    /// The highest of some things in a state, in ln busbw, and how it errs, by round; no errors while nothing tells the
    /// noise.
    fn highest(&self, is_after: bool, of: &[What]) -> Option<Highest> {
        let (state, other) = if is_after { (self.after, self.before) } else { (self.before, self.after) };
        let points = of.iter().filter_map(|what| Some((*what, state.point(&self.workload, *what)?)));
        let (what, highest) = points.max_by(|a, b| a.1.busbw_gbps.total_cmp(&b.1.busbw_gbps))?;
        let (height, rounded) = (crate::math::ln(highest.busbw_gbps), state.rounded(&self.workload, what));
        let noise = self.noise(state, other).filter(|_| highest.repeats >= LEAST_RUNS);
        let Some(noise) = noise else { return Some(Highest { height, rounded, errors: Vec::new() }) };
        let contest = Contest::new(noise, 0.9);
        let side = |what: &What| {
            let place = self.field.iter().position(|known| known == what).unwrap_or_default();
            state.side(&contest, &self.workload, *what, 2 * (place % COLUMNS) + usize::from(is_after))
        };
        let sides: Vec<Side> = of.iter().filter_map(side).collect();
        let contenders = contest.tied(&sides).contenders;
        let sides: Vec<Side> = sides.into_iter().zip(contenders).filter(|(_, is)| *is).map(|(side, _)| side).collect();
        let mut errors = contest.errors_of_highest(&sides);
        errors.rotate_left(self.number * STEP % ROUNDS);
        Some(Highest { height, rounded, errors })
    }

    /// The highest of some things after against before, beside what all changed by: as it was measured, and its
    /// estimate.
    pub fn change(&self, family: &mut Family, of: &[What], level: &Level<'_>) -> Option<Estimate> {
        let (before, after) = (self.highest(false, of)?, self.highest(true, of)?);
        let errors: Vec<f32> = after.errors.iter().zip(&before.errors).map(|(after, before)| after - before).collect();
        let (ln_ratio, rounded) = (after.height - before.height, after.rounded + before.rounded);
        Some(level.beside(family, &Raw { ln_ratio, rounded, errors: &errors }, of.len() > 1))
    }

    /// Something against something else, both after.
    pub fn lead(&self, family: &mut Family, what: What, over: What) -> Option<Estimate> {
        let (one, other) = (self.highest(true, &[what])?, self.highest(true, &[over])?);
        let errors: Vec<f32> = one.errors.iter().zip(&other.errors).map(|(error, other)| error - other).collect();
        let (ln_ratio, rounded) = (one.height - other.height, one.rounded + other.rounded);
        Some(family.add(&Raw { ln_ratio, rounded, errors: &errors }))
    }
}

/// The highest of some things in a state.
struct Highest {
    /// ln of its median busbw in GB/s.
    height: f64,
    /// By how much that may lie off to either side for being printed.
    rounded: f64,
    /// How it errs, by round; empty while nothing tells the noise.
    errors: Vec<f32>,
}
