//! The load bound: how long all links together must be busy where not every node wants every chunk, as in an alltoall.
//!
//! Give each link a length. A chunk's path is at least as long as the shortest path to a node that wants it, and in a
//! time T a link of duration τ carries at most ⌊T / τ⌋ chunks. So the sum of ⌊T / τ⌋ times the length over all links is
//! at least the sum of the shortest paths. This holds for any lengths. The durations as lengths need one search from
//! each node; lengths that grow on congested links come close to the best bound (the dual of the concurrent flow, by
//! multiplicative weights: Garg and Könemann 2007). A cut is the special case of length 1 on its links and 0 elsewhere.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{demand::Demand, graph::Graph};
use crate::math::exp;

/// The most inspections of a link in the search for lengths.
const MAX_LINK_LOOKS: u64 = 48_000_000;
/// The most assignments of lengths that are tried.
const MAX_TRIES: u64 = 160;
/// The integer length of the longest link; others are in proportion.
const LONGEST_LENGTH: f64 = 1_048_576.0;

/// The best bound found.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// No schedule ends before, in ticks.
    pub time: u64,
    /// The total path length of all chunks, by the lengths of the best fluid bound.
    pub work: u128,
    /// The length that all links carry per unit of time, by the same lengths.
    pub rate: u128,
    /// The lengths of the best bound in ticks, one per link.
    pub lengths: Vec<u64>,
}

/// Chunks that begin at the same nodes.
#[derive(Default)]
struct SourceGroup {
    sources: Vec<u32>,
    /// The nodes that want chunks of which they are the only ones, and how many each.
    wants: Vec<(u32, u64)>,
    /// The nodes that want each chunk that several nodes want.
    shared: Vec<Vec<u32>>,
}

fn groups(demand: &Demand) -> Vec<SourceGroup> {
    let mut places: BTreeMap<&[u32], usize> = BTreeMap::new();
    let mut groups: Vec<SourceGroup> = Vec::new();
    let mut counts: Vec<BTreeMap<u32, u64>> = Vec::new();
    for chunk in 0..demand.chunks() {
        let sources = demand.sources(chunk);
        let place = *places.entry(sources).or_insert_with(|| {
            groups.push(SourceGroup { sources: sources.to_vec(), ..SourceGroup::default() });
            counts.push(BTreeMap::new());
            groups.len() - 1
        });
        let wants: Vec<u32> = demand.wants(chunk).collect();
        match wants[..] {
            [] => {}
            [node] => *counts[place].entry(node).or_default() += 1,
            _ => groups[place].shared.push(wants),
        }
    }
    for (group, counts) in groups.iter_mut().zip(counts) {
        group.wants = counts.into_iter().collect();
    }
    groups
}

/// Shortest paths from some nodes.
struct ShortestPaths {
    distance: Vec<u64>,
    by: Vec<u32>,
    order: Vec<u32>,
    open: BinaryHeap<(Reverse<u64>, u32)>,
}

const NO_LINK: u32 = u32::MAX;

impl ShortestPaths {
    fn new(nodes: usize) -> Self {
        Self { distance: vec![u64::MAX; nodes], by: vec![NO_LINK; nodes], order: Vec::new(), open: BinaryHeap::new() }
    }

    fn search(&mut self, graph: &Graph, lengths: &[u64], sources: &[u32]) {
        self.distance.fill(u64::MAX);
        self.by.fill(NO_LINK);
        self.order.clear();
        for source in sources {
            self.distance[*source as usize] = 0;
            self.open.push((Reverse(0), *source));
        }
        while let Some((Reverse(at), node)) = self.open.pop() {
            if at > self.distance[node as usize] {
                continue;
            }
            self.order.push(node);
            for &link in graph.outgoing(node as usize) {
                let to = graph.links()[link as usize].to;
                let then = at + lengths[link as usize];
                if then < self.distance[to as usize] {
                    self.distance[to as usize] = then;
                    self.by[to as usize] = link;
                    self.open.push((Reverse(then), to));
                }
            }
        }
    }
}

struct LoadSearch<'a> {
    graph: &'a Graph,
    groups: Vec<SourceGroup>,
    paths: ShortestPaths,
    best: Load,
}

impl LoadSearch<'_> {
    /// Evaluates an assignment of lengths; writes to `used` how often shortest paths use each link.
    fn evaluate(&mut self, lengths: &[u64], used: &mut [f64]) {
        let graph = self.graph;
        used.fill(0.0);
        let mut work = 0_u128;
        let mut nearest: Option<Vec<u64>> = None;
        let mut passing = vec![0_u64; graph.nodes()];
        for group in &self.groups {
            self.paths.search(graph, lengths, &group.sources);
            passing.fill(0);
            for &(node, count) in &group.wants {
                let distance = self.paths.distance[node as usize];
                // An unreachable node is reported elsewhere (`Demand::unreachable`).
                if distance < u64::MAX {
                    work += u128::from(distance) * u128::from(count);
                    passing[node as usize] += count;
                }
            }
            for wants in &group.shared {
                // A tree to all of them is at least as long as the path to the farthest, and enters each over some
                // link.
                let nearest = nearest.get_or_insert_with(|| {
                    let shortest = |node: usize| graph.incoming(node).iter().map(|link| lengths[*link as usize]).min();
                    (0..graph.nodes()).map(|node| shortest(node).unwrap_or(0)).collect()
                });
                let reached = wants.iter().filter(|node| self.paths.distance[**node as usize] < u64::MAX);
                let farthest = reached.clone().map(|node| self.paths.distance[*node as usize]).max().unwrap_or(0);
                let each: u128 = reached.map(|node| u128::from(nearest[*node as usize])).sum();
                work += u128::from(farthest).max(each);
                wants.iter().for_each(|node| passing[*node as usize] += 1);
            }
            // From the farthest node back to the sources.
            for &node in self.paths.order.iter().rev() {
                let (link, count) = (self.paths.by[node as usize], passing[node as usize]);
                if link != NO_LINK && count > 0 {
                    used[link as usize] += count as f64;
                    passing[graph.links()[link as usize].from as usize] += count;
                }
            }
        }
        self.update_best(lengths, work);
    }

    fn update_best(&mut self, lengths: &[u64], work: u128) {
        let links = self.graph.links();
        let rate: u128 =
            links.iter().zip(lengths).map(|(link, length)| u128::from(link.rate) * u128::from(*length)).sum();
        let best = &mut self.best;
        // The same rounding on both sides of the comparison.
        if rate > 0 && (best.rate == 0 || work as f64 / rate as f64 > best.work as f64 / best.rate as f64) {
            (best.work, best.rate) = (work, rate);
        }
        let mut by_duration: BTreeMap<u64, u128> = BTreeMap::new();
        for (link, length) in links.iter().zip(lengths).filter(|(_, length)| **length > 0) {
            *by_duration.entry(link.duration).or_default() += u128::from(*length);
        }
        let is_enough = |time: u64| {
            let all = by_duration.iter().map(|(duration, length)| u128::from(time / duration) * length);
            all.sum::<u128>() >= work
        };
        if is_enough(best.time) || by_duration.is_empty() {
            return;
        }
        let (mut low, mut high) = (best.time, best.time.max(1));
        while !is_enough(high) {
            if high > u64::MAX / 4 {
                return;
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
        best.time = high;
        best.lengths = lengths.to_vec();
    }
}

/// The load bound of a demand, by the best lengths found within [`MAX_LINK_LOOKS`]; the default where every node wants
/// every chunk, for which cuts give as much.
pub(super) fn load(graph: &Graph, demand: &Demand) -> Load {
    if demand.is_for_everyone() || graph.links().is_empty() {
        return Load::default();
    }
    let groups = groups(demand);
    let shared: usize = groups.iter().flat_map(|group| &group.shared).map(Vec::len).sum();
    let pass = (groups.len() * (graph.nodes() + 4 * graph.links().len()) + shared).max(1) as u64;
    let tries = (MAX_LINK_LOOKS / pass).clamp(1, MAX_TRIES);
    let mut search = LoadSearch { graph, groups, paths: ShortestPaths::new(graph.nodes()), best: Load::default() };
    let links = graph.links();
    let mut used = vec![0.0; links.len()];
    // Also try equal lengths for all links; where all durations are equal the first attempt below does that.
    if graph.uniform().is_none() && tries > 1 {
        search.evaluate(&vec![1; links.len()], &mut used);
    }
    // Prices are per tick of each link; a link's length is the price of carrying one chunk.
    let mut prices = vec![1.0; links.len()];
    let mut sum = vec![0.0; links.len()];
    let mut lengths = vec![0_u64; links.len()];
    for attempt in 1..=tries {
        round(links, &prices, &mut lengths);
        search.evaluate(&lengths, &mut used);
        let busy = |link: usize, used: &[f64]| used[link] * links[link].duration as f64;
        let most = (0..links.len()).map(|link| busy(link, &used)).fold(0.0, f64::max);
        if most == 0.0 {
            break;
        }
        let step = 1.0 / (attempt as f64).sqrt();
        for (link, price) in prices.iter_mut().enumerate() {
            *price *= exp(step * (busy(link, &used) / most - 1.0));
        }
        let total: f64 = prices.iter().sum();
        for (sum, price) in sum.iter_mut().zip(&mut prices) {
            *price /= total;
            *sum += *price;
        }
        // The average of all prices so far is nearly as good as each of them, or better.
        if attempt.is_power_of_two() && attempt > 2 || attempt == tries && attempt > 1 {
            round(links, &sum, &mut lengths);
            search.evaluate(&lengths, &mut used);
        }
    }
    search.best
}

/// Rounds prices times durations to integer lengths.
fn round(links: &[super::graph::Link], prices: &[f64], lengths: &mut [u64]) {
    let length = |link: usize| prices[link] * links[link].duration as f64;
    let longest = (0..links.len()).map(length).fold(0.0, f64::max);
    for (place, rounded) in lengths.iter_mut().enumerate() {
        *rounded = (length(place) / longest * LONGEST_LENGTH).round() as u64;
    }
}

/// The lengths of shortest paths from a node to each.
pub(super) fn distances(graph: &Graph, lengths: &[u64], from: u32) -> Vec<u64> {
    let mut paths = ShortestPaths::new(graph.nodes());
    paths.search(graph, lengths, &[from]);
    paths.distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    /// Links of the given ends and durations, at rate 2.
    fn graph(nodes: usize, links: &[(u32, u32, u64)]) -> Graph {
        let link = |&(from, to, duration)| Link { from, to, duration, rate: 2 };
        Graph::new(nodes, links.iter().map(link).collect()).unwrap()
    }

    /// A ring of `nodes` nodes whose links lead to the next node.
    fn ring(nodes: u32, duration: u64) -> Graph {
        let links: Vec<_> = (0..nodes).map(|from| (from, (from + 1) % nodes, duration)).collect();
        graph(nodes as usize, &links)
    }

    /// A chunk of each node for each other node.
    fn alltoall(nodes: u32) -> Demand {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).filter(move |to| *to != from).map(move |to| (from, to)));
        Demand::from_chunks(nodes as usize, pairs.map(|(from, to)| (vec![from], vec![to])))
    }

    /// `count` times a chunk of node 0 for node 1.
    fn first_link(nodes: usize, count: usize) -> Demand {
        Demand::from_chunks(nodes, vec![(vec![0], vec![1]); count])
    }

    fn search<'a>(graph: &'a Graph, demand: &Demand) -> LoadSearch<'a> {
        LoadSearch { graph, groups: groups(demand), paths: ShortestPaths::new(graph.nodes()), best: Load::default() }
    }

    #[test]
    fn chunks_are_grouped_by_the_nodes_that_have_them() {
        let chunks =
            [(vec![0], vec![1]), (vec![2], vec![1, 3]), (vec![0], vec![3]), (vec![0], vec![1]), (vec![0], vec![])];
        let groups: Vec<_> = groups(&Demand::from_chunks(4, chunks))
            .into_iter()
            .map(|group| (group.sources, group.wants, group.shared))
            .collect();
        assert_eq!(groups, [(vec![0], vec![(1, 2), (3, 1)], vec![]), (vec![2], vec![], vec![vec![1, 3]])]);
    }

    #[test]
    fn shortest_paths_are_those_of_the_given_lengths() {
        let graph = graph(4, &[(0, 1, 1), (0, 2, 1), (2, 1, 1), (1, 3, 1)]);
        assert_eq!(distances(&graph, &[9, 1, 2, 4], 0), [0, 3, 1, 7]);
        assert_eq!(distances(&graph, &[9, 1, 2, 4], 2), [u64::MAX, 2, 0, 6]);
    }

    #[test]
    fn lengths_give_a_time_and_a_rate_and_the_best_of_each_is_kept() {
        // From node 0 along a line of links that take three ticks: one chunk to node 1, four to both nodes 2 and 3.
        // What can't be reached counts nothing.
        let line = graph(4, &[(0, 1, 3), (1, 2, 3), (2, 3, 3)]);
        let chunks =
            [vec![(vec![0], vec![2, 3]); 4], vec![(vec![0], vec![1]), (vec![3], vec![0]), (vec![3], vec![0, 1])]];
        let demand = Demand::from_chunks(4, chunks.concat());
        let mut search = search(&line, &demand);
        let mut used = vec![0.0; 3];
        let mut after = |lengths: &[u64]| {
            search.evaluate(lengths, &mut used);
            let Load { time, work, rate, lengths } = search.best.clone();
            (time, work, rate, lengths)
        };
        // Four chunks over the middle link, one every three ticks.
        assert_eq!(after(&[0, 1, 0]), (12, 4, 2, vec![0, 1, 0]));
        // Four paths of length 4 and one of length 1, over links of a total length of 4: not by tick 14.
        assert_eq!(after(&[1, 2, 1]), (15, 17, 8, vec![1, 2, 1]));
        // Five chunks over the first link: a higher rate, and no later time.
        assert_eq!(after(&[1, 0, 0]), (15, 5, 2, vec![1, 2, 1]));
        assert_eq!(after(&[0, 0, 1]), (15, 5, 2, vec![1, 2, 1]));
        assert_eq!(after(&[0, 0, 0]), (15, 5, 2, vec![1, 2, 1]));
        assert_eq!(used, [9.0, 8.0, 4.0], "how often paths go over each link");
    }

    #[test]
    fn a_chunk_is_counted_on_one_shortest_path() {
        // Directly by a longer link, or by two ways of equal length.
        let graph = graph(4, &[(0, 3, 1), (0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1)]);
        let mut search = search(&graph, &Demand::from_chunks(4, [(vec![0], vec![3])]));
        let mut used = vec![0.0; 5];
        search.evaluate(&[5, 1, 1, 1, 1], &mut used);
        assert_eq!((used[0], used[1] + used[3], used[2] + used[4]), (0.0, 1.0, 1.0));
    }

    #[test]
    fn a_time_beyond_what_ticks_can_say_is_left_out() {
        assert_eq!(load(&graph(2, &[(0, 1, 1 << 62)]), &first_link(2, 8)).time, 0);
    }

    #[test]
    fn a_chunk_for_several_nodes_enters_each_of_them() {
        let star = graph(4, &[(0, 1, 1), (0, 2, 1), (0, 3, 1), (1, 2, 1)]);
        let demand = Demand::from_chunks(4, [(vec![0], vec![1, 2, 3])]);
        let mut search = search(&star, &demand);
        // Node 2 is entered over the shorter of two links.
        search.evaluate(&[1, 7, 1, 2], &mut [0.0; 4]);
        assert_eq!((search.best.work, search.best.rate), (1 + 2 + 1, 2 * (1 + 7 + 1 + 2)));
    }

    #[test]
    fn links_are_counted_with_what_they_carry_whole() {
        // Four chunks one way, two back: by tick 11 the links have carried three and two, by tick 12 four and two.
        let pair = graph(2, &[(0, 1, 3), (1, 0, 5)]);
        let demand = Demand::from_chunks(2, [vec![(vec![0], vec![1]); 4], vec![(vec![1], vec![0]); 2]].concat());
        let mut search = search(&pair, &demand);
        search.evaluate(&[1, 1], &mut [0.0; 2]);
        assert_eq!(search.best.time, 12);
        assert_eq!(load(&pair, &demand).time, 12);
    }

    #[test]
    fn an_alltoall_keeps_all_links_busy() {
        // Round a ring of four, paths of one to three links: 24 hops over four links, so six on each.
        let found = load(&ring(4, 3), &alltoall(4));
        assert_eq!((found.time, found.work as f64 / found.rate as f64), (18, 24.0 / 8.0));
        // Along a line of three, two chunks go over each link.
        let line = graph(3, &[(0, 1, 7), (1, 0, 7), (1, 2, 7), (2, 1, 7)]);
        assert_eq!(load(&line, &alltoall(3)).time, 14);
    }

    #[test]
    fn lengths_are_found_that_count_only_the_congested_link() {
        // By equal lengths six chunks could be carried in two ticks by four links; there is only one way to go.
        let found = load(&ring(4, 1), &first_link(4, 6));
        assert_eq!(found.time, 6);
        let rate = found.work as f64 / found.rate as f64;
        assert!((2.99..=3.0).contains(&rate), "six chunks over a link of rate 2: {rate}");
        // Three chunks keep a link of nine ticks busy for longer than ten chunks a link of one tick.
        let line = graph(3, &[(0, 1, 9), (1, 2, 1)]);
        let demand = Demand::from_chunks(3, [vec![(vec![0], vec![1]); 3], vec![(vec![1], vec![2]); 10]].concat());
        assert_eq!(load(&line, &demand).time, 27);
        // By two ways, of which the slowest links take four and three ticks: 30 and 40 of 70 chunks.
        let ways = graph(3, &[(0, 2, 4), (0, 1, 3), (1, 2, 2)]);
        assert_eq!(load(&ways, &Demand::from_chunks(3, vec![(vec![0], vec![2]); 70])).time, 120);
    }

    #[test]
    fn where_every_node_wants_every_chunk_the_load_is_left_to_cuts() {
        assert_eq!(load(&ring(4, 3), &Demand::all_gather(4, 1)).time, 0);
        assert_eq!(load(&graph(2, &[]), &first_link(2, 1)).time, 0, "no links");
        assert_eq!(load(&ring(3, 3), &Demand::from_chunks(3, [(vec![0], vec![0])])).time, 0, "nobody wants anything");
    }

    #[test]
    fn lengths_are_in_proportion_to_prices_and_durations() {
        let mut lengths = vec![0; 3];
        round(graph(2, &[(0, 1, 2), (0, 1, 4), (1, 0, 1)]).links(), &[1.0, 1.0, 3.0], &mut lengths);
        assert_eq!(lengths, [1 << 19, 1 << 20, 3 << 18]);
    }
}
