//! Runs strategies in an environment and records their cost.

use serde::{Deserialize, Serialize};

use super::{
    environment::{Environment, LatencyTable},
    statistics::Statistics,
    strategies::StrategyKind,
};
use crate::{
    math::{Stream, mix},
    progress::Progress,
};

/// The number of steps at which regret is recorded.
pub const CHECKPOINTS: usize = 10;
/// The number of stretches of steps for which the pulls of each arm are counted.
pub const STRETCHES: usize = 20;
/// The length of the windows that decide on convergence, in steps.
const WINDOW: usize = 100;
/// The pulls of the best arm that a window must have.
const WINDOW_PULLS: usize = 95;
/// The number of last steps over which the share of the best arm is taken.
const LAST_STEPS: usize = 200;

/// A replay: strategies that choose arms in an environment, over some steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategyReplay {
    /// The source of latencies.
    pub environment: Environment,
    /// The index of the library's own choice.
    pub auto: u32,
    /// Number of steps.
    pub steps: u32,
    /// The strategies to be compared.
    pub strategies: Vec<StrategyKind>,
}

/// The outcome of one strategy over some seeds. Lists have an entry per seed, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StrategyOutcome {
    /// Cumulative pseudo-regret at each of [`StrategyReplay::checkpoints`], in milliseconds; seed by seed.
    pub regret: Vec<f64>,
    /// The first step from which every window of 100 steps has at least 95 pulls of the best arm; −1 for never.
    pub converged: Vec<i32>,
    /// The share of the best arm among the last 200 steps.
    pub best_at_end: Vec<f64>,
    /// Σ over exploring pulls of (mean of the arm − mean of `auto`), in milliseconds; negative where exploration
    /// gained.
    pub exploration: Vec<f64>,
    /// The step from which on all pulls so far have cost no more than `auto`; −1 for never.
    pub paid_back: Vec<i32>,
    /// The number of pulls of each arm in each of [`STRETCHES`], over all seeds; stretch by stretch.
    pub pulls: Vec<u64>,
    /// The sum of all latencies, in milliseconds.
    pub total: Vec<f64>,
}

impl StrategyReplay {
    /// The steps after which regret is recorded: logarithmically spaced, the last one is the end.
    pub fn checkpoints(&self) -> [u32; CHECKPOINTS] {
        let steps = f64::from(self.steps.max(1));
        std::array::from_fn(|checkpoint| {
            let share = (checkpoint + 1) as f64 / CHECKPOINTS as f64;
            (crate::math::pow(steps, share).round() as u32).clamp(1, self.steps.max(1))
        })
    }

    /// Runs every strategy with the seeds `first..first + count`; returns an outcome for each strategy, in their order.
    pub fn run(&self, first: u32, count: u32, progress: &mut dyn Progress) -> Vec<StrategyOutcome> {
        let arms = self.environment.arms();
        let mut outcomes: Vec<StrategyOutcome> = self
            .strategies
            .iter()
            .map(|_| StrategyOutcome { pulls: vec![0; arms * STRETCHES], ..StrategyOutcome::default() })
            .collect();
        if arms == 0 || arms > usize::from(u8::MAX) || self.steps == 0 {
            return outcomes;
        }
        let checkpoints = self.checkpoints();
        let mut is_best = vec![false; self.steps as usize];
        for seed in first..first + count {
            progress.report("Replaying", u64::from(seed - first), u64::from(count));
            let table = self.environment.table(u64::from(seed), self.steps as usize);
            for (index, (kind, outcome)) in self.strategies.iter().zip(&mut outcomes).enumerate() {
                let own = mix(u64::from(seed) ^ ((index as u64 + 1) << 32));
                self.run_one(*kind, &table, own, &checkpoints, &mut is_best, outcome);
            }
        }
        outcomes
    }

    fn run_one(
        &self,
        kind: StrategyKind,
        table: &LatencyTable,
        seed: u64,
        checkpoints: &[u32; CHECKPOINTS],
        is_best: &mut [bool],
        outcome: &mut StrategyOutcome,
    ) {
        let (arms, auto, steps) = (table.arms(), self.auto as usize, self.steps as usize);
        let mut strategy = kind.start(arms, auto, table.best_fixed(), seed);
        let mut stream = Stream::new(seed);
        let mut seen = vec![Statistics::default(); arms];
        let (mut regret, mut total, mut exploration, mut balance) = (0.0, 0.0, 0.0, 0.0);
        let mut behind_until = 0;
        let mut checkpoint = 0;
        for (step, is_best) in is_best.iter_mut().enumerate().take(steps) {
            let arm = strategy.choose(&mut stream);
            let value = table.value(step, arm);
            strategy.learn(arm, value);
            let (mean, of_auto) = (table.mean(step, arm), table.mean(step, auto));
            let best = table.best(step);
            *is_best = arm == best;
            regret += mean - table.mean(step, best);
            total += value;
            // A pull explores if another arm has the lowest observed mean, or the arm was never pulled.
            let least =
                seen.iter().fold(f64::INFINITY, |least, arm| if arm.n > 0.0 { arm.mean.min(least) } else { least });
            if seen[arm].n == 0.0 || seen[arm].mean > least {
                exploration += mean - of_auto;
            }
            seen[arm].add(value);
            balance += mean - of_auto;
            // Above the level of rounding errors.
            if balance > 1e-9 {
                behind_until = step + 1;
            }
            outcome.pulls[step * STRETCHES / steps * arms + arm] += 1;
            while checkpoint < CHECKPOINTS && checkpoints[checkpoint] as usize == step + 1 {
                outcome.regret.push(regret);
                checkpoint += 1;
            }
        }
        let end = LAST_STEPS.min(steps);
        let at_end = is_best[steps - end..].iter().filter(|is_best| **is_best).count();
        outcome.best_at_end.push(at_end as f64 / end as f64);
        outcome.converged.push(converged(is_best).map_or(-1, |step| step as i32));
        outcome.exploration.push(exploration);
        outcome.paid_back.push(if behind_until < steps { behind_until as i32 } else { -1 });
        outcome.total.push(total);
    }
}

/// The first step from which every window has enough pulls of the best arm.
fn converged(is_best: &[bool]) -> Option<usize> {
    let last = is_best.len().checked_sub(WINDOW)?;
    let mut of_window = is_best[last..].iter().filter(|is_best| **is_best).count();
    let mut first = None;
    for step in (0..=last).rev() {
        if of_window < WINDOW_PULLS {
            break;
        }
        first = Some(step);
        if step > 0 {
            of_window += usize::from(is_best[step - 1]);
            of_window -= usize::from(is_best[step - 1 + WINDOW]);
        }
    }
    first
}

impl StrategyOutcome {
    /// Adds the outcome of further seeds.
    pub fn merge(&mut self, other: &Self) {
        self.regret.extend(&other.regret);
        self.converged.extend(&other.converged);
        self.best_at_end.extend(&other.best_at_end);
        self.exploration.extend(&other.exploration);
        self.paid_back.extend(&other.paid_back);
        self.total.extend(&other.total);
        if self.pulls.is_empty() {
            self.pulls.clone_from(&other.pulls);
        } else {
            self.pulls.iter_mut().zip(&other.pulls).for_each(|(own, other)| *own += other);
        }
    }

    /// Number of seeds.
    pub fn seeds(&self) -> usize {
        self.total.len()
    }

    /// The regret at one of the checkpoints, for every seed.
    pub fn regret_at(&self, checkpoint: usize) -> Vec<f64> {
        self.regret.chunks(CHECKPOINTS).filter_map(|checkpoints| checkpoints.get(checkpoint)).copied().collect()
    }
}
