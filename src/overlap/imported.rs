//! A model of XGBoost that was dropped predicts the kernels of a run.

use serde::{Deserialize, Serialize};

use super::{
    kernel::{Dataset, Kernel, ratio},
    models::Predicted,
    read::STANDARD,
    result::Score,
};
use crate::learn::{LearnError, Table, xgboost::Model};

/// A model with its file's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The file's name.
    pub name: String,
    /// The model.
    pub model: Model,
}

/// Why a model does not fit a run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ImportedError {
    /// It wants a feature that the run does not have.
    #[error("{model} wants the feature {feature}, which {dataset} does not have")]
    Feature {
        /// The model's file.
        model: String,
        /// The feature.
        feature: String,
        /// The run.
        dataset: String,
    },
    /// Its features have no names, and are not those of the published model.
    #[error("{model} has {count} features without names; the published model has {}", STANDARD.len() + 1)]
    Unnamed {
        /// The model's file.
        model: String,
        /// How many features.
        count: usize,
    },
    /// What the trees say.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

/// How a model does on a run, its features as they are and standardised over all kernels of the run. Of what it was
/// trained on nothing is known: the run may be in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The model's file.
    pub name: String,
    /// Features as they are, as the published predictor feeds them.
    pub raw: Option<Score>,
    /// Features with mean 0 and deviation 1, as the published training feeds them.
    pub standardised: Option<Score>,
}

impl Imported {
    /// What the model says of each kernel's slowdown: negative ones count as none in durations.
    ///
    /// # Errors
    /// The run lacks a feature.
    pub fn predict(
        &self,
        dataset: &Dataset,
        kernels: &[&Kernel],
        standardise: bool,
    ) -> Result<Vec<Predicted>, ImportedError> {
        let names = self.features()?;
        let mut columns = Vec::new();
        for name in &names {
            let values = values(dataset, name).ok_or_else(|| ImportedError::Feature {
                model: self.name.clone(),
                feature: name.clone(),
                dataset: dataset.name.clone(),
            })?;
            let scale = if standardise { standard(&dataset.kernels, &values) } else { (0.0, 1.0) };
            columns.push((values, scale));
        }
        let mut table = Table::named(&names);
        for kernel in kernels {
            let row: Vec<f64> = columns.iter().map(|(value, (mean, by))| (value(kernel) - mean) / by).collect();
            table.push(&row);
        }
        let said = self.model.boosting.predict(&table)?;
        let clipped = |(kernel, slowdown): (&&Kernel, f64)| Predicted {
            slowdown,
            ratio: ratio(slowdown.max(0.0), kernel.overlap_ratio),
        };
        Ok(kernels.iter().zip(said).map(clipped).collect())
    }

    /// Its scores on the kernels that overlap.
    ///
    /// # Errors
    /// The run lacks a feature.
    pub fn judge(&self, dataset: &Dataset) -> Result<Judged, ImportedError> {
        let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
        let score = |standardise| {
            let said = self.predict(dataset, &overlapped, standardise)?;
            Ok::<_, ImportedError>(Score::of(&overlapped.iter().copied().zip(said).collect::<Vec<_>>()))
        };
        Ok(Judged { name: self.name.clone(), raw: score(false)?, standardised: score(true)? })
    }

    fn features(&self) -> Result<Vec<String>, ImportedError> {
        if !self.model.features.is_empty() {
            return Ok(self.model.features.clone());
        }
        let count = self.model.boosting.width();
        if count != STANDARD.len() + 1 {
            return Err(ImportedError::Unnamed { model: self.name.clone(), count });
        }
        let metrics = STANDARD.iter().map(|(name, _)| (*name).to_owned());
        Ok(std::iter::once("ground_truth".to_owned()).chain(metrics).collect())
    }
}

type Value = Box<dyn Fn(&Kernel) -> f64>;

/// A feature by its name.
fn values(dataset: &Dataset, name: &str) -> Option<Value> {
    match name {
        "ground_truth" => Some(Box::new(|kernel| kernel.alone_ns)),
        "ln(ground_truth)" => Some(Box::new(|kernel| crate::math::ln(kernel.alone_ns))),
        "overlap_ratio" => Some(Box::new(|kernel| kernel.overlap_ratio)),
        _ => {
            let column = dataset.columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
            Some(Box::new(move |kernel| kernel.metrics[column]))
        }
    }
}

/// Mean and deviation over kernels.
fn standard(kernels: &[Kernel], value: &Value) -> (f64, f64) {
    let count = kernels.len().max(1) as f64;
    let mean = kernels.iter().map(value).sum::<f64>() / count;
    let variance = kernels.iter().map(|kernel| (value(kernel) - mean) * (value(kernel) - mean)).sum::<f64>() / count;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}
