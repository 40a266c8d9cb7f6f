//! Reads reward logs: the latency of each call or iteration with its key and, if stated, its arm.

mod columns;
mod json;
mod means;
mod name;
mod rows;
mod times;

use std::collections::BTreeMap;

use super::{
    arm::Arm,
    file::{FileError, ParsedPolicy, Policy},
    key::Key,
    listing, record,
    result::Objective,
};
use crate::{
    collective::{Collective, Scale},
    text::{Listing, Problems},
    units::count,
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
/// The note on a table of means.
const NO_SPREAD: &str = "A table of means has no spread in it: it is shown, and nothing is concluded from it";
/// The most keys of a log.
pub const MOST_KEYS: usize = 16_384;
/// The problem of a line that exceeds [`MOST_KEYS`].
const TOO_MANY_KEYS: &str = "is of one key more than the 16,384 that a log may have";
/// The problem of a line that exceeds [`MAX_ARMS`](crate::bandit::schedule::MAX_ARMS).
const TOO_MANY_ARMS: &str = "is one arm more than the 64 that a log may have";
/// The problem of a label that names no arm.
const NO_ARM: &str = "is neither auto nor an algorithm with a protocol";
/// The most strategies of a log that are kept.
const MOST_STRATEGIES: usize = 16;
/// The first line of a log as this program writes it.
pub const MARK: &str = "# collectune-rewards 1";

/// The forms of reward logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// Five fields a line, without a header.
    #[default]
    Plain,
    /// A delimited table with a header.
    Headed,
    /// The form that this program writes.
    Own,
    /// One number a line, all for one arm.
    Times,
    /// A table with the mean of each episode.
    Episodes,
    /// A table with the mean of each arm, without the key.
    ArmTable,
    /// A policy file, by whose schedule arms ran or will run.
    Policy,
}

impl LogForm {
    /// The form as a noun phrase, such as `reward log with a header`.
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

/// A line of a log: one call, or one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The line number, or the position in a list, from 1.
    pub line: u32,
    /// The index of the key in [`Log::keys`].
    pub key: u32,
    /// The latency of the call or iteration in milliseconds, above 0.
    pub latency_ms: f64,
    /// The index of the arm in [`Log::arms`], if the log states it.
    pub arm: Option<u16>,
    /// The probability with which the arm was chosen, between 0 and 1.
    pub propensity: Option<f64>,
    /// The application's own count of calls of this key.
    pub call: Option<u64>,
    /// The generation of the policy that chose the arm.
    pub generation: Option<u64>,
}

/// A key as far as the log states it. The user is asked for what it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartialKey {
    /// The collective, where the log names it.
    pub collective: Option<Collective>,
    /// Nodes and ranks, where the log names both.
    pub scale: Option<Scale>,
    /// The message size in bytes.
    pub size_bytes: Option<u64>,
    /// Whether the job computes at the same time.
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

/// The contents of a reward log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The form of the file.
    pub form: LogForm,
    /// Whether the numbers are times of collectives or of iterations.
    pub objective: Objective,
    /// The keys that the rows refer to.
    pub keys: Vec<PartialKey>,
    /// The arms that the log names.
    pub arms: Vec<Arm>,
    /// Whether arms are given as numbers, whose meaning the user must state.
    pub numbered_arms: bool,
    /// The rows, in file order.
    pub rows: Vec<Row>,
    /// What the file's name states.
    pub name: FileName,
    /// The rank whose lines these are, where the log says it.
    pub rank: Option<u32>,
    /// The lines with which further runs begin in the same file, ascending.
    pub run_starts: Vec<u32>,
    /// The earliest and the latest time that the log says, in its own unit.
    pub times: Option<[f64; 2]>,
    /// The strategies that the log names.
    pub strategies: Vec<String>,
    /// Means without what they are means of, or what a policy runs: shown, never replayed.
    pub table: Option<Listing>,
    /// The policy, if the file is a policy file.
    pub policy: Option<Policy>,
    /// The lines that were left out.
    pub problems: Problems,
    /// What the report says about the log, a sentence each.
    pub notes: Vec<String>,
}

/// A log with the name of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLog {
    /// The name of the file, as it was dropped.
    pub name: String,
    /// What was read of the file.
    pub log: Log,
}

/// The place of one among all, in the order in which they first came; `None` where it would be one more than `most`.
fn place_of<T: Ord + Copy>(places: &mut BTreeMap<T, u32>, all: &mut Vec<T>, one: T, most: usize) -> Option<u32> {
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
/// Returns an error if the file is incomplete or not valid, or if a record holds no policy.
pub fn policy(text: &str) -> Result<Log, PolicyError> {
    let ParsedPolicy { policy, mut notes } = if is_record(text.as_bytes()) {
        record::policy(text.as_bytes())?.ok_or(PolicyError::NoPolicy)?
    } else {
        Policy::read(text.as_bytes())?
    };
    if let Some(first) = policy.chunk_sizes.first() {
        notes.push(format!("it gives {}; the first is {first}", count(policy.chunk_sizes.len() as u64, "chunk size")));
    }
    let table = listing::policy(&policy);
    Ok(Log { form: LogForm::Policy, table: Some(table), policy: Some(policy), notes, ..Log::default() })
}

/// Whether a file begins as the record of an epoch does.
pub fn is_record(head: &[u8]) -> bool {
    head.starts_with(b"collectune-record ")
}

/// Whether a JSON text declares itself a policy file.
pub fn is_policy(json: &str) -> bool {
    // The name stands in the first member; what else holds these words is no policy.
    json[..json.floor_char_boundary(200)].contains("\"collectune-policy\"")
}

/// The reason why a file is no policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// The policy file is not valid.
    #[error(transparent)]
    File(#[from] FileError),
    /// The record names no policy.
    #[error("is the record of an epoch that carries no policy of its own")]
    NoPolicy,
}
