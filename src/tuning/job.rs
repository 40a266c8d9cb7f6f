//! What a job's own log says: the collectives that it calls, what the library decided, and what the library believes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale};

/// What one or more logs of NCCL or RCCL (`NCCL_DEBUG=INFO`, subsystems COLL and TUNING) say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobLog {
    /// How often each collective of each size was called, over all ranks that log.
    pub calls: BTreeMap<Call, u64>,
    /// What the library decided to run, and how often it said so.
    pub decisions: BTreeMap<Decision, u64>,
    /// The library's own cost tables, one per communicator size that was logged; equal ones once.
    pub costs: Vec<CostTable>,
    /// Nodes and ranks of the communicators that say both.
    #[serde(default)]
    pub scales: BTreeSet<Scale>,
    /// Lines of these kinds that are torn or can't be understood.
    pub torn_lines: u64,
}

/// A collective as a job calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Bytes as nccl-tests prints them: of the larger buffer.
    pub size_bytes: u64,
    /// Ranks of its communicator, where the log says.
    pub ranks: Option<u32>,
}

/// What the library decided for one size: `AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Decision {
    /// The collective.
    pub collective: Collective,
    /// Bytes as the library counts them.
    pub size_bytes: u64,
    /// What ran; channels 0 where the line does not say.
    pub configuration: Configuration,
}

/// NCCL's own table of latencies and bandwidths, printed once per communicator with subsystem TUNING or GRAPH.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostTable {
    /// Ranks of the communicator, where the log says.
    pub ranks: Option<u32>,
    /// What the library expects of each collective, algorithm and protocol; combinations that it rules out (bandwidth
    /// 0) are left out.
    pub costs: Vec<Cost>,
}

/// One pair of such a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The collective.
    pub collective: Collective,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The protocol.
    pub protocol: Protocol,
    /// Latency in microseconds.
    pub latency_us: f64,
    /// Algorithm bandwidth in GB/s.
    pub algbw_gbps: f64,
}

impl JobLog {
    /// Adds what another log says.
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
        self.scales.extend(other.scales);
        self.torn_lines += other.torn_lines;
    }

    /// Nothing was understood.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.decisions.is_empty() && self.costs.is_empty()
    }
}
