//! The health of samples: what is odd about them, by general rules, and what would change without it.
//!
//! A flag names rows and offers to leave them out; nothing is left out unasked.

mod collectives;
mod operators;

use serde::{Deserialize, Serialize};

use super::{
    catalogue::Catalogue,
    samples::{Cluster, Communicator, SourceLine},
};

/// The rule that samples break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// An operator that computes twice as much backward is faster backward.
    BackwardFaster,
    /// More than ten times as slow as rows that differ in one input only; all rows where each is about a thousand times
    /// as slow as hardware is.
    FarAbove,
    /// Less than a tenth of the time of rows that differ in one input only.
    FarBelow,
    /// The times are shorter than the GPU's peak rate allows.
    AbovePeak,
    /// Faster than the GPU's memory, or its caches, can move what it touches.
    AboveMemory,
    /// The bus bandwidth exceeds that of every link.
    AboveLink,
    /// More than 1.5 × the running median over message size.
    SlowBeside,
    /// Less than 0.67 × the running median over message size.
    FastBeside,
    /// Few values of an input that others were sampled with.
    FewValues,
    /// The same inputs were measured several times.
    Repeated,
    /// Fewer than 30 rows, or one distinct input: too few to learn from.
    TooFew,
}

impl Rule {
    /// The rows are wrong, so that leaving them out can help.
    pub const fn is_doubtful(self) -> bool {
        !matches!(self, Self::FewValues | Self::Repeated | Self::TooFew)
    }
}

/// The operator or collective that samples belong to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FlagTarget {
    /// An operator, by its name in the catalogue.
    Operator(String),
    /// A collective over this communicator.
    Collective(String, Communicator),
}

impl std::fmt::Display for FlagTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator(name) => f.write_str(name),
            Self::Collective(name, communicator) => write!(f, "{name} {communicator}"),
        }
    }
}

/// Rows that break a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flag {
    /// The name of the cluster to which the rows belong.
    pub cluster: String,
    /// The operator or collective whose rows these are.
    pub target: FlagTarget,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// The rule that they break.
    pub rule: Rule,
    /// The number of such rows.
    pub count: usize,
    /// The number of all rows.
    pub of: usize,
    /// A description of the fault with its figures.
    pub what: String,
    /// The effect of leaving the rows out, or advice.
    pub effect: String,
    /// The locations of the rows.
    #[serde(skip)]
    pub places: Vec<SourceLine>,
    /// The indices of the rows among the target's samples; for a collective, among all of its rows.
    #[serde(skip)]
    pub rows: Vec<usize>,
}

/// Rows that are left out by hand: all that a rule flags of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The name of the cluster to which the rows belong.
    pub cluster: String,
    /// The operator or collective whose rows these are.
    pub target: FlagTarget,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// The locations of the rows.
    pub places: Vec<SourceLine>,
}

impl From<&Flag> for LeftOut {
    fn from(flag: &Flag) -> Self {
        let Flag { cluster, target, precision, places, .. } = flag.clone();
        Self { cluster, target, precision, places }
    }
}

impl LeftOut {
    /// Removes the rows from the clusters.
    pub fn apply(&self, clusters: &mut [Cluster]) {
        use crate::order::CompactSort;
        let mut places: Vec<(u32, u32)> = self.places.iter().map(|place| (place.file, place.line)).collect();
        places.compact_sort();
        let stays = |place: &SourceLine| places.binary_search(&(place.file, place.line)).is_err();
        for cluster in clusters.iter_mut().filter(|cluster| cluster.name == self.cluster) {
            match &self.target {
                FlagTarget::Operator(name) => {
                    let samples = cluster.operators.iter_mut();
                    for samples in samples.filter(|s| s.operator == *name && s.precision == self.precision) {
                        samples.retain(|place| stays(place));
                    }
                }
                FlagTarget::Collective(name, communicator) => {
                    let samples = cluster.collectives.iter_mut();
                    for samples in samples.filter(|s| s.collective == *name && s.precision == self.precision) {
                        samples.rows.retain(|row| row.communicator != *communicator || stays(&row.place));
                    }
                }
            }
        }
    }
}

/// The extent of the samples, and how much times differ for equal inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The operator or collective that is summarised.
    pub target: FlagTarget,
    /// The precision, such as `fp16`.
    pub precision: String,
    /// The number of rows, repeated ones included.
    pub rows: usize,
    /// The number of distinct inputs.
    pub distinct: usize,
    /// Rows whose inputs stand in an earlier row as well.
    pub repeated: usize,
    /// The number of distinct features, which is what regressors can tell apart.
    pub distinct_features: usize,
    /// Mean of |mean of rows with equal features ÷ time − 1|, forward and backward: no regressor errs less.
    pub noise: [Option<f64>; 2],
    /// The same deviation over rows with equal inputs.
    pub deviation: [Option<f64>; 2],
    /// Each input with its sampled values: lowest, highest, and how many.
    pub inputs: Vec<(String, f64, f64, usize)>,
}

/// The result of checking a cluster's samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The rules that rows break, the doubtful ones first.
    pub flags: Vec<Flag>,
    /// A summary for each operator and collective.
    pub summaries: Vec<Summary>,
}

/// Checks the samples of a cluster.
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
