//! Ridge regression on the standardised polynomial of two coordinates.

use super::{
    LearnError,
    linear::{Cholesky, Square, dot},
};

/// A polynomial surface z(x, y), fitted by ridge regression on the standardised monomials of the standardised
/// coordinates.
#[derive(Clone, Debug)]
pub struct Polynomial {
    degree: u8,
    axes: [Standard; 2],
    monomials: Vec<Standard>,
    intercept: f64,
}

/// Mean and standard deviation of a column, and the coefficient of a monomial.
#[derive(Clone, Copy, Debug)]
struct Standard {
    mean: f64,
    deviation: f64,
    coefficient: f64,
}

impl Standard {
    fn of(column: &[f64]) -> Self {
        let count = column.len() as f64;
        let mean = column.iter().sum::<f64>() / count;
        let variance = column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        // A constant column carries no information: a deviation of 1 keeps it at zero.
        let deviation = if variance > 1e-24 * (1.0 + mean * mean) { variance.sqrt() } else { 1.0 };
        Self { mean, deviation, coefficient: 0.0 }
    }

    fn apply(&self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }
}

impl Polynomial {
    /// Fits all monomials xⁱ·yʲ with 1 ≤ i + j ≤ `degree`, each standardised, with the penalty `ridge`·‖w‖² beside the
    /// sum of squared errors; the intercept is not penalised.
    ///
    /// # Errors
    /// Returns a [`LearnError`] without rows, or for numbers that are not finite.
    pub fn fit(places: &[[f64; 2]], target: &[f64], degree: u8, ridge: f64) -> Result<Self, LearnError> {
        let rows = places.len();
        if rows == 0 || target.len() != rows {
            return Err(LearnError::Shape { what: "targets", found: target.len(), expected: rows.max(1) });
        }
        let axes = [0, 1].map(|axis| Standard::of(&places.iter().map(|place| place[axis]).collect::<Vec<_>>()));
        let lines: Vec<Vec<f64>> = places.iter().map(|place| expand(&axes, *place, degree)).collect();
        let width = lines[0].len();
        let intercept = target.iter().sum::<f64>() / rows as f64;
        let (mut columns, mut monomials) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for index in 0..width {
            let column: Vec<f64> = lines.iter().map(|line| line[index]).collect();
            let monomial = Standard::of(&column);
            columns.push(column.into_iter().map(|v| monomial.apply(v)).collect::<Vec<_>>());
            monomials.push(monomial);
        }
        let centred: Vec<f64> = target.iter().map(|z| z - intercept).collect();
        let gram = Square::from_fn(width, |i, j| dot(&columns[i], &columns[j]) + if i == j { ridge } else { 0.0 });
        let right: Vec<f64> = columns.iter().map(|column| dot(column, &centred)).collect();
        let solver = Cholesky::new(gram)
            .ok_or_else(|| LearnError::Trees("the polynomial's equations have no solution".to_owned()))?;
        for (monomial, coefficient) in monomials.iter_mut().zip(solver.solve(&right)) {
            monomial.coefficient = coefficient;
        }
        Ok(Self { degree, axes, monomials, intercept })
    }

    /// The height of the surface at a place.
    pub fn predict(&self, place: [f64; 2]) -> f64 {
        let terms = expand(&self.axes, place, self.degree);
        self.monomials
            .iter()
            .zip(terms)
            .fold(self.intercept, |sum, (monomial, term)| sum + monomial.coefficient * monomial.apply(term))
    }
}

fn expand(axes: &[Standard; 2], place: [f64; 2], degree: u8) -> Vec<f64> {
    let [x, y] = [axes[0].apply(place[0]), axes[1].apply(place[1])];
    let power = |base: f64, exponent: u8| (0..exponent).fold(1.0, |product, _| product * base);
    (1..=degree).flat_map(|total| (0..=total).map(move |j| power(x, total - j) * power(y, j))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_a_cubic() -> Result<(), LearnError> {
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
