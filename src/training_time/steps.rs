//! Measured training steps, and all-reduce tables beside them: what a prediction is held against.

use serde::{Deserialize, Serialize};

use super::{run::Recompute, samples::SourceLine};

/// The properties of the model, besides its shape, that a table of measured steps states. Others are inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedProperties {
    /// The operators that were recomputed.
    pub recompute: Option<Recompute>,
    /// The number of tokens in the vocabulary.
    pub vocabulary: Option<u32>,
    /// The architecture's name in the catalogue.
    pub architecture: Option<String>,
    /// Whether attention avoids materialising its scores (flash attention).
    pub flash: Option<bool>,
    /// The width of the MLP.
    pub ffn: Option<u32>,
    /// The number of key-value heads.
    pub kv_heads: Option<u32>,
    /// Whether the optimizer is sharded over the data-parallel ranks: 0 or 1.
    pub zero: Option<u8>,
}

/// A row of a table of measured steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredStep {
    /// Parameters of the model in billions, where the file says so: what its authors call the model.
    pub billions: Option<f64>,
    /// The number of GPUs on which the step ran.
    pub gpus: u32,
    /// The number of sequences in a step.
    pub global_batch: u32,
    /// The number of sequences in a micro-batch.
    pub micro_batch: u32,
    /// The hidden size, in elements of a token: `dim`.
    pub hidden: u32,
    /// The number of heads: `h`.
    pub heads: u32,
    /// The number of layers: `E`.
    pub layers: u32,
    /// The sequence length, in tokens: `l`.
    pub sequence: u32,
    /// The tensor-parallel degree of the layout: `mp`.
    pub tensor: u32,
    /// The data-parallel degree of the layout: `dp`.
    pub data: u32,
    /// The number of pipeline stages.
    pub pipeline: u32,
    /// The operators that were recomputed.
    pub recompute: Recompute,
    /// Norms and dropouts were spread over the tensor ranks too.
    pub sequence_parallel: bool,
    /// The number of chunks of layers per stage.
    pub virtual_stages: u32,
    /// The number of tokens in the vocabulary.
    pub vocabulary: u32,
    /// The further properties that the table states.
    pub stated: StatedProperties,
    /// The time of the step in µs.
    pub time_us: f64,
    /// The location of the row.
    pub place: SourceLine,
}

impl MeasuredStep {
    /// The number of micro-batches per step and replica.
    pub const fn micro_batches(&self) -> u32 {
        self.global_batch / (self.micro_batch * self.data)
    }
}

/// A table of measured steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTable {
    /// The name of its file, with folders where it is part of a bundle.
    pub name: String,
    /// One for each row that was read, in the order of the file.
    pub steps: Vec<MeasuredStep>,
    /// The times look like seconds instead of milliseconds, by so much: off by this factor.
    pub suspicion: Option<f64>,
}

/// An all-reduce table over the GPUs of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReduceTable {
    /// The name of its file, with folders where it is part of a bundle.
    pub name: String,
    /// The number of ranks, from the name or from bus bandwidth and time.
    pub ranks: u32,
    /// Sizes in bytes, ascending, with the time out of place in µs.
    pub points: Vec<(u64, f64)>,
}
