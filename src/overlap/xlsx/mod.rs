//! Workbooks of spreadsheets (Office Open XML, ECMA-376): the texts of their cells, and nothing else of them.
//!
//! A workbook is a zip archive ([`archive::zip`](crate::archive::zip)) of XML parts, which the crate `quick-xml` reads;
//! its sheets have cells (`cells`) that are numbers, texts of their own, or texts of a part that all sheets share.

mod cells;

use super::sheet::{self, Sheet, TooLong};
use crate::archive::{ArchiveError, LONGEST, zip::Archive};

/// The reason why a workbook can't be read, phrased to follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XlsxError {
    /// The archive is no workbook.
    #[error("is a zip archive, and no Excel workbook; give it a name that ends in .zip, and its files are opened")]
    NoWorkbook,
    /// A part can't be decompressed.
    #[error("is a damaged workbook: {part} can't be inflated")]
    Damaged {
        /// The part's name in the archive.
        part: String,
    },
    /// A part exceeds the limit when decompressed.
    #[error("is no table of measurements: {part} inflates to more than {} MiB, or to more than 200 times its size", LONGEST >> 20)]
    TooLong {
        /// The part's name in the archive.
        part: String,
    },
    /// A part is not valid XML.
    #[error("is a damaged workbook: {part} is no XML at byte {offset}")]
    NoXml {
        /// The part's name in the archive.
        part: String,
        /// The byte offset where reading stopped.
        offset: usize,
    },
    /// A cell that refers to a shared text that is not there.
    #[error("is a damaged workbook: cell {cell} of {part} refers to shared text {index}, and there are {count}")]
    NoSharedText {
        /// The part's name in the archive.
        part: String,
        /// The cell's reference, or its position.
        cell: String,
        /// The index of the shared string.
        index: String,
        count: usize,
    },
    /// The sheet has more text than a table of kernels may have.
    #[error(transparent)]
    Full(#[from] TooLong),
    /// The archive can't be read.
    #[error(transparent)]
    Archive(ArchiveError),
}

impl From<ArchiveError> for XlsxError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Damaged { part } => Self::Damaged { part },
            ArchiveError::TooLong { part } => Self::TooLong { part },
            other => Self::Archive(other),
        }
    }
}

/// The sheets of a workbook that hold anything, in the order of their parts' names. The first row with a text is the
/// headers. They are as long together as one may be. Returns an error if the archive is no workbook, is damaged, or
/// exceeds the limits.
pub fn read(bytes: &[u8]) -> Result<Vec<Sheet>, XlsxError> {
    let archive = Archive::open(bytes)?;
    let mut parts: Vec<&str> = archive.names().filter(|name| is_sheet(name)).collect();
    crate::order::CompactSort::compact_sort_by_key(&mut parts[..], |name| (name.len(), name.to_string()));
    if parts.is_empty() {
        return Err(XlsxError::NoWorkbook);
    }
    let shared = match archive.names().find(|name| name.eq_ignore_ascii_case("xl/sharedStrings.xml")) {
        Some(part) => cells::shared(part, &archive.text(part)?)?,
        None => cells::Shared::default(),
    };
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut room = sheet::LONGEST;
    for part in parts {
        let sheet = cells::sheet(part, &archive.text(part)?, &shared, room)?;
        room = room.saturating_sub(sheet.bytes());
        if !sheet.headers().is_empty() {
            sheets.push(sheet);
        }
    }
    Ok(sheets)
}

fn is_sheet(name: &str) -> bool {
    name.starts_with("xl/worksheets/") && name.ends_with(".xml") && !name["xl/worksheets/".len()..].contains('/')
}
