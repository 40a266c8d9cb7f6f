//! What is wrong in a file, where, and how to mend it.

use serde::{Deserialize, Serialize};

/// One thing that a reader could not use, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}, {}: \"{text}\" {expected}", column_phrase(.column))]
pub struct Problem {
    /// Line in the file, from 1.
    pub line: u64,
    /// Name of the column; empty where the whole line is meant.
    pub column: String,
    /// The offending text, cut after 80 characters.
    pub text: String,
    /// Completes the sentence that begins with the text: `is not a whole number; the row was left out`.
    pub expected: String,
}

fn column_phrase(column: &str) -> String {
    if column.is_empty() { "whole line".to_owned() } else { format!("column {column}") }
}

/// Problems of one file: all are counted, the first ones kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    /// The first [`Problems::KEPT`] of them.
    pub kept: Vec<Problem>,
    /// How many there were.
    pub count: u64,
}

impl Problems {
    /// How many are kept with their text.
    pub const KEPT: usize = 1000;

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.count += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(problem);
        }
    }
}
