//! Splits lines into cells.

use std::cell::RefCell;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use memchr::{memchr, memchr_iter};

use super::{Dialect, lossy};

/// The most cells of a record.
pub(super) const WIDEST: usize = 4096;

/// The cells of a record as slices of one text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    text: &'a str,
    ends: &'a [usize],
    gap: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn len(self) -> usize {
        self.ends.len()
    }

    /// A cell with its surrounding blanks.
    pub(super) fn get(self, cell: usize) -> Option<&'a str> {
        let begin = if cell == 0 { 0 } else { self.ends.get(cell - 1)? + self.gap };
        self.text.get(begin..*self.ends.get(cell)?)
    }
}

/// Splits lines into cells, by `csv_core` where there are quotes.
#[derive(Debug)]
pub(super) struct Splitter {
    /// `None` only while the splitter is dropped.
    core: Option<Box<Reader>>,
    delimiter: u8,
    line_end: u8,
    /// The output of the reader.
    bytes: Vec<u8>,
    written: usize,
    text: String,
    ends: Vec<usize>,
    count: usize,
    /// The number of bytes between the end of a cell and the next cell in the text.
    gap: usize,
}

thread_local! {
    /// Readers for reuse. Building one takes longer than reading a small file, and a clone of one lacks a part of its
    /// automaton.
    static IDLE_READERS: RefCell<Vec<(Dialect, Box<Reader>)>> = const { RefCell::new(Vec::new()) };
}

/// A new or reused reader of a dialect.
fn core(dialect: Dialect) -> Box<Reader> {
    let spare = IDLE_READERS.with_borrow_mut(|spare| {
        let at = spare.iter().position(|(of, _)| *of == dialect)?;
        Some(spare.swap_remove(at).1)
    });
    let Dialect { delimiter, line_end } = dialect;
    let mut core = spare.unwrap_or_else(|| {
        Box::new(ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(line_end)).build())
    });
    core.reset();
    core
}

impl Drop for Splitter {
    fn drop(&mut self) {
        /// More readers are never in use at the same time.
        const MOST: usize = 16;
        let dialect = Dialect { delimiter: self.delimiter, line_end: self.line_end };
        if let Some(core) = self.core.take() {
            IDLE_READERS.with_borrow_mut(|spare| {
                if spare.len() < MOST {
                    spare.push((dialect, core));
                }
            });
        }
    }
}

impl Splitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        let Dialect { delimiter, line_end } = dialect;
        Self {
            core: Some(core(dialect)),
            delimiter,
            line_end,
            bytes: vec![0; 1024],
            written: 0,
            text: String::new(),
            ends: vec![0; 64],
            count: 0,
            gap: 0,
        }
    }

    /// The number of cells so far.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn reset(&mut self) {
        if let Some(core) = &mut self.core {
            core.reset();
        }
        (self.written, self.count, self.gap) = (0, 0, 0);
    }

    /// Adds a line; returns `true` if the record ends with it, `false` if a quote is open.
    pub(super) fn feed(&mut self, line: &[u8]) -> bool {
        let line = lossy(line);
        if self.count == 0 && self.written == 0 && memchr(b'"', line.as_bytes()).is_none() {
            self.split(&line);
            return true;
        }
        // An empty input would signal the end of the data to the reader.
        let is_over = (!line.is_empty() && self.feed_bytes(line.as_bytes())) || self.feed_bytes(&[self.line_end]);
        // The input had whole characters, and cells end at ASCII characters only, so the output is valid UTF-8.
        self.text.clear();
        self.text.push_str(std::str::from_utf8(&self.bytes[..self.written]).unwrap_or_default());
        is_over
    }

    /// Splits a line without quotes, where every delimiter ends a cell.
    fn split(&mut self, line: &str) {
        self.text.clear();
        self.text.push_str(line);
        self.gap = 1;
        let delimiters = line.bytes().enumerate().filter(|(_, byte)| *byte == self.delimiter).map(|(at, _)| at);
        for end in delimiters.chain([line.len()]).take(WIDEST) {
            if self.count == self.ends.len() {
                self.ends.resize(self.count * 2, 0);
            }
            self.ends[self.count] = end;
            self.count += 1;
        }
    }

    fn feed_bytes(&mut self, mut input: &[u8]) -> bool {
        let Some(core) = &mut self.core else { return true };
        loop {
            let (result, read, written, ended) =
                core.read_record(input, &mut self.bytes[self.written..], &mut self.ends[self.count..]);
            input = &input[read..];
            self.written += written;
            self.count += ended;
            match result {
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() < WIDEST => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull | ReadRecordResult::Record | ReadRecordResult::End => return true,
            }
        }
    }

    /// Whether the open cell can continue with this line, in a record of `width` cells: the line has fewer cells than a
    /// record, or the open cell is the first one and ends in the line; and a quote that ends it is at the end of a
    /// cell.
    pub(super) fn can_continue_with(&self, line: &[u8], width: usize) -> bool {
        let is_record = memchr_iter(self.delimiter, line).count() + 1 >= width;
        let mut rest = line;
        while let Some(quote) = memchr(b'"', rest) {
            match rest.get(quote + 1) {
                Some(b'"') => rest = &rest[quote + 2..],
                Some(after) if *after != self.delimiter => return false,
                _ => return !is_record || self.count == 0,
            }
        }
        !is_record
    }

    pub(super) fn read_decimal_commas(&mut self) {
        let mut begin = 0;
        for &end in &self.ends[..self.count] {
            let cell = self.text.as_bytes().get(begin..end).unwrap_or_default();
            let mut commas = cell.iter().enumerate().filter(|(_, b)| **b == b',').map(|(at, _)| begin + at);
            if let (Some(at), None) = (commas.next(), commas.next())
                && cell.iter().all(|b| matches!(b, b'0'..=b'9' | b',' | b'+' | b'-' | b' '))
            {
                self.text.replace_range(at..=at, ".");
            }
            begin = end + self.gap;
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        let is_blank = |byte: u8| byte.is_ascii_whitespace() || (self.gap == 1 && byte == self.delimiter);
        self.text.bytes().all(is_blank)
    }

    pub(super) fn cells(&self) -> Cells<'_> {
        Cells { text: &self.text, ends: &self.ends[..self.count], gap: self.gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn quotes_around_every_cell_change_nothing(cells in proptest::collection::vec("[a-z0-9 .µ]{0,6}", 1..9)) {
            let split = |line: String| {
                let mut splitter = Splitter::new(Dialect::default());
                assert!(splitter.feed(line.as_bytes()));
                let cells = splitter.cells();
                (0..cells.len()).filter_map(|cell| cells.get(cell)).map(str::to_owned).collect::<Vec<_>>()
            };
            let quoted: Vec<String> = cells.iter().map(|cell| format!("\"{cell}\"")).collect();
            proptest::prop_assert_eq!(split(cells.join(",")), split(quoted.join(",")));
        }
    }

    #[test]
    fn a_line_is_split_up_to_the_widest_record() {
        for line in [",".repeat(2 * WIDEST), format!("\"\"{}", ",".repeat(2 * WIDEST))] {
            let mut splitter = Splitter::new(Dialect::default());
            splitter.feed(line.as_bytes());
            assert_eq!(splitter.count(), WIDEST);
        }
    }
}
