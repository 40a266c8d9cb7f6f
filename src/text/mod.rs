//! Delimited text: dialects, records, located errors, formula-safe writing.
//!
//! Reading is a chain of streams, each of which knows one thing: [`Preview`] looks at the head of a stream without
//! consuming it, [`Decoder`] turns any Unicode encoding into UTF-8, [`Dialect`] is guessed from the head, and
//! [`Records`] cuts the stream into records that know their line. A file is never in memory as a whole.

mod decoder;
mod dialect;
pub mod json;
mod lines;
mod listing;
mod number;
mod preview;
mod problem;
mod records;
mod splitter;
mod table;
pub mod yaml;

pub use decoder::Decoder;
pub use dialect::Dialect;
pub use lines::{Line, Lines};
pub use listing::{Column, Entry, Listing};
pub use number::{is_missing, number, whole};
pub use preview::Preview;
pub use problem::{Problem, Problems, excerpt};
pub use records::{Record, Records, State};
pub use table::{Cell, Table, escaped};
