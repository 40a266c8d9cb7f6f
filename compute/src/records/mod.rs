//! Reading of delimited text: encodings, dialects, records, lines, numbers.
//!
//! Reading is a chain of streams: [`Preview`] inspects the beginning of a stream without consuming it, [`Decoder`]
//! converts any Unicode encoding to UTF-8, [`Dialect`] is detected from the beginning, and [`Records`] splits the
//! stream into records that know their line. A file is never in memory as a whole.

mod decoder;
mod dialect;
mod lines;
mod number;
mod preview;
mod record;
mod sniff;
mod splitter;

use std::borrow::Cow;

pub use self::{
    decoder::Decoder,
    dialect::Dialect,
    lines::{Line, Lines},
    number::{is_missing, number, whole},
    preview::Preview,
    record::{Record, Records, State},
};

/// Bytes as text; invalid UTF-8 is replaced by U+FFFD.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Validation is faster than the lossy conversion, and most texts are valid.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A cell without surrounding blanks; the fast path is for cells that have none.
fn trimmed(cell: &str) -> &str {
    match cell.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => cell,
        _ => cell.trim(),
    }
}

/// A text for a message: at most 80 characters, with control characters replaced by blanks.
pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    let cut: String = text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(80).is_some() { cut + "…" } else { cut }
}
