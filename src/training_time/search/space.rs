//! Which layouts there are, and which of them can't be, by reason.

use serde::{Deserialize, Serialize};

use crate::training_time::{
    run::{Layout, Recompute, Run},
    step::Mode,
};

/// What is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The model, GPUs per node, and how a step is carried out; its degrees and batch are not looked at.
    pub run: Run,
    /// Which composition.
    pub mode: Mode,
    /// Numbers of GPUs.
    pub gpus: Vec<u32>,
    /// Sequences in a step of all replicas.
    pub global_batch: u64,
    /// Sizes of a micro-batch to try.
    pub micro_batches: Vec<u32>,
    /// What to try computing again.
    pub recompute: Vec<Recompute>,
    /// Tensor groups may span nodes.
    pub tensor_between_nodes: bool,
    /// Memory of a device in GiB; without it everything fits.
    pub memory_gib: Option<f64>,
    /// What of it is kept free, in GiB.
    pub reserve_gib: f64,
    /// How many of the best are wanted on each number of GPUs; their order is proven.
    pub best: u32,
    /// Looks at everything, not only at what may be among the best.
    pub everything: bool,
}

impl Question {
    /// With the usual choices: micro-batches of 1, 2, 4, 8 and 16, as the run recomputes, the best 20.
    #[must_use]
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

/// Why a layout is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// The tensor degree does not divide the heads.
    Heads,
    /// There are fewer key-value heads than tensor ranks.
    KeyValueHeads,
    /// There are more stages than layers; or in parity mode a stage without layers.
    Stages,
    /// The tensor group is larger than a node.
    Node,
    /// Replicas times micro-batch do not divide the global batch.
    Batch,
    /// Micro-batches can't be interleaved over the stages.
    Groups,
    /// A stage does not fit.
    Memory,
    /// Something was not sampled, and nothing stands in.
    Missing,
}

impl Reason {
    /// All, in the order in which they are looked at.
    pub const ALL: [Self; 8] = [
        Self::Heads,
        Self::KeyValueHeads,
        Self::Stages,
        Self::Node,
        Self::Batch,
        Self::Groups,
        Self::Memory,
        Self::Missing,
    ];

    /// Its key in files.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::KeyValueHeads => "kv_heads",
            Self::Stages => "stages",
            Self::Node => "node",
            Self::Batch => "batch",
            Self::Groups => "interleaving",
            Self::Memory => "memory",
            Self::Missing => "missing",
        }
    }

    /// In words.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Heads => "the tensor degree does not divide the attention heads",
            Self::KeyValueHeads => "there are fewer key-value heads than tensor ranks",
            Self::Stages => "there are more pipeline stages than layers",
            Self::Node => "the tensor group is larger than a node",
            Self::Batch => "replicas times micro-batch do not divide the global batch",
            Self::Groups => "the micro-batches can't be interleaved over the stages",
            Self::Memory => "a stage needs more memory than a device has",
            Self::Missing => "something was not sampled, and nothing stands in",
        }
    }

    /// What would let more layouts through.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Heads => "another number of GPUs or of heads",
            Self::KeyValueHeads => "fewer GPUs, or more key-value heads",
            Self::Stages => "fewer GPUs, or more layers",
            Self::Node => "tensor groups over several nodes",
            Self::Batch => "another global batch, or a smaller micro-batch",
            Self::Groups => "one chunk per stage",
            Self::Memory => "more memory, recomputation, or a smaller reserve",
            Self::Missing => "samples of what is missing",
        }
    }

    /// It is told of whole layouts; others of a layout with a micro-batch and recomputation.
    #[must_use]
    pub const fn is_of_layouts(self) -> bool {
        matches!(self, Self::Heads | Self::KeyValueHeads | Self::Stages | Self::Node)
    }
}

/// How many fell to each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped([u64; 8]);

impl Dropped {
    /// How many fell to a reason.
    #[must_use]
    pub const fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    pub(super) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// The reasons that anything fell to, with how many.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, count)| *count > 0)
    }
}

/// The layouts and what is left of them.
pub struct Space {
    /// Ordered triples of degrees whose product is a number of GPUs; with experts, each with its expert degrees.
    pub layouts: u64,
    /// Those that fell, so far.
    pub dropped: Dropped,
    /// What may run as far as its numbers go; memory is not yet looked at.
    pub runs: Vec<Run>,
}

fn divisors(whole: u32) -> impl Iterator<Item = u32> {
    (1..=whole).filter(move |degree| whole.is_multiple_of(*degree))
}

/// All that may run.
#[must_use]
pub fn space(question: &Question) -> Space {
    let mut space = Space { layouts: 0, dropped: Dropped::default(), runs: Vec::new() };
    let model = &question.run.model;
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

fn unfit(question: &Question, layout: &Layout) -> Option<Reason> {
    let model = &question.run.model;
    let layers = i64::from(model.layers);
    let stages = i64::from(layout.pipeline);
    // The reference's last stage has ⌊(E+5)/pp⌋ − 3 layers.
    let is_empty = question.mode == Mode::Parity && stages > 1 && (layers + 5) / stages < 4;
    Some(match () {
        () if !model.heads.is_multiple_of(layout.tensor) => Reason::Heads,
        () if model.kv_heads < layout.tensor => Reason::KeyValueHeads,
        () if stages > layers || is_empty => Reason::Stages,
        () if layout.tensor > layout.gpus_per_node && !question.tensor_between_nodes => Reason::Node,
        () => return None,
    })
}

impl Space {
    fn batches(&mut self, question: &Question, layout: Layout) {
        for micro_batch in &question.micro_batches {
            for recompute in &question.recompute {
                let replicas = u64::from(layout.data) * u64::from((*micro_batch).max(1));
                let micro_batches = question.global_batch / replicas;
                let (true, Ok(micro_batches)) =
                    (question.global_batch.is_multiple_of(replicas), u32::try_from(micro_batches))
                else {
                    self.dropped.count(Reason::Batch);
                    continue;
                };
                if micro_batches == 0 {
                    self.dropped.count(Reason::Batch);
                    continue;
                }
                let execution = &question.run.execution;
                if execution.virtual_stages > 1 && !micro_batches.is_multiple_of(layout.pipeline) {
                    self.dropped.count(Reason::Groups);
                    continue;
                }
                let mut run = question.run.clone();
                (run.layout, run.micro_batch, run.micro_batches) = (layout, (*micro_batch).max(1), micro_batches);
                run.execution.recompute = *recompute;
                run.execution.layers_per_stage = None;
                self.runs.push(run);
            }
        }
    }
}
