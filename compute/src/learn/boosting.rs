//! Gradient boosting of regression trees for squared error (Friedman 2001).

use super::{
    LearnError, Table,
    forest::normalised,
    regression_tree::{Limits, Ranked, RegressionTree},
};
use crate::{math::Stream, progress::Progress};

/// What boosting is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The most stages, a tree each.
    pub stages: u32,
    /// The most splits between the root of a tree and a leaf.
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

/// The deepest tree: deeper ones only take memory.
pub const DEEPEST: u16 = 64;

/// A fitted boosting: predicts the mean of the target plus the shrunk sum of its trees.
pub struct Boosting {
    start: f64,
    learning_rate: f64,
    trees: Vec<RegressionTree>,
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
        let start = kept.iter().map(|&row| target[row]).sum::<f64>() / kept.len() as f64;
        let part =
            |rows: &[usize]| (table.take(rows), rows.iter().map(|&row| target[row] - start).collect::<Vec<f64>>());
        let (kept, mut residual) = part(kept);
        let (watched, mut watched_residual) = part(watched);

        let ranked = Ranked::new(&kept);
        let limits = Limits { depth: parameters.depth, min_samples_split: parameters.min_samples_split };
        let mut stream = Stream::new(parameters.seed);
        let mut steps = vec![0.0; residual.len()];
        let mut boosting = Self { start, learning_rate: parameters.learning_rate, trees: Vec::new(), features };
        let mut best = (f64::INFINITY, 0);
        for stage in 0..parameters.stages {
            progress.report("Boosting", u64::from(stage), u64::from(parameters.stages));
            let tree = RegressionTree::fit(&ranked, &residual, limits, &mut stream, &mut steps);
            for (residual, step) in residual.iter_mut().zip(&steps) {
                *residual -= parameters.learning_rate * step;
            }
            for (row, residual) in watched_residual.iter_mut().enumerate() {
                *residual -= parameters.learning_rate * tree.predict(watched.row(row));
            }
            boosting.trees.push(tree);
            if held_out > 0 {
                let error: f64 = watched_residual.iter().map(|r| r * r).sum();
                if error < best.0 {
                    best = (error, boosting.trees.len());
                }
                if boosting.trees.len() >= best.1 + parameters.early_stopping as usize {
                    break;
                }
            }
        }
        if held_out > 0 {
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
        let step = |row| self.trees.iter().map(|tree| self.learning_rate * tree.predict(row)).sum::<f64>();
        Ok((0..table.rows()).map(|row| self.start + step(table.row(row))).collect())
    }

    /// Impurity importance of each feature: the share of the squared error that its splits removed, summing to 1.
    ///
    /// # Errors
    /// None; the other models have some.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        let mut sums = vec![0.0; self.features];
        self.trees.iter().for_each(|tree| tree.add_improvements(&mut sums));
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
        if !(1..=DEEPEST).contains(&self.depth) {
            return error("depth", self.depth.to_string(), "1 to 64");
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return error("learning rate", self.learning_rate.to_string(), "above 0 and at most 1");
        }
        Ok(())
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
