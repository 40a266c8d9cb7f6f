//! The rows of a table become kernels, statistics or metrics.

use serde::{Deserialize, Serialize};

use super::columns::{ALONE, DURATION, KERNEL_NAME, Kind, LABELS, OVERLAP, SHORT_NAME, SLOWDOWN, STANDARD};
use crate::{
    math::median,
    overlap::{
        kernel::slowdown,
        sheet::{Sheet, SheetRow},
    },
    text::{Problem, Problems, excerpt, number},
    units::count,
};

/// The durations of a launch, and the share of it that overlaps a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    pub alone_ns: f64,
    /// The duration in the distributed run.
    pub duration_ns: f64,
    /// The share of the latter that overlaps communication, in 0..=1.
    pub overlap_ratio: f64,
}

/// A row of slowdown statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    pub name: String,
    /// The line number in its file, from 1.
    pub line: u64,
    /// How long it takes, alone and in the distributed run.
    pub timed: Durations,
}

/// A row of kernel metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The kernel's short name, by which its metrics are found.
    pub name: String,
    /// The line number in its file, from 1.
    pub line: u64,
    /// The metrics, one for each column.
    pub values: Vec<f64>,
}

/// The contents of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelTable {
    /// Names of the columns of `metrics`: the standard ones first.
    pub columns: Vec<String>,
    /// The durations of each launch, if the table has them.
    pub statistics: Vec<Statistic>,
    /// Metrics of each launch, if the table has them; of merged features those of the same index in `statistics`.
    pub metrics: Vec<Metric>,
    /// The rows that were left out.
    pub problems: Problems,
    /// Rows whose slowdown is not that of their durations: the durations count. The first one's line.
    pub contradictions: (u64, Option<u64>),
    /// Notes from reading the table.
    pub notes: Vec<String>,
}

/// Slowdowns and those of the durations agree up to this share.
const AGREEMENT: f64 = 1e-6;
/// An overlap ratio may exceed 1 by this much, for rounding errors of a quotient.
const EXCESS: f64 = 1e-9;

/// The most columns besides the standard ones. Each is an option on the page.
const MOST_FURTHER: usize = 1000;

/// The indices of the columns.
struct Columns<'a> {
    sheet: &'a Sheet,
    name: usize,
    /// The indices of the duration alone, the duration and the overlap ratio.
    times: Option<[usize; 3]>,
    /// The factor of overlap ratios: 0.01 if they are percentages, otherwise 1.
    overlap_unit: f64,
    slowdown: Option<usize>,
    metrics: Vec<usize>,
}

/// Reads a table of the kind; [`Kind::Ncu`] and [`Kind::Trace`] are for [`trace`](crate::overlap::trace). Returns an
/// error if a needed column is missing; the error completes a sentence that begins with the name of the file.
pub fn read(sheet: &Sheet, kind: Kind, mut problems: Problems) -> Result<KernelTable, String> {
    let missing = |column: &str| format!("lacks the column {column}; it has {}", excerpt(&sheet.headers().join(", ")));
    let needed = |names: &[&str]| sheet.find(names).ok_or_else(|| missing(names[0]));
    let names = [SHORT_NAME, KERNEL_NAME].concat();
    let name = needed(&names)?;
    let times = match kind {
        Kind::Metrics => None,
        _ => Some([needed(ALONE)?, needed(DURATION)?, needed(OVERLAP)?]),
    };
    let mut notes = Vec::new();
    if times.is_some() {
        note_duplicate_rows(sheet, &mut notes);
    }
    let standard = STANDARD.iter().filter_map(|(name, names)| Some((sheet.find(names)?, name)));
    let (mut places, mut columns): (Vec<usize>, Vec<String>) =
        standard.map(|(place, name)| (place, (*name).to_owned())).unzip();
    if kind == Kind::Statistics {
        let unused: Vec<&str> = further(sheet, &[], times.as_slice().as_flattened(), &mut notes)
            .into_iter()
            .map(|place| sheet.headers()[place].as_str())
            .collect();
        if !unused.is_empty() {
            notes.push(format!(
                "of slowdown statistics durations and overlap are used, not {}: metrics stand in a table of their own",
                excerpt(&unused.join(", "))
            ));
        }
        (places, columns) = (Vec::new(), Vec::new());
    } else {
        let numbers = [times.as_slice().as_flattened(), &places].concat();
        let further = further(sheet, &places, &numbers, &mut notes);
        if let Some(place) = further.get(MOST_FURTHER) {
            let header = &sheet.headers()[*place];
            let expected = format!("and those behind it are not used: the first {MOST_FURTHER} metrics are");
            problems.push(Problem::new(1, header, header, expected));
        }
        for place in further.into_iter().take(MOST_FURTHER) {
            places.push(place);
            columns.push(sheet.headers()[place].clone());
        }
    }
    let slowdown = times.and_then(|_| sheet.find(SLOWDOWN));
    let overlap_unit = times.map_or(1.0, |[_, _, overlap]| overlap_unit(sheet, overlap, &mut notes));
    times.iter().for_each(|[alone, duration, _]| note_units(sheet, [*alone, *duration], &mut notes));
    let columns_of = Columns { sheet, name, times, overlap_unit, slowdown, metrics: places };
    let mut reading = KernelTable { columns, problems, notes, ..KernelTable::default() };
    for row in sheet.rows() {
        match columns_of.read(row, &mut reading) {
            Ok(()) => {}
            Err(problem) => reading.problems.push(problem),
        }
    }
    Ok(reading)
}

/// The factor of overlap ratios. They are taken for percentages if most of those above zero exceed 1.
fn overlap_unit(sheet: &Sheet, column: usize, notes: &mut Vec<String>) -> f64 {
    let values = || sheet.rows().filter_map(move |row| number(row.get(column)));
    let above_zero = values().filter(|value| *value > 0.0).count();
    let per_cent = || values().filter(|value| (1.0 + EXCESS..=100.0).contains(value));
    let largest = per_cent().fold(0.0, f64::max);
    // A factor that was taken for a share is hardly above 2.
    if per_cent().count() * 2 <= above_zero || largest <= 2.0 {
        return 1.0;
    }
    let header = &sheet.headers()[column];
    notes.push(format!("{header} holds values up to {largest}, no shares: they were read as per cent, 0 to 100"));
    0.01
}

/// How many ns a unit of a column of durations has.
fn nanoseconds(header: &str) -> f64 {
    if header.trim().to_ascii_lowercase().ends_with("_us") { 1e3 } else { 1.0 }
}

/// In ns, what no launch of a kernel takes less than.
const SHORTEST_NS: f64 = 500.0;

/// Durations without a unit that are too short for nanoseconds.
fn note_units(sheet: &Sheet, columns: [usize; 2], notes: &mut Vec<String>) {
    let has_no_unit = |header: &str| !["_ns", "_us"].iter().any(|unit| header.to_ascii_lowercase().ends_with(unit));
    for column in columns {
        let header = sheet.headers()[column].trim();
        let mut values: Vec<f64> =
            sheet.rows().filter_map(|row| number(row.get(column)).filter(|value| *value > 0.0)).collect();
        if has_no_unit(header) && median(&mut values).is_some_and(|middle| middle < SHORTEST_NS) {
            notes.push(format!(
                "the column {header} has no unit in its name and counts as nanoseconds, and half of its values are below \
                 {SHORTEST_NS}, which no launch of a kernel takes: if they are microseconds, call the columns alone_us and \
                 duration_us"
            ));
        }
    }
}

/// Names of which several columns have one: the first counts.
fn note_duplicate_rows(sheet: &Sheet, notes: &mut Vec<String>) {
    for names in [ALONE, DURATION, OVERLAP] {
        let Some(first) = sheet.find(names) else { continue };
        let is_one = |header: &str| names.iter().any(|name| header.trim().eq_ignore_ascii_case(name));
        for (_, header) in sheet.headers().iter().enumerate().filter(|(at, header)| *at != first && is_one(header)) {
            notes.push(format!(
                "the columns {} and {header} say the same: the first of them counts",
                sheet.headers()[first]
            ));
        }
    }
    for (at, header) in sheet.headers().iter().enumerate().filter(|(_, header)| !header.trim().is_empty()) {
        if sheet.headers()[..at].iter().any(|before| before.eq_ignore_ascii_case(header)) {
            notes.push(format!("the column {header} stands twice: the first of them counts"));
        }
    }
}

/// Columns that are neither known nor labels, with a number in every row; a row without any of the `numbers`, such as
/// one of units, counts for none.
fn further(sheet: &Sheet, standard: &[usize], numbers: &[usize], notes: &mut Vec<String>) -> Vec<usize> {
    let known = [ALONE, DURATION, OVERLAP, SLOWDOWN, LABELS].concat();
    let is_open = |column: &usize| {
        let header = sheet.headers()[*column].as_str();
        !header.is_empty()
            && !standard.contains(column)
            && !known.iter().any(|name| header.eq_ignore_ascii_case(name))
            && sheet.headers()[..*column].iter().all(|before| !before.eq_ignore_ascii_case(header))
    };
    let mut numeric = Vec::new();
    let is_measured =
        |row: &SheetRow<'_>| numbers.is_empty() || numbers.iter().any(|column| number(row.get(*column)).is_some());
    let rows = sheet.rows().filter(is_measured).count();
    for column in (0..sheet.headers().len()).filter(is_open) {
        let lacking = sheet.rows().filter(is_measured).filter(|row| number(row.get(column)).is_none()).count();
        if lacking == 0 && rows > 0 {
            numeric.push(column);
        } else if lacking * 2 < rows {
            notes.push(format!(
                "the column {} has no number in {}: nothing can be learnt from it",
                excerpt(&sheet.headers()[column]),
                count(lacking as u64, "row")
            ));
        }
    }
    numeric
}

impl Columns<'_> {
    fn problem(&self, row: SheetRow<'_>, column: usize, expected: &str) -> Problem {
        let header = &self.sheet.headers()[column];
        Problem::new(row.line(), header, row.get(column), format!("{expected}; the row was left out"))
    }

    fn number(&self, row: SheetRow<'_>, column: usize) -> Result<f64, Problem> {
        number(row.get(column)).ok_or_else(|| {
            let is_missing = crate::text::is_missing(row.get(column));
            self.problem(row, column, if is_missing { "is no number: it is missing" } else { "is not a number" })
        })
    }

    fn duration(&self, row: SheetRow<'_>, column: usize) -> Result<f64, Problem> {
        let value = self.number(row, column)?;
        let value = value * nanoseconds(&self.sheet.headers()[column]);
        if value > 0.0 { Ok(value) } else { Err(self.problem(row, column, "is not a duration above zero")) }
    }

    fn read(&self, row: SheetRow<'_>, reading: &mut KernelTable) -> Result<(), Problem> {
        let line = row.line();
        let name = row.get(self.name);
        if name.is_empty() {
            return Err(self.problem(row, self.name, "is no kernel's name: it is missing"));
        }
        let timed = match self.times {
            None => None,
            Some([alone, duration, overlap]) => {
                let (alone_ns, duration_ns) = (self.duration(row, alone)?, self.duration(row, duration)?);
                let overlap_ratio = self.number(row, overlap)? * self.overlap_unit;
                if !(0.0..=1.0 + EXCESS).contains(&overlap_ratio) {
                    let is_share = self.overlap_unit == 1.0;
                    let expected = if is_share { "is not a share from 0 to 1" } else { "is not 0 to 100 per cent" };
                    return Err(self.problem(row, overlap, expected));
                }
                // A duration of 1e-308 ns is above zero, and nothing can be divided by it.
                if !slowdown(duration_ns / alone_ns, overlap_ratio).is_finite() {
                    return Err(self.problem(
                        row,
                        alone,
                        "is too small for a slowdown beside this duration and overlap",
                    ));
                }
                Some(Durations { alone_ns, duration_ns, overlap_ratio: overlap_ratio.min(1.0) })
            }
        };
        let told = self.slowdown.filter(|column| !crate::text::is_missing(row.get(*column)));
        let told = told.map(|column| self.number(row, column)).transpose()?;
        let mut values = Vec::with_capacity(self.metrics.len());
        for place in &self.metrics {
            values.push(self.number(row, *place)?);
        }
        if let (Some(told), Some(timed)) = (told, timed) {
            let computed = slowdown(timed.duration_ns / timed.alone_ns, timed.overlap_ratio);
            if (told - computed).abs() > AGREEMENT * computed.abs().max(1.0) {
                reading.contradictions.0 += 1;
                reading.contradictions.1.get_or_insert(line);
            }
        }
        if let Some(timed) = timed {
            reading.statistics.push(Statistic { name: name.to_owned(), line, timed });
        }
        if !self.metrics.is_empty() || self.times.is_none() {
            reading.metrics.push(Metric { name: name.to_owned(), line, values });
        }
        Ok(())
    }
}
