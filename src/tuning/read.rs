//! A sweep file becomes rows.

pub(super) mod row;

use std::{borrow::Cow, num::NonZero};

use serde::{Deserialize, Serialize};

use super::{
    columns::{Column, Columns, ColumnsError},
    origin::Origins,
};
use crate::{
    collective::{Algorithm, Configuration, Protocol, Workload},
    text::{Problem, Problems, Record, Records, State},
};
use row::RowReader;

/// One accepted data line of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Which file, as the caller numbers them.
    pub file: u16,
    /// Line in the file, from 1.
    pub line: u32,
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The configuration that ran, channels as printed (256 + n where the print wrapped). Algorithm and protocol `None`
    /// and channels 0 where the file does not say.
    pub ran: Configuration,
    /// The measurement with one buffer for sending and receiving.
    pub in_place: Option<Sample>,
    /// The measurement with two buffers.
    pub out_of_place: Option<Sample>,
    /// How many runs this line is the median of; 1 for a line of a single run.
    pub repeats: u32,
    /// (max − min) / median of those runs in per cent; `None` for a single run.
    pub spread_pct: Option<f64>,
    /// Whether a configuration was asked for or the default ran.
    pub kind: RunKind,
    /// Warnings that the row's other columns give.
    pub marks: RowMarks,
    /// The settings that were asked of the library, as far as the file says.
    pub asked: Asked,
    /// How it is known what ran.
    pub evidence: Evidence,
    /// The origin of the measurement, as a number of [`Origins`]; 0 where the file does not say it.
    pub origin: u16,
}

/// The settings that were asked of the library; `None` for what was not asked or is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Asked {
    /// As `NCCL_ALGO` or a column says.
    pub algorithm: Option<Algorithm>,
    /// As `NCCL_PROTO` or a column says.
    pub protocol: Option<Protocol>,
    /// The total number of channels.
    pub channels: Option<NonZero<u16>>,
}

/// How it is known what ran; the strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The library's debug lines say it, channels included: this is what was executed.
    Executed,
    /// Columns of the table say it. Algorithm and protocol ran; the channels are a plan: an upper bound, of which small
    /// sizes use fewer.
    #[default]
    Planned,
    /// Only what was asked for is known, from the environment or the command line.
    Asked,
    /// The file's name says it.
    FileName,
    /// The user answered it when the file was opened.
    Given,
}

/// Whether a row is of the default or of a configuration that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RunKind {
    /// A configuration was asked for (or the file does not say what was asked).
    Asked,
    /// The library's own choice: the baseline, never a candidate.
    Default,
}

/// Marks of a row or a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowMarks {
    /// Algorithm or protocol that ran differ from what was asked.
    pub substituted: bool,
    /// The channel count was printed as a negative byte and is read as 256 + n.
    pub wrapped_channels: bool,
    /// The algorithm was printed with RCCL's WarpSpeed mark (`RING*`).
    pub warp_speed: bool,
    /// Wrong values came out of the run: it is no measurement, and its configuration no candidate
    /// ([`super::wrong_values`]). No point has it, and no file.
    #[serde(skip)]
    pub has_wrong_values: bool,
}

impl RowMarks {
    /// The marks that either has.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            substituted: self.substituted || other.substituted,
            wrapped_channels: self.wrapped_channels || other.wrapped_channels,
            warp_speed: self.warp_speed || other.warp_speed,
            has_wrong_values: self.has_wrong_values || other.has_wrong_values,
        }
    }
}

/// A measurement of a row, in place or out of place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of one operation in microseconds; `None` where the file has busbw only.
    pub time_us: Option<f64>,
    /// Bus bandwidth in GB/s as printed, which can be 0 at tiny sizes; computed where the file has time only.
    pub busbw_gbps: f64,
}

/// The placement of a measurement: whether send and receive buffer are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The in-place measurement, which decides.
    InPlace,
    /// The out-of-place measurement, which only confirms or contradicts.
    OutOfPlace,
}

/// How many lines of a file were read or left out, and why.
#[derive(Debug, Default)]
pub struct Reading {
    /// Lines that were left out.
    pub problems: Problems,
    /// The number of lines that were read.
    pub rows: u64,
    /// The number of these that are runs of the default.
    pub default_rows: u64,
    /// Of those, runs of something else than what was asked for.
    pub substituted_rows: u64,
    /// The number of these whose channel count wrapped.
    pub wrapped_rows: u64,
    /// The number of these that are medians of several runs.
    pub median_rows: u64,
    /// Of those, rows of a file with requested columns that say nothing about what was asked or what ran.
    pub unsaid_rows: u64,
    /// The last line was accepted, has no line end, and its last cell counts: it may be cut.
    pub may_be_cut: bool,
    /// Whether reading stopped at [`MAX_ROWS`].
    pub stopped: bool,
    /// The origins of the lines that were read.
    pub origins: Origins,
}

impl Reading {
    pub(super) fn count(&mut self, row: &Row, unsaid: bool) {
        self.rows += 1;
        self.default_rows += u64::from(row.kind == RunKind::Default);
        self.substituted_rows += u64::from(row.marks.substituted);
        self.wrapped_rows += u64::from(row.marks.wrapped_channels);
        self.median_rows += u64::from(row.repeats > 1);
        self.unsaid_rows += u64::from(unsaid);
    }
}

/// The most rows of a file.
pub const MAX_ROWS: u64 = 5_000_000;

/// Reads the records after the header into `rows`, also where another header follows, as in sweeps that were appended
/// to each other. Every thousand records `share_read` is asked which share of the file has been read, from which the
/// memory for the rest is estimated.
pub fn read_rows(
    records: &mut Records<'_>,
    columns: &Columns,
    file: u16,
    rows: &mut Vec<Row>,
    share_read: &mut dyn FnMut() -> f64,
) -> Reading {
    const PROGRESS_INTERVAL: u64 = 1024;
    let mut reader = RowReader::new(file);
    let mut columns = Cow::Borrowed(columns);
    let mut reading = Reading::default();
    let mut share = 0.0;
    while let Some(record) = records.next() {
        if reading.rows == MAX_ROWS {
            reading.stopped = true;
            break;
        }
        match reader.row(&record, &columns) {
            Ok(row) => {
                match reader.wrong_values.take() {
                    Some(problem) => reading.problems.push(problem),
                    None => reading.count(&row, reader.unsaid),
                }
                reading.may_be_cut = record.state() == State::Last && columns.reads_last_cell();
                if rows.len() == rows.capacity() {
                    rows.reserve_exact(room(reading.rows, share));
                }
                rows.push(row);
            }
            Err(problem) => match next_header(&record) {
                None => reading.problems.push(problem),
                Some(Ok(next)) => columns = Cow::Owned(next),
                Some(Err(error)) => {
                    let expected = format!(
                        "is another header, by which no row can be read: {error}; the rows after it were left out"
                    );
                    reading.problems.push(Problem::new(record.line(), "", &record.excerpt(), expected));
                    break;
                }
            },
        }
        if (reading.rows + reading.problems.count).is_multiple_of(PROGRESS_INTERVAL) {
            share = share_read();
        }
    }
    reading.origins = reader.into_origins();
    reading
}

/// The columns of a record that is a header; `None` if it is none.
fn next_header(record: &Record<'_>) -> Option<Result<Columns, ColumnsError>> {
    const LEAST_NAMES: usize = 4;
    let names = record.cells().filter(|cell| Column::parse(cell).is_some()).count();
    (names >= LEAST_NAMES).then(|| Columns::from_headers(&record.cells().map(str::to_owned).collect::<Vec<_>>()))
}

/// How many rows to make room for. Doubling, as vectors do, would hold a large sweep three times for a moment; the
/// share that was read, with what is read ahead in it, tells the rest only once there are many rows. The margin costs
/// less than a second copy at the end, where lines get shorter or more was read ahead than thought.
fn room(rows: u64, share: f64) -> usize {
    const MIN_ROWS_TO_EXTRAPOLATE: u64 = 1 << 15;
    if rows < MIN_ROWS_TO_EXTRAPOLATE || share <= 0.0 {
        return rows.max(1024) as usize;
    }
    let rest = rows as f64 * (1.0 - share) / share * 1.25;
    (rest.min(MAX_ROWS as f64) as usize).max(rows as usize / 8)
}
