//! Time series of latencies: autocorrelation, drift, modes.

use crate::math::{Stream, ascending, exp, ln, median, pow};

use super::statistics::Statistics;

/// The lag-1 autocorrelation ρ₁; 0 for a constant series.
pub fn autocorrelation(values: &[f64]) -> f64 {
    let all = Statistics::of(values);
    if all.squares <= 0.0 || all.squares.is_nan() {
        return 0.0;
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - all.mean) * (pair[1] - all.mean)).sum();
    (products / all.squares).clamp(-1.0, 1.0)
}

/// The effective number of independent values in a series of `n` values: n (1 − ρ⁺) / (1 + ρ⁺).
pub fn effective_count(n: usize, autocorrelation: f64) -> f64 {
    let rho = autocorrelation.max(0.0);
    n as f64 * (1.0 - rho) / (1.0 + rho)
}

/// The block length for a block bootstrap (Carlstein 1986 for AR(1)): ⌈(√6 |ρ₁| / (1 − ρ₁²))^(2/3) n^(1/3)⌉, in
/// 1..=⌊n/4⌋.
pub fn block_length(n: usize, autocorrelation: f64) -> usize {
    let most = (n / 4).max(1);
    let rho = autocorrelation.abs();
    let rest = 1.0 - rho * rho;
    if rest <= 0.0 {
        return most;
    }
    let length = pow(6.0_f64.sqrt() * rho / rest, 2.0 / 3.0) * libm::cbrt(n as f64);
    (length.ceil() as usize).clamp(1, most)
}

/// The mean without outliers: up to four values the mean; else of those within [q1 − 1.5 IQR, q3 + 1.5 IQR] with
/// q1 = v[⌊n/4⌋] and q3 = v[⌊3n/4⌋]. `None` for no values.
///
/// ```
/// use collectune_compute::bandit::series::trimmed_mean;
/// let mean = trimmed_mean(&[10.0, 10.2, 9.9, 10.1, 30.0]).unwrap_or_default();
/// assert!((mean - 10.05).abs() < 1e-12);
/// ```
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    ascending(&mut sorted);
    let n = sorted.len();
    let (low, high) = if n <= 4 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        let (q1, q3) = (sorted[n / 4], sorted[3 * n / 4]);
        let beyond = 1.5 * (q3 - q1);
        (q1 - beyond, q3 + beyond)
    };
    let mut kept = Statistics::default();
    sorted.iter().filter(|value| (low..=high).contains(*value)).for_each(|value| kept.add(*value));
    Some(kept.mean)
}

/// Two modes of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Geometric mean of the fast group.
    pub fast: f64,
    /// Geometric mean of the slow group.
    pub slow: f64,
    /// The share of values above the midpoint of the two means.
    pub slow_share: f64,
    /// The share of the variance of logarithms that lies between the groups: 0.64 for a normal distribution, 0.75 for a
    /// uniform one, near 1 for two separate modes.
    pub separation: f64,
}

/// Splits values into two groups with the largest variance between them (Otsu 1979), by their logarithms, because
/// latencies vary by factors. `None` for fewer than four values, for equal values, and for values that are not
/// positive.
pub fn modes(latencies: &[f64]) -> Option<Modes> {
    let n = latencies.len();
    let values: Vec<f64> = latencies.iter().map(|value| ln(*value)).collect();
    let all = Statistics::of(&values);
    if n < 4 || all.squares <= 0.0 || !all.squares.is_finite() {
        return None;
    }
    let mut sorted = values;
    ascending(&mut sorted);
    let (mut below, mut best) = (0.0, (0.0, 0.0, 0.0));
    for (index, value) in sorted[..n - 1].iter().enumerate() {
        below += value - all.mean;
        let (fast, slow) = ((index + 1) as f64, (n - index - 1) as f64);
        let between = below * below * (1.0 / fast + 1.0 / slow);
        if between > best.0 {
            best = (between, all.mean + below / fast, all.mean - below / slow);
        }
    }
    let (between, fast, slow) = (best.0, exp(best.1), exp(best.2));
    let middle = f64::midpoint(fast, slow);
    let above = latencies.iter().filter(|value| **value > middle).count();
    Some(Modes { fast, slow, slow_share: above as f64 / n as f64, separation: (between / all.squares).min(1.0) })
}

/// The result of tests for a change of level over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The p-value of the largest cumulative deviation from the mean (CUSUM), under permutations of blocks.
    pub cusum_p: f64,
    /// The p-value of the difference between the two halves, under the same permutations.
    pub halves_p: f64,
    /// By how much the mean of the second half is above that of the first, in per cent of the level.
    pub change_pct: f64,
    /// Whether the series is correlated over more than an eighth of its length: then permutations are not valid, and
    /// its mean says little.
    pub is_nonstationary: bool,
}

impl Drift {
    /// Whether a drift was found: then measurements that were made one after the other are not compared.
    pub fn is_found(&self) -> bool {
        self.is_nonstationary || self.cusum_p < 0.01 || self.halves_p < 0.01
    }
}

/// The number of permutations of blocks.
const PERMUTATIONS: usize = 999;
/// A longer series is reduced to at most this many means of consecutive values.
const LONGEST: usize = 4096;

/// Tests a series of deviations from each value's expectation (that of its arm) for drift. The change is given in per
/// cent of `level`.
pub fn drift(deviations: &[f64], level: f64, seed: u64) -> Drift {
    let n = deviations.len();
    let rho = autocorrelation(deviations);
    let is_nonstationary = n >= 16 && rho > 0.5 && block_length(n, rho) * 8 > n;
    let each = n.div_ceil(LONGEST).max(1);
    let values: Vec<f64> = deviations.chunks(each).map(|chunk| Statistics::of(chunk).mean).collect();
    let block = block_length(values.len(), autocorrelation(&values));
    let (cusum, halves) = drift_statistics(values.iter().copied(), values.len());
    let change = halves / level * 100.0;
    if values.len() < 8 {
        return Drift { cusum_p: 1.0, halves_p: 1.0, change_pct: change, is_nonstationary: false };
    }
    let mut blocks: Vec<&[f64]> = values.chunks(block).collect();
    let mut stream = Stream::new(seed ^ 0xD21F);
    let (mut as_far, mut as_apart) = (1, 1);
    for _ in 0..PERMUTATIONS {
        stream.shuffle(&mut blocks);
        let (far, apart) = drift_statistics(blocks.iter().flat_map(|block| block.iter().copied()), values.len());
        as_far += usize::from(far >= cusum);
        as_apart += usize::from(apart.abs() >= halves.abs());
    }
    let p = |count: usize| count as f64 / (PERMUTATIONS + 1) as f64;
    Drift { cusum_p: p(as_far), halves_p: p(as_apart), change_pct: change, is_nonstationary }
}

/// The largest cumulative deviation from the mean, and the mean of the second half minus that of the first.
fn drift_statistics(values: impl Iterator<Item = f64> + Clone, count: usize) -> (f64, f64) {
    let mean = values.clone().sum::<f64>() / count.max(1) as f64;
    let half = count / 2;
    let (mut sum, mut far, mut first) = (0.0_f64, 0.0_f64, 0.0);
    for (index, value) in values.enumerate() {
        if index == half {
            first = sum;
        }
        sum += value - mean;
        far = far.max(sum.abs());
    }
    // The deviations of both halves add up to zero.
    let halves = -first / (count - half).max(1) as f64 - first / half.max(1) as f64;
    (far, halves)
}

/// The p-value of a period of `period` values: a permutation test of the F statistic of the classes of index mod
/// period, by the sum of squares between them.
pub fn period_p(values: &[f64], period: usize, seed: u64) -> f64 {
    const PERMUTATIONS: usize = 5000;
    /// The most values that are used: enough to detect a period.
    const MOST: usize = 10_000;
    if period < 2 || values.len() < 2 * period {
        return 1.0;
    }
    let values = &values[..values.len().min(MOST)];
    let mean = Statistics::of(values).mean;
    let mut deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
    // The F statistic grows with this sum, because the total sum of squares is the same in every order.
    let between = |deviations: &[f64]| {
        let mut sums = vec![(0.0, 0.0); period];
        for (index, value) in deviations.iter().enumerate() {
            let class = &mut sums[index % period];
            *class = (class.0 + value, class.1 + 1.0);
        }
        sums.iter().map(|(sum, count): &(f64, f64)| sum * sum / count).sum::<f64>()
    };
    let seen = between(&deviations);
    let mut stream = Stream::new(seed ^ 0xF);
    let as_great = (0..PERMUTATIONS)
        .filter(|_| {
            stream.shuffle(&mut deviations);
            between(&deviations) >= seen * (1.0 - 1e-12)
        })
        .count();
    (as_great + 1) as f64 / (PERMUTATIONS + 1) as f64
}

/// Summary statistics of one arm's series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// The mean, which adds up to iteration time.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The mean without outliers ([`trimmed_mean`]).
    pub trimmed_mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The lag-1 autocorrelation.
    pub autocorrelation: f64,
    /// The effective number of independent values.
    pub effective: f64,
    /// The block length for the bootstrap.
    pub block: usize,
}

/// Computes the summary statistics of a series.
pub fn summary(values: &[f64]) -> Summary {
    let all = Statistics::of(values);
    let rho = autocorrelation(values);
    Summary {
        n: values.len(),
        mean: all.mean,
        median: median(&mut values.to_vec()).unwrap_or(0.0),
        trimmed_mean: trimmed_mean(values).unwrap_or(0.0),
        deviation: all.deviation(),
        autocorrelation: rho,
        effective: effective_count(values.len(), rho),
        block: block_length(values.len(), rho),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandit::draws::normal;

    #[test]
    fn drift_is_found_where_it_is() {
        let level = |shift: f64, n: usize| -> Vec<f64> {
            (0..n).map(|t| normal(5, 0, t as u64) + if t >= n / 2 { shift } else { 0.0 }).collect()
        };
        assert!(!drift(&level(0.0, 400), 10.0, 1).is_found());
        let found = drift(&level(1.0, 400), 10.0, 1);
        assert!(found.is_found() && (found.change_pct - 10.0).abs() < 3.0, "{found:?}");
        assert!(drift(&level(0.5, 40_000), 10.0, 1).is_found());
        assert!(!drift(&[1.0; 50], 1.0, 1).is_found());
        assert!(!drift(&[], 1.0, 1).is_found());
    }

    #[test]
    fn a_period_is_found_where_it_is() {
        let periodic = |depth: f64| -> Vec<f64> {
            (0..80).map(|t| normal(3, 0, t) + if t % 4 == 1 { depth } else { 0.0 }).collect()
        };
        assert!(period_p(&periodic(2.0), 4, 1) < 0.01);
        assert!(period_p(&periodic(0.0), 4, 1) > 0.05);
        assert!(period_p(&[1.0; 40], 4, 1) > 0.99);
    }

    #[test]
    fn two_modes_are_distinguished_from_one() {
        let one: Vec<f64> = (0..500).map(|t| exp(0.5 * normal(1, 0, t))).collect();
        let two: Vec<f64> = (0..500).map(|t| 10.0 + normal(1, 0, t) + if t % 3 == 0 { 20.0 } else { 0.0 }).collect();
        let (one, two) = (modes(&one).unwrap(), modes(&two).unwrap());
        assert!(one.separation < 0.7 && two.separation > 0.95, "{one:?} {two:?}");
        assert!((two.slow_share - 1.0 / 3.0).abs() < 0.01);
        assert_eq!(modes(&[1.0; 9]), None);
    }
}
