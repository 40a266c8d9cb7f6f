//! What a reach report says: which way each call took, by what evidence, and what a tuner file can change of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Configuration},
    text::Problems,
    tuning::platform::{Library, Version},
};

/// The way of a call through the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// A tuner is loaded, and its file's answer ran.
    Tuner,
    /// The library decided with or without a tuner: nothing shows which.
    TunerOrLibrary,
    /// A table that is shipped with the library answered.
    OwnTable,
    /// No tuner is loaded, or its file is silent.
    Library,
    /// The tuner file's answer did not run.
    Overridden,
    /// `NCCL_ALGO` or `NCCL_PROTO` excludes the tuner file's answer.
    Env,
    /// A kernel for symmetric windows.
    Symmetric,
    /// Copies by copy engines, without a kernel.
    Ce,
    /// RCCL's DDA: kernels that read the memory of other GPUs directly.
    Dda,
    /// RCCL's direct or hierarchical all_gather.
    Direct,
    /// An algorithm of MSCCL or a kernel of MSCCL++.
    Msccl,
    /// Send and receive, or a collective that is made of them.
    P2p,
    /// One rank: a copy.
    OneRank,
    /// A call of no element: nothing runs.
    Empty,
    /// No line says which path it took.
    Unknown,
}

impl Path {
    /// All paths, those that a tuner file can change first.
    pub const ALL: &[Self] = &[
        Self::Tuner,
        Self::TunerOrLibrary,
        Self::OwnTable,
        Self::Library,
        Self::Overridden,
        Self::Env,
        Self::Symmetric,
        Self::Ce,
        Self::Dda,
        Self::Direct,
        Self::Msccl,
        Self::P2p,
        Self::OneRank,
        Self::Empty,
        Self::Unknown,
    ];

    /// The name in reports, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuner => "tuner",
            Self::TunerOrLibrary => "tuner-or-library",
            Self::OwnTable => "own-table",
            Self::Library => "library",
            Self::Overridden => "overridden",
            Self::Env => "env",
            Self::Symmetric => "symmetric",
            Self::Ce => "ce",
            Self::Dda => "dda",
            Self::Direct => "direct",
            Self::Msccl => "msccl",
            Self::P2p => "p2p",
            Self::OneRank => "one-rank",
            Self::Empty => "empty",
            Self::Unknown => "unknown",
        }
    }

    /// The path in plain words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Tuner => "a tuner is loaded, and its file's answer ran",
            Self::TunerOrLibrary => "the library's choice, with or without a tuner",
            Self::OwnTable => "a table that is shipped with the library answered",
            Self::Library => "no tuner is loaded, or its file has no rule for the call",
            Self::Overridden => "a tuner answered, and something else ran",
            Self::Env => "NCCL_ALGO or NCCL_PROTO excludes what the tuner file asks for",
            Self::Symmetric => "kernels for symmetric windows",
            Self::Ce => "copy engines, without a kernel",
            Self::Dda => "RCCL's direct access to the memory of other GPUs (DDA)",
            Self::Direct => "RCCL's direct or hierarchical all_gather",
            Self::Msccl => "an algorithm of MSCCL or a kernel of MSCCL++",
            Self::P2p => "send and receive, or a collective that is made of them",
            Self::OneRank => "one rank: a copy",
            Self::Empty => "no element: nothing runs",
            Self::Unknown => "no line shows the path",
        }
    }

    /// Whether a tuner is asked and its answer runs.
    pub const fn is_reached(self) -> bool {
        matches!(self, Self::Tuner | Self::TunerOrLibrary | Self::OwnTable | Self::Library)
    }
}

/// How the path of a call is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathEvidence {
    /// A line of a log: of several the first.
    Line(Place),
    /// The condition of the library's source that holds for the call: inferred, no line shows it.
    Inferred(String),
}

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The index of the file in [`Reach::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u64,
}

/// A communicator whose calls are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachCommunicator {
    /// Ranks, where a line says.
    pub ranks: Option<u32>,
    /// Nodes, where a line says.
    pub nodes: Option<u32>,
    /// Ranks on the node of rank 0, where a line says.
    pub local_ranks: Option<u32>,
    /// No line says which rank is 0: taken is the process that logs decisions, or else the first one.
    pub is_rank_assumed: bool,
}

/// Calls of one collective and size on one communicator that went one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachLine {
    /// Its index in [`Reach::communicators`], from 0.
    pub communicator: u32,
    /// The collective of all these calls.
    pub collective: Collective,
    /// Bytes of a call as a tuner sees them, of all ranks for all_gather and reduce_scatter; of the larger buffer where
    /// no tuner is asked. `None` where no line says them.
    pub size_bytes: Option<u64>,
    /// The bytes are those of one rank, and the number of ranks is not known: not compared with anything.
    pub is_per_rank: bool,
    /// How often it was called.
    pub calls: u64,
    /// Those of them that stand in a group with others of the same function, type and operation: the library may ask
    /// once for their sum.
    pub grouped_calls: u64,
    /// The way that they took.
    pub path: Path,
    /// The first line that shows the path, or the condition from which it is inferred.
    pub evidence: PathEvidence,
    /// What ran, where a line says; channels 0 where it does not say those.
    pub ran: Option<Configuration>,
    /// The line of the tuner file's rule that answers, from 1.
    pub rule: Option<u32>,
    /// What the tuner file makes of the call, in words; `None` without a file, or where nodes, ranks or bytes are not
    /// known.
    pub conf_answer: Option<String>,
    /// The share of all calls, in percent.
    pub calls_pct: f64,
    /// The share of all known bytes, in percent; `None` where the bytes of these calls are not known.
    pub bytes_pct: Option<f64>,
    /// How long all these calls take now, in µs; `None` where nothing says ([`Reach::with_times`]).
    pub time_us: Option<f64>,
}

/// The calls of one path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathTotal {
    /// The path that all these calls took.
    pub path: Path,
    /// The calls on it, as [`ReachTotal::calls`] counts.
    pub calls: u64,
    /// Bytes of those whose bytes are known.
    pub bytes: u64,
    /// The time of those whose time is known, in µs.
    pub time_us: f64,
}

/// The sums over all lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReachTotal {
    /// All calls: the sum over the paths.
    pub calls: u64,
    /// Calls that a tuner file can move.
    pub reached_calls: u64,
    /// Bytes of the calls whose bytes are known.
    pub bytes: u64,
    /// Bytes of those that a tuner file can move.
    pub reached_bytes: u64,
    /// Calls whose bytes are not known, or are those of one rank.
    pub unsized_calls: u64,
    /// The time of the calls whose time is known, in µs.
    pub time_us: f64,
    /// The part of it in calls that a tuner file can move, in µs.
    pub reached_time_us: f64,
    /// Calls whose time is not known.
    pub untimed_calls: u64,
    /// The calls of each path that has any.
    pub paths: Vec<PathTotal>,
}

/// How many lines of each kind were read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachCounts {
    /// Lines of calls (subsystem COLL), of all ranks.
    pub call_lines: u64,
    /// Those of ranks other than 0, which are not counted as calls.
    pub other_ranks_calls: u64,
    /// Calls that another rank of a communicator logged and its rank 0 did not; they are counted, on an unknown path.
    #[serde(default)]
    pub missing_calls: u64,
    /// Parts of calls: a `Recv` beside its `Send`, transfers of a direct all_gather, the inner half of a hierarchical
    /// one.
    pub parts: u64,
    /// Lines that say what ran: decisions, symmetric kernels, copy engines.
    pub decision_lines: u64,
    /// Decisions whose call is not in the log, though their process logs calls.
    pub decisions_without_call: u64,
    /// Decisions that are counted as calls, since their process logs none.
    pub decisions_as_calls: u64,
    /// Decisions whose bytes are those of one rank while the number of ranks is not known.
    pub factor_unknown: u64,
    /// Lines in which a tuner says what it answered.
    pub tuner_answers: u64,
    /// Answers that tuners left to the library.
    pub left_to_library: u64,
    /// Calls of functions that are not known, by name; they are in no total.
    pub unknown_functions: BTreeMap<String, u64>,
    /// Lines that look like calls or decisions and can't be understood: torn, or with unknown names.
    pub not_understood: u64,
    /// Chunk sizes of a tuner that the library clamped.
    pub clamped_chunks: u64,
    /// Calls for which no algorithm was available.
    pub no_algorithm: u64,
    /// Lines in which RCCL says that a call does not fit DDA.
    pub dda_disqualified: u64,
}

impl ReachCounts {
    /// Adds the counts of another log.
    pub(super) fn add(&mut self, other: &Self) {
        self.call_lines += other.call_lines;
        self.other_ranks_calls += other.other_ranks_calls;
        self.missing_calls += other.missing_calls;
        self.parts += other.parts;
        self.decision_lines += other.decision_lines;
        self.decisions_without_call += other.decisions_without_call;
        self.decisions_as_calls += other.decisions_as_calls;
        self.factor_unknown += other.factor_unknown;
        self.tuner_answers += other.tuner_answers;
        self.left_to_library += other.left_to_library;
        for (name, number) in &other.unknown_functions {
            *self.unknown_functions.entry(name.clone()).or_default() += number;
        }
        self.not_understood += other.not_understood;
        self.clamped_chunks += other.clamped_chunks;
        self.no_algorithm += other.no_algorithm;
        self.dda_disqualified += other.dda_disqualified;
    }
}

/// What a tuner file can decide of a job's calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reach {
    /// The answer in a sentence.
    pub headline: String,
    /// The calls and bytes of all [`Reach::lines`], in all and by path.
    pub total: ReachTotal,
    /// The library, as given, or else as the logs or the GPU say.
    pub library: Option<Library>,
    /// Its version, as given, or else as the logs say.
    pub version: Option<Version>,
    /// The communicators whose calls are counted.
    pub communicators: Vec<ReachCommunicator>,
    /// The calls: those of most bytes first.
    pub lines: Vec<ReachLine>,
    /// The lines that were read, by kind.
    pub counts: ReachCounts,
    /// What to switch on to see more.
    pub switch_on: Vec<String>,
    /// What limits the answer, a sentence each without a full stop.
    pub notes: Vec<String>,
    /// The names of the files, as they were given.
    pub files: Vec<String>,
    /// Rows of call lists that were left out, by file.
    pub problems: BTreeMap<u32, Problems>,
}
