//! Replays strategies of planning on complete sweeps: which launches each would have made, and what it would have
//! found.

use super::{
    explore::{Explorer, LaunchThresholds, Prior},
    grid::Grid,
    racing,
};
use crate::{
    math::{Stream, exp},
    tuning::sweep::Sweep,
};

/// A strategy that chooses launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The search of [`super::explore`], until nothing is worth a launch.
    Ours,
    /// Configurations race against each other ([`super::racing`]).
    Racing,
    /// All launches, in the order of the grid.
    Grid,
    /// All launches, shuffled with this seed.
    Random(u64),
}

/// The state of a search after some launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayStep {
    /// The number of launches so far.
    pub runs: usize,
    /// The number of sizes at which the best found is within [`WITHIN_PCT`] of the best of all launches.
    pub within: usize,
    /// The regret of the best found against the best of all launches, in per cent: mean over sizes.
    pub regret_mean_pct: f64,
    /// The regret at the size where it is largest, in per cent.
    pub regret_max_pct: f64,
}

/// In per cent: a winner counts as found where the best found loses no more than this against it. Racing search gives
/// up a channel count only for one that is faster by more than this.
pub const WITHIN_PCT: f64 = 2.0;

impl ReplayStep {
    /// Whether the winners of 17 in 18 `sizes` are found, and no more than 5 % is lost at any size.
    pub fn has_found(&self, sizes: usize) -> bool {
        self.within * 18 >= sizes * 17 && self.regret_max_pct <= 5.0
    }
}

/// A complete sweep, on which strategies are replayed.
pub struct StrategyReplay {
    grid: Grid,
    rows: Vec<Vec<f64>>,
    /// What launches measure: `rows` with noise.
    measured: Vec<Vec<f64>>,
    /// For each launch and size, the ln busbw that is expected from the launch's out-of-place time if it stalls there
    /// when it is made for the first time; `None` if it does not stall.
    stalls: Vec<Vec<Option<f64>>>,
}

impl StrategyReplay {
    /// The measured launches of a sweep of one collective and scale; `None` of no launches.
    pub fn new(sweep: &Sweep) -> Option<Self> {
        let group = sweep.groups().into_iter().find(|group| group.points > 0)?;
        let measured = Grid::measured(sweep, group.collective, group.scale);
        let rows: Option<Vec<Vec<f64>>> = (0..measured.launches.len()).map(|launch| measured.row(launch)).collect();
        let rows = rows?;
        let stalls = vec![vec![None; measured.sizes.len()]; rows.len()];
        Some(Self { grid: measured, measured: rows.clone(), rows, stalls })
    }

    /// The same launches, as they measure with noise of these relative standard deviations at each size. What a
    /// strategy has found is judged without it.
    pub fn with_noise(mut self, deviations: &[f64], seed: u64) -> Self {
        let mut stream = Stream::new(seed);
        for (measured, row) in self.measured.iter_mut().zip(&self.rows) {
            let cells = measured.iter_mut().zip(row).zip(deviations);
            cells.for_each(|((measured, height), deviation)| *measured = height + deviation * stream.normal());
        }
        self
    }

    /// The same launches, each of which stalls at each size with this probability where it is made for the first time.
    /// As in a campaign, what is expected there is known from the launch's out-of-place time, to within these relative
    /// standard deviations at each size, and our search makes the launch again where that would be worth it. Nothing is
    /// found where a launch stalled.
    pub fn with_stalls(mut self, probability: f64, deviations: &[f64], seed: u64) -> Self {
        let mut stream = Stream::new(seed);
        for (stalls, row) in self.stalls.iter_mut().zip(&self.measured) {
            for ((stall, height), deviation) in stalls.iter_mut().zip(row).zip(deviations) {
                let expected = height + deviation * stream.normal();
                *stall = (stream.unit() < probability).then_some(expected);
            }
        }
        self
    }

    /// How many sizes a launch measures.
    pub fn sizes(&self) -> usize {
        self.grid.sizes.len()
    }

    /// The number of launches of the grid.
    pub fn launches(&self) -> usize {
        self.rows.len()
    }

    /// The launches that a strategy makes, in its order.
    pub fn order(&self, strategy: Strategy, worth: LaunchThresholds) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.rows.len()).collect();
        match strategy {
            Strategy::Ours => self.search(None, worth),
            Strategy::Racing => {
                racing::race(&self.grid.launches, self.sizes(), &|launch, size| exp(self.measured[launch][size]))
            }
            Strategy::Grid => all,
            Strategy::Random(seed) => {
                Stream::new(seed).shuffle(&mut all);
                all
            }
        }
    }

    /// The launches that our search makes where another sweep was measured before.
    pub fn order_after(&self, before: &Self, worth: LaunchThresholds) -> Vec<usize> {
        let prior = Explorer::new(&before.grid, worth).prior_for(&self.grid);
        self.search(prior.as_ref(), worth)
    }

    fn search(&self, prior: Option<&Prior>, worth: LaunchThresholds) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        loop {
            let mut explorer = Explorer::blank(&self.grid, worth);
            if let Some(prior) = prior {
                explorer = explorer.with_prior(prior.clone());
            }
            for (made, launch) in order.iter().enumerate().filter(|(made, launch)| !order[..*made].contains(launch)) {
                let is_again = order[made + 1..].contains(launch);
                let cells = self.measured[*launch].iter().zip(&self.stalls[*launch]);
                let seen = cells.map(|(height, stall)| stall.filter(|_| !is_again).unwrap_or(*height));
                explorer.learn(*launch, seen.collect());
            }
            let choice = explorer.choose().map(|choice| (choice.launch, choice.expected_pct.unwrap_or(f64::INFINITY)));
            let repeat = self.most_worth_repeating(&order, worth);
            // Of two that are worth as much, what was never launched.
            let next = [repeat, choice].into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
            match next {
                Some((launch, _)) => order.push(launch),
                None => return order,
            }
        }
    }

    /// Among the launches that stalled, the one whose repetition is expected to raise busbw most, and by how much in
    /// per cent; `None` if none is worth it.
    fn most_worth_repeating(&self, order: &[usize], worth: LaunchThresholds) -> Option<(usize, f64)> {
        let best = self.best(order, &self.measured);
        let once = order.iter().filter(|launch| order.iter().filter(|made| made == launch).count() == 1);
        let gain = |launch: &usize| {
            let cells = self.stalls[*launch].iter().zip(&best);
            (*launch, worth.gain_pct(cells.filter_map(|(stall, best)| Some((*stall)? - best)), best.len()))
        };
        once.map(gain).filter(|(_, gain_pct)| *gain_pct >= worth.least_pct).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The highest of `heights` at each size after launches in this order, of cells that did not stall; −∞ of none.
    fn best(&self, order: &[usize], heights: &[Vec<f64>]) -> Vec<f64> {
        let mut best = vec![f64::NEG_INFINITY; self.sizes()];
        for (made, launch) in order.iter().enumerate() {
            let is_again = order[..made].contains(launch);
            let cells = best.iter_mut().zip(&heights[*launch]).zip(&self.stalls[*launch]);
            let measured = cells.filter(|(_, stall)| is_again || stall.is_none());
            measured.for_each(|((best, height), _)| *best = best.max(*height));
        }
        best
    }

    /// The state of the search after each launch, made in this order.
    pub fn follow(&self, order: &[usize]) -> Vec<ReplayStep> {
        let best: Vec<f64> = (0..self.sizes())
            .map(|size| self.rows.iter().map(|row| row[size]).fold(f64::NEG_INFINITY, f64::max))
            .collect();
        let after = |runs: usize| {
            let found = self.best(&order[..runs], &self.rows);
            let regrets: Vec<f64> = found.iter().zip(&best).map(|(f, b)| (1.0 - exp(f - b)) * 100.0).collect();
            ReplayStep {
                runs,
                within: regrets.iter().filter(|regret| **regret <= WITHIN_PCT).count(),
                regret_mean_pct: regrets.iter().sum::<f64>() / regrets.len().max(1) as f64,
                regret_max_pct: regrets.iter().copied().fold(0.0, f64::max),
            }
        };
        (1..=order.len()).map(after).collect()
    }
}
