//! What leaves: predictions as CSV, trees as a model of XGBoost.

use serde::{Deserialize, Serialize};

use super::{
    features::{self, Settings, chosen},
    kernel::{Dataset, Kernel},
    models::{Columns, Kind, Predicted, boosted},
};
use crate::{
    learn::{LearnError, xgboost},
    progress::Progress,
    text::{Cell, Table, json},
};

/// A text to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// A name for it.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// Every kernel with what is said of it out of fold: a kernel that overlaps nothing takes as long as alone.
#[must_use]
pub fn predictions(dataset: &Dataset, kind: Kind, said: &[Option<Predicted>]) -> File {
    let mut table = Table::new([
        "line",
        "kernel",
        "ground_truth_ns",
        "overlap_ratio",
        "duration_ns",
        "slowdown",
        "predicted_slowdown",
        "predicted_duration_ns",
        "error_pct",
    ]);
    let mut overlapped = said.iter();
    for kernel in &dataset.kernels {
        let said = if kernel.is_overlapped() {
            overlapped.next().copied().flatten()
        } else {
            Some(Predicted { slowdown: 0.0, ratio: 1.0 })
        };
        let duration = said.map(|said| said.ratio * kernel.alone_ns);
        table.push(vec![
            kernel.line.into(),
            kernel.name.as_str().into(),
            Cell::Number(kernel.alone_ns, 0),
            Cell::Number(kernel.overlap_ratio, 6),
            Cell::Number(kernel.duration_ns, 0),
            Cell::Number(kernel.slowdown(), 6),
            Cell::number(said.map(|said| said.slowdown), 6),
            Cell::number(duration, 1),
            Cell::number(duration.map(|duration| (duration / kernel.duration_ns - 1.0) * 100.0), 3),
        ]);
    }
    File { name: format!("overlap_predictions_{}.csv", kind.name()), text: table.to_csv() }
}

/// The trees of one of the two presets, fitted to the whole run, as the JSON of XGBoost's `save_model`. Those of least
/// absolute deviation predict ln(duration / alone).
///
/// # Errors
/// There are too few kernels.
pub fn trees(
    dataset: &Dataset,
    settings: &Settings,
    kind: Kind,
    progress: &mut dyn Progress,
) -> Result<File, LearnError> {
    let chosen = chosen(dataset, settings);
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let is_published = kind == Kind::TreesPublished;
    let kernels: Vec<&Kernel> = dataset.kernels.iter().filter(|k| is_published || k.is_overlapped()).collect();
    let kind = if is_published { kind } else { Kind::TreesLad };
    let boosting = boosted(kind, columns, &kernels, progress)?;
    let (table, predicts) = if is_published {
        (
            features::published(columns.names, columns.chosen, &[]),
            "slowdown: duration = ground_truth * (1 + overlap_ratio * max(0, prediction))",
        )
    } else {
        (
            features::relative(columns.names, columns.chosen, &[]),
            "ln(duration / ground_truth): duration = ground_truth * exp(prediction)",
        )
    };
    let features = table.names().iter().map(ToString::to_string).collect();
    let attributes = [("predicts", predicts.to_owned()), ("made_by", "collectune".to_owned())];
    let model = xgboost::write(&xgboost::Model { features, boosting }, &attributes);
    Ok(File { name: format!("overlap_{}.xgboost.json", kind.name()), text: json::compact(&model) + "\n" })
}
