//! Enumerates layouts and leaves out those that can't run, with reasons.

use serde::{Deserialize, Serialize};

use crate::training_time::{
    run::{Layout, Recompute, Run},
    step::{
        Mode,
        rules::{MOST_STAGES, is_short, parts},
    },
};

/// The settings of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSettings {
    /// The model, GPUs per node, and how a step is carried out; its degrees and batch are not looked at.
    pub run: Run,
    /// The way in which steps are composed.
    pub mode: Mode,
    /// The numbers of GPUs to consider.
    pub gpus: Vec<u32>,
    /// The number of sequences in a step, over all replicas.
    pub global_batch: u64,
    /// The micro-batch sizes to consider.
    pub micro_batches: Vec<u32>,
    /// The kinds of recomputation to consider.
    pub recompute: Vec<Recompute>,
    /// Whether tensor-parallel groups may span nodes.
    pub tensor_between_nodes: bool,
    /// Memory of a device in GiB; without it everything fits.
    pub memory_gib: Option<f64>,
    /// The amount of device memory that is kept free, in GiB.
    pub reserve_gib: f64,
    /// The number of best layouts for each number of GPUs, whose order is proven.
    pub best: u32,
    /// Looks at everything, not only at what may be among the best.
    pub everything: bool,
}

impl SearchSettings {
    /// With the usual choices: micro-batches of 1, 2, 4, 8 and 16, as the run recomputes, the best 20.
    pub fn new(run: Run, gpus: u32, global_batch: u64) -> Self {
        Self {
            recompute: vec![run.execution.recompute],
            run,
            mode: Mode::Default,
            gpus: vec![gpus],
            global_batch,
            micro_batches: vec![1, 2, 4, 8, 16],
            tensor_between_nodes: false,
            memory_gib: None,
            reserve_gib: crate::training_time::memory::RESERVE_GIB,
            best: 20,
            everything: false,
        }
    }
}

/// The reason why a layout is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LeftOutReason {
    /// The tensor-parallel degree does not divide the heads.
    Heads,
    /// There are fewer key-value heads than tensor-parallel ranks.
    KeyValueHeads,
    /// There are more stages, or chunks of them, than layers; or in parity mode a stage without layers.
    Stages,
    /// The tensor-parallel group is larger than a node.
    Node,
    /// Replicas times micro-batch do not divide the global batch.
    Batch,
    /// The micro-batches can't be interleaved over the stages.
    Groups,
    /// The pipeline has more operations than are simulated.
    Size,
    /// A stage does not fit into memory.
    Memory,
    /// Samples are missing that nothing can replace.
    Missing,
}

impl LeftOutReason {
    /// All, in the order in which they are looked at.
    pub const ALL: [Self; 9] = [
        Self::Heads,
        Self::KeyValueHeads,
        Self::Stages,
        Self::Node,
        Self::Batch,
        Self::Groups,
        Self::Size,
        Self::Memory,
        Self::Missing,
    ];

    /// The keyword in JSON and CSV.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::KeyValueHeads => "kv_heads",
            Self::Stages => "stages",
            Self::Node => "node",
            Self::Batch => "batch",
            Self::Groups => "interleaving",
            Self::Size => "size",
            Self::Memory => "memory",
            Self::Missing => "missing",
        }
    }

    /// The reason as a clause, as reports write it.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Heads => "the tensor degree does not divide the attention heads",
            Self::KeyValueHeads => "there are fewer key-value heads than tensor ranks",
            Self::Stages => "there are more pipeline stages or chunks than layers",
            Self::Node => "the tensor group is larger than a node",
            Self::Batch => "replicas times micro-batch do not divide the global batch",
            Self::Groups => "the micro-batches can't be interleaved over the stages",
            Self::Size => "there are more micro-batches and stages than are simulated",
            Self::Memory => "a stage needs more memory than a device has",
            Self::Missing => "something was not sampled, and nothing stands in",
        }
    }

    /// What to change so that more layouts pass.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Heads => "another number of GPUs or of heads",
            Self::KeyValueHeads => "fewer GPUs, or more key-value heads",
            Self::Stages => "fewer GPUs, or more layers",
            Self::Node => "tensor groups over several nodes",
            Self::Batch => "another global batch, or a smaller micro-batch",
            Self::Groups => "one chunk per stage",
            Self::Size => "a smaller global batch, or a larger micro-batch",
            Self::Memory => "more memory, a smaller reserve, or whole layers recomputed where they are not yet",
            Self::Missing => "samples of what is missing",
        }
    }

    /// It is told of whole layouts; others of a layout with a micro-batch and recomputation.
    pub const fn is_of_layouts(self) -> bool {
        matches!(self, Self::Heads | Self::KeyValueHeads | Self::Stages | Self::Node)
    }
}

/// The number of layouts that were left out for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCounts([u64; 9]);

impl LeftOutCounts {
    /// The number of layouts that were left out for a reason.
    pub const fn of(&self, reason: LeftOutReason) -> u64 {
        self.0[reason as usize]
    }

    pub(super) fn count(&mut self, reason: LeftOutReason) {
        self.0[reason as usize] += 1;
    }

    /// The reasons that apply to any layout, with the numbers of layouts.
    pub fn iter(&self) -> impl Iterator<Item = (LeftOutReason, u64)> + '_ {
        LeftOutReason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, count)| *count > 0)
    }
}

/// The layouts of a search that may run.
pub struct Space {
    /// Ordered triples of degrees whose product is a number of GPUs; with experts, each with its expert degrees.
    pub layouts: u64,
    /// The number of layouts that were left out so far.
    pub dropped: LeftOutCounts,
    /// The runs that satisfy all rules; their memory is not yet checked.
    pub runs: Vec<Run>,
}

/// Each once: what is asked for twice is looked at once.
fn distinct<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    all.iter().for_each(|one| {
        if !once.contains(one) {
            once.push(*one);
        }
    });
    once
}

fn divisors(whole: u32) -> impl Iterator<Item = u32> {
    let low: Vec<u32> = (1..=whole.isqrt()).filter(|degree| whole.is_multiple_of(*degree)).collect();
    let high: Vec<u32> = low.iter().rev().map(|degree| whole / degree).filter(|degree| !low.contains(degree)).collect();
    low.into_iter().chain(high)
}

/// All runs that satisfy the rules of a search.
pub fn space(question: &SearchSettings) -> Space {
    let mut space = Space { layouts: 0, dropped: LeftOutCounts::default(), runs: Vec::new() };
    let model = &question.run.model;
    let question = &SearchSettings {
        gpus: distinct(&question.gpus),
        micro_batches: distinct(&question.micro_batches),
        recompute: distinct(&question.recompute),
        ..question.clone()
    };
    for gpus in &question.gpus {
        for pipeline in divisors(*gpus) {
            for tensor in divisors(gpus / pipeline) {
                let data = gpus / pipeline / tensor;
                for expert in divisors(data).filter(|expert| model.experts.max(1).is_multiple_of(*expert)) {
                    let gpus_per_node = question.run.layout.gpus_per_node.max(1);
                    let layout = Layout { pipeline, tensor, data, expert, gpus_per_node };
                    space.layouts += 1;
                    match unfit(question, &layout) {
                        Some(reason) => space.dropped.count(reason),
                        None => space.batches(question, layout),
                    }
                }
            }
        }
    }
    space
}

fn unfit(question: &SearchSettings, layout: &Layout) -> Option<LeftOutReason> {
    let model = &question.run.model;
    let layers = u64::from(model.layers);
    let stages = u64::from(layout.pipeline);
    let has_layers = match question.mode {
        // The reference's last stage has ⌊(E+5)/pp⌋ − 3 layers.
        Mode::Parity => stages <= layers && (stages == 1 || (layers + 5) / stages >= 4),
        Mode::Default => parts(layout.pipeline, question.run.execution.virtual_stages) <= layers,
    };
    Some(match () {
        () if !model.heads.is_multiple_of(layout.tensor) => LeftOutReason::Heads,
        () if model.kv_heads < layout.tensor => LeftOutReason::KeyValueHeads,
        () if !has_layers => LeftOutReason::Stages,
        () if layout.tensor > layout.gpus_per_node && !question.tensor_between_nodes => LeftOutReason::Node,
        () => return None,
    })
}

impl Space {
    fn batches(&mut self, question: &SearchSettings, layout: Layout) {
        for micro_batch in &question.micro_batches {
            for recompute in &question.recompute {
                match with_batch(question, layout, (*micro_batch).max(1), *recompute) {
                    Ok(run) => self.runs.push(run),
                    Err(reason) => self.dropped.count(reason),
                }
            }
        }
    }
}

fn with_batch(
    question: &SearchSettings,
    layout: Layout,
    micro_batch: u32,
    recompute: Recompute,
) -> Result<Run, LeftOutReason> {
    let replicas = u64::from(layout.data) * u64::from(micro_batch);
    let micro_batches =
        Some(question.global_batch / replicas).filter(|_| question.global_batch.is_multiple_of(replicas));
    let micro_batches = micro_batches.filter(|count| *count > 0).ok_or(LeftOutReason::Batch)?;
    if question.run.execution.virtual_stages > 1 && !micro_batches.is_multiple_of(layout.pipeline.into()) {
        return Err(LeftOutReason::Groups);
    }
    let micro_batches = u32::try_from(micro_batches).ok().ok_or(LeftOutReason::Size)?;
    let mut run = Run { layout, micro_batch, micro_batches, ..question.run.clone() };
    run.execution.recompute = recompute;
    run.execution.layers_per_stage = None;
    let is_parity = question.mode == Mode::Parity;
    if layout.pipeline > MOST_STAGES || !is_parity && !is_short(&run) { Err(LeftOutReason::Size) } else { Ok(run) }
}
