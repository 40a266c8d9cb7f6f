//! The search for the best layout on a number of GPUs.
//!
//! [`space`] enumerates layouts and drops what can't be; what is left is looked at in the order of a lower bound of its
//! time, until no other can be among the best: so their order is proven. [`views`] shows the rows.

mod bound;
pub mod listing;
mod memo;
pub mod space;
pub mod views;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub use memo::CachedRegressors;
pub use space::{LeftOutCounts, LeftOutReason, SearchSettings, Space};

use super::{
    anatomy::Anatomy,
    calibrate::Applied,
    catalogue::{Catalogue, Gpu},
    interval::{self, Basis, Draws},
    memory,
    prediction::{Mark, Regressors},
    run::{Layout, Recompute, Run},
    step::{self, Mode, Plan, Step},
};
use crate::{
    math::{Stream, ascending, exp, quantile},
    order::CompactSort,
    progress::Progress,
};

/// Everything that a search needs besides the question.
#[derive(Clone, Copy)]
pub struct SearchContext<'a> {
    /// The regressors that predict times.
    pub regressors: &'a dyn Regressors,
    /// Defines the operators, architectures and collectives that the regressors know.
    pub catalogue: &'a Catalogue,
    /// The GPU, used for bounds and utilisation.
    pub gpu: Option<&'a Gpu>,
    /// The calibration by measured steps, as it applies to the model.
    pub applied: Option<&'a Applied>,
    /// The least that any operator was scaled by, at most 1: what is changed may be faster than the hardware. 0 where
    /// the hardware's peak bounds nothing, so that every candidate is looked at.
    pub least_factor: f64,
    /// The seed of the draws.
    pub seed: u64,
}

impl<'a> SearchContext<'a> {
    /// The knowledge without a calibration.
    pub const fn new(regressors: &'a dyn Regressors, catalogue: &'a Catalogue, gpu: Option<&'a Gpu>) -> Self {
        Self { regressors, catalogue, gpu, applied: None, least_factor: 1.0, seed: interval::SEED }
    }
}

/// One layout with its step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// How the model is distributed over GPUs.
    pub layout: Layout,
    /// The number of sequences in a micro-batch.
    pub micro_batch: u32,
    /// The number of micro-batches per step and replica.
    pub micro_batches: u32,
    /// The operators that the backward pass recomputes.
    pub recompute: Recompute,
    /// Its rank from 1, shared by those that can't be told from the rank's first; `None` where it was not drawn.
    pub rank: Option<u32>,
    /// The time of a step in µs.
    pub total_us: f64,
    /// The interval of the step's time, if it was computed: see [`SearchResult::basis`].
    pub interval_us: Option<[f64; 2]>,
    /// Tokens per second and GPU.
    pub tokens_per_gpu: f64,
    /// Share of the peak that the model's operations come to, without what is computed again.
    pub utilisation: Option<f64>,
    /// The memory of the fullest stage, in bytes.
    pub memory_bytes: f64,
    /// Share of the busiest stage's pipeline time that it waits.
    pub bubble: f64,
    /// Shares of the step's time by where it comes from: measured, interpolated, extrapolated, suspect.
    pub marks: [f64; 4],
}

impl Row {
    /// Whether no part of the step's time is extrapolated or suspect.
    pub fn is_covered(&self) -> bool {
        self.marks[Mark::Extrapolated as usize] + self.marks[Mark::Suspect as usize] == 0.0
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The number of layouts that were enumerated, before any is left out.
    pub layouts: u64,
    /// The number of layouts with a micro-batch and recomputation that fit.
    pub candidates: u64,
    /// The number of layouts that were left out for each reason.
    pub dropped: LeftOutCounts,
    /// The number of candidates that were evaluated; the others can't be among the best.
    pub looked_at: u64,
    /// The source of the intervals of the rows.
    pub basis: Basis,
    /// By time: the best, or all that were looked at.
    pub rows: Vec<Row>,
    /// The best row that needs no extrapolation.
    pub covered: Option<Row>,
    /// The least that the fullest stage of anything needs, of what did not fit, in bytes.
    pub least_too_much: Option<f64>,
    /// The samples that were missing, each listed once.
    pub missing: Vec<String>,
    /// The first rows were all that was wanted: better ones may be left.
    pub is_partial: bool,
}

struct Candidate {
    run: Run,
    memory_bytes: f64,
    bound_us: f64,
    flop: f64,
}

/// Searches. `first` is told the rows so far, once, after some have been looked at; where it breaks off, they are what
/// was found.
pub fn search(
    question: &SearchSettings,
    known: &SearchContext<'_>,
    progress: &mut dyn Progress,
    first: &mut dyn FnMut(&[Row]) -> ControlFlow<()>,
) -> SearchResult {
    let memo = CachedRegressors::new(known.regressors, known.catalogue);
    let Space { layouts, mut dropped, runs } = space::space(question);
    let coefficients = known.applied.map(|applied| applied.coefficients).unwrap_or_default();
    let capacity = question.memory_gib.map(|gib| memory::capacity_bytes(gib, question.reserve_gib));
    let mut least_too_much: Option<f64> = None;
    let mut candidates = Vec::new();
    for run in runs {
        let anatomy = Anatomy::of(&run, known.catalogue);
        let memory_bytes = memory::of(&run, &anatomy).iter().fold(0.0, |most: f64, stage| most.max(stage.total()));
        if capacity.is_some_and(|capacity| memory_bytes > capacity) {
            least_too_much = Some(least_too_much.map_or(memory_bytes, |least| least.min(memory_bytes)));
            dropped.count(LeftOutReason::Memory);
            continue;
        }
        let bound_us = match question.mode {
            // Trees know no floor.
            Mode::Parity => 0.0,
            Mode::Default => {
                coefficients.pipeline * bound::pipeline_us(&run, &anatomy, known.gpu, known.least_factor, &memo)
            }
        };
        let layers = f64::from(run.model.layers);
        let flop = 3.0 * (layers * anatomy.flop[0] + anatomy.flop[1] + anatomy.flop[2]);
        candidates.push(Candidate { run, memory_bytes, bound_us, flop });
    }
    candidates.compact_sort_by(|a, b| a.bound_us.total_cmp(&b.bound_us));
    let count = candidates.len() as u64;
    let mut found = SearchResult { layouts, candidates: count, dropped, least_too_much, ..SearchResult::default() };
    found.basis = known.applied.map_or(Basis::Samples, |applied| Basis::Steps(applied.held_percent));
    let best = question.best.max(1) as usize;
    let mut plans: Vec<(Row, Plan)> = Vec::new();
    let mut told = false;
    for (index, candidate) in candidates.iter().enumerate() {
        if !question.everything && is_proven(&plans, best, candidate) {
            continue;
        }
        found.looked_at += 1;
        progress.report("Comparing layouts", index as u64, count);
        match step::plan(&candidate.run, question.mode, known.catalogue, &memo) {
            Ok(plan) => {
                let step = plan.step();
                let marks = plan.marks(&step);
                let step = coefficients.apply(&plan, &step);
                let row = row(candidate, &step, marks, known.gpu);
                let at = plans.partition_point(|(other, _)| other.total_us <= row.total_us);
                plans.insert(at, (row, plan));
            }
            Err(error) => {
                found.dropped.count(LeftOutReason::Missing);
                let error = error.to_string();
                if !found.missing.contains(&error) {
                    found.missing.push(error);
                }
            }
        }
        if !told && plans.len() == best.min(10) && found.looked_at < count {
            told = true;
            let rows: Vec<Row> = plans.iter().map(|(row, _)| row.clone()).collect();
            if first(&rows).is_break() {
                found.is_partial = true;
                break;
            }
        }
    }
    let mut draws = Draws::new(&memo, known.seed);
    rank(&mut plans, best, &mut draws, known);
    if let Some((row, plan)) = plans.iter_mut().find(|(row, _)| row.is_covered()) {
        let mut row = row.clone();
        if row.interval_us.is_none() {
            let totals = draws.totals(plan, &coefficients);
            row.interval_us = Some(interval::interval(row.total_us, totals, floor(known)));
        }
        found.covered = Some(row);
    }
    let is_listed = |row: &Row| question.everything || row.rank.is_some();
    found.rows = plans.into_iter().map(|(row, _)| row).filter(is_listed).collect();
    found
}

fn floor<'a>(known: &SearchContext<'a>) -> &'a [f64] {
    known.applied.map_or(&[], |applied| &applied.residuals)
}

/// A candidate whose time is at least its bound can't be among the best on as many GPUs, nor be the best that is
/// covered.
fn is_proven(plans: &[(Row, Plan)], best: usize, candidate: &Candidate) -> bool {
    let gpus = candidate.run.layout.gpus();
    let mut same = plans.iter().map(|(row, _)| row).filter(|row| row.layout.gpus() == gpus);
    same.nth(best - 1).is_some_and(|row| row.total_us < candidate.bound_us)
        && plans.iter().find(|(row, _)| row.is_covered()).is_some_and(|(row, _)| row.total_us < candidate.bound_us)
}

fn row(candidate: &Candidate, step: &Step, marks: [f64; 4], gpu: Option<&Gpu>) -> Row {
    let run = &candidate.run;
    let gpus = run.layout.gpus() as f64;
    let seconds = step.total_us / 1e6;
    let tokens = run.global_batch() as f64 * f64::from(run.model.sequence);
    // Of one micro-batch on the tensor ranks of all stages together.
    let flop =
        candidate.flop * f64::from(run.micro_batches) * f64::from(run.layout.tensor) * f64::from(run.layout.data);
    let peak = gpu.and_then(|gpu| gpu.peak_flops(&run.execution.precision));
    Row {
        layout: run.layout,
        micro_batch: run.micro_batch,
        micro_batches: run.micro_batches,
        recompute: run.execution.recompute,
        rank: None,
        total_us: step.total_us,
        interval_us: None,
        tokens_per_gpu: tokens / seconds / gpus,
        utilisation: peak.map(|peak| flop / (seconds * gpus * peak)),
        memory_bytes: candidate.memory_bytes,
        bubble: step.bubble(),
        marks,
    }
}

/// Draws the first rows on each number of GPUs; who can't be told from the first of a rank shares it: among the draws,
/// which share their errors, it is not slower in 95 %.
fn rank(plans: &mut [(Row, Plan)], best: usize, draws: &mut Draws<'_>, known: &SearchContext<'_>) {
    let coefficients = known.applied.map(|applied| applied.coefficients).unwrap_or_default();
    let mut residuals = floor(known).to_vec();
    ascending(&mut residuals);
    let mut leader: Option<(u32, Vec<f64>)> = None;
    let mut counts: Vec<(u64, usize)> = Vec::new();
    let mut index = 0_u32;
    for (row, plan) in plans {
        let gpus = row.layout.gpus();
        let at = counts.iter().position(|(of, _)| *of == gpus).unwrap_or_else(|| {
            counts.push((gpus, 0));
            counts.len() - 1
        });
        counts[at].1 += 1;
        if counts[at].1 > best {
            continue;
        }
        index += 1;
        let totals = draws.totals(plan, &coefficients);
        row.interval_us = Some(interval::interval(row.total_us, totals.clone(), floor(known)));
        // What calibration does not explain differs from layout to layout.
        let mut own = Stream::new(known.seed ^ u64::from(index));
        let totals: Vec<f64> = totals
            .into_iter()
            .map(|total| total * quantile(&residuals, own.unit()).map_or(1.0, |residual| exp(-residual)))
            .collect();
        let tie = leader.as_ref().filter(|(_, first)| {
            let faster = totals.iter().zip(first).filter(|(own, first)| own <= first).count();
            faster * 20 > totals.len()
        });
        let rank = tie.map(|(rank, _)| *rank);
        row.rank = Some(rank.unwrap_or(index));
        if rank.is_none() {
            leader = Some((index, totals));
        }
    }
}

impl SearchResult {
    /// The reason why there is no layout, and what to change; `None` if there is one.
    pub fn nothing(&self) -> Option<String> {
        if !self.rows.is_empty() {
            return None;
        }
        let fallen: Vec<String> =
            self.dropped.iter().map(|(reason, count)| format!("{count} because {}", reason.sentence())).collect();
        // What fell last was nearest to running.
        let (last, _) = self.dropped.iter().last()?;
        let least = self
            .least_too_much
            .filter(|_| last == LeftOutReason::Memory)
            .map_or_else(String::new, |bytes| format!(" (the smallest needs {:.1} GiB)", bytes / memory::GIB));
        Some(format!(
            "no layout is left of {}: {}; the loosest limit: {}{least}",
            self.layouts,
            fallen.join(", "),
            last.remedy()
        ))
    }
}
