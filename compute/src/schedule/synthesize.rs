//! Looks for schedules: one trait for all who do.

use super::{
    beam::Beam,
    bound::Bounds,
    exact::{self, Exact},
    flood::{Manner, Pick, Run, Way},
    plan::Schedule,
    problem::{Phase, Problem, Task},
    route::Routed,
    symmetric::Symmetric,
};
use crate::math::Stream;
use std::borrow::Cow;

/// Who looks for a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whoever fits, one after the other, until one meets the bound.
    #[default]
    Auto,
    /// TACOS's random matching, with its causal test.
    Tacos,
    /// Earliest arrival first, the rarest chunk first.
    Earliest,
    /// The same many times with other seeds, and with links that are held back.
    Restarts,
    /// A beam search over the same.
    Beam,
    /// The closed construction where a graph looks the same from every node.
    Symmetric,
    /// Ways through nodes that do not want a chunk.
    Routed,
    /// The shortest of all, with proof, for small graphs.
    Exact,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::Tacos,
        Self::Earliest,
        Self::Restarts,
        Self::Beam,
        Self::Symmetric,
        Self::Routed,
        Self::Exact,
    ];

    /// Those that are worth choosing on the page: the beam search does not beat as many restarts (docs/topology.md).
    pub const OFFERED: [Self; 7] =
        [Self::Auto, Self::Tacos, Self::Earliest, Self::Restarts, Self::Symmetric, Self::Routed, Self::Exact];

    /// For what it is made, where that is not everything.
    #[must_use]
    pub const fn made_for(self) -> Option<&'static str> {
        match self {
            Self::Symmetric => Some(
                "it is for all_gather, reduce_scatter and all_reduce on graphs that look the same from every node, such as rings \
                 and tori",
            ),
            Self::Exact => Some("it is for up to 16 nodes and 128 chunks"),
            Self::Beam => Some("beyond 20,000 pairs of a chunk and a node restarts take its place"),
            _ => None,
        }
    }

    /// Its word in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tacos => "tacos",
            Self::Earliest => "earliest",
            Self::Restarts => "restarts",
            Self::Beam => "beam",
            Self::Symmetric => "symmetric",
            Self::Routed => "routed",
            Self::Exact => "exact",
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// More work may find something better.
    Working,
    /// It has nothing more to try.
    Finished,
}

/// A schedule of one part of a collective.
#[derive(Clone, Debug)]
pub struct Found {
    /// The schedule.
    pub schedule: Schedule,
    /// When it ends, in ticks.
    pub time: u64,
    /// Who found it.
    pub by: Method,
}

/// Looks for a schedule of one part of a collective, piece by piece: after each piece it can be left, with its best so far.
pub trait Synthesizer {
    /// Works on, for about `effort` decisions on a transfer; keeps in `best` what is better than what is there.
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State;

    /// How far it is with the schedule that it makes, in pairs of a chunk and a node: done, and in all.
    fn done(&self, _task: &Task<'_>) -> Option<(u64, u64)> {
        None
    }
}

pub(super) fn keep(best: &mut Option<Found>, schedule: Schedule, task: &Task<'_>, by: Method) {
    let time = schedule.end(task.graph);
    if best.as_ref().is_none_or(|best| time < best.time) {
        *best = Some(Found { schedule, time, by });
    }
}

/// One greedy schedule after the other.
struct Greedy {
    by: Method,
    manners: Vec<Manner>,
    stream: Stream,
    runs: u64,
    /// The most runs.
    most: u64,
    /// The one that is under way.
    run: Option<Run>,
}

impl Synthesizer for Greedy {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        let mut spent = 0;
        while spent < effort {
            if best.as_ref().is_some_and(|best| best.time <= bounds.best()) {
                return State::Finished;
            }
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            let mut run = match self.run.take() {
                Some(run) => run,
                None if self.runs >= self.most => return State::Finished,
                None => {
                    let manner = self.manners[(self.runs % self.manners.len() as u64) as usize];
                    self.runs += 1;
                    spent += task.graph.links().len() as u64;
                    Run::new(task.graph, task.demand, manner, &mut self.stream)
                }
            };
            let missing = run.missing();
            let way = run.go_on(task.graph, limit, effort.saturating_sub(spent).max(1) as usize);
            spent += (missing - run.missing()) as u64;
            match way {
                Way::Done => keep(best, run.schedule(), task, self.by),
                Way::Open => {
                    self.run = Some(run);
                    return State::Working;
                }
                // Something has to be relayed, which no seed does.
                Way::Closed if limit == u64::MAX => return State::Finished,
                Way::Closed => {}
            }
        }
        if self.run.is_some() || self.runs < self.most { State::Working } else { State::Finished }
    }

    fn done(&self, task: &Task<'_>) -> Option<(u64, u64)> {
        let total = task.demand.pairs();
        self.run.as_ref().map(|run| ((total - run.missing()) as u64, total as u64))
    }
}

fn greedy(by: Method, seed: u64, task: &Task<'_>) -> Greedy {
    const EAGER: f64 = 0.0;
    let manner = |pick, held| Manner { pick, held };
    let (manners, most) = match by {
        Method::Tacos => (vec![manner(Pick::Tacos, EAGER)], 1),
        Method::Earliest => (vec![manner(Pick::Rarest, EAGER)], 1),
        _ if task.graph.uniform().is_some() => {
            (vec![manner(Pick::RarestLive, EAGER), manner(Pick::Rarest, EAGER), manner(Pick::Random, EAGER)], u64::MAX)
        }
        _ => {
            let held = [
                (Pick::RarestLive, EAGER),
                (Pick::Rarest, 1.0),
                (Pick::Rarest, EAGER),
                (Pick::RarestLive, 0.8),
                (Pick::Random, 1.0),
                (Pick::Random, EAGER),
            ];
            (held.map(|(pick, held)| manner(pick, held)).to_vec(), u64::MAX)
        }
    };
    Greedy { by, manners, stream: Stream::new(seed), runs: 0, most, run: None }
}

/// Several synthesizers, one after the other.
struct Stages {
    stages: Vec<Box<dyn Synthesizer>>,
    at: usize,
}

impl Synthesizer for Stages {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        while let Some(stage) = self.stages.get_mut(self.at) {
            if stage.work(task, bounds, best, effort) == State::Working {
                return State::Working;
            }
            self.at += 1;
            if self.at < self.stages.len() && best.as_ref().is_none_or(|best| best.time > bounds.best()) {
                return State::Working;
            }
        }
        State::Finished
    }

    fn done(&self, task: &Task<'_>) -> Option<(u64, u64)> {
        self.stages.get(self.at)?.done(task)
    }
}

/// Two synthesizers by turns; it ends when the first ends.
struct Turns {
    first: Box<dyn Synthesizer>,
    second: Box<dyn Synthesizer>,
}

impl Synthesizer for Turns {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        if self.first.work(task, bounds, best, effort / 2) == State::Finished {
            return State::Finished;
        }
        self.second.work(task, bounds, best, effort / 2);
        State::Working
    }
}

/// Greedy runs before the exact search of a small graph begins.
const BEFORE_EXACT: u64 = 3000;

/// The most pairs of a chunk and a node for which a beam search keeps its many schedules in the making. It makes each whole
/// before it can be left; larger ones are searched for by restarts.
const BEAM: usize = 20_000;

fn synthesizer(method: Method, seed: u64, task: &Task<'_>) -> Box<dyn Synthesizer> {
    let method = match method {
        Method::Beam if task.demand.pairs().max(task.graph.links().len()) > BEAM => Method::Restarts,
        method => method,
    };
    let is_for_everyone = task.demand.is_for_everyone();
    let one = |method| -> Box<dyn Synthesizer> {
        match method {
            Method::Symmetric => Box::new(Symmetric::new(seed)),
            Method::Beam => Box::new(Beam::new(seed, u32::MAX)),
            Method::Routed => Box::new(Routed::new(seed, u32::MAX)),
            Method::Exact => Box::new(Exact::new()),
            method => Box::new(greedy(method, seed, task)),
        }
    };
    let some_restarts =
        || -> Box<dyn Synthesizer> { Box::new(Greedy { most: BEFORE_EXACT, ..greedy(Method::Restarts, seed, task) }) };
    let stages = match method {
        Method::Auto => {
            // What is not for everyone may have to be relayed, which the greedy ones do not do.
            let searching = if is_for_everyone { Method::Restarts } else { Method::Routed };
            let mut stages: Vec<Box<dyn Synthesizer>> = Vec::new();
            if is_for_everyone {
                stages.extend([one(Method::Earliest), one(Method::Symmetric)]);
            } else {
                stages.extend([one(Method::Earliest), Box::new(Routed::new(seed, 8))]);
            }
            if exact::is_small(task) {
                if is_for_everyone {
                    stages.push(some_restarts());
                }
                stages.push(Box::new(Turns { first: one(Method::Exact), second: one(searching) }));
            }
            stages.push(one(searching));
            stages
        }
        Method::Tacos | Method::Earliest if !is_for_everyone => vec![one(method), Box::new(Routed::new(seed, 1))],
        Method::Symmetric => vec![one(method)],
        // It begins with something to be better than.
        Method::Exact if is_for_everyone => vec![one(Method::Earliest), some_restarts(), one(method)],
        Method::Exact => vec![Box::new(Routed::new(seed, 8)), one(method)],
        Method::Restarts | Method::Beam if !is_for_everyone => vec![one(method), one(Method::Routed)],
        method => vec![one(method)],
    };
    Box::new(Stages { stages, at: 0 })
}

/// A search for a schedule of a whole collective.
pub struct Search {
    /// What is searched for.
    pub problem: Problem,
    parts: Vec<Part>,
}

struct Part {
    phase: Phase,
    bounds: Bounds,
    best: Option<Found>,
    state: State,
    by: Box<dyn Synthesizer>,
}

impl Search {
    /// Begins one.
    #[must_use]
    pub fn new(problem: Problem, method: Method, seed: u64) -> Self {
        let bounds = problem.bounds();
        let phases = problem.phases().into_iter().zip(bounds);
        let parts = phases.filter_map(|(phase, bounds)| {
            let by = synthesizer(method, seed, &problem.task(phase)?);
            Some(Part { phase, bounds, best: None, state: State::Working, by })
        });
        let parts = parts.collect();
        Self { problem, parts }
    }

    /// Works on for about `effort` decisions on a transfer.
    pub fn work(&mut self, effort: u64) -> State {
        let mut state = State::Finished;
        for part in &mut self.parts {
            let Some(task) = self.problem.task(part.phase) else { continue };
            let is_best = part.best.as_ref().is_some_and(|best| best.time <= part.bounds.best());
            if part.state == State::Working && !is_best {
                part.state = part.by.work(&task, &mut part.bounds, &mut part.best, effort);
                if part.state == State::Working && part.best.as_ref().is_none_or(|best| best.time > part.bounds.best())
                {
                    state = State::Working;
                }
            }
        }
        state
    }

    /// How far the first schedule is that is made, in pairs of a chunk and a node: done, and in all.
    #[must_use]
    pub fn done(&self) -> Option<(u64, u64)> {
        let part = self.parts.iter().find(|part| part.best.is_none())?;
        part.by.done(&self.problem.task(part.phase)?)
    }

    /// When the best so far ends, in ticks.
    #[must_use]
    pub fn time(&self) -> Option<u64> {
        let times = self.parts.iter().map(|part| part.best.as_ref().map(|best| best.time));
        times.sum::<Option<u64>>().map(|time| time * self.problem.times())
    }

    /// The best so far, and who found its parts.
    #[must_use]
    pub fn best(&self) -> Option<(Cow<'_, Schedule>, Vec<Method>)> {
        let parts: Vec<&Found> = self.parts.iter().map(|part| part.best.as_ref()).collect::<Option<_>>()?;
        let schedules: Vec<&Schedule> = parts.iter().map(|part| &part.schedule).collect();
        Some((self.problem.whole(&schedules), parts.iter().map(|part| part.by).collect()))
    }

    /// Bounds of the parts.
    #[must_use]
    pub fn bounds(&self) -> Vec<&Bounds> {
        self.parts.iter().map(|part| &part.bounds).collect()
    }

    /// The bound that is shown, L2 or L3 of each part, in ticks.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.parts.iter().map(|part| part.bounds.time()).sum::<u64>() * self.problem.times()
    }

    /// What is proven, in ticks, for schedules that add all up before they copy.
    #[must_use]
    pub fn proven(&self) -> u64 {
        self.parts.iter().map(|part| part.bounds.best()).sum::<u64>() * self.problem.times()
    }

    /// No schedule at all is shorter than the best so far.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        let bounds: Vec<Bounds> = self.parts.iter().map(|part| part.bounds.clone()).collect();
        self.time().is_some_and(|time| time <= self.problem.least(&bounds))
    }

    /// No schedule that adds all up before it copies is shorter.
    #[must_use]
    pub fn is_optimal_in_parts(&self) -> bool {
        self.time().is_some_and(|time| time <= self.proven())
    }
}
