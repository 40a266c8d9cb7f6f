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
        index.sort_unstable();
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
        let degree = graph.outgoing(0).len();
        if nodes < 2 || degree == 0 || (0..nodes).any(|node| graph.outgoing(node).len() != degree) {
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
                times.insert(time + duration);
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
