//! Collectives, algorithms, protocols: the field's nouns, with every alias that files write.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $code:literal, $text:literal, [$($alias:literal),*];)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$item_doc])* $item,)+ }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$item),+];

            /// The integer code of the seed's features and of NCCL's tables; ties go to the lower one.
            pub const fn code(self) -> i8 { match self { $(Self::$item => $code),+ } }

            /// The usual spelling, which this program writes.
            pub const fn name(self) -> &'static str { match self { $(Self::$item => $text),+ } }

            /// What a name is, in words.
            pub fn expected() -> String {
                let names: Vec<&str> = Self::ALL.iter().map(|known| known.name()).collect();
                format!("one of {}", names.join(", "))
            }

            /// Reads a name in any spelling met in files; case, `-` and `_` do not matter.
            pub fn parse(text: &str) -> Option<Self> {
                let plain = plain(text);
                match plain.as_str() { $($($alias)|+ => Some(Self::$item),)+ _ => None }
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let error = || UnknownName { text: text.chars().take(40).collect(), expected: Self::expected() };
                Self::parse(text).ok_or_else(error)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.name()) }
        }
    };
}

/// The error of an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {expected}")]
pub struct UnknownName {
    /// The beginning of the text that was given.
    pub text: String,
    /// What was expected instead, as a phrase.
    pub expected: String,
}

fn plain(text: &str) -> String {
    text.trim().chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

vocabulary! {
    /// A collective operation.
    ///
    /// ```
    /// use collectune::collective::Collective;
    /// assert_eq!(Collective::parse("all_reduce_perf"), Some(Collective::AllReduce));
    /// assert_eq!(Collective::parse("ncclAllReduce"), Some(Collective::AllReduce));
    /// ```
    Collective {
        /// Every rank receives the reduction over all ranks.
        AllReduce = 0, "all_reduce", ["allreduce", "allreduceperf", "ncclallreduce"];
        /// Every rank receives the data of all ranks.
        AllGather = 1, "all_gather", ["allgather", "allgatherperf", "ncclallgather"];
        /// Every rank receives its share of the reduction over all ranks.
        ReduceScatter = 2, "reduce_scatter", ["reducescatter", "reducescatterperf", "ncclreducescatter"];
        /// Every rank sends a part of its data to every other rank.
        AllToAll = 3, "alltoall", ["alltoall", "alltoallperf", "ncclalltoall"];
        /// The data of one rank is sent to all ranks.
        Broadcast = 4, "broadcast", ["broadcast", "broadcastperf", "bcast", "ncclbroadcast", "ncclbcast"];
        /// One rank receives the reduction over all ranks.
        Reduce = 5, "reduce", ["reduce", "reduceperf", "ncclreduce"];
        /// Ranks send and receive point to point.
        SendRecv = 6, "sendrecv", ["sendrecv", "sendrecvperf", "ncclsendrecv"];
        /// One rank receives the data of all ranks.
        Gather = 7, "gather", ["gather", "gatherperf", "ncclgather"];
        /// One rank distributes its data over all ranks.
        Scatter = 8, "scatter", ["scatter", "scatterperf", "ncclscatter"];
        /// The exchange pattern of nccl-tests' hypercube.
        Hypercube = 9, "hypercube", ["hypercube", "hypercubeperf"];
    }
}

impl Collective {
    /// Whether it is made of point-to-point transfers: it takes no algorithm and no protocol, and no tuner is asked
    /// about it.
    pub const fn is_point_to_point(self) -> bool {
        matches!(self, Self::AllToAll | Self::SendRecv | Self::Gather | Self::Scatter | Self::Hypercube)
    }

    /// Whether it starts from one rank, or goes to one.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Whether any version of NCCL or RCCL runs it with this algorithm and protocol where a tuner asks for them: the
    /// table of `ncclTopoTuneModel` (NCCL, src/graph/tuning.cc). Versions, GPUs and fabrics rule out more.
    pub const fn can_run(self, algorithm: Algorithm, protocol: Protocol) -> bool {
        let is_simple = matches!(protocol, Protocol::Simple);
        let is_gather = matches!(self, Self::AllGather | Self::ReduceScatter);
        match algorithm {
            Algorithm::Ring => !self.is_point_to_point(),
            Algorithm::Tree => matches!(self, Self::AllReduce),
            Algorithm::Nvls | Algorithm::CollnetDirect => is_simple && (is_gather || matches!(self, Self::AllReduce)),
            Algorithm::NvlsTree | Algorithm::CollnetChain => is_simple && matches!(self, Self::AllReduce),
            Algorithm::Pat => is_simple && is_gather,
            Algorithm::Direct | Algorithm::None => false,
        }
    }

    /// The factor from algorithm bandwidth (size / time) to bus bandwidth: nccl-tests, doc/PERFORMANCE.md.
    pub fn busbw_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Gather | Self::Scatter | Self::Hypercube => {
                (n - 1.0) / n
            }
            Self::Broadcast | Self::Reduce | Self::SendRecv => 1.0,
        }
    }

    /// Bus bandwidth in GB/s of `size_bytes` in `time_us` on `ranks` ranks.
    pub fn busbw_gbps(self, ranks: u32, size_bytes: u64, time_us: f64) -> f64 {
        size_bytes as f64 / time_us / 1000.0 * self.busbw_factor(ranks)
    }

    /// The time in µs of `size_bytes` on `ranks` ranks at a bus bandwidth in GB/s.
    pub fn time_us(self, ranks: u32, size_bytes: u64, busbw_gbps: f64) -> f64 {
        size_bytes as f64 / busbw_gbps / 1000.0 * self.busbw_factor(ranks)
    }
}

vocabulary! {
    /// The algorithm by which data travels. Codes are NCCL's (`NCCL_ALGO_*`).
    Algorithm {
        /// RCCL's direct all_gather, chosen by the library itself and never by request.
        Direct = -1, "Direct", ["direct"];
        /// Double binary trees: two trees, each with half of the data.
        Tree = 0, "TREE", ["tree"];
        /// Rings through all ranks.
        Ring = 1, "RING", ["ring"];
        /// In-network reduction where each rank communicates with the switch.
        CollnetDirect = 2, "COLLNET_DIRECT", ["collnetdirect", "collnet"];
        /// In-network reduction along a chain of ranks.
        CollnetChain = 3, "COLLNET_CHAIN", ["collnetchain"];
        /// Reduction in the NVSwitch (NVLink SHARP).
        Nvls = 4, "NVLS", ["nvls"];
        /// NVLink SHARP within a node, trees between nodes.
        NvlsTree = 5, "NVLS_TREE", ["nvlstree"];
        /// Parallel aggregated trees, for all-gather and reduce-scatter.
        Pat = 6, "PAT", ["pat"];
        /// No algorithm, for collectives that take none (alltoall, sendrecv).
        None = 7, "N/A", ["n/a", "na", "none"];
    }
}

vocabulary! {
    /// The protocol by which a receiver learns that data has arrived. Codes are NCCL's (`NCCL_PROTO_*`).
    Protocol {
        /// Low latency: 8-byte stores, half of which are flags.
        Ll = 0, "LL", ["ll"];
        /// Low latency with 128-byte stores, 8 bytes of which are flags.
        Ll128 = 1, "LL128", ["ll128"];
        /// Plain stores followed by a fence.
        Simple = 2, "SIMPLE", ["simple"];
        /// No protocol, for collectives that take none (alltoall, sendrecv).
        None = 3, "N/A", ["n/a", "na", "none"];
    }
}

/// The number of nodes and ranks that take part. Measurements of different scales are never pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scale {
    /// The number of nodes, from 1.
    pub nodes: u32,
    /// The number of ranks over all nodes, one per GPU.
    pub ranks: u32,
}

/// The error of a scale that can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a scale; write nodes x ranks, like 2x16, with at least as many ranks as nodes")]
pub struct ScaleError(pub String);

impl Scale {
    /// A scale of at least one node and one rank on each node; `None` for other numbers.
    pub fn new(nodes: u32, ranks: u32) -> Option<Self> {
        (nodes > 0 && nodes <= ranks).then_some(Self { nodes, ranks })
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    /// Reads `2x16`: nodes, and ranks over all nodes.
    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let scale = text
            .split_once(['x', '×'])
            .and_then(|(nodes, ranks)| Self::new(nodes.trim().parse().ok()?, ranks.trim().parse().ok()?));
        scale.ok_or_else(|| ScaleError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |n| if n == 1 { "" } else { "s" };
        write!(f, "{} node{}, {} rank{}", self.nodes, s(self.nodes), self.ranks, s(self.ranks))
    }
}

/// Whether a kernel is of a library of collectives, by its name.
pub fn is_communication(kernel: &str) -> bool {
    let name = kernel.to_ascii_lowercase();
    ["nccl", "rccl", "mscclpp", "nvshmem", "oneshotallreduce", "cross_device_reduce"]
        .iter()
        .any(|part| name.contains(part))
}

/// A collective of one message size at one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// The collective that is called.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The size as nccl-tests prints it: bytes of the larger buffer.
    pub size_bytes: u64,
}

impl Workload {
    /// The time in µs at a bus bandwidth in GB/s, as nccl-tests relates them; `None` where a bandwidth tells no time,
    /// as of one rank alone.
    ///
    /// ```
    /// use collectune::collective::{Collective, Scale, Workload};
    /// let scale = Scale { nodes: 2, ranks: 16 };
    /// let workload = Workload { collective: Collective::AllReduce, scale, size_bytes: 16 << 20 };
    /// assert_eq!(workload.time_us(314.5728), Some(100.0));
    /// assert_eq!(Workload { scale: Scale { nodes: 1, ranks: 1 }, ..workload }.time_us(0.0), None);
    /// ```
    pub fn time_us(&self, busbw_gbps: f64) -> Option<f64> {
        let time_us = self.collective.time_us(self.scale.ranks, self.size_bytes, busbw_gbps);
        (time_us.is_finite() && time_us > 0.0).then_some(time_us)
    }
}

/// A configuration that the library can be told to use. The order breaks ties: by algorithm code, protocol code,
/// channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Configuration {
    /// The algorithm by which data travels.
    pub algorithm: Algorithm,
    /// The protocol in which data is sent.
    pub protocol: Protocol,
    /// Channels in total; 0 where a file does not say.
    pub channels: u32,
}

impl Configuration {
    /// `RING/LL128/24`, or `RING/LL128` where a file does not say the channels.
    pub fn as_known(&self) -> String {
        if self.channels > 0 { self.to_string() } else { format!("{}/{}", self.algorithm, self.protocol) }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.algorithm, self.protocol, self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for c in Collective::ALL {
            assert_eq!(Collective::parse(c.name()), Some(*c));
            assert_eq!(Collective::parse(&format!("{}_perf", c.name())), Some(*c));
        }
        for a in Algorithm::ALL {
            assert_eq!(Algorithm::parse(&a.name().to_lowercase()), Some(*a));
        }
        for p in Protocol::ALL {
            assert_eq!(Protocol::parse(p.name()), Some(*p));
        }
        assert_eq!(Collective::parse("all_to_all"), Some(Collective::AllToAll));
        assert_eq!(Algorithm::parse("auto"), None);
    }

    #[test]
    fn busbw_is_that_of_nccl_tests() {
        let busbw = Collective::AllReduce.busbw_gbps(8, 8192, 40.14);
        assert!((busbw - 0.357_15).abs() < 1e-4, "{busbw}");
        assert!((Collective::Broadcast.busbw_factor(8) - 1.0).abs() < 1e-12);
    }
}
