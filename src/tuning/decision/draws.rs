//! Seeded draws of the errors of medians of a few runs: a bootstrap over the residuals of all repeats of a collective
//! and scale (Efron 1979), or normal numbers where there are too few residuals.

use std::collections::BTreeMap;

use crate::math::{Stream, ascending, exp2, log2, median};

/// The number of rounds of draws.
pub const ROUNDS: usize = 2000;

/// The number of medians that are drawn independently in each round. If more are compared, some share draws.
const COLUMNS: usize = 64;

/// The most runs of a median that are drawn. The errors of medians of more runs are those of this many, scaled by the
/// square root of the ratio.
const MAX_RUNS: u32 = 7;

const SEED: u64 = 0x5EED_0FD4_A500;

/// Errors of medians, in standard deviations of one run.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    /// By number of runs: [`ROUNDS`] times [`COLUMNS`].
    errors: BTreeMap<u32, Vec<f32>>,
    /// A normal number per round.
    normal: Vec<f32>,
}

impl Draws {
    /// Draws errors of medians of the numbers of runs in `counts`, from `residuals` or, without any, from normal
    /// numbers.
    pub fn new(residuals: &[f64], counts: &[u32]) -> Self {
        let mut stream = Stream::new(SEED);
        let normal = (0..ROUNDS).map(|_| stream.normal() as f32).collect();
        let mut errors = BTreeMap::new();
        let mut drawn = Vec::new();
        for runs in counts.iter().map(|n| (*n).clamp(1, MAX_RUNS)) {
            errors.entry(runs).or_insert_with(|| {
                let mut draw = || {
                    drawn.clear();
                    drawn.extend((0..runs).map(|_| {
                        residuals.get(stream.below(residuals.len())).copied().unwrap_or_else(|| stream.normal())
                    }));
                    median(&mut drawn).unwrap_or(0.0) as f32
                };
                let mut errors: Vec<f32> = (0..ROUNDS * COLUMNS).map(|_| draw()).collect();
                // Medians of skewed residuals are biased. The bias is common to all medians and cancels in differences,
                // so it is subtracted.
                let mean = errors.iter().map(|e| f64::from(*e)).sum::<f64>() / errors.len() as f64;
                errors.iter_mut().for_each(|error| *error -= mean as f32);
                errors
            });
        }
        Self { errors, normal }
    }

    /// The errors of the median of `runs` runs, a round after the other, in standard deviations of one run; `column`
    /// tells medians apart. Where so many were not drawn, those of fewer, or else of more, stand in.
    pub fn errors(&self, runs: u32, column: usize) -> impl Iterator<Item = f32> {
        let found = self.errors.range(..=runs).next_back().or_else(|| self.errors.first_key_value());
        let (drawn, errors) = found.map_or((runs, &[][..]), |(drawn, errors)| (*drawn, errors.as_slice()));
        // The error of a median falls with the root of its runs.
        let scale = (f64::from(drawn) / f64::from(runs.max(1))).sqrt() as f32;
        // Column 0 is the default's: no other median may share its errors.
        let column = if column < COLUMNS { column } else { 1 + column % (COLUMNS - 1) };
        errors.iter().skip(column).step_by(COLUMNS).map(move |error| error * scale)
    }

    /// By how much a deviation that is known with so many degrees of freedom may be too small, for each round:
    /// √(ν/χ²), with χ² after Wilson and Hilferty (1931).
    pub fn widening(&self, freedom: f64) -> impl Iterator<Item = f32> {
        let part = 2.0 / (9.0 * freedom);
        self.normal.iter().map(move |normal| {
            // The cube root of χ²/ν. With few degrees of freedom the approximation reaches 0, which would widen without
            // limit.
            let root = (1.0 - part + f64::from(*normal) * part.sqrt()).max(0.3);
            // root^(-3/2)
            exp2(-1.5 * log2(root)) as f32
        })
    }
}

/// The value that `share` of the numbers do not exceed. 0 for none.
pub fn quantile(values: &[f32], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = ((values.len() as f64 * share).ceil() as usize).clamp(1, last + 1) - 1;
    let mut values: Vec<f64> = values.iter().copied().map(f64::from).collect();
    ascending(&mut values);
    values[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(values: impl Iterator<Item = f32>) -> f64 {
        let (n, squares) = values.fold((0.0, 0.0), |(n, s), v| (n + 1.0, s + f64::from(v) * f64::from(v)));
        f64::sqrt(squares / n)
    }

    #[test]
    fn medians_err_as_theory_says() {
        let draws = Draws::new(&[], &[1, 3, 60]);
        // The variance of the median of three normal numbers is 0.4487.
        for (runs, expected) in [(1, 1.0), (3, 0.4487_f64.sqrt()), (60, (std::f64::consts::FRAC_PI_2 / 60.0).sqrt())] {
            let found = deviation(draws.errors(runs, 5));
            assert!((found / expected - 1.0).abs() < 0.05, "{runs}: {found} {expected}");
        }
        assert_eq!(draws.errors(3, 0).count(), ROUNDS);
        assert_eq!(draws.errors(2, 0).count(), ROUNDS);
    }

    #[test]
    fn few_degrees_of_freedom_widen() {
        let draws = Draws::new(&[], &[1]);
        let t = |freedom| {
            let values: Vec<f32> = draws.errors(1, 0).zip(draws.widening(freedom)).map(|(e, w)| e * w).collect();
            quantile(&values, 0.95)
        };
        // Student's t: 2.132 with 4 degrees of freedom, 1.645 with very many.
        assert!((t(4.0) - 2.13).abs() < 0.2, "{}", t(4.0));
        assert!((t(1e9) - 1.645).abs() < 0.1, "{}", t(1e9));
    }

    #[test]
    fn a_quantile_is_the_smallest_value_that_so_many_do_not_exceed() {
        let of = |share| quantile(&[3.0, 1.0, 2.0, 4.0], share);
        assert_eq!([0.0, 0.2, 0.5, 0.51, 0.75, 1.0].map(of), [1.0, 1.0, 2.0, 3.0, 3.0, 4.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn no_other_median_shares_the_errors_of_the_default() {
        let draws = Draws::new(&[], &[1]);
        let of_default: Vec<f32> = draws.errors(1, 0).collect();
        for column in 1..4 * COLUMNS {
            let errors: Vec<f32> = draws.errors(1, column).collect();
            assert!(errors.len() == ROUNDS && errors != of_default, "{column}");
        }
    }

    #[test]
    fn medians_of_skewed_residuals_err_to_both_sides_alike() {
        let draws = Draws::new(&[-0.5, -0.5, -0.5, -0.5, 2.0], &[3]);
        let errors: Vec<f32> = (0..COLUMNS).flat_map(|column| draws.errors(3, column)).collect();
        let mean = errors.iter().map(|error| f64::from(*error)).sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 1e-4, "{mean}");
        // Two of three are the far one with a probability of 0.104.
        let far = errors.iter().filter(|error| **error > 1.0).count() as f64 / errors.len() as f64;
        assert!((far - 0.104).abs() < 0.01, "{far}");
    }
}
