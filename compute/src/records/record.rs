//! Splits a stream of delimited text into records.

use std::{
    io::{self, Read},
    ops::Range,
};

use memchr::memchr;

use super::{
    Dialect, excerpt, lossy, number,
    splitter::{Cells, Splitter},
    trimmed,
};

/// Streams the records of a delimited text, in bounded memory, whatever the bytes are.
///
/// A record is a line. A quoted cell may go on over further lines, as long as those are no records themselves: where
/// they are, the quote before was a stray one, which costs its own line and no other. Blank lines and lines of empty
/// cells are passed over. Bytes that are no UTF-8 read as U+FFFD. Between tabs or semicolons `8,2` is a number with a
/// decimal comma and reads as `8.2`.
///
/// ```
/// use collectune_compute::records::{Dialect, Records};
/// let mut records = Records::new(&b"algo,proto\nRING,\"LL\"\n"[..], Dialect::default());
/// assert_eq!(records.next().map(|r| r.cells().collect::<Vec<_>>().join("|")).as_deref(), Some("algo|proto"));
/// let second = records.next().expect("there is one");
/// assert_eq!((second.line(), second.get(1)), (2, Some("LL")));
/// ```
pub struct Records<'a> {
    input: Box<dyn Read + 'a>,
    dialect: Dialect,
    /// The bytes read; those before `start` are consumed, those from `filled` on are not valid.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    error: Option<io::Error>,
    /// Whether the rest of a line that was too long comes next.
    skipping: bool,
    /// The number of the line that begins at `start`, from 1.
    line: u64,
    /// The number of cells in the first record.
    width: Option<usize>,
    splitter: Splitter,
}

/// A record of a delimited text.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    cells: Cells<'a>,
    raw: &'a [u8],
    line: u64,
    state: State,
}

/// Whether a record is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The record ends with a line end.
    Whole,
    /// The input ends with the record, without a line end: it may be truncated.
    Last,
    /// The input failed within the record, by the error that [`Records::error`] returns.
    Broken,
    /// A quote is not closed.
    OpenQuote,
    /// The record has more than [`Records::LONGEST`] bytes or [`Records::WIDEST`] cells; the rest is cut off.
    TooLong,
}

/// A line in the buffer; offsets are relative to the buffer's start.
struct Line {
    /// The line without its end.
    content: Range<usize>,
    /// The start of the next line.
    next: usize,
    state: State,
}

impl<'a> Records<'a> {
    /// The most bytes of a record.
    pub const LONGEST: usize = 64 * 1024;
    /// The most lines of a record. If a quote is opened in every line, each line is read up to this many times.
    pub const TALLEST: u64 = 16;
    /// The most cells of a record.
    pub const WIDEST: usize = super::splitter::WIDEST;

    /// Reads `input` (UTF-8, without a byte order mark: see [`Decoder`](super::Decoder)) in the given dialect.
    pub fn new(input: impl Read + 'a, dialect: Dialect) -> Self {
        Self::boxed(Box::new(input), dialect)
    }

    fn boxed(input: Box<dyn Read + 'a>, dialect: Dialect) -> Self {
        Self {
            input,
            dialect,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            ended: false,
            error: None,
            skipping: false,
            line: 1,
            width: None,
            splitter: Splitter::new(dialect),
        }
    }

    /// The error that ended the input, if one did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// The number of the next line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Skips blank lines and lines that begin with `#`, except a header whose first column counts GPUs (`# GPUs,global
    /// batch` and further columns, of vTrain). To be called before the first record.
    pub fn skip_comments(&mut self) {
        let is_comment = |text: &[u8]| match text.trim_ascii_start() {
            [] => true,
            [b'#', header @ ..] => !header.trim_ascii_start().starts_with(b"GPUs,"),
            _ => false,
        };
        while let Some(line) = self.line_at(0)
            && line.state == State::Whole
            && is_comment(&self.buffer[self.start..][line.content])
        {
            self.start += line.next;
            self.line += 1;
        }
    }

    /// The next record; `None` at the end of the input, or at an error, which [`Self::error`] then returns. Data that
    /// was read before the error is returned first.
    #[expect(clippy::should_implement_trait, reason = "a record borrows from the stream")]
    pub fn next(&mut self) -> Option<Record<'_>> {
        self.skip_rest_of_line();
        loop {
            let line = self.line_at(0)?;
            let number = self.line;
            if self.buffer[self.start..][line.content.clone()].trim_ascii().is_empty() && line.state == State::Whole {
                self.start += line.next;
                self.line += 1;
                continue;
            }
            let (end, state) = self.split(&line);
            if self.dialect.delimiter != b',' {
                self.splitter.read_decimal_commas();
            }
            let begin = self.start;
            let raw = begin..begin + end.content.end;
            self.start += end.next;
            if self.splitter.is_blank() && state != State::TooLong {
                continue;
            }
            self.width.get_or_insert(self.splitter.count());
            let cells = self.splitter.cells();
            return Some(Record { cells, raw: &self.buffer[raw], line: number, state });
        }
    }

    /// Splits the record that begins with the line `first`; returns its last line and its state.
    fn split(&mut self, first: &Line) -> (Line, State) {
        self.splitter.reset();
        let complete = self.splitter.feed(&self.buffer[self.start..][first.content.clone()]);
        let alone = Line { content: first.content.clone(), ..*first };
        if first.state == State::TooLong || self.splitter.count() >= Self::WIDEST {
            self.skipping = first.state == State::TooLong;
            self.line += u64::from(!self.skipping);
            return (alone, State::TooLong);
        }
        if complete {
            self.line += 1;
            return (alone, first.state);
        }
        let mut next = first.next;
        let mut lines = 1;
        while lines < Self::TALLEST
            && let Some(line) = self.line_at(next)
            && line.state != State::TooLong
            && line.next <= Self::LONGEST
        {
            let content = &self.buffer[self.start..][line.content.clone()];
            if !self.width.is_some_and(|width| self.splitter.can_continue_with(content, width)) {
                break;
            }
            lines += 1;
            next = line.next;
            if self.splitter.feed(content) {
                if Some(self.splitter.count()) == self.width {
                    self.line += lines;
                    let state = line.state;
                    return (line, state);
                }
                break;
            }
        }
        self.splitter.reset();
        self.splitter.feed(&self.buffer[self.start..][first.content.clone()]);
        self.line += 1;
        (alone, State::OpenQuote)
    }

    /// The line that begins `skip` bytes after the start; reads as much of the input as that needs.
    fn line_at(&mut self, skip: usize) -> Option<Line> {
        let mut searched = skip;
        loop {
            let window = &self.buffer[self.start..self.filled];
            let found = memchr(self.dialect.line_end, &window[searched..]).map(|at| searched + at);
            let line = |end: usize, next, state| {
                let end = if window[skip..end].ends_with(b"\r") { end - 1 } else { end };
                Some(Line { content: skip..end, next, state })
            };
            match found {
                Some(end) if end - skip <= Self::LONGEST => return line(end, end + 1, State::Whole),
                None if window.len() - skip <= Self::LONGEST => {}
                _ => return line(skip + Self::LONGEST, skip + Self::LONGEST, State::TooLong),
            }
            let end = window.len();
            searched = end;
            if !self.fill() {
                let window = &self.buffer[self.start..self.filled];
                return (end > skip).then(|| Line {
                    content: skip..end - usize::from(window[skip..end].ends_with(b"\r")),
                    next: end,
                    state: if self.error.is_some() { State::Broken } else { State::Last },
                });
            }
        }
    }

    /// Skips the rest of a line that was too long.
    fn skip_rest_of_line(&mut self) {
        while self.skipping {
            let window = &self.buffer[self.start..self.filled];
            if let Some(end) = memchr(self.dialect.line_end, window) {
                self.start += end + 1;
                self.line += 1;
                self.skipping = false;
            } else {
                self.start = self.filled;
                self.skipping = self.fill();
            }
        }
    }

    /// Reads more of the input; `false` at its end. The first reads are small, because detecting a dialect needs few
    /// lines.
    fn fill(&mut self) -> bool {
        const LEAST: usize = 4 * 1024;
        const MOST: usize = 64 * 1024;
        if self.ended {
            return false;
        }
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let room = self.filled + (2 * self.buffer.len()).clamp(LEAST, MOST);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(n) => break n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.error = Some(e);
                    break 0;
                }
            }
        };
        self.filled += read;
        self.ended = read == 0;
        !self.ended
    }
}

impl<'a> Record<'a> {
    /// The number of its first line in the file, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the record is complete.
    pub fn state(&self) -> State {
        self.state
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no cells; the records of [`Records`] have at least one.
    pub fn is_empty(&self) -> bool {
        self.cells.len() == 0
    }

    /// A cell without surrounding blanks; `None` beyond the last one.
    pub fn get(&self, cell: usize) -> Option<&'a str> {
        self.cells.get(cell).map(trimmed)
    }

    /// Parses all cells with [`number()`] into `numbers`, NaN for those that are no numbers. Replaces its previous
    /// content.
    pub fn numbers(&self, numbers: &mut Vec<f64>) {
        numbers.clear();
        numbers.extend(self.cells().map(|cell| number(cell).unwrap_or(f64::NAN)));
    }

    /// All cells without surrounding blanks.
    pub fn cells(&self) -> impl Iterator<Item = &'a str> {
        let record = *self;
        (0..self.len()).filter_map(move |cell| record.get(cell))
    }

    /// The beginning of the record's line as it is in the file, for a message.
    pub fn excerpt(&self) -> String {
        excerpt(&lossy(&self.raw[..self.raw.len().min(400)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<(u64, State, Vec<String>)> {
        let mut records = Records::new(text, Dialect::default());
        let mut all = Vec::new();
        while let Some(record) = records.next() {
            all.push((record.line(), record.state(), record.cells().map(str::to_owned).collect()));
        }
        all
    }

    fn row(line: u64, state: State, cells: &str) -> (u64, State, Vec<String>) {
        (line, state, cells.split('|').map(str::to_owned).collect())
    }

    #[test]
    fn plain_quoted_and_blank() {
        use State::{Last, Whole};
        assert_eq!(
            read(b"a, b ,c\r\n\r\n\"1,5\",\"say \"\"hi\"\"\",\r\n , ,\n  \n3,4"),
            [row(1, Whole, "a|b|c"), row(3, Whole, "1,5|say \"hi\"|"), row(6, Last, "3|4")]
        );
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\n\n"), []);
        assert_eq!(read(b"a\xFFb,\xC3"), [row(1, Last, "a\u{FFFD}b|\u{FFFD}")]);
    }

    #[test]
    fn decimal_commas() {
        let mut records =
            Records::new(&b"a;8,2;+0,5;x,y;1,2,3;1,2.3"[..], Dialect { delimiter: b';', ..Dialect::default() });
        let cells = records.next().map(|r| r.cells().collect::<Vec<_>>().join("|"));
        assert_eq!(cells.as_deref(), Some("a|8.2|+0.5|x,y|1,2,3|1,2.3"));
    }

    #[test]
    fn a_quoted_cell_continues_over_lines() {
        use State::Whole;
        assert_eq!(
            read(b"a,b,c\n1,\"two\n\nlines\",3\n4,5,6\n"),
            [row(1, Whole, "a|b|c"), row(2, Whole, "1|two\n\nlines|3"), row(5, Whole, "4|5|6")]
        );
    }

    #[test]
    fn a_stray_quote_costs_one_line() {
        let all = read(b"a,b,c\n1,\"2,3\n4,\"5,6\n7,8,9\n1,\"2\n,3\n");
        let seen: Vec<_> = all.iter().map(|(line, state, _)| (*line, *state)).collect();
        use State::{OpenQuote, Whole};
        assert_eq!(seen, [(1, Whole), (2, OpenQuote), (3, OpenQuote), (4, Whole), (5, OpenQuote), (6, Whole)]);
    }

    #[test]
    fn long_lines_are_cut_and_skipped() {
        let long = [b"a,b\n", "x".repeat(200_000).as_bytes(), b"\n1,2\n"].concat();
        let all = read(&long);
        assert_eq!(
            all.iter().map(|r| (r.0, r.1)).collect::<Vec<_>>(),
            [(1, State::Whole), (2, State::TooLong), (3, State::Whole)]
        );
        let wide = ",".repeat(5000).replace(',', "1,") + "\n1\n";
        assert_eq!(read(wide.as_bytes()).iter().map(|r| r.1).collect::<Vec<_>>(), [State::TooLong, State::Whole]);
    }

    /// Gives one byte at a time, so that every boundary is met.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(1);
            self.0.read(&mut buffer[..n])
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn chunks_do_not_matter(text in "([a-c,\"\r\n ]|[a-c],|\n){0,60}") {
            let mut drip = Records::new(Drip(text.as_bytes()), Dialect::default());
            for (line, state, cells) in read(text.as_bytes()) {
                let record = drip.next().expect("there are as many");
                proptest::prop_assert_eq!((record.line(), record.state()), (line, state));
                proptest::prop_assert_eq!(record.cells().collect::<Vec<_>>(), cells);
            }
            proptest::prop_assert!(drip.next().is_none());
        }
    }

    #[test]
    fn comments_before_the_header() {
        let mut records = Records::new(&b"# simulated\n\n#\na,b\n"[..], Dialect::default());
        records.skip_comments();
        assert_eq!(records.next().map(|r| (r.line(), r.len())), Some((4, 2)));
    }

    #[test]
    fn an_error_comes_after_the_data_before_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let mut records = Records::new((&b"a,b\n1,2\n3"[..]).chain(Broken), Dialect::default());
        let mut lines = 0;
        while records.next().is_some() {
            lines += 1;
        }
        assert_eq!(lines, 3);
        assert!(records.error().is_some());
    }
}
