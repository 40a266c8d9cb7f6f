//! Delimited text: records, located errors, formula-safe writing.
//!
//! What cuts a stream into records lives in the folder `compute`; here is what is said of them, and written.

pub mod json;
mod listing;
mod problem;
mod table;
mod visible;
pub mod yaml;

pub use collectune_compute::records::{
    Decoder, Dialect, Line, Lines, Preview, Record, Records, State, excerpt, is_missing, lossy, number, whole,
};

pub use self::{
    listing::{Column, Entry, Listing},
    problem::{Problem, Problems},
    table::{Cell, Table, escaped, named_controls},
    visible::{is_control, is_invisible, visible, visible_lines},
};
