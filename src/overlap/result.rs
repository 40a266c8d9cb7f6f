//! The results of an overlap study.

use serde::{Deserialize, Serialize};

use super::{
    features::Settings,
    kernel::Kernel,
    merge::Merged,
    models::{Kind, Predicted},
    noise::Repeatability,
};
use crate::{
    learn::metrics,
    math::{ascending, quantile},
    plot::Chart,
    text::Listing,
    units::count,
};

/// The errors of predictions; shares and errors of durations are in per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Mean of |predicted − measured| ÷ measured, in per cent.
    pub mape_pct: f64,
    /// Σ |predicted − measured| ÷ Σ measured, in per cent.
    pub wape_pct: f64,
    /// Σ predicted ÷ Σ measured − 1, in per cent.
    pub total_error_pct: f64,
    /// The share of kernels with an error of at most 5 %, in per cent.
    pub within_5_pct: f64,
    /// The share of kernels with an error of at most 10 %, in per cent.
    pub within_10_pct: f64,
    /// The share of kernels with an error of at most 15 %, in per cent.
    pub within_15_pct: f64,
    /// Half of the kernels are off by at most this.
    pub p50_pct: f64,
    /// Nine of ten kernels are off by at most this.
    pub p90_pct: f64,
    /// 99 of 100 kernels are off by at most this.
    pub p99_pct: f64,
    /// The coefficient of determination of the slowdown s; no number where all slowdowns are the same.
    pub r2: f64,
    /// The mean absolute error of s.
    pub mae: f64,
    /// The root of the mean squared error of s.
    pub rmse: f64,
}

impl Score {
    /// The scores of predictions; `None` if there are none.
    pub fn of(pairs: &[(&Kernel, Predicted)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let duration = |(kernel, predicted): &(&Kernel, Predicted)| kernel.alone_ns * predicted.ratio;
        let error = |pair: &(&Kernel, Predicted)| (duration(pair) - pair.0.duration_ns).abs();
        let mut errors: Vec<f64> = pairs.iter().map(|pair| error(pair) / pair.0.duration_ns * 100.0).collect();
        ascending(&mut errors);
        let measured: f64 = pairs.iter().map(|(kernel, _)| kernel.duration_ns).sum();
        let predicted: f64 = pairs.iter().map(duration).sum();
        let within = |bound: f64| errors.iter().filter(|error| **error <= bound).count() as f64 / count * 100.0;
        let share = |share: f64| quantile(&errors, share).unwrap_or_default();
        let slowdowns: Vec<(f64, f64)> =
            pairs.iter().map(|(kernel, predicted)| (kernel.slowdown(), predicted.slowdown)).collect();
        let squares: f64 =
            slowdowns.iter().map(|(measured, estimates)| (measured - estimates) * (measured - estimates)).sum();
        Some(Self {
            mape_pct: errors.iter().sum::<f64>() / count,
            wape_pct: pairs.iter().map(error).sum::<f64>() / measured * 100.0,
            total_error_pct: (predicted / measured - 1.0) * 100.0,
            within_5_pct: within(5.0),
            within_10_pct: within(10.0),
            within_15_pct: within(15.0),
            p50_pct: share(0.5),
            p90_pct: share(0.9),
            p99_pct: share(0.99),
            r2: metrics::r2(&slowdowns).unwrap_or(f64::NAN),
            mae: metrics::mean_absolute_error(&slowdowns).unwrap_or_default(),
            rmse: (squares / count).sqrt(),
        })
    }

    /// A figure of each number's values over repeats.
    fn each(scores: &[Self], figure: impl Fn(&[f64]) -> f64) -> Self {
        let of = |number: fn(&Self) -> f64| figure(&scores.iter().map(number).collect::<Vec<f64>>());
        Self {
            mape_pct: of(|score| score.mape_pct),
            wape_pct: of(|score| score.wape_pct),
            total_error_pct: of(|score| score.total_error_pct),
            within_5_pct: of(|score| score.within_5_pct),
            within_10_pct: of(|score| score.within_10_pct),
            within_15_pct: of(|score| score.within_15_pct),
            p50_pct: of(|score| score.p50_pct),
            p90_pct: of(|score| score.p90_pct),
            p99_pct: of(|score| score.p99_pct),
            r2: of(|score| score.r2),
            mae: of(|score| score.mae),
            rmse: of(|score| score.rmse),
        }
    }

    /// The mean and the standard deviation of each number over repeats; a deviation of 0 for one.
    pub fn mean_and_spread(scores: &[Self]) -> Option<(Self, Self)> {
        if scores.is_empty() {
            return None;
        }
        let count = scores.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let spread = |values: &[f64]| {
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
            if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 }
        };
        Some((Self::each(scores, mean), Self::each(scores, spread)))
    }
}

/// The out-of-fold scores of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelScores {
    /// The model whose scores these are.
    pub kind: Kind,
    /// The scores of each complete repeat of the folds by kernels.
    pub repeats: Vec<Score>,
    /// The mean of `repeats`; `None` before the first is complete.
    pub mean: Option<Score>,
    /// The standard deviation of `repeats`; `None` before the first is complete.
    pub spread: Option<Score>,
    /// By folds of kernel names, when all are there: each name was never seen.
    pub unseen_names: Option<Score>,
    /// Too few different kernels are left to learn from when some are held out: there will be no score.
    pub is_impossible: bool,
}

/// How the features of a dropped model are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureScaling {
    /// Not scaled, as in the published predictor.
    Raw,
    /// To mean 0 and deviation 1 over all kernels of the run, nearly as the published training feeds them.
    Standardised,
    /// By the scaler that was dropped with the model.
    Scaled,
}

impl FeatureScaling {
    /// A phrase to follow the word features.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Raw => "as they are",
            Self::Standardised => "standardised",
            Self::Scaled => "by the scaler",
        }
    }
}

/// The accuracy of a dropped model on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedScores {
    /// The name of the model's file.
    pub name: String,
    /// The scores where features are fed as the profiler measured them, unscaled.
    pub raw: Option<Score>,
    /// The scores with features that are standardised over the run.
    pub standardised: Option<Score>,
    /// The scores with features scaled by the scaler.
    pub scaled: Option<Score>,
    /// The name of the scaler's file.
    pub scaler: Option<String>,
    /// The number of rows on which it was trained, according to its trees.
    pub trained_on_rows: Option<u64>,
    /// The scaling with which the training rows are among these kernels, so that its error says nothing about other
    /// kernels. `None` if they are not, or that is unknown.
    pub trained_on_these: Option<FeatureScaling>,
}

impl ImportedScores {
    /// Whether its predictions are too large for slowdowns, whatever its features are scaled by.
    fn is_of_another_target(&self) -> bool {
        /// How far the sum of predicted durations is beyond that of the measured ones, in per cent.
        const BEYOND_PCT: f64 = 900.0;
        let scores = [self.raw, self.standardised, self.scaled];
        let least_pct = scores.iter().flatten().map(|score| score.total_error_pct).reduce(f64::min);
        least_pct.is_some_and(|pct| pct > BEYOND_PCT)
    }

    /// What the scores are worth, as a clause: whether these kernels were in its training.
    pub fn sentence(&self) -> String {
        if self.is_of_another_target() {
            return format!(
                "the durations that follow from {} are more than ten times the measured ones: it was probably trained on \
                 something else than the slowdown, (duration ÷ duration alone − 1) ÷ overlap ratio",
                self.name
            );
        }
        let name = &self.name;
        let rows = self.trained_on_rows.map_or_else(String::new, |rows| format!("{rows} of "));
        if let Some(feed) = self.trained_on_these {
            return format!(
                "{name} was trained on {rows}these kernels, features {}: its error on them says nothing about new kernels",
                feed.words()
            );
        }
        let rows = self.trained_on_rows.map_or_else(String::new, |rows| format!(", which had {}", count(rows, "row")));
        let scaler = match &self.scaler {
            Some(_) => String::new(),
            None => "; if its features were standardised for the training, give the scaler beside it, as JSON: \
                     {\"mean\": […], \"scale\": […]}"
                .to_owned(),
        };
        format!(
            "nothing tells whether these kernels were in the training of {name}{rows}: if they were, its error says nothing about \
             new kernels{scaler}"
        )
    }
}

/// The outcome of the comparison of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The model to use; [`Kind::NoSlowdown`] if none is better than that.
    pub model: Kind,
    /// Models were compared; else there are too few kernels to hold some out.
    pub is_compared: bool,
    /// Why this model, and what would help, a whole sentence each.
    pub sentences: Vec<String>,
}

/// The model whose predictions are listed and drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShownPredictions {
    /// The out-of-fold predictions of a model.
    Model(Kind),
    /// The predictions of a dropped model.
    Imported {
        /// The index of the model in [`OverlapOverview::models`].
        model: u32,
        /// How its features are scaled before it is asked.
        feed: FeatureScaling,
    },
}

/// A loaded run, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The names of the files that hold the run.
    pub name: String,
    /// The number of its kernels, those without overlap included.
    pub kernels: u64,
    /// The number of kernels that overlap communication.
    pub overlapped: u64,
    /// The number of different names among those.
    pub names: u64,
}

/// The result of a study before any training.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlapOverview {
    /// All runs, in the order of [`Settings::dataset`].
    pub runs: Vec<Run>,
    /// The settings of the study that this is the result of.
    pub settings: Settings,
    /// The columns of the run, and whether models use them.
    pub columns: Vec<(String, bool)>,
    /// The names of its kernels that overlap communication.
    pub names: Vec<String>,
    /// How statistics and metrics were joined, by the name of the run.
    pub merged: Vec<(String, Merged)>,
    /// The findings of the checks, in words.
    pub checks: Vec<String>,
    /// What the report says about the files, a sentence each.
    pub notes: Vec<String>,
    /// The pairs of runs of the same program.
    pub repeatability: Vec<Repeatability>,
    /// Names of the models that were dropped, and whether each has a scaler.
    pub models: Vec<(String, bool)>,
    /// The dropped models that can be applied to the run.
    pub imported: Vec<ImportedScores>,
    /// The dropped models as a table.
    pub imported_listing: Listing,
    /// The run in the encoding that [`do_jobs`](super::study::do_jobs) takes.
    pub run: Vec<u8>,
    /// The expected duration of each job relative to the others. The index is the number of the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which results can be shown.
    pub rounds: Vec<Vec<u32>>,
    /// The results of the models that need no training.
    pub results: Results,
}

/// The comparison of the models that are trained so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Scores of each model; without a mean where folds are missing.
    pub models: Vec<ModelScores>,
    /// A row for each model, with its scores.
    pub listing: Listing,
    /// The model to use; `None` if no kernel overlaps.
    pub verdict: Option<Verdict>,
    /// The model whose predictions follow; `None` if there are none.
    pub shown: Option<ShownPredictions>,
    /// A table of the kernel names.
    pub names: Listing,
    /// A chart of predicted over measured slowdowns.
    pub predicted_over_measured: Option<Chart>,
    /// A chart of the errors of durations, with those of predicting no slowdown.
    pub errors: Option<Chart>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_without_scores_is_not_called_one_of_something_else() {
        let judged = ImportedScores {
            name: "model.json".to_owned(),
            raw: None,
            standardised: None,
            scaled: None,
            scaler: None,
            trained_on_rows: None,
            trained_on_these: None,
        };
        assert!(judged.sentence().starts_with("nothing tells whether"), "{}", judged.sentence());
    }
}
