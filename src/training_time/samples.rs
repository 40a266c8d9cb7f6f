//! Samples measured on a cluster: operators on one GPU, and collectives over a few nodes.

use serde::{Deserialize, Serialize};

/// Tokens of the vocabulary where a file of samples says nothing else.
pub(super) const VOCABULARY: f64 = 50257.0;

/// The location of a row: the index of the bundle's file, and the line number from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The index of the file.
    pub file: u32,
    /// The line number, from 1.
    pub line: u32,
}

/// Divisions that must leave no remainder: a head's size, heads and width of a rank.
pub(super) const DIVISIONS: [[&str; 2]; 3] = [["dim", "h"], ["h", "mp"], ["dim", "mp"]];

/// The order of inputs, by the first that differs.
pub(super) fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let differs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|ordering| ordering.is_ne());
    differs.unwrap_or(std::cmp::Ordering::Equal)
}

/// All rows of one operator, repeats included, identical rows of two files once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperatorSamples {
    /// The operator's name in the catalogue, such as `flash_atten`.
    pub operator: String,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// Names of the inputs, as in the header: `mp`, `b`, `l`, `dim`.
    pub inputs: Vec<String>,
    /// The inputs of all rows, row by row, as integers.
    pub values: Vec<f64>,
    /// Forward times in µs, one per row; of a stage's optimizer, its whole time.
    pub forward_us: Vec<f64>,
    /// Backward times in µs, one per row; empty where the file has one time (`dur(us)`).
    pub backward_us: Vec<f64>,
    /// The location of each row.
    pub places: Vec<SourceLine>,
}

impl OperatorSamples {
    /// The number of rows, which all columns have.
    pub const fn len(&self) -> usize {
        self.forward_us.len()
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.forward_us.is_empty()
    }

    /// The inputs of a row, in the order of [`OperatorSamples::inputs`].
    pub fn row(&self, row: usize) -> &[f64] {
        let width = self.inputs.len();
        self.values.get(row * width..(row + 1) * width).unwrap_or_default()
    }

    /// Keeps the rows at those places for which this holds.
    pub fn retain(&mut self, keep: impl Fn(&SourceLine) -> bool) {
        let stays: Vec<bool> = self.places.iter().map(keep).collect();
        let of = |times: &[f64], width: usize| {
            let rows = times.chunks_exact(width.max(1)).zip(&stays).filter(|(_, stays)| **stays);
            rows.flat_map(|(row, _)| row.iter().copied()).collect()
        };
        self.values = of(&self.values, self.inputs.len());
        self.forward_us = of(&self.forward_us, 1);
        self.backward_us = of(&self.backward_us, 1);
        let mut stays = stays.iter();
        self.places.retain(|_| stays.next().is_none_or(|stays| *stays));
    }
}

/// The GPUs of a collective: how many nodes, and how many GPUs on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Communicator {
    /// The number of nodes, from 1.
    pub nodes: u32,
    /// The number of GPUs on each node.
    pub per_node: u32,
}

impl Communicator {
    /// The number of GPUs over all nodes; `u32::MAX` if that is more.
    pub const fn ranks(self) -> u32 {
        self.nodes.saturating_mul(self.per_node)
    }
}

impl std::fmt::Display for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×{}", self.nodes, self.per_node)
    }
}

/// One measurement of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveRow {
    /// Message size in elements, as in the file; of fp16, bytes are twice that. Of an all-gather, what one rank
    /// contributes.
    pub elements: u64,
    /// The communicator over which it was measured.
    pub communicator: Communicator,
    /// The time of one call in µs.
    pub time_us: f64,
    /// The location of the row.
    pub place: SourceLine,
}

/// All rows of one collective, over all communicators, identical rows of two files once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSamples {
    /// The collective's name in the catalogue: `allreduce`, `allreduce_large`, `allgather_large` or `p2p`.
    pub collective: String,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// The rows, sorted by communicator and elements, then in file order.
    pub rows: Vec<CollectiveRow>,
}

/// The operation of a collective: `large` is a second range of sizes, not another operation.
pub(super) fn family_of(collective: &str) -> &str {
    collective.strip_suffix("_large").unwrap_or(collective)
}

/// The samples of one kind of GPU in one folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The cluster's name: that of its folder, or of its GPU where no folder is known.
    pub name: String,
    /// The prefix of its files, such as `NVIDIAA100-SXM4-80GB`.
    pub gpu: String,
    /// The samples of operators, by name.
    pub operators: Vec<OperatorSamples>,
    /// The samples of collectives, by name.
    pub collectives: Vec<CollectiveSamples>,
    /// The settings of regressors from configuration files of the reference implementation.
    pub settings: Vec<Setting>,
}

impl Cluster {
    /// The samples of the operator with this name.
    pub fn operator(&self, name: &str) -> Option<&OperatorSamples> {
        self.operators.iter().find(|samples| samples.operator == name)
    }

    /// The samples of the collective with this name.
    pub fn collective(&self, name: &str) -> Option<&CollectiveSamples> {
        self.collectives.iter().find(|samples| samples.collective == name)
    }

    /// Whether parity has a regressor of a collective over any GPUs: where the settings of collectives have one, or
    /// where there are no settings.
    pub fn has_fallback(&self, collective: &str) -> bool {
        let is_of_collective = |row: &&Setting| matches!(row.of, SettingTarget::Communicator(_));
        let mut settings = self.settings.iter().filter(is_of_collective).peekable();
        settings.peek().is_none()
            || settings.any(|row| row.function == collective && row.of == SettingTarget::Communicator(None))
    }
}

/// A row of a regressor configuration: which family and settings predict a target in parity mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The name of the operator or collective.
    pub function: String,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// The time that the regressor predicts.
    pub of: SettingTarget,
    /// The family of the regressor, with its hyperparameters.
    pub family: RegressorFamily,
    /// The published error as a fraction, where the file has the column.
    pub error: Option<f64>,
}

/// The time that the regressor of a [`Setting`] predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingTarget {
    /// An operator's forward time, or the one time of an optimizer.
    Forward,
    /// The backward time of an operator.
    Backward,
    /// A collective over these GPUs; `None` for the fallback over all (0, 0 in the file).
    Communicator(Option<Communicator>),
}

/// A family of regressors with its hyper-parameters, named as the files name them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RegressorFamily {
    /// A forest as in scikit-learn: `rforest`.
    Forest {
        /// The number of trees: `n_estimators`.
        trees: u32,
        /// The largest depth, `None` for no limit: `max_depth`.
        max_depth: Option<u32>,
        /// The fewest samples of a leaf: `min_samples_leaf`.
        min_samples_leaf: u32,
        /// The fewest samples of a node that may be split: `min_samples_split`.
        min_samples_split: u32,
    },
    /// Boosted trees with the histogram method of XGBoost: `xgboost`.
    Boosted {
        /// The number of rounds: `n_estimators`.
        rounds: u32,
        /// The largest depth of a tree: `max_depth`.
        max_depth: u32,
        /// The factor of each tree's contribution, from 0 to 1: `learning_rate`.
        learning_rate: f64,
        /// The least loss reduction of a split: `gamma`.
        gamma: f64,
        /// The least sum of weights of a child: `min_child_weight`.
        min_child_weight: f64,
        /// The share of rows of a tree: `subsample`.
        subsample: f64,
        /// The share of columns of a tree: `colsample_bytree`.
        colsample_bytree: f64,
    },
}
