//! A closed construction for graphs that look the same from every node: rings, tori, hypercubes, complete graphs.
//!
//! These are Cayley graphs of Abelian groups: nodes are numbers with several digits, each modulo its base, and adding a
//! constant to all nodes maps every link to one of the same duration. Then it is enough to spread the chunks of node 0
//! with each kind of link carrying one chunk at a time; the schedules of the other nodes are translations of it, and no
//! link is used twice at a time.

use super::{
    bound::Bounds,
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
    problem::Task,
    synthesizer::{Method, PartSchedule, SearchState, Synthesizer, keep_shorter},
};
use crate::math::Stream;
use crate::order::CompactSort;

/// The symmetry of a graph: the numbering of its nodes and the kinds of its links.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// The bases of the digits, the most significant first.
    bases: Vec<u32>,
    /// The place (number) of each node, and in `node` the node at each place.
    place: Vec<u32>,
    node: Vec<u32>,
    /// The kinds of links.
    kinds: Vec<LinkKind>,
}

#[derive(Clone, Debug)]
struct LinkKind {
    by: u32,
    duration: u64,
    links: Vec<u32>,
}

/// Links by sender, receiver and duration, sorted.
struct LinkIndex(Vec<(u32, u32, u64, u32)>);

impl LinkIndex {
    fn of(graph: &Graph) -> Self {
        let links = (0..).zip(graph.links()).map(|(link, of)| (of.from, of.to, of.duration, link));
        let mut index: Vec<_> = links.collect();
        index.compact_sort();
        Self(index)
    }

    /// The first link between two nodes with a duration.
    fn link(&self, from: u32, to: u32, duration: u64) -> Option<u32> {
        let at = self.0.partition_point(|(f, t, d, _)| (*f, *t, *d) < (from, to, duration));
        self.0.get(at).filter(|(f, t, d, _)| (*f, *t, *d) == (from, to, duration)).map(|(.., link)| *link)
    }
}

impl Symmetry {
    /// Finds a symmetry, with the nodes in the order of their indices, or in the order of a walk round a ring; `None`
    /// where there is none.
    pub fn of(graph: &Graph) -> Option<Self> {
        let nodes = graph.nodes();
        if nodes < 2 {
            return None;
        }
        let degree = graph.outgoing(0).len();
        if degree == 0 || (0..nodes).any(|node| graph.outgoing(node).len() != degree) {
            return None;
        }
        let numbered: Vec<u32> = (0..nodes as u32).collect();
        let index = LinkIndex::of(graph);
        for bases in factorisations(nodes as u32) {
            if let Some(symmetry) = Self::with(graph, &index, bases, numbered.clone()) {
                return Some(symmetry);
            }
        }
        Self::with(graph, &index, vec![nodes as u32], ring_order(graph)?)
    }

    fn with(graph: &Graph, index: &LinkIndex, bases: Vec<u32>, node: Vec<u32>) -> Option<Self> {
        let mut place = vec![0; node.len()];
        node.iter().enumerate().for_each(|(at, node)| place[*node as usize] = at as u32);
        let mut symmetry = Self { bases, place, node, kinds: Vec::new() };
        let nodes = graph.nodes();
        for &link in graph.outgoing(symmetry.node[0] as usize) {
            let of = graph.links()[link as usize];
            let by = symmetry.place[of.to as usize];
            symmetry.kinds.push(LinkKind { by, duration: of.duration, links: Vec::with_capacity(nodes) });
        }
        for kind in 0..symmetry.kinds.len() {
            for at in 0..nodes as u32 {
                let LinkKind { by, duration, .. } = symmetry.kinds[kind];
                let to = symmetry.node[symmetry.plus(at, by) as usize];
                let link = index.link(symmetry.node[at as usize], to, duration)?;
                symmetry.kinds[kind].links.push(link);
            }
        }
        Some(symmetry)
    }

    /// Adds two places digit by digit.
    fn plus(&self, mut a: u32, mut b: u32) -> u32 {
        if let [_] = self.bases[..] {
            return ((u64::from(a) + u64::from(b)) % self.node.len() as u64) as u32;
        }
        let (mut sum, mut weight) = (0, 1);
        for base in self.bases.iter().rev() {
            sum += (a % base + b % base) % base * weight;
            (a, b, weight) = (a / base, b / base, weight * base);
        }
        sum
    }

    /// An all_gather of `chunks` chunks of each node: the spread from place 0, translated to all places.
    fn all_gather(&self, chunks: usize, stream: &mut Stream) -> Option<Schedule> {
        let nodes = self.node.len();
        let tree = self.spread(chunks, stream)?;
        let mut transfers = Vec::with_capacity(tree.len() * nodes);
        for (kind, chunk, from, start) in tree {
            for at in 0..nodes as u32 {
                let link = self.kinds[kind].links[self.plus(from, at) as usize];
                let chunk = self.node[at as usize] * chunks as u32 + chunk;
                transfers.push(Transfer { link, chunk, start });
            }
        }
        Some(Schedule { transfers, reducing: 0 })
    }

    /// The trees of the chunks of the node at place 0, by the ticks of arrival, as (kind of link, chunk, sending place,
    /// start). At each instant at which links could finish, as many kinds as possible are matched to a chunk and a
    /// receiving place (Kuhn's algorithm).
    fn spread(&self, chunks: usize, stream: &mut Stream) -> Option<Vec<(usize, u32, u32, u64)>> {
        let nodes = self.node.len();
        let mut arrived = vec![u64::MAX; nodes * chunks];
        (0..chunks).for_each(|chunk| arrived[chunk * nodes] = 0);
        let mut free = vec![0_u64; self.kinds.len()];
        // For each kind and place, the place from which the kind leads there.
        let back: Vec<Vec<u32>> = self
            .kinds
            .iter()
            .map(|kind| {
                let mut from = vec![0; nodes];
                (0..nodes as u32).for_each(|at| from[self.plus(at, kind.by) as usize] = at);
                from
            })
            .collect();
        let mut missing: Vec<u32> = (0..(nodes * chunks) as u32).filter(|item| item % nodes as u32 != 0).collect();
        let mut tree = Vec::with_capacity(missing.len());
        let mut times = std::collections::BTreeSet::new();
        self.kinds.iter().for_each(|kind| {
            times.insert(kind.duration);
        });
        let mut order: Vec<usize> = (0..self.kinds.len()).collect();
        while !missing.is_empty() {
            let time = times.pop_first()?;
            stream.shuffle(&mut order);
            stream.shuffle(&mut missing);
            let from = |kind: usize, item: u32| {
                item / nodes as u32 * nodes as u32 + back[kind][(item % nodes as u32) as usize]
            };
            let is_able = |kind: usize, item: u32, free: &[u64]| {
                let begin = time.wrapping_sub(self.kinds[kind].duration);
                self.kinds[kind].duration <= time && free[kind] <= begin && arrived[from(kind, item) as usize] <= begin
            };
            let mut taken_by: Vec<Option<usize>> = vec![None; nodes * chunks];
            for &kind in &order {
                if free[kind].saturating_add(self.kinds[kind].duration) <= time {
                    let mut seen = vec![false; self.kinds.len()];
                    augment(kind, &missing, &mut taken_by, &mut seen, &|kind, item| is_able(kind, item, &free));
                }
            }
            let won: Vec<(usize, u32)> =
                missing.iter().filter_map(|item| Some((taken_by[*item as usize]?, *item))).collect();
            for &(kind, item) in &won {
                let duration = self.kinds[kind].duration;
                tree.push((kind, item / nodes as u32, from(kind, item) % nodes as u32, time - duration));
                free[kind] = time;
            }
            for &(_, item) in &won {
                arrived[item as usize] = time;
                self.kinds.iter().for_each(|kind| {
                    times.insert(time + kind.duration);
                });
            }
            missing.retain(|item| arrived[*item as usize] == u64::MAX);
        }
        Some(tree)
    }
}

/// Finds an item for a kind along an augmenting path.
fn augment(
    kind: usize,
    items: &[u32],
    taken_by: &mut [Option<usize>],
    seen: &mut [bool],
    is_able: &dyn Fn(usize, u32) -> bool,
) -> bool {
    seen[kind] = true;
    for &item in items {
        if taken_by[item as usize].is_none() && is_able(kind, item) {
            taken_by[item as usize] = Some(kind);
            return true;
        }
    }
    for &item in items {
        if let Some(other) = taken_by[item as usize]
            && !seen[other]
            && is_able(kind, item)
            && augment(other, items, taken_by, seen, is_able)
        {
            taken_by[item as usize] = Some(kind);
            return true;
        }
    }
    false
}

/// The factorisations of a number, those with fewer factors first.
fn factorisations(number: u32) -> Vec<Vec<u32>> {
    const MAX_FACTORISATIONS: usize = 3000;
    let mut all = vec![vec![number]];
    let mut next = 0;
    while next < all.len() && all.len() < MAX_FACTORISATIONS {
        let of = all[next].clone();
        next += 1;
        let (head, last) = (&of[..of.len() - 1], of[of.len() - 1]);
        for factor in (2..=last / 2).filter(|factor| last.is_multiple_of(*factor)) {
            let mut more = head.to_vec();
            more.extend([factor, last / factor]);
            all.push(more);
        }
    }
    all
}

/// The nodes of a ring in the order of a walk round it; `None` where the walk gets stuck.
fn ring_order(graph: &Graph) -> Option<Vec<u32>> {
    let mut order = vec![0];
    let mut seen = vec![false; graph.nodes()];
    seen[0] = true;
    while order.len() < graph.nodes() {
        let out = graph.outgoing(order[order.len() - 1] as usize).iter();
        let next = out.map(|link| graph.links()[*link as usize].to).find(|to| !seen[*to as usize])?;
        seen[next as usize] = true;
        order.push(next);
    }
    Some(order)
}

/// The search: the construction with one random order after the other.
pub(super) struct Symmetric {
    symmetry: Option<Option<Symmetry>>,
    stream: Stream,
    tries: u32,
}

/// The number of tries without meeting the bound after which the search gives up.
const MAX_TRIES: u32 = 64;
/// The limit of (chunks per node × nodes)², which a try takes as steps.
const MAX_COST: u64 = 400_000_000;

impl Symmetric {
    pub(super) fn new(seed: u64) -> Self {
        Self { symmetry: None, stream: Stream::new(seed), tries: 0 }
    }
}

impl Synthesizer for Symmetric {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        let Task { graph, demand } = *task;
        let chunks = demand.chunks() / graph.nodes().max(1);
        let items = graph.nodes() as u64 * chunks as u64;
        let cost = items.saturating_mul(items).max(1);
        // A try is made as a whole.
        if cost > MAX_COST {
            return SearchState::Finished;
        }
        let is_known = *demand == Demand::all_gather(graph.nodes(), chunks.max(1));
        let symmetry = self.symmetry.get_or_insert_with(|| if is_known { Symmetry::of(graph) } else { None });
        let Some(symmetry) = symmetry else { return SearchState::Finished };
        let mut effort_used = 0;
        while self.tries < MAX_TRIES && effort_used < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return SearchState::Finished;
            }
            self.tries += 1;
            effort_used += cost;
            if let Some(schedule) = symmetry.all_gather(chunks, &mut self.stream) {
                keep_shorter(best, schedule, task, Method::Symmetric);
            }
        }
        if self.tries < MAX_TRIES { SearchState::Working } else { SearchState::Finished }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{bound::bounds, verify::faults};

    /// Rows and columns of nodes, and from each node links of the given steps down and to the right, and durations.
    fn torus(rows: u32, columns: u32, kinds: &[(u32, u32, u64)]) -> Graph {
        let at = |row: u32, column: u32| row % rows * columns + column % columns;
        let of_node = |row: u32, column: u32| {
            kinds
                .iter()
                .map(move |&(down, right, duration)| (at(row, column), at(row + down, column + right), duration))
        };
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let links: Vec<_> = places.flat_map(|(row, column)| of_node(row, column)).collect();
        Graph::of_durations((rows * columns) as usize, &links)
    }

    /// A ring whose nodes are not in the order of their numbers.
    fn mixed_ring() -> Graph {
        Graph::of_durations(6, &[(0, 3, 2), (3, 1, 2), (1, 2, 2), (2, 5, 2), (5, 4, 2), (4, 0, 2)])
    }

    /// The shortest time that the search finds for an all_gather, and the bound; the schedule is valid.
    fn found(graph: &Graph, chunks: usize) -> Option<(u64, u64)> {
        let demand = Demand::all_gather(graph.nodes(), chunks);
        let (mut bounds, mut best) = (bounds(graph, &demand), None);
        let state = Symmetric::new(1).work(&Task { graph, demand: &demand }, &mut bounds, &mut best, u64::MAX);
        assert_eq!(state, SearchState::Finished);
        let best: PartSchedule = best?;
        assert_eq!(faults(graph, &best.schedule, None, Some(&demand)), []);
        assert_eq!((best.schedule.transfers.len(), best.by), (demand.pairs(), Method::Symmetric));
        Some((best.time, bounds.best()))
    }

    #[test]
    fn schedules_of_symmetric_graphs_are_as_short_as_can_be() {
        // A ring in both directions: two of four chunks over each link into a node.
        assert_eq!(found(&torus(1, 5, &[(0, 1, 2), (0, 4, 2)]), 1), Some((4, 4)));
        assert_eq!(found(&torus(1, 5, &[(0, 1, 2), (0, 4, 2)]), 3), Some((12, 12)));
        assert_eq!(found(&mixed_ring(), 2), Some((20, 20)));
        // Seven chunks over three links into each node.
        assert_eq!(found(&torus(2, 4, &[(1, 0, 3), (0, 1, 3), (0, 3, 3)]), 1), Some((9, 9)));
        // Slow links between two rings of three: across, and then one step round.
        assert_eq!(found(&torus(2, 3, &[(1, 0, 5), (0, 1, 2), (0, 2, 2)]), 1), Some((7, 7)));
        // Two links from each node to each other, one of them slower.
        let (time, bound) = found(&torus(1, 2, &[(0, 1, 2), (0, 1, 3)]), 5).unwrap();
        assert_eq!((time, bound), (6, 6));
    }

    #[test]
    fn what_does_not_look_the_same_from_every_node_has_no_symmetry() {
        let is_symmetric = |graph: &Graph| Symmetry::of(graph).is_some();
        assert!(is_symmetric(&mixed_ring()));
        assert!(is_symmetric(&torus(2, 3, &[(1, 0, 5), (0, 1, 2)])));
        assert!(!is_symmetric(&Graph::of_durations(0, &[])) && !is_symmetric(&Graph::of_durations(1, &[])));
        assert!(!is_symmetric(&Graph::of_durations(2, &[])), "no links");
        assert!(!is_symmetric(&Graph::of_durations(3, &[(0, 1, 2), (1, 0, 2), (1, 2, 2), (2, 1, 2)])), "a line");
        assert!(
            !is_symmetric(&Graph::of_durations(3, &[(0, 1, 2), (1, 2, 2), (2, 0, 3)])),
            "one link of a ring is slower"
        );
        assert!(!is_symmetric(&Graph::of_durations(3, &[(0, 1, 2), (1, 0, 2), (2, 0, 2)])), "nothing leads to node 2");
        assert!(!is_symmetric(&Graph::of_durations(3, &[(0, 1, 2), (1, 2, 2)])), "nothing leaves node 2");
    }

    #[test]
    fn places_are_added_digit_by_digit() {
        let with = |bases: &[u32]| Symmetry {
            bases: bases.to_vec(),
            place: (0..12).collect(),
            node: (0..12).collect(),
            kinds: Vec::new(),
        };
        // 11 is (1, 2, 1) and 9 is (1, 1, 1), with digits of base 2, 3 and 2.
        assert_eq!(with(&[2, 3, 2]).plus(11, 9), 0);
        // 7 is (1, 0, 1) and 4 is (0, 2, 0).
        assert_eq!(with(&[2, 3, 2]).plus(7, 4), 11);
        assert_eq!(with(&[12]).plus(7, 9), 4);
    }

    #[test]
    fn factorisations_are_in_every_order_those_with_fewer_factors_first() {
        assert_eq!(factorisations(7), [[7]]);
        let mut all = factorisations(12);
        assert!(all.is_sorted_by_key(Vec::len));
        all.compact_sort();
        let expected: [&[u32]; 8] = [&[2, 2, 3], &[2, 3, 2], &[2, 6], &[3, 2, 2], &[3, 4], &[4, 3], &[6, 2], &[12]];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_walk_round_a_ring_visits_each_node_once() {
        assert_eq!(ring_order(&mixed_ring()), Some(vec![0, 3, 1, 2, 5, 4]));
        assert_eq!(ring_order(&Graph::of_durations(3, &[(0, 1, 2), (1, 0, 2), (2, 0, 2)])), None);
    }

    #[test]
    fn links_are_found_by_ends_and_duration() {
        let index = LinkIndex::of(&Graph::of_durations(3, &[(1, 2, 5), (0, 1, 4), (0, 1, 2), (0, 1, 2)]));
        let links = [(0, 1, 2), (0, 1, 3), (0, 1, 4), (1, 2, 5), (1, 2, 6), (2, 0, 5)];
        let found = links.map(|(from, to, duration)| index.link(from, to, duration));
        assert_eq!(found, [Some(2), None, Some(1), Some(0), None, None]);
    }

    #[test]
    fn a_kind_of_links_gets_an_item_where_others_can_take_another_one() {
        // The first kind can carry both items, the second and the third only the first item.
        let is_able = |kind: usize, item: u32| kind == 0 || item == 0;
        let mut taken = vec![None; 2];
        let mut take = |kind: usize| augment(kind, &[0, 1], &mut taken, &mut [false; 3], &is_able);
        assert!(take(0) && take(1) && !take(2));
        assert_eq!(taken, [Some(1), Some(0)]);
    }

    #[test]
    fn the_search_tries_again_until_the_bound_is_met_or_for_64_times() {
        let graph = torus(1, 5, &[(0, 1, 2), (0, 4, 2)]);
        let demand = Demand::all_gather(5, 1);
        let task = Task { graph: &graph, demand: &demand };
        let (mut search, mut best) = (Symmetric::new(1), None);
        // A try takes 25 steps; a bound of 0 is never met.
        let mut calls = 1;
        while search.work(&task, &mut Bounds::default(), &mut best, 25) == SearchState::Working {
            calls += 1;
        }
        assert_eq!(calls, 64);
        let (mut search, mut best) = (Symmetric::new(1), None);
        let mut calls = 1;
        while search.work(&task, &mut Bounds::default(), &mut best, 26) == SearchState::Working {
            calls += 1;
        }
        assert_eq!(calls, 32, "two tries at a time");
        let (mut search, mut best) = (Symmetric::new(1), None);
        assert_eq!(search.work(&task, &mut Bounds::default(), &mut best, u64::MAX), SearchState::Finished);
        assert_eq!(search.tries, 64);
        let mut met = Bounds { cut_time: 4, ..Bounds::default() };
        let mut search = Symmetric::new(1);
        assert_eq!(search.work(&task, &mut met, &mut best, u64::MAX), SearchState::Finished);
        assert_eq!(search.tries, 0);
    }

    #[test]
    fn other_collectives_and_large_ones_are_left_to_other_searches() {
        let graph = torus(1, 5, &[(0, 1, 2), (0, 4, 2)]);
        for demand in [Demand::broadcast(5, 0, 5), Demand::broadcast(5, 0, 1), Demand::all_gather(5, 4001)] {
            let mut best = None;
            let task = Task { graph: &graph, demand: &demand };
            let state = Symmetric::new(1).work(&task, &mut Bounds::default(), &mut best, 1);
            assert!(state == SearchState::Finished && best.is_none());
        }
    }
}
