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
        Self { graph, schedule, copy, order, chunks, ready, free: Vec::new() }
    }

    /// Replays the schedule. `duration` gives the duration for a link and its usual duration in ticks; `None` for a
    /// link that carries nothing.
    pub fn run(&mut self, duration: &mut dyn FnMut(u32, u64) -> Option<u64>) -> ReplayOutcome {
        let (graph, schedule, chunks) = (self.graph, self.schedule, self.chunks);
        self.free.clear();
        self.free.resize(graph.links().len(), 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(end: u64, lost: u64, undelivered: u64) -> ReplayOutcome {
        ReplayOutcome { end, lost, undelivered }
    }

    /// Durations that leave out one link.
    fn without(dead: u32) -> impl FnMut(u32, u64) -> Option<u64> {
        move |link, duration| (link != dead).then_some(duration)
    }

    #[test]
    fn transfers_begin_as_soon_as_the_link_is_free_and_the_chunk_is_there() {
        // Two chunks of node 0 along a line of a link of two ticks and one of three.
        let problem =
            Problem::new(Graph::of_durations(3, &[(0, 1, 2), (1, 2, 3)]), None, Some(Demand::broadcast(3, 0, 2)));
        let with_gaps = Schedule::of(&[(0, 0, 1), (0, 1, 4), (1, 0, 4), (1, 1, 9)], 0);
        let mut replay = Replay::new(&problem, &with_gaps);
        assert_eq!(replay.run(&mut |_, usual| Some(usual)), outcome(8, 0, 0));
        // With a first link that takes six ticks the second one waits for each chunk.
        assert_eq!(replay.run(&mut |link, usual| Some(if link == 0 { 6 } else { usual })), outcome(15, 0, 0));
        assert_eq!(replay.undelivered_among_others(&[]), 0);
        // Without the second link both chunks don't come to node 2; without the first one they go nowhere.
        assert_eq!(replay.run(&mut without(1)), outcome(4, 2, 2));
        assert_eq!([&[][..], &[1], &[2], &[0]].map(|dead| replay.undelivered_among_others(dead)), [2, 2, 0, 0]);
        assert_eq!(replay.run(&mut without(0)), outcome(0, 4, 4));
        assert_eq!([&[][..], &[1], &[2], &[0]].map(|dead| replay.undelivered_among_others(dead)), [4, 2, 2, 0]);
        assert_eq!(replay.run(&mut |_, usual| Some(usual)), outcome(8, 0, 0), "nothing is left of the runs before");
    }

    #[test]
    fn a_chunk_that_comes_twice_is_there_from_the_first_time_on() {
        let problem = Problem::new(
            Graph::of_durations(3, &[(0, 1, 2), (0, 1, 9), (1, 2, 1)]),
            None,
            Some(Demand::broadcast(3, 0, 1)),
        );
        let twice = Schedule::of(&[(1, 0, 0), (0, 0, 0), (2, 0, 2)], 0);
        let mut replay = Replay::new(&problem, &twice);
        assert_eq!(replay.run(&mut |link, usual| Some(if link == 2 { 10 } else { usual })), outcome(12, 0, 0));
        // Where the quicker link is dead the chunk still comes over the slower one.
        assert_eq!(replay.run(&mut without(0)), outcome(10, 1, 0));
    }

    #[test]
    fn a_sum_lacks_all_that_a_lost_part_would_have_brought() {
        // Node 2 adds to node 1, and this to node 0.
        let problem =
            Problem::new(Graph::of_durations(3, &[(1, 0, 2), (2, 1, 3)]), Some(Demand::broadcast(3, 0, 1)), None);
        let sum = Schedule::of(&[(1, 0, 0), (0, 0, 3)], 2);
        let mut replay = Replay::new(&problem, &sum);
        assert_eq!(replay.run(&mut |_, usual| Some(usual)), outcome(5, 0, 0));
        assert_eq!(replay.run(&mut without(0)), outcome(3, 1, 1), "node 0 has no sum");
        assert_eq!(replay.run(&mut without(1)), outcome(0, 2, 2), "nor has node 1");
        assert_eq!([&[][..], &[0], &[0, 1]].map(|dead| replay.undelivered_among_others(dead)), [2, 1, 0]);
    }

    #[test]
    fn a_sum_is_copied_from_where_it_is_complete_once_its_last_part_is_there() {
        let star = Graph::of_durations(3, &[(1, 0, 2), (2, 0, 5), (0, 1, 2), (0, 2, 2)]);
        let all = Demand::broadcast(3, 0, 1);
        let problem = Problem::new(star, Some(all.clone()), Some(all));
        let whole = Schedule::of(&[(0, 0, 0), (1, 0, 0), (2, 0, 5), (3, 0, 5)], 2);
        let mut replay = Replay::new(&problem, &whole);
        assert_eq!(replay.run(&mut |_, usual| Some(usual)), outcome(7, 0, 0));
        assert_eq!(replay.run(&mut |link, usual| Some(if link == 0 { 9 } else { usual })), outcome(11, 0, 0));
        // What node 1 had before the reduction is not the sum.
        assert_eq!(replay.run(&mut without(2)), outcome(7, 1, 1));
        assert_eq!(replay.run(&mut without(1)), outcome(2, 3, 2), "no sum, no copies");
        // Only the reduction: nobody but node 0 has the sum.
        let half = Schedule::of(&[(0, 0, 0), (1, 0, 0)], 2);
        assert_eq!(Replay::new(&problem, &half).run(&mut |_, usual| Some(usual)), outcome(5, 0, 2));
    }
}
