//! Opens files, and reports how each was used.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{
    arguments::Measured,
    error::{CliError, refuse, told},
    save, terminal,
};
use crate::{
    intake::{
        self, FileReport, Outcome,
        files::{FileSource, FileToLoad, OpenedFiles, read_set},
        lines::lines,
        unpack::{UnpackedFile, is_archive, unpack},
    },
    report::Workbench,
    text::{Lines, Problems, excerpt},
    tuning::{
        reach::is_call_list,
        read::{Evidence, Row, RunKind},
        sets::{Set, SetChoice},
    },
    units::count,
};

/// What a command reads of the files that it is given, so that it advises only what it has an option for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Rows of sweeps; `--configuration` says what ran where a file does not.
    Sweeps,
    /// Rows of one of two states, with the option that chooses its set of measurements.
    State(&'static str),
    /// The files of one workbench.
    Of(Workbench),
}

impl Reads {
    /// The option that chooses one of several sets of measurements.
    fn set_option(self) -> Option<&'static str> {
        match self {
            Self::Sweeps => Some("--set"),
            Self::State(option) => Some(option),
            Self::Of(_) => None,
        }
    }

    /// The contents that a file must have to be of use, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Sweeps | Self::State(_) => "sweeps of collectives",
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

/// The most left-out lines that are listed for each file; the JSON has more.
pub(super) const TOLD: usize = 5;

/// Reads a file's bytes as they are; `-` is the standard input.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    read_whole(path, |content| content)
}

/// Reads a file as text, compressed or not; what is no UTF-8 is replaced. No library inflates its tuner file: what is
/// checked as one is read with [`bytes`].
pub(super) fn lossy_text(path: &Path) -> Result<String, CliError> {
    Ok(String::from_utf8_lossy(&inflated(path)?).into_owned())
}

fn inflated(path: &Path) -> Result<Vec<u8>, CliError> {
    read_whole(path, intake::inflated)
}

fn read_whole(path: &Path, inflate: fn(Box<dyn Read>) -> Box<dyn Read>) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = source(path).and_then(|source| inflate(source.content).read_to_end(&mut bytes));
    read.map_err(|error| unopened(path, &error))?;
    Ok(bytes)
}

/// Reads a tuner file, which must not be empty.
pub(super) fn rules(path: &Path) -> Result<Vec<u8>, CliError> {
    let bytes = bytes(path)?;
    match bytes.trim_ascii() {
        [] => refuse(format!("{} is empty: there is no rule to judge", name(path))),
        _ => Ok(bytes),
    }
}

/// Reads a file that must be UTF-8, compressed or not.
pub(super) fn text(path: &Path) -> Result<String, CliError> {
    String::from_utf8(inflated(path)?).map_err(|_error| told(format!("{} is no text", name(path))))
}

/// The files that paths mean, each with its name and a reader of its lines. Fails if one can't be opened or unpacked.
pub(super) fn all_lines(paths: &[PathBuf]) -> Result<Vec<(String, Lines<'static>)>, CliError> {
    let mut all = Vec::new();
    for (name, opened) in sources(paths)? {
        match opened {
            Ok(source) => all.push((name, lines(source.content))),
            Err(why) => return refuse(format!("{name} {why}")),
        }
    }
    Ok(all)
}

/// That a file can't be opened.
pub(super) fn unopened(path: &Path, error: &io::Error) -> CliError {
    told(format!("{} can't be opened: {error}", name(path)))
}

/// Reads files, and all files in folders, for their rows; `-` is the standard input. Files that hold no sweep are
/// named. Fails if a file can't be opened, none holds rows that can be used, or there is no such set of them.
pub(super) fn read_sweeps(paths: &[PathBuf], measured: &Measured) -> Result<OpenedFiles, CliError> {
    let opened = read(paths, measured, Reads::Sweeps)?;
    say_unused(&opened, Reads::Sweeps, &[]);
    has_rows(opened)
}

/// Refuses files without a row of a sweep; what is wrong with them has been said.
pub(super) fn has_rows(opened: OpenedFiles) -> Result<OpenedFiles, CliError> {
    if opened.rows.is_empty() { refuse(NOTHING_READ) } else { Ok(opened) }
}

/// That no file held anything that can be used; why has been said.
pub(super) const NOTHING_READ: &str = "nothing could be read, so there is nothing to learn from";

/// Reads files for whatever is in them. Of those of one workbench, a file that the command has no use for is named.
/// Fails if a file can't be opened, or there is no such set.
pub(super) fn read(paths: &[PathBuf], measured: &Measured, reads: Reads) -> Result<OpenedFiles, CliError> {
    let opened = read_untold(paths, measured, reads)?;
    opened.files.iter().for_each(|file| tell(file, reads, paths));
    if let Reads::Of(workbench) = reads {
        let used: Vec<u32> = match workbench {
            Workbench::Tuning => {
                let of_tables = opened.documents.comparisons.iter().map(|(id, _)| *id);
                of_tables.chain(opened.documents.compared_logs.iter().copied()).collect()
            }
            _ => opened.parts.files().into_iter().filter(|(of, _)| *of == workbench).map(|(_, id)| id).collect(),
        };
        say_unused(&opened, reads, &used);
    }
    Ok(opened)
}

/// Names the files that were read and that the command has no use for: those that are not `used`, and hold no rows
/// where it reads rows.
pub(super) fn say_unused(opened: &OpenedFiles, reads: Reads, used: &[u32]) {
    let reads_rows = !matches!(reads, Reads::Of(_));
    for file in opened.files.iter().filter(|file| !file.completes && !used.contains(&file.id)) {
        let format = match &file.outcome {
            Outcome::Loaded { format, .. } if !reads_rows => format,
            Outcome::Known { format, .. } => format,
            _ => continue,
        };
        let what = reads.words();
        let why = format!("{} is not used: it holds {format}; this command reads {what}", file.name);
        terminal::say("warning", &why);
    }
}

/// Reads files as [`read`] does, and leaves it to the caller to say what became of each. Fails if a file can't be
/// opened, or there is no such set.
pub(super) fn read_untold(paths: &[PathBuf], measured: &Measured, reads: Reads) -> Result<OpenedFiles, CliError> {
    let (mut names, mut contents, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (id, (name, opened)) in (0..).zip(sources(paths)?) {
        match opened {
            Ok(source) => {
                contents.push(source);
                names.push(FileToLoad { id, name, mapping: measured.configuration.clone() });
            }
            Err(why) => {
                let outcome = Outcome::Refused(format!("{} {why}.", excerpt(&name)));
                refused.push(FileReport { id, name, size_bytes: 0, outcome, completes: false });
            }
        }
    }
    let option = reads.set_option().unwrap_or_default();
    let mut unknown = None;
    let mut choose = |sets: &[Set]| {
        let Some(wanted) = &measured.set else { return SetChoice::Largest };
        chosen(sets, wanted).unwrap_or_else(|| {
            let held = listed(sets);
            unknown = Some(told(format!("{option} {wanted} names no set, or more than one; these files hold {held}")));
            SetChoice::Largest
        })
    };
    let mut opened = read_set(&names, contents, &mut choose, &mut terminal::Bar::new());
    opened.files.extend(refused);
    opened.files.sort_by_key(|file| file.id);
    if let Some(error) = unknown {
        opened.files.iter().for_each(|file| tell(file, reads, paths));
        return Err(error);
    }
    if let Some(mapping) = &measured.configuration {
        // The default has no protocol and no channels.
        let is_used = |row: &Row| match mapping.columns.len() {
            1 => row.kind == RunKind::Default,
            _ => row.evidence == Evidence::Given,
        };
        // Of a table without such columns no row says where its configuration is from.
        let is_log = |file: &FileReport| match &file.outcome {
            Outcome::Loaded { format, .. } => format.contains("log"),
            _ => true,
        };
        if !opened.rows.is_empty() && opened.files.iter().all(is_log) && !opened.rows.iter().any(is_used) {
            terminal::say("warning", "--configuration is not used: each log says by itself what ran");
        }
    }
    if let Some(wanted) = measured.set.as_ref().filter(|_| opened.sets.all.is_empty() && !opened.rows.is_empty())
        && !["1", "all"].contains(&wanted.trim())
    {
        let why = format!("{option} {wanted} chooses nothing: these files hold one set of measurements");
        terminal::say("warning", &why);
    }
    if !option.is_empty() && measured.set.is_none() && !opened.sets.all.is_empty() {
        opened.sets.note += &format!("; {option} takes another of {}", listed(&opened.sets.all));
    }
    Ok(opened)
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
    if let Some(set) = sets.iter().find(|set| set.label.to_lowercase() == wanted) {
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
        let named = |error| unopened(&path, &error);
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

/// A file's name and its bytes, or why they can't be unpacked, phrased to follow the name.
type NamedSource = (String, Result<FileSource, String>);

/// What is read of the files that paths mean, those of archives instead of these. Fails if a file can't be opened.
fn sources(paths: &[PathBuf]) -> Result<Vec<NamedSource>, CliError> {
    let mut all = Vec::new();
    for path in files(paths)? {
        let name = name(&path);
        let source = source(&path).map_err(|error| unopened(&path, &error))?;
        if !is_archive(&name) {
            all.push((name, Ok(source)));
            continue;
        }
        match unpack(source.content, &name) {
            Ok(files) => all.extend(
                files
                    .into_iter()
                    .map(|UnpackedFile { name, bytes, refused }| (name, refused.map_or_else(|| Ok(bytes.into()), Err))),
            ),
            Err(error) => all.push((name, Err(error.to_string()))),
        }
    }
    Ok(all)
}

/// The path of a file as it is shown.
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
            say_problems(name, problems);
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

/// Says which lines of a file were left out, and why: the first of them.
pub(super) fn say_problems(name: &str, problems: &Problems) {
    problems.kept.iter().take(TOLD).for_each(|problem| terminal::say("warning", &format!("{name}: {problem}")));
    let rest = problems.count.saturating_sub(TOLD as u64);
    if rest > 0 {
        terminal::say("warning", &format!("{name}: {} more left out", count(rest, "line")));
    }
}

/// The reason why a file was not used, with what can be done about it.
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
            let collective = lacks("collective").then_some("name a log after its program, as in all_reduce_perf.log");
            // It says nothing of the collective.
            let configuration = (lacks("algo") && collective.is_none() && reads == Reads::Sweeps)
                .then_some("--configuration RING/LL128/24, or --configuration default");
            let calls = is_call_list(&request.headers.join(","));
            let calls = calls.then_some("as a list of a job's calls it is read by collectune reach");
            let remedies: Vec<&str> = collective.into_iter().chain(configuration).chain(calls).collect();
            let remedies = if remedies.is_empty() { String::new() } else { format!(": {}", remedies.join("; ")) };
            Some(format!("{name} {}{remedies}", request.problem))
        }
        // Long names are cut there.
        (Outcome::Refused(why), _) => {
            Some(why.strip_prefix(&excerpt(name)).map_or(why.clone(), |why| format!("{name}{why}")))
        }
    }
}
