//! What a model consists of, as far as time and memory depend on it: operators of its layers and ends, and parameters.

use super::{
    run::{Model, Run},
    scope::Scope,
};

/// Operators that hold the core of attention, which selective recomputation computes again.
const ATTENTION: [&str; 6] = ["flash_atten", "baddbmm", "fillmask", "softmax", "ScaledUpperTriangMaskedSoftmax", "bmm"];
/// Operators that sequence parallelism spreads over the tensor ranks.
const SPREAD: [&str; 3] = ["layernorm", "RMSlayernorm", "res_add"];
/// Operators of the MLP, which a mixture of experts has once per expert.
const MLP: [&str; 6] = ["linear3", "gelu", "linear4", "gate_up", "swiglu", "down"];

/// One operator, done some times.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Its name.
    pub name: String,
    /// How often.
    pub count: f64,
    /// The names that its inputs speak of.
    pub scope: Scope,
    /// It is of the core of attention.
    pub is_attention: bool,
}

/// What a model is made of, on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// Operators of one layer.
    pub layer: Vec<Op>,
    /// Operators before the first layer.
    pub first: Vec<Op>,
    /// Operators after the last.
    pub last: Vec<Op>,
    /// Parameters on one rank.
    pub parameters: Parameters,
    /// Attention never holds its scores: the term of l² falls away from memory.
    pub is_flash: bool,
}

/// Parameters on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Of one layer, without experts.
    pub layer: f64,
    /// Of one layer's experts that this rank holds.
    pub experts: f64,
    /// Before the first layer.
    pub first: f64,
    /// After the last.
    pub last: f64,
}

impl Parameters {
    /// Of a stage of some layers, experts apart.
    #[must_use]
    pub fn of_stage(&self, layers: f64, is_first: bool, is_last: bool) -> (f64, f64) {
        let ends = if is_first { self.first } else { 0.0 } + if is_last { self.last } else { 0.0 };
        (layers * self.layer + ends, layers * self.experts)
    }
}

/// Tokens of the vocabulary as they are held: padded so that each rank has a multiple of 128.
#[must_use]
pub fn padded_vocabulary(vocabulary: u32, tensor: u32) -> f64 {
    (f64::from(vocabulary) / (128.0 * f64::from(tensor.max(1)))).ceil() * 128.0
}

impl Anatomy {
    /// That of a run: its lists of operators, and the parameters of a GPT with biases (the reference's formula, with
    /// the run's width of the MLP and key-value heads).
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let (model, scope) = (&run.model, run.scope());
        let end = |name: &str| op(name, 1.0, scope.clone());
        let spread = scope.clone().with("l", f64::from(model.sequence) / f64::from(run.layout.tensor.max(1)));
        let tokens = Tokens::of(run);
        let mut layer: Vec<Op> = Vec::new();
        for name in &model.layer {
            match layer.iter_mut().find(|op| op.name == *name) {
                Some(known) => known.count += if is_expert(model, name) { tokens.experts } else { 1.0 },
                None if is_expert(model, name) => {
                    let scope = scope.clone().with("b", f64::from(run.micro_batch) * tokens.per_expert);
                    layer.push(op(name, tokens.experts, scope));
                }
                None if run.execution.sequence_parallel && SPREAD.contains(&name.as_str()) => {
                    layer.push(op(name, 1.0, spread.clone()));
                }
                None => layer.push(op(name, 1.0, scope.clone())),
            }
        }
        Self {
            is_flash: model.layer.iter().any(|name| name == "flash_atten"),
            layer,
            first: vec![end("embedding")],
            last: vec![end(&model.norm), end("linear_final"), end("parallel_cross_entropy_128")],
            parameters: parameters(run, model),
        }
    }
}

fn op(name: &str, count: f64, scope: Scope) -> Op {
    Op { name: name.to_owned(), count, scope, is_attention: ATTENTION.contains(&name) }
}

fn is_expert(model: &Model, name: &str) -> bool {
    model.experts > 1 && MLP.contains(&name)
}

/// Where the tokens of a mixture of experts go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Experts on a rank.
    pub experts: f64,
    /// Tokens of the fullest rank's experts, each, over those of a rank's micro-batch.
    pub per_expert: f64,
}

impl Tokens {
    /// Every token visits `top_k` experts; the `ep` ranks of a group bring their micro-batches to all of them.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let model = &run.model;
        let experts = f64::from(model.experts.max(1)) / f64::from(run.layout.expert.max(1));
        Self { experts, per_expert: f64::from(model.top_k.max(1)) * model.load_balance.max(1.0) / experts }
    }
}

impl Anatomy {
    /// Parameters of the model that optimizers are sampled with, of a run's size: an MLP four times as wide as the
    /// hidden size, as many key-value heads as heads.
    #[must_use]
    pub fn sampled(run: &Run) -> Parameters {
        let (hidden, heads) = (run.model.hidden, run.model.heads);
        parameters(run, &Model { ffn: hidden.saturating_mul(4), kv_heads: heads, experts: 1, ..run.model.clone() })
    }
}

/// Parameters on one rank, of a GPT with biases.
fn parameters(run: &Run, model: &Model) -> Parameters {
    let dim = f64::from(model.hidden);
    let tensor = f64::from(run.layout.tensor.max(1));
    let shared = |all: f64| (all / tensor).floor();
    let ffn = f64::from(model.ffn);
    let heads = 1.0 + 2.0 * f64::from(model.kv_heads) / f64::from(model.heads.max(1));
    let vocabulary = padded_vocabulary(model.vocabulary, run.layout.tensor) * dim;
    let attention = shared((heads * dim).floor() * (dim + 1.0)) + shared(dim * (dim + 1.0));
    let mlp = shared(ffn * (dim + 1.0)) + shared(dim * (ffn + 1.0));
    let is_mixture = model.experts > 1;
    let router = if is_mixture { dim * f64::from(model.experts) } else { 0.0 };
    Parameters {
        layer: 4.0 * dim + attention + router + if is_mixture { 0.0 } else { mlp },
        experts: if is_mixture { mlp * Tokens::of(run).experts } else { 0.0 },
        first: vocabulary,
        last: 2.0 * dim + vocabulary,
    }
}
