//! Archives of files (zip, and tar, packed with gzip or not), whose entries are opened as if they had been given one by
//! one.

use std::io::Read;

use serde::{Deserialize, Serialize};

use super::{inflate::inflated, opened::fatal};
use crate::{
    archive::{
        LONGEST_IN_ALL,
        tar::{self, TarEntry, TarError},
        zip::{Archive, ZipError},
    },
    order::CompactSort,
    text::{Preview, excerpt},
};

/// A file of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackedFile {
    /// The archive's name as a folder, before the path of the entry.
    pub name: String,
    /// The content.
    pub bytes: Vec<u8>,
    /// Why it is not opened, phrased to follow its name.
    pub refused: Option<String>,
}

/// The reason why nothing of an archive is opened, phrased to follow its name.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A zip archive can't be read.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// A tar archive can't be read.
    #[error(transparent)]
    Tar(#[from] TarError),
    /// The file can't be read, or not inflated.
    #[error("{0}")]
    Unread(String),
    /// The archive is longer than [`LONGEST_IN_ALL`] before it is inflated.
    #[error("has more than {} MiB; unpack it", LONGEST_IN_ALL >> 20)]
    TooLong,
    /// The archive is an Excel workbook under another name.
    #[error("is an Excel workbook; give it a name that ends in .xlsx")]
    Workbook,
    /// An entry's name leads out of the folder into which the archive would be unpacked.
    #[error("is refused: an entry is named {}, which points outside of the archive", excerpt(.0))]
    Outside(String),
    /// The archive holds no file, or only hidden ones.
    #[error("is an archive without files")]
    Empty,
}

/// Whether a file is unpacked, which its name tells: its ending, in any case, is that of an archive.
pub fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".zip", ".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

/// The files of an archive, sorted by name, without folders, hidden files and metadata of operating systems. An archive
/// within it stays closed.
///
/// # Errors
/// Returns an error if the archive can't be read, a name in it points outside, it exceeds the limits, or holds no file.
pub fn unpack(source: Box<dyn Read + '_>, name: &str) -> Result<Vec<UnpackedFile>, ArchiveError> {
    let source = Preview::new(inflated(source), 4);
    let entries = if source.head().starts_with(b"PK") { of_zip(source)? } else { of_tar(source)? };
    if let Some(entry) = entries.iter().find(|entry| is_outside(&entry.name)) {
        return Err(ArchiveError::Outside(entry.name.clone()));
    }
    let files = entries.into_iter().filter(|entry| !is_hidden(&entry.name)).map(|entry| {
        let refused = if entry.bytes.is_none() {
            Some("is a link or a device of an archive, not a file")
        } else if is_archive(&entry.name) {
            Some("is an archive within an archive, which stays closed; unpack it")
        } else {
            None
        };
        UnpackedFile {
            name: format!("{name}/{}", entry.name.trim_start_matches("./")),
            bytes: entry.bytes.unwrap_or_default(),
            refused: refused.map(str::to_owned),
        }
    });
    let mut files: Vec<UnpackedFile> = files.collect();
    // As those of a folder, so that one gives the same answer, however it was packed.
    files.compact_sort_by(|a, b| a.name.cmp(&b.name));
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
}

fn of_zip(source: impl Read) -> Result<Vec<TarEntry>, ArchiveError> {
    let mut bytes = Vec::new();
    source.take(LONGEST_IN_ALL as u64 + 1).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    if bytes.len() > LONGEST_IN_ALL {
        return Err(ArchiveError::TooLong);
    }
    let archive = Archive::open(&bytes)?;
    if archive.names().any(|name| name.starts_with("xl/worksheets/")) {
        return Err(ArchiveError::Workbook);
    }
    let files = archive.names().enumerate().filter(|(_, name)| !name.ends_with('/'));
    files.map(|(place, name)| Ok(TarEntry { name: name.to_owned(), bytes: Some(archive.bytes_at(place)?) })).collect()
}

fn of_tar(source: impl Read) -> Result<Vec<TarEntry>, ArchiveError> {
    tar::entries(source).map_err(|error| match error {
        TarError::Unread(error) => unread(&error),
        error => error.into(),
    })
}

fn unread(error: &std::io::Error) -> ArchiveError {
    ArchiveError::Unread(fatal(error).unwrap_or_else(|| format!("was not read: {error}")))
}

/// Whether a file or one of its folders is hidden, or is what macOS adds to archives.
fn is_hidden(name: &str) -> bool {
    name.split(['/', '\\']).any(|part| part.len() > 1 && part.starts_with('.') || part == "__MACOSX")
}

fn is_outside(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    name.starts_with(['/', '\\']) || drive || name.split(['/', '\\']).any(|part| part == "..")
}
