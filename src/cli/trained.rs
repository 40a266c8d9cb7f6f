//! The JSON of `collectune train`.

use serde::Serialize;

use super::{
    files::{Reads, refusal},
    learnt::Learnt,
};
use crate::{
    collective::Collective,
    intake::{FileReport, Outcome},
    tuning::{
        aggregate::Target,
        decision::Decision,
        parameters::{Parameters, Preset},
        random_split::RandomSplit,
        result::{Baselines, FoldScores, Group, Importance, Recommendation, Score, Source},
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

/// The JSON output; unknown values are null.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    preset: Preset,
    seed: u64,
    target: Target,
    /// Which of several sets of measurements this is about; null where there is one.
    set: Option<&'a str>,
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
    /// The recommendation at each measured size, and the choice that would have been deployed had it been held out.
    deployed: Vec<Deployed>,
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
    by_scale: Scores<'a>,
    /// Of what is deployed at held-out sizes.
    regret_deployed_mean_pct: Option<f64>,
    /// The same where the source that answers is chosen by the other folds alone.
    regret_deployed_nested_mean_pct: Option<f64>,
}

#[derive(Serialize)]
struct Deployed {
    collective: &'static str,
    num_nodes: u32,
    num_gpus: u32,
    size_bytes: u64,
    /// Whose choice is deployed; `default` where the default stays.
    source: Source,
    /// Of the choice that is deployed; null where the default stays.
    algo: Option<&'static str>,
    proto: Option<&'static str>,
    nchannels: Option<u32>,
    /// The source whose choice would have been deployed with this size held out.
    held_out_source: Option<Source>,
    /// The regret of that choice in per cent.
    held_out_regret_pct: Option<f64>,
}

#[derive(Serialize)]
struct Scores<'a> {
    #[serde(flatten)]
    model: &'a Score,
    /// Share of held-out points inside the stated intervals, in per cent.
    coverage_90: Option<f64>,
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
            set: known.learnt.executor.tuning.set.as_deref(),
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
                by_scale: scores(&known.learnt.evaluation.by_scale),
                regret_deployed_mean_pct: known.learnt.evaluation.regret_deployed_mean_pct,
                regret_deployed_nested_mean_pct: known.learnt.evaluation.regret_deployed_nested_mean_pct,
            },
            deployed: deployed(&known.learnt),
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
    let refused = refusal(name, &file.outcome, Reads::SweepsSaid);
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
    Scores { model: &scores.model, coverage_90: scores.coverage_90_pct, baselines: &scores.baselines }
}

fn deployed(learnt: &Learnt) -> Vec<Deployed> {
    let study = &learnt.executor.tuning.study;
    let held_out = study.held_out();
    let of_answer = |recommendation: &Recommendation| {
        let workload = recommendation.workload;
        let keeps = matches!(recommendation.decision, Decision::KeepDefault { .. });
        let choice = recommendation.configuration.filter(|_| !keeps);
        let held_out = held_out.iter().find(|deployed| deployed.workload == workload);
        Deployed {
            collective: workload.collective.name(),
            num_nodes: workload.scale.nodes,
            num_gpus: workload.scale.ranks,
            size_bytes: workload.size_bytes,
            source: if keeps { Source::Default } else { recommendation.source },
            algo: choice.map(|choice| choice.algorithm.name()),
            proto: choice.map(|choice| choice.protocol.name()),
            nchannels: choice.map(|choice| choice.channels),
            held_out_source: held_out.map(|deployed| deployed.source),
            held_out_regret_pct: held_out.map(|deployed| deployed.regret_pct),
        }
    };
    study.recommendations().iter().map(of_answer).collect()
}
