//! Gradient boosting for squared error over smartcore's regression trees (Friedman 2001).

use smartcore::{
    linalg::basic::matrix::DenseMatrix,
    tree::decision_tree_regressor::{DecisionTreeRegressor, DecisionTreeRegressorParameters},
};

use super::{LearnError, Table, forest::normalised};
use crate::{math::Stream, progress::Progress};

/// What boosting is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The most stages, a tree each.
    pub stages: u32,
    /// Depth of a tree.
    pub depth: u16,
    /// Share of each tree that is added, in (0, 1].
    pub learning_rate: f64,
    /// A node of fewer rows is not split.
    pub min_samples_split: usize,
    /// Stops after this many stages without a lower error on a held-out tenth; 0 runs all stages on all rows.
    pub early_stopping: u32,
    /// Seed of the held-out tenth and of ties between features.
    pub seed: u64,
}

type Tree = DecisionTreeRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// A fitted boosting: predicts the mean of the target plus the shrunk sum of its trees.
pub struct Boosting {
    start: f64,
    learning_rate: f64,
    trees: Vec<Tree>,
    features: usize,
}

impl Boosting {
    /// Fits to `target`, one number per row.
    ///
    /// # Errors
    /// Fewer than two rows, numbers that are not finite, parameters outside their range, shapes that don't match.
    pub fn fit(
        table: &Table,
        target: &[f64],
        parameters: Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        table.check(target, 2)?;
        parameters.check()?;
        let features = table.names().len();
        let held_out = if parameters.early_stopping > 0 { table.rows() / 10 } else { 0 };
        let mut order: Vec<usize> = (0..table.rows()).collect();
        if held_out > 0 {
            Stream::new(parameters.seed).shuffle(&mut order);
        }
        let (watched, kept) = order.split_at(held_out);
        let mut fit = Part::new(table, target, kept)?;
        let mut watch = if held_out > 0 { Some(Part::new(table, target, watched)?) } else { None };

        let start = fit.residual.iter().sum::<f64>() / kept.len() as f64;
        let mut boosting = Self { start, learning_rate: parameters.learning_rate, trees: Vec::new(), features };
        fit.add(start, &vec![1.0; kept.len()]);
        if let Some(watch) = &mut watch {
            watch.add(start, &vec![1.0; watched.len()]);
        }
        let mut best = (f64::INFINITY, 0);
        for stage in 0..parameters.stages {
            progress.report("Boosting", u64::from(stage), u64::from(parameters.stages));
            let tree = Tree::fit(
                &fit.matrix,
                &fit.residual,
                DecisionTreeRegressorParameters {
                    // smartcore counts the levels of nodes, scikit-learn those of splits.
                    max_depth: Some(parameters.depth.saturating_add(1)),
                    min_samples_leaf: 1,
                    min_samples_split: parameters.min_samples_split,
                    seed: Some(parameters.seed.wrapping_add(u64::from(stage))),
                },
            )?;
            fit.add(parameters.learning_rate, &tree.predict(&fit.matrix)?);
            if let Some(watch) = &mut watch {
                watch.add(parameters.learning_rate, &tree.predict(&watch.matrix)?);
                let error: f64 = watch.residual.iter().map(|r| r * r).sum();
                if error < best.0 {
                    best = (error, boosting.trees.len() + 1);
                }
            }
            boosting.trees.push(tree);
            if watch.is_some() && boosting.trees.len() >= best.1 + parameters.early_stopping as usize {
                break;
            }
        }
        if watch.is_some() {
            boosting.trees.truncate(best.1);
        }
        progress.report("Boosting", u64::from(parameters.stages), u64::from(parameters.stages));
        Ok(boosting)
    }

    /// One prediction per row.
    ///
    /// # Errors
    /// Another number of features than in training, or numbers that are not finite.
    pub fn predict(&self, table: &Table) -> Result<Vec<f64>, LearnError> {
        table.check_width(self.features)?;
        let mut sums = vec![self.start; table.rows()];
        if sums.is_empty() {
            return Ok(sums);
        }
        let matrix = table.matrix()?;
        for tree in &self.trees {
            for (sum, step) in sums.iter_mut().zip(tree.predict(&matrix)?) {
                *sum += self.learning_rate * step;
            }
        }
        Ok(sums)
    }

    /// Impurity importance of each feature, averaged over the trees, summing to 1.
    ///
    /// # Errors
    /// What smartcore says.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        let mut sums = vec![0.0; self.features];
        for tree in &self.trees {
            for (sum, share) in sums.iter_mut().zip(tree.compute_feature_importances(false)?) {
                *sum += share;
            }
        }
        Ok(normalised(sums))
    }

    /// Stages that were kept.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.trees.len()
    }
}

impl Parameters {
    fn check(&self) -> Result<(), LearnError> {
        let error = |name, value, expected| Err(LearnError::Parameter { name, value, expected });
        if self.stages == 0 {
            return error("stages", self.stages.to_string(), "at least 1");
        }
        if self.depth == 0 {
            return error("depth", self.depth.to_string(), "at least 1");
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return error("learning rate", self.learning_rate.to_string(), "above 0 and at most 1");
        }
        Ok(())
    }
}

struct Part {
    matrix: DenseMatrix<f64>,
    residual: Vec<f64>,
}

impl Part {
    fn new(table: &Table, target: &[f64], rows: &[usize]) -> Result<Self, LearnError> {
        Ok(Self { matrix: table.take(rows).matrix()?, residual: rows.iter().map(|&row| target[row]).collect() })
    }

    fn add(&mut self, share: f64, steps: &[f64]) {
        for (residual, step) in self.residual.iter_mut().zip(steps) {
            *residual -= share * step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn parameters() -> Parameters {
        Parameters { stages: 120, depth: 3, learning_rate: 0.2, min_samples_split: 2, early_stopping: 0, seed: 3 }
    }

    fn steps() -> (Table, Vec<f64>) {
        let mut table = Table::new(&["x", "y"]);
        let mut target = Vec::new();
        for i in 0..200 {
            let (x, y) = (f64::from(i % 20), f64::from(i / 20));
            table.push(&[x, y]);
            target.push(if x > 9.5 { 5.0 } else { 1.0 } + 0.5 * y);
        }
        (table, target)
    }

    #[test]
    fn follows_steps() -> Result<(), LearnError> {
        let (table, target) = steps();
        let boosting = Boosting::fit(&table, &target, parameters(), &mut Silent)?;
        let worst = boosting.predict(&table)?.iter().zip(&target).map(|(p, t)| (p - t).abs()).fold(0.0, f64::max);
        assert!(worst < 0.05, "{worst}");
        assert_eq!(boosting.stages(), 120);
        Ok(())
    }

    #[test]
    fn early_stopping_keeps_fewer_stages_of_noise() -> Result<(), LearnError> {
        let (table, _) = steps();
        let mut stream = Stream::new(5);
        let noise: Vec<f64> = (0..table.rows()).map(|_| stream.normal()).collect();
        let stopped = Boosting::fit(&table, &noise, Parameters { early_stopping: 5, ..parameters() }, &mut Silent)?;
        assert!(stopped.stages() < 60, "{}", stopped.stages());
        Ok(())
    }
}
