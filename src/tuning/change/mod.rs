//! Two measured states, before and after a driver, a firmware, a topology: what got slower or faster beyond noise, and
//! whether what was deployed still holds.
//!
//! The sides are [`Snapshot`]s.

use serde::{Deserialize, Serialize};

use super::{conf::Reader, snapshot::Snapshot, support::Library};
use crate::{plot::Chart, text::Listing};

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// All intervals hold at once with this probability, in 0..1: two equal campaigns differ nowhere with it.
    pub level: f64,
    /// A difference up to this share of busbw, in per cent, does not matter: where a larger one would have been seen,
    /// nothing changed; where it would not, nothing can be told.
    pub matters_pct: f64,
    /// What is deployed stands in this tuner file; `None`: what the first side recommends.
    pub conf: Option<Deployment>,
}

impl Default for Question {
    fn default() -> Self {
        Self { level: 0.9, matters_pct: 5.0, conf: None }
    }
}

/// A loaded tuner file, and where it is deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// The file's number.
    pub file: u32,
    /// Who reads it.
    pub reader: Reader,
    /// The library whose rules say what can run.
    pub library: Library,
}

/// What changed, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it comes to, in sentences.
    pub summary: Vec<String>,
    /// Something got slower beyond noise.
    pub got_slower: bool,
    /// A row per size and thing compared.
    pub by_size: Listing,
    /// Whether what was deployed still holds, a row per size.
    pub standing: Listing,
    /// Sizes and configurations that only one side has.
    pub apart: Listing,
    /// after / before over size, for each collective and scale.
    pub charts: Vec<Chart>,
    /// In what the sides differ besides, and what is assumed.
    pub notes: Vec<String>,
    /// All of it for a pull request.
    pub markdown: String,
    /// All of it for programs.
    pub json: String,
}

/// Compares two sides.
#[must_use]
pub fn change(_before: &Snapshot, _after: &Snapshot, _question: &Question) -> Answer {
    Answer::default()
}
