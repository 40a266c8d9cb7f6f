//! The JSON of `collectune tuning train`.

use serde::Serialize;

use super::learnt::Learnt;
use crate::{
    cli::{
        files::{Reads, refusal},
        json::object,
    },
    intake::{FileReport, Outcome},
    text::Problems,
    tuning::{
        aggregate::Target,
        decision::Decision,
        parameters::Parameters,
        random_split::RandomSplit,
        result::{FoldScores, Group, Importance, Source},
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
pub(super) fn json(known: &Known) -> impl Serialize {
    let evaluation = &known.learnt.evaluation;
    let sum = |number: fn(&FileReport) -> u64| known.files.iter().map(number).sum::<u64>();
    object! {
        preset: known.parameters.preset,
        seed: known.parameters.seed,
        target: known.target,
        /// Which of several sets of measurements this is about; null where there is one.
        set: known.learnt.executor.tuning.set.as_deref(),
        parameters: &known.parameters,
        /// Accepted data lines before aggregation, those of the default included.
        rows: sum(|file| rows(file).0),
        default_rows: sum(|file| rows(file).1),
        /// Data lines that were left out; of many, `problems` has the first ones.
        left_out: sum(|file| problems(file).map_or(0, |problems| problems.count)),
        problems: known.files.iter().flat_map(listed_problems).collect::<Vec<_>>(),
        files: known.files.iter().map(file).collect::<Vec<_>>(),
        groups: known.learnt.groups.iter().map(group).collect::<Vec<_>>(),
        evaluation: object! {
            by_size: scores(&evaluation.by_size),
            by_configuration: scores(&evaluation.by_configuration),
            by_scale: scores(&evaluation.by_scale),
            /// Of what is deployed at held-out sizes.
            regret_deployed_mean_pct: evaluation.regret_deployed_mean_pct,
            /// The same where the source that answers is chosen by the other folds alone.
            regret_deployed_nested_mean_pct: evaluation.regret_deployed_nested_mean_pct,
        },
        /// The recommendation at each measured size, and the choice that would have been deployed had it been held out.
        deployed: deployed(&known.learnt),
        random_split: known.random_split.as_ref(),
        importances: &known.importances,
        notes: &known.learnt.notes,
    }
}

/// The rows of a file, and how many of them are of the default.
fn rows(file: &FileReport) -> (u64, u64) {
    match file.outcome {
        Outcome::Loaded { rows, default_rows, .. } => (rows, default_rows),
        _ => (0, 0),
    }
}

fn problems(file: &FileReport) -> Option<&Problems> {
    match &file.outcome {
        Outcome::Loaded { problems, .. } | Outcome::Known { problems, .. } => Some(problems),
        _ => None,
    }
}

fn listed_problems(file: &FileReport) -> impl Iterator<Item = impl Serialize> {
    problems(file).into_iter().flat_map(|problems| &problems.kept).map(|problem| {
        object! {
            file: &file.name,
            line: problem.line,
            column: &problem.column,
            text: &problem.text,
            expected: &problem.expected,
        }
    })
}

fn file(file: &FileReport) -> impl Serialize {
    let (format, notes) = match &file.outcome {
        Outcome::Loaded { format, notes, .. } | Outcome::Known { format, notes, .. } => (Some(format), &notes[..]),
        _ => (None, &[][..]),
    };
    object! {
        name: &file.name,
        format: format,
        rows: rows(file).0,
        default_rows: rows(file).1,
        left_out: problems(file).map_or(0, |problems| problems.count),
        notes: notes,
        /// Why nothing of the file was used.
        refused: refusal(&file.name, &file.outcome, Reads::Sweeps),
    }
}

fn group(group: &Group) -> impl Serialize {
    let pairs = group.pairs.iter().map(|pair| {
        object! { algo: pair.algorithm.name(), proto: pair.protocol.name(), nchannels: &pair.channels }
    });
    object! {
        collective: group.collective.name(),
        num_nodes: group.scale.nodes,
        num_gpus: group.scale.ranks,
        sizes_bytes: &group.sizes,
        pairs: pairs.collect::<Vec<_>>(),
        points: group.points,
        default_sizes: group.default_sizes,
    }
}

fn scores(scores: &FoldScores) -> impl Serialize {
    object! {
        #[serde(flatten)]
        model: &scores.model,
        /// Share of held-out points inside the stated intervals, in per cent.
        coverage_90: scores.coverage_90_pct,
        baselines: &scores.baselines,
    }
}

fn deployed(learnt: &Learnt) -> Vec<impl Serialize> {
    let study = &learnt.executor.tuning.study;
    let held_out = study.held_out();
    let answers = study.recommendations().iter().map(|recommendation| {
        let workload = recommendation.workload;
        let keeps = matches!(recommendation.decision, Decision::KeepDefault { .. });
        let choice = recommendation.configuration.filter(|_| !keeps);
        let held_out = held_out.iter().find(|deployed| deployed.workload == workload);
        object! {
            collective: workload.collective.name(),
            num_nodes: workload.scale.nodes,
            num_gpus: workload.scale.ranks,
            size_bytes: workload.size_bytes,
            /// Whose choice is deployed; `default` where the default stays.
            source: if keeps { Source::Default } else { recommendation.source },
            /// Of the choice that is deployed; null where the default stays.
            algo: choice.map(|choice| choice.algorithm.name()),
            proto: choice.map(|choice| choice.protocol.name()),
            nchannels: choice.map(|choice| choice.channels),
            /// The source whose choice would have been deployed with this size held out.
            held_out_source: held_out.map(|deployed| deployed.source),
            /// The regret of that choice in per cent.
            held_out_regret_pct: held_out.map(|deployed| deployed.regret_pct),
        }
    });
    answers.collect()
}
