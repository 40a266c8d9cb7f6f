//! Upper confidence bounds: the arm whose optimistic (here lower) bound of the mean is the lowest.

use std::collections::VecDeque;

use super::{Known, Strategy, lowest};
use crate::{
    bandit::statistics::{Statistics, pooled_deviation},
    math::{Stream, ln},
};

/// The score mean − s √(2 ln t / n); the lowest wins.
pub(super) fn score(arm: &Statistics, deviation: f64, double_log: f64) -> f64 {
    arm.mean - deviation * (double_log / arm.n).sqrt()
}

/// UCB1 with the pooled standard deviation.
pub(super) struct Ucb {
    pub(super) known: Known,
}

impl Strategy for Ucb {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        if let Some(arm) = self.known.first(2) {
            return arm;
        }
        let deviation = pooled_deviation(&self.known.arms);
        let double_log = 2.0 * ln(self.known.pulls as f64);
        self.known.lowest(|arm| score(arm, deviation, double_log))
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
    }
}

/// UCB1 with a given factor in the unit of the log.
pub(super) struct Raw {
    pub(super) known: Known,
    pub(super) c: f64,
}

impl Strategy for Raw {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        if let Some(arm) = self.known.first(1) {
            return arm;
        }
        let log = ln(self.known.pulls as f64);
        self.known.lowest(|arm| score(arm, self.c, log))
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
    }
}

/// UCB1 over a sliding window. The sums are of differences from the first latency, to avoid cancellation.
pub(super) struct Sliding {
    window: usize,
    auto: usize,
    pulls: VecDeque<(usize, f64)>,
    /// For each arm count, sum, and sum of squares.
    sums: Vec<[f64; 3]>,
    origin: Option<f64>,
    begun: usize,
}

impl Sliding {
    pub(super) fn new(arms: usize, auto: usize, window: u32) -> Self {
        let window = (window as usize).max(2 * arms + 1);
        Self { window, auto, pulls: VecDeque::new(), sums: vec![[0.0; 3]; arms], origin: None, begun: 0 }
    }
}

impl Strategy for Sliding {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        let arms = self.sums.len();
        if self.begun < 2 * arms {
            return self.begun % arms;
        }
        if let Some(arm) = self.sums.iter().position(|sums| sums[0] < 0.5) {
            return arm;
        }
        let mut squares = 0.0;
        for [n, sum, square] in &self.sums {
            squares += (square - sum * sum / n).max(0.0);
        }
        let freedom = self.pulls.len() as f64 - arms as f64;
        let deviation = (squares / freedom).max(0.0).sqrt().max(1e-9);
        let double_log = 2.0 * ln(self.pulls.len() as f64);
        let scores = self.sums.iter().map(|[n, sum, _]| sum / n - deviation * (double_log / n).sqrt());
        lowest(scores, self.auto)
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        let latency = latency - *self.origin.get_or_insert(latency);
        self.begun += 1;
        let mut count = |arm: usize, latency: f64, sign: f64| {
            let sums = &mut self.sums[arm];
            *sums = [sums[0] + sign, sums[1] + sign * latency, sums[2] + sign * latency * latency];
        };
        count(arm, latency, 1.0);
        self.pulls.push_back((arm, latency));
        if self.pulls.len() > self.window
            && let Some((arm, latency)) = self.pulls.pop_front()
        {
            count(arm, latency, -1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_worked_example() {
        let double_log = 2.0 * ln(12.0);
        for (mean, expected) in [(10.2, 9.1703), (9.0, 7.9703), (11.1, 10.0703), (10.4, 9.3703)] {
            let arm = Statistics { n: 3.0, mean, squares: 0.0 };
            assert!((score(&arm, 0.8, double_log) - expected).abs() < 5e-5);
        }
    }
}
