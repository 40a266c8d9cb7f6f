//! A stream whose beginning can be inspected before it is read.

use std::io::{self, Read};

/// A stream whose first bytes are known before it is read.
///
/// ```
/// use std::io::Read;
/// use collectune_compute::records::Preview;
/// let mut preview = Preview::new(&b"collective,size_bytes"[..], 10);
/// assert_eq!(preview.head(), b"collective");
/// let mut all = String::new();
/// preview.read_to_string(&mut all)?;
/// assert_eq!(all, "collective,size_bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Preview<R> {
    head: Vec<u8>,
    read: usize,
    /// An error that occurred while reading the beginning; it is returned when reading reaches it.
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> Preview<R> {
    /// Reads up to `limit` bytes ahead. An error is kept until reading reaches it.
    pub fn new(mut rest: R, limit: usize) -> Self {
        let mut head = Vec::with_capacity(limit);
        let error = rest.by_ref().take(limit as u64).read_to_end(&mut head).err();
        Self { head, read: 0, error, rest }
    }

    /// The first bytes of the stream, at most as many as the limit.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Skips the first `bytes` bytes when reading.
    pub(super) fn skip_head(&mut self, bytes: usize) {
        self.read = bytes.min(self.head.len());
    }

    /// The error that occurred while reading ahead, if one did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }
}

impl<R: Read> Read for Preview<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read < self.head.len() {
            let n = (&self.head[self.read..]).read(buffer)?;
            self.read += n;
            return Ok(n);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}
