//! Files are opened, and what became of them is told.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{CliError, terminal};
use crate::{
    intake::{FileReport, Outcome},
    tuning::wording::count,
    worker::{
        executor::{self, Opened, Source},
        protocol::FileToLoad,
    },
};

/// So many lines that were left out are told for each file; the JSON has more.
pub(super) const TOLD: usize = 5;

/// Reads files; `-` is the standard input.
///
/// # Errors
/// A file can't be opened, or none holds anything that can be used.
pub(super) fn read(paths: &[PathBuf]) -> Result<Opened, CliError> {
    let opened = open_all(paths)?;
    if opened.rows.is_empty() { Err(CliError::NothingRead) } else { Ok(opened) }
}

/// Reads files of any kind; `-` is the standard input.
///
/// # Errors
/// A file can't be opened.
pub(super) fn open_all(paths: &[PathBuf]) -> Result<Opened, CliError> {
    let mut names = Vec::new();
    let mut sources = Vec::new();
    for (id, path) in (0..).zip(paths) {
        let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
        sources.push(open(path).map_err(|error| CliError::Open { name: name.clone(), error })?);
        names.push(FileToLoad { id, name, mapping: None });
    }
    let opened = executor::read_files(&names, sources, &mut terminal::Bar::new());
    opened.files.iter().for_each(tell);
    Ok(opened)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn open(path: &Path) -> io::Result<Source> {
    let (content, size_bytes): (Box<dyn Read>, u64) = if is_stdin(path) {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path)?;
        let size_bytes = file.metadata()?.len();
        (Box::new(BufReader::new(file)), size_bytes)
    };
    Ok(Source { content, size_bytes })
}

/// Says on stderr what of a file could not be used.
fn tell(file: &FileReport) {
    let name = &file.name;
    match &file.outcome {
        Outcome::Loaded { problems, notes, .. } | Outcome::Known { problems, notes, .. } => {
            for problem in problems.kept.iter().take(TOLD) {
                terminal::say("warning", &format!("{name}: {problem}"));
            }
            let rest = problems.count.saturating_sub(TOLD as u64);
            if rest > 0 {
                terminal::say("warning", &format!("{name}: {} more left out", count(rest, "line")));
            }
            notes.iter().for_each(|note| terminal::say("note", &format!("{name}: {note}")));
        }
        outcome => {
            if let Some(why) = refusal(name, outcome) {
                terminal::say("error", &why);
            }
        }
    }
}

/// Why a file was not used.
pub(super) fn refusal(name: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Loaded { .. } | Outcome::Known { .. } => None,
        Outcome::NeedsMapping(request) => Some(format!("{name} {}", request.problem)),
        Outcome::Refused(why) => Some(why.clone()),
    }
}
