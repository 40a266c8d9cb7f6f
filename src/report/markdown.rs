//! A report as Markdown, for a pull request: what GitHub shows.
//!
//! Nothing from a file becomes markup: words are escaped, and a block of code has a fence longer than any in its text.

use super::{Exhibit, Report, Section, TextFile};
use crate::text::{escaped, named_controls};

/// The number of rows beyond which a table is collapsed.
const LONG: usize = 24;

/// The report as GitHub-flavoured Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = Blocks::default();
    out.block(&format!("# {}", line(&report.title)));
    report.summary.iter().for_each(|sentence| out.block(&line(sentence)));
    report.sections.iter().for_each(|part| section(&mut out, part));
    out.block("## How this was made");
    let mut facts: Vec<(&str, String)> = vec![("Made by", made_by(report))];
    facts.extend(report.parameters.iter().map(|fact| (fact.name.as_str(), fact.value.clone())));
    let lines: Vec<String> = facts.iter().map(|(name, value)| format!("- {}: {}", line(name), line(value))).collect();
    out.block(&lines.join("\n"));
    if !report.files.is_empty() {
        out.block(&super::loaded(&report.files).to_markdown());
    }
    out.0
}

/// The line with the program and the date.
pub(super) fn made_by(report: &Report) -> String {
    match &report.made_on {
        Some(day) => format!("{} on {day}", report.program),
        None => report.program.clone(),
    }
}

/// Words as a line of a paragraph, which begins no list, no heading and no block of code.
fn line(words: &str) -> String {
    let text = escaped(words);
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    // `6. ` begins a list, and 6.5 does not.
    let is_item = rest.starts_with(['.', ')']) && rest[1..].chars().next().is_none_or(char::is_whitespace);
    if rest.starts_with(['-', '+', '=']) && number.is_empty() || is_item && !number.is_empty() {
        return format!("{number}\\{rest}");
    }
    text.to_owned()
}

/// Markdown blocks, separated by empty lines.
#[derive(Default)]
struct Blocks(String);

impl Blocks {
    fn block(&mut self, text: &str) {
        let text = text.trim_end_matches('\n');
        if text.is_empty() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0 += text;
        self.0.push('\n');
    }

    fn folded(&mut self, summary: &str, write: impl FnOnce(&mut Self)) {
        self.block(&format!("<details>\n<summary>{}</summary>", line(summary)));
        write(self);
        self.block("</details>");
    }
}

fn section(out: &mut Blocks, section: &Section) {
    out.block(&format!("## {}", line(&section.title)));
    section.text.iter().for_each(|sentence| out.block(&line(sentence)));
    section.charts.iter().filter(|chart| !chart.summary.is_empty()).for_each(|chart| out.block(&line(&chart.summary)));
    for table in &section.tables {
        let rows = table.listing.rows.len();
        if rows > LONG {
            out.folded(&format!("{}: {}", table.title, crate::units::count(rows as u64, "row")), |out| {
                out.block(&markdown_of(table));
            });
        } else {
            out.block(&format!("### {}", line(&table.title)));
            out.block(&markdown_of(table));
        }
    }
    section.files.iter().for_each(|file| text_file(out, file));
}

fn markdown_of(exhibit: &Exhibit) -> String {
    exhibit.listing.without_secondary_columns().without_empty_columns().to_markdown()
}

fn text_file(out: &mut Blocks, file: &TextFile) {
    out.folded(&file.name, |out| {
        // Lines of a shell stand in a note behind the reader's name.
        match file.note.split_once(": ").filter(|(_, lines)| lines.contains('\n')) {
            Some((whose, lines)) => {
                out.block(&line(&format!("{whose}:")));
                out.block(&fenced("sh", lines));
            }
            None => out.block(&line(&file.note)),
        }
        out.block(&fenced("text", &file.text));
    });
}

fn fenced(kind: &str, text: &str) -> String {
    // A fence ends at one as long as itself.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{kind}\n{}\n{fence}", named_controls(text.trim_end_matches('\n')))
}
