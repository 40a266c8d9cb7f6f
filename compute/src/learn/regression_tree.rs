//! Regression trees for boosting: best splits by squared error (Breiman, Friedman, Olshen, Stone 1984).
//!
//! The features of a sweep take few distinct values. So each value is replaced by its rank once for all trees, a
//! node sums its rows up by rank, and every split of every feature is judged from these sums: the splits are those
//! of a search over sorted rows, without sorting.

use super::Table;
use crate::math::Stream;

/// The rows of a table with their values replaced by ranks.
pub(super) struct Ranked {
    features: Vec<RankedFeature>,
    /// Row after row, for each of `features` the slot of its value.
    slots: Vec<u32>,
    rows: usize,
    slot_count: usize,
}

/// A feature that takes several values; others can't split.
struct RankedFeature {
    /// Index in the table.
    index: usize,
    /// Distinct values, ascending.
    values: Vec<f64>,
    /// Slot of the first value.
    first: usize,
}

impl Ranked {
    /// Ranks the values of a table, which must be finite.
    pub(super) fn new(table: &Table) -> Self {
        let mut features = Vec::new();
        let mut slot_count = 0;
        for index in 0..table.names().len() {
            let mut values: Vec<f64> = (0..table.rows()).map(|row| table.row(row)[index]).collect();
            crate::math::ascending(&mut values);
            values.dedup_by(|a, b| a == b);
            if values.len() > 1 {
                let first = slot_count;
                slot_count += values.len();
                features.push(RankedFeature { index, values, first });
            }
        }
        let slot = |row: usize, feature: &RankedFeature| {
            let value = table.row(row)[feature.index];
            (feature.first + feature.values.partition_point(|v| *v < value)) as u32
        };
        let slot = &slot;
        let slots = (0..table.rows()).flat_map(|row| features.iter().map(move |feature| slot(row, feature))).collect();
        Self { slots, rows: table.rows(), slot_count, features }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn slots_of(&self, row: u32) -> &[u32] {
        &self.slots[row as usize * self.features.len()..][..self.features.len()]
    }
}

/// When a tree stops to grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most splits between root and leaf.
    pub(super) depth: u16,
    /// A node of fewer rows is not split.
    pub(super) min_samples_split: usize,
}

/// A fitted tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RegressionTree {
    /// The root first.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf {
        value: f64,
    },
    Split {
        feature: usize,
        /// Rows up to and including this value go low.
        threshold: f64,
        low: usize,
        high: usize,
        /// By how much the split lowers the sum of squared errors.
        improvement: f64,
    },
}

impl RegressionTree {
    /// Grows a tree on `target`, a number per row, and puts what it says of each row into `fitted`. Of splits that
    /// are equally good the first one in a random order of the features is taken, an order for each node.
    pub(super) fn fit(
        ranked: &Ranked,
        target: &[f64],
        limits: Limits,
        stream: &mut Stream,
        fitted: &mut [f64],
    ) -> Self {
        let mut growth = Growth {
            ranked,
            target,
            limits,
            stream,
            fitted,
            rows: (0..ranked.rows() as u32).collect(),
            set_aside: Vec::with_capacity(ranked.rows()),
            sums: vec![Sum::default(); ranked.slot_count],
            order: (0..ranked.features.len()).collect(),
            nodes: Vec::new(),
        };
        growth.grow(0, ranked.rows(), 0);
        Self { nodes: growth.nodes }
    }

    /// What the tree says of a row of the table's features.
    pub(super) fn predict(&self, row: &[f64]) -> f64 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf { value } => return value,
                Node::Split { feature, threshold, low, high, .. } => {
                    at = if row[feature] <= threshold { low } else { high };
                }
            }
        }
    }

    /// By how much the splits of each feature lower the sum of squared errors, added to `sums`.
    pub(super) fn add_improvements(&self, sums: &mut [f64]) {
        for node in &self.nodes {
            if let Node::Split { feature, improvement, .. } = node {
                sums[*feature] += improvement;
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    target: f64,
    rows: u32,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.target += other.target;
        self.rows += other.rows;
    }

    /// What the mean of these rows explains of their sum of squares.
    fn explained(self) -> f64 {
        self.target * self.target / f64::from(self.rows)
    }
}

struct Split {
    /// Which of the ranked features.
    feature: usize,
    /// The highest slot that goes low.
    slot: u32,
    threshold: f64,
    explained: f64,
}

struct Growth<'a> {
    ranked: &'a Ranked,
    target: &'a [f64],
    limits: Limits,
    stream: &'a mut Stream,
    fitted: &'a mut [f64],
    /// Each node has a range of it.
    rows: Vec<u32>,
    set_aside: Vec<u32>,
    /// Of the node at hand, by slot.
    sums: Vec<Sum>,
    order: Vec<usize>,
    nodes: Vec<Node>,
}

impl Growth<'_> {
    /// Grows the node of the rows in `begin..end`, and says which one it is.
    fn grow(&mut self, begin: usize, end: usize, depth: u16) -> usize {
        let target: f64 = self.rows[begin..end].iter().map(|row| self.target[*row as usize]).sum();
        let total = Sum { target, rows: (end - begin) as u32 };
        let node = self.nodes.len();
        let value = if total.rows > 0 { total.target / f64::from(total.rows) } else { 0.0 };
        self.nodes.push(Node::Leaf { value });
        let may_split = depth < self.limits.depth && end - begin >= self.limits.min_samples_split.max(2);
        let split = if may_split { self.best_split(begin, end, total) } else { None };
        let Some(split) = split else {
            for row in &self.rows[begin..end] {
                self.fitted[*row as usize] = value;
            }
            return node;
        };
        let middle = begin + self.partition(begin, end, &split);
        let low = self.grow(begin, middle, depth + 1);
        let high = self.grow(middle, end, depth + 1);
        self.nodes[node] = Node::Split {
            feature: self.ranked.features[split.feature].index,
            threshold: split.threshold,
            low,
            high,
            improvement: split.explained - total.explained(),
        };
        node
    }

    /// The split that lowers the squared error the most, if any does.
    fn best_split(&mut self, begin: usize, end: usize, total: Sum) -> Option<Split> {
        self.sums.fill(Sum::default());
        for row in &self.rows[begin..end] {
            let one = Sum { target: self.target[*row as usize], rows: 1 };
            for slot in self.ranked.slots_of(*row) {
                self.sums[*slot as usize].add(one);
            }
        }
        self.stream.shuffle(&mut self.order);
        let mut best: Option<Split> = None;
        let mut to_beat = total.explained();
        for &feature in &self.order {
            let RankedFeature { values, first, .. } = &self.ranked.features[feature];
            let sums = self.sums[*first..][..values.len()].iter().enumerate().filter(|(_, sum)| sum.rows > 0);
            let mut low = Sum::default();
            let mut last_low = None;
            for (rank, sum) in sums {
                if let Some(last_low) = last_low {
                    let high = Sum { target: total.target - low.target, rows: total.rows - low.rows };
                    let explained = low.explained() + high.explained();
                    if explained > to_beat {
                        to_beat = explained;
                        let slot = (first + last_low) as u32;
                        let threshold = between(values[last_low], values[rank]);
                        best = Some(Split { feature, slot, threshold, explained });
                    }
                }
                low.add(*sum);
                last_low = Some(rank);
            }
        }
        best
    }

    /// Puts the rows that go low first, in their order, and says how many they are.
    fn partition(&mut self, begin: usize, end: usize, split: &Split) -> usize {
        let rows = &mut self.rows[begin..end];
        self.set_aside.clear();
        let mut low = 0;
        for place in 0..rows.len() {
            let row = rows[place];
            if self.ranked.slots_of(row)[split.feature] <= split.slot {
                rows[low] = row;
                low += 1;
            } else {
                self.set_aside.push(row);
            }
        }
        rows[low..].copy_from_slice(&self.set_aside);
        low
    }
}

/// A number from `low` on and below `high`, in the middle where rounding allows.
fn between(low: f64, high: f64) -> f64 {
    let middle = f64::midpoint(low, high);
    if middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grow(rows: &[[f64; 2]], target: &[f64], depth: u16, min_samples_split: usize) -> (RegressionTree, Vec<f64>) {
        let mut table = Table::new(&["x", "y"]);
        rows.iter().for_each(|row| table.push(row));
        let mut fitted = vec![f64::NAN; rows.len()];
        let limits = Limits { depth, min_samples_split };
        let tree = RegressionTree::fit(&Ranked::new(&table), target, limits, &mut Stream::new(1), &mut fitted);
        assert_eq!(rows.iter().map(|row| tree.predict(row)).collect::<Vec<_>>(), fitted);
        (tree, fitted)
    }

    #[test]
    fn the_best_split_is_taken_at_the_middle_between_values() {
        let (tree, fitted) = grow(&[[1.0, 7.0], [2.0, 7.0], [8.0, 7.0], [9.0, 7.0]], &[0.0, 0.5, 10.0, 10.5], 1, 2);
        assert_eq!(fitted, [0.25, 0.25, 10.25, 10.25]);
        assert_eq!((tree.predict(&[5.0, 0.0]), tree.predict(&[5.1, 0.0])), (0.25, 10.25));
        let mut improvements = [0.0; 2];
        tree.add_improvements(&mut improvements);
        assert_eq!(improvements, [100.0, 0.0]);
    }

    #[test]
    fn splits_are_those_of_a_search_over_all_of_them() {
        let mut stream = Stream::new(3);
        let rows: Vec<[f64; 2]> = (0..60).map(|_| [stream.below(9) as f64, stream.below(30) as f64]).collect();
        let target: Vec<f64> = rows.iter().map(|[x, y]| x * y + stream.normal()).collect();
        let error = |side: &[f64]| {
            let mean = side.iter().sum::<f64>() / side.len() as f64;
            side.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>()
        };
        let mut lowest = f64::INFINITY;
        for feature in 0..2 {
            for at in 0..30 {
                let (low, high): (Vec<_>, Vec<_>) =
                    rows.iter().zip(&target).partition(|(row, _)| row[feature] <= f64::from(at));
                let targets = |side: Vec<(&[f64; 2], &f64)>| side.iter().map(|(_, t)| **t).collect::<Vec<f64>>();
                if !low.is_empty() && !high.is_empty() {
                    lowest = lowest.min(error(&targets(low)) + error(&targets(high)));
                }
            }
        }
        let (_, fitted) = grow(&rows, &target, 1, 2);
        let found: f64 = fitted.iter().zip(&target).map(|(f, t)| (f - t) * (f - t)).sum();
        assert!((found - lowest).abs() < 1e-9 * lowest, "{found} {lowest}");
    }

    #[test]
    fn limits_hold() {
        let rows: Vec<[f64; 2]> = (0..64).map(|x| [f64::from(x), 0.0]).collect();
        let target: Vec<f64> = (0..64).map(f64::from).collect();
        let leaves = |depth, min_samples_split| {
            let mut values = grow(&rows, &target, depth, min_samples_split).1;
            values.dedup();
            values.len()
        };
        assert_eq!((leaves(0, 2), leaves(1, 2), leaves(6, 2), leaves(64, 2)), (1, 2, 64, 64));
        assert_eq!(leaves(64, 65), 1);
        let (tree, fitted) = grow(&[[1.0, 2.0]; 3], &[1.0, 2.0, 6.0], 5, 2);
        assert_eq!((tree.nodes.len(), fitted), (1, vec![3.0; 3]));
    }

    #[test]
    fn neighbouring_numbers_are_told_apart() {
        let low = 1.0_f64;
        let high = low.next_up();
        let (tree, _) = grow(&[[low, 0.0], [high, 0.0]], &[1.0, 2.0], 1, 2);
        assert_eq!((tree.predict(&[low, 0.0]), tree.predict(&[high, 0.0])), (1.0, 2.0));
    }
}
