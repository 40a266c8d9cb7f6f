//! Predictions of operators with their marks, for operators that were sampled and for those that others replace.

use super::{
    library::{Library, RegressorTarget},
    sampled::{FeatureView, Query},
};
use crate::training_time::{
    catalogue::{CACHED, StandIn},
    prediction::{Direction, Mark, Missing, Mode, Prediction, Regressors},
    samples::Communicator,
    scope::Scope,
};

/// A regressor with more than this share of doubtful rows is suspect altogether.
const DOUBTFUL_SHARE: f64 = 0.1;
/// The factor beyond which a prediction of the parity mode's trees does not count as that of the sampled row itself.
const OFF: f64 = 1.5;

impl Library {
    /// A regressor's prediction with its mark. In the default mode a time that was not measured is at least what the
    /// hardware needs, `floor_us` for the computation. A time below that is suspect even if it was sampled, as is a
    /// prediction from rows in doubt.
    fn marked_prediction(&self, regressor: u32, query: &Query, floor_us: f64) -> Option<Prediction> {
        let sampled = self.sampled(regressor)?;
        let is_parity = self.options.mode == Mode::Parity;
        let direction = self.direction(regressor);
        let us_per_byte = self.peaks.as_ref().and_then(|gpu| gpu.memory_gbps).map_or(0.0, |gbps| 1e-3 / gbps);
        let moving_us = query.bytes * us_per_byte;
        let possible_us = floor_us.max(moving_us / CACHED);
        let floor_us = sampled.moving_us(query, direction, us_per_byte).max(floor_us);
        let measured = sampled.measured(query, direction);
        let (mut mark, beyond) = sampled.mark(query);
        let time_us = match measured {
            Some((time, _)) if is_parity => self.model(regressor).at(query).unwrap_or(time),
            Some((time, _)) => time,
            None if is_parity => self.model(regressor).at(query)?,
            None => self.model(regressor).at(query)?.max(floor_us),
        };
        if self.is_of_other_precision(regressor) {
            mark = mark.max(Mark::Extrapolated);
        }
        // Trees that have learnt from odd rows say odd things of the others too.
        let is_mixed = sampled.doubt() > DOUBTFUL_SHARE;
        let is_operator = matches!(self.target(regressor), Some(RegressorTarget::Operator { .. }));
        let is_doubtful = match measured {
            None => is_mixed,
            Some((time, _)) if is_parity && (time_us > OFF * time || time > OFF * time_us) => true,
            Some((_, doubtful)) => doubtful || is_parity && is_operator && is_mixed,
        };
        if is_doubtful || time_us < floor_us || time_us < possible_us {
            mark = Mark::Suspect;
        }
        Some(Prediction { time_us, mark, beyond, regressor, least_us: floor_us.max(moving_us) })
    }

    /// The least time of an operator's computing, backward twice that forward, and of its moving with all that a cache
    /// may spare; 0 where the peaks are not known.
    fn computing_us(&self, name: &str, direction: Direction, scope: &Scope) -> f64 {
        let (Some(gpu), Some(operator)) = (&self.peaks, self.catalogue.operator(name)) else { return 0.0 };
        let flop = operator.flop(scope).ok().flatten().unwrap_or_default();
        let times = if direction == Direction::Backward { 2.0 } else { 1.0 };
        let precision = if self.options.precision.is_empty() { "fp16" } else { &self.options.precision };
        gpu.floor_us(precision, flop * times, 0.0).max(operator.least_us(gpu, "", scope))
    }

    /// The time of an operator that nobody sampled, from what stands in for it.
    fn stand_in(&self, name: &str, direction: Direction, scope: &Scope) -> Option<Prediction> {
        let operator = self.catalogue.operator(name)?;
        let mut prediction = match operator.stands_in_for.as_ref()? {
            StandIn::Gemm => {
                let [count, m, k, n] = operator.gemm(scope).ok()??;
                let regressor = self.find(&RegressorTarget::Gemm(direction))?;
                let shape = Scope::from([("m", count * m), ("k", k), ("n", n)]);
                let query = self.sampled(regressor)?.query(&FeatureView::Gemm, &shape)?;
                self.marked_prediction(regressor, &query, self.computing_us(name, direction, scope))?
            }
            StandIn::Operator(other) => {
                let bytes = |name: &str| self.catalogue.operator(name)?.bytes(scope).ok()?;
                let share = bytes(name)? / bytes(other)?;
                let mut prediction = self.sampled_operator(other, direction, scope)?;
                prediction.time_us *= share;
                prediction.least_us *= share;
                prediction
            }
        };
        prediction.mark = prediction.mark.max(Mark::Extrapolated);
        Some(prediction).filter(|prediction| prediction.time_us.is_finite())
    }

    fn sampled_operator(&self, name: &str, direction: Direction, scope: &Scope) -> Option<Prediction> {
        let of = |direction| self.find(&RegressorTarget::Operator { name: name.to_owned(), direction });
        let view = FeatureView::of(&self.catalogue, name);
        let ask = |regressor: u32, direction| {
            let query = self.sampled(regressor)?.query(&view, scope)?;
            let mut said = self.marked_prediction(regressor, &query, self.computing_us(name, direction, scope))?;
            // What is impossible in one direction says that the same rows mislead in the other.
            if self.options.mode == Mode::Parity && said.mark == Mark::Extrapolated {
                let other = match direction {
                    Direction::Forward => Direction::Backward,
                    Direction::Backward => Direction::Forward,
                };
                let other_us = of(other).and_then(|regressor| self.model(regressor).at(&query));
                if other_us.is_some_and(|other_us| other_us < self.computing_us(name, other, scope)) {
                    said.mark = Mark::Suspect;
                }
            }
            Some(said)
        };
        match (of(direction), of(Direction::Forward)) {
            (Some(regressor), _) => ask(regressor, direction),
            (None, Some(forward)) => {
                let factor = self.catalogue.operator(name)?.backward_factor?;
                let mut prediction = ask(forward, Direction::Forward)?;
                prediction.time_us *= factor;
                prediction.least_us *= factor;
                prediction.mark = prediction.mark.max(Mark::Extrapolated);
                Some(prediction)
            }
            (None, None) => None,
        }
    }

    /// The reason why an operator can't be predicted.
    fn lacks(&self, name: &str, direction: Direction) -> Missing {
        let of = self.find(&RegressorTarget::Operator { name: name.to_owned(), direction });
        match of.and_then(|regressor| self.sampled(regressor)).filter(|sampled| sampled.len() > 0) {
            Some(sampled) => {
                Missing::TooFew { operator: name.to_owned(), rows: sampled.len(), distinct: sampled.distinct_features }
            }
            None => Missing::Operator(name.to_owned()),
        }
    }

    /// The regressors that a prediction of an operator uses.
    pub(super) fn asked_for_operator(&self, name: &str, direction: Direction) -> Vec<u32> {
        let of = |name: &str| self.find(&RegressorTarget::Operator { name: name.to_owned(), direction });
        let forward = || self.find(&RegressorTarget::Operator { name: name.to_owned(), direction: Direction::Forward });
        let stand_in = || match self.catalogue.operator(name)?.stands_in_for.as_ref()? {
            StandIn::Gemm => self.find(&RegressorTarget::Gemm(direction)),
            StandIn::Operator(other) => of(other),
        };
        of(name).or_else(forward).or_else(stand_in).into_iter().collect()
    }

    pub(super) fn message(&self, regressor: u32, elements: u64, communicator: Communicator) -> Option<Prediction> {
        let query = self.sampled(regressor)?.message_query(elements, communicator)?;
        self.marked_prediction(regressor, &query, self.sending_us(regressor, elements, communicator))
    }
}

impl Regressors for Library {
    fn operator(&self, name: &str, direction: Direction, scope: &Scope) -> Result<Prediction, Missing> {
        self.sampled_operator(name, direction, scope)
            .or_else(|| self.stand_in(name, direction, scope))
            .ok_or_else(|| self.lacks(name, direction))
    }

    fn collective(&self, name: &str, elements: u64, communicator: Communicator) -> Result<Prediction, Missing> {
        let said = match self.options.mode {
            Mode::Parity => self.parity_collective(name, elements, communicator),
            Mode::Default => self.curve(name, elements, communicator),
        };
        said.ok_or_else(|| Missing::Collective { collective: name.to_owned(), communicator })
    }

    fn residuals(&self, regressor: u32, mark: Mark) -> &[f64] {
        self.validation(regressor).map_or(&[], |validation| validation.residuals(mark))
    }
}
