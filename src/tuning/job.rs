//! The contents of a job's own log: its collective calls, the library's decisions, and the library's cost table.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::reach::JoinedLogs;
use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale};

/// The contents of one or more logs of NCCL or RCCL (`NCCL_DEBUG=INFO`, subsystems COLL and TUNING).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobLog {
    /// How often each collective of each size was called, over all ranks that log.
    pub calls: BTreeMap<CollectiveCall, u64>,
    /// The decisions of the library, with the number of lines that report each.
    pub decisions: BTreeMap<LibraryDecision, u64>,
    /// The library's own cost tables, one per communicator size that was logged; equal ones once.
    pub costs: Vec<CostTable>,
    /// The data types (`ncclDataType_t`) of the calls of each collective and size.
    #[serde(default)]
    pub data_types: BTreeMap<(Collective, u64), BTreeSet<u32>>,
    /// Nodes and ranks of the communicators that say both.
    #[serde(default)]
    pub scales: BTreeSet<Scale>,
    /// Calls of functions that are not known.
    #[serde(default)]
    pub unknown_calls: u64,
    /// Lines of these kinds that are torn or can't be understood.
    pub torn_lines: u64,
    /// What the lines of this log say of each call, from which its path is known.
    #[serde(skip)]
    pub lines: Arc<JoinedLogs>,
}

/// A collective as a job calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CollectiveCall {
    /// The collective that the library's debug lines name.
    pub collective: Collective,
    /// Bytes as nccl-tests prints them: of the larger buffer.
    pub size_bytes: u64,
    /// Ranks of its communicator, where the log says.
    pub ranks: Option<u32>,
    /// The bytes are those of one rank's part, since the log does not say how many ranks there are: not comparable.
    #[serde(default)]
    pub is_per_rank: bool,
}

/// The library's decision for one size: `AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LibraryDecision {
    /// The collective that the library's debug lines name.
    pub collective: Collective,
    /// Bytes as a tuner sees them: of all ranks for all_gather and reduce_scatter, which lines of NCCL 2.24 and RCCL
    /// 2.26 on print for one rank.
    pub size_bytes: u64,
    /// The bytes are those of one rank, since the log does not say how many ranks there are: not comparable.
    #[serde(default)]
    pub is_per_rank: bool,
    /// The configuration that ran; channels 0 where the line does not say.
    pub configuration: Configuration,
}

/// NCCL's own table of latencies and bandwidths, printed once per communicator with subsystem TUNING or GRAPH.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostTable {
    /// Ranks of the communicator, where the log says.
    pub ranks: Option<u32>,
    /// The costs that the library expects for each collective, algorithm and protocol; combinations that it rules out
    /// (bandwidth 0) are left out.
    pub costs: Vec<Cost>,
}

/// One pair of such a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The collective that the library's debug lines name.
    pub collective: Collective,
    /// The algorithm of this entry of the table.
    pub algorithm: Algorithm,
    /// The protocol of this entry of the table.
    pub protocol: Protocol,
    /// The latency in µs, to which the size over the bandwidth is added.
    pub latency_us: f64,
    /// The algorithm bandwidth in GB/s.
    pub algbw_gbps: f64,
}

impl JobLog {
    /// Adds what another log says, but for the [lines](Self::lines), whose file is not known here.
    pub fn merge(&mut self, other: Self) {
        for (call, count) in other.calls {
            *self.calls.entry(call).or_default() += count;
        }
        for (decision, count) in other.decisions {
            *self.decisions.entry(decision).or_default() += count;
        }
        for table in other.costs {
            if !self.costs.contains(&table) {
                self.costs.push(table);
            }
        }
        for (of, data_types) in other.data_types {
            self.data_types.entry(of).or_default().extend(data_types);
        }
        self.scales.extend(other.scales);
        self.unknown_calls += other.unknown_calls;
        self.torn_lines += other.torn_lines;
    }

    /// Whether no line of a log was understood.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.decisions.is_empty() && self.costs.is_empty()
    }
}
