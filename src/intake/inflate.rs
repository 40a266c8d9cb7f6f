//! gzip is inflated as a stream, up to a limit.

use std::{
    cell::Cell,
    io::{self, BufReader, Read},
    rc::Rc,
};

use super::gzip::Gzip;
use crate::text::Preview;

/// A stream without its compression, if it is gzip.
pub fn inflated<'a>(source: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
    let source = Preview::new(source, 2);
    if source.head() == b"\x1F\x8B" { Box::new(Inflate::new(source)) } else { Box::new(source) }
}

/// Decompresses gzip of one or several members, within limits.
struct Inflate<R: Read> {
    decoder: Gzip<BufReader<Counted<R>>>,
    compressed: Rc<Cell<u64>>,
    inflated: u64,
}

/// A stream that counts the bytes that are read from it.
pub(super) struct Counted<R> {
    pub(super) input: R,
    pub(super) count: Rc<Cell<u64>>,
}

/// The reason why decompression stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InflateError {
    /// The stream exceeds [`LONGEST`] bytes.
    #[error("it inflates to more than 2 GiB; split it into smaller files")]
    TooLong,
    /// The stream exceeds [`RATIO`] bytes for each compressed byte.
    #[error(
        "it inflates to more than 200 times its size, which no table of measurements does; inflate it yourself if you trust it"
    )]
    TooDense,
    #[error("the gzip file breaks off: its end is missing")]
    Truncated,
    /// The bytes are no gzip stream, or their checksum is wrong.
    #[error("the gzip file is damaged")]
    Damaged,
}

/// The most decompressed bytes of a file: more is refused.
pub(super) const LONGEST: u64 = 2 << 30;
/// The highest ratio of decompressed to compressed bytes.
const RATIO: u64 = 200;
/// The number of decompressed bytes from which the ratio is checked.
const RATIO_COUNTS_FROM: u64 = 1 << 20;

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

impl<R: Read> Inflate<R> {
    fn new(input: R) -> Self {
        let compressed = Rc::new(Cell::new(0));
        let input = Counted { input, count: Rc::clone(&compressed) };
        Self { decoder: Gzip::new(BufReader::new(input)), compressed, inflated: 0 }
    }
}

impl InflateError {
    /// The reason behind an error of reading, if inflating is the reason.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.decoder.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(InflateError::Truncated),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => io::Error::other(InflateError::Damaged),
            _ => error,
        })?;
        self.inflated += n as u64;
        if self.inflated > LONGEST {
            return Err(io::Error::other(InflateError::TooLong));
        }
        if self.inflated > RATIO_COUNTS_FROM && self.inflated / RATIO > self.compressed.get() {
            return Err(io::Error::other(InflateError::TooDense));
        }
        Ok(n)
    }
}
