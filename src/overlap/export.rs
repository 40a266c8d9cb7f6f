//! Exports predictions as CSV and trees as a model of XGBoost.

use super::{
    features::{self, Settings, chosen},
    kernel::{Dataset, Kernel},
    models::{Columns, Kind, Predicted, boosted},
};
use crate::{
    learn::{LearnError, xgboost},
    progress::Progress,
    report::TextFile,
    text::{Cell, Table, json},
};

/// The attribute of an exported model that names the quantity it predicts.
pub(super) const PREDICTS: &str = "predicts";
/// The value of that attribute for models of ln(duration / duration alone).
pub(super) const OF_RATIOS: &str = "ln(duration / ground_truth)";

/// The reason why no trees can be saved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TreesError {
    /// The model, named here, is not one that XGBoost can represent.
    #[error("{0} can't be saved as a model of XGBoost: only boosted trees can, trees-lad and trees-published")]
    NoTrees(&'static str),
    /// There are too few kernels to learn from.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

/// Every kernel with its out-of-fold prediction; kernels without overlap are predicted to take as long as alone.
pub fn predictions(dataset: &Dataset, model: &str, estimates: &[Option<Predicted>]) -> TextFile {
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
    let mut overlapped = estimates.iter();
    for kernel in &dataset.kernels {
        let estimates = if kernel.is_overlapped() {
            overlapped.next().copied().flatten()
        } else {
            Some(Predicted { slowdown: 0.0, ratio: 1.0 })
        };
        let duration = estimates.map(|estimates| estimates.ratio * kernel.alone_ns);
        table.push(vec![
            kernel.line.into(),
            kernel.name.as_str().into(),
            Cell::Number(kernel.alone_ns, 0),
            Cell::Number(kernel.overlap_ratio, 6),
            Cell::Number(kernel.duration_ns, 0),
            Cell::Number(kernel.slowdown(), 6),
            Cell::number(estimates.map(|estimates| estimates.slowdown), 6),
            Cell::number(duration, 1),
            Cell::number(duration.map(|duration| (duration / kernel.duration_ns - 1.0) * 100.0), 3),
        ]);
    }
    TextFile { name: format!("overlap_predictions_{model}.csv"), text: table.to_csv(), ..TextFile::default() }
}

/// The trees of one of the two presets, fitted to the whole run, as the JSON of XGBoost's `save_model`. Those of least
/// absolute deviation predict ln(duration / alone). Returns an error if the model is no boosted trees, or there are too
/// few kernels.
pub fn trees(
    dataset: &Dataset,
    settings: &Settings,
    kind: Kind,
    progress: &mut dyn Progress,
) -> Result<TextFile, TreesError> {
    let chosen = chosen(dataset, settings);
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let is_published = match kind {
        Kind::TreesPublished => true,
        Kind::TreesLad => false,
        _ => return Err(TreesError::NoTrees(kind.title())),
    };
    let kernels: Vec<&Kernel> = dataset.kernels.iter().filter(|k| is_published || k.is_overlapped()).collect();
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
    let attribute = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let attributes = vec![attribute(PREDICTS, predicts), attribute("made_by", "collectune")];
    let model = xgboost::write(&xgboost::Model { features, boosting, attributes });
    Ok(TextFile {
        name: format!("overlap_{}.xgboost.json", kind.name()),
        text: json::compact(&model) + "\n",
        ..TextFile::default()
    })
}
