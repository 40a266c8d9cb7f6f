//! What becomes of a rule of a tuner file, and why.

use serde::{Deserialize, Serialize};

/// What becomes of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is better.
    Keep,
    /// It is not, or not surely; why.
    Drop(String),
    /// The campaign is not about it, or is void.
    NotJudged(String),
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop(_) => "drop",
            Self::NotJudged(_) => "not judged",
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Keep => "",
            Self::Drop(reason) | Self::NotJudged(reason) => reason,
        }
    }
}
