//! Checks schedules, knowing nothing of how they are made.

use std::fmt;

use super::{
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
};
use crate::order::CompactSort;

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A transfer names a link or a chunk that is not there; by its index.
    Unknown(usize),
    /// A link carries a second chunk before the first has arrived.
    Overlap {
        /// The one that is there.
        first: Transfer,
        /// The one that comes too early.
        second: Transfer,
    },
    /// A chunk is sent by a node that does not have it yet.
    Causality {
        /// What is sent.
        transfer: Transfer,
        /// When the sender has it, in ticks, if ever.
        arrives: Option<u64>,
    },
    /// A chunk never comes to a node that wants it.
    Missing {
        /// The chunk.
        chunk: u32,
        /// The node.
        node: u32,
    },
    /// A node's part of a chunk is added twice, or sent on after the node has given it away.
    CountedTwice {
        /// What brings it a second time.
        transfer: Transfer,
    },
    /// A node's part of a chunk never comes to where the chunk is put together.
    NotCounted {
        /// The chunk.
        chunk: u32,
        /// The node.
        node: u32,
    },
    /// A node gives its part of a chunk away before all parts that are to go with it have come.
    Late {
        /// What comes too late.
        transfer: Transfer,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(index) => write!(f, "transfer {index} names a link or a chunk that is not there"),
            Self::Overlap { first, second } => {
                write!(f, "link {} carries chunk {} before chunk {} has arrived", first.link, second.chunk, first.chunk)
            }
            Self::Causality { transfer, .. } => {
                write!(f, "link {} carries chunk {} before it is there", transfer.link, transfer.chunk)
            }
            Self::Missing { chunk, node } => write!(f, "chunk {chunk} never comes to node {node}"),
            Self::CountedTwice { transfer } => {
                write!(f, "link {} adds a part of chunk {} that was given away", transfer.link, transfer.chunk)
            }
            Self::NotCounted { chunk, node } => write!(f, "node {node}'s part of chunk {chunk} is never added"),
            Self::Late { transfer } => {
                write!(f, "link {} brings a part of chunk {} after the sum was sent on", transfer.link, transfer.chunk)
            }
        }
    }
}

/// The most faults that are told; what comes after is not looked for.
pub const MAX_FAULTS: usize = 100;

/// What was found, as much of it as is told.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn push(&mut self, fault: Fault) {
        if !self.is_full() {
            self.0.push(fault);
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }
}

/// What is wrong with a schedule: empty where nothing is. Of its first part, which reduces, `reduce` has as sources who
/// ends with the sum of every node's part of a chunk; of the rest, `copy` says who has what and who wants it.
#[must_use]
pub fn faults(graph: &Graph, schedule: &Schedule, reduce: Option<&Demand>, copy: Option<&Demand>) -> Vec<Fault> {
    let mut faults = Faults::default();
    let chunks = [reduce, copy].into_iter().flatten().map(Demand::chunks).max().unwrap_or(0);
    let links = graph.links().len();
    let transfers = &schedule.transfers[..];
    for (index, transfer) in transfers.iter().enumerate() {
        if transfer.link as usize >= links || transfer.chunk as usize >= chunks {
            faults.push(Fault::Unknown(index));
        }
    }
    if !faults.0.is_empty() || schedule.reducing > transfers.len() {
        return faults.0;
    }
    overlaps(graph, transfers, &mut faults);
    let (reducing, copying) = transfers.split_at(schedule.reducing);
    // What was put together can be sent on only then.
    let mut complete = Vec::new();
    if let Some(demand) = reduce {
        for_each_chunk(chunks, reducing, &mut |chunk, transfers| {
            complete.push(reduced(graph, demand, chunk, transfers, &mut faults));
            !faults.is_full()
        });
    }
    if let Some(demand) = copy {
        for_each_chunk(chunks, copying, &mut |chunk, transfers| {
            let ready = complete.get(chunk).copied().unwrap_or(0);
            copied(graph, demand, chunk, ready, transfers, &mut faults);
            !faults.is_full()
        });
    }
    faults.0
}

/// Transfers in groups by a key, each in the order of their starts.
fn grouped(count: usize, transfers: &[Transfer], key: impl Fn(&Transfer) -> u32) -> (Vec<usize>, Vec<u32>) {
    let mut first = vec![0; count + 1];
    for transfer in transfers {
        first[key(transfer) as usize + 1] += 1;
    }
    for group in 0..count {
        first[group + 1] += first[group];
    }
    let mut next = first.clone();
    let mut order = vec![0; transfers.len()];
    for (index, transfer) in transfers.iter().enumerate() {
        let place = &mut next[key(transfer) as usize];
        order[*place] = index as u32;
        *place += 1;
    }
    for group in 0..count {
        order[first[group]..first[group + 1]].compact_sort_by_number(|index| transfers[*index as usize].start);
    }
    (first, order)
}

fn overlaps(graph: &Graph, transfers: &[Transfer], faults: &mut Faults) {
    let links = graph.links().len();
    let (first, order) = grouped(links, transfers, |transfer| transfer.link);
    for link in 0..links {
        for pair in order[first[link]..first[link + 1]].windows(2) {
            let (first, second) = (transfers[pair[0] as usize], transfers[pair[1] as usize]);
            if second.start < first.end(graph) {
                faults.push(Fault::Overlap { first, second });
            }
        }
    }
}

/// Checks the transfers of one chunk after the other, in the order of their starts, as long as `check` says so.
fn for_each_chunk(chunks: usize, transfers: &[Transfer], check: &mut dyn FnMut(usize, &[Transfer]) -> bool) {
    let (first, order) = grouped(chunks, transfers, |transfer| transfer.chunk);
    let mut own = Vec::new();
    for chunk in 0..chunks {
        own.clear();
        own.extend(order[first[chunk]..first[chunk + 1]].iter().map(|index| transfers[*index as usize]));
        if !check(chunk, &own) {
            return;
        }
    }
}

/// Every sender has the chunk when it begins to send, and everyone who wants it gets it.
fn copied(graph: &Graph, demand: &Demand, chunk: usize, ready: u64, transfers: &[Transfer], faults: &mut Faults) {
    let mut has: Vec<Option<u64>> = vec![None; graph.nodes()];
    demand.sources(chunk).iter().for_each(|node| has[*node as usize] = Some(ready));
    // In the order of their starts; what a node gets counts from when it has arrived.
    for transfer in transfers {
        let end = transfer.end(graph);
        let to = &mut has[graph.links()[transfer.link as usize].to as usize];
        *to = Some(to.map_or(end, |known| known.min(end)));
    }
    for transfer in transfers {
        let arrives = has[graph.links()[transfer.link as usize].from as usize];
        if arrives.is_none_or(|arrives| arrives > transfer.start) {
            faults.push(Fault::Causality { transfer: *transfer, arrives });
        }
    }
    for node in demand.wants(chunk) {
        if has[node as usize].is_none() {
            faults.push(Fault::Missing { chunk: chunk as u32, node });
        }
    }
}

/// Every node gives its sum away exactly once, after all that it is to hold has come, and all ends where it is to be
/// put together. Returns when it is complete.
fn reduced(graph: &Graph, demand: &Demand, chunk: usize, transfers: &[Transfer], faults: &mut Faults) -> u64 {
    let target = demand.sources(chunk).first().copied();
    let mut given: Vec<Option<u64>> = vec![None; graph.nodes()];
    let mut complete = 0;
    for transfer in transfers {
        let from = &mut given[graph.links()[transfer.link as usize].from as usize];
        if from.replace(transfer.start).is_some() {
            faults.push(Fault::CountedTwice { transfer: *transfer });
        }
    }
    for transfer in transfers {
        let (to, end) = (graph.links()[transfer.link as usize].to, transfer.end(graph));
        if Some(to) == target {
            complete = complete.max(end);
            continue;
        }
        match given[to as usize] {
            Some(given) if given < end => faults.push(Fault::Late { transfer: *transfer }),
            Some(_) => {}
            None => {
                let node = graph.links()[transfer.link as usize].from;
                faults.push(Fault::NotCounted { chunk: chunk as u32, node });
            }
        }
    }
    // Starts only grow on the way to the target, so there is no way round in a circle.
    let kept = demand.wants(chunk).filter(|node| Some(*node) != target && given[*node as usize].is_none());
    for node in target.filter(|target| given[*target as usize].is_some()).into_iter().chain(kept) {
        faults.push(Fault::NotCounted { chunk: chunk as u32, node });
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    #[test]
    fn a_schedule_of_nothing_is_told_at_once() {
        let nodes = 4096_u32;
        let to = |from: u32| Link { from, to: (from + 1) % nodes, duration: 1, rate: 1 };
        let graph = Graph::new(nodes as usize, (0..nodes).map(to).collect()).unwrap();
        let all = Demand::all_gather(nodes as usize, 1);
        let none = Schedule::default();
        let first = faults(&graph, &none, Some(&all), None);
        assert_eq!((first.len(), &first[0]), (MAX_FAULTS, &Fault::NotCounted { chunk: 0, node: 1 }));
        let first = faults(&graph, &none, None, Some(&all));
        assert_eq!((first.len(), &first[0]), (MAX_FAULTS, &Fault::Missing { chunk: 0, node: 1 }));
    }
}
