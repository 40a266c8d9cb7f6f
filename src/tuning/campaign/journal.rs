//! The journal of a campaign: JSON lines, one for each launch that ended, in their order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Job;
use crate::{
    collective::Configuration,
    text::{Column, Entry, Listing, excerpt},
    units::{count, percent, significant},
};

/// The part of a campaign that a launch belongs to, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Warms the clocks; counts for nothing.
    WarmUp,
    /// Looks for configurations that are faster.
    Search,
    /// Repeats what is to be deployed, and the default.
    Confirm,
    /// The A/B of the tuner file.
    Ab,
    /// The A/B of what the first one left of it.
    AbOfRest,
}

impl Phase {
    /// Whether its launches are measurements that the campaign learns from: those of search and confirmation.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Search | Self::Confirm)
    }

    /// The phase as tables and the terminal name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Search => "search",
            Self::Confirm => "confirm",
            Self::Ab => "A/B",
            Self::AbOfRest => "A/B of the trimmed file",
        }
    }
}

/// What a launch asks of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requested {
    /// Nothing, so that the library's default runs.
    Default,
    /// A configuration, by environment variables.
    Configuration(Configuration),
    /// What the tuner file says.
    TunerFile,
    /// A tuner file without rules.
    EmptyTunerFile,
}

impl fmt::Display for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Configuration(configuration) => configuration.fmt(f),
            Self::TunerFile => f.write_str("tuner file"),
            Self::EmptyTunerFile => f.write_str("empty tuner file"),
        }
    }
}

/// Whether a launch left measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchOutcome {
    /// It left a table of measurements.
    Measured,
    /// It ended without one, for this reason.
    Failed(String),
    /// It was ended after this many seconds.
    TimedOut(f64),
}

impl LaunchOutcome {
    /// Why the launch left no measurements; `None` where it did.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Measured => None,
            Self::Failed(why) => Some(why.clone()),
            Self::TimedOut(seconds) => Some(format!("it did not end within {seconds:.0} s")),
        }
    }
}

/// What a launch added to what a campaign knew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brought {
    /// The number of sizes at which what it asked for is the fastest so far, and was not before or is faster by now.
    pub sizes: u32,
    /// By how much at most, in per cent of the busbw before.
    pub most_pct: f64,
    /// The gain of the fastest so far over the default, in per cent of busbw, as the mean over the sizes of the
    /// collective and scale; `None` before the default was measured.
    pub mean_gain_pct: Option<f64>,
}

impl Brought {
    /// At how many sizes it is the fastest so far, and by how much at most; empty where at none.
    pub fn places(&self) -> String {
        match self.sizes {
            0 => String::new(),
            sizes => format!("{}, by up to {}", count(sizes.into(), "size"), percent(self.most_pct)),
        }
    }
}

/// A launch of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The number of the launch, from 1.
    pub launch: u32,
    /// The part of the campaign.
    pub phase: Phase,
    /// The collective and scale that was launched.
    pub job: Job,
    /// What was asked of the library.
    pub requested: Requested,
    /// Which launch of the same request in the same phase, from 1.
    pub repeat: u32,
    /// Why it was made, in a sentence.
    pub why: String,
    /// The expected gain of busbw in per cent, root mean square over the sizes; `None` where none was estimated.
    pub expected_pct: Option<f64>,
    /// Its log, from the campaign's folder.
    pub log: String,
    /// When it began, in seconds since 1970, for people: nothing is computed from it.
    pub began_s: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether the launch left measurements, and if not, why.
    pub outcome: LaunchOutcome,
    /// What its measurements added; `None` where it left none, or was none of search and confirmation.
    #[serde(default)]
    pub brought: Option<Brought>,
}

/// The journal of a campaign, as far as it was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// The launches in their order.
    pub entries: Vec<JournalEntry>,
    /// The last line has no end: its launch is made again.
    pub is_torn: bool,
}

/// Why a journal can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// A line that is no entry, and not the torn last one.
    #[error(
        "line {line}, column {column}: \"{text}\" is not an entry of a campaign's journal ({why}); restore the line, or remove it and those below"
    )]
    NoEntry {
        /// The line of the journal, from 1.
        line: usize,
        /// Where the JSON reader stopped, from 1.
        column: usize,
        /// The beginning of the line.
        text: String,
        /// What the JSON reader expected there.
        why: String,
    },
    /// An entry whose number doesn't follow that of the line before.
    #[error(
        "line {line}: launch {found} follows launch {before}, where {expected} was expected; {}",
        if found < expected { "remove one of the two lines of that launch" } else { "restore the line that is missing" }
    )]
    OutOfOrder {
        /// The line of the journal, from 1.
        line: usize,
        /// The number that stands there.
        found: u32,
        /// The number before it; 0 for none.
        before: u32,
        /// The number that was expected.
        expected: u32,
    },
}

const COLUMNS: [Column; 10] = [
    Column::numbers("Launch", "the number of the launch"),
    Column::words("Phase", "the part of the campaign"),
    Column::words("Workload", "collective, nodes × ranks"),
    Column::words("Asked for", "what was asked of the library"),
    Column::numbers("Expected", "by how much busbw was expected to rise, in per cent over all sizes"),
    Column::numbers("Took", "how long the launch took"),
    Column::words("Outcome", "measured, or why it left no measurements"),
    Column::words("Fastest so far", "at how many sizes it was the fastest so far, and by how much, as it was measured"),
    Column::numbers(
        "Gain so far",
        "of the fastest so far over the default, the mean over the sizes, as it was measured",
    ),
    Column::words("Why", "why it was made"),
];

impl Journal {
    /// Reads a journal. A last line without its line break was being written when the program ended, and is left out.
    ///
    /// # Errors
    /// Returns the first line that is no entry, or doesn't follow the one before.
    pub fn parse(text: &str) -> Result<Self, JournalError> {
        let mut journal = Self::default();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let Some(whole) = line.strip_suffix('\n') else {
                journal.is_torn = true;
                break;
            };
            if whole.trim().is_empty() {
                continue;
            }
            let entry: JournalEntry = serde_json::from_str(whole).map_err(|error| JournalError::NoEntry {
                line: index + 1,
                column: error.column(),
                text: excerpt(whole),
                // Without its position, which counts lines within this one.
                why: error.to_string().split(" at line ").take(1).collect(),
            })?;
            let before = journal.entries.last().map_or(0, |entry| entry.launch);
            if entry.launch != before.saturating_add(1) {
                let (found, expected) = (entry.launch, before.saturating_add(1));
                return Err(JournalError::OutOfOrder { line: index + 1, found, before, expected });
            }
            journal.entries.push(entry);
        }
        Ok(journal)
    }

    /// The line of an entry, with its line break.
    pub fn line(entry: &JournalEntry) -> String {
        // A name or a reason may have any character; JSON escapes the line breaks.
        serde_json::to_string(entry).map(|line| line + "\n").unwrap_or_default()
    }

    /// Whether a text begins as a journal does.
    pub fn is_one(text: &str) -> bool {
        text.trim_start().starts_with("{\"launch\":")
    }

    /// The launches as a table, a row for each. Why a launch failed may quote its log: `with_reasons` says whether that
    /// is included.
    pub fn listing(&self, with_reasons: bool) -> Listing {
        let outcome = |outcome: &LaunchOutcome| match outcome {
            LaunchOutcome::Failed(_) if !with_reasons => "failed".to_owned(),
            other => other.failure().unwrap_or_else(|| "measured".to_owned()),
        };
        let row = |entry: &JournalEntry| {
            vec![
                Entry::number(Some(entry.launch.into()), |launch| launch.to_string()),
                Entry::text(entry.phase.name()),
                Entry::text(entry.job.to_string()),
                Entry::text(entry.requested.to_string()),
                Entry::number(entry.expected_pct, percent),
                Entry::number(Some(entry.seconds), |seconds| format!("{} s", significant(seconds))),
                Entry::text(outcome(&entry.outcome)),
                Entry::text(entry.brought.map_or_else(String::new, |brought| brought.places())),
                Entry::number(entry.brought.and_then(|brought| brought.mean_gain_pct), percent),
                Entry::text(entry.why.clone()),
            ]
        };
        Listing { columns: COLUMNS.to_vec(), rows: self.entries.iter().map(row).collect() }
    }

    /// How long all launches took together, in seconds.
    pub fn seconds(&self) -> f64 {
        self.entries.iter().map(|entry| entry.seconds).sum()
    }

    /// The launches of a job in a phase.
    pub fn of(&self, job: Job, phase: Phase) -> impl Iterator<Item = &JournalEntry> {
        self.entries.iter().filter(move |entry| entry.job == job && entry.phase == phase)
    }

    /// The launches that left measurements in search and confirmation.
    pub fn measurements(&self) -> impl Iterator<Item = &JournalEntry> {
        self.entries.iter().filter(|entry| entry.phase.counts() && entry.outcome == LaunchOutcome::Measured)
    }

    /// How many launches of a request left measurements in search and confirmation.
    pub fn measured(&self, job: Job, requested: Requested) -> u32 {
        self.measurements().filter(|entry| entry.job == job && entry.requested == requested).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Protocol, Scale};

    fn entry(launch: u32) -> JournalEntry {
        JournalEntry {
            launch,
            phase: Phase::Search,
            job: Job { collective: Collective::AllToAll, scale: Scale { nodes: 2, ranks: 16 } },
            requested: Requested::Configuration(Configuration {
                algorithm: Algorithm::CollnetChain,
                protocol: Protocol::Ll128,
                channels: launch,
            }),
            repeat: 1,
            why: "a \"reason\"\nof two lines".to_owned(),
            expected_pct: Some(0.1 + 0.2),
            log: "logs/a.log".to_owned(),
            began_s: 1,
            seconds: 1.0 / 3.0,
            outcome: LaunchOutcome::TimedOut(f64::from(launch)),
            brought: Some(Brought { sizes: launch, most_pct: 0.1 + 0.7, mean_gain_pct: None }),
        }
    }

    #[test]
    fn what_is_written_is_read_again_to_the_bit_and_a_torn_line_is_left_out() {
        let entries: Vec<JournalEntry> = (1..=3).map(entry).collect();
        let text: String = entries.iter().map(Journal::line).collect();
        assert!(Journal::is_one(&text));
        let journal = Journal::parse(&text).unwrap();
        assert_eq!(journal, Journal { entries: entries.clone(), is_torn: false });
        assert_eq!(journal.listing(true).rows.len(), 3);
        for cut in 1..text.len() {
            let read = Journal::parse(&text[..cut]).unwrap();
            assert_eq!(read.is_torn, !text[..cut].ends_with('\n'), "{cut}");
            assert!(entries.starts_with(&read.entries));
        }
    }

    #[test]
    fn a_line_that_is_none_or_is_missing_is_located() {
        let text = Journal::line(&entry(1)) + "{\"launch\":2}\n";
        let error = Journal::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 12: \"{\"launch\":2}\" is not an entry"), "{error}");
        let text = Journal::line(&entry(1)) + &Journal::line(&entry(3));
        let error = Journal::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 2: launch 3 follows launch 1, where 2 was expected"), "{error}");
    }
}
