//! The rules of the runtime's parser.

use std::fmt::Write as _;

use super::xml::{Element, parse};

/// The type of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Sends the source.
    Send,
    /// Receives into the destination.
    Receive,
    /// Copies locally.
    Copy,
    /// Adds the source to the destination locally.
    Reduce,
    /// Receives, copies to the destination and sends on.
    ReceiveCopySend,
    /// Receives, adds the source, stores in the destination.
    ReceiveReduceCopy,
    /// Receives, adds the source, sends on.
    ReceiveReduceSend,
    /// Receives, adds the source, stores in the destination and sends on.
    ReceiveReduceCopySend,
    /// Does nothing but wait.
    Nop,
}

impl Type {
    /// All types with their names in files.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Send, "s"),
        (Self::Receive, "r"),
        (Self::Copy, "cpy"),
        (Self::Reduce, "re"),
        (Self::ReceiveCopySend, "rcs"),
        (Self::ReceiveReduceCopy, "rrc"),
        (Self::ReceiveReduceSend, "rrs"),
        (Self::ReceiveReduceCopySend, "rrcs"),
        (Self::Nop, "nop"),
    ];

    /// The step's type as the attribute `type` says it, such as `rcs`.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(of, _)| *of == self).map_or("", |(_, word)| word)
    }

    /// Whether the step receives from the receive peer of its thread block.
    pub fn receives(self) -> bool {
        !matches!(self, Self::Send | Self::Copy | Self::Reduce | Self::Nop)
    }

    /// Whether the step sends to the send peer of its thread block.
    pub fn sends(self) -> bool {
        matches!(self, Self::Send | Self::ReceiveCopySend | Self::ReceiveReduceSend | Self::ReceiveReduceCopySend)
    }
}

/// A step of a thread block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether the step sends, receives, reduces or copies.
    pub what: Type,
    /// The buffer (`i`, `o` or `s`) and the offset from which it reads; −1 for none.
    pub source: (char, i64),
    /// The buffer and the offset to which it writes.
    pub destination: (char, i64),
    /// The number of contiguous chunks that the step moves.
    pub count: i64,
    /// The thread block and step of the same GPU that it waits for.
    pub depends: Option<(usize, usize)>,
    /// Whether another step waits for this one.
    pub is_awaited: bool,
}

/// A thread block: its steps run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadBlock {
    /// The rank to which it sends.
    pub send: Option<usize>,
    /// The rank from which it receives.
    pub receive: Option<usize>,
    /// The index of its channel.
    pub channel: usize,
    /// The steps, which run one after the other.
    pub steps: Vec<Step>,
}

/// The program of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// The sizes of the buffers `i`, `o` and `s`, in chunks.
    pub chunks: [i64; 3],
    /// The thread blocks, by index.
    pub blocks: Vec<ThreadBlock>,
}

/// An algorithm as MSCCL's runtime reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Algo {
    /// The algorithm's name, for people.
    pub name: String,
    /// The collective, as MSCCL names it.
    pub collective: String,
    /// The number of chunks into which the whole buffer is divided.
    pub chunks: i64,
    /// The number of channels, which thread blocks share.
    pub channels: usize,
    /// Whether it may be chosen for in-place calls.
    pub in_place: bool,
    /// Whether it may be chosen for out-of-place calls.
    pub out_of_place: bool,
    /// The programs of the ranks, by rank.
    pub gpus: Vec<Gpu>,
}

/// A violated rule, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct RuleError {
    /// The line of the XML file, from 1.
    pub line: u64,
    /// What the rule is and how it is violated.
    pub why: String,
}

/// The most steps of a thread block, and below the most thread blocks of a GPU (RCCL).
pub(super) const MOST_STEPS: usize = 64;
pub(super) const MOST_BLOCKS: usize = 64;
const MOST_CHANNELS: usize = 32;
const MOST_COUNT: i64 = 71;
/// The most chunks of a buffer, and below of all buffers together, that the interpreter here can run.
const MOST_CHUNKS: i64 = 1 << 16;
const MOST_IN_ALL: i64 = 1 << 22;
const COLLECTIVES: [&str; 11] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "broadcast",
    "reduce",
    "alltoall",
    "alltoallv",
    "gather",
    "scatter",
    "send",
    "recv",
];

impl Algo {
    /// Reads an algorithm by the rules of the runtime. Returns a [`RuleError`] for the first rule that is violated.
    pub fn read(text: &str) -> Result<Self, RuleError> {
        let broken = |line: u64, why: String| RuleError { line, why };
        let root = parse(text).map_err(|why| {
            // The XML reader puts the line before its message.
            let placed = why.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
            let placed = placed.and_then(|(line, why)| Some((line.parse().ok()?, why.to_owned())));
            let (line, why) = placed.unwrap_or((1, why));
            broken(line, why)
        })?;
        let fail = |element: &Element, why: String| Err(broken(element.line, why));
        if root.name != "algo" {
            return fail(&root, format!("<{}> where <algo> was expected", root.name));
        }
        let word = |element: &Element, name: &str| match element.get(name) {
            Some(value) if value.len() <= 255 => Ok(value.to_owned()),
            Some(_) => Err(broken(element.line, format!("{name} has more than 255 letters"))),
            None => Err(broken(element.line, format!("<{}> lacks {name}", element.name))),
        };
        let number = |element: &Element, name: &str| {
            let value = word(element, name)?;
            value
                .parse::<i64>()
                .ok()
                .ok_or_else(|| broken(element.line, format!("{name}=\"{value}\" is no whole number")))
        };
        let collective = word(&root, "coll")?;
        if !COLLECTIVES.contains(&collective.as_str()) {
            return fail(&root, format!("coll=\"{collective}\" is no collective"));
        }
        if !["Simple", "LL", "LL128"].contains(&word(&root, "proto")?.as_str()) {
            return fail(&root, "proto is none of Simple, LL and LL128".to_owned());
        }
        for name in ["minBytes", "maxBytes"] {
            number(&root, name)?;
        }
        let flag = |name: &str| Ok(number(&root, name)? == 1);
        let ranks = number(&root, "ngpus")?;
        let mut algo = Self {
            name: root.get("name").unwrap_or_default().to_owned(),
            collective,
            chunks: number(&root, "nchunksperloop")?,
            channels: usize::try_from(number(&root, "nchannels")?).unwrap_or(0),
            in_place: flag("inplace")?,
            out_of_place: flag("outofplace")?,
            gpus: Vec::new(),
        };
        if root.children.len() as i64 != ranks || root.children.len() > 1024 {
            return fail(&root, format!("ngpus=\"{ranks}\", and {} follow", root.children.len()));
        }
        if !(1..=MOST_CHUNKS).contains(&algo.chunks) {
            return fail(&root, format!("nchunksperloop=\"{}\" is not 1 to {MOST_CHUNKS}", algo.chunks));
        }
        let mut in_all = ranks * algo.chunks;
        if algo.channels == 0 || algo.channels > MOST_CHANNELS {
            return fail(&root, format!("nchannels is not 1 to {MOST_CHANNELS}"));
        }
        for (rank, gpu) in root.children.iter().enumerate() {
            if gpu.name != "gpu" || number(gpu, "id")? != rank as i64 {
                return fail(gpu, format!("<gpu id=\"{rank}\"> was expected"));
            }
            let chunks = [number(gpu, "i_chunks")?, number(gpu, "o_chunks")?, number(gpu, "s_chunks")?];
            if let Some(many) = chunks.iter().find(|many| !(0..=MOST_CHUNKS).contains(*many)) {
                return fail(gpu, format!("{many} chunks of a buffer are not 0 to {MOST_CHUNKS}"));
            }
            in_all += chunks.iter().sum::<i64>();
            if in_all > MOST_IN_ALL {
                return fail(gpu, format!("more than {MOST_IN_ALL} chunks in all buffers"));
            }
            let mut read = Gpu { chunks, blocks: Vec::new() };
            let nodes: usize = gpu.children.iter().map(|block| 1 + block.children.len()).sum();
            if gpu.children.len() > MOST_BLOCKS {
                return fail(gpu, format!("{} thread blocks, more than {MOST_BLOCKS}", gpu.children.len()));
            }
            if nodes > 4096 {
                return fail(gpu, format!("{nodes} thread blocks and steps, more than 4,096"));
            }
            for (id, block) in gpu.children.iter().enumerate() {
                if block.name != "tb" || number(block, "id")? != id as i64 {
                    return fail(block, format!("<tb id=\"{id}\"> was expected"));
                }
                let peer = |name: &str| match number(block, name)? {
                    -1 => Ok(None),
                    peer if peer < 0 || peer >= ranks => {
                        Err(broken(block.line, format!("{name}=\"{peer}\" is no rank")))
                    }
                    peer if peer == rank as i64 => Err(broken(block.line, format!("{name} is the rank itself"))),
                    peer => Ok(Some(peer as usize)),
                };
                let channel = number(block, "chan")?;
                let Some(channel) = usize::try_from(channel).ok().filter(|channel| *channel < algo.channels) else {
                    return fail(block, format!("chan=\"{channel}\" is none of {} channels", algo.channels));
                };
                let mut own = ThreadBlock { send: peer("send")?, receive: peer("recv")?, channel, steps: Vec::new() };
                for other in &read.blocks {
                    let shares = |a: Option<usize>, b: Option<usize>| a.is_some() && a == b;
                    if other.channel == channel && (shares(other.send, own.send) || shares(other.receive, own.receive))
                    {
                        return fail(block, "another thread block has the same peer on the same channel".to_owned());
                    }
                }
                if block.children.len() > MOST_STEPS - 1 {
                    return fail(block, format!("{} steps, and fewer than {MOST_STEPS} can be", block.children.len()));
                }
                for (index, step) in block.children.iter().enumerate() {
                    if step.name != "step" || number(step, "s")? != index as i64 {
                        return fail(step, format!("<step s=\"{index}\"> was expected"));
                    }
                    let kind = word(step, "type")?;
                    let Some((what, _)) = Type::ALL.iter().find(|(_, word)| *word == kind) else {
                        return fail(step, format!("type=\"{kind}\" is no type of a step"));
                    };
                    let place = |buffer: &str, offset: &str, count: i64| {
                        let (name, at) = (word(step, buffer)?, number(step, offset)?);
                        let Some(which) = ["i", "o", "s"].iter().position(|known| *known == name) else {
                            return Err(broken(step.line, format!("{buffer}=\"{name}\" is none of i, o and s")));
                        };
                        if at < -1 || (at >= 0 && at + count.max(1) > chunks[which]) {
                            return Err(broken(
                                step.line,
                                format!("{offset}=\"{at}\" lies outside of {} chunks", chunks[which]),
                            ));
                        }
                        Ok((['i', 'o', 's'][which], at))
                    };
                    let count = number(step, "cnt")?;
                    if !(0..=MOST_COUNT).contains(&count) || (count == 0 && *what != Type::Nop) {
                        return fail(step, format!("cnt=\"{count}\" is not 1 to {MOST_COUNT}"));
                    }
                    let depends = match (number(step, "depid")?, number(step, "deps")?) {
                        (-1, -1) => None,
                        (block, at) if block >= 0 && at >= 0 => Some((block as usize, at as usize)),
                        _ => return fail(step, "depid and deps do not belong together".to_owned()),
                    };
                    if (what.sends() && own.send.is_none()) || (what.receives() && own.receive.is_none()) {
                        return fail(step, format!("a step {kind} without a peer"));
                    }
                    own.steps.push(Step {
                        what: *what,
                        source: place("srcbuf", "srcoff", count)?,
                        destination: place("dstbuf", "dstoff", count)?,
                        count,
                        depends,
                        is_awaited: number(step, "hasdep")? == 1,
                    });
                }
                read.blocks.push(own);
            }
            for (block, element) in read.blocks.iter().zip(&gpu.children) {
                for (step, element) in block.steps.iter().zip(&element.children) {
                    let Some((at, which)) = step.depends else { continue };
                    match read.blocks.get(at).and_then(|block| block.steps.get(which)) {
                        None => {
                            return fail(
                                element,
                                format!("it waits for step {which} of thread block {at}, which is not there"),
                            );
                        }
                        Some(awaited) if !awaited.is_awaited => {
                            return fail(
                                element,
                                format!("it waits for step {which} of thread block {at}, which has not hasdep=\"1\""),
                            );
                        }
                        Some(_) => {}
                    }
                }
            }
            algo.gpus.push(read);
        }
        Ok(algo)
    }

    /// The algorithm as XML, which [`Self::read`] reads as the same.
    pub fn to_xml(&self) -> String {
        let flag = u8::from;
        let mut text = format!(
            "<algo name=\"{}\" proto=\"Simple\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"0\">\n",
            self.name,
            self.channels,
            self.chunks,
            self.gpus.len(),
            self.collective,
            flag(self.in_place),
            flag(self.out_of_place),
        );
        for (rank, gpu) in self.gpus.iter().enumerate() {
            let [i, o, s] = gpu.chunks;
            let _ = writeln!(text, "  <gpu id=\"{rank}\" i_chunks=\"{i}\" o_chunks=\"{o}\" s_chunks=\"{s}\">");
            for (id, block) in gpu.blocks.iter().enumerate() {
                let peer = |peer: Option<usize>| peer.map_or(-1, |peer| peer as i64);
                let (send, receive) = (peer(block.send), peer(block.receive));
                let _ = writeln!(
                    text,
                    "    <tb id=\"{id}\" send=\"{send}\" recv=\"{receive}\" chan=\"{}\">",
                    block.channel
                );
                for (index, step) in block.steps.iter().enumerate() {
                    let (depid, deps) = step.depends.map_or((-1, -1), |(block, at)| (block as i64, at as i64));
                    let _ = writeln!(
                        text,
                        "      <step s=\"{index}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" depid=\"{depid}\" deps=\"{deps}\" hasdep=\"{}\"/>",
                        step.what.word(),
                        step.source.0,
                        step.source.1,
                        step.destination.0,
                        step.destination.1,
                        step.count,
                        flag(step.is_awaited),
                    );
                }
                text += "    </tb>\n";
            }
            text += "  </gpu>\n";
        }
        text + "</algo>\n"
    }
}
