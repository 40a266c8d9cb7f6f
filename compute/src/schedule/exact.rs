//! An exhaustive search for a shortest schedule of a small graph: depth first over all schedules that could end by a
//! horizon, which is raised whenever there is none (iterative deepening; Korf 1985).
//!
//! Only schedules are considered in which no transfer could begin earlier with the same order on each link. So an idle
//! link either takes a chunk that is at its sender, or waits; a link that waits takes none of the chunks that it passed
//! over until it has carried another.

use std::collections::HashSet;

use super::{
    bound::{Bounds, MAX_ENUMERATED_NODES},
    cuts::Cut,
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
    problem::Task,
    synthesizer::{Method, PartSchedule, SearchState, Synthesizer, keep_shorter},
};
use crate::{math::mix, order::CompactSort};

/// The most chunks: sets of chunks are 128 bits.
const MAX_CHUNKS: usize = 128;
/// The number of cuts whose capacity is checked at each step.
const MAX_WATCHED_CUTS: usize = 40;
/// The most states without a solution that are remembered.
const MAX_DEAD_STATES: usize = 2_000_000;

/// Whether a problem is small enough for the exhaustive search.
pub fn is_small(task: &Task<'_>) -> bool {
    task.graph.nodes() <= MAX_ENUMERATED_NODES && task.demand.chunks() <= MAX_CHUNKS && task.demand.pairs() > 0
}

/// A cut whose capacity is checked at each step: its nodes outside and the links that lead there.
#[derive(Clone)]
struct WatchedCut {
    outside: Vec<usize>,
    links: Vec<u32>,
    /// The chunks that nodes outside want.
    wanted: u128,
    /// The duration of the fastest link between nodes outside, where every node wants every chunk and at least two
    /// nodes are outside; else `None`.
    hop: Option<u64>,
}

/// The search, in slices.
pub(super) struct Exact {
    cuts: Option<Vec<WatchedCut>>,
    distances: Vec<Vec<u64>>,
    wanted: Vec<u128>,
    /// The nodes that want each chunk, a bit per node.
    wanted_by: Vec<u32>,
    dead_states: HashSet<u128>,
    horizon: u64,
    /// The shortest horizon at which a branch that was cut off would not have been.
    next_horizon: u64,
    budget: u64,
}

impl Exact {
    pub(super) fn new() -> Self {
        Self {
            cuts: None,
            distances: Vec::new(),
            wanted: Vec::new(),
            wanted_by: Vec::new(),
            dead_states: HashSet::new(),
            horizon: 0,
            next_horizon: u64::MAX,
            budget: 0,
        }
    }

    fn prepare(&mut self, task: &Task<'_>) {
        let Task { graph, demand } = *task;
        self.distances = (0..graph.nodes() as u32).map(|node| graph.distances([node])).collect();
        self.wanted = vec![0; graph.nodes()];
        self.wanted_by = vec![0; demand.chunks()];
        for chunk in 0..demand.chunks() {
            for node in demand.wants(chunk) {
                self.wanted[node as usize] |= 1 << chunk;
                self.wanted_by[chunk] |= 1 << node;
            }
        }
        self.cuts = Some(narrowest(graph, demand, &self.wanted));
    }
}

/// The [`MAX_WATCHED_CUTS`] cuts with the largest lower bounds.
fn narrowest(graph: &Graph, demand: &Demand, wanted: &[u128]) -> Vec<WatchedCut> {
    let mut cut = Cut::new(graph, demand);
    let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
    for code in 1..1_u32 << graph.nodes() {
        cut.flip(code.trailing_zeros() as usize);
        let least = if found.len() == MAX_WATCHED_CUTS { found[MAX_WATCHED_CUTS - 1].0 } else { 0 };
        if let Some(time) = cut.time(least, true) {
            let at = found.partition_point(|(other, _)| *other >= time);
            found.insert(at, (time, cut.inside()));
            found.truncate(MAX_WATCHED_CUTS);
        }
    }
    let watched = found.into_iter().map(|(_, inside)| {
        let is_inside = |node: u32| inside.contains(&node);
        let outside: Vec<usize> = (0..graph.nodes()).filter(|node| !is_inside(*node as u32)).collect();
        let all = || graph.links().iter().enumerate();
        let links = all().filter(|(_, link)| is_inside(link.from) && !is_inside(link.to));
        let hops =
            all().filter(|(_, link)| !is_inside(link.from) && !is_inside(link.to)).map(|(_, link)| link.duration);
        let hop =
            if demand.is_for_everyone() && outside.len() > 1 { Some(hops.min().unwrap_or(u64::MAX)) } else { None };
        WatchedCut {
            links: links.map(|(link, _)| link as u32).collect(),
            wanted: outside.iter().fold(0, |all, node| all | wanted[*node]),
            outside,
            hop,
        }
    });
    watched.collect()
}

/// The budget of steps was used up before the search ended.
struct OutOfBudget;

/// A schedule under construction.
struct DepthFirstSearch<'a> {
    graph: &'a Graph,
    exact: &'a mut Exact,
    cuts: &'a [WatchedCut],
    /// The chunks at each node, and in `in_transit` those on the way to it.
    have: Vec<u128>,
    in_transit: Vec<u128>,
    /// The tick until which each link is busy.
    busy: Vec<u64>,
    /// The chunks that each link passed over when it decided to wait.
    passed_over: Vec<u128>,
    allows_relays: bool,
    now: u64,
    transfers: Vec<Transfer>,
    /// The chunk that each link carries, or carried last.
    carrying: Vec<u32>,
    steps: u64,
}

impl DepthFirstSearch<'_> {
    fn is_done(&self) -> bool {
        let nodes = 0..self.have.len();
        nodes.into_iter().all(|node| self.exact.wanted[node] & !(self.have[node] | self.in_transit[node]) == 0)
    }

    /// The earliest tick at which a link can begin its next transfer.
    fn begin(&self, link: usize) -> u64 {
        self.busy[link].max(self.now)
    }

    /// How many more chunks a link can deliver by a tick.
    fn capacity(&self, link: usize, by: u64) -> u64 {
        by.saturating_sub(self.begin(link)) / self.graph.links()[link].duration
    }

    /// The first tick after `by` by which a link could deliver one chunk more.
    fn one_more(&self, link: usize, by: u64) -> u64 {
        let duration = self.graph.links()[link].duration;
        self.begin(link).saturating_add((self.capacity(link, by) + 1).saturating_mul(duration))
    }

    /// Whether the state could still end by the horizon: a necessary condition, by the links into each node, the
    /// watched cuts and the shortest paths. Lowers `next_horizon` where it could not.
    fn is_possible(&mut self) -> bool {
        let horizon = self.exact.horizon;
        let graph = self.graph;
        for node in 0..graph.nodes() {
            let missing =
                u64::from((self.exact.wanted[node] & !(self.have[node] | self.in_transit[node])).count_ones());
            if missing == 0 {
                continue;
            }
            let into = graph.incoming(node);
            if into.iter().map(|link| self.capacity(*link as usize, horizon)).sum::<u64>() < missing {
                let then = into.iter().map(|link| self.one_more(*link as usize, horizon)).min();
                self.exact.next_horizon = self.exact.next_horizon.min(then.unwrap_or(u64::MAX));
                return false;
            }
        }
        for cut in self.cuts {
            let there = cut.outside.iter().fold(0, |there, node| there | self.have[*node] | self.in_transit[*node]);
            let need = u64::from((cut.wanted & !there).count_ones());
            if need == 0 {
                continue;
            }
            let carried = |by: u64| cut.links.iter().map(|link| self.capacity(*link as usize, by)).sum::<u64>();
            let late = cut.hop.map_or(0, |hop| need.saturating_sub(carried(horizon.saturating_sub(hop))));
            if carried(horizon) < need + late * (cut.outside.len() as u64 - 1) {
                let one_more =
                    |by: u64| cut.links.iter().map(|link| self.one_more(*link as usize, by)).min().unwrap_or(u64::MAX);
                let in_time = cut.hop.map_or(u64::MAX, |hop| one_more(horizon.saturating_sub(hop)).saturating_add(hop));
                self.exact.next_horizon = self.exact.next_horizon.min(one_more(horizon)).min(in_time);
                return false;
            }
        }
        for chunk in 0..self.exact.wanted_by.len() {
            let (has, comes, wanted) = self.locations(chunk as u32);
            let mut missing = wanted & !(has | comes);
            while missing != 0 {
                let node = missing.trailing_zeros() as usize;
                missing &= missing - 1;
                let distance = |from: usize| self.exact.distances[from][node];
                let here = (0..graph.nodes()).filter(|from| has >> from & 1 == 1);
                let here = here.map(|from| self.now.saturating_add(distance(from))).min();
                let under_way = (0..self.busy.len())
                    .filter(|link| self.busy[*link] > self.now && self.carrying[*link] as usize == chunk);
                let under_way =
                    under_way.map(|link| self.busy[link].saturating_add(distance(graph.links()[link].to as usize)));
                let earliest = here.into_iter().chain(under_way).min().unwrap_or(u64::MAX);
                if earliest > horizon {
                    self.exact.next_horizon = self.exact.next_horizon.min(earliest);
                    return false;
                }
            }
        }
        true
    }

    /// The nodes that have a chunk, to which it is in transit, and that want it, a bit per node each.
    fn locations(&self, chunk: u32) -> (u32, u32, u32) {
        let bits =
            |of: &[u128]| of.iter().enumerate().fold(0, |bits, (node, has)| bits | ((has >> chunk & 1) as u32) << node);
        (bits(&self.have), bits(&self.in_transit), self.exact.wanted_by[chunk as usize])
    }

    /// The links that passed a chunk over, a bit per link. With more than 128 links each chunk gets a value of its own,
    /// so that no two are taken for interchangeable.
    fn waits(&self, chunk: u32) -> u128 {
        if self.passed_over.len() > 128 {
            return u128::from(chunk);
        }
        self.passed_over
            .iter()
            .enumerate()
            .fold(0, |bits, (link, passed_over)| bits | (passed_over >> chunk & 1) << link)
    }

    /// Tries all choices of the links from `first` on, and then advances the time. `true` where a schedule was
    /// completed.
    fn decide(&mut self, first: usize) -> Result<bool, OutOfBudget> {
        if self.steps == 0 {
            return Err(OutOfBudget);
        }
        self.steps -= 1;
        let graph = self.graph;
        for link in first..graph.links().len() {
            if self.busy[link] > self.now {
                continue;
            }
            let of = graph.links()[link];
            let (from, to) = (of.from as usize, of.to as usize);
            let mut able = self.have[from] & !self.have[to] & !self.in_transit[to] & !self.passed_over[link];
            if !self.allows_relays {
                able &= self.exact.wanted[to];
            }
            if able == 0 {
                continue;
            }
            let end = self.now + of.duration;
            if end > self.exact.horizon {
                self.exact.next_horizon = self.exact.next_horizon.min(end);
                continue;
            }
            let mut chunks: Vec<(u32, u32)> = Vec::new();
            let mut rest = able;
            let mut seen: Vec<((u32, u32, u32), u128)> = Vec::new();
            while rest != 0 {
                let chunk = rest.trailing_zeros();
                rest &= rest - 1;
                let locations = self.locations(chunk);
                // Of several chunks at the same places that were passed over by the same links, only one is tried: they
                // are interchangeable.
                let alike = (locations, self.waits(chunk));
                if !seen.contains(&alike) {
                    seen.push(alike);
                    let is_relay = self.exact.wanted[to] >> chunk & 1 == 0;
                    chunks.push(((locations.0 | locations.1).count_ones() + u32::from(is_relay) * 64, chunk));
                }
            }
            chunks.compact_sort();
            let (busy, passed_over, carrying) = (self.busy[link], self.passed_over[link], self.carrying[link]);
            for (_, chunk) in chunks {
                self.transfers.push(Transfer { link: link as u32, chunk, start: self.now });
                self.in_transit[to] |= 1 << chunk;
                (self.busy[link], self.passed_over[link], self.carrying[link]) = (end, 0, chunk);
                if self.is_done() || self.decide(link + 1)? {
                    return Ok(true);
                }
                self.transfers.pop();
                self.in_transit[to] &= !(1 << chunk);
                (self.busy[link], self.passed_over[link], self.carrying[link]) = (busy, passed_over, carrying);
            }
            self.passed_over[link] |= able;
            let found = self.decide(link + 1)?;
            if !found {
                self.passed_over[link] = passed_over;
            }
            return Ok(found);
        }
        self.advance_time()
    }

    /// Advances to the tick at which the next chunk arrives. Restores the state if no schedule is found from there.
    fn advance_time(&mut self) -> Result<bool, OutOfBudget> {
        let now = self.now;
        let Some(next) = self.busy.iter().copied().filter(|busy| *busy > now).min() else { return Ok(false) };
        let key = self.key(next);
        if self.exact.dead_states.contains(&key) {
            return Ok(false);
        }
        let graph = self.graph;
        let arriving = (0..self.busy.len()).filter(|link| self.busy[*link] == next);
        let arrived: Vec<(usize, u32)> =
            arriving.map(|link| (graph.links()[link].to as usize, self.carrying[link])).collect();
        self.now = next;
        for &(to, chunk) in &arrived {
            self.have[to] |= 1 << chunk;
            self.in_transit[to] &= !(1 << chunk);
        }
        let found = self.is_possible() && self.decide(0)?;
        if !found {
            self.now = now;
            for &(to, chunk) in &arrived {
                self.have[to] &= !(1 << chunk);
                self.in_transit[to] |= 1 << chunk;
            }
            if self.exact.dead_states.len() < MAX_DEAD_STATES {
                self.exact.dead_states.insert(key);
            }
        }
        Ok(found)
    }

    /// A hash of the state, of 128 bits: two mixes by the finaliser of SplitMix64.
    fn key(&self, next: u64) -> u128 {
        let (mut a, mut b) = (0x9E37_79B9_7F4A_7C15_u64, 0xC2B2_AE3D_27D4_EB4F_u64);
        let mut add = |word: u64| {
            a = mix(a ^ word);
            b = mix(b.rotate_left(23) ^ word ^ 0x1656_67B1_9E37_79F9);
        };
        add(next);
        for words in self.have.iter().chain(&self.in_transit).chain(&self.passed_over) {
            add(*words as u64);
            add((words >> 64) as u64);
        }
        for (link, busy) in self.busy.iter().enumerate().filter(|(_, busy)| **busy > self.now) {
            add((link as u64) << 32 | u64::from(self.carrying[link]));
            add(*busy);
        }
        u128::from(a) << 64 | u128::from(b)
    }
}

impl Synthesizer for Exact {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        if !is_small(task) {
            return SearchState::Finished;
        }
        if self.cuts.is_none() {
            self.prepare(task);
        }
        let cuts = self.cuts.take().unwrap_or_default();
        self.horizon = self.horizon.max(bounds.best());
        // A horizon that was not decided in one slice gets a larger budget in the next, up to 16 times `effort`.
        self.budget = (self.budget * 2).clamp(effort, effort.saturating_mul(16));
        let mut steps = self.budget;
        let state = loop {
            if best.as_ref().is_some_and(|best| best.time <= self.horizon) {
                bounds.last_hop = bounds.last_hop.max(best.as_ref().map_or(0, |best| best.time));
                break SearchState::Finished;
            }
            let mut have = vec![0; task.graph.nodes()];
            for chunk in 0..task.demand.chunks() {
                task.demand.sources(chunk).iter().for_each(|node| have[*node as usize] |= 1 << chunk);
            }
            let links = task.graph.links().len();
            let allows_relays = !task.demand.is_for_everyone();
            let nodes = task.graph.nodes();
            let mut search = DepthFirstSearch {
                graph: task.graph,
                cuts: &cuts,
                have,
                in_transit: vec![0; nodes],
                busy: vec![0; links],
                passed_over: vec![0; links],
                allows_relays,
                now: 0,
                transfers: Vec::new(),
                carrying: vec![0; links],
                steps,
                exact: self,
            };
            let found = if search.is_possible() { search.decide(0) } else { Ok(false) };
            let DepthFirstSearch { transfers, steps: left, .. } = search;
            steps = left;
            match found {
                Ok(true) => keep_shorter(best, Schedule { transfers, reducing: 0 }, task, Method::Exact),
                Ok(false) if self.next_horizon == u64::MAX => break SearchState::Finished,
                Ok(false) => {
                    self.horizon = std::mem::replace(&mut self.next_horizon, u64::MAX);
                    self.dead_states.clear();
                    self.budget = effort;
                    bounds.last_hop = bounds.last_hop.max(self.horizon);
                }
                Err(OutOfBudget) => break SearchState::Working,
            }
        };
        self.cuts = Some(cuts);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        math::Stream,
        schedule::{bound::bounds, verify::faults},
    };

    /// What the search finds by itself, in slices of so many decisions, with what it proves.
    fn searched(graph: &Graph, demand: &Demand, effort: u64) -> (Option<PartSchedule>, Bounds) {
        let (mut exact, mut bounds, mut best) = (Exact::new(), bounds(graph, demand), None);
        while exact.work(&Task { graph, demand }, &mut bounds, &mut best, effort) == SearchState::Working {}
        (best, bounds)
    }

    /// The end of the shortest schedule, found by trying every transfer that brings a node a new chunk, in the order of
    /// starts and of links.
    fn shortest(graph: &Graph, demand: &Demand) -> u64 {
        struct State<'a> {
            graph: &'a Graph,
            demand: &'a Demand,
            at: Vec<Vec<u64>>,
            free: Vec<u64>,
            best: u64,
        }
        fn go(state: &mut State<'_>, after: (u64, usize)) {
            let chunks = 0..state.demand.chunks();
            let arrivals = chunks.flat_map(|chunk| state.demand.wants(chunk).map(move |node| (chunk, node as usize)));
            let last = arrivals.map(|(chunk, node)| state.at[chunk][node]).max().unwrap_or(0);
            if last < u64::MAX {
                state.best = state.best.min(last);
                return;
            }
            for (link, of) in state.graph.links().iter().enumerate() {
                for chunk in 0..state.demand.chunks() {
                    let (there, here) = (state.at[chunk][of.from as usize], state.at[chunk][of.to as usize]);
                    let start = there.max(state.free[link]);
                    if there == u64::MAX || here != u64::MAX || (start, link) < after {
                        continue;
                    }
                    let end = start + of.duration;
                    if end < state.best {
                        let before = std::mem::replace(&mut state.free[link], end);
                        state.at[chunk][of.to as usize] = end;
                        go(state, (start, link));
                        state.at[chunk][of.to as usize] = u64::MAX;
                        state.free[link] = before;
                    }
                }
            }
        }
        let has = |chunk| (0..graph.nodes() as u32).map(move |node| if demand.has(chunk, node) { 0 } else { u64::MAX });
        let at = (0..demand.chunks()).map(|chunk| has(chunk).collect()).collect();
        let mut state = State { graph, demand, at, free: vec![0; graph.links().len()], best: u64::MAX };
        go(&mut state, (0, 0));
        state.best
    }

    /// A ring, in one direction or in both, with further links, some of them parallel.
    fn random_graph(stream: &mut Stream) -> Graph {
        let nodes = 2 + stream.below(3);
        let durations = if stream.below(4) == 0 { [2; 4] } else { [1, 2, 3, 7] };
        let mut links = Vec::new();
        for node in 0..nodes {
            links.push((node, (node + 1) % nodes));
        }
        for _ in 0..stream.below(3) {
            let from = stream.below(nodes);
            links.push((from, (from + 1 + stream.below(nodes - 1)) % nodes));
        }
        let links = links.into_iter().map(|(from, to)| (from as u32, to as u32, durations[stream.below(4)]));
        Graph::of_durations(nodes, &links.collect::<Vec<_>>())
    }

    /// Chunks that all nodes want, or that some have and others want.
    fn random_demand(nodes: usize, stream: &mut Stream) -> Demand {
        match stream.below(4) {
            0 => Demand::all_gather(nodes, if nodes == 2 { 3 } else { 1 }),
            1 => Demand::broadcast(nodes, stream.below(nodes) as u32, 1 + stream.below(3)),
            _ => {
                let mut some = |most: usize| {
                    let first = stream.below(nodes);
                    (0..=stream.below(most)).map(|further| ((first + further) % nodes) as u32).collect::<Vec<u32>>()
                };
                let chunks = 2 + nodes % 3;
                Demand::from_chunks(nodes, (0..chunks).map(|_| (some(2), some(nodes))).collect::<Vec<_>>())
            }
        }
    }

    #[test]
    fn what_is_found_and_proven_is_what_trying_everything_finds() {
        let mut stream = Stream::new(1);
        for _ in 0..2000 {
            let graph = random_graph(&mut stream);
            let demand = random_demand(graph.nodes(), &mut stream);
            if demand.pairs() == 0 {
                continue;
            }
            let least = shortest(&graph, &demand);
            for effort in [50, 100_000] {
                let (found, proven) = searched(&graph, &demand, effort);
                let found = found.unwrap();
                assert_eq!(
                    (found.time, proven.best(), found.by),
                    (least, least, Method::Exact),
                    "{graph:?} {demand:?}"
                );
                assert_eq!(faults(&graph, &found.schedule, None, Some(&demand)), [], "{graph:?} {demand:?}");
            }
        }
    }

    #[test]
    fn a_search_without_an_end_in_reach_ends() {
        let one_way = Graph::of_durations(3, &[(0, 1, 2), (1, 2, 3)]);
        let (found, _) = searched(&one_way, &Demand::all_gather(3, 1), 100);
        assert!(found.is_none());
        let (found, proven) = searched(&one_way, &Demand::broadcast(3, 0, 2), 100);
        assert_eq!((found.map(|found| found.time), proven.best()), (Some(8), 8));
    }

    #[test]
    fn only_small_problems_are_searched() {
        let ring = |nodes: u32| {
            let links: Vec<_> = (0..nodes).map(|node| (node, (node + 1) % nodes, 1)).collect();
            Graph::of_durations(nodes as usize, &links)
        };
        let small = |nodes: u32, chunks_per_node: usize| {
            let demand = Demand::all_gather(nodes as usize, chunks_per_node);
            is_small(&Task { graph: &ring(nodes), demand: &demand })
        };
        assert_eq!([small(16, 8), small(17, 1), small(16, 9), small(2, 64)], [true, false, false, true]);
        let nothing = Demand::from_chunks(2, [(vec![0], vec![0])]);
        assert!(!is_small(&Task { graph: &ring(2), demand: &nothing }));
        // Each of the sixteen nodes' eight chunks goes round.
        let (found, proven) = searched(&ring(16), &Demand::all_gather(16, 8), 100_000);
        assert_eq!((found.map(|found| found.time), proven.best()), (Some(15 * 8), 15 * 8));
    }
}
