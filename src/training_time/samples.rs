//! What was measured on a cluster: single operators on one GPU, collectives over a few nodes.

use serde::{Deserialize, Serialize};

/// Where a row was read: the bundle's file by index, and its line, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index of the file.
    pub file: u32,
    /// Its line.
    pub line: u32,
}

/// All rows of one operator, repeats included, identical rows of two files once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperatorSamples {
    /// Its name in the catalogue: `flash_atten`.
    pub operator: String,
    /// `fp16`.
    pub precision: String,
    /// Names of the inputs, as in the header: `mp`, `b`, `l`, `dim`.
    pub inputs: Vec<String>,
    /// Row-major, rows × inputs; whole numbers.
    pub values: Vec<f64>,
    /// Forward times in µs, one per row; of a stage's optimizer, its whole time.
    pub forward_us: Vec<f64>,
    /// Backward times in µs, one per row; empty where the file has one time (`dur(us)`).
    pub backward_us: Vec<f64>,
    /// Where each row stands.
    pub places: Vec<Place>,
}

impl OperatorSamples {
    /// How many rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.forward_us.len()
    }

    /// There is no row.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.forward_us.is_empty()
    }

    /// The inputs of a row, in the order of [`OperatorSamples::inputs`].
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        let width = self.inputs.len();
        self.values.get(row * width..(row + 1) * width).unwrap_or_default()
    }

    /// Keeps the rows at those places for which this holds.
    pub fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
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
    /// Nodes.
    pub nodes: u32,
    /// GPUs on each.
    pub per_node: u32,
}

impl Communicator {
    /// All its GPUs.
    #[must_use]
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
    /// Its GPUs.
    pub communicator: Communicator,
    /// Its time in µs.
    pub time_us: f64,
    /// Where it stands.
    pub place: Place,
}

/// All rows of one collective, over all communicators, identical rows of two files once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSamples {
    /// Its name in the catalogue: `allreduce`, `allreduce_large`, `allgather_large`, `p2p`.
    pub collective: String,
    /// `fp16`.
    pub precision: String,
    /// The rows, by communicator, then elements, then as read.
    pub rows: Vec<CollectiveRow>,
}

/// What was measured on one kind of GPU under one folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// What it is called: its folder, or its GPU where no folder is known.
    pub name: String,
    /// Prefix of its files: `NVIDIAA100-SXM4-80GB`.
    pub gpu: String,
    /// Operators, by name.
    pub operators: Vec<OperatorSamples>,
    /// Collectives, by name.
    pub collectives: Vec<CollectiveSamples>,
    /// Settings of regressors, of the reference's configuration files.
    pub settings: Vec<Setting>,
}

impl Cluster {
    /// The samples of an operator.
    #[must_use]
    pub fn operator(&self, name: &str) -> Option<&OperatorSamples> {
        self.operators.iter().find(|samples| samples.operator == name)
    }

    /// The samples of a collective.
    #[must_use]
    pub fn collective(&self, name: &str) -> Option<&CollectiveSamples> {
        self.collectives.iter().find(|samples| samples.collective == name)
    }

    /// Whether parity has a regressor of a collective over any GPUs: where the settings of collectives have one, or
    /// where there are no settings.
    #[must_use]
    pub fn has_fallback(&self, collective: &str) -> bool {
        let is_of_collective = |row: &&Setting| matches!(row.of, SettingOf::Communicator(_));
        let mut settings = self.settings.iter().filter(is_of_collective).peekable();
        settings.peek().is_none()
            || settings.any(|row| row.function == collective && row.of == SettingOf::Communicator(None))
    }
}

/// A row of a regressor configuration: which family and settings predict a target in parity mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Operator or collective.
    pub function: String,
    /// `fp16`.
    pub precision: String,
    /// What it predicts.
    pub of: SettingOf,
    /// Family and hyper-parameters.
    pub family: Family,
    /// The published error as a fraction, where the file has the column.
    pub error: Option<f64>,
}

/// What a [`Setting`] predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingOf {
    /// An operator's forward time, or the one time of an optimizer.
    Forward,
    /// An operator's backward time.
    Backward,
    /// A collective over these GPUs; `None` for the fallback over all (0, 0 in the file).
    Communicator(Option<Communicator>),
}

/// A family of regressors with its hyper-parameters, named as the files name them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Family {
    /// `rforest`, as scikit-learn's.
    Forest {
        /// `n_estimators`.
        trees: u32,
        /// `max_depth`; `None` for no limit.
        max_depth: Option<u32>,
        /// `min_samples_leaf`.
        min_samples_leaf: u32,
        /// `min_samples_split`.
        min_samples_split: u32,
    },
    /// `xgboost`, its histogram method.
    Boosted {
        /// `n_estimators`.
        rounds: u32,
        /// `max_depth`.
        max_depth: u32,
        /// `learning_rate`.
        learning_rate: f64,
        /// `gamma`.
        gamma: f64,
        /// `min_child_weight`.
        min_child_weight: f64,
        /// `subsample`.
        subsample: f64,
        /// `colsample_bytree`.
        colsample_bytree: f64,
    },
}
