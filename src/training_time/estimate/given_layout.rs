//! A layout as somebody gives it.

use super::stack::{Recomputation, Sharding};

/// A layout that was given; degrees that were not are 1, and the replicas are the rest of the GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenLayout {
    /// GPUs among which each matrix is split.
    pub tensor: u32,
    /// Stages of the pipeline, each with a part of the layers.
    pub pipeline: u32,
    /// GPUs among which a sequence is split.
    pub context: u32,
    /// GPUs over which experts are spread.
    pub expert: u32,
    /// Groups of replicas, each with a whole copy of what is sharded (`dp_replicate`).
    pub replicate: u32,
    /// Chunks of layers per stage.
    pub virtual_stages: u32,
    /// Sequences that a replica computes at once: `b`, at least 1.
    pub micro_batch: u32,
    /// What is computed again; `None` for the least that fits into memory.
    pub recomputation: Option<Recomputation>,
    /// What replicas share; `None` as the software usually does.
    pub sharding: Option<Sharding>,
}

impl GivenLayout {
    /// The GPUs of one replica: `tp × pp × cp`.
    pub fn replica_gpus(&self) -> u64 {
        u64::from(self.tensor) * u64::from(self.pipeline) * u64::from(self.context)
    }
}

impl Default for GivenLayout {
    fn default() -> Self {
        Self {
            tensor: 1,
            pipeline: 1,
            context: 1,
            expert: 1,
            replicate: 1,
            virtual_stages: 1,
            micro_batch: 1,
            recomputation: None,
            sharding: None,
        }
    }
}
