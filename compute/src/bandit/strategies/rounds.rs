//! Strategies that pull all arms in rounds and then commit.

use super::{Known, Strategy, lowest};
use crate::{
    bandit::{series::trimmed_mean, statistics::pooled_deviation},
    math::{Stream, ln},
};

/// Successive elimination of arms.
pub(super) struct Elimination {
    known: Known,
    delta: f64,
    live: Vec<usize>,
    next: usize,
    rounds: u64,
}

impl Elimination {
    pub(super) fn new(known: Known, delta: f64) -> Self {
        let live = (0..known.arms.len()).collect();
        Self { known, delta: delta.clamp(1e-12, 1.0), live, next: 0, rounds: 0 }
    }

    fn drop_arms(&mut self) {
        let n = self.rounds as f64;
        let arms = self.known.arms.len() as f64;
        let deviation = pooled_deviation(&self.known.arms);
        let radius = deviation * (2.0 * ln(4.0 * arms * n * n / self.delta) / n).sqrt();
        let mean = |arm: usize| self.known.arms[arm].mean;
        let lowest = self.live.iter().map(|arm| mean(*arm)).fold(f64::INFINITY, f64::min);
        self.live.retain(|arm| self.known.arms[*arm].mean - radius <= lowest + radius);
    }
}

impl Strategy for Elimination {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        self.live.get(self.next).or(self.live.first()).copied().unwrap_or(self.known.auto)
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
        self.next += 1;
        if self.next >= self.live.len() {
            self.next = 0;
            self.rounds += 1;
            if self.rounds >= 2 && self.live.len() > 1 {
                self.drop_arms();
            }
        }
    }
}

/// Measures some rounds and commits to an arm.
pub(super) struct RoundRobin {
    values: Vec<Vec<f64>>,
    auto: usize,
    rounds: usize,
    gate: Option<f64>,
    pulls: usize,
    committed: Option<usize>,
}

impl RoundRobin {
    pub(super) fn new(arms: usize, auto: usize, rounds: u32, gate: Option<f64>) -> Self {
        let rounds = (rounds as usize).max(1);
        Self { values: vec![Vec::new(); arms], auto, rounds, gate, pulls: 0, committed: None }
    }

    fn commit(&self) -> usize {
        let means: Vec<f64> = self.values.iter().map(|values| trimmed_mean(values).unwrap_or(f64::INFINITY)).collect();
        let Some(gate) = self.gate else { return lowest(means.into_iter(), self.auto) };
        let auto = means[self.auto];
        let others = means.iter().enumerate().map(|(arm, mean)| if arm == self.auto { f64::INFINITY } else { *mean });
        let other = lowest(others, self.auto);
        if means[other] <= (1.0 - gate) * auto { other } else { self.auto }
    }
}

impl Strategy for RoundRobin {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        self.committed.unwrap_or(self.pulls % self.values.len())
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        if self.committed.is_some() {
            return;
        }
        self.values[arm].push(latency);
        self.pulls += 1;
        if self.pulls >= self.rounds * self.values.len() {
            self.committed = Some(self.commit());
        }
    }
}
