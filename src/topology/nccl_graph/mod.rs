//! Graph files of NCCL (`NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`): whether the channels of one fit the machine, and
//! rings for a machine.
//!
//! Rules are those of NVIDIA/nccl v2.30.7-1, `src/graph/search.cc` and `xml.cc`; bandwidths are those of `topo.h` and
//! `topo.cc` there. Nothing here was run on a GPU.

mod check;
mod rings;
mod routes;

use super::dump::{Graphs, Machine, Rates};
use crate::units::{count, first_of};

pub use self::{
    check::{Check, check},
    rings::{GraphError, Rings, rings},
};

/// What takes a graph file, and how, in sentences.
pub const HOW_TO_RUN: &str = "A graph file of NCCL for one node: set NCCL_GRAPH_FILE to it on every rank. NCCL then takes these \
                              rings without a search of its own, believes their speeds, and searches trees with as many \
                              channels. It is made for experiments (NVIDIA/nccl #933): compare with a run without it first.";

/// Checks the graphs of a file that have channels, against a machine where there is one.
pub fn checks(graphs: &Graphs, machine: Option<(&Machine, &Rates)>) -> Vec<Check> {
    let all = graphs.patterns.iter().zip(&graphs.stated);
    let has_some = all.filter(|(pattern, stated)| !pattern.channels.is_empty() || stated.channels.unwrap_or(0) > 0);
    let mut checks: Vec<Check> = has_some.map(|(pattern, stated)| check(pattern, stated, machine)).collect();
    if let (Some(first), version) = (checks.first_mut(), graphs.version.as_deref())
        && version != Some("1")
    {
        first.faults.insert(0, "the version of <graphs> is not 1, which NCCL refuses".to_owned());
    }
    checks
}

/// What the checks of a file come to.
pub fn sentence(checks: &[Check]) -> String {
    let faults: usize = checks.iter().map(|check| check.faults.len()).sum();
    let channels: Vec<String> =
        checks.iter().map(|check| format!("{} of {}", count(check.channels as u64, "channel"), check.kind)).collect();
    let held = match checks.iter().any(|check| check.real_gbps.is_some()) {
        true => "and no link of the machine carries more than it has",
        false => "and what the links of a machine give is not checked",
    };
    match (checks.is_empty(), faults) {
        (true, _) => "It has no channels.".to_owned(),
        (_, 0) => format!("Nothing is wrong with {}, {held}.", first_of(8, &channels, String::clone)),
        (_, faults) => format!("It has {}.", count(faults as u64, "fault")),
    }
}
