//! Logs of rewards become rows: how long each call or iteration took, of which key, and which arm ran where that is said.

mod columns;
mod json;
mod means;
mod name;
mod rows;
mod times;

use super::{
    arm::Arm,
    file::{FileError, Policy, Reading},
    key::Key,
    record,
};
use crate::{
    collective::{Collective, Scale},
    sorted::SortedMap,
    text::{Listing, Problems},
};

pub use self::{
    columns::{begins_late, is_header, is_plain},
    json::{is_json, json},
    means::{is_means, means},
    name::FileName,
    rows::rows,
    times::{is_times, times},
};

/// The most rows of a log.
pub const MOST_ROWS: usize = 4_000_000;
/// What a table of means says.
const NO_SPREAD: &str = "A table of means has no spread in it: it is shown, and nothing is concluded from it";
/// The most keys of a log.
pub const MOST_KEYS: usize = 16_384;
/// Of a line that would be one more.
const TOO_MANY_KEYS: &str = "is of one key more than the 16,384 that a log may have";
/// Of an arm that would be one more than [`MAX_ARMS`](crate::bandit::schedule::MAX_ARMS).
const TOO_MANY_ARMS: &str = "is one arm more than the 64 that a log may have";
/// Of a label.
const NO_ARM: &str = "is neither auto nor an algorithm with a protocol";
/// The most strategies of a log that are told.
const MOST_STRATEGIES: usize = 16;
/// The first line of a log as this program writes it.
pub const MARK: &str = "# collectune-rewards 1";

/// The forms of logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Five fields, no header.
    #[default]
    Plain,
    /// With a header.
    Headed,
    /// As this program writes it.
    Own,
    /// One number a line, all of one arm.
    Times,
    /// Means of episodes.
    Episodes,
    /// Means per arm, without what they are means of.
    ArmTable,
    /// A policy: by its schedule arms ran, or will.
    Policy,
}

impl Form {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Plain => "reward log",
            Self::Headed => "reward log with a header",
            Self::Own => "reward log of Collectune",
            Self::Times => "list of times",
            Self::Episodes => "means of episodes",
            Self::ArmTable => "table of arms",
            Self::Policy => "policy file",
        }
    }
}

/// What a log's numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// How long collectives took: computation that they slow down is not in it.
    #[default]
    Communication,
    /// How long iterations of the job took.
    Iteration,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its line, or its place in a list, from 1.
    pub line: u32,
    /// Its key, by place among [`Log::keys`].
    pub key: u32,
    /// In milliseconds.
    pub latency_ms: f64,
    /// Its arm, by place among [`Log::arms`], where the log says it.
    pub arm: Option<u16>,
    /// The probability with which that was chosen.
    pub propensity: Option<f64>,
    /// The application's own count of calls of this key.
    pub call: Option<u64>,
    /// Of the policy.
    pub generation: Option<u64>,
}

/// What a key of a log lacks is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartialKey {
    /// The collective.
    pub collective: Option<Collective>,
    /// Nodes and ranks.
    pub scale: Option<Scale>,
    /// In bytes.
    pub size_bytes: Option<u64>,
    /// Whether the job computes meanwhile.
    pub overlap: Option<bool>,
}

impl From<Key> for PartialKey {
    fn from(key: Key) -> Self {
        Self {
            collective: Some(key.collective),
            scale: Some(key.scale),
            size_bytes: Some(key.size_bytes),
            overlap: key.overlap,
        }
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// What form it has.
    pub form: Form,
    /// What its numbers are.
    pub objective: Objective,
    /// What the rows are of.
    pub keys: Vec<PartialKey>,
    /// The arms that the log names.
    pub arms: Vec<Arm>,
    /// An arm is named by its number alone: which is which must be said.
    pub numbered_arms: bool,
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// What the file's name says.
    pub name: FileName,
    /// Strategies that the log names.
    pub strategies: Vec<String>,
    /// Means without what they are means of, or what a policy runs: shown, never replayed.
    pub table: Option<Listing>,
    /// A policy, where the file is one.
    pub policy: Option<Policy>,
    /// What can't be used.
    pub problems: Problems,
    /// What must be known.
    pub notes: Vec<String>,
}

/// The place of one among all, in the order in which they first came; `None` where it would be one more than `most`.
fn place_of<T: Ord + Copy>(places: &mut SortedMap<T, u32>, all: &mut Vec<T>, one: T, most: usize) -> Option<u32> {
    if let Some(place) = places.get(&one) {
        return Some(*place);
    }
    let place = all.len();
    (place < most).then(|| {
        places.insert(one, place as u32);
        all.push(one);
        place as u32
    })
}

impl Log {
    fn name_strategy(&mut self, name: &str) {
        if self.strategies.len() < MOST_STRATEGIES && !self.strategies.iter().any(|known| known == name) {
            self.strategies.push(name.to_owned());
        }
    }
}

/// Reads a policy file, or the record of an epoch that carries one.
///
/// # Errors
/// Why it is torn, or what of it can't be followed; of a record, that it carries no policy.
pub fn policy(text: &str) -> Result<Log, PolicyError> {
    let Reading { policy, notes } = if is_record(text.as_bytes()) {
        record::policy(text.as_bytes())?.ok_or(PolicyError::NoPolicy)?
    } else {
        Policy::read(text.as_bytes())?
    };
    let table = super::listing::policy(&policy);
    Ok(Log { form: Form::Policy, table: Some(table), policy: Some(policy), notes, ..Log::default() })
}

/// Whether a file begins as the record of an epoch does.
#[must_use]
pub fn is_record(head: &[u8]) -> bool {
    head.starts_with(b"collectune-record ")
}

/// Whether a JSON says that it is a policy.
#[must_use]
pub fn is_policy(json: &str) -> bool {
    // The name stands in the first member; what else holds these words is no policy.
    json[..json.floor_char_boundary(200)].contains("\"collectune-policy\"")
}

/// Why a file is no policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// It can't be followed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A record without a policy.
    #[error("is the record of an epoch that carries no policy of its own")]
    NoPolicy,
}
