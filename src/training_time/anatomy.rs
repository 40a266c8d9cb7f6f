//! The parts of a model on which time and memory depend: the operators of its layers and ends, and its parameters.

use super::{
    catalogue::{Architecture, Catalogue, LayerItem},
    expression::Expression,
    run::{Model, Run},
    scope::Scope,
};

/// Operators that hold the core of attention, which selective recomputation computes again.
const ATTENTION: [&str; 7] =
    ["flash_atten", "baddbmm", "fillmask", "softmax", "ScaledUpperTriangMaskedSoftmax", "attention_dropout", "bmm"];
/// Operators whose work sequence parallelism divides among the tensor-parallel ranks.
const SPREAD: [&str; 3] = ["layernorm", "RMSlayernorm", "res_add"];
/// Operators of the MLP, which a mixture has once per expert where its architecture has no operators of experts.
const MLP: [&str; 6] = ["linear3", "gelu", "linear4", "gate_up", "swiglu", "down"];

/// An operator and how often it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorUse {
    /// The operator's name in the catalogue.
    pub name: String,
    /// The number of times that it runs.
    pub count: f64,
    /// The values of the names in the expressions of its inputs.
    pub scope: Scope,
    /// Whether it belongs to the core of attention, which selective recomputation repeats.
    pub is_attention: bool,
}

/// The operators and parameters of a model on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// The operators of one layer.
    pub layer: Vec<OperatorUse>,
    /// The operators before the first layer.
    pub first: Vec<OperatorUse>,
    /// The operators after the last layer.
    pub last: Vec<OperatorUse>,
    /// The numbers of parameters on one rank.
    pub parameters: Parameters,
    /// Attention never holds its scores: the term of l² falls away from memory.
    pub is_flash: bool,
    /// Bytes of activations of one layer and micro-batch, where the architecture says so.
    pub activation_bytes: Option<f64>,
    /// Floating-point operations on one rank and micro-batch, forward: of one layer, and of both ends.
    pub flop: [f64; 3],
}

/// Numbers of parameters on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Parameters of one layer, experts excluded.
    pub layer: f64,
    /// Parameters of those experts of one layer that this rank holds.
    pub experts: f64,
    /// Parameters before the first layer.
    pub first: f64,
    /// Parameters after the last layer.
    pub last: f64,
}

impl Parameters {
    /// Parameters of a pipeline stage with this many layers: experts excluded, and experts.
    pub fn of_stage(&self, layers: f64, is_first: bool, is_last: bool) -> (f64, f64) {
        let ends = if is_first { self.first } else { 0.0 } + if is_last { self.last } else { 0.0 };
        (layers * self.layer + ends, layers * self.experts)
    }
}

/// Tokens of the vocabulary as they are held: padded so that each rank has a multiple of 128.
pub fn padded_vocabulary(vocabulary: u32, tensor: u32) -> f64 {
    (f64::from(vocabulary) / (128.0 * f64::from(tensor.max(1)))).ceil() * 128.0
}

impl Anatomy {
    /// That of a run: its operators, or its architecture's where they are the same; and the architecture's parameters,
    /// or those of a GPT with biases.
    pub fn of(run: &Run, catalogue: &Catalogue) -> Self {
        let architecture = run.model.architecture.as_ref().and_then(|name| catalogue.architecture(name));
        let scope = architecture.map_or_else(|| run.scope(), |architecture| architecture.scope(&run.scope()));
        // What an architecture says of layers holds for a mixture only where it speaks of experts.
        let of_layer = architecture.filter(|known| run.model.experts < 2 || is_of_experts(known, catalogue));
        let layer = of_layer.and_then(|known| items(known, run, &scope)).unwrap_or_else(|| listed(run, &scope));
        let end = |name: &str| op(name, 1.0, scope.clone());
        let ends = |items: &[_], otherwise: &[&str]| match architecture {
            Some(_) if !items.is_empty() => evaluated(items, &scope).unwrap_or_default(),
            _ => otherwise.iter().map(|name| end(name)).collect::<Vec<OperatorUse>>(),
        };
        let first = ends(architecture.map_or(&[], |known| &known.first), &["embedding"]);
        let last = ends(
            architecture.map_or(&[], |known| &known.last),
            &[run.model.norm.as_str(), "linear_final", "parallel_cross_entropy_128"],
        );
        // A norm that the run names itself.
        let mut last = last;
        if let Some(norm) = architecture.and_then(|known| known.last.first()).map(|item| &item.operator)
            && let Some(op) = last.iter_mut().find(|op| op.name == *norm)
        {
            op.name.clone_from(&run.model.norm);
        }
        let mut layer = layer;
        for op in layer.iter_mut().filter(|op| spreads(run, &op.name)) {
            op.scope.set("l", f64::from(run.model.sequence) / f64::from(run.layout.tensor.max(1)));
        }
        // The fullest rank's experts have more tokens than the mean.
        for op in &mut layer {
            if run.model.experts > 1 && routes(&op.name, catalogue) {
                let copies = f64::from(run.model.top_k.max(1)) * run.model.load_balance.max(1.0);
                op.scope.set("top_k", copies);
            }
        }
        let flop = |ops: &[OperatorUse]| {
            let of = |op: &OperatorUse| catalogue.operator(&op.name)?.flop(&op.scope).ok()?.map(|flop| flop * op.count);
            ops.iter().filter_map(of).sum()
        };
        let activation = architecture.and_then(|known| known.activation_bytes.as_ref());
        Self {
            flop: [flop(&layer), flop(&first), flop(&last)],
            is_flash: layer.iter().any(|op| op.name == "flash_atten"),
            activation_bytes: activation.and_then(|bytes| bytes.evaluate(&scope).ok()).map(|bytes| bytes.max(0.0)),
            parameters: of_layer
                .and_then(|known| declared(known, run, &scope))
                .unwrap_or_else(|| parameters(run, &run.model)),
            layer,
            first,
            last,
        }
    }
}

/// Whether an operator's work is that of the tokens that visit experts.
fn routes(name: &str, catalogue: &Catalogue) -> bool {
    catalogue.operator(name).is_some_and(|operator| operator.inputs.iter().any(|input| input == "top_k"))
}

fn is_of_experts(architecture: &Architecture, catalogue: &Catalogue) -> bool {
    let speaks = |expression: &Expression| expression.names().any(|name| matches!(name, "experts" | "top_k"));
    let in_layer = |item: &LayerItem| {
        let overrides = item.overrides.iter().map(|(_, value)| value);
        routes(&item.operator, catalogue) || item.repeat.iter().chain(overrides).any(speaks)
    };
    architecture.layer.iter().any(in_layer) || architecture.parameters.as_ref().is_some_and(|of| speaks(&of.layer))
}

fn spreads(run: &Run, name: &str) -> bool {
    run.execution.sequence_parallel && SPREAD.contains(&name)
}

/// Operators with the architecture's repeats and overrides, as long as the run names the same, each item once or as
/// often as it runs; equal ones together.
fn items(architecture: &Architecture, run: &Run, scope: &Scope) -> Option<Vec<OperatorUse>> {
    let once = architecture.layer.iter().map(|item| &item.operator).eq(&run.model.layer);
    let is_same = once || architecture.layer_names(scope).ok()? == run.model.layer;
    is_same.then(|| evaluated(&architecture.layer, scope))?
}

fn evaluated(items: &[LayerItem], scope: &Scope) -> Option<Vec<OperatorUse>> {
    let mut ops: Vec<OperatorUse> = Vec::new();
    for item in items {
        let (own, count) = (item.scope(scope).ok()?, item.count(scope).ok()?.max(0.0));
        match ops.iter_mut().find(|op| op.name == item.operator && op.scope == own) {
            Some(known) => known.count += count,
            None => ops.push(op(&item.operator, count, own)),
        }
    }
    Some(ops)
}

/// Operators as the run lists them; of a mixture, the MLP's once per expert on this rank, with its tokens.
fn listed(run: &Run, scope: &Scope) -> Vec<OperatorUse> {
    let tokens = Tokens::of(run);
    let mut ops: Vec<OperatorUse> = Vec::new();
    for name in &run.model.layer {
        let is_expert = run.model.experts > 1 && MLP.contains(&name.as_str());
        let count = if is_expert { tokens.experts } else { 1.0 };
        match ops.iter_mut().find(|op| op.name == *name) {
            Some(known) => known.count += count,
            None => {
                let batch = if is_expert { tokens.per_expert } else { 1.0 } * f64::from(run.micro_batch);
                ops.push(op(name, count, scope.clone().with("b", batch)));
            }
        }
    }
    ops
}

/// The parameters that an architecture declares for the whole model, divided among ranks: by the tensor-parallel
/// degree, those of experts also by the expert-parallel degree. `None` if it declares nothing beyond a GPT with
/// biases, whose share is known exactly.
fn declared(architecture: &Architecture, run: &Run, scope: &Scope) -> Option<Parameters> {
    let declared = architecture.parameters.as_ref()?;
    let tensor = f64::from(run.layout.tensor.max(1));
    let whole = scope.clone().with("vocabulary", padded_vocabulary(run.model.vocabulary, run.layout.tensor) * tensor);
    let count = |of: &Expression, scope: &Scope| of.evaluate(scope).ok().map(|count| count.max(0.0));
    let layer = count(&declared.layer, &whole)?;
    let dense =
        if run.model.experts > 1 { count(&declared.layer, &whole.clone().with("experts", 0.0))? } else { layer };
    let dim = f64::from(run.model.hidden);
    if run.model.experts < 2 && layer == 12.0 * dim * dim + 13.0 * dim {
        let (ffn, kv_heads) = (run.model.hidden.saturating_mul(4), run.model.heads);
        return Some(parameters(run, &Model { ffn, kv_heads, ..run.model.clone() }));
    }
    Some(Parameters {
        layer: dense / tensor,
        experts: (layer - dense).max(0.0) / tensor / f64::from(run.layout.expert.max(1)),
        first: count(&declared.first, &whole)? / tensor,
        last: count(&declared.last, &whole)? / tensor,
    })
}

fn op(name: &str, count: f64, scope: Scope) -> OperatorUse {
    OperatorUse { name: name.to_owned(), count, scope, is_attention: ATTENTION.contains(&name) }
}

/// The distribution of tokens in a mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// The number of experts on a rank.
    pub experts: f64,
    /// Tokens of the fullest rank's experts, each, over those of a rank's micro-batch.
    pub per_expert: f64,
}

impl Tokens {
    /// Every token visits `top_k` experts; the `ep` ranks of a group bring their micro-batches to all of them.
    pub fn of(run: &Run) -> Self {
        let model = &run.model;
        let experts = f64::from(model.experts.max(1)) / f64::from(run.layout.expert.max(1));
        Self { experts, per_expert: f64::from(model.top_k.max(1)) * model.load_balance.max(1.0) / experts }
    }
}

impl Anatomy {
    /// Parameters of the model that optimizers are sampled with, of a run's size: an MLP four times as wide as the
    /// hidden size, as many key-value heads as heads.
    pub fn sampled(run: &Run) -> Parameters {
        let (hidden, heads) = (run.model.hidden, run.model.heads);
        parameters(run, &Model { ffn: hidden.saturating_mul(4), kv_heads: heads, experts: 1, ..run.model.clone() })
    }
}

/// The parameters on one rank of a GPT with biases.
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
