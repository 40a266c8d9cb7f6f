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
/// must end with the sum of every node's part. For the others, `copy` says which nodes have and want each chunk. With
/// both, an all_reduce may also send its partial sums to several nodes, as recursive doubling does.
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
    if !faults.0.is_empty() {
        return faults.0;
    }
    overlaps(graph, transfers, &mut faults);
    let (reducing, copying) = transfers.split_at(schedule.reducing.min(transfers.len()));
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
    let has_overlap = |fault: &Fault| matches!(fault, Fault::Overlap { .. });
    if let (Some(demand), Some(_)) = (reduce, copy)
        && !faults.0.is_empty()
        && !faults.0.iter().any(has_overlap)
    {
        let mut is_right = true;
        for_each_chunk(chunks, transfers, &mut |chunk, transfers| {
            is_right = has_every_sum(graph, demand, chunk, transfers);
            is_right
        });
        if is_right {
            return Vec::new();
        }
    }
    faults.0
}

/// The nodes whose parts of a chunk are in a sum, a bit for each.
type Parts = Vec<u64>;

/// Whether every node ends with the sum of all parts of a chunk, where a transfer adds the sender's sum to the
/// receiver's, or replaces one that it contains. What both contain in part would be counted twice.
fn has_every_sum(graph: &Graph, demand: &Demand, chunk: usize, transfers: &[Transfer]) -> bool {
    let mut sums: Vec<Parts> = vec![vec![0; graph.nodes().div_ceil(64)]; graph.nodes()];
    let mut all: Parts = vec![0; graph.nodes().div_ceil(64)];
    let parts: Vec<u32> = demand.sources(chunk).iter().copied().chain(demand.wants(chunk)).collect();
    for node in &parts {
        let (word, bit) = (*node as usize / 64, 1 << (node % 64));
        sums[*node as usize][word] |= bit;
        all[word] |= bit;
    }
    // Transfers that are under way: when each ends, where, and what it carries.
    let mut under_way: Vec<(u64, u32, Parts)> = Vec::new();
    for transfer in transfers {
        if !arrive(&mut sums, &mut under_way, transfer.start) {
            return false;
        }
        let link = graph.links()[transfer.link as usize];
        let sent = sums[link.from as usize].clone();
        if sent.iter().all(|word| *word == 0) {
            return false;
        }
        under_way.push((transfer.end(graph), link.to, sent));
    }
    arrive(&mut sums, &mut under_way, u64::MAX) && parts.iter().all(|node| sums[*node as usize] == all)
}

/// Takes what has arrived until `now` into the sums, in its order; `false` where a part would be counted twice.
fn arrive(sums: &mut [Parts], under_way: &mut Vec<(u64, u32, Parts)>, now: u64) -> bool {
    loop {
        let next = (0..under_way.len()).filter(|at| under_way[*at].0 <= now).min_by_key(|at| under_way[*at].0);
        let Some(next) = next else { return true };
        let (_, to, sent) = under_way.remove(next);
        let own = &mut sums[to as usize];
        let is_apart = own.iter().zip(&sent).all(|(own, sent)| own & sent == 0);
        let is_contained = own.iter().zip(&sent).all(|(own, sent)| own & sent == *own);
        if !is_apart && !is_contained {
            return false;
        }
        own.iter_mut().zip(sent).for_each(|(own, sent)| *own |= sent);
    }
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

    /// A ring of three nodes, of which link `n` leads from node `n` to the next and takes two ticks.
    fn ring() -> Graph {
        let link = |from| Link { from, to: (from + 1) % 3, duration: 2, rate: 1 };
        Graph::new(3, (0..3).map(link).collect()).unwrap()
    }

    fn sent(link: u32, chunk: u32, start: u64) -> Transfer {
        Transfer { link, chunk, start }
    }

    /// Every chunk of an all_gather around the ring.
    fn gathering() -> Vec<Transfer> {
        vec![sent(0, 0, 0), sent(1, 1, 0), sent(2, 2, 0), sent(1, 0, 2), sent(2, 1, 2), sent(0, 2, 2)]
    }

    /// Every chunk of a reduce_scatter around the ring: chunk `n` is summed up at node `n`.
    fn reducing() -> Vec<Transfer> {
        vec![sent(1, 0, 0), sent(2, 1, 0), sent(0, 2, 0), sent(2, 0, 2), sent(0, 1, 2), sent(1, 2, 2)]
    }

    fn in_copies(transfers: Vec<Transfer>) -> Vec<Fault> {
        let all = Demand::all_gather(3, 1);
        faults(&ring(), &Schedule { transfers, reducing: 0 }, None, Some(&all))
    }

    fn in_sums(transfers: Vec<Transfer>) -> Vec<Fault> {
        let all = Demand::all_gather(3, 1);
        let reducing = transfers.len();
        faults(&ring(), &Schedule { transfers, reducing }, Some(&all), None)
    }

    /// The transfers with another one at a place.
    fn with(mut transfers: Vec<Transfer>, place: usize, other: Transfer) -> Vec<Transfer> {
        transfers[place] = other;
        transfers
    }

    /// The transfers without the one at a place.
    fn without(mut transfers: Vec<Transfer>, place: usize) -> Vec<Transfer> {
        transfers.remove(place);
        transfers
    }

    #[test]
    fn copies_are_sent_once_they_are_there_over_links_that_are_free() {
        assert_eq!(in_copies(gathering()), []);
        let mut backwards = gathering();
        backwards.reverse();
        assert_eq!(in_copies(backwards), [], "the order of the list means nothing");
        // Over a link that still carries another chunk, and before it is there; over the first link as well.
        for (place, first, early) in [(3, sent(1, 1, 0), sent(1, 0, 1)), (5, sent(0, 0, 0), sent(0, 2, 1))] {
            assert_eq!(
                in_copies(with(gathering(), place, early)),
                [Fault::Overlap { first, second: early }, Fault::Causality { transfer: early, arrives: Some(2) }]
            );
        }
        assert_eq!(
            in_copies(without(gathering(), 0)),
            [Fault::Causality { transfer: sent(1, 0, 2), arrives: None }, Fault::Missing { chunk: 0, node: 1 }]
        );
        assert_eq!(in_copies(without(gathering(), 3)), [Fault::Missing { chunk: 0, node: 2 }]);
        assert_eq!(in_copies(without(gathering(), 5)), [Fault::Missing { chunk: 2, node: 1 }], "of the last chunk");
        // A chunk that comes twice is there from the first time on.
        let mut twice = gathering();
        twice.push(sent(0, 0, 4));
        assert_eq!(in_copies(twice), []);
    }

    #[test]
    fn links_and_chunks_that_are_not_there_are_named_by_the_transfer() {
        assert_eq!(in_copies(with(gathering(), 2, sent(3, 2, 0))), [Fault::Unknown(2)]);
        assert_eq!(in_copies(with(gathering(), 5, sent(0, 3, 2))), [Fault::Unknown(5)]);
    }

    #[test]
    fn each_part_is_added_once_and_in_time() {
        assert_eq!(in_sums(reducing()), []);
        // Node 2 sends the sum of chunk 0 on before the part of node 1 has arrived.
        let early = with(without(reducing(), 1), 2, sent(2, 0, 1));
        assert!(in_sums(early).contains(&Fault::Late { transfer: sent(1, 0, 0) }));
        let on_time = with(reducing(), 3, sent(2, 0, 3));
        assert_eq!(in_sums(on_time), [], "later than needed is no fault");
        let mut again = reducing();
        again.push(sent(1, 0, 4));
        assert!(in_sums(again).contains(&Fault::CountedTwice { transfer: sent(1, 0, 4) }));
        // Without the first transfer of chunk 0 the part of node 1 stays there.
        assert_eq!(in_sums(without(reducing(), 0)), [Fault::NotCounted { chunk: 0, node: 1 }]);
        assert_eq!(in_sums(without(reducing(), 2)), [Fault::NotCounted { chunk: 2, node: 0 }], "of the last chunk");
        // Without its second the part of node 1 comes to node 2, and no further.
        assert_eq!(
            in_sums(without(reducing(), 3)),
            [Fault::NotCounted { chunk: 0, node: 1 }, Fault::NotCounted { chunk: 0, node: 2 }]
        );
        // The target gives its sum away.
        let mut given = reducing();
        given.push(sent(0, 0, 4));
        assert_eq!(in_sums(given), [Fault::Late { transfer: sent(0, 0, 4) }, Fault::NotCounted { chunk: 0, node: 0 }]);
    }

    #[test]
    fn a_sum_is_copied_once_it_is_complete() {
        let all = Demand::all_gather(3, 1);
        let reduced_then = |shift: u64| {
            let mut transfers = reducing();
            transfers.extend(gathering().into_iter().map(|copy| sent(copy.link, copy.chunk, copy.start + shift)));
            faults(&ring(), &Schedule { transfers, reducing: 6 }, Some(&all), Some(&all))
        };
        assert_eq!(reduced_then(4), []);
        let early = reduced_then(3);
        assert!(early.contains(&Fault::Causality { transfer: sent(0, 0, 3), arrives: Some(4) }), "{early:?}");
        // More transfers are said to reduce than there are.
        let schedule = Schedule { transfers: reducing(), reducing: 7 };
        assert_eq!(faults(&ring(), &schedule, Some(&all), None), []);
        let schedule = Schedule { transfers: without(reducing(), 0), reducing: 7 };
        assert_eq!(faults(&ring(), &schedule, Some(&all), None), [Fault::NotCounted { chunk: 0, node: 1 }]);
    }

    #[test]
    fn faults_are_said_with_link_chunk_and_node() {
        let transfer = sent(1, 2, 0);
        let said: Vec<String> = [
            Fault::Unknown(4),
            Fault::Overlap { first: sent(1, 0, 0), second: transfer },
            Fault::Causality { transfer, arrives: None },
            Fault::Missing { chunk: 2, node: 1 },
            Fault::CountedTwice { transfer },
            Fault::NotCounted { chunk: 2, node: 1 },
            Fault::Late { transfer },
        ]
        .iter()
        .map(ToString::to_string)
        .collect();
        assert_eq!(
            said,
            [
                "transfer 4 names a link or a chunk that is not there",
                "link 1 carries chunk 2 before chunk 0 has arrived",
                "link 1 carries chunk 2 before it is there",
                "chunk 2 never comes to node 1",
                "link 1 adds a part of chunk 2 that was given away",
                "node 1's part of chunk 2 is never added",
                "link 1 brings a part of chunk 2 after the sum was sent on",
            ]
        );
    }

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

    /// An all_reduce in which each transfer adds the sender's sum to the receiver's, over links of these durations.
    fn all_reduced(nodes: usize, transfers: &[(u32, u32, u64, u64)], all: &Demand) -> Vec<Fault> {
        let links = transfers.iter().map(|&(from, to, _, duration)| (from, to, duration)).collect::<Vec<_>>();
        let all_of = |chunk: u32| {
            let sent_at = |(link, &(_, _, start, _)): (u32, &(u32, u32, u64, u64))| sent(link, chunk, start);
            (0..).zip(transfers).map(sent_at).collect::<Vec<_>>()
        };
        let transfers: Vec<Transfer> = (0..all.chunks() as u32).flat_map(all_of).collect();
        let reducing = transfers.len();
        faults(&Graph::of_durations(nodes, &links), &Schedule { transfers, reducing }, Some(all), Some(all))
    }

    #[test]
    fn partial_sums_may_go_to_several_nodes_if_nothing_is_counted_twice() {
        let all = Demand::broadcast(4, 0, 1);
        let doubling =
            [(0, 1, 0), (1, 0, 0), (2, 3, 0), (3, 2, 0), (0, 2, 2), (2, 0, 2), (1, 3, 2), (3, 1, 2)].map(in_two_ticks);
        assert_eq!(all_reduced(4, &doubling, &all), []);
        assert_ne!(all_reduced(4, &doubling[..7], &all), [], "node 1 lacks two parts");
        let mut early = doubling;
        early[4].2 = 1;
        assert_ne!(all_reduced(4, &early, &all), [], "the part of node 1 is not there yet");
        let again = [&doubling[..], &[in_two_ticks((1, 2, 4))]].concat();
        assert_eq!(all_reduced(4, &again, &all), [], "the whole sum in place of the whole sum");
        let twice = [&doubling[..], &[in_two_ticks((1, 2, 2))]].concat();
        assert_ne!(all_reduced(4, &twice, &all), [], "node 2 has what node 1 sends, and more");
        // Both chunks at once over the same links.
        assert!(matches!(all_reduced(4, &doubling, &Demand::broadcast(4, 0, 2))[0], Fault::Overlap { .. }));
        // A node that has nothing has no part of the sum.
        let two = Demand::from_chunks(3, [(vec![0], vec![1])]);
        let exchange = [(0, 1, 0), (1, 0, 0), (2, 0, 0)].map(in_two_ticks);
        assert_eq!(all_reduced(3, &exchange[..2], &two), []);
        assert_ne!(all_reduced(3, &exchange, &two), []);
    }

    fn in_two_ticks((from, to, start): (u32, u32, u64)) -> (u32, u32, u64, u64) {
        (from, to, start, 2)
    }

    #[test]
    fn partial_sums_count_in_the_order_of_their_arrival() {
        // The part of node 0 is at node 2 before the sum of all comes, which takes its place.
        let sums = [(2, 1, 0, 1), (0, 1, 0, 1), (0, 2, 0, 3), (1, 2, 1, 4), (1, 0, 1, 1)];
        assert_eq!(all_reduced(3, &sums, &Demand::broadcast(3, 0, 1)), []);
        let mut late = sums;
        late[2].3 = 6;
        assert_ne!(all_reduced(3, &late, &Demand::broadcast(3, 0, 1)), []);
    }

    #[test]
    fn the_parts_of_many_nodes_are_told_apart() {
        let nodes = 130;
        let all = Demand::broadcast(nodes, 0, 1);
        let start = |node: u32| match node {
            100 => 0,
            1 => 2,
            _ => 4,
        };
        let to_node_0 = (1..nodes as u32).map(|node| in_two_ticks((node, 0, start(node))));
        let from_node_0 = (1..nodes as u32).map(|node| in_two_ticks((0, node, 8)));
        let mut transfers: Vec<_> = to_node_0.chain(from_node_0).collect();
        assert_eq!(all_reduced(nodes, &transfers, &all), []);
        // Node 100 sends its part to node 0 by itself, and by node 1.
        transfers.push(in_two_ticks((100, 1, 0)));
        assert_ne!(all_reduced(nodes, &transfers, &all), []);
    }
}
