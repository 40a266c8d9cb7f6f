//! Checks of a run's kernels.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{
    kernel::{Dataset, Kernel, first_equals, profiled_again},
    read::STANDARD,
};
use crate::units::{count, percent};

/// A finding about a run's kernels or columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Check {
    /// The slowdown in a file contradicts its durations.
    Contradictions {
        /// The number of rows that were compared.
        rows: u64,
        /// The line number of the first such row.
        first_line: u64,
    },
    /// Durations beside a collective and alone are so far apart that they can't be in the same unit.
    OtherUnits {
        /// The number of such kernels.
        kernels: u64,
        /// The number of all kernels.
        of: u64,
        /// The line number of the first of them.
        first_line: u64,
    },
    /// Standard metrics that the run lacks: the published model was given all of them.
    Missing {
        /// Their names, as their columns have them in tables of kernels.
        metrics: Vec<String>,
        /// The number of all standard metrics.
        of: u64,
    },
    /// A column has one value in all rows: it is dropped.
    Constant {
        /// The name of the metric's column, as its file has it.
        column: String,
        /// The one value, in the column's own unit.
        value: f64,
    },
    /// Two columns say nearly the same, so that models can't tell their effects apart.
    Collinear {
        /// The names of the two columns, as their file has them.
        columns: [String; 2],
        /// Pearson's correlation over the kernels that overlap.
        correlation: f64,
    },
    /// Kernels that overlap by less than 5 %: their slowdown is a small difference over a small number.
    LittleOverlap {
        /// The number of kernels that overlap so little.
        kernels: u64,
        /// The slowdown that is farthest from zero among them.
        extreme: f64,
    },
    /// A rate above 100 %, as profilers count it: it is kept.
    AboveHundred {
        /// The name of the metric's column, as its file has it.
        column: String,
        /// The number of kernels with such a rate.
        kernels: u64,
        /// The largest value of the column, in its own unit.
        largest: f64,
    },
    /// No kernel ran beside a collective: there is nothing to learn.
    NoOverlap,
    /// All kernels that ran at the same time as a collective have one name, so that accuracy for unseen names is
    /// unknown.
    OneName {
        /// The name that all of them have.
        name: String,
    },
    /// Rows with the name, durations, overlap ratio and metrics of another: they are held out with it.
    Equal {
        /// The number of such rows, not counting the first of each group.
        rows: u64,
        /// The number of rows that overlap.
        of: u64,
        /// Lines of the first such row and of the one that it is equal to.
        lines: [u64; 2],
        /// Whether they are equal in the standard metrics as well.
        has_metrics: bool,
    },
    /// Rows with the name, durations and overlap ratio of another, and other metrics: they are held out with it.
    SameTimes {
        /// The number of such rows, not counting the first of each group.
        rows: u64,
        /// The number of rows that overlap.
        of: u64,
    },
    /// Rows with the metrics, duration alone and overlap ratio of another, which took another time: they are held out
    /// with it, if they have its name.
    Measured {
        /// The number of such rows, not counting the first of each group.
        rows: u64,
        /// The number of rows that overlap.
        of: u64,
    },
}

/// The most columns that are compared with each other.
const MOST_COMPARED: usize = 32;
/// Durations that are this many times apart are not in the same unit.
const OTHER_UNIT: f64 = 20.0;
/// The correlation from which two columns are reported.
const COLLINEAR: f64 = 0.99;
/// The share of overlap below which a kernel hardly overlaps.
const LITTLE: f64 = 0.05;

impl Check {
    /// The finding as a whole sentence, for the report.
    pub fn sentence(&self) -> String {
        match self {
            Self::Contradictions { rows, first_line } => format!(
                "the slowdown of {} (the first in line {first_line}) is not (duration − ground_truth) / \
                 (overlap_ratio · ground_truth): the durations count",
                count(*rows, "row")
            ),
            Self::OtherUnits { kernels, of, first_line } => format!(
                "the durations of {} of {of} (the first in line {first_line}) are {OTHER_UNIT} times apart or more beside a \
                 collective and alone: are both in the same unit?",
                count(*kernels, "kernel")
            ),
            Self::Missing { metrics, of } => format!(
                "{} of the {of} standard metrics {} missing ({}): all models learn without {}, also boosted trees with the \
                 published settings, which as published had all {of}",
                metrics.len(),
                if metrics.len() == 1 { "is" } else { "are" },
                metrics.join(", "),
                if metrics.len() == 1 { "it" } else { "them" }
            ),
            Self::Constant { column, value } => {
                format!("{column} is {value} in every row: it says nothing and is dropped")
            }
            Self::Collinear { columns: [a, b], correlation } => {
                format!(
                    "{a} and {b} say nearly the same (correlation {correlation:.3}): importance is shared between them"
                )
            }
            Self::LittleOverlap { kernels, extreme } => format!(
                "{} overlap by less than 5 %: their slowdown divides noise by a small number (the largest is {})",
                count(*kernels, "kernel"),
                percent(extreme * 100.0)
            ),
            Self::AboveHundred { column, kernels, largest } => {
                format!(
                    "{column} is above 100 % in {} (up to {largest:.2} %), as profilers count: kept",
                    count(*kernels, "kernel")
                )
            }
            Self::NoOverlap => "no kernel overlaps communication: there is no slowdown to learn".to_owned(),
            Self::OneName { name } => format!(
                "all kernels that overlap are called {name}: how a model does for names that were never measured can't be told"
            ),
            Self::Equal { rows, of, lines: [line, first], has_metrics } => format!(
                "{} of {of} {} equal to an earlier one in name, durations{} (the first in line {line}, equal to line \
                 {first}): equal rows are held out together, so that no model is asked for a kernel that it was given",
                count(*rows, "row"),
                if *rows == 1 { "is" } else { "are" },
                if *has_metrics { ", overlap and metrics" } else { " and overlap" }
            ),
            Self::SameTimes { rows, of } => format!(
                "{} of {of} {} the name, durations and overlap of an earlier one, and other metrics: where one run was profiled \
                 twice, these are the same launches. They are held out together, and count twice: leave one profile out",
                count(*rows, "row"),
                if *rows == 1 { "has" } else { "have" }
            ),
            Self::Measured { rows, of } => format!(
                "{} of {of} {} the metrics, duration alone and overlap of an earlier one, and took another time: rows of one \
                 launch are held out together, so that errors out of fold are those of launches that were not measured",
                count(*rows, "row"),
                if *rows == 1 { "has" } else { "have" }
            ),
        }
    }
}

/// Carries out all checks on a run; empty if nothing is found.
pub fn check(dataset: &Dataset) -> Vec<Check> {
    let mut checks = Vec::new();
    if let (rows @ 1.., Some(first_line)) = dataset.contradictions {
        checks.push(Check::Contradictions { rows, first_line });
    }
    let is_apart = |kernel: &&Kernel| {
        let ratio = kernel.duration_ns / kernel.alone_ns;
        !(1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&ratio)
    };
    let apart: Vec<&Kernel> = dataset.kernels.iter().filter(is_apart).collect();
    if let Some(first) = apart.first() {
        let (kernels, of) = (apart.len() as u64, dataset.kernels.len() as u64);
        checks.push(Check::OtherUnits { kernels, of, first_line: first.line });
    }
    let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
    if overlapped.is_empty() {
        checks.push(Check::NoOverlap);
    }
    if let Some(first) = overlapped.first()
        && overlapped.iter().all(|kernel| kernel.name == first.name)
    {
        checks.push(Check::OneName { name: first.name.clone() });
    }
    checks.extend(equal(&overlapped, dataset.standard_metrics()));
    checks.extend(missing(dataset));
    let column = |index: usize| overlapped.iter().map(move |kernel| kernel.metrics[index]);
    for (index, name) in dataset.columns.iter().enumerate() {
        let (least, most) = column(index).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(v), m.max(v)));
        if least == most {
            checks.push(Check::Constant { column: name.clone(), value: least });
        }
        if most > 100.0 && is_share(name) {
            let kernels = column(index).filter(|value| *value > 100.0).count() as u64;
            checks.push(Check::AboveHundred { column: name.clone(), kernels, largest: most });
        }
    }
    let compared = dataset.columns.len().min(MOST_COMPARED);
    for a in 0..compared {
        for b in a + 1..compared {
            let correlation = correlation(column(a).zip(column(b)));
            if let Some(correlation) = correlation.filter(|r| r.abs() >= COLLINEAR) {
                let columns = [a, b].map(|index| dataset.columns[index].clone());
                checks.push(Check::Collinear { columns, correlation });
            }
        }
    }
    let little: Vec<f64> = overlapped.iter().filter(|k| k.overlap_ratio < LITTLE).map(|k| k.slowdown()).collect();
    if let Some(extreme) = little.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())) {
        checks.push(Check::LittleOverlap { kernels: little.len() as u64, extreme });
    }
    checks
}

/// The standard metrics that a run lacks.
fn missing(dataset: &Dataset) -> Option<Check> {
    let names = STANDARD.iter().map(|(name, _)| (*name).to_owned());
    let metrics: Vec<String> = names.filter(|name| !dataset.columns.contains(name)).collect();
    (!metrics.is_empty()).then_some(Check::Missing { metrics, of: STANDARD.len() as u64 })
}

/// Rows that are equal, and rows that are equal but for the time that they took, or for their metrics.
fn equal(overlapped: &[&Kernel], metrics: usize) -> Vec<Check> {
    let of = overlapped.len() as u64;
    let mut checks = Vec::new();
    let firsts = first_equals(overlapped, metrics);
    let again: Vec<(usize, usize)> = firsts.iter().copied().enumerate().filter(|(at, first)| at != first).collect();
    if let Some((at, first)) = again.first() {
        let lines = [overlapped[*at].line, overlapped[*first].line];
        checks.push(Check::Equal { rows: again.len() as u64, of, lines, has_metrics: metrics > 0 });
    }
    // Without metrics a duration alone may be the median of a name's launches.
    if metrics == 0 {
        return checks;
    }
    checks.extend(profiled_again(overlapped, metrics).map(|rows| Check::SameTimes { rows, of }));
    let mut known = HashSet::new();
    let is_first = |(at, _): &(usize, &&Kernel)| firsts[*at] == *at;
    let of_features = |kernel: &Kernel| {
        let numbers =
            [kernel.alone_ns, kernel.overlap_ratio].into_iter().chain(kernel.metrics.iter().take(metrics).copied());
        numbers.map(f64::to_bits).collect::<Vec<u64>>()
    };
    let rows =
        overlapped.iter().enumerate().filter(is_first).filter(|(_, kernel)| !known.insert(of_features(kernel))).count()
            as u64;
    if rows > 0 {
        checks.push(Check::Measured { rows, of });
    }
    checks
}

pub(super) fn is_share(column: &str) -> bool {
    STANDARD.iter().any(|(name, _)| *name == column)
}

/// Pearson's correlation; `None` where one of the two is constant, or there are fewer than two pairs.
pub fn correlation(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let (count, a, b) = pairs.clone().fold((0.0, 0.0, 0.0), |(n, sa, sb), (a, b)| (n + 1.0, sa + a, sb + b));
    let (a_mean, b_mean) = (a / count, b / count);
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (a - a_mean, b - b_mean);
        (aa, bb, ab) = (aa + a * a, bb + b * b, ab + a * b);
    }
    Some(ab / (aa * bb).sqrt()).filter(|r| r.is_finite())
}
