//! Samples of operators and collectives, runs, samplings, catalogues: what the training-time workbench takes in.

use super::{
    Outcome,
    opened::{File, FileContent, Opened, Result, broken},
};
use crate::{
    text::{Problems, Records, excerpt, keep_few},
    training_time::{
        bundle::{DroppedFile, MOST_FILE_BYTES},
        read::{self, TrainingFile, headers::TableFamily, name},
        trace::Trace,
    },
    units::count,
};

/// Reads a table of the training time workbench.
pub(super) fn table(records: &mut Records<'_>, family: TableFamily, file: &File<'_>) -> Result<Opened> {
    let mut problems = Problems::default();
    let mut notes = Vec::new();
    let part = read::table(records, family, file.name, &mut problems, &mut notes)?;
    notes.extend(broken(records.error(), records.line())?);
    Ok(opened(part, problems, notes, file))
}

/// Reads a configuration; `None` if the text is not one of the training time workbench.
pub(super) fn configuration(text: &str, notes: Vec<String>, file: &File<'_>) -> Option<Opened> {
    read::configuration(text).map(|part| opened(part, Problems::default(), notes, file))
}

/// Reads a trace of training steps; `None` if the JSON is none.
pub(super) fn trace(json: &str, file: &File<'_>) -> Option<Opened> {
    read::trace(json).map(|part| traced(part, file))
}

/// Reads a profile of training steps in SQLite.
pub(super) fn database(bytes: &[u8], file: &File<'_>) -> Opened {
    traced(read::database(bytes), file)
}

fn traced(part: TrainingFile, file: &File<'_>) -> Opened {
    let TrainingFile::Traces(traces) = &part else { return opened(part, Problems::default(), Vec::new(), file) };
    let said = |trace: &Trace| {
        let left_out = trace.left_out.iter().map(|what| format!("Left out: {what}"));
        trace.steps_by.clone().into_iter().chain(left_out).collect::<Vec<_>>()
    };
    // Ranks of one profile say the same, but for numbers.
    let mut notes = Vec::new();
    for note in traces.iter().flat_map(said) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    keep_few(&mut notes);
    opened(part, Problems::default(), notes, file)
}

/// Reads an operator's regressor that XGBoost saved; the file's name tells it from other models.
pub(super) fn model(text: &str, file: &File<'_>) -> Option<Result<Opened>> {
    let stem = name::stem(file.name);
    let is_ours = stem.ends_with("_fwd") || stem.ends_with("_bwd");
    if !is_ours || !text.contains("gradient_booster") {
        return None;
    }
    let value: serde_json::Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            return Some(Ok(resembling(format!("begins like a model of XGBoost, but is no JSON: {error}"), file)));
        }
    };
    Some(match crate::learn::xgboost::read(&value) {
        Ok(model) => Ok(opened(TrainingFile::Model(Box::new(model)), Problems::default(), Vec::new(), file)),
        Err(error) => Ok(resembling(error.to_string(), file)),
    })
}

/// The result for a table that resembles one of the training time workbench.
pub(super) fn resembling(why: String, file: &File<'_>) -> Opened {
    let outcome = Outcome::Refused(format!("{} {why}.", excerpt(file.name)));
    let content = FileContent::Training(Box::new(dropped(file.name, file.size_bytes, TrainingFile::Unrecognised(why))));
    (outcome, content).into()
}

fn dropped(path: &str, size_bytes: u64, part: TrainingFile) -> DroppedFile {
    DroppedFile { path: path.to_owned(), size_bytes, part, problems: Problems::default(), notes: Vec::new() }
}

fn opened(part: TrainingFile, problems: Problems, notes: Vec<String>, file: &File<'_>) -> Opened {
    if file.size_bytes > MOST_FILE_BYTES && !matches!(part, TrainingFile::Traces(_)) {
        let why = format!("has more than {} MiB", MOST_FILE_BYTES >> 20);
        return resembling(why, file);
    }
    let rows = |rows: usize| count(rows as u64, "row");
    let (format, holds) = match &part {
        TrainingFile::Operator(samples) if samples.backward_us.is_empty() => {
            ("samples of an optimizer", rows(samples.len()))
        }
        TrainingFile::Operator(samples) => ("samples of an operator", rows(samples.len())),
        TrainingFile::Collective(samples) => ("samples of a collective", rows(samples.len())),
        TrainingFile::Settings(settings) => ("settings of regressors", rows(settings.len())),
        TrainingFile::Steps(table) => ("measured training steps", rows(table.steps.len())),
        TrainingFile::Reduce(table) => ("all-reduce times", rows(table.points.len())),
        TrainingFile::OldOptimizer(samples) => ("samples of an optimizer, old form", rows(*samples)),
        TrainingFile::Run(_) => ("configuration of a training run", String::new()),
        TrainingFile::Sampling(sampling) => ("configuration of a sampling", count(sampling.points() as u64, "point")),
        TrainingFile::Catalogue(catalogue) => ("catalogue", count(catalogue.operators.len() as u64, "operator")),
        TrainingFile::Model(model) => ("saved regressor", count(model.boosting.stages() as u64, "tree")),
        TrainingFile::ModelFile(file) => match (&file.model, file.measured) {
            (Some(model), step) => {
                let layers = count((model.depth() - model.prediction_layers).into(), "layer");
                match step {
                    None => ("model", layers),
                    Some(step) => {
                        ("training log", format!("{layers}, {}", count(step.iterations as u64, "measured step")))
                    }
                }
            }
            (None, _) => ("configuration of training", String::new()),
        },
        TrainingFile::OwnSteps(steps) => ("measured steps of one's own", rows(steps.len())),
        TrainingFile::Traces(traces) => {
            let steps = traces.iter().map(|trace| u64::from(trace.steps)).sum();
            let ranks =
                if traces.len() > 1 { format!(" of {}", count(traces.len() as u64, "rank")) } else { String::new() };
            ("trace of training", count(steps, "step") + &ranks)
        }
        TrainingFile::Unrecognised(why) => return resembling(why.clone(), file),
    };
    let outcome = Outcome::known(format, holds, problems.clone(), notes.clone());
    let dropped = DroppedFile { problems, notes, ..dropped(file.name, file.size_bytes, part) };
    (outcome, FileContent::Training(Box::new(dropped))).into()
}
