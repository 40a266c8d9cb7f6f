//! A report as JSON that says its version, written small and read with patience.
//!
//! ```json
//! {"collectune_report":1,"workbench":"tuning","title":"…","summary":["…"],"program":"collectune 0.1.0",
//!  "files":[{"name":"…","format":"…","holds":"…","left_out":2}],"parameters":[["Seed","42"]],
//!  "sections":[{"title":"…","text":["…"],"charts":[…],"tables":[…],"files":[{"name":"…","text":"…","note":"…"}]}]}
//! ```
//!
//! Tables and charts stand column by column (`tables`, `charts`), numbers have the digits that are shown (`numbers`);
//! what is empty is left out. A reader takes what it knows: unknown fields are passed over, missing ones are empty, and
//! what can't be is told with its place. Before any of it is parsed, `bounds` counts what there is. A report of an
//! older version goes through `upgrade` first. `docs/report-format.md` is the description for others.

mod bounds;
mod charts;
mod cursor;
mod extent;
mod numbers;
mod snapshot;
mod tables;
mod upgrade;

use serde_json::{Map, Value};

use self::{bounds::Bounds, cursor::Cursor};
pub use self::{
    bounds::{MOST_DEPTH, MOST_ELEMENTS, MOST_OBJECTS, MOST_TEXT},
    extent::{
        MOST_CHARTS, MOST_COLUMNS, MOST_FILES, MOST_NAMES, MOST_SECTIONS, MOST_SENTENCES, MOST_SERIES,
        MOST_SERIES_IN_ALL,
    },
    upgrade::VERSION,
};
use super::{Fact, LoadedFile, Report, Section, TextFile, Workbench};
use crate::{report::snapshot::Snapshot, text::json};
pub(super) use extent::fit;

/// The field that identifies a report among other JSON, and holds its version.
pub const MARK: &str = "collectune_report";

/// The reason why a text is no valid report, phrased to follow a subject such as `The link`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The text exceeds [`MOST_TEXT`] bytes.
    #[error("is longer than any report: {0} bytes, and {MOST_TEXT} are read")]
    TooLong(usize),
    /// There are more values than [`MOST_ELEMENTS`] or [`MOST_OBJECTS`].
    #[error("holds more than any report: {count} {what}, and {most} are read")]
    TooMuch {
        /// The number that was found.
        count: usize,
        /// What there is too much of, as a plural noun.
        what: &'static str,
        /// The most that is allowed.
        most: usize,
    },
    /// Values are nested deeper than [`MOST_DEPTH`].
    #[error("is nested deeper than any report")]
    TooDeep,
    /// The text is no valid JSON.
    #[error("is not JSON: {0}")]
    NotJson(String),
    /// The JSON is no report.
    #[error("is JSON, but no report of Collectune")]
    NoReport,
    /// A version that this program does not know yet.
    #[error("was made by a newer Collectune (format {0}; this one reads up to {VERSION}): open it there")]
    Newer(u64),
    /// A value is not valid.
    #[error("can't be read at {place}: {expected} was expected")]
    Value {
        /// The path of the value, such as `sections[2].tables[0].columns[3].text[4]`.
        place: String,
        /// A description of the expected value.
        expected: String,
    },
}

/// A JSON object of the fields that are not empty.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let is_full = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => true,
    };
    let full = fields.into_iter().filter(|(_, value)| is_full(value));
    // One by one: to collect them brings a sort of its own.
    let mut object = Map::new();
    for (name, value) in full {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

fn list<T>(values: &[T], write: impl Fn(&T) -> Value) -> Value {
    Value::Array(values.iter().map(write).collect())
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn texts(all: &[String]) -> Value {
    list(all, |one| text(one))
}

/// The report as compact JSON of the current version.
pub fn write(report: &Report) -> String {
    let mut value = object([
        ("workbench", text(report.workbench.key())),
        ("title", text(&report.title)),
        ("summary", texts(&report.summary)),
        ("program", text(&report.program)),
        ("made_on", report.made_on.as_deref().map_or(Value::Null, text)),
        ("files", list(&report.files, file)),
        ("parameters", list(&report.parameters, fact)),
        ("sections", list(&report.sections, section)),
        ("snapshot", report.snapshot.as_ref().map_or(Value::Null, Snapshot::to_value)),
    ]);
    if let Value::Object(fields) = &mut value {
        fields.insert(MARK.to_owned(), VERSION.into());
    }
    json::compact(&value)
}

fn file(file: &LoadedFile) -> Value {
    object([
        ("name", file.name.as_deref().map_or(Value::Null, text)),
        ("format", text(&file.format)),
        ("holds", text(&file.holds)),
        ("left_out", if file.left_out == 0 { Value::Null } else { file.left_out.into() }),
    ])
}

fn fact(fact: &Fact) -> Value {
    Value::Array(vec![text(&fact.name), text(&fact.value)])
}

fn section(section: &Section) -> Value {
    object([
        ("title", text(&section.title)),
        ("text", texts(&section.text)),
        ("charts", list(&section.charts, charts::write)),
        ("tables", list(&section.tables, tables::write)),
        ("files", list(&section.files, text_file)),
    ])
}

fn text_file(file: &TextFile) -> Value {
    object([("name", text(&file.name)), ("text", text(&file.text)), ("note", text(&file.note))])
}

/// Reads a report of this version or of an older one.
///
/// # Errors
/// Returns an error if the text is no report, is of a newer version, or holds something that can't be.
pub fn read(json: &str) -> Result<Report, WireError> {
    Bounds::of(json)?;
    // A byte order mark is no JSON.
    let json = json.trim_start_matches('\u{FEFF}');
    let value: Value = serde_json::from_str(json).map_err(|error| WireError::NotJson(error.to_string()))?;
    let value = upgrade::to_newest(value)?;
    let report = report(Cursor::new(&value))?;
    extent::check(&report)?;
    Ok(report)
}

/// Whether a text could be read again.
///
/// # Errors
/// Returns an error if it exceeds the limits of reports.
pub fn is_within_bounds(json: &str) -> Result<(), WireError> {
    Bounds::of(json).map(|_| ())
}

/// The version of a report, and its fields.
fn fields(value: Value) -> Result<(u64, Map<String, Value>), WireError> {
    let Value::Object(fields) = value else { return Err(WireError::NoReport) };
    match fields.get(MARK).map(Value::as_u64) {
        None => Err(WireError::NoReport),
        Some(Some(version)) if version > 0 => Ok((version, fields)),
        Some(_) => Err(WireError::Value { place: MARK.to_owned(), expected: "a version".to_owned() }),
    }
}

fn report(at: Cursor<'_>) -> Result<Report, WireError> {
    at.object()?;
    let workbench = at.field("workbench");
    let key = workbench.text()?;
    let workbench = Workbench::ALL.iter().copied().find(|workbench| workbench.key() == key);
    Ok(Report {
        workbench: workbench.ok_or_else(|| at.field("workbench").expected("a workbench that this version knows"))?,
        title: at.field("title").text()?.to_owned(),
        summary: at.field("summary").texts()?,
        program: at.field("program").text()?.to_owned(),
        made_on: at.field("made_on").optional(|at| Ok(at.text()?.to_owned()))?,
        files: at.field("files").list(read_file)?,
        parameters: at.field("parameters").list(read_fact)?,
        sections: at.field("sections").list(read_section)?,
        snapshot: at.field("snapshot").optional(snapshot::read)?,
        figures: Vec::new(),
        in_view: 0,
    })
}

fn read_file(at: Cursor<'_>) -> Result<LoadedFile, WireError> {
    at.object()?;
    Ok(LoadedFile {
        name: at.field("name").optional(|at| Ok(leaf(at.text()?)))?,
        format: at.field("format").text()?.to_owned(),
        holds: at.field("holds").text()?.to_owned(),
        left_out: at.field("left_out").whole()?,
    })
}

fn read_fact(at: Cursor<'_>) -> Result<Fact, WireError> {
    let mut words = at.texts()?.into_iter();
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => Ok(Fact { name, value }),
        _ => Err(at.expected("a name and a value")),
    }
}

fn read_section(at: Cursor<'_>) -> Result<Section, WireError> {
    at.object()?;
    Ok(Section {
        title: at.field("title").text()?.to_owned(),
        text: at.field("text").texts()?,
        charts: at.field("charts").list(charts::read)?,
        tables: at.field("tables").list(tables::read)?,
        files: at.field("files").list(read_text_file)?,
        ..Section::default()
    })
}

fn read_text_file(at: Cursor<'_>) -> Result<TextFile, WireError> {
    at.object()?;
    Ok(TextFile {
        name: leaf(at.field("name").text()?),
        text: at.field("text").text()?.to_owned(),
        note: at.field("note").text()?.to_owned(),
    })
}

/// A file's name without the path before it and without control characters.
pub fn leaf(name: &str) -> String {
    /// The most characters of a file name that can be saved.
    const LONGEST: usize = 200;
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    last.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// A name for files and addresses, of letters, digits, `.`, `_` and `-`.
fn slug(id: &str) -> String {
    const LONGEST: usize = 100;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    id.chars().take(LONGEST).map(plain).collect()
}
