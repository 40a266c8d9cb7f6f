//! Whether a rule of a tuner file is kept or dropped, and why.

use serde::{Deserialize, Serialize};

/// Whether a rule is kept or dropped, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// The rule is kept: it is better than the default.
    Keep,
    /// The rule is dropped: it is not better, or not surely; with the reason.
    Drop(String),
    /// The campaign is not about it, or is void.
    NotJudged(String),
}

impl RuleVerdict {
    /// The verdict in a word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop(_) => "drop",
            Self::NotJudged(_) => "not judged",
        }
    }

    /// The reason; empty for a rule that is kept.
    pub fn reason(&self) -> &str {
        match self {
            Self::Keep => "",
            Self::Drop(reason) | Self::NotJudged(reason) => reason,
        }
    }
}
