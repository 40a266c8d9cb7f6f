//! The tables of the overlap workbench.

use std::collections::BTreeMap;

use super::{
    importance::Importance,
    kernel::{Dataset, Kernel},
    models::Predicted,
    result::{FeatureScaling, ImportedScores, ModelScores, Score},
};
use crate::{
    math::median,
    text::{Column, Entry, Listing},
    units::{percent, significant, with_minus},
};

const SCORES: [Column; 10] = [
    Column::words("Model", "what predicts the slowdown"),
    Column::numbers("Error", "mean error of durations out of fold, in per cent, with its spread over the repeats"),
    Column::numbers("Within 5 %", "kernels whose duration is missed by at most 5 %, in per cent"),
    Column::numbers("Within 10 %", "kernels whose duration is missed by at most 10 %, in per cent"),
    Column::numbers("Within 15 %", "kernels whose duration is missed by at most 15 %, in per cent"),
    Column::numbers("Median", "half of the kernels are missed by at most this, in per cent"),
    Column::numbers("90th percentile", "90 % of the kernels are missed by at most this, in per cent"),
    Column::numbers("Total", "sum of predicted over sum of measured durations, in per cent"),
    Column::numbers("R²", "coefficient of determination of the slowdown"),
    Column::numbers("Unseen names", "mean error of durations where no kernel of the name is known, in per cent"),
];

/// A table of the models.
pub fn models(scores: &[ModelScores]) -> Listing {
    let row = |model: &ModelScores| {
        let cell = |of: fn(&Score) -> f64| spread(model, of);
        vec![
            Entry::text(model.kind.title()),
            cell(|s| s.mape_pct),
            cell(|s| s.within_5_pct),
            cell(|s| s.within_10_pct),
            cell(|s| s.within_15_pct),
            cell(|s| s.p50_pct),
            cell(|s| s.p90_pct),
            Entry::number(model.mean.map(|mean| mean.total_error_pct), percent),
            Entry::number(model.mean.map(|mean| mean.r2).filter(|r2| r2.is_finite()), |r2| {
                with_minus(format!("{r2:.3}"))
            }),
            Entry::number(model.unseen_names.map(|score| score.mape_pct), |pct| format!("{pct:.1}")),
        ]
    };
    Listing { columns: SCORES.to_vec(), rows: scores.iter().map(row).collect() }
}

fn spread(model: &ModelScores, of: fn(&Score) -> f64) -> Entry {
    Entry::number(model.mean.as_ref().map(of), |mean| {
        match model.spread.as_ref().map(of).filter(|spread| *spread >= 0.05) {
            Some(spread) => format!("{mean:.1} ± {spread:.1}"),
            None => format!("{mean:.1}"),
        }
    })
}

/// Rows for each dropped model: with features as they are, standardised, and by its scaler if there is one.
pub fn imported(judged: &[ImportedScores]) -> Listing {
    let columns = vec![
        SCORES[0].clone(),
        Column::words("Features", "as they are, with mean 0 and deviation 1 over the run, or by the scaler beside it"),
        Column::numbers("Error", "mean error of durations, in per cent; the kernels may be those of its training"),
        SCORES[2].clone(),
        SCORES[4].clone(),
        SCORES[7].clone(),
        SCORES[8].clone(),
        Column::words("Kernels", "whether these kernels were in its training, as its trees tell"),
    ];
    let row = |judged: &ImportedScores, feed: FeatureScaling, score: Option<Score>| {
        let cell = |of: fn(&Score) -> f64| Entry::number(score.as_ref().map(of), |pct| format!("{pct:.1}"));
        vec![
            Entry::text(judged.name.as_str()),
            Entry::text(feed.words()),
            cell(|s| s.mape_pct),
            cell(|s| s.within_5_pct),
            cell(|s| s.within_15_pct),
            Entry::number(score.map(|s| s.total_error_pct), percent),
            Entry::number(score.map(|s| s.r2).filter(|r2| r2.is_finite()), |r2| with_minus(format!("{r2:.3}"))),
            Entry::text(match judged.trained_on_these {
                Some(_) => "of its training",
                None => "unknown",
            }),
        ]
    };
    let mut rows = Vec::new();
    for judged in judged {
        rows.push(row(judged, FeatureScaling::Raw, judged.raw));
        rows.push(row(judged, FeatureScaling::Standardised, judged.standardised));
        rows.extend(judged.scaler.as_ref().map(|_| row(judged, FeatureScaling::Scaled, judged.scaled)));
    }
    Listing { columns, rows }
}

/// A table of kernel names, with the overlap and the out-of-fold errors of each.
pub fn names(dataset: &Dataset, estimates: &[Option<Predicted>]) -> Listing {
    #[derive(Default)]
    struct Name {
        alone_ns: f64,
        slowdowns: Vec<f64>,
        estimates: Vec<f64>,
        errors: Vec<f64>,
    }
    let mut by_name: BTreeMap<&str, Name> = BTreeMap::new();
    for (kernel, estimates) in dataset.overlapped().zip(estimates.iter().copied().chain(std::iter::repeat(None))) {
        let name = by_name.entry(&kernel.name).or_default();
        name.alone_ns += kernel.alone_ns;
        name.slowdowns.push(kernel.slowdown());
        if let Some(estimates) = estimates {
            name.estimates.push(estimates.slowdown);
            name.errors.push((estimates.ratio * kernel.alone_ns / kernel.duration_ns - 1.0).abs() * 100.0);
        }
    }
    let columns = vec![
        Column::words("Kernel", "short name of the kernel"),
        Column::numbers("Launches", "that overlap communication"),
        Column::numbers("Alone", "sum of their durations alone, in microseconds"),
        Column::numbers(
            "Slowdown",
            "median of the measured slowdowns s of the part that overlaps, in per cent: duration = alone · (1 + overlap · s)",
        ),
        Column::numbers(
            "Predicted",
            "median of the slowdowns predicted out of fold, in per cent of the part that overlaps",
        ),
        Column::numbers("Error", "mean error of durations out of fold, in per cent"),
    ];
    let row = |(name, mut of): (&str, Name)| {
        let error = crate::learn::metrics::mean(&of.errors);
        vec![
            Entry::text(name),
            Entry::number(Some(of.slowdowns.len() as f64), |n| format!("{n}")),
            Entry::number(Some(of.alone_ns / 1000.0), significant),
            Entry::number(median(&mut of.slowdowns).map(|s| s * 100.0), percent),
            Entry::number(median(&mut of.estimates).map(|s| s * 100.0), percent),
            Entry::number(error, |pct| format!("{pct:.1}")),
        ]
    };
    Listing { columns, rows: by_name.into_iter().map(row).collect() }
}

/// A table of the kernels with these indices.
pub fn kernels(dataset: &Dataset, indices: &[u32]) -> Listing {
    let mut columns = vec![
        Column::words("Kernel", "short name of the kernel"),
        Column::numbers("Line", "where it stands in its file"),
        Column::numbers("Alone", "duration alone, in microseconds"),
        Column::numbers("Overlap", "share of the duration that overlaps communication"),
        Column::numbers("Duration", "duration in the distributed run, in microseconds"),
        Column::numbers("Slowdown", "measured, in per cent of the part that overlaps"),
    ];
    let metric =
        |name: &String| Column { name: name.clone().into(), meaning: "".into(), is_numeric: true, is_secondary: true };
    columns.extend(dataset.columns.iter().map(metric));
    let row = |kernel: &Kernel| {
        let mut row = vec![
            Entry::text(kernel.name.as_str()),
            Entry::number(Some(kernel.line as f64), |line| format!("{line}")),
            Entry::number(Some(kernel.alone_ns / 1000.0), significant),
            Entry::number(Some(kernel.overlap_ratio), |ratio| format!("{ratio:.3}")),
            Entry::number(Some(kernel.duration_ns / 1000.0), significant),
            Entry::number(Some(kernel.slowdown() * 100.0), percent),
        ];
        row.extend(kernel.metrics.iter().map(|value| Entry::number(Some(*value), significant)));
        row
    };
    let rows = indices.iter().filter_map(|index| dataset.kernels.get(*index as usize)).map(row);
    Listing { columns, rows: rows.collect() }
}

/// A table of the features of the default trees.
pub fn importances(importances: &[Importance]) -> Listing {
    let columns = vec![
        Column::words("Feature", "what the trees split by"),
        Column::numbers("Permutation", "rise of the mean error out of fold when its values are shuffled, in points"),
        Column::numbers("Gain", "mean gain of a split by it"),
        Column::numbers("Total gain", "gain of all splits by it"),
        Column::numbers("Splits", "how many splits there are by it"),
    ];
    let row = |of: &Importance| {
        vec![
            Entry::text(of.feature.as_str()),
            Entry::number(Some(of.permutation_points), |points| format!("{points:.2}")),
            Entry::number(Some(of.gain), significant),
            Entry::number(Some(of.total_gain), significant),
            Entry::number(Some(f64::from(of.splits)), |splits| format!("{splits}")),
        ]
    };
    Listing { columns, rows: importances.iter().map(row).collect() }
}
