//! Strategies that choose a fixed, a random or the so far best arm.

use super::{Known, Strategy};
use crate::math::Stream;

/// Always chooses the same arm.
pub(super) struct Fixed(pub(super) usize);

impl Strategy for Fixed {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        self.0
    }

    fn learn(&mut self, _arm: usize, _latency: f64) {}
}

/// Chooses each of `.0` arms with the same probability.
pub(super) struct Uniform(pub(super) usize);

impl Strategy for Uniform {
    fn choose(&mut self, stream: &mut Stream) -> usize {
        stream.below(self.0)
    }

    fn learn(&mut self, _arm: usize, _latency: f64) {}
}

/// The probability of exploration.
pub(super) enum Epsilon {
    Constant(f64),
    /// min(1, c K / t).
    Decaying(f64),
}

/// Chooses the arm with the lowest mean, or with probability ε any arm.
pub(super) struct Greedy {
    pub(super) known: Known,
    pub(super) epsilon: Epsilon,
}

impl Strategy for Greedy {
    fn choose(&mut self, stream: &mut Stream) -> usize {
        if let Some(arm) = self.known.first(1) {
            return arm;
        }
        let arms = self.known.arms.len();
        let epsilon = match self.epsilon {
            Epsilon::Constant(epsilon) => epsilon,
            Epsilon::Decaying(c) => c * arms as f64 / self.known.pulls as f64,
        };
        if stream.unit() < epsilon { stream.below(arms) } else { self.known.lowest(|arm| arm.mean) }
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
    }
}
