//! Samples of operators and collectives, runs, samplings, catalogues: what the training-time workbench takes in, also
//! as an archive of all of them.

use super::{
    Outcome,
    opened::{File, FileContent, Opened, Result, broken},
};
use crate::{
    text::{Problems, Records, excerpt},
    training_time::{
        bundle::{DroppedFile, MOST_BYTES, MOST_FILE_BYTES, MOST_FILES},
        read::{self, TrainingFile, headers::TableFamily, name},
    },
    units::count,
    zip::Archive,
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
    let part = read::trace(json)?;
    let notes = match &part {
        TrainingFile::Trace(trace) => trace.left_out.iter().map(|what| format!("Left out: {what}")).collect(),
        _ => Vec::new(),
    };
    Some(opened(part, Problems::default(), notes, file))
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
    let content = FileContent::Training(vec![dropped(file.name, file.size_bytes, TrainingFile::Unrecognised(why))]);
    (outcome, content).into()
}

fn dropped(path: &str, size_bytes: u64, part: TrainingFile) -> DroppedFile {
    DroppedFile { path: path.to_owned(), size_bytes, part, problems: Problems::default(), notes: Vec::new() }
}

fn opened(part: TrainingFile, problems: Problems, notes: Vec<String>, file: &File<'_>) -> Opened {
    if file.size_bytes > MOST_FILE_BYTES {
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
            (Some(model), None) => ("model", count(model.depth().into(), "layer")),
            (Some(model), Some(step)) => (
                "training log",
                format!("{}, {}", count(model.depth().into(), "layer"), count(step.iterations as u64, "measured step")),
            ),
            (None, _) => ("configuration of training", String::new()),
        },
        TrainingFile::OwnSteps(steps) => ("measured steps of one's own", rows(steps.len())),
        TrainingFile::Trace(trace) => ("trace of training", count(trace.steps.into(), "step")),
        TrainingFile::Unrecognised(why) => return resembling(why.clone(), file),
    };
    let outcome = Outcome::known(format, holds, problems.clone(), notes.clone());
    let content =
        FileContent::Training(vec![DroppedFile { problems, notes, ..dropped(file.name, file.size_bytes, part) }]);
    (outcome, content).into()
}

/// Reads all files of an archive, each by `read`; archives within it stay closed.
pub(super) fn archive(
    bytes: &[u8],
    file: &File<'_>,
    mut read: impl FnMut(&[u8], &File<'_>) -> Result<Opened>,
) -> Result<Opened> {
    let archive = Archive::open(bytes).map_err(|error| error.to_string())?;
    let names: Vec<(usize, &str)> = archive.names().enumerate().filter(|(_, name)| !is_noise(name)).collect();
    if let Some((_, name)) = names.iter().find(|(_, name)| is_unsafe(name)) {
        return Err(format!("is refused: an entry is named {}, which points outside of the archive", excerpt(name)));
    }
    let mut files = Vec::new();
    let mut inflated = 0;
    for (place, name) in names.iter().take(MOST_FILES) {
        let bytes = archive.bytes_at(*place).map_err(|error| error.to_string())?;
        inflated += bytes.len() as u64;
        if inflated > MOST_BYTES {
            return Err(format!("is refused: it inflates to more than {} MiB", MOST_BYTES >> 20));
        }
        let path = path(name, file.name);
        let size_bytes = bytes.len() as u64;
        if bytes.starts_with(b"PK\x03\x04") {
            let why = "is an archive within an archive, which stays closed; unpack it".to_owned();
            files.push(dropped(&path, size_bytes, TrainingFile::Unrecognised(why)));
            continue;
        }
        if bytes.len() as u64 > MOST_FILE_BYTES {
            let why = format!("has more than {} MiB", MOST_FILE_BYTES >> 20);
            files.push(dropped(&path, size_bytes, TrainingFile::Unrecognised(why)));
            continue;
        }
        let entry = File { name: &path, size_bytes, ..*file };
        match read(&bytes, &entry) {
            Ok(Opened { content: FileContent::Training(more), .. }) => files.extend(more),
            Ok(_) => {
                let why = "is a file of another workbench; unpack the archive and give it by itself".to_owned();
                files.push(dropped(&path, size_bytes, TrainingFile::Unrecognised(why)));
            }
            Err(why) => files.push(dropped(&path, size_bytes, TrainingFile::Unrecognised(why))),
        }
    }
    let used = files.iter().filter(|file| !matches!(file.part, TrainingFile::Unrecognised(_))).count();
    if used == 0 {
        return Err(
            "is a zip archive, and no Excel workbook nor one of samples of a training step; unpack it".to_owned()
        );
    }
    let mut notes = Vec::new();
    if names.len() > MOST_FILES {
        notes.push(format!("Only the first {MOST_FILES} of its {} files were read", names.len()));
    }
    let holds = format!("{} of {}", count(used as u64, "file"), files.len());
    let outcome = Outcome::known("archive of samples", holds, Problems::default(), notes);
    Ok((outcome, FileContent::Training(files)).into())
}

/// Whether an entry of an archive is a folder, or metadata that operating systems add.
fn is_noise(name: &str) -> bool {
    name.ends_with('/') || name.starts_with("__MACOSX/") || name::leaf(name).starts_with('.')
}

fn is_unsafe(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    name.starts_with(['/', '\\']) || drive || name.split(['/', '\\']).any(|part| part == "..")
}

/// The path of an entry; where its own folders name no cluster, the archive does.
fn path(entry: &str, archive: &str) -> String {
    let folders = name::folders(entry);
    let names_a_cluster = folders.len() > 1 || folders.first().is_some_and(|folder| !name::is_kind(folder));
    if names_a_cluster { entry.to_owned() } else { format!("{}/{entry}", name::stem(archive)) }
}
