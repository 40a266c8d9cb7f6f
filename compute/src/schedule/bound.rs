//! What no schedule can beat.
//!
//! - L1, fluid: chunks as fine as one likes and no latency; per cut, what has to leave it over the rates that leave it
//!   (ForestColl, arXiv 2402.06787). For an all_gather the most over all cuts is exact, and can be reached.
//! - L2, cuts: whole chunks that keep links busy; per cut, the least time in which the links that leave it can bring over
//!   as many chunks as have to leave.
//! - L3, paths: the longest of the shortest ways that a chunk has to go.
//! - L4, load: how far all chunks have to go together over what all links carry (`load.rs`), where not everyone wants
//!   everything.
//!
//! [`Bounds::last_hop`] is L2 with one more step: what crosses a cut too late to be passed on beyond it has to cross once for
//! every node there.

use super::{
    cuts::Cut,
    demand::Demand,
    flow::{self, bottleneck, leaving},
    graph::Graph,
    load::{distances, load},
};
use crate::order::CompactSort;

/// All cuts are looked at up to so many nodes…
pub const ENUMERATED: usize = 16;
/// …where that takes at most so many steps: many chunks that are not alike take more.
const MOST_STEPS: u64 = 1_000_000_000;
/// The bottleneck is searched for exactly up to so many nodes.
const EXACT_FLUID: usize = 1024;
/// The most looks at a link that finding it may take.
const STEPS: u64 = 1_000_000_000;
/// Steps spent on cuts where not all can be looked at.
const EFFORT: usize = 3_000_000;
/// The most looks at a duration of links that all cuts may take: they are many where each link has its own.
const LOOKS: u64 = 100_000_000;

/// A set of nodes, and what has to leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrow {
    /// The nodes, ascending.
    pub inside: Vec<u32>,
    /// Chunks that have to leave.
    pub chunks: u64,
    /// The rate of the links that leave it.
    pub rate: u64,
}

/// Lower bounds of the time of a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// L1: at least `chunks` / `rate` times the size of a chunk.
    pub fluid: Narrow,
    /// No cut has a higher fluid bound.
    pub fluid_is_exact: bool,
    /// L2, in ticks.
    pub cut_time: u64,
    /// Its cut.
    pub cut: Narrow,
    /// L2 over cuts with a last hop, in ticks.
    pub last_hop: u64,
    /// All cuts were looked at.
    pub all_cuts: bool,
    /// L3, in ticks.
    pub path_time: u64,
    /// Its chunk and the node that wants it.
    pub path: Option<(u32, u32)>,
    /// L4, in ticks; 0 where everyone wants everything.
    pub load_time: u64,
    /// How far all chunks have to go, and how far links bring them in a unit of time at their rates: a fluid bound as L1 is.
    pub load: (u128, u128),
}

impl Bounds {
    /// The bound that is shown, the largest of L2, L3 and L4, in ticks.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.cut_time.max(self.path_time).max(self.load_time)
    }

    /// The best bound that is known, in ticks.
    #[must_use]
    pub fn best(&self) -> u64 {
        self.time().max(self.last_hop)
    }
}

/// Bounds of a demand that is copied. What is reduced has those of its mirror image over the reversed links.
#[must_use]
pub fn bounds(graph: &Graph, demand: &Demand) -> Bounds {
    let mut bounds = Bounds::default();
    paths(graph, demand, &mut bounds);
    let load = load(graph, demand);
    (bounds.load_time, bounds.load) = (load.time, (load.work, load.rate));
    let mut cut = Cut::new(graph, demand);
    // Of all moves half are the first node's.
    let steps = |nodes: usize| (cut.effort() as u64).saturating_mul(1 << nodes) / 2;
    if graph.nodes() <= ENUMERATED && steps(graph.nodes()) <= MOST_STEPS {
        // In the order of the Gray code, one node moves at a time.
        for code in 1..1_u32 << graph.nodes() {
            cut.flip(code.trailing_zeros() as usize);
            consider(&cut, &mut bounds);
        }
        bounds.all_cuts = true;
        bounds.fluid_is_exact = true;
        return bounds;
    }
    single_nodes(graph, &mut cut, &mut bounds);
    let inside = if demand.is_for_everyone() { fluid(graph, demand, &mut bounds) } else { None };
    if let Some(inside) = inside {
        inside.iter().for_each(|node| cut.flip(*node as usize));
        consider(&cut, &mut bounds);
        inside.iter().for_each(|node| cut.flip(*node as usize));
    }
    spheres(graph, &mut cut, &mut bounds, &|centre| graph.distances([centre]));
    if !load.lengths.is_empty() {
        // Long links lie over what is narrow.
        spheres(graph, &mut cut, &mut bounds, &|centre| distances(graph, &load.lengths, centre));
        halves(graph, &mut cut, &mut bounds);
    }
    bounds
}

fn consider(cut: &Cut<'_>, bounds: &mut Bounds) {
    let need = cut.needed();
    if need == 0 || cut.looks() > LOOKS {
        return;
    }
    if let Some(time) = cut.time(bounds.cut_time, false) {
        bounds.cut_time = time;
        bounds.cut = Narrow { inside: cut.inside(), chunks: need, rate: cut.rate };
    }
    if let Some(time) = cut.time(bounds.last_hop.max(bounds.cut_time), true) {
        bounds.last_hop = time;
    }
    let fluid = &bounds.fluid;
    if u128::from(need) * u128::from(fluid.rate) > u128::from(fluid.chunks) * u128::from(cut.rate) || fluid.chunks == 0
    {
        bounds.fluid = Narrow { inside: cut.inside(), chunks: need, rate: cut.rate };
    }
}

fn paths(graph: &Graph, demand: &Demand, bounds: &mut Bounds) {
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

fn single_nodes(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds) {
    for node in 0..graph.nodes() {
        cut.flip(node);
        consider(cut, bounds);
        cut.flip(node);
    }
    (0..graph.nodes()).for_each(|node| cut.flip(node));
    for node in 0..graph.nodes() {
        cut.flip(node);
        consider(cut, bounds);
        cut.flip(node);
    }
    (0..graph.nodes()).for_each(|node| cut.flip(node));
}

/// The bottleneck of an all_gather or a broadcast over all cuts.
fn fluid(graph: &Graph, demand: &Demand, bounds: &mut Bounds) -> Option<Vec<u32>> {
    if graph.nodes() > EXACT_FLUID {
        return None;
    }
    let per_node =
        |node: usize| (0..demand.chunks()).filter(move |chunk| demand.sources(*chunk) == [node as u32]).count();
    let first = per_node(0);
    let inside = if demand.chunks() == first * graph.nodes()
        && (0..demand.chunks()).all(|chunk| demand.sources(chunk) == [(chunk / first.max(1)) as u32])
    {
        bottleneck(graph, STEPS)?
    } else {
        let root = match demand.sources(0) {
            [root] if (0..demand.chunks()).all(|chunk| demand.sources(chunk) == [*root]) => *root,
            _ => return None,
        };
        let to = (0..graph.nodes() as u32).filter(|node| *node != root);
        let mut steps = STEPS;
        let flows: Option<Vec<(u64, Vec<u32>)>> = to.map(|to| flow::max_flow(graph, root, to, &mut steps)).collect();
        flows?.into_iter().min_by_key(|(flow, _)| *flow)?.1
    };
    bounds.fluid_is_exact = leaving(graph, &inside) > 0;
    Some(inside)
}

/// What is nearer to one end of a link than to the other, for each link as far as effort allows: in a grid, a torus or a
/// hypercube these are the halves.
fn halves(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds) {
    let nodes = graph.nodes();
    let most = (EFFORT / cut.effort().max(1)).min(graph.links().len());
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
        consider(cut, bounds);
    }
    (0..nodes).filter(|node| is_inside[*node]).for_each(|node| cut.flip(node));
}

/// What lies around each node, as far as effort allows.
fn spheres(graph: &Graph, cut: &mut Cut<'_>, bounds: &mut Bounds, distances: &dyn Fn(u32) -> Vec<u64>) {
    let nodes = graph.nodes();
    let most = (EFFORT / (2 * cut.effort()).max(1)).clamp(1, nodes);
    for step in 0..most {
        let centre = (step * nodes / most) as u32;
        let distance = distances(centre);
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.compact_sort_by_key(|node| distance[*node as usize]);
        // Into the set from the centre outwards, and out of it again: first what lies around the centre, then the rest.
        for _ in 0..2 {
            for &node in &order {
                cut.flip(node as usize);
                consider(cut, bounds);
            }
        }
    }
}
