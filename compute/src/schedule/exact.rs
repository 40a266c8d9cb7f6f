//! The shortest schedule of a small graph, with proof: depth first over all schedules that could be no longer than some time,
//! a little longer each time that there is none (iterative deepening; Korf 1985).
//!
//! Only schedules are looked at in which nothing could begin earlier with the same order on each link. So a link that is
//! idle either takes a chunk that is there, or waits, and then takes none of those that were there before something else.

use std::collections::HashSet;

use super::{
    bound::{Bounds, ENUMERATED},
    cuts::Cut,
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
    problem::Task,
    synthesize::{Found, Method, State, Synthesizer, keep},
};

/// The most chunks: a bit each.
const MOST_CHUNKS: usize = 128;
/// Cuts that are watched while searching.
const WATCHED: usize = 40;
/// Dead ends that are remembered.
const REMEMBERED: usize = 2_000_000;

/// A graph that is small enough to be searched.
#[must_use]
pub fn is_small(task: &Task<'_>) -> bool {
    task.graph.nodes() <= ENUMERATED && task.demand.chunks() <= MOST_CHUNKS && task.demand.pairs() > 0
}

/// A cut that is watched.
#[derive(Clone)]
struct Watched {
    outside: Vec<usize>,
    links: Vec<u32>,
    /// Chunks that are wanted outside.
    wanted: u128,
    /// The shortest link between nodes outside, where all want all of them and there are two or more.
    hop: Option<u64>,
}

/// Searches piece by piece.
pub(super) struct Exact {
    cuts: Option<Vec<Watched>>,
    distances: Vec<Vec<u64>>,
    wanted: Vec<u128>,
    /// Who wants each chunk, a bit per node.
    wanted_by: Vec<u32>,
    dead: HashSet<u128>,
    horizon: u64,
    /// The shortest horizon at which something that was cut off would not be.
    next: u64,
    budget: u64,
}

impl Exact {
    pub(super) fn new() -> Self {
        Self {
            cuts: None,
            distances: Vec::new(),
            wanted: Vec::new(),
            wanted_by: Vec::new(),
            dead: HashSet::new(),
            horizon: 0,
            next: u64::MAX,
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

/// The cuts that take longest.
fn narrowest(graph: &Graph, demand: &Demand, wanted: &[u128]) -> Vec<Watched> {
    let mut cut = Cut::new(graph, demand);
    let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
    for code in 1..1_u32 << graph.nodes() {
        cut.flip(code.trailing_zeros() as usize);
        let least = if found.len() == WATCHED { found[WATCHED - 1].0 } else { 0 };
        if let Some(time) = cut.time(least, true) {
            let at = found.partition_point(|(other, _)| *other >= time);
            found.insert(at, (time, cut.inside()));
            found.truncate(WATCHED);
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
        Watched {
            links: links.map(|(link, _)| link as u32).collect(),
            wanted: outside.iter().fold(0, |all, node| all | wanted[*node]),
            outside,
            hop,
        }
    });
    watched.collect()
}

/// Nothing was found before the budget was spent.
struct Spent;

/// A schedule in the making.
struct Dive<'a> {
    graph: &'a Graph,
    of: &'a mut Exact,
    cuts: &'a [Watched],
    /// Chunks that are, and that will be, at each node.
    have: Vec<u128>,
    coming: Vec<u128>,
    /// Until when each link is busy.
    busy: Vec<u64>,
    /// What each link waited beside.
    passed: Vec<u128>,
    relays: bool,
    now: u64,
    transfers: Vec<Transfer>,
    /// What each link carries, or carried last.
    carrying: Vec<u32>,
    steps: u64,
}

impl Dive<'_> {
    fn is_done(&self) -> bool {
        let nodes = 0..self.have.len();
        nodes.into_iter().all(|node| self.of.wanted[node] & !(self.have[node] | self.coming[node]) == 0)
    }

    /// When a link can begin its next transfer at the earliest.
    fn begin(&self, link: usize) -> u64 {
        self.busy[link].max(self.now)
    }

    /// How many more a link can bring by a time.
    fn capacity(&self, link: usize, by: u64) -> u64 {
        by.saturating_sub(self.begin(link)) / self.graph.links()[link].duration
    }

    /// The first time after `by` at which a link could bring one more than by then.
    fn one_more(&self, link: usize, by: u64) -> u64 {
        let duration = self.graph.links()[link].duration;
        self.begin(link).saturating_add((self.capacity(link, by) + 1).saturating_mul(duration))
    }

    /// Whether it can still end by the horizon, as far as can be told quickly.
    fn is_possible(&mut self) -> bool {
        let horizon = self.of.horizon;
        let graph = self.graph;
        for node in 0..graph.nodes() {
            let missing = u64::from((self.of.wanted[node] & !(self.have[node] | self.coming[node])).count_ones());
            if missing == 0 {
                continue;
            }
            let into = graph.incoming(node);
            if into.iter().map(|link| self.capacity(*link as usize, horizon)).sum::<u64>() < missing {
                let then = into.iter().map(|link| self.one_more(*link as usize, horizon)).min();
                self.of.next = self.of.next.min(then.unwrap_or(u64::MAX));
                return false;
            }
        }
        for cut in self.cuts {
            let there = cut.outside.iter().fold(0, |there, node| there | self.have[*node] | self.coming[*node]);
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
                self.of.next = self.of.next.min(one_more(horizon)).min(in_time);
                return false;
            }
        }
        for chunk in 0..self.of.wanted_by.len() {
            let (has, comes, wanted) = self.whereabouts(chunk as u32);
            let mut missing = wanted & !(has | comes);
            while missing != 0 {
                let node = missing.trailing_zeros() as usize;
                missing &= missing - 1;
                let distance = |from: usize| self.of.distances[from][node];
                let here = (0..graph.nodes()).filter(|from| has >> from & 1 == 1);
                let here = here.map(|from| self.now.saturating_add(distance(from))).min();
                let under_way = (0..self.busy.len())
                    .filter(|link| self.busy[*link] > self.now && self.carrying[*link] as usize == chunk);
                let under_way =
                    under_way.map(|link| self.busy[link].saturating_add(distance(graph.links()[link].to as usize)));
                let earliest = here.into_iter().chain(under_way).min().unwrap_or(u64::MAX);
                if earliest > horizon {
                    self.of.next = self.of.next.min(earliest);
                    return false;
                }
            }
        }
        true
    }

    /// Who has a chunk, to whom it comes and who wants it, a bit per node.
    fn whereabouts(&self, chunk: u32) -> (u32, u32, u32) {
        let bits =
            |of: &[u128]| of.iter().enumerate().fold(0, |bits, (node, has)| bits | ((has >> chunk & 1) as u32) << node);
        (bits(&self.have), bits(&self.coming), self.of.wanted_by[chunk as usize])
    }

    /// Beside which links a chunk waited; where links are too many, no two chunks are alike.
    fn waits(&self, chunk: u32) -> u128 {
        if self.passed.len() > 128 {
            return u128::from(chunk);
        }
        self.passed.iter().enumerate().fold(0, |bits, (link, passed)| bits | (passed >> chunk & 1) << link)
    }

    /// Decides for the links from `first` on, then goes on in time. `true`: done.
    fn decide(&mut self, first: usize) -> Result<bool, Spent> {
        if self.steps == 0 {
            return Err(Spent);
        }
        self.steps -= 1;
        let graph = self.graph;
        for link in first..graph.links().len() {
            if self.busy[link] > self.now {
                continue;
            }
            let of = graph.links()[link];
            let (from, to) = (of.from as usize, of.to as usize);
            let mut able = self.have[from] & !self.have[to] & !self.coming[to] & !self.passed[link];
            if !self.relays {
                able &= self.of.wanted[to];
            }
            if able == 0 {
                continue;
            }
            let end = self.now + of.duration;
            if end > self.of.horizon {
                self.of.next = self.of.next.min(end);
                continue;
            }
            let mut chunks: Vec<(u32, u32)> = Vec::new();
            let mut rest = able;
            let mut seen: Vec<((u32, u32, u32), u128)> = Vec::new();
            while rest != 0 {
                let chunk = rest.trailing_zeros();
                rest &= rest - 1;
                let whereabouts = self.whereabouts(chunk);
                // One of several chunks that are in the same places, and were passed over alike, is as good as another.
                let alike = (whereabouts, self.waits(chunk));
                if !seen.contains(&alike) {
                    seen.push(alike);
                    let is_relay = self.of.wanted[to] >> chunk & 1 == 0;
                    chunks.push(((whereabouts.0 | whereabouts.1).count_ones() + u32::from(is_relay) * 64, chunk));
                }
            }
            chunks.sort_unstable();
            let (busy, passed, carrying) = (self.busy[link], self.passed[link], self.carrying[link]);
            for (_, chunk) in chunks {
                self.transfers.push(Transfer { link: link as u32, chunk, start: self.now });
                self.coming[to] |= 1 << chunk;
                (self.busy[link], self.passed[link], self.carrying[link]) = (end, 0, chunk);
                if self.is_done() || self.decide(link + 1)? {
                    return Ok(true);
                }
                self.transfers.pop();
                self.coming[to] &= !(1 << chunk);
                (self.busy[link], self.passed[link], self.carrying[link]) = (busy, passed, carrying);
            }
            self.passed[link] |= able;
            let found = self.decide(link + 1)?;
            if !found {
                self.passed[link] = passed;
            }
            return Ok(found);
        }
        self.go_on()
    }

    /// To when the next chunk arrives.
    fn go_on(&mut self) -> Result<bool, Spent> {
        let now = self.now;
        let Some(next) = self.busy.iter().copied().filter(|busy| *busy > now).min() else { return Ok(false) };
        let key = self.key(next);
        if self.of.dead.contains(&key) {
            return Ok(false);
        }
        let graph = self.graph;
        let arriving = (0..self.busy.len()).filter(|link| self.busy[*link] == next);
        let arrived: Vec<(usize, u32)> =
            arriving.map(|link| (graph.links()[link].to as usize, self.carrying[link])).collect();
        self.now = next;
        for &(to, chunk) in &arrived {
            self.have[to] |= 1 << chunk;
            self.coming[to] &= !(1 << chunk);
        }
        let found = self.is_possible() && self.decide(0)?;
        if !found {
            self.now = now;
            for &(to, chunk) in &arrived {
                self.have[to] &= !(1 << chunk);
                self.coming[to] |= 1 << chunk;
            }
            if self.of.dead.len() < REMEMBERED {
                self.of.dead.insert(key);
            }
        }
        Ok(found)
    }

    /// What decides what can follow, mixed to 128 bits (twice the finaliser of SplitMix64).
    fn key(&self, next: u64) -> u128 {
        let (mut a, mut b) = (0x9E37_79B9_7F4A_7C15_u64, 0xC2B2_AE3D_27D4_EB4F_u64);
        let mut add = |word: u64| {
            a = mix(a ^ word);
            b = mix(b.rotate_left(23) ^ word ^ 0x1656_67B1_9E37_79F9);
        };
        add(next);
        for words in self.have.iter().chain(&self.coming).chain(&self.passed) {
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

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Synthesizer for Exact {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        if !is_small(task) {
            return State::Finished;
        }
        if self.cuts.is_none() {
            self.prepare(task);
        }
        let cuts = self.cuts.take().unwrap_or_default();
        self.horizon = self.horizon.max(bounds.best());
        // What was not decided in one piece gets more time in the next, up to some pieces' worth.
        self.budget = (self.budget * 2).clamp(effort, effort.saturating_mul(16));
        let mut steps = self.budget;
        let state = loop {
            if best.as_ref().is_some_and(|best| best.time <= self.horizon) {
                bounds.last_hop = bounds.last_hop.max(best.as_ref().map_or(0, |best| best.time));
                break State::Finished;
            }
            let mut have = vec![0; task.graph.nodes()];
            for chunk in 0..task.demand.chunks() {
                task.demand.sources(chunk).iter().for_each(|node| have[*node as usize] |= 1 << chunk);
            }
            let links = task.graph.links().len();
            let relays = !task.demand.is_for_everyone();
            let nodes = task.graph.nodes();
            let mut dive = Dive {
                graph: task.graph,
                cuts: &cuts,
                have,
                coming: vec![0; nodes],
                busy: vec![0; links],
                passed: vec![0; links],
                relays,
                now: 0,
                transfers: Vec::new(),
                carrying: vec![0; links],
                steps,
                of: self,
            };
            let found = if dive.is_possible() { dive.decide(0) } else { Ok(false) };
            let Dive { transfers, steps: left, .. } = dive;
            steps = left;
            match found {
                Ok(true) => keep(best, Schedule { transfers, reducing: 0 }, task, Method::Exact),
                Ok(false) if self.next == u64::MAX => break State::Finished,
                Ok(false) => {
                    self.horizon = std::mem::replace(&mut self.next, u64::MAX);
                    self.dead.clear();
                    self.budget = effort;
                    bounds.last_hop = bounds.last_hop.max(self.horizon);
                }
                Err(Spent) => break State::Working,
            }
        };
        self.cuts = Some(cuts);
        state
    }
}
