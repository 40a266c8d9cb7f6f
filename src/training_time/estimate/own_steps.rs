//! Steps that were measured on one's own cluster: a table with a row a run.

use super::{
    given_layout::GivenLayout,
    stack::{Recomputation, Sharding},
};
use crate::{
    text::{Dialect, Problem, Problems, Record, Records, number, whole},
    training_time::trace::TracedParts,
};

/// A step of one's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnStep {
    /// The GPUs on which it ran.
    pub gpus: u64,
    /// The layout with which it was measured, as far as it is given.
    pub layout: GivenLayout,
    /// Whether its tensor and pipeline degrees are given, or there is one GPU: else they are taken as 1.
    pub says_layout: bool,
    /// Tokens of a sequence; `None` as the question has it.
    pub sequence: Option<u32>,
    /// Sequences of a step; `None` as the question has it.
    pub global_batch: Option<u64>,
    /// The time of the whole step in µs.
    pub time_us: f64,
    /// The line in its file, from 1; `None` of a trace.
    pub line: Option<u64>,
    /// What its time goes into, where it was traced.
    pub parts: Option<TracedParts>,
}

/// A step with the name of its file.
pub type NamedStep = (String, OwnStep);

/// The columns; `gpus` and `step_s` are needed.
pub const COLUMNS: [&str; 13] = [
    "gpus",
    "step_s",
    "tp",
    "pp",
    "cp",
    "ep",
    "micro_batch",
    "virtual_stages",
    "sequence",
    "global_batch",
    "recompute",
    "sharding",
    "dp_replicate",
];

/// Why a table can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnStepsError {
    /// The header lacks a column that each step needs.
    #[error("line 1: the table lacks {0}; it needs gpus and step_s, and may have {rest}", rest = COLUMNS[2..].join(", "))]
    Lacks(&'static str),
    /// No row could be read; what was wrong with the first.
    #[error("the table has no row that can be read: {0}")]
    NoneRead(String),
    /// The table has a header and no row below it.
    #[error("the table has no row")]
    Empty,
}

/// Reads steps from the text of a table, with or without a byte order mark.
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, problems: &mut Problems) -> Result<Vec<OwnStep>, OwnStepsError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut records = Records::new(text.as_bytes(), Dialect::sniff(text.as_bytes()));
    let headers: Vec<String> = match records.next() {
        Some(record) => record.cells().map(str::to_owned).collect(),
        None => return Err(OwnStepsError::Empty),
    };
    read(&mut records, &headers, problems)
}

/// Reads a table after its header. Rows that can't be read are left out and become problems; so do columns that say
/// nothing.
///
/// # Errors
/// Returns an error if a needed column is missing, or no row is there.
pub fn read(
    records: &mut Records<'_>,
    headers: &[String],
    problems: &mut Problems,
) -> Result<Vec<OwnStep>, OwnStepsError> {
    let header: Vec<String> = headers.iter().map(|cell| cell.trim().to_ascii_lowercase()).collect();
    let columns = COLUMNS.map(|name| header.iter().position(|known| known == name));
    for (name, column) in COLUMNS.iter().zip(columns).take(2) {
        if column.is_none() {
            return Err(OwnStepsError::Lacks(name));
        }
    }
    for (at, name) in header.iter().enumerate() {
        if !COLUMNS.contains(&name.as_str()) {
            problems.push(Problem::new(1, name, name, "is no column that is used"));
        } else if header[..at].contains(name) {
            problems.push(Problem::new(1, name, name, "stands twice in the header; the first is used"));
        }
    }
    let mut steps = Vec::new();
    let mut first = None;
    while let Some(record) = records.next() {
        let (line, beyond) = (record.line(), record.get(header.len()).unwrap_or_default().to_owned());
        match row(record, columns) {
            Ok(step) if beyond.is_empty() => steps.push(step),
            found => {
                let longer = || Problem::new(line, "", &beyond, "is a cell without a column; the row was left out");
                let problem = found.err().unwrap_or_else(longer);
                first.get_or_insert_with(|| problem.to_string());
                problems.push(problem);
            }
        }
    }
    match first {
        _ if !steps.is_empty() => Ok(steps),
        Some(first) => Err(OwnStepsError::NoneRead(first)),
        None => Err(OwnStepsError::Empty),
    }
}

fn row(record: Record<'_>, columns: [Option<usize>; COLUMNS.len()]) -> Result<OwnStep, Problem> {
    let cell = |at: usize| columns[at].and_then(|column| record.get(column)).map(str::trim).unwrap_or_default();
    let problem = |at: usize, expected: &str| {
        Problem::new(record.line(), COLUMNS[at], cell(at), format!("{expected}; the row was left out"))
    };
    let count = |at: usize| -> Result<Option<u32>, Problem> {
        if cell(at).is_empty() {
            return Ok(None);
        }
        let value = whole(cell(at)).and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0);
        value.map(Some).ok_or_else(|| problem(at, "is not a whole number above zero"))
    };
    let named = |at: usize| -> Result<&str, Problem> { Ok(cell(at)) };
    let seconds = number(cell(1)).filter(|seconds| *seconds > 0.0 && *seconds < 1e6);
    let gpus = count(0)?.ok_or_else(|| problem(0, "is missing"))?;
    Ok(OwnStep {
        gpus: gpus.into(),
        says_layout: gpus == 1 || count(2)?.is_some() && count(3)?.is_some(),
        time_us: seconds.ok_or_else(|| problem(1, "is not a number of seconds"))? * 1e6,
        layout: GivenLayout {
            tensor: count(2)?.unwrap_or(1),
            pipeline: count(3)?.unwrap_or(1),
            context: count(4)?.unwrap_or(1),
            expert: count(5)?.unwrap_or(1),
            replicate: count(12)?.unwrap_or(1),
            micro_batch: count(6)?.unwrap_or(1),
            virtual_stages: count(7)?.unwrap_or(1),
            recomputation: match named(10)? {
                "" => None,
                word => Some(
                    by_name(&Recomputation::NAMES, word)
                        .ok_or_else(|| problem(10, "is not none, attention, operators or layers"))?,
                ),
            },
            sharding: match named(11)? {
                "" => None,
                word => Some(
                    by_name(&Sharding::ALL, word)
                        .ok_or_else(|| problem(11, "is not none, optimizer, gradients or parameters"))?,
                ),
            },
        },
        sequence: count(8)?,
        global_batch: count(9)?.map(u64::from),
        line: Some(record.line()),
        parts: None,
    })
}

/// A value by its name.
pub fn by_name<T: Copy>(all: &[(T, &str)], word: &str) -> Option<T> {
    all.iter().find(|(_, name)| name.eq_ignore_ascii_case(word)).map(|(value, _)| *value)
}
