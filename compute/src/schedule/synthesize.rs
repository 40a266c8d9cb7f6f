//! Looks for schedules: one trait for all who do.

use super::{
    bound::Bounds,
    flood::{Manner, Pick, flood},
    plan::Schedule,
    problem::{Phase, Problem, Task},
};
use crate::math::Stream;

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
    /// The same many times with other seeds.
    Restarts,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Tacos, Self::Earliest, Self::Restarts];

    /// Its word in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tacos => "tacos",
            Self::Earliest => "earliest",
            Self::Restarts => "restarts",
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
}

fn keep(best: &mut Option<Found>, schedule: Schedule, task: &Task<'_>, by: Method) {
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
}

impl Synthesizer for Greedy {
    fn work(&mut self, task: &Task<'_>, bounds: &mut Bounds, best: &mut Option<Found>, effort: u64) -> State {
        let cost = task.demand.pairs().max(1) as u64;
        let mut spent = 0;
        while self.runs < self.most && spent < effort {
            let limit = best.as_ref().map_or(u64::MAX, |best| best.time - 1);
            if best.is_some() && limit < bounds.best() {
                return State::Finished;
            }
            let manner = self.manners[(self.runs % self.manners.len() as u64) as usize];
            self.runs += 1;
            spent += cost;
            if let Some(schedule) = flood(task.graph, task.demand, manner, &mut self.stream, limit) {
                keep(best, schedule, task, self.by);
            }
        }
        if self.runs < self.most { State::Working } else { State::Finished }
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
    Greedy { by, manners, stream: Stream::new(seed), runs: 0, most }
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
}

fn synthesizer(method: Method, seed: u64, task: &Task<'_>) -> Box<dyn Synthesizer> {
    let one = |method| -> Box<dyn Synthesizer> { Box::new(greedy(method, seed, task)) };
    match method {
        Method::Auto => Box::new(Stages { stages: vec![one(Method::Earliest), one(Method::Restarts)], at: 0 }),
        method => one(method),
    }
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

    /// When the best so far ends, in ticks.
    #[must_use]
    pub fn time(&self) -> Option<u64> {
        let times = self.parts.iter().map(|part| part.best.as_ref().map(|best| best.time));
        times.sum::<Option<u64>>().map(|time| time * self.problem.times())
    }

    /// The best so far, and who found its parts.
    #[must_use]
    pub fn best(&self) -> Option<(Schedule, Vec<Method>)> {
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
