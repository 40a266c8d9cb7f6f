//! One layer on one rank: the times of its kernels in both directions, before the factors of the software.

use super::{
    device::{AttentionShape, Device, Precision},
    efficiency::AttentionKernel,
    stack::Stack,
};
use crate::training_time::models::{FeedForward, Layer};

/// Times in µs of what the software slows down by different factors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Products and element-wise operators.
    pub compute: f64,
    /// The core of attention.
    pub attention: f64,
    /// Exchanges that nothing hides, by the bandwidth of links.
    pub exchange: f64,
    /// The same of exchanges that were measured.
    pub measured: f64,
    /// Products of experts.
    pub experts: f64,
    /// What sorts tokens for experts, and puts them back into their order.
    pub sorting: f64,
}

impl Times {
    /// The sum of both, part by part.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            compute: self.compute + other.compute,
            attention: self.attention + other.attention,
            exchange: self.exchange + other.exchange,
            measured: self.measured + other.measured,
            experts: self.experts + other.experts,
            sorting: self.sorting + other.sorting,
        }
    }

    /// All times so many times.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            compute: self.compute * factor,
            attention: self.attention * factor,
            exchange: self.exchange * factor,
            measured: self.measured * factor,
            experts: self.experts * factor,
            sorting: self.sorting * factor,
        }
    }

    /// The difference, part by part.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.times(-1.0))
    }

    /// Kernels that are not attention, attention, and exchanges: what a trace tells apart.
    pub const fn parts(self) -> [f64; 3] {
        [self.compute + self.experts + self.sorting, self.attention, self.exchange + self.measured]
    }

    /// The sum of all parts.
    pub fn total(&self) -> f64 {
        self.compute + self.attention + self.exchange + self.measured + self.experts + self.sorting
    }

    /// The same parts in this sum; nothing where there is none.
    #[must_use]
    pub fn scaled_to(self, sum: f64) -> Self {
        let whole = self.total();
        if whole > 0.0 { self.times(sum / whole) } else { Self::default() }
    }
}

/// Where and how a layer is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerPlace<'a> {
    pub(super) device: &'a Device,
    pub(super) stack: Stack,
    pub(super) attention: AttentionKernel,
    pub(super) precision: Precision,
    pub(super) hidden: f64,
    /// Sequences of a micro-batch, and tokens of a sequence.
    pub(super) batch: f64,
    pub(super) sequence: f64,
    pub(super) tensor: f64,
    pub(super) context: f64,
    pub(super) expert: f64,
    pub(super) is_sequence_parallel: bool,
    pub(super) is_rms: bool,
}

/// A layer forward and backward, without what is computed again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LayerTimes {
    pub(super) forward: Times,
    pub(super) backward: Times,
    /// Of the forward pass, the products outside of experts.
    pub(super) products: f64,
}

impl LayerTimes {
    /// All times so many times.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            forward: self.forward.times(factor),
            backward: self.backward.times(factor),
            products: self.products * factor,
        }
    }
}

/// Shares of the memory's bandwidth: of fused passes, of passes that quantise, and of passes over scores.
pub(super) const FUSED_SHARE: f64 = 0.85;
const QUANTISE_SHARE: f64 = 0.8;
const SCORES_SHARE: f64 = 0.9;

/// Backward over forward of fused attention: FlashAttention 2 on A100, as sampled.
const ATTENTION_BACKWARD: f64 = 3.1;

/// What a layer takes on a rank, without exchanges.
pub(super) fn layer_times(place: &LayerPlace<'_>, layer: &Layer) -> LayerTimes {
    let mut kernels = Kernels { place, times: LayerTimes::default() };
    let tokens = place.tokens();
    let spread = if place.is_sequence_parallel { place.tensor } else { 1.0 };
    let (heads, kv_heads, width) = layer.attention.heads();
    let heads = (f64::from(heads) / place.tensor).ceil();
    let kv_heads = (f64::from(kv_heads) / place.tensor).ceil();
    for matrix in layer.attention.matrices(place.hidden as u32) {
        let (inner, outer) = (f64::from(matrix.inner), f64::from(matrix.outer));
        // Split by columns, the output by rows; narrow vectors are on every rank.
        let (inner, outer) = match matrix.name {
            "output" => (inner / place.tensor, outer),
            "query down" | "kv down" => (inner, outer),
            _ => (inner, outer / place.tensor),
        };
        kernels.product(tokens, inner, outer);
    }
    kernels.attention(AttentionShape {
        batch: place.batch,
        sequence: place.sequence,
        heads,
        kv_heads,
        width,
        window: layer.attention.window().map(f64::from),
    });
    // Two norms and two residuals; rotary positions of queries and keys.
    let row = 2.0 * tokens / spread * place.hidden;
    let [norm, norm_back, residual, residual_back] =
        if place.stack.is_fused() { [2.0, 3.0, 3.0, 3.0] } else { UNFUSED_NORM };
    kernels.pass(row, 2.0 * norm, 2.0 * norm_back);
    kernels.pass(row, 2.0 * residual, 2.0 * residual_back);
    if place.is_rms {
        kernels.pass(2.0 * tokens * width * (heads + kv_heads), 2.0, 2.0);
    }
    if place.stack.drops_out() {
        kernels.pass(row, 5.0, 5.0);
    }
    kernels.feed_forward(&layer.feed_forward, tokens);
    kernels.times
}

/// Passes over a token of norms and residuals, forward and backward, where each operator is a kernel: as sampled on
/// A100 and GH200 (layer norm 3.8 and 3.5 forward, 12 and 5.4 backward).
const UNFUSED_NORM: [f64; 4] = [3.7, 8.7, 3.5, 3.5];

impl LayerPlace<'_> {
    /// Tokens of a micro-batch on a rank.
    pub(super) fn tokens(&self) -> f64 {
        self.batch * self.sequence / self.context
    }
}

struct Kernels<'a> {
    place: &'a LayerPlace<'a>,
    times: LayerTimes,
}

impl Kernels<'_> {
    /// A product forward, and its two backward: by the matrix and by the tokens.
    fn product(&mut self, tokens: f64, inner: f64, outer: f64) {
        let [forward, backward] = self.products(1.0, tokens, inner, outer, self.place.precision);
        self.times.products += forward;
        self.times.forward.compute += forward;
        self.times.backward.compute += backward;
    }

    /// Products of one shape that one kernel computes, forward and backward, with what makes fp8 of their factors: 3
    /// bytes moved per element.
    fn products(&self, count: f64, tokens: f64, inner: f64, outer: f64, precision: Precision) -> [f64; 2] {
        let device = self.place.device;
        let of = |shape| device.products_us(count, shape, precision);
        let quantised = |elements: f64| match precision {
            Precision::Bf16 => 0.0,
            Precision::Fp8 | Precision::Fp4 => device.pass_us(3.0 * count * elements, QUANTISE_SHARE),
        };
        let forward = of([tokens, inner, outer]) + quantised(tokens * inner);
        let backward = of([tokens, outer, inner]) + of([inner, tokens, outer]) + quantised(tokens * (inner + outer));
        [forward, backward]
    }

    /// An element-wise operator that moves as many bytes so many times.
    fn pass(&mut self, bytes: f64, forward: f64, backward: f64) {
        let share = if self.place.stack.is_fused() { FUSED_SHARE } else { 1.0 };
        let once = self.place.device.pass_us(bytes, share);
        self.times.forward.compute += forward * once;
        self.times.backward.compute += backward * once;
    }

    fn attention(&mut self, shape: AttentionShape) {
        let place = self.place;
        if place.attention != AttentionKernel::Unfused {
            let forward = place.device.attention_us(shape, place.attention) / place.context;
            self.times.forward.attention += forward;
            self.times.backward.attention += ATTENTION_BACKWARD * forward;
            return;
        }
        // Two products of the whole square, the masked softmax and dropout; four products backward.
        let AttentionShape { batch, sequence, heads, width, .. } = shape;
        let scores = 2.0 * batch * heads * sequence * sequence;
        let flop_us = scores * width / (0.55 * place.device.peak_flops(Precision::Bf16) / 1e6);
        let once = place.device.pass_us(scores, SCORES_SHARE);
        let product = flop_us.max(once);
        self.times.forward.attention += 2.0 * product + 5.0 * once;
        self.times.backward.attention += 4.0 * product + 6.0 * once;
    }

    fn activation(&mut self, is_gated: bool, elements: f64) {
        let [forward, backward] = match (is_gated, self.place.stack.is_fused()) {
            (true, _) => [6.0, 10.0],
            (false, true) => [4.0, 6.0],
            (false, false) => [5.6, 7.6],
        };
        self.pass(elements, forward, backward);
    }

    fn feed_forward(&mut self, part: &FeedForward, tokens: f64) {
        let place = self.place;
        match *part {
            FeedForward::Dense { width, is_gated, .. } => {
                self.dense(tokens, f64::from(width) / place.tensor, is_gated);
            }
            FeedForward::Experts { experts, top_k, width, shared_width, .. } => {
                let (experts, top_k, width) = (f64::from(experts), f64::from(top_k), f64::from(width));
                // The ranks of a tensor group each send their part of the sequence to whole experts.
                let (all_tokens, tokens) = (tokens, tokens / place.tensor);
                let [forward, backward] = self.products(1.0, tokens, place.hidden, experts, Precision::Bf16);
                let sorted = place.device.pass_us(4.0 * tokens * place.hidden * (1.0 + top_k), FUSED_SHARE);
                self.times.forward.sorting += forward + sorted;
                self.times.backward.sorting += backward + 2.0 * sorted;
                let local = (experts / place.expert).max(1.0).floor();
                let rows = top_k * tokens * place.expert / experts;
                let dearer = place.device.experts_over_products();
                for (inner, outer) in [(place.hidden, 2.0 * width), (width, place.hidden)] {
                    let [forward, backward] = self.products(local, rows, inner, outer, place.precision);
                    self.times.forward.experts += dearer * forward;
                    self.times.backward.experts += dearer * backward;
                }
                self.activation(true, width * top_k * tokens);
                if shared_width > 0 {
                    self.dense(all_tokens, f64::from(shared_width) / place.tensor, true);
                }
            }
        }
    }

    fn dense(&mut self, tokens: f64, width: f64, is_gated: bool) {
        let outer = if is_gated { 2.0 * width } else { width };
        self.product(tokens, self.place.hidden, outer);
        self.product(tokens, width, self.place.hidden);
        self.activation(is_gated, width * tokens);
    }
}
