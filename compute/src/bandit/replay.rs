//! Lets strategies play in a world and adds up what it costs them.

use serde::{Deserialize, Serialize};

use super::{
    statistics::Statistics,
    strategies::Kind,
    world::{Table, World},
};
use crate::{
    math::{Stream, mix},
    progress::Progress,
};

/// At how many steps regret is told.
pub const MARKS: usize = 10;
/// Into how many stretches the steps are cut to tell shares of arms.
pub const STRETCHES: usize = 20;
/// Steps of the windows of convergence, and of the end.
const WINDOW: usize = 100;
/// So many of a window must be of the best arm.
const OF_WINDOW: usize = 95;
/// The last steps that tell where a strategy ended.
const END: usize = 200;

/// What to play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Game {
    /// Where latencies come from.
    pub world: World,
    /// Which arm is the library's own choice.
    pub auto: u32,
    /// How many steps.
    pub steps: u32,
    /// Which strategies.
    pub strategies: Vec<Kind>,
}

/// What became of one strategy over some seeds. Vectors of numbers have an entry per seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Cumulative pseudo-regret at each of [`Game::marks`], in milliseconds; seed by seed.
    pub regret: Vec<f64>,
    /// The first step from which every window of 100 steps has 95 pulls of the best arm; −1: never.
    pub converged: Vec<i32>,
    /// Share of the best arm among the last 200 steps.
    pub best_at_end: Vec<f64>,
    /// Σ over exploring pulls of (mean of the arm − mean of `auto`), in milliseconds; below zero: it gained.
    pub exploration: Vec<f64>,
    /// After how many steps all pulls so far have cost no more than `auto`, for good; −1: never.
    pub paid_back: Vec<i32>,
    /// Pulls of each arm in each of [`STRETCHES`], over all seeds; stretch by stretch.
    pub pulls: Vec<u64>,
    /// The sum of latencies, in milliseconds.
    pub total: Vec<f64>,
}

impl Game {
    /// The steps after which regret is told: log-spaced, the last is the end.
    #[must_use]
    pub fn marks(&self) -> [u32; MARKS] {
        let steps = f64::from(self.steps.max(1));
        std::array::from_fn(|mark| {
            let share = (mark + 1) as f64 / MARKS as f64;
            (crate::math::pow(steps, share).round() as u32).clamp(1, self.steps.max(1))
        })
    }

    /// Plays seeds `first..first + count` with every strategy; a tally for each, in their order.
    pub fn play(&self, first: u32, count: u32, progress: &mut dyn Progress) -> Vec<Tally> {
        let arms = self.world.arms();
        let mut tallies: Vec<Tally> =
            self.strategies.iter().map(|_| Tally { pulls: vec![0; arms * STRETCHES], ..Tally::default() }).collect();
        if arms == 0 || arms > usize::from(u8::MAX) || self.steps == 0 {
            return tallies;
        }
        let marks = self.marks();
        let mut is_best = vec![false; self.steps as usize];
        for seed in first..first + count {
            progress.report("Replaying", u64::from(seed - first), u64::from(count));
            let table = self.world.table(u64::from(seed), self.steps as usize);
            for (index, (kind, tally)) in self.strategies.iter().zip(&mut tallies).enumerate() {
                let own = mix(u64::from(seed) ^ ((index as u64 + 1) << 32));
                self.play_one(*kind, &table, own, &marks, &mut is_best, tally);
            }
        }
        tallies
    }

    fn play_one(
        &self,
        kind: Kind,
        table: &Table,
        seed: u64,
        marks: &[u32; MARKS],
        is_best: &mut [bool],
        tally: &mut Tally,
    ) {
        let (arms, auto, steps) = (table.arms(), self.auto as usize, self.steps as usize);
        let mut strategy = kind.start(arms, auto, table.best_fixed(), seed);
        let mut stream = Stream::new(seed);
        let mut seen = vec![Statistics::default(); arms];
        let (mut regret, mut total, mut exploration, mut balance) = (0.0, 0.0, 0.0, 0.0);
        let mut in_debt_until = 0;
        let mut mark = 0;
        for (step, is_best) in is_best.iter_mut().enumerate().take(steps) {
            let arm = strategy.choose(&mut stream);
            let value = table.value(step, arm);
            strategy.learn(arm, value);
            let (mean, of_auto) = (table.mean(step, arm), table.mean(step, auto));
            let best = table.best(step);
            *is_best = arm == best;
            regret += mean - table.mean(step, best);
            total += value;
            // A pull explores where another arm looked better.
            let least =
                seen.iter().fold(f64::INFINITY, |least, arm| if arm.n > 0.0 { arm.mean.min(least) } else { least });
            if seen[arm].n == 0.0 || seen[arm].mean > least {
                exploration += mean - of_auto;
            }
            seen[arm].add(value);
            balance += mean - of_auto;
            if balance > 1e-9 {
                in_debt_until = step + 1;
            }
            tally.pulls[step * STRETCHES / steps * arms + arm] += 1;
            while mark < MARKS && marks[mark] as usize == step + 1 {
                tally.regret.push(regret);
                mark += 1;
            }
        }
        let end = END.min(steps);
        let at_end = is_best[steps - end..].iter().filter(|is_best| **is_best).count();
        tally.best_at_end.push(at_end as f64 / end as f64);
        tally.converged.push(converged(is_best).map_or(-1, |step| step as i32));
        tally.exploration.push(exploration);
        tally.paid_back.push(if in_debt_until < steps { in_debt_until as i32 } else { -1 });
        tally.total.push(total);
    }
}

/// The first step from which every window has enough pulls of the best arm.
fn converged(is_best: &[bool]) -> Option<usize> {
    let last = is_best.len().checked_sub(WINDOW)?;
    let mut of_window = is_best[last..].iter().filter(|is_best| **is_best).count();
    let mut first = None;
    for step in (0..=last).rev() {
        if of_window < OF_WINDOW {
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

impl Tally {
    /// Takes in what became of further seeds.
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

    /// How many seeds were played.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.total.len()
    }

    /// Regret at one of the marks, of every seed.
    #[must_use]
    pub fn regret_at(&self, mark: usize) -> Vec<f64> {
        self.regret.chunks(MARKS).filter_map(|marks| marks.get(mark)).copied().collect()
    }
}
