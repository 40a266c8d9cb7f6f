//! A beam search over earliest-arrival schedules.
//!
//! States are compared at equal simulated time, by a bound of when they could end: per node, what is missing over the links
//! into it from where they are free, and per missing chunk, the shortest way from who has it. States with the same chunks
//! everywhere and the same free links are one. Every child has a stream of its own and may hold slow links back.

use std::collections::HashSet;

use super::{
    bound::Bounds,
    flood::{Manner, Pick, Run},
    plan::Schedule,
    problem::Task,
    synthesize::{Found, Method, State, Synthesizer, keep},
};
use crate::{math::Stream, order::CompactSort};

/// Searches with one width after the other.
pub(super) struct Beam {
    stream: Stream,
    width: usize,
    rounds: u32,
    most: u32,
}

impl Beam {
    pub(super) fn new(seed: u64, most: u32) -> Self {
        Self { stream: Stream::new(seed), width: 8, rounds: 0, most }
    }

    fn search(&mut self, task: &Task<'_>, limit: u64) -> (Option<Schedule>, u64) {
        const CHILDREN: usize = 4;
        let Task { graph, demand } = *task;
        let step = graph.links().iter().map(|link| link.duration).min().unwrap_or(1);
        let picks = [Pick::Rarest, Pick::RarestLive];
        let mut beam: Vec<Run> = (0..self.width)
            .map(|index| {
                let held = if graph.uniform().is_some() { 0.0 } else { [0.0, 1.0, 0.5][index % 3] };
                let manner = Manner { pick: picks[index % 2], held };
                Run::new(graph, demand, manner, &mut self.stream)
            })
            .collect();
        let mut level = 0_u64;
        let mut spent = 0;
        while !beam.is_empty() {
            // At least to when something happens somewhere.
            let next = beam.iter().filter_map(Run::next_event).min().unwrap_or(u64::MAX);
            level = level.saturating_add(step).max(next);
            let mut children: Vec<(u64, u64, Run)> = Vec::new();
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
                        child.event(graph, time);
                    }
                    spent += (child.transfers.len() - before) as u64 + child.transfers.len() as u64 / 16 + 8;
                    let bound = child.bound(graph, level);
                    if bound <= limit && known.insert(child.key()) {
                        children.push((bound, child.missing() as u64, child));
                    }
                }
            }
            // Whoever is done at the first level at which anyone is ends before all others.
            let done = children.iter().filter(|(_, _, child)| child.is_done());
            if let Some((_, _, best)) = done.min_by_key(|(_, _, child)| child.end()) {
                return (Some(Schedule { transfers: best.transfers.clone(), reducing: 0 }), spent);
            }
            children.retain(|(_, _, child)| child.next_event().is_some());
            children.compact_sort_by_key(|(bound, missing, _)| (*bound, *missing));
            children.truncate(self.width);
            beam = children.into_iter().map(|(_, _, child)| child).collect();
        }
        (None, spent)
    }
}

impl Synthesizer for Beam {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        let mut spent = 0;
        while self.rounds < self.most && spent < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return State::Finished;
            }
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            let (found, steps) = self.search(task, limit);
            spent += steps;
            self.rounds += 1;
            self.width = if self.width >= 128 { 8 } else { self.width * 2 };
            match found {
                Some(schedule) => keep(best, schedule, task, Method::Beam),
                // Something has to be relayed, which it does not do.
                None if limit == u64::MAX => return State::Finished,
                None => {}
            }
        }
        if self.rounds < self.most { State::Working } else { State::Finished }
    }
}
