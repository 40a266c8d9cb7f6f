//! Splits a stream of text into lines.

use std::{
    borrow::Cow,
    io::{self, BufRead, BufReader, Read},
};

use memchr::memchr;

use super::lossy;

/// Streams the lines of a text, in bounded memory, whatever the bytes are: of a line of more than
/// [`Lines::LONGEST`] bytes the beginning is given. Bytes that are no UTF-8 read as U+FFFD.
///
/// ```
/// use collectune_compute::records::Lines;
/// let mut lines = Lines::new(&b"# nThread 1\r\n4096"[..]);
/// assert_eq!(lines.next().map(|line| (line.number, line.text.into_owned())), Some((1, "# nThread 1".to_owned())));
/// assert!(lines.next().is_some_and(|line| !line.is_ended));
/// assert!(lines.next().is_none());
/// ```
pub struct Lines<'a> {
    input: BufReader<Box<dyn Read + 'a>>,
    buffer: Vec<u8>,
    number: u64,
    error: Option<io::Error>,
}

/// A line of the text.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The number of the line in the file, from 1.
    pub number: u64,
    /// The text of the line without its end.
    pub text: Cow<'a, str>,
    /// Whether the line has a line end; only the last line of a file may have none.
    pub is_ended: bool,
}

impl<'a> Lines<'a> {
    /// The most bytes of a line.
    pub const LONGEST: usize = 64 * 1024;

    /// Reads `input` (UTF-8, without a byte order mark: see [`Decoder`](super::Decoder)).
    pub fn new(input: impl Read + 'a) -> Self {
        Self {
            input: BufReader::with_capacity(Self::LONGEST, Box::new(input)),
            buffer: Vec::new(),
            number: 0,
            error: None,
        }
    }

    /// The error that ended the input, if one did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// The number of the last line that was returned, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end of the input, or at an error, which [`Self::error`] then returns.
    #[expect(clippy::should_implement_trait, reason = "a line borrows from the stream")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        self.buffer.clear();
        let mut is_ended = false;
        let mut any = false;
        while !is_ended && self.error.is_none() {
            let chunk = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            };
            any = true;
            let end = memchr(b'\n', chunk);
            let content = &chunk[..end.unwrap_or(chunk.len())];
            let room = Self::LONGEST - self.buffer.len();
            self.buffer.extend_from_slice(&content[..content.len().min(room)]);
            let read = content.len() + usize::from(end.is_some());
            is_ended = end.is_some();
            self.input.consume(read);
        }
        if !any {
            return None;
        }
        self.number += 1;
        let text = self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer);
        Some(Line { number: self.number, text: lossy(text), is_ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_counted_once() {
        let text = format!("a\n\n{}\nb", "x".repeat(3 * Lines::LONGEST));
        let mut lines = Lines::new(text.as_bytes());
        let mut read = Vec::new();
        while let Some(line) = lines.next() {
            read.push((line.number, line.text.len(), line.is_ended));
        }
        assert_eq!(read, [(1, 1, true), (2, 0, true), (3, Lines::LONGEST, true), (4, 1, false)]);
    }
}
