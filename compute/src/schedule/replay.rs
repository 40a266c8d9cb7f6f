//! Replays a schedule with other durations: every link keeps its order of chunks, and each transfer begins as soon as
//! its link is free and its chunk is at the sender.

use super::{analysis::by_start, demand::Demand, graph::Graph, plan::Schedule, problem::Problem};

/// A schedule prepared for repeated replays.
pub struct Replay<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    copy: Option<&'a Demand>,
    order: Vec<u32>,
    chunks: usize,
    /// The tick at which each chunk is at each node, at `[node * chunks + chunk]`.
    ready: Vec<u64>,
    free: Vec<u64>,
    busy: Vec<u64>,
}

/// The outcome of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOutcome {
    /// When the last transfer that takes place ends, in ticks.
    pub end: u64,
    /// Number of transfers that never take place.
    pub lost: u64,
    /// Number of pairs of a chunk and a node that wants it and never gets it.
    pub undelivered: u64,
}

const NEVER: u64 = u64::MAX;

impl<'a> Replay<'a> {
    /// Prepares a schedule of a collective.
    pub fn new(problem: &'a Problem, schedule: &'a Schedule) -> Self {
        let (graph, copy, chunks) = (&problem.graph, problem.copy.as_ref(), problem.chunks());
        let order = by_start(schedule);
        let ready = vec![0; graph.nodes() * chunks];
        Self { graph, schedule, copy, order, chunks, ready, free: Vec::new(), busy: Vec::new() }
    }

    /// Replays the schedule. `duration` gives the duration for a link and its usual duration in ticks; `None` for a
    /// link that carries nothing.
    pub fn run(&mut self, duration: &mut dyn FnMut(u32, u64) -> Option<u64>) -> ReplayOutcome {
        let (graph, schedule, chunks) = (self.graph, self.schedule, self.chunks);
        self.free.clear();
        self.free.resize(graph.links().len(), 0);
        self.busy.clear();
        self.busy.resize(graph.links().len(), 0);
        self.ready.fill(0);
        let place = |node: u32, chunk: usize| node as usize * chunks + chunk;
        let mut run = ReplayOutcome { end: 0, lost: 0, undelivered: 0 };
        let order = std::mem::take(&mut self.order);
        for (at, &index) in order.iter().enumerate() {
            if at == schedule.reducing {
                self.start_copying();
            }
            let transfer = schedule.transfers[index as usize];
            let link = graph.links()[transfer.link as usize];
            let from = self.ready[place(link.from, transfer.chunk as usize)];
            let takes = if from == NEVER { None } else { duration(transfer.link, link.duration) };
            let there = &mut self.ready[place(link.to, transfer.chunk as usize)];
            let is_reducing = at < schedule.reducing;
            let Some(takes) = takes else {
                run.lost += 1;
                if is_reducing {
                    *there = NEVER;
                }
                continue;
            };
            let free = &mut self.free[transfer.link as usize];
            *free = from.max(*free).saturating_add(takes);
            self.busy[transfer.link as usize] += takes;
            run.end = run.end.max(*free);
            *there = if is_reducing { (*free).max(*there) } else { (*free).min(*there) };
        }
        if schedule.reducing == order.len() {
            self.start_copying();
        }
        self.order = order;
        run.undelivered = self.undelivered();
        run
    }

    /// After the reduction, only the sources of the copy have the sums.
    fn start_copying(&mut self) {
        let Some(copy) = self.copy else { return };
        for chunk in 0..self.chunks {
            for node in 0..self.graph.nodes() as u32 {
                if !copy.has(chunk, node) {
                    self.ready[node as usize * self.chunks + chunk] = NEVER;
                }
            }
        }
    }

    /// The undelivered pairs of the last replay, without those of the `dead` nodes and without chunks that only dead
    /// nodes had.
    pub fn undelivered_among_others(&self, dead: &[u32]) -> u64 {
        let is_lost =
            |chunk: usize, node: u32| !dead.contains(&node) && self.ready[node as usize * self.chunks + chunk] == NEVER;
        let others = |chunk: usize| match self.copy {
            Some(copy) if copy.sources(chunk).iter().all(|source| dead.contains(source)) => 0,
            Some(copy) => copy.wants(chunk).filter(|node| is_lost(chunk, *node)).count(),
            None => (0..self.graph.nodes() as u32).filter(|node| is_lost(chunk, *node)).count(),
        };
        (0..self.chunks).map(|chunk| others(chunk) as u64).sum()
    }

    fn undelivered(&self) -> u64 {
        let missing = |chunk: usize, node: u32| self.ready[node as usize * self.chunks + chunk] == NEVER;
        match self.copy {
            Some(copy) => (0..self.chunks)
                .map(|chunk| copy.wants(chunk).filter(|node| missing(chunk, *node)).count() as u64)
                .sum(),
            None => self.ready.iter().filter(|ready| **ready == NEVER).count() as u64,
        }
    }
}
