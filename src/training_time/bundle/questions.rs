//! Questions about files that only the user can answer.

use serde::{Deserialize, Serialize};

/// A question about a file that only the user can answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileQuestion {
    /// The index of the file in the bundle.
    pub file: u32,
    /// The path of the file, which identifies the question in answers.
    pub path: String,
    /// What is asked about the file.
    pub asks: QuestionKind,
}

/// The kinds of questions about a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QuestionKind {
    /// The operator that the file samples is unknown.
    Operator {
        /// Those with its columns, the likeliest first; those that are ruled out last.
        candidates: Vec<Candidate>,
        /// The name that it would get as a new operator.
        new: Option<String>,
    },
    /// Whether its numbers have another unit than its header says.
    Unit {
        /// The unit that the numbers probably have.
        unit: Unit,
        /// The reason for the suspicion, with the factor.
        suspicion: String,
    },
    /// It has the name of another file and other rows.
    Conflict {
        /// The path of that file, which counts as long as this is open.
        with: String,
    },
}

/// An operator that a file may sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The operator's name in the catalogue.
    pub operator: String,
    /// The standard deviation of ln(time ÷ work); the smaller, the likelier the operator.
    pub spread: f64,
    /// The reason why the file can't sample it, or `None` if it can.
    pub ruled_out: Option<String>,
}

/// A unit that the numbers of a file may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// The unit that the header states.
    AsWritten,
    /// Times are in seconds instead of milliseconds.
    Seconds,
    /// Shapes are in bytes instead of elements.
    Bytes,
}

/// An answer to a [`FileQuestion`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileAnswer {
    /// The file samples this operator.
    Operator(String),
    /// The file's numbers have this unit.
    Unit(Unit),
    /// The rows are used in addition to those of the other file.
    Both,
    /// The file is not used.
    LeftOut,
}

impl QuestionKind {
    /// In words, with all that it may be: `Which operator is it: linear3, linear1?`.
    pub fn sentence(&self) -> String {
        match self {
            Self::Operator { candidates, new } => {
                let possible = candidates.iter().filter(|candidate| candidate.ruled_out.is_none());
                let mut names: Vec<String> = possible.map(|candidate| candidate.operator.clone()).collect();
                names.extend(new.iter().map(|new| format!("{new}, which is new")));
                if names.is_empty() {
                    return "Which operator is it? None has these columns.".to_owned();
                }
                format!("Which operator is it: {}?", names.join(", "))
            }
            Self::Unit { suspicion, .. } => suspicion.clone(),
            Self::Conflict { with } => format!("It has the name of {with} and other rows: which counts?"),
        }
    }

    /// The words that answer it, each with what people read.
    pub fn answers(&self) -> Vec<(String, String)> {
        let pair = |word: &str, label: &str| (word.to_owned(), label.to_owned());
        let mut answers = match self {
            Self::Operator { candidates, new } => {
                let known = candidates.iter().map(|candidate| &candidate.operator);
                known.chain(new).map(|name| pair(name, name)).collect()
            }
            Self::Unit { unit, suspicion } => {
                let other = if *unit == Unit::Seconds { SECONDS } else { BYTES };
                vec![pair(AS_WRITTEN, "as written"), pair(other, suspicion)]
            }
            Self::Conflict { with } => vec![pair(BOTH, &format!("count beside {with}"))],
        };
        answers.push(pair(OUT, "leave it out"));
        answers
    }

    /// The answer that a word denotes, or `None` if it is not a valid answer.
    pub fn answer(&self, word: &str) -> Option<FileAnswer> {
        self.answers().iter().any(|(known, _)| known == word).then(|| match (self, word) {
            (_, OUT) => FileAnswer::LeftOut,
            (Self::Operator { .. }, operator) => FileAnswer::Operator(operator.to_owned()),
            (Self::Unit { unit, .. }, SECONDS | BYTES) => FileAnswer::Unit(*unit),
            (Self::Unit { .. }, _) => FileAnswer::Unit(Unit::AsWritten),
            (Self::Conflict { .. }, _) => FileAnswer::Both,
        })
    }
}

const AS_WRITTEN: &str = "as-written";
const SECONDS: &str = "seconds";
const BYTES: &str = "bytes";
const BOTH: &str = "both";
const OUT: &str = "out";

/// Answers by the path of the file.
pub type Answers = Vec<(String, FileAnswer)>;
