//! Memory of the fullest stage of an estimated step (arXiv 2205.05198, sections 4 and 5; ZeRO, arXiv 1910.02054).

use super::{
    efficiency::AttentionKernel,
    exchange::Group,
    stack::{Recomputation, Sharding, Stack},
    step::{Schedule, StepQuestion},
};
use crate::training_time::{
    memory::StageMemory,
    models::{FeedForward, Layer},
};

impl StepQuestion<'_> {
    /// Memory of a rank of the fullest stage, in bytes.
    pub fn memory(&self) -> StageMemory {
        let (first, last) = (self.stage_memory(true), self.stage_memory(false));
        if last.total() > first.total() { last } else { first }
    }

    /// Of the first stage, which has most micro-batches in flight, or of the last one, which has the logits.
    fn stage_memory(&self, is_first: bool) -> StageMemory {
        let degrees = self.degrees;
        let [parameters, of_experts] = self.rank_parameters(is_first);
        let spread = |from: Sharding, bytes: f64| {
            let share = |among: Group| if self.sharding >= from { 1.0 / f64::from(among.ranks) } else { 1.0 };
            bytes * (parameters * share(self.sharers()) + of_experts * share(self.expert_sharers()))
        };
        let copies = if self.schedule == Schedule::DualPipe { 2.0 } else { 1.0 };
        // FSDP keeps its shares in single precision; gathered in half are two units at a time, or all.
        let unit = 2.0 * (parameters + of_experts) / self.layers_of_stage();
        let gathered = match (self.is_by_layer(), self.stays_gathered()) {
            (true, true) => 2.0 * (parameters + of_experts),
            (true, false) => 2.0 * unit,
            (false, _) => 0.0,
        };
        let weights_from = if self.is_by_layer() { self.sharding } else { Sharding::Parameters };
        let weight_bytes = if matches!(self.stack, Stack::TorchTitan | Stack::TorchTitanEager) { 0.0 } else { 2.0 };
        let gradient_bytes = self.gradient_bytes();
        // Over the micro-batches of a pipeline FSDP adds up gradients before it reduces them
        // (`set_requires_gradient_sync` in torch/distributed/pipelining/stage.py).
        let added_up = if self.is_by_layer() && degrees.pipeline > 1 { gradient_bytes } else { 0.0 };
        let stages = degrees.pipeline;
        let in_flight = self.layers_in_flight(is_first);
        let tokens = f64::from(self.micro_batch) * f64::from(self.sequence) / f64::from(degrees.context);
        let (mut kept, mut whole) = (0.0, 0.0_f64);
        for (layer, count) in &self.model.layers {
            let [all, stored] = self.layer_bytes(layer).map(|per_token| per_token * tokens);
            kept += stored * f64::from(*count) / f64::from(self.model.depth().max(1));
            whole = whole.max(all);
        }
        let has_logits = !is_first || stages == 1;
        let columns = f64::from(self.model.vocabulary) / f64::from(degrees.tensor);
        let outputs = 1.0 + f64::from(self.model.prediction_layers);
        let logit_bytes = self.stack.logit_bytes(degrees.tensor > 1);
        let memory = StageMemory {
            weights: copies * (spread(weights_from, weight_bytes) + gathered),
            gradients: spread(Sharding::Gradients, gradient_bytes) + added_up * (parameters + of_experts),
            optimizer: spread(Sharding::Optimizer, 12.0),
            activations: in_flight * kept,
            recompute: if self.recomputation == Recomputation::Layers { whole } else { 0.0 },
            logits: if has_logits { logit_bytes * outputs * tokens * columns } else { 0.0 },
            allocator: 0.0,
        };
        StageMemory { allocator: self.stack.allocator_share() * memory.total(), ..memory }
    }

    /// Layers whose activations of one micro-batch are kept, summed over the micro-batches in flight.
    fn layers_in_flight(&self, is_first: bool) -> f64 {
        let stages = f64::from(self.degrees.pipeline);
        let layers = (f64::from(self.model.depth()) / stages).ceil();
        let micro_batches = self.micro_batches() as f64;
        let chunks = f64::from(self.virtual_stages.max(1));
        let passes = match self.schedule {
            // Interleaved, the last stage runs ahead by all chunks but one of each micro-batch (Megatron's
            // `get_num_microbatches_and_warmup`).
            Schedule::OneForwardOneBackward if !is_first => stages - (stages - 1.0) / chunks,
            schedule if chunks > 1.0 && stages > 1.0 && schedule.interleaves() => {
                stages * (1.0 + (stages - 1.0) / (stages * chunks))
            }
            Schedule::OneForwardOneBackward | Schedule::ZeroBubble => stages,
            Schedule::Gpipe => micro_batches.max(stages),
            Schedule::ZeroBubble2 => 2.0 * stages - 1.0,
            Schedule::DualPipe => stages + 1.0,
        };
        layers * passes.min(micro_batches.max(1.0))
    }

    /// Bytes per token of the activations of a layer: all, and those that are kept until the backward pass.
    fn layer_bytes(&self, layer: &Layer) -> [f64; 2] {
        let (hidden, tensor) = (f64::from(self.model.hidden), f64::from(self.degrees.tensor));
        let spread = if self.is_sequence_parallel { tensor } else { 1.0 };
        let (heads, kv_heads, width) = layer.attention.heads();
        let (heads, kv_heads) = (f64::from(heads), f64::from(kv_heads));
        let projected = 2.0 * width * (heads + 2.0 * kv_heads);
        let attended = 2.0 * width * heads;
        let statistics = 4.0 * heads;
        // Inputs of the two products, what comes out of a gate and of the activation.
        let (inner, copies) = match layer.feed_forward {
            FeedForward::Dense { width, is_gated, .. } => (inner_bytes(is_gated) * f64::from(width), 0.0),
            FeedForward::Experts { top_k, width, shared_width, .. } => {
                let width = f64::from(top_k) * f64::from(width) + f64::from(shared_width);
                (6.0 * width, 2.0 * f64::from(top_k) * hidden)
            }
        };
        // Inputs of the norms and of the parts behind them; of Megatron of 2021 also the masks of dropout.
        let rows = if self.stack.drops_out() { 10.0 } else { 8.0 } * hidden;
        let scores = match self.attention {
            AttentionKernel::Unfused => 5.0 * heads * f64::from(self.sequence),
            _ => statistics,
        };
        let inside = projected + attended + inner + copies;
        let whole = rows / spread + (inside + scores) / tensor;
        let kept = match self.recomputation {
            Recomputation::Nothing => whole,
            Recomputation::Attention => rows / spread + inside / tensor,
            // Every second product, the attention's output and the layer's input.
            Recomputation::Operators => {
                let products = projected + 4.0 * hidden + inner * 2.0 / 3.0;
                2.0 * hidden / spread + (attended + products / 2.0) / tensor
            }
            Recomputation::Layers => 2.0 * hidden / spread,
        };
        [whole, kept]
    }
}

/// Bytes per element of the width: the gate, the other factor and their product; or before and behind the activation.
const fn inner_bytes(is_gated: bool) -> f64 {
    if is_gated { 6.0 } else { 4.0 }
}
