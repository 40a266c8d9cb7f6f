//! Searches for schedules of whole collectives, by the algorithms of the files beside this one.

pub use super::synthesizer::{Method, PartSchedule, SearchState, Synthesizer};
use super::{
    beam::Beam,
    bound::Bounds,
    exact::{self, Exact},
    greedy::{GreedyOptions, GreedyRun, MatchingRule, RunState},
    plan::Schedule,
    problem::{Phase, Problem, Task},
    route::RoutedSearch,
    symmetric::Symmetric,
    synthesizer::keep_shorter,
};
use crate::math::Stream;
use std::borrow::Cow;

/// Greedy schedules, one after the other, with the `options` in turn.
struct GreedySearch {
    by: Method,
    options: Vec<GreedyOptions>,
    stream: Stream,
    runs: u64,
    /// The most runs.
    most: u64,
    /// The run under construction.
    run: Option<GreedyRun>,
}

impl Synthesizer for GreedySearch {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        let mut effort_used = 0;
        while effort_used < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return SearchState::Finished;
            }
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            let mut run = match self.run.take() {
                Some(run) => run,
                None if self.runs >= self.most => return SearchState::Finished,
                None => {
                    let options = self.options[(self.runs % self.options.len() as u64) as usize];
                    self.runs += 1;
                    effort_used += task.graph.links().len() as u64;
                    GreedyRun::new(task.graph, task.demand, options, &mut self.stream)
                }
            };
            let missing = run.missing();
            let state = run.advance(task.graph, limit, effort.saturating_sub(effort_used).max(1) as usize);
            effort_used += (missing - run.missing()) as u64;
            match state {
                RunState::Complete => keep_shorter(best, run.schedule(), task, self.by),
                RunState::Unfinished => {
                    self.run = Some(run);
                    return SearchState::Working;
                }
                // A chunk has to be relayed, which no seed does.
                RunState::Failed if limit == u64::MAX => return SearchState::Finished,
                RunState::Failed => {}
            }
        }
        if self.run.is_some() || self.runs < self.most { SearchState::Working } else { SearchState::Finished }
    }

    fn progress(&self, task: &Task<'_>) -> Option<(u64, u64)> {
        let total = task.demand.pairs();
        self.run.as_ref().map(|run| ((total - run.missing()) as u64, total as u64))
    }
}

fn greedy_search(by: Method, seed: u64, task: &Task<'_>) -> GreedySearch {
    const EAGER: f64 = 0.0;
    let options = |rule, hold_back| GreedyOptions { rule, hold_back };
    let (options, most) = match by {
        Method::Tacos => (vec![options(MatchingRule::Tacos, EAGER)], 1),
        Method::Earliest => (vec![options(MatchingRule::Rarest, EAGER)], 1),
        _ if task.graph.uniform().is_some() => (
            vec![
                options(MatchingRule::RarestLive, EAGER),
                options(MatchingRule::Rarest, EAGER),
                options(MatchingRule::Random, EAGER),
            ],
            u64::MAX,
        ),
        _ => {
            let hold_back = [
                (MatchingRule::RarestLive, EAGER),
                (MatchingRule::Rarest, 1.0),
                (MatchingRule::Rarest, EAGER),
                (MatchingRule::RarestLive, 0.8),
                (MatchingRule::Random, 1.0),
                (MatchingRule::Random, EAGER),
            ];
            (hold_back.map(|(rule, hold_back)| options(rule, hold_back)).to_vec(), u64::MAX)
        }
    };
    GreedySearch { by, options, stream: Stream::new(seed), runs: 0, most, run: None }
}

/// Several searches, one after the other: the next begins when one has nothing left to try and the bound is not met.
struct Sequence {
    stages: Vec<Box<dyn Synthesizer>>,
    at: usize,
}

impl Synthesizer for Sequence {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        while let Some(stage) = self.stages.get_mut(self.at) {
            if stage.work(task, bounds, best, effort) == SearchState::Working {
                return SearchState::Working;
            }
            self.at += 1;
            if self.at < self.stages.len() && best.as_ref().is_none_or(|best| best.time > bounds.best()) {
                return SearchState::Working;
            }
        }
        SearchState::Finished
    }

    fn progress(&self, task: &Task<'_>) -> Option<(u64, u64)> {
        self.stages.get(self.at)?.progress(task)
    }
}

/// Two searches in alternation; finished when the first is.
struct Alternating {
    first: Box<dyn Synthesizer>,
    second: Box<dyn Synthesizer>,
}

impl Synthesizer for Alternating {
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState {
        if self.first.work(task, bounds, best, effort / 2) == SearchState::Finished {
            return SearchState::Finished;
        }
        self.second.work(task, bounds, best, effort / 2);
        SearchState::Working
    }
}

/// The number of greedy runs before the exact search of a small graph begins.
const RUNS_BEFORE_EXACT: u64 = 3000;

/// The most pairs of a chunk and a node, and the most links, for the beam search. It builds a whole schedule in one
/// slice; beyond this size restarts take its place.
const MAX_BEAM_PAIRS: usize = 20_000;

fn synthesizer(method: Method, seed: u64, task: &Task<'_>) -> Box<dyn Synthesizer> {
    let method = match method {
        Method::Beam if task.demand.pairs().max(task.graph.links().len()) > MAX_BEAM_PAIRS => Method::Restarts,
        method => method,
    };
    let is_for_everyone = task.demand.is_for_everyone();
    let one = |method| -> Box<dyn Synthesizer> {
        match method {
            Method::Symmetric => Box::new(Symmetric::new(seed)),
            Method::Beam => Box::new(Beam::new(seed, u32::MAX)),
            Method::Routed => Box::new(RoutedSearch::new(seed, u32::MAX)),
            Method::Exact => Box::new(Exact::new()),
            method => Box::new(greedy_search(method, seed, task)),
        }
    };
    let some_restarts = || -> Box<dyn Synthesizer> {
        Box::new(GreedySearch { most: RUNS_BEFORE_EXACT, ..greedy_search(Method::Restarts, seed, task) })
    };
    let stages = match method {
        Method::Auto => {
            // Chunks that not all nodes want may have to be relayed, which greedy matching does not do.
            let searching = if is_for_everyone { Method::Restarts } else { Method::Routed };
            let mut stages: Vec<Box<dyn Synthesizer>> = Vec::new();
            if is_for_everyone {
                stages.extend([one(Method::Earliest), one(Method::Symmetric)]);
            } else {
                stages.extend([one(Method::Earliest), Box::new(RoutedSearch::new(seed, 8))]);
            }
            if exact::is_small(task) {
                if is_for_everyone {
                    stages.push(some_restarts());
                }
                stages.push(Box::new(Alternating { first: one(Method::Exact), second: one(searching) }));
            }
            stages.push(one(searching));
            stages
        }
        Method::Tacos | Method::Earliest if !is_for_everyone => vec![one(method), Box::new(RoutedSearch::new(seed, 1))],
        Method::Symmetric => vec![one(method)],
        // A first schedule is the upper bound of the search.
        Method::Exact if is_for_everyone => vec![one(Method::Earliest), some_restarts(), one(method)],
        Method::Exact => vec![Box::new(RoutedSearch::new(seed, 8)), one(method)],
        Method::Restarts | Method::Beam if !is_for_everyone => vec![one(method), one(Method::Routed)],
        method => vec![one(method)],
    };
    Box::new(Sequence { stages, at: 0 })
}

/// A search for a schedule of a whole collective.
pub struct Search {
    /// The problem that is solved.
    pub problem: Problem,
    parts: Vec<Part>,
}

struct Part {
    phase: Phase,
    bounds: Bounds,
    best: Option<PartSchedule>,
    state: SearchState,
    by: Box<dyn Synthesizer>,
}

impl Search {
    /// Starts a search.
    pub fn new(problem: Problem, method: Method, seed: u64) -> Self {
        let bounds = problem.bounds();
        let phases = problem.phases().into_iter().zip(bounds);
        let parts = phases.filter_map(|(phase, bounds)| {
            let by = synthesizer(method, seed, &problem.task(phase)?);
            Some(Part { phase, bounds, best: None, state: SearchState::Working, by })
        });
        let parts = parts.collect();
        Self { problem, parts }
    }

    /// Continues for about `effort` decisions on a transfer.
    pub fn work(&mut self, effort: u64) -> SearchState {
        let mut state = SearchState::Finished;
        for part in &mut self.parts {
            let Some(task) = self.problem.task(part.phase) else { continue };
            let is_best = part.best.as_ref().is_some_and(|best| best.time <= part.bounds.best());
            if part.state == SearchState::Working && !is_best {
                part.state = part.by.work(&task, &mut part.bounds, &mut part.best, effort);
                if part.state == SearchState::Working
                    && part.best.as_ref().is_none_or(|best| best.time > part.bounds.best())
                {
                    state = SearchState::Working;
                }
            }
        }
        state
    }

    /// Progress of the first schedule, as (delivered, total) pairs of a chunk and a node; `None` once each part has a
    /// schedule.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let part = self.parts.iter().find(|part| part.best.is_none())?;
        part.by.progress(&self.problem.task(part.phase)?)
    }

    /// The end of the best schedule so far, in ticks; `None` before the first.
    pub fn time(&self) -> Option<u64> {
        let times = self.parts.iter().map(|part| part.best.as_ref().map(|best| best.time));
        times.sum::<Option<u64>>().map(|time| time * self.problem.repetitions())
    }

    /// The best schedule so far, and the algorithms that found its parts.
    pub fn best(&self) -> Option<(Cow<'_, Schedule>, Vec<Method>)> {
        let parts: Vec<&PartSchedule> = self.parts.iter().map(|part| part.best.as_ref()).collect::<Option<_>>()?;
        let schedules: Vec<&Schedule> = parts.iter().map(|part| &part.schedule).collect();
        Some((self.problem.combined(&schedules), parts.iter().map(|part| part.by).collect()))
    }

    /// The bounds of each part.
    pub fn bounds(&self) -> Vec<&Bounds> {
        self.parts.iter().map(|part| &part.bounds).collect()
    }

    /// The bound that is shown, in ticks: the sum over the parts of the largest of L2, L3 and L4.
    pub fn bound(&self) -> u64 {
        self.parts.iter().map(|part| part.bounds.time()).sum::<u64>() * self.problem.repetitions()
    }

    /// The proven lower bound, in ticks, of schedules that complete the reduction before they copy.
    pub fn proven(&self) -> u64 {
        self.parts.iter().map(|part| part.bounds.best()).sum::<u64>() * self.problem.repetitions()
    }

    /// Whether the best schedule so far is proven to be the shortest.
    pub fn is_optimal(&self) -> bool {
        let bounds: Vec<Bounds> = self.parts.iter().map(|part| part.bounds.clone()).collect();
        self.time().is_some_and(|time| time <= self.problem.lower_bound(&bounds))
    }

    /// Whether it is proven to be the shortest of those that complete the reduction before they copy.
    pub fn is_optimal_in_parts(&self) -> bool {
        self.time().is_some_and(|time| time <= self.proven())
    }
}
