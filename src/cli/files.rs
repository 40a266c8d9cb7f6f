//! Files are opened, and what became of them is told.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{CliError, arguments::Measured, save, terminal};
use crate::{
    intake::{
        FileReport, Mapping, Outcome,
        files::{FileSource, FileToLoad, OpenedFiles, read_set},
    },
    report::Workbench,
    text::excerpt,
    tuning::sets::{Set, SetChoice},
    units::count,
};

/// What a command reads of the files that it is given, so that it advises only what it has an option for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Rows of sweeps; `--configuration` says what ran where a file does not.
    SweepsSaid,
    /// Rows of sweeps, which must say what ran.
    Sweeps,
    /// One of two states, with the option that chooses its set of measurements.
    State(&'static str),
    /// The files of one workbench.
    Of(Workbench),
}

impl Reads {
    /// The option that chooses one of several sets of measurements.
    fn set_option(self) -> Option<&'static str> {
        match self {
            Self::SweepsSaid | Self::Sweeps => Some("--set"),
            Self::State(option) => Some(option),
            Self::Of(_) => None,
        }
    }

    /// The contents that a file must have to be of use, in words.
    fn words(self) -> &'static str {
        match self {
            Self::SweepsSaid | Self::Sweeps | Self::State(_) => "sweeps of collectives",
            Self::Of(Workbench::Tuning) => {
                "comparisons (tables with size_bytes and def_runs and cfg_runs, or def_median and cfg_median) and logs of \
                 a campaign, whose names tell the arm"
            }
            Self::Of(Workbench::Policy) => {
                "reward logs: lines like allreduce,4194304,1,8,12.34, a header like \
                 collective,size_bytes,num_nodes,num_gpus,latency_us, or a list of times of one arm"
            }
            Self::Of(Workbench::Overlap) => {
                "kernels: merged features, slowdown statistics with kernel metrics, or profiles of Nsight"
            }
            Self::Of(Workbench::TrainingTime) => {
                "samples of operators and collectives, and configurations of training runs"
            }
            Self::Of(Workbench::Topology) => "link graphs, dumps of machines, and schedules",
        }
    }
}

/// So many lines that were left out are told for each file; the JSON has more.
pub(super) const TOLD: usize = 5;

/// Reads a file's bytes as they are; `-` is the standard input.
///
/// # Errors
/// It can't be read.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = source(path).and_then(|mut source| source.content.read_to_end(&mut bytes));
    read.map_err(|error| CliError::Open { name: name(path), error })?;
    Ok(bytes)
}

/// Reads files, and all files in folders, for their rows; `-` is the standard input. `configuration` is that of the
/// runs for which a file does not say it; `measured` says which rows are used, `reads` what is advised.
///
/// # Errors
/// A file can't be opened, none holds rows that can be used, or there is no such set of them.
pub(super) fn read(
    paths: &[PathBuf],
    configuration: Option<&Mapping>,
    measured: &Measured,
    reads: Reads,
) -> Result<OpenedFiles, CliError> {
    let opened = read_any(paths, configuration, measured, reads)?;
    say_no_sweep(&opened, &[]);
    if opened.rows.is_empty() { Err(CliError::NothingRead) } else { Ok(opened) }
}

/// Names the files that were read and hold no sweep, apart from those that are `used` for something else.
pub(super) fn say_no_sweep(opened: &OpenedFiles, used: &[u32]) {
    for file in opened.files.iter().filter(|file| !used.contains(&file.id)) {
        if let Outcome::Known { format, .. } = &file.outcome {
            let words = Reads::Sweeps.words();
            terminal::say(
                "warning",
                &format!("{} is not used: it holds {format}; this command reads {words}", file.name),
            );
        }
    }
}

/// Reads files as [`read`] does, for whatever is in them. A file that the command has no use for is named.
///
/// # Errors
/// A file can't be opened, or there is no such set.
pub(super) fn read_any(
    paths: &[PathBuf],
    configuration: Option<&Mapping>,
    measured: &Measured,
    reads: Reads,
) -> Result<OpenedFiles, CliError> {
    let opened = read_untold(paths, configuration, measured, reads)?;
    opened.files.iter().for_each(|file| tell(file, reads, paths));
    if let Reads::Of(workbench) = reads {
        say_unused(&opened, workbench, reads);
    }
    Ok(opened)
}

/// Reads files as [`read_any`] does, and leaves it to the caller to say what became of each.
///
/// # Errors
/// A file can't be opened, or there is no such set.
pub(super) fn read_untold(
    paths: &[PathBuf],
    configuration: Option<&Mapping>,
    measured: &Measured,
    reads: Reads,
) -> Result<OpenedFiles, CliError> {
    let mut names = Vec::new();
    let mut sources = Vec::new();
    for (id, path) in (0..).zip(files(paths)?) {
        let name = name(&path);
        sources.push(source(&path).map_err(|error| CliError::Open { name: name.clone(), error })?);
        names.push(FileToLoad { id, name, mapping: configuration.cloned() });
    }
    let mut unknown = None;
    let mut choose = |sets: &[Set]| {
        let Some(wanted) = &measured.set else { return SetChoice::Largest };
        chosen(sets, wanted).unwrap_or_else(|| {
            let option = reads.set_option().unwrap_or_default();
            unknown = Some(CliError::NoSet { option, wanted: wanted.clone(), held: listed(sets) });
            SetChoice::Largest
        })
    };
    let mut opened = read_set(&names, sources, &mut choose, &mut terminal::Bar::new());
    if let Some(error) = unknown {
        opened.files.iter().for_each(|file| tell(file, reads, paths));
        return Err(error);
    }
    if let Some(wanted) = measured.set.as_ref().filter(|_| opened.sets.all.is_empty() && !opened.rows.is_empty())
        && !["1", "all"].contains(&wanted.trim())
    {
        let option = reads.set_option().unwrap_or_default();
        terminal::say(
            "warning",
            &format!("{option} {wanted} chooses nothing: these files hold one set of measurements"),
        );
    }
    if let Some(option) = reads.set_option().filter(|_| measured.set.is_none() && !opened.sets.all.is_empty()) {
        opened.sets.note += &format!("; {option} takes another of {}", listed(&opened.sets.all));
    }
    Ok(opened)
}

/// Names the files that were read and are of no use here.
fn say_unused(opened: &OpenedFiles, workbench: Workbench, reads: Reads) {
    let used: Vec<u32> = match workbench {
        Workbench::Tuning => opened.documents.comparisons.iter().map(|(id, _)| *id).collect(),
        _ => opened.parts.files().into_iter().filter(|(of, _)| *of == workbench).map(|(_, id)| id).collect(),
    };
    for file in opened.files.iter().filter(|file| !used.contains(&file.id)) {
        let format = match &file.outcome {
            Outcome::Loaded { format, .. } | Outcome::Known { format, .. } => format,
            Outcome::NeedsMapping(_) | Outcome::Refused(_) => continue,
        };
        terminal::say(
            "warning",
            &format!("{} is not used: it holds {format}; this command reads {}", file.name, reads.words()),
        );
    }
}

/// The set of a number, from 1, or of a part of its label that no other has.
fn chosen(sets: &[Set], wanted: &str) -> Option<SetChoice> {
    let wanted = wanted.trim().to_lowercase();
    if wanted == "all" {
        return Some(SetChoice::Pooled);
    }
    if let Some(set) = wanted.parse::<usize>().ok().and_then(|number| sets.get(number.checked_sub(1)?)) {
        return Some(SetChoice::One(set.key));
    }
    let mut named = sets.iter().filter(|set| set.label.to_lowercase().contains(&wanted));
    match (named.next(), named.next()) {
        (Some(set), None) => Some(SetChoice::One(set.key)),
        _ => None,
    }
}

/// `1 (NCCL 2.29.2, 412 rows), 2 (NCCL 2.26.6, 206 rows)`.
fn listed(sets: &[Set]) -> String {
    let one = |(index, set): (usize, &Set)| format!("{} ({}, {})", index + 1, set.label, count(set.rows, "row"));
    sets.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

/// The files that paths mean: a folder means all files in it and below, also behind symbolic links, each folder once.
/// Hidden ones and what is no file, such as a pipe that nobody writes into, are left out.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut all = Vec::new();
    let mut open: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    // A link may lead back to where it stands in.
    let mut entered: Vec<PathBuf> = Vec::new();
    while let Some(path) = open.pop() {
        if is_stdin(&path) || !path.is_dir() {
            all.push(path);
            continue;
        }
        let named = |error| CliError::Open { name: name(&path), error };
        let place = fs::canonicalize(&path).map_err(named)?;
        if entered.contains(&place) && !paths.contains(&path) {
            continue;
        }
        entered.push(place);
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(named)?;
        let mut inside: Vec<PathBuf> = entries
            .into_iter()
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| entry.path())
            .filter(|path| fs::metadata(path).is_ok_and(|file| file.is_file() || file.is_dir()))
            .collect();
        inside.sort_unstable_by(|a, b| b.cmp(a));
        open.append(&mut inside);
    }
    Ok(all)
}

/// The name of a file without its folder.
pub(super) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file that is opened when it is its turn: a process may have only so many files open, often 1,024.
enum Content {
    Waits(PathBuf),
    Opened(Box<dyn Read>),
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Waits(path) = self {
            *self = Self::Opened(if is_stdin(path) {
                Box::new(io::stdin().lock())
            } else {
                Box::new(BufReader::new(File::open(path)?))
            });
        }
        match self {
            Self::Waits(_) => Ok(0),
            Self::Opened(file) => file.read(buffer),
        }
    }
}

/// What is read of a path. A file must be there and be one's own to read; nothing stays open.
fn source(path: &Path) -> io::Result<FileSource> {
    let mut size_bytes = 0;
    if !is_stdin(path) {
        let file = fs::metadata(path)?;
        // A pipe can be opened only once.
        if file.is_file() {
            File::open(path)?;
            save::is_read(path, &file);
        }
        size_bytes = file.len();
    }
    Ok(FileSource { content: Box::new(Content::Waits(path.to_owned())), size_bytes })
}

/// Says on stderr what of a file could not be used. That it is refused is an error where it stands among the `paths`
/// that were named: what lies in a folder besides is not missed.
pub(super) fn tell(file: &FileReport, reads: Reads, paths: &[PathBuf]) {
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
            if let Some(why) = refusal(name, outcome, reads) {
                let is_named = paths.iter().any(|path| self::name(path) == *name);
                terminal::say(if is_named { "error" } else { "warning" }, &why);
            }
        }
    }
}

/// Why a file was not used.
pub(super) fn refusal(name: &str, outcome: &Outcome, reads: Reads) -> Option<String> {
    const LISTED: usize = 12;
    match (outcome, reads) {
        (Outcome::Loaded { .. } | Outcome::Known { .. }, _) => None,
        (Outcome::NeedsMapping(request), Reads::Of(_)) => {
            let mut headers: Vec<&str> = request.headers.iter().take(LISTED).map(String::as_str).collect();
            if request.headers.len() > LISTED {
                headers.push("…");
            }
            Some(format!("{name} has the columns {}; this command reads {}", headers.join(", "), reads.words()))
        }
        (Outcome::NeedsMapping(request), _) => {
            let lacks = |column: &str| request.wanted.iter().any(|w| w.name == column && w.guess.is_none());
            let option = if lacks("algo") && reads == Reads::SweepsSaid {
                ": --configuration RING/LL128/24, or --configuration default"
            } else {
                ""
            };
            Some(format!("{name} {}{option}", request.problem))
        }
        // Long names are cut there.
        (Outcome::Refused(why), _) => {
            Some(why.strip_prefix(&excerpt(name)).map_or(why.clone(), |why| format!("{name}{why}")))
        }
    }
}
