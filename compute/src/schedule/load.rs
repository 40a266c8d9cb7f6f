//! How long all links are busy at least: a bound of what is not for everyone, such as an alltoall.
//!
//! Give each link a length. Whichever way a chunk takes, it goes at least as far as the shortest way to who wants it is
//! long, and in a time T no link carries more than ⌊T / τ⌋ chunks. So the sum of ⌊T / τ⌋ times the length over all links
//! is at least the sum of the shortest ways. This holds for any lengths. With the duration of each link as its length one
//! search from each node is enough; lengths that grow where most has to pass come near to the best (the dual of the
//! concurrent flow, by multiplicative weights: Garg and Könemann 2007). A cut is the special case of lengths 1 over it
//! and 0 elsewhere.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{demand::Demand, graph::Graph};
use crate::math::exp;

/// The most looks at a link that finding lengths may take.
const LOOKS: u64 = 48_000_000;
/// The most lengths that are tried.
const MOST: u64 = 160;
/// The longest link's length: others are whole numbers relative to it.
const SCALE: f64 = 1_048_576.0;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// No schedule ends before, in ticks.
    pub time: u64,
    /// How far all chunks have to go, by the lengths of the best fluid bound…
    pub work: u128,
    /// …and how far all links bring them in a unit of time.
    pub rate: u128,
    /// Lengths of the best bound, one per link.
    pub lengths: Vec<u64>,
}

/// Chunks that begin at the same nodes.
#[derive(Default)]
struct Group {
    sources: Vec<u32>,
    /// Nodes that want some, and how many each.
    wants: Vec<(u32, u64)>,
    /// The wishes for chunks that several nodes want.
    shared: Vec<Vec<u32>>,
}

fn groups(demand: &Demand) -> Vec<Group> {
    let mut places: BTreeMap<&[u32], usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut counts: Vec<BTreeMap<u32, u64>> = Vec::new();
    for chunk in 0..demand.chunks() {
        let sources = demand.sources(chunk);
        let place = *places.entry(sources).or_insert_with(|| {
            groups.push(Group { sources: sources.to_vec(), ..Group::default() });
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

/// Shortest ways from some nodes.
struct Ways {
    distance: Vec<u64>,
    by: Vec<u32>,
    order: Vec<u32>,
    open: BinaryHeap<(Reverse<u64>, u32)>,
}

const NONE: u32 = u32::MAX;

impl Ways {
    fn new(nodes: usize) -> Self {
        Self { distance: vec![u64::MAX; nodes], by: vec![NONE; nodes], order: Vec::new(), open: BinaryHeap::new() }
    }

    fn search(&mut self, graph: &Graph, lengths: &[u64], sources: &[u32]) {
        self.distance.fill(u64::MAX);
        self.by.fill(NONE);
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

struct Finder<'a> {
    graph: &'a Graph,
    groups: Vec<Group>,
    ways: Ways,
    best: Load,
}

impl Finder<'_> {
    /// Judges lengths; how often each link is used by shortest ways is put into `used`.
    fn judge(&mut self, lengths: &[u64], used: &mut [f64]) {
        let graph = self.graph;
        used.fill(0.0);
        let mut work = 0_u128;
        let mut nearest: Option<Vec<u64>> = None;
        let mut passing = vec![0_u64; graph.nodes()];
        for group in &self.groups {
            self.ways.search(graph, lengths, &group.sources);
            passing.fill(0);
            for &(node, count) in &group.wants {
                let distance = self.ways.distance[node as usize];
                // What can't be reached is refused elsewhere.
                if distance < u64::MAX {
                    work += u128::from(distance) * u128::from(count);
                    passing[node as usize] += count;
                }
            }
            for wants in &group.shared {
                // A tree to all of them is at least as long as the way to the farthest, and comes to each over some link.
                let nearest = nearest.get_or_insert_with(|| {
                    let shortest = |node: usize| graph.incoming(node).iter().map(|link| lengths[*link as usize]).min();
                    (0..graph.nodes()).map(|node| shortest(node).unwrap_or(0)).collect()
                });
                let reached = wants.iter().filter(|node| self.ways.distance[**node as usize] < u64::MAX);
                let farthest = reached.clone().map(|node| self.ways.distance[*node as usize]).max().unwrap_or(0);
                let each: u128 = reached.map(|node| u128::from(nearest[*node as usize])).sum();
                work += u128::from(farthest).max(each);
                wants.iter().for_each(|node| passing[*node as usize] += 1);
            }
            // From the farthest back to the nearest.
            for &node in self.ways.order.iter().rev() {
                let (link, count) = (self.ways.by[node as usize], passing[node as usize]);
                if link != NONE && count > 0 {
                    used[link as usize] += count as f64;
                    passing[graph.links()[link as usize].from as usize] += count;
                }
            }
        }
        self.keep(lengths, work);
    }

    fn keep(&mut self, lengths: &[u64], work: u128) {
        let links = self.graph.links();
        let rate: u128 =
            links.iter().zip(lengths).map(|(link, length)| u128::from(link.rate) * u128::from(*length)).sum();
        let best = &mut self.best;
        // Both are rounded alike.
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

/// The bound of a demand, by the best lengths that are found within some looks at links; nothing where everyone wants
/// everything, of which cuts tell as much.
pub(super) fn load(graph: &Graph, demand: &Demand) -> Load {
    if demand.is_for_everyone() || graph.links().is_empty() {
        return Load::default();
    }
    let groups = groups(demand);
    let shared: usize = groups.iter().flat_map(|group| &group.shared).map(Vec::len).sum();
    let pass = (groups.len() * (graph.nodes() + 4 * graph.links().len()) + shared).max(1) as u64;
    let tries = (LOOKS / pass).clamp(1, MOST);
    let mut finder = Finder { graph, groups, ways: Ways::new(graph.nodes()), best: Load::default() };
    let links = graph.links();
    let mut used = vec![0.0; links.len()];
    // As many links as possible count alike: of links of one duration nothing else is needed where a graph looks the same
    // from everywhere.
    if graph.uniform().is_none() && tries > 1 {
        finder.judge(&vec![1; links.len()], &mut used);
    }
    // The price of a tick of each link; a link's length is the price of a chunk over it.
    let mut prices = vec![1.0; links.len()];
    let mut sum = vec![0.0; links.len()];
    let mut lengths = vec![0_u64; links.len()];
    for turn in 1..=tries {
        round(links, &prices, &mut lengths);
        finder.judge(&lengths, &mut used);
        let busy = |link: usize, used: &[f64]| used[link] * links[link].duration as f64;
        let most = (0..links.len()).map(|link| busy(link, &used)).fold(0.0, f64::max);
        if most == 0.0 {
            break;
        }
        let step = 1.0 / (turn as f64).sqrt();
        for (link, price) in prices.iter_mut().enumerate() {
            *price *= exp(step * (busy(link, &used) / most - 1.0));
        }
        let total: f64 = prices.iter().sum();
        for (sum, price) in sum.iter_mut().zip(&mut prices) {
            *price /= total;
            *sum += *price;
        }
        // Prices on average are at least as good as they were one by one, nearly.
        if turn.is_power_of_two() && turn > 2 || turn == tries && turn > 1 {
            round(links, &sum, &mut lengths);
            finder.judge(&lengths, &mut used);
        }
    }
    finder.best
}

/// Lengths as whole numbers.
fn round(links: &[super::graph::Link], prices: &[f64], lengths: &mut [u64]) {
    let length = |link: usize| prices[link] * links[link].duration as f64;
    let longest = (0..links.len()).map(length).fold(0.0, f64::max);
    for (place, rounded) in lengths.iter_mut().enumerate() {
        *rounded = (length(place) / longest * SCALE).round() as u64;
    }
}

/// How far it is from a node to each by lengths of links.
pub(super) fn distances(graph: &Graph, lengths: &[u64], from: u32) -> Vec<u64> {
    let mut ways = Ways::new(graph.nodes());
    ways.search(graph, lengths, &[from]);
    ways.distance
}
