//! Differences with intervals that all hold at once.
//!
//! Medians of a few runs are compared in ln busbw, with how they err drawn as the decisions draw it
//! ([`crate::tuning::decision`]). All comparisons of a question are one family: in each round of draws the largest error
//! of any, in its own standard errors, is kept, and no interval is narrower than the level's quantile of these
//! (Westfall and Young 1993, single step). So two equal campaigns differ anywhere at all with a probability of at most
//! 1 − level, however many sizes there are. The highest of several errs upwards (it was chosen for being high): its draws
//! choose as well, and what they rise by on average is taken off.
//!
//! Between two campaigns lies more than single runs show. What all runs of a campaign share is taken to vary as the
//! passes over it do ([`crate::tuning::snapshot::Drift`]), and moves all comparisons of a collective and scale together.

use super::{
    pooled::Pooled,
    side::{State, What},
};
use crate::{
    collective::Workload,
    math::Stream,
    tuning::decision::{
        contest::{Contest, Side},
        deviations::AtWorkload,
        draws::{ROUNDS, quantile},
        printed,
    },
};

/// A median of fewer runs is nothing that changed: one run alone can't be told from one that stalled, and of real ones about
/// one in a hundred does, by too little to be set aside.
pub const LEAST_RUNS: u32 = 2;

/// The columns of draws that each of the two states has: every second one.
const COLUMNS: usize = 32;

/// Rounds that lie between the draws of two workloads: a step that visits all of them.
const STEP: usize = 61;

/// What is told of a difference before the whole family is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// Its standard error; `None` while nothing tells the noise.
    error: Option<f64>,
    /// By how much rounding may have moved it.
    rounded: f64,
}

/// A difference and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// How far the interval reaches to either side; `None` while nothing tells the noise.
    pub half_width: Option<f64>,
}

/// Comparisons whose intervals hold at once.
#[derive(Clone, Debug)]
pub struct Family {
    largest: Vec<f32>,
    level: f64,
}

impl Family {
    /// Without any comparison.
    #[must_use]
    pub fn new(level: f64) -> Self {
        Self { largest: vec![0.0; ROUNDS], level: if level.is_finite() { level.clamp(0.0, 0.9999) } else { 0.9 } }
    }

    /// Adds a difference of `ln_ratio` with errors by round; `is_chosen`: of things that were chosen for being high.
    fn add(&mut self, ln_ratio: f64, rounded: f64, errors: &[f32], is_chosen: bool) -> Estimate {
        let n = errors.len().max(1) as f64;
        let mean = errors.iter().map(|error| f64::from(*error)).sum::<f64>() / n;
        let squares = errors.iter().map(|error| (f64::from(*error) - mean) * (f64::from(*error) - mean)).sum::<f64>();
        let error = (squares / n).sqrt();
        if errors.is_empty() || !(error.is_finite() && error > 0.0) {
            return Estimate { ln_ratio, error: None, rounded };
        }
        for (largest, drawn) in self.largest.iter_mut().zip(errors) {
            *largest = largest.max(((f64::from(*drawn) - mean) / error).abs() as f32);
        }
        Estimate { ln_ratio: if is_chosen { ln_ratio - mean } else { ln_ratio }, error: Some(error), rounded }
    }

    /// Adds what all at a size changed by together, the `number`th size of all; `shift` is what both campaigns differ in as a
    /// whole.
    pub fn all(&mut self, pooled: &Pooled, number: usize, shift: &[f32]) -> Estimate {
        self.add(pooled.ln_ratio, pooled.rounded, &pooled.errors(number, shift), false)
    }

    /// The interval of a difference, once all are added.
    pub fn intervals(&self) -> impl Fn(Estimate) -> Interval + use<> {
        let width = quantile(&self.largest, self.level);
        move |Estimate { ln_ratio, error, rounded }| Interval {
            ln_ratio,
            half_width: error.map(|error| width * error + rounded),
        }
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
    /// What both campaigns differ in as a whole, by round.
    shift: &'a [f32],
}

impl<'a> Match<'a> {
    /// At a workload, the `number`th of all.
    #[must_use]
    pub fn new(
        before: &'a State<'a>,
        after: &'a State<'a>,
        workload: Workload,
        number: usize,
        shift: &'a [f32],
    ) -> Self {
        let mut field = before.measured(&workload);
        field.extend(after.measured(&workload).into_iter().filter(|what| !field.contains(what)).collect::<Vec<_>>());
        Self { before, after, workload, number, field, shift }
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
        let points = of.iter().filter_map(|what| state.point(&self.workload, *what));
        let highest = points.max_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps))?;
        let (height, rounded) = (crate::math::ln(highest.busbw_gbps), rounded(highest.busbw_gbps));
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

    /// The highest of some things after against before.
    pub fn change(&self, family: &mut Family, of: &[What]) -> Option<Estimate> {
        let (before, after) = (self.highest(false, of)?, self.highest(true, of)?);
        let errors = after.errors.iter().zip(&before.errors).zip(self.shift);
        let errors: Vec<f32> = errors.map(|((after, before), shift)| after - before + shift).collect();
        Some(family.add(after.height - before.height, after.rounded + before.rounded, &errors, of.len() > 1))
    }

    /// Something against something else, both after.
    pub fn lead(&self, family: &mut Family, what: What, over: What) -> Option<Estimate> {
        let (one, other) = (self.highest(true, &[what])?, self.highest(true, &[over])?);
        let errors: Vec<f32> = one.errors.iter().zip(&other.errors).map(|(error, other)| error - other).collect();
        Some(family.add(one.height - other.height, one.rounded + other.rounded, &errors, false))
    }
}

/// The highest of some things in a state.
struct Highest {
    /// In ln busbw.
    height: f64,
    /// By how much it may lie off for being printed.
    rounded: f64,
    /// How it errs, by round.
    errors: Vec<f32>,
}

/// By how much ln busbw may lie off for being printed.
fn rounded(busbw_gbps: f64) -> f64 {
    printed::above(busbw_gbps).max(printed::below(busbw_gbps))
}

/// What two campaigns differ in as a whole, by round: `deviations` are those of their passes with their degrees of
/// freedom, one for each that is known.
#[must_use]
pub fn shift(deviations: &[(f64, f64)], seed: u64) -> Vec<f32> {
    let known = deviations.len().max(1) as f64;
    // A campaign whose passes don't tell drifts like the other.
    let variance = deviations.iter().map(|(deviation, _)| deviation * deviation).sum::<f64>() / known * 2.0;
    let freedom = deviations.iter().map(|(_, freedom)| freedom).sum::<f64>().max(1.0);
    let mut stream = Stream::new(seed);
    let mut student = || {
        let normal = stream.normal();
        // χ² with a whole number of degrees of freedom, as it is made.
        let whole = freedom.round().clamp(1.0, 30.0) as u32;
        let squares: f64 = (0..whole).map(|_| stream.normal()).map(|z| z * z).sum();
        normal / (squares / f64::from(whole)).max(0.05).sqrt()
    };
    if variance <= 0.0 {
        return vec![0.0; ROUNDS];
    }
    (0..ROUNDS).map(|_| (variance.sqrt() * student()) as f32).collect()
}
