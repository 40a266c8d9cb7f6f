//! Sums of trees as step functions: constant between a few thresholds of each feature.
//!
//! If there are few cells between the thresholds, the value of each is stored: then a lookup replaces hundreds of trees
//! with millions of nodes by some ten thousand numbers. Sweeps are like that. Otherwise the trees are kept, with twelve
//! bytes per node.

use serde::{Deserialize, Serialize};

use super::{
    ranked::Precision,
    regression_tree::{Node, RegressionTree},
};
use crate::math;

/// The most cells for which values are stored.
const MAX_CELLS: usize = 1 << 20;
/// The most updates of cells by all trees of a model, each of which may update all cells.
const MAX_CELL_UPDATES: usize = 1 << 30;

/// A piecewise constant function of several features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFunction {
    /// Whether features are rounded to 32 bits before they are compared.
    single: bool,
    features: u32,
    #[serde(rename = "form")]
    representation: Representation,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Representation {
    Cells {
        /// The thresholds of each feature, ascending. The index of a value is the number of thresholds that are not
        /// above it.
        edges: Vec<Vec<f64>>,
        /// The value of each cell, the last feature fastest.
        values: Vec<f32>,
    },
    Trees {
        start: f64,
        /// The divisor of the sum of the trees.
        count: f64,
        nodes: Vec<CompactNode>,
        roots: Vec<u32>,
    },
}

/// A node of a tree in a list; the low side of a split is the next node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct CompactNode {
    /// The index of the feature; [`LEAF`] for a leaf.
    feature: u32,
    /// The threshold of a split, or the value of a leaf.
    number: f32,
    high: u32,
}

const LEAF: u32 = u32::MAX;

impl StepFunction {
    /// The sum of `start` and the leaves of all trees, each times `scale`.
    pub(super) fn of_trees(
        trees: &[RegressionTree],
        scale: f64,
        start: f64,
        features: usize,
        precision: Precision,
    ) -> Self {
        let mut edges = vec![Vec::new(); features];
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            if let Node::Split { feature, threshold, .. } = node {
                edges[*feature].push(*threshold);
            }
        }
        for thresholds in &mut edges {
            math::ascending(thresholds);
            thresholds.dedup_by(|a, b| a == b);
        }
        let most = MAX_CELL_UPDATES / trees.len().max(1);
        let mut sum = SumOfTrees::of_cells(edges, start, precision, most.min(MAX_CELLS));
        trees.iter().for_each(|tree| sum.add(tree, scale));
        sum.finish(1.0)
    }

    /// The value for a row; `None` for another number of features.
    pub fn predict(&self, row: &[f64]) -> Option<f64> {
        if row.len() != self.features as usize {
            return None;
        }
        let round = |value: f64| if self.single { f64::from(value as f32) } else { value };
        match &self.representation {
            Representation::Cells { edges, values } => {
                let mut cell = 0;
                for (edges, value) in edges.iter().zip(row) {
                    let value = round(*value);
                    cell = cell * (edges.len() + 1) + edges.partition_point(|edge| *edge <= value);
                }
                values.get(cell).map(|value| f64::from(*value))
            }
            Representation::Trees { start, count, nodes, roots } => {
                let leaf = |root: u32| {
                    let mut at = root as usize;
                    loop {
                        let CompactNode { feature, number, high } = *nodes.get(at)?;
                        if feature == LEAF {
                            return Some(f64::from(number));
                        }
                        // Children come after their parents, so the loop ends.
                        at = if round(*row.get(feature as usize)?) < f64::from(number) {
                            at + 1
                        } else {
                            (high as usize).max(at + 1)
                        };
                    }
                };
                let mut sum = *start;
                for root in roots {
                    sum += leaf(*root)?;
                }
                Some(sum / count)
            }
        }
    }

    /// The number of cells; `None` if it consists of trees.
    pub fn cells(&self) -> Option<usize> {
        match &self.representation {
            Representation::Cells { values, .. } => Some(values.len()),
            Representation::Trees { .. } => None,
        }
    }

    /// The size in memory, in bytes.
    pub fn size_bytes(&self) -> usize {
        match &self.representation {
            Representation::Cells { edges, values } => 8 * edges.iter().map(Vec::len).sum::<usize>() + 4 * values.len(),
            Representation::Trees { nodes, roots, .. } => size_of::<CompactNode>() * nodes.len() + 4 * roots.len(),
        }
    }
}

/// A sum of trees, built tree by tree.
pub(super) struct SumOfTrees {
    precision: Precision,
    edges: Vec<Vec<f64>>,
    start: f64,
    /// Sums per cell; empty if there are too many cells.
    sums: Vec<f64>,
    nodes: Vec<CompactNode>,
    roots: Vec<u32>,
}

impl SumOfTrees {
    /// Starts with the constant `start`. All trees that are added must split at `edges` only.
    pub(super) fn new(edges: Vec<Vec<f64>>, start: f64, precision: Precision) -> Self {
        Self::of_cells(edges, start, precision, MAX_CELLS)
    }

    fn of_cells(edges: Vec<Vec<f64>>, start: f64, precision: Precision, most: usize) -> Self {
        let cells = edges.iter().try_fold(1_usize, |cells, edges| cells.checked_mul(edges.len() + 1));
        let sums = cells.filter(|cells| *cells <= most).map(|cells| vec![start; cells]).unwrap_or_default();
        Self { precision, edges, start, sums, nodes: Vec::new(), roots: Vec::new() }
    }

    /// Adds a tree whose leaves are multiplied by `scale`.
    pub(super) fn add(&mut self, tree: &RegressionTree, scale: f64) {
        if self.sums.is_empty() {
            self.roots.push(self.nodes.len() as u32);
            self.append_nodes(tree, 0, scale);
        } else {
            let mut within: Vec<(usize, usize)> = self.edges.iter().map(|edges| (0, edges.len() + 1)).collect();
            self.add_to_cells(tree, 0, scale, &mut within);
        }
    }

    /// Adds the leaves below a node to the cells in a box, given by a range of indices for each feature.
    fn add_to_cells(&mut self, tree: &RegressionTree, node: usize, scale: f64, within: &mut [(usize, usize)]) {
        match tree.nodes[node] {
            Node::Leaf { value, .. } => {
                let round = self.precision;
                fill(&mut self.sums, &self.edges, within, 0, &mut |sum| {
                    *sum = match round {
                        Precision::Double => *sum + scale * value,
                        Precision::Single => f64::from(*sum as f32 + (scale * value) as f32),
                    };
                });
            }
            Node::Split { feature, threshold, low, high, .. } => {
                let (first, end) = within[feature];
                let slot = self.edges[feature].partition_point(|edge| *edge <= threshold).clamp(first, end);
                within[feature] = (first, slot);
                self.add_to_cells(tree, low, scale, within);
                within[feature] = (slot, end);
                self.add_to_cells(tree, high, scale, within);
                within[feature] = (first, end);
            }
        }
    }

    /// Appends a node and the nodes below it.
    fn append_nodes(&mut self, tree: &RegressionTree, node: usize, scale: f64) {
        let at = self.nodes.len();
        match tree.nodes[node] {
            Node::Leaf { value, .. } => {
                self.nodes.push(CompactNode { feature: LEAF, number: (scale * value) as f32, high: 0 });
            }
            Node::Split { feature, threshold, low, high, .. } => {
                // Rounded up, so that values below the threshold stay below.
                let rounded = threshold as f32;
                let number = if f64::from(rounded) < threshold { rounded.next_up() } else { rounded };
                self.nodes.push(CompactNode { feature: feature as u32, number, high: 0 });
                self.append_nodes(tree, low, scale);
                self.nodes[at].high = self.nodes.len() as u32;
                self.append_nodes(tree, high, scale);
            }
        }
    }

    /// The sum divided by `count`.
    pub(super) fn finish(self, count: f64) -> StepFunction {
        let features = self.edges.len() as u32;
        let representation = if self.sums.is_empty() {
            Representation::Trees { start: self.start, count, nodes: self.nodes, roots: self.roots }
        } else {
            let values = self.sums.iter().map(|sum| (sum / count) as f32).collect();
            Representation::Cells { edges: self.edges, values }
        };
        StepFunction { single: self.precision == Precision::Single, features, representation }
    }
}

/// Calls `with` for all cells in a box, from the feature `depth` on.
fn fill(
    cells: &mut [f64],
    edges: &[Vec<f64>],
    within: &[(usize, usize)],
    depth: usize,
    with: &mut impl FnMut(&mut f64),
) {
    let Some((first, end)) = within.get(depth).copied() else {
        cells.iter_mut().for_each(with);
        return;
    };
    let size = cells.len() / (edges[depth].len() + 1);
    // If the box spans all remaining features, its cells are contiguous.
    if within[depth + 1..].iter().zip(&edges[depth + 1..]).all(|(within, edges)| *within == (0, edges.len() + 1)) {
        cells[first * size..end * size].iter_mut().for_each(with);
        return;
    }
    for part in cells[first * size..end * size].chunks_exact_mut(size) {
        fill(part, edges, within, depth + 1, with);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        learn::{
            LearnError, Table,
            boosting::{Boosting, Objective, Parameters},
        },
        math::Stream,
        progress::Silent,
    };

    #[test]
    fn a_step_function_equals_its_trees() -> Result<(), LearnError> {
        let mut stream = Stream::new(4);
        for (objective, single) in [(Objective::Squared, false), (Objective::Xgboost { lambda: 1.0 }, true)] {
            // Few values make cells, many stay trees.
            for (values, has_cells) in [(9, true), (400, false)] {
                let mut table = Table::new(&["x", "y", "z"]);
                let mut target = Vec::new();
                for _ in 0..400 {
                    let row = [stream.below(values) as f64, stream.below(values) as f64, stream.below(values) as f64];
                    table.push(&row);
                    target.push(row[0] * row[1] - row[2] + stream.normal());
                }
                let parameters = Parameters {
                    objective,
                    stages: 40,
                    depth: 6,
                    learning_rate: 0.1,
                    min_samples_split: 2,
                    min_samples_leaf: 1,
                    early_stopping: 0,
                    seed: 1,
                };
                let boosting = Boosting::fit(&table, &target, parameters, &mut Silent)?;
                let steps = boosting.to_step_function();
                assert_eq!(steps.cells().is_some(), has_cells, "{} bytes", steps.size_bytes());
                let mut asked = table.take(&(0..200).collect::<Vec<_>>());
                for _ in 0..200 {
                    asked.push(&[20.0 * stream.unit() - 5.0, 1000.0 * stream.normal(), 400.0 * stream.unit()]);
                }
                for (row, predicted) in boosting.predict(&asked)?.iter().enumerate() {
                    let stepped = steps.predict(asked.row(row)).unwrap_or(f64::NAN);
                    let exact = single && has_cells;
                    assert!(
                        (stepped - predicted).abs() <= if exact { 0.0 } else { 1e-5 * (1.0 + predicted.abs()) },
                        "{row}"
                    );
                }
                assert_eq!(steps.predict(&[1.0]), None);
            }
        }
        Ok(())
    }
}
