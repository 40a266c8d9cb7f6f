//! Delimited text is read: encodings, dialects, records, lines, numbers.
//!
//! Reading is a chain of streams, each of which knows one thing: [`Preview`] looks at the head of a stream without
//! consuming it, [`Decoder`] turns any Unicode encoding into UTF-8, [`Dialect`] is guessed from the head, and
//! [`Records`] cuts the stream into records that know their line. A file is never in memory as a whole.

mod decoder;
mod dialect;
mod lines;
mod number;
mod preview;
mod record;
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

/// Bytes as text; those that are no UTF-8 read as U+FFFD.
#[must_use]
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // To look for faults takes longer than to see that there are none.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Without blanks around it; most cells have none.
fn trimmed(cell: &str) -> &str {
    match cell.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => cell,
        _ => cell.trim(),
    }
}

/// The text for a message: cut after 80 characters, control characters as blanks.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    let cut: String = text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(80).is_some() { cut + "…" } else { cut }
}
