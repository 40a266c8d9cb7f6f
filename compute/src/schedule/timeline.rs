//! Timelines: a schedule ordered by link and by time, for drawing and for tables.
//!
//! A timeline answers quickly what each link carries at an instant. A schedule of millions of transfers is too large to
//! be sent from the worker to the page: then the page gets a summary and the transfers of one window of time.

use serde::{Deserialize, Serialize};

use super::{analysis::Analysis, graph::Graph, plan::Schedule, problem::Problem};
use crate::order::CompactSort;

/// A schedule, its transfers ordered by link and then by start. Times are in ticks, [`Timeline::ticks_per_ns`] to the
/// nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// Ticks per nanosecond.
    pub ticks_per_ns: u64,
    /// When the last transfer of the schedule ends, in ticks.
    pub end: u64,
    /// Sending and receiving node of each link.
    pub links: Vec<(u32, u32)>,
    /// How long a chunk occupies each link, in ticks.
    pub durations: Vec<u64>,
    /// The transfers of link `l` are `first[l]..first[l + 1]` of the lists below.
    pub first: Vec<u32>,
    /// The chunk that each transfer carries.
    pub chunk: Vec<u32>,
    /// The start of each transfer, in ticks.
    pub start: Vec<u64>,
    /// By how many ticks each transfer could end later without delaying the end; empty where it was not computed.
    pub slack: Vec<u64>,
    /// Indices of the transfers on the critical path, in the order of time.
    pub critical: Vec<u32>,
    /// Transfers that start before this tick add what they carry to what the receiver has; later ones copy.
    pub reduced_by: u64,
    /// The nodes that have chunk `c` at the beginning, or on which its sum is put together, are
    /// `sources[first_source[c]..first_source[c + 1]]`.
    pub first_source: Vec<u32>,
    /// Nodes, grouped by chunk: see [`Timeline::first_source`].
    pub sources: Vec<u32>,
    /// The window whose transfers are here; `None` where all transfers are.
    pub window: Option<TimeWindow>,
}

/// The span of time whose transfers a timeline has, where it does not have all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeWindow {
    /// First tick of the window: transfers that are under way then, or start later, are included.
    pub from: u64,
    /// Tick before which the included transfers start.
    pub to: u64,
    /// How many transfers have arrived at each node by `from`.
    pub arrived: Vec<u32>,
    /// A summary of the whole schedule; `None` in a window that the receiver adds to a timeline it has.
    pub summary: Option<Box<TimelineSummary>>,
}

/// A schedule that is too long to be sent, as aggregated values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineSummary {
    /// Number of transfers.
    pub transfers: u64,
    /// Number of chunks that each link carries.
    pub carries: Vec<u32>,
    /// Strides in nodes and in chunks of the sample in [`TimelineSummary::ownership`].
    pub every: (u32, u32),
    /// As [`Timeline::ownership`], of a sample of nodes and chunks.
    pub ownership: Vec<u64>,
    /// Shares of busy links over time, as [`Timeline::utilisation`] gives them for [`STEPS`] steps.
    pub busy: Vec<(f64, f64)>,
    /// Number of neighbouring links that are aggregated in one row of [`TimelineSummary::lanes`].
    pub links_of_lane: u32,
    /// Share of the time for which each row of links is busy, in units of 1/255, in [`STEPS`] equal steps of time; row
    /// by row.
    pub lanes: Vec<u8>,
}

/// A transfer with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedTransfer {
    /// Index in the timeline's lists.
    pub index: u32,
    /// Index of the link.
    pub link: u32,
    /// Index of the chunk.
    pub chunk: u32,
    /// When the link begins to carry the chunk, in ticks.
    pub start: u64,
    /// When the chunk has arrived, in ticks.
    pub end: u64,
}

/// Why a link is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idle {
    /// The chunk that it carries next has not arrived at its sender.
    Waiting,
    /// The chunk that it carries next has arrived, and the schedule sends it later.
    Held,
    /// It carries no further chunk.
    Finished,
}

/// A transfer in the tree along which a chunk spreads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeTransfer {
    /// The transfer.
    pub sent: TimedTransfer,
    /// Number of transfers before it on the path from the chunk's source.
    pub depth: u32,
}

/// The most transfers that are sent to the page at once: a longer timeline is abridged.
pub const MAX_TRANSFERS: usize = 120_000;
/// About how many transfers a window includes.
const WINDOW_TRANSFERS: u64 = 24_000;
/// Steps of time in a summary.
pub const STEPS: usize = 240;
/// The most rows of links in a summary.
const SUMMARY_LANES: usize = 250;
/// About how many nodes, and how many chunks, a summary samples.
const SUMMARY_CELLS: usize = 200;

impl Timeline {
    /// The timeline of a whole schedule; `None` where the problem asks for nothing. Slack and critical path are filled
    /// in from `analysis`.
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
            own.sort_by_cached_key(|index| schedule.transfers[*index as usize].start);
        }
        let of = |index: &u32| schedule.transfers[*index as usize];
        let mut timeline = Self {
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
            window: None,
        };
        if let Some(analysis) = analysis {
            timeline.slack = order.iter().map(|index| analysis.slack[*index as usize]).collect();
            let mut place = vec![0_u32; order.len()];
            order.iter().enumerate().for_each(|(at, index)| place[*index as usize] = at as u32);
            timeline.critical = analysis.critical.iter().map(|index| place[*index as usize]).collect();
        }
        for chunk in 0..demand.chunks() {
            timeline.sources.extend(demand.sources(chunk));
            timeline.first_source.push(timeline.sources.len() as u32);
        }
        Some(timeline)
    }

    /// A copy to be sent to the page: the whole, or, beyond [`MAX_TRANSFERS`], the first window and a summary.
    pub fn abridged(&self) -> Self {
        if self.len() <= MAX_TRANSFERS {
            return self.clone();
        }
        let mut timeline = self.window_from(0, None);
        timeline.links.clone_from(&self.links);
        timeline.durations.clone_from(&self.durations);
        timeline.first_source.clone_from(&self.first_source);
        timeline.sources.clone_from(&self.sources);
        if let Some(window) = &mut timeline.window {
            window.summary = Some(Box::new(self.summarise()));
        }
        timeline
    }

    /// The transfers of a window that begins at the tick `from`, and all transfers of `chunk`. Links, durations and
    /// sources are left out: [`Timeline::completed`] adds them at the receiver.
    pub fn window_from(&self, from: u64, chunk: Option<u32>) -> Self {
        let span = (u128::from(self.end) * u128::from(WINDOW_TRANSFERS) / (self.len() as u128).max(1)) as u64;
        let to = from.saturating_add(span.max(self.durations.iter().copied().min().unwrap_or(1)));
        let mut timeline = Self {
            nodes: self.nodes,
            chunks: self.chunks,
            ticks_per_ns: self.ticks_per_ns,
            end: self.end,
            reduced_by: self.reduced_by,
            first: vec![0],
            ..Self::default()
        };
        let mut critical = self.critical.clone();
        critical.sort_by_cached_key(|index| u64::from(*index));
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
                    timeline.critical.push(timeline.chunk.len() as u32);
                }
                timeline.chunk.push(self.chunk[index]);
                timeline.start.push(self.start[index]);
            }
            timeline.first.push(timeline.chunk.len() as u32);
        }
        timeline.window = Some(TimeWindow { from, to, arrived, summary: None });
        timeline
    }

    fn summarise(&self) -> TimelineSummary {
        let every = |count: u32| (count as usize).div_ceil(SUMMARY_CELLS).max(1);
        let (nodes, chunks) = (every(self.nodes), every(self.chunks));
        let ownership = self.ownership();
        let rows = ownership.chunks(self.chunks.max(1) as usize).step_by(nodes);
        let links_of_lane = self.links.len().div_ceil(SUMMARY_LANES).max(1);
        let mut lanes = Vec::new();
        for lane in (0..self.links.len() as u32).step_by(links_of_lane) {
            let last = (self.links.len() as u32).min(lane + links_of_lane as u32);
            let busy = self.busy(lane..last, STEPS);
            lanes.extend(busy.iter().map(|busy| (busy * 255.0 / f64::from(last - lane)) as u8));
        }
        TimelineSummary {
            transfers: self.len() as u64,
            carries: self.first.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            every: (nodes as u32, chunks as u32),
            ownership: rows.flat_map(|row| row.iter().step_by(chunks).copied()).collect(),
            busy: self.utilisation(STEPS),
            links_of_lane: links_of_lane as u32,
            lanes,
        }
    }

    /// The average number of busy links among `links`, in `steps` equal steps of time.
    fn busy(&self, links: std::ops::Range<u32>, steps: usize) -> Vec<f64> {
        let width = (self.end as f64 / steps as f64).max(f64::MIN_POSITIVE);
        let mut busy = vec![0.0; steps];
        for sent in links.flat_map(|link| self.transfers_on(link)) {
            let (from, to) = (sent.start as f64 / width, sent.end as f64 / width);
            let last = steps.min(to.ceil() as usize);
            for (step, busy) in busy.iter_mut().enumerate().take(last).skip(from as usize) {
                *busy += (to.min(step as f64 + 1.0) - from.max(step as f64)).max(0.0);
            }
        }
        busy
    }

    /// Whether the transfers under way at a tick are included.
    pub fn covers(&self, time: u64) -> bool {
        self.window.as_ref().is_none_or(|window| (window.from..window.to).contains(&time))
    }

    /// The summary, where the timeline is abridged.
    pub fn summary(&self) -> Option<&TimelineSummary> {
        self.window.as_ref()?.summary.as_deref()
    }

    /// Number of transfers of the whole schedule, included or not.
    pub fn transfer_count(&self) -> u64 {
        self.summary().map_or(self.len() as u64, |summary| summary.transfers)
    }

    /// Number of chunks that a link carries in the whole schedule.
    pub fn chunks_carried(&self, link: u32) -> u32 {
        let link = link as usize;
        self.summary().map_or_else(|| self.first[link + 1] - self.first[link], |summary| summary.carries[link])
    }

    /// Adds links, durations and sources, which are the same for all windows of a schedule, to a window that
    /// [`Timeline::window_from`] made of it.
    pub fn completed(&self, mut window: Self) -> Self {
        window.links.clone_from(&self.links);
        window.durations.clone_from(&self.durations);
        window.first_source.clone_from(&self.first_source);
        window.sources.clone_from(&self.sources);
        window
    }

    /// Converts ticks to nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns.max(1) as f64
    }

    /// Number of transfers that are included.
    pub fn len(&self) -> usize {
        self.chunk.len()
    }

    /// Whether no transfer is included.
    pub fn is_empty(&self) -> bool {
        self.chunk.is_empty()
    }

    /// The transfers of a link in the order of time.
    pub fn transfers_on(&self, link: u32) -> impl Iterator<Item = TimedTransfer> + '_ {
        let range = self.first[link as usize]..self.first[link as usize + 1];
        range.map(move |index| self.timed(link, index))
    }

    fn timed(&self, link: u32, index: u32) -> TimedTransfer {
        let start = self.start[index as usize];
        TimedTransfer {
            index,
            link,
            chunk: self.chunk[index as usize],
            start,
            end: start + self.durations[link as usize],
        }
    }

    /// The transfer of an index.
    pub fn transfer(&self, index: u32) -> TimedTransfer {
        let link = self.first.partition_point(|first| *first <= index) as u32 - 1;
        self.timed(link, index)
    }

    /// The transfer that occupies a link at a tick; `None` while the link is idle.
    pub fn transfer_at(&self, link: u32, time: u64) -> Option<TimedTransfer> {
        let (first, last) = (self.first[link as usize] as usize, self.first[link as usize + 1] as usize);
        let begun = first + self.start[first..last].partition_point(|start| *start <= time);
        let sent = self.timed(link, begun.checked_sub(1).filter(|index| *index >= first)? as u32);
        (sent.end > time).then_some(sent)
    }

    /// The nodes that have a chunk at the beginning, or on which its sum is put together.
    pub fn origins(&self, chunk: u32) -> &[u32] {
        let chunk = chunk as usize;
        &self.sources[self.first_source[chunk] as usize..self.first_source[chunk + 1] as usize]
    }

    /// The tick at which each node has each chunk, at `[node * chunks + chunk]`; `u64::MAX` where it never does. A sum
    /// is complete when its last part has arrived.
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
            for sent in self.transfers_on(link) {
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

    /// Indices into the result of [`Timeline::ownership`] in the order of time, without pairs that never arrive.
    pub fn arrival_order(ownership: &[u64]) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..ownership.len() as u32).filter(|cell| ownership[*cell as usize] != u64::MAX).collect();
        order.sort_by_cached_key(|cell| ownership[*cell as usize]);
        order
    }

    /// The ticks at which transfers arrive at each node, ascending.
    pub fn arrivals(&self) -> Vec<Vec<u64>> {
        let mut arrivals = vec![Vec::new(); self.nodes as usize];
        for (link, (_, to)) in (0..).zip(&self.links) {
            arrivals[*to as usize].extend(self.transfers_on(link).map(|sent| sent.end));
        }
        arrivals.iter_mut().for_each(|arrivals| arrivals.sort_by_cached_key(|time| *time));
        arrivals
    }

    /// The ticks at which a transfer begins or ends, ascending and without repetition.
    pub fn events(&self) -> Vec<u64> {
        let mut events = vec![0];
        for link in 0..self.links.len() as u32 {
            events.extend(self.transfers_on(link).flat_map(|sent| [sent.start, sent.end]));
        }
        events.sort_by_cached_key(|time| *time);
        events.dedup();
        events
    }

    /// The number of arrivals up to each tick at which a chunk arrives, as (tick, arrivals so far).
    pub fn progress(&self) -> Vec<(u64, u64)> {
        let mut ends: Vec<u64> =
            (0..self.links.len() as u32).flat_map(|link| self.transfers_on(link).map(|sent| sent.end)).collect();
        ends.sort_by_cached_key(|end| *end);
        let mut progress = vec![(0, 0)];
        for (count, end) in ends.into_iter().enumerate() {
            match progress.last_mut() {
                Some(last) if last.0 == end => last.1 = count as u64 + 1,
                _ => progress.push((end, count as u64 + 1)),
            }
        }
        progress
    }

    /// The share of links that are busy, in `steps` equal steps of time: unweighted, and weighted by the speed of
    /// links.
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

    /// The share of the schedule's time for which a link is busy.
    pub fn busy_share(&self, link: u32) -> f64 {
        f64::from(self.chunks_carried(link)) * self.durations[link as usize] as f64 / self.end.max(1) as f64
    }

    /// The gaps between the transfers of a link, as (first tick, end, reason). `ownership` is that of
    /// [`Timeline::ownership`].
    pub fn idle(&self, link: u32, ownership: &[u64]) -> Vec<(u64, u64, Idle)> {
        let from = self.links[link as usize].0 as usize;
        let mut gaps = Vec::new();
        let mut free = 0;
        for sent in self.transfers_on(link) {
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

    /// The transfers of one chunk in the order of time, each with its depth in the tree.
    pub fn tree(&self, chunk: u32) -> Vec<TreeTransfer> {
        let mut all: Vec<TimedTransfer> = (0..self.links.len() as u32)
            .flat_map(|link| self.transfers_on(link).filter(move |sent| sent.chunk == chunk))
            .collect();
        all.compact_sort_by_key(|sent| (sent.start, sent.link));
        let mut depth = vec![0_u32; self.nodes as usize];
        let mut is_copying = self.reduced_by == 0;
        let branch = |sent: TimedTransfer| {
            if !is_copying && sent.start >= self.reduced_by {
                is_copying = true;
                depth.fill(0);
            }
            let (from, to) = self.links[sent.link as usize];
            let own = depth[from as usize];
            let there = &mut depth[to as usize];
            *there = if is_copying { own + 1 } else { (own + 1).max(*there) };
            TreeTransfer { sent, depth: own }
        };
        all.into_iter().map(branch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{analysis::analyse, demand::Demand, plan::Transfer};

    /// A timeline of transfers as (link, chunk, start), with slack and critical path, at two ticks per nanosecond.
    fn timeline(problem: &Problem, transfers: &[(u32, u32, u64)], reducing: usize) -> Timeline {
        let transfers = transfers.iter().map(|&(link, chunk, start)| Transfer { link, chunk, start });
        let schedule = Schedule { transfers: transfers.collect(), reducing };
        let analysis = analyse(&problem.graph, &schedule, problem.chunks());
        Timeline::new(problem, &schedule, Some(&analysis), 2).unwrap()
    }

    /// Two chunks of node 0 along a line, over a link of two ticks and one of three; an idle link leads back.
    fn along_a_line() -> Timeline {
        let graph = Graph::of_durations(3, &[(0, 1, 2), (1, 2, 3), (2, 0, 5)]);
        let problem = Problem::new(graph, None, Some(Demand::broadcast(3, 0, 2)));
        timeline(&problem, &[(1, 1, 5), (0, 1, 2), (1, 0, 2), (0, 0, 0)], 0)
    }

    /// A sum along a line to node 0, and its copies back, with a gap of a tick before the last.
    fn there_and_back() -> Timeline {
        let graph = Graph::of_durations(3, &[(1, 0, 2), (2, 1, 3), (0, 1, 2), (1, 2, 3)]);
        let demand = Demand::broadcast(3, 0, 1);
        let problem = Problem::new(graph, Some(demand.clone()), Some(demand));
        timeline(&problem, &[(1, 0, 0), (0, 0, 3), (2, 0, 5), (3, 0, 8)], 2)
    }

    /// 150,000 chunks one after the other over a link of two ticks; a link of ten ticks back is idle.
    fn long() -> Timeline {
        let count = 150_000;
        let problem = Problem::new(
            Graph::of_durations(2, &[(0, 1, 2), (1, 0, 10)]),
            None,
            Some(Demand::broadcast(2, 0, count as usize)),
        );
        let transfers: Vec<_> = (0..count).map(|chunk| (0, chunk, 2 * u64::from(chunk))).collect();
        let mut timeline = timeline(&problem, &transfers, 0);
        timeline.critical = vec![7, 50_000, 60_000, 149_999];
        timeline
    }

    fn timed(index: u32, link: u32, chunk: u32, start: u64, end: u64) -> TimedTransfer {
        TimedTransfer { index, link, chunk, start, end }
    }

    /// Compares shares, which are sums of fractions.
    fn assert_near(found: &[(f64, f64)], expected: &[(f64, f64)]) {
        let is_near = |(a, b): (&(f64, f64), &(f64, f64))| (a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12;
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?}");
    }

    #[test]
    fn transfers_are_ordered_by_link_and_time() {
        let line = along_a_line();
        assert_eq!((line.nodes, line.chunks, line.end, line.reduced_by), (3, 2, 8, 0));
        assert_eq!((line.links.as_slice(), line.durations.as_slice()), (&[(0, 1), (1, 2), (2, 0)][..], &[2, 3, 5][..]));
        assert_eq!((line.first.as_slice(), line.chunk.as_slice()), (&[0, 2, 4, 4][..], &[0, 1, 0, 1][..]));
        assert_eq!((line.start.as_slice(), line.slack.as_slice()), (&[0, 2, 2, 5][..], &[0, 1, 0, 0][..]));
        assert_eq!((line.critical.as_slice(), line.len(), line.is_empty()), (&[0, 2, 3][..], 4, false));
        assert_eq!((line.origins(0), line.origins(1)), (&[0][..], &[0][..]));
        assert_eq!((line.ns(8), Timeline::default().ns(8), Timeline::default().is_empty()), (4.0, 8.0, true));
        let nothing = Problem::new(Graph::of_durations(2, &[(0, 1, 2)]), None, None);
        assert_eq!(Timeline::new(&nothing, &Schedule::default(), None, 2), None);
    }

    #[test]
    fn it_is_known_what_a_link_carries_at_a_tick() {
        let line = along_a_line();
        assert_eq!(line.transfers_on(1).collect::<Vec<_>>(), [timed(2, 1, 0, 2, 5), timed(3, 1, 1, 5, 8)]);
        assert_eq!(line.transfers_on(2).count(), 0);
        assert_eq!([1, 2].map(|index| line.transfer(index)), [timed(1, 0, 1, 2, 4), timed(2, 1, 0, 2, 5)]);
        let at = |link: u32, time: u64| line.transfer_at(link, time).map(|sent| sent.index);
        assert_eq!([0, 1, 2, 3, 4].map(|time| at(0, time)), [Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!([1, 2, 4, 5, 7, 8].map(|time| at(1, time)), [None, Some(2), Some(2), Some(3), Some(3), None]);
        assert_eq!([0, 9].map(|time| at(2, time)), [None, None]);
        assert_eq!([0, 1, 2].map(|link| line.chunks_carried(link)), [2, 2, 0]);
        assert_eq!([0, 1, 2].map(|link| line.busy_share(link)), [0.5, 0.75, 0.0]);
    }

    #[test]
    fn arrivals_are_listed_by_node_and_in_time() {
        let line = along_a_line();
        let ownership = line.ownership();
        assert_eq!(ownership, [0, 0, 2, 4, 5, 8]);
        assert_eq!(line.arrivals(), [vec![], vec![2, 4], vec![5, 8]]);
        assert_eq!(line.events(), [0, 2, 4, 5, 8]);
        assert_eq!(line.progress(), [(0, 0), (2, 1), (4, 2), (5, 3), (8, 4)]);
        assert_eq!(Timeline::arrival_order(&[5, u64::MAX, 0, 3]), [2, 3, 0]);
        // A chunk that comes twice is there from the first time on; both arrivals of the second tick count.
        let twice = Graph::of_durations(3, &[(0, 1, 2), (0, 1, 1), (0, 2, 1)]);
        let problem = Problem::new(twice, None, Some(Demand::from_chunks(3, [(vec![0], vec![1, 2])])));
        let twice = timeline(&problem, &[(0, 0, 0), (1, 0, 0), (2, 0, 1)], 0);
        assert_eq!((twice.ownership(), twice.progress()), (vec![0, 1, 2], vec![(0, 0), (1, 1), (2, 3)]));
        assert_eq!(timeline(&problem, &[(2, 0, 1)], 0).ownership(), [0, u64::MAX, 2], "it never comes to node 1");
        // Each node has its own chunks from the beginning.
        let pair = Problem::new(Graph::of_durations(2, &[(0, 1, 3), (1, 0, 4)]), None, Some(Demand::all_gather(2, 2)));
        let gathered = timeline(&pair, &[(0, 0, 0), (0, 1, 3), (1, 2, 0), (1, 3, 4)], 0);
        assert_eq!(gathered.ownership(), [0, 0, 4, 8, 3, 6, 0, 0]);
    }

    #[test]
    fn a_sum_is_owned_when_its_last_part_has_come() {
        let sum = there_and_back();
        assert_eq!((sum.reduced_by, sum.ownership()), (5, vec![5, 7, 11]));
        let depths = |timeline: &Timeline| -> Vec<(u32, u32)> {
            timeline.tree(0).iter().map(|part| (part.sent.link, part.depth)).collect()
        };
        assert_eq!(depths(&sum), [(1, 0), (0, 1), (2, 0), (3, 1)]);
        // Node 0 gets a part over two links, and then one over a single link, and sends the sum on.
        let graph = Graph::of_durations(5, &[(2, 1, 1), (1, 0, 1), (3, 0, 9), (0, 4, 1)]);
        let problem = Problem::new(graph, Some(Demand::broadcast(5, 4, 1)), None);
        let uneven = timeline(&problem, &[(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 11)], 4);
        assert_eq!(depths(&uneven), [(0, 0), (1, 1), (2, 0), (3, 2)]);
        assert_eq!(uneven.ownership(), [u64::MAX, u64::MAX, u64::MAX, u64::MAX, 12]);
        // Copies have the depth of the node from which they come; other chunks are not in the tree.
        let line = along_a_line();
        let of_one: Vec<_> = line.tree(1).iter().map(|part| (part.sent, part.depth)).collect();
        assert_eq!(of_one, [(timed(1, 0, 1, 2, 4), 0), (timed(3, 1, 1, 5, 8), 1)]);
    }

    #[test]
    fn gaps_say_why_a_link_is_idle() {
        let line = along_a_line();
        let idle = |link: u32| line.idle(link, &line.ownership());
        assert_eq!(idle(0), [(4, 8, Idle::Finished)]);
        assert_eq!(idle(1), [(0, 2, Idle::Waiting)]);
        assert_eq!(idle(2), [(0, 8, Idle::Finished)]);
        // The first link brings chunk 1 by some tick; the second one is free from tick 5 on, and sends it later.
        let graph = Graph::of_durations(3, &[(0, 1, 2), (1, 2, 3)]);
        let problem = Problem::new(graph, None, Some(Demand::broadcast(3, 0, 2)));
        for (arrives, gap) in [(4, (5, 9, Idle::Held)), (5, (5, 9, Idle::Held)), (8, (5, 9, Idle::Waiting))] {
            let later = timeline(&problem, &[(0, 0, 0), (0, 1, arrives - 2), (1, 0, 2), (1, 1, 9)], 0);
            assert_eq!(later.idle(1, &later.ownership()), [(0, 2, Idle::Waiting), gap], "at tick {arrives}");
        }
    }

    #[test]
    fn utilisation_shares_out_transfers_among_steps() {
        let line = along_a_line();
        // Weights are 1/2, 1/3 and 1/5 of 31/30. The first link is busy until tick 4, the second from tick 2 on.
        let (first, second) = (15.0 / 31.0, 10.0 / 31.0);
        let both = (2.0 / 3.0, first + second);
        assert_near(&line.utilisation(4), &[(1.0 / 3.0, first), both, (1.0 / 3.0, second), (1.0 / 3.0, second)]);
        let whole = (1.25 / 3.0, 0.5 * first + 0.75 * second);
        assert_near(&line.utilisation(1), &[whole]);
        assert_near(&line.utilisation(0), &[whole]);
        let thirds = [(1.25 / 3.0, first + 0.25 * second), (0.5, 0.5 * first + second), (1.0 / 3.0, second)];
        assert_near(&line.utilisation(3), &thirds);
        assert_eq!(line.busy(0..3, 4), [1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn a_window_has_what_is_under_way_and_all_of_one_chunk() {
        let all = long();
        // A window is about 24,000 transfers long; transfer 50,000 is under way at tick 100,001.
        let window = all.window_from(100_001, Some(7));
        let times = window.window.clone().unwrap();
        assert_eq!((times.from, times.to, times.arrived, times.summary), (100_001, 148_001, vec![0, 50_000], None));
        assert_eq!((window.first.as_slice(), window.len()), (&[0, 24_002, 24_002][..], 24_002));
        assert_eq!((window.chunk[0], window.start[0], window.chunk[1], window.start[1]), (7, 14, 50_000, 100_000));
        assert_eq!((window.chunk[24_001], window.start[24_001]), (74_000, 148_000));
        assert_eq!(window.critical, [0, 1, 10_001]);
        assert_eq!([100_000, 100_001, 148_000, 148_001].map(|time| window.covers(time)), [false, true, true, false]);
        assert!(all.covers(0) && all.covers(u64::MAX));
        // A transfer that ends as the window begins has arrived; a chunk may also come later.
        let window = all.window_from(100_000, Some(149_999));
        assert_eq!((window.chunk[0], window.chunk[24_000], window.len()), (50_000, 149_999, 24_001));
        assert_eq!(window.critical, [0, 10_000, 24_000]);
        assert_eq!(all.window_from(100_000, None).len(), 24_000);
        assert_eq!((window.nodes, window.chunks, window.end, window.ticks_per_ns), (2, 150_000, 300_000, 2));
        // What is the same for all windows comes from a timeline that the receiver has.
        assert_eq!((window.links.len(), window.sources.len()), (0, 0));
        let window = all.completed(window);
        assert_eq!((window.links, window.durations), (vec![(0, 1), (1, 0)], vec![2, 10]));
        assert_eq!((window.first_source.len(), window.sources.len()), (150_001, 150_000));
        assert_eq!(there_and_back().window_from(0, None).reduced_by, 5);
        // A window is never shorter than the fastest link's transfer.
        let mut slow = along_a_line();
        slow.durations = vec![90_000, 70_000, 80_000];
        assert_eq!(slow.window_from(3, None).window.unwrap().to, 70_003);
    }

    #[test]
    fn only_a_long_timeline_is_abridged_and_then_has_a_summary() {
        let line = along_a_line();
        assert_eq!((line.abridged(), line.summary(), line.transfer_count()), (line.clone(), None, 4));
        let all = long();
        let short = all.abridged();
        assert_eq!((short.len(), short.transfer_count(), all.transfer_count()), (24_000, 150_000, 150_000));
        assert_eq!([0, 1].map(|link| short.chunks_carried(link)), [150_000, 0]);
        assert_eq!((short.busy_share(0), short.links.len(), short.durations.len()), (1.0, 2, 2));
        assert_eq!((short.origins(149_999), short.window.as_ref().map(|window| window.from)), (&[0][..], Some(0)));
        let summary = short.summary().unwrap();
        assert_eq!((summary.every, summary.links_of_lane), ((1, 750), 1));
        let owned: Vec<u64> = (0..200).map(|cell| 1500 * cell + 2).collect();
        assert_eq!(summary.ownership, [vec![0; 200], owned].concat());
        assert_eq!(summary.lanes, [vec![255; STEPS], vec![0; STEPS]].concat());
        assert_near(&summary.busy, &[(0.5, 5.0 / 6.0); STEPS]);
    }

    #[test]
    fn a_summary_puts_neighbouring_links_together_and_samples_nodes() {
        // 601 links from node 0, of which every third carries a chunk for the whole time.
        let links: Vec<_> = (1..602).map(|to| (0, to, 1)).collect();
        let wants = (1..602).step_by(3).collect();
        let problem =
            Problem::new(Graph::of_durations(602, &links), None, Some(Demand::from_chunks(602, [(vec![0], wants)])));
        let transfers: Vec<_> = (0..601).step_by(3).map(|link| (link, 0, 0)).collect();
        let summary = timeline(&problem, &transfers, 0).summarise();
        assert_eq!((summary.transfers, summary.every, summary.links_of_lane), (201, (4, 1), 3));
        assert_eq!((&summary.carries[..4], summary.carries.len()), (&[1, 0, 0, 1][..], 601));
        // The last row has one link.
        assert_eq!(summary.lanes, [vec![85; 200 * STEPS], vec![255; STEPS]].concat());
        // Nodes 0, 4, 8, 12: of these nodes 4 (the fourth link) and 16 have the chunk.
        assert_eq!((summary.ownership.len(), &summary.ownership[..5]), (151, &[0, 1, u64::MAX, u64::MAX, 1][..]));
    }
}
