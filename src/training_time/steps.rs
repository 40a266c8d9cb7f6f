//! Measured training steps, and all-reduce tables beside them: what a prediction is held against.

use serde::{Deserialize, Serialize};

use super::{
    catalogue::Catalogue,
    run::{Execution, Layout, Model, Recompute, Run},
    samples::Place,
};

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

    /// The run that was measured, on nodes of so many GPUs: the optimizer not sharded, no flash attention.
    #[must_use]
    pub fn run(&self, gpus_per_node: u32, catalogue: &Catalogue) -> Run {
        let dense = Model {
            vocabulary: self.vocabulary,
            norm: "layernorm".to_owned(),
            ..Model::dense(self.layers, self.hidden, self.heads, self.sequence)
        };
        Run {
            name: format!("{}×{}×{}, b {}", self.pipeline, self.tensor, self.data, self.micro_batch),
            gpu: None,
            cluster: None,
            model: match catalogue.architecture("gpt") {
                Some(gpt) => dense.with_layer_of(gpt),
                None => dense,
            },
            layout: Layout { pipeline: self.pipeline, tensor: self.tensor, data: self.data, expert: 1, gpus_per_node },
            micro_batch: self.micro_batch,
            micro_batches: self.micro_batches(),
            execution: Execution {
                recompute: self.recompute,
                zero: 0,
                virtual_stages: self.virtual_stages,
                sequence_parallel: self.sequence_parallel,
                ..Execution::default()
            },
        }
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
