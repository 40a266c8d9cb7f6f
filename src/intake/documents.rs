//! Reads files of the tuning workbench that are no measurements: tuner files, comparisons, and tables that are only
//! shown.

use std::{borrow::Cow, io::Read};

use super::{
    Outcome,
    opened::{FileContent, Result, all_bytes, fatal, first_bytes},
    recognise::KnownTable,
};
use crate::{
    conf::ncclx,
    report,
    text::{Column, Entry, Listing, Problem, Problems, Records, number},
    tuning::campaign::{CampaignSettings, journal::Journal},
    units::count,
};

/// The most bytes of a tuner file or comparison.
const LONGEST: u64 = 64 << 20;

impl KnownTable {
    /// A description of the table, a noun for its rows, and a sentence on its use.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Summary => [
                "rccl-sweep's summary of runs",
                "run",
                "A mean over all sizes tells nothing of one size: give the sweep itself (metrics.csv, merged_metrics.csv)",
            ],
            Self::Hotspots => [
                "report of hotspots",
                "hotspot",
                "Hotspots are found again from the default runs of a sweep: give the sweep or the default curve to see them",
            ],
            Self::PredictedGains => [
                "list of predicted gains",
                "gain",
                "It has winners only, and no ranks: give the sweep that it was made from to check them",
            ],
            Self::Launches => [
                "list of launches",
                "launch",
                "It says how long launches took, not how fast collectives were: give the per-size statistics \
                 (per_size_stats.csv) beside it",
            ],
        }
    }
}

/// All bytes of a file of a kind, and the note where they break off.
fn whole(source: &mut dyn Read, kind: &str) -> Result<(Vec<u8>, Vec<String>)> {
    let (bytes, error) = first_bytes(source, LONGEST + 1);
    if let Some(why) = error.as_ref().and_then(fatal) {
        return Err(why);
    }
    if bytes.len() as u64 > LONGEST {
        return Err(format!("is a {kind} of more than {} MiB", LONGEST >> 20));
    }
    Ok((bytes, error.map(|error| format!("{error}: what stands before was read")).into_iter().collect()))
}

/// Reads a tuner file without changing its bytes.
pub(super) fn conf(source: &mut dyn Read) -> Result<(Outcome, FileContent)> {
    let (bytes, notes) = whole(source, "tuner file")?;
    if ncclx::is_ncclx(&bytes) {
        return Ok(of_ncclx(bytes, notes));
    }
    let rules = bytes.split(|byte| *byte == b'\n').filter(|line| is_rule(line)).count();
    let holds = format!("{rules} rule{}", if rules == 1 { "" } else { "s" });
    Ok((Outcome::known("tuner file", holds, Problems::default(), notes), FileContent::Conf(bytes)))
}

/// A tuner file of NCCLX, as CSV or JSON, without changing its bytes.
pub(super) fn of_ncclx(bytes: Vec<u8>, notes: Vec<String>) -> (Outcome, FileContent) {
    let rules = ncclx::lines(&bytes).len();
    let holds = format!("{rules} rule{}", if rules == 1 { "" } else { "s" });
    (Outcome::known("tuner file of NCCLX", holds, Problems::default(), notes), FileContent::Conf(bytes))
}

/// A line that people mean as a rule: no comment, no header, at least eight fields.
fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.starts_with(b"#")
        && !line.to_ascii_lowercase().starts_with(b"coll")
        && line.iter().filter(|byte| **byte == b',').count() >= 7
}

/// Reads the text of a comparison.
pub(super) fn comparison(text: &mut dyn Read) -> Result<(Outcome, FileContent)> {
    let (bytes, notes) = whole(text, "comparison")?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let sizes = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count().saturating_sub(1);
    let outcome =
        Outcome::known("comparison with the default", count(sizes as u64, "size"), Problems::default(), notes);
    Ok((outcome, FileContent::Comparison(text)))
}

/// A report, of which nothing is taken where a part of it is missing.
pub(super) fn report(text: &mut dyn Read) -> Result<(Outcome, FileContent)> {
    let bytes = all_bytes(text, report::open::MOST_BYTES as u64)?;
    let opened = report::open::open(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string())?;
    let outcome = Outcome::known("report", opened.title.clone(), Problems::default(), Vec::new());
    Ok((outcome, FileContent::Report(Box::new(opened))))
}

/// The settings or the journal of a campaign (`collectune tune`); `None` for other JSON.
pub(super) fn campaign(json: &str) -> Option<Result<(Outcome, FileContent)>> {
    if Journal::is_one(json) {
        return Some(match Journal::parse(json) {
            Err(error) => Err(format!("can't be used: {error}")),
            Ok(journal) => {
                let note = "It holds no measurements: the logs of its launches do (logs/)".to_owned();
                let holds = count(journal.entries.len() as u64, "launch");
                let outcome = Outcome::known("journal of a campaign", holds, Problems::default(), vec![note]);
                Ok((outcome, FileContent::Journal(journal)))
            }
        });
    }
    let is_settings = json.contains(CampaignSettings::MARK);
    let outcome = || Outcome::known("settings of a campaign", String::new(), Problems::default(), Vec::new());
    is_settings.then(|| Ok((outcome(), FileContent::Nothing)))
}

/// Reads a table that is only shown.
pub(super) fn table(records: &mut Records<'_>, table: KnownTable) -> Result<(Outcome, FileContent)> {
    /// The most rows of a table that are kept.
    const MOST: usize = 10_000;
    records.skip_comments();
    let headers: Vec<String> = records.next().map(|r| r.cells().map(str::to_owned).collect()).unwrap_or_default();
    let [format, word, good_for] = table.words();
    let mut listing = Listing {
        columns: headers
            .into_iter()
            .map(|name| Column {
                name: Cow::Owned(name),
                meaning: Cow::Borrowed(""),
                is_numeric: false,
                is_secondary: false,
            })
            .collect(),
        rows: Vec::new(),
    };
    let mut problems = Problems::default();
    let mut rows = 0;
    while let Some(record) = records.next() {
        if record.len() != listing.columns.len() {
            let expected = format!("has {} cells where the header has {}", record.len(), listing.columns.len());
            problems.push(Problem::new(record.line(), "", &record.excerpt(), expected));
            continue;
        }
        rows += 1;
        if listing.rows.len() < MOST {
            let entry = |cell: &str| Entry { text: cell.to_owned(), number: number(cell) };
            listing.rows.push(record.cells().map(entry).collect());
        }
    }
    if let Some(why) = records.error().and_then(fatal) {
        return Err(why);
    }
    for (index, column) in listing.columns.iter_mut().enumerate() {
        column.is_numeric = !listing.rows.is_empty() && listing.rows.iter().all(|row| row[index].number.is_some());
    }
    let mut notes = vec![good_for.to_owned()];
    if rows > MOST {
        notes.push(format!("Only the first {MOST} rows are shown"));
    }
    Ok((Outcome::known(format, count(rows as u64, word), problems, notes), FileContent::Listing(listing)))
}
