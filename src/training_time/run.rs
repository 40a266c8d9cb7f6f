//! The run to predict: a model, a layout, and how a step is carried out.

use serde::{Deserialize, Serialize};

use super::{catalogue::architecture::Architecture, scope::Scope};

/// A training run: its model, its layout and how it is executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The run's name: that of its file without the ending.
    pub name: String,
    /// The GPU that the configuration names.
    pub gpu: Option<String>,
    /// The cluster that the configuration names.
    pub cluster: Option<String>,
    /// The model that is trained.
    pub model: Model,
    /// How the model is distributed over GPUs.
    pub layout: Layout,
    /// The number of sequences in a micro-batch: `b`.
    pub micro_batch: u32,
    /// The number of micro-batches per step and replica: `m`.
    pub micro_batches: u32,
    /// How a step is carried out.
    pub execution: Execution,
}

/// The model that is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Its architecture in the catalogue, where the configuration names one.
    pub architecture: Option<String>,
    /// The number of layers: `E`.
    pub layers: u32,
    /// The hidden size, in elements of a token: `dim`.
    pub hidden: u32,
    /// The number of attention heads: `h`.
    pub heads: u32,
    /// The number of key-value heads.
    pub kv_heads: u32,
    /// The sequence length, in tokens: `l`.
    pub sequence: u32,
    /// The width of the MLP.
    pub ffn: u32,
    /// The number of tokens in the vocabulary.
    pub vocabulary: u32,
    /// The operators of one layer in order; repeated ones are listed repeatedly.
    pub layer: Vec<String>,
    /// The norm after the last layer.
    pub norm: String,
    /// The number of tensor-parallel all-reduces per layer in the forward pass.
    pub forward_syncs: u32,
    /// The number of tensor-parallel all-reduces per layer in the backward pass.
    pub backward_syncs: u32,
    /// Experts of a layer; 1 where there is no mixture.
    pub experts: u32,
    /// The number of experts that process a token.
    pub top_k: u32,
    /// The fullest expert's tokens over the mean, at least 1.
    pub load_balance: f64,
}

impl Model {
    /// A dense model of so many layers, hidden size, heads and sequence, as the reference has them: an MLP four times
    /// as wide, as many key-value heads, and a vocabulary of 50257. Its layer is of no architecture yet.
    pub fn dense(layers: u32, hidden: u32, heads: u32, sequence: u32) -> Self {
        Self {
            architecture: None,
            layers,
            hidden,
            heads,
            kv_heads: heads,
            sequence,
            ffn: hidden.saturating_mul(4),
            vocabulary: 50257,
            layer: Vec::new(),
            norm: "RMSlayernorm".to_owned(),
            forward_syncs: 2,
            backward_syncs: 2,
            experts: 1,
            top_k: 1,
            load_balance: 1.0,
        }
    }

    /// With what an architecture says: the operators of its layer, its all-reduces, its norm, and its variables where
    /// they are names of a run.
    #[must_use]
    pub fn with_layer_of(mut self, architecture: &Architecture) -> Self {
        self.architecture = Some(architecture.name.clone());
        self.layer = architecture.layer.iter().map(|item| item.operator.clone()).collect();
        [self.forward_syncs, self.backward_syncs] = architecture.syncs;
        if let Some(norm) = architecture.last.first() {
            self.norm.clone_from(&norm.operator);
        }
        for (name, value) in &architecture.variables {
            let value = value.clamp(0.0, u32::MAX.into()) as u32;
            match name.as_str() {
                "ffn" => self.ffn = value,
                "kv_heads" => self.kv_heads = value,
                "vocabulary" => self.vocabulary = value,
                "experts" => self.experts = value,
                "top_k" => self.top_k = value,
                _ => {}
            }
        }
        self
    }
}

/// Over which GPUs a model is spread. Ranks are laid out tensor fastest, then data, then pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// The number of pipeline stages: `pp`.
    pub pipeline: u32,
    /// The tensor-parallel degree: `mp`, `tp`.
    pub tensor: u32,
    /// The data-parallel degree, the number of replicas: `dp`.
    pub data: u32,
    /// The expert-parallel degree, which divides the data-parallel degree: `ep`.
    pub expert: u32,
    /// The number of GPUs in a node: `g`.
    pub gpus_per_node: u32,
}

impl Layout {
    /// The number of GPUs, pp·mp·dp; `u64::MAX` if that is more.
    pub fn gpus(&self) -> u64 {
        (u64::from(self.pipeline) * u64::from(self.tensor)).saturating_mul(self.data.into())
    }
}

/// How a step is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The operators that the backward pass recomputes.
    pub recompute: Recompute,
    /// 0: every rank updates everything; 1: the optimizer is sharded over the data-parallel ranks.
    pub zero: u8,
    /// Chunks of layers per stage; 1 is plain 1F1B, more is interleaved.
    pub virtual_stages: u32,
    /// Layers of each stage, which sum to the model's; `None` for even, the remainder to the first.
    pub layers_per_stage: Option<Vec<u32>>,
    /// Whether messages between stages overlap with computation.
    pub p2p_overlapped: bool,
    /// The share of the data-parallel exchange that is hidden behind computation, from 0 to 1.
    pub data_overlap: f64,
    /// The bucket size of the gradient and parameter exchange, in elements: `comm_bucket`.
    pub bucket_elements: u64,
    /// Memory of a device in GiB; `None` for that of the GPU's entry in the catalogue.
    pub memory_gib: Option<f64>,
    /// The number of bytes of a gradient.
    pub gradient_bytes: u32,
    /// Norms and dropouts are spread over the tensor ranks too.
    pub sequence_parallel: bool,
    /// The precision, such as `fp16`.
    pub precision: String,
}

/// The operators that the backward pass recomputes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recompute {
    /// All operators of the layers.
    #[default]
    Full,
    /// Those of the core of attention.
    Selective,
    /// No operator is recomputed, all activations are kept.
    None,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            recompute: Recompute::Full,
            zero: 1,
            virtual_stages: 1,
            layers_per_stage: None,
            p2p_overlapped: false,
            data_overlap: 0.0,
            bucket_elements: 1_260_000_000,
            memory_gib: None,
            gradient_bytes: 4,
            sequence_parallel: false,
            precision: "fp16".to_owned(),
        }
    }
}

impl Run {
    /// The number of sequences in a step, over all replicas.
    pub fn global_batch(&self) -> u64 {
        (u64::from(self.micro_batch) * u64::from(self.micro_batches)).saturating_mul(self.layout.data.into())
    }

    /// The names that inputs and expressions of its operators speak of. `n` and `nodes` are set where a communicator
    /// is known.
    pub fn scope(&self) -> Scope {
        let (model, layout) = (&self.model, &self.layout);
        let of = |value: u32| f64::from(value);
        Scope::from([
            ("mp", of(layout.tensor)),
            ("pp", of(layout.pipeline)),
            ("dp", of(layout.data)),
            ("ep", of(layout.expert)),
            ("g", of(layout.gpus_per_node)),
            ("b", of(self.micro_batch)),
            ("l", of(model.sequence)),
            ("dim", of(model.hidden)),
            ("h", of(model.heads)),
            ("kv_heads", of(model.kv_heads)),
            ("ffn", of(model.ffn)),
            ("vocabulary", of(model.vocabulary)),
            ("E", of(model.layers)),
            ("experts", of(model.experts)),
            ("top_k", of(model.top_k)),
        ])
    }
}
