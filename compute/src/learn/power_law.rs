//! A power law with boosted trees on its residuals: ridge regression of ln y on logarithms of features.
//!
//! Between the samples the trees correct the power law; beyond them their correction stays that of the nearest sample,
//! and only the power law extrapolates.

use serde::{Deserialize, Serialize};

use super::{
    LearnError, Table,
    boosting::{self, Boosting, Histogram, Objective},
    linear::{Cholesky, Square, dot},
    step_function::StepFunction,
};
use crate::progress::Progress;

/// The ridge penalty per row: it shrinks the weights of standardised features by a thousandth.
const PENALTY_PER_ROW: f64 = 1e-3;

/// The boosting of the residuals: 300 rounds of depth 6, η 0.1, all rows and features.
const RESIDUAL: boosting::Parameters = boosting::Parameters {
    objective: Objective::Histogram(Histogram {
        lambda: 1.0,
        gamma: 0.0,
        min_child_weight: 1.0,
        subsample: 1.0,
        colsample_bytree: 1.0,
        max_bin: None,
    }),
    stages: 300,
    depth: 6,
    learning_rate: 0.1,
    min_samples_split: 2,
    min_samples_leaf: 1,
    early_stopping: 0,
    seed: 0,
};

/// Ridge regression (Hoerl, Kennard 1970) on standardised features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    /// The weights of the features in their original scale.
    weights: Vec<f64>,
    intercept: f64,
}

impl Ridge {
    /// Fits to `target`, one number per row. Constant features get no weight.
    ///
    /// # Errors
    /// Returns a [`LearnError`] without a row, for numbers that are not finite, or for shapes that do not match.
    pub fn fit(table: &Table, target: &[f64]) -> Result<Self, LearnError> {
        table.check(target, 1)?;
        let (rows, width) = (table.rows(), table.names().len());
        let count = rows as f64;
        let mean_of = |column: usize| (0..rows).map(|row| table.row(row)[column]).sum::<f64>() / count;
        let means: Vec<f64> = (0..width).map(mean_of).collect();
        let deviation_of = |column: usize| {
            let off = |row: usize| table.row(row)[column] - means[column];
            ((0..rows).map(|row| off(row) * off(row)).sum::<f64>() / count).sqrt()
        };
        // A deviation at the level of rounding errors means a constant feature.
        let kept: Vec<(usize, f64)> = (0..width)
            .map(|column| (column, deviation_of(column)))
            .filter(|(column, deviation)| *deviation > 1e-9 * (1.0 + means[*column].abs()))
            .collect();
        let standard: Vec<Vec<f64>> = kept
            .iter()
            .map(|(column, deviation)| {
                (0..rows).map(|row| (table.row(row)[*column] - means[*column]) / deviation).collect()
            })
            .collect();
        let mean = target.iter().sum::<f64>() / count;
        let centred: Vec<f64> = target.iter().map(|y| y - mean).collect();
        let normal = Square::from_fn(kept.len(), |a, b| {
            dot(&standard[a], &standard[b]) + if a == b { PENALTY_PER_ROW * count } else { 0.0 }
        });
        let right: Vec<f64> = standard.iter().map(|column| dot(column, &centred)).collect();
        let solved = Cholesky::new(normal).map(|factor| factor.solve(&right)).unwrap_or_default();
        let mut weights = vec![0.0; width];
        for ((column, deviation), weight) in kept.iter().zip(solved) {
            weights[*column] = weight / deviation;
        }
        let intercept = mean - dot(&weights, &means);
        Ok(Self { weights, intercept })
    }

    /// The prediction for a row.
    pub fn predict(&self, row: &[f64]) -> f64 {
        self.intercept + self.weights.iter().zip(row).map(|(weight, value)| weight * value).sum::<f64>()
    }
}

/// A fitted power law with trees on its residuals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The power law without the trees.
    pub base: Ridge,
    residual: StepFunction,
}

impl PowerLaw {
    /// Fits to `target`, ln y of each row: the ridge on the columns of `base`, the trees on those of `features`, all
    /// logarithms.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for fewer than two rows, numbers that are not finite, or shapes that do not match.
    pub fn fit(
        base: &Table,
        features: &Table,
        target: &[f64],
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        features.check(target, 2)?;
        let ridge = Ridge::fit(base, target)?;
        let left: Vec<f64> = target.iter().enumerate().map(|(row, y)| y - ridge.predict(base.row(row))).collect();
        let residual = Boosting::fit(features, &left, RESIDUAL, progress)?.to_step_function();
        Ok(Self { base: ridge, residual })
    }

    /// The prediction of ln y for a row, from the logarithms for the ridge and for the trees.
    pub fn predict(&self, base: &[f64], features: &[f64]) -> f64 {
        self.base.predict(base) + self.residual.predict(features).unwrap_or_default()
    }

    /// The size in memory, in bytes.
    pub fn size_bytes(&self) -> usize {
        8 * (self.base.weights.len() + 1) + self.residual.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        math::{exp, ln},
        progress::Silent,
    };

    #[test]
    fn a_power_law_extrapolates_where_trees_stay_constant() -> Result<(), LearnError> {
        let mut table = Table::new(&["x", "y", "the same", "one"]);
        let mut target = Vec::new();
        let truth = |x: f64, y: f64| 0.3 * x * x * y.sqrt() * if x > 3.5 && y < 6.5 { 1.2 } else { 1.0 };
        for x in 1..=8 {
            for y in 1..=12 {
                let (x, y) = (f64::from(x), f64::from(y));
                table.push(&[ln(x), ln(y), ln(x), 0.0]);
                target.push(ln(truth(x, y)));
            }
        }
        let law = PowerLaw::fit(&table, &table, &target, &mut Silent)?;
        let error = |x: f64, y: f64| {
            let row = [ln(x), ln(y), ln(x), 0.0];
            (exp(law.predict(&row, &row)) / truth(x, y) - 1.0).abs()
        };
        assert!(error(3.0, 7.0) < 0.01 && error(5.0, 4.0) < 0.01, "{} {}", error(3.0, 7.0), error(5.0, 4.0));
        assert!(error(16.0, 10.0) < 0.2 && error(80.0, 120.0) < 0.5, "{} {}", error(16.0, 10.0), error(80.0, 120.0));
        let alone = |x: f64, y: f64| (exp(law.base.predict(&[ln(x), ln(y), ln(x), 0.0])) / truth(x, y) - 1.0).abs();
        assert!(alone(5.0, 4.0) > 0.05);
        Ok(())
    }
}
