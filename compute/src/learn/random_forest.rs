//! Random forests (Breiman 2001) with scikit-learn's settings: each tree is grown on as many rows as there are, drawn
//! with replacement, all features are tried at every split, and the trees' mean is the answer.
//!
//! Unlike those of [`super::forest`] its trees are not kept: they are added to a [`StepFunction`] as they grow. For
//! that a split lies in the middle between neighbouring values of the table, of which the node's own middle chooses
//! one; on values of the table that is the same.

use super::{
    LearnError, Table,
    ranked::{Edges, Precision, Ranked},
    regression_tree::{Criterion, Limits, RegressionTree, Sample},
    step_function::{StepFunction, SumOfTrees},
};
use crate::{math::Stream, progress::Progress};

/// The parameters, named as in scikit-learn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// `n_estimators`: the number of trees.
    pub trees: u32,
    /// `max_depth`; `None` for no limit.
    pub max_depth: Option<u32>,
    /// `min_samples_split`: a node of fewer rows is not split. Rows that were drawn several times count once.
    pub min_samples_split: u32,
    /// `min_samples_leaf`: no leaf has fewer rows.
    pub min_samples_leaf: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// Fits to `target`, one number per row.
///
/// # Errors
/// Returns a [`LearnError`] without a row, for numbers that are not finite, no trees, or shapes that do not match.
pub fn fit(
    table: &Table,
    target: &[f64],
    parameters: Parameters,
    progress: &mut dyn Progress,
) -> Result<StepFunction, LearnError> {
    table.check(target, 1)?;
    if parameters.trees == 0 {
        return Err(LearnError::Parameter { name: "trees", value: "0".to_owned(), expected: "at least 1" });
    }
    let rows = table.rows();
    let ranked = Ranked::new(table, Precision::Double, Edges::OfTable);
    let limits = Limits {
        // No tree is deeper than its number of rows; the limit bounds the recursion.
        depth: parameters.max_depth.map_or(u16::MAX, |depth| depth.try_into().unwrap_or(u16::MAX)).min(MAX_DEPTH),
        min_samples_split: parameters.min_samples_split as usize,
        min_samples_leaf: parameters.min_samples_leaf,
    };
    let mut stream = Stream::new(parameters.seed);
    let mut sum_of_trees = SumOfTrees::new(ranked.edges(), 0.0, Precision::Double);
    let mut drawn = vec![0_u32; rows];
    let mut fitted = vec![0.0; rows];
    for tree in 0..parameters.trees {
        progress.report("Growing trees", u64::from(tree), u64::from(parameters.trees));
        drawn.fill(0);
        (0..rows).for_each(|_| drawn[stream.below(rows)] += 1);
        let weights = &drawn;
        let mut mean = |of: &[u32], sum: f64| sum / f64::from(of.iter().map(|row| weights[*row as usize]).sum::<u32>());
        let sample = Sample { target, weights: Some(weights), features: None };
        let rules = (Criterion::SquaredError, limits);
        sum_of_trees.add(&RegressionTree::fit(&ranked, sample, rules, &mut mean, &mut stream, &mut fitted), 1.0);
    }
    Ok(sum_of_trees.finish(f64::from(parameters.trees)))
}

const MAX_DEPTH: u16 = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    const PLAIN: Parameters =
        Parameters { trees: 100, max_depth: None, min_samples_split: 2, min_samples_leaf: 1, seed: 42 };

    fn sweep() -> (Table, Vec<f64>) {
        let mut table = Table::new(&["x", "y"]);
        let mut target = Vec::new();
        for x in 1..=20 {
            for y in [1, 2, 4, 8] {
                table.push(&[f64::from(x), f64::from(y)]);
                target.push(f64::from(x * y));
            }
        }
        (table, target)
    }

    #[test]
    fn a_forest_follows_its_rows_and_stays_constant_outside() -> Result<(), LearnError> {
        let (table, target) = sweep();
        let steps = fit(&table, &target, PLAIN, &mut Silent)?;
        assert_eq!(steps.cells(), Some(80));
        let at = |x, y| steps.predict(&[x, y]).unwrap_or_default();
        let off = |row: usize| (steps.predict(table.row(row)).unwrap_or(f64::NAN) - target[row]).abs();
        let mean = (0..table.rows()).map(off).sum::<f64>() / table.rows() as f64;
        assert!(mean < 1.5, "{mean}");
        assert_eq!((at(90.0, 90.0), at(-5.0, 0.0)), (at(20.0, 8.0), at(1.0, 1.0)));
        // A value between two counts as the nearer one.
        assert_eq!((at(7.4, 5.9), at(7.6, 6.1)), (at(7.0, 4.0), at(8.0, 8.0)));
        Ok(())
    }

    #[test]
    fn limits_hold_and_bad_input_is_an_error() -> Result<(), LearnError> {
        let (table, target) = sweep();
        let spread = |parameters| -> Result<f64, LearnError> {
            let steps = fit(&table, &target, parameters, &mut Silent)?;
            let said: Vec<f64> = (0..table.rows()).filter_map(|row| steps.predict(table.row(row))).collect();
            Ok(said.iter().copied().fold(f64::NEG_INFINITY, f64::max) - said.iter().copied().fold(f64::MAX, f64::min))
        };
        let whole = spread(PLAIN)?;
        assert!(spread(Parameters { max_depth: Some(1), ..PLAIN })? < 0.7 * whole);
        assert!(spread(Parameters { min_samples_leaf: 20, ..PLAIN })? < 0.7 * whole);
        assert!(spread(Parameters { min_samples_split: 60, ..PLAIN })? < spread(PLAIN)?);
        assert!(fit(&table, &target[1..], PLAIN, &mut Silent).is_err());
        assert!(fit(&table, &target, Parameters { trees: 0, ..PLAIN }, &mut Silent).is_err());
        Ok(())
    }
}
