//! What of a sweep is kept to compare it with a later one: what ran at each size, how fast, and what was to be
//! deployed.
//!
//! A [`Snapshot`] holds used runs only, and no names of files or nodes. It travels inside reports: whole in files,
//! thinned to the default, the best and what was to be deployed in links. [`Snapshot::to_value`] is its form there.
//! [`tuning::snapshot`](crate::tuning::snapshot) makes it from a sweep.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::{ascending, median},
    order::CompactSort,
};

/// What a sweep, or a report, knows for a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The program that made it: `collectune 0.1.0`.
    pub program: String,
    /// Every measured configuration is there; else the default, the best and what was to be deployed.
    pub is_whole: bool,
    /// Ascending by collective and scale.
    pub groups: Vec<SnapshotGroup>,
    /// The runs out of place of those groups of which both placements were measured, ascending likewise, to be compared
    /// with a state that has no other. They stay where the measurements were read: reports don't carry them.
    pub out_of_place: Vec<SnapshotGroup>,
    /// Of which configurations wrong values came, a sentence for each collective and scale. It stays where the
    /// measurements were read: reports don't carry it.
    pub wrong_values: Vec<String>,
}

/// What was measured of one collective at one scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotGroup {
    /// The collective that was measured.
    pub collective: Collective,
    /// The nodes and ranks at which it was measured.
    pub scale: Scale,
    /// What it was measured with, as far as the files say: versions of the library, data types and operations.
    pub measured_with: Vec<String>,
    /// How far the passes over the sweep lie from each other; `None` where single runs don't tell.
    pub drift: Option<Drift>,
    /// One for each measured message size, ascending.
    pub sizes: Vec<SnapshotSize>,
}

/// What was measured of one message size, and what was to be deployed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSize {
    /// The message size in bytes, as nccl-tests prints it.
    pub size_bytes: u64,
    /// What was to be deployed.
    pub deployed: DeployedChoice,
    /// The runs in which the library chose; `None` where it was not measured.
    pub default: Option<Measurement>,
    /// What was asked for, ascending by configuration.
    pub measured: Vec<Measurement>,
}

/// What was to be deployed at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeployedChoice {
    /// What was to be deployed is not known.
    #[default]
    Unknown,
    /// The choice was left to the library.
    Default,
    /// A configuration was to be forced.
    Configuration(Configuration),
}

/// The used runs of one configuration, or of the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What ran; of the default what it chose most often.
    pub configuration: Configuration,
    /// The channels are those that were seen to run.
    pub executed: bool,
    /// The busbw of the runs that were used.
    pub runs: SnapshotRuns,
}

/// Runs, or what is left of them. Bandwidths are busbw in GB/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SnapshotRuns {
    /// Each run, in the order in which they ran: at least one.
    Each(Vec<f64>),
    /// The median of the runs, which themselves are not there.
    Median {
        /// The median in GB/s of busbw.
        busbw_gbps: f64,
        /// The number of runs that it is the median of.
        runs: u32,
        /// (max − min) / median in per cent, or what it would be of normal numbers as far apart as the runs are; `None`
        /// where nothing tells.
        spread_pct: Option<f64>,
    },
}

/// The spread of passes over one collective and scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Standard deviation of the passes, in per cent of busbw; 0 where noise explains all of it.
    pub deviation_pct: f64,
    /// The number of passes that it is computed from.
    pub passes: u32,
}

/// How much of a sweep is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every measured configuration, run by run.
    Whole,
    /// Medians of the default, of what is to be deployed, and of those that can't be told apart from the best.
    Thinned,
}

/// More runs than this are kept as their median and spread.
pub const MAX_RUNS: usize = 16;

impl Snapshot {
    /// Its size at a workload.
    pub fn at(&self, workload: &Workload) -> Option<&SnapshotSize> {
        let key = |group: &SnapshotGroup| (group.collective, group.scale);
        let group = self.groups.binary_search_by_key(&(workload.collective, workload.scale), key).ok()?;
        let sizes = &self.groups[group].sizes;
        sizes.binary_search_by_key(&workload.size_bytes, |at| at.size_bytes).ok().map(|at| &sizes[at])
    }

    /// The workloads of all groups, ascending by collective, scale and size.
    pub fn workloads(&self) -> impl Iterator<Item = Workload> {
        self.groups.iter().flat_map(|group| {
            let SnapshotGroup { collective, scale, .. } = *group;
            group.sizes.iter().map(move |at| Workload { collective, scale, size_bytes: at.size_bytes })
        })
    }

    /// Brings groups, sizes and configurations into their order, one of each.
    pub(super) fn put_in_order(&mut self) {
        self.groups.compact_sort_by_key(|group| (group.collective, group.scale));
        self.groups.dedup_by_key(|group| (group.collective, group.scale));
        for group in &mut self.groups {
            group.sizes.compact_sort_by_key(|at| at.size_bytes);
            group.sizes.dedup_by_key(|at| at.size_bytes);
            for at in &mut group.sizes {
                at.measured.compact_sort_by_key(|measurement| measurement.configuration);
                at.measured.dedup_by_key(|measurement| measurement.configuration);
            }
        }
    }
}

/// The word of [`SnapshotGroup::measured_with`] where no run is in place, and those out of place stand in.
pub const OUT_OF_PLACE: &str = "out of place";

impl SnapshotGroup {
    /// Whether its runs are those out of place.
    pub fn is_out_of_place(&self) -> bool {
        self.measured_with.iter().any(|word| word == OUT_OF_PLACE)
    }

    /// Whether another one holds the same runs, value by value, in whatever order.
    pub fn has_runs_of(&self, other: &Self) -> bool {
        let in_order = |of: &Measurement| {
            let mut of = of.clone();
            if let SnapshotRuns::Each(runs) = &mut of.runs {
                ascending(runs);
            }
            of
        };
        let of = |at: &SnapshotSize| {
            let measured: Vec<Measurement> = at.measured.iter().map(in_order).collect();
            (at.size_bytes, at.default.as_ref().map(in_order), measured)
        };
        let is_same = |(a, b): (&SnapshotSize, &SnapshotSize)| of(a) == of(b);
        self.sizes.len() == other.sizes.len() && self.sizes.iter().zip(&other.sizes).all(is_same)
    }
}

impl SnapshotRuns {
    /// The median busbw of the runs in GB/s; NaN if there is none.
    pub fn busbw_gbps(&self) -> f64 {
        match self {
            Self::Each(runs) => median(&mut runs.clone()).unwrap_or(f64::NAN),
            Self::Median { busbw_gbps, .. } => *busbw_gbps,
        }
    }

    /// The number of runs behind the median.
    pub fn count(&self) -> u32 {
        match self {
            Self::Each(runs) => u32::try_from(runs.len()).unwrap_or(u32::MAX),
            Self::Median { runs, .. } => *runs,
        }
    }
}

/// To five digits: times have no more.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
