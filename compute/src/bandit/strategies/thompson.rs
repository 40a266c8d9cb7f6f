//! Thompson sampling: an arm is pulled with the probability that it is the best (Thompson 1933).

use super::{Known, Strategy, lowest};
use crate::{
    bandit::{
        statistics::{NormalInverseGamma, pooled_deviation},
        student,
    },
    math::Stream,
};

/// The mean of the first pulls, one of each arm: the centre of the prior.
#[derive(Default)]
struct FirstMean {
    sum: f64,
    value: Option<f64>,
}

impl FirstMean {
    /// Learns a latency; to be called before it is added to `known`.
    fn learn(&mut self, known: &Known, latency: f64) {
        let arms = known.arms.len() as u64;
        if known.pulls < arms {
            self.sum += latency;
        }
        if known.pulls + 1 == arms {
            self.value = Some(self.sum / arms as f64);
        }
    }
}

/// Thompson sampling with unknown mean and variance under a weak prior, optionally with discounting.
pub(super) struct Thompson {
    known: Known,
    first: FirstMean,
    gamma: f64,
}

impl Thompson {
    pub(super) fn new(known: Known, gamma: f64) -> Self {
        Self { known, first: FirstMean::default(), gamma }
    }
}

impl Strategy for Thompson {
    fn choose(&mut self, stream: &mut Stream) -> usize {
        let Some(mean) = self.first.value else { return self.known.first(1).unwrap_or(0) };
        let prior = NormalInverseGamma::weak(mean);
        self.known.lowest(|arm| {
            let posterior = prior.posterior(arm);
            posterior.mean + posterior.scale() * student::draw(posterior.freedom(), stream)
        })
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.first.learn(&self.known, latency);
        if self.gamma < 1.0 {
            self.known.arms.iter_mut().for_each(|arm| arm.discount(self.gamma));
        }
        self.known.add(arm, latency);
    }
}

/// Thompson sampling with a given or the pooled standard deviation.
pub(super) struct KnownDeviation {
    known: Known,
    first: FirstMean,
    deviation: Option<f64>,
}

impl KnownDeviation {
    pub(super) fn new(known: Known, deviation: Option<f64>) -> Self {
        Self { known, first: FirstMean::default(), deviation }
    }
}

impl Strategy for KnownDeviation {
    fn choose(&mut self, stream: &mut Stream) -> usize {
        let pulls = if self.deviation.is_some() { 1 } else { 2 };
        if let Some(arm) = self.known.first(pulls) {
            return arm;
        }
        let mean = self.first.value.unwrap_or(0.0);
        let deviation = self.deviation.unwrap_or_else(|| pooled_deviation(&self.known.arms)).max(1e-9);
        let (prior, own) = (1.0 / (mean * mean), 1.0 / (deviation * deviation));
        self.known.lowest(|arm| {
            let precision = prior + arm.n * own;
            (mean * prior + arm.n * arm.mean * own) / precision + stream.normal() / precision.sqrt()
        })
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.first.learn(&self.known, latency);
        self.known.add(arm, latency);
    }
}

/// Thompson sampling with θ ~ N(mean, 1/n), whatever the unit of latencies.
pub(super) struct Raw {
    pub(super) known: Known,
}

impl Strategy for Raw {
    fn choose(&mut self, stream: &mut Stream) -> usize {
        if let Some(arm) = self.known.first(1) {
            return arm;
        }
        let draws: Vec<f64> = self.known.arms.iter().map(|arm| arm.mean + stream.normal() / arm.n.sqrt()).collect();
        lowest(draws.into_iter(), self.known.auto)
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
    }
}
