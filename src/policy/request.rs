//! What a study is asked, and what it answers.

use super::{
    attribution::{LogSettings, Schedule},
    bands::Bands,
    iteration::Pair,
    result::KeyResult,
};
use crate::{
    bandit::{environment::Simulation, strategies::StrategyKind},
    conf::Reader,
    plot::Chart,
    text::Listing,
};

/// How logs are studied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What its owner says of each log, in the order of [`Studied::logs`].
    pub logs: Vec<LogSettings>,
    /// How arms were chosen.
    pub schedule: Schedule,
    /// How sizes are brought together for the plugin.
    pub bands: Bands,
    /// The library's version, where it is known.
    pub library: Option<String>,
    /// Of all that is random.
    pub seed: u64,
}

/// What to replay in.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Where latencies come from.
    pub world: Source,
    /// How many steps.
    pub steps: u32,
    /// How many seeds.
    pub seeds: u32,
    /// Which strategies; empty: all.
    pub strategies: Vec<StrategyKind>,
}

/// What charts show out: everything else lies in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlight {
    /// An arm by name, in every chart that has it.
    pub arm: Option<String>,
    /// A strategy by its place among [`Start::strategies`]; its shares of arms are shown. `None`: those of the strategy of the
    /// lowest regret that can be run.
    pub strategy: Option<u32>,
}

/// Where latencies come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A key of the logs, by place.
    Key(u32),
    /// A simulation, with the names of its arms and the place of `auto` among them.
    Simulation(Simulation, Vec<String>, u32),
}

/// What to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// A tuner file.
    Conf(Reader),
    /// The policy file, under a generation.
    Policy(u64),
    /// A script of interleaved runs of what is open, for a command.
    Script(String),
}

/// A text to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// A name for it.
    pub name: String,
    /// What stands in it.
    pub text: String,
    /// What it is for, in a sentence or lines of a shell.
    pub note: String,
}

/// A log among others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFile {
    /// Its name.
    pub name: String,
    /// How its lines got their arms, or why they did not.
    pub attribution: String,
    /// It could not be used at all.
    pub is_refused: bool,
}

/// A table that is only shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its file's name.
    pub name: String,
    /// It says what a policy runs; else it holds means.
    pub is_policy: bool,
    /// The table.
    pub listing: Listing,
}

/// What logs say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Studied {
    /// The logs.
    pub logs: Vec<LogFile>,
    /// How they are studied.
    pub settings: Settings,
    /// The keys by name, in the order of their places.
    pub keys: Vec<String>,
    /// Each key's verdict: `keep auto; bimodal`.
    pub verdicts: Vec<String>,
    /// Each key's sentences; the first says what to do.
    pub sentences: Vec<Vec<String>>,
    /// A row for each key.
    pub listing: Listing,
    /// A row for each key that was measured with and without overlap; empty where none was.
    pub overlap: Listing,
    /// Tables that are only shown.
    pub tables: Vec<Table>,
    /// What must be known of all logs.
    pub notes: Vec<String>,
    /// A key can be replayed, in the order of their places.
    pub can_replay: Vec<bool>,
    /// All that is known of each key.
    pub results: Vec<KeyResult>,
    /// The same key in both modes.
    pub pairs: Vec<Pair>,
}

/// What is seen of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCharts {
    /// A row for each arm.
    pub arms: Listing,
    /// Latency over time, a series for each arm.
    pub latencies: Chart,
    /// Where each arm's mean lies.
    pub posteriors: Option<Chart>,
    /// What estimators on the very lines say; empty where the log can't bear it.
    pub estimates: Listing,
}

/// A replay that can be begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The game, for [`super::replay::play`].
    pub game: Vec<u8>,
    /// How long each job is expected to take, relative to the others; its index names the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which there is more to be told.
    pub rounds: Vec<Vec<u32>>,
}

/// What became of strategies so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Seeds so far.
    pub seeds: u32,
    /// A row for each strategy.
    pub listing: Listing,
    /// Which strategy's shares are shown.
    pub shown: u32,
    /// Cumulative regret over steps.
    pub regret: Option<Chart>,
    /// Shares of arms over steps of one strategy.
    pub shares: Option<Chart>,
    /// What it comes to.
    pub sentences: Vec<String>,
    /// All numbers.
    pub strategies: Vec<super::replay::StrategyResult>,
}
