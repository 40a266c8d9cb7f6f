//! Archives of files (zip, and tar, packed with gzip or not), whose entries are opened as if they had been given one by
//! one.

use std::io::Read;

use serde::{Deserialize, Serialize};

use super::{inflate::inflated, opened::all_bytes};
use crate::{
    archive::{ArchiveError, LONGEST_IN_ALL, tar, zip::Archive},
    order::CompactSort,
    text::excerpt,
};

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackedFile {
    /// The archive's name as a folder, before the path of the entry.
    pub name: String,
    /// The content; empty for what is no file, and in a message, beside which it travels.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Why it is not opened, phrased to follow the name.
    pub refused: Option<String>,
}

/// The reason why nothing of an archive is opened, phrased to follow its name.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive can't be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The file can't be read, or not inflated.
    #[error("{0}")]
    Unread(String),
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
pub fn unpack(source: Box<dyn Read + '_>, name: &str) -> Result<Vec<UnpackedFile>, UnpackError> {
    let bytes = all_bytes(&mut inflated(source), LONGEST_IN_ALL as u64 + 1).map_err(UnpackError::Unread)?;
    if bytes.len() > LONGEST_IN_ALL {
        return Err(ArchiveError::TooLongInAll.into());
    }
    let entries = if bytes.starts_with(b"PK") { of_zip(&bytes)? } else { of_tar(&bytes)? };
    let mut files = Vec::new();
    for (entry, content) in entries {
        if is_outside(&entry) {
            return Err(UnpackError::Outside(entry));
        }
        if is_hidden(&entry) {
            continue;
        }
        let refused = match content {
            Some(_) if is_archive(&entry) => Some("is an archive within an archive, which stays closed; unpack it"),
            Some(_) => None,
            None => Some("is a link or a device, and no file"),
        };
        let name = format!("{name}/{}", entry.trim_start_matches("./"));
        files.push(UnpackedFile { name, bytes: content.unwrap_or_default(), refused: refused.map(str::to_owned) });
    }
    if files.is_empty() {
        return Err(UnpackError::Empty);
    }
    // As those of a folder, so that one gives the same answer, however it was packed.
    files.compact_sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// An entry that is no folder: its name, and its bytes if it is a file.
type Entry = (String, Option<Vec<u8>>);

fn of_zip(bytes: &[u8]) -> Result<Vec<Entry>, UnpackError> {
    let archive = Archive::open(bytes)?;
    let mut entries = Vec::new();
    for (place, name) in archive.names().enumerate().filter(|(_, name)| !name.ends_with('/')) {
        if name.starts_with("xl/worksheets/") {
            return Err(UnpackError::Workbook);
        }
        entries.push((name.to_owned(), Some(archive.bytes_at(place)?)));
    }
    Ok(entries)
}

fn of_tar(bytes: &[u8]) -> Result<Vec<Entry>, UnpackError> {
    Ok(tar::entries(bytes)?.into_iter().map(|(name, bytes)| (name, bytes.map(<[u8]>::to_vec))).collect())
}

/// Whether a file or one of its folders is hidden, or is what macOS adds to archives.
fn is_hidden(name: &str) -> bool {
    name.split(['/', '\\']).any(|part| part.len() > 1 && part.starts_with('.') || part == "__MACOSX")
}

fn is_outside(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    name.starts_with(['/', '\\']) || drive || name.split(['/', '\\']).any(|part| part == "..")
}
