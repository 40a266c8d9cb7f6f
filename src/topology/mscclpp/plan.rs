//! A plan as JSON has it, with its three levels of numbers resolved to ranks, channels and buffers.

use serde_json::Value;

use super::faults::{Fault, FaultKind};
use crate::text::excerpt;

/// The most operations of a thread block, which MSCCL++ checks.
pub(super) const MOST_OPERATIONS: usize = 64;
/// The most channels of one type of a thread block, and remote buffers: bounds of arrays that MSCCL++ does not check.
pub(super) const MOST_CHANNELS: usize = 16;
/// The most channels of an operation.
pub(super) const MOST_OPERATION_CHANNELS: usize = 8;
/// The most buffers of an operation.
const MOST_OPERATION_BUFFERS: usize = 10;
/// The most semaphores of a GPU, and barriers.
pub(super) const MOST_SEMAPHORES: usize = 16;
/// The most threads of a block.
const MOST_THREADS: u64 = 1024;
/// The most GPUs of a plan that is run here.
const MOST_GPUS: usize = 1024;
/// The most chunks of a buffer that is run here.
const MOST_CHUNKS: u64 = 1 << 20;
/// The most faults that are kept.
pub(super) const MOST_FAULTS: usize = 200;

/// A buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Buffer {
    /// The user's input.
    Input,
    /// The user's output.
    Output,
    /// Memory of MSCCL++.
    Scratch,
}

impl Buffer {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "i" => Self::Input,
            "o" => Self::Output,
            "s" => Self::Scratch,
            _ => return None,
        })
    }

    /// The letter of a plan.
    pub const fn letter(self) -> char {
        match self {
            Self::Input => 'i',
            Self::Output => 'o',
            Self::Scratch => 's',
        }
    }
}

/// How two ranks are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChannelType {
    /// Loads and stores over NVLink or the like.
    Memory,
    /// Transfers by a proxy, also over a network.
    Port,
    /// Loads and stores over a switch that reduces and multicasts.
    Switch,
}

impl ChannelType {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "memory" => Self::Memory,
            "port" => Self::Port,
            "switch" => Self::Switch,
            _ => return None,
        })
    }

    /// The word of a plan.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Port => "port",
            Self::Switch => "switch",
        }
    }
}

/// The ranks of a switch channel, and the buffer of each that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SwitchChannel {
    pub(super) buffer: Buffer,
    pub(super) ranks: Vec<u32>,
}

/// One end of a channel between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The rank at the other end.
    pub(super) peer: u32,
    /// The index of the other end among those of the peer, of both types.
    pub(super) other: usize,
}

/// How a plan names a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// By its `type`.
    Local,
    /// By a `buffer_id`.
    Remote,
    /// By a `switch_channel_id`.
    Switch,
}

impl Via {
    const fn what(self) -> &'static str {
        match self {
            Self::Local => "a local buffer",
            Self::Remote => "a remote buffer",
            Self::Switch => "a switch channel",
        }
    }
}

/// Where an operation reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The ranks whose buffers it is about: one, or those of a switch.
    pub(super) ranks: Vec<u32>,
    /// How it is named.
    pub(super) via: Via,
    pub(super) buffer: Buffer,
    /// The first chunk, and the number of chunks.
    pub(super) index: u32,
    pub(super) size: u32,
}

/// What an operation does. See `OperationType` of MSCCL++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nop,
    Barrier,
    Signal,
    Wait,
    RelaxedSignal,
    RelaxedWait,
    Flush,
    SemaphoreAcquire,
    SemaphoreRelease,
    /// Copies each source to each destination: `copy`, `put`, `get`, and puts that signal.
    Copy {
        signals: bool,
        is_get: bool,
    },
    /// The first source and all others are added; the sum goes to every destination.
    Reduce,
    /// Loads from all ranks of a switch, adds, and stores to all.
    SwitchReduce,
    /// Stores to all ranks of a switch.
    SwitchStore,
    /// Packets: the sources from `first_packet` on are packets, and so are the destinations from `first_sent` on.
    Packets {
        first_packet: usize,
        first_sent: usize,
    },
}

impl Kind {
    fn parse(word: &str) -> Option<Self> {
        let copy = Self::Copy { signals: false, is_get: false };
        let packets = |first_packet, first_sent| Self::Packets { first_packet, first_sent };
        Some(match word {
            "nop" => Self::Nop,
            "barrier" => Self::Barrier,
            "signal" => Self::Signal,
            "wait" => Self::Wait,
            "rlxsignal" => Self::RelaxedSignal,
            "rlxwait" => Self::RelaxedWait,
            "flush" => Self::Flush,
            "sem_acquire" => Self::SemaphoreAcquire,
            "sem_release" => Self::SemaphoreRelease,
            "put" | "copy" => copy,
            "get" => Self::Copy { signals: false, is_get: true },
            "pws" | "pwsf" => Self::Copy { signals: true, is_get: false },
            "re" | "rre" | "res" | "rres" => Self::Reduce,
            "glres" => Self::SwitchReduce,
            "gstore" => Self::SwitchStore,
            "ppkt" | "cpkt" => packets(1, 0),
            "gstorepkt" => packets(1, 0),
            "upkt" => packets(0, usize::MAX),
            "rppkt" => packets(0, 0),
            "repkt" | "respkt" | "recpkt" | "recspkt" => packets(1, 1),
            _ => return None,
        })
    }
}

/// How the kernel takes the buffers of an operation. See `execution_kernel.hpp`.
struct Operands {
    /// The first source, and the others, if there may be.
    sources: Pair,
    /// The first destination, and the others, if there may be.
    destinations: Pair,
    /// The second destination is local like the first.
    second_is_local: bool,
    /// Each source goes to the destination at its place.
    in_pairs: bool,
}

/// The first of a list, and the others.
type Pair = (Via, Option<Via>);

impl Operands {
    /// Those of an operation by its word; `None` where nothing is known of them.
    fn of(word: &str) -> Option<Self> {
        use Via::{Local, Remote, Switch};
        let (sources, destinations) = match word {
            "copy" | "cpkt" | "upkt" => ((Local, None), (Local, None)),
            "put" | "pws" | "pwsf" | "ppkt" => ((Local, Some(Local)), (Remote, Some(Remote))),
            "get" => ((Remote, Some(Remote)), (Local, Some(Local))),
            "re" | "repkt" | "recpkt" => ((Local, Some(Local)), (Local, None)),
            "res" | "respkt" | "recspkt" => ((Local, Some(Local)), (Local, Some(Remote))),
            "rre" => ((Local, Some(Remote)), (Local, None)),
            "rres" => ((Local, Some(Remote)), (Local, Some(Remote))),
            "rppkt" => ((Local, None), (Remote, Some(Remote))),
            "glres" => ((Switch, None), (Switch, None)),
            "gstore" => ((Local, None), (Switch, None)),
            _ => return None,
        };
        let second_is_local = matches!(word, "recpkt" | "recspkt");
        let in_pairs = matches!(word, "put" | "pws" | "pwsf" | "ppkt" | "get");
        Some(Self { sources, destinations, second_is_local, in_pairs })
    }
}

/// An operation of a thread block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// The word of the plan.
    pub(super) word: String,
    pub(super) kind: Kind,
    pub(super) sources: Vec<Span>,
    pub(super) destinations: Vec<Span>,
    /// Ends of the rank's channels.
    pub(super) channels: Vec<usize>,
    /// Whether its channels are ports: what it puts is carried out later, by a proxy.
    pub(super) is_over_port: bool,
    pub(super) semaphores: Vec<usize>,
    /// The place of its block among those that share it, and their number.
    pub(super) share: (u32, u32),
    /// For a barrier its number, and how many blocks meet at it.
    pub(super) barrier: (usize, usize),
    /// Its number in the thread block.
    pub(super) number: u32,
    /// The part of its chunks that it is about, as (part, parts): the passes of a pipeline.
    pub(super) pass: (u32, u32),
}

/// A thread block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The operations, those of pipelines as often as they are passed here.
    pub(super) operations: Vec<Operation>,
}

/// The program of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Chunks of input, output and scratch.
    pub(super) chunks: [u32; 3],
    /// The ends of channels to other ranks, memory before port.
    pub(super) ends: Vec<End>,
    /// The number of ends over memory.
    pub(super) memory_ends: usize,
    switches: Vec<SwitchChannel>,
    /// Where semaphores begin.
    pub(super) semaphores: Vec<u32>,
    /// The thread blocks.
    pub blocks: Vec<Block>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The collective, as the plan writes it: `allreduce`.
    pub collective: String,
    /// Whether input and output are one buffer.
    pub in_place: bool,
    /// Whether every other launch uses a second scratch.
    pub(super) has_double_scratch: bool,
    /// A `reduce_op` other than a sum.
    pub(super) other_reduction: Option<String>,
    /// The program of each GPU.
    pub gpus: Vec<Gpu>,
}

impl Plan {
    /// The operations of all thread blocks.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.gpus.iter().flat_map(|gpu| &gpu.blocks).flat_map(|block| &block.operations)
    }

    /// The pairs of ranks between which operations move data, sender and receiver.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (rank, gpu) in (0..).zip(&self.gpus) {
            for operation in gpu.blocks.iter().flat_map(|block| &block.operations) {
                let ranks = |spans: &[Span]| spans.iter().flat_map(|span| span.ranks.clone()).collect::<Vec<_>>();
                pairs.extend(ranks(&operation.sources).into_iter().map(|from| (from, rank)));
                pairs.extend(ranks(&operation.destinations).into_iter().map(|to| (rank, to)));
            }
        }
        pairs.retain(|(from, to)| from != to);
        pairs.sort_by_cached_key(|(from, to)| u64::from(*from) << 32 | u64::from(*to));
        pairs.dedup();
        pairs
    }
}

/// Where a fault is found.
#[derive(Clone, Copy, Default)]
struct Place {
    gpu: Option<u32>,
    block: Option<u32>,
    operation: Option<u32>,
}

/// Reads values, and collects faults.
#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
    has_double_scratch: bool,
    other_reduction: Option<String>,
}

impl Reader {
    fn say(&mut self, place: Place, kind: FaultKind, what: impl Into<String>) {
        if self.faults.len() < MOST_FAULTS {
            let Place { gpu, block, operation } = place;
            self.faults.push(Fault { kind, gpu, block, operation, what: what.into() });
        }
    }

    fn list<'a>(&mut self, place: Place, of: &'a Value, key: &str, is_needed: bool) -> &'a [Value] {
        match of.get(key) {
            Some(Value::Array(list)) => list,
            None if !is_needed => &[],
            None => {
                self.say(place, FaultKind::Schema, format!("there is no {key}"));
                &[]
            }
            Some(_) => {
                self.say(place, FaultKind::Schema, format!("{key} is no list"));
                &[]
            }
        }
    }

    fn word<'a>(&mut self, place: Place, of: &'a Value, key: &str) -> &'a str {
        of.get(key).and_then(Value::as_str).unwrap_or_else(|| {
            self.say(place, FaultKind::Schema, format!("{key} is no text"));
            ""
        })
    }

    fn number(&mut self, place: Place, of: &Value, key: &str, most: u64) -> u64 {
        match of.get(key).and_then(Value::as_u64) {
            Some(number) if number <= most => number,
            Some(number) => {
                self.say(place, FaultKind::Limit, format!("{key} is {number}, and at most {most} is possible"));
                0
            }
            None => {
                self.say(place, FaultKind::Schema, format!("{key} is no whole number"));
                0
            }
        }
    }

    /// The whole numbers of a list, each below `end`.
    fn numbers(&mut self, place: Place, of: &Value, key: &str, end: usize) -> Vec<usize> {
        let mut numbers = Vec::new();
        for value in self.list(place, of, key, false) {
            match value.as_u64().and_then(|number| usize::try_from(number).ok()) {
                Some(number) if number < end => numbers.push(number),
                Some(number) => {
                    let what = match end {
                        0 => format!("{key} has {number}, and there is none"),
                        end => format!("{key} has {number}, and they are numbered 0 to {}", end - 1),
                    };
                    self.say(place, FaultKind::Load, what);
                }
                None => self.say(place, FaultKind::Schema, format!("{key} has what is no whole number")),
            }
        }
        numbers
    }

    fn at_most(&mut self, place: Place, number: usize, most: usize, what: &str) {
        if number > most {
            self.say(place, FaultKind::Limit, format!("{number} {what} are more than the {most} of MSCCL++"));
        }
    }
}

/// What the blocks of a GPU choose from.
struct Choice<'a> {
    gpu: &'a Gpu,
    remotes: Vec<(u32, Buffer)>,
    all_chunks: &'a [[u32; 3]],
}

/// What the operations of a block choose from.
struct BlockChoice<'a> {
    of: &'a Choice<'a>,
    rank: u32,
    /// Ends of channels over memory and over ports, and switches.
    channels: [Vec<usize>; 3],
    /// Remote buffers by the type of access.
    remotes: [Vec<usize>; 2],
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// Returns all faults that keep it from being run: of its form, and those for which MSCCL++ refuses it.
    pub fn read(text: &str) -> Result<Self, Vec<Fault>> {
        let json: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| vec![Fault::of_plan(FaultKind::Schema, format!("is no JSON: {error}"))])?;
        let (mut reader, whole) = (Reader::default(), Place::default());
        let collective = reader.word(whole, &json, "collective").to_owned();
        reader.word(whole, &json, "name");
        let protocol = reader.word(whole, &json, "protocol");
        if !["", "LL", "Simple"].contains(&protocol) {
            let what = format!("protocol is \"{}\", and LL and Simple are known", excerpt(protocol));
            reader.say(whole, FaultKind::Load, what);
        }
        let in_place = json.get("inplace").and_then(Value::as_bool);
        if in_place.is_none() {
            reader.say(whole, FaultKind::Schema, "inplace is neither true nor false");
        }
        for (key, most) in [("num_threads_per_block", MOST_THREADS), ("buffer_alignment", u32::MAX.into())] {
            if json.get(key).is_some() && reader.number(whole, &json, key, most) == 0 {
                reader.say(whole, FaultKind::Load, format!("{key} is 0"));
            }
        }
        let size = |key: &str| json.get(key).and_then(Value::as_u64);
        if let (Some(least), Some(most)) = (size("min_message_size"), size("max_message_size"))
            && least > most
        {
            let what = format!("min_message_size is {least} and max_message_size {most}: it is used for no size");
            reader.say(whole, FaultKind::Load, what);
        }
        let gpus = reader.list(whole, &json, "gpus", true);
        if gpus.len() > MOST_GPUS {
            reader.say(
                whole,
                FaultKind::Limit,
                format!("it has {} GPUs, and at most {MOST_GPUS} are run here", gpus.len()),
            );
            return Err(reader.faults);
        }
        let mut made: Vec<Gpu> = gpus.iter().zip(0..).map(|(gpu, rank)| reader.gpu(gpu, rank, gpus.len())).collect();
        reader.pair(&mut made);
        let all_chunks: Vec<[u32; 3]> = made.iter().map(|gpu| gpu.chunks).collect();
        let has_double_scratch = match json.get("use_double_scratch_buffer") {
            None => false,
            Some(value) => value.as_bool().unwrap_or_else(|| {
                reader.say(whole, FaultKind::Schema, "use_double_scratch_buffer is neither true nor false");
                false
            }),
        };
        reader.has_double_scratch = has_double_scratch;
        let in_place = in_place.unwrap_or_default();
        let mut plan = Self { collective, in_place, has_double_scratch, ..Self::default() };
        for (rank, (gpu, json)) in (0..).zip(made.iter().zip(gpus)) {
            let remotes = reader.remotes(json, rank, made.len());
            let choice = Choice { gpu, remotes, all_chunks: &all_chunks };
            let blocks = reader.blocks(json, rank, &choice);
            plan.gpus.push(Gpu { blocks, ..gpu.clone() });
        }
        plan.other_reduction = reader.other_reduction.take();
        if reader.faults.is_empty() && plan.gpus.is_empty() {
            reader.say(whole, FaultKind::Schema, "it has no GPU");
        }
        if reader.faults.is_empty() { Ok(plan) } else { Err(reader.faults) }
    }
}

impl Reader {
    /// Chunks, channels and semaphores of a GPU.
    fn gpu(&mut self, json: &Value, rank: u32, ranks: usize) -> Gpu {
        let place = Place { gpu: Some(rank), ..Place::default() };
        if self.number(place, json, "id", u64::MAX) != u64::from(rank) {
            self.say(place, FaultKind::Load, "its id is not its place in the list");
        }
        let chunks = ["input_chunks", "output_chunks", "scratch_chunks"]
            .map(|key| self.number(place, json, key, MOST_CHUNKS) as u32);
        for key in ["input_chunks", "output_chunks"] {
            if json.get(key).and_then(Value::as_u64) == Some(0) {
                self.say(place, FaultKind::Load, format!("{key} is 0, and MSCCL++ divides by it"));
            }
        }
        let mut gpu = Gpu { chunks, ..Gpu::default() };
        let mut ports = Vec::new();
        for channel in self.list(place, json, "channels", true) {
            let word = self.word(place, channel, "channel_type");
            match ChannelType::parse(word) {
                Some(ChannelType::Switch) => {
                    let buffer = channel.get("buffer_type").and_then(Value::as_str).and_then(Buffer::parse);
                    if buffer.is_none() {
                        self.say(place, FaultKind::Load, "a switch channel has no buffer_type");
                    }
                    for group in self.list(place, channel, "rank_groups", true) {
                        let ranks = self.numbers(place, group, "ranks", ranks);
                        let ranks: Vec<u32> = ranks.into_iter().map(|rank| rank as u32).collect();
                        if ranks.contains(&rank) {
                            gpu.switches.push(SwitchChannel { buffer: buffer.unwrap_or(Buffer::Scratch), ranks });
                        }
                    }
                }
                Some(kind) => {
                    for peer in self.numbers(place, channel, "connected_to", ranks) {
                        if peer == rank as usize {
                            self.say(place, FaultKind::Load, "a channel leads from a GPU to itself");
                        }
                        let end = End { peer: peer as u32, other: 0 };
                        if kind == ChannelType::Memory { gpu.ends.push(end) } else { ports.push(end) }
                    }
                }
                None => self.say(place, FaultKind::Load, format!("there is no channel_type \"{}\"", excerpt(word))),
            }
        }
        gpu.memory_ends = gpu.ends.len();
        gpu.ends.extend(ports);
        let semaphores = self.list(place, json, "semaphores", false);
        self.at_most(place, semaphores.len(), MOST_SEMAPHORES, "semaphores");
        for semaphore in semaphores {
            let begin = self.number(place, semaphore, "init_value", u32::MAX.into());
            gpu.semaphores.push(begin as u32);
        }
        gpu
    }

    /// Pairs the k-th channel of a type from one rank to another with the k-th back.
    fn pair(&mut self, gpus: &mut [Gpu]) {
        for rank in 0..gpus.len() {
            let memory_ends = gpus[rank].memory_ends;
            for own in 0..gpus[rank].ends.len() {
                let is_memory = own < memory_ends;
                let range = |gpu: &Gpu| if is_memory { 0..gpu.memory_ends } else { gpu.memory_ends..gpu.ends.len() };
                let peer = gpus[rank].ends[own].peer as usize;
                let before = range(&gpus[rank]).take_while(|end| *end < own);
                let place = before.filter(|end| gpus[rank].ends[*end].peer as usize == peer).count();
                let other = range(&gpus[peer]).filter(|end| gpus[peer].ends[*end].peer as usize == rank).nth(place);
                match other {
                    Some(other) => gpus[rank].ends[own].other = other,
                    None => {
                        let place = Place { gpu: Some(rank as u32), ..Place::default() };
                        let kind = if is_memory { ChannelType::Memory } else { ChannelType::Port };
                        let what = format!("GPU {peer} has no {} channel back for channel {own} to it", kind.word());
                        self.say(place, FaultKind::Load, what);
                    }
                }
            }
        }
    }

    fn remotes(&mut self, json: &Value, rank: u32, ranks: usize) -> Vec<(u32, Buffer)> {
        let place = Place { gpu: Some(rank), ..Place::default() };
        let mut remotes = Vec::new();
        for remote in self.list(place, json, "remote_buffers", true) {
            let peer = self.number(place, remote, "rank", ranks.saturating_sub(1) as u64) as u32;
            let word = self.word(place, remote, "type");
            let buffer = Buffer::parse(word);
            if buffer.is_none() {
                self.say(place, FaultKind::Load, format!("there is no buffer \"{}\"", excerpt(word)));
            }
            remotes.push((peer, buffer.unwrap_or(Buffer::Scratch)));
        }
        remotes
    }

    fn blocks(&mut self, json: &Value, rank: u32, choice: &Choice<'_>) -> Vec<Block> {
        let of_gpu = Place { gpu: Some(rank), ..Place::default() };
        let mut blocks = Vec::new();
        for (number, json) in (0..).zip(self.list(of_gpu, json, "threadblocks", true)) {
            let place = Place { block: Some(number), ..of_gpu };
            if self.number(place, json, "id", u64::MAX) != u64::from(number) {
                self.say(place, FaultKind::Load, "its id is not its place in the list");
            }
            let gpu = choice.gpu;
            let ports = gpu.ends.len() - gpu.memory_ends;
            let mut own = BlockChoice { of: choice, rank, channels: Default::default(), remotes: Default::default() };
            for channel in self.list(place, json, "channels", false) {
                let word = self.word(place, channel, "channel_type");
                let Some(kind) = ChannelType::parse(word) else {
                    self.say(place, FaultKind::Load, format!("there is no channel_type \"{}\"", excerpt(word)));
                    continue;
                };
                let there = [gpu.memory_ends, ports, gpu.switches.len()][kind as usize];
                let first = if kind == ChannelType::Port { gpu.memory_ends } else { 0 };
                let numbers = self.numbers(place, channel, "channel_ids", there);
                own.channels[kind as usize].extend(numbers.into_iter().map(|number| first + number));
            }
            for channels in &own.channels {
                self.at_most(place, channels.len(), MOST_CHANNELS, "channels of a type");
            }
            for refs in self.list(place, json, "remote_buffer_refs", false) {
                let word = self.word(place, refs, "access_channel_type");
                let kind = ChannelType::parse(word).filter(|kind| *kind != ChannelType::Switch);
                let numbers = self.numbers(place, refs, "remote_buffer_ids", choice.remotes.len());
                match kind {
                    Some(kind) => own.remotes[kind as usize].extend(numbers),
                    None => {
                        self.say(
                            place,
                            FaultKind::Load,
                            format!("there is no access_channel_type \"{}\"", excerpt(word)),
                        );
                    }
                }
            }
            for remotes in &own.remotes {
                self.at_most(place, remotes.len(), MOST_CHANNELS, "remote buffers of a type");
            }
            let mut block = Block::default();
            let mut next = 0;
            for operation in self.list(place, json, "ops", true) {
                self.operation(operation, place, &own, &mut next, &mut block.operations);
            }
            self.at_most(place, next as usize, MOST_OPERATIONS, "operations");
            blocks.push(block);
        }
        blocks
    }

    /// Adds an operation, or those of a pipeline for each of its passes here.
    fn operation(&mut self, json: &Value, of: Place, own: &BlockChoice<'_>, next: &mut u32, all: &mut Vec<Operation>) {
        /// The passes of a pipeline that are run: each is about a part of every chunk.
        const PASSES: u32 = 2;
        let place = Place { operation: Some(*next), ..of };
        let word = self.word(place, json, "name");
        if word != "pipeline" {
            let made = self.made(json, place, own, word);
            *next += 1;
            all.extend(made);
            return;
        }
        *next += 1;
        let context = json.get("iter_context").unwrap_or(&Value::Null);
        self.number(place, context, "unit_size", u32::MAX.into());
        self.number(place, context, "num_chunks", MOST_CHUNKS);
        let mut inner = Vec::new();
        for operation in self.list(place, json, "ops", true) {
            let place = Place { operation: Some(*next), ..of };
            let word = self.word(place, operation, "name");
            inner.extend(self.made(operation, place, own, word));
            *next += 1;
        }
        for pass in 0..PASSES {
            all.extend(inner.iter().map(|operation| Operation { pass: (pass, PASSES), ..operation.clone() }));
        }
    }

    fn made(&mut self, json: &Value, place: Place, own: &BlockChoice<'_>, word: &str) -> Option<Operation> {
        let Some(kind) = Kind::parse(word) else {
            if word == "pipeline" {
                self.say(place, FaultKind::Load, "a pipeline in a pipeline");
            } else {
                self.say(place, FaultKind::Load, format!("there is no operation \"{}\"", excerpt(word)));
            }
            return None;
        };
        let gpu = own.of.gpu;
        let channel_type = match json.get("channel_type") {
            None => None,
            Some(_) => {
                let word = self.word(place, json, "channel_type");
                let known = ChannelType::parse(word);
                if known.is_none() {
                    self.say(place, FaultKind::Load, format!("there is no channel_type \"{}\"", excerpt(word)));
                }
                known
            }
        };
        let of_type = channel_type.map_or(&[][..], |kind| &own.channels[kind as usize]);
        let channels: Vec<usize> =
            self.numbers(place, json, "channel_ids", of_type.len()).into_iter().map(|id| of_type[id]).collect();
        self.at_most(place, channels.len(), MOST_OPERATION_CHANNELS, "channels");
        let spans = |reader: &mut Self, key: &str| -> Vec<Span> {
            let all = reader.list(place, json, key, false);
            reader.at_most(place, all.len(), MOST_OPERATION_BUFFERS, "buffers");
            all.iter().filter_map(|span| reader.span(span, place, own, channel_type)).collect()
        };
        let (sources, destinations) = (spans(self, "src_buff"), spans(self, "dst_buff"));
        let moves = matches!(
            kind,
            Kind::Copy { .. } | Kind::Reduce | Kind::SwitchReduce | Kind::SwitchStore | Kind::Packets { .. }
        );
        if moves && (sources.is_empty() || destinations.is_empty()) {
            self.say(place, FaultKind::Schema, format!("{word} needs src_buff and dst_buff"));
            return None;
        }
        let needs_channels = matches!(
            kind,
            Kind::Signal | Kind::Wait | Kind::RelaxedSignal | Kind::RelaxedWait | Kind::Copy { signals: true, .. }
        );
        if needs_channels && (channels.is_empty() || channel_type == Some(ChannelType::Switch)) {
            self.say(place, FaultKind::Schema, format!("{word} needs channel_ids of memory or port channels"));
            return None;
        }
        if let [first, rest @ ..] = &sources.iter().chain(&destinations).collect::<Vec<_>>()[..]
            && let Some(other) = rest.iter().find(|span| span.size != first.size)
        {
            let what = format!("its buffers have {} and {} chunks", first.size, other.size);
            self.say(place, FaultKind::Load, what);
        }
        if moves {
            self.operands(place, word, (&sources, &destinations), (channel_type, channels.len()));
        }
        if let Some(reduction) = json.get("reduce_op").and_then(Value::as_str).filter(|word| *word != "sum") {
            self.other_reduction.get_or_insert_with(|| reduction.to_owned());
        }
        let semaphores = self.numbers(place, json, "semaphore_ids", gpu.semaphores.len());
        let mut barrier = (0, 0);
        if kind == Kind::Barrier {
            barrier.0 = self.number(place, json, "barrier_id", MOST_SEMAPHORES as u64 - 1) as usize;
            barrier.1 = self.number(place, json, "num_threadblocks", 1 << 16) as usize;
            if barrier.1 == 0 {
                self.say(place, FaultKind::Load, "a barrier of 0 thread blocks");
            }
        }
        let mut share = (0, 1);
        if let Some(group) = json.get("tbg_info") {
            share.1 = self.number(place, group, "tbg_size", 1 << 10) as u32;
            share.0 = self.number(place, group, "tb_id", (1 << 10) - 1) as u32;
            if share.0 >= share.1 {
                self.say(place, FaultKind::Load, format!("tb_id is {} of a group of {}", share.0, share.1));
                share = (0, 1);
            }
        }
        let number = place.operation.unwrap_or_default();
        let word = word.to_owned();
        Some(Operation {
            word,
            kind,
            sources,
            destinations,
            channels,
            is_over_port: channel_type == Some(ChannelType::Port),
            semaphores,
            share,
            barrier,
            number,
            pass: (0, 1),
        })
    }

    /// Checks that buffers are what the kernel takes them for: it looks at numbers and places of a list alone.
    fn operands(
        &mut self,
        place: Place,
        word: &str,
        (sources, destinations): (&[Span], &[Span]),
        (channel_type, channels): (Option<ChannelType>, usize),
    ) {
        let Some(takes) = Operands::of(word) else { return };
        let mut say = |what: String| self.say(place, FaultKind::Operands, format!("{word} {what}"));
        for (name, spans, (first, others)) in
            [("source", sources, takes.sources), ("destination", destinations, takes.destinations)]
        {
            for (number, span) in spans.iter().enumerate() {
                let expected = match number {
                    0 => first,
                    1 if takes.second_is_local && name == "destination" => Via::Local,
                    _ => match others {
                        Some(others) => others,
                        None => {
                            say(format!("passes over its {name} {number}"));
                            continue;
                        }
                    },
                };
                if span.via != expected {
                    say(format!("takes its {name} {number} as {}, and it is {}", expected.what(), span.via.what()));
                }
            }
        }
        if takes.in_pairs {
            if sources.len() != destinations.len() {
                say(format!(
                    "takes a source for each destination, and has {} and {}",
                    sources.len(),
                    destinations.len()
                ));
            }
            if takes.sources.0 == Via::Local && sources.iter().any(|span| span.buffer != sources[0].buffer) {
                say("takes all sources from the buffer of the first".to_owned());
            }
            if channel_type == Some(ChannelType::Port) && channels < destinations.len() {
                say(format!("takes a channel for each of its {} destinations, and has {channels}", destinations.len()));
            }
        }
        match (word, channel_type) {
            ("pws" | "pwsf", Some(ChannelType::Memory) | None) => say("sends no signal over memory".to_owned()),
            ("pwsf", Some(ChannelType::Port)) => {
                say("reads from a wrong place over ports: the kernel takes an address for the offset".to_owned());
            }
            _ => {}
        }
        let is_packets = matches!(Kind::parse(word), Some(Kind::Packets { .. }));
        let is_apart = |span: &&Span| span.via == Via::Remote && span.buffer == Buffer::Scratch;
        if self.has_double_scratch && !is_packets && sources.iter().chain(destinations).any(|span| is_apart(&span)) {
            let what = "accesses scratch of another GPU always in its first half, and use_double_scratch_buffer is set";
            self.say(place, FaultKind::Operands, format!("{word} {what}"));
        }
    }

    fn span(
        &mut self,
        json: &Value,
        place: Place,
        own: &BlockChoice<'_>,
        channel_type: Option<ChannelType>,
    ) -> Option<Span> {
        let index = self.number(place, json, "index", u32::MAX.into()) as u32;
        let size = self.number(place, json, "size", u32::MAX.into()) as u32;
        let number = |reader: &mut Self, key: &str| reader.number(place, json, key, u32::MAX.into()) as usize;
        let (ranks, buffer, via) = if json.get("switch_channel_id").is_some() {
            let id = number(self, "switch_channel_id");
            let switch = own.channels[ChannelType::Switch as usize].get(id).map(|id| &own.of.gpu.switches[*id]);
            let Some(switch) = switch else {
                self.say(place, FaultKind::Load, format!("its block has no switch channel {id}"));
                return None;
            };
            (switch.ranks.clone(), switch.buffer, Via::Switch)
        } else if json.get("buffer_id").is_some() {
            let id = number(self, "buffer_id");
            let kind = channel_type.filter(|kind| *kind != ChannelType::Switch).unwrap_or(ChannelType::Memory);
            let Some(id) = own.remotes[kind as usize].get(id) else {
                self.say(place, FaultKind::Load, format!("its block has no remote buffer {id} over {}", kind.word()));
                return None;
            };
            let (rank, buffer) = own.of.remotes[*id];
            (vec![rank], buffer, Via::Remote)
        } else {
            let word = self.word(place, json, "type");
            let Some(buffer) = Buffer::parse(word) else {
                self.say(place, FaultKind::Load, format!("there is no buffer \"{}\"", excerpt(word)));
                return None;
            };
            (vec![own.rank], buffer, Via::Local)
        };
        for rank in &ranks {
            let chunks = own.of.all_chunks[*rank as usize][buffer as usize];
            if u64::from(index) + u64::from(size) > u64::from(chunks) {
                let what = format!(
                    "chunks {index} to {} of {} on GPU {rank}, which has {chunks}",
                    u64::from(index) + u64::from(size.max(1)) - 1,
                    buffer.letter()
                );
                self.say(place, FaultKind::Bounds, what);
                return None;
            }
        }
        Some(Span { ranks, via, buffer, index, size })
    }
}
