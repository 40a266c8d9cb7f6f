//! Greedy matching of links and chunks, for chunks that spread from node to node: earliest arrival first, and TACOS's
//! random matching.
//!
//! An event is an instant at which a link could have finished a transfer: the link's duration after a chunk arrived at
//! its sender, or after the link became free. At an event, each link that could finish then chooses among the chunks
//! that were at its sender early enough and that its receiver lacks (Won, Elavazhagan, Srinivasan, Krishna: TACOS,
//! MICRO 2024, with the test of causality that its program lacks). No chunk is sent twice to a node, or to a node that
//! does not want it.

use std::collections::{BTreeMap, VecDeque};

use super::{
    bits::{self, Block, Rows},
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
};
use crate::{math::Stream, order::CompactSort};

/// How chunks are assigned to links at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchingRule {
    /// Pairs of chunk and receiver in random order, each with a random link that can deliver it: TACOS.
    Tacos,
    /// Links in random order, each with a random chunk.
    Random,
    /// Links in random order, each with the chunk that the fewest nodes have at the start of the event.
    Rarest,
    /// As [`MatchingRule::Rarest`], counting also the transfers chosen so far in the event.
    RarestLive,
}

/// Parameters of a greedy schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreedyOptions {
    /// How chunks are assigned to links.
    pub rule: MatchingRule,
    /// The probability that a link slower than the fastest starts later by the fastest link's duration. A chunk that
    /// arrives first over a slow link may be better sent over a faster path.
    pub hold_back: f64,
}

/// Builds one greedy schedule. `None` as soon as it would take longer than `limit` ticks, or if a chunk can't reach a
/// node that wants it without being relayed.
pub fn greedy_schedule(
    graph: &Graph,
    demand: &Demand,
    options: GreedyOptions,
    stream: &mut Stream,
    limit: u64,
) -> Option<Schedule> {
    let mut run = GreedyRun::new(graph, demand, options, stream);
    loop {
        match run.advance(graph, limit, usize::MAX) {
            RunState::Complete => return Some(run.schedule()),
            RunState::Unfinished => {}
            RunState::Failed => return None,
        }
    }
}

/// The state of a greedy run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunState {
    /// Every node has the chunks that it wants.
    Complete,
    /// Transfers are missing, and the run can continue.
    Unfinished,
    /// The run exceeds the limit, or a chunk can't reach a node that wants it.
    Failed,
}

/// The links of equal duration out of one node. They share one set of available chunks.
#[derive(Clone)]
struct LinkGroup {
    node: u32,
    duration: u64,
    /// How many of the node's arrivals, counted from the beginning, are in the group's set of available chunks.
    known: usize,
}

/// The arrivals at a node that some link group has not taken in yet. `dropped` counts those before `recent`; each entry
/// is (tick, chunk).
#[derive(Clone, Default)]
struct Arrivals {
    dropped: usize,
    recent: VecDeque<(u64, u32)>,
}

/// A greedy schedule under construction.
#[derive(Clone)]
pub(super) struct GreedyRun {
    chunks: usize,
    rule: MatchingRule,
    pub(super) stream: Stream,
    have: Rows,
    /// The chunks that each node wants, a row per node; `None` where every node wants all.
    wanted: Option<Rows>,
    groups: Vec<LinkGroup>,
    /// The link groups of node `n` are `first_group[n]..first_group[n + 1]`.
    first_group: Vec<u32>,
    group_of: Vec<u32>,
    /// The chunks that each link group could deliver at the current event, a row per group.
    available: Rows,
    arrivals: Vec<Arrivals>,
    holders: Holders,
    /// Links to be considered, by tick. The links of the most frequent tick are in `next_wakeups`, outside the map.
    events: BTreeMap<u64, Vec<u32>>,
    next_wakeups: (u64, Vec<u32>),
    wakeup_buffer: Vec<u32>,
    /// Whether a link is in `events` or in `next_wakeups`.
    is_awake: Vec<bool>,
    missing: usize,
    /// The tick at which each link's last transfer ends.
    free: Vec<u64>,
    pub(super) transfers: Vec<Transfer>,
    candidates: Vec<(u32, Block)>,
    /// For each block of chunks its index in the list of candidates of one node; [`NO_INDEX`] between uses.
    index_of: Vec<u32>,
    sent: Vec<u32>,
    /// Pairs of a chunk and a node that were examined: TACOS examines all possible ones at each event.
    pairs_examined: u64,
}

const NO_INDEX: u32 = u32::MAX;

/// The number of pairs after which a run yields to its caller: about a tenth of a second.
const PAIRS_PER_SLICE: u64 = 4_000_000;

impl GreedyRun {
    pub(super) fn new(graph: &Graph, demand: &Demand, options: GreedyOptions, stream: &mut Stream) -> Self {
        let (nodes, chunks) = (graph.nodes(), demand.chunks());
        let mut groups: Vec<LinkGroup> = Vec::new();
        let mut first_group = vec![0];
        let mut group_of = vec![0; graph.links().len()];
        for node in 0..nodes {
            let first = groups.len();
            for &link in graph.outgoing(node) {
                let duration = graph.links()[link as usize].duration;
                let known = groups[first..].iter().position(|group| group.duration == duration);
                let place = first + known.unwrap_or(groups.len() - first);
                if known.is_none() {
                    groups.push(LinkGroup { node: node as u32, duration, known: 0 });
                }
                group_of[link as usize] = place as u32;
            }
            first_group.push(groups.len() as u32);
        }
        let wanted = (!demand.is_for_everyone()).then(|| {
            let mut wanted = Rows::new(nodes, chunks);
            for chunk in 0..chunks {
                demand.wants(chunk).for_each(|node| wanted.insert(node as usize, chunk));
            }
            wanted
        });
        let mut run = Self {
            chunks,
            rule: options.rule,
            stream: Stream::new(stream.next_u64()),
            have: Rows::new(nodes, chunks),
            wanted,
            available: Rows::new(groups.len(), chunks),
            groups,
            first_group,
            group_of,
            arrivals: vec![Arrivals::default(); nodes],
            holders: Holders::new(nodes, chunks),
            events: BTreeMap::new(),
            next_wakeups: (0, Vec::new()),
            wakeup_buffer: Vec::new(),
            is_awake: vec![false; graph.links().len()],
            missing: demand.pairs(),
            free: vec![0; graph.links().len()],
            transfers: Vec::with_capacity(demand.pairs()),
            candidates: Vec::new(),
            index_of: vec![
                NO_INDEX;
                if options.rule == MatchingRule::Tacos { chunks / bits::BLOCK_SIZE + 1 } else { 0 }
            ],
            sent: Vec::new(),
            pairs_examined: 0,
        };
        for chunk in 0..chunks {
            for &node in demand.sources(chunk) {
                run.have.insert(node as usize, chunk);
                run.holders.add(chunk);
                for group in run.first_group[node as usize]..run.first_group[node as usize + 1] {
                    run.available.insert(group as usize, chunk);
                }
            }
        }
        let fastest = graph.links().iter().map(|link| link.duration).min().unwrap_or(0);
        for (index, link) in graph.links().iter().enumerate() {
            let is_held_back =
                options.hold_back > 0.0 && link.duration > fastest && run.stream.unit() < options.hold_back;
            run.wake(index, link.duration.saturating_add(if is_held_back { fastest } else { 0 }));
        }
        run
    }

    /// Continues for about `transfers` transfers, or for less where [`PAIRS_PER_SLICE`] pairs were examined.
    pub(super) fn advance(&mut self, graph: &Graph, limit: u64, transfers: usize) -> RunState {
        let last = self.transfers.len().saturating_add(transfers);
        let pairs_examined = self.pairs_examined;
        while !self.is_done() {
            if self.transfers.len() >= last || self.pairs_examined - pairs_examined > PAIRS_PER_SLICE {
                return RunState::Unfinished;
            }
            match self.next_event().filter(|time| *time <= limit) {
                Some(time) => self.process_event(graph, time),
                None => return RunState::Failed,
            }
        }
        RunState::Complete
    }

    pub(super) fn schedule(self) -> Schedule {
        Schedule { transfers: self.transfers, reducing: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn next_event(&self) -> Option<u64> {
        let soon = (!self.next_wakeups.1.is_empty()).then_some(self.next_wakeups.0);
        let later = self.events.first_key_value().map(|(time, _)| *time);
        soon.into_iter().chain(later).min()
    }

    /// Number of pairs of a chunk and a node that wants it and lacks it.
    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// The tick at which the last transfer so far ends.
    pub(super) fn end(&self) -> u64 {
        self.free.iter().copied().max().unwrap_or(0)
    }

    /// A hash of the state: of the chunks at each node and of when links become free. Runs with equal states have the
    /// same continuations.
    pub(super) fn key(&self) -> u64 {
        let words = self.have.all().iter().chain(&self.free);
        words.fold(0x9E37_79B9_7F4A_7C15, |key: u64, word| {
            (key ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29)
        })
    }

    /// A lower bound of the end, given the arrivals up to `now`.
    pub(super) fn bound(&self, graph: &Graph, now: u64) -> u64 {
        let mut bound = self.end();
        for node in 0..graph.nodes() {
            let have = self.have.row(node);
            let missing: u64 = match &self.wanted {
                Some(wanted) => {
                    let missing =
                        wanted.row(node).iter().zip(have).map(|(wanted, have)| bits::difference(wanted, have));
                    missing.map(|block| u64::from(bits::count(&block))).sum()
                }
                None => self.chunks as u64 - self.have.count(node) as u64,
            };
            if missing == 0 {
                continue;
            }
            // The missing chunks one after the other, each over the link that delivers it first.
            let mut links: Vec<(u64, u64)> = graph
                .incoming(node)
                .iter()
                .map(|link| (self.free[*link as usize], graph.links()[*link as usize].duration))
                .collect();
            let mut time = 0;
            for _ in 0..missing {
                let Some(next) = links.iter_mut().min_by_key(|(free, duration)| *free + *duration) else {
                    return u64::MAX;
                };
                next.0 = (next.0 + next.1).max(now + 1);
                time = time.max(next.0);
            }
            bound = bound.max(time);
        }
        bound
    }

    fn wake(&mut self, link: usize, time: u64) {
        if std::mem::replace(&mut self.is_awake[link], true) {
            return;
        }
        let (soon, links) = &mut self.next_wakeups;
        if links.is_empty() {
            *soon = time;
        }
        if *soon == time {
            links.push(link as u32);
        } else {
            self.events.entry(time).or_default().push(link as u32);
        }
    }

    /// Lets the links choose that could finish a transfer at `time`, the next event.
    pub(super) fn process_event(&mut self, graph: &Graph, time: u64) {
        let mut links = std::mem::take(&mut self.wakeup_buffer);
        links.clear();
        if self.next_wakeups.0 == time {
            std::mem::swap(&mut links, &mut self.next_wakeups.1);
        }
        if let Some(more) = self.events.remove(&time) {
            links.extend(more);
        }
        for &link in &links {
            self.is_awake[link as usize] = false;
            self.update_available(self.group_of[link as usize] as usize, time);
        }
        if self.rule == MatchingRule::Tacos {
            self.match_pairs(graph, &mut links, time);
            self.wakeup_buffer = links;
            return;
        }
        self.stream.shuffle(&mut links);
        for &link in &links {
            match self.choose(graph, link as usize) {
                Some(chunk) => self.send(graph, link as usize, chunk, time),
                None => self.sleep(link as usize),
            }
        }
        self.wakeup_buffer = links;
        for chunk in self.sent.drain(..) {
            self.holders.add(chunk as usize);
        }
    }

    /// Adds to a group's available chunks those that arrived at its node at least the group's duration before `time`.
    fn update_available(&mut self, group: usize, time: u64) {
        let LinkGroup { node, duration, known } = self.groups[group];
        let arrivals = &mut self.arrivals[node as usize];
        let mut now = known;
        while let Some(&(at, chunk)) = arrivals.recent.get(now - arrivals.dropped)
            && at <= time - duration
        {
            self.available.insert(group, chunk as usize);
            now += 1;
        }
        if now == known {
            return;
        }
        self.groups[group].known = now;
        let siblings = self.first_group[node as usize] as usize..self.first_group[node as usize + 1] as usize;
        let all = self.groups[siblings].iter().map(|group| group.known).min().unwrap_or(0);
        arrivals.recent.drain(..all - arrivals.dropped);
        arrivals.dropped = all;
    }

    /// Schedules the next look at a link that has no chunk to send: when the next arrival at its sender could be
    /// delivered.
    fn sleep(&mut self, link: usize) {
        let LinkGroup { node, duration, known } = self.groups[self.group_of[link] as usize];
        let arrivals = &self.arrivals[node as usize];
        if let Some(&(at, _)) = arrivals.recent.get(known - arrivals.dropped) {
            self.wake(link, at.saturating_add(duration));
        }
    }

    fn send(&mut self, graph: &Graph, link: usize, chunk: usize, time: u64) {
        let of = graph.links()[link];
        self.transfers.push(Transfer { link: link as u32, chunk: chunk as u32, start: time - of.duration });
        self.have.insert(of.to as usize, chunk);
        self.missing -= 1;
        self.free[link] = time;
        match self.rule {
            MatchingRule::Rarest => self.sent.push(chunk as u32),
            MatchingRule::RarestLive => self.holders.add(chunk),
            MatchingRule::Tacos | MatchingRule::Random => {}
        }
        self.wake(link, time.saturating_add(of.duration));
        let next = graph.outgoing(of.to as usize);
        if next.is_empty() {
            return;
        }
        self.arrivals[of.to as usize].recent.push_back((time, chunk as u32));
        for &next in next {
            let next = next as usize;
            if !self.is_awake[next] && !self.have.has(graph.links()[next].to as usize, chunk) {
                self.wake(next, time.saturating_add(graph.links()[next].duration));
            }
        }
    }

    /// Collects the chunks that a link could carry in `candidates`; `false` where there are none.
    fn collect_candidates(&mut self, graph: &Graph, link: usize) -> bool {
        let to = graph.links()[link].to as usize;
        let available = self.available.row(self.group_of[link] as usize);
        let have = self.have.row(to);
        self.candidates.clear();
        let wanted = self.wanted.as_ref().map(|wanted| wanted.row(to));
        for (at, (available, have)) in available.iter().zip(have).enumerate() {
            let mut new = bits::difference(available, have);
            if let Some(wanted) = wanted {
                new = bits::intersection(&new, &wanted[at]);
            }
            if !bits::is_empty(&new) {
                self.candidates.push((at as u32, new));
            }
        }
        !self.candidates.is_empty()
    }

    fn choose(&mut self, graph: &Graph, link: usize) -> Option<usize> {
        if !self.collect_candidates(graph, link) {
            return None;
        }
        if self.rule != MatchingRule::Random {
            self.holders.keep_rarest(&mut self.candidates);
        }
        let total: u32 = self.candidates.iter().map(|(_, block)| bits::count(block)).sum();
        let mut rank = if total == 1 { 0 } else { self.stream.below(total as usize) as u32 };
        for (at, block) in &self.candidates {
            let count = if total == 1 { 1 } else { bits::count(block) };
            if rank < count {
                return bits::select(block, rank).map(|chunk| *at as usize * bits::BLOCK_SIZE + chunk as usize);
            }
            rank -= count;
        }
        None
    }

    fn match_pairs(&mut self, graph: &Graph, links: &mut [u32], time: u64) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        links.compact_sort_by_key(|link| graph.links()[*link as usize].to);
        for same in links.chunk_by(|a, b| graph.links()[*a as usize].to == graph.links()[*b as usize].to) {
            let mut chunks: Vec<(u32, Block)> = Vec::new();
            for &link in same {
                self.collect_candidates(graph, link as usize);
                for (at, block) in self.candidates.drain(..) {
                    let place = &mut self.index_of[at as usize];
                    match chunks.get_mut(*place as usize) {
                        Some((_, all)) => *all = std::array::from_fn(|lane| all[lane] | block[lane]),
                        None => {
                            *place = chunks.len() as u32;
                            chunks.push((at, block));
                        }
                    }
                }
            }
            chunks.iter().for_each(|(at, _)| self.index_of[*at as usize] = NO_INDEX);
            let to = graph.links()[same[0] as usize].to;
            for (at, block) in &chunks {
                pairs.extend(bits::iter(block).map(|chunk| (at * bits::BLOCK_SIZE as u32 + chunk, to)));
            }
        }
        self.pairs_examined += pairs.len() as u64;
        self.stream.shuffle(&mut pairs);
        let mut is_free = vec![false; graph.links().len()];
        links.iter().for_each(|link| is_free[*link as usize] = true);
        let mut able = Vec::new();
        for (chunk, to) in pairs {
            let has = |link: &u32| {
                is_free[*link as usize] && self.available.has(self.group_of[*link as usize] as usize, chunk as usize)
            };
            able.clear();
            able.extend(graph.incoming(to as usize).iter().copied().filter(has));
            if able.is_empty() {
                continue;
            }
            let link = able[self.stream.below(able.len())];
            is_free[link as usize] = false;
            self.send(graph, link as usize, chunk as usize, time);
        }
        for &link in links.iter() {
            if is_free[link as usize] {
                self.sleep(link as usize);
            }
        }
    }
}

/// How many nodes have each chunk, as binary numbers in bit planes: plane n has the n-th digit of each.
#[derive(Clone)]
struct Holders {
    planes: Rows,
    count: usize,
    /// The number of planes that have a digit set.
    used: usize,
}

impl Holders {
    fn new(nodes: usize, chunks: usize) -> Self {
        let count = (usize::BITS - nodes.leading_zeros()) as usize;
        Self { planes: Rows::new(count, chunks), count, used: 0 }
    }

    fn add(&mut self, chunk: usize) {
        for plane in 0..self.count {
            if self.planes.has(plane, chunk) {
                self.planes.remove(plane, chunk);
            } else {
                self.planes.insert(plane, chunk);
                self.used = self.used.max(plane + 1);
                return;
            }
        }
    }

    /// Keeps the candidates that the fewest nodes have, comparing the counts digit by digit from the highest.
    fn keep_rarest(&self, candidates: &mut Vec<(u32, Block)>) {
        for plane in (0..self.used).rev() {
            let plane = self.planes.row(plane);
            let without = |(at, block): &(u32, Block)| bits::difference(block, &plane[*at as usize]);
            if let [one] = &mut candidates[..] {
                let less = without(one);
                if !bits::is_empty(&less) {
                    one.1 = less;
                }
                continue;
            }
            if candidates.iter().any(|candidate| !bits::is_empty(&without(candidate))) {
                candidates.retain_mut(|candidate| {
                    candidate.1 = without(candidate);
                    !bits::is_empty(&candidate.1)
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schedule::verify::faults;

    const RULES: [MatchingRule; 4] =
        [MatchingRule::Tacos, MatchingRule::Random, MatchingRule::Rarest, MatchingRule::RarestLive];

    /// A ring of three nodes whose links lead to the next node in two ticks.
    fn ring() -> Graph {
        Graph::of_durations(3, &[(0, 1, 2), (1, 2, 2), (2, 0, 2)])
    }

    /// Each chunk with the nodes that have it and those that want it.
    fn chunks(nodes: usize, chunks: &[(&[u32], &[u32])]) -> Demand {
        Demand::from_chunks(nodes, chunks.iter().map(|(have, want)| (have.to_vec(), want.to_vec())))
    }

    fn options(rule: MatchingRule) -> GreedyOptions {
        GreedyOptions { rule, hold_back: 0.0 }
    }

    fn scheduled(graph: &Graph, demand: &Demand, rule: MatchingRule, seed: u64) -> Option<Schedule> {
        greedy_schedule(graph, demand, options(rule), &mut Stream::new(seed), u64::MAX)
    }

    /// The transfers of a schedule that is checked: valid, and none to a node that has the chunk or does not want it.
    fn checked(graph: &Graph, demand: &Demand, rule: MatchingRule, seed: u64) -> Vec<Transfer> {
        let schedule = scheduled(graph, demand, rule, seed).unwrap();
        assert_eq!(faults(graph, &schedule, None, Some(demand)), [], "{rule:?}, seed {seed}");
        assert_eq!(schedule.transfers.len(), demand.pairs(), "{rule:?}, seed {seed}");
        schedule.transfers
    }

    /// When each link of a graph carries something, as starts.
    fn starts(links: usize, transfers: &[Transfer]) -> Vec<Vec<u64>> {
        let mut starts = vec![Vec::new(); links];
        transfers.iter().for_each(|transfer| starts[transfer.link as usize].push(transfer.start));
        starts
    }

    #[test]
    fn links_carry_something_whenever_they_can() {
        for (rule, seed) in RULES.into_iter().flat_map(|rule| [1, 2, 3].map(|seed| (rule, seed))) {
            let transfers = checked(&ring(), &Demand::all_gather(3, 1), rule, seed);
            assert_eq!(starts(3, &transfers), vec![vec![0, 2]; 3]);
            // Six chunks come to node 1 every four ticks, which sends them on faster, slower and much slower. Node 5
            // only wants what node 4 is the last to have.
            let tree = Graph::of_durations(6, &[(0, 1, 4), (1, 2, 3), (1, 3, 5), (1, 4, 9), (4, 5, 9)]);
            let transfers = checked(&tree, &Demand::broadcast(6, 0, 6), rule, seed);
            let expected = [
                vec![0, 4, 8, 12, 16, 20],
                vec![4, 8, 12, 16, 20, 24],
                vec![4, 9, 14, 19, 24, 29],
                vec![4, 13, 22, 31, 40, 49],
                vec![13, 22, 31, 40, 49, 58],
            ];
            assert_eq!(starts(5, &transfers), expected, "{rule:?}, seed {seed}");
        }
    }

    #[test]
    fn a_chunk_goes_only_to_nodes_that_want_it() {
        // Over node 1 the chunk for node 2 would be there earlier; but node 1 does not want it.
        let triangle = Graph::of_durations(3, &[(0, 1, 1), (1, 2, 1), (0, 2, 9)]);
        for rule in RULES {
            let transfers = checked(&triangle, &chunks(3, &[(&[0], &[2]), (&[0], &[1])]), rule, 1);
            assert_eq!(starts(3, &transfers), [vec![0], vec![], vec![0]], "{rule:?}");
            // Along a line it would not be there at all.
            assert_eq!(
                scheduled(&Graph::of_durations(3, &[(0, 1, 1), (1, 2, 1)]), &chunks(3, &[(&[0], &[2])]), rule, 1),
                None
            );
        }
    }

    #[test]
    fn a_schedule_that_takes_longer_than_the_limit_is_given_up() {
        let within = |limit: u64| {
            let options = options(MatchingRule::Rarest);
            greedy_schedule(&ring(), &Demand::all_gather(3, 1), options, &mut Stream::new(1), limit).is_some()
        };
        assert_eq!([3, 4].map(within), [false, true]);
    }

    #[test]
    fn links_that_are_held_back_start_later_by_the_duration_of_the_fastest() {
        let fork = Graph::of_durations(4, &[(0, 1, 2), (0, 2, 5), (0, 3, 2)]);
        let first_of_slow = |hold_back: f64, seed: u64| {
            let options = GreedyOptions { rule: MatchingRule::Random, hold_back };
            let demand = Demand::broadcast(4, 0, 1);
            let schedule = greedy_schedule(&fork, &demand, options, &mut Stream::new(seed), u64::MAX).unwrap();
            let starts = starts(3, &schedule.transfers);
            assert_eq!((&starts[0], &starts[2]), (&vec![0], &vec![0]), "the fastest");
            starts[1][0]
        };
        assert!((0..20).all(|seed| first_of_slow(0.0, seed) == 0 && first_of_slow(1.0, seed) == 2));
        let often = (0..1000).filter(|seed| first_of_slow(0.2, *seed) == 2).count();
        assert!((100..300).contains(&often), "{often} of 1000 with probability 0.2");
    }

    #[test]
    fn the_chunk_that_the_fewest_nodes_have_comes_first() {
        // Of 1200 chunks nodes 0 and 1 have all but chunk 700, which only node 0 has; node 2 wants three of them.
        let all = (0..1200).map(|chunk| match chunk {
            700 => (vec![0], vec![2]),
            3 | 1100 => (vec![0, 1], vec![2]),
            _ => (vec![0, 1], vec![]),
        });
        let (demand, link) = (Demand::from_chunks(3, all), Graph::of_durations(3, &[(0, 2, 1)]));
        let order = |rule: MatchingRule, seed: u64| -> Vec<u32> {
            checked(&link, &demand, rule, seed).iter().map(|transfer| transfer.chunk).collect()
        };
        for rule in [MatchingRule::Rarest, MatchingRule::RarestLive] {
            let orders: BTreeSet<_> = (0..20).map(|seed| order(rule, seed)).collect();
            assert_eq!(orders, BTreeSet::from([vec![700, 3, 1100], vec![700, 1100, 3]]), "{rule:?}");
        }
        for rule in [MatchingRule::Random, MatchingRule::Tacos] {
            assert_eq!((0..60).map(|seed| order(rule, seed)).collect::<BTreeSet<_>>().len(), 6, "{rule:?}");
        }
    }

    #[test]
    fn what_is_sent_in_an_event_counts_at_once_or_after_it() {
        // Two links begin at the same time, with the choice between two chunks.
        let fork = Graph::of_durations(3, &[(0, 1, 1), (0, 2, 1)]);
        let are_same = |rule: MatchingRule, seed: u64| {
            let transfers = checked(&fork, &Demand::broadcast(3, 0, 2), rule, seed);
            transfers[0].chunk == transfers[1].chunk
        };
        assert!((0..20).all(|seed| !are_same(MatchingRule::RarestLive, seed)));
        let often = (0..100).filter(|seed| are_same(MatchingRule::Rarest, *seed)).count();
        assert!((20..80).contains(&often), "{often} of 100");
        // After the event it counts: chunk 0 goes to node 1 first, so that chunk 1 is the rarer one for node 2.
        let later = Graph::of_durations(3, &[(0, 1, 1), (0, 2, 3)]);
        let demand = chunks(3, &[(&[0], &[1, 2]), (&[0], &[2])]);
        for seed in 0..20 {
            let transfers = checked(&later, &demand, MatchingRule::Rarest, seed);
            assert_eq!(transfers.iter().map(|transfer| transfer.chunk).collect::<Vec<_>>(), [0, 1, 0]);
        }
    }

    #[test]
    fn tacos_takes_any_link_that_can_deliver_a_chunk() {
        // Node 2 wants a chunk of nodes 0 and 1, and one that only node 1 has. Where that of both comes from node 1,
        // the other one waits.
        let graph = Graph::of_durations(3, &[(0, 2, 1), (1, 2, 1)]);
        let demand = chunks(3, &[(&[0, 1], &[2]), (&[1], &[2])]);
        let seen: BTreeSet<Vec<(u32, u32, u64)>> = (0..60)
            .map(|seed| {
                let mut all: Vec<_> = checked(&graph, &demand, MatchingRule::Tacos, seed)
                    .iter()
                    .map(|transfer| (transfer.chunk, transfer.link, transfer.start))
                    .collect();
                all.sort_unstable();
                all
            })
            .collect();
        assert_eq!(seen, BTreeSet::from([vec![(0, 0, 0), (1, 1, 0)], vec![(0, 1, 0), (1, 1, 1)]]));
    }

    #[test]
    fn a_run_goes_on_from_where_it_stopped() {
        let (graph, demand) = (ring(), Demand::all_gather(3, 1));
        let mut run = GreedyRun::new(&graph, &demand, options(MatchingRule::Rarest), &mut Stream::new(1));
        let state = |run: &GreedyRun| (run.missing(), run.end(), run.next_event(), run.is_done());
        assert_eq!(state(&run), (6, 0, Some(2), false));
        let before = run.key();
        assert!(run.advance(&graph, 1, 9) == RunState::Failed, "no event by tick 1");
        assert!(run.advance(&graph, 9, 1) == RunState::Unfinished);
        assert_eq!((state(&run), run.transfers.len()), ((3, 2, Some(4), false), 3), "an event is not divided");
        let halfway = run.key();
        assert!(run.advance(&graph, 9, 9) == RunState::Complete);
        assert_eq!((run.missing(), run.end(), run.is_done()), (0, 4, true));
        // The key depends on the chunks and on when links become free, and not on the seed.
        let mut other = GreedyRun::new(&graph, &demand, options(MatchingRule::Rarest), &mut Stream::new(2));
        assert_eq!(other.key(), before);
        assert!(other.advance(&graph, 9, 1) == RunState::Unfinished);
        assert_eq!(other.key(), halfway);
        assert_eq!(BTreeSet::from([before, halfway, run.key()]).len(), 3);
    }

    #[test]
    fn different_states_have_different_keys() {
        let links =
            (0..4).flat_map(|from| (0..4).filter(move |to| *to != from).map(move |to| (from, to, 1 + to as u64)));
        let (graph, demand) = (Graph::of_durations(4, &links.collect::<Vec<_>>()), Demand::all_gather(4, 2));
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            let mut run = GreedyRun::new(&graph, &demand, options(MatchingRule::Random), &mut Stream::new(seed));
            while run.advance(&graph, u64::MAX, 1) == RunState::Unfinished {
                seen.insert((run.have.all().to_vec(), run.free.clone(), run.key()));
            }
        }
        assert!(seen.len() > 100, "{} states", seen.len());
        assert_eq!(seen.iter().map(|(.., key)| *key).collect::<BTreeSet<_>>().len(), seen.len());
    }

    #[test]
    fn the_bound_lets_the_missing_chunks_come_one_after_the_other_over_the_best_links() {
        let bound = |graph: &Graph, demand: &Demand, now: u64| {
            let run = GreedyRun::new(graph, demand, options(MatchingRule::Rarest), &mut Stream::new(1));
            run.bound(graph, now)
        };
        // Two chunks over a link of two ticks; none arrives by `now`.
        let all = Demand::all_gather(3, 1);
        assert_eq!([0, 3, 9].map(|now| bound(&ring(), &all, now)), [4, 6, 12]);
        // Over links of five and of two ticks four chunks come by ticks 2, 4, 5 and 6.
        let two = Graph::of_durations(2, &[(0, 1, 5), (0, 1, 2)]);
        assert_eq!(bound(&two, &Demand::broadcast(2, 0, 4), 0), 6);
        // Only what is wanted counts.
        assert_eq!(bound(&two, &chunks(2, &[(&[0], &[1]), (&[0], &[])]), 0), 2);
        assert_eq!(
            bound(&Graph::of_durations(2, &[(0, 1, 2)]), &Demand::all_gather(2, 1), 0),
            u64::MAX,
            "no link to node 0"
        );
        // After the first event the links are free at tick 2, and the rest takes two ticks more.
        let graph = ring();
        let mut run = GreedyRun::new(&graph, &all, options(MatchingRule::Rarest), &mut Stream::new(1));
        run.process_event(&graph, 2);
        assert_eq!([run.bound(&graph, 2), run.bound(&graph, 6)], [4, 7]);
        run.process_event(&graph, 4);
        assert_eq!(run.bound(&graph, 9), 4, "nothing is missing");
    }

    #[test]
    fn holders_are_counted_up_to_the_number_of_nodes() {
        let mut holders = Holders::new(4, 1200);
        for (chunk, count) in [(0, 4), (1, 3), (700, 2), (1100, 2)] {
            (0..count).for_each(|_| holders.add(chunk));
        }
        let rarest = |chunks: &[usize]| {
            let mut rows = Rows::new(1, 1200);
            chunks.iter().for_each(|chunk| rows.insert(0, *chunk));
            let mut candidates: Vec<(u32, Block)> =
                (0..).zip(rows.row(0)).map(|(at, block)| (at, *block)).filter(|(_, b)| !bits::is_empty(b)).collect();
            holders.keep_rarest(&mut candidates);
            let of = |(at, block): &(u32, Block)| {
                bits::iter(block).map(|bit| *at as usize * bits::BLOCK_SIZE + bit as usize).collect::<Vec<_>>()
            };
            candidates.iter().flat_map(of).collect::<Vec<_>>()
        };
        assert_eq!(rarest(&[0, 1, 700, 1100]), [700, 1100]);
        assert_eq!([rarest(&[0, 1]), rarest(&[0]), rarest(&[0, 1, 2])], [vec![1], vec![0], vec![2]]);
        assert_eq!([rarest(&[1, 1100]), rarest(&[0, 1, 1199])], [vec![1100], vec![1199]]);
    }
}
