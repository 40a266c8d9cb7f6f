//! The seed variance of greedy schedules.

use super::time::Clock;
use crate::{
    math::Stream,
    schedule::{
        greedy::{GreedyOptions, MatchingRule, greedy_schedule},
        problem::Problem,
    },
};

/// The time of one greedy schedule for each seed, in ns; `None` where a chunk must be relayed, which greedy matching
/// does not do.
pub fn times_ns(problem: &Problem, clock: &Clock, rule: MatchingRule, seeds: std::ops::Range<u64>) -> Option<Vec<f64>> {
    let time = |seed: u64| {
        let mut stream = Stream::new(seed);
        let part = |phase| {
            let task = problem.task(phase)?;
            let options = GreedyOptions { rule, hold_back: 0.0 };
            Some(greedy_schedule(task.graph, task.demand, options, &mut stream, u64::MAX)?.end(task.graph))
        };
        let ticks: Option<u64> = problem.phases().into_iter().map(part).sum();
        Some(clock.ns(ticks? * problem.repetitions()))
    };
    seeds.map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{
        conditions::CollectiveRequest,
        generate::{Kind, Recipe},
    };

    #[test]
    fn on_a_mesh_rarest_first_does_not_depend_on_the_seed_and_tacos_does() {
        let mesh = Recipe::new(Kind::Mesh(vec![3, 3])).make().unwrap();
        let (problem, clock) = CollectiveRequest::default().problem(&mesh).unwrap();
        let ours = times_ns(&problem, &clock, MatchingRule::Rarest, 1..21).unwrap();
        assert!(ours.iter().all(|ns| *ns == 80_125.0), "{ours:?}");
        let theirs = times_ns(&problem, &clock, MatchingRule::Tacos, 1..21).unwrap();
        assert!(theirs.iter().any(|ns| *ns > 80_125.0) && theirs.iter().all(|ns| *ns >= 80_125.0), "{theirs:?}");
    }
}
