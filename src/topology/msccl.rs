//! Schedules as algorithms of MSCCL, which RCCL and Microsoft's fork of NCCL run; and a reader and an interpreter of
//! them.
//!
//! Rules are those of RCCL's `mscclGetAlgoFromXmlFile` and `msccl_struct.h`; what steps do is `msccl_kernel_impl.h`.

mod accesses;
mod rules;
mod run;
mod write;
mod xml;

use std::collections::{BTreeSet, HashSet};

use super::model::Topology;
use crate::order::CompactCollect;

/// What runs an algorithm, and how, in sentences.
pub const HOW_TO_RUN: &str = "An algorithm of MSCCL. RCCL before ROCm 7.13: put it into a folder and set MSCCL_ALGO_DIR to \
                              it, and RCCL_MSCCL_FORCE_ENABLE=1 where it is no MI300X. Later RCCL reads none and says \
                              nothing of it. NCCL with MSCCL: MSCCL_XML_FILES=file.xml NCCL_ALGO=MSCCL,RING,TREE.";

/// Whether a text begins like an algorithm of MSCCL.
pub fn is_algorithm(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<algo") || (text.starts_with("<?xml") && text.contains("<algo"))
}

/// Runs an algorithm and says that it computes its collective.
///
/// # Errors
/// Returns a message if it deadlocks or computes something else.
pub fn verdict(algo: &Algo) -> Result<String, Refusal> {
    let ranks = algo.gpus.len();
    let fine = || {
        let unchecked = match accesses::OrderedAccesses::new(algo) {
            Some(_) => "",
            None => " Whether its thread blocks could run in another order is not checked: it is too large.",
        };
        format!(
            "It computes its {} on {ranks} ranks and never stands still. A connection holds what two steps send, as in \
             RCCL.{unchecked}",
            algo.collective
        )
    };
    let refused = |error: RunError| Refusal { meaning: error.meaning(&algo.collective), why: error.to_string() };
    run(algo).map(|()| fine()).map_err(refused)
}

/// What is wrong with an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What follows, such as `It can't be run`: a sentence without its full stop.
    pub meaning: String,
    /// The rank and chunk, or the step, at which it fails: a sentence without its full stop.
    pub why: String,
}

/// The pairs of ranks that an algorithm connects without a link of the topology, as messages; or that the numbers of
/// ranks differ.
pub fn not_in(algo: &Algo, topology: &Topology) -> Vec<String> {
    let blocks = (0_u32..).zip(&algo.gpus).flat_map(|(rank, gpu)| gpu.blocks.iter().map(move |block| (rank, block)));
    let sends = blocks.filter_map(|(rank, block)| Some((rank, block.send? as u32)));
    missing_links(algo.gpus.len(), sends, topology)
}

/// The pairs of ranks, sender and receiver, that are no link of the topology, as messages; or that the numbers of ranks
/// differ.
pub fn missing_links(ranks: usize, pairs: impl Iterator<Item = (u32, u32)>, topology: &Topology) -> Vec<String> {
    /// The number of pairs that are named.
    const MAX_NAMED: usize = 8;
    if ranks != topology.nodes as usize {
        return vec![format!("it is for {ranks} ranks, and {} has {} nodes", topology.name, topology.nodes)];
    }
    let links: HashSet<(u32, u32)> = topology.links.iter().map(|link| (link.from, link.to)).collect();
    let missing: BTreeSet<(u32, u32)> = pairs.filter(|pair| !links.contains(pair)).compact_collect();
    let words =
        |(from, to): &(u32, u32)| format!("rank {from} sends to rank {to}, and {} has no link there", topology.name);
    let mut told: Vec<String> = missing.iter().take(MAX_NAMED).map(words).collect();
    if missing.len() > MAX_NAMED {
        told.push(format!("{} more pairs of ranks are connected without a link", missing.len() - MAX_NAMED));
    }
    told
}

pub(super) use self::xml::{Element, parse};
pub use self::{
    rules::{Algo, Gpu, RuleError, Step, ThreadBlock, Type},
    run::{RunError, STEPS_PER_CONNECTION, run, run_with_capacity},
    write::{ExportError, MOST_TRANSFERS, write},
};
