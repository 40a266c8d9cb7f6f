//! Writes tables: CSV in which no spreadsheet finds a formula, and Markdown in which no cell becomes markup.

use std::borrow::Cow;

use super::{is_control, is_invisible, number};

/// A cell to be written to a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text, which is escaped where it is written.
    Text(String),
    /// A whole number, without separators.
    Whole(u64),
    /// A number with this many decimals; not a number is written as an empty cell.
    Number(f64, usize),
    /// An unknown value: nothing between the separators.
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
    /// A number with this many decimals, or an empty cell.
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
    /// The headers of the columns.
    pub headers: Vec<String>,
    /// The rows, each with a cell for every header.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of these columns, without rows.
    pub fn new<S: Into<String>>(headers: impl IntoIterator<Item = S>) -> Self {
        Self { headers: headers.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row, which has a cell for every header.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Comma-separated, with the quotes of RFC 4180 and LF. What a spreadsheet could take for a formula gets a `'`
    /// before it (OWASP ASVS 1.2.10): a text that begins with `=`, `+`, `-` or `@`, and each part of a text that does
    /// after a character which some spreadsheet takes for the end of a cell. Numbers are written as they are.
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

    /// A table of GitHub-flavoured Markdown. Columns of numbers are aligned to the right, and cells are escaped.
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

/// A text with `'` before each part that a spreadsheet could take for a formula, whichever separator it assumes.
fn guarded(text: &str) -> Cow<'_, str> {
    const SEPARATORS: [char; 6] = [',', ';', '\t', '\n', '\r', '|'];
    let begins_unseen = text.starts_with(['\t', '\n', '\r', '\0']);
    // `-3.5` is a number and no formula; `-3.5+cmd()` is one, and so may be what a separator leaves of a number.
    let is_number = !text.contains(SEPARATORS) && (number(text).is_some() || is_interval(text));
    if is_number || !begins_unseen && !text.split(SEPARATORS).any(is_formula) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 2);
    safe.extend(begins_unseen.then_some('\''));
    for part in text.split_inclusive(SEPARATORS) {
        safe.extend(is_formula(part).then_some('\''));
        safe += part;
    }
    safe.into()
}

/// Whether a spreadsheet could take a text for a formula: its first visible character is one that begins formulas, also
/// in its full-width form.
fn is_formula(text: &str) -> bool {
    const SIGNS: [char; 12] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫'];
    text.trim_start_matches(|c| is_invisible(c) || c == '"').starts_with(SIGNS)
}

/// Whether a text is a number or an interval in per cent, with its own interval or without:
/// `+12 to +30 % (+8.1 to +34)`. No two numbers stand side by side, so that a sign is never an operator.
fn is_interval(text: &str) -> bool {
    let mut may_be_number = true;
    text.split(' ').all(|word| {
        let is_expected = match word {
            "to" | "%" => !may_be_number,
            word => (may_be_number || word.starts_with('(')) && number(word.trim_matches(['(', ')'])).is_some(),
        };
        may_be_number = word == "to";
        is_expected
    })
}

/// Text for Markdown without any Markdown or HTML markup and without mentions: GitHub turns `@user`, `#123` and
/// `GH-123` into links even if they are escaped, unless something separates their parts. An underscore within a word
/// is no markup.
pub fn escaped(text: &str) -> String {
    /// A zero-width space as an HTML entity.
    const APART: &str = "&#8203;";
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let in_word = before.is_alphanumeric() && next.is_some_and(char::is_alphanumeric);
        let begins_number = next.is_some_and(|next| next.is_ascii_digit());
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            // GitHub makes links of bare addresses.
            ':' if next == Some('/') => out += "&#58;",
            '.' if out.ends_with("www") => out += "&#46;",
            '@' if next.is_some_and(char::is_alphanumeric) => out.extend(["@", APART]),
            '#' if begins_number => out.extend(["\\#", APART]),
            '-' if begins_number && is_after(&out, "gh") => out.extend(["-", APART]),
            '\\' | '|' | '`' | '*' | '[' | ']' | '~' | '!' | '#' | '$' => out.extend(['\\', c]),
            '_' if !in_word => out += "\\_",
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_control(c) => out += &format!("&lt;{}&gt;", code_point(c)),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Whether a text ends in these ASCII letters, in any case.
fn is_after(text: &str, letters: &str) -> bool {
    let end = text.len().checked_sub(letters.len()).and_then(|begin| text.get(begin..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(letters))
}

/// Text for a block of code, in which control characters other than line ends and tabs are named: `<U+001B>`. An escape
/// with a backslash would look like a part of the code.
pub fn named_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) && !matches!(c, '\n' | '\t') {
            out += &format!("<{}>", code_point(c));
        } else {
            out.push(c);
        }
    }
    out
}

fn code_point(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(cell: impl Into<Cell>) -> Table {
        Table { headers: vec!["h".to_owned()], rows: vec![vec![cell.into()]] }
    }

    #[test]
    fn csv_has_no_formulas() {
        assert_eq!(guarded("\t+1"), "'\t'+1");
        for (cell, written) in [
            (Cell::Number(-3.5, 1), "-3.5"),
            (Cell::Whole(16_777_216), "16777216"),
            (Cell::Number(f64::NAN, 2), "\"\""),
            (Cell::Empty, "\"\""),
            ("=HYPERLINK(\"x\")".into(), "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+cmd".into(), "'+cmd"),
            ("-3.5".into(), "-3.5"),
            ("+8.2".into(), "+8.2"),
            ("-3.5 %".into(), "-3.5 %"),
            ("+1.0 to +4.0 %".into(), "+1.0 to +4.0 %"),
            ("+12 to +30 % (-8.1 to 34)".into(), "+12 to +30 % (-8.1 to 34)"),
            ("+1 +2".into(), "'+1 +2"),
            ("+1 to to".into(), "'+1 to to"),
            ("+1 %=2".into(), "'+1 %=2"),
            ("-3 GB/s".into(), "'-3 GB/s"),
            ("-2+3".into(), "'-2+3"),
            ("1;-3.5".into(), "1;'-3.5"),
            ("+1;=1".into(), "'+1;'=1"),
            ("a;=1+1".into(), "a;'=1+1"),
            ("a\t=1+1".into(), "a\t'=1+1"),
            ("a, =1+1".into(), "\"a,' =1+1\""),
            ("a|@SUM".into(), "a|'@SUM"),
            ("a\n+cmd".into(), "\"a\n'+cmd\""),
            ("＝1+1".into(), "'＝1+1"),
            ("＋1".into(), "'＋1"),
            ("－1".into(), "'－1"),
            ("＠x".into(), "'＠x"),
            ("\u{200b}=1+1".into(), "'\u{200b}=1+1"),
            ("\u{feff}\u{2060}\u{ad} =1".into(), "'\u{feff}\u{2060}\u{ad} =1"),
            ("a;\u{3000}=1".into(), "a;'\u{3000}=1"),
            ("a;\"=1\"".into(), "\"a;'\"\"=1\"\"\""),
            ("a=1".into(), "a=1"),
            ("RING/LL/8".into(), "RING/LL/8"),
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
            ("@user", "@&#8203;user"),
            ("mail me@example.org", "mail me@&#8203;example.org"),
            ("50 @ 8", "50 @ 8"),
            ("fixes #123", "fixes \\#&#8203;123"),
            ("Gh-7 and x-7", "Gh-&#8203;7 and x-7"),
            ("www.x.y", "www&#46;x.y"),
            ("a\u{1b}[31m\u{202e}b", "a&lt;U+001B&gt;\\[31m&lt;U+202E&gt;b"),
        ] {
            assert_eq!(one(cell).to_markdown(), format!("| h |\n| --- |\n| {written} |\n"));
        }
    }

    /// Texts of characters that begin formulas, that may separate cells, or that are invisible.
    fn hostile() -> impl Strategy<Value = String> {
        let one = prop_oneof![
            4 => proptest::sample::select("=+-@＝＋－＠;,|\t\n\r\" '1.5a\0\u{200b}\u{feff}\u{2060}\u{ad}\u{202e}\u{3000}".chars().collect::<Vec<_>>()),
            1 => any::<char>(),
        ];
        proptest::collection::vec(one, 0..12).prop_map(String::from_iter)
    }

    proptest! {
        /// Cells never begin a formula, whichever separator the reader assumes, with quotes or without.
        #[test]
        fn no_cell_begins_a_formula(cells in proptest::collection::vec(hostile(), 1..4)) {
            let cells = [vec!["a".to_owned()], cells].concat();
            let row = cells.iter().map(|cell| Cell::Text(cell.clone())).collect();
            let csv = Table { headers: cells.clone(), rows: vec![row] }.to_csv();
            for (delimiter, quoting) in b",;\t|".iter().flat_map(|one| [(*one, true), (*one, false)]) {
                let mut reader = csv::ReaderBuilder::new();
                let reader = reader.delimiter(delimiter).quoting(quoting).flexible(true).has_headers(false);
                for record in reader.from_reader(csv.as_bytes()).byte_records() {
                    for cell in &record.unwrap() {
                        let cell = String::from_utf8_lossy(cell);
                        let seen = cell.trim_start_matches(|c| is_invisible(c) || c == '"');
                        let begins = seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
                        // Numbers, alone or beside `to` and `%`, are no formula.
                        let bare = seen.replace(" to ", " ").replace(['(', ')', '%'], "");
                        let is_number = bare.split(' ').all(|word| word.is_empty() || number(word).is_some());
                        prop_assert!(!begins || is_number, "{:?} in {:?}", cell, csv);
                    }
                }
            }
        }

        #[test]
        fn a_text_without_a_formula_is_written_and_read_back_as_it_is(text in hostile()) {
            let csv = one(text.clone()).to_csv();
            let mut reader = csv::Reader::from_reader(csv.as_bytes());
            let read = reader.records().next().unwrap().unwrap()[0].to_owned();
            // Only `'` was added: no other character is changed.
            prop_assert_eq!(read.replace('\'', ""), text.replace('\'', ""));
            if (!is_formula(&text) || number(&text).is_some()) && !text.contains([',', ';', '\t', '\n', '\r', '|', '\0']) {
                prop_assert_eq!(read, text);
            }
        }

        #[test]
        fn markdown_calls_nobody_and_shows_controls(text in any::<String>()) {
            let written = escaped(&text);
            prop_assert!(!written.contains(is_control));
            let mut pairs = written.chars().zip(written.chars().skip(1));
            prop_assert!(!pairs.any(|(at, next)| at == '@' && next.is_alphanumeric()));
        }
    }
}
