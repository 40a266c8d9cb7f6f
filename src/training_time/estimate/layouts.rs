//! The best layout on as many GPUs, of all that are possible and fit into memory.

use std::{collections::BTreeMap, ops::ControlFlow};

use super::{
    answer::Calibrated,
    factors::Factors,
    stack::{Recomputation, Sharding},
    step::{Degrees, LayoutError, StepColumns, StepKernels, StepQuestion},
};
use crate::{
    math::{Stream, exp},
    order::CompactSort,
    training_time::memory::capacity_bytes,
    units::{count, grouped},
};

/// A layout with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedLayout {
    /// The degrees by which the model is split and repeated.
    pub degrees: Degrees,
    /// Chunks of layers per stage.
    pub virtual_stages: u32,
    /// Sequences that a replica computes at once: `b`, at least 1.
    pub micro_batch: u32,
    /// What the backward pass computes again, to keep fewer activations.
    pub recomputation: Recomputation,
    /// What each replica holds only a share of.
    pub sharding: Sharding,
    /// The time of a step in µs.
    pub time_us: f64,
    /// The ends of its 90 % interval in µs.
    pub interval_us: [f64; 2],
    /// Memory of the fullest stage in bytes.
    pub memory_bytes: f64,
    /// In how many draws it is the fastest, as a share: of the factors for all together, and of its own error.
    pub best_share: f64,
    columns: StepColumns,
}

/// The layouts that were looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layouts {
    /// The fastest ones, the fastest first.
    pub ranked: Vec<RankedLayout>,
    /// Layouts of which none is both faster and smaller, the fastest first.
    pub frontier: Vec<RankedLayout>,
    /// The fastest layout of each pair of tensor and pipeline degree, the fastest first.
    pub by_degrees: Vec<RankedLayout>,
    /// The number of layouts that fit into memory.
    pub fitting: u64,
    /// Memory of the smallest layout in bytes, whether it fits or not; 0 where none is possible.
    pub least_memory_bytes: f64,
    /// Layouts that were left out, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
}

impl Layouts {
    /// `1,024 layouts fit; left out: memory 312, tp 40`.
    pub fn in_words(&self) -> String {
        let fitting = format!("{} fit", count(self.fitting, "layout"));
        if self.left_out.is_empty() {
            return fitting;
        }
        format!("{fitting}; {}", self.left_out_in_words())
    }

    /// `left out: memory 312, tp 40`.
    pub fn left_out_in_words(&self) -> String {
        let reasons = self.left_out.iter().map(|(reason, count)| format!("{reason} {}", grouped(*count)));
        format!("left out: {}", reasons.collect::<Vec<_>>().join(", "))
    }
}

/// The space of layouts that a search goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchLimits {
    /// The number of GPUs of all replicas and stages together.
    pub gpus: u64,
    /// Memory that is kept free, in GiB.
    pub reserve_gib: f64,
    /// The most layouts that are listed, the fastest ones.
    pub listed: usize,
    /// The largest micro-batch that is tried, in sequences.
    pub most_micro_batch: u32,
    /// What replicas may divide among them, with the number of their groups that each have a whole copy.
    pub shardings: Vec<(Sharding, u32)>,
    /// Seed of the draws of the factors.
    pub seed: u64,
}

/// The most GPUs of a search.
pub const MOST_GPUS: u64 = 16_384;

/// Tokens of a sequence that a GPU has at least where sequences are split.
const LEAST_PART: u32 = 4096;

/// The most ranks over which a sequence, and over which experts are spread in a search.
const MOST_CONTEXT: u64 = 1024;
const MOST_EXPERT: u64 = 256;

const DRAWS: usize = 400;

/// The spread of the factors between stacks and GPUs, as parts of their logarithm.
const SPREAD: [f64; 6] = [0.1, 0.2, 0.5, 0.35, 0.5, 0.5];

/// The spread of a layout beside others of the same model on the same GPUs, whose errors in common are taken out: about
/// what remains with three steps of one's own.
const OWN_SPREAD: f64 = 0.05;

fn divisors(of: u64, most: u64) -> impl Iterator<Item = u32> {
    (1..=of.min(most)).filter(move |n| of.is_multiple_of(*n)).map(|n| n as u32)
}

/// Searches all layouts of a question on as many GPUs: its own layout is no part of it. `progress` hears the share that
/// is done, and may stop it.
///
/// # Errors
/// Returns an error if the GPU lacks the precision, or the model positions for the sequence.
pub fn search(
    question: &StepQuestion<'_>,
    calibrated: &Calibrated,
    limits: &SearchLimits,
    mut progress: impl FnMut(f64) -> ControlFlow<()>,
) -> Result<Layouts, LayoutError> {
    question.device.check(question.precision)?;
    question.check_sequence()?;
    let capacity = capacity_bytes(question.device.memory_gib, limits.reserve_gib);
    let mut layouts = Layouts::default();
    let mut found: Vec<RankedLayout> = Vec::new();
    let has_experts = question.model.has_experts();
    let linked = u64::from(question.device.linked_gpus.clamp(1, 16));
    let splits: Vec<(u32, u32)> = divisors(limits.gpus, linked)
        .flat_map(|tensor| {
            let rest = limits.gpus / u64::from(tensor);
            divisors(rest, MOST_CONTEXT).map(move |context| (tensor, context))
        })
        .filter(|(_, context)| *context == 1 || question.sequence / context >= LEAST_PART)
        .filter(|(_, context)| question.sequence.is_multiple_of(*context))
        .collect();
    for (done, (tensor, context)) in splits.iter().enumerate() {
        if progress(done as f64 / splits.len() as f64).is_break() {
            break;
        }
        let rest = limits.gpus / u64::from(*tensor) / u64::from(*context);
        for pipeline in divisors(rest, question.model.depth().into()) {
            let data = rest / u64::from(pipeline);
            let ranks = data * u64::from(*context) * u64::from(*tensor);
            let experts: Vec<u32> = if has_experts { divisors(ranks, MOST_EXPERT).collect() } else { vec![1] };
            for expert in experts {
                let data = data as u32;
                let degrees = Degrees { tensor: *tensor, pipeline, context: *context, expert, data, replicate: 1 };
                of_degrees(question, degrees, calibrated, limits, capacity, &mut layouts, &mut found);
            }
        }
    }
    layouts.frontier = frontier(&mut found);
    layouts.by_degrees = by_degrees(&found);
    found.truncate(limits.listed.max(256));
    draw(&mut found, &calibrated.factors, limits.seed);
    found.truncate(limits.listed);
    layouts.ranked = found;
    Ok(layouts)
}

/// All layouts of some degrees.
fn of_degrees(
    question: &StepQuestion<'_>,
    degrees: Degrees,
    calibrated: &Calibrated,
    limits: &SearchLimits,
    capacity: f64,
    layouts: &mut Layouts,
    found: &mut Vec<RankedLayout>,
) {
    let can_interleave = degrees.pipeline > 1 && question.schedule.interleaves();
    let chunks: &[u32] = if can_interleave { &[1, 2, 3, 4, 5, 6, 8, 10, 12, 16] } else { &[1] };
    let of_replica = question.global_batch / u64::from(degrees.data).max(1);
    let least_us = StepQuestion { degrees, ..question.clone() }.least_us();
    if of_replica == 0 {
        *layouts.left_out.entry("dp × the micro-batch").or_default() += 1;
    }
    for micro_batch in divisors(of_replica, limits.most_micro_batch.into()) {
        let mut kernels: Option<StepKernels> = None;
        for virtual_stages in chunks.iter().copied() {
            let mut asked = StepQuestion { degrees, micro_batch, virtual_stages, ..question.clone() };
            if let Err(error) = asked.check_kv_heads().and_then(|()| asked.check()) {
                *layouts.left_out.entry(reason(&error)).or_default() += 1;
                continue;
            }
            for (sharding, replicate) in limits.shardings.iter().copied() {
                asked.degrees.replicate = replicate;
                asked.sharding = sharding;
                if let Err(error) = asked.check_sharers() {
                    *layouts.left_out.entry(reason(&error)).or_default() += 1;
                    continue;
                }
                // What is computed again takes time: where all fits without, it is not looked at.
                let kinds = Recomputation::ALL.into_iter().map(|(kind, _)| kind);
                for recomputation in kinds.filter(|kind| asked.stack.recomputes(*kind)) {
                    asked.recomputation = recomputation;
                    let memory_bytes = asked.memory().total();
                    if layouts.least_memory_bytes == 0.0 || memory_bytes < layouts.least_memory_bytes {
                        layouts.least_memory_bytes = memory_bytes;
                    }
                    if memory_bytes > capacity {
                        *layouts.left_out.entry("memory").or_default() += 1;
                        continue;
                    }
                    let kernels = kernels.get_or_insert_with(|| asked.kernels());
                    let columns = asked.columns_of(kernels);
                    layouts.fitting += 1;
                    found.push(RankedLayout {
                        degrees: asked.degrees,
                        virtual_stages,
                        micro_batch,
                        recomputation,
                        sharding,
                        time_us: calibrated.factors.time_us(&columns),
                        interval_us: calibrated.possible_interval_us(&columns, least_us),
                        memory_bytes,
                        best_share: 0.0,
                        columns,
                    });
                    break;
                }
            }
        }
    }
}

const fn reason(error: &LayoutError) -> &'static str {
    match error {
        LayoutError::Device(_) => "the GPU",
        LayoutError::Schedule { .. } => "the schedule",
        LayoutError::Software { .. } => "the software",
        LayoutError::DoesNotDivide { degree, .. }
        | LayoutError::NoMultiple { degree, .. }
        | LayoutError::TooMany { degree, .. } => degree,
    }
}

/// Sorts by time, and takes those of which no faster one is smaller.
fn frontier(found: &mut [RankedLayout]) -> Vec<RankedLayout> {
    found.compact_sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
    let mut smallest = f64::INFINITY;
    let is_smaller = |layout: &&RankedLayout| {
        let is_smaller = layout.memory_bytes < smallest;
        smallest = smallest.min(layout.memory_bytes);
        is_smaller
    };
    found.iter().filter(is_smaller).cloned().collect()
}

/// Of layouts by time, the first of each pair of tensor and pipeline degree.
fn by_degrees(found: &[RankedLayout]) -> Vec<RankedLayout> {
    let mut first: Vec<RankedLayout> = Vec::new();
    let pair = |layout: &RankedLayout| (layout.degrees.tensor, layout.degrees.pipeline);
    for layout in found {
        if !first.iter().any(|known| pair(known) == pair(layout)) {
            first.push(layout.clone());
        }
    }
    first
}

/// How often each is the fastest in draws of the factors, common to all, and of its own error.
fn draw(found: &mut [RankedLayout], factors: &Factors, seed: u64) {
    let mut stream = Stream::new(seed);
    let mut wins = vec![0_u32; found.len()];
    for _ in 0..DRAWS {
        let drawn = factors.scaled(SPREAD.map(|spread| exp(spread * stream.normal())));
        let times: Vec<f64> =
            found.iter().map(|layout| drawn.time_us(&layout.columns) * exp(OWN_SPREAD * stream.normal())).collect();
        let fastest = (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b]));
        fastest.into_iter().for_each(|index| wins[index] += 1);
    }
    for (layout, wins) in found.iter_mut().zip(wins) {
        layout.best_share = f64::from(wins) / DRAWS as f64;
    }
}
