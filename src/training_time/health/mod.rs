//! The health of samples: what is odd about them, by general rules, and what would change without it.
//!
//! A flag names rows and offers to leave them out; nothing is left out unasked.

mod collectives;
mod operators;

use serde::{Deserialize, Serialize};

use super::{
    catalogue::Catalogue,
    samples::{Cluster, Communicator, Place},
};

/// What is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// An operator that computes twice as much backward is faster backward.
    BackwardFaster,
    /// More than ten times as slow as rows that differ in one input only.
    FarAbove,
    /// Less than a tenth of the time of rows that differ in one input only.
    FarBelow,
    /// Faster than the GPU can compute.
    AbovePeak,
    /// Faster than the GPU's memory, or its caches, can move what it touches.
    AboveMemory,
    /// More bus bandwidth than any link has.
    AboveLink,
    /// More than 1.5 × the running median over message size.
    SlowBeside,
    /// Less than 0.67 × the running median over message size.
    FastBeside,
    /// Few values of an input that others were sampled with.
    FewValues,
    /// Equal inputs were measured several times.
    Repeated,
    /// Fewer than 30 rows, or one distinct input: too few to learn from.
    TooFew,
}

impl Rule {
    /// The rows are wrong, so that leaving them out can help.
    #[must_use]
    pub const fn is_doubtful(self) -> bool {
        !matches!(self, Self::FewValues | Self::Repeated | Self::TooFew)
    }
}

/// Samples of what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
    /// Of an operator.
    Operator(String),
    /// Of a collective over these GPUs.
    Collective(String, Communicator),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator(name) => f.write_str(name),
            Self::Collective(name, communicator) => write!(f, "{name} {communicator}"),
        }
    }
}

/// Something that is odd about samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flag {
    /// The cluster's name.
    pub cluster: String,
    /// Samples of what.
    pub target: Target,
    /// `fp16`.
    pub precision: String,
    /// What is odd.
    pub rule: Rule,
    /// How many rows are.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// What is odd, with its figures.
    pub what: String,
    /// What leaving them out changes, or what to do about it.
    pub effect: String,
    /// Where these rows stand.
    #[serde(skip)]
    pub places: Vec<Place>,
    /// Which rows of the target's samples these are: of a collective, of all its rows.
    #[serde(skip)]
    pub rows: Vec<usize>,
}

/// Rows that are left out by hand: all that a rule flags of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The cluster's name.
    pub cluster: String,
    /// Samples of what.
    pub target: Target,
    /// `fp16`.
    pub precision: String,
    /// Where they stand.
    pub places: Vec<Place>,
}

impl From<&Flag> for LeftOut {
    fn from(flag: &Flag) -> Self {
        let Flag { cluster, target, precision, places, .. } = flag.clone();
        Self { cluster, target, precision, places }
    }
}

impl LeftOut {
    /// Removes the rows.
    pub fn apply(&self, clusters: &mut [Cluster]) {
        use crate::order::CompactSort;
        let mut places: Vec<(u32, u32)> = self.places.iter().map(|place| (place.file, place.line)).collect();
        places.compact_sort();
        let stays = |place: &Place| places.binary_search(&(place.file, place.line)).is_err();
        for cluster in clusters.iter_mut().filter(|cluster| cluster.name == self.cluster) {
            match &self.target {
                Target::Operator(name) => {
                    let samples = cluster.operators.iter_mut();
                    for samples in samples.filter(|s| s.operator == *name && s.precision == self.precision) {
                        samples.retain(|place| stays(place));
                    }
                }
                Target::Collective(name, communicator) => {
                    let samples = cluster.collectives.iter_mut();
                    for samples in samples.filter(|s| s.collective == *name && s.precision == self.precision) {
                        samples.rows.retain(|row| row.communicator != *communicator || stays(&row.place));
                    }
                }
            }
        }
    }
}

/// How equal inputs differ, and what is sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Samples of what.
    pub target: Target,
    /// `fp16`.
    pub precision: String,
    /// All rows.
    pub rows: usize,
    /// Distinct inputs.
    pub distinct: usize,
    /// Rows whose inputs stand in an earlier row as well.
    pub repeated: usize,
    /// Distinct features: what regressors can tell apart.
    pub distinct_features: usize,
    /// Mean of |mean of rows with equal features ÷ time − 1|, forward and backward: no regressor errs less.
    pub noise: [Option<f64>; 2],
    /// The same over rows with equal inputs.
    pub deviation: [Option<f64>; 2],
    /// Each input with its sampled values: lowest, highest, and how many.
    pub inputs: Vec<(String, f64, f64, usize)>,
}

/// What is odd about a cluster's samples, and what they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// What is odd, the doubtful first.
    pub flags: Vec<Flag>,
    /// All samples.
    pub summaries: Vec<Summary>,
}

/// Looks at the samples of a cluster.
#[must_use]
pub fn health(cluster: &Cluster, catalogue: &Catalogue) -> Health {
    use crate::order::CompactSort;
    let mut health = Health::default();
    operators::look(cluster, catalogue, &mut health);
    collectives::look(cluster, catalogue, &mut health);
    health.flags.compact_sort_by(|a, b| {
        let doubt = b.rule.is_doubtful().cmp(&a.rule.is_doubtful());
        doubt.then_with(|| a.target.cmp(&b.target)).then(a.rule.cmp(&b.rule))
    });
    health
}
