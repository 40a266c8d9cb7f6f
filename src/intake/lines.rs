//! The lines of a file as they stand there: all of them, or one with those around it.

use std::io::Read;

use serde::{Deserialize, Serialize};

use super::{inflate::inflated, opened::fatal};
use crate::text::{Decoder, Dialect, Lines, Preview, Records};

/// A line of a file, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLines {
    /// Lines with their numbers, from 1, ascending; the wanted one is among them.
    pub lines: Vec<(u32, String)>,
    /// The cells of the line, each with its header; empty where the file is no table.
    pub cells: Vec<(String, String)>,
}

/// How many lines before and after the wanted one are given.
const AROUND: u32 = 3;
/// The most bytes, inflated, within which the line is looked for, so that looking takes a few seconds at most.
const LONGEST: u64 = 256 << 20;
/// The most characters of a line.
const MOST_CHARS: usize = 4000;

/// The lines of a text file, inflated and decoded.
pub fn lines<'a>(source: Box<dyn Read + 'a>) -> Lines<'a> {
    Lines::new(Decoder::new(inflated(source)))
}

/// Looks for a line of a file.
///
/// # Errors
/// Returns why there is none, in a sentence for users.
pub fn lines_around(source: Box<dyn Read + '_>, wanted: u32) -> Result<FileLines, String> {
    let source = Preview::new(inflated(source).take(LONGEST), 4);
    if source.head() == b"PK\x03\x04" {
        return Err("The file is an archive, whose lines can't be shown.".to_owned());
    }
    let mut lines = Lines::new(Decoder::new(source));
    let mut header = None;
    let mut found = FileLines::default();
    while let Some(line) = lines.next() {
        let number = line.number as u32;
        if header.is_none() && !line.text.trim_start().starts_with('#') && !line.text.trim().is_empty() {
            header = Some(line.text.clone().into_owned());
        }
        if number.saturating_add(AROUND) >= wanted {
            if number == wanted {
                found.cells = header.as_ref().map(|header| cells(header, &line.text)).unwrap_or_default();
            }
            found.lines.push((number, line.text.chars().take(MOST_CHARS).collect()));
        }
        if number >= wanted.saturating_add(AROUND) {
            break;
        }
    }
    if found.lines.iter().any(|(number, _)| *number == wanted) {
        return Ok(found);
    }
    Err(match lines.error() {
        Some(error) => format!("The file {}.", fatal(error).unwrap_or_else(|| format!("can't be read: {error}"))),
        None => format!("There is no line {wanted} in the first {} MiB of the file.", LONGEST >> 20),
    })
}

/// The cells of a line with the headers of their columns; empty unless both have as many.
fn cells(header: &str, line: &str) -> Vec<(String, String)> {
    let table = format!("{header}\n{line}\n");
    let mut records = Records::new(table.as_bytes(), Dialect::sniff(table.as_bytes()));
    let mut row = || records.next().map(|row| row.cells().map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default();
    let (headers, cells) = (row(), row());
    if headers.len() != cells.len() || headers.len() < 2 || header == line {
        return Vec::new();
    }
    headers.into_iter().zip(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str, wanted: u32) -> Result<FileLines, String> {
        lines_around(Box::new(text.as_bytes()), wanted)
    }

    #[test]
    fn a_line_is_found_with_its_headers() {
        let text: String = (1..=20).map(|row| format!("{row},\"a,{row}\"\n")).collect();
        let found = around(&format!("# a comment\nsize,name\n{text}"), 10).expect("the line");
        let numbers: Vec<u32> = found.lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(found.lines[3].1, "8,\"a,8\"");
        assert_eq!(found.cells, [("size".into(), "8".into()), ("name".into(), "a,8".into())]);
    }

    #[test]
    fn what_is_no_table_has_lines_only() {
        let found = around("# head\n  1024 256 float sum 12.3\nAvg bus bandwidth", 3).expect("the line");
        assert_eq!(found.lines.len(), 3);
        assert_eq!(found.cells, []);
    }

    #[test]
    fn a_missing_line_is_said() {
        for (text, wanted) in [("", 1), ("a\nb\n", 3), ("PK\u{3}\u{4}a,b\n", 1), ("a\n", 0), ("a\n", u32::MAX)] {
            assert!(around(text, wanted).is_err_and(|why| why.ends_with('.')), "{text}");
        }
    }
}
