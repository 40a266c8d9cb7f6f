//! The models that are fitted to rows: forests and boosted trees as in the reference implementation, or a power law
//! with trees.

use serde::{Deserialize, Serialize};

use super::sampled::{FOLDS, Query, Sampled, fold};
use crate::{
    learn::{
        LearnError, Table,
        boosting::{self, Boosting, Histogram, Objective},
        curve::{Curve, Line},
        metrics,
        power_law::{PowerLaw, Ridge},
        random_forest,
        step_function::StepFunction,
    },
    math,
    progress::{Progress, Silent},
    training_time::{
        prediction::{Direction, Mark},
        samples::RegressorFamily,
    },
};

/// Fewer rows teach nothing: then only what was measured is known.
pub(super) const LEAST_ROWS: usize = 30;

const SEED: u64 = 42;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Model {
    /// Trees on features, as in the reference implementation.
    Steps(StepFunction),
    /// A power law, with trees on its residuals.
    Law(PowerLaw),
    /// A curve through message sizes in elements.
    Curve(Curve),
    /// No model, as there were too few rows.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Recipe {
    /// A family of the reference implementation.
    Family(RegressorFamily),
    /// A power law with trees.
    Law,
    /// A power law without trees.
    Power,
    /// A line through messages, those left out that stray far from their neighbours.
    Curve,
    /// A latency and a bandwidth.
    Straight,
}

/// A [`Model`], or one of those that are only there to be compared with.
pub(super) enum Fitted {
    Model(Model),
    Ridge(Ridge),
    Line(Line),
}

/// Errors of a regressor where it had not seen the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Its errors in per cent.
    pub score: Score,
    /// ln(predicted ÷ measured) of interpolated predictions.
    pub(super) within: Vec<f64>,
    /// ln(predicted ÷ measured) of extrapolated predictions.
    pub(super) beyond: Vec<f64>,
}

/// The error figures of a regressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Mean absolute percentage error of rows whose features were in no other fold.
    pub grouped_percent: Option<f64>,
    /// The same of a power law alone, or of a straight line for collectives.
    pub trivial_percent: Option<f64>,
    /// The median of the errors outside of the samples, in per cent.
    pub beyond_percent: Option<f64>,
}

impl Validation {
    /// The residuals of predictions with this mark.
    pub fn residuals(&self, mark: Mark) -> &[f64] {
        match mark {
            Mark::Measured | Mark::Interpolated => &self.within,
            Mark::Extrapolated | Mark::Suspect if self.beyond.is_empty() => &self.within,
            Mark::Extrapolated | Mark::Suspect => &self.beyond,
        }
    }
}

impl Fitted {
    pub(super) fn at(&self, query: &Query) -> Option<f64> {
        match self {
            Self::Model(model) => model.at(query),
            Self::Ridge(ridge) => Some(math::exp(ridge.predict(&query.base))),
            Self::Line(line) => query.features.first().map(|elements| line.at(*elements)),
        }
    }
}

impl Model {
    pub(super) fn at(&self, query: &Query) -> Option<f64> {
        match self {
            Self::Steps(steps) => steps.predict(&query.features),
            Self::Law(law) => Some(math::exp(law.predict(&query.base, &query.logarithms))),
            Self::Curve(curve) => query.features.first().map(|elements| curve.at(*elements)),
            Self::Nothing => None,
        }
    }
}

impl Model {
    /// The memory of the model, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        match self {
            Self::Steps(steps) => steps.size_bytes(),
            Self::Law(law) => law.size_bytes(),
            Self::Curve(curve) => size_of_val(curve.points()),
            Self::Nothing => 0,
        }
    }
}

impl Recipe {
    /// Fits to some rows of one direction.
    ///
    /// # Errors
    /// Returns an error if a setting is out of range.
    pub(super) fn fit(
        self,
        sampled: &Sampled,
        direction: Direction,
        rows: &[usize],
        progress: &mut dyn Progress,
    ) -> Result<Fitted, LearnError> {
        let times = sampled.times(direction);
        let target: Vec<f64> = rows.iter().filter_map(|row| times.get(*row)).copied().collect();
        let first = rows.first().map(|row| &sampled.row(*row).features);
        let is_varied = rows.iter().any(|row| Some(&sampled.row(*row).features) != first);
        // A curve goes through whatever there is.
        let least = if matches!(self, Self::Curve | Self::Straight) { 1 } else { LEAST_ROWS };
        if rows.len() < least || (least > 1 && !is_varied) || target.len() < rows.len() {
            return Ok(Fitted::Model(Model::Nothing));
        }
        let points = || -> Vec<(f64, f64)> {
            let sizes = rows.iter().filter_map(|row| sampled.row(*row).features.first());
            sizes.copied().zip(target.iter().copied()).collect()
        };
        let logarithms = || -> Vec<f64> { target.iter().map(|time| math::ln(*time)).collect() };
        Ok(match self {
            Self::Family(family) => {
                let table = sampled.table(rows, |query| &query.features);
                Fitted::Model(Model::Steps(fit_family(family, &table, &target, progress)?))
            }
            Self::Law => {
                let base = sampled.table(rows, |query| &query.base);
                let features = sampled.table(rows, |query| &query.logarithms);
                Fitted::Model(Model::Law(PowerLaw::fit(&base, &features, &logarithms(), progress)?))
            }
            Self::Power => Fitted::Ridge(Ridge::fit(&sampled.table(rows, |query| &query.base), &logarithms())?),
            Self::Curve => Fitted::Model(Curve::through(points(), true).map_or(Model::Nothing, Model::Curve)),
            Self::Straight => Fitted::Line(Line::fit(&points())),
        })
    }
}

/// Fits the reference's family to a table.
///
/// # Errors
/// Returns an error if a setting is out of range, or if there are too few rows.
pub(super) fn fit_family(
    family: RegressorFamily,
    table: &Table,
    target: &[f64],
    progress: &mut dyn Progress,
) -> Result<StepFunction, LearnError> {
    match family {
        RegressorFamily::Forest { trees, max_depth, min_samples_leaf, min_samples_split } => {
            let parameters =
                random_forest::Parameters { trees, max_depth, min_samples_split, min_samples_leaf, seed: SEED };
            random_forest::fit(table, target, parameters, progress)
        }
        RegressorFamily::Boosted {
            rounds,
            max_depth,
            learning_rate,
            gamma,
            min_child_weight,
            subsample,
            colsample_bytree,
        } => {
            let parameters = boosting::Parameters {
                objective: Objective::Histogram(Histogram {
                    lambda: 1.0,
                    gamma,
                    min_child_weight,
                    subsample,
                    colsample_bytree,
                    max_bin: Some(256),
                }),
                stages: rounds,
                depth: max_depth.try_into().unwrap_or(u16::MAX),
                learning_rate,
                min_samples_split: 2,
                min_samples_leaf: 1,
                early_stopping: 0,
                seed: SEED,
            };
            Ok(Boosting::fit(table, target, parameters, progress)?.to_step_function())
        }
    }
}

/// The grid of settings that is searched where no setting is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grid {
    /// A grid of 12 points.
    Small,
    /// All values that occur in its published settings: 663 points for an operator, 783 for a collective.
    Full,
}

/// The points of a grid.
pub fn grid(size: Grid, of_collective: bool) -> Vec<RegressorFamily> {
    let mut points = Vec::new();
    let plain = |rounds, max_depth, learning_rate| RegressorFamily::Boosted {
        rounds,
        max_depth,
        learning_rate,
        gamma: 0.0,
        min_child_weight: 1.0,
        subsample: 1.0,
        colsample_bytree: 1.0,
    };
    if size == Grid::Small {
        for trees in [100, 200] {
            for max_depth in [5, 10, 15] {
                let max_depth = Some(max_depth);
                points.push(RegressorFamily::Forest { trees, max_depth, min_samples_leaf: 1, min_samples_split: 2 });
            }
        }
        for rounds in [100, 150] {
            // XGBoost's own learning rate.
            points.extend([4, 6, 8].map(|depth| plain(rounds, depth, 0.3)));
        }
        return points;
    }
    let leaves: &[u32] = if of_collective { &[1, 2, 4] } else { &[1] };
    let splits: &[u32] = if of_collective { &[2, 5, 10] } else { &[2] };
    for trees in [100, 200, 300, 400, 500] {
        for max_depth in [None, Some(10), Some(20)] {
            for &min_samples_leaf in leaves {
                for &min_samples_split in splits {
                    points.push(RegressorFamily::Forest { trees, max_depth, min_samples_leaf, min_samples_split });
                }
            }
        }
    }
    for rounds in [100, 200, 300] {
        for max_depth in [3, 6, 9] {
            for learning_rate in [0.1, 0.2] {
                for gamma in [0.0, 0.1, 0.2] {
                    for min_child_weight in [1.0, 5.0, 10.0] {
                        for subsample in [0.8, 1.0] {
                            for colsample_bytree in [0.8, 1.0] {
                                points.push(RegressorFamily::Boosted {
                                    rounds,
                                    max_depth,
                                    learning_rate,
                                    gamma,
                                    min_child_weight,
                                    subsample,
                                    colsample_bytree,
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    points
}

/// The point of a grid with the least mean squared error over three folds of rows, and that error's mean absolute
/// share as the files give it.
///
/// # Errors
/// Returns an error if there are too few rows.
pub(super) fn search(
    points: &[RegressorFamily],
    table: &Table,
    target: &[f64],
    progress: &mut dyn Progress,
) -> Result<(RegressorFamily, f64), LearnError> {
    let folds: Vec<usize> = (0..table.rows()).map(fold).collect();
    let mut best: Option<(f64, f64, RegressorFamily)> = None;
    for (number, family) in points.iter().enumerate() {
        progress.report("Searching settings", number as u64, points.len() as u64);
        let mut pairs = Vec::with_capacity(target.len());
        for held_out in 0..FOLDS {
            let (kept, asked) = crate::learn::folds::split(&folds, held_out);
            let known: Vec<f64> = kept.iter().map(|row| target[*row]).collect();
            let steps = fit_family(*family, &table.take(&kept), &known, &mut Silent)?;
            pairs.extend(asked.iter().filter_map(|row| Some((target[*row], steps.predict(table.row(*row))?))));
        }
        let error = pairs.iter().map(|(m, p)| (m - p) * (m - p)).sum::<f64>();
        if best.as_ref().is_none_or(|(least, ..)| error < *least) {
            let share = metrics::mean_absolute_percentage_error(&pairs).unwrap_or_default() / 100.0;
            best = Some((error, share, *family));
        }
    }
    progress.report("Searching settings", points.len() as u64, points.len() as u64);
    best.map(|(_, share, family)| (family, share))
        .ok_or(LearnError::TooFewRows { rows: table.rows(), needed: LEAST_ROWS })
}
