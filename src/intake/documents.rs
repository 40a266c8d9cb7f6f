//! Reads files of the tuning workbench that are no measurements: tuner files, comparisons, and tables that are only
//! shown.

use std::{borrow::Cow, io::Read};

use super::{
    Outcome,
    open::{FileContent, Result, fatal},
};
use crate::{
    report,
    text::{Column, Entry, Listing, Records, number},
};

/// The most bytes of a tuner file or comparison.
const LONGEST: u64 = 64 << 20;

/// A kind of table that is only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownTable {
    Summary,
    Hotspots,
    PredictedGains,
    Launches,
}

impl KnownTable {
    /// All kinds, with the headers by which they are recognised.
    pub(super) const ALL: [(Self, &[&str]); 4] = [
        (Self::Summary, &["avg_busbw", "max_busbw", "status"]),
        (Self::Hotspots, &["hotspot_start_bytes", "hotspot_end_bytes"]),
        (Self::PredictedGains, &["winner_busbw", "predicted_gain_pct"]),
        (Self::Launches, &["utc_start", "phase", "duration_s"]),
    ];

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

/// Reads a tuner file without changing its bytes.
pub(super) fn conf(source: impl Read) -> Result<(Outcome, FileContent)> {
    let mut bytes = Vec::new();
    let read = source.take(LONGEST + 1).read_to_end(&mut bytes);
    if let Some(why) = read.as_ref().err().and_then(fatal) {
        return Err(why);
    }
    if bytes.len() as u64 > LONGEST {
        return Err(format!("is a tuner's conf of more than {} MiB", LONGEST >> 20));
    }
    let rules = bytes.split(|byte| *byte == b'\n').filter(|line| is_rule(line)).count();
    let outcome = Outcome::Known {
        format: "tuner conf".to_owned(),
        holds: format!("{rules} rule{}", if rules == 1 { "" } else { "s" }),
        problems: Default::default(),
        notes: read.err().map(|error| format!("{error}: what stands before was read")).into_iter().collect(),
    };
    Ok((outcome, FileContent::Conf(bytes)))
}

/// A line that people mean as a rule: no comment, no header, at least eight fields.
fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.starts_with(b"#")
        && !line.to_ascii_lowercase().starts_with(b"coll")
        && line.iter().filter(|byte| **byte == b',').count() >= 7
}

/// Reads the text of a comparison.
pub(super) fn comparison(text: impl Read) -> Result<(Outcome, FileContent)> {
    let mut content = Vec::new();
    let read = text.take(LONGEST + 1).read_to_end(&mut content);
    if let Some(why) = read.as_ref().err().and_then(fatal) {
        return Err(why);
    }
    if content.len() as u64 > LONGEST {
        return Err(format!("is a comparison of more than {} MiB", LONGEST >> 20));
    }
    let text = String::from_utf8_lossy(&content).into_owned();
    let sizes = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count().saturating_sub(1);
    let outcome = Outcome::Known {
        format: "comparison with the default".to_owned(),
        holds: format!("{sizes} size{}", if sizes == 1 { "" } else { "s" }),
        problems: Default::default(),
        notes: read.err().map(|error| format!("{error}: what stands before was read")).into_iter().collect(),
    };
    Ok((outcome, FileContent::Comparison(text)))
}

/// A report, of which nothing is taken where a part of it is missing.
pub(super) fn report(text: impl Read) -> Result<(Outcome, FileContent)> {
    let mut bytes = Vec::new();
    text.take(report::open::MOST_BYTES as u64).read_to_end(&mut bytes).map_err(|error| match fatal(&error) {
        Some(why) => why,
        None => format!("can't be read: {error}"),
    })?;
    let opened = report::open::open(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string())?;
    let outcome = Outcome::Known {
        format: "report".to_owned(),
        holds: opened.title.clone(),
        problems: Default::default(),
        notes: Vec::new(),
    };
    Ok((outcome, FileContent::Report(Box::new(opened))))
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
    let mut problems = crate::text::Problems::default();
    let mut count = 0;
    while let Some(record) = records.next() {
        if record.len() != listing.columns.len() {
            let expected = format!("has {} cells where the header has {}", record.len(), listing.columns.len());
            problems.push(crate::text::Problem::new(record.line(), "", &record.excerpt(), expected));
            continue;
        }
        count += 1;
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
    let plural = if word.ends_with("ch") { "es" } else { "s" };
    let mut notes = vec![good_for.to_owned()];
    if count > MOST {
        notes.push(format!("Only the first {MOST} rows are shown"));
    }
    let holds = format!("{count} {word}{}", if count == 1 { "" } else { plural });
    Ok((Outcome::Known { format: format.to_owned(), holds, problems, notes }, FileContent::Listing(listing)))
}
