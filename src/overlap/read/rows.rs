//! The rows of a table become kernels, statistics or metrics.

use serde::{Deserialize, Serialize};

use super::columns::{ALONE, DURATION, KERNEL_NAME, Kind, LABELS, OVERLAP, SHORT_NAME, SLOWDOWN, STANDARD};
use crate::{
    overlap::{
        kernel::slowdown,
        sheet::{Sheet, SheetRow},
    },
    text::{Problem, Problems, number},
};

/// How long a launch took, and how much of it ran beside a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Alone.
    pub alone_ns: f64,
    /// In the distributed run.
    pub duration_ns: f64,
    /// The share of the latter that overlaps communication, in 0..=1.
    pub overlap_ratio: f64,
}

/// A row of slowdown statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// The kernel's short name.
    pub name: String,
    /// Where it stands in its file, from 1.
    pub line: u64,
    /// Its durations.
    pub timed: Timed,
}

/// A row of kernel metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The kernel's name.
    pub name: String,
    /// Where it stands in its file, from 1.
    pub line: u64,
    /// A number per column.
    pub values: Vec<f64>,
}

/// What a table holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Names of the columns of `metrics`: the standard ones first.
    pub columns: Vec<String>,
    /// Durations of each launch, if the table has them.
    pub statistics: Vec<Statistic>,
    /// Metrics of each launch, if the table has them; of merged features those of the same index in `statistics`.
    pub metrics: Vec<Metric>,
    /// Rows that were left out.
    pub problems: Problems,
    /// Rows whose slowdown is not that of their durations: the durations count. The first one's line.
    pub contradictions: (u64, Option<u64>),
}

/// Slowdowns and those of the durations agree up to this share.
const AGREEMENT: f64 = 1e-6;
/// An overlap ratio may exceed 1 by so much: the last digits of a quotient.
const EXCESS: f64 = 1e-9;

/// The most columns besides the standard ones. Each is something to choose on the page.
const MOST_FURTHER: usize = 1000;

/// Where the columns are.
struct Columns<'a> {
    sheet: &'a Sheet,
    name: usize,
    /// Alone, duration, overlap ratio.
    times: Option<[usize; 3]>,
    slowdown: Option<usize>,
    metrics: Vec<usize>,
}

/// Reads a table of the kind; [`Kind::Ncu`] and [`Kind::Trace`] are for [`trace`](crate::overlap::trace).
///
/// # Errors
/// A needed column is missing; completes a sentence that begins with the name of the file.
pub fn read(sheet: &Sheet, kind: Kind, mut problems: Problems) -> Result<Reading, String> {
    let missing = |column: &str| {
        format!("lacks the column {column}; it has {}", crate::text::excerpt(&sheet.headers().join(", ")))
    };
    let needed = |names: &[&str]| sheet.find(names).ok_or_else(|| missing(names[0]));
    let names = [SHORT_NAME, KERNEL_NAME].concat();
    let name = needed(&names)?;
    let times = match kind {
        Kind::Metrics => None,
        _ => Some([needed(ALONE)?, needed(DURATION)?, needed(OVERLAP)?]),
    };
    let standard = STANDARD.iter().filter_map(|(name, names)| Some((sheet.find(names)?, name)));
    let (mut places, mut columns): (Vec<usize>, Vec<String>) =
        standard.map(|(place, name)| (place, (*name).to_owned())).unzip();
    if kind == Kind::Statistics {
        (places, columns) = (Vec::new(), Vec::new());
    } else {
        let further = further(sheet, &places);
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
    let columns_of = Columns { sheet, name, times, slowdown, metrics: places };
    let mut reading = Reading { columns, problems, ..Reading::default() };
    for row in sheet.rows() {
        match columns_of.read(row, &mut reading) {
            Ok(()) => {}
            Err(problem) => reading.problems.push(problem),
        }
    }
    Ok(reading)
}

/// Columns that are neither known nor labels, with a number in every row.
fn further(sheet: &Sheet, standard: &[usize]) -> Vec<usize> {
    let known = [ALONE, DURATION, OVERLAP, SLOWDOWN, LABELS].concat();
    let is_open = |column: &usize| {
        let header = sheet.headers()[*column].as_str();
        !header.is_empty()
            && !standard.contains(column)
            && !known.iter().any(|name| header.eq_ignore_ascii_case(name))
            && sheet.headers()[..*column].iter().all(|before| !before.eq_ignore_ascii_case(header))
    };
    let is_numeric =
        |column: &usize| sheet.rows().len() > 0 && sheet.rows().all(|row| number(row.get(*column)).is_some());
    (0..sheet.headers().len()).filter(is_open).filter(is_numeric).collect()
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
        if value > 0.0 { Ok(value) } else { Err(self.problem(row, column, "is not a duration above zero")) }
    }

    fn read(&self, row: SheetRow<'_>, reading: &mut Reading) -> Result<(), Problem> {
        let line = row.line();
        let name = row.get(self.name);
        if name.is_empty() {
            return Err(self.problem(row, self.name, "is no kernel's name: it is missing"));
        }
        let timed = match self.times {
            None => None,
            Some([alone, duration, overlap]) => {
                let (alone_ns, duration_ns) = (self.duration(row, alone)?, self.duration(row, duration)?);
                let overlap_ratio = self.number(row, overlap)?;
                if !(0.0..=1.0 + EXCESS).contains(&overlap_ratio) {
                    return Err(self.problem(row, overlap, "is not a share from 0 to 1"));
                }
                Some(Timed { alone_ns, duration_ns, overlap_ratio: overlap_ratio.min(1.0) })
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
