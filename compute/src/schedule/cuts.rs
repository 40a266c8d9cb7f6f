//! Cuts of a graph: what must leave a set of nodes, and over which links.

use std::cell::Cell;

use super::{demand::Demand, graph::Graph};
use crate::order::CompactSort;

/// A set of nodes that changes node by node, with what must leave it.
pub(super) struct Cut<'a> {
    graph: &'a Graph,
    demand: &'a Demand,
    is_inside: Vec<bool>,
    pub(super) size: usize,
    /// The distinct durations of links, ascending.
    durations: Vec<u64>,
    class_of: Vec<u32>,
    /// The number of links of each duration that leave the set.
    leaving: Vec<u32>,
    /// The number of links of each duration between nodes outside.
    beyond: Vec<u32>,
    /// The total rate of the links that leave the set.
    pub(super) rate: u64,
    /// The chunks by which nodes have and want them.
    chunks: Chunks,
    /// The number of chunks that only nodes inside have and a node outside wants.
    pub(super) need: u64,
    /// The number of inspections of a duration so far.
    looks: Cell<u64>,
}

enum Chunks {
    /// Every node wants every chunk: how many chunks each node alone has.
    Everyone(Vec<u64>),
    /// Consecutive chunks that the same nodes have and want are one kind; `of` has the kinds of each node, and whether
    /// it has (or wants) them.
    Some { kinds: Vec<Kind>, of: Vec<Vec<(u32, bool)>> },
}

/// Chunks that the same nodes have and want.
struct Kind {
    chunks: u64,
    /// The number of nodes outside that have these chunks; `wants` counts those that want them.
    holders: u32,
    wants: u32,
}

impl Kind {
    /// Whether only nodes inside have these chunks and a node outside wants them.
    fn has_to_leave(&self) -> bool {
        self.holders == 0 && self.wants > 0
    }
}

impl<'a> Cut<'a> {
    /// Creates the empty set.
    pub(super) fn new(graph: &'a Graph, demand: &'a Demand) -> Self {
        let mut durations: Vec<u64> = graph.links().iter().map(|link| link.duration).collect();
        durations.compact_sort();
        durations.dedup();
        let class = |duration: u64| durations.binary_search(&duration).unwrap_or(0) as u32;
        let class_of: Vec<u32> = graph.links().iter().map(|link| class(link.duration)).collect();
        let mut beyond = vec![0; durations.len()];
        class_of.iter().for_each(|class| beyond[*class as usize] += 1);
        let is_single = |chunk: usize| demand.sources(chunk).len() == 1;
        let chunks = if demand.is_for_everyone() && (0..demand.chunks()).all(is_single) {
            let mut own = vec![0; graph.nodes()];
            (0..demand.chunks()).for_each(|chunk| own[demand.sources(chunk)[0] as usize] += 1);
            Chunks::Everyone(own)
        } else {
            let (mut kinds, mut of): (Vec<Kind>, _) = (Vec::new(), vec![Vec::new(); graph.nodes()]);
            let mut last: Option<(&[u32], Vec<u32>)> = None;
            for chunk in 0..demand.chunks() {
                let next = (demand.sources(chunk), demand.wants(chunk).collect());
                if let Some(kind) = kinds.last_mut().filter(|_| last.as_ref() == Some(&next)) {
                    kind.chunks += 1;
                    continue;
                }
                let (sources, wanted) = &next;
                let kind = kinds.len() as u32;
                sources.iter().for_each(|node| of[*node as usize].push((kind, true)));
                wanted.iter().for_each(|node| of[*node as usize].push((kind, false)));
                kinds.push(Kind { chunks: 1, holders: sources.len() as u32, wants: wanted.len() as u32 });
                last = Some(next);
            }
            Chunks::Some { kinds, of }
        };
        let leaving = vec![0; durations.len()];
        let is_inside = vec![false; graph.nodes()];
        let (size, rate, need, looks) = (0, 0, 0, Cell::default());
        Self { graph, demand, is_inside, size, durations, class_of, leaving, beyond, rate, chunks, need, looks }
    }

    /// The number of steps that moving every node once takes.
    pub(super) fn effort(&self) -> usize {
        let chunks = match &self.chunks {
            Chunks::Everyone(own) => own.len(),
            Chunks::Some { of, .. } => of.iter().map(Vec::len).sum(),
        };
        2 * self.graph.links().len() + chunks
    }

    /// The nodes inside, ascending.
    pub(super) fn inside(&self) -> Vec<u32> {
        (0..self.graph.nodes() as u32).filter(|node| self.is_inside[*node as usize]).collect()
    }

    /// The number of inspections of a duration so far.
    pub(super) fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// The number of nodes outside.
    pub(super) fn outside(&self) -> usize {
        self.graph.nodes() - self.size
    }

    /// Moves a node into the set, or out of it.
    pub(super) fn flip(&mut self, node: usize) {
        let enters = !self.is_inside[node];
        self.is_inside[node] = enters;
        self.size = if enters { self.size + 1 } else { self.size - 1 };
        let graph = self.graph;
        for &link in graph.outgoing(node) {
            let of = graph.links()[link as usize];
            if !self.is_inside[of.to as usize] {
                let class = self.class_of[link as usize] as usize;
                move_one(enters, &mut self.beyond[class], &mut self.leaving[class]);
                self.rate = if enters { self.rate + of.rate } else { self.rate - of.rate };
            }
        }
        for &link in graph.incoming(node) {
            let of = graph.links()[link as usize];
            let class = self.class_of[link as usize] as usize;
            if self.is_inside[of.from as usize] {
                let leaving = &mut self.leaving[class];
                *leaving = if enters { *leaving - 1 } else { *leaving + 1 };
                self.rate = if enters { self.rate - of.rate } else { self.rate + of.rate };
            } else {
                let beyond = &mut self.beyond[class];
                *beyond = if enters { *beyond - 1 } else { *beyond + 1 };
            }
        }
        match &mut self.chunks {
            Chunks::Everyone(own) => {
                self.need = if enters { self.need + own[node] } else { self.need - own[node] };
            }
            Chunks::Some { kinds, of } => {
                for &(kind, has) in &of[node] {
                    let kind = &mut kinds[kind as usize];
                    let before = kind.has_to_leave();
                    let count = if has { &mut kind.holders } else { &mut kind.wants };
                    *count = if enters { *count - 1 } else { *count + 1 };
                    match (before, kind.has_to_leave()) {
                        (false, true) => self.need += kind.chunks,
                        (true, false) => self.need -= kind.chunks,
                        _ => {}
                    }
                }
            }
        }
    }

    /// The number of chunks that must leave; 0 where all nodes are inside.
    pub(super) fn needed(&self) -> u64 {
        if self.outside() == 0 { 0 } else { self.need }
    }

    /// The most chunks that the links that leave the set can deliver by a tick.
    pub(super) fn carried(&self, time: u64) -> u64 {
        self.looks.set(self.looks.get() + self.durations.len() as u64);
        let classes = self.durations.iter().zip(&self.leaving).filter(|(_, count)| **count > 0);
        classes
            .map(|(duration, count)| (time / duration).saturating_mul(u64::from(*count)))
            .fold(0, u64::saturating_add)
    }

    /// Whether the links that leave the set can deliver all that must leave by a tick.
    fn is_enough(&self, time: u64) -> bool {
        self.carried(time) >= self.needed()
    }

    /// As [`Cut::is_enough`], with the last hop where every node wants every chunk: a chunk that crosses too late to be
    /// forwarded outside must cross once for every node there.
    fn is_enough_with_last_hop(&self, time: u64) -> bool {
        let need = self.needed();
        if !self.demand.is_for_everyone() || self.outside() < 2 {
            return self.is_enough(time);
        }
        let fastest = self.durations.iter().zip(&self.beyond).find(|(_, count)| **count > 0);
        let in_time = fastest.map_or(0, |(hop, _)| self.carried(time.saturating_sub(*hop)));
        let late = need.saturating_sub(in_time);
        self.carried(time) >= need.saturating_add(late.saturating_mul(self.outside() as u64 - 1))
    }

    /// The least time in which all can be delivered, where that is more than `known`; `u64::MAX` where no link leaves
    /// the set.
    pub(super) fn time(&self, known: u64, with_last_hop: bool) -> Option<u64> {
        let is_enough = |time| if with_last_hop { self.is_enough_with_last_hop(time) } else { self.is_enough(time) };
        if self.needed() == 0 || is_enough(known) {
            return None;
        }
        let (mut low, mut high) = (known, known.max(1));
        while !is_enough(high) {
            if high > u64::MAX / 4 {
                return Some(u64::MAX);
            }
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

fn move_one(forth: bool, a: &mut u32, b: &mut u32) {
    if forth {
        (*a, *b) = (*a - 1, *b + 1);
    } else {
        (*a, *b) = (*a + 1, *b - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    /// Links of the given ends, durations and rates.
    fn graph(nodes: usize, links: &[(u32, u32, u64, u64)]) -> Graph {
        let link = |&(from, to, duration, rate)| Link { from, to, duration, rate };
        Graph::new(nodes, links.iter().map(link).collect()).unwrap()
    }

    /// From node 0 to node 3 over node 1 or, slower, over node 2; one link from node 1 to node 2, and one back to
    /// node 0.
    fn diamond() -> Graph {
        let there = [(0, 1, 2, 10), (0, 2, 3, 5), (1, 3, 2, 7), (2, 3, 3, 4)];
        graph(4, &[&there[..], &[(1, 2, 2, 2), (3, 0, 5, 1)]].concat())
    }

    /// The nodes inside, the number of nodes outside, the rate that leaves and the chunks that must leave.
    fn state(cut: &Cut<'_>) -> (Vec<u32>, usize, u64, u64) {
        (cut.inside(), cut.outside(), cut.rate, cut.needed())
    }

    #[test]
    fn a_cut_changes_node_by_node() {
        let (graph, demand) = (diamond(), Demand::all_gather(4, 2));
        let mut cut = Cut::new(&graph, &demand);
        assert_eq!(state(&cut), (vec![], 4, 0, 0));
        // For each move the state after it, and how much the links that leave carry in six ticks.
        let expected = [
            (0, (vec![0], 3, 15, 2), 3 + 2),
            (1, (vec![0, 1], 2, 14, 4), 2 + 3 + 3),
            (2, (vec![0, 1, 2], 1, 11, 6), 3 + 2),
            (3, (vec![0, 1, 2, 3], 0, 0, 0), 0),
            (0, (vec![1, 2, 3], 1, 1, 6), 1),
            (3, (vec![1, 2], 2, 11, 4), 3 + 2),
            (1, (vec![2], 3, 4, 2), 2),
            (2, (vec![], 4, 0, 0), 0),
        ];
        for (node, after, carried) in expected {
            cut.flip(node);
            assert_eq!((state(&cut), cut.carried(6)), (after, carried), "after node {node}");
        }
        // Each question about a time looks at three durations.
        assert_eq!(cut.looks(), 8 * 3);
    }

    #[test]
    fn a_cut_takes_until_its_links_have_carried_all_that_must_leave() {
        let (graph, demand) = (diamond(), Demand::all_gather(4, 2));
        let of = |inside: &[usize], known: u64, with_last_hop: bool| {
            let mut cut = Cut::new(&graph, &demand);
            inside.iter().for_each(|node| cut.flip(*node));
            cut.time(known, with_last_hop)
        };
        // Two chunks, one over each link: the slower one takes three ticks.
        assert_eq!([0, 2, 3].map(|known| of(&[0], known, false)), [Some(3), Some(3), None]);
        // By tick 4 three chunks leave node 0, of which one can be forwarded in the two ticks of the fastest link
        // beyond: the other would have to leave three times. By tick 5 both can be forwarded.
        assert_eq!([0, 4, 5].map(|known| of(&[0], known, true)), [Some(5), Some(5), None]);
        // Beyond is only the link from node 3 to node 0, which takes five ticks: two of four chunks are forwarded in
        // time, and the others leave twice.
        assert_eq!([of(&[1, 2], 0, false), of(&[1, 2], 0, true)], [Some(6), Some(8)]);
        // Into a single node nothing has to be forwarded.
        assert_eq!([of(&[0, 1, 2], 0, false), of(&[0, 1, 2], 0, true)], [Some(8), Some(8)]);
        // Nothing has to leave.
        assert_eq!([of(&[], 0, false), of(&[0, 1, 2, 3], 0, true)], [None, None]);
    }

    #[test]
    fn where_nothing_is_forwarded_each_chunk_crosses_for_each_node() {
        let star = graph(3, &[(0, 1, 2, 1), (0, 2, 2, 1)]);
        let demand = Demand::broadcast(3, 0, 2);
        let mut cut = Cut::new(&star, &demand);
        cut.flip(0);
        assert_eq!([cut.time(0, false), cut.time(0, true)], [Some(2), Some(4)]);
        let demand = Demand::all_gather(3, 1);
        let mut cut = Cut::new(&star, &demand);
        cut.flip(1);
        assert_eq!([cut.time(0, false), cut.time(0, true)], [Some(u64::MAX); 2], "no link leaves node 1");
    }

    #[test]
    fn a_chunk_leaves_where_a_node_outside_wants_it_and_none_has_it() {
        let graph = diamond();
        let to_three = (vec![0], vec![3]);
        let chunks = [to_three.clone(), to_three, (vec![0, 1], vec![2]), (vec![2], vec![0])];
        let demand = Demand::from_chunks(4, chunks);
        let mut cut = Cut::new(&graph, &demand);
        let mut needed = Vec::new();
        for node in [0, 1, 2, 0, 3, 1, 2] {
            cut.flip(node);
            needed.push((cut.inside(), cut.needed()));
        }
        let expected = [
            (vec![0], 2),
            (vec![0, 1], 3),
            (vec![0, 1, 2], 2),
            (vec![1, 2], 1),
            (vec![1, 2, 3], 1),
            (vec![2, 3], 1),
            (vec![3], 0),
        ];
        assert_eq!(needed, expected);
        // The last hop counts only where every node wants every chunk: here two chunks leave node 0 by tick 3.
        cut.flip(3);
        cut.flip(0);
        assert_eq!([cut.time(0, false), cut.time(0, true)], [Some(3), Some(3)]);
        // Chunks of single nodes, too, are wanted by some nodes only.
        let demand = Demand::from_chunks(4, [(vec![0], vec![1])]);
        let mut cut = Cut::new(&graph, &demand);
        cut.flip(0);
        assert_eq!(cut.needed(), 1);
        cut.flip(1);
        assert_eq!(cut.needed(), 0);
    }

    #[test]
    fn the_effort_counts_links_twice_and_nodes_by_the_kinds_of_their_chunks() {
        let graph = diamond();
        assert_eq!(Cut::new(&graph, &Demand::all_gather(4, 2)).effort(), 2 * 6 + 4);
        // The first two chunks are of one kind, which concerns two nodes; the third concerns three.
        let to_three = (vec![0], vec![3]);
        let demand = Demand::from_chunks(4, [to_three.clone(), to_three, (vec![0, 1], vec![2])]);
        assert_eq!(Cut::new(&graph, &demand).effort(), 2 * 6 + 2 + 3);
    }
}
