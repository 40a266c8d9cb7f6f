//! Schedules for demands in which nodes relay chunks that they do not want, such as an alltoall.
//!
//! Each chunk gets a tree of shortest paths from its sources to the nodes that want it. The lengths of links grow with
//! the load that they already have, more in each run. Then list scheduling: every link carries, of the chunks that are
//! ready, the one with the longest remaining path first.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    bound::Bounds,
    graph::Graph,
    plan::{Schedule, Transfer},
    problem::Task,
    synthesizer::{Method, PartSchedule, SearchState, Synthesizer, keep_shorter},
};
use crate::{math::Stream, order::CompactSort};

/// The use of a link by a chunk.
#[derive(Clone, Copy)]
struct Hop {
    link: u32,
    chunk: u32,
    /// The hops that follow this one in the chunk's tree are `first..first + count` in the list of hops.
    first: u32,
    count: u32,
    /// The longest remaining path, this link included, in ticks.
    rest: u64,
}

/// The search: in each run new routes, then a schedule for them.
pub(super) struct RoutedSearch {
    stream: Stream,
    runs: u32,
    max_runs: u32,
    /// How long each link was busy in the runs so far, on average, in ticks.
    loads: Vec<f64>,
    /// The routing under construction.
    routing: Option<PartialRouting>,
}

/// The routes of a run, as far as they are found.
struct PartialRouting {
    /// The chunks in the order in which they are routed; those with the same sources are adjacent where they share
    /// searches.
    order: Vec<usize>,
    /// The number of chunks that have a tree.
    done: usize,
    trees: Trees,
    /// How long each link is busy with the trees so far, in ticks.
    now: Vec<f64>,
    paths: WeightedPaths,
    /// The number of chunks for which the last search may still be used.
    reuse: usize,
}

/// For each chunk its index and the links of its tree.
type Trees = Vec<(u32, Vec<u32>)>;

impl RoutedSearch {
    pub(super) fn new(seed: u64, max_runs: u32) -> Self {
        Self { stream: Stream::new(seed), runs: 0, max_runs, loads: Vec::new(), routing: None }
    }
}

impl Synthesizer for RoutedSearch {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        let mut effort_used = 0;
        while self.runs < self.max_runs && effort_used < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return SearchState::Finished;
            }
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            let Some(trees) = self.route(task, effort, &mut effort_used) else { break };
            self.runs += 1;
            let hops = trees.map(|trees| hops(task.graph, &trees));
            if let Some(schedule) = hops.and_then(|(hops, roots)| list_schedule(task.graph, &hops, &roots, limit)) {
                keep_shorter(best, schedule, task, Method::Routed);
            }
        }
        if self.runs < self.max_runs { SearchState::Working } else { SearchState::Finished }
    }

    fn progress(&self, task: &Task<'_>) -> Option<(u64, u64)> {
        Some((self.routing.as_ref()?.done as u64, task.demand.chunks() as u64))
    }
}

impl RoutedSearch {
    /// The trees of all chunks, once complete; `Some(None)` where a chunk can't reach a node. `None` where the effort
    /// was used up first: then the next call continues. Adds the effort to `effort_used`.
    fn route(&mut self, task: &Task<'_>, effort: u64, effort_used: &mut u64) -> Option<Option<Trees>> {
        /// The number of inspections of a link that take as long as a decision on a transfer.
        const LOOKS_PER_DECISION: u64 = 8;
        let Task { graph, demand } = *task;
        let links = graph.links();
        // The weight of the load rises from run to run, so that congested links are avoided more and more, and then
        // starts again.
        const WEIGHTS: [f64; 8] = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 1.0, 3.0];
        let weight = WEIGHTS[self.runs as usize % WEIGHTS.len()];
        self.loads.resize(links.len(), 0.0);
        // With many chunks or links, consecutive chunks with the same sources share a search.
        let searched = demand.chunks() as u64 * (graph.nodes() as u64).max(links.len() as u64 / 8);
        let batch = (searched / 400_000).max(1) as usize;
        let Self { stream, loads, .. } = self;
        let routing = self.routing.get_or_insert_with(|| {
            let mut order: Vec<usize> = (0..demand.chunks()).collect();
            stream.shuffle(&mut order);
            if batch > 1 {
                order.compact_sort_by(|a, b| demand.sources(*a).cmp(demand.sources(*b)));
            }
            let trees = Vec::with_capacity(demand.chunks());
            PartialRouting {
                order,
                done: 0,
                trees,
                now: vec![0.0; links.len()],
                paths: WeightedPaths::new(graph.nodes()),
                reuse: 0,
            }
        });
        let PartialRouting { order, done, trees, now, paths, reuse } = routing;
        while let Some(&chunk) = order.get(*done) {
            if *effort_used >= effort {
                return None;
            }
            let sources = demand.sources(chunk);
            if *reuse == 0 || demand.sources(order[*done - 1]) != sources {
                let most = loads.iter().zip(&*now).fold(1.0, |most, (a, b)| f64::max(most, a + b));
                let jitter = stream.next_u64();
                let cost = |link: usize| {
                    let share = (loads[link] + now[link]) / most;
                    let mut noise = Stream::new(jitter ^ link as u64);
                    links[link].duration as f64 * (1.0 + weight * share * share + 0.01 * noise.unit())
                };
                paths.search(graph, sources, &cost);
                *reuse = batch;
                *effort_used += (graph.nodes() + links.len()) as u64 / LOOKS_PER_DECISION;
            }
            *reuse -= 1;
            *done += 1;
            let mut tree = Vec::new();
            for node in demand.wants(chunk) {
                if paths.add_path(graph, node, chunk, &mut tree).is_none() {
                    self.routing = None;
                    return Some(None);
                }
                *effort_used += 1;
            }
            *effort_used += tree.len() as u64 / LOOKS_PER_DECISION;
            tree.iter().for_each(|link| now[*link as usize] += links[*link as usize].duration as f64);
            trees.push((chunk as u32, tree));
        }
        let runs = f64::from(self.runs + 1);
        loads.iter_mut().zip(&*now).for_each(|(load, now)| *load += (now - *load) / runs);
        let trees = std::mem::take(trees);
        self.routing = None;
        Some(Some(trees))
    }
}

/// Shortest paths from some nodes, by costs that are floating-point numbers.
struct WeightedPaths {
    cost: Vec<f64>,
    by: Vec<Option<u32>>,
    /// The last chunk whose tree each node is in.
    in_tree: Vec<usize>,
}

#[derive(PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl WeightedPaths {
    fn new(nodes: usize) -> Self {
        Self { cost: vec![f64::INFINITY; nodes], by: vec![None; nodes], in_tree: vec![usize::MAX; nodes] }
    }

    fn search(&mut self, graph: &Graph, sources: &[u32], cost: &dyn Fn(usize) -> f64) {
        self.cost.fill(f64::INFINITY);
        self.by.fill(None);
        let mut open = BinaryHeap::new();
        for &source in sources {
            self.cost[source as usize] = 0.0;
            open.push((Reverse(Cost(0.0)), source));
        }
        while let Some((Reverse(Cost(at)), node)) = open.pop() {
            if at > self.cost[node as usize] {
                continue;
            }
            for &link in graph.outgoing(node as usize) {
                let to = graph.links()[link as usize].to;
                let then = at + cost(link as usize);
                if then < self.cost[to as usize] {
                    self.cost[to as usize] = then;
                    self.by[to as usize] = Some(link);
                    open.push((Reverse(Cost(then)), to));
                }
            }
        }
    }

    /// Adds the path to a node to a chunk's tree; `None` where there is no path.
    fn add_path(&mut self, graph: &Graph, node: u32, chunk: usize, tree: &mut Vec<u32>) -> Option<()> {
        let mut node = node;
        while self.cost[node as usize] > 0.0 && self.in_tree[node as usize] != chunk {
            let link = self.by[node as usize]?;
            self.in_tree[node as usize] = chunk;
            tree.push(link);
            node = graph.links()[link as usize].from;
        }
        Some(())
    }
}

/// The trees as a list of hops in which the successors of each hop are adjacent, and the hops without a predecessor.
fn hops(graph: &Graph, trees: &[(u32, Vec<u32>)]) -> (Vec<Hop>, Vec<u32>) {
    let mut hops: Vec<Hop> = Vec::with_capacity(trees.iter().map(|(_, tree)| tree.len()).sum());
    let mut roots = Vec::new();
    for (chunk, tree) in trees {
        let ends = |link: u32| graph.links()[link as usize];
        let begin = hops.len();
        let mut by_from: Vec<u32> = tree.clone();
        by_from.sort_by_cached_key(|link| u64::from(ends(*link).from));
        let follow = |node: u32| {
            let first = by_from.partition_point(|link| ends(*link).from < node);
            let count = by_from[first..].iter().take_while(|link| ends(**link).from == node).count();
            (first, count)
        };
        for &link in &by_from {
            let (first, count) = follow(ends(link).to);
            hops.push(Hop { link, chunk: *chunk, first: (begin + first) as u32, count: count as u32, rest: 0 });
        }
        // Find the roots, then compute the remaining paths from the leaves back.
        let mut is_root = vec![true; by_from.len()];
        for hop in &hops[begin..] {
            (hop.first..hop.first + hop.count).for_each(|next| is_root[next as usize - begin] = false);
        }
        let mut order: Vec<u32> =
            (0..by_from.len()).filter(|hop| is_root[*hop]).map(|hop| (begin + hop) as u32).collect();
        roots.extend(&order);
        let mut next = 0;
        while let Some(&hop) = order.get(next) {
            next += 1;
            let Hop { first, count, .. } = hops[hop as usize];
            order.extend(first..first + count);
        }
        for &hop in order.iter().rev() {
            let Hop { link, first, count, .. } = hops[hop as usize];
            let longest = (first..first + count).map(|next| hops[next as usize].rest).max().unwrap_or(0);
            hops[hop as usize].rest = longest.saturating_add(ends(link).duration);
        }
    }
    (hops, roots)
}

/// List scheduling by the longest remaining path; `None` as soon as the schedule would take longer than `limit`.
fn list_schedule(graph: &Graph, hops: &[Hop], roots: &[u32], limit: u64) -> Option<Schedule> {
    let mut ready: Vec<BinaryHeap<(u64, Reverse<u32>)>> = vec![BinaryHeap::new(); graph.links().len()];
    let mut is_busy = vec![false; graph.links().len()];
    let mut transfers = Vec::with_capacity(hops.len());
    // Hops under way, by the tick of their arrival.
    let mut arriving: BinaryHeap<(Reverse<u64>, u32)> = BinaryHeap::new();
    let mut idle: Vec<u32> = Vec::new();
    let offer = |hop: u32, ready: &mut Vec<BinaryHeap<_>>, idle: &mut Vec<u32>, is_busy: &[bool]| {
        let Hop { link, rest, .. } = hops[hop as usize];
        ready[link as usize].push((rest, Reverse(hop)));
        if !is_busy[link as usize] {
            idle.push(link);
        }
    };
    roots.iter().for_each(|root| offer(*root, &mut ready, &mut idle, &is_busy));
    let mut now = 0;
    loop {
        while let Some(link) = idle.pop() {
            if is_busy[link as usize] {
                continue;
            }
            let Some((rest, Reverse(hop))) = ready[link as usize].pop() else { continue };
            if now + rest > limit {
                return None;
            }
            is_busy[link as usize] = true;
            transfers.push(Transfer { link, chunk: hops[hop as usize].chunk, start: now });
            arriving.push((Reverse(now + graph.links()[link as usize].duration), hop));
        }
        let Some(&(Reverse(next), _)) = arriving.peek() else { break };
        now = next;
        while let Some(&(Reverse(at), hop)) = arriving.peek()
            && at == now
        {
            arriving.pop();
            let Hop { link, first, count, .. } = hops[hop as usize];
            is_busy[link as usize] = false;
            idle.push(link);
            (first..first + count).for_each(|next| offer(next, &mut ready, &mut idle, &is_busy));
        }
    }
    Some(Schedule { transfers, reducing: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{bound::bounds, demand::Demand, verify::faults};

    /// From node 0 over node 1 to node 2 and to node 3, and from there to node 4.
    fn tree() -> Graph {
        Graph::of_durations(5, &[(0, 1, 2), (1, 2, 3), (1, 3, 1), (3, 4, 4)])
    }

    /// Two ways of two links from node 0 to node 3.
    fn diamond() -> Graph {
        Graph::of_durations(4, &[(0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1)])
    }

    /// A chunk of each node for each other node.
    fn alltoall(nodes: u32) -> Demand {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).filter(move |to| *to != from).map(move |to| (from, to)));
        Demand::from_chunks(nodes as usize, pairs.map(|(from, to)| (vec![from], vec![to])))
    }

    /// The best schedule of a search of some runs, with its time; it is valid.
    fn found(graph: &Graph, demand: &Demand, runs: u32) -> Option<(Schedule, u64)> {
        let (mut bounds, mut best) = (bounds(graph, demand), None);
        let state = RoutedSearch::new(1, runs).work(&Task { graph, demand }, &mut bounds, &mut best, u64::MAX);
        assert_eq!(state, SearchState::Finished);
        let best: PartSchedule = best?;
        assert_eq!(faults(graph, &best.schedule, None, Some(demand)), []);
        assert_eq!((best.by, best.schedule.end(graph)), (Method::Routed, best.time));
        Some((best.schedule, best.time))
    }

    #[test]
    fn nodes_relay_what_they_do_not_want() {
        // Round a ring of four: six chunks over each link.
        let ring = Graph::of_durations(4, &[(0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 0, 3)]);
        let (schedule, time) = found(&ring, &alltoall(4), 9).unwrap();
        assert_eq!((schedule.transfers.len(), time), (24, 18));
        // A chunk with two sources comes from the nearer one, and goes to two nodes over one link.
        let demand = Demand::from_chunks(5, [(vec![0, 3], vec![4]), (vec![0], vec![2, 3])]);
        let (schedule, time) = found(&tree(), &demand, 1).unwrap();
        assert_eq!((schedule.transfers.len(), time), (4, 5));
        assert!(found(&tree(), &Demand::from_chunks(5, [(vec![1], vec![0])]), 9).is_none(), "no path");
    }

    #[test]
    fn chunks_go_by_the_ways_that_are_free() {
        // Ten chunks by two ways: the last of five on each comes at tick 6.
        let demand = Demand::from_chunks(4, vec![(vec![0], vec![3]); 10]);
        assert_eq!(found(&diamond(), &demand, 8).unwrap().1, 6);
        // Five links of one tick each are shorter than one of six.
        let steps = Graph::of_durations(6, &[(0, 5, 6), (0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1)]);
        assert_eq!(found(&steps, &Demand::from_chunks(6, [(vec![0], vec![5])]), 1).unwrap().1, 5);
        // A first run looks only at the durations: all chunks go directly. Later runs use the way round as well.
        let direct = Graph::of_durations(3, &[(0, 2, 3), (0, 1, 2), (1, 2, 2)]);
        let demand = Demand::from_chunks(3, vec![(vec![0], vec![2]); 7]);
        let first = found(&direct, &demand, 1).unwrap();
        assert_eq!((first.0.transfers.len(), first.1), (7, 21));
        // Three chunks directly, and four by ticks 4, 6, 8 and 10.
        assert_eq!(found(&direct, &demand, 8).unwrap().1, 10);
    }

    #[test]
    fn a_search_makes_its_runs_and_no_more() {
        let (graph, demand) = (diamond(), Demand::from_chunks(4, vec![(vec![0], vec![3]); 3]));
        let task = Task { graph: &graph, demand: &demand };
        let mut best = None;
        let mut search = RoutedSearch::new(1, 3);
        assert_eq!(search.progress(&task), None);
        // One step at a time: the first one routes a chunk, and the search goes on from there.
        assert_eq!(search.work(&task, &mut Bounds::default(), &mut best, 1), SearchState::Working);
        assert_eq!((search.progress(&task), best.is_none()), (Some((1, 3)), true));
        assert_eq!(search.work(&task, &mut Bounds::default(), &mut best, 1), SearchState::Working);
        assert_eq!(search.progress(&task), Some((2, 3)));
        let mut calls = 3;
        while search.work(&task, &mut Bounds::default(), &mut best, 1) == SearchState::Working {
            calls += 1;
        }
        assert_eq!((search.runs, best.as_ref().map(|best| best.time)), (3, Some(3)));
        assert!((9..=12).contains(&calls), "three chunks in each of three runs: {calls} calls");
        // The average of the runs: in each, six links are used for one tick.
        for runs in 1..=3 {
            let mut search = RoutedSearch::new(1, runs);
            search.work(&task, &mut Bounds::default(), &mut None, u64::MAX);
            assert!((search.loads.iter().sum::<f64>() - 6.0).abs() < 1e-9, "after {runs} runs: {:?}", search.loads);
        }
        // With a bound that is met there is nothing to do.
        let mut met = Bounds { cut_time: 3, ..Bounds::default() };
        let mut search = RoutedSearch::new(1, 3);
        assert_eq!(search.work(&task, &mut met, &mut best, u64::MAX), SearchState::Finished);
        assert_eq!(search.runs, 0);
        let mut search = RoutedSearch::new(1, 3);
        let mut best = None;
        assert_eq!(search.work(&task, &mut met, &mut best, u64::MAX), SearchState::Finished);
        assert_eq!(best.map(|best| best.time), Some(3));
    }

    #[test]
    fn chunks_of_other_sources_do_not_share_a_search() {
        // So many chunks and nodes that two chunks with the same sources share one.
        let graph = Graph::of_durations(400, &[(0, 2, 1), (1, 2, 1)]);
        let demand = Demand::from_chunks(400, (0..2002).map(|chunk| (vec![chunk % 2], vec![2])));
        let mut effort = 0;
        let task = Task { graph: &graph, demand: &demand };
        let trees = RoutedSearch::new(1, 1).route(&task, u64::MAX, &mut effort).unwrap().unwrap();
        assert_eq!(trees.len(), 2002);
        assert!(trees.iter().all(|(chunk, links)| *links == [chunk % 2]));
    }

    #[test]
    fn paths_are_the_cheapest_and_join_the_tree_of_their_chunk() {
        let graph = tree();
        let mut paths = WeightedPaths::new(5);
        paths.search(&graph, &[0], &|link| [1.5, 0.5, 0.25, 4.0][link]);
        assert_eq!(paths.cost, [0.0, 1.5, 2.0, 1.75, 5.75]);
        let mut of_chunk = |chunk: usize, nodes: &[u32]| {
            let mut tree = Vec::new();
            let all = nodes.iter().all(|node| paths.add_path(&graph, *node, chunk, &mut tree).is_some());
            (all, tree)
        };
        assert_eq!(of_chunk(0, &[4, 2, 3, 0]), (true, vec![3, 2, 0, 1]));
        assert_eq!(of_chunk(1, &[2]), (true, vec![1, 0]));
        // Of two ways the cheaper one, also where it is found later.
        let mut paths = WeightedPaths::new(4);
        paths.search(&diamond(), &[0], &|link| [1.0, 9.0, 2.0, 3.0][link]);
        assert_eq!((paths.cost[3], paths.by[3]), (5.0, Some(3)));
        paths.search(&diamond(), &[1], &|_| 1.0);
        assert_eq!(paths.cost, [f64::INFINITY, 0.0, f64::INFINITY, 1.0]);
        assert_eq!(paths.add_path(&diamond(), 2, 7, &mut Vec::new()), None);
    }

    #[test]
    fn hops_have_their_successors_and_the_longest_path_that_remains() {
        let (hops, roots) = hops(&tree(), &[(7, vec![1, 0, 3, 2]), (8, vec![3])]);
        let mut all: Vec<_> = hops
            .iter()
            .map(|hop| {
                let mut next: Vec<u32> =
                    (hop.first..hop.first + hop.count).map(|next| hops[next as usize].link).collect();
                next.sort_unstable();
                (hop.chunk, hop.link, hop.rest, next)
            })
            .collect();
        all.sort_unstable();
        let expected =
            [(7, 0, 7, vec![1, 2]), (7, 1, 3, vec![]), (7, 2, 5, vec![3]), (7, 3, 4, vec![]), (8, 3, 4, vec![])];
        assert_eq!(all, expected);
        let begin: Vec<_> = roots.iter().map(|root| (hops[*root as usize].chunk, hops[*root as usize].link)).collect();
        assert_eq!(begin, [(7, 0), (8, 3)]);
    }

    #[test]
    fn each_link_carries_first_what_has_the_longest_way_to_go() {
        let scheduled = |trees: &[(u32, Vec<u32>)], limit: u64| {
            let (hops, roots) = hops(&tree(), trees);
            list_schedule(&tree(), &hops, &roots, limit).map(|schedule| {
                let transfers = schedule.transfers.iter().map(|sent| (sent.link, sent.chunk, sent.start));
                let mut transfers: Vec<_> = transfers.collect();
                transfers.sort_unstable();
                transfers
            })
        };
        // Chunk 7 waits for chunk 8 on the last link until tick 4.
        let shared = [(7, vec![0, 1, 2, 3]), (8, vec![3])];
        assert_eq!(scheduled(&shared, 8), Some(vec![(0, 7, 0), (1, 7, 2), (2, 7, 2), (3, 7, 4), (3, 8, 0)]));
        assert_eq!(scheduled(&shared, 7), None);
        // Chunk 2 goes on for seven ticks, chunk 1 for five, chunk 0 for two.
        let apart = [(0, vec![0]), (1, vec![0, 1]), (2, vec![0, 2, 3])];
        let expected = vec![(0, 0, 4), (0, 1, 2), (0, 2, 0), (1, 1, 4), (2, 2, 2), (3, 2, 3)];
        assert_eq!(scheduled(&apart, 7), Some(expected));
    }
}
