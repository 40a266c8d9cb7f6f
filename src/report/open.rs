//! A report's file is read again: JSON, or the self-contained page that holds it.

use super::{
    Report,
    wire::{self, MARK, WireError},
};

/// The markup that precedes the report in a page written by [`super::html`].
pub(super) const DATA_BEGIN: &str = "<script type=\"application/json\" id=\"collectune-report\">";
/// The markup that follows the report.
pub(super) const DATA_END: &str = "</script>";
/// The markup by which such a page is recognised from its beginning.
pub(super) const META: &str = "<meta name=\"collectune-report\"";
/// The number of bytes that suffice to recognise a report.
const HEAD: usize = 4096;
/// The most bytes of a file that are read: the report, and the part of a page that precedes it.
pub const MOST_BYTES: usize = wire::MOST_TEXT + (64 << 10);

/// The reason why a file contains no report, phrased to follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The page has no data.
    #[error("is a report whose data is missing or cut off: ask for the file again")]
    NoData,
    /// The data is no valid report.
    #[error(transparent)]
    Report(#[from] WireError),
}

/// Whether a text that begins with `head` is a report.
pub fn is_report(head: &str) -> bool {
    let end = head.floor_char_boundary(HEAD);
    let head = head[..end].trim_start_matches('\u{FEFF}').trim_start();
    if head.starts_with('<') {
        head.contains(META)
    } else {
        head.starts_with('{') && head.contains(&format!("\"{MARK}\""))
    }
}

/// Reads the text of a file, or as much of it as [`MOST_BYTES`].
///
/// # Errors
/// Returns an error if it is no report, or one that can't be read.
pub fn open(text: &str) -> Result<Report, OpenError> {
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if !text.starts_with('<') {
        return Ok(wire::read(text)?);
    }
    let (_, data) = text.split_once(DATA_BEGIN).ok_or(OpenError::NoData)?;
    let (data, _) = data.split_once(DATA_END).ok_or(OpenError::NoData)?;
    Ok(wire::read(data)?)
}
