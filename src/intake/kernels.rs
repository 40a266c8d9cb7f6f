//! Opens tables and workbooks of kernels, traces, and models of slowdowns.

use std::io::{self, Read};

use super::{
    Outcome,
    opened::{FileContent, Result, broken, fatal},
};
use crate::{
    learn::xgboost,
    overlap::{
        imported::{Imported, Scaler},
        loaded::KernelFile,
        read::{self, Kind},
        sheet::Sheet,
        trace, xlsx,
    },
    text::{Dialect, Problems, Records, lossy},
    units::count,
};

/// The most bytes of a model or a list of records in JSON.
const LONGEST_JSON: usize = 64 << 20;

/// A table that a profiler prints after other lines.
pub(super) struct Printed {
    kind: Kind,
    dialect: Dialect,
    /// The number of bytes before it.
    bytes: u64,
    lines: u64,
}

/// The table of a profiler that begins after other lines of a text.
pub(super) fn printed(head: &[u8]) -> Option<Printed> {
    let text = lossy(head);
    let (bytes, lines) = read::preamble(&text);
    let rest = head.get(bytes..).filter(|_| bytes > 0)?;
    let dialect = Dialect::sniff(rest);
    let mut records = Records::new(rest, dialect);
    let headers: Vec<&str> = records.next()?.cells().collect();
    Some(Printed { kind: read::kind(&headers)?, dialect, bytes: bytes as u64, lines })
}

/// Reads a table that a profiler printed.
pub(super) fn profile(mut text: impl Read, printed: &Printed) -> Result<(Outcome, FileContent)> {
    io::copy(&mut text.by_ref().take(printed.bytes), &mut io::sink())
        .map_err(|error| fatal(&error).unwrap_or_else(|| error.to_string()))?;
    table(&mut Records::new(text, printed.dialect), printed.kind, printed.lines)
}

/// Reads a delimited table of kernels.
pub(super) fn table(records: &mut Records<'_>, kind: Kind, lines_before: u64) -> Result<(Outcome, FileContent)> {
    let (sheet, problems) = Sheet::read(records, lines_before).map_err(|error| error.to_string())?;
    let broken = broken(records.error(), records.line())?;
    opened(&sheet, kind, problems, broken.into_iter().collect())
}

/// Reads the first sheet of a workbook that is a table of kernels.
pub(super) fn workbook(bytes: &[u8]) -> Result<(Outcome, FileContent)> {
    let sheets = xlsx::read(bytes).map_err(|error| error.to_string())?;
    let known = sheets.iter().find_map(|sheet| Some((sheet, read::kind(sheet.headers())?)));
    let Some((sheet, kind)) = known else {
        return Err("is a workbook without a table of kernels; save another sheet as CSV".to_owned());
    };
    let more = sheets.iter().filter(|other| read::kind(other.headers()).is_some()).count() as u64 - 1;
    let note = (more > 0)
        .then(|| format!("{} of kernels left unread: only the first sheet is read", count(more, "more sheet")));
    opened(sheet, kind, Problems::default(), note.into_iter().collect())
}

/// Reads a model of XGBoost or a list of kernels; `None` where a JSON is neither.
pub(super) fn json(text: &str, name: &str) -> Option<Result<(Outcome, FileContent)>> {
    /// Lines by which the output of a profiler is recognised.
    const MARKS: [&str; 7] =
        ["gradient_booster", "ground_truth", "kShortName", "ernel", "Duration (", "\"scale", "\"std"];
    if !MARKS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let is_model = text.contains(MARKS[0]);
    if text.len() > LONGEST_JSON {
        return is_model.then(|| Err(format!("is a model of more than {} MiB", LONGEST_JSON >> 20)));
    }
    let value: serde_json::Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return is_model.then(|| Err(format!("begins like a model of XGBoost, but is no JSON: {error}"))),
    };
    if xgboost::is_model(&value) {
        return Some(model(&value, name));
    }
    if let Some(read) = Scaler::read(&value, name) {
        return Some(read.map(scaler));
    }
    let sheet = match read::json_sheet(&value) {
        Ok(sheet) => sheet?,
        Err(error) => return Some(Err(error.to_string())),
    };
    let kind = read::kind(sheet.headers())?;
    Some(opened(&sheet, kind, Problems::default(), Vec::new()))
}

fn model(value: &serde_json::Value, name: &str) -> Result<(Outcome, FileContent)> {
    let model = xgboost::read(value).map_err(|error| error.to_string())?;
    let holds = format!("{} trees over {} features", model.boosting.stages(), model.boosting.width());
    let outcome = Outcome::known("model of XGBoost", holds, Problems::default(), Vec::new());
    let part = KernelFile::Model(Box::new(Imported { name: name.to_owned(), model }));
    Ok((outcome, FileContent::Kernels(Box::new(part))))
}

fn scaler(scaler: Scaler) -> (Outcome, FileContent) {
    let holds = count(scaler.mean.len() as u64, "feature");
    let outcome = Outcome::known("scaler of features", holds, Problems::default(), Vec::new());
    (outcome, FileContent::Kernels(Box::new(KernelFile::Scaler(Box::new(scaler)))))
}

fn opened(sheet: &Sheet, kind: Kind, problems: Problems, mut notes: Vec<String>) -> Result<(Outcome, FileContent)> {
    let (format, word) = kind.words();
    let (part, rows, problems) = match kind {
        Kind::Trace => {
            let (launches, problems) = trace::launches(sheet, problems)?;
            let rows = launches.len();
            (KernelFile::Trace(launches), rows, problems)
        }
        _ => {
            let mut reading = match kind {
                Kind::Ncu => trace::metrics(sheet, problems)?,
                _ => read::read(sheet, kind, problems)?,
            };
            let problems = std::mem::take(&mut reading.problems);
            let rows = reading.statistics.len().max(reading.metrics.len());
            (KernelFile::Table(kind, reading), rows, problems)
        }
    };
    if rows == 0 {
        notes.push("No row could be used".to_owned());
    }
    let holds = count(rows as u64, word);
    let outcome = Outcome::known(format, holds, problems, notes);
    Ok((outcome, FileContent::Kernels(Box::new(part))))
}
