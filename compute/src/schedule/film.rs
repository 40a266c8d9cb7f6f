//! A schedule as something to look at: quick to ask what happens at an instant, and small enough to travel, whole or cut.

use serde::{Deserialize, Serialize};

use super::{analysis::Analysis, graph::Graph, plan::Schedule, problem::Problem};
use crate::order::Order;

/// A schedule, its transfers by link and then by time. Times are in ticks, [`Film::ticks_per_ns`] of them a nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Film {
    /// How many nodes there are.
    pub nodes: u32,
    /// How many chunks there are.
    pub chunks: u32,
    /// Ticks of a nanosecond.
    pub ticks_per_ns: u64,
    /// When all is done.
    pub end: u64,
    /// From where to where each link leads.
    pub links: Vec<(u32, u32)>,
    /// How long a chunk keeps each link busy.
    pub durations: Vec<u64>,
    /// Transfers of link l: `first[l]..first[l + 1]`.
    pub first: Vec<u32>,
    /// Which chunk each transfer carries.
    pub chunk: Vec<u32>,
    /// When it begins.
    pub start: Vec<u64>,
    /// By how much it could end later; empty where that was not looked at.
    pub slack: Vec<u64>,
    /// The critical path, by transfer.
    pub critical: Vec<u32>,
    /// What begins before is added to what is there, what begins later is copied.
    pub reduced_by: u64,
    /// Who has a chunk at the beginning, or where its sum is put together: nodes of chunk c are
    /// `sources[first_source[c]..first_source[c + 1]]`.
    pub first_source: Vec<u32>,
    /// See [`Film::first_source`].
    pub sources: Vec<u32>,
    /// `None` where all transfers are there.
    pub cut: Option<Cut>,
}

/// A span of time whose transfers a film has, and what else is known of a schedule too long to travel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// Transfers that are under way at some time from `from` on, in ticks.
    pub from: u64,
    /// And before `to`.
    pub to: u64,
    /// How many have arrived at each node by `from`.
    pub arrived: Vec<u32>,
    /// What is known of the whole; `None` in a film that only continues another.
    pub digest: Option<Box<Digest>>,
}

/// A schedule too long to travel, in few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// How many transfers there are.
    pub transfers: u64,
    /// How many each link carries.
    pub carries: Vec<u32>,
    /// Every so many nodes, and every so many chunks, [`Digest::ownership`] has one.
    pub every: (u32, u32),
    /// As [`Film::ownership`], of some nodes and chunks.
    pub ownership: Vec<u64>,
    /// Shares of busy links over time, as [`Film::utilisation`].
    pub busy: Vec<(f64, f64)>,
    /// So many links beside each other are one row of [`Digest::lanes`].
    pub links_of_lane: u32,
    /// How busy rows of links are, out of 255, in [`STEPS`] equal steps of time.
    pub lanes: Vec<u8>,
}

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its index.
    pub index: u32,
    /// Its link.
    pub link: u32,
    /// Its chunk.
    pub chunk: u32,
    /// When it begins, in ticks.
    pub start: u64,
    /// When it has arrived, in ticks.
    pub end: u64,
}

/// Why a link is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idle {
    /// What it carries next is not there yet.
    Waiting,
    /// What it carries next is there already.
    Held,
    /// It carries nothing any more.
    Finished,
}

/// A branch of a chunk's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The transfer.
    pub sent: Sent,
    /// Transfers before it on the way from where the chunk was.
    pub depth: u32,
}

/// The most transfers that travel: a film with more is cut.
pub const LONGEST: usize = 120_000;
/// About so many transfers are in a cut.
const IN_A_CUT: u64 = 24_000;
/// Steps of time in a digest.
pub const STEPS: usize = 240;
/// Rows of lanes in a digest.
const LANES: usize = 250;
/// Nodes, and chunks, of which a digest tells when they meet.
const CELLS: usize = 200;

impl Film {
    /// A film of a whole schedule; `None` where nothing is asked for.
    #[must_use]
    pub fn new(problem: &Problem, schedule: &Schedule, analysis: Option<&Analysis>, ticks_per_ns: u64) -> Option<Self> {
        let graph: &Graph = &problem.graph;
        let demand = problem.copy.as_ref().or(problem.reduce.as_ref())?;
        let links = graph.links();
        let mut first = vec![0_u32; links.len() + 1];
        for transfer in &schedule.transfers {
            first[transfer.link as usize + 1] += 1;
        }
        for link in 0..links.len() {
            first[link + 1] += first[link];
        }
        let mut next = first.clone();
        let mut order = vec![0_u32; schedule.transfers.len()];
        for (index, transfer) in schedule.transfers.iter().enumerate() {
            let place = &mut next[transfer.link as usize];
            order[*place as usize] = index as u32;
            *place += 1;
        }
        for link in 0..links.len() {
            let own = &mut order[first[link] as usize..first[link + 1] as usize];
            own.order_by_number(|index| schedule.transfers[*index as usize].start);
        }
        let of = |index: &u32| schedule.transfers[*index as usize];
        let mut film = Self {
            nodes: graph.nodes() as u32,
            chunks: demand.chunks() as u32,
            ticks_per_ns,
            end: schedule.end(graph),
            links: links.iter().map(|link| (link.from, link.to)).collect(),
            durations: links.iter().map(|link| link.duration).collect(),
            first,
            chunk: order.iter().map(|index| of(index).chunk).collect(),
            start: order.iter().map(|index| of(index).start).collect(),
            slack: Vec::new(),
            critical: Vec::new(),
            reduced_by: schedule.transfers[..schedule.reducing]
                .iter()
                .map(|transfer| transfer.end(graph))
                .max()
                .unwrap_or(0),
            first_source: vec![0],
            sources: Vec::new(),
            cut: None,
        };
        if let Some(analysis) = analysis {
            film.slack = order.iter().map(|index| analysis.slack[*index as usize]).collect();
            let mut place = vec![0_u32; order.len()];
            order.iter().enumerate().for_each(|(at, index)| place[*index as usize] = at as u32);
            film.critical = analysis.critical.iter().map(|index| place[*index as usize]).collect();
        }
        for chunk in 0..demand.chunks() {
            film.sources.extend(demand.sources(chunk));
            film.first_source.push(film.sources.len() as u32);
        }
        Some(film)
    }

    /// What travels first: the whole, or, where that is too long, its beginning and a digest.
    #[must_use]
    pub fn to_travel(&self) -> Self {
        if self.len() <= LONGEST {
            return self.clone();
        }
        let mut film = self.cut(0, None);
        film.links.clone_from(&self.links);
        film.durations.clone_from(&self.durations);
        film.first_source.clone_from(&self.first_source);
        film.sources.clone_from(&self.sources);
        if let Some(cut) = &mut film.cut {
            cut.digest = Some(Box::new(self.digest()));
        }
        film
    }

    /// The transfers of a span of time that begins at an instant, and all of one chunk: without links and sources, which
    /// whoever asks has.
    #[must_use]
    pub fn cut(&self, from: u64, chunk: Option<u32>) -> Self {
        let span = (u128::from(self.end) * u128::from(IN_A_CUT) / (self.len() as u128).max(1)) as u64;
        let to = from.saturating_add(span.max(self.durations.iter().copied().min().unwrap_or(1)));
        let mut film = Self {
            nodes: self.nodes,
            chunks: self.chunks,
            ticks_per_ns: self.ticks_per_ns,
            end: self.end,
            reduced_by: self.reduced_by,
            first: vec![0],
            ..Self::default()
        };
        let mut critical = self.critical.clone();
        critical.order_by_number(|index| u64::from(*index));
        let mut arrived = vec![0; self.nodes as usize];
        for (link, (_, node)) in self.links.iter().enumerate() {
            let own = self.first[link] as usize..self.first[link + 1] as usize;
            let of = |time: u64| own.start + self.start[own.clone()].partition_point(|start| *start < time);
            let ended = of((from + 1).saturating_sub(self.durations[link]));
            arrived[*node as usize] += (ended - own.start) as u32;
            let under_way = ended..of(to);
            let of_chunk = |index: &usize| Some(self.chunk[*index]) == chunk;
            let before = (own.start..under_way.start).filter(|_| chunk.is_some()).filter(of_chunk);
            let after = (under_way.end..own.end).filter(|_| chunk.is_some()).filter(of_chunk);
            for index in before.chain(under_way.clone()).chain(after) {
                if critical.binary_search(&(index as u32)).is_ok() {
                    film.critical.push(film.chunk.len() as u32);
                }
                film.chunk.push(self.chunk[index]);
                film.start.push(self.start[index]);
            }
            film.first.push(film.chunk.len() as u32);
        }
        film.cut = Some(Cut { from, to, arrived, digest: None });
        film
    }

    fn digest(&self) -> Digest {
        let every = |count: u32| (count as usize).div_ceil(CELLS).max(1);
        let (nodes, chunks) = (every(self.nodes), every(self.chunks));
        let ownership = self.ownership();
        let rows = ownership.chunks(self.chunks.max(1) as usize).step_by(nodes);
        let links_of_lane = self.links.len().div_ceil(LANES).max(1);
        let mut lanes = Vec::new();
        for lane in (0..self.links.len() as u32).step_by(links_of_lane) {
            let last = (self.links.len() as u32).min(lane + links_of_lane as u32);
            let busy = self.busy(lane..last, STEPS);
            lanes.extend(busy.iter().map(|busy| (busy * 255.0 / f64::from(last - lane)) as u8));
        }
        Digest {
            transfers: self.len() as u64,
            carries: self.first.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            every: (nodes as u32, chunks as u32),
            ownership: rows.flat_map(|row| row.iter().step_by(chunks).copied()).collect(),
            busy: self.utilisation(STEPS),
            links_of_lane: links_of_lane as u32,
            lanes,
        }
    }

    /// How many links of some are busy on average, in equal steps of time.
    fn busy(&self, links: std::ops::Range<u32>, steps: usize) -> Vec<f64> {
        let width = (self.end as f64 / steps as f64).max(f64::MIN_POSITIVE);
        let mut busy = vec![0.0; steps];
        for sent in links.flat_map(|link| self.of_link(link)) {
            let (from, to) = (sent.start as f64 / width, sent.end as f64 / width);
            let last = steps.min(to.ceil() as usize);
            for (step, busy) in busy.iter_mut().enumerate().take(last).skip(from as usize) {
                *busy += (to.min(step as f64 + 1.0) - from.max(step as f64)).max(0.0);
            }
        }
        busy
    }

    /// Whether an instant is in what is there.
    #[must_use]
    pub fn covers(&self, time: u64) -> bool {
        self.cut.as_ref().is_none_or(|cut| (cut.from..cut.to).contains(&time))
    }

    /// What is known of a schedule that is too long to travel.
    #[must_use]
    pub fn known(&self) -> Option<&Digest> {
        self.cut.as_ref()?.digest.as_deref()
    }

    /// How many transfers the schedule has, whether or not they are there.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.known().map_or(self.len() as u64, |digest| digest.transfers)
    }

    /// How many chunks a link carries.
    #[must_use]
    pub fn carries(&self, link: u32) -> u32 {
        let link = link as usize;
        self.known().map_or_else(|| self.first[link + 1] - self.first[link], |digest| digest.carries[link])
    }

    /// A film that continues this one, with what both share.
    #[must_use]
    pub fn continued(&self, mut by: Self) -> Self {
        by.links.clone_from(&self.links);
        by.durations.clone_from(&self.durations);
        by.first_source.clone_from(&self.first_source);
        by.sources.clone_from(&self.sources);
        by
    }

    /// Ticks in ns.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns.max(1) as f64
    }

    /// How many transfers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunk.len()
    }

    /// Whether nothing is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunk.is_empty()
    }

    /// The transfers of a link, in their order.
    pub fn of_link(&self, link: u32) -> impl Iterator<Item = Sent> + '_ {
        let range = self.first[link as usize]..self.first[link as usize + 1];
        range.map(move |index| self.sent(link, index))
    }

    fn sent(&self, link: u32, index: u32) -> Sent {
        let start = self.start[index as usize];
        Sent { index, link, chunk: self.chunk[index as usize], start, end: start + self.durations[link as usize] }
    }

    /// A transfer by its index.
    #[must_use]
    pub fn transfer(&self, index: u32) -> Sent {
        let link = self.first.partition_point(|first| *first <= index) as u32 - 1;
        self.sent(link, index)
    }

    /// What a link carries at an instant.
    #[must_use]
    pub fn carried(&self, link: u32, time: u64) -> Option<Sent> {
        let (first, last) = (self.first[link as usize] as usize, self.first[link as usize + 1] as usize);
        let begun = first + self.start[first..last].partition_point(|start| *start <= time);
        let sent = self.sent(link, begun.checked_sub(1).filter(|index| *index >= first)? as u32);
        (sent.end > time).then_some(sent)
    }

    /// Who has a chunk at the beginning, or where its sum is put together.
    #[must_use]
    pub fn origins(&self, chunk: u32) -> &[u32] {
        let chunk = chunk as usize;
        &self.sources[self.first_source[chunk] as usize..self.first_source[chunk + 1] as usize]
    }

    /// When each chunk is whole at each node, in ticks, nodes first: `[node * chunks + chunk]`; `u64::MAX` where it never is. A
    /// sum is whole when its last part has come.
    #[must_use]
    pub fn ownership(&self) -> Vec<u64> {
        let chunks = self.chunks as usize;
        let mut at = vec![u64::MAX; self.nodes as usize * chunks];
        for chunk in 0..chunks {
            for source in self.origins(chunk as u32) {
                at[*source as usize * chunks + chunk] = 0;
            }
        }
        for link in 0..self.links.len() as u32 {
            let to = self.links[link as usize].1 as usize;
            for sent in self.of_link(link) {
                let there = &mut at[to * chunks + sent.chunk as usize];
                if sent.start >= self.reduced_by {
                    *there = sent.end.min(*there);
                } else if self.origins(sent.chunk).binary_search(&(to as u32)).is_ok() {
                    *there = sent.end.max(*there);
                }
            }
        }
        at
    }

    /// The cells of an ownership in the order of arrival, without those that never come.
    #[must_use]
    pub fn in_order(ownership: &[u64]) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..ownership.len() as u32).filter(|cell| ownership[*cell as usize] != u64::MAX).collect();
        order.order_by_number(|cell| ownership[*cell as usize]);
        order
    }

    /// When transfers arrive at each node, ascending.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Vec<u64>> {
        let mut arrivals = vec![Vec::new(); self.nodes as usize];
        for (link, (_, to)) in (0..).zip(&self.links) {
            arrivals[*to as usize].extend(self.of_link(link).map(|sent| sent.end));
        }
        arrivals.iter_mut().for_each(|arrivals| arrivals.order_by_number(|time| *time));
        arrivals
    }

    /// When anything begins or ends, ascending.
    #[must_use]
    pub fn events(&self) -> Vec<u64> {
        let mut events = vec![0];
        for link in 0..self.links.len() as u32 {
            events.extend(self.of_link(link).flat_map(|sent| [sent.start, sent.end]));
        }
        events.order_by_number(|time| *time);
        events.dedup();
        events
    }

    /// How many pairs of a chunk and a node there are after each arrival, as (ticks, arrivals so far).
    #[must_use]
    pub fn progress(&self) -> Vec<(u64, u64)> {
        let mut ends: Vec<u64> =
            (0..self.links.len() as u32).flat_map(|link| self.of_link(link).map(|sent| sent.end)).collect();
        ends.order_by_number(|end| *end);
        let mut progress = vec![(0, 0)];
        for (count, end) in ends.into_iter().enumerate() {
            match progress.last_mut() {
                Some(last) if last.0 == end => last.1 = count as u64 + 1,
                _ => progress.push((end, count as u64 + 1)),
            }
        }
        progress
    }

    /// The share of links that are busy, in `steps` equal steps of time: all links alike, and by how fast they are.
    #[must_use]
    pub fn utilisation(&self, steps: usize) -> Vec<(f64, f64)> {
        let steps = steps.max(1);
        let mut all = vec![(0.0, 0.0); steps];
        let weights: Vec<f64> = self.durations.iter().map(|duration| 1.0 / *duration as f64).collect();
        let total: f64 = weights.iter().sum();
        for link in 0..self.links.len() as u32 {
            let weight = weights[link as usize] / total;
            for (all, busy) in all.iter_mut().zip(self.busy(link..link + 1, steps)) {
                all.0 += busy / self.links.len() as f64;
                all.1 += busy * weight;
            }
        }
        all
    }

    /// The share of the time for which a link is busy.
    #[must_use]
    pub fn share(&self, link: u32) -> f64 {
        f64::from(self.carries(link)) * self.durations[link as usize] as f64 / self.end.max(1) as f64
    }

    /// When a link is idle, from when to when, and why.
    #[must_use]
    pub fn idle(&self, link: u32, ownership: &[u64]) -> Vec<(u64, u64, Idle)> {
        let from = self.links[link as usize].0 as usize;
        let mut gaps = Vec::new();
        let mut free = 0;
        for sent in self.of_link(link) {
            if sent.start > free {
                let there = ownership.get(from * self.chunks as usize + sent.chunk as usize).copied().unwrap_or(0);
                gaps.push((free, sent.start, if there > free { Idle::Waiting } else { Idle::Held }));
            }
            free = sent.end;
        }
        if self.end > free {
            gaps.push((free, self.end, Idle::Finished));
        }
        gaps
    }

    /// The way of one chunk, in the order of time.
    #[must_use]
    pub fn tree(&self, chunk: u32) -> Vec<Branch> {
        let mut all: Vec<Sent> = (0..self.links.len() as u32)
            .flat_map(|link| self.of_link(link).filter(move |sent| sent.chunk == chunk))
            .collect();
        all.order_by_key(|sent| (sent.start, sent.link));
        let mut depth = vec![0_u32; self.nodes as usize];
        let mut is_copying = self.reduced_by == 0;
        let branch = |sent: Sent| {
            if !is_copying && sent.start >= self.reduced_by {
                is_copying = true;
                depth.fill(0);
            }
            let (from, to) = self.links[sent.link as usize];
            let own = depth[from as usize];
            let there = &mut depth[to as usize];
            *there = if is_copying { own + 1 } else { (own + 1).max(*there) };
            Branch { sent, depth: own }
        };
        all.into_iter().map(branch).collect()
    }
}
