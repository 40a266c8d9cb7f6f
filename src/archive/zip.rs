//! Zip archives (PKWARE APPNOTE 6.3): the directory at the end, and entries that are stored or deflated.

use std::cell::Cell;

use flate2::{Decompress, FlushDecompress, Status};

use super::{ArchiveError, LONGEST, LONGEST_IN_ALL, MOST, RATIO, printable_name};
use crate::{crc32::CRC32_BY_BYTE, order::CompactSort};

/// The number of decompressed bytes from which the ratio is checked.
const RATIO_COUNTS_FROM: usize = 1 << 20;

const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// Bytes of an end of the directory, and of an entry of it, and of an entry's own head, without what is named in them.
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;

/// A zip archive in memory, of which entries are inflated one by one.
#[derive(Debug)]
pub struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry>,
    /// The number of bytes that may still be decompressed.
    left: Cell<usize>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    method: usize,
    checksum: u32,
    compressed: usize,
    offset: usize,
}

/// A little-endian number of `count` bytes; 0 beyond the end, where nothing has a length.
fn number(bytes: &[u8], at: usize, count: usize) -> usize {
    let field = bytes.get(at..at + count).unwrap_or_default();
    field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

impl<'a> Archive<'a> {
    /// Opens an archive by the directory at its end; the content of entries is inflated when it is asked for.
    ///
    /// # Errors
    /// Returns an error if there is none, it lists too many entries, or they share bytes.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        // A comment of up to 64 KiB may follow the end of the directory.
        let from = bytes.len().saturating_sub(END_LENGTH + usize::from(u16::MAX));
        let found = bytes[from..].windows(END.len()).rposition(|window| window == END);
        let end = from + found.ok_or(ArchiveError::ZipTruncated)?;
        let count = number(bytes, end + 10, 2);
        if count > MOST {
            return Err(ArchiveError::TooMany);
        }
        let mut at = number(bytes, end + 16, 4);
        let mut entries = Vec::new();
        for _ in 0..count {
            let head = bytes.get(at..).filter(|head| head.starts_with(ENTRY)).ok_or(ArchiveError::ZipTruncated)?;
            let lengths = [28, 30, 32].map(|field| number(head, field, 2));
            let name = head.get(ENTRY_LENGTH..ENTRY_LENGTH + lengths[0]).ok_or(ArchiveError::ZipTruncated)?;
            entries.push(Entry {
                name: String::from_utf8_lossy(name).into_owned(),
                method: number(head, 10, 2),
                checksum: number(head, 16, 4) as u32,
                compressed: number(head, 20, 4),
                offset: number(head, 42, 4),
            });
            at += ENTRY_LENGTH + lengths.iter().sum::<usize>();
        }
        let archive = Self { bytes, entries, left: Cell::new(LONGEST_IN_ALL) };
        archive.check()?;
        Ok(archive)
    }

    /// Each entry has bytes of its own. What many share, a short archive could hold thousands of times.
    fn check(&self) -> Result<(), ArchiveError> {
        let mut by_place: Vec<&Entry> = self.entries.iter().collect();
        by_place.compact_sort_by_key(|entry| entry.offset);
        // One that has no head where it should stand is damaged, which is said when it is read.
        let end =
            |entry: &Entry| self.begin(entry).map_or(entry.offset, |begin| begin.saturating_add(entry.compressed));
        match by_place.windows(2).find(|pair| pair[1].offset < end(pair[0]).max(pair[0].offset + 1)) {
            Some(pair) => Err(ArchiveError::Overlap(printable_name(&pair[0].name), printable_name(&pair[1].name))),
            None => Ok(()),
        }
    }

    /// The offset of the bytes of an entry, after its local header.
    fn begin(&self, entry: &Entry) -> Option<usize> {
        let head = self.bytes.get(entry.offset..).filter(|head| head.starts_with(LOCAL))?;
        Some(entry.offset + LOCAL_LENGTH + number(head, 26, 2) + number(head, 28, 2))
    }

    /// The names of all entries, folders included, which end with a slash.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The text of an entry; bytes that are no UTF-8 read as U+FFFD.
    ///
    /// # Errors
    /// Returns an error if there is none of that name, or it can't be inflated, or only to more than an archive of
    /// tables holds.
    pub fn text(&self, name: &str) -> Result<String, ArchiveError> {
        let bytes = self.bytes(name)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The bytes of the first entry of a name.
    ///
    /// # Errors
    /// As for [`Archive::text`].
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let damaged = || ArchiveError::Damaged { part: printable_name(name) };
        self.bytes_at(self.names().position(|known| known == name).ok_or_else(damaged)?)
    }

    /// The bytes of an entry, by its place among the names.
    ///
    /// # Errors
    /// As for [`Archive::text`].
    pub fn bytes_at(&self, place: usize) -> Result<Vec<u8>, ArchiveError> {
        let entry = self.entries.get(place).ok_or(ArchiveError::ZipTruncated)?;
        let name = &entry.name;
        let damaged = || ArchiveError::Damaged { part: printable_name(name) };
        let too_long = || ArchiveError::TooLong { part: printable_name(name) };
        let begin = self.begin(entry).ok_or_else(damaged)?;
        let packed = self.bytes.get(begin..begin.saturating_add(entry.compressed)).ok_or_else(damaged)?;
        let left = self.left.get();
        let own = packed.len().saturating_mul(RATIO).clamp(RATIO_COUNTS_FROM, LONGEST);
        let bytes = match entry.method {
            0 if packed.len() > LONGEST => return Err(too_long()),
            0 if packed.len() > left => return Err(ArchiveError::TooLongInAll),
            0 => packed.to_vec(),
            8 => inflate(packed, own.min(left)).map_err(|fault| match fault {
                InflateFault::Damaged => damaged(),
                InflateFault::TooLong if left < own => ArchiveError::TooLongInAll,
                InflateFault::TooLong => too_long(),
            })?,
            _ => return Err(damaged()),
        };
        self.left.set(left - bytes.len());
        if CRC32_BY_BYTE.checksum(&bytes) != entry.checksum {
            return Err(ArchiveError::Checksum { part: printable_name(name) });
        }
        Ok(bytes)
    }
}

enum InflateFault {
    Damaged,
    TooLong,
}

/// Decompresses at most `limit` bytes.
fn inflate(packed: &[u8], limit: usize) -> Result<Vec<u8>, InflateFault> {
    let mut inflater = Decompress::new(false);
    let mut bytes = Vec::new();
    loop {
        if bytes.len() > limit {
            return Err(InflateFault::TooLong);
        }
        bytes.reserve((2 * bytes.len()).clamp(64 << 10, 4 << 20));
        let before = (inflater.total_in(), inflater.total_out());
        let rest = packed.get(inflater.total_in() as usize..).unwrap_or_default();
        match inflater.decompress_vec(rest, &mut bytes, FlushDecompress::None) {
            Ok(Status::StreamEnd) if bytes.len() > limit => return Err(InflateFault::TooLong),
            Ok(Status::StreamEnd) => return Ok(bytes),
            Ok(_) if (inflater.total_in(), inflater.total_out()) != before => {}
            _ => return Err(InflateFault::Damaged),
        }
    }
}
