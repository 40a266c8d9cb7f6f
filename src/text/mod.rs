//! Delimited text: records, located errors, and writing that is safe from formulas.
//!
//! The code that splits a stream into records is in the folder `compute`.

mod apart;
pub(crate) mod json;
mod listing;
mod problem;
#[cfg(feature = "workbenches")]
pub mod shell;
mod table;
#[cfg(feature = "workbenches")]
pub mod toml;
mod visible;
#[cfg(feature = "workbenches")]
pub mod yaml;

pub use collectune_compute::records::{
    Decoder, Dialect, Line, Lines, Preview, Record, Records, State, excerpt, is_missing, lossy, number, whole,
};

pub use self::{
    apart::apart,
    listing::{Column, Entry, Listing},
    problem::{Problem, Problems},
    table::{Cell, Table, escaped, named_controls},
    visible::{is_control, is_invisible, visible, visible_lines},
};

/// The most notes of one kind that are listed.
pub const MOST_NOTES: usize = 100;

/// Keeps the first [`MOST_NOTES`] of many sentences, and adds how many more there were.
pub fn keep_few(sentences: &mut Vec<String>) {
    let more = sentences.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        sentences.truncate(MOST_NOTES);
        sentences.push(format!("And {} more such notes", crate::units::grouped(more as u64)));
    }
}
