//! The questions to a policy study, and its answers.

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

/// The settings of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What the user states about each log, in the order of [`PolicyOverview::logs`].
    pub logs: Vec<LogSettings>,
    /// How arms were chosen.
    pub schedule: Schedule,
    /// The bands of message sizes in exported policies.
    pub bands: Bands,
    /// The library's version, if it is known.
    pub library: Option<String>,
    /// The seed of everything random.
    pub seed: u64,
}

/// The settings of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySettings {
    /// The source of latencies.
    pub world: LatencySource,
    /// The number of steps.
    pub steps: u32,
    /// The number of seeds.
    pub seeds: u32,
    /// The strategies to replay; empty for all.
    pub strategies: Vec<StrategyKind>,
}

/// What charts emphasise; everything else is drawn in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlight {
    /// The name of an arm, which is emphasised in every chart that shows it.
    pub arm: Option<String>,
    /// A strategy by its place among [`ReplaySettings::strategies`]; its shares of arms are shown. `None`: those of the
    /// strategy of the lowest regret that can be run.
    pub strategy: Option<u32>,
}

/// The source of latencies of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum LatencySource {
    /// The key with this index in the logs.
    Key(u32),
    /// A simulation, with the names of its arms and the place of `auto` among them.
    Simulation(Simulation, Vec<String>, u32),
}

/// What to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// A tuner file for this reader.
    Conf(Reader),
    /// The policy file, with this generation.
    Policy(u64),
    /// A script of interleaved runs of what is open, for a command.
    Script(String),
}

/// A text to save as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// A suggested file name.
    pub name: String,
    /// The contents.
    pub text: String,
    /// What the file is for: a sentence, or commands of a shell.
    pub note: String,
}

/// One of the logs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFile {
    /// The file's name.
    pub name: String,
    /// How its lines were attributed to arms, or why they were not.
    pub attribution: String,
    /// Whether nothing of it could be used.
    pub is_refused: bool,
}

/// A table that is shown and not analysed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnanalysedTable {
    /// The file's name.
    pub name: String,
    /// Whether it lists what a policy runs; otherwise it holds means.
    pub is_policy: bool,
    /// The table.
    pub listing: Listing,
}

/// The result of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOverview {
    /// The logs.
    pub logs: Vec<LogFile>,
    /// The settings of the study.
    pub settings: Settings,
    /// The names of the keys, in index order.
    pub keys: Vec<String>,
    /// The verdict on each key, such as `keep auto; bimodal`.
    pub verdicts: Vec<String>,
    /// The sentences about each key. The first says what to do.
    pub sentences: Vec<Vec<String>>,
    /// A table of the keys, a row for each.
    pub listing: Listing,
    /// A row for each key that was measured with and without overlap; empty where none was.
    pub overlap: Listing,
    /// Tables that are shown and not analysed.
    pub tables: Vec<UnanalysedTable>,
    /// Notes about all logs.
    pub notes: Vec<String>,
    /// A key can be replayed, in the order of their places.
    pub can_replay: Vec<bool>,
    /// The full result for each key.
    pub results: Vec<KeyResult>,
    /// The keys that were measured with and without overlap.
    pub pairs: Vec<Pair>,
}

/// Charts and tables of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCharts {
    /// A table of the arms, a row for each.
    pub arms: Listing,
    /// Latency over time, a series for each arm.
    pub latencies: Chart,
    /// The posterior densities of the means of the arms.
    pub posteriors: Option<Chart>,
    /// A table of estimates from the lines of the log; empty where the log supports none.
    pub estimates: Listing,
}

/// A replay that is ready to start.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedReplay {
    /// The encoded game, for [`super::replay::play`].
    pub game: Vec<u8>,
    /// The expected duration of each job relative to the others. The index is the number of the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which results can be shown.
    pub rounds: Vec<Vec<u32>>,
}

/// The results of a replay so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// The number of seeds so far.
    pub seeds: u32,
    /// A table of the strategies, a row for each.
    pub listing: Listing,
    /// The index of the strategy whose shares are shown.
    pub shown: u32,
    /// Cumulative regret over steps.
    pub regret: Option<Chart>,
    /// The shares of arms over the steps of one strategy.
    pub shares: Option<Chart>,
    /// The conclusions, in sentences.
    pub sentences: Vec<String>,
    /// The full result of each strategy.
    pub strategies: Vec<super::replay::StrategyResult>,
}
