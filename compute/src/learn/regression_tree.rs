//! Regression trees for boosting: best splits by squared error (Breiman, Friedman, Olshen, Stone 1984), or by the gain
//! of a regularised Newton step (Chen, Guestrin 2016).
//!
//! Each value is replaced by its rank once for all trees, and a split of a feature is judged from the sums of a node's
//! rows by rank. The features of a sweep take few distinct values: there a node adds its rows up by rank. Where values
//! are as many as rows, each node keeps its rows sorted by every feature instead. Both give the same sums.

use super::ranked::{Ranked, RankedFeature};
use crate::math::Stream;

/// The limits of a tree's growth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most splits on the path from the root to a leaf.
    pub(super) depth: u16,
    /// The least number of rows of a node that is split.
    pub(super) min_samples_split: usize,
    /// The least number of rows on either side of a split.
    pub(super) min_samples_leaf: u32,
}

/// The criterion by which splits are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Criterion {
    /// The reduction of the squared error. Of equally good splits the first in a random order of features is chosen,
    /// with a new order for each node.
    SquaredError,
    /// The gain of XGBoost for squared error (hessian 1) with an L2 penalty of leaves, in its arithmetic and in the
    /// order in which its exact method searches: features ascending, values descending.
    Gain {
        /// The L2 penalty λ of leaves.
        lambda: f64,
        /// The least gain γ of a split.
        gamma: f64,
        /// The least weight on either side of a split (`min_child_weight`).
        min_child_weight: f64,
    },
}

/// The data on which a tree is grown.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    /// The target of each row.
    pub(super) target: &'a [f64],
    /// The number of times that each row counts; `None` for once each.
    pub(super) weights: Option<&'a [u32]>,
    /// The features that may split, by their index among the ranked ones; `None` for all.
    pub(super) features: Option<&'a [usize]>,
}

impl<'a> From<&'a [f64]> for Sample<'a> {
    fn from(target: &'a [f64]) -> Self {
        Self { target, weights: None, features: None }
    }
}

/// The least gain of a split by [`Criterion::Gain`]: XGBoost's `kRtEps`.
const LEAST_GAIN: f32 = 1e-6;

/// A fitted tree, or one from a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RegressionTree {
    /// The root first; children come after their parents.
    pub(super) nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Leaf {
        value: f64,
        /// The sum of the weights of its rows.
        cover: f64,
    },
    Split {
        feature: usize,
        /// Rows with a value below it go to the low side.
        threshold: f64,
        low: usize,
        high: usize,
        /// The reduction of the loss by the split.
        improvement: f64,
        /// The sum of the weights of its rows.
        cover: f64,
    },
}

/// The use of one feature in the splits of trees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// The number of splits (XGBoost's importance `weight`).
    pub splits: u32,
    /// The total reduction of the loss (`total_gain`); divided by the number of splits it is `gain`.
    pub total_gain: f64,
}

impl RegressionTree {
    /// Grows a tree. `leaf` gives the value of a leaf from its rows, ascending, and the weighted sum of their targets;
    /// the value is written to `fitted` for each of the rows. Rows of weight 0 are not changed.
    pub(super) fn fit(
        ranked: &Ranked,
        sample: Sample<'_>,
        (criterion, limits): (Criterion, Limits),
        leaf: &mut dyn FnMut(&[u32], f64) -> f64,
        stream: &mut Stream,
        fitted: &mut [f64],
    ) -> Self {
        let all = ranked.rows();
        let counts = |row: &u32| sample.weights.is_none_or(|weights| weights[*row as usize] > 0);
        let rows: Vec<u32> = (0..all as u32).filter(counts).collect();
        let one = |row: usize| {
            let weight = sample.weights.map_or(1, |weights| weights[row]);
            Sum { target: f64::from(weight) * sample.target[row], weight, rows: 1 }
        };
        let sorted = ranked.sorted.as_ref().map(|sorted| sorted.iter().copied().filter(counts).collect());
        let mut builder = TreeBuilder {
            ranked,
            criterion,
            limits,
            leaf,
            stream,
            fitted,
            sorted: sorted.unwrap_or_default(),
            goes_low: vec![false; if ranked.sorted.is_some() { all } else { 0 }],
            scratch: vec![0; rows.len()],
            row_sums: (0..all).map(one).collect(),
            free_sums: Vec::new(),
            groups: Vec::new(),
            order: sample.features.map_or_else(|| (0..ranked.features.len()).collect(), <[usize]>::to_vec),
            nodes: Vec::new(),
            rows,
        };
        builder.grow(0, builder.rows.len(), 0, None);
        Self { nodes: builder.nodes }
    }

    /// The prediction for a row of the table's features, rounded like the tree's thresholds.
    pub(super) fn predict(&self, row: &[f64]) -> f64 {
        match self.nodes[self.leaf(row)] {
            Node::Leaf { value, .. } => value,
            Node::Split { .. } => 0.0,
        }
    }

    /// The index of the leaf for such a row.
    pub(super) fn leaf(&self, row: &[f64]) -> usize {
        let mut at = 0;
        while let Node::Split { feature, threshold, low, high, .. } = self.nodes[at] {
            at = if row[feature] < threshold { low } else { high };
        }
        at
    }

    /// The training weight of each leaf, by the index of the node; 0 for splits.
    pub(super) fn weights(&self) -> Vec<f64> {
        let weight = |node: &Node| match node {
            Node::Leaf { cover, .. } => *cover,
            Node::Split { .. } => 0.0,
        };
        self.nodes.iter().map(weight).collect()
    }

    /// Adds the use of each feature in this tree.
    pub(super) fn add_usage(&self, usage: &mut [Usage]) {
        for node in &self.nodes {
            if let Node::Split { feature, improvement, .. } = node {
                usage[*feature].splits += 1;
                usage[*feature].total_gain += improvement;
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    target: f64,
    weight: u32,
    rows: u32,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.target += other.target;
        self.weight += other.weight;
        self.rows += other.rows;
    }

    fn without(self, other: Self) -> Self {
        let (weight, rows) = (self.weight - other.weight, self.rows - other.rows);
        Self { target: self.target - other.target, weight, rows }
    }

    /// The part of the sum of squares that the mean of these rows explains.
    fn explained(self) -> f64 {
        self.target * self.target / f64::from(self.weight)
    }

    /// The gain of a leaf, G²/(H + λ); both are rounded before the division, as in XGBoost (`Divide` in
    /// src/tree/split_evaluator.h takes floats).
    fn gain(self, lambda: f64) -> f32 {
        (self.target * self.target) as f32 / (f64::from(self.weight) + lambda) as f32
    }
}

struct Split {
    /// The index of the feature among the ranked ones.
    feature: usize,
    /// The lowest slot on the high side.
    slot: u32,
    /// The highest slot on the low side that rows of the node have.
    below: u32,
    improvement: f64,
}

struct TreeBuilder<'a> {
    ranked: &'a Ranked,
    criterion: Criterion,
    limits: Limits,
    leaf: &'a mut dyn FnMut(&[u32], f64) -> f64,
    stream: &'a mut Stream,
    fitted: &'a mut [f64],
    /// The rows; each node has a range of this list.
    rows: Vec<u32>,
    /// For each feature the same ranges in the order of its values; empty if there are few distinct values.
    sorted: Vec<u32>,
    /// For each row whether it goes to the low side of the present split.
    goes_low: Vec<bool>,
    scratch: Vec<u32>,
    /// Target and weight of each row.
    row_sums: Vec<Sum>,
    /// Buffers of sums by slot for reuse.
    free_sums: Vec<Vec<Sum>>,
    /// For the present node and feature, the slots that rows have, ascending, with their sums.
    groups: Vec<(u32, Sum)>,
    order: Vec<usize>,
    nodes: Vec<Node>,
}

/// Nodes with fewer rows are grouped by sorting: adding up by slot would visit all slots.
const SMALL_NODE: usize = 24;

impl TreeBuilder<'_> {
    /// Grows the node of the rows in `begin..end`, and returns its index. `sums` are the sums of its rows by slot, if
    /// known.
    fn grow(&mut self, begin: usize, end: usize, depth: u16, sums: Option<Vec<Sum>>) -> usize {
        let total = self.total(begin, end);
        let cover = f64::from(total.weight);
        let node = self.nodes.len();
        self.nodes.push(Node::Leaf { value: 0.0, cover });
        let sums = if self.may_split(depth, end - begin) { sums.or_else(|| self.sum_up(begin, end)) } else { sums };
        let split = if self.may_split(depth, end - begin) {
            self.best_split(begin, end, total, sums.as_deref().unwrap_or_default())
        } else {
            None
        };
        let Some(split) = split else {
            self.free_sums.extend(sums);
            let rows = &self.rows[begin..end];
            let value = if rows.is_empty() { 0.0 } else { (self.leaf)(rows, total.target) };
            for row in rows {
                self.fitted[*row as usize] = value;
            }
            self.nodes[node] = Node::Leaf { value, cover };
            return node;
        };
        let middle = begin + self.partition(begin, end, &split, depth + 1 < self.limits.depth);
        let (low_sums, high_sums) = self.child_sums(sums, (begin, middle, end), depth + 1);
        let low = self.grow(begin, middle, depth + 1, low_sums);
        let high = self.grow(middle, end, depth + 1, high_sums);
        self.nodes[node] = Node::Split {
            feature: self.ranked.features[split.feature].index,
            threshold: self.ranked.threshold(split.feature, split.below, split.slot),
            low,
            high,
            improvement: split.improvement,
            cover,
        };
        node
    }

    #[inline(never)]
    fn total(&self, begin: usize, end: usize) -> Sum {
        let (mut target, mut weight) = (0.0, 0);
        for row in &self.rows[begin..end] {
            let one = self.row_sums[*row as usize];
            target += one.target;
            weight += one.weight;
        }
        Sum { target, weight, rows: (end - begin) as u32 }
    }

    fn may_split(&self, depth: u16, rows: usize) -> bool {
        depth < self.limits.depth && rows >= self.limits.min_samples_split.max(2)
    }

    /// The sums of some rows by slot; `None` if rows are sorted instead.
    fn sum_up(&mut self, begin: usize, end: usize) -> Option<Vec<Sum>> {
        if self.ranked.sorted.is_some() || end - begin < SMALL_NODE {
            return None;
        }
        let mut sums = self.free_sums.pop().unwrap_or_default();
        sums.clear();
        sums.resize(self.ranked.slot_count, Sum::default());
        for row in &self.rows[begin..end] {
            let one = self.row_sums[*row as usize];
            for slot in self.ranked.slots_of(*row) {
                sums[*slot as usize].add(one);
            }
        }
        Some(sums)
    }

    /// The sums of both sides of a split, if that is worth it: those of the larger side are the difference of the whole
    /// and the smaller side. Criteria that reproduce other programs to the last bit add up each side.
    fn child_sums(
        &mut self,
        sums: Option<Vec<Sum>>,
        (begin, middle, end): (usize, usize, usize),
        depth: u16,
    ) -> (Option<Vec<Sum>>, Option<Vec<Sum>>) {
        let Some(mut whole) = sums else { return (None, None) };
        let low_is_larger = middle - begin > end - middle;
        let (larger, smaller) =
            if low_is_larger { ((begin, middle), (middle, end)) } else { ((middle, end), (begin, middle)) };
        let rows = larger.1 - larger.0;
        let is_worth = self.ranked.may_subtract() && rows * self.ranked.features.len() > 2 * whole.len();
        if !is_worth || rows < SMALL_NODE || !self.may_split(depth, rows) {
            self.free_sums.push(whole);
            return (None, None);
        }
        let of_smaller = self.sum_up(smaller.0, smaller.1);
        match &of_smaller {
            Some(sums) => whole.iter_mut().zip(sums).for_each(|(whole, part)| *whole = whole.without(*part)),
            None => {
                for row in &self.rows[smaller.0..smaller.1] {
                    let one = self.row_sums[*row as usize];
                    for slot in self.ranked.slots_of(*row) {
                        whole[*slot as usize] = whole[*slot as usize].without(one);
                    }
                }
            }
        }
        if low_is_larger { (Some(whole), of_smaller) } else { (of_smaller, Some(whole)) }
    }

    /// The best split that is better than no split.
    fn best_split(&mut self, begin: usize, end: usize, total: Sum, sums: &[Sum]) -> Option<Split> {
        if self.criterion == Criterion::SquaredError {
            self.stream.shuffle(&mut self.order);
        }
        if end - begin == 2 && self.criterion == Criterion::SquaredError && self.limits.min_samples_leaf <= 1 {
            return self.split_two(begin, total);
        }
        let mut best: Option<Split> = None;
        let (mut to_beat, least) = match self.criterion {
            Criterion::SquaredError => (total.explained(), 0.0),
            Criterion::Gain { gamma, .. } => (f64::from(LEAST_GAIN), gamma),
        };
        for at in 0..self.order.len() {
            let feature = self.order[at];
            self.group(feature, begin, end, sums);
            let found = match self.criterion {
                Criterion::SquaredError => self.least_error(total, &mut to_beat),
                Criterion::Gain { lambda, min_child_weight, .. } => {
                    self.largest_gain(total, (lambda, min_child_weight), &mut to_beat)
                }
            };
            if let Some((below, slot)) = found {
                let explained = if self.criterion == Criterion::SquaredError { total.explained() } else { 0.0 };
                best = Some(Split { feature, slot, below, improvement: to_beat - explained });
            }
        }
        best.filter(|split| split.improvement >= least)
    }

    /// The split of two rows: any feature in which they differ explains all, so the first one is taken. A third of the
    /// nodes of a full tree have two rows.
    fn split_two(&self, begin: usize, total: Sum) -> Option<Split> {
        let (first, second) = (self.rows[begin], self.rows[begin + 1]);
        let both = self.row_sums[first as usize].explained() + self.row_sums[second as usize].explained();
        let improvement = both - total.explained();
        let (first, second) = (self.ranked.slots_of(first), self.ranked.slots_of(second));
        let feature = *self.order.iter().find(|feature| first[**feature] != second[**feature])?;
        let (below, slot) = (first[feature].min(second[feature]), first[feature].max(second[feature]));
        // The split must be better than no split, as elsewhere.
        (both > total.explained()).then_some(Split { feature, slot, below, improvement })
    }

    /// Sums up the rows of a node by the slots of a feature.
    fn group(&mut self, feature: usize, begin: usize, end: usize, sums: &[Sum]) {
        self.groups.clear();
        if !sums.is_empty() {
            let RankedFeature { values, first, .. } = &self.ranked.features[feature];
            let sums = sums[*first..][..values.len()].iter().zip(*first as u32..);
            self.groups.extend(sums.filter(|(sum, _)| sum.rows > 0).map(|(sum, slot)| (slot, *sum)));
            return;
        }
        let (slots, width) = (&self.ranked.slots[feature..], self.ranked.features.len());
        let slot_of = |row: u32| slots[row as usize * width];
        let mut few = [0; SMALL_NODE];
        let rows = if end - begin < SMALL_NODE {
            // Insertion sort by slot and then by row, both in one integer.
            let mut keys = [0; SMALL_NODE];
            for (count, row) in self.rows[begin..end].iter().enumerate() {
                let key = u64::from(slot_of(*row)) << 32 | u64::from(*row);
                let mut place = count;
                while place > 0 && keys[place - 1] > key {
                    keys[place] = keys[place - 1];
                    place -= 1;
                }
                keys[place] = key;
            }
            few.iter_mut().zip(keys).for_each(|(row, key)| *row = key as u32);
            &few[..end - begin]
        } else {
            &self.sorted[feature * self.rows.len()..][begin..end]
        };
        let mut last = slot_of(rows[0]);
        let (mut target, mut weight, mut count) = (0.0, 0, 0);
        for row in rows {
            let slot = slot_of(*row);
            if slot != last {
                self.groups.push((last, Sum { target, weight, rows: count }));
                (last, target, weight, count) = (slot, 0.0, 0, 0);
            }
            let one = self.row_sums[*row as usize];
            target += one.target;
            weight += one.weight;
            count += 1;
        }
        self.groups.push((last, Sum { target, weight, rows: count }));
    }

    /// The split of the grouped feature that explains most, if that exceeds `to_beat`: the slots on both sides.
    fn least_error(&self, total: Sum, to_beat: &mut f64) -> Option<(u32, u32)> {
        let least = self.limits.min_samples_leaf;
        let mut found = None;
        let mut low = Sum::default();
        for pair in self.groups.windows(2) {
            low.add(pair[0].1);
            let high = total.without(low);
            let explained = low.explained() + high.explained();
            if explained > *to_beat && low.rows >= least && high.rows >= least {
                *to_beat = explained;
                found = Some((pair[0].0, pair[1].0));
            }
        }
        found
    }

    /// The split of the grouped feature with the largest gain, if that exceeds `to_beat`: the slots on both sides.
    fn largest_gain(&self, total: Sum, (lambda, least): (f64, f64), to_beat: &mut f64) -> Option<(u32, u32)> {
        let root = total.gain(lambda);
        let mut found = None;
        let mut high = Sum::default();
        for pair in self.groups.windows(2).rev() {
            high.add(pair[1].1);
            let low = total.without(high);
            let gain = f64::from(low.gain(lambda) + high.gain(lambda) - root);
            if gain > *to_beat && f64::from(low.weight) >= least && f64::from(high.weight) >= least {
                *to_beat = gain;
                found = Some((pair[0].0, pair[1].0));
            }
        }
        found
    }

    /// Moves the rows of the low side to the front, in their order, and returns their number. Sorted rows are
    /// partitioned too if the children may be split.
    fn partition(&mut self, begin: usize, end: usize, split: &Split, again: bool) -> usize {
        let slot_of = |row: u32| self.ranked.slots_of(row)[split.feature];
        let goes_low = |row: u32| slot_of(row) < split.slot;
        let low = stable_partition(&mut self.rows[begin..end], &mut self.scratch, goes_low);
        if again && !self.sorted.is_empty() && end - begin >= SMALL_NODE {
            for row in &self.rows[begin..end] {
                self.goes_low[*row as usize] = slot_of(*row) < split.slot;
            }
            for feature in 0..self.ranked.features.len() {
                let rows = &mut self.sorted[feature * self.rows.len()..][begin..end];
                stable_partition(rows, &mut self.scratch, |row| self.goes_low[row as usize]);
            }
        }
        low
    }
}

/// Moves the rows for which `holds` is true to the front, keeping the order, and returns their number. Each row is
/// written to both places, of which the next write overwrites one: the outcome is not predictable, and a branch would
/// be slower.
fn stable_partition(rows: &mut [u32], scratch: &mut [u32], holds: impl Fn(u32) -> bool) -> usize {
    let mut first = 0;
    for place in 0..rows.len() {
        let row = rows[place];
        let is_first = usize::from(holds(row));
        rows[first] = row;
        scratch[place - first] = row;
        first += is_first;
    }
    let last = rows.len() - first;
    rows[first..].copy_from_slice(&scratch[..last]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{
        Table,
        ranked::{Edges, Precision, sorted},
    };

    fn grow(rows: &[[f64; 2]], target: &[f64], depth: u16, min_samples_split: usize) -> (RegressionTree, Vec<f64>) {
        let mut table = Table::new(&["x", "y"]);
        rows.iter().for_each(|row| table.push(row));
        let mut fitted = vec![f64::NAN; rows.len()];
        let limits = Limits { depth, min_samples_split, min_samples_leaf: 1 };
        let ranked = Ranked::new(&table, Precision::Double, Edges::OfNode);
        let sample = Sample::from(target);
        let mut mean = |rows: &[u32], sum: f64| sum / rows.len() as f64;
        let rules = (Criterion::SquaredError, limits);
        let tree = RegressionTree::fit(&ranked, sample, rules, &mut mean, &mut Stream::new(1), &mut fitted);
        let sorted = sorted(&ranked.slots, ranked.features.len(), rows.len(), ranked.slot_count);
        let mut other = Ranked::new(&table, Precision::Double, Edges::OfNode);
        other.sorted = Some(sorted);
        let mut again = vec![f64::NAN; rows.len()];
        assert_eq!(RegressionTree::fit(&other, sample, rules, &mut mean, &mut Stream::new(1), &mut again), tree);
        assert_eq!(rows.iter().map(|row| tree.predict(row)).collect::<Vec<_>>(), fitted);
        (tree, fitted)
    }

    #[test]
    fn the_best_split_is_taken_at_the_middle_between_values() {
        let (tree, fitted) = grow(&[[1.0, 7.0], [2.0, 7.0], [8.0, 7.0], [9.0, 7.0]], &[0.0, 0.5, 10.0, 10.5], 1, 2);
        assert_eq!(fitted, [0.25, 0.25, 10.25, 10.25]);
        assert_eq!((tree.predict(&[5.0, 0.0]), tree.predict(&[5.1, 0.0])), (0.25, 10.25));
        let mut usage = [Usage::default(); 2];
        tree.add_usage(&mut usage);
        assert_eq!(usage, [Usage { splits: 1, total_gain: 100.0 }, Usage::default()]);
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
