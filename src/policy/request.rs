//! What can be asked of a study, and what it answers.

use serde::{Deserialize, Serialize};

use super::{
    attribution::{LogSettings, Schedule},
    bands::Bands,
    iteration::Pair,
    result::KeyResult,
};
use crate::{
    bandit::{strategies::Kind, world::Simulation},
    conf::Reader,
    plot::Chart,
    text::Listing,
};

/// How logs are studied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Attributes and judges. Answers [`Answer::Studied`].
    Study(Box<Settings>),
    /// The charts of a key, by place. Answers [`Answer::Charts`].
    Key(u32),
    /// Prepares a replay. Answers [`Answer::Game`].
    Game(Box<Start>),
    /// Plays seeds, on any worker. Answers [`Answer::Played`].
    Play {
        /// From [`Prepared::game`].
        game: Vec<u8>,
        /// Which of [`Prepared::jobs`], by index.
        jobs: Vec<u32>,
    },
    /// Brings together what was played so far, in any order. Answers [`Answer::Replayed`].
    Replayed {
        /// From [`Prepared::game`].
        game: Vec<u8>,
        /// What [`Answer::Played`] carried, one per call.
        played: Vec<Vec<u8>>,
        /// Of which strategy shares of arms are shown, by place; `None`: the one of the lowest regret that can be run.
        shown: Option<u32>,
    },
    /// Files to deploy. Answers [`Answer::Files`].
    Export(Export),
}

/// What to replay in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Where latencies come from.
    pub world: Source,
    /// How many steps.
    pub steps: u32,
    /// How many seeds.
    pub seeds: u32,
    /// Which strategies; empty: all.
    pub strategies: Vec<Kind>,
}

/// Where latencies come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// A key of the logs, by place.
    Key(u32),
    /// A simulation, with the names of its arms and the place of `auto` among them.
    Simulation(Simulation, Vec<String>, u32),
}

/// What to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Export {
    /// A tuner file.
    Conf(Reader),
    /// The policy file, under a generation.
    Policy(u64),
    /// A script of interleaved runs of what is open, for a command.
    Script(String),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`Question::Study`].
    Studied(Box<Studied>),
    /// Of [`Question::Key`].
    Charts(Box<KeyCharts>),
    /// Of [`Question::Game`].
    Game(Box<Prepared>),
    /// Of [`Question::Play`]: opaque, for [`Question::Replayed`].
    Played(Vec<u8>),
    /// Of [`Question::Replayed`].
    Replayed(Box<Replayed>),
    /// Of [`Question::Export`].
    Files(Vec<File>),
}

/// A text to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// A name for it.
    pub name: String,
    /// What stands in it.
    pub text: String,
    /// What it is for, in a sentence or lines of a shell.
    pub note: String,
}

/// A log among others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogFile {
    /// Its name.
    pub name: String,
    /// How its lines got their arms, or why they did not.
    pub attribution: String,
    /// It could not be used at all.
    pub is_refused: bool,
}

/// What logs say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Tables that are only shown, with their names.
    pub tables: Vec<(String, Listing)>,
    /// What must be known of all logs.
    pub notes: Vec<String>,
    /// A key can be replayed, in the order of their places.
    pub can_replay: Vec<bool>,
    /// All that is known of each key.
    #[serde(skip)]
    pub results: Vec<KeyResult>,
    /// The same key in both modes.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
}

/// What is seen of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// The game, for [`Question::Play`].
    pub game: Vec<u8>,
    /// How long each job is expected to take, relative to the others; its index names the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which there is more to be told.
    pub rounds: Vec<Vec<u32>>,
    /// What is replayed, in words.
    pub words: String,
}

/// What became of strategies so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    #[serde(skip)]
    pub strategies: Vec<super::replay::StrategyResult>,
}
