//! Verifies schedules, with code that is independent of the searches.

use std::fmt;

use super::{
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
};

/// A fault of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A transfer names an unknown link or chunk; the index of the transfer.
    Unknown(usize),
    /// A link carries a second chunk before the first has arrived.
    Overlap {
        /// The transfer that occupies the link.
        first: Transfer,
        /// The transfer that starts too early.
        second: Transfer,
    },
    /// A chunk is sent by a node that does not have it yet.
    Causality {
        /// The transfer.
        transfer: Transfer,
        /// When the sender has the chunk, in ticks; `None` for never.
        arrives: Option<u64>,
    },
    /// A chunk never comes to a node that wants it.
    Missing {
        /// The index of the chunk.
        chunk: u32,
        /// The index of the node.
        node: u32,
    },
    /// A node's part of a chunk is added twice, or forwarded after the node has sent its sum.
    CountedTwice {
        /// The second transfer.
        transfer: Transfer,
    },
    /// A node's part of a chunk never reaches the node where the chunk is summed up.
    NotCounted {
        /// The index of the chunk.
        chunk: u32,
        /// The index of the node.
        node: u32,
    },
    /// A node sends its partial sum before all parts that belong to it have arrived.
    Late {
        /// The transfer that arrives too late.
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

/// The most faults that are reported; the verification stops there.
pub const MAX_FAULTS: usize = 100;

/// The faults found so far, at most [`MAX_FAULTS`].
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

/// The faults of a schedule; empty for a valid one. In the transfers that reduce, the sources of a chunk in `reduce`
/// must end with the sum of every node's part. For the others, `copy` says which nodes have and want each chunk.
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
    // A sum can be copied only once it is complete.
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

/// The transfers in groups by a key, each in the order of starts: the first index of each group, and the indices of
/// transfers.
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
        order[first[group]..first[group + 1]].sort_by_cached_key(|index| transfers[*index as usize].start);
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

/// Calls `check` with the transfers of one chunk after the other, in the order of starts, until it returns `false`.
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

/// Checks the copying of a chunk: every sender has it in time, and every node that wants it gets it.
fn copied(graph: &Graph, demand: &Demand, chunk: usize, ready: u64, transfers: &[Transfer], faults: &mut Faults) {
    let mut has: Vec<Option<u64>> = vec![None; graph.nodes()];
    demand.sources(chunk).iter().for_each(|node| has[*node as usize] = Some(ready));
    // Transfers are in the order of starts; a node has a chunk from its arrival on.
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

/// Checks the reduction of a chunk: every node sends its partial sum exactly once, after all parts have arrived, and
/// all end at the target. Returns when the sum is complete, in ticks.
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
    // Starts increase along the path to the target, so there is no cycle.
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
    fn an_empty_schedule_is_reported_without_delay() {
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
