//! Random forests and extra trees over smartcore, fitted in batches so that they report progress.

use smartcore::{
    ensemble::{
        extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters},
        random_forest_regressor::{RandomForestRegressor, RandomForestRegressorParameters},
    },
    linalg::basic::matrix::DenseMatrix,
};

use super::{LearnError, Table};
use crate::progress::Progress;

/// The algorithm by which trees grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForestKind {
    /// Best splits on bootstrap samples (Breiman 2001).
    Random,
    /// Random thresholds on all rows (Geurts, Ernst, Wehenkel 2006).
    ExtraTrees,
}

/// The parameters of a forest. All features are candidates at every split, as in scikit-learn's regressors; smartcore's
/// default of a subset gives bad models of sweeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The algorithm by which trees grow.
    pub kind: ForestKind,
    /// Number of trees.
    pub trees: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// A fitted forest: its prediction is the mean of its trees.
pub struct Forest {
    batches: Vec<(Batch, u32)>,
    features: usize,
}

enum Batch {
    Random(RandomForestRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>),
    ExtraTrees(ExtraTreesRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>),
}

const BATCH: u32 = 25;

impl Forest {
    /// Fits to `target`, one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for fewer than two rows, numbers that are not finite, no trees, or shapes that do not
    /// match.
    pub fn fit(
        table: &Table,
        target: &[f64],
        parameters: Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        table.check(target, 2)?;
        if parameters.trees == 0 {
            return Err(LearnError::Parameter { name: "trees", value: "0".to_owned(), expected: "at least 1" });
        }
        let matrix = table.matrix()?;
        let target = target.to_vec();
        let features = table.names().len();
        let mut batches = Vec::new();
        let mut done = 0;
        while done < parameters.trees {
            progress.report("Growing trees", u64::from(done), u64::from(parameters.trees));
            let trees = BATCH.min(parameters.trees - done);
            // smartcore seeds tree i with seed + i, so continuing the count gives the same extra trees as one large
            // fit.
            let seed = parameters.seed.wrapping_add(u64::from(done));
            batches.push((Batch::fit(&matrix, &target, parameters.kind, trees as usize, features, seed)?, trees));
            done += trees;
        }
        progress.report("Growing trees", u64::from(done), u64::from(done));
        Ok(Self { batches, features })
    }

    /// Predicts one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for another number of features than in training, or numbers that are not finite.
    pub fn predict(&self, table: &Table) -> Result<Vec<f64>, LearnError> {
        table.check_width(self.features)?;
        let mut sums = vec![0.0; table.rows()];
        if sums.is_empty() {
            return Ok(sums);
        }
        let matrix = table.matrix()?;
        let mut trees = 0.0;
        for (batch, size) in &self.batches {
            let size = f64::from(*size);
            trees += size;
            for (sum, mean) in sums.iter_mut().zip(batch.predict(&matrix)?) {
                *sum += mean * size;
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= trees);
        Ok(sums)
    }

    /// The impurity importance of each feature: the share of the squared error that its splits removed, summing to 1.
    ///
    /// # Errors
    /// Returns [`LearnError::Trees`] with smartcore's message.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        let mut sums = vec![0.0; self.features];
        for (batch, size) in &self.batches {
            for (sum, share) in sums.iter_mut().zip(batch.importances()?) {
                *sum += share * f64::from(*size);
            }
        }
        Ok(normalised(sums))
    }
}

/// Divides by the sum, if that is positive.
pub(super) fn normalised(mut shares: Vec<f64>) -> Vec<f64> {
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    shares
}

impl Batch {
    fn fit(
        matrix: &DenseMatrix<f64>,
        target: &Vec<f64>,
        kind: ForestKind,
        trees: usize,
        features: usize,
        seed: u64,
    ) -> Result<Self, LearnError> {
        Ok(match kind {
            ForestKind::Random => Self::Random(RandomForestRegressor::fit(
                matrix,
                target,
                RandomForestRegressorParameters::default().with_n_trees(trees).with_m(features).with_seed(seed),
            )?),
            ForestKind::ExtraTrees => Self::ExtraTrees(ExtraTreesRegressor::fit(
                matrix,
                target,
                ExtraTreesRegressorParameters::default().with_n_trees(trees).with_m(features).with_seed(seed),
            )?),
        })
    }

    fn predict(&self, matrix: &DenseMatrix<f64>) -> Result<Vec<f64>, LearnError> {
        Ok(match self {
            Self::Random(forest) => forest.predict(matrix)?,
            Self::ExtraTrees(forest) => forest.predict(matrix)?,
        })
    }

    fn importances(&self) -> Result<Vec<f64>, LearnError> {
        Ok(match self {
            Self::Random(forest) => forest.compute_feature_importances()?,
            Self::ExtraTrees(forest) => forest.compute_feature_importances()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn plane() -> (Table, Vec<f64>) {
        let mut table = Table::new(&["x", "noise"]);
        let mut target = Vec::new();
        for i in 0..60 {
            let x = f64::from(i);
            table.push(&[x, f64::from((i * 37) % 11)]);
            target.push(3.0 * x);
        }
        (table, target)
    }

    #[test]
    fn both_kinds_follow_the_feature_that_matters() -> Result<(), LearnError> {
        let (table, target) = plane();
        for kind in [ForestKind::Random, ForestKind::ExtraTrees] {
            let forest = Forest::fit(&table, &target, Parameters { kind, trees: 40, seed: 1 }, &mut Silent)?;
            let predicted = forest.predict(&table)?;
            assert!((predicted[30] - 90.0).abs() < 6.0, "{kind:?} {}", predicted[30]);
            assert!(forest.importances()?[0] > 0.95);
        }
        Ok(())
    }

    #[test]
    fn bad_input_is_an_error_and_never_a_panic() {
        let (table, target) = plane();
        let parameters = Parameters { kind: ForestKind::ExtraTrees, trees: 3, seed: 1 };
        assert!(Forest::fit(&table, &target[1..], parameters, &mut Silent).is_err());
        let mut holed = target.clone();
        holed[7] = f64::NAN;
        assert!(matches!(
            Forest::fit(&table, &holed, parameters, &mut Silent),
            Err(LearnError::NotFinite { row: 7, .. })
        ));
        assert!(Forest::fit(&table, &target, Parameters { trees: 0, ..parameters }, &mut Silent).is_err());
        let forest = Forest::fit(&table, &target, parameters, &mut Silent).ok();
        let mut narrow = Table::new(&["x"]);
        narrow.push(&[1.0]);
        assert!(forest.is_some_and(|f| f.predict(&narrow).is_err()));
    }
}
