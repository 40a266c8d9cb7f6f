//! Replays strategies of planning on complete sweeps: which launches each would have made, and what it would have
//! found.

use super::{
    explore::{Explorer, LaunchThresholds},
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
    /// Whether each launch stalls at some size.
    stalled: Vec<bool>,
}

impl StrategyReplay {
    /// The measured launches of a sweep of one collective and scale; `None` of no launches.
    pub fn new(sweep: &Sweep) -> Option<Self> {
        let group = sweep.groups().into_iter().find(|group| group.points > 0)?;
        let measured = Grid::measured(sweep, group.collective, group.scale);
        let rows: Option<Vec<Vec<f64>>> = (0..measured.launches.len()).map(|launch| measured.row(launch)).collect();
        let rows = rows?;
        Some(Self { stalled: vec![false; rows.len()], grid: measured, measured: rows.clone(), rows })
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

    /// The same launches, each of which stalls at each size with this probability. As in a campaign, our search makes a
    /// launch that stalled once more. Racing search launches everything three times and takes the median, so a stall
    /// costs it nothing.
    pub fn with_stalls(mut self, probability: f64, seed: u64) -> Self {
        let mut stream = Stream::new(seed);
        let sizes = self.sizes();
        self.stalled.fill_with(|| (0..sizes).filter(|_| stream.unit() < probability).count() > 0);
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
            Strategy::Ours => self.explore(Explorer::blank(&self.grid, worth)),
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

    /// The launches that our search makes, those that stalled twice, where another sweep was measured before.
    pub fn order_after(&self, before: &Self, worth: LaunchThresholds) -> Vec<usize> {
        let blank = Explorer::blank(&self.grid, worth);
        self.explore(match Explorer::new(&before.grid, worth).prior_for(&self.grid) {
            Some(prior) => blank.with_prior(prior),
            None => blank,
        })
    }

    fn explore(&self, mut explorer: Explorer<'_>) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(choice) = explorer.choose() {
            order.push(choice.launch);
            order.extend(self.stalled[choice.launch].then_some(choice.launch));
            explorer.learn(choice.launch, self.measured[choice.launch].clone());
        }
        order
    }

    /// The state of the search after each launch, made in this order.
    pub fn follow(&self, order: &[usize]) -> Vec<ReplayStep> {
        let best: Vec<f64> = (0..self.sizes())
            .map(|size| self.rows.iter().map(|row| row[size]).fold(f64::NEG_INFINITY, f64::max))
            .collect();
        let mut found = vec![f64::NEG_INFINITY; best.len()];
        let after = |(made, launch): (usize, &usize)| {
            found.iter_mut().zip(&self.rows[*launch]).for_each(|(found, height)| *found = found.max(*height));
            let regrets: Vec<f64> = found.iter().zip(&best).map(|(f, b)| (1.0 - exp(f - b)) * 100.0).collect();
            ReplayStep {
                runs: made + 1,
                within: regrets.iter().filter(|regret| **regret <= WITHIN_PCT).count(),
                regret_mean_pct: regrets.iter().sum::<f64>() / regrets.len().max(1) as f64,
                regret_max_pct: regrets.iter().copied().fold(0.0, f64::max),
            }
        };
        order.iter().enumerate().map(after).collect()
    }
}
