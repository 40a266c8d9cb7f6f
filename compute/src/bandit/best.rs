//! The probability of each arm to be the best, by quadrature.

use super::statistics::NormalInverseGamma;
use crate::math::{exp, ln};

/// Quadrature nodes per arm.
const NODES: usize = 96;
/// The range of the nodes of an arm, in scales of its marginal distribution.
const REACH: f64 = 60.0;

/// P(the mean of arm i is the lowest), for arms whose means have independent t distributions: `∫ f_i(x) Π_{j≠i} (1 −
/// F_j(x)) dx`, by the trapezoidal rule over the nodes of all arms, which are dense about each arm's mean. Absolute
/// error below 1e-3.
pub fn probabilities(arms: &[NormalInverseGamma]) -> Vec<f64> {
    let count = arms.len();
    if count < 2 {
        return vec![1.0; count];
    }
    // If all values of an arm are equal its scale is 0; the nodes still have to differ.
    let size = arms.iter().map(|arm| arm.mean.abs()).fold(1e-300, f64::max);
    let scales: Vec<f64> = arms.iter().map(|arm| arm.scale().max(size * 1e-12)).collect();
    let mut nodes = Vec::with_capacity(count * NODES);
    // Spaced by the hyperbolic sine: dense about the mean, and far enough out for the heavy tails of a t distribution.
    let end = libm::asinh(REACH);
    for (arm, scale) in arms.iter().zip(&scales) {
        for node in 0..NODES {
            let place = end * (2.0 * node as f64 / (NODES - 1) as f64 - 1.0);
            nodes.push(arm.mean + scale * libm::sinh(place));
        }
    }
    crate::math::ascending(&mut nodes);
    let length = nodes.len();
    // `densities` has the density at each node, `above` the probability above it.
    let mut densities = vec![0.0; count * length];
    let mut above = vec![0.0; count * length];
    for (index, (arm, scale)) in arms.iter().zip(&scales).enumerate() {
        let freedom = arm.freedom();
        let power = -(freedom + 1.0) / 2.0;
        let density = &mut densities[index * length..][..length];
        for (value, node) in density.iter_mut().zip(&nodes) {
            let t = (node - arm.mean) / scale;
            *value = exp(power * ln(1.0 + t * t / freedom)) / scale;
        }
        let above = &mut above[index * length..][..length];
        let mut sum = 0.0;
        for at in (0..length - 1).rev() {
            sum += (nodes[at + 1] - nodes[at]) * (density[at] + density[at + 1]) / 2.0;
            above[at] = sum;
        }
        if sum > 0.0 {
            above.iter_mut().for_each(|share| *share /= sum);
        }
    }
    let mut best = vec![0.0; count];
    for (index, best) in best.iter_mut().enumerate() {
        let own = &above[index * length..][..length];
        for at in 0..length - 1 {
            let mut others = [1.0, 1.0];
            for other in (0..count).filter(|other| *other != index) {
                let of = &above[other * length + at..];
                others = [others[0] * of[0], others[1] * of[1]];
            }
            *best += (own[at] - own[at + 1]) * (others[0] + others[1]) / 2.0;
        }
    }
    let sum: f64 = best.iter().sum();
    if sum > 0.0 {
        best.iter_mut().for_each(|share| *share /= sum);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bandit::{statistics::Statistics, student},
        math::Stream,
    };

    #[test]
    fn agrees_with_draws() {
        let cases: [&[(f64, f64, f64)]; 5] = [
            &[(16.0, 10.0, 15.0), (16.0, 9.0, 15.0), (16.0, 11.0, 15.0), (16.0, 10.5, 15.0)],
            &[(1.0, 10.0, 0.0), (1.0, 9.0, 0.0), (300.0, 9.6, 300.0)],
            &[(5.0, 10.0, 3.0), (2000.0, 10.0, 2.0)],
            &[(64.0, 10.0, 64.0), (64.0, 10.0, 64.0), (64.0, 10.0, 64.0), (64.0, 9.95, 64.0), (2.0, 9.0, 9.0)],
            &[(7.5, 200.0, 50_000.0), (3.2, 180.0, 20_000.0), (9.9, 190.0, 90_000.0)],
        ];
        let mut stream = Stream::new(3);
        for arms in cases {
            let arms: Vec<NormalInverseGamma> = arms
                .iter()
                .map(|(n, mean, squares)| {
                    NormalInverseGamma::weak(10.0).posterior(&Statistics { n: *n, mean: *mean, squares: *squares })
                })
                .collect();
            const DRAWS: usize = 400_000;
            let mut wins = vec![0.0; arms.len()];
            for _ in 0..DRAWS {
                let values = arms.iter().map(|arm| arm.mean + arm.scale() * student::draw(arm.freedom(), &mut stream));
                let best = values.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(arm, _)| arm);
                wins[best] += 1.0 / DRAWS as f64;
            }
            for (said, drawn) in probabilities(&arms).iter().zip(&wins) {
                // A thousandth, and three standard errors of the draws.
                assert!((said - drawn).abs() < 1e-3 + 3.0 * (drawn / DRAWS as f64).sqrt(), "{said} {drawn}");
            }
        }
    }

    #[test]
    fn equal_values_give_finite_probabilities() {
        let arm = NormalInverseGamma { mean: 5.0, kappa: 10.0, alpha: 4.0, beta: 0.0 };
        let halves = probabilities(&[arm, arm]);
        assert!((halves[0] - 0.5).abs() < 1e-9, "{halves:?}");
        let sure = probabilities(&[arm, NormalInverseGamma { mean: 4.0, ..arm }]);
        assert!(sure[1] > 0.999, "{sure:?}");
    }
}
