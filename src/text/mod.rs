//! Delimited text: dialects, headers, located errors, formula-safe writing.

mod problem;

pub use problem::{Problem, Problems};
