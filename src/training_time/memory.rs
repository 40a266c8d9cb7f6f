//! Memory of each stage, and the first thing that doesn't fit (activations after arXiv 2205.05198, section 4).

use serde::{Deserialize, Serialize};

use super::{
    anatomy::{Anatomy, padded_vocabulary},
    run::{Recompute, Run},
    step::default_mode::layers,
};

/// The default amount of device memory that is kept free, in GiB.
pub const RESERVE_GIB: f64 = 2.0;

/// Memory of one rank of a pipeline stage, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageMemory {
    /// The weights, 2 bytes each.
    pub weights: f64,
    /// The gradients, of as many bytes each as the run says.
    pub gradients: f64,
    /// The optimizer's copy of the weights and its two moments in single precision.
    pub optimizer: f64,
    /// The activations of the micro-batches in flight.
    pub activations: f64,
    /// The activations of one layer while it is recomputed.
    pub recompute: f64,
    /// The logits with what the loss makes of them.
    pub logits: f64,
    /// What the allocator holds beyond what is in use.
    pub allocator: f64,
}

impl StageMemory {
    /// Each with what people call it, in the order in which they fill a device.
    pub const fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("Weights", self.weights),
            ("Gradients", self.gradients),
            ("Optimizer", self.optimizer),
            ("Activations", self.activations),
            ("Recomputed layer", self.recompute),
            ("Logits", self.logits),
            ("Allocator", self.allocator),
        ]
    }

    /// The sum of all parts.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Weights, gradients and the optimizer's states.
    pub const fn states(&self) -> f64 {
        self.weights + self.gradients + self.optimizer
    }

    /// The first part that exceeds what a device has, when they fill it in order.
    pub fn first_too_much(&self, capacity_bytes: f64) -> Option<&'static str> {
        let mut filled = 0.0;
        self.parts().into_iter().find_map(|(name, bytes)| {
            filled += bytes;
            (filled > capacity_bytes).then_some(name)
        })
    }
}

/// The usable memory of a device in bytes: its memory without the reserve.
pub fn capacity_bytes(memory_gib: f64, reserve_gib: f64) -> f64 {
    (memory_gib - reserve_gib).max(0.0) * GIB
}

/// The number of bytes of a GiB.
pub const GIB: f64 = 1_073_741_824.0;

/// The memory of each stage of a run.
pub fn of(run: &Run, anatomy: &Anatomy) -> Vec<StageMemory> {
    let layers = layers(run);
    let stages = layers.len();
    let (whole, kept) = layer_bytes(run, anatomy);
    let again = if run.execution.recompute == Recompute::Full { whole } else { 0.0 };
    let chunks = f64::from(run.execution.virtual_stages.max(1));
    let (model, layout) = (&run.model, &run.layout);
    let logits = 6.0
        * f64::from(run.micro_batch)
        * f64::from(model.sequence)
        * padded_vocabulary(model.vocabulary, layout.tensor);
    let memory = layers.iter().enumerate().map(|(stage, count)| {
        let (is_first, is_last) = (stage == 0, stage + 1 == stages);
        let count = f64::from(*count);
        let (dense, experts) = anatomy.parameters.of_stage(count, is_first, is_last);
        let share = |ranks: u32| if run.execution.zero == 0 { 1.0 } else { 1.0 / f64::from(ranks.max(1)) };
        let all = dense + experts;
        let following = (stages - stage) as f64;
        let flight = if chunks > 1.0 && stages > 1 {
            // Interleaved, the first stage holds E · (1 + (pp − 1)/(pp · v)) layers' activations, and each next stage
            // two micro-batches of a chunk less.
            let ahead = 2.0 * (following - 1.0) + (chunks - 1.0) * stages as f64 + 1.0;
            ahead.min(f64::from(run.micro_batches) * chunks) * count / chunks
        } else {
            following.min(f64::from(run.micro_batches)) * count
        };
        StageMemory {
            weights: 2.0 * all,
            gradients: f64::from(run.execution.gradient_bytes) * all,
            optimizer: 12.0 * (dense * share(layout.data) + experts * share(layout.data / layout.expert.max(1))),
            activations: flight * kept,
            recompute: again,
            logits: if is_last { logits } else { 0.0 },
            allocator: 0.0,
        }
    });
    memory.collect()
}

/// Activations of one layer and micro-batch in bytes: all of them, and those that are kept.
fn layer_bytes(run: &Run, anatomy: &Anatomy) -> (f64, f64) {
    let (model, tensor) = (&run.model, f64::from(run.layout.tensor.max(1)));
    let tokens = f64::from(model.sequence) * f64::from(run.micro_batch);
    let unit = tokens * f64::from(model.hidden);
    let scores = f64::from(model.heads) * f64::from(model.sequence) / f64::from(model.hidden.max(1)) / tensor;
    let scores = if anatomy.is_flash { 0.0 } else { 5.0 * scores };
    // Of the 34, an MLP four times as wide holds 19: its input 2, inner activations 16, a mask 1.
    let spread = if run.execution.sequence_parallel { tensor } else { 1.0 };
    let plain = 10.0 / spread + 24.0 / tensor;
    let mixture = if model.experts > 1 {
        let copies = f64::from(model.top_k.max(1)) * model.load_balance.max(1.0);
        (copies - 1.0) * (2.0 / spread + 16.0 / tensor)
    } else {
        0.0
    };
    let declared = anatomy.activation_bytes.filter(|_| !run.execution.sequence_parallel && model.experts < 2);
    let whole = declared.unwrap_or(unit * (plain + mixture + scores));
    let kept = match run.execution.recompute {
        Recompute::None => whole,
        Recompute::Selective => whole.min(unit * (plain + mixture)),
        Recompute::Full => 2.0 * unit,
    };
    (whole, kept)
}
