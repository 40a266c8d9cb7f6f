//! The strategy of the plugin: the arms of an epoch are scheduled ahead, by the probability of each to be the best.

use super::{Known, Strategy};
use crate::{
    bandit::{
        best,
        schedule::{MAX_BLOCK_CALLS, fill_block},
        statistics::NormalInverseGamma,
    },
    math::Stream,
    order::CompactSort,
};

/// Counts of an epoch from the probability of each arm to be the best, of which each has at least `floor`, by largest
/// remainder; equal remainders go to the lowest index.
///
/// ```
/// use collectune_compute::bandit::strategies::counts;
/// assert_eq!(counts(&[0.25; 4], 64, 0.01), [16; 4]);
/// assert_eq!(counts(&[1.0, 0.0, 0.0, 0.0], 64, 0.01), [62, 1, 1, 0]);
/// assert_eq!(counts(&[1.0, 0.0, 0.0, 0.0], 64, 1.0 / 64.0), [61, 1, 1, 1]);
/// assert_eq!(counts(&[0.5, 0.5, 0.0], 1, 0.0), [1, 0, 0]);
/// ```
pub fn counts(best: &[f64], calls: u32, floor: f64) -> Vec<u32> {
    let arms = best.len() as f64;
    let floor = floor.clamp(0.0, 1.0 / arms.max(1.0));
    let shares: Vec<f64> =
        best.iter().map(|p| (floor + (1.0 - arms * floor) * p).max(0.0) * f64::from(calls)).collect();
    let mut counts: Vec<u32> = shares.iter().map(|share| *share as u32).collect();
    let mut order: Vec<usize> = (0..best.len()).collect();
    let remainder = |arm: usize| shares[arm] - shares[arm].floor();
    order.compact_sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)));
    let missing = calls.saturating_sub(counts.iter().sum()) as usize;
    for arm in order.into_iter().cycle().take(if best.is_empty() { 0 } else { missing }) {
        counts[arm] += 1;
    }
    counts
}

/// Probabilities to what quadrature knows of them, a two-thousandth: what is below is equally improbable, and the order
/// of such arms must not decide who gets the calls that are left.
///
/// ```
/// use collectune_compute::bandit::strategies::{counts, rounded};
/// let best = [2e-5, 0.999_97, 0.0, 1e-5];
/// assert_eq!(counts(&rounded(&best), 64, 0.01), [1, 62, 1, 0]);
/// ```
pub fn rounded(best: &[f64]) -> Vec<f64> {
    best.iter().map(|p| (p * 2000.0).round() / 2000.0).collect()
}

/// The strategy: at the end of each epoch the next one is scheduled.
pub(super) struct Epochs {
    known: Known,
    calls: u32,
    floor: f64,
    keep: f64,
    seed: u64,
    epoch: u64,
    order: Vec<u8>,
    next: usize,
    sum: f64,
    prior: Option<NormalInverseGamma>,
}

impl Epochs {
    pub(super) fn new(known: Known, calls: u32, floor: f64, keep: f64, seed: u64) -> Self {
        let arms = known.arms.len();
        let calls = calls.clamp(arms as u32, MAX_BLOCK_CALLS as u32);
        let mut order = vec![0; calls as usize];
        fill_block(&counts(&vec![1.0 / arms as f64; arms], calls, floor), seed, 0, 0, &mut order);
        let keep = keep.clamp(0.0, 1.0);
        Self { known, calls, floor, keep, seed, epoch: 0, order, next: 0, sum: 0.0, prior: None }
    }

    fn end_epoch(&mut self) {
        let mean = self.sum / self.order.len() as f64;
        let prior = *self.prior.get_or_insert_with(|| NormalInverseGamma::weak(mean));
        let posteriors: Vec<NormalInverseGamma> = self.known.arms.iter().map(|arm| prior.posterior(arm)).collect();
        self.epoch += 1;
        self.next = 0;
        let counts = counts(&rounded(&best::probabilities(&posteriors)), self.calls, self.floor);
        fill_block(&counts, self.seed, 0, self.epoch, &mut self.order);
        self.known.arms.iter_mut().for_each(|arm| arm.discount(self.keep));
    }
}

impl Strategy for Epochs {
    fn choose(&mut self, _stream: &mut Stream) -> usize {
        usize::from(self.order[self.next])
    }

    fn learn(&mut self, arm: usize, latency: f64) {
        self.known.add(arm, latency);
        self.sum += latency;
        self.next += 1;
        if self.next >= self.order.len() {
            self.end_epoch();
        }
    }
}
