//! The features of a kernel that models use.

use serde::{Deserialize, Serialize};

use super::{
    kernel::{Dataset, Kernel},
    read::STANDARD,
};
use crate::{learn::Table, math::ln};

/// What is studied: a run, the columns to learn from, and the seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The index of the run among the loaded ones, from 0.
    pub dataset: u32,
    /// Names of the columns to learn from; `None` for the standard metrics, or all where a run has none of them.
    pub columns: Option<Vec<String>>,
    /// The seed of the folds, the forest and the perceptron.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { dataset: 0, columns: None, seed: 42 }
    }
}

/// The most columns that models use: with more, each job would take minutes, and there are few kernels to learn them
/// from.
pub const MOST_COLUMNS: usize = 128;

/// The columns of a dataset that models are given, by index: the first [`MOST_COLUMNS`] that [`choosable`] names.
pub fn chosen(dataset: &Dataset, settings: &Settings) -> Vec<usize> {
    let mut chosen = choosable(dataset, settings);
    chosen.truncate(MOST_COLUMNS);
    chosen
}

fn is_same(chosen: &str, name: &str) -> bool {
    chosen.trim().eq_ignore_ascii_case(name.trim())
}

/// Columns that are chosen and that the dataset does not have.
pub fn unknown<'a>(dataset: &Dataset, settings: &'a Settings) -> Vec<&'a str> {
    let is_there = |column: &str| dataset.columns.iter().any(|name| is_same(column, name));
    let chosen = settings.columns.iter().flatten().map(String::as_str);
    chosen.filter(|column| !column.trim().is_empty() && !is_there(column)).collect()
}

/// The columns of a dataset that are chosen and not constant over the kernels that overlap, by index.
pub fn choosable(dataset: &Dataset, settings: &Settings) -> Vec<usize> {
    let is_standard = |name: &String| STANDARD.iter().any(|(standard, _)| standard == name);
    let any_standard = dataset.columns.iter().any(is_standard);
    let is_chosen = |name: &String| match &settings.columns {
        Some(columns) => columns.iter().any(|column| is_same(column, name)),
        None => is_standard(name) || !any_standard,
    };
    let is_constant = |column: usize| {
        let mut values = dataset.overlapped().map(|kernel| kernel.metrics[column]);
        let first = values.next();
        values.all(|value| Some(value) == first)
    };
    (0..dataset.columns.len()).filter(|column| is_chosen(&dataset.columns[*column]) && !is_constant(*column)).collect()
}

/// Features of the published model: the duration alone in nanoseconds, then the metrics.
pub fn published(columns: &[String], chosen: &[usize], kernels: &[&Kernel]) -> Table {
    let names: Vec<String> =
        std::iter::once("ground_truth".to_owned()).chain(chosen.iter().map(|c| columns[*c].clone())).collect();
    table(&names, kernels, |kernel, row| {
        row.push(kernel.alone_ns);
        row.extend(chosen.iter().map(|column| kernel.metrics[*column]));
    })
}

/// Features to learn ln(duration / alone) from: the metrics, the overlap ratio, and ln of the duration alone.
pub fn relative(columns: &[String], chosen: &[usize], kernels: &[&Kernel]) -> Table {
    let further = ["overlap_ratio".to_owned(), "ln(ground_truth)".to_owned()];
    let names: Vec<String> = chosen.iter().map(|c| columns[*c].clone()).chain(further).collect();
    table(&names, kernels, |kernel, row| {
        row.extend(chosen.iter().map(|column| kernel.metrics[*column]));
        row.extend([kernel.overlap_ratio, ln(kernel.alone_ns)]);
    })
}

fn table(names: &[String], kernels: &[&Kernel], fill: impl Fn(&Kernel, &mut Vec<f64>)) -> Table {
    let mut table = Table::named(names);
    let mut row = Vec::new();
    for kernel in kernels {
        row.clear();
        fill(kernel, &mut row);
        table.push(&row);
    }
    table
}
