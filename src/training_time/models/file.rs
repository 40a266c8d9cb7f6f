//! What a file says of a model and of its training.

use super::Transformer;
use crate::text::excerpt;

/// What was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFile {
    /// The model; `None` where the file has none, or lacks a size of it.
    pub model: Option<Transformer>,
    /// How it is trained, as far as the file says.
    pub training: TrainingSettings,
    /// What a step took, where the file is a log with some.
    pub measured: Option<MeasuredStep>,
    /// What must be asked for.
    pub missing: Vec<MissingField>,
    /// Notes, such as on options that are not used.
    pub notes: Vec<String>,
}

/// The time of a step, as a training program logs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredStep {
    /// The median time of the logged iterations of the last batch size, in µs.
    pub time_us: f64,
    /// Sequences of such an iteration over all replicas, where the log says it.
    pub global_batch: Option<u64>,
    /// The number of these iterations.
    pub iterations: usize,
    /// The line of the last of them, from 1.
    pub line: u64,
}

/// A field that the file leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// Its name in the file.
    pub key: String,
    /// Why it is open, or what was expected.
    pub reason: String,
}

/// How a model is trained; `None` where the file is silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainingSettings {
    /// Tokens of a sequence, of all ranks that share it.
    pub sequence: Option<u32>,
    /// Sequences that a replica computes at once: `b`, at least 1.
    pub micro_batch: Option<u32>,
    /// Sequences of a step over all replicas.
    pub global_batch: Option<u32>,
    /// Micro-batches of a step.
    pub micro_batches: Option<u32>,
    /// GPUs among which each matrix is split.
    pub tensor: Option<u32>,
    /// Stages of the pipeline.
    pub pipeline: Option<u32>,
    /// GPUs among which a sequence is split.
    pub context: Option<u32>,
    /// GPUs over which experts are spread.
    pub expert: Option<u32>,
    /// Replicas, with those that share the states.
    pub data: Option<u32>,
    /// Groups of replicas, each with a whole copy of what is sharded.
    pub replicate: Option<u32>,
    /// Chunks of layers per stage.
    pub virtual_stages: Option<u32>,
    /// Whether norms and residuals are split along the sequence.
    pub sequence_parallel: Option<bool>,
    /// Whether replicas share the states of the optimizer.
    pub distributed_optimizer: Option<bool>,
    /// The stage of ZeRO.
    pub zero: Option<u32>,
    /// Whether the reduction of gradients overlaps with the backward pass.
    pub overlap_reduce: Option<bool>,
    /// Whether the gathering of parameters overlaps with the forward pass.
    pub overlap_gather: Option<bool>,
    /// Bytes of a gradient in memory and where it is exchanged.
    pub gradient_bytes: Option<u32>,
    /// What the backward pass computes again, in the words of the file.
    pub recompute: Option<String>,
    /// The type of products, in the words of the file.
    pub precision: Option<String>,
    /// The format of FP8, in the words of the file.
    pub fp8: Option<String>,
    /// The training program, by the name that estimates have for it.
    pub software: Option<&'static str>,
    /// The order of forward and backward passes, by the name that estimates have for it.
    pub schedule: Option<&'static str>,
}

impl TrainingSettings {
    /// Takes from another file what this one leaves open. Returns the names of what both say, and say differently: it
    /// stays as it is.
    fn take_open(&mut self, other: &Self) -> Vec<&'static str> {
        let mut different = Vec::new();
        // Micro-batches of a replica say the batch of all: another file's is none of what is open.
        let of_replica = self.micro_batch.zip(self.micro_batches).filter(|_| self.global_batch.is_none());
        macro_rules! take {
            ($($field:ident),* $(,)?) => {$(
                match (&self.$field, &other.$field) {
                    (None, theirs) => self.$field.clone_from(theirs),
                    (Some(own), Some(theirs)) if own != theirs => different.push(stringify!($field)),
                    _ => {}
                }
            )*};
        }
        take!(
            sequence,
            micro_batch,
            global_batch,
            micro_batches,
            tensor,
            pipeline,
            context,
            expert,
            data,
            replicate,
            virtual_stages,
            sequence_parallel,
            distributed_optimizer,
            zero,
            overlap_reduce,
            overlap_gather,
            gradient_bytes,
            recompute,
            precision,
            fp8,
            schedule,
        );
        self.software = self.software.or(other.software);
        if let Some((size, number)) = of_replica
            && let Some(theirs) = self.global_batch.take()
        {
            let of_all = u64::from(size) * u64::from(number) * u64::from(self.data.unwrap_or(1));
            if self.data.is_some() && of_all != u64::from(theirs) {
                different.push("global_batch");
            }
        }
        different
    }

    /// What several files say together, with a sentence for each thing that two of them say differently. What
    /// DeepSpeed's configuration says counts before arguments of the program that runs with it; else the first file's.
    pub fn together<'a>(files: impl Iterator<Item = (&'a str, &'a Self)>) -> (Self, Vec<String>) {
        let is_engine = |(_, file): &(&str, &Self)| file.software == Some("deepspeed");
        let (engines, others): (Vec<_>, Vec<_>) = files.partition(is_engine);
        let (mut all, mut contradictions) = (Self::default(), Vec::new());
        let mut before: Vec<&str> = Vec::new();
        for (name, file) in engines.into_iter().chain(others) {
            let different = all.take_open(file);
            if !different.is_empty() {
                let (name, before, what) = (excerpt(name), excerpt(&before.join(", ")), different.join(", "));
                contradictions.push(format!("{name} and {before} differ in {what}: what {before} says counts"));
            }
            if *file != Self::default() {
                before.push(name);
            }
        }
        (all, contradictions)
    }
}
