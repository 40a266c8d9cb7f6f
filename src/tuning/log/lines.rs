//! The lines that NCCL, RCCL and their tuners print about a call's way: what a line says, and which releases print it.
//!
//! The formats are those of the printf calls in NVIDIA/nccl (src/enqueue.cc, src/init.cc, src/plugin/tuner.cc),
//! ROCm/rocm-systems (projects/rccl), aws/aws-ofi-nccl and meta-pytorch/torchcomms. A line that looks like a call or a
//! decision and can't be understood is [`Line::NotUnderstood`], so that readers count it.

use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::platform::{Library, Version},
};

/// What stands before the text of a line: `host:pid:tid [device] NCCL INFO `.
const MARKS: [&str; 2] = ["NCCL INFO ", "NCCL WARN "];
const CALL: &str = ": opCount ";
const BYTES: &str = " Bytes -> ";

/// What a line of NCCL or RCCL says about calls and about who decides them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::tuning) enum Line<'a> {
    /// What the library chose for a call: `AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}`.
    Decision(Decision),
    /// A kernel for symmetric windows: `AllReduce [Symmetric]: 65536 Bytes -> Kernel … nchannels 8 nthreads 512`.
    Symmetric { collective: Collective, size_bytes: u64, channels: u32, threads: u32, works: Option<u32> },
    /// Copies without a kernel: `AllGather [Copy Engine]: 67108864 Bytes -> cudaMemcpy`.
    CopyEngine { collective: Collective, size_bytes: u64 },
    /// Copies within nodes, a proxy between them: `AlltoAll [Hierarchical CE]: 16777216 Bytes -> RMA proxy + CE`.
    HierarchicalCopyEngine { collective: Collective, size_bytes: u64 },
    /// A call: `AllReduce: opCount 1a sendbuff … count 2 datatype 7 op 0 root 0 comm 0x56 [nranks=8] stream 0x57`.
    Call(Call<'a>),
    /// A call of a function that is not known.
    UnknownFunction(&'a str),
    /// `AllReduce: tuner chunk size 8388608 exceeds buffer max 4194304, clamping`.
    ClampedChunk { collective: Collective, asked_bytes: u64, limit_bytes: u64 },
    /// `No algorithm/protocol available for function AllReduce with datatype ncclFloat32.`
    NoAlgorithm { collective: Collective },
    /// The tuner that the process asks for, uses, or lacks, in any of the words of 2.19 and later.
    Loaded(Tuner<'a>),
    /// `TUNER/CsvTuner: Initializing built-in CSV tuner for 1 nodes, 8 ranks`, and `NCCLX TUNER: initialized for 1
    /// node(s), 8 rank(s), 5 rule(s)`.
    TunerScale { source: Source, nodes: u32, ranks: u32 },
    /// `TUNER/CsvTuner: Loaded config: allreduce [16384-524287] ring/ll channels=-1 nodes=1 ranks=8`.
    CsvTunerRule { min_bytes: u64, max_bytes: u64, channels: i32, nodes: i32, ranks: i32 },
    /// `TUNER/CsvTuner: Loaded 4 tuning configurations from …`, and `No valid configurations found in …`, which is 0;
    /// `NCCLX TUNER: loaded 5 tuning rule(s) from …`.
    RulesLoaded { source: Source, rules: u64 },
    /// What a tuner answered for one call.
    Answer(Answer),
    /// A tuner left the choice to the library: `Falling back to NCCL's tuner for coll 4 size 64.`
    LeftToLibrary { collective: Collective, size_bytes: u64 },
    /// `RCCL DIRECT ALLGATHER count = 65536, msgSize = 131072, comm = 0x5600, stream = …, rank = 0, …`.
    DirectAllGather { count: u64, size_bytes: u64, comm: &'a str, rank: u32 },
    /// DDA over IPC is possible: `ncclDdaIpcCommInit: scratch 67108864 bytes, IpcGpuBarrier nBlocks=80`.
    DdaPossible { scratch_bytes: u64 },
    /// `no P2P between GPU 0 and GPU 1, skipping DDA IPC`.
    DdaImpossible,
    /// `AllReduce DDA disqualified: totalBytes=268435456 > entryThreshold=134217728`.
    DdaDisqualified { collective: Collective },
    /// `AllReduce: taking DDA fabric LL path: nRanks=8 nNodes=1 count=1024 datatype=9 bytes=2048`, for all_gather
    /// `sendcount` and `totalBytes`.
    DdaTaken { collective: Collective, ranks: u32, nodes: u32, size_bytes: u64 },
    /// `AllReduce impl selected: algo DDA-IPC`.
    Selected { collective: Collective, implementation: &'a str },
    /// `comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 …`, or `ncclCommInitRank comm 0x55 rank 0 nranks 8
    /// …`.
    Communicator(Communicator<'a>),
    /// `NCCL_ALGO set by environment to Ring`.
    Environment { name: &'a str, value: &'a str },
    /// `NCCL_MIN_NCHANNELS set by environment is ignored due to less than 8 GPUs.`
    EnvironmentIgnored { name: &'a str },
    /// `NCCL version 2.29.7+cuda12.9`, `RCCL version : 2.26.6-Unknown`.
    Version { library: Library, version: &'a str },
    /// A line that looks like a call or a decision: torn, or with an unknown name.
    NotUnderstood,
}

/// The library's choice for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::tuning) struct Decision {
    /// The collective; up to 2.22 lines don't name it.
    pub(in crate::tuning) collective: Option<Collective>,
    /// Bytes as printed: see [`Self::is_per_task`].
    pub(in crate::tuning) size_bytes: u64,
    pub(in crate::tuning) algorithm: Algorithm,
    pub(in crate::tuning) protocol: Protocol,
    pub(in crate::tuning) detail: Detail,
}

/// What a decision says besides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::tuning) enum Detail {
    /// The time that the library expects, in µs: up to 2.23.
    Time(f64),
    /// The first and the last channel: from NCCL 2.24 and RCCL 2.26 on.
    Channels(u32, u32),
}

impl Decision {
    /// Whether the bytes are those of the call's task: of one rank for all_gather and reduce_scatter. Older lines have
    /// them as a tuner sees them, of all ranks.
    pub(in crate::tuning) const fn is_per_task(&self) -> bool {
        matches!(self.detail, Detail::Channels(..))
    }

    /// The number of channels; 0 where the line does not say.
    pub(in crate::tuning) const fn channels(&self) -> u32 {
        match self.detail {
            Detail::Time(_) => 0,
            Detail::Channels(first, last) => last - first + 1,
        }
    }
}

/// A call as it enters the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tuning) struct Call<'a> {
    pub(in crate::tuning) kind: CallKind,
    pub(in crate::tuning) collective: Collective,
    /// Elements as the function counts them: of one rank's part where each rank gives or gets a part.
    pub(in crate::tuning) count: u64,
    /// The code of the data type (`ncclDataType_t`).
    pub(in crate::tuning) datatype: u32,
    /// The code of the operation (`ncclRedOp_t`); 0 is the sum.
    pub(in crate::tuning) operation: u32,
    pub(in crate::tuning) comm: &'a str,
    pub(in crate::tuning) ranks: Option<u32>,
    /// The rank of the caller, which RCCL prints.
    pub(in crate::tuning) rank: Option<u32>,
}

impl Call<'_> {
    /// Bytes of the counted elements.
    pub(in crate::tuning) fn task_bytes(&self) -> Option<u64> {
        self.count.checked_mul(datatype_bytes(self.datatype)?)
    }
}

/// Which function printed a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tuning) enum CallKind {
    /// A function of the library.
    Collective,
    /// The second half of a pair: each `Recv` has its `Send`.
    Receive,
    /// MSCCL or MSCCL++ took the call.
    Msccl,
    /// RCCL's hierarchical all_gather between nodes, printed once for each call.
    HierarchicalInter,
    /// The same within nodes: a part of the call.
    HierarchicalIntra,
}

/// The tuner of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tuning) enum Tuner<'a> {
    /// A plugin was asked for by name.
    Asked(&'a str),
    /// A plugin is used; its name or version, as the line says.
    Plugin(&'a str),
    /// RCCL's built-in CSV tuner reads this file, `<embedded>/…` where the table is compiled in.
    BuiltIn(&'a str),
    /// The library goes without a tuner.
    None,
}

/// A tuner that says what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tuning) enum Source {
    /// RCCL's built-in CSV tuner (`TUNER/CsvTuner`).
    CsvTuner,
    /// The tuner of aws-ofi-nccl (`Region Tuner`).
    Ofi,
    /// The built-in tuner of NCCLX (`NCCLX TUNER`).
    Ncclx,
}

/// A tuner's answer for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tuning) struct Answer {
    pub(in crate::tuning) source: Source,
    pub(in crate::tuning) collective: Collective,
    /// Bytes as a tuner sees them: of all ranks.
    pub(in crate::tuning) size_bytes: u64,
    pub(in crate::tuning) algorithm: Algorithm,
    pub(in crate::tuning) protocol: Protocol,
    /// Channels; −1 leaves them to the library. `None` where the line does not say.
    pub(in crate::tuning) channels: Option<i32>,
}

/// What a rank says of its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tuning) struct Communicator<'a> {
    /// The pointer, which is unique within its process.
    pub(in crate::tuning) comm: &'a str,
    pub(in crate::tuning) rank: u32,
    pub(in crate::tuning) ranks: u32,
    pub(in crate::tuning) nodes: Option<u32>,
    pub(in crate::tuning) local_ranks: Option<u32>,
}

/// The releases that print a line: the first, and the last where it is no longer printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tuning) struct Printed {
    pub(in crate::tuning) library: Library,
    pub(in crate::tuning) first: Version,
    pub(in crate::tuning) last: Option<Version>,
}

impl Printed {
    /// Whether this version of the library is one of these releases.
    pub(in crate::tuning) fn is_by(&self, library: Library, version: Version) -> bool {
        self.library == library && self.first <= version && self.last.is_none_or(|last| version <= last)
    }
}

impl Line<'_> {
    /// The releases that print the line; empty where all do, or where it is not established.
    pub(in crate::tuning) fn printed_by(&self) -> Vec<Printed> {
        use Library::{Nccl, Rccl};
        let (zero, any) = (Version::release(2, 0, 0), u32::MAX);
        let from = |library, minor, patch| Printed { library, first: Version::release(2, minor, patch), last: None };
        let to = |library, minor| Printed { library, first: zero, last: Some(Version::release(2, minor, any)) };
        let within = |first, last| Printed { last: Some(Version::release(2, last, any)), ..from(Nccl, first, 0) };
        match self {
            Self::Decision(decision) => match (decision.detail, decision.collective) {
                (Detail::Channels(..), _) => vec![from(Nccl, 24, 0), from(Rccl, 26, 0)],
                (Detail::Time(_), None) => vec![within(20, 22), to(Rccl, 22)],
                (Detail::Time(_), Some(_)) => vec![within(23, 23), within_rccl_23()],
            },
            Self::Symmetric { works: None, .. } => vec![within(27, 27), from(Rccl, 27, 0)],
            Self::Symmetric { .. } => vec![from(Nccl, 28, 3), from(Rccl, 28, 3)],
            Self::CopyEngine { .. } => vec![from(Nccl, 29, 2), from(Rccl, 29, 2)],
            Self::HierarchicalCopyEngine { .. } => vec![from(Nccl, 30, 7), from(Rccl, 30, 7)],
            Self::ClampedChunk { .. } => vec![from(Nccl, 30, 0), from(Rccl, 30, 0)],
            Self::Loaded(Tuner::BuiltIn(_))
            | Self::TunerScale { source: Source::CsvTuner, .. }
            | Self::CsvTunerRule { .. }
            | Self::RulesLoaded { source: Source::CsvTuner, .. }
            | Self::Answer(Answer { source: Source::CsvTuner, .. }) => vec![from(Rccl, 28, 3)],
            Self::DdaPossible { .. } | Self::DdaImpossible => vec![from(Rccl, 30, 4)],
            Self::Selected { .. } | Self::DdaDisqualified { .. } | Self::DdaTaken { .. } => vec![from(Rccl, 31, 2)],
            Self::DirectAllGather { .. } => vec![from(Rccl, 0, 0)],
            Self::Call(Call { kind: CallKind::Msccl, .. }) => vec![to(Rccl, 27)],
            Self::Call(Call { kind: CallKind::HierarchicalInter | CallKind::HierarchicalIntra, .. }) => {
                vec![from(Rccl, 0, 0)]
            }
            _ => Vec::new(),
        }
    }
}

/// RCCL went from the oldest form to the newest between 2.22 and 2.26; a release between them may print the middle one.
const fn within_rccl_23() -> Printed {
    let (first, last) = (Version::release(2, 23, 0), Version::release(2, 25, u32::MAX));
    Printed { library: Library::Rccl, first, last: Some(last) }
}

/// A line of a file, read once for all who want to know what the library says in it.
pub(in crate::tuning) struct SpokenLine<'a> {
    /// What stands before the first mark of the library: who speaks, or the rest of a torn line.
    pub(in crate::tuning) before: &'a str,
    /// The lines of the library in it; none where it says nothing.
    pub(in crate::tuning) said: Vec<Said<'a>>,
}

/// A line of the library.
pub(in crate::tuning) struct Said<'a> {
    /// The word that names the process that speaks, `host:pid:thread`; `None` where none stands there.
    pub(in crate::tuning) speaker: Option<&'a str>,
    /// The text behind the mark.
    pub(in crate::tuning) text: &'a str,
    /// What it says about calls; `None` where it says nothing about them.
    pub(in crate::tuning) line: Option<Line<'a>>,
}

/// Reads a line of a file.
pub(in crate::tuning) fn read(text: &str) -> SpokenLine<'_> {
    let (before, spoken) = spoken(text);
    let said = |(speaker, text)| Said { speaker, text, line: parse(text) };
    SpokenLine { before, said: spoken.into_iter().map(said).collect() }
}

/// The lines within a line of a file, each with the word that names the process that speaks. Ranks that share a file
/// tear each other's lines, so that several begin in one. What stands before the first is in no line.
fn spoken(text: &str) -> (&str, Vec<(Option<&str>, &str)>) {
    let next = |text: &str| MARKS.iter().filter_map(|mark| Some((text.find(mark)?, mark.len()))).min();
    let Some((mut end, mut mark)) = next(text) else { return (text, Vec::new()) };
    let first = &text[..end];
    let (mut before, mut rest) = (first, &text[end + mark..]);
    let mut all = Vec::new();
    loop {
        // The speaker of a warning stands before the file and line that warn.
        let speaker = before.split_ascii_whitespace().rev().find(|word| word.splitn(3, ':').count() == 3);
        let Some((at, length)) = next(rest) else {
            all.push((speaker, rest));
            return (first, all);
        };
        (end, mark) = (at, length);
        before = &rest[..end];
        all.push((speaker, before));
        rest = &rest[end + mark..];
    }
}

/// Whether a text has the mark of a call or a decision.
pub(in crate::tuning) fn is_told(text: &str) -> bool {
    text.contains(BYTES) || text.contains(CALL)
}

/// Reads the text of a line, without what stands before it; `None` for one that says nothing about calls.
pub(in crate::tuning) fn parse(text: &str) -> Option<Line<'_>> {
    if text.contains(CALL) {
        return Some(call(text).unwrap_or(Line::NotUnderstood));
    }
    if text.contains(BYTES) {
        return Some(bytes(text).unwrap_or(Line::NotUnderstood));
    }
    let tuner = || loaded(text).or_else(|| csv_tuner(text)).or_else(|| answers(text));
    fast_paths(text).or_else(tuner).or_else(|| setting(text))
}

fn bytes(text: &str) -> Option<Line<'_>> {
    let (left, right) = text.split_once(BYTES)?;
    let (name, size) = left.rsplit_once(' ').unwrap_or(("", left));
    let size_bytes = size.parse().ok()?;
    let name = name.trim().trim_end_matches(':');
    if let Some(rest) = right.strip_prefix("Algo ") {
        return Some(Line::Decision(decision(name, size_bytes, rest)?));
    }
    let (name, path) = name.strip_suffix(']')?.rsplit_once('[')?;
    let collective = collective(name)?;
    match path {
        "Symmetric" => {
            let number = |key| u32::try_from(word_after(right, key)?.parse::<u64>().ok()?).ok();
            let (channels, threads) = (number("nchannels")?, number("nthreads")?);
            // A line that breaks off after the word is torn.
            let works = if right.contains("nWorks") { Some(number("nWorks")?) } else { None };
            Some(Line::Symmetric { collective, size_bytes, channels, threads, works })
        }
        "Copy Engine" => right.starts_with("cudaMemcpy").then_some(Line::CopyEngine { collective, size_bytes }),
        "Hierarchical CE" => {
            right.starts_with("RMA").then_some(Line::HierarchicalCopyEngine { collective, size_bytes })
        }
        _ => None,
    }
}

fn decision(name: &str, size_bytes: u64, rest: &str) -> Option<Decision> {
    let collective = if name.is_empty() { None } else { Some(collective(name)?) };
    let mut words = rest.split_ascii_whitespace();
    // RCCL marks WarpSpeed with an asterisk.
    let algorithm = algorithm(words.next()?.trim_end_matches('*'))?;
    if words.next()? != "proto" {
        return None;
    }
    let protocol = protocol(words.next()?)?;
    let last = words.next()?;
    let detail = match last.strip_prefix("channel{Lo..Hi}={") {
        Some(range) => {
            let (first, last) = range.split_once('}')?.0.split_once("..")?;
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < 1024).then_some(Detail::Channels(first, last))?
        }
        None if last == "time" => Detail::Time(words.next()?.parse().ok()?),
        None => return None,
    };
    Some(Decision { collective, size_bytes, algorithm, protocol, detail })
}

fn call(text: &str) -> Option<Line<'_>> {
    let (name, rest) = text.split_once(CALL)?;
    let mut words = rest.split_ascii_whitespace();
    words.find(|word| *word == "count")?;
    let count: u64 = words.next()?.parse().ok()?;
    let mut number =
        |key: &str| -> Option<u32> { if words.next()? == key { words.next()?.parse().ok() } else { None } };
    let (datatype, operation) = (number("datatype")?, number("op")?);
    datatype_bytes(datatype)?;
    words.find(|word| *word == "comm")?;
    let comm = words.next()?;
    let mut word = words.next()?;
    let mut ranks = None;
    if let Some(number) = word.strip_prefix("[nranks=") {
        ranks = Some(number.strip_suffix(']')?.parse().ok().filter(|ranks| *ranks > 0)?);
        word = words.next().unwrap_or_default();
    } else if word != "stream" {
        // Without the ranks only a line that goes on is whole.
        return None;
    }
    let rank = if word == "stream" {
        words.find(|word| *word == "globalrank").and_then(|_| words.next()?.parse().ok())
    } else {
        None
    };
    let name = name.trim();
    let (kind, name) = match name {
        "Send" => (CallKind::Collective, "sendrecv"),
        "Recv" => (CallKind::Receive, "sendrecv"),
        "HierarchicalAllGather-Inter" => (CallKind::HierarchicalInter, "AllGather"),
        "HierarchicalAllGather-Intra" => (CallKind::HierarchicalIntra, "AllGather"),
        _ => match name.strip_prefix("mscclFunc").or_else(|| name.strip_prefix("mscclpp_")) {
            Some(name) => (CallKind::Msccl, name),
            None => (CallKind::Collective, name),
        },
    };
    let Some(collective) = collective(name) else { return Some(Line::UnknownFunction(name)) };
    Some(Line::Call(Call { kind, collective, count, datatype, operation, comm, ranks, rank }))
}

fn fast_paths(text: &str) -> Option<Line<'_>> {
    if let Some(rest) = text.split_once("RCCL DIRECT ALLGATHER count = ").map(|(_, rest)| rest) {
        let after = |key: &str| Some(rest.split_once(key)?.1.split([',', ' ']).next().unwrap_or_default());
        let count = rest.split(',').next()?.trim().parse().ok()?;
        let size_bytes = after("msgSize = ")?.parse().ok()?;
        let rank = after("rank = ")?.parse().ok()?;
        return Some(Line::DirectAllGather { count, size_bytes, comm: after("comm = ")?, rank });
    }
    if let Some((_, rest)) = text.split_once("ncclDdaIpcCommInit: scratch ") {
        let scratch_bytes = rest.split(' ').next()?.parse().ok()?;
        return Some(Line::DdaPossible { scratch_bytes });
    }
    if text.contains("skipping DDA IPC") {
        return Some(Line::DdaImpossible);
    }
    if let Some((name, implementation)) = text.split_once(" impl selected: algo ") {
        let implementation = implementation.split_ascii_whitespace().next()?;
        return Some(Line::Selected { collective: collective(name)?, implementation });
    }
    if let Some((name, _)) = text.split_once(" DDA disqualified: ") {
        return Some(Line::DdaDisqualified { collective: collective(name)? });
    }
    if let Some((name, rest)) = text.split_once(": taking DDA fabric ") {
        let after = |key: &str| rest.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.parse().ok());
        let size_bytes = after("totalBytes=").or_else(|| after("bytes="))?;
        let number = |key| u32::try_from(after(key)?).ok();
        let (ranks, nodes) = (number("nRanks=")?, number("nNodes=")?);
        return Some(Line::DdaTaken { collective: collective(name)?, ranks, nodes, size_bytes });
    }
    if let Some((name, rest)) = text.split_once(": tuner chunk size ") {
        let (asked, limit) = rest.split_once(" exceeds buffer max ")?;
        let limit_bytes = limit.split(',').next()?.parse().ok()?;
        return Some(Line::ClampedChunk {
            collective: collective(name)?,
            asked_bytes: asked.parse().ok()?,
            limit_bytes,
        });
    }
    let (_, name) = text.split_once("No algorithm/protocol available for function ")?;
    Some(Line::NoAlgorithm { collective: collective(name.split(' ').next()?)? })
}

fn loaded(text: &str) -> Option<Line<'_>> {
    let after = |key: &str| Some(text.split_once(key)?.1.trim());
    let word = |text: &'static str| after(text)?.split_ascii_whitespace().next();
    let tuner = if let Some(path) = after("Using built-in CSV tuner, config: ") {
        Tuner::BuiltIn(path)
    } else if after("External tuner plugin ").is_some_and(|rest| rest.ends_with("is unsupported"))
        || text.contains("Using internal tuner plugin")
        || text.contains("Tuner: no plugin found")
        || after("TUNER/Plugin: Could not find").is_some()
    {
        Tuner::None
    } else if let Some(name) = after("Opened tuner: ") {
        Tuner::Plugin(name.trim_matches('\''))
    } else if let Some(name) = word("Using tuner plugin ")
        .or_else(|| after("TUNER/Plugin: Using "))
        .or_else(|| word("Successfully loaded external tuner plugin "))
    {
        Tuner::Plugin(name)
    } else if text.contains("NCCLX TUNER: using built-in tuner") {
        Tuner::Plugin("NCCLX")
    } else if text.contains("Tuner is chosen for platform: ") {
        Tuner::Plugin("aws-ofi-nccl")
    } else {
        Tuner::Asked(after("NCCL_TUNER_PLUGIN set to ").or_else(|| after("NCCL_TUNER_PLUGIN set by environment to "))?)
    };
    Some(Line::Loaded(tuner))
}

fn csv_tuner(text: &str) -> Option<Line<'_>> {
    let (_, rest) = text.split_once("TUNER/CsvTuner: ")?;
    let after = |key: &str| rest.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.parse::<i32>().ok());
    if let Some(scale) = rest.strip_prefix("Initializing built-in CSV tuner for ") {
        let (nodes, ranks) = scale.split_once(" nodes, ")?;
        let ranks = ranks.split(' ').next()?.parse().ok()?;
        return Some(Line::TunerScale { source: Source::CsvTuner, nodes: nodes.parse().ok()?, ranks });
    }
    if let Some(rule) = rest.strip_prefix("Loaded config: ") {
        let (min, max) = rule.split_once('[')?.1.split_once(']')?.0.split_once('-')?;
        let (min_bytes, max_bytes) = (min.parse().ok()?, max.parse().ok()?);
        let (channels, nodes, ranks) = (after("channels=")?, after("nodes=")?, after("ranks=")?);
        return Some(Line::CsvTunerRule { min_bytes, max_bytes, channels, nodes, ranks });
    }
    if let Some(applied) = rest.strip_prefix("Applied config for ") {
        let mut parts = applied.split(", ");
        let collective = collective(parts.next()?)?;
        let size_bytes = parts.next()?.strip_prefix("bytes=")?.split(':').next()?.parse().ok()?;
        let word = |key: &str| Some(applied.split_once(key)?.1.split([',', ' ']).next().unwrap_or_default());
        return Some(Line::Answer(Answer {
            source: Source::CsvTuner,
            collective,
            size_bytes,
            algorithm: algorithm(word("algo=")?)?,
            protocol: protocol(word("proto=")?)?,
            channels: Some(after("channels=")?),
        }));
    }
    let rules = match rest.strip_prefix("Loaded ") {
        Some(loaded) => loaded.split_once(" tuning configurations from ")?.0.parse().ok()?,
        None => rest.starts_with("No valid configurations found in ").then_some(0)?,
    };
    Some(Line::RulesLoaded { source: Source::CsvTuner, rules })
}

/// The collectives by their numbers (`ncclFunc_t`).
const FUNCTIONS: [Collective; 5] = [
    Collective::Broadcast,
    Collective::Reduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllReduce,
];

fn answers(text: &str) -> Option<Line<'_>> {
    let function = |number: &str| FUNCTIONS.get(number.parse::<usize>().ok()?).copied();
    if let Some((_, rest)) = text.split_once("Region Tuner choosing ") {
        let collective = function(word_after(rest, "coll")?)?;
        let size_bytes = word_after(rest, "size")?.trim_end_matches('.').parse().ok()?;
        return Some(Line::Answer(Answer {
            source: Source::Ofi,
            collective,
            size_bytes,
            algorithm: algorithm(word_after(rest, "algo")?)?,
            protocol: protocol(word_after(rest, "proto")?)?,
            channels: None,
        }));
    }
    if let Some((_, rest)) = text.split_once("Falling back to NCCL's tuner for ") {
        let collective = function(word_after(rest, "coll")?)?;
        let size_bytes = word_after(rest, "size")?.trim_end_matches('.').parse().ok()?;
        return Some(Line::LeftToLibrary { collective, size_bytes });
    }
    let (_, rest) = text.split_once("NCCLX TUNER: ")?;
    if let Some(loaded) = rest.strip_prefix("loaded ") {
        let rules = loaded.split_once(" tuning rule")?.0.parse().ok()?;
        return Some(Line::RulesLoaded { source: Source::Ncclx, rules });
    }
    if let Some(scale) = rest.strip_prefix("initialized for ") {
        let (nodes, ranks) = scale.split_once(" node(s), ")?;
        let ranks = ranks.split_once(" rank(s)")?.0.parse().ok()?;
        return Some(Line::TunerScale { source: Source::Ncclx, nodes: nodes.parse().ok()?, ranks });
    }
    let rest = rest.strip_prefix("matched rule for ")?;
    let word = |key: &str| rest.split_ascii_whitespace().find_map(|word| word.strip_prefix(key));
    Some(Line::Answer(Answer {
        source: Source::Ncclx,
        collective: function(word("collType=")?)?,
        size_bytes: word("nBytes=")?.parse().ok()?,
        algorithm: algorithm(word("algo=")?)?,
        protocol: protocol(word("proto=")?)?,
        channels: Some(word("channels=")?.parse().ok()?),
    }))
}

fn setting(text: &str) -> Option<Line<'_>> {
    if let Some((name, value)) = text.split_once(" set by environment to ") {
        let name = name.rsplit(' ').next()?;
        return Some(Line::Environment { name, value: value.trim().trim_end_matches('.') });
    }
    if let Some((name, _)) = text.split_once(" set by environment is ignored") {
        return Some(Line::EnvironmentIgnored { name: name.rsplit(' ').next()? });
    }
    if let Some((before, version)) = text.split_once("CCL version") {
        let library = match before.chars().next_back()? {
            'R' => Library::Rccl,
            'N' => Library::Nccl,
            _ => return None,
        };
        let version = version.trim_start_matches([' ', ':']).split_ascii_whitespace().next()?;
        return version.starts_with(|c: char| c.is_ascii_digit()).then_some(Line::Version { library, version });
    }
    let number = |key: &str| word_after(text, key)?.parse().ok();
    let ranks = number("nranks").or_else(|| number("nRanks"))?;
    Some(Line::Communicator(Communicator {
        comm: word_after(text, "comm")?,
        rank: number("rank")?,
        ranks,
        nodes: number("nNodes"),
        local_ranks: number("localRanks"),
    }))
}

fn word_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()
}

/// The collective of a function's name, in any of its variants.
fn collective(name: &str) -> Option<Collective> {
    match name.trim() {
        "AllReduceWithBias" => Some(Collective::AllReduce),
        "AlltoAllv" | "AllToAllv" | "AllToAllPivot" | "AlltoAllPivot" => Some(Collective::AllToAll),
        name => Collective::parse(name),
    }
}

fn algorithm(word: &str) -> Option<Algorithm> {
    match word.parse::<i8>() {
        Ok(code) => Algorithm::ALL.iter().find(|known| known.code() == code && code >= 0).copied(),
        Err(_) => Algorithm::parse(word),
    }
}

fn protocol(word: &str) -> Option<Protocol> {
    match word.parse::<i8>() {
        Ok(code) => Protocol::ALL.iter().find(|known| known.code() == code).copied(),
        Err(_) => Protocol::parse(word),
    }
}

/// Bytes of NCCL's data types by code (`ncclDataType_t`).
pub(in crate::tuning) fn datatype_bytes(code: u32) -> Option<u64> {
    Some(match code {
        0 | 1 | 10 | 11 => 1,
        6 | 9 => 2,
        2 | 3 | 7 => 4,
        4 | 5 | 8 => 8,
        _ => return None,
    })
}

/// The name that nccl-tests has for one of NCCL's data types by code (`-d`).
pub(in crate::tuning) fn datatype_name(code: u32, library: Library) -> Option<&'static str> {
    Some(match (code, library) {
        (0, _) => "int8",
        (1, _) => "uint8",
        (2, _) => "int32",
        (3, _) => "uint32",
        (4, _) => "int64",
        (5, _) => "uint64",
        (6, _) => "half",
        (7, _) => "float",
        (8, _) => "double",
        (9, _) => "bfloat16",
        (10, Library::Nccl) => "f8e4m3",
        (11, Library::Nccl) => "f8e5m2",
        (10, Library::Rccl) => "fp8_e4m3",
        (11, Library::Rccl) => "fp8_e5m2",
        _ => return None,
    })
}

/// A number that stands for a process on a host; the host's name is forgotten.
pub(in crate::tuning) fn process(host: &str, pid: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    (host, pid).hash(&mut hasher);
    hasher.finish()
}

/// How many times the counted elements the larger buffer holds: where each rank gives or gets a part, the count is of
/// one part.
pub(in crate::tuning) fn larger_buffer(collective: Collective, ranks: u32) -> u64 {
    match collective {
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Gather
        | Collective::Scatter => u64::from(ranks),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Lines;

    fn said(text: &str) -> Option<Line<'_>> {
        let (_, spoken) = spoken(text);
        spoken.first().and_then(|(_, piece)| parse(piece))
    }

    const TUNED: [(&str, Collective); 5] = [
        ("AllReduce", Collective::AllReduce),
        ("AllGather", Collective::AllGather),
        ("ReduceScatter", Collective::ReduceScatter),
        ("Broadcast", Collective::Broadcast),
        ("Reduce", Collective::Reduce),
    ];

    fn is_printed(line: &Line<'_>, library: Library, release: Version) -> bool {
        let printed = line.printed_by();
        printed.is_empty() || printed.iter().any(|printed| printed.is_by(library, release))
    }

    #[test]
    #[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
    fn every_line_of_the_example_says_something_with_shared_data() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/reach/decision_lines.log");
        let file = std::fs::File::open(path).expect("it is there");
        let mut lines = Lines::new(file);
        let mut read = 0;
        while let Some(line) = lines.next() {
            if !line.text.starts_with('#') {
                let said = said(&line.text);
                assert!(!matches!(said, None | Some(Line::NotUnderstood)), "line {}: {}", line.number, line.text);
                read += 1;
            }
        }
        assert_eq!(read, 31);
    }

    #[test]
    fn what_is_torn_or_unknown_is_not_understood() {
        let whole = "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}";
        assert!(matches!(parse(whole), Some(Line::Decision(_))));
        for torn in (30..whole.len()).map(|end| &whole[..end]) {
            assert_eq!(parse(torn), Some(Line::NotUnderstood), "{torn}");
        }
        for unknown in [
            whole.replace("RING", "MOEBIUS"),
            whole.replace("SIMPLE", "LL256"),
            whole.replace("AllReduce", "AllForgive"),
            whole.replace("{0..23}", "{23..0}"),
            "AllReduce [Quantum]: 65536 Bytes -> entangled".to_owned(),
        ] {
            assert_eq!(parse(&unknown), Some(Line::NotUnderstood), "{unknown}");
        }
        let call = "Teleport: opCount 1 sendbuff 0x7 recvbuff 0x8 count 2 datatype 7 op 0 root 0 comm 0x5 [nranks=8] stream 0x6";
        assert_eq!(parse(call), Some(Line::UnknownFunction("Teleport")));
        assert_eq!(parse("Channel 00/24 : 0 1 2 3"), None);
    }

    #[test]
    fn marks_of_variants() {
        let warp = "AllReduce: 64 Bytes -> Algo RING* proto LL channel{Lo..Hi}={0..3}";
        assert!(matches!(parse(warp), Some(Line::Decision(Decision { algorithm: Algorithm::Ring, .. }))));
        for (name, kind) in [
            ("mscclFuncAllReduce", CallKind::Msccl),
            ("mscclpp_ncclAllReduce", CallKind::Msccl),
            ("HierarchicalAllGather-Inter", CallKind::HierarchicalInter),
            ("HierarchicalAllGather-Intra", CallKind::HierarchicalIntra),
            ("Send", CallKind::Collective),
            ("Recv", CallKind::Receive),
            ("AllReduceWithBias", CallKind::Collective),
        ] {
            let call = format!(
                "{name}: opCount 3 sendbuff 0x7 recvbuff 0x8 count 4 datatype 9 op 0 root 0 comm 0x5 [nranks=8]"
            );
            assert!(matches!(parse(&call), Some(Line::Call(call)) if call.kind == kind), "{name}");
        }
    }

    #[test]
    fn every_way_to_say_which_tuner_is_loaded() {
        for (text, tuner) in [
            ("NCCL_TUNER_PLUGIN set to ours", Tuner::Asked("ours")),
            ("NCCL_TUNER_PLUGIN set by environment to ours", Tuner::Asked("ours")),
            ("Opened tuner: 'ours'", Tuner::Plugin("ours")),
            ("Tuner: no plugin found '(null)', using default tuner instead.", Tuner::None),
            ("Using tuner plugin ours", Tuner::Plugin("ours")),
            ("Using internal tuner plugin.", Tuner::None),
            ("TUNER/Plugin: Using tuner plugin ours", Tuner::Plugin("ours")),
            ("TUNER/Plugin: Using ours (v5)", Tuner::Plugin("ours (v5)")),
            ("TUNER/Plugin: Could not find: librccl-tuner.so. Using internal tuner plugin.", Tuner::None),
            ("Successfully loaded external tuner plugin ours", Tuner::Plugin("ours")),
            ("External tuner plugin ours is unsupported", Tuner::None),
            ("Using built-in CSV tuner, config: <embedded>/a.csv", Tuner::BuiltIn("<embedded>/a.csv")),
            ("NCCLX TUNER: using built-in tuner (NCCLX_TUNER_CONFIG_FILE set)", Tuner::Plugin("NCCLX")),
        ] {
            assert_eq!(parse(text), Some(Line::Loaded(tuner)), "{text}");
        }
    }

    #[test]
    fn forms_have_the_releases_that_print_them() {
        use Library::{Nccl, Rccl};
        let decision = |text: &'static str| parse(text).expect("it is a decision");
        let oldest = decision("8 Bytes -> Algo 1 proto 2 time 187.125000");
        let middle = decision("AllReduce: 8 Bytes -> Algo 0 proto 0 time 31.5");
        let newest = decision("AllReduce: 8 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}");
        let nccl =
            |line: &Line<'_>| [20, 22, 23, 24, 30].map(|minor| is_printed(line, Nccl, Version::release(2, minor, 5)));
        assert_eq!(nccl(&oldest), [true, true, false, false, false]);
        assert_eq!(nccl(&middle), [false, false, true, false, false]);
        assert_eq!(nccl(&newest), [false, false, false, true, true]);
        assert!(
            is_printed(&newest, Rccl, Version::release(2, 26, 6))
                && !is_printed(&newest, Rccl, Version::release(2, 22, 3))
        );
        let taken = decision("AllReduce impl selected: algo DDA-IPC");
        assert!(
            is_printed(&taken, Rccl, Version::release(2, 31, 2))
                && !is_printed(&taken, Rccl, Version::release(2, 30, 7))
        );
    }

    /// The numbers of a line of each format, written and read.
    fn written(form: usize, at: usize, size: u64, small: [u32; 4]) -> (String, Line<'static>) {
        let [a, b, c, d] = small;
        let (name, collective) = TUNED[at % TUNED.len()];
        let algorithm = Algorithm::ALL[1 + at % 7];
        let protocol = Protocol::ALL[at % 3];
        let (code, proto) = (algorithm.code(), protocol.code());
        let last = (a + b).min(1023);
        let decision =
            |collective, detail| Line::Decision(Decision { collective, size_bytes: size, algorithm, protocol, detail });
        let answer = |source, channels| {
            Line::Answer(Answer { source, collective, size_bytes: size, algorithm, protocol, channels })
        };
        let number = FUNCTIONS.iter().position(|known| *known == collective).expect("it is tuned");
        let time = f64::from(c) / 8.0;
        match form {
            0 => (
                format!("{size} Bytes -> Algo {code} proto {proto} time {time:.6}"),
                decision(None, Detail::Time(time)),
            ),
            1 => (
                format!("{name}: {size} Bytes -> Algo {code} proto {proto} time {time:.6}"),
                decision(Some(collective), Detail::Time(time)),
            ),
            2 => (
                format!("{name}: {size} Bytes -> Algo {algorithm} proto {protocol} channel{{Lo..Hi}}={{{a}..{last}}}"),
                decision(Some(collective), Detail::Channels(a, last)),
            ),
            3 => (
                format!("{name} [Symmetric]: {size} Bytes -> Kernel {name}_AGxLL_R nchannels {a} nthreads {c}"),
                Line::Symmetric { collective, size_bytes: size, channels: a, threads: c, works: None },
            ),
            4 => (
                format!("{name} [Symmetric]: {size} Bytes -> Kernel K nchannels {a} nthreads {c} nWorks {d}"),
                Line::Symmetric { collective, size_bytes: size, channels: a, threads: c, works: Some(d) },
            ),
            5 => (
                format!("{name} [Copy Engine]: {size} Bytes -> cudaMemcpyBatch; CE synchronization with NVLS"),
                Line::CopyEngine { collective, size_bytes: size },
            ),
            6 => (
                format!("{name} [Hierarchical CE]: {size} Bytes -> RMA proxy + CE"),
                Line::HierarchicalCopyEngine { collective, size_bytes: size },
            ),
            7 => (
                format!(
                    "{name}: opCount {a:x} sendbuff 0x7 recvbuff (nil) count {size} datatype 9 op {b} root 0 comm 0x56 \
                     [nranks={}] stream 0x57 task 0 globalrank {d}",
                    c + 1
                ),
                Line::Call(Call {
                    kind: CallKind::Collective,
                    collective,
                    count: size,
                    datatype: 9,
                    operation: b,
                    comm: "0x56",
                    ranks: Some(c + 1),
                    rank: Some(d),
                }),
            ),
            8 => (
                format!("{name}: tuner chunk size {size} exceeds buffer max {a}, clamping"),
                Line::ClampedChunk { collective, asked_bytes: size, limit_bytes: a.into() },
            ),
            9 => (
                format!("TUNER/CsvTuner: Initializing built-in CSV tuner for {a} nodes, {b} ranks"),
                Line::TunerScale { source: Source::CsvTuner, nodes: a, ranks: b },
            ),
            10 => (
                format!(
                    "TUNER/CsvTuner: Loaded config: allreduce [{a}-{size}] ring/ll channels=-1 nodes={c} ranks={d}"
                ),
                Line::CsvTunerRule {
                    min_bytes: a.into(),
                    max_bytes: size,
                    channels: -1,
                    nodes: c as i32,
                    ranks: d as i32,
                },
            ),
            11 => (
                format!(
                    "TUNER/CsvTuner: Applied config for {}, bytes={size}: algo={}, proto={}, channels={a}",
                    name.to_lowercase(),
                    algorithm.name().to_lowercase(),
                    protocol.name().to_lowercase()
                ),
                answer(Source::CsvTuner, Some(a as i32)),
            ),
            12 => (
                format!(
                    "NET/OFI Region Tuner choosing algo {code} proto {proto} with cost 0.00000000 µsecs for coll {number} \
                     size {size}."
                ),
                answer(Source::Ofi, None),
            ),
            13 => (
                format!(
                    "NCCLX TUNER: matched rule for collType={number} nBytes={size} (bytesPerRank=[0,1048576] nNodes=* \
                     nLocalRanks=*) -> algo={code} proto={proto} channels=-1"
                ),
                answer(Source::Ncclx, Some(-1)),
            ),
            14 => (
                format!("NET/OFI Falling back to NCCL's tuner for coll {number} size {size}."),
                Line::LeftToLibrary { collective, size_bytes: size },
            ),
            15 => (
                format!(
                    "RCCL DIRECT ALLGATHER count = {a}, msgSize = {size}, comm = 0x56, stream = 0x57, rank = {d}, \
                     sendbuff = 0x7f00, recvbuff = 0x7f10"
                ),
                Line::DirectAllGather { count: a.into(), size_bytes: size, comm: "0x56", rank: d },
            ),
            16 => (
                format!("ncclDdaIpcCommInit: scratch {size} bytes, IpcGpuBarrier nBlocks={b}"),
                Line::DdaPossible { scratch_bytes: size },
            ),
            17 => (
                format!("{name}: taking DDA fabric LL path: nRanks={a} nNodes={b} count={c} datatype=9 bytes={size}"),
                Line::DdaTaken { collective, ranks: a, nodes: b, size_bytes: size },
            ),
            18 => (
                format!("ncclCommInitRank comm 0x56 rank {a} nRanks {b} nNodes {c} localRanks {d} localRank 0 MNNVL 0"),
                Line::Communicator(Communicator {
                    comm: "0x56",
                    rank: a,
                    ranks: b,
                    nodes: Some(c),
                    local_ranks: Some(d),
                }),
            ),
            19 => (
                format!("NCCLX TUNER: initialized for {a} node(s), {b} rank(s), {c} rule(s)"),
                Line::TunerScale { source: Source::Ncclx, nodes: a, ranks: b },
            ),
            _ => (
                format!("TUNER/CsvTuner: Loaded {size} tuning configurations from <embedded>/a.csv"),
                Line::RulesLoaded { source: Source::CsvTuner, rules: size },
            ),
        }
    }

    proptest! {
        #[test]
        fn numbers_of_every_format_are_read_back(
            form in 0_usize..21,
            at in 0_usize..105,
            size in prop_oneof![Just(0), Just(u64::MAX >> 1), any::<u64>()],
            small in proptest::array::uniform4(0_u32..1024),
        ) {
            let (text, line) = written(form, at, size, small);
            let whole = format!("node0:102:102 [0] NCCL INFO {text}");
            let (before, spoken) = spoken(&whole);
            prop_assert_eq!(before, "node0:102:102 [0] ");
            prop_assert_eq!(spoken.len(), 1);
            prop_assert_eq!(spoken[0].0, Some("node0:102:102"));
            prop_assert_eq!(parse(spoken[0].1), Some(line));
            // A line that another rank cuts short is torn, or says less; it never says other numbers of a decision.
            let end = (0..=text.len() / 2).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            let torn = parse(&text[..end]);
            prop_assert!(!matches!(torn, Some(Line::Decision(_) | Line::Call(_) | Line::Answer(_))), "{:?}", torn);
        }

        #[test]
        fn nothing_that_is_read_panics(text in "\\PC{0,200}", mark in 0_usize..24, at in 0_usize..200) {
            const MARKED: [&str; 24] = [
                " Bytes -> ", " Bytes -> Algo ", ": opCount ", "NCCL INFO ", "NCCL WARN ", "channel{Lo..Hi}={", "}..{",
                " [Symmetric]: 1 Bytes -> Kernel", "] 1 Bytes -> ", "TUNER/CsvTuner: Loaded config: [-]",
                "TUNER/CsvTuner: Applied config for ", "Region Tuner choosing ", "NCCLX TUNER: matched rule for ",
                "RCCL DIRECT ALLGATHER count = ", "ncclDdaIpcCommInit: scratch ", " impl selected: algo ",
                ": taking DDA fabric ", ": tuner chunk size 1 exceeds buffer max ", " set by environment to ",
                "RCCL version : ", "comm 0x5 rank 0 nranks ", "TUNER/CsvTuner: Initializing built-in CSV tuner for ",
                "Opened tuner: ", "No algorithm/protocol available for function ",
            ];
            let mut at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let text = format!("{}{}{}", &text[..at], MARKED[mark], &text[at..]);
            let (before, spoken) = spoken(&text);
            parse(before);
            for (_, piece) in spoken {
                if let Some(line) = parse(piece) {
                    line.printed_by();
                }
            }
            if is_told(&text) {
                prop_assert!(parse(&text).is_some());
            }
        }
    }
}
