//! The parts of a step: single times, and how often each is used where.

use super::component::{Component, Times};
use crate::training_time::{
    anatomy::{Anatomy, OperatorUse},
    prediction::{Direction, Mark, Missing, Mode, Prediction, Regressors},
    run::Run,
    samples::Communicator,
    scope::Scope,
};

/// One time of which a step is composed.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPart {
    /// The name of the operator or collective.
    pub name: String,
    /// The question to the regressors.
    pub asked: PartQuery,
    /// The prediction; for an exchange in buckets, the sum over all buckets.
    pub prediction: Prediction,
}

/// A question to the regressors.
#[derive(Clone, Debug, PartialEq)]
pub enum PartQuery {
    /// An operator in one direction, with its inputs.
    Operator(Direction, Scope),
    /// A collective: message size in elements, and communicator.
    Collective(u64, Communicator),
}

/// A part and how often it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartUse {
    /// The index in [`Plan::parts`], from 0.
    pub part: u32,
    /// The number of uses; a fraction if ranks share the work.
    pub count: f64,
    /// The component to which the time is added.
    pub component: Component,
}

/// One stage of the pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Its layers; in parity mode they need not sum to the model's, nor be positive.
    pub layers: f64,
    /// The number of parameters on one rank, experts included.
    pub parameters: f64,
    /// The message to the next stage, or from the last to the first; `None` without a pipeline.
    pub message: Option<PartUse>,
    /// The exchange of gradients over the data-parallel ranks; empty without one.
    pub all_reduce: Vec<PartUse>,
    /// The exchange of updated parameters over the data-parallel ranks; empty without one.
    pub all_gather: Vec<PartUse>,
    /// The update of the weights; empty in parity mode without data parallelism.
    pub optimizer: Vec<PartUse>,
}

/// The parts of a step and their uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The way in which the step is composed.
    pub mode: Mode,
    /// The run whose step it is.
    pub run: Run,
    /// The times of which the step is made, each of them once.
    pub parts: Vec<StepPart>,
    /// One layer: forward, and backward with recomputation.
    pub layer: [Vec<PartUse>; 2],
    /// Before the first layer, forward and backward.
    pub first: [Vec<PartUse>; 2],
    /// After the last layer, forward and backward.
    pub last: [Vec<PartUse>; 2],
    /// The stages in order; in parity mode those of the reference: first, middle, last.
    pub stages: Vec<Stage>,
}

impl Plan {
    /// The predicted times of all parts, in µs.
    pub fn times(&self) -> Vec<f64> {
        self.parts.iter().map(|part| part.prediction.time_us).collect()
    }
}

/// The sum of uses in µs, given the times of parts.
pub fn sum(uses: &[PartUse], times: &[f64]) -> Times {
    let mut sum = Times::default();
    for used in uses {
        sum.add(used.component, used.count * times.get(used.part as usize).copied().unwrap_or(0.0));
    }
    sum
}

/// Queries regressors and collects the answers as parts.
pub(super) struct Builder<'a> {
    regressors: &'a dyn Regressors,
    pub parts: Vec<StepPart>,
    pub missing: Vec<Missing>,
}

impl<'a> Builder<'a> {
    pub fn new(regressors: &'a dyn Regressors) -> Self {
        Self { regressors, parts: Vec::new(), missing: Vec::new() }
    }

    fn add_part(&mut self, name: &str, asked: PartQuery, answer: Result<Prediction, Missing>) -> u32 {
        let prediction = answer.unwrap_or_else(|missing| {
            if !self.missing.contains(&missing) {
                self.missing.push(missing);
            }
            Prediction { time_us: 0.0, mark: Mark::Suspect, beyond: None, regressor: u32::MAX, least_us: 0.0 }
        });
        self.parts.push(StepPart { name: name.to_owned(), asked, prediction });
        self.parts.len() as u32 - 1
    }

    /// The index of the part for an operator.
    pub fn operator(&mut self, name: &str, direction: Direction, scope: &Scope) -> u32 {
        let known = self.parts.iter().position(|part| {
            part.name == name
                && matches!(&part.asked, PartQuery::Operator(way, with) if *way == direction && with == scope)
        });
        known.map_or_else(
            || {
                let answer = self.regressors.operator(name, direction, scope);
                self.add_part(name, PartQuery::Operator(direction, scope.clone()), answer)
            },
            |known| known as u32,
        )
    }

    /// The part of a collective whose message is sent in buckets of at most so many elements.
    pub fn collective(&mut self, name: &str, elements: f64, bucket: u64, communicator: Communicator) -> u32 {
        let elements = elements.max(0.0) as u64;
        let asked = PartQuery::Collective(elements, communicator);
        if let Some(known) = self.parts.iter().position(|part| part.name == name && part.asked == asked) {
            return known as u32;
        }
        let bucket = bucket.max(1);
        let (whole, rest) = (elements / bucket, elements % bucket);
        let ask = |elements| self.regressors.collective(name, elements, communicator);
        let first = (whole > 0).then(|| ask(bucket));
        let second = (rest > 0 || whole == 0).then(|| ask(rest));
        let answer = match (first, second) {
            (Some(Ok(mut all)), second) => {
                all.time_us *= whole as f64;
                all.least_us *= whole as f64;
                match second {
                    Some(Ok(rest)) => {
                        all.time_us += rest.time_us;
                        all.least_us += rest.least_us;
                        if rest.mark > all.mark {
                            (all.mark, all.beyond) = (rest.mark, rest.beyond);
                        }
                        Ok(all)
                    }
                    Some(missing) => missing,
                    None => Ok(all),
                }
            }
            (Some(missing), _) => missing,
            (None, Some(only)) => only,
            (None, None) => ask(0),
        };
        self.add_part(name, asked, answer)
    }

    /// Uses of operators in one direction.
    pub fn operators(&mut self, ops: &[OperatorUse], direction: Direction, component: Component) -> Vec<PartUse> {
        let used = |op: &OperatorUse| PartUse {
            part: self.operator(&op.name, direction, &op.scope),
            count: op.count,
            component,
        };
        ops.iter().map(used).collect()
    }

    /// The uses before the first layer and after the last, each forward and backward. The embedding is summed over
    /// the tensor-parallel ranks.
    pub fn ends(&mut self, anatomy: &Anatomy, sync: Option<u32>) -> [[Vec<PartUse>; 2]; 2] {
        let [mut first, last] = [&anatomy.first, &anatomy.last].map(|ops| {
            [(Direction::Forward, Component::Forward), (Direction::Backward, Component::Backward)]
                .map(|(direction, component)| self.operators(ops, direction, component))
        });
        first[0].extend(sync.map(|part| PartUse { part, count: 1.0, component: Component::TensorAllReduce }));
        [first, last]
    }
}
