//! How likely one arm's runs lie above the other's by chance: Mann and Whitney's U, exactly.
//!
//! U counts the pairs of runs in which the second arm is faster, ties as a half (H. Mann and D. Whitney, Annals of
//! Mathematical Statistics 18, 1947). Where both arms are the same, each order of the runs is as likely as any other.
//! U over all pairs is the share that the field calls psup, the probability of superiority.

use crate::math::ln;

/// Pairs in which the second is larger, ties as a half: two numbers are tied where they differ by at most `apart`.
pub fn wins(first: &[f64], second: &[f64], apart: f64) -> f64 {
    let win = |a: f64, b: f64| match b - a {
        difference if difference > apart => 1.0,
        difference if difference < -apart => 0.0,
        _ => 0.5,
    };
    first.iter().flat_map(|a| second.iter().map(move |b| win(*a, *b))).sum()
}

/// The share of pairs in which the second is larger, ties as a half; `None` where an arm is empty.
pub fn psup(first: &[f64], second: &[f64]) -> Option<f64> {
    let pairs = first.len() * second.len();
    (pairs > 0).then(|| wins(first, second, 0.0) / pairs as f64)
}

/// How U falls where both arms are the same: the probability of each value from 0 to n·m, for arms of n and m runs.
pub fn null_distribution(n: usize, m: usize) -> Vec<f64> {
    let (few, many) = (n.min(m), n.max(m));
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    // The Gaussian binomial coefficient: the product over i of (1 − x^(many + i)) / (1 − x^i).
    for i in 1..=few {
        for u in (many + i..counts.len()).rev() {
            counts[u] -= counts[u - many - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    // Each count comes from those below it; the upper half mirrors the lower one without their rounding.
    for u in 0..counts.len() / 2 {
        let mirror = counts.len() - 1 - u;
        counts[mirror] = counts[u];
    }
    let total: f64 = counts.iter().sum();
    counts.iter_mut().for_each(|count| *count /= total);
    counts
}

/// The probability that a sum of U over independent pairs of equal arms is at least `wins`; ties that leave a half
/// count against the second arm. `arms` are the numbers of runs of each pair.
pub fn chance(wins: f64, arms: &[(usize, usize)]) -> f64 {
    /// Beyond, a sum of that many is as good as normal.
    const EXACT: usize = 1 << 13;
    let pairs: usize = arms.iter().map(|(n, m)| n * m).sum();
    if pairs == 0 {
        return 1.0;
    }
    let wins = wins.floor();
    if pairs > EXACT {
        let variance: f64 = arms.iter().map(|(n, m)| (n * m * (n + m + 1)) as f64 / 12.0).sum();
        let deviation = (wins - 0.5 - pairs as f64 / 2.0) / variance.sqrt();
        return crate::math::erfc(deviation / std::f64::consts::SQRT_2) / 2.0;
    }
    let mut sum = vec![1.0];
    for (n, m) in arms {
        let one = null_distribution(*n, *m);
        let mut next = vec![0.0; sum.len() + one.len() - 1];
        for (i, a) in sum.iter().enumerate() {
            for (j, b) in one.iter().enumerate() {
                next[i + j] += a * b;
            }
        }
        sum = next;
    }
    // Symmetric: the upper tail is the lower one, whose terms are the most precise.
    let below = (pairs as f64 - wins).max(0.0) as usize;
    sum.iter().take(below + 1).sum::<f64>().min(1.0)
}

/// The probability that launches of two equal arms win as many pairs over all sizes together as these did, or more.
///
/// A launch measures all sizes, and is fast or slow at all of them, so sizes are not independent of each other;
/// launches are. Where both arms are the same, any of them could have been of either: each way of dealing the launches
/// to the arms is as likely as any other (a permutation test). Each size holds the runs of both arms in the order of
/// their launches; where a size has more of them than another, the first count. Two runs are tied where they differ by
/// at most `apart`.
pub fn chance_of_launches(sizes: &[(&[f64], &[f64])], apart: f64) -> f64 {
    /// The most steps of exact counting. Beyond, the normal approximation of the sum is good enough.
    const EXACT: usize = 1 << 22;
    let fewest = |of: fn(&(&[f64], &[f64])) -> usize| sizes.iter().map(of).min().unwrap_or(0);
    let (n, m) = (fewest(|size| size.0.len()), fewest(|size| size.1.len()));
    if n * m == 0 {
        return 1.0;
    }
    // Twice the pairs that each launch wins against all others: the pairs that an arm wins are the sum of its launches'
    // less what these win among themselves, which is the same however the launches are dealt.
    let mut scores = vec![0_usize; n + m];
    for (first, second) in sizes {
        let runs: Vec<f64> = first[..n].iter().chain(&second[..m]).copied().collect();
        for (score, run) in scores.iter_mut().zip(&runs) {
            let of_all = wins(&runs, &[*run], apart);
            // With itself it is tied.
            *score += (2.0 * of_all) as usize - 1;
        }
    }
    let seen: usize = scores[n..].iter().sum();
    let least = scores.iter().min().copied().unwrap_or(0);
    scores.iter_mut().for_each(|score| *score -= least);
    let seen = seen - m * least;
    let total: usize = scores.iter().sum();
    if m * total * (n + m) > EXACT {
        let all = (n + m) as f64;
        let mean = total as f64 / all;
        let squares: f64 = scores.iter().map(|score| (*score as f64 - mean) * (*score as f64 - mean)).sum();
        let variance = squares * n as f64 * m as f64 / (all * (all - 1.0));
        let deviation = (seen as f64 - 0.5 - m as f64 * mean) / variance.max(f64::MIN_POSITIVE).sqrt();
        return crate::math::erfc(deviation / std::f64::consts::SQRT_2) / 2.0;
    }
    // The number of ways to choose this many launches with this sum of scores.
    let mut ways = vec![vec![0.0; total + 1]; m + 1];
    ways[0][0] = 1.0;
    for score in scores {
        for chosen in (1..=m).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            for sum in score..=total {
                more[0][sum] += fewer[chosen - 1][sum - score];
            }
        }
    }
    ways[m][seen..].iter().sum::<f64>() / ways[m].iter().sum::<f64>()
}

/// The probability that psup reaches `limit` where both arms of `repeats` runs are the same.
pub fn null_rate(repeats: usize, limit: f64) -> f64 {
    let wins = (limit * (repeats * repeats) as f64 - 1e-9).ceil();
    chance(wins, &[(repeats, repeats)])
}

/// The probability that the second of two equal arms wins all pairs: no result is less likely by chance.
pub fn least_chance(n: usize, m: usize) -> f64 {
    null_distribution(n, m)[0]
}

/// The least number of runs in each arm with which a chance of `limit` can be reached.
pub fn least_runs(limit: f64) -> usize {
    (1..64).find(|runs| least_chance(*runs, *runs) <= limit + 1e-9).unwrap_or(64)
}

/// The middle of the ratios second / first over all pairs, as logarithm (Hodges and Lehmann 1963), with the interval
/// that misses equal medians with a probability of at most `miss` at either end: (low, middle, high). `None` where an
/// arm is empty, or where there are too few runs for any interval to be that sure.
pub fn ratio(first: &[f64], second: &[f64], miss: f64) -> Option<(f64, f64, f64)> {
    let mut ratios: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| ln(b / a))).collect();
    ratios.retain(|ratio| ratio.is_finite());
    crate::math::ascending(&mut ratios);
    let middle = crate::math::median(&mut ratios)?;
    let mut below = 0.0;
    let cut = null_distribution(first.len(), second.len()).into_iter().take_while(|p| {
        below += p;
        below <= miss + 1e-9
    });
    if least_chance(first.len(), second.len()) > miss + 1e-9 {
        return None;
    }
    let cut = cut.count().saturating_sub(1).min(ratios.len() / 2);
    Some((ratios[cut], middle, ratios[ratios.len() - 1 - cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arms_reach_the_peers_limit_as_often_as_published() {
        for (repeats, published, digit) in
            [(3, 0.05, 0.001), (5, 0.008, 0.0005), (7, 0.0012, 5e-5), (9, 0.000_25, 5e-6)]
        {
            let rate = null_rate(repeats, 0.95);
            assert!((rate - published).abs() <= digit, "{repeats} repeats: {rate}");
        }
    }

    #[test]
    fn the_distribution_is_that_of_counting_orders() {
        // Two against three: ten orders.
        let expected = [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0].map(|n: f64| n / 10.0);
        assert!(null_distribution(2, 3).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!((null_distribution(31, 29).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(null_distribution(32, 32).iter().all(|p| *p > 0.0));
    }

    #[test]
    fn ties_count_half_and_against_the_second() {
        assert_eq!(psup(&[1.0, 2.0], &[2.0, 3.0]), Some(0.875));
        assert_eq!(psup(&[], &[1.0]), None);
        assert!((chance(3.5, &[(2, 2)]) - chance(3.0, &[(2, 2)])).abs() < 1e-12);
    }

    #[test]
    fn several_sizes_say_more_than_one() {
        let one = chance(9.0, &[(3, 3)]);
        assert!((one - 0.05).abs() < 1e-12);
        assert!((chance(18.0, &[(3, 3), (3, 3)]) - one * one).abs() < 1e-12);
        let many = vec![(9, 9); 200];
        let half: f64 = 200.0 * 81.0 / 2.0;
        assert!((chance(half.ceil(), &many) - 0.5).abs() < 0.01);
    }

    #[test]
    fn launches_that_are_fast_at_all_sizes_count_once() {
        let (slow, fast) = ([1.0, 1.1, 1.2], [1.3, 1.4, 1.5]);
        let of = |sizes: usize| chance_of_launches(&vec![(&slow[..], &fast[..]); sizes], 0.0);
        assert!((of(1) - chance(9.0, &[(3, 3)])).abs() < 1e-12);
        assert!((of(10) - of(1)).abs() < 1e-12);
        // What is high at one size only does not make the whole high.
        let low_elsewhere = [(&slow[..], &fast[..]), (&fast[..], &slow[..])];
        assert!((chance_of_launches(&low_elsewhere, 0.0) - 0.7).abs() < 1e-12);
        assert_eq!(chance_of_launches(&[(&slow[..], &[])], 0.0), 1.0);
        assert_eq!(chance_of_launches(&[(&slow[..], &fast[..])], 1.0), 1.0);
        // Counted out and as good as normal agree.
        let many: Vec<f64> = (0..12).map(|run| f64::from(run * 7 % 12)).collect();
        let lifted: Vec<f64> = many.iter().map(|run| run + 1.5).collect();
        let all = vec![(&many[..], &lifted[..]); 60];
        let [normal, exact] = [&all[..], &all[..1]].map(|sizes| chance_of_launches(sizes, 0.0));
        assert!(exact < 0.5 && (normal - exact).abs() < 0.03, "{normal} {exact}");
    }

    #[test]
    fn the_interval_holds_the_ratio() {
        let slow = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.0, 1.01, 0.99];
        let fast = slow.map(|run| run * 1.1);
        let (low, middle, high) = ratio(&slow, &fast, 0.05).unwrap_or_default();
        assert!((middle - ln(1.1)).abs() < 0.01 && low < middle && middle < high && high - low < 0.05);
        // Two against two runs miss equal medians in one of six cases at either end, three in one of twenty.
        assert!(ratio(&slow[..2], &fast[..2], 0.05).is_none());
        assert!(ratio(&slow[..3], &fast[..3], 0.05).is_some_and(|(low, _, high)| low <= high));
        assert_eq!((least_runs(0.05), least_runs(0.01)), (3, 5));
    }
}
