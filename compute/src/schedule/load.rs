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
