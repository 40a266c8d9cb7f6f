//! Cross-validation of regressors.
//!
//! Interpolation: three folds of distinct features. Extrapolation: for each input, its highest values are held out;
//! for counts such as the tensor-parallel degree, all but the smallest.

use super::{
    library::{Library, RegressorTarget},
    model::{Fitted, Model, Recipe, Score, Validation},
    sampled::{FOLDS, Sampled},
};
use crate::{
    learn::{LearnError, folds, metrics},
    math,
    progress::Progress,
    training_time::prediction::{Direction, Mode},
};

type Pairs = Vec<(f64, f64)>;

/// Fits to the rows of which `is_held_out` does not hold, and predicts the others.
fn held_out(
    recipe: Recipe,
    sampled: &Sampled,
    direction: Direction,
    is_held_out: impl Fn(usize) -> bool,
    progress: &mut dyn Progress,
) -> Result<Pairs, LearnError> {
    let (kept, asked): (Vec<usize>, Vec<usize>) = (0..sampled.len()).partition(|row| !is_held_out(*row));
    if kept.is_empty() || asked.is_empty() {
        return Ok(Vec::new());
    }
    let fitted = recipe.fit(sampled, direction, &kept, progress)?;
    if matches!(fitted, Fitted::Model(Model::Nothing)) {
        return Ok(Vec::new());
    }
    let times = sampled.times(direction);
    let pair = |row: &usize| Some((times[*row], fitted.at(sampled.row(*row))?));
    Ok(asked.iter().filter_map(pair).filter(|(_, said)| *said > 0.0).collect())
}

fn grouped(
    recipe: Recipe,
    sampled: &Sampled,
    direction: Direction,
    progress: &mut dyn Progress,
) -> Result<Pairs, LearnError> {
    let mut pairs = Vec::with_capacity(sampled.len());
    for fold in 0..FOLDS {
        let (_, asked) = folds::split(&sampled.folds, fold);
        if !asked.is_empty() {
            pairs.extend(held_out(recipe, sampled, direction, |row| sampled.folds[row] == fold, progress)?);
        }
    }
    Ok(pairs)
}

fn logarithms(pairs: &Pairs) -> Vec<f64> {
    pairs.iter().map(|(measured, said)| math::ln(said / measured)).collect()
}

/// The median of absolute errors, in per cent.
fn median_percent(pairs: &Pairs) -> Option<f64> {
    let mut errors: Vec<f64> = pairs.iter().map(|(measured, said)| (said / measured - 1.0).abs() * 100.0).collect();
    math::median(&mut errors)
}

impl Library {
    /// Errors of a regressor where it had not seen the answer. Returns an error if there are too few rows.
    pub(super) fn validate(&self, regressor: u32, progress: &mut dyn Progress) -> Result<Validation, LearnError> {
        let (Some(sampled), Some(target)) = (self.sampled(regressor), self.target(regressor)) else {
            return Ok(Validation::default());
        };
        if sampled.len() < FOLDS || *target == RegressorTarget::Wire {
            return Ok(Validation::default());
        }
        let direction = self.direction(regressor);
        let recipe = self.recipe(regressor, progress)?;
        let of_collective = matches!(target, RegressorTarget::Collective { .. });
        let trivial = if of_collective { Recipe::Straight } else { Recipe::Power };
        let within = grouped(recipe, sampled, direction, progress)?;
        let trivial = grouped(trivial, sampled, direction, progress)?;
        let mut beyond = Vec::new();
        for (input, (name, values)) in sampled.inputs().enumerate().filter(|(_, (_, values))| values.len() > 1) {
            let out =
                if matches!(name, "mp" | "nodes" | "per_node") { values.len() - 1 } else { values.len().div_ceil(4) };
            let from = values[values.len() - out];
            let is_out = |row: usize| sampled.row(row).inputs[input] >= from;
            beyond.extend(held_out(recipe, sampled, direction, is_out, progress)?);
        }
        if of_collective && self.mode() == Mode::Default {
            beyond.extend(self.other_communicators(regressor));
        }
        Ok(Validation {
            score: Score {
                grouped_percent: metrics::mean_absolute_percentage_error(&within),
                trivial_percent: metrics::mean_absolute_percentage_error(&trivial),
                beyond_percent: median_percent(&beyond),
            },
            within: logarithms(&within),
            beyond: logarithms(&beyond),
        })
    }

    /// Errors of a model that was trained elsewhere, over rows spread over all samples; without figures.
    pub(super) fn against_samples(&self, regressor: u32, model: &Model) -> Validation {
        /// The number of rows that suffice for an interval.
        const ROWS: usize = 500;
        let Some(sampled) = self.sampled(regressor) else { return Validation::default() };
        let times = sampled.times(self.direction(regressor));
        let step = (sampled.len() / ROWS).max(1);
        let pair = |row: usize| Some((*times.get(row)?, model.at(sampled.row(row))?));
        let pairs: Pairs = (0..sampled.len()).step_by(step).filter_map(pair).filter(|(_, said)| *said > 0.0).collect();
        Validation { within: logarithms(&pairs), ..Validation::default() }
    }

    /// Times of a collective as they would be said if these GPUs had not been sampled, at some of its sizes.
    fn other_communicators(&self, regressor: u32) -> Pairs {
        let (Some(sampled), Some(RegressorTarget::Collective { name, communicator: Some(communicator) })) =
            (self.sampled(regressor), self.target(regressor))
        else {
            return Vec::new();
        };
        let step = (sampled.len() / 50).max(1);
        let times = sampled.times(Direction::Forward);
        let said = |row: usize| {
            let elements = sampled.row(row).features.first().copied()? as u64;
            let said = self.curve_without(Some(regressor), name, elements, *communicator)?;
            Some((times[row], said.time_us))
        };
        (0..sampled.len()).step_by(step).filter_map(said).collect()
    }

    /// The error figures of a regressor, if they were computed.
    pub fn score(&self, regressor: u32) -> Option<Score> {
        self.validation(regressor).map(|validation| validation.score)
    }
}

/// Errors of held-out values of one input, as they are compared between implementations: of rows whose input is above
/// a value, learnt from the others. Measured and predicted times.
///
/// # Errors
/// Returns an error if there are too few rows.
pub fn beyond(
    library: &Library,
    regressor: u32,
    input: &str,
    above: f64,
    progress: &mut dyn Progress,
) -> Result<Vec<(f64, f64)>, LearnError> {
    let Some(sampled) = library.sampled(regressor) else { return Ok(Vec::new()) };
    let Some(column) = sampled.inputs().position(|(name, _)| name == input) else { return Ok(Vec::new()) };
    let recipe = library.recipe(regressor, progress)?;
    let direction = library.direction(regressor);
    held_out(recipe, sampled, direction, |row| sampled.row(row).inputs[column] > above, progress)
}
