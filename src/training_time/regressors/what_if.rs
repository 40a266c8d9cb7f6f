//! Replaces learnt times for a what-if question: a faster network, a tuned collective, a rewritten operator.

use serde::{Deserialize, Serialize};

use crate::{
    learn::curve::Curve,
    training_time::{
        catalogue::Catalogue,
        prediction::{Direction, Mark, Missing, Prediction, Regressors},
        samples::{Communicator, family_of},
        scope::Scope,
    },
};

/// A change of the times of one operator or collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The name of the operator or collective: `allreduce`, `p2p`, `flash_atten`.
    pub function: String,
    /// The communicator to which the change is restricted; ignored for operators.
    pub communicator: Option<Communicator>,
    /// The direction of an operator to which the change is restricted.
    pub direction: Option<Direction>,
    /// The factor or the table that gives the new time.
    pub to: To,
}

/// The new time of an operator or collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum To {
    /// The time multiplied by this factor.
    Times(f64),
    /// The time from a table of a collective, interpolated linearly between message sizes.
    Table {
        /// Message sizes in elements with times in µs.
        points: Vec<(f64, f64)>,
        /// The communicator on which it was measured. For other communicators it is scaled to the same bus bandwidth,
        /// if both are within a node or both span nodes; otherwise the table is not used. `None` if it is used for all.
        over: Option<Communicator>,
    },
}

impl Change {
    /// The factor by which the change scales times; 1 if it does not scale.
    fn factor(&self) -> f64 {
        match self.to {
            To::Times(factor) if factor.is_finite() && factor >= 0.0 => factor,
            _ => 1.0,
        }
    }

    /// The communicator over which its table was measured, if it is one that says so.
    const fn over(&self) -> Option<Communicator> {
        match self.to {
            To::Table { over, .. } => over,
            To::Times(_) => None,
        }
    }

    /// The ratio of the time of a collective over a communicator to the time in the table; `None` if the change or its
    /// table does not apply to it.
    pub fn scale(&self, name: &str, asked: Communicator) -> Option<f64> {
        let To::Table { over, .. } = &self.to else { return None };
        if self.function != name || self.communicator.is_some_and(|changed| changed != asked) {
            return None;
        }
        match over {
            Some(over) if (over.nodes > 1) != (asked.nodes > 1) => None,
            Some(over) => Some(share(name, asked) / share(name, *over)).filter(|times| times.is_finite()),
            None => Some(1.0),
        }
    }
}

/// The smallest factor of any operator, at most 1. Changed operators may be faster than the hardware, so the search
/// multiplies its lower bounds by this.
pub fn least_factor(changes: &[Change], catalogue: &Catalogue) -> f64 {
    let of_operators = changes.iter().filter(|change| catalogue.collective(&change.function).is_none());
    let factor = |function: &str| {
        let own = changes.iter().filter(|change| change.function == function);
        own.map(|change| change.factor().min(1.0)).product::<f64>()
    };
    of_operators.map(|change| factor(&change.function)).fold(1.0, f64::min)
}

/// The table that gives the time of a collective over a communicator: the last that was measured over it, or else the
/// last that applies.
fn nearest<'a>(changes: impl Iterator<Item = &'a Change>, name: &str, asked: Communicator) -> Option<&'a Change> {
    changes.filter(|change| change.scale(name, asked).is_some()).max_by_key(|change| change.over() == Some(asked))
}

/// Notes on the tables of the collectives: what each was used for.
pub fn table_notes(changes: &[Change], asked: &[(&str, Communicator)]) -> Vec<String> {
    let mut sentences = Vec::new();
    for change in changes {
        let Some(over) = change.over() else { continue };
        let mut own = asked.iter().filter(|(name, _)| *name == change.function);
        let Some((name, first)) = own.clone().next() else { continue };
        let is_used = |(name, over): &&(&str, Communicator)| {
            nearest(changes.iter(), name, *over).is_some_and(|used| std::ptr::eq(used, change))
        };
        sentences.push(match own.find(is_used) {
            Some((_, communicator)) if *communicator == over => {
                format!("{name} is as the curve over {over} GPUs says.")
            }
            Some((_, communicator)) => {
                format!("{name} over {communicator} GPUs has the bus bandwidth of the curve over {over}.")
            }
            None if asked
                .iter()
                .any(|(other, over)| other == name && nearest(changes.iter(), name, *over).is_some()) =>
            {
                format!("The curve of {name} over {over} GPUs is not used: others are nearer to those of the run.")
            }
            None => {
                let [of_run, of_curve] = [*first, over]
                    .map(|communicator| if communicator.nodes > 1 { "between nodes" } else { "within a node" });
                format!(
                    "{name} stays as it is: over {first} GPUs it is {of_run}, and the curve over {over} {of_curve}."
                )
            }
        });
    }
    sentences
}

/// The ratio of bus bandwidth to algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md): the time is the message size
/// times this over the bus bandwidth. The size of an all-gather is what one rank contributes.
fn share(name: &str, over: Communicator) -> f64 {
    let n = f64::from(over.ranks());
    match family_of(name) {
        "allreduce" => 2.0 * (n - 1.0) / n,
        "allgather" => n - 1.0,
        "alltoall" => (n - 1.0) / n,
        _ => 1.0,
    }
}

/// Regressors of which some are overridden by changes.
pub struct WhatIf<'a, R: Regressors + ?Sized> {
    regressors: &'a R,
    changes: Vec<(&'a Change, Option<Curve>)>,
}

impl<'a, R: Regressors + ?Sized> WhatIf<'a, R> {
    /// Regressors with these changes. If several apply to a time, the last table gives it, times all factors.
    pub fn new(regressors: &'a R, changes: &'a [Change]) -> Self {
        let curve = |change: &Change| match &change.to {
            To::Times(_) => None,
            To::Table { points, .. } => {
                let is_usable = |(size, time): &&(f64, f64)| size.is_finite() && time.is_finite() && *time > 0.0;
                Curve::through(points.iter().filter(is_usable).copied().collect(), false)
            }
        };
        Self { regressors, changes: changes.iter().map(|change| (change, curve(change))).collect() }
    }

    fn factor(&self, fits: impl Fn(&Change) -> bool) -> f64 {
        self.changes.iter().filter(|(change, _)| fits(change)).map(|(change, _)| change.factor()).product()
    }
}

impl<R: Regressors + ?Sized> Regressors for WhatIf<'_, R> {
    fn operator(&self, name: &str, direction: Direction, scope: &Scope) -> Result<Prediction, Missing> {
        let mut said = self.regressors.operator(name, direction, scope)?;
        said.time_us *= self
            .factor(|change| change.function == name && change.direction.is_none_or(|changed| changed == direction));
        Ok(said)
    }

    fn collective(&self, name: &str, elements: u64, communicator: Communicator) -> Result<Prediction, Missing> {
        let fits = |change: &Change| {
            change.function == name && change.communicator.is_none_or(|changed| changed == communicator)
        };
        let table = nearest(self.changes.iter().map(|(change, _)| *change), name, communicator).and_then(|change| {
            let (_, curve) = self.changes.iter().find(|(known, _)| std::ptr::eq(*known, change))?;
            Some((curve.as_ref()?, change.scale(name, communicator)?))
        });
        let said = self.regressors.collective(name, elements, communicator);
        let mut said = match (table, said) {
            (Some((curve, times)), said) => {
                let known = curve.points();
                let is_inside = known
                    .first()
                    .zip(known.last())
                    .is_some_and(|(first, last)| (first.0..=last.0).contains(&(elements as f64)));
                let mark = if is_inside && times == 1.0 { Mark::Interpolated } else { Mark::Extrapolated };
                let regressor = said.map_or(u32::MAX, |said| said.regressor);
                Prediction { time_us: times * curve.at(elements as f64), mark, beyond: None, regressor, least_us: 0.0 }
            }
            (None, said) => said?,
        };
        said.time_us *= self.factor(fits);
        Ok(said)
    }

    fn residuals(&self, regressor: u32, mark: Mark) -> &[f64] {
        self.regressors.residuals(regressor, mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant;

    impl Regressors for Constant {
        fn operator(&self, _: &str, _: Direction, _: &Scope) -> Result<Prediction, Missing> {
            Ok(Prediction { time_us: 10.0, mark: Mark::Measured, beyond: None, regressor: 1, least_us: 0.0 })
        }

        fn collective(&self, name: &str, _: u64, communicator: Communicator) -> Result<Prediction, Missing> {
            match name {
                "alltoall" => Err(Missing::Collective { collective: name.to_owned(), communicator }),
                _ => Ok(Prediction { time_us: 100.0, mark: Mark::Measured, beyond: None, regressor: 2, least_us: 0.0 }),
            }
        }

        fn residuals(&self, _: u32, _: Mark) -> &[f64] {
            &[]
        }
    }

    #[test]
    fn changes_scale_and_replace() -> Result<(), Missing> {
        let within = Communicator { nodes: 1, per_node: 4 };
        let over = Communicator { nodes: 2, per_node: 1 };
        let change = |function: &str, communicator, direction, to| Change {
            function: function.to_owned(),
            communicator,
            direction,
            to,
        };
        let changes = [
            change("p2p", Some(over), None, To::Times(0.1)),
            change("gelu", None, Some(Direction::Backward), To::Times(2.0)),
            change("allreduce", None, None, To::Table { points: vec![(10.0, 1.0), (20.0, 2.0)], over: None }),
            change("allreduce", None, None, To::Times(3.0)),
            change("alltoall", None, None, To::Table { points: vec![(10.0, 5.0)], over: None }),
            change("allgather_large", None, None, To::Table { points: vec![(1.0, 2.0), (9.0, 2.0)], over: Some(over) }),
        ];
        let changed = WhatIf::new(&Constant, &changes);
        let time = |name, elements, communicator| -> Result<f64, Missing> {
            Ok(changed.collective(name, elements, communicator)?.time_us)
        };
        assert_eq!((time("p2p", 1, over)?, time("p2p", 1, within)?), (10.0, 100.0));
        assert_eq!((time("allreduce", 15, over)?, time("alltoall", 10, over)?), (4.5, 5.0));
        assert_eq!(changed.collective("allreduce", 99, over)?.mark, Mark::Extrapolated);
        // A table of two ranks on two nodes, used for four ranks: on several nodes its bus bandwidth is kept; within a
        // node the table is not used.
        let four = Communicator { nodes: 2, per_node: 2 };
        assert_eq!((time("allgather_large", 5, over)?, time("allgather_large", 5, four)?), (2.0, 6.0));
        assert_eq!(time("allgather_large", 5, within)?, 100.0);
        let mark = |communicator| changed.collective("allgather_large", 5, communicator).map(|said| said.mark);
        assert_eq!((mark(over)?, mark(four)?), (Mark::Interpolated, Mark::Extrapolated));
        // Only operators count, each with the product of its factors.
        let catalogue = Catalogue::built_in();
        let half = || change("gelu", None, None, To::Times(0.5));
        let faster =
            [half(), half(), change("p2p", None, None, To::Times(0.01)), change("RoPE", None, None, To::Times(0.5))];
        assert_eq!((least_factor(&changes, &catalogue), least_factor(&faster, &catalogue)), (1.0, 0.25));
        let operator = |direction| changed.operator("gelu", direction, &Scope::default()).map(|said| said.time_us);
        assert_eq!((operator(Direction::Forward)?, operator(Direction::Backward)?), (10.0, 20.0));
        Ok(())
    }
}
