//! An opened file: the report on it, and its contents.

use std::io::{self, Read};

use super::{FileReport, Mapping, Outcome, inflate::InflateError};
use crate::{
    overlap::loaded::KernelFile,
    policy,
    report::Report,
    text::{Listing, lossy},
    topology,
    training_time::bundle::DroppedFile,
    tuning::{
        campaign::journal::Journal,
        job::JobLog,
        log::SweepLog,
        origin::Origins,
        read::{Reading, Row},
    },
    units::count,
};

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// Rows of a sweep, in the order of the file.
    Rows(Vec<Row>),
    /// The text of a model file: a JSON object whose `format` is `collectune-model`.
    Model(String),
    /// A log: measurements of nccl-tests, what a job calls, or both.
    Log {
        /// The rows of its tables.
        rows: Vec<Row>,
        /// The contents of its debug lines.
        job: JobLog,
    },
    /// A tuner's conf, byte for byte: its readers are C.
    Conf(Vec<u8>),
    /// The text of a comparison of a configuration with the default (`per_size_stats.csv`).
    Comparison(String),
    /// A table of kernels, a trace, or a model that predicts their slowdown.
    Kernels(Box<KernelFile>),
    /// A file of the training time workbench.
    Training(Box<DroppedFile>),
    /// A reward log, or a policy file.
    Rewards(Box<policy::read::Log>),
    /// Links, a schedule, a dump of a machine, or conditions of a collective.
    Topology(Box<topology::study::Part>),
    /// A table that is only shown: hotspots, predicted gains, a summary of runs, launches.
    Listing(Listing),
    /// The journal of a campaign.
    Journal(Journal),
    /// A report that Collectune wrote.
    Report(Box<Report>),
    /// A file that can't be used.
    Nothing,
}

/// A file that was read by itself, before others are joined to it.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// The report on the file.
    pub report: FileReport,
    /// What it holds, for the workbench that reads it.
    pub content: FileContent,
    /// The versions and variables with which its rows were measured.
    pub origins: Origins,
    /// The log itself, to be joined with others.
    pub(super) log: Option<SweepLog>,
}

/// The facts about a file besides its bytes.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    /// The number of the file in [`Row::file`].
    pub(super) number: u16,
    /// The name, with folders where they are known.
    pub(super) name: &'a str,
    pub(super) size_bytes: u64,
    pub(super) mapping: Option<&'a Mapping>,
}

/// The result of reading a file's contents.
pub(super) struct Opened {
    pub(super) outcome: Outcome,
    pub(super) content: FileContent,
    pub(super) origins: Origins,
    pub(super) log: Option<SweepLog>,
}

impl From<Outcome> for Opened {
    /// The result for a file that can't be used.
    fn from(outcome: Outcome) -> Self {
        (outcome, FileContent::Nothing).into()
    }
}

impl From<(Outcome, FileContent)> for Opened {
    fn from((outcome, content): (Outcome, FileContent)) -> Self {
        Self { outcome, content, origins: Origins::default(), log: None }
    }
}

/// The error is a sentence without its subject and its full stop.
pub(super) type Result<T> = std::result::Result<T, String>;

/// The reason why a file can't be used after a read error; `None` if the part before the error can be used.
pub(super) fn fatal(error: &io::Error) -> Option<String> {
    match InflateError::of(error) {
        Some(InflateError::Truncated | InflateError::Damaged) => None,
        Some(error) => Some(format!("was not read: {error}")),
        None => Some(format!("can't be read: {error}")),
    }
}

/// The first bytes of a stream, at most `most`, and the error that ended them before, if one did.
pub(super) fn first_bytes(source: &mut dyn Read, most: u64) -> (Vec<u8>, Option<io::Error>) {
    let mut bytes = Vec::new();
    let error = source.take(most).read_to_end(&mut bytes).err();
    (bytes, error)
}

/// The bytes of a stream, at most `most`, of which nothing is used where it can't be read to there.
pub(super) fn all_bytes(source: &mut dyn Read, most: u64) -> Result<Vec<u8>> {
    match first_bytes(source, most) {
        (_, Some(error)) => Err(fatal(&error).unwrap_or_else(|| format!("can't be read: {error}"))),
        (bytes, None) => Ok(bytes),
    }
}

/// The first bytes of a text, at most `most`.
pub(super) fn first_text(source: &mut dyn Read, most: u64) -> Result<String> {
    match first_bytes(source, most) {
        (_, Some(error)) => Err(format!("can't be read: {error}")),
        (bytes, None) => Ok(String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes()).into_owned())),
    }
}

/// The note on a text that breaks off in a line, if it does. The error is the reason why nothing before that line can
/// be used either, without its subject.
pub(super) fn broken(error: Option<&io::Error>, line: u64) -> Result<Option<String>> {
    let Some(error) = error else { return Ok(None) };
    fatal(error).map_or_else(|| Ok(Some(format!("{error}: what stands before line {line} was read"))), Err)
}

/// Notes about the rows that were accepted.
pub(super) fn notes(reading: &Reading) -> Vec<String> {
    let rows = |n: u64| count(n, "row");
    let mut notes = Vec::new();
    if reading.rows == 0 {
        notes.push("No line could be used".to_owned());
    }
    if reading.substituted_rows > 0 {
        let (rows, n) = (rows(reading.substituted_rows), reading.substituted_rows);
        let verb = if n == 1 { "is a run" } else { "are runs" };
        notes.push(format!("{rows} {verb} of something else than what was asked for: listed as what ran"));
    }
    if reading.wrapped_rows > 0 {
        notes.push(format!(
            "{} with a negative number of channels n, read as 256 + n and marked: not recommended unasked",
            rows(reading.wrapped_rows)
        ));
    }
    if reading.unsaid_rows > 0 {
        notes.push(format!(
            "{} without a word on what was asked for or what ran, as in a merge with a file of the older form: read as \
             runs that were asked for, not as runs of the default",
            rows(reading.unsaid_rows)
        ));
    }
    if reading.may_be_cut {
        notes.push("The last line has no line end: if the file was cut there, its last number is wrong".to_owned());
    }
    notes
}
