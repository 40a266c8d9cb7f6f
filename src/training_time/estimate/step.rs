//! A step of kernels and exchanges, before the factors of the software: what a rank of the busiest stage does.

use super::{
    device::{Device, DeviceError, Precision},
    efficiency::AttentionKernel,
    exchange::{Exchange, ExchangeUse, Group, Operation},
    layer::{FUSED_SHARE, LayerPlace, LayerTimes, Times, layer_times},
    stack::{Recomputation, Sharding, Stack},
};
use crate::training_time::models::{FeedForward, Layer, Norm, Transformer};

/// Over which GPUs a model is spread. Ranks are laid out tensor fastest, then context and data, then pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Degrees {
    /// GPUs among which each matrix is split.
    pub tensor: u32,
    /// Stages of the pipeline, each with a part of the layers.
    pub pipeline: u32,
    /// GPUs among which a sequence is split.
    pub context: u32,
    /// GPUs over which the experts of a layer are spread; they are among those of `data` and `context`.
    pub expert: u32,
    /// Replicas of the model, each with its part of the batch.
    pub data: u32,
    /// Groups of replicas, each with a whole copy of what is sharded: `dp_replicate` of hybrid sharding. 1 where all
    /// replicas share one copy.
    pub replicate: u32,
}

impl Degrees {
    /// The number of GPUs; `u64::MAX` if that is more.
    pub fn gpus(&self) -> u64 {
        [self.pipeline, self.context, self.data]
            .into_iter()
            .fold(self.tensor.into(), |gpus: u64, degree| gpus.saturating_mul(degree.into()))
    }
}

/// The order in which a stage computes micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// One forward, one backward; interleaved where a stage has several chunks.
    #[default]
    OneForwardOneBackward,
    /// All forward passes, then all backward passes: the time of 1F1B, and every micro-batch's activations.
    Gpipe,
    /// Zero bubble of the memory of 1F1B (ZB-H1, arXiv 2401.10241): weights' gradients fill the bubble.
    ZeroBubble,
    /// Zero bubble with about twice the activations (ZB-H2).
    ZeroBubble2,
    /// From both ends, with all weights twice: what goes to experts and back is hidden beside a micro-batch from the
    /// other end (DeepSeek-V3's report, section 3.2.1).
    DualPipe,
}

impl Schedule {
    /// All schedules with the names by which they are chosen.
    pub const ALL: [(Self, &str); 5] = [
        (Self::OneForwardOneBackward, "1f1b"),
        (Self::Gpipe, "gpipe"),
        (Self::ZeroBubble, "zb-h1"),
        (Self::ZeroBubble2, "zb-h2"),
        (Self::DualPipe, "dualpipe"),
    ];

    /// How long a stage waits in a step: `p` stages, `m` micro-batches, forward `f`, input gradient `b` and weight
    /// gradient `w` of a micro-batch on a stage, `v` chunks per stage. Closed forms for equal stages, which hold for
    /// `m` ≥ `p`; with fewer, no less than the way of one micro-batch through all stages and back leaves. Chunks
    /// shorten the wait of those schedules that [interleave](Self::interleaves).
    pub fn bubble(self, [p, m]: [f64; 2], [f, b, w]: [f64; 3], v: f64) -> f64 {
        let is_whole = matches!(self, Self::OneForwardOneBackward | Self::Gpipe);
        let way = if is_whole { p * (f + b + w) } else { p * (f + b) + w };
        let waits = match self {
            Self::OneForwardOneBackward | Self::Gpipe => (p - 1.0) * (f + b + w) / v,
            Self::ZeroBubble => (p - 1.0) * (f + b - w) / v,
            Self::ZeroBubble2 => (p - 1.0) * (f + b - 2.0 * w),
            Self::DualPipe => (p / 2.0 - 1.0) * ((f + b + w) + b - 2.0 * w),
        };
        waits.max(way - m * (f + b + w)).max(0.0)
    }

    /// Whether a stage can have several chunks: with ZB-H1 as in PyTorch's `ScheduleInterleavedZeroBubble`.
    pub const fn interleaves(self) -> bool {
        matches!(self, Self::OneForwardOneBackward | Self::ZeroBubble)
    }

    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(schedule, _)| *schedule == self).map_or("", |(_, name)| name)
    }

    /// What `stages` and the micro-batches of a replica must be; `None` where any do. DualPipe's conditions are those
    /// that `DualPipe.step` of deepseek-ai/DualPipe asserts.
    fn refuses(self, stages: u32, micro_batches: u64, chunks: u32) -> Option<&'static str> {
        let is_dual = self == Self::DualPipe && stages > 1;
        match () {
            () if stages > 1 && chunks > 1 && !self.interleaves() => Some("one chunk per stage"),
            () if is_dual && !stages.is_multiple_of(2) => Some("an even number of stages (pp)"),
            () if is_dual && !micro_batches.is_multiple_of(2) => Some("an even number of micro-batches"),
            () if is_dual && micro_batches < 2 * u64::from(stages) => Some("at least two micro-batches per stage"),
            () => None,
        }
    }
}

/// A step whose time is asked for.
#[derive(Clone, Debug)]
pub struct StepQuestion<'a> {
    /// The model, layer by layer.
    pub model: &'a Transformer,
    /// The GPU, with its peaks and the efficiency of its kernels.
    pub device: &'a Device,
    /// The degrees by which the model is split and repeated.
    pub degrees: Degrees,
    /// Chunks of layers per stage.
    pub virtual_stages: u32,
    /// The order in which a stage computes forward and backward passes.
    pub schedule: Schedule,
    /// Tokens of a sequence, of all ranks that share it.
    pub sequence: u32,
    /// Sequences of a step over all replicas.
    pub global_batch: u64,
    /// Sequences that a replica computes at once: `b`, at least 1.
    pub micro_batch: u32,
    /// The type of the factors of a product; results are in 16 bits.
    pub precision: Precision,
    /// The training program, whose fusion, overlap and defaults the times depend on.
    pub stack: Stack,
    /// The kernel that computes attention.
    pub attention: AttentionKernel,
    /// What the backward pass computes again, to keep fewer activations.
    pub recomputation: Recomputation,
    /// What each replica holds only a share of.
    pub sharding: Sharding,
    /// Whether norms and residuals are spread over the ranks of a tensor group.
    pub is_sequence_parallel: bool,
    /// Whether gradients are reduced beside the backward pass.
    pub overlaps_reduce: bool,
    /// Whether parameters are gathered beside the forward pass.
    pub overlaps_gather: bool,
    /// Bytes of a gradient in memory and where it is exchanged; `None` as the software usually does.
    pub gradient_bytes: Option<u32>,
}

/// Why a step is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The GPU can't do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A degree does not divide what it splits.
    #[error("{degree} = {value} does not divide {what} ({of}); {nearest} does")]
    DoesNotDivide {
        /// The degree's name as an option has it, such as `tp`.
        degree: &'static str,
        /// The value of the degree that was asked for.
        value: u64,
        /// What it splits, in words, such as `the attention heads`.
        what: &'static str,
        /// The number of parts that can be split.
        of: u64,
        /// The nearest degree that divides it.
        nearest: u64,
    },
    /// What is chosen besides the layout is no multiple of what the layout needs.
    #[error("{what} is {of}, no multiple of {degree} ({value}); {} would do", multiples(*of, *value))]
    NoMultiple {
        /// What has to be a multiple, in words, such as `the global batch`.
        what: &'static str,
        /// The value of what has to be a multiple.
        of: u64,
        /// What it has to be a multiple of, in words.
        degree: &'static str,
        /// The number that it has to be a multiple of, above 0.
        value: u64,
    },
    /// The schedule has no place for these stages, chunks or micro-batches.
    #[error("the schedule {schedule} needs {needs}; here pp is {stages}, with {micro_batches} micro-batches")]
    Schedule {
        /// The name of the schedule.
        schedule: &'static str,
        /// What it needs, in words.
        needs: &'static str,
        /// Stages of the pipeline (`pp`) that were asked for.
        stages: u32,
        /// Micro-batches of a replica in a step.
        micro_batches: u64,
    },
    /// The software can't do it.
    #[error("{stack} {lacks}")]
    Software {
        /// The name of the software, as an option has it.
        stack: &'static str,
        /// What it lacks, in words, with what it has instead.
        lacks: &'static str,
    },
    /// There are more parts than what is split.
    #[error("{degree} = {value} is more than {what} ({of})")]
    TooMany {
        /// The degree's name as an option has it, such as `tp`.
        degree: &'static str,
        /// The value of the degree that was asked for.
        value: u64,
        /// What it splits, in words, such as `the attention heads`.
        what: &'static str,
        /// The number of parts that can be split.
        of: u64,
    },
}

/// The columns of a step: what factors of the software multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepColumns {
    /// Times in µs on the busiest stage over the whole step, waiting included.
    pub times: Times,
    /// Forward passes of a layer that the host launches one after the other: a backward pass counts twice.
    pub launches: f64,
    /// The same times the experts of a layer on a rank.
    pub expert_launches: f64,
    /// Of the times, what stages wait for each other.
    pub bubble: Times,
    /// Of the times, what is computed again.
    pub recomputed: Times,
    /// Of the times, what the step ends with: the optimizer.
    pub optimizer_us: f64,
    /// Of the times, exchanges of gradients and parameters.
    pub data_exchange: Times,
    /// Of the times, messages between stages.
    pub messages: Times,
}

/// What all layers of a model take on one rank, in µs and for one micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepKernels {
    /// Times of the forward pass, in µs.
    pub forward: Times,
    /// Backward, without what is computed again.
    pub backward: Times,
    /// The products forward, whose half [`Recomputation::Operators`] computes again.
    products: f64,
    /// Experts on the rank, summed over the layers.
    local_experts: f64,
    /// The output layer and the embedding, forward and backward.
    ends: [f64; 2],
    /// What goes to experts and back in one direction: a part of both passes.
    to_experts: Times,
}

impl StepKernels {
    /// What is computed again in the backward pass. Where attention is not fused, its scores are kept by nothing but
    /// [`Recomputation::Nothing`].
    fn again(&self, recomputation: Recomputation, attention: AttentionKernel) -> Times {
        match recomputation {
            Recomputation::Nothing => Times::default(),
            Recomputation::Attention => Times { attention: self.forward.attention, ..Times::default() },
            Recomputation::Operators => {
                let keeps_scores = attention != AttentionKernel::Unfused;
                Times {
                    compute: self.forward.compute - self.products / 2.0,
                    attention: if keeps_scores { 0.0 } else { self.forward.attention },
                    ..Times::default()
                }
            }
            Recomputation::Layers => self.forward,
        }
    }
}

/// Of an exchange that is hidden: what the kernels beside it lose by it.
const LOST_BESIDE: f64 = 0.05;

const KV_HEADS: &str = "the heads of keys and values";

fn divides(degree: &'static str, value: u64, what: &'static str, of: u64) -> Result<(), LayoutError> {
    if value == 0 || !of.is_multiple_of(value) {
        let nearest = (1..=of.min(1 << 16)).filter(|n| of.is_multiple_of(*n)).min_by_key(|n| n.abs_diff(value));
        return Err(LayoutError::DoesNotDivide { degree, value, what, of, nearest: nearest.unwrap_or(1) });
    }
    Ok(())
}

/// The multiples of a value next to a number, which is none.
fn multiples(of: u64, value: u64) -> String {
    let below = of / value.max(1) * value;
    let above = below.saturating_add(value);
    if below > 0 { format!("{below} or {above}") } else { above.to_string() }
}

fn is_multiple(what: &'static str, of: u64, degree: &'static str, value: u64) -> Result<(), LayoutError> {
    let divides = value > 0 && of.is_multiple_of(value);
    if divides { Ok(()) } else { Err(LayoutError::NoMultiple { what, of, degree, value }) }
}

impl StepQuestion<'_> {
    /// Micro-batches of a replica in a step.
    pub fn micro_batches(&self) -> u64 {
        self.global_batch / (u64::from(self.degrees.data) * u64::from(self.micro_batch)).max(1)
    }

    /// Whether the layout is possible.
    ///
    /// # Errors
    /// Returns the first rule that it breaks, with the nearest value that would do.
    pub fn check(&self) -> Result<(), LayoutError> {
        let Degrees { tensor, pipeline, context, expert, data, .. } = self.degrees;
        self.device.check(self.precision)?;
        for (layer, _) in &self.model.layers {
            let (heads, ..) = layer.attention.heads();
            divides("tp", tensor.into(), "the attention heads", heads.into())?;
            let (_, kv_heads, _) = layer.attention.heads();
            if !(self.stack.copies_kv_heads() && tensor.is_multiple_of(kv_heads.max(1))) {
                divides("tp", tensor.into(), KV_HEADS, kv_heads.into())?;
            }
            if let FeedForward::Dense { width, .. } = layer.feed_forward {
                divides("tp", tensor.into(), "the width of the feed-forward part", width.into())?;
            }
            if let Some((experts, _)) = layer.feed_forward.experts() {
                divides("ep", expert.into(), "the experts", experts.into())?;
            }
        }
        divides("cp", context.into(), "the sequence", self.sequence.into())?;
        if context > 1 {
            // Each rank has an early and a late part, so that all attend to as many tokens.
            is_multiple("the sequence", self.sequence.into(), "2 × cp", 2 * u64::from(context))?;
        }
        if self.is_sequence_parallel {
            let tokens = u64::from(self.sequence / context.max(1));
            is_multiple("the tokens of a rank (sequence ÷ cp)", tokens, "tp", tensor.into())?;
        } else if self.stack == Stack::MegatronCore && tensor > 1 && self.model.has_experts() {
            let lacks = "trains experts beside tp with sequence parallelism only: turn it on, or tp is 1 there";
            return Err(LayoutError::Software { stack: self.stack.name(), lacks });
        }
        self.check_sequence()?;
        if let Some(lacks) = self.stack.lacks(pipeline, self.virtual_stages, context) {
            return Err(LayoutError::Software { stack: self.stack.name(), lacks });
        }
        let batch = u64::from(data) * u64::from(self.micro_batch);
        is_multiple("the global batch", self.global_batch, "dp × the micro-batch", batch)?;
        let parts = u64::from(pipeline) * u64::from(self.virtual_stages.max(1));
        if parts > self.model.depth().into() {
            let (value, of) = (parts, self.model.depth().into());
            return Err(LayoutError::TooMany { degree: "pp × virtual stages", value, what: "the layers", of });
        }
        let micro_batches = self.micro_batches();
        let is_interleaved = pipeline > 1 && self.virtual_stages > 1;
        if is_interleaved {
            // Micro-batches pass in groups of as many as there are stages.
            is_multiple("the number of interleaved micro-batches", micro_batches, "pp", pipeline.into())?;
        }
        // Software that can't lay out stages one by one wants equal ones.
        if is_interleaved && !self.stack.has_uneven_chunks() || pipeline > 1 && self.stack == Stack::MegatronLm {
            divides("pp × virtual stages", parts, "the layers", self.model.depth().into())?;
        }
        if let Some(needs) = self.schedule.refuses(pipeline, micro_batches, self.virtual_stages) {
            let schedule = self.schedule.name();
            return Err(LayoutError::Schedule { schedule, needs, stages: pipeline, micro_batches });
        }
        if !self.model.has_experts() && expert > 1 {
            let value = expert.into();
            return Err(LayoutError::TooMany { degree: "ep", value, what: "the experts of a dense model", of: 1 });
        }
        self.check_sharers()
    }

    /// Whether the model has positions for the sequence.
    ///
    /// # Errors
    /// Returns [`LayoutError::TooMany`] if it has fewer, learned ones.
    pub(super) fn check_sequence(&self) -> Result<(), LayoutError> {
        let positions = self.model.positions;
        if positions > 0 && self.sequence > positions {
            let (value, of) = (self.sequence.into(), positions.into());
            return Err(LayoutError::TooMany { degree: "sequence", value, what: "the learned positions", of });
        }
        Ok(())
    }

    /// Whether each rank of a tensor group has heads of keys and values of its own. Where it has not, some versions of
    /// the software refuse the layout, and others gather the heads in each layer.
    ///
    /// # Errors
    /// Returns an error with the nearest degree that divides them.
    pub(super) fn check_kv_heads(&self) -> Result<(), LayoutError> {
        for (layer, _) in &self.model.layers {
            let (_, kv_heads, _) = layer.attention.heads();
            divides("tp", self.degrees.tensor.into(), KV_HEADS, kv_heads.into())?;
        }
        Ok(())
    }

    /// The part of [`Self::check`] that depends on what is sharded among whom.
    pub(super) fn check_sharers(&self) -> Result<(), LayoutError> {
        let Degrees { tensor, pipeline, context, expert, data, .. } = self.degrees;
        if let Some(lacks) = self.stack.lacks_sharing(self.sharding, pipeline) {
            return Err(LayoutError::Software { stack: self.stack.name(), lacks });
        }
        let groups = self.shard_groups();
        divides("dp-replicate", groups.into(), "the replicas (dp)", data.into())?;
        let of = u64::from(data / groups) * u64::from(context) * u64::from(tensor);
        let what = match groups {
            1 => "the ranks of a stage (tp × cp × dp)",
            _ => "the ranks that share everything (tp × cp × dp ÷ dp-replicate)",
        };
        divides("ep", expert.into(), what, of)
    }

    fn place(&self) -> LayerPlace<'_> {
        LayerPlace {
            device: self.device,
            stack: self.stack,
            attention: self.attention,
            precision: self.precision,
            hidden: self.model.hidden.into(),
            batch: self.micro_batch.into(),
            sequence: self.sequence.into(),
            tensor: self.degrees.tensor.into(),
            context: self.degrees.context.into(),
            expert: self.degrees.expert.into(),
            is_sequence_parallel: self.is_sequence_parallel,
            is_rms: self.model.norm == Norm::Rms,
        }
    }

    /// Whether what is shared is gathered and reduced layer by layer, in each pass of a micro-batch.
    pub(super) fn is_by_layer(&self) -> bool {
        self.sharding == Sharding::Parameters || self.sharding == Sharding::Gradients && self.stack.is_fsdp()
    }

    /// Whether parameters that were gathered layer by layer stay so for the backward pass. With stages, TorchTitan
    /// keeps them over all micro-batches.
    pub(super) fn stays_gathered(&self) -> bool {
        self.is_by_layer() && (self.sharding == Sharding::Gradients || self.degrees.pipeline > 1)
    }

    /// Groups of replicas, each with a whole copy; 1 where nothing is sharded, and gradients are summed over all.
    fn shard_groups(&self) -> u32 {
        if self.sharding == Sharding::Nothing { 1 } else { self.degrees.replicate.max(1) }
    }

    /// The ranks of a group between which `between` others lie.
    fn group(&self, ranks: u32, between: u32) -> Group {
        Group::of(ranks, between, self.device.linked_gpus, self.degrees.gpus())
    }

    /// The ranks that share everything but experts: replicas and parts of sequences, of one of [`Self::shard_groups`].
    pub(super) fn sharers(&self) -> Group {
        let Degrees { tensor, context, data, .. } = self.degrees;
        self.group((data / self.shard_groups()).saturating_mul(context), tensor)
    }

    /// The ranks that share the same experts. Experts are not cut, so that the ranks of a tensor group have other ones
    /// each, as in Megatron with `--expert-tensor-parallel-size 1`.
    pub(super) fn expert_sharers(&self) -> Group {
        self.expert_replicas(self.degrees.data / self.shard_groups())
    }

    /// The ranks of some replicas with the same experts.
    fn expert_replicas(&self, data: u32) -> Group {
        let Degrees { tensor, context, expert, .. } = self.degrees;
        let (ranks, expert) = (data.saturating_mul(context).saturating_mul(tensor), expert.max(1));
        self.group(ranks / expert, expert)
    }

    /// The ranks that hold the same share of what is sharded, one of each of [`Self::shard_groups`].
    fn owners(&self) -> Group {
        let Degrees { tensor, context, data, .. } = self.degrees;
        let groups = self.shard_groups();
        let between = (data / groups).saturating_mul(context).saturating_mul(tensor);
        self.group(groups, between)
    }

    /// The sums of the ranks that split a matrix: two in each direction of a layer.
    fn tensor_exchange(&self) -> Exchange {
        let group = self.group(self.degrees.tensor, 1);
        Exchange { of: ExchangeUse::Tensor, operation: Operation::AllReduce, group, bytes: self.row_bytes() }
    }

    /// Keys and values that go around the ranks of a sequence: once forward, twice backward.
    fn sequence_exchange(&self, layer: &Layer) -> Exchange {
        let Degrees { tensor, context, .. } = self.degrees;
        let (_, kv_heads, width) = layer.attention.heads();
        let place = self.place();
        let bytes = 4.0 * place.tokens() * (f64::from(kv_heads) / place.tensor).ceil() * width;
        let group = self.group(context, tensor);
        Exchange { of: ExchangeUse::Sequence, operation: Operation::Around, group, bytes }
    }

    /// Tokens to experts, and back: two in each direction of a layer with experts.
    fn expert_exchange(&self, layer: &Layer) -> Option<Exchange> {
        let (_, top_k) = layer.feed_forward.experts()?;
        let group = self.group(self.degrees.expert, 1);
        let bytes = self.row_bytes() / f64::from(self.degrees.tensor);
        let operation = Operation::ToExperts { copies: top_k.into() };
        Some(Exchange { of: ExchangeUse::Experts, operation, group, bytes })
    }

    /// The time of a layer's tokens to its experts and back.
    fn to_experts(&self, layer: &Layer) -> Times {
        let of = |exchange| self.device.exchange_times(&exchange).times(2.0);
        self.expert_exchange(layer).map_or_else(Times::default, of)
    }

    /// Bytes of the activations of a micro-batch between two layers.
    fn row_bytes(&self) -> f64 {
        let place = self.place();
        2.0 * place.tokens() * place.hidden
    }

    /// Exchanges of a layer that nothing hides, forward and backward.
    fn layer_exchange(&self, layer: &Layer, times: &LayerTimes) -> [Times; 2] {
        let around = self.device.exchange_times(&self.sequence_exchange(layer));
        let summed = self.device.exchange_times(&self.tensor_exchange()).times(2.0);
        let shown = summed.plus(self.to_experts(layer));
        [(1.0, times.forward), (2.0, times.backward)].map(|(often, beside)| {
            let us = (often * around.total() - beside.attention).max(0.0);
            shown.plus(around.scaled_to(us))
        })
    }

    /// The output layer with its loss, and the embedding, forward and backward.
    fn ends(&self) -> [f64; 2] {
        let place = self.place();
        let (tokens, hidden) = (place.tokens(), place.hidden);
        let columns = f64::from(self.model.vocabulary) / place.tensor;
        let product = |shape| self.device.product_us(shape, Precision::Bf16);
        let [loss, loss_back] = if self.stack.is_fused() { [10.0, 6.0] } else { [35.6, 11.6] };
        let pass = |bytes: f64| self.device.pass_us(bytes, FUSED_SHARE);
        let logits = tokens * columns;
        let forward = product([tokens, hidden, columns]) + pass(loss * logits) + pass(4.0 * tokens * hidden);
        let backward = product([tokens, columns, hidden])
            + product([hidden, tokens, columns])
            + pass(loss_back * logits)
            + pass(4.0 * tokens * hidden);
        let predictions = f64::from(self.model.prediction_layers);
        let projection = self.model.projection();
        let (inner, outer) = (f64::from(projection.inner), f64::from(projection.outer) / place.tensor);
        let joined = product([tokens, inner, outer]);
        let joined_back = product([tokens, outer, inner]) + product([inner, tokens, outer]);
        [forward + predictions * (forward + joined), backward + predictions * (backward + joined_back)]
    }

    /// The time of a micro-batch on the longest stage, of the times of a layer and of what the last stage has beside
    /// its layers. Layers are spread evenly; those of multi-token prediction are on the last stage, which then has as
    /// many others as make the longest stage shortest (as with Megatron's `--pipeline-model-parallel-layout`).
    fn longest_stage(&self, layer_us: f64, end_us: f64) -> f64 {
        let (layers, stages) = (self.model.depth(), self.degrees.pipeline.max(1));
        if stages == 1 {
            return layer_us * f64::from(layers) + end_us;
        }
        let evenly = layers / stages;
        let least = if self.model.prediction_layers > 0 { self.model.prediction_layers.min(evenly) } else { evenly };
        let longest = |last: u32| {
            let others = (layers - last).div_ceil(stages - 1);
            (layer_us * f64::from(others)).max(layer_us * f64::from(last) + end_us)
        };
        (least..=evenly).map(longest).fold(f64::INFINITY, f64::min)
    }

    /// Parameters of a rank of the first or the last stage, without experts and of experts.
    pub(super) fn rank_parameters(&self, is_first: bool) -> [f64; 2] {
        let Degrees { tensor, pipeline, expert, .. } = self.degrees;
        // The longest stage has whole layers.
        let tensor = f64::from(tensor);
        let stages = f64::from(self.model.depth().max(1)) / self.layers_of_stage();
        let mut all = [0.0; 2];
        for (layer, count) in &self.model.layers {
            let [own, experts] = layer.parameters(self.model.hidden, self.model.norm);
            all[0] += f64::from(*count) * own as f64;
            all[1] += f64::from(*count) * experts as f64;
        }
        all[0] += self.model.projection_parameters() as f64;
        let [first, last] = self.model.ends().map(|parameters| parameters as f64);
        let ends = match (pipeline, self.model.prediction_layers) {
            (1, _) => first + last,
            (_, 0) => first.max(last),
            _ if is_first => first,
            // With multi-token prediction the last stage has a copy of the embedding.
            _ => first + last,
        };
        [all[0] / tensor / stages + ends / tensor, all[1] / f64::from(expert.max(1)) / stages]
    }

    /// What all layers and the ends take on one rank: it does not depend on stages, on what is computed again or on
    /// what replicas share.
    pub fn kernels(&self) -> StepKernels {
        let place = self.place();
        let mut kernels = StepKernels { ends: self.ends(), ..StepKernels::default() };
        for (layer, count) in &self.model.layers {
            let count = f64::from(*count);
            let times = layer_times(&place, layer).times(self.device.changes.operators);
            let [sent, sent_back] = self.layer_exchange(layer, &times);
            kernels.forward = kernels.forward.plus(times.forward.plus(sent).times(count));
            kernels.backward = kernels.backward.plus(times.backward.plus(sent_back).times(count));
            kernels.to_experts = kernels.to_experts.plus(self.to_experts(layer).times(count));
            kernels.products += times.products * count;
            if let Some((experts, _)) = layer.feed_forward.experts() {
                kernels.local_experts += count * f64::from(experts) / f64::from(self.degrees.expert.max(1));
            }
        }
        kernels
    }

    /// What computing hides of the exchanges with experts, in one direction.
    fn hidden_to_experts(&self, kernels: &StepKernels) -> Times {
        if self.schedule != Schedule::DualPipe || self.degrees.pipeline == 1 {
            return Times::default();
        }
        let computes = |times: &Times| times.compute + times.attention + times.experts + times.sorting;
        let beside_us = (computes(&kernels.forward) + computes(&kernels.backward)) / 2.0;
        let hidden_us = kernels.to_experts.total().min(beside_us);
        kernels.to_experts.scaled_to((1.0 - LOST_BESIDE) * hidden_us)
    }

    /// The columns of the step.
    pub fn columns(&self) -> StepColumns {
        self.columns_of(&self.kernels())
    }

    /// The columns of the step, of kernels that were computed for the same tensor, context and expert degrees and the
    /// same micro-batch.
    pub fn columns_of(&self, kernels: &StepKernels) -> StepColumns {
        let pipeline = self.degrees.pipeline;
        let depth = f64::from(self.model.depth().max(1));
        let stages = f64::from(pipeline);
        let micro_batches = self.micro_batches().max(1) as f64;
        let chunks = if pipeline > 1 { f64::from(self.virtual_stages.max(1)) } else { 1.0 };
        let hidden = self.hidden_to_experts(kernels);
        let forward = kernels.forward.minus(hidden);
        let backward = kernels.backward.plus(kernels.again(self.recomputation, self.attention)).minus(hidden);
        let of_stage = forward.plus(backward).times(1.0 / stages);
        let [end, end_back] = kernels.ends;
        // The last stage has the output layer; the first ones have the layers that don't divide evenly.
        let longest = self.longest_stage((forward.total() + backward.total()) / depth, end + end_back);
        let beyond = Times { compute: (longest - of_stage.total()).max(0.0), ..Times::default() };
        let steady = of_stage.plus(beyond).times(micro_batches);
        let [f, whole_backward] = [forward.total() / stages, backward.total() / stages];
        // The gradient of a weight takes as long as the forward pass.
        let weights = f.min(whole_backward / 2.0);
        // Of chunks of different length the longest counts, which may be more than it takes.
        let of_chunk = depth / stages / chunks;
        let equal_chunks = if chunks > 1.0 { chunks * of_chunk / of_chunk.ceil() } else { 1.0 };
        let waits = self.schedule.bubble([stages, micro_batches], [f, whole_backward - weights, weights], equal_chunks);
        let bubble = of_stage.times(if of_stage.total() > 0.0 { waits / of_stage.total() } else { 0.0 });
        let mut times = steady.plus(bubble);
        let sent = 2.0 * chunks * (micro_batches + stages - 1.0);
        let messages = self.device.exchange_times(&self.message()).times(if pipeline > 1 { sent } else { 0.0 });
        let data_exchange = self.data_exchange(&forward, &backward, micro_batches);
        let optimizer_us = self.optimizer();
        times = times.plus(messages).plus(data_exchange);
        times.compute += optimizer_us;
        let passes = 3.0
            + match self.recomputation {
                Recomputation::Layers => 1.0,
                Recomputation::Operators => 0.5,
                Recomputation::Attention | Recomputation::Nothing => 0.0,
            };
        let launched = (micro_batches + (stages - 1.0) / chunks) / stages * passes;
        StepColumns {
            times,
            launches: launched * depth,
            expert_launches: launched * kernels.local_experts,
            bubble,
            recomputed: kernels.again(self.recomputation, self.attention).times(micro_batches / stages),
            optimizer_us,
            data_exchange,
            messages,
        }
    }

    /// Activations of a stage for the next one.
    fn message(&self) -> Exchange {
        let place = self.place();
        let spread = if self.is_sequence_parallel || self.degrees.tensor > 1 { place.tensor } else { 1.0 };
        // As most boundaries are. With the slowest of all, published steps of sources that were left out are off by up
        // to 66 % instead of 21 %.
        let stage_gpus = self.degrees.gpus() / u64::from(self.degrees.pipeline.max(1));
        let group = Group::pair(stage_gpus.saturating_mul(2) <= self.device.linked_gpus.into());
        let bytes = self.row_bytes() / spread;
        Exchange { of: ExchangeUse::Messages, operation: Operation::Message, group, bytes }
    }

    /// What replicas exchange in a step, or by layer where they share the parameters: gradients, their sum over the
    /// groups with a whole copy each, and parameters, without experts; then those of experts. Without a byte where that
    /// is not exchanged.
    fn replica_exchanges(&self) -> [Exchange; 6] {
        let [parameters, of_experts] = self.rank_parameters(false);
        let is_by_layer = self.is_by_layer();
        let parts = if is_by_layer { self.layers_of_stage() } else { 1.0 };
        let of = |of, operation, group, bytes: f64| Exchange { of, operation, group, bytes: bytes / parts };
        let gradient_bytes = self.gradient_bytes();
        let operation = |is_spread| if is_spread { Operation::Gather } else { Operation::AllReduce };
        let gathered = |is_spread| if is_spread { 2.0 } else { 0.0 };
        let is_spread = self.sharding != Sharding::Nothing;
        let (own, owners) = (self.sharers(), self.owners());
        // Gradients of experts go to all replicas at once, unless parameters are shared.
        let experts = if is_by_layer { self.expert_sharers() } else { self.expert_replicas(self.degrees.data) };
        let of_owner =
            |bytes: f64, sharers: Group| if owners.ranks > 1 { bytes / f64::from(sharers.ranks) } else { 0.0 };
        let [gradients, of_expert_gradients] = [parameters, of_experts].map(|count| gradient_bytes * count);
        let owned_experts = if is_by_layer { of_owner(of_expert_gradients, experts) } else { 0.0 };
        [
            of(ExchangeUse::Gradients, operation(is_spread), own, gradients),
            of(ExchangeUse::Gradients, Operation::AllReduce, owners, of_owner(gradients, own)),
            of(ExchangeUse::Parameters, Operation::Gather, own, gathered(is_spread) * parameters),
            of(ExchangeUse::Gradients, operation(is_spread), experts, of_expert_gradients),
            of(ExchangeUse::Gradients, Operation::AllReduce, owners, owned_experts),
            of(ExchangeUse::Parameters, Operation::Gather, experts, gathered(is_spread) * of_experts),
        ]
    }

    /// Bytes of a gradient in memory and where it is exchanged: as asked for, or as the software usually has it.
    pub(super) fn gradient_bytes(&self) -> f64 {
        self.gradient_bytes.map_or(self.stack.gradient_bytes(), f64::from)
    }

    /// Layers of the longest stage.
    pub(super) fn layers_of_stage(&self) -> f64 {
        (f64::from(self.model.depth().max(1)) / f64::from(self.degrees.pipeline)).ceil()
    }

    /// How often gradients are reduced in a step that are not exchanged by layer: shares of them have no room for the
    /// sum over micro-batches, so that each is reduced (`DeepSpeedEngine.allreduce_gradients`). With stages the
    /// schedule adds them up before.
    fn reductions(&self, micro_batches: f64) -> f64 {
        let each = self.sharding == Sharding::Gradients && self.degrees.pipeline == 1;
        if each { micro_batches } else { 1.0 }
    }

    /// Exchanges of gradients and parameters that computing does not hide.
    fn data_exchange(&self, forward: &Times, backward: &Times, micro_batches: f64) -> Times {
        let [scatter, sum, gather, scatter_experts, sum_experts, gather_experts] =
            self.replica_exchanges().map(|exchange| self.device.exchange_times(&exchange));
        let (reduce, reduce_experts) = (scatter.plus(sum), scatter_experts.plus(sum_experts));
        let beyond = |all: Times, beside_us: f64, lost: f64| {
            let shown_us = (all.total() - beside_us).max(0.0);
            // While an exchange is hidden, the kernels beside it have fewer multiprocessors.
            let lost_us = match self.device.share_of_channels() {
                Some(share) => share * (all.total() - shown_us),
                None => lost * all.total(),
            };
            all.scaled_to(shown_us + lost_us)
        };
        let pipeline = self.degrees.pipeline;
        if self.is_by_layer() {
            // Unit by unit: the gather of the next layer beside this one.
            let depth = f64::from(self.model.depth().max(1));
            let [again, again_experts] =
                if self.stays_gathered() { [Times::default(); 2] } else { [gather, gather_experts] };
            let (back, back_experts) = (again.plus(reduce), again_experts.plus(reduce_experts));
            let shown = beyond(gather, (forward.compute + forward.attention) / depth, 0.0)
                .plus(beyond(back, (backward.compute + backward.attention) / depth, 0.0))
                .plus(beyond(gather_experts, (forward.experts + forward.sorting) / depth, 0.0))
                .plus(beyond(back_experts, (backward.experts + backward.sorting) / depth, 0.0));
            let once = shown.times(self.layers_of_stage()).plus(gather).plus(back);
            return once.times(if pipeline == 1 { micro_batches } else { 1.0 });
        }
        // Beside the first and the last micro-batch; a share of the bandwidth and of the multiprocessors is lost.
        let beside = (forward.total() + backward.total()) / f64::from(pipeline) * 0.7;
        let shown =
            |all: Times, beside: f64, overlaps: bool| if overlaps { beyond(all, beside, LOST_BESIDE) } else { all };
        let reduced = [reduce, reduce_experts].map(|all| shown(all, beside, self.overlaps_reduce));
        let gathered = [gather, gather_experts].map(|all| shown(all, beside / 2.0, self.overlaps_gather));
        let reductions = self.reductions(micro_batches);
        reduced[0].plus(reduced[1]).times(reductions).plus(gathered[0]).plus(gathered[1])
    }

    /// What ranks exchange, with the number of times that a rank of the busiest stage does so in a step: what is
    /// recomputed counts.
    pub fn exchanges(&self) -> Vec<(Exchange, f64)> {
        let micro_batches = self.micro_batches().max(1) as f64;
        let directions = if self.recomputation == Recomputation::Layers { 3.0 } else { 2.0 };
        let passes = self.layers_of_stage() * micro_batches;
        let mut found = vec![(self.tensor_exchange(), 2.0 * directions * passes)];
        for (layer, count) in &self.model.layers {
            let share = f64::from(*count) / f64::from(self.model.depth().max(1));
            let of_layers = (passes * share).ceil();
            found.push((self.sequence_exchange(layer), (directions + 1.0) * of_layers));
            found.extend(self.expert_exchange(layer).map(|exchange| (exchange, 2.0 * directions * of_layers)));
        }
        if self.degrees.pipeline > 1 {
            found.push((self.message(), 2.0 * f64::from(self.virtual_stages.max(1)) * micro_batches));
        }
        let is_by_layer = self.is_by_layer();
        let once = if is_by_layer { self.layers_of_stage() } else { 1.0 };
        let repeats = |of| match of {
            _ if is_by_layer && self.degrees.pipeline == 1 => micro_batches,
            ExchangeUse::Gradients if !is_by_layer => self.reductions(micro_batches),
            _ => 1.0,
        };
        found.extend(self.replica_exchanges().map(|exchange| {
            let is_again = is_by_layer && exchange.of == ExchangeUse::Parameters && !self.stays_gathered();
            let gathers = if is_again { 2.0 } else { 1.0 };
            (exchange, once * repeats(exchange.of) * gathers)
        }));
        found.retain(|(exchange, _)| exchange.group.ranks > 1 && exchange.bytes > 0.0);
        let mut all: Vec<(Exchange, f64)> = Vec::new();
        for (exchange, times) in found {
            match all.iter_mut().find(|(known, _)| *known == exchange) {
                Some((_, sum)) => *sum += times,
                None => all.push((exchange, times)),
            }
        }
        all
    }

    /// The optimizer: reads and writes 36 to 45 bytes per parameter, as sampled.
    fn optimizer(&self) -> f64 {
        let [parameters, of_experts] = self.rank_parameters(false);
        let share = |among: Group| if self.sharding == Sharding::Nothing { 1.0 } else { 1.0 / f64::from(among.ranks) };
        let bytes = if self.stack.is_fused() { 36.0 } else { 45.0 };
        let own = parameters * share(self.sharers()) + of_experts * share(self.expert_sharers());
        self.device.pass_us(bytes * own, FUSED_SHARE)
    }
}
