//! Measured training steps, and all-reduce tables beside them: what a prediction is held against.

use serde::{Deserialize, Serialize};

use super::{run::Recompute, samples::Place};

/// What a table of measured steps may say of a model besides its shape. What it does not say is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// What was computed again.
    pub recompute: Option<Recompute>,
    /// Tokens of the vocabulary.
    pub vocabulary: Option<u32>,
    /// The architecture, by its name in the catalogue.
    pub architecture: Option<String>,
    /// Attention keeps no scores (flash attention), or does.
    pub flash: Option<bool>,
    /// Width of the MLP.
    pub ffn: Option<u32>,
    /// Key-value heads.
    pub kv_heads: Option<u32>,
    /// Whether the optimizer is sharded over the data-parallel ranks: 0 or 1.
    pub zero: Option<u8>,
}

/// One measured step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredStep {
    /// Parameters of the model in billions, where the file says so: what its authors call the model.
    pub billions: Option<f64>,
    /// All GPUs.
    pub gpus: u32,
    /// Sequences of a step.
    pub global_batch: u32,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// `dim`.
    pub hidden: u32,
    /// `h`.
    pub heads: u32,
    /// `E`.
    pub layers: u32,
    /// `l`.
    pub sequence: u32,
    /// Tensor degree.
    pub tensor: u32,
    /// Data-parallel degree.
    pub data: u32,
    /// Pipeline stages.
    pub pipeline: u32,
    /// What was computed again.
    pub recompute: Recompute,
    /// Norms and dropouts were spread over the tensor ranks too.
    pub sequence_parallel: bool,
    /// Chunks of layers per stage.
    pub virtual_stages: u32,
    /// Tokens of the vocabulary.
    pub vocabulary: u32,
    /// What the table says of the model besides its shape.
    pub said: Said,
    /// How long it took, in µs.
    pub time_us: f64,
    /// Where it stands.
    pub place: Place,
}

impl MeasuredStep {
    /// Its micro-batches per step and replica.
    #[must_use]
    pub const fn micro_batches(&self) -> u32 {
        self.global_batch / (self.micro_batch * self.data)
    }
}

/// A table of measured steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTable {
    /// Its file's name, in a bundle with folders.
    pub name: String,
    /// Its rows.
    pub steps: Vec<MeasuredStep>,
    /// The times look like seconds instead of milliseconds, by so much: off by this factor.
    pub suspicion: Option<f64>,
}

/// An all-reduce table over the GPUs of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReduceTable {
    /// Its file's name, in a bundle with folders.
    pub name: String,
    /// How many ranks, of the name or of bus bandwidth and time.
    pub ranks: u32,
    /// Sizes in bytes, ascending, with the time out of place in µs.
    pub points: Vec<(u64, f64)>,
}
