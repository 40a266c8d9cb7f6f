//! A Gaussian process over the cells of a matrix: each row is something that was tried, each column a task on which it
//! was measured.
//!
//! Every row is measured in all columns or in none. The covariance of two cells is (covariance of their rows) ×
//! (correlation of their columns), plus noise. In the basis of the eigenvectors of the columns' correlation the columns
//! are independent, so one Cholesky factor over the measured rows for each column gives the exact solution (Bonilla,
//! Chai and Williams, "Multi-task Gaussian process prediction", NIPS 2007; Saatçi 2011, chapter 5). The mean of each
//! column and the variance have their most likely values.

use super::linear::{Cholesky, Eigen, Square, dot};
use crate::math::ln;

/// The eigendecomposition of the columns' correlation.
#[derive(Clone, Debug)]
pub struct Columns {
    eigen: Eigen,
}

impl Columns {
    /// Decomposes a correlation matrix.
    pub fn new(correlation: Square) -> Self {
        let mut eigen = Eigen::new(correlation);
        // Rounding can make an eigenvalue slightly negative.
        eigen.values.iter_mut().for_each(|value| *value = value.max(0.0));
        Self { eigen }
    }

    fn count(&self) -> usize {
        self.eigen.values.len()
    }
}

/// What is known of a process' variance before anything was measured: as if `cells` had been measured and had shown
/// this variance (an inverse gamma prior).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VarianceBefore {
    /// How many cells it counts for; 0 where nothing is known.
    pub cells: f64,
    /// In the square of the heights' unit; above 0 where `cells` is.
    pub variance: f64,
}

/// A fitted process.
#[derive(Clone, Debug)]
pub struct MatrixProcess<'a> {
    columns: &'a Columns,
    means: Vec<f64>,
    /// For each eigenvector the Cholesky factor over the rows, and the weights of the rows.
    factors: Vec<(Cholesky, Vec<f64>)>,
    variance: f64,
    deviance: f64,
}

impl<'a> MatrixProcess<'a> {
    /// Fits `rows`, each with a height for each column. `covariance` of the rows and `noise` are in units of the
    /// variance. `None` without rows, or if the covariance is not positive definite.
    pub fn fit(
        columns: &'a Columns,
        rows: &[Vec<f64>],
        covariance: &Square,
        noise: f64,
        before: VarianceBefore,
    ) -> Option<Self> {
        let (n, m) = (rows.len(), columns.count());
        if n == 0 || covariance.size != n || rows.iter().any(|row| row.len() != m) {
            return None;
        }
        let means: Vec<f64> = (0..m).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n as f64).collect();
        let (mut quadratic, mut log_determinant) = (0.0, 0.0);
        let mut factors = Vec::with_capacity(m);
        for (value, vector) in columns.eigen.values.iter().zip(columns.eigen.vectors.values.chunks_exact(m)) {
            let rotated: Vec<f64> = rows
                .iter()
                .map(|row| row.iter().zip(&means).zip(vector).map(|((height, mean), v)| (height - mean) * v).sum())
                .collect();
            let factor = Cholesky::new(Square::from_fn(n, |i, j| {
                covariance.values[i * n + j] * value + if i == j { noise } else { 0.0 }
            }))?;
            let white = factor.forward(&rotated);
            quadratic += dot(&white, &white);
            log_determinant += factor.diagonal().map(|d| 2.0 * ln(d)).sum::<f64>();
            let weights = factor.solve(&rotated);
            factors.push((factor, weights));
        }
        let cells = (n * m) as f64 + before.cells;
        let variance = ((quadratic + before.cells * before.variance) / cells).max(1e-12);
        let of_before = if before.cells > 0.0 { before.cells * ln(before.variance) } else { 0.0 };
        Some(Self { columns, means, factors, variance, deviance: cells * ln(variance) + log_determinant - of_before })
    }

    /// Minus twice the log likelihood, up to a constant.
    pub fn deviance(&self) -> f64 {
        self.deviance
    }

    /// The most likely variance of a cell whose row has the variance 1, in the square of the heights' unit.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Mean and standard deviation, in each column, of a row that was not measured. `covariances` with the measured
    /// rows and its variance `own` are in units of the variance.
    pub fn predict(&self, covariances: &[f64], own: f64) -> Vec<(f64, f64)> {
        let m = self.columns.count();
        let rotated: Vec<(f64, f64)> = self
            .factors
            .iter()
            .zip(&self.columns.eigen.values)
            .map(|((factor, weights), value)| {
                let white = factor.forward(covariances);
                (value * dot(covariances, weights), (value * own - value * value * dot(&white, &white)).max(0.0))
            })
            .collect();
        let column = |c: usize| {
            let mut sums = (self.means[c], 0.0);
            for ((mean, variance), vector) in rotated.iter().zip(self.columns.eigen.vectors.values.chunks_exact(m)) {
                sums.0 += mean * vector[c];
                sums.1 += variance * vector[c] * vector[c];
            }
            (sums.0, (sums.1 * self.variance).sqrt())
        };
        (0..m).map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{exp, sin};

    fn correlation(size: usize, length: f64) -> Square {
        Square::from_fn(size, |i, j| exp(-((i as f64 - j as f64) / length).abs()))
    }

    fn height(row: f64, column: usize) -> f64 {
        column as f64 + sin(row * 0.7) + 0.1 * row * sin(column as f64)
    }

    #[test]
    fn agrees_with_the_process_over_all_cells() {
        let (n, m, noise) = (4, 3, 0.01);
        let (of_rows, of_columns) = (correlation(n + 1, 2.0), correlation(m, 1.5));
        let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..m).map(|c| height(i as f64, c)).collect()).collect();
        let known = Square::from_fn(n, |i, j| of_rows.values[i * (n + 1) + j]);
        let columns = Columns::new(of_columns.clone());
        let process =
            MatrixProcess::fit(&columns, &rows, &known, noise, VarianceBefore::default()).expect("it is a covariance");
        let to_new: Vec<f64> = (0..n).map(|i| of_rows.values[i * (n + 1) + n]).collect();
        let predicted = process.predict(&to_new, 1.0);

        let k = |a: usize, b: usize| of_rows.values[a / m * (n + 1) + b / m] * of_columns.values[a % m * m + b % m];
        let cells = n * m;
        let full =
            Cholesky::new(Square::from_fn(cells, |a, b| k(a, b) + if a == b { noise } else { 0.0 })).expect("so");
        let residual: Vec<f64> = (0..cells).map(|a| rows[a / m][a % m] - process.means[a % m]).collect();
        let weights = full.solve(&residual);
        let variance = dot(&weights, &residual) / cells as f64;
        for (c, (mean, deviation)) in predicted.into_iter().enumerate() {
            let to: Vec<f64> = (0..cells).map(|a| k(a, n * m + c)).collect();
            let white = full.forward(&to);
            assert!((mean - process.means[c] - dot(&to, &weights)).abs() < 1e-9);
            assert!((deviation * deviation - variance * (1.0 - dot(&white, &white))).abs() < 1e-9);
        }
    }

    #[test]
    fn invalid_covariances_are_refused() {
        let columns = Columns::new(correlation(2, 1.0));
        assert!(MatrixProcess::fit(&columns, &[], &correlation(0, 1.0), 0.1, VarianceBefore::default()).is_none());
        assert!(
            MatrixProcess::fit(&columns, &[vec![1.0]], &correlation(1, 1.0), 0.1, VarianceBefore::default()).is_none()
        );
        assert!(
            MatrixProcess::fit(&columns, &[vec![1.0, f64::NAN]], &correlation(1, 1.0), 0.1, VarianceBefore::default())
                .is_some()
        );
    }
}
