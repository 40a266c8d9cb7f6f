//! Lower bounds of the time of any schedule.
//!
//! - L1, fluid: chunks of any size and no latency; for each cut, the bytes that must leave it over the bandwidth that
//!   leaves it (ForestColl, arXiv 2402.06787). The maximum over all cuts is exact for an all_gather.
//! - L2, cuts: whole chunks that occupy links; for each cut, the least time in which the links that leave it can
//!   deliver the chunks that must leave.
//! - L3, paths: the longest of the shortest paths that a chunk must take.
//! - L4, load: the total path length of all chunks over what all links carry (`load.rs`), where not every node wants
//!   every chunk.
//!
//! [`Bounds::last_hop`] tightens L2: a chunk that crosses a cut too late to be forwarded beyond it must cross once for
//! every node there.

use super::{
    cuts::Cut,
    demand::Demand,
    flow::{self, bottleneck, leaving},
    graph::Graph,
    load::{distances, load},
};
use crate::order::CompactSort;

/// Up to this number of nodes all cuts are enumerated, unless that takes more than `MAX_ENUMERATION_STEPS`.
pub const MAX_ENUMERATED_NODES: usize = 16;
/// The most steps of the enumeration of cuts. A demand with many kinds of chunks takes more steps per cut.
const MAX_ENUMERATION_STEPS: u64 = 1_000_000_000;
/// The most nodes for which the fluid bottleneck is computed exactly.
const MAX_FLUID_NODES: usize = 1024;
/// The most inspections of a link by the maximum-flow computations.
const MAX_FLOW_STEPS: u64 = 1_000_000_000;
/// The number of steps spent on a selection of cuts, where not all are enumerated.
const CUT_EFFORT: usize = 3_000_000;
/// The most inspections of a link duration over all cuts: graphs whose links all differ have many durations.
const MAX_DURATION_LOOKS: u64 = 100_000_000;

/// A set of nodes and what must leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCut {
    /// The nodes inside, ascending.
    pub inside: Vec<u32>,
    /// The number of chunks that must leave.
    pub chunks: u64,
    /// The total rate of the links that leave, in the unit of [`super::graph::Link::rate`].
    pub rate: u64,
}

/// Lower bounds of the time of a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// L1: no schedule is faster than `chunks` / `rate` times the size of a chunk.
    pub fluid: NodeCut,
    /// Whether no cut has a higher fluid bound.
    pub fluid_is_exact: bool,
    /// L2, in ticks.
    pub cut_time: u64,
    /// The cut of the L2 bound.
    pub cut: NodeCut,
    /// The tightened L2 bound, or what a search proved, in ticks.
    pub last_hop: u64,
    /// Whether all cuts were enumerated.
    pub all_cuts: bool,
    /// L3, in ticks.
    pub path_time: u64,
    /// The chunk of the L3 bound and the node that wants it.
    pub path: Option<(u32, u32)>,
    /// L4, in ticks; 0 where every node wants every chunk.
    pub load_time: u64,
    /// The total path length of all chunks, and the length that all links carry per unit of time at their rates: the
    /// ratio is a fluid bound like L1.
    pub load: (u128, u128),
}

impl Bounds {
    /// The bound that is shown: the largest of L2, L3 and L4, in ticks.
    pub fn time(&self) -> u64 {
        self.cut_time.max(self.path_time).max(self.load_time)
    }

    /// The largest known bound, in ticks.
    pub fn best(&self) -> u64 {
        self.time().max(self.last_hop)
    }
}

/// Computes the bounds of a demand that is copied. A reduction has the bounds of its mirror image over the reversed
/// links.
pub fn bounds(graph: &Graph, demand: &Demand) -> Bounds {
    let mut bounds = Bounds::default();
    path_bound(graph, demand, &mut bounds);
    let load = load(graph, demand);
    (bounds.load_time, bounds.load) = (load.time, (load.work, load.rate));
    let mut cut = Cut::new(graph, demand);
    // In the order of the Gray code half of all moves are those of the first node.
    if graph.nodes() <= MAX_ENUMERATED_NODES
        && (cut.effort() as u64).saturating_mul(1 << graph.nodes()) / 2 <= MAX_ENUMERATION_STEPS
    {
        // In the order of the Gray code, one node moves at a time.
        for code in 1..1_u32 << graph.nodes() {
            cut.flip(code.trailing_zeros() as usize);
            update_bounds(&cut, &mut bounds);
        }
        bounds.all_cuts = true;
        bounds.fluid_is_exact = true;
        return bounds;
    }
    single_node_cuts(graph, &mut cut, &mut bounds);
    let inside = if demand.is_for_everyone() { fluid_bottleneck(graph, demand, &mut bounds) } else { None };
    if let Some(inside) = inside {
        inside.iter().for_each(|node| cut.flip(*node as usize));
        update_bounds(&cut, &mut bounds);
        inside.iter().for_each(|node| cut.flip(*node as usize));
    }
    ball_cuts(graph, &mut cut, &mut bounds, &|centre| graph.distances([centre]));
    if !load.lengths.is_empty() {
        // Links with large lengths cross the bottlenecks.
        ball_cuts(graph, &mut cut, &mut bounds, &|centre| distances(graph, &load.lengths, centre));
        halving_cuts(graph, &mut cut, &mut bounds);
    }
    bounds
}

fn update_bounds(cut: &Cut<'_>, bounds: &mut Bounds) {
    let need = cut.needed();
    if need == 0 || cut.looks() > MAX_DURATION_LOOKS {
        return;
    }
    if let Some(time) = cut.time(bounds.cut_time, false) {
        bounds.cut_time = time;
        bounds.cut = NodeCut { inside: cut.inside(), chunks: need, rate: cut.rate };
    }
    if let Some(time) = cut.time(bounds.last_hop.max(bounds.cut_time), true) {
        bounds.last_hop = time;
    }
    let fluid = &bounds.fluid;
    if u128::from(need) * u128::from(fluid.rate) > u128::from(fluid.chunks) * u128::from(cut.rate) || fluid.chunks == 0
    {
        bounds.fluid = NodeCut { inside: cut.inside(), chunks: need, rate: cut.rate };
    }
}

fn path_bound(graph: &Graph, demand: &Demand, bounds: &mut Bounds) {
    let mut last: Option<(&[u32], Vec<u64>)> = None;
    for chunk in 0..demand.chunks() {
        let sources = demand.sources(chunk);
        if last.as_ref().is_some_and(|(of, _)| *of == sources) && demand.is_for_everyone() {
            continue;
        }
        if last.as_ref().is_none_or(|(of, _)| *of != sources) {
            last = Some((sources, graph.distances(sources.iter().copied())));
        }
        let Some((_, distance)) = &last else { continue };
        for node in demand.wants(chunk) {
            let time = distance[node as usize];
            if time > bounds.path_time {
                (bounds.path_time, bounds.path) = (time, Some((chunk as u32, node)));
            }
        }
    }
}

fn single_node_cuts(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds) {
    for node in 0..graph.nodes() {
        cut.flip(node);
        update_bounds(cut, bounds);
        cut.flip(node);
    }
    (0..graph.nodes()).for_each(|node| cut.flip(node));
    for node in 0..graph.nodes() {
        cut.flip(node);
        update_bounds(cut, bounds);
        cut.flip(node);
    }
    (0..graph.nodes()).for_each(|node| cut.flip(node));
}

/// The bottleneck cut of an all_gather or a broadcast over all cuts; `None` for other demands, or where it takes too
/// long.
fn fluid_bottleneck(graph: &Graph, demand: &Demand, bounds: &mut Bounds) -> Option<Vec<u32>> {
    if graph.nodes() > MAX_FLUID_NODES {
        return None;
    }
    let per_node =
        |node: usize| (0..demand.chunks()).filter(move |chunk| demand.sources(*chunk) == [node as u32]).count();
    let first = per_node(0);
    let inside = if demand.chunks() == first * graph.nodes()
        && (0..demand.chunks()).all(|chunk| demand.sources(chunk) == [(chunk / first.max(1)) as u32])
    {
        bottleneck(graph, MAX_FLOW_STEPS)?
    } else {
        let root = match demand.sources(0) {
            [root] if (0..demand.chunks()).all(|chunk| demand.sources(chunk) == [*root]) => *root,
            _ => return None,
        };
        let to = (0..graph.nodes() as u32).filter(|node| *node != root);
        let mut steps = MAX_FLOW_STEPS;
        let flows: Option<Vec<(u64, Vec<u32>)>> = to.map(|to| flow::max_flow(graph, root, to, &mut steps)).collect();
        flows?.into_iter().min_by_key(|(flow, _)| *flow)?.1
    };
    bounds.fluid_is_exact = leaving(graph, &inside) > 0;
    Some(inside)
}

/// For each link, as far as the effort allows, the cut between the nodes nearer to its one end and those nearer to the
/// other: in a grid, a torus or a hypercube these halve the graph.
fn halving_cuts(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds) {
    let nodes = graph.nodes();
    let most = (CUT_EFFORT / cut.effort().max(1)).min(graph.links().len());
    let mut is_inside = vec![false; nodes];
    let mut last: Option<(u32, Vec<u64>)> = None;
    for step in 0..most {
        let link = graph.links()[step * graph.links().len() / most];
        if last.as_ref().is_none_or(|(from, _)| *from != link.from) {
            last = Some((link.from, graph.distances([link.from])));
        }
        let Some((_, from)) = &last else { continue };
        let to = graph.distances([link.to]);
        for node in 0..nodes {
            let is_nearer = from[node] < to[node];
            if is_nearer != is_inside[node] {
                is_inside[node] = is_nearer;
                cut.flip(node);
            }
        }
        update_bounds(cut, bounds);
    }
    (0..nodes).filter(|node| is_inside[*node]).for_each(|node| cut.flip(node));
}

/// For each centre, as far as the effort allows, the cuts around balls of growing radius.
fn ball_cuts(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds, distances: &dyn Fn(u32) -> Vec<u64>) {
    let nodes = graph.nodes();
    let most = (CUT_EFFORT / (2 * cut.effort()).max(1)).clamp(1, nodes);
    for step in 0..most {
        let centre = (step * nodes / most) as u32;
        let distance = distances(centre);
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.compact_sort_by_key(|node| distance[*node as usize]);
        // Move nodes into the set by distance, then out of it in the same order: the balls first, then their
        // complements.
        for _ in 0..2 {
            for &node in &order {
                cut.flip(node as usize);
                update_bounds(cut, bounds);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    /// Four nodes in a line. Backwards links are slower, and the middle has the least bandwidth.
    fn line() -> Graph {
        let link = |from, to, duration, rate| Link { from, to, duration, rate };
        let forwards = [link(0, 1, 5, 10), link(1, 2, 7, 3), link(2, 3, 11, 8)];
        let backwards = [link(1, 0, 6, 9), link(2, 1, 8, 4), link(3, 2, 12, 8)];
        Graph::new(4, [forwards, backwards].concat()).expect("the links are valid")
    }

    #[test]
    fn the_longest_path_of_any_chunk_bounds_the_time() {
        let mut bounds = Bounds::default();
        path_bound(&line(), &Demand::all_gather(4, 2), &mut bounds);
        assert_eq!(
            (bounds.path_time, bounds.path),
            (26, Some((6, 0))),
            "the first chunk of node 3 on its way to node 0"
        );
        // Of equal paths the first is named.
        let star = [1, 2].map(|to| Link { from: 0, to, duration: 5, rate: 1 });
        let graph = Graph::new(3, star.to_vec()).expect("the links are valid");
        let mut bounds = Bounds::default();
        path_bound(&graph, &Demand::broadcast(3, 0, 2), &mut bounds);
        assert_eq!((bounds.path_time, bounds.path), (5, Some((0, 1))));
    }

    #[test]
    fn single_nodes_and_all_but_one_are_cut() {
        let (graph, demand, mut bounds) = (line(), Demand::all_gather(4, 2), Bounds::default());
        single_node_cuts(&graph, &mut Cut::new(&graph, &demand), &mut bounds);
        assert_eq!(bounds.fluid, NodeCut { inside: vec![0, 1, 2], chunks: 6, rate: 8 });
    }

    #[test]
    fn the_bottleneck_of_a_line_is_its_middle() {
        let graph = line();
        let cut = |demand: &Demand| {
            let mut bounds = Bounds::default();
            let inside = fluid_bottleneck(&graph, demand, &mut bounds).map(|mut inside| {
                inside.sort_unstable();
                inside
            });
            (inside, bounds.fluid_is_exact)
        };
        assert_eq!(cut(&Demand::all_gather(4, 2)), (Some(vec![0, 1]), true));
        assert_eq!(cut(&Demand::broadcast(4, 3, 3)), (Some(vec![2, 3]), true));
        // Sources of several kinds are neither an all_gather nor a broadcast.
        let mixed = Demand::from_chunks(4, [(vec![0], vec![1, 2, 3]), (vec![2], vec![0, 1, 3])]);
        assert_eq!(cut(&mixed), (None, false));
    }
}
