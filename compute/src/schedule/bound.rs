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
                inside.compact_sort();
                inside
            });
            (inside, bounds.fluid_is_exact)
        };
        assert_eq!(cut(&Demand::all_gather(4, 2)), (Some(vec![0, 1]), true));
        assert_eq!(cut(&Demand::broadcast(4, 3, 3)), (Some(vec![2, 3]), true));
        // Sources of several kinds are neither an all_gather nor a broadcast.
        let mixed = Demand::from_chunks(4, [(vec![0], vec![1, 2, 3]), (vec![2], vec![0, 1, 3])]);
        assert_eq!(cut(&mixed), (None, false));
        let mixed = Demand::from_chunks(4, [3, 1, 2, 0].map(|node| (vec![node], vec![0, 1, 2, 3])));
        assert_eq!(cut(&mixed), (None, false), "as many chunks of each node, in another order");
    }

    /// Links of the given ends and durations.
    fn graph(nodes: usize, links: impl IntoIterator<Item = (u32, u32, u64)>) -> Graph {
        let links = links.into_iter().map(|(from, to, duration)| Link { from, to, duration, rate: 1 });
        Graph::new(nodes, links.collect()).unwrap()
    }

    /// A chunk of each node for each other node.
    fn alltoall(nodes: u32) -> Demand {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).filter(move |to| *to != from).map(move |to| (from, to)));
        Demand::from_chunks(nodes as usize, pairs.map(|(from, to)| (vec![from], vec![to])))
    }

    fn cut(inside: &[u32], chunks: u64, rate: u64) -> NodeCut {
        NodeCut { inside: inside.to_vec(), chunks, rate }
    }

    #[test]
    fn all_cuts_of_a_small_graph_are_tried() {
        let bounds = bounds(&line(), &Demand::all_gather(4, 2));
        // Six chunks over the last link, which takes 11 ticks; four over the middle, at rate 3.
        assert_eq!((bounds.cut_time, &bounds.cut), (66, &cut(&[0, 1, 2], 6, 8)));
        assert_eq!((&bounds.fluid, bounds.fluid_is_exact, bounds.all_cuts), (&cut(&[0, 1], 4, 3), true, true));
        assert_eq!((bounds.path_time, bounds.load_time, bounds.time(), bounds.best()), (26, 0, 66, 66));
        // Where nobody wants anything nothing has to leave.
        let nothing = super::bounds(&line(), &Demand::from_chunks(4, [(vec![0], vec![])]));
        assert_eq!((nothing.best(), nothing.fluid, nothing.cut), (0, NodeCut::default(), NodeCut::default()));
    }

    #[test]
    fn a_chunk_that_crosses_last_has_to_be_forwarded() {
        // Three chunks over a link of ten ticks, the last of which takes four more ticks to node 2.
        let graph = graph(3, [(0, 1, 10), (1, 2, 4)]);
        let bounds = bounds(&graph, &Demand::broadcast(3, 0, 3));
        assert_eq!((bounds.cut_time, bounds.path_time, bounds.time()), (30, 14, 30));
        assert_eq!((bounds.last_hop, bounds.best()), (34, 34));
    }

    #[test]
    fn the_largest_bound_counts() {
        let of = |cut_time, path_time, load_time, last_hop| {
            let bounds = Bounds { cut_time, path_time, load_time, last_hop, ..Bounds::default() };
            (bounds.time(), bounds.best())
        };
        assert_eq!([of(5, 4, 3, 2), of(3, 5, 4, 6), of(3, 4, 5, 7)], [(5, 5), (5, 6), (5, 7)]);
    }

    #[test]
    fn an_alltoall_on_a_hypercube_has_to_cross_its_halves() {
        // 32 nodes and 160 links: 16 · 16 chunks cross 16 links in each direction of a dimension, and all paths
        // together have 32 · 80 hops. Balls round a node and single nodes give less.
        let links = (0..32).flat_map(|node: u32| (0..5).map(move |digit| (node, node ^ 1 << digit, 1)));
        let bounds = bounds(&graph(32, links), &alltoall(32));
        assert_eq!((bounds.cut_time, bounds.cut.chunks, bounds.cut.rate, bounds.all_cuts), (16, 256, 16, false));
        assert_eq!((bounds.load_time, bounds.load.0 / bounds.load.1, bounds.path_time), (16, 16, 5));
    }

    #[test]
    fn the_bottleneck_of_a_large_graph_is_found() {
        // Two groups of ten nodes, of which each has links to all others; two links between the groups.
        let inside = (0..20).flat_map(|a: u32| (0..20).map(move |b: u32| (a, b))).filter(|(a, b)| a / 10 == b / 10);
        let links = inside.filter(|(a, b)| a != b).chain([(3, 14), (14, 3)]).map(|(a, b)| (a, b, 3));
        let graph = graph(20, links);
        let gather = bounds(&graph, &Demand::all_gather(20, 1));
        assert_eq!((gather.fluid.chunks, gather.fluid.rate), (10, 1));
        assert_eq!((gather.cut_time, gather.fluid_is_exact, gather.all_cuts), (30, true, false));
        // Each node of one group has a chunk for another node of the other one.
        let demand = Demand::from_chunks(20, (0..10).map(|node| (vec![node], vec![node + 10])));
        let across = bounds(&graph, &demand);
        assert_eq!((across.cut_time, across.fluid.chunks, across.fluid.rate), (30, 10, 1));
        assert!(!across.fluid_is_exact && !across.all_cuts);
    }

    #[test]
    fn a_demand_with_too_many_kinds_of_chunks_is_not_enumerated() {
        let links = (0..16).flat_map(|from: u32| (0..16).filter(move |to| *to != from).map(move |to| (from, to, 1)));
        let graph = graph(16, links);
        let chunks = (0..16_000_u32).map(|chunk| (vec![chunk % 16], vec![(chunk % 16 + 1 + chunk / 16 % 15) % 16]));
        let bounds = bounds(&graph, &Demand::from_chunks(16, chunks));
        assert!(!bounds.all_cuts && !bounds.fluid_is_exact);
        // 1000 chunks leave each node over 15 links.
        assert_eq!((bounds.cut_time, bounds.cut.chunks, bounds.cut.rate), (67, 1000, 15));
    }

    #[test]
    fn balls_round_every_node_and_their_complements_are_cut() {
        let (graph, demand, mut bounds) = (line(), Demand::all_gather(4, 2), Bounds::default());
        let centres = std::cell::RefCell::new(Vec::new());
        let mut cuts = Cut::new(&graph, &demand);
        ball_cuts(&graph, &mut cuts, &mut bounds, &|centre| {
            centres.borrow_mut().push(centre);
            graph.distances([centre])
        });
        assert_eq!(centres.take(), [0, 1, 2, 3]);
        assert_eq!((&bounds.fluid, bounds.cut_time), (&cut(&[0, 1], 4, 3), 66));
        assert!(cuts.inside().is_empty(), "the set is as it was");
        // A complement: what node 3 has goes over the middle the other way.
        let (demand, mut bounds) = (Demand::broadcast(4, 3, 3), Bounds::default());
        ball_cuts(&graph, &mut Cut::new(&graph, &demand), &mut bounds, &|_| vec![0, 1, 2, 3]);
        assert_eq!((bounds.fluid, bounds.cut_time, bounds.cut), (cut(&[2, 3], 3, 4), 36, cut(&[3], 3, 8)));
    }

    #[test]
    fn in_a_large_graph_the_centres_of_balls_are_spread_over_all_nodes() {
        let nodes = 1000;
        let ring = (0..nodes).flat_map(|node| [(node, (node + 1) % nodes, 1), (node, (node + nodes - 1) % nodes, 1)]);
        let (graph, demand) = (graph(nodes as usize, ring), Demand::broadcast(nodes as usize, 0, 1));
        let centres = std::cell::RefCell::new(Vec::new());
        ball_cuts(&graph, &mut Cut::new(&graph, &demand), &mut Bounds::default(), &|centre| {
            centres.borrow_mut().push(centre);
            vec![0; nodes as usize]
        });
        // A ball and its complement take 10,000 steps of 3,000,000.
        let centres = centres.take();
        assert_eq!((centres.len(), centres[0]), (300, 0));
        assert!(centres.windows(2).all(|pair| (3..=4).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn each_link_cuts_between_what_is_nearer_to_its_ends() {
        let (graph, demand, mut bounds) = (line(), Demand::all_gather(4, 2), Bounds::default());
        let mut cuts = Cut::new(&graph, &demand);
        halving_cuts(&graph, &mut cuts, &mut bounds);
        assert_eq!((&bounds.fluid, bounds.cut_time), (&cut(&[0, 1], 4, 3), 66));
        assert!(cuts.inside().is_empty(), "the set is as it was");
        let (demand, mut bounds) = (Demand::broadcast(4, 3, 3), Bounds::default());
        halving_cuts(&graph, &mut Cut::new(&graph, &demand), &mut bounds);
        assert_eq!((bounds.fluid, bounds.cut_time, bounds.cut), (cut(&[2, 3], 3, 4), 36, cut(&[3], 3, 8)));
        // Without links back only what lies before a link can leave.
        let (forwards, demand, mut bounds) =
            (self::graph(3, [(0, 1, 5), (1, 2, 5)]), Demand::broadcast(3, 0, 2), Bounds::default());
        halving_cuts(&forwards, &mut Cut::new(&forwards, &demand), &mut bounds);
        assert_eq!((bounds.cut_time, bounds.cut), (10, cut(&[0], 2, 1)));
        // Node 2 is as near to the one end as to the other, and stays outside.
        let link = |from, to, rate| Link { from, to, duration: 1, rate };
        let links = [link(0, 1, 1), link(0, 2, 1), link(1, 2, 10), link(2, 1, 10), link(1, 0, 1), link(2, 0, 1)];
        let graph = Graph::new(3, links.to_vec()).unwrap();
        let (demand, mut bounds) = (Demand::broadcast(3, 0, 3), Bounds::default());
        halving_cuts(&graph, &mut Cut::new(&graph, &demand), &mut bounds);
        assert_eq!(bounds.fluid, cut(&[0], 3, 2));
    }

    #[test]
    fn a_bottleneck_that_nothing_leaves_is_no_bound() {
        let graph = graph(3, [(0, 1, 1)]);
        let mut bounds = Bounds::default();
        assert_eq!(fluid_bottleneck(&graph, &Demand::broadcast(3, 0, 2), &mut bounds), Some(vec![0, 1]));
        assert!(!bounds.fluid_is_exact);
    }
}
