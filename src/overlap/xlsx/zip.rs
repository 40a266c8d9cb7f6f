//! Zip archives (PKWARE APPNOTE 6.3): the directory at the end, and entries that are stored or deflated.

use flate2::{Decompress, FlushDecompress, Status};

use super::XlsxError;

/// The most bytes of an entry …
pub(super) const LONGEST: usize = 128 << 20;
/// … and the most for each compressed one …
const RATIO: usize = 200;
/// … once there are this many.
const RATIO_COUNTS_FROM: usize = 1 << 20;
/// The most entries that are looked at.
const MOST: usize = 4096;

const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// Bytes of an end of the directory, and of an entry of it, and of an entry's own head, without what is named in them.
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;

pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    method: usize,
    compressed: usize,
    offset: usize,
}

/// A little-endian number of `count` bytes; 0 beyond the end, where nothing has a length.
fn number(bytes: &[u8], at: usize, count: usize) -> usize {
    let field = bytes.get(at..at + count).unwrap_or_default();
    field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

impl<'a> Archive<'a> {
    /// Reads the directory.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, XlsxError> {
        // A comment of up to 64 KiB may follow the end of the directory.
        let from = bytes.len().saturating_sub(END_LENGTH + usize::from(u16::MAX));
        let found = bytes[from..].windows(END.len()).rposition(|window| window == END);
        let end = from + found.ok_or(XlsxError::Truncated)?;
        let count = number(bytes, end + 10, 2);
        let mut at = number(bytes, end + 16, 4);
        let mut entries = Vec::new();
        for _ in 0..count.min(MOST) {
            let head = bytes.get(at..).filter(|head| head.starts_with(ENTRY)).ok_or(XlsxError::Truncated)?;
            let lengths = [28, 30, 32].map(|field| number(head, field, 2));
            let name = head.get(ENTRY_LENGTH..ENTRY_LENGTH + lengths[0]).ok_or(XlsxError::Truncated)?;
            entries.push(Entry {
                name: String::from_utf8_lossy(name).into_owned(),
                method: number(head, 10, 2),
                compressed: number(head, 20, 4),
                offset: number(head, 42, 4),
            });
            at += ENTRY_LENGTH + lengths.iter().sum::<usize>();
        }
        Ok(Self { bytes, entries })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The text of an entry; bytes that are no UTF-8 read as U+FFFD.
    pub(super) fn inflate(&self, name: &str) -> Result<String, XlsxError> {
        let damaged = || XlsxError::Damaged { part: name.to_owned() };
        let entry = self.entries.iter().find(|entry| entry.name == name).ok_or_else(damaged)?;
        let head = self.bytes.get(entry.offset..).filter(|head| head.starts_with(LOCAL)).ok_or_else(damaged)?;
        let begin = LOCAL_LENGTH + number(head, 26, 2) + number(head, 28, 2);
        let packed = head.get(begin..begin.saturating_add(entry.compressed)).ok_or_else(damaged)?;
        let bytes = match entry.method {
            0 => packed.to_vec(),
            8 => inflate(packed).map_err(|fault| match fault {
                Fault::Damaged => damaged(),
                Fault::TooLong => XlsxError::TooLong { part: name.to_owned() },
            })?,
            _ => return Err(damaged()),
        };
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

enum Fault {
    Damaged,
    TooLong,
}

fn inflate(packed: &[u8]) -> Result<Vec<u8>, Fault> {
    let limit = packed.len().saturating_mul(RATIO).clamp(RATIO_COUNTS_FROM, LONGEST);
    let mut inflater = Decompress::new(false);
    let mut bytes = Vec::new();
    loop {
        if bytes.len() > limit {
            return Err(Fault::TooLong);
        }
        bytes.reserve((2 * bytes.len()).clamp(64 << 10, 4 << 20));
        let before = (inflater.total_in(), inflater.total_out());
        let rest = packed.get(inflater.total_in() as usize..).unwrap_or_default();
        match inflater.decompress_vec(rest, &mut bytes, FlushDecompress::None) {
            Ok(Status::StreamEnd) if bytes.len() > limit => return Err(Fault::TooLong),
            Ok(Status::StreamEnd) => return Ok(bytes),
            Ok(_) if (inflater.total_in(), inflater.total_out()) != before => {}
            _ => return Err(Fault::Damaged),
        }
    }
}
