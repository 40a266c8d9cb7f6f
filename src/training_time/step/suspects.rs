//! Times that can't be trusted: the reasons, and their weights in the share of suspect time.

use super::{
    listing::time,
    plan::{PartQuery, Plan, StepPart},
};
use crate::training_time::{
    catalogue::{Catalogue, Operator},
    prediction::{Direction, Mark},
    scope::Scope,
};

/// A predicted time that can't be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspectTime {
    /// The name of the operator or collective.
    pub name: String,
    /// The direction of an operator.
    pub direction: Option<Direction>,
    /// The time that the step uses, in µs.
    pub time_us: f64,
    /// The least possible time in µs, if it is known and exceeds the one used.
    pub least_us: Option<f64>,
    /// The reason, as a sentence without its full stop.
    pub why: String,
}

impl Plan {
    /// The weights by which the share of a step that can't be trusted is computed. A suspect time weighs at least its
    /// least possible time, so that a time that is too short still counts.
    pub fn weights(&self) -> Vec<f64> {
        let weight = |part: &StepPart| match &part.prediction {
            said if said.mark == Mark::Suspect => said.time_us.max(said.least_us),
            said => said.time_us,
        };
        self.parts.iter().map(weight).collect()
    }

    /// An operator that computes twice as much backward takes longer backward. One that does not is suspect, and weighs
    /// twice its forward time.
    pub(super) fn doubt_backward(&mut self, catalogue: &Catalogue) {
        for at in 0..self.parts.len() {
            let PartQuery::Operator(Direction::Backward, scope) = &self.parts[at].asked else { continue };
            if !catalogue.operator(&self.parts[at].name).is_some_and(Operator::multiplies) {
                continue;
            }
            if let Some(forward_us) = self.forward_us(&self.parts[at].name, scope)
                && self.parts[at].prediction.time_us < forward_us
            {
                let said = &mut self.parts[at].prediction;
                said.mark = Mark::Suspect;
                said.least_us = said.least_us.max(2.0 * forward_us);
            }
        }
    }

    fn forward_us(&self, name: &str, scope: &Scope) -> Option<f64> {
        let same = |part: &&StepPart| {
            part.name == name && matches!(&part.asked, PartQuery::Operator(Direction::Forward, with) if with == scope)
        };
        self.parts.iter().find(same).map(|part| part.prediction.time_us)
    }

    /// All suspect times with their reasons.
    pub fn suspect_times(&self) -> Vec<SuspectTime> {
        let doubt = |part: &StepPart| {
            let said = &part.prediction;
            let (direction, way) = match part.asked {
                PartQuery::Operator(direction @ Direction::Forward, _) => (Some(direction), " forward"),
                PartQuery::Operator(direction @ Direction::Backward, _) => (Some(direction), " backward"),
                PartQuery::Collective(..) => (None, ""),
            };
            let least_us = Some(said.least_us).filter(|least| *least > said.time_us);
            let forward_us = match &part.asked {
                PartQuery::Operator(Direction::Backward, scope) => self.forward_us(&part.name, scope),
                _ => None,
            };
            let (name, takes) = (&part.name, time(said.time_us));
            let why = match (forward_us.filter(|forward| said.time_us < *forward), least_us) {
                (Some(forward), Some(_)) => format!(
                    "{name}: its backward pass ({takes}) is faster than its forward pass ({}), and computes twice as much",
                    time(forward)
                ),
                (_, Some(least)) => {
                    format!("{name}{way}: {takes} is less than the {} that the hardware takes at least", time(least))
                }
                _ => format!("{name}{way}: {takes} rests on samples that are odd, or mislead here"),
            };
            SuspectTime { name: part.name.clone(), direction, time_us: said.time_us, least_us, why }
        };
        self.parts.iter().filter(|part| part.prediction.mark == Mark::Suspect).map(doubt).collect()
    }
}
