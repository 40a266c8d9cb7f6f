//! The components of a training step's time.

use serde::{Deserialize, Serialize};

/// A component of the time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Component {
    /// Operators of the forward pass.
    Forward,
    /// Operators of the backward pass.
    Backward,
    /// Operators of the forward pass that the backward pass repeats.
    Recompute,
    /// All-reduces over the tensor-parallel ranks.
    TensorAllReduce,
    /// Messages between pipeline stages that computation does not hide.
    P2p,
    /// Idle time while the pipeline fills, drains and stalls.
    Bubble,
    /// The all-reduce of gradients over the data-parallel ranks.
    GradientAllReduce,
    /// The optimizer's update of the weights.
    Optimizer,
    /// The all-gather of updated parameters over the data-parallel ranks.
    AllGather,
    /// The transfer of tokens to experts and back.
    AllToAll,
    /// The time that calibration adds: launches, slots of the pipeline, a constant.
    Overhead,
}

impl Component {
    /// All components, in the order of a step.
    pub const ALL: [Self; 11] = [
        Self::Forward,
        Self::Backward,
        Self::Recompute,
        Self::TensorAllReduce,
        Self::P2p,
        Self::Bubble,
        Self::GradientAllReduce,
        Self::Optimizer,
        Self::AllGather,
        Self::AllToAll,
        Self::Overhead,
    ];

    /// The keyword in files, such as `tensor_all_reduce`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Recompute => "recompute",
            Self::TensorAllReduce => "tensor_all_reduce",
            Self::P2p => "p2p",
            Self::Bubble => "bubble",
            Self::GradientAllReduce => "gradient_all_reduce",
            Self::Optimizer => "optimizer",
            Self::AllGather => "all_gather",
            Self::AllToAll => "all_to_all",
            Self::Overhead => "overhead",
        }
    }

    /// The component's name in reports.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Forward => "Forward",
            Self::Backward => "Backward",
            Self::Recompute => "Recompute",
            Self::TensorAllReduce => "Tensor all-reduce",
            Self::P2p => "Point to point",
            Self::Bubble => "Bubble",
            Self::GradientAllReduce => "Gradient all-reduce",
            Self::Optimizer => "Optimizer",
            Self::AllGather => "All-gather",
            Self::AllToAll => "Expert all-to-all",
            Self::Overhead => "Overhead",
        }
    }

    /// It is a part of a step only where there are experts or a calibration.
    pub const fn is_occasional(self) -> bool {
        matches!(self, Self::AllToAll | Self::Overhead)
    }
}

/// Times of all components in µs, in the order of [`Component::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times([f64; 11]);

impl Times {
    /// The time of a component in µs.
    pub const fn of(&self, component: Component) -> f64 {
        self.0[component as usize]
    }

    /// Adds a time in µs to a component.
    pub fn add(&mut self, component: Component, time_us: f64) {
        self.0[component as usize] += time_us;
    }

    /// Adds `count` times the times of another one.
    pub fn add_all(&mut self, other: &Self, count: f64) {
        self.0.iter_mut().zip(other.0).for_each(|(time, more)| *time += count * more);
    }

    /// The sum of all components in µs.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Each with its time, in order; the occasional ones where they occur.
    pub fn iter(&self) -> impl Iterator<Item = (Component, f64)> + '_ {
        let all = Component::ALL.into_iter().map(|component| (component, self.of(component)));
        all.filter(|(component, time)| !component.is_occasional() || *time != 0.0)
    }
}
