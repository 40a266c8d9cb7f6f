//! Chunk sizes that a policy gives, which a tuner can set from version 6 of its interface on (NCCL 2.30).
//!
//! Source: NVIDIA/nccl, src/include/plugin/tuner/tuner_v6.h (`getChunkSize`), and `calcCollChunking` in src/enqueue.cc
//! (v2.30.7-1), which asks with the bytes of one channel, limits the answer to what a step of its buffers holds, and
//! rounds it down to the grain. Below one grain that is 0, by which it then divides.

use std::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Algorithm, Collective, Protocol, Scale},
    conf::words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, word},
    units::Size,
};

/// The most chunk sizes that a policy can give, so that a search through all of them stays short.
pub const MOST_CHUNK_SIZES: usize = 64;

/// A chunk size, and where it holds. Of several that fit, the first holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// One of the five collectives for which a tuner is called.
    pub collective: Collective,
    /// The communicator's nodes and ranks, all of which must match.
    pub scale: Scale,
    /// The algorithm with which a collective must run for it to hold.
    pub algorithm: Algorithm,
    /// The protocol with which it must run, which decides the grain.
    pub protocol: Protocol,
    /// The bytes of one channel for which it holds: its elements, for all_gather and reduce_scatter times the ranks.
    pub channel_bytes: RangeInclusive<u64>,
    /// The size of a chunk in bytes, at least one [`grain_bytes`].
    pub chunk_bytes: u64,
}

/// The reason why a chunk size can't be followed. Messages are shown to users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkSizeError {
    /// A collective for which a tuner is not called.
    #[error("a tuner is not asked about the collective {0:?}")]
    Collective(String),
    /// An algorithm and a protocol that a tuner can't ask for.
    #[error("{0:?} with {1:?} is no algorithm and protocol that a tuner can ask for")]
    Pair(String, String),
    /// The first size, in bytes, is above the last one.
    #[error("min_channel_bytes, {0}, is above max_channel_bytes, {1}")]
    Range(u64, u64),
    /// The library would round this size, in bytes, down to 0, and divide by it.
    #[error(
        "chunk_bytes {chunk_bytes} is below one grain of {protocol}, {} bytes, where the library would divide by zero; give \
         at least that, or leave the size to the library",
        grain_bytes(*.protocol)
    )]
    BelowGrain {
        /// The size that the file gives, in bytes.
        chunk_bytes: u64,
        /// The protocol, whose grain it is.
        protocol: Protocol,
    },
}

/// The grain of a protocol's chunks in bytes, to a multiple of which the library rounds a size down.
///
/// ```
/// use collectune::{collective::Protocol, policy::chunks::grain_bytes};
/// assert_eq!([Protocol::Ll, Protocol::Ll128, Protocol::Simple].map(grain_bytes), [16, 1920, 512]);
/// ```
pub const fn grain_bytes(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Ll => 16,
        Protocol::Ll128 => 1920,
        _ => 512,
    }
}

impl ChunkSize {
    /// The largest chunk in bytes that NCCL's buffers hold with their default sizes: a step, of which a buffer has
    /// eight; with ring and simple the four steps of a chunk of all_reduce, all_gather and reduce_scatter. Half of a
    /// step of LL are data, and 15 of 16 parts of one of LL128.
    ///
    /// Source: NVIDIA/nccl, src/init.cc (`DEFAULT_BUFFSIZE` and the like), src/include/collectives.h
    /// (`ALLREDUCE_CHUNKSTEPS` and the like).
    pub fn default_limit_bytes(&self) -> u64 {
        const STEPS: u64 = 8;
        const SIMPLE: u64 = 4 << 20;
        const LL: u64 = 512 << 10;
        const LL128: u64 = 4800 << 10;
        let has_long_chunks =
            matches!(self.collective, Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter);
        match self.protocol {
            Protocol::Ll => LL / STEPS / 2,
            Protocol::Ll128 => LL128 / STEPS / 16 * 15,
            _ if has_long_chunks && self.algorithm == Algorithm::Ring => SIMPLE / STEPS * 4,
            _ => SIMPLE / STEPS,
        }
    }

    /// What the library makes of it other than it says, a sentence's part each; `earlier` are those before it.
    pub(super) fn notes(&self, earlier: &[Self]) -> Vec<String> {
        let mut notes = Vec::new();
        let Self { protocol, chunk_bytes, .. } = *self;
        if matches!(self.algorithm, Algorithm::CollnetDirect | Algorithm::CollnetChain) {
            notes.push("the library asks for no chunk size with CollNet".to_owned());
        }
        let (limit, grain) = (self.default_limit_bytes(), grain_bytes(protocol));
        if chunk_bytes > limit {
            let variable = match protocol {
                Protocol::Ll => "NCCL_LL_BUFFSIZE",
                Protocol::Ll128 => "NCCL_LL128_BUFFSIZE",
                _ => "NCCL_BUFFSIZE",
            };
            notes.push(format!(
                "chunk_bytes {chunk_bytes} is above the {limit} bytes that the library's buffer holds: it is clamped to \
                 that, unless {variable} is raised"
            ));
        } else if !chunk_bytes.is_multiple_of(grain) {
            notes.push(format!(
                "chunk_bytes {chunk_bytes} is no multiple of the grain of {protocol}, {grain} bytes: the library takes {}",
                chunk_bytes / grain * grain
            ));
        }
        let hides = |other: &Self| {
            let place = |of: &Self| (of.collective, of.scale, of.algorithm, of.protocol);
            place(other) == place(self)
                && other.channel_bytes.start() <= self.channel_bytes.start()
                && other.channel_bytes.end() >= self.channel_bytes.end()
        };
        if let Some(first) = earlier.iter().position(hides) {
            notes.push(format!("chunk size {first} holds for all its sizes, and comes first"));
        }
        notes
    }
}

impl fmt::Display for ChunkSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (*self.channel_bytes.start(), *self.channel_bytes.end());
        let Self { collective, scale, algorithm, protocol, chunk_bytes, .. } = self;
        write!(f, "{} for {collective} on {scale} by {algorithm}/{protocol}", Size(*chunk_bytes))?;
        match (from, to) {
            (0, u64::MAX) => Ok(()),
            (_, u64::MAX) => write!(f, ", from {} of one channel on", Size(from)),
            _ => write!(f, ", {} to {} of one channel", Size(from), Size(to)),
        }
    }
}

/// A chunk size as a policy file writes it. An unknown condition is refused: without it, the size would hold for more.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChunkDocument {
    coll: String,
    nodes: u32,
    ranks: u32,
    algo: String,
    proto: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_channel_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_channel_bytes: Option<u64>,
    chunk_bytes: u64,
}

impl From<&ChunkSize> for ChunkDocument {
    fn from(of: &ChunkSize) -> Self {
        let (from, to) = (*of.channel_bytes.start(), *of.channel_bytes.end());
        Self {
            coll: word(&COLLECTIVES, &of.collective).unwrap_or(of.collective.name()).to_owned(),
            nodes: of.scale.nodes,
            ranks: of.scale.ranks,
            algo: word(&ALGORITHMS, &of.algorithm).unwrap_or_default().to_owned(),
            proto: word(&PROTOCOLS, &of.protocol).unwrap_or_default().to_owned(),
            min_channel_bytes: Some(from).filter(|from| *from > 0),
            max_channel_bytes: Some(to).filter(|to| *to < u64::MAX),
            chunk_bytes: of.chunk_bytes,
        }
    }
}

impl TryFrom<&ChunkDocument> for ChunkSize {
    type Error = ChunkSizeError;

    fn try_from(of: &ChunkDocument) -> Result<Self, ChunkSizeError> {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let collective = Collective::parse(&of.coll).filter(|known| word(&COLLECTIVES, known).is_some());
        let collective = collective.ok_or_else(|| ChunkSizeError::Collective(short(&of.coll)))?;
        let algorithm = Algorithm::parse(&of.algo).filter(|known| word(&ALGORITHMS, known).is_some());
        let protocol = Protocol::parse(&of.proto).filter(|known| word(&PROTOCOLS, known).is_some());
        let pair = algorithm.zip(protocol);
        let (algorithm, protocol) = pair.ok_or_else(|| ChunkSizeError::Pair(short(&of.algo), short(&of.proto)))?;
        let (from, to) = (of.min_channel_bytes.unwrap_or(0), of.max_channel_bytes.unwrap_or(u64::MAX));
        if from > to {
            return Err(ChunkSizeError::Range(from, to));
        }
        if of.chunk_bytes < grain_bytes(protocol) {
            return Err(ChunkSizeError::BelowGrain { chunk_bytes: of.chunk_bytes, protocol });
        }
        let (scale, chunk_bytes) = (Scale { nodes: of.nodes, ranks: of.ranks }, of.chunk_bytes);
        Ok(Self { collective, scale, algorithm, protocol, channel_bytes: from..=to, chunk_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"coll":"allreduce","nodes":2,"ranks":16,"algo":"ring","proto":"simple","min_channel_bytes":1048576,"max_channel_bytes":4194303,"chunk_bytes":262144}"#;

    fn read(json: &str) -> Result<ChunkSize, ChunkSizeError> {
        ChunkSize::try_from(&serde_json::from_str::<ChunkDocument>(json).unwrap())
    }

    #[test]
    fn reads_what_it_writes() {
        let whole = read(DOCUMENT).unwrap();
        assert_eq!(whole.channel_bytes, 1_048_576..=4_194_303);
        let any = read(&DOCUMENT.replace(r#""min_channel_bytes":1048576,"max_channel_bytes":4194303,"#, "")).unwrap();
        assert_eq!(any.channel_bytes, 0..=u64::MAX);
        for size in [&whole, &any] {
            let json = serde_json::to_string(&ChunkDocument::from(size)).unwrap();
            assert_eq!(read(&json).as_ref(), Ok(size), "{json}");
        }
        assert_eq!(serde_json::to_string(&ChunkDocument::from(&whole)).unwrap(), DOCUMENT);
        assert!(whole.to_string().starts_with("256 KiB for "), "{whole}");
    }

    #[test]
    fn what_would_divide_by_zero_is_refused() {
        for (protocol, grain) in [("ll", 16), ("ll128", 1920), ("simple", 512)] {
            let with = |bytes: u64| {
                let json = DOCUMENT.replace("simple", protocol).replace("262144", &bytes.to_string());
                read(&json).map_err(|error| error.to_string())
            };
            assert_eq!(with(grain).map(|size| size.chunk_bytes), Ok(grain));
            for below in [0, grain - 1] {
                let told = with(below).unwrap_err();
                assert!(told.contains(&format!("{below} is below one grain of ")), "{told}");
            }
        }
        for (from, to, expected) in [
            ("allreduce", "alltoall", "not asked about the collective \"alltoall\""),
            ("\"ring\"", "\"direct\"", "\"direct\" with \"simple\" is no algorithm and protocol"),
            ("simple", "slow", "\"ring\" with \"slow\""),
            ("4194303", "1048575", "min_channel_bytes, 1048576, is above max_channel_bytes, 1048575"),
        ] {
            let told = read(&DOCUMENT.replace(from, to)).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn what_the_library_makes_of_it_is_said() {
        let notes = |json: String| read(&json).unwrap().notes(&[]).join("; ");
        let with = |algorithm: &str, protocol: &str, bytes: u64| {
            let json = DOCUMENT.replace("ring", algorithm).replace("simple", protocol);
            notes(json.replace("262144", &bytes.to_string()))
        };
        assert_eq!(notes(DOCUMENT.to_owned()), "");
        // The library's limits with its default buffers, which it still takes, and one grain more.
        for (algorithm, protocol, limit, grain) in [
            ("ring", "simple", 2_097_152, 512),
            ("tree", "simple", 524_288, 512),
            ("ring", "ll", 32_768, 16),
            ("ring", "ll128", 576_000, 1920),
        ] {
            assert_eq!(with(algorithm, protocol, limit), "", "{algorithm}/{protocol}");
            let told = with(algorithm, protocol, limit + grain);
            assert!(told.contains(&format!("above the {limit} bytes")) && told.contains("it is clamped"), "{told}");
        }
        let broadcast = notes(DOCUMENT.replace("allreduce", "broadcast").replace("262144", "524800"));
        assert!(broadcast.contains("above the 524288 bytes"), "{broadcast}");
        assert!(with("ring", "simple", 1000).contains("1000 is no multiple of the grain of "));
        assert!(with("ring", "simple", 1000).ends_with("the library takes 512"));
        assert!(with("collnet_chain", "simple", 512).contains("no chunk size with CollNet"));
        let (all, one) = (read(&DOCUMENT.replace("1048576", "0")).unwrap(), read(DOCUMENT).unwrap());
        let hidden = one.notes(std::slice::from_ref(&all)).join("");
        assert!(hidden.contains("chunk size 0 holds for all its sizes"), "{hidden}");
        assert!(all.notes(&[one]).is_empty());
    }
}
