//! The questions to a policy study: about logs, about replays, what charts emphasise, files to save.

use super::{arm::Arm, bands::Bands, file::Policy};
use crate::{
    bandit::{environment::Simulation, strategies::StrategyKind},
    collective::{Collective, Scale},
    conf::Reader,
};

/// The settings of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What the user states about each log, in the order of `PolicyOverview::logs`.
    pub logs: Vec<LogSettings>,
    /// How the logs say which arm each line ran.
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
    /// Where the latencies of arms are drawn from.
    pub world: LatencySource,
    /// The number of steps that each strategy plays for each seed.
    pub steps: u32,
    /// The number of games of each strategy, each with its own seed.
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

/// The files that can be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// A tuner file for this reader.
    Conf(Reader),
    /// The policy file, with this generation.
    Policy(u64),
    /// A script of interleaved runs of what is open, for a command.
    Script(String),
}

/// What the user states about one log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogSettings {
    /// The arm of every line.
    pub arm: Option<Arm>,
    /// Lines before this one are left out: they explored, or warmed up.
    pub from_line: u32,
    /// The collective, used where the log does not name it.
    pub collective: Option<Collective>,
    /// Nodes and ranks, used where the log does not name them.
    pub scale: Option<Scale>,
    /// The message size in bytes, used where the log does not name it.
    pub size_bytes: Option<u64>,
    /// Whether the job overlaps computation with communication, used where the log does not say it.
    pub overlap: Option<bool>,
}

/// What the user states about how arms were chosen, for all logs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The arms by their numbers: of a column of numbers, or of a round robin.
    pub arms: Vec<Arm>,
    /// The number of calls before the first logged line, if arms took turns.
    pub warm_up: Option<u32>,
    /// The number of calls that took turns, counted from the very first, warm-up included. Later calls are not
    /// attributed.
    pub turns: Option<u32>,
    /// The policies of different generations by whose schedules arms were chosen.
    pub policies: Vec<Policy>,
    /// Notes from reading the files of these policies.
    pub notes: Vec<String>,
}
