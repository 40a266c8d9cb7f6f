//! Zip archives within limits. The reader is the crate `zip`; the limits on what an archive may ask for are set here.

use std::{
    borrow::Cow,
    cell::Cell,
    io::{Cursor, ErrorKind, Read},
};

use memchr::memmem;
use zip::{CompressionMethod, ZipArchive, result::ZipError as Fault};

/// The most bytes of an entry.
pub const LONGEST: u64 = 128 << 20;
/// The most bytes that are read from an archive in all, counting an entry each time that it is read.
pub const LONGEST_IN_ALL: u64 = 192 << 20;
/// The highest ratio of decompressed to compressed bytes of an entry.
const RATIO: u64 = 200;
/// The number of decompressed bytes from which the ratio is checked.
const RATIO_COUNTS_FROM: u64 = 1 << 20;
/// The most entries that are read.
pub const MOST: usize = 4096;
/// The most entries that the directory may list: the reader keeps each of them in memory.
const MOST_LISTED: usize = 65_535;

/// The reason why an archive or an entry can't be read, phrased to follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZipError {
    /// The archive breaks off: its directory, which stands at the end, is missing.
    #[error("is a zip archive that breaks off: its directory is missing")]
    Truncated,
    /// The directory can't be read, for this reason.
    #[error("is a damaged zip archive: {0}")]
    Directory(String),
    /// The directory lists more than [`MOST_LISTED`] entries.
    #[error("is refused: it lists more than {MOST_LISTED} entries; unpack it")]
    TooMany,
    /// An entry is encrypted, or compressed by another method than deflate.
    #[error("can't be read: {part} is encrypted, or packed by another method than deflate; unpack the archive")]
    Unsupported {
        /// The entry's name in the archive.
        part: String,
    },
    /// The data of an entry can't be decompressed.
    #[error("is a damaged zip archive: {part} can't be inflated")]
    Damaged {
        /// The entry's name in the archive.
        part: String,
    },
    /// An entry exceeds [`LONGEST`] or the highest ratio.
    #[error("is refused: {part} inflates to more than {} MiB, or to more than {RATIO} times its size", LONGEST >> 20)]
    TooLong {
        /// The entry's name in the archive.
        part: String,
    },
    /// All entries together exceed [`LONGEST_IN_ALL`].
    #[error("is refused: its entries inflate to more than {} MiB in all; unpack it", LONGEST_IN_ALL >> 20)]
    TooLongInAll,
    /// The checksum or the length of an entry does not match.
    #[error("is a damaged zip archive: the checksum or the length of {part} is wrong; pack it again")]
    Checksum {
        /// The entry's name in the archive.
        part: String,
    },
    /// Two entries share bytes of the archive.
    #[error("is refused: two of its entries, {0} and {1}, share their bytes, as in no archive that a program packed")]
    Overlap(String, String),
}

/// An archive in memory.
#[derive(Debug)]
pub struct Archive<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// The names of the first [`MOST`] entries.
    names: Vec<String>,
    /// The number of bytes that may still be decompressed.
    left: Cell<u64>,
}

/// The name of an entry as messages show it.
fn printable_name(name: &str) -> String {
    const LONGEST: usize = 80;
    name.chars().take(LONGEST).collect()
}

impl<'a> Archive<'a> {
    /// Reads the directory; of more than 4,096 entries the first are taken, of entries of one name the last.
    ///
    /// # Errors
    /// Returns an error if there is no directory, it lists too much, or its entries share bytes.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ZipError> {
        if memmem::find_iter(bytes, b"PK\x01\x02").nth(MOST_LISTED).is_some() {
            return Err(ZipError::TooMany);
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|fault| {
            if memmem::rfind(bytes, b"PK\x05\x06").is_none() {
                ZipError::Truncated
            } else {
                ZipError::Directory(fault.to_string())
            }
        })?;
        let name = |place| archive.name_for_index(place).and_then(Result::ok).map(Cow::into_owned);
        let names = (0..archive.len().min(MOST)).map(|place| name(place).unwrap_or_default()).collect();
        let archive = Self { archive, names, left: Cell::new(LONGEST_IN_ALL) };
        archive.refuse_shared_bytes()?;
        Ok(archive)
    }

    /// Each entry has bytes of its own. What many share, a short archive could hold thousands of times.
    fn refuse_shared_bytes(&self) -> Result<(), ZipError> {
        /// The bytes of an entry's local header without its name.
        const HEADER: u64 = 30;
        let entry = |place: usize| {
            let entry = self.archive.by_index_data(place).ok()?;
            Some((entry.header_start(), entry.compressed_size(), place))
        };
        let mut entries: Vec<(u64, u64, usize)> = (0..self.names.len()).filter_map(entry).collect();
        entries.sort_by_key(|(start, ..)| *start);
        let shared = entries.windows(2).find(|pair| pair[1].0 < pair[0].0.saturating_add(HEADER + pair[0].1));
        shared.map_or(Ok(()), |pair| {
            let [first, second] = [pair[0].2, pair[1].2].map(|place| printable_name(&self.names[place]));
            Err(ZipError::Overlap(first, second))
        })
    }

    /// The names of all entries, folders included, which end with a slash.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The text of an entry; bytes that are no UTF-8 read as U+FFFD.
    ///
    /// # Errors
    /// As for [`Archive::bytes_at`].
    pub fn text(&self, name: &str) -> Result<String, ZipError> {
        let place = self.names().position(|known| known == name);
        let bytes = self.bytes_at(place.ok_or_else(|| ZipError::Damaged { part: printable_name(name) })?)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The bytes of an entry, by its place among the names.
    ///
    /// # Errors
    /// Returns an error if the entry can't be read, its checksum or length is wrong, or it exceeds the limits.
    pub fn bytes_at(&self, place: usize) -> Result<Vec<u8>, ZipError> {
        let part = || self.names.get(place).map(|name| printable_name(name)).unwrap_or_default();
        // A copy of the reader, which holds the bytes and the directory by reference.
        let mut archive = self.archive.clone();
        let mut entry = archive.by_index(place).map_err(|fault| match fault {
            Fault::UnsupportedArchive(_) => ZipError::Unsupported { part: part() },
            _ => ZipError::Damaged { part: part() },
        })?;
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(ZipError::Unsupported { part: part() });
        }
        // The reader ends an entry that exceeds the length that the archive states.
        let (length, left) = (entry.size(), self.left.get());
        if length > entry.compressed_size().saturating_mul(RATIO).clamp(RATIO_COUNTS_FROM, LONGEST) {
            return Err(ZipError::TooLong { part: part() });
        }
        self.left.set(left.checked_sub(length).ok_or(ZipError::TooLongInAll)?);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => ZipError::Checksum { part: part() },
            _ => ZipError::Damaged { part: part() },
        })?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(ZipError::Checksum { part: part() }) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// The archive with one byte changed, so many bytes behind the header of its last entry in the directory.
    fn changed(mut bytes: Vec<u8>, offset: usize, value: u8) -> Vec<u8> {
        let entry = memmem::rfind(&bytes, b"PK\x01\x02").unwrap();
        bytes[entry + offset] = value;
        bytes
    }

    fn last(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let archive = Archive::open(bytes).map_err(|error| error.to_string())?;
        archive.bytes_at(archive.names().count() - 1).map_err(|error| error.to_string())
    }

    #[test]
    fn a_damaged_entry_is_named_and_the_others_are_read() {
        let text = "size,busbw\n1024,3.5\n".repeat(9);
        let good = archive(&[("a.csv", text.as_bytes()), ("b.csv", text.as_bytes())]);
        assert_eq!(last(&good).as_deref(), Ok(text.as_bytes()));
        // The checksum, the stated length, and the first compressed byte.
        let checksum = changed(good.clone(), 16, 0);
        let longer = changed(good.clone(), 24, 190);
        let shorter = changed(good.clone(), 24, 9);
        for damaged in [&checksum, &longer, &shorter] {
            let expected = "is a damaged zip archive: the checksum or the length of b.csv is wrong; pack it again";
            assert_eq!(last(damaged), Err(expected.to_owned()));
            assert_eq!(Archive::open(damaged).unwrap().bytes_at(0).as_deref(), Ok(text.as_bytes()));
        }
        let mut inside = good.clone();
        let at = memmem::find(&good, b"b.csv").unwrap() + 5;
        inside[at] = 0xFF;
        assert_eq!(last(&inside), Err("is a damaged zip archive: b.csv can't be inflated".to_owned()));
    }

    #[test]
    fn what_is_not_read_is_said() {
        let good = archive(&[("a.csv", b"1"), ("b.csv", b"2")]);
        let unsupported =
            Err("can't be read: b.csv is encrypted, or packed by another method than deflate; unpack the archive"
                .to_owned());
        assert_eq!(last(&changed(good.clone(), 8, 1)), unsupported);
        assert_eq!(last(&changed(good.clone(), 10, 14)), unsupported);
        let broken_off = "is a zip archive that breaks off: its directory is missing".to_owned();
        assert_eq!(last(&good[..good.len() - 22]), Err(broken_off));
        let no_header = last(&changed(good, 0, b'x')).unwrap_err();
        assert!(no_header.starts_with("is a damaged zip archive: "), "{no_header}");
    }

    #[test]
    fn more_than_an_archive_may_ask_for_is_refused() {
        let dense = archive(&[("dense.csv", &vec![b' '; 2 << 20])]);
        let refused = "is refused: dense.csv inflates to more than 128 MiB, or to more than 200 times its size";
        assert_eq!(last(&dense), Err(refused.to_owned()));
        // The length that is stated counts before anything is inflated.
        assert_eq!(last(&changed(archive(&[("dense.csv", b"a")]), 27, 0x7F)), Err(refused.to_owned()));
        let listed = [b"PK\x01\x02".repeat(MOST_LISTED + 1), archive(&[("a", b"1")])].concat();
        assert_eq!(last(&listed), Err("is refused: it lists more than 65535 entries; unpack it".to_owned()));
        let names: Vec<String> = (0..=MOST).map(|place| place.to_string()).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"1"[..])).collect();
        assert_eq!(Archive::open(&archive(&many)).unwrap().names().count(), MOST);
    }
}
