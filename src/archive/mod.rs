//! Archives of files: zip, which workbooks are as well, and tar.

pub mod tar;
pub mod zip;

/// The most bytes of an entry.
pub const LONGEST: usize = 128 << 20;
/// The most bytes that are read from an archive in all, counting an entry each time that it is read.
pub const LONGEST_IN_ALL: usize = 192 << 20;
/// The most entries of an archive.
pub const MOST: usize = 4096;

/// The name of an entry as messages show it.
fn printable_name(name: &str) -> String {
    const LONGEST: usize = 80;
    name.chars().take(LONGEST).collect()
}
