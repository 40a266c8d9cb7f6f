//! Tables of dropped files and their samples.

use super::{
    bundle::{Bundle, FileUse},
    coverage::Coverage,
    health::{Health, Summary},
    needs::Need,
};
use crate::{
    text::{Column, Entry, Listing},
    units::{grouped, significant},
};

fn whole(number: usize) -> Entry {
    Entry::number(Some(number as f64), |_| grouped(number as u64))
}

fn percent(share: Option<f64>) -> Entry {
    Entry::number(share.map(|share| share * 100.0), significant)
}

/// A table of the files and how each is used.
pub fn files(bundle: &Bundle) -> Listing {
    let columns = vec![
        Column::words("File", "The file, with its folders"),
        Column::words("State", "Used, known but unused, asked, or unrecognised"),
        Column::numbers("Rows", "Rows that were read"),
        Column::numbers("Twice", "Of those, rows that an earlier file has as well, and that count once").secondary(),
        Column::numbers("Left out", "Rows that can't be used"),
        Column::words("Holds", "What it holds"),
        Column::words("Cluster", "The cluster that it belongs to").secondary(),
        Column::words("Notes", "Why, and what must be known"),
    ];
    let rows = bundle.files.iter().enumerate().map(|(index, file)| {
        let (state, why) = match &file.fate {
            FileUse::Used => ("used", None),
            FileUse::KnownUnused(why) => ("known but unused", Some(why.clone())),
            FileUse::Unrecognised(why) => ("unrecognised", Some(why.clone())),
            FileUse::Asked => ("asked", None),
        };
        let asked = bundle.questions.iter().filter(|question| question.file as usize == index);
        let asked = asked.map(|question| question.asks.sentence());
        let first = file.problems.kept.first().map(ToString::to_string);
        let notes: Vec<String> = why.into_iter().chain(asked).chain(file.notes.iter().cloned()).chain(first).collect();
        let cluster = file.cluster.and_then(|at| bundle.clusters.get(at));
        vec![
            Entry::text(&file.path),
            Entry::text(state),
            whole(file.rows),
            whole(file.duplicate_rows),
            Entry::number(Some(file.problems.count as f64), |_| grouped(file.problems.count)),
            Entry::text(&file.holds),
            Entry::text(cluster.map(|cluster| cluster.name.clone()).unwrap_or_default()),
            Entry::text(notes.join("; ")),
        ]
    });
    Listing { columns, rows: rows.collect() }
}

/// A table of the samples, with the noise of repeats.
pub fn samples(health: &Health) -> Listing {
    let columns = vec![
        Column::words("Samples", "Operator, or collective over nodes × GPUs per node"),
        Column::words("In", "Precision of the samples"),
        Column::numbers("Rows", "All rows"),
        Column::numbers("Distinct", "Distinct inputs"),
        Column::numbers("Features", "Distinct values of what regressors see"),
        Column::numbers(
            "Noise %",
            "Mean deviation of rows with equal features from their mean: no regressor errs less",
        ),
        Column::numbers("Backward %", "The same of the backward pass"),
        Column::words("Ranges", "Least and greatest value of each input, and how many there are"),
    ];
    let row = |summary: &Summary| {
        let range = |(name, low, high, count): &(String, f64, f64, usize)| {
            if low == high { format!("{name} {low}") } else { format!("{name} {low} to {high} ({count})") }
        };
        vec![
            Entry::text(summary.target.to_string()),
            Entry::text(&summary.precision),
            whole(summary.rows),
            whole(summary.distinct),
            whole(summary.distinct_features),
            percent(summary.noise[0]),
            percent(summary.noise[1]),
            Entry::text(summary.inputs.iter().map(range).collect::<Vec<_>>().join(", ")),
        ]
    };
    Listing { columns, rows: health.summaries.iter().map(row).collect() }
}

/// A table of the sampled points of the intended grids.
pub fn coverage(all: &[Coverage]) -> Listing {
    let columns = vec![
        Column::words("Samples", "Operator or collective"),
        Column::numbers("Intended", "Points of the sampling's grid"),
        Column::numbers("Impossible", "Of those, points that no model can have"),
        Column::numbers("Sampled", "Points that are there"),
        Column::numbers("Missing", "Possible points that are not"),
        Column::numbers("Beside", "Sampled points outside of the grid"),
        Column::words("Gaps", "Inputs with values of which nothing is sampled"),
    ];
    let rows = all.iter().map(|coverage| {
        let mut gaps: Vec<String> = Vec::new();
        for value in coverage.values.iter().filter(|value| value.sampled == 0 && value.possible > 0) {
            gaps.push(format!("{} {}", value.input, value.value));
        }
        vec![
            Entry::text(&coverage.function),
            whole(coverage.intended),
            whole(coverage.impossible),
            whole(coverage.sampled),
            whole(coverage.intended.saturating_sub(coverage.impossible + coverage.sampled)),
            whole(coverage.beside),
            Entry::text(gaps.join(", ")),
        ]
    });
    Listing { columns, rows: rows.collect() }
}

/// A table of what a run needs and was not sampled.
pub fn needs(needs: &[Need]) -> Listing {
    let columns = vec![
        Column::words("Missing", "What was not sampled as the run needs it"),
        Column::words("Needed for", "What it is needed for"),
        Column::words("Instead", "What is used instead; empty where nothing can be predicted"),
        Column::words("Message", "In words"),
    ];
    let rows = needs.iter().map(|need| {
        vec![
            Entry::text(need.what.text()),
            Entry::text(&need.purpose),
            Entry::text(need.instead.clone().unwrap_or_default()),
            Entry::text(&need.sentence),
        ]
    });
    Listing { columns, rows: rows.collect() }
}
