//! Tables are written: CSV that no spreadsheet takes for a formula, and Markdown that shows no markup.

use std::borrow::Cow;

/// One cell to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A number with this many decimals; not a number is written as an empty cell.
    Number(f64, usize),
    /// Nothing is known.
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self::Whole(n)
    }
}

impl From<u32> for Cell {
    fn from(n: u32) -> Self {
        Self::Whole(n.into())
    }
}

impl Cell {
    /// An optional number with this many decimals.
    #[must_use]
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        value.map_or(Self::Empty, |v| Self::Number(v, decimals))
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Whole(_) | Self::Number(..))
    }

    fn plain(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Whole(n) => n.to_string().into(),
            Self::Number(n, decimals) if n.is_finite() => format!("{n:.decimals$}").into(),
            Self::Number(..) | Self::Empty => "".into(),
        }
    }
}

/// A table to be written.
///
/// ```
/// use collectune::text::{Cell, Table};
/// let mut table = Table::new(["algo", "busbw"]);
/// table.push(vec!["=1+1".into(), Cell::Number(-3.5, 2)]);
/// assert_eq!(table.to_csv(), "algo,busbw\n'=1+1,-3.50\n");
/// assert_eq!(table.to_markdown(), "| algo | busbw |\n| --- | ---: |\n| =1+1 | -3.50 |\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub headers: Vec<String>,
    /// Rows with a cell for each header.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new<S: Into<String>>(headers: impl IntoIterator<Item = S>) -> Self {
        Self { headers: headers.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Comma-separated, RFC 4180 quotes, LF. A text that a spreadsheet could take for a formula (it begins with
    /// `=`, `+`, `-`, `@`, tab, CR or NUL) gets a leading `'` (OWASP ASVS 1.2.10); numbers stay numbers.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let headers = self.headers.iter().map(|h| guarded(h));
        // Writing to memory cannot fail.
        let _ = writer.write_record(headers.map(Cow::into_owned).map(String::into_bytes));
        for row in &self.rows {
            let cells = row.iter().map(|cell| match cell {
                Cell::Text(text) => guarded(text),
                number => number.plain(),
            });
            let _ = writer.write_record(cells.map(Cow::into_owned).map(String::into_bytes));
        }
        let bytes = writer.into_inner().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// A table of GitHub-flavoured Markdown; columns of numbers are aligned to the right, and whatever a cell
    /// holds shows as the text that it is.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let is_numeric = |column: usize| {
            let mut cells =
                self.rows.iter().filter_map(|row| row.get(column)).filter(|c| **c != Cell::Empty).peekable();
            cells.peek().is_some() && cells.all(Cell::is_number)
        };
        let mut text = line(self.headers.iter().map(|h| escaped(h)).collect());
        text += &line((0..self.headers.len()).map(|c| if is_numeric(c) { "---:" } else { "---" }.to_owned()).collect());
        for row in &self.rows {
            text += &line(
                row.iter()
                    .map(|cell| if cell.is_number() { cell.plain().into_owned() } else { escaped(&cell.plain()) })
                    .collect(),
            );
        }
        text
    }
}

fn guarded(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\0']) { format!("'{text}").into() } else { text.into() }
}

/// Text for Markdown in which nothing is markup, of Markdown or of HTML. An underscore within a word is none.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let in_word = before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            // GitHub makes links of bare addresses.
            ':' if chars.peek() == Some(&'/') => out += "&#58;",
            '.' if out.ends_with("www") => out += "&#46;",
            '\\' | '|' | '`' | '*' | '[' | ']' | '~' | '!' | '#' | '$' => out.extend(['\\', c]),
            '_' if !in_word => out += "\\_",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(cell: impl Into<Cell>) -> Table {
        Table { headers: vec!["h".to_owned()], rows: vec![vec![cell.into()]] }
    }

    #[test]
    fn csv_has_no_formulas() {
        for (cell, written) in [
            (Cell::Number(-3.5, 1), "-3.5"),
            (Cell::Whole(16_777_216), "16777216"),
            (Cell::Number(f64::NAN, 2), "\"\""),
            (Cell::Empty, "\"\""),
            ("=HYPERLINK(\"x\")".into(), "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+cmd".into(), "'+cmd"),
            ("-3.5".into(), "'-3.5"),
            ("@SUM".into(), "'@SUM"),
            ("\tx".into(), "'\tx"),
            ("\rx".into(), "\"'\rx\""),
            ("\0x".into(), "'\0x"),
            ("a,b".into(), "\"a,b\""),
            ("16 MiB".into(), "16 MiB"),
        ] {
            assert_eq!(one(cell).to_csv(), format!("h\n{written}\n"));
        }
    }

    #[test]
    fn markdown_has_no_markup() {
        for (cell, written) in [
            ("a|b", "a\\|b"),
            ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
            ("**bold** `code`", "\\*\\*bold\\*\\* \\`code\\`"),
            ("all_reduce", "all_reduce"),
            ("_em_", "\\_em\\_"),
            ("[x](y)", "\\[x\\](y)"),
            ("two\nlines", "two lines"),
            ("https://x.y", "https&#58;//x.y"),
            ("a&b", "a&amp;b"),
        ] {
            assert_eq!(one(cell).to_markdown(), format!("| h |\n| --- |\n| {written} |\n"));
        }
    }
}
