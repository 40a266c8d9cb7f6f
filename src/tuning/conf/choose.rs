//! What a library that has read a tuner file runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    reader::{Channels, Reader},
    rule::Rule,
    words::COLLECTIVES,
};
use crate::{
    collective::{Algorithm, Configuration, Protocol, Workload},
    tuning::support::{Outcome, Support},
};

/// Which entry of the library's cost table is made the cheapest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Entry {
    /// None: the library chooses.
    Library,
    /// This one.
    Forced(Algorithm, Protocol),
    /// Memory outside the table is read and written; then the library chooses, if it still can.
    OutsideTable,
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// Algorithm and protocol.
    pub entry: Entry,
    /// Channels.
    pub channels: Channels,
}

impl Effect {
    /// As if there were no file.
    pub const LIBRARY: Self = Self { entry: Entry::Library, channels: Channels::Library };

    /// Where algorithm, protocol and channels are all given.
    #[must_use]
    pub const fn configuration(self) -> Option<Configuration> {
        match (self.entry, self.channels) {
            (Entry::Forced(algorithm, protocol), Channels::Count(channels)) => {
                Some(Configuration { algorithm, protocol, channels })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |channels: u32| if channels == 1 { "channel" } else { "channels" };
        let library = match self.entry {
            Entry::Forced(algorithm, protocol) => {
                return match self.channels {
                    Channels::Library => write!(f, "{algorithm}/{protocol}, channels of the library's choice"),
                    Channels::Count(channels) => write!(f, "{algorithm}/{protocol}/{channels}"),
                    Channels::Negative(number) => write!(f, "{algorithm}/{protocol} on {number} channels: undefined"),
                };
            }
            Entry::OutsideTable => {
                f.write_str("memory outside the cost table is overwritten, then ")?;
                "the library's choice"
            }
            Entry::Library => "the library's choice",
        };
        match self.channels {
            Channels::Library => f.write_str(library),
            Channels::Count(channels) => write!(f, "{library} on {channels} {}", of(channels)),
            Channels::Negative(number) => write!(f, "{library} on {number} channels: undefined"),
        }
    }
}

/// What runs, and because of which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What runs.
    pub effect: Effect,
    /// The rule that applies, by its index; `None` where none does.
    pub rule: Option<usize>,
}

/// What runs of a workload: the effect of the first rule that matches and whose combination the library has not ruled
/// out; a rule for a combination that is ruled out makes the search go on. Collectives other than the five run as the
/// library chooses: a tuner is not asked about them.
#[must_use]
pub fn choose(rules: &[Rule], reader: Reader, support: &Support, workload: &Workload) -> Choice {
    let Workload { collective, scale, size_bytes } = *workload;
    if !COLLECTIVES.iter().any(|(_, known)| *known == collective) {
        return Choice { effect: Effect::LIBRARY, rule: None };
    }
    for (index, rule) in rules.iter().enumerate() {
        if rule.collective == collective
            && (rule.min_bytes..=rule.max_bytes).contains(&size_bytes)
            && rule.is_about(scale)
            && let Some(entry) = entry(rule, support, workload)
        {
            return Choice { effect: Effect { entry, channels: rule.told_channels(reader) }, rule: Some(index) };
        }
    }
    Choice { effect: Effect { entry: Entry::Library, channels: reader.habits().preset }, rule: None }
}

/// The entry that a rule makes the cheapest; `None` where the library has ruled it out.
fn entry(rule: &Rule, support: &Support, workload: &Workload) -> Option<Entry> {
    match (rule.algorithm, rule.protocol) {
        (None, None) => Some(Entry::Library),
        (Some(algorithm), Some(protocol)) => forced(algorithm, protocol, support, workload),
        _ => Some(Entry::OutsideTable),
    }
}

/// What runs where an entry is made the cheapest; `None` where the library has ruled it out.
#[must_use]
pub fn forced(algorithm: Algorithm, protocol: Protocol, support: &Support, workload: &Workload) -> Option<Entry> {
    match support.outcome(workload, algorithm, protocol) {
        Outcome::Runs => Some(Entry::Forced(algorithm, protocol)),
        Outcome::Becomes(algorithm, protocol) => Some(Entry::Forced(algorithm, protocol)),
        Outcome::RuledOut(_) => None,
    }
}
