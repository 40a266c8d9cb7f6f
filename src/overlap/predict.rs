//! Prediction of a single kernel.

use serde::{Deserialize, Serialize};

use super::{
    checks::is_share,
    kernel::{Dataset, Kernel},
    models::{Columns, Kind, Model},
    result::Score,
    validate::OutOfFold,
};
use crate::{
    learn::{LearnError, conformal},
    math::{exp, ln},
    order::CompactSort,
    units::{percent, significant, with_minus},
};

/// A kernel whose duration beside a collective is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelQuery {
    /// The kernel's name, which need not be among the measured ones.
    pub name: String,
    /// The duration in ns without communication beside it.
    pub alone_ns: f64,
    /// The share of its duration that will overlap communication, from 0 to 1.
    pub overlap_ratio: f64,
    /// A number per column of the run; what is missing is taken from the nearest name, or the median of all.
    pub metrics: Vec<Option<f64>>,
    /// By which model; `None` for the one of the verdict.
    pub model: Option<Kind>,
}

/// The predicted duration of a kernel beside a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelPrediction {
    /// The model by which the slowdown is predicted.
    pub model: Kind,
    /// The slowdown s: duration = duration alone · (1 + overlap ratio · s).
    pub slowdown: f64,
    /// The duration at the same time as the collective.
    pub duration_ns: f64,
    /// The lower end of the 90 % prediction interval of the duration.
    pub low_ns: Option<f64>,
    /// The upper end of that interval.
    pub high_ns: Option<f64>,
    /// Whether no kernel of this name was measured.
    pub is_unseen: bool,
    /// The indices of the nearest measured kernels, nearest first.
    pub nearest: Vec<u32>,
    /// What weakens the prediction, a sentence each.
    pub notes: Vec<String>,
}

impl KernelPrediction {
    /// The prediction in sentences, the duration first.
    pub fn sentences(&self) -> Vec<String> {
        let us = |ns: f64| format!("{} µs", significant(ns / 1000.0));
        let interval = match (self.low_ns, self.high_ns) {
            (Some(low), Some(high)) => {
                format!("; nine of ten such kernels take from {} to {}", us(low), us(high))
            }
            _ => String::new(),
        };
        let slowdown = percent(self.slowdown * 100.0);
        let first = format!(
            "It will take {}{interval}. The slowdown of the part that overlaps is {slowdown}, by: {}.",
            us(self.duration_ns),
            self.model.title()
        );
        std::iter::once(first).chain(self.notes.iter().map(|note| format!("{note}."))).collect()
    }
}

/// The reason why a kernel can't be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// A number is out of range.
    #[error("{what} is {}; it must be {expected}", written(*value))]
    Range {
        /// The number's name, as the form calls it.
        what: String,
        /// The value that was entered.
        value: f64,
        /// The valid range, as a phrase.
        expected: String,
    },
    /// The number of metrics differs from that of the run.
    #[error("there are {found} metrics, and {expected} are needed")]
    Metrics {
        /// The number of metrics that were entered.
        found: usize,
        /// The number of metrics of the run.
        expected: usize,
    },
    /// The model can't be fitted or evaluated.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

/// The share of kernels that a prediction interval is to hold.
pub const LEVEL: f64 = 0.9;
const NEAREST: usize = 5;
/// The longest duration of a kernel that is asked for, in ns: a day.
const LONGEST_NS: f64 = 8.64e13;

/// A number as it was typed; a very large one with an exponent.
fn written(value: f64) -> String {
    if value.abs() < 1e9 { with_minus(value.to_string()) } else { significant(value) }
}

impl KernelQuery {
    /// The question for a measured kernel with the model of the verdict.
    pub fn of(kernel: &Kernel) -> Self {
        Self {
            name: kernel.name.clone(),
            alone_ns: kernel.alone_ns,
            overlap_ratio: kernel.overlap_ratio,
            metrics: kernel.metrics.iter().copied().map(Some).collect(),
            model: None,
        }
    }

    /// The kernel to predict. Metrics that are not given are the medians of its name, or of all kernels.
    ///
    /// # Errors
    /// Returns [`PredictError::Range`] if a number is out of range.
    pub fn kernel(&self, dataset: &Dataset) -> Result<Kernel, PredictError> {
        let range = |what: &str, value: f64, is_in: bool, expected: &str| {
            let wrong = || PredictError::Range { what: what.to_owned(), value, expected: expected.to_owned() };
            if is_in { Ok(()) } else { Err(wrong()) }
        };
        let is_time = self.alone_ns > 0.0 && self.alone_ns <= LONGEST_NS;
        range("the duration alone in µs", self.alone_ns / 1000.0, is_time, "above 0 and at most a day")?;
        range("the overlap ratio", self.overlap_ratio, (0.0..=1.0).contains(&self.overlap_ratio), "from 0 to 1")?;
        let expected = dataset.columns.len();
        if self.metrics.len() != expected {
            return Err(PredictError::Metrics { found: self.metrics.len(), expected });
        }
        let is_known = dataset.kernels.iter().any(|kernel| kernel.name == self.name);
        let usual = |column: usize| {
            let like = dataset.kernels.iter().filter(|kernel| !is_known || kernel.name == self.name);
            crate::math::median(&mut like.map(|kernel| kernel.metrics[column]).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let mut metrics = Vec::new();
        for (column, value) in self.metrics.iter().enumerate() {
            let name = &dataset.columns[column];
            if let Some(given) = value.filter(|_| is_share(name)) {
                // Profilers count some shares above 100 %: what was measured may be asked for.
                let most = dataset.kernels.iter().map(|kernel| kernel.metrics[column]).fold(100.0, f64::max);
                range(name, given, (0.0..=most).contains(&given), &format!("from 0 to {}", written(most)))?;
            }
            let value = value.unwrap_or_else(|| usual(column));
            range(name, value, value.is_finite(), "a number")?;
            metrics.push(value);
        }
        Ok(Kernel {
            name: self.name.clone(),
            line: 0,
            alone_ns: self.alone_ns,
            // Nothing is measured: models don't look at it.
            duration_ns: self.alone_ns,
            overlap_ratio: self.overlap_ratio,
            metrics,
        })
    }
}

/// Predicts a kernel with a fitted model. The interval is made of the model's out-of-fold errors; for an unseen name,
/// of those on unseen names.
///
/// # Errors
/// Returns [`PredictError::Range`] if a number is out of range.
pub fn predict(
    dataset: &Dataset,
    chosen: &[usize],
    (kind, model): (Kind, &Model),
    estimates: Option<&OutOfFold>,
    question: &KernelQuery,
) -> Result<KernelPrediction, PredictError> {
    let kernel = question.kernel(dataset)?;
    let columns = Columns { names: &dataset.columns, chosen };
    let is_unseen = !dataset.overlapped().any(|measured| measured.name == kernel.name);
    let Some(predicted) = model.predict(columns, &[&kernel])?.first().copied() else {
        return Err(LearnError::TooFewRows { rows: 0, needed: 1 }.into());
    };
    let mut notes = Vec::new();
    if is_unseen {
        notes.push(
            "No kernel of this name was measured beside a collective: the interval is that of unseen names".to_owned(),
        );
    }
    let missing = question.metrics.iter().filter(|metric| metric.is_none()).count();
    if missing > 0 {
        notes.push(format!("{missing} metrics were not given: they are the medians of what was measured"));
    }
    let duration_ns = kernel.alone_ns * predicted.ratio;
    let width = estimates.and_then(|estimates| conformal::width(&mut errors(dataset, estimates, is_unseen), LEVEL));
    let factor = width.filter(|_| kernel.is_overlapped()).map(exp);
    Ok(KernelPrediction {
        model: kind,
        slowdown: predicted.slowdown,
        duration_ns,
        low_ns: factor.map(|factor| duration_ns / factor),
        high_ns: factor.map(|factor| duration_ns * factor),
        is_unseen,
        nearest: nearest(dataset, chosen, &kernel),
        notes,
    })
}

/// ln(predicted ÷ measured) of durations, out of fold.
fn errors(dataset: &Dataset, estimates: &OutOfFold, unseen: bool) -> Vec<f64> {
    let repeats: &[Vec<_>] = if unseen { std::slice::from_ref(&estimates.names) } else { &estimates.repeats };
    let of = |estimates: &Vec<Option<super::models::Predicted>>| {
        let pairs = dataset.overlapped().zip(estimates.clone());
        pairs
            .filter_map(|(kernel, estimates)| Some(ln(estimates?.ratio * kernel.alone_ns / kernel.duration_ns)))
            .filter(|error| error.is_finite())
            .collect::<Vec<f64>>()
    };
    repeats.iter().flat_map(of).collect()
}

/// The overlapped kernels that are nearest in what models are given, each feature by its deviation.
fn nearest(dataset: &Dataset, chosen: &[usize], kernel: &Kernel) -> Vec<u32> {
    let position = |kernel: &Kernel| {
        let metrics = chosen.iter().map(|column| kernel.metrics[*column]);
        metrics.chain([kernel.overlap_ratio, ln(kernel.alone_ns)]).collect::<Vec<f64>>()
    };
    let overlapped = dataset.kernels.iter().enumerate().filter(|(_, kernel)| kernel.is_overlapped());
    let measured: Vec<(usize, Vec<f64>)> = overlapped.map(|(index, kernel)| (index, position(kernel))).collect();
    let asked = position(kernel);
    let count = measured.len().max(1) as f64;
    let deviation = |feature: usize| {
        let mean = measured.iter().map(|(_, p)| p[feature]).sum::<f64>() / count;
        let variance = measured.iter().map(|(_, p)| (p[feature] - mean) * (p[feature] - mean)).sum::<f64>() / count;
        if variance > 0.0 { variance.sqrt() } else { 1.0 }
    };
    let deviations: Vec<f64> = (0..asked.len()).map(deviation).collect();
    let distance = |position: &[f64]| {
        let apart = position.iter().zip(&asked).zip(&deviations).map(|((a, b), deviation)| (a - b) / deviation);
        apart.map(|apart| apart * apart).sum::<f64>()
    };
    let mut by_distance: Vec<(f64, usize)> = measured.iter().map(|(index, p)| (distance(p), *index)).collect();
    by_distance.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    by_distance.into_iter().take(NEAREST).map(|(_, index)| index as u32).collect()
}

/// The score of a model on all kernels that overlap, whether it has seen them or not.
///
/// # Errors
/// Returns an error if the kernels have other metrics than those of the training.
pub fn score(dataset: &Dataset, chosen: &[usize], model: &Model) -> Result<Option<Score>, LearnError> {
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    let estimates = model.predict(Columns { names: &dataset.columns, chosen }, &overlapped)?;
    Ok(Score::of(&overlapped.into_iter().zip(estimates).collect::<Vec<_>>()))
}
