//! Calibration on measured steps: coefficients of what a step is made of, and how well they serve steps and models that
//! they have not seen.

mod views;

use serde::{Deserialize, Serialize};

use super::{
    catalogue::Catalogue,
    prediction::{Regressors, TAILS},
    run::{Model, Run},
    step::{self, Component, Mode, Plan, Step, StepError},
};
use crate::{
    learn::nnls::non_negative,
    math::{Stream, ascending, ln, quantile},
    order::CompactSort,
    units::count,
};

/// The number of folds of a repeat.
pub const FOLDS: usize = 5;
/// The number of repeats, each with its own folds.
pub const REPEATS: u64 = 5;
/// The most groups of models that are left out, one after the other: a group is one model as long as there are fewer.
const MOST_GROUPS: usize = 64;

/// A training step that was measured: the run and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The run that was measured.
    pub run: Run,
    /// The time of a step in µs.
    pub time_us: f64,
}

/// The factors by which the parts of a step are multiplied, and a constant that is added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// The factor of the pipeline.
    pub pipeline: f64,
    /// The factor of the exchange of gradients and parameters.
    pub exchange: f64,
    /// The factor of the optimizer.
    pub optimizer: f64,
    /// µs per pass of a layer, of which there are (m + pp − 1) · the most layers of a stage: launches.
    pub pass_us: f64,
    /// µs per slot of the pipeline, of which there are m + pp − 1.
    pub slot_us: f64,
    /// The constant in µs per step.
    pub constant_us: f64,
}

impl Default for Coefficients {
    /// The coefficients that leave a prediction unchanged.
    fn default() -> Self {
        Self { pipeline: 1.0, exchange: 1.0, optimizer: 1.0, pass_us: 0.0, slot_us: 0.0, constant_us: 0.0 }
    }
}

/// The number of coefficients that are fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Terms {
    /// Coefficients of the pipeline, the exchange, the optimizer and the passes of layers.
    #[default]
    Four,
    /// Those four, a coefficient of the slots, and a constant.
    Six,
}

impl Terms {
    const fn count(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Six => 6,
        }
    }
}

/// The terms by which the coefficients are multiplied, in the same order.
fn terms(plan: &Plan, step: &Step) -> [f64; 6] {
    let slots = f64::from(plan.run.micro_batches) + f64::from(plan.run.layout.pipeline) - 1.0;
    let layers = plan.stages.iter().fold(0.0, |most: f64, stage| most.max(stage.layers));
    [step.pipeline_us, step.exchange_us, step.optimizer_us, slots * layers, slots, 1.0]
}

impl Coefficients {
    fn from_slice(values: &[f64]) -> Self {
        let of = |at: usize| values.get(at).copied().unwrap_or(0.0);
        Self { pipeline: of(0), exchange: of(1), optimizer: of(2), pass_us: of(3), slot_us: of(4), constant_us: of(5) }
    }

    const fn values(&self) -> [f64; 6] {
        [self.pipeline, self.exchange, self.optimizer, self.pass_us, self.slot_us, self.constant_us]
    }

    fn of_terms(&self, terms: &[f64; 6]) -> f64 {
        self.values().iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum()
    }

    /// The calibrated time of a step in µs.
    pub fn total(&self, plan: &Plan, step: &Step) -> f64 {
        self.of_terms(&terms(plan, step))
    }

    /// The step with every time multiplied, and with what is added as its overhead.
    pub fn apply(&self, plan: &Plan, step: &Step) -> Step {
        let [.., passes, slots, one] = terms(plan, step);
        let mut calibrated = step.clone();
        calibrated.total_us = self.total(plan, step);
        calibrated.pipeline_us *= self.pipeline;
        calibrated.exchange_us *= self.exchange;
        calibrated.optimizer_us *= self.optimizer;
        calibrated.components = Component::ALL.into_iter().fold(step::Times::default(), |mut times, component| {
            let factor = match component {
                Component::GradientAllReduce | Component::AllGather => self.exchange,
                Component::Optimizer => self.optimizer,
                _ => self.pipeline,
            };
            times.add(component, step.components.of(component) * factor);
            times
        });
        let overhead = self.pass_us * passes + self.slot_us * slots + self.constant_us * one;
        calibrated.components.add(Component::Overhead, overhead);
        for stage in &mut calibrated.stages {
            stage.forward_us *= self.pipeline;
            stage.backward_us *= self.pipeline;
            stage.all_reduce_us *= self.exchange;
            stage.all_gather_us *= self.exchange;
            stage.optimizer_us *= self.optimizer;
        }
        calibrated
    }
}

/// The accuracy of predictions for steps that were not used to fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Mean absolute percentage error, in per cent.
    pub mape: f64,
    /// Spearman's rank correlation, from -1 to 1.
    pub spearman: f64,
    /// The excess time of the layout that is ranked first over the best measured one, in per cent, on average over
    /// groups of equal GPU count, hidden size, layers and global batch.
    pub regret: f64,
}

/// A calibration and its cross-validated accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The number of coefficients that were fitted.
    pub terms: Terms,
    /// The coefficients fitted to all steps.
    pub coefficients: Coefficients,
    /// The number of steps to which the coefficients were fitted, without those left out.
    pub steps: usize,
    /// The steps that can't be predicted, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// The scores without any calibration.
    pub uncalibrated: Scores,
    /// Over five repeats of five folds: the mean, and the errors of the best and the worst repeat.
    pub cross_validated: Scores,
    /// MAPE of the best and the worst repeat, in %.
    pub repeats: [f64; 2],
    /// Each model predicted by the coefficients of the others; `None` for one model.
    pub unseen_model: Option<Scores>,
    /// The share of the measured steps that lie in the intervals which the residuals of other folds make, in %.
    pub coverage: f64,
    /// ln(predicted ÷ measured) of each step by coefficients that have not seen it, in the order of the steps.
    pub residuals: Vec<f64>,
    /// The same by the coefficients of other models; empty for one model.
    pub unseen_residuals: Vec<f64>,
    /// The share of the steps that lie in the intervals which those of other models make, in %.
    pub unseen_coverage: Option<f64>,
    /// ln(predicted ÷ measured) of each step, without any calibration.
    pub plain_residuals: Vec<f64>,
    /// The share of the steps that lie in the intervals which these make: of other folds, and of other models; in %.
    pub plain_coverage: (f64, Option<f64>),
    /// The measured models: hidden size, layers, heads, sequence length.
    pub models: Vec<(u32, u32, u32, u32)>,
    /// Measured and predicted times in µs, the latter by coefficients that have not seen it.
    pub points: Vec<(f64, f64)>,
}

/// How a calibration applies to one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// Those that change nothing where the calibration is not used.
    pub coefficients: Coefficients,
    /// ln(predicted ÷ measured) of the measured steps as this model is predicted: calibrated or not, by coefficients
    /// that have seen it or not.
    pub residuals: Vec<f64>,
    /// The share of measured steps that lie within intervals of such residuals, in per cent; `None` if there is
    /// nothing to derive it from.
    pub held_percent: Option<f64>,
    /// Whether the model is among the measured ones.
    pub is_seen: bool,
    /// Whether the coefficients improve predictions for models of this kind.
    pub helps: bool,
    /// Whether the coefficients are used.
    pub is_used: bool,
}

impl Calibration {
    /// How the calibration applies to a model. Coefficients that make predictions for such models worse, or of which
    /// this is unknown, are used only if `anyway` is set.
    pub fn applied(&self, model: &Model, anyway: bool) -> Applied {
        let is_seen = self.models.contains(&key(model));
        let (scores, residuals, held) = if is_seen {
            (Some(&self.cross_validated), &self.residuals, Some(self.coverage))
        } else {
            (self.unseen_model.as_ref(), &self.unseen_residuals, self.unseen_coverage)
        };
        let plain = &self.uncalibrated;
        // Among layouts of a model that was measured, their order counts as much.
        let helps = scores.is_some_and(|with| with.mape < plain.mape || is_seen && with.regret < plain.regret);
        let is_used = helps || anyway;
        if !is_used {
            let (by_folds, by_models) = self.plain_coverage;
            let held_percent = if is_seen { Some(by_folds) } else { by_models };
            let residuals = self.plain_residuals.clone();
            return Applied { residuals, held_percent, is_seen, ..Applied::default() };
        }
        let residuals = if residuals.is_empty() { &self.residuals } else { residuals };
        Applied {
            coefficients: self.coefficients,
            residuals: residuals.clone(),
            held_percent: held,
            is_seen,
            helps,
            is_used,
        }
    }
}

impl Applied {
    /// Intervals of its residuals hold about nine of ten measured steps: 85 to 95 %.
    pub fn is_interval(&self) -> bool {
        self.held_percent.is_some_and(|held| (85.0..=95.0).contains(&held))
    }
}

/// The reason why there is no calibration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrateError {
    /// Fewer layouts than can be learnt from; with the first steps that were left out, and why.
    #[error(
        "measured steps of {layouts} can be predicted; at least {least} are needed to calibrate{left_out}",
        layouts = count(*.0 as u64, "layout"),
        least = 2 * FOLDS,
        left_out = left_out_sentences(.1)
    )]
    TooFew(usize, Vec<(String, String)>),
}

fn left_out_sentences(left_out: &[(String, String)]) -> String {
    left_out.iter().map(|(step, why)| format!(". {step} is left out: {why}")).collect()
}

fn key(model: &Model) -> (u32, u32, u32, u32) {
    (model.hidden, model.layers, model.heads, model.sequence)
}

struct Row {
    terms: [f64; 6],
    time: f64,
    model: (u32, u32, u32, u32),
    contest: (u64, u32, u32, u64),
}

/// Calibrates on measured steps; `left_out` are those that were left out before, each with the reason.
///
/// # Errors
/// Returns an error if too few of them can be predicted.
pub fn calibrate(
    measured: &[Measured],
    mut left_out: Vec<(String, String)>,
    mode: Mode,
    how_many: Terms,
    catalogue: &Catalogue,
    regressors: &dyn Regressors,
) -> Result<Calibration, CalibrateError> {
    let mut rows = Vec::new();
    for step in measured {
        match row(step, mode, catalogue, regressors) {
            Ok(row) => rows.push(row),
            Err(error) => left_out.push((step.run.name.clone(), error.to_string())),
        }
    }
    let (layouts, kinds) = layouts(&rows);
    if kinds < 2 * FOLDS {
        /// The number of reasons that an error lists.
        const MOST_LISTED: usize = 2;
        left_out.truncate(MOST_LISTED);
        return Err(CalibrateError::TooFew(kinds, left_out));
    }
    let all: Vec<usize> = (0..rows.len()).collect();
    let fit = |learnt: &[usize]| fit(&rows, learnt, how_many);
    let repeats: Vec<(Vec<usize>, Vec<f64>)> = (0..REPEATS)
        .map(|repeat| {
            // Repeats of a layout are in one fold: with one of them seen, the others are no test.
            let of_layouts = folds(kinds, repeat);
            let folds: Vec<usize> = layouts.iter().map(|layout| of_layouts[*layout]).collect();
            let predicted = held_out(&rows, &folds, FOLDS, &fit);
            (folds, predicted)
        })
        .collect();
    let scored: Vec<Scores> = repeats.iter().map(|(_, predicted)| scores(&rows, predicted)).collect();
    let mean = |of: fn(&Scores) -> f64| scored.iter().map(of).sum::<f64>() / scored.len() as f64;
    let errors = |(ends, score): ([f64; 2], &Scores)| [ends[0].min(score.mape), ends[1].max(score.mape)];
    let (first_folds, first) = &repeats[0];
    let residuals_of = |predicted: &[f64]| -> Vec<f64> {
        rows.iter().zip(predicted).map(|(row, predicted)| ln(predicted / row.time)).collect()
    };
    let residuals = residuals_of(first);
    let mut models: Vec<_> = rows.iter().map(|row| row.model).collect();
    models.compact_sort();
    models.dedup();
    let groups = models.len().min(MOST_GROUPS);
    let by_model: Vec<usize> =
        rows.iter().map(|row| models.binary_search(&row.model).unwrap_or_default() % groups).collect();
    let unseen = (groups > 1).then(|| held_out(&rows, &by_model, groups, &fit));
    let unseen_residuals = unseen.as_deref().map(residuals_of).unwrap_or_default();
    let plain: Vec<f64> = rows.iter().map(|row| Coefficients::default().of_terms(&row.terms)).collect();
    let plain_residuals = residuals_of(&plain);
    let by_models = |residuals: &[f64]| (groups > 1).then(|| coverage(residuals, &by_model, groups));
    Ok(Calibration {
        terms: how_many,
        coefficients: fit(&all),
        steps: rows.len(),
        left_out,
        uncalibrated: scores(&rows, &plain),
        cross_validated: Scores {
            mape: mean(|score| score.mape),
            spearman: mean(|score| score.spearman),
            regret: mean(|score| score.regret),
        },
        repeats: scored.iter().fold([f64::MAX, 0.0], |ends, score| errors((ends, score))),
        unseen_model: unseen.map(|predicted| scores(&rows, &predicted)),
        coverage: coverage(&residuals, first_folds, FOLDS),
        unseen_coverage: by_models(&unseen_residuals),
        unseen_residuals,
        plain_coverage: (coverage(&plain_residuals, first_folds, FOLDS), by_models(&plain_residuals)),
        plain_residuals,
        models,
        points: rows.iter().zip(first).map(|(row, predicted)| (row.time, *predicted)).collect(),
        residuals,
    })
}

fn row(measured: &Measured, mode: Mode, catalogue: &Catalogue, regressors: &dyn Regressors) -> Result<Row, StepError> {
    let run = &measured.run;
    let plan = step::plan(run, mode, catalogue, regressors)?;
    let model = &run.model;
    Ok(Row {
        terms: terms(&plan, &plan.step()),
        time: measured.time_us,
        model: key(model),
        contest: (run.layout.gpus(), model.hidden, model.layers, run.global_batch()),
    })
}

/// The layout of each row, numbered as they occur, and how many there are. Steps whose terms are equal are repeats of
/// one.
fn layouts(rows: &[Row]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let bits = |row: usize| (rows[row].terms.map(f64::to_bits), row);
    order.compact_sort_by_key(|row| bits(*row));
    // The first row of each layout stands for it.
    let mut first = vec![0; rows.len()];
    for same in order.chunk_by(|a, b| bits(*a).0 == bits(*b).0) {
        same.iter().for_each(|row| first[*row] = same[0]);
    }
    let mut kinds = 0;
    let mut numbers = vec![0; rows.len()];
    for row in 0..rows.len() {
        if first[row] == row {
            numbers[row] = kinds;
            kinds += 1;
        } else {
            numbers[row] = numbers[first[row]];
        }
    }
    (numbers, kinds)
}

fn fit(rows: &[Row], learnt: &[usize], how_many: Terms) -> Coefficients {
    // Relative errors: each row by its measured time, which then is 1.
    let relative = |row: &usize| {
        let row = &rows[*row];
        row.terms[..how_many.count()].iter().map(|term| term / row.time).collect::<Vec<f64>>()
    };
    let matrix: Vec<Vec<f64>> = learnt.iter().map(relative).collect();
    Coefficients::from_slice(&non_negative(&matrix, &vec![1.0; learnt.len()], how_many.count()))
}

fn folds(rows: usize, repeat: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    Stream::new(repeat).shuffle(&mut order);
    let mut folds = vec![0; rows];
    order.iter().enumerate().for_each(|(place, row)| folds[*row] = place % FOLDS);
    folds
}

fn held_out(rows: &[Row], folds: &[usize], count: usize, fit: &dyn Fn(&[usize]) -> Coefficients) -> Vec<f64> {
    let mut predicted = vec![0.0; rows.len()];
    for fold in 0..count {
        let (seen, held) = crate::learn::folds::split(folds, fold);
        let coefficients = fit(&seen);
        held.into_iter().for_each(|row| predicted[row] = coefficients.of_terms(&rows[row].terms));
    }
    predicted
}

fn scores(rows: &[Row], predicted: &[f64]) -> Scores {
    let errors = rows.iter().zip(predicted).map(|(row, predicted)| (predicted / row.time - 1.0).abs());
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.compact_sort_by_key(|row| (rows[*row].contest, *row));
    let contests: Vec<&[usize]> = order.chunk_by(|a, b| rows[*a].contest == rows[*b].contest).collect();
    let regret = contests.iter().map(|contest| {
        let best = contest.iter().map(|row| rows[*row].time).fold(f64::MAX, f64::min);
        let first =
            contest.iter().min_by(|a, b| predicted[**a].total_cmp(&predicted[**b])).map_or(best, |row| rows[*row].time);
        (first / best - 1.0) * 100.0
    });
    Scores {
        mape: errors.sum::<f64>() / rows.len() as f64 * 100.0,
        spearman: spearman(&rows.iter().map(|row| row.time).collect::<Vec<_>>(), predicted),
        regret: regret.sum::<f64>() / contests.len() as f64,
    }
}

/// The share of residuals that lie between the quantiles of those of the other folds, in %.
fn coverage(residuals: &[f64], folds: &[usize], count: usize) -> f64 {
    let mut covered = 0;
    for fold in 0..count {
        let (others, own) = crate::learn::folds::split(folds, fold);
        let mut others: Vec<f64> = others.iter().map(|row| residuals[*row]).collect();
        ascending(&mut others);
        let [low, high] = TAILS.map(|share| quantile(&others, share).unwrap_or(0.0));
        covered += own.iter().filter(|row| residuals[**row] >= low && residuals[**row] <= high).count();
    }
    covered as f64 / residuals.len() as f64 * 100.0
}

/// Spearman's rank correlation: Pearson's of ranks, equal values sharing theirs.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.compact_sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|at| values[**at] == values[order[start]]).count();
        let rank = start as f64 + (equal - 1) as f64 / 2.0;
        order[start..start + equal].iter().for_each(|at| ranks[*at] = rank);
        start += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [1.5, 0.0, 1.5]);
    }
}
