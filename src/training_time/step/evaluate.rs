//! The times of a step, computed from its parts.

use super::{
    component::Component,
    default_mode, parity,
    plan::{PartUse, Plan},
    result::Step,
};
use crate::{pipeline::Timed, training_time::prediction::Mode};

impl Plan {
    /// The step with predicted times.
    pub fn step(&self) -> Step {
        self.evaluate(&self.times())
    }

    /// The step with other times of [`Plan::parts`], in µs.
    pub fn evaluate(&self, times: &[f64]) -> Step {
        match self.mode {
            Mode::Parity => parity::evaluate(self, times),
            Mode::Default => default_mode::evaluate(self, times),
        }
    }

    /// Every operation of the pipeline; none in parity mode, which simulates nothing.
    pub fn timeline(&self) -> Vec<Timed> {
        match self.mode {
            Mode::Parity => Vec::new(),
            Mode::Default => default_mode::timeline(self, &self.times()),
        }
    }

    /// Shares of the step's time by where it comes from, in the order of [`crate::training_time::prediction::Mark`];
    /// the bubble's are those of the pipeline. What is suspect counts with what it takes at least ([`Plan::weights`]).
    pub fn marks(&self, step: &Step) -> [f64; 4] {
        let (times, weights) = (self.times(), self.weights());
        // By mark, and last the time as it is counted.
        let mut pipeline = [0.0; 5];
        let add = |sums: &mut [f64; 5], uses: &[PartUse], count: f64| {
            for used in uses {
                let Some(part) = self.parts.get(used.part as usize) else { continue };
                sums[part.prediction.mark as usize] += count * used.count * weights[used.part as usize];
                sums[4] += count * used.count * times[used.part as usize];
            }
        };
        let last = self.stages.len().saturating_sub(1);
        for way in [0, 1] {
            let at = step.busiest[way];
            let Some(stage) = self.stages.get(at) else { continue };
            add(&mut pipeline, &self.layer[way], stage.layers);
            add(&mut pipeline, &self.first[way], if at == 0 { 1.0 } else { 0.0 });
            add(&mut pipeline, &self.last[way], if at == last { 1.0 } else { 0.0 });
            let ends_here = if way == 0 { last } else { 0 };
            if at != ends_here && !self.run.execution.p2p_overlapped {
                add(&mut pipeline, stage.message.as_slice(), 1.0);
            }
        }
        // The share of the whole that is shown, as long as its weights make it.
        let scaled = |[marks @ .., counted]: [f64; 5], shown: f64| {
            marks.map(|weight: f64| if counted > 0.0 { weight / counted * shown } else { 0.0 })
        };
        let mut marks: [f64; 4] = scaled(pipeline, step.pipeline_us);
        let [reducing, updating] = step.updating.map(|stage| self.stages.get(stage));
        if let (Some(reducing), Some(updating)) = (reducing, updating) {
            let (mut reduced, mut updated) = ([0.0; 5], [0.0; 5]);
            add(&mut reduced, &reducing.all_reduce, 1.0);
            add(&mut updated, &updating.all_gather, 1.0);
            add(&mut updated, &updating.optimizer, 1.0);
            let reduced = scaled(reduced, step.components.of(Component::GradientAllReduce));
            let all = marks.iter_mut().zip(reduced).zip(updated);
            all.for_each(|((mark, reduced), updated)| *mark += reduced + updated);
        }
        let all: f64 = marks.iter().sum();
        marks.map(|time| if all > 0.0 { time / all } else { 0.0 })
    }
}
