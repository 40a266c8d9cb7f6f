//! The times of a step.

use serde::{Deserialize, Serialize};

use super::component::{Component, Times};

/// The times of a step in µs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The time of the step: the sum of its components.
    pub total_us: f64,
    /// From the first forward pass to the last backward pass.
    pub pipeline_us: f64,
    /// The part of the exchange of gradients and parameters that is not hidden behind computation.
    pub exchange_us: f64,
    /// The optimizer's time on the stage whose update takes longest.
    pub optimizer_us: f64,
    /// The components: times of the busiest stage, its idle time, the exchange and the update.
    pub components: Times,
    /// The index of the busiest stage, forward and backward.
    pub busiest: [usize; 2],
    /// The indices of the stages whose gradients and whose update take longest.
    pub updating: [usize; 2],
    /// The times of each stage.
    pub stages: Vec<StageTime>,
}

/// The times of one stage in µs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// The number of its layers.
    pub layers: f64,
    /// The number of parameters on one rank.
    pub parameters: f64,
    /// The forward pass of one micro-batch, with the messages that it waits for.
    pub forward_us: f64,
    /// The backward pass of one micro-batch.
    pub backward_us: f64,
    /// All-reduce of the stage's gradients, once per step.
    pub all_reduce_us: f64,
    /// All-gather of the stage's updated parameters, once per step.
    pub all_gather_us: f64,
    /// The update of the stage's weights, once per step.
    pub optimizer_us: f64,
}

impl Step {
    /// The share of the busiest stage's time in the pipeline that it waits.
    pub fn bubble(&self) -> f64 {
        let waits = self.components.of(Component::Bubble);
        if self.pipeline_us > 0.0 { waits / self.pipeline_us } else { 0.0 }
    }
}
