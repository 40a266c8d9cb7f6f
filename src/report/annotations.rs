//! The title and the notes that a user gives to a report. They become texts of it, so that every form carries them and
//! every page shows them.

use serde::{Deserialize, Serialize};

use super::Report;
use crate::text::{Column, Entry, Listing};

/// What begins a sentence that is a note.
pub const NOTE: &str = "Note: ";
/// The name of the column with the notes on the rows of a table.
pub const NOTE_COLUMN: &str = "Note";
/// The most characters of a title.
pub const MOST_TITLE: usize = 120;
/// The most characters of a note.
pub const MOST_NOTE: usize = 2000;
/// The most notes on a report.
pub const MOST_NOTES: usize = 100;
/// The most rows of a section that can be noted.
const MOST_ROWS: usize = 500;

/// What a user adds to a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// The title instead of the report's own, which the summary then names; empty for none.
    pub title: String,
    /// The notes, in the order in which they were written.
    pub notes: Vec<Note>,
}

/// A note on a report, on a section, or on a row of a section's first table, such as a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// One of [`subjects`]; empty for the whole report.
    pub about: String,
    /// What the note says, without markup.
    pub text: String,
}

/// What a note can be about besides the whole report: the title of each section, `all_reduce on 2 nodes, 16 ranks`, and
/// each row of its first table, `all_reduce on 2 nodes, 16 ranks: 16 MiB`. Rows that begin alike have as many cells in
/// their names as tell them apart.
pub fn subjects(report: &Report) -> Vec<String> {
    let mut all = Vec::new();
    for section in &report.sections {
        let rows = section.tables.first().map(|table| labels(&table.listing)).unwrap_or_default();
        all.push(section.title.clone());
        all.extend(rows.into_iter().map(|label| format!("{}: {label}", section.title)));
    }
    all
}

/// The names of the first rows, each of which stands once, without the notes on them.
fn labels(listing: &Listing) -> Vec<String> {
    let rows = &listing.rows[..listing.rows.len().min(MOST_ROWS)];
    let mut labels = vec![String::new(); rows.len()];
    let mut alike: Vec<usize> = (0..rows.len()).collect();
    let columns = listing.columns.iter().enumerate().filter(|(_, column)| column.name != NOTE_COLUMN);
    for (column, _) in columns {
        for at in &alike {
            let label = &mut labels[*at];
            if let Some(cell) = rows[*at].get(column).filter(|cell| !cell.text.is_empty()) {
                label.push_str(if label.is_empty() { "" } else { ", " });
                label.push_str(&cell.text);
            }
        }
        let is_shared = |at: &usize| alike.iter().any(|other| other != at && labels[*other] == labels[*at]);
        alike = alike.iter().copied().filter(is_shared).collect();
    }
    for (number, at) in alike.iter().enumerate() {
        labels[*at] += &format!(" ({})", number + 1);
    }
    labels
}

/// Writes a title and notes into a report. Returns what no note can be about in it: these notes stand in the summary,
/// with what they are about.
pub fn annotate(report: &mut Report, annotations: &Annotations) -> Vec<String> {
    let title = start_of(annotations.title.trim(), MOST_TITLE);
    if !title.is_empty() && title != report.title {
        let subject = std::mem::replace(&mut report.title, title);
        report.summary.push(format!("Subject: {subject}."));
    }
    let mut unknown = Vec::new();
    for Note { about, text } in annotations.notes.iter().take(MOST_NOTES) {
        let text = start_of(text.trim(), MOST_NOTE);
        if !text.is_empty() && !note(report, about, &text) {
            let about_it = if about.is_empty() { String::new() } else { format!("{about}: ") };
            report.summary.push(format!("{NOTE}{about_it}{text}"));
            unknown.extend((!about.is_empty()).then(|| about.clone()));
        }
    }
    unknown
}

/// Writes a note into what it is about. Returns whether there is such a section or row.
fn note(report: &mut Report, about: &str, text: &str) -> bool {
    for section in &mut report.sections {
        let Some(rest) = about.strip_prefix(section.title.as_str()).filter(|_| !about.is_empty()) else { continue };
        if rest.is_empty() {
            let earlier = section.text.iter().take_while(|text| text.starts_with(NOTE)).count();
            section.text.insert(earlier, format!("{NOTE}{text}"));
            return true;
        }
        let (Some(label), Some(table)) = (rest.strip_prefix(": "), section.tables.first_mut()) else { continue };
        let listing = &mut table.listing;
        let Some(at) = labels(listing).iter().position(|known| known == label) else { continue };
        let known = listing.columns.iter().position(|column| column.name == NOTE_COLUMN);
        let column = known.unwrap_or(listing.columns.len());
        let row = &mut listing.rows[at];
        row.resize(row.len().max(column + 1), Entry::default());
        let cell = &mut row[column].text;
        if !cell.is_empty() {
            cell.push_str("; ");
        }
        cell.push_str(text);
        if known.is_none() {
            listing.columns.push(Column::words(NOTE_COLUMN, "what the sender of the report says"));
            listing.rows.iter_mut().for_each(|row| row.resize(column + 1, Entry::default()));
        }
        return true;
    }
    false
}

/// A text, or its first characters with an ellipsis where it has more than `most`.
pub(super) fn start_of(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Keeps the first characters of each note.
pub(super) fn shorten(report: &mut Report, most: usize) {
    let shorten = |text: &mut String| *text = start_of(text, most);
    let sections = report.sections.iter_mut();
    let (texts, tables): (Vec<_>, Vec<_>) = sections.map(|section| (&mut section.text, &mut section.tables)).unzip();
    let texts = texts.into_iter().flatten().chain(&mut report.summary);
    texts.filter(|text| text.starts_with(NOTE)).for_each(shorten);
    for table in tables.into_iter().flatten() {
        let column = table.listing.columns.iter().position(|column| column.name == NOTE_COLUMN);
        let cells = table.listing.rows.iter_mut().filter_map(|row| row.get_mut(column?));
        cells.for_each(|cell| shorten(&mut cell.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Exhibit, Section};

    fn report() -> Report {
        let rows = [4096, 8192].map(|size| vec![Entry::size(size), Entry::text("deploy")]).to_vec();
        let columns = vec![Column::numbers("Size", ""), Column::words("Advice", "")];
        let tables = vec![Exhibit::new("t", "What to deploy", Listing { columns, rows })];
        let section = Section { title: "all_reduce on 2 nodes".into(), tables, ..Section::default() };
        let noise = Section { title: "Noise".into(), text: vec!["Little.".into()], ..Section::default() };
        Report {
            title: "all_reduce".into(),
            summary: vec!["Deploy it.".into()],
            sections: vec![section, noise],
            ..Report::default()
        }
    }

    fn note(about: &str, text: &str) -> Note {
        Note { about: about.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn notes_stand_with_what_they_are_about() {
        let mut noted = report();
        let notes = vec![
            note("", "Measured at night."),
            note("Noise", "One node was warm."),
            note("all_reduce on 2 nodes: 8 KiB", "Ours."),
            note("all_reduce on 2 nodes: 8 KiB", "Again."),
            note("Trust: 1", "Gone."),
            note("Noise", "  "),
            note("Noise", "Another was cold."),
        ];
        let unknown = annotate(&mut noted, &Annotations { title: " Friday ".into(), notes });
        assert_eq!(unknown, ["Trust: 1"]);
        assert_eq!(noted.title, "Friday");
        assert_eq!(
            noted.summary,
            ["Deploy it.", "Subject: all_reduce.", "Note: Measured at night.", "Note: Trust: 1: Gone."]
        );
        assert_eq!(noted.sections[1].text, ["Note: One node was warm.", "Note: Another was cold.", "Little."]);
        let table = &noted.sections[0].tables[0].listing;
        assert_eq!(table.columns[2].name, NOTE_COLUMN);
        let cells: Vec<&str> = table.rows.iter().map(|row| row[2].text.as_str()).collect();
        assert_eq!(cells, ["", "Ours.; Again."]);
    }

    #[test]
    fn each_subject_is_found_again() {
        let all = subjects(&report());
        assert_eq!(
            all,
            ["all_reduce on 2 nodes", "all_reduce on 2 nodes: 4 KiB", "all_reduce on 2 nodes: 8 KiB", "Noise"]
        );
        let notes = all.iter().map(|about| note(about, "x")).collect();
        assert_eq!(annotate(&mut report(), &Annotations { title: String::new(), notes }), [""; 0]);
    }

    #[test]
    fn rows_that_begin_alike_are_told_apart() {
        let mut noted = report();
        let words = |words: &[&str]| words.iter().map(|word| Entry::text(*word)).collect::<Vec<_>>();
        let listing = &mut noted.sections[0].tables[0].listing;
        listing.columns.push(Column::words("Third", ""));
        listing.rows = vec![
            words(&["all_reduce", "2 × 16", "4 KiB"]),
            words(&["all_reduce", "2 × 16", "8 KiB"]),
            words(&["all_reduce", "1 × 8", ""]),
            words(&["all_gather", "1 × 8", ""]),
            words(&["same", "", ""]),
            words(&["same", "", ""]),
        ];
        let named =
            ["all_reduce, 2 × 16, 4 KiB", "all_reduce, 2 × 16, 8 KiB", "all_reduce, 1 × 8", "all_gather", "same (1)"];
        let abouts: Vec<String> = named.iter().map(|row| format!("all_reduce on 2 nodes: {row}")).collect();
        assert_eq!(subjects(&noted)[1..6], abouts);
        let notes = vec![
            note(&abouts[1], "x"),
            note(&abouts[4], "z"),
            note(&abouts[4], "z"),
            note("all_reduce on 2 nodes: all_reduce", "y"),
        ];
        let unknown = annotate(&mut noted, &Annotations { title: String::new(), notes });
        assert_eq!(unknown, ["all_reduce on 2 nodes: all_reduce"]);
        let rows = &noted.sections[0].tables[0].listing.rows;
        let noted: Vec<&str> = rows.iter().map(|row| row[3].text.as_str()).collect();
        assert_eq!(noted, ["", "x", "", "", "z; z", ""]);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let mut noted = report();
        let notes = vec![note("", &"é".repeat(9000)), note("all_reduce on 2 nodes: 4 KiB", &"é".repeat(9000))];
        annotate(&mut noted, &Annotations { title: "é".repeat(9000), notes });
        assert_eq!(noted.title.chars().count(), MOST_TITLE);
        let cell = |report: &Report| report.sections[0].tables[0].listing.rows[0][2].text.chars().count();
        assert_eq!(cell(&noted), MOST_NOTE);
        shorten(&mut noted, 200);
        assert_eq!((cell(&noted), noted.summary[2].chars().count()), (200, 200));
        assert!(noted.summary[2].ends_with('…'));
    }
}
