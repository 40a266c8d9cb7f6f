//! Greedy schedules for chunks that spread from node to node: earliest arrival first, and TACOS's matching.
//!
//! Every instant at which some link could have finished a transfer is an event: a link's duration after a chunk came to
//! where it begins, or after it became free. At an event, the links that could finish there choose among the chunks that
//! were where they begin early enough and are not yet where they lead (Won, Elavazhagan, Srinivasan, Krishna: TACOS,
//! MICRO 2024, with the test of causality that its program lacks). Nothing is sent to a node twice, and nothing to a
//! node that does not want it.

use std::collections::{BTreeMap, VecDeque};

use super::{
    bits::{self, Block, Rows},
    demand::Demand,
    graph::Graph,
    plan::{Schedule, Transfer},
};
use crate::math::Stream;

/// How links and chunks find each other at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Pairs of chunk and receiver in random order, each with a random link: TACOS.
    Tacos,
    /// Links in random order, each with a random chunk.
    Random,
    /// Links in random order, each with the chunk that the fewest nodes hold as the event begins.
    Rarest,
    /// The same, by how many hold it as the link chooses.
    RarestLive,
}

/// How a schedule is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// How chunks are chosen.
    pub pick: Pick,
    /// The share of links slower than the fastest that do not begin before the fastest has carried a chunk. Then what
    /// comes to them first may be worth waiting for.
    pub held: f64,
}

/// One schedule; `None` as soon as it would take longer than `limit` ticks, or if a chunk never comes to who wants it.
#[must_use]
pub fn flood(graph: &Graph, demand: &Demand, manner: Manner, stream: &mut Stream, limit: u64) -> Option<Schedule> {
    let mut run = Run::new(graph, demand, manner, stream);
    loop {
        match run.go_on(graph, limit, usize::MAX) {
            Way::Done => return Some(run.schedule()),
            Way::Open => {}
            Way::Closed => return None,
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Everyone has what they want.
    Done,
    /// It can go on.
    Open,
    /// It would take too long, or a chunk never comes to who wants it.
    Closed,
}

/// What has come to a node, for those of its links that take equally long.
#[derive(Clone)]
struct Outlet {
    node: u32,
    duration: u64,
    /// Up to where its bits know the node's arrivals, counted from the beginning.
    known: usize,
}

/// The arrivals of a node that some outlet does not know yet.
#[derive(Clone, Default)]
struct Arrivals {
    forgotten: usize,
    recent: VecDeque<(u64, u32)>,
}

/// A schedule in the making.
#[derive(Clone)]
pub(super) struct Run {
    chunks: usize,
    pick: Pick,
    pub(super) stream: Stream,
    have: Rows,
    /// `None` where all is wanted.
    wanted: Option<Rows>,
    outlets: Vec<Outlet>,
    /// Outlets of a node: `first_outlet[n]..first_outlet[n + 1]`.
    first_outlet: Vec<u32>,
    outlet_of: Vec<u32>,
    /// A row per outlet.
    seen: Rows,
    arrivals: Vec<Arrivals>,
    holders: Holders,
    /// Links by when they are to be looked at; those of one time, which most are, lie beside the others.
    calendar: BTreeMap<u64, Vec<u32>>,
    soon: (u64, Vec<u32>),
    spare: Vec<u32>,
    /// Has a place in the calendar.
    is_awake: Vec<bool>,
    missing: usize,
    /// When each link's last transfer ends.
    free: Vec<u64>,
    pub(super) transfers: Vec<Transfer>,
    candidates: Vec<(u32, Block)>,
    /// Where each block of chunks stands among those that one node could get; [`NOWHERE`] in between.
    place_of: Vec<u32>,
    sent: Vec<u32>,
    /// Pairs of a chunk and a node that were looked at: TACOS looks at all that are possible before each transfer.
    looked: u64,
}

const NOWHERE: u32 = u32::MAX;

/// So many pairs are looked at before a run can be left: a tenth of a second.
const PAIRS: u64 = 4_000_000;

impl Run {
    pub(super) fn new(graph: &Graph, demand: &Demand, manner: Manner, stream: &mut Stream) -> Self {
        let (nodes, chunks) = (graph.nodes(), demand.chunks());
        let mut outlets: Vec<Outlet> = Vec::new();
        let mut first_outlet = vec![0];
        let mut outlet_of = vec![0; graph.links().len()];
        for node in 0..nodes {
            let first = outlets.len();
            for &link in graph.outgoing(node) {
                let duration = graph.links()[link as usize].duration;
                let known = outlets[first..].iter().position(|outlet| outlet.duration == duration);
                let place = first + known.unwrap_or(outlets.len() - first);
                if known.is_none() {
                    outlets.push(Outlet { node: node as u32, duration, known: 0 });
                }
                outlet_of[link as usize] = place as u32;
            }
            first_outlet.push(outlets.len() as u32);
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
            pick: manner.pick,
            stream: Stream::new(stream.next_u64()),
            have: Rows::new(nodes, chunks),
            wanted,
            seen: Rows::new(outlets.len(), chunks),
            outlets,
            first_outlet,
            outlet_of,
            arrivals: vec![Arrivals::default(); nodes],
            holders: Holders::new(nodes, chunks),
            calendar: BTreeMap::new(),
            soon: (0, Vec::new()),
            spare: Vec::new(),
            is_awake: vec![false; graph.links().len()],
            missing: demand.pairs(),
            free: vec![0; graph.links().len()],
            transfers: Vec::with_capacity(demand.pairs()),
            candidates: Vec::new(),
            place_of: vec![NOWHERE; if manner.pick == Pick::Tacos { chunks / bits::SIZE + 1 } else { 0 }],
            sent: Vec::new(),
            looked: 0,
        };
        for chunk in 0..chunks {
            for &node in demand.sources(chunk) {
                run.have.insert(node as usize, chunk);
                run.holders.add(chunk);
                for outlet in run.first_outlet[node as usize]..run.first_outlet[node as usize + 1] {
                    run.seen.insert(outlet as usize, chunk);
                }
            }
        }
        let fastest = graph.links().iter().map(|link| link.duration).min().unwrap_or(0);
        for (index, link) in graph.links().iter().enumerate() {
            let is_held = manner.held > 0.0 && link.duration > fastest && run.stream.unit() < manner.held;
            run.wake(index, link.duration.saturating_add(if is_held { fastest } else { 0 }));
        }
        run
    }

    /// Goes on for about so many transfers, or for less where each takes long to choose.
    pub(super) fn go_on(&mut self, graph: &Graph, limit: u64, transfers: usize) -> Way {
        let last = self.transfers.len().saturating_add(transfers);
        let looked = self.looked;
        while !self.is_done() {
            if self.transfers.len() >= last || self.looked - looked > PAIRS {
                return Way::Open;
            }
            match self.next_event().filter(|time| *time <= limit) {
                Some(time) => self.event(graph, time),
                None => return Way::Closed,
            }
        }
        Way::Done
    }

    pub(super) fn schedule(self) -> Schedule {
        Schedule { transfers: self.transfers, reducing: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn next_event(&self) -> Option<u64> {
        let soon = (!self.soon.1.is_empty()).then_some(self.soon.0);
        let later = self.calendar.first_key_value().map(|(time, _)| *time);
        soon.into_iter().chain(later).min()
    }

    /// Pairs of a chunk and a node that wants it and has it not.
    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// When the last transfer ends.
    pub(super) fn end(&self) -> u64 {
        self.free.iter().copied().max().unwrap_or(0)
    }

    /// What decides what can follow.
    pub(super) fn key(&self) -> u64 {
        let words = self.have.all().iter().chain(&self.free);
        words.fold(0x9E37_79B9_7F4A_7C15, |key: u64, word| {
            (key ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29)
        })
    }

    /// No end is earlier, given what has come by `now`.
    pub(super) fn bound(&self, graph: &Graph, now: u64) -> u64 {
        let mut bound = self.end();
        for node in 0..graph.nodes() {
            let have = self.have.row(node);
            let missing: u64 = match &self.wanted {
                Some(wanted) => {
                    let missing = wanted.row(node).iter().zip(have).map(|(wanted, have)| bits::without(wanted, have));
                    missing.map(|block| u64::from(bits::ones(&block))).sum()
                }
                None => self.chunks as u64 - self.have.count(node) as u64,
            };
            if missing == 0 {
                continue;
            }
            // One after the other from the link that brings it first.
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
        let (soon, links) = &mut self.soon;
        if links.is_empty() {
            *soon = time;
        }
        if *soon == time {
            links.push(link as u32);
        } else {
            self.calendar.entry(time).or_default().push(link as u32);
        }
    }

    /// Lets the links choose that could finish at `time`, the next event.
    pub(super) fn event(&mut self, graph: &Graph, time: u64) {
        let mut links = std::mem::take(&mut self.spare);
        links.clear();
        if self.soon.0 == time {
            std::mem::swap(&mut links, &mut self.soon.1);
        }
        if let Some(more) = self.calendar.remove(&time) {
            links.extend(more);
        }
        for &link in &links {
            self.is_awake[link as usize] = false;
            self.look(self.outlet_of[link as usize] as usize, time);
        }
        if self.pick == Pick::Tacos {
            self.match_pairs(graph, &mut links, time);
            self.spare = links;
            return;
        }
        self.stream.shuffle(&mut links);
        for &link in &links {
            match self.choose(graph, link as usize) {
                Some(chunk) => self.send(graph, link as usize, chunk, time),
                None => self.rest(link as usize),
            }
        }
        self.spare = links;
        for chunk in self.sent.drain(..) {
            self.holders.add(chunk as usize);
        }
    }

    /// What came to an outlet's node early enough to be elsewhere at `time`.
    fn look(&mut self, outlet: usize, time: u64) {
        let Outlet { node, duration, known } = self.outlets[outlet];
        let arrivals = &mut self.arrivals[node as usize];
        let mut now = known;
        while let Some(&(at, chunk)) = arrivals.recent.get(now - arrivals.forgotten)
            && at <= time - duration
        {
            self.seen.insert(outlet, chunk as usize);
            now += 1;
        }
        if now == known {
            return;
        }
        self.outlets[outlet].known = now;
        let siblings = self.first_outlet[node as usize] as usize..self.first_outlet[node as usize + 1] as usize;
        let all = self.outlets[siblings].iter().map(|outlet| outlet.known).min().unwrap_or(0);
        arrivals.recent.drain(..all - arrivals.forgotten);
        arrivals.forgotten = all;
    }

    /// Nothing is there for a link: it sleeps until something comes.
    fn rest(&mut self, link: usize) {
        let Outlet { node, duration, known } = self.outlets[self.outlet_of[link] as usize];
        let arrivals = &self.arrivals[node as usize];
        if let Some(&(at, _)) = arrivals.recent.get(known - arrivals.forgotten) {
            self.wake(link, at.saturating_add(duration));
        }
    }

    fn send(&mut self, graph: &Graph, link: usize, chunk: usize, time: u64) {
        let of = graph.links()[link];
        self.transfers.push(Transfer { link: link as u32, chunk: chunk as u32, start: time - of.duration });
        self.have.insert(of.to as usize, chunk);
        self.missing -= 1;
        self.free[link] = time;
        match self.pick {
            Pick::Rarest => self.sent.push(chunk as u32),
            Pick::RarestLive => self.holders.add(chunk),
            Pick::Tacos | Pick::Random => {}
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

    /// Gathers what a link could carry; `false` where there is nothing.
    fn gather(&mut self, graph: &Graph, link: usize) -> bool {
        let to = graph.links()[link].to as usize;
        let seen = self.seen.row(self.outlet_of[link] as usize);
        let have = self.have.row(to);
        self.candidates.clear();
        let wanted = self.wanted.as_ref().map(|wanted| wanted.row(to));
        for (at, (seen, have)) in seen.iter().zip(have).enumerate() {
            let mut new = bits::without(seen, have);
            if let Some(wanted) = wanted {
                new = bits::both(&new, &wanted[at]);
            }
            if !bits::is_empty(&new) {
                self.candidates.push((at as u32, new));
            }
        }
        !self.candidates.is_empty()
    }

    fn choose(&mut self, graph: &Graph, link: usize) -> Option<usize> {
        if !self.gather(graph, link) {
            return None;
        }
        if self.pick != Pick::Random {
            self.holders.keep_rarest(&mut self.candidates);
        }
        let total: u32 = self.candidates.iter().map(|(_, block)| bits::ones(block)).sum();
        let mut rank = if total == 1 { 0 } else { self.stream.below(total as usize) as u32 };
        for (at, block) in &self.candidates {
            let count = if total == 1 { 1 } else { bits::ones(block) };
            if rank < count {
                return bits::select(block, rank).map(|chunk| *at as usize * bits::SIZE + chunk as usize);
            }
            rank -= count;
        }
        None
    }

    fn match_pairs(&mut self, graph: &Graph, links: &mut [u32], time: u64) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        links.sort_unstable_by_key(|link| graph.links()[*link as usize].to);
        for same in links.chunk_by(|a, b| graph.links()[*a as usize].to == graph.links()[*b as usize].to) {
            let mut chunks: Vec<(u32, Block)> = Vec::new();
            for &link in same {
                self.gather(graph, link as usize);
                for (at, block) in self.candidates.drain(..) {
                    let place = &mut self.place_of[at as usize];
                    match chunks.get_mut(*place as usize) {
                        Some((_, all)) => *all = std::array::from_fn(|lane| all[lane] | block[lane]),
                        None => {
                            *place = chunks.len() as u32;
                            chunks.push((at, block));
                        }
                    }
                }
            }
            chunks.iter().for_each(|(at, _)| self.place_of[*at as usize] = NOWHERE);
            let to = graph.links()[same[0] as usize].to;
            for (at, block) in &chunks {
                pairs.extend(bits::each(block).map(|chunk| (at * bits::SIZE as u32 + chunk, to)));
            }
        }
        self.looked += pairs.len() as u64;
        self.stream.shuffle(&mut pairs);
        let mut is_free = vec![false; graph.links().len()];
        links.iter().for_each(|link| is_free[*link as usize] = true);
        let mut able = Vec::new();
        for (chunk, to) in pairs {
            let has = |link: &u32| {
                is_free[*link as usize] && self.seen.has(self.outlet_of[*link as usize] as usize, chunk as usize)
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
                self.rest(link as usize);
            }
        }
    }
}

/// How many nodes hold each chunk, as planes of bits: the n-th plane has the n-th binary digits.
#[derive(Clone)]
struct Holders {
    planes: Rows,
    count: usize,
    /// No digit from this one on is set.
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

    /// Keeps the candidates that the fewest hold, by their digits from the highest.
    fn keep_rarest(&self, candidates: &mut Vec<(u32, Block)>) {
        for plane in (0..self.used).rev() {
            let plane = self.planes.row(plane);
            let without = |(at, block): &(u32, Block)| bits::without(block, &plane[*at as usize]);
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
