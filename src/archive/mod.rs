//! Archives of files: zip, which workbooks are as well, and tar.

pub mod tar;
pub mod zip;

/// The most bytes of an entry.
pub const LONGEST: usize = 128 << 20;
/// The most bytes that are read from an archive in all, counting an entry each time that it is read.
pub const LONGEST_IN_ALL: usize = 192 << 20;
/// The most entries of an archive.
pub const MOST: usize = 4096;
/// The highest ratio of decompressed to compressed bytes of an entry.
const RATIO: usize = 200;

/// The reason why an archive or an entry can't be read, phrased to follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// A zip archive breaks off: its directory, which stands at the end, is missing.
    #[error("is a zip archive that breaks off: its directory is missing")]
    ZipTruncated,
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
    /// The archive has more than [`MOST`] entries.
    #[error("is refused: it has more than {MOST} entries; unpack it")]
    TooMany,
    /// All entries together exceed [`LONGEST_IN_ALL`].
    #[error("is refused: its entries inflate to more than {} MiB in all; unpack it", LONGEST_IN_ALL >> 20)]
    TooLongInAll,
    /// The checksum of an entry does not match.
    #[error("is a damaged zip archive: the checksum of {part} is wrong; pack it again")]
    Checksum {
        /// The entry's name in the archive.
        part: String,
    },
    /// Two entries share bytes of the archive.
    #[error("is refused: two of its entries, {0} and {1}, share their bytes, as in no archive that a program packed")]
    Overlap(String, String),
    /// A tar archive ends within an entry.
    #[error("is a tar archive that breaks off; copy it again")]
    TarTruncated,
    /// A head has a wrong checksum, as what is no tar archive has.
    #[error("is no tar archive, or a damaged one: the checksum of the head at byte {0} is wrong; pack it again")]
    NoTar(usize),
}

/// The name of an entry as messages show it.
fn printable_name(name: &str) -> String {
    const LONGEST: usize = 80;
    name.chars().take(LONGEST).collect()
}
