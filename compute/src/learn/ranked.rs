//! The values of a table as ranks, computed once for all trees that are grown on it.

use super::Table;

/// The rows of a table with their values replaced by ranks.
pub(super) struct Ranked {
    pub(super) features: Vec<RankedFeature>,
    /// The slot of each row's value for each of `features`, row by row.
    pub(super) slots: Vec<u32>,
    rows: usize,
    pub(super) slot_count: usize,
    /// The rows in the order of each feature's values; `None` if there are few distinct values.
    pub(super) sorted: Option<Vec<u32>>,
    precision: Precision,
    edges: Edges,
    /// The number of features in the table, constant ones included.
    width: usize,
}

/// The position of a split between two neighbouring values of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edges {
    /// The midpoint of the two values.
    OfNode,
    /// A midpoint of neighbouring values of the whole table: that of the gap which contains the midpoint of the node's
    /// values. So all trees of a table split at the same few positions.
    OfTable,
    /// The upper value, as in XGBoost's histograms. A feature with more than `bins` distinct values is binned by
    /// quantiles.
    Upper {
        /// The most bins.
        bins: usize,
    },
}

/// The precision of values and thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// 64 bits.
    Double,
    /// 32 bits, as in XGBoost.
    Single,
}

impl Precision {
    /// Rounds a value before it is compared with thresholds.
    pub(super) fn round(self, value: f64) -> f64 {
        match self {
            Self::Double => value,
            Self::Single => f64::from(value as f32),
        }
    }

    /// A threshold above `low` and at most `high`: the midpoint if rounding allows.
    fn middle(self, low: f64, high: f64) -> f64 {
        match self {
            Self::Double => between(low, high).next_up(),
            Self::Single => {
                let middle = (low as f32 + high as f32) * 0.5;
                if f64::from(middle) > low { f64::from(middle) } else { high }
            }
        }
    }
}

/// A feature with at least two distinct values; others can't split.
pub(super) struct RankedFeature {
    /// The index of the feature in the table.
    pub(super) index: usize,
    /// The distinct values, ascending; for bins the lowest value of each.
    pub(super) values: Vec<f64>,
    /// The slot of the first value.
    pub(super) first: usize,
}

impl Ranked {
    /// Ranks the values of a table, which must be finite.
    pub(super) fn new(table: &Table, precision: Precision, edges: Edges) -> Self {
        let value = |row: usize, index: usize| precision.round(table.row(row)[index]);
        let mut features = Vec::new();
        let mut slot_count = 0;
        for index in 0..table.names().len() {
            let mut values: Vec<f64> = (0..table.rows()).map(|row| value(row, index)).collect();
            crate::math::ascending(&mut values);
            if let Edges::Upper { bins } = edges {
                keep_bin_starts(&mut values, bins);
            }
            values.dedup_by(|a, b| a == b);
            if values.len() > 1 {
                let first = slot_count;
                slot_count += values.len();
                features.push(RankedFeature { index, values, first });
            }
        }
        let slot = |row: usize, feature: &RankedFeature| {
            let value = value(row, feature.index);
            (feature.first + feature.values.partition_point(|v| *v <= value) - 1) as u32
        };
        let slot = &slot;
        let slots: Vec<u32> =
            (0..table.rows()).flat_map(|row| features.iter().map(move |feature| slot(row, feature))).collect();
        let sorted = (slot_count > table.rows()).then(|| sorted(&slots, features.len(), table.rows(), slot_count));
        let (rows, width) = (table.rows(), table.names().len());
        Self { slots, rows, slot_count, features, sorted, precision, edges, width }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn slots_of(&self, row: u32) -> &[u32] {
        &self.slots[row as usize * self.features.len()..][..self.features.len()]
    }

    /// Whether sums may be computed as differences, which round differently.
    pub(super) fn may_subtract(&self) -> bool {
        self.edges != Edges::OfNode
    }

    /// The threshold of a split of one of `features`; rows below it go to the low side. `below` and `slot` are the
    /// node's neighbouring slots on both sides.
    pub(super) fn threshold(&self, feature: usize, below: u32, slot: u32) -> f64 {
        let RankedFeature { values, first, .. } = &self.features[feature];
        let (low, high) = (values[below as usize - first], values[slot as usize - first]);
        match self.edges {
            Edges::OfNode => self.precision.middle(low, high),
            Edges::Upper { .. } => high,
            Edges::OfTable => {
                let middle = f64::midpoint(low, high);
                let above = values.partition_point(|value| *value <= middle).clamp(1, values.len() - 1);
                self.precision.middle(values[above - 1], values[above])
            }
        }
    }

    /// All positions at which trees can split, ascending, for each feature of the table. Not meaningful for
    /// [`Edges::OfNode`].
    pub(super) fn edges(&self) -> Vec<Vec<f64>> {
        let mut edges = vec![Vec::new(); self.width];
        for feature in &self.features {
            edges[feature.index] = match self.edges {
                Edges::Upper { .. } => feature.values[1..].to_vec(),
                _ => feature.values.windows(2).map(|pair| self.precision.middle(pair[0], pair[1])).collect(),
            };
        }
        edges
    }
}

/// Reduces ascending values to the first of each bin, if there are more distinct values than bins.
fn keep_bin_starts(values: &mut Vec<f64>, bins: usize) {
    let distinct = 1 + values.windows(2).filter(|pair| pair[0] < pair[1]).count();
    if distinct > bins {
        let count = values.len();
        *values = (0..bins).map(|bin| values[bin * count / bins]).collect();
    }
}

/// The rows in the order of each feature's slots, by counting sort.
pub(super) fn sorted(slots: &[u32], features: usize, rows: usize, slot_count: usize) -> Vec<u32> {
    let mut next = vec![0_u32; slot_count + 1];
    slots.iter().for_each(|slot| next[*slot as usize + 1] += 1);
    (0..slot_count).for_each(|slot| next[slot + 1] += next[slot]);
    let mut sorted = vec![0; rows * features];
    for row in 0..rows {
        for slot in &slots[row * features..][..features] {
            sorted[next[*slot as usize] as usize] = row as u32;
            next[*slot as usize] += 1;
        }
    }
    sorted
}

/// A number in `low..high`: the midpoint if rounding allows.
fn between(low: f64, high: f64) -> f64 {
    let middle = f64::midpoint(low, high);
    if middle < high { middle } else { low }
}
