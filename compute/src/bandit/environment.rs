//! Simulated environments for strategies: the latency of every arm at every step, so that all strategies meet the same.

use serde::{Deserialize, Serialize};

use super::draws::{normal, uniform};
use crate::math::{Stream, exp};

/// The latency of every arm at every step, for one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTable {
    arms: usize,
    /// Latencies in milliseconds, step by step.
    values: Vec<f64>,
    /// Expected latencies, step by step; a single row if they never change.
    means: Vec<f64>,
    /// The arm with the lowest expected latency at each step; a single entry if it never changes.
    best: Vec<u8>,
}

impl LatencyTable {
    /// Creates the table from latencies and expected latencies, both step by step; the latter may be one row for all
    /// steps.
    fn new(arms: usize, values: Vec<f64>, means: Vec<f64>) -> Self {
        let lowest = |row: &[f64]| {
            let least = row
                .iter()
                .enumerate()
                .fold((0, f64::INFINITY), |best, (arm, mean)| if *mean < best.1 { (arm, *mean) } else { best });
            least.0 as u8
        };
        let best = means.chunks(arms.max(1)).map(lowest).collect();
        Self { arms, values, means, best }
    }

    /// Number of arms.
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.values.len() / self.arms.max(1)
    }

    /// The latency of an arm at a step, in milliseconds.
    pub fn value(&self, step: usize, arm: usize) -> f64 {
        self.values[step * self.arms + arm]
    }

    /// The expected latency of an arm at a step, in milliseconds.
    pub fn mean(&self, step: usize, arm: usize) -> f64 {
        let row = if self.best.len() == 1 { 0 } else { step };
        self.means[row * self.arms + arm]
    }

    /// The arm with the lowest expected latency at a step.
    pub fn best(&self, step: usize) -> usize {
        usize::from(self.best[if self.best.len() == 1 { 0 } else { step }])
    }

    /// The arm with the lowest sum of expected latencies over all steps.
    pub fn best_fixed(&self) -> usize {
        let total = |arm| self.means.chunks(self.arms).map(|row| row[arm]).sum::<f64>();
        let totals: Vec<f64> = (0..self.arms).map(total).collect();
        (0..self.arms).fold(0, |best, arm| if totals[arm] < totals[best] { arm } else { best })
    }
}

/// The distribution of an arm's latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// A normal distribution, clamped below at 0.01 ms.
    Normal {
        /// Mean, in milliseconds.
        mean: f64,
        /// Standard deviation, in milliseconds.
        spread: f64,
    },
    /// A mixture of a fast and a slow log-normal mode.
    TwoModes {
        /// Median of the fast mode, in milliseconds.
        fast: f64,
        /// σ of the fast mode's logarithm.
        fast_spread: f64,
        /// Median of the slow mode, in milliseconds.
        slow: f64,
        /// σ of the slow mode's logarithm.
        slow_spread: f64,
        /// The probability of the slow mode.
        slow_share: f64,
    },
}

/// One arm of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedArm {
    /// The distribution of latencies at the beginning.
    pub shape: Shape,
    /// A change of the mean of [`Shape::Normal`]: from which share of the steps on (0..1), and the new mean in
    /// milliseconds.
    pub later: Option<(f64, f64)>,
}

/// A simulation of several arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// The arms, by index.
    pub arms: Vec<SimulatedArm>,
    /// The share by which every mean rises until the last step.
    pub trend: f64,
    /// The coefficient of a common AR(1) process: e_t = `carry` · e_{t−1} + `push` · Z.
    pub carry: f64,
    /// The standard deviation of the innovations of this process, in milliseconds.
    pub push: f64,
}

impl Simulation {
    /// Arms with normal latencies: their means and a common standard deviation, in milliseconds.
    pub fn normal(means: &[f64], spread: f64) -> Self {
        let arm = |mean: &f64| SimulatedArm { shape: Shape::Normal { mean: *mean, spread }, later: None };
        Self { arms: means.iter().map(arm).collect(), trend: 0.0, carry: 0.0, push: 0.0 }
    }

    /// A scenario in which one arm is clearly better. Here and below, the arms are tree/simple, tree/ll128, ring/simple
    /// and auto.
    pub fn clear() -> Self {
        Self::normal(&[10.0, 9.0, 11.0, 10.5], 1.0)
    }

    /// A scenario in which every arm is sometimes slow, some more often than others.
    pub fn two_modes() -> Self {
        let arm = |fast, slow_share| SimulatedArm {
            shape: Shape::TwoModes { fast, fast_spread: 0.1, slow: 280.0, slow_spread: 0.05, slow_share },
            later: None,
        };
        let arms = vec![arm(100.0, 0.55), arm(135.0, 0.35), arm(110.0, 0.45), arm(130.0, 0.40)];
        Self { arms, trend: 0.0, carry: 0.0, push: 0.0 }
    }

    /// A scenario in which the best arm becomes the worst, all arms get slower, and a common disturbance is
    /// autocorrelated.
    pub fn drift() -> Self {
        let mut drift = Self { trend: 0.1, carry: 0.9, push: 0.3, ..Self::normal(&[10.0, 9.0, 11.0, 10.5], 0.8) };
        drift.arms[1].later = Some((0.5, 12.0));
        drift
    }

    /// A scenario in which the library's choice is the best.
    pub fn nothing_to_gain() -> Self {
        Self::normal(&[10.0, 10.0, 10.0, 9.95], 1.0)
    }

    /// The latency of every arm at every step, for one seed.
    pub fn table(&self, seed: u64, steps: usize) -> LatencyTable {
        let arms = self.arms.len();
        let (mut values, mut means) = (Vec::with_capacity(steps * arms), Vec::new());
        let changes = self.trend != 0.0 || self.arms.iter().any(|arm| arm.later.is_some());
        let mut wave = 0.0;
        for step in 0..steps {
            let t = step as u64;
            let share = step as f64 / steps as f64;
            let rise = 1.0 + self.trend * share;
            if self.push != 0.0 {
                wave = self.carry * wave + self.push * normal(seed, 200, t);
            }
            for (index, arm) in (0..).zip(&self.arms) {
                let z = normal(seed, index, t);
                match arm.shape {
                    Shape::Normal { mean, spread } => {
                        let mean = arm.later.filter(|(from, _)| share >= *from).map_or(mean, |(_, mean)| mean);
                        values.push((mean * rise + wave + spread * z).max(0.01));
                        if changes || step == 0 {
                            means.push(mean * rise);
                        }
                    }
                    Shape::TwoModes { fast, fast_spread, slow, slow_spread, slow_share } => {
                        let is_slow = uniform(seed, 100 + index, t) < slow_share;
                        let value = if is_slow { slow * exp(slow_spread * z) } else { fast * exp(fast_spread * z) };
                        values.push(value * rise + wave);
                        if changes || step == 0 {
                            let mean = |mode: f64, spread: f64| mode * exp(spread * spread / 2.0);
                            let mean =
                                slow_share * mean(slow, slow_spread) + (1.0 - slow_share) * mean(fast, fast_spread);
                            means.push(mean * rise);
                        }
                    }
                }
            }
        }
        LatencyTable::new(arms, values, means)
    }
}

/// Latencies of a log, to be resampled in blocks that keep their autocorrelation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resampled {
    /// For each arm its latencies in the order of time, in milliseconds, and the block length.
    pub arms: Vec<(Vec<f64>, u32)>,
}

impl Resampled {
    /// The latency of every arm at every step, for one seed.
    pub fn table(&self, seed: u64, steps: usize) -> LatencyTable {
        let arms = self.arms.len();
        let mut values = vec![0.0; steps * arms];
        let mut means = Vec::with_capacity(arms);
        for (index, (own, block)) in self.arms.iter().enumerate() {
            means.push(super::statistics::Statistics::of(own).mean);
            let block = (*block as usize).clamp(1, own.len().max(1));
            let mut stream = Stream::new(crate::math::mix(seed).wrapping_add(index as u64));
            let mut step = 0;
            while step < steps && !own.is_empty() {
                let start = stream.below(own.len() - block + 1);
                for value in own[start..start + block].iter().take(steps - step) {
                    values[step * arms + index] = *value;
                    step += 1;
                }
            }
        }
        LatencyTable::new(arms, values, means)
    }
}

/// The source of latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Environment {
    /// A simulation.
    Simulated(Simulation),
    /// A log that is resampled.
    Resampled(Resampled),
}

impl Environment {
    /// Number of arms.
    pub fn arms(&self) -> usize {
        match self {
            Self::Simulated(of) => of.arms.len(),
            Self::Resampled(of) => of.arms.len(),
        }
    }

    /// The latency of every arm at every step, for one seed.
    pub fn table(&self, seed: u64, steps: usize) -> LatencyTable {
        match self {
            Self::Simulated(of) => of.table(seed, steps),
            Self::Resampled(of) => of.table(seed, steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_equal_the_reference_values() {
        let cases = [
            (Simulation::clear(), [8.842451, 9.604378, 9.312641, 10.571338]),
            (Simulation::two_modes(), [264.254363, 288.590432, 257.346048, 281.000522]),
            (Simulation::drift(), [9.421464, 9.831006, 9.997617, 10.904574]),
        ];
        for (simulation, row) in cases {
            let table = simulation.table(0, 2000);
            for (arm, expected) in row.into_iter().enumerate() {
                assert!((table.value(0, arm) - expected).abs() < 1e-6, "{simulation:?}");
            }
        }
        let means = Simulation::two_modes().table(0, 1);
        for (arm, expected) in [199.4182, 186.3124, 186.9609, 190.5311].into_iter().enumerate() {
            assert!((means.mean(0, arm) - expected).abs() < 5e-5);
        }
    }
}
