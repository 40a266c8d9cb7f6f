//! Gradient boosting of regression trees (Friedman 2001): for squared error, for absolute error, and as XGBoost does
//! it.

use super::{
    LearnError, Table,
    forest::normalised,
    ranked::{Edges, Precision, Ranked},
    regression_tree::{Criterion, Limits, RegressionTree, Sample},
    step_function::StepFunction,
};
use crate::{
    math::{Stream, exp, ln, median},
    progress::Progress,
};

pub use super::regression_tree::Usage;

/// The parameters of gradient boosting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The loss that is minimised.
    pub objective: Objective,
    /// The most stages; each adds a tree.
    pub stages: u32,
    /// The most splits on the path from the root of a tree to a leaf.
    pub depth: u16,
    /// The share of each tree that is added, in (0, 1].
    pub learning_rate: f64,
    /// The least number of rows of a node that is split.
    pub min_samples_split: usize,
    /// The least number of rows of a leaf; ignored by [`Objective::Xgboost`], whose hessians are at least 1 anyway.
    pub min_samples_leaf: u32,
    /// The number of stages without a lower error on a held-out tenth after which training stops; 0 runs all stages on
    /// all rows.
    pub early_stopping: u32,
    /// The seed of the held-out tenth and of the choice between equally good features.
    pub seed: u64,
}

/// The loss that is minimised, and the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// The squared error: trees fit the residuals.
    Squared,
    /// The absolute error: trees fit the signs of the residuals, and the value of a leaf is the median of its
    /// residuals. In single precision, so that the trees can be exported for XGBoost.
    Absolute,
    /// The squared error as in XGBoost with `tree_method="exact"`, to the last bits of its single precision.
    Xgboost {
        /// The L2 penalty of leaves.
        lambda: f64,
    },
    /// The squared error as in XGBoost with `tree_method="hist"`, with subsampling of rows and columns.
    Histogram(Histogram),
}

/// Settings of [`Objective::Histogram`], named as XGBoost names them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram {
    /// `lambda`: the L2 penalty of leaves.
    pub lambda: f64,
    /// `gamma`: the least gain of a split.
    pub gamma: f64,
    /// `min_child_weight`: the least number of rows on either side of a split.
    pub min_child_weight: f64,
    /// `subsample`: the share of rows that a tree uses, in (0, 1].
    pub subsample: f64,
    /// `colsample_bytree`: the share of features that a tree uses, in (0, 1], at least one.
    pub colsample_bytree: f64,
    /// `max_bin`: the most bins of a feature; a value between two training values counts as the lower one. `None` for a
    /// bin around each training value: then it counts as the nearer one.
    pub max_bin: Option<u16>,
}

impl Objective {
    fn precision(self) -> Precision {
        match self {
            Self::Squared => Precision::Double,
            Self::Absolute | Self::Xgboost { .. } | Self::Histogram(_) => Precision::Single,
        }
    }

    fn criterion(self) -> Criterion {
        match self {
            Self::Squared | Self::Absolute => Criterion::SquaredError,
            Self::Xgboost { lambda } => Criterion::Gain { lambda, gamma: 0.0, min_child_weight: 0.0 },
            Self::Histogram(Histogram { lambda, gamma, min_child_weight, .. }) => {
                Criterion::Gain { lambda, gamma, min_child_weight }
            }
        }
    }

    fn edges(self) -> Edges {
        match self {
            Self::Histogram(Histogram { max_bin, .. }) => {
                max_bin.map_or(Edges::OfTable, |bins| Edges::Upper { bins: usize::from(bins.max(2)) })
            }
            _ => Edges::OfNode,
        }
    }

    /// The constant prediction to which trees are added.
    fn start(self, target: &[f64]) -> f64 {
        let mean = || target.iter().sum::<f64>() / target.len() as f64;
        match self {
            Self::Squared => mean(),
            Self::Absolute => f64::from(median(&mut target.to_vec()).unwrap_or_default() as f32),
            Self::Xgboost { .. } | Self::Histogram(_) => f64::from(
                (target.iter().map(|target| f64::from(*target as f32)).sum::<f64>() / target.len() as f64) as f32,
            ),
        }
    }

    /// The error of the predictions with these residuals.
    fn error(self, residual: &[f64]) -> f64 {
        match self {
            Self::Absolute => residual.iter().map(|r| r.abs()).sum(),
            _ => residual.iter().map(|r| r * r).sum(),
        }
    }
}

/// The greatest depth of a tree: a deeper one would only take memory.
pub const MAX_DEPTH: u16 = 64;

/// A fitted model: a constant plus the sum of its shrunk trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Boosting {
    pub(super) start: f64,
    /// The factor of all leaves; 1 in single precision, where the leaves include it.
    learning_rate: f64,
    pub(super) trees: Vec<RegressionTree>,
    pub(super) features: usize,
    precision: Precision,
}

/// Rows with their present predictions.
struct BoostedRows {
    table: Table,
    target: Vec<f64>,
    /// The predictions, used by objectives in single precision.
    predicted: Vec<f32>,
    /// Target minus prediction.
    residual: Vec<f64>,
}

impl BoostedRows {
    fn new(table: &Table, target: &[f64], rows: &[usize], start: f64) -> Self {
        let target: Vec<f64> = rows.iter().map(|&row| target[row]).collect();
        let residual = target.iter().map(|target| target - start).collect();
        Self { table: table.take(rows), predicted: vec![start as f32; target.len()], target, residual }
    }

    /// Adds the predictions of a tree.
    fn add(&mut self, objective: Objective, learning_rate: f64, step: impl Fn(&Self, usize) -> f64) {
        for row in 0..self.target.len() {
            let step = step(self, row);
            self.residual[row] = match objective {
                Objective::Squared => self.residual[row] - learning_rate * step,
                _ => {
                    self.predicted[row] += step as f32;
                    self.residual_of(objective, row)
                }
            };
        }
    }

    fn residual_of(&self, objective: Objective, row: usize) -> f64 {
        match objective {
            Objective::Xgboost { .. } | Objective::Histogram(_) => {
                f64::from(self.target[row] as f32 - self.predicted[row])
            }
            _ => self.target[row] - f64::from(self.predicted[row]),
        }
    }
}

impl Boosting {
    /// Fits to `target`, one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for fewer than two rows, numbers that are not finite, parameters out of range, or
    /// shapes that do not match.
    pub fn fit(
        table: &Table,
        target: &[f64],
        parameters: Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, LearnError> {
        table.check(target, 2)?;
        parameters.check()?;
        let Parameters { objective, learning_rate, .. } = parameters;
        let precision = objective.precision();
        let features = table.names().len();
        let held_out = if parameters.early_stopping > 0 { table.rows() / 10 } else { 0 };
        let mut order: Vec<usize> = (0..table.rows()).collect();
        if held_out > 0 {
            Stream::new(parameters.seed).shuffle(&mut order);
        }
        let (watched, kept) = order.split_at(held_out);
        let start = objective.start(&kept.iter().map(|&row| target[row]).collect::<Vec<f64>>());
        let mut kept = BoostedRows::new(table, target, kept, start);
        let mut watched = BoostedRows::new(table, target, watched, start);
        if precision == Precision::Single {
            kept.residual = (0..kept.target.len()).map(|row| kept.residual_of(objective, row)).collect();
        }

        let ranked = Ranked::new(&kept.table, precision, objective.edges());
        let Parameters { depth, min_samples_split, min_samples_leaf, .. } = parameters;
        let limits = Limits { depth, min_samples_split, min_samples_leaf };
        let mut stream = Stream::new(parameters.seed);
        let mut steps = vec![0.0; kept.residual.len()];
        let shrink = if precision == Precision::Single { 1.0 } else { learning_rate };
        let mut boosting = Self { start, learning_rate: shrink, trees: Vec::new(), features, precision };
        let mut best = (f64::INFINITY, 0);
        let mut signs = Vec::new();
        let mut of_leaf = Vec::new();
        let mut drawn = TreeSample::default();
        for stage in 0..parameters.stages {
            progress.report("Boosting", u64::from(stage), u64::from(parameters.stages));
            let residual = &kept.residual;
            let mut leaf = |rows: &[u32], sum: f64| match objective {
                Objective::Squared => sum / rows.len() as f64,
                Objective::Absolute => {
                    of_leaf.clear();
                    of_leaf.extend(rows.iter().map(|row| residual[*row as usize]));
                    f64::from((learning_rate * median(&mut of_leaf).unwrap_or_default()) as f32)
                }
                Objective::Xgboost { lambda } | Objective::Histogram(Histogram { lambda, .. }) => {
                    f64::from((sum / (rows.len() as f64 + lambda)) as f32 * learning_rate as f32)
                }
            };
            let target = match objective {
                Objective::Absolute => {
                    signs.clear();
                    signs.extend(residual.iter().map(|r| if *r == 0.0 { 0.0 } else { r.signum() }));
                    &signs[..]
                }
                _ => &residual[..],
            };
            let rules = (objective.criterion(), limits);
            if let Objective::Histogram(settings) = objective {
                drawn.draw(settings, &ranked, features, &mut stream);
            }
            let sample = Sample { target, weights: drawn.rows.as_deref(), features: drawn.features.as_deref() };
            let tree = RegressionTree::fit(&ranked, sample, rules, &mut leaf, &mut stream, &mut steps);
            for (row, _) in drawn.rows.iter().flatten().enumerate().filter(|(_, weight)| **weight == 0) {
                steps[row] = boosting.step(&tree, kept.table.row(row));
            }
            kept.add(objective, learning_rate, |_, row| steps[row]);
            watched.add(objective, learning_rate, |part, row| boosting.step(&tree, part.table.row(row)));
            boosting.trees.push(tree);
            if held_out > 0 {
                let error = objective.error(&watched.residual);
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

    /// A model from a file: trees in single precision, whose leaves are added to `start`.
    pub(super) fn of_trees(start: f32, trees: Vec<RegressionTree>, features: usize) -> Self {
        Self { start: f64::from(start), learning_rate: 1.0, trees, features, precision: Precision::Single }
    }

    /// The model as a step function, without its trees.
    pub fn to_step_function(&self) -> StepFunction {
        StepFunction::of_trees(&self.trees, self.learning_rate, self.start, self.features, self.precision)
    }

    fn step(&self, tree: &RegressionTree, row: &[f64]) -> f64 {
        match self.precision {
            Precision::Double => tree.predict(row),
            Precision::Single => tree.predict(&self.rounded(row)),
        }
    }

    fn rounded(&self, row: &[f64]) -> Vec<f64> {
        row.iter().map(|value| self.precision.round(*value)).collect()
    }

    /// Predicts one number per row.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for another number of features than in training, or numbers that are not finite.
    pub fn predict(&self, table: &Table) -> Result<Vec<f64>, LearnError> {
        table.check_width(self.features)?;
        let predict = |row: &[f64]| match self.precision {
            Precision::Double => {
                self.start + self.trees.iter().map(|tree| self.learning_rate * tree.predict(row)).sum::<f64>()
            }
            Precision::Single => {
                let row = self.rounded(row);
                let add = |sum: f32, tree: &RegressionTree| sum + tree.predict(&row) as f32;
                f64::from(self.trees.iter().fold(self.start as f32, add))
            }
        };
        Ok((0..table.rows()).map(|row| predict(table.row(row))).collect())
    }

    /// The impurity importance of each feature: the share of the loss that its splits removed, summing to 1.
    ///
    /// # Errors
    /// Never fails; the signature is that of the other models.
    pub fn importances(&self) -> Result<Vec<f64>, LearnError> {
        Ok(normalised(self.usage().iter().map(|usage| usage.total_gain).collect()))
    }

    /// The number and the gain of each feature's splits.
    pub fn usage(&self) -> Vec<Usage> {
        let mut usage = vec![Usage::default(); self.features];
        self.trees.iter().for_each(|tree| tree.add_usage(&mut usage));
        usage
    }

    /// The number of rows in training, as the covers of the trees say; `None` if they do not say it, or differ.
    pub fn trained_on(&self) -> Option<u64> {
        let weight = |tree: &RegressionTree| tree.weights().iter().sum::<f64>();
        let first = self.trees.first().map(weight).filter(|rows| *rows >= 1.0 && rows.fract() == 0.0)?;
        self.trees.iter().all(|tree| weight(tree) == first).then_some(first as u64)
    }

    /// Whether the training rows are among these rows. That is assumed if each leaf of each tree gets at least as many
    /// of them as in training: with other rows, some leaf would nearly always get too few. `false` if the trees do not
    /// give the number of training rows, or are too small to tell.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for another number of features than in training, or numbers that are not finite.
    pub fn was_fitted_to_some_of(&self, table: &Table) -> Result<bool, LearnError> {
        /// The threshold of −ln p: below one in a million, if the effective number of independent trees is the square
        /// root of their number.
        const EVIDENCE: f64 = 14.0;
        table.check_width(self.features)?;
        let Some(rows) = self.trained_on() else { return Ok(false) };
        let share = table.rows() as f64 / rows as f64;
        if share < 1.0 {
            return Ok(false);
        }
        let rounded: Vec<Vec<f64>> = (0..table.rows()).map(|row| self.rounded(table.row(row))).collect();
        let mut evidence = 0.0;
        for tree in &self.trees {
            let mut come = vec![0.0; tree.nodes.len()];
            rounded.iter().for_each(|row| come[tree.leaf(row)] += 1.0);
            let weights = tree.weights();
            if come.iter().zip(&weights).any(|(come, fitted)| come < fitted) {
                return Ok(false);
            }
            if weights.iter().filter(|fitted| **fitted > 0.0).count() > 1 {
                evidence -= weights.iter().map(|fitted| ln(at_least(*fitted, share * fitted))).sum::<f64>();
            }
        }
        Ok(evidence > EVIDENCE * (self.trees.len().max(1) as f64).sqrt())
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        self.features
    }

    /// The number of stages that were kept.
    pub fn stages(&self) -> usize {
        self.trees.len()
    }
}

/// P(X ≥ `least`) for X ~ Poisson(`mean`).
fn at_least(least: f64, mean: f64) -> f64 {
    /// For larger counts the median is close enough to the mean.
    const MOST: f64 = 500.0;
    if least > MOST {
        return if mean > 1.2 * least { 1.0 } else { 0.5 };
    }
    let (mut term, mut below, mut count) = (exp(-mean), 0.0, 0.0);
    while count < least {
        below += term;
        count += 1.0;
        term *= mean / count;
    }
    (1.0 - below).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The rows and features that a tree uses; `None` for all.
#[derive(Default)]
struct TreeSample {
    rows: Option<Vec<u32>>,
    features: Option<Vec<usize>>,
}

impl TreeSample {
    fn draw(&mut self, settings: Histogram, ranked: &Ranked, features: usize, stream: &mut Stream) {
        if settings.subsample < 1.0 {
            let draw = |_| u32::from(stream.unit() < settings.subsample);
            self.rows = Some((0..ranked.rows()).map(draw).collect());
        }
        if settings.colsample_bytree < 1.0 {
            let mut order: Vec<usize> = (0..features).collect();
            stream.shuffle(&mut order);
            order.truncate(((features as f64 * settings.colsample_bytree) as usize).max(1));
            let is_seen = |place: &usize| order.contains(&ranked.features[*place].index);
            self.features = Some((0..ranked.features.len()).filter(is_seen).collect());
        }
    }
}

impl Parameters {
    fn check(&self) -> Result<(), LearnError> {
        let error = |name, value, expected| Err(LearnError::Parameter { name, value, expected });
        if self.stages == 0 {
            return error("stages", self.stages.to_string(), "at least 1");
        }
        if !(1..=MAX_DEPTH).contains(&self.depth) {
            return error("depth", self.depth.to_string(), "1 to 64");
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return error("learning rate", self.learning_rate.to_string(), "above 0 and at most 1");
        }
        if let Objective::Xgboost { lambda } = self.objective
            && !(lambda >= 0.0 && lambda.is_finite())
        {
            return error("lambda", lambda.to_string(), "0 or above");
        }
        if let Objective::Histogram(Histogram {
            lambda, gamma, min_child_weight, subsample, colsample_bytree, ..
        }) = self.objective
        {
            for (name, value) in [("lambda", lambda), ("gamma", gamma), ("min_child_weight", min_child_weight)] {
                if !(value >= 0.0 && value.is_finite()) {
                    return error(name, value.to_string(), "0 or above");
                }
            }
            for (name, value) in [("subsample", subsample), ("colsample_bytree", colsample_bytree)] {
                if !(value > 0.0 && value <= 1.0) {
                    return error(name, value.to_string(), "above 0 and at most 1");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn parameters() -> Parameters {
        Parameters {
            objective: Objective::Squared,
            stages: 120,
            depth: 3,
            learning_rate: 0.2,
            min_samples_split: 2,
            min_samples_leaf: 1,
            early_stopping: 0,
            seed: 3,
        }
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
    fn boosting_fits_a_step_function() -> Result<(), LearnError> {
        let (table, target) = steps();
        let boosting = Boosting::fit(&table, &target, parameters(), &mut Silent)?;
        let worst = boosting.predict(&table)?.iter().zip(&target).map(|(p, t)| (p - t).abs()).fold(0.0, f64::max);
        assert!(worst < 0.05, "{worst}");
        assert_eq!(boosting.stages(), 120);
        Ok(())
    }

    #[test]
    fn absolute_error_is_robust_to_outliers() -> Result<(), LearnError> {
        let (table, mut target) = steps();
        for row in (0..table.rows()).step_by(13) {
            target[row] += 1000.0;
        }
        let fit = |objective| {
            let parameters = Parameters { objective, min_samples_leaf: 5, ..parameters() };
            Boosting::fit(&table, &target, parameters, &mut Silent)?.predict(&table)
        };
        let worst = |predicted: Vec<f64>| {
            let usual = predicted.iter().zip(&target).filter(|(_, target)| **target < 100.0);
            usual.map(|(p, t)| (p - t).abs()).fold(0.0, f64::max)
        };
        assert!(worst(fit(Objective::Absolute)?) < 2.0);
        assert!(worst(fit(Objective::Squared)?) > 20.0);
        Ok(())
    }

    #[test]
    fn histogram_settings_have_the_effect_of_xgboosts() -> Result<(), LearnError> {
        let (table, target) = steps();
        let plain = Histogram {
            lambda: 1.0,
            gamma: 0.0,
            min_child_weight: 1.0,
            subsample: 1.0,
            colsample_bytree: 1.0,
            max_bin: Some(256),
        };
        let fit = |settings| {
            let parameters = Parameters { objective: Objective::Histogram(settings), ..parameters() };
            Boosting::fit(&table, &target, parameters, &mut Silent)
        };
        let predict = |settings| fit(settings)?.predict(&table);
        let worst = |predicted: &[f64]| predicted.iter().zip(&target).map(|(p, t)| (p - t).abs()).fold(0.0, f64::max);
        // Few values: the same trees as of the exact method, but for where between two values they split.
        let exact = Parameters { objective: Objective::Xgboost { lambda: 1.0 }, ..parameters() };
        assert_eq!(predict(plain)?, Boosting::fit(&table, &target, exact, &mut Silent)?.predict(&table)?);
        let mut between = Table::new(&["x", "y"]);
        between.push(&[9.9, 3.0]);
        between.push(&[9.0, 3.0]);
        between.push(&[10.0, 3.0]);
        let [low, at, above] = fit(plain)?.predict(&between)?[..] else { panic!("three rows") };
        assert!(low == at && above > at + 3.0);
        let nearer = fit(Histogram { max_bin: None, ..plain })?.predict(&between)?;
        assert!(nearer[0] == nearer[2] && nearer[1] == at);
        // Fewer splits with a price, or with larger sides; other trees with parts of rows and features.
        let splits =
            |settings| -> Result<u32, LearnError> { Ok(fit(settings)?.usage().iter().map(|u| u.splits).sum()) };
        let all = splits(plain)?;
        assert!(splits(Histogram { gamma: 5.0, ..plain })? < all);
        assert!(splits(Histogram { min_child_weight: 60.0, ..plain })? < all);
        let of_rows = predict(Histogram { subsample: 0.8, ..plain })?;
        let of_features = predict(Histogram { colsample_bytree: 0.5, ..plain })?;
        assert!(of_rows != predict(plain)? && worst(&of_rows) < 0.3, "{}", worst(&of_rows));
        assert!(of_features != of_rows && worst(&of_features) < 0.3, "{}", worst(&of_features));
        // Two bins leave one place to split.
        let coarse = fit(Histogram { max_bin: Some(2), ..plain })?.to_step_function();
        assert_eq!(coarse.cells(), Some(4));
        assert!(
            fit(Histogram { subsample: 0.0, ..plain }).is_err() && fit(Histogram { gamma: -1.0, ..plain }).is_err()
        );
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
