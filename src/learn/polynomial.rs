//! A ridge on the standardised polynomial of two coordinates.

use super::{
    LearnError,
    linear::{Cholesky, Square, dot},
};

/// A polynomial surface z(x, y), fitted by ridge regression on standardised monomials.
#[derive(Clone, Debug)]
pub struct Polynomial {
    degree: u8,
    monomials: Vec<Standardised>,
    intercept: f64,
}

#[derive(Clone, Copy, Debug)]
struct Standardised {
    mean: f64,
    deviation: f64,
    coefficient: f64,
}

impl Polynomial {
    /// Fits all monomials xⁱ·yʲ with 1 ≤ i + j ≤ `degree`, each standardised, with the penalty `ridge`·‖w‖²
    /// beside the sum of squared errors; the intercept is not penalised.
    ///
    /// # Errors
    /// No rows, or numbers that are not finite.
    pub fn fit(places: &[[f64; 2]], target: &[f64], degree: u8, ridge: f64) -> Result<Self, LearnError> {
        let rows = places.len();
        if rows == 0 || target.len() != rows {
            return Err(LearnError::Shape { what: "targets", found: target.len(), expected: rows.max(1) });
        }
        let lines: Vec<Vec<f64>> = places.iter().map(|place| expand(*place, degree)).collect();
        let width = lines[0].len();
        let count = rows as f64;
        let intercept = target.iter().sum::<f64>() / count;
        let mut columns = Vec::with_capacity(width);
        let mut monomials = Vec::with_capacity(width);
        for index in 0..width {
            let mut column: Vec<f64> = lines.iter().map(|line| line[index]).collect();
            let mean = column.iter().sum::<f64>() / count;
            column.iter_mut().for_each(|v| *v -= mean);
            let variance = dot(&column, &column) / count;
            // A column without variation carries nothing: a deviation of 1 keeps it at zero.
            let deviation = if variance > 1e-24 * (1.0 + mean * mean) { variance.sqrt() } else { 1.0 };
            column.iter_mut().for_each(|v| *v /= deviation);
            columns.push(column);
            monomials.push(Standardised { mean, deviation, coefficient: 0.0 });
        }
        let centred: Vec<f64> = target.iter().map(|z| z - intercept).collect();
        let gram = Square::from_fn(width, |i, j| dot(&columns[i], &columns[j]) + if i == j { ridge } else { 0.0 });
        let right: Vec<f64> = columns.iter().map(|column| dot(column, &centred)).collect();
        let solver = Cholesky::new(gram)
            .ok_or_else(|| LearnError::Trees("the polynomial's equations have no solution".to_owned()))?;
        for (monomial, coefficient) in monomials.iter_mut().zip(solver.solve(&right)) {
            monomial.coefficient = coefficient;
        }
        Ok(Self { degree, monomials, intercept })
    }

    /// The height of the surface.
    #[must_use]
    pub fn predict(&self, place: [f64; 2]) -> f64 {
        let terms = expand(place, self.degree);
        self.monomials
            .iter()
            .zip(terms)
            .fold(self.intercept, |sum, (m, term)| sum + m.coefficient * (term - m.mean) / m.deviation)
    }
}

fn expand([x, y]: [f64; 2], degree: u8) -> Vec<f64> {
    let power = |base: f64, exponent: u8| (0..exponent).fold(1.0, |product, _| product * base);
    (1..=degree).flat_map(|total| (0..=total).map(move |j| power(x, total - j) * power(y, j))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_cubic_again() -> Result<(), LearnError> {
        let truth = |[x, y]: [f64; 2]| 2.0 + x - 0.5 * y + 0.25 * x * y - 0.01 * x * x * x;
        let places: Vec<[f64; 2]> = (0..80).map(|i| [f64::from(i % 10), f64::from(i / 10)]).collect();
        let target: Vec<f64> = places.iter().map(|p| truth(*p)).collect();
        let surface = Polynomial::fit(&places, &target, 3, 1e-9)?;
        assert!((surface.predict([4.5, 3.5]) - truth([4.5, 3.5])).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn one_point_is_a_constant() -> Result<(), LearnError> {
        let surface = Polynomial::fit(&[[3.0, 1.0]], &[7.0], 3, 1e-2)?;
        assert!((surface.predict([9.0, 9.0]) - 7.0).abs() < 1e-12);
        Ok(())
    }
}
