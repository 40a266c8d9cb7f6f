//! A model of XGBoost that was dropped predicts the kernels of a run.

use super::{
    export::{OF_RATIOS, PREDICTS},
    kernel::{Dataset, Kernel, ratio},
    models::Predicted,
    read::STANDARD,
    result::{FeatureScaling, ImportedScores, Score},
};
use crate::{
    learn::{LearnError, Table, xgboost::Model},
    math::exp,
};

/// A dropped model with its file's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The name of the model's file.
    pub name: String,
    /// The trees with the names of their features and what the file says of them.
    pub model: Model,
}

/// The reason why a model can't be applied to a run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ImportedError {
    /// It wants a feature that the run does not have.
    #[error("{model} wants the feature {feature}, which {dataset} does not have")]
    Feature {
        /// The name of the model's file.
        model: String,
        /// The feature, named as in the model.
        feature: String,
        /// The run, named after its files.
        dataset: String,
    },
    /// Its features have no names, and are not those of the published model.
    #[error("{model} has {count} features without names; the published model has {}", STANDARD.len() + 1)]
    Unnamed {
        /// The name of the model's file.
        model: String,
        count: usize,
    },
    /// The trees can't be evaluated.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

/// The means and scales of scikit-learn's `StandardScaler`, which standardised the features of a model for its
/// training.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    pub name: String,
    /// Names of the features, in their order; empty where the file has none.
    pub features: Vec<String>,
    /// The mean that is subtracted from each feature.
    pub mean: Vec<f64>,
    /// The scale by which each feature is divided.
    pub scale: Vec<f64>,
}

impl Scaler {
    /// Reads `{"mean": [], "scale": []}` with an optional `features`. Names with a trailing `_`, as scikit-learn has
    /// them, are accepted, and so is `std` for the scale. Returns `None` if the JSON is something else. Returns the
    /// reason if the scaler can't be used; it completes a sentence that begins with the name of the file.
    pub fn read(value: &serde_json::Value, name: &str) -> Option<Result<Self, String>> {
        let key = |names: &[&str]| names.iter().find_map(|name| value.get(name));
        let (mean, scale) = (key(&["mean", "mean_"])?, key(&["scale", "scale_", "std", "std_"])?);
        let numbers = |value: &serde_json::Value| {
            let list = value.as_array()?.iter().map(|number| number.as_f64().filter(|number| number.is_finite()));
            list.collect::<Option<Vec<f64>>>()
        };
        let (Some(mean), Some(scale)) = (numbers(mean), numbers(scale)) else {
            return Some(Err("is a scaler whose mean or scale is no list of numbers".to_owned()));
        };
        let names = key(&["features", "feature_names_in_"]).and_then(serde_json::Value::as_array);
        let names = names.into_iter().flatten().filter_map(serde_json::Value::as_str).map(str::to_owned);
        let scaler = Self { name: name.to_owned(), features: names.collect(), mean, scale };
        let width = scaler.mean.len();
        if width == 0 || scaler.scale.len() != width {
            return Some(Err(format!("is a scaler with {width} means and {} scales", scaler.scale.len())));
        }
        if !scaler.features.is_empty() && scaler.features.len() != width {
            return Some(Err(format!("is a scaler with {width} means and {} features", scaler.features.len())));
        }
        if let Some(place) = scaler.scale.iter().position(|scale| *scale <= 0.0) {
            return Some(Err(format!("is a scaler whose scale {} is not above zero", scaler.scale[place])));
        }
        Some(Ok(scaler))
    }

    /// The scaler for a model with these features: by their names, in whatever order they stand here, or by their
    /// places where it has no names. `None` if it is for other features.
    pub fn of_features(&self, features: &[String]) -> Option<Self> {
        if self.mean.len() != features.len() {
            return None;
        }
        if self.features.is_empty() {
            return Some(self.clone());
        }
        let place = |feature: &String| self.features.iter().position(|name| name.eq_ignore_ascii_case(feature));
        let places = features.iter().map(place).collect::<Option<Vec<usize>>>()?;
        Some(Self {
            name: self.name.clone(),
            features: features.to_vec(),
            mean: places.iter().map(|place| self.mean[*place]).collect(),
            scale: places.iter().map(|place| self.scale[*place]).collect(),
        })
    }
}

impl Imported {
    /// The model's prediction for each kernel. A negative slowdown counts as none in durations. `scaler` must be given
    /// if `feed` requires one. Returns an error if the run lacks a feature.
    pub fn predict(
        &self,
        dataset: &Dataset,
        kernels: &[&Kernel],
        feed: FeatureScaling,
        scaler: Option<&Scaler>,
    ) -> Result<Vec<Predicted>, ImportedError> {
        let table = self.table(dataset, kernels, feed, scaler)?;
        let estimates = self.model.boosting.predict(&table)?;
        let predicted = |(kernel, estimates): (&&Kernel, f64)| {
            if self.is_of_ratios() {
                return Predicted::of_ratio(exp(estimates), kernel);
            }
            Predicted { slowdown: estimates, ratio: ratio(estimates.max(0.0), kernel.overlap_ratio) }
        };
        Ok(kernels.iter().zip(estimates).map(predicted).collect())
    }

    /// Whether the model predicts ln(duration / duration alone), according to the file; otherwise it predicts
    /// slowdowns.
    fn is_of_ratios(&self) -> bool {
        self.model.attributes.iter().any(|(name, text)| name == PREDICTS && text.starts_with(OF_RATIOS))
    }

    /// The model's features of kernels.
    fn table(
        &self,
        dataset: &Dataset,
        kernels: &[&Kernel],
        feed: FeatureScaling,
        scaler: Option<&Scaler>,
    ) -> Result<Table, ImportedError> {
        let names = self.features()?;
        let mut columns = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let values = values(dataset, name).ok_or_else(|| ImportedError::Feature {
                model: self.name.clone(),
                feature: name.clone(),
                dataset: dataset.name.clone(),
            })?;
            let given = scaler.and_then(|scaler| Some((*scaler.mean.get(place)?, *scaler.scale.get(place)?)));
            let scale = match feed {
                FeatureScaling::Raw => (0.0, 1.0),
                FeatureScaling::Standardised => standard(&dataset.kernels, &values),
                FeatureScaling::Scaled => given.unwrap_or((0.0, 1.0)),
            };
            columns.push((values, scale));
        }
        let mut table = Table::named(&names);
        for kernel in kernels {
            let row: Vec<f64> = columns.iter().map(|(value, (mean, by))| (value(kernel) - mean) / by).collect();
            table.push(&row);
        }
        Ok(table)
    }

    /// Its scores on the kernels that overlap, and whether it was trained on kernels of the run. Returns an error if
    /// the run lacks a feature.
    pub fn judge(&self, dataset: &Dataset, scaler: Option<&Scaler>) -> Result<ImportedScores, ImportedError> {
        let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
        let score = |feed| {
            let estimates = self.predict(dataset, &overlapped, feed, scaler)?;
            Ok::<_, ImportedError>(Score::of(&overlapped.iter().copied().zip(estimates).collect::<Vec<_>>()))
        };
        let all: Vec<&Kernel> = dataset.kernels.iter().collect();
        let mut trained_on_these = None;
        for feed in [FeatureScaling::Scaled, FeatureScaling::Raw, FeatureScaling::Standardised] {
            if trained_on_these.is_none() && (feed != FeatureScaling::Scaled || scaler.is_some()) {
                let table = self.table(dataset, &all, feed, scaler)?;
                trained_on_these = self.model.boosting.was_fitted_to_some_of(&table)?.then_some(feed);
            }
        }
        Ok(ImportedScores {
            name: self.name.clone(),
            raw: score(FeatureScaling::Raw)?,
            standardised: score(FeatureScaling::Standardised)?,
            scaled: scaler.map(|_| score(FeatureScaling::Scaled)).transpose()?.flatten(),
            scaler: scaler.map(|scaler| scaler.name.clone()),
            trained_on_rows: self.model.boosting.trained_on(),
            trained_on_these,
        })
    }

    /// Names of its features. Returns an error if the features have no names, and are not those of the published model.
    pub fn features(&self) -> Result<Vec<String>, ImportedError> {
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

/// The function that computes a feature.
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

/// The mean and standard deviation of a feature over kernels.
fn standard(kernels: &[Kernel], value: &Value) -> (f64, f64) {
    let count = kernels.len().max(1) as f64;
    let mean = kernels.iter().map(value).sum::<f64>() / count;
    let variance = kernels.iter().map(|kernel| (value(kernel) - mean) * (value(kernel) - mean)).sum::<f64>() / count;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaler_with_names_is_put_into_the_order_of_the_model() {
        let json = serde_json::json!({ "features": ["a", "b", "c"], "mean": [1, 2, 3], "scale": [4, 5, 6] });
        let named = Scaler::read(&json, "s.json").unwrap().unwrap();
        let wanted = ["C", "a", "b"].map(str::to_owned);
        let ordered = named.of_features(&wanted).unwrap();
        assert_eq!((ordered.mean, ordered.scale), (vec![3.0, 1.0, 2.0], vec![6.0, 4.0, 5.0]));
        assert_eq!(named.of_features(&["a", "b", "d"].map(str::to_owned)), None);
        assert_eq!(named.of_features(&wanted[..2]), None);
        let unnamed = Scaler { features: Vec::new(), ..named };
        assert_eq!(unnamed.of_features(&wanted), Some(unnamed.clone()));
    }
}
