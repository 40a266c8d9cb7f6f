//! A beam search over earliest-arrival schedules.
//!
//! States are compared at equal simulated time, by a lower bound of their end: for each node, the time in which the
//! links into it could deliver what is missing. States with the same chunks at every node and the same free links are
//! kept once. Every child has a random stream of its own and may hold slow links back.

use std::collections::HashSet;

use super::{
    bound::Bounds,
    greedy::{GreedyOptions, GreedyRun, MatchingRule},
    plan::Schedule,
    problem::Task,
    synthesizer::{Method, PartSchedule, SearchState, Synthesizer, keep_shorter},
};
use crate::{math::Stream, order::CompactSort};

/// The search, with a wider beam in each round.
pub(super) struct Beam {
    stream: Stream,
    width: usize,
    rounds: u32,
    max_rounds: u32,
}

impl Beam {
    pub(super) fn new(seed: u64, max_rounds: u32) -> Self {
        Self { stream: Stream::new(seed), width: 8, rounds: 0, max_rounds }
    }

    fn search(&mut self, task: &Task<'_>, limit: u64) -> (Option<Schedule>, u64) {
        const CHILDREN: usize = 4;
        let Task { graph, demand } = *task;
        let step = graph.links().iter().map(|link| link.duration).min().unwrap_or(1);
        let rules = [MatchingRule::Rarest, MatchingRule::RarestLive];
        let mut beam: Vec<GreedyRun> = (0..self.width)
            .map(|index| {
                let hold_back = if graph.uniform().is_some() { 0.0 } else { [0.0, 1.0, 0.5][index % 3] };
                let options = GreedyOptions { rule: rules[index % 2], hold_back };
                GreedyRun::new(graph, demand, options, &mut self.stream)
            })
            .collect();
        let mut level = 0_u64;
        let mut effort_used = 0;
        while !beam.is_empty() {
            // Advance at least to the next event of any state.
            let next = beam.iter().filter_map(GreedyRun::next_event).min().unwrap_or(u64::MAX);
            level = level.saturating_add(step).max(next);
            let mut children: Vec<(u64, u64, GreedyRun)> = Vec::new();
            let mut known = HashSet::new();
            for parent in beam {
                for _ in 0..CHILDREN {
                    let mut child = parent.clone();
                    child.stream = Stream::new(self.stream.next_u64());
                    let before = child.transfers.len();
                    while !child.is_done()
                        && let Some(time) = child.next_event()
                        && time <= level
                    {
                        child.process_event(graph, time);
                    }
                    effort_used += (child.transfers.len() - before) as u64 + child.transfers.len() as u64 / 16 + 8;
                    let bound = child.bound(graph, level);
                    if bound <= limit && known.insert(child.key()) {
                        children.push((bound, child.missing() as u64, child));
                    }
                }
            }
            // A state that is complete at the first level at which any is ends before all that are not.
            let done = children.iter().filter(|(_, _, child)| child.is_done());
            if let Some((_, _, best)) = done.min_by_key(|(_, _, child)| child.end()) {
                return (Some(Schedule { transfers: best.transfers.clone(), reducing: 0 }), effort_used);
            }
            children.retain(|(_, _, child)| child.next_event().is_some());
            children.compact_sort_by_key(|(bound, missing, _)| (*bound, *missing));
            children.truncate(self.width);
            beam = children.into_iter().map(|(_, _, child)| child).collect();
        }
        (None, effort_used)
    }
}

impl Synthesizer for Beam {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        let mut effort_used = 0;
        while self.rounds < self.max_rounds && effort_used < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return SearchState::Finished;
            }
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            let (found, steps) = self.search(task, limit);
            effort_used += steps;
            self.rounds += 1;
            self.width = if self.width >= 128 { 8 } else { self.width * 2 };
            match found {
                Some(schedule) => keep_shorter(best, schedule, task, Method::Beam),
                // A chunk has to be relayed, which this search does not do.
                None if limit == u64::MAX => return SearchState::Finished,
                None => {}
            }
        }
        if self.rounds < self.max_rounds { SearchState::Working } else { SearchState::Finished }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{bound::bounds, demand::Demand, graph::Graph, verify::faults};

    /// What some rounds find of a demand, with whether they could go on.
    fn searched(graph: &Graph, demand: &Demand, rounds: u32) -> (Option<PartSchedule>, SearchState) {
        let (mut bounds, mut best) = (bounds(graph, demand), None);
        let state = Beam::new(1, rounds).work(&Task { graph, demand }, &mut bounds, &mut best, u64::MAX);
        (best, state)
    }

    /// A mesh of three by three nodes, whose links take these times by turns.
    fn mesh(durations: &[u64]) -> Graph {
        let right = (0..9).filter(|node| node % 3 < 2).map(|node| (node, node + 1));
        let ends: Vec<(u32, u32)> = right.chain((0..6).map(|node| (node, node + 3))).collect();
        let both = ends.iter().flat_map(|&(from, to)| [(from, to), (to, from)]);
        let links: Vec<_> = both.zip(durations.iter().cycle()).map(|((from, to), time)| (from, to, *time)).collect();
        Graph::of_durations(9, &links)
    }

    #[test]
    fn a_mesh_takes_as_long_as_what_must_leave_its_corners() {
        // Eight chunks come to a corner over two links.
        let demand = Demand::all_gather(9, 1);
        let (found, state) = searched(&mesh(&[2]), &demand, 20);
        let found = found.unwrap();
        assert_eq!((found.time, found.by, state), (8, Method::Beam, SearchState::Finished));
        assert_eq!(faults(&mesh(&[2]), &found.schedule, None, Some(&demand)), []);
    }

    #[test]
    fn links_of_several_speeds_give_a_right_schedule_and_more_rounds_no_longer_one() {
        let graph = mesh(&[2, 3, 7, 2, 5]);
        let demand = Demand::all_gather(9, 2);
        let mut last = u64::MAX;
        for rounds in [1, 2, 4, 8] {
            let (found, state) = searched(&graph, &demand, rounds);
            let found = found.unwrap();
            assert_eq!(faults(&graph, &found.schedule, None, Some(&demand)), []);
            assert!(found.time <= last && found.time >= bounds(&graph, &demand).best(), "{rounds}: {}", found.time);
            assert_eq!(state, SearchState::Finished, "so many rounds were asked for");
            last = found.time;
        }
    }

    #[test]
    fn what_has_to_be_relayed_is_not_found() {
        let line = Graph::of_durations(3, &[(0, 1, 2), (1, 2, 2)]);
        let (found, state) = searched(&line, &Demand::from_chunks(3, [(vec![0], vec![2])]), 4);
        assert!(found.is_none() && state == SearchState::Finished);
    }
}
