//! Samples of operators and collectives: rows of whole inputs and times in µs.

use super::{
    super::samples::{CollectiveRow, Communicator, DIVISIONS, OperatorSamples, SourceLine},
    headers::{BACKWARD, COLLECTIVE, DURATION, FORWARD, find},
};
use crate::text::{Problem, Problems, Record, Records, State};

/// The most rows of a file, and of a bundle.
pub const MOST_ROWS: usize = 5_000_000;

/// The problem with a cell for which its row is left out.
pub(super) fn problem(record: Record<'_>, headers: &[String], column: usize, expected: &str) -> Problem {
    let header = headers.get(column).map(String::as_str).unwrap_or_default();
    let text = record.get(column).unwrap_or_default();
    Problem::new(record.line(), header, text, format!("{expected}; the row was left out"))
}

/// Reads cells of a record, or says what is wrong with the first one that can't be used.
struct Cells<'a> {
    record: Record<'a>,
    headers: &'a [String],
    numbers: &'a [f64],
}

impl Cells<'_> {
    fn problem(&self, column: usize, expected: &str) -> Problem {
        problem(self.record, self.headers, column, expected)
    }

    /// An integer of at least 1.
    fn count(&self, column: usize) -> Result<f64, Problem> {
        let is_count = |value: &f64| *value >= 1.0 && value.fract() == 0.0 && *value <= 9_007_199_254_740_992.0;
        self.numbers
            .get(column)
            .copied()
            .filter(is_count)
            .ok_or_else(|| self.problem(column, "is not a whole number of at least 1"))
    }

    /// A time greater than zero.
    fn time(&self, column: usize) -> Result<f64, Problem> {
        let value = self.numbers.get(column).copied();
        value.filter(|value| *value > 0.0).ok_or_else(|| self.problem(column, "is not a time above zero"))
    }
}

/// The rows of a table, each read by `read`; those that can't be used are problems. The header was read. Returns an
/// error if the table has more rows than a bundle may have.
pub(super) fn rows(
    records: &mut Records<'_>,
    headers: &[String],
    problems: &mut Problems,
    mut read: impl FnMut(Record<'_>) -> Result<(), Problem>,
) -> Result<(), String> {
    let mut count = 0;
    while let Some(record) = records.next() {
        count += 1;
        if count > MOST_ROWS {
            return Err(format!("has more than {MOST_ROWS} rows"));
        }
        let is_odd = matches!(record.state(), State::OpenQuote | State::TooLong | State::Broken);
        if record.len() != headers.len() || is_odd {
            let expected =
                format!("has {} cells where the header has {}; the row was left out", record.len(), headers.len());
            problems.push(Problem::new(record.line(), "", &record.excerpt(), expected));
        } else if let Err(problem) = read(record) {
            problems.push(problem);
        }
    }
    Ok(())
}

/// The place of a row, before its file has a number.
pub(super) fn place(line: u64) -> SourceLine {
    SourceLine { file: 0, line: u32::try_from(line).unwrap_or(u32::MAX) }
}

/// Samples of an operator, whose name and precision the table doesn't say. The header was read.
pub(super) fn operator(
    records: &mut Records<'_>,
    headers: &[String],
    problems: &mut Problems,
) -> Result<OperatorSamples, String> {
    let backward = find(headers, BACKWARD);
    let forward = find(headers, FORWARD).or_else(|| find(headers, DURATION)).ok_or("lacks a time")?;
    let inputs: Vec<usize> =
        (0..headers.len()).filter(|column| *column != forward && Some(*column) != backward).collect();
    let mut samples = OperatorSamples {
        inputs: inputs.iter().map(|column| canonical(&headers[*column])).collect(),
        ..OperatorSamples::default()
    };
    let at = |name: &str| samples.inputs.iter().position(|input| input == name);
    let divisions: Vec<(usize, usize)> = DIVISIONS.iter().filter_map(|[a, b]| at(a).zip(at(b))).collect();
    let mut row: Vec<f64> = Vec::with_capacity(inputs.len());
    let mut numbers = Vec::with_capacity(headers.len());
    rows(records, headers, problems, |record| {
        record.numbers(&mut numbers);
        let cells = Cells { record, headers, numbers: &numbers };
        row.clear();
        for column in &inputs {
            row.push(cells.count(*column)?);
        }
        let forward_us = cells.time(forward)?;
        let backward_us = backward.map(|column| cells.time(column)).transpose()?;
        if let Some((a, b)) = divisions.iter().find(|(a, b)| !(row[*a] as u64).is_multiple_of(row[*b] as u64)) {
            let (whole, part) = (&samples.inputs[*a], &samples.inputs[*b]);
            let expected = format!("is not divisible by {part} = {}; the row was left out", row[*b]);
            return Err(Problem::new(record.line(), whole, record.get(inputs[*a]).unwrap_or_default(), expected));
        }
        samples.values.extend_from_slice(&row);
        samples.forward_us.push(forward_us);
        samples.backward_us.extend(backward_us);
        samples.places.push(place(record.line()));
        Ok(())
    })?;
    Ok(samples)
}

/// Names of inputs as the catalogue has them, whatever case a header is in; others stay as they are.
fn canonical(header: &str) -> String {
    const INPUTS: [&str; 13] =
        ["mp", "b", "h", "l", "dim", "encoders", "ffn", "kv_heads", "experts", "top_k", "ep", "vocabulary", "pp"];
    let header = header.trim();
    INPUTS
        .iter()
        .find(|input| header.eq_ignore_ascii_case(input))
        .map_or_else(|| header.to_owned(), |i| (*i).to_owned())
}

/// Reads samples of a collective, after the header.
pub(super) fn collective(
    records: &mut Records<'_>,
    headers: &[String],
    problems: &mut Problems,
) -> Result<Vec<CollectiveRow>, String> {
    let mut columns = [0; 4];
    for (column, name) in columns.iter_mut().zip(COLLECTIVE) {
        *column = find(headers, name).ok_or_else(|| format!("lacks {name}"))?;
    }
    let [shape, nodes, per_node, duration] = columns;
    let mut all = Vec::new();
    let mut numbers = Vec::with_capacity(headers.len());
    rows(records, headers, problems, |record| {
        record.numbers(&mut numbers);
        let cells = Cells { record, headers, numbers: &numbers };
        let few = |column: usize| {
            let value = cells.count(column)?;
            if value <= 1e6 { Ok(value as u32) } else { Err(cells.problem(column, "is more than a million")) }
        };
        let elements = cells.count(shape)? as u64;
        let communicator = Communicator { nodes: few(nodes)?, per_node: few(per_node)? };
        let time_us = cells.time(duration)?;
        if communicator.ranks() < 2 {
            return Err(cells.problem(per_node, "makes one rank, which exchanges nothing"));
        }
        all.push(CollectiveRow { elements, communicator, time_us, place: place(record.line()) });
        Ok(())
    })?;
    Ok(all)
}
