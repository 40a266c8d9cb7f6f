//! Problems in a file, with location and remedy.

use serde::{Deserialize, Serialize};

use super::excerpt;

/// One thing that a reader could not use, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}, {}: \"{text}\" {expected}", column_phrase(.column))]
pub struct Problem {
    /// Line number in the file, from 1.
    pub line: u64,
    /// Name of the column; empty where the whole line is meant.
    pub column: String,
    /// The offending text, cut to 80 characters.
    pub text: String,
    /// Completes the sentence that begins with the text: `is not a whole number; the row was left out`.
    pub expected: String,
}

fn column_phrase(column: &str) -> String {
    if column.is_empty() { "whole line".to_owned() } else { format!("column {column}") }
}

impl Problem {
    /// A problem with one cell or, with an empty `column`, with the whole line.
    pub fn new(line: u64, column: &str, text: &str, expected: impl Into<String>) -> Self {
        Self { line, column: excerpt(column), text: excerpt(text), expected: expected.into() }
    }
}

/// Problems of one file: all are counted, the first ones kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    /// The first [`Problems::KEPT`] problems, in the order of the file.
    pub kept: Vec<Problem>,
    /// How many there were, kept or not.
    pub count: u64,
}

impl Problems {
    /// The most problems that are kept with their text.
    pub const KEPT: usize = 1000;

    /// Counts a problem, and keeps it if there are fewer than [`Problems::KEPT`].
    pub fn push(&mut self, problem: Problem) {
        self.count += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_like_a_colleague() {
        let problem = Problem::new(214, "nchannels", "auto", "is not a whole number; the row was left out");
        assert_eq!(
            problem.to_string(),
            "line 214, column nchannels: \"auto\" is not a whole number; the row was left out"
        );
        assert_eq!(Problem::new(3, "", "a,b", "is cut").to_string(), "line 3, whole line: \"a,b\" is cut");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(excerpt(&"µ".repeat(81)).chars().count(), 81);
        assert_eq!(excerpt("a\tb\0c"), "a b c");
    }
}
