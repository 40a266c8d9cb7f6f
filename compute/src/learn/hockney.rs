//! Hockney's law of a transfer as a surface: time = latency + size / bandwidth, both depending on a second coordinate.
//!
//! Over x = log2 size and a second coordinate y the height ln(size / time) is
//! x·ln 2 − ln(exp(a(y)) + exp(b(y) + x·ln 2)), up to the unit of time: a is the logarithm of the latency and b of the
//! time per byte, each a parabola in y (Hockney 1994, "The communication challenge for MPP", for a fixed y). A size
//! far below the bend gets slope 1, one far above it slope 0, so the surface stays sensible beyond the measured sizes.
//!
//! Fitted by least squares in the logarithm with the Levenberg–Marquardt method (Marquardt 1963); a weak ridge on
//! all but the two constants keeps thin data solvable.

use std::f64::consts::LN_2;

use super::{
    LearnError,
    linear::{Cholesky, Square, dot},
};
use crate::{
    math::{exp, ln},
    order::CompactSort,
};

/// Coefficients of a parabola.
const TERMS: usize = 3;
/// Coefficients of both parabolas.
const WIDTH: usize = 2 * TERMS;
/// The penalty on the square of every coefficient except the constants.
const RIDGE: f64 = 0.1;
/// The most iterations, ten times as many as any sweep has needed.
const MOST_STEPS: usize = 200;

/// A fitted surface of Hockney's law.
#[derive(Clone, Debug)]
pub struct Hockney {
    middle: f64,
    mean: f64,
    deviation: f64,
    coefficients: [f64; WIDTH],
}

impl Hockney {
    /// Fits the surface to heights `target` at places (log2 size, y).
    ///
    /// # Errors
    /// Returns [`LearnError::Shape`] without rows, or if the numbers of places and targets differ.
    pub fn fit(places: &[[f64; 2]], target: &[f64]) -> Result<Self, LearnError> {
        let rows = places.len();
        if rows == 0 || target.len() != rows {
            return Err(LearnError::Shape { what: "targets", found: target.len(), expected: rows.max(1) });
        }
        let average = |of: &dyn Fn(&[f64; 2]) -> f64| places.iter().map(of).sum::<f64>() / rows as f64;
        let (middle, mean) = (average(&|p| p[0]), average(&|p| p[1]));
        let variance = average(&|p| (p[1] - mean) * (p[1] - mean));
        let deviation = if variance > 1e-18 { variance.sqrt() } else { 1.0 };
        let mut surface = Self { middle, mean, deviation, coefficients: [0.0; WIDTH] };
        (surface.coefficients[0], surface.coefficients[TERMS]) = surface.start(places, target);
        surface.descend(places, target);
        Ok(surface)
    }

    /// The height of the surface: ln(size / time).
    pub fn predict(&self, place: [f64; 2]) -> f64 {
        self.height_and_shares(place).0
    }

    /// Starting values for constant latency and time per byte: as if latency were all of the time of the smallest third
    /// of sizes, and transfer all of that of the largest third.
    fn start(&self, places: &[[f64; 2]], target: &[f64]) -> (f64, f64) {
        let mut by_size: Vec<(f64, f64)> =
            places.iter().zip(target).map(|(place, height)| ((place[0] - self.middle) * LN_2, *height)).collect();
        by_size.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
        let third = by_size.len().div_ceil(3);
        let latency = by_size[..third].iter().map(|(size, height)| size - height).sum::<f64>() / third as f64;
        let per_byte = -by_size[by_size.len() - third..].iter().map(|(_, height)| height).sum::<f64>() / third as f64;
        (latency, per_byte)
    }

    /// The powers of the standardised y.
    fn powers(&self, y: f64) -> [f64; TERMS] {
        let y = (y - self.mean) / self.deviation;
        [1.0, y, y * y]
    }

    /// The height, and the shares of latency and transfer in the time.
    fn height_and_shares(&self, [x, y]: [f64; 2]) -> (f64, [f64; 2]) {
        let powers = self.powers(y);
        let size = (x - self.middle) * LN_2;
        let latency = dot(&self.coefficients[..TERMS], &powers);
        let transfer = dot(&self.coefficients[TERMS..], &powers) + size;
        let larger = latency.max(transfer);
        let parts = [exp(latency - larger), exp(transfer - larger)];
        let sum = parts[0] + parts[1];
        (size - larger - ln(sum), [parts[0] / sum, parts[1] / sum])
    }

    /// The penalised sum of squares that is minimised.
    fn loss(&self, places: &[[f64; 2]], target: &[f64]) -> f64 {
        let errors = places.iter().zip(target).map(|(place, height)| height - self.predict(*place));
        let penalty = self.coefficients.iter().enumerate().map(|(i, c)| ridge(i) * c * c).sum::<f64>();
        errors.map(|e| e * e).sum::<f64>() + penalty
    }

    /// The Levenberg–Marquardt method: Gauss–Newton steps, damped until they reduce the loss.
    fn descend(&mut self, places: &[[f64; 2]], target: &[f64]) {
        let mut loss = self.loss(places, target);
        let mut damping = 1e-3;
        for _ in 0..MOST_STEPS {
            let (gram, right) = self.normal_equations(places, target);
            let Some(step) = solve(&gram, &right, damping) else { return };
            let mut next = self.clone();
            next.coefficients.iter_mut().zip(step).for_each(|(c, s)| *c += s);
            let next_loss = next.loss(places, target);
            if next_loss < loss {
                let gain = loss - next_loss;
                (*self, loss) = (next, next_loss);
                damping = (damping * 0.1).max(1e-9);
                if gain <= 1e-10 * loss {
                    return;
                }
            } else {
                damping *= 10.0;
                if damping > 1e9 {
                    return;
                }
            }
        }
    }

    /// The Gram matrix (lower triangle) and the right-hand side of the Gauss–Newton step.
    fn normal_equations(&self, places: &[[f64; 2]], target: &[f64]) -> ([[f64; WIDTH]; WIDTH], [f64; WIDTH]) {
        let mut gram = [[0.0; WIDTH]; WIDTH];
        let mut right = [0.0; WIDTH];
        for (place, height) in places.iter().zip(target) {
            let (predicted, shares) = self.height_and_shares(*place);
            let powers = self.powers(place[1]);
            let slopes: [f64; WIDTH] = std::array::from_fn(|i| -shares[i / TERMS] * powers[i % TERMS]);
            for i in 0..WIDTH {
                right[i] += slopes[i] * (height - predicted);
                for j in 0..=i {
                    gram[i][j] += slopes[i] * slopes[j];
                }
            }
        }
        for i in 0..WIDTH {
            gram[i][i] += ridge(i);
            right[i] -= ridge(i) * self.coefficients[i];
        }
        (gram, right)
    }
}

fn ridge(coefficient: usize) -> f64 {
    if coefficient.is_multiple_of(TERMS) { 0.0 } else { RIDGE }
}

fn solve(gram: &[[f64; WIDTH]; WIDTH], right: &[f64; WIDTH], damping: f64) -> Option<Vec<f64>> {
    let lower = |i: usize, j: usize| gram[i.max(j)][i.min(j)];
    // Marquardt's scaling of the diagonal; the small absolute term keeps it positive where the slopes are zero.
    let damped = Square::from_fn(WIDTH, |i, j| {
        if i == j { lower(i, i) * (1.0 + damping) + 1e-9 * (1.0 + damping) } else { lower(i, j) }
    });
    Cholesky::new(damped).map(|cholesky| cholesky.solve(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<[f64; 2]> {
        (0..96).map(|i| [12.0 + f64::from(i % 16), f64::from(i / 16)]).collect()
    }

    /// ln(size / time) for a latency of 20 us and 1 GB/s per channel, 2^y channels.
    fn transfer([x, y]: [f64; 2]) -> f64 {
        let size = crate::math::exp2(x);
        ln(size / (20.0 + size / (1000.0 * crate::math::exp2(y))))
    }

    #[test]
    fn recovers_latency_and_bandwidth() -> Result<(), LearnError> {
        let places = grid();
        let target: Vec<f64> = places.iter().map(|p| transfer(*p)).collect();
        let surface = Hockney::fit(&places, &target)?;
        for place in places {
            assert!((surface.predict(place) - transfer(place)).abs() < 0.01, "{place:?}");
        }
        // Four octaves beyond either end it still holds.
        for place in [[8.0, 2.0], [32.0, 2.0]] {
            assert!((surface.predict(place) - transfer(place)).abs() < 0.02, "{place:?}");
        }
        Ok(())
    }

    #[test]
    fn thin_data_is_no_problem() -> Result<(), LearnError> {
        for count in 1..6 {
            for [dx, dy] in [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
                let places: Vec<[f64; 2]> = (0..count).map(|i| [12.0 + dx * f64::from(i), dy * f64::from(i)]).collect();
                let target: Vec<f64> = places.iter().map(|p| transfer(*p)).collect();
                let surface = Hockney::fit(&places, &target)?;
                assert!(places.iter().zip(&target).all(|(p, z)| (surface.predict(*p) - z).abs() < 0.5));
                assert!(surface.predict([30.0, 3.0]).is_finite());
            }
        }
        assert!(Hockney::fit(&[], &[]).is_err());
        Ok(())
    }

    #[test]
    fn heights_without_a_bend_are_fitted() -> Result<(), LearnError> {
        let places = grid();
        for slope in [-0.5, 0.0, 0.5, 1.0, 2.0] {
            let target: Vec<f64> = places.iter().map(|p| slope * p[0]).collect();
            let surface = Hockney::fit(&places, &target)?;
            assert!(places.iter().all(|p| surface.predict(*p).is_finite()));
        }
        Ok(())
    }
}
