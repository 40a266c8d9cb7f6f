//! `collectune training-time`: from samples to the time of a training step, and the best layout.

mod bundle;
mod estimate;
mod layouts;
mod step;

use super::commands;

commands! {
    /// Samples of operators and collectives: the time of a training step, and the best layout on a number of GPUs
    TrainingTime {
        Step(step::Step),
        Layouts(layouts::Layouts),
        Estimate(estimate::Estimate),
    }
}
