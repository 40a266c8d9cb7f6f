//! The JSON of `collectune train`.

use serde::Serialize;

use super::{files::refusal, learnt::Learnt};
use crate::{
    collective::Collective,
    intake::{FileReport, Outcome},
    tuning::{
        aggregate::Target,
        parameters::{Parameters, Preset},
        random_split::RandomSplit,
        result::{Baselines, FoldScores, Group, Importance, Score},
    },
};

/// Everything that is known after a training.
pub(super) struct Known {
    pub(super) files: Vec<FileReport>,
    pub(super) target: Target,
    pub(super) parameters: Parameters,
    pub(super) learnt: Learnt,
    pub(super) random_split: Option<RandomSplit>,
    pub(super) importances: Vec<Importance>,
}

/// What is not known is null.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    preset: Preset,
    seed: u64,
    target: Target,
    parameters: &'a Parameters,
    /// Accepted data lines before aggregation, those of the default included.
    rows: u64,
    default_rows: u64,
    /// Data lines that were left out; of many, `problems` has the first ones.
    left_out: u64,
    problems: Vec<Problem<'a>>,
    files: Vec<File<'a>>,
    groups: Vec<MeasuredGroup<'a>>,
    evaluation: Evaluation<'a>,
    random_split: Option<&'a RandomSplit>,
    importances: &'a [Importance],
    notes: &'a [String],
}

#[derive(Serialize)]
struct Problem<'a> {
    file: &'a str,
    line: u64,
    column: &'a str,
    text: &'a str,
    expected: &'a str,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    format: Option<&'a str>,
    rows: u64,
    default_rows: u64,
    left_out: u64,
    notes: &'a [String],
    /// Why nothing of the file was used.
    refused: Option<String>,
}

#[derive(Serialize)]
struct MeasuredGroup<'a> {
    collective: &'static str,
    num_nodes: u32,
    num_gpus: u32,
    sizes_bytes: &'a [u64],
    pairs: Vec<Pair<'a>>,
    points: usize,
    default_sizes: usize,
}

#[derive(Serialize)]
struct Pair<'a> {
    algo: &'static str,
    proto: &'static str,
    nchannels: &'a [u32],
}

#[derive(Serialize)]
struct Evaluation<'a> {
    by_size: Scores<'a>,
    by_configuration: Scores<'a>,
}

#[derive(Serialize)]
struct Scores<'a> {
    #[serde(flatten)]
    model: &'a Score,
    coverage_90_pct: Option<f64>,
    baselines: &'a Baselines,
}

impl<'a> Report<'a> {
    pub(super) fn of(known: &'a Known) -> Self {
        let files: Vec<File> = known.files.iter().map(file).collect();
        let sum = |number: fn(&File) -> u64| files.iter().map(number).sum();
        Self {
            preset: known.parameters.preset,
            seed: known.parameters.seed,
            target: known.target,
            parameters: &known.parameters,
            rows: sum(|file| file.rows),
            default_rows: sum(|file| file.default_rows),
            left_out: sum(|file| file.left_out),
            problems: known.files.iter().flat_map(problems).collect(),
            files,
            groups: known.learnt.groups.iter().map(group).collect(),
            evaluation: Evaluation {
                by_size: scores(&known.learnt.evaluation.by_size),
                by_configuration: scores(&known.learnt.evaluation.by_configuration),
            },
            random_split: known.random_split.as_ref(),
            importances: &known.importances,
            notes: &known.learnt.notes,
        }
    }

    pub(super) fn to_json(&self) -> String {
        // Strings, numbers and lists can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

fn file(file: &FileReport) -> File<'_> {
    let name = &file.name;
    let refused = refusal(name, &file.outcome);
    match &file.outcome {
        Outcome::Loaded { format, rows, default_rows, problems, notes } => File {
            name,
            format: Some(format),
            rows: *rows,
            default_rows: *default_rows,
            left_out: problems.count,
            notes,
            refused,
        },
        Outcome::Known { format, problems, notes, .. } => {
            File { name, format: Some(format), rows: 0, default_rows: 0, left_out: problems.count, notes, refused }
        }
        _ => File { name, format: None, rows: 0, default_rows: 0, left_out: 0, notes: &[], refused },
    }
}

fn problems(file: &FileReport) -> impl Iterator<Item = Problem<'_>> {
    let kept = match &file.outcome {
        Outcome::Loaded { problems, .. } | Outcome::Known { problems, .. } => &problems.kept[..],
        _ => &[],
    };
    kept.iter().map(|problem| Problem {
        file: &file.name,
        line: problem.line,
        column: &problem.column,
        text: &problem.text,
        expected: &problem.expected,
    })
}

fn group(group: &Group) -> MeasuredGroup<'_> {
    let collective: Collective = group.collective;
    MeasuredGroup {
        collective: collective.name(),
        num_nodes: group.scale.nodes,
        num_gpus: group.scale.ranks,
        sizes_bytes: &group.sizes,
        pairs: group
            .pairs
            .iter()
            .map(|pair| Pair { algo: pair.algorithm.name(), proto: pair.protocol.name(), nchannels: &pair.channels })
            .collect(),
        points: group.points,
        default_sizes: group.default_sizes,
    }
}

fn scores(scores: &FoldScores) -> Scores<'_> {
    Scores { model: &scores.model, coverage_90_pct: scores.coverage_90_pct, baselines: &scores.baselines }
}
