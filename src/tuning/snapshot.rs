//! The measurements of a sweep that a comparison with a later one needs: what ran at each size, how fast, and what was
//! to be deployed.
//!
//! A [`Snapshot`] holds used runs only, and no names of files or nodes. It travels inside reports: whole in files, thinned
//! to the default, the best and what was to be deployed in links. [`Snapshot::to_value`] is its form there.

mod drift;
mod wire;

use serde::{Deserialize, Serialize};

use super::{
    decision::{Decision, deviations::OwnSpread},
    origin::{Aspect, Origins},
    read::{Evidence, Row, RunKind},
    result::Recommendation,
    runs::{PointRuns, Run, Runs},
    stalls::{Screened, mean_range},
    study::{TuningStudy, TuningStudyError},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::{exp, median},
    order::CompactSort,
    sorted::SortedMap,
};

pub use drift::Drift;
pub use wire::SnapshotError;

/// The measurements of a sweep, or of a report, that a comparison needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The program that made it: `collectune 0.1.0`.
    pub program: String,
    /// Every measured configuration is there; else the default, the best and what was to be deployed.
    pub is_whole: bool,
    /// Ascending by collective and scale.
    pub groups: Vec<SnapshotGroup>,
}

/// The measurements of one collective and scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotGroup {
    /// The collective operation.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The versions of the library, data types and operations with which it was measured, as far as the files say.
    pub measured_with: Vec<String>,
    /// How far the passes over the sweep lie from each other; `None` where single runs don't tell.
    pub drift: Option<Drift>,
    /// The measurements by size, ascending.
    pub sizes: Vec<SnapshotSize>,
}

/// The measurements of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSize {
    /// The message size in bytes.
    pub size_bytes: u64,
    /// The choice that was to be deployed.
    pub deployed: DeployedChoice,
    /// The default: the library chooses by itself.
    pub default: Option<Measurement>,
    /// The measurements of configurations that were asked for, ascending by configuration.
    pub measured: Vec<Measurement>,
}

/// The choice that was to be deployed at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeployedChoice {
    /// The choice is not known.
    #[default]
    Unknown,
    /// The default: the library chooses by itself.
    Default,
    /// A configuration was to be deployed.
    Configuration(Configuration),
}

/// The used runs of one configuration, or of the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The configuration that ran; of the default the one that it chose most often.
    pub configuration: Configuration,
    /// The channels are those that were seen to run.
    pub executed: bool,
    /// The bus bandwidths of the runs.
    pub runs: SnapshotRuns,
}

/// Runs, or what is left of them. Bandwidths are busbw in GB/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SnapshotRuns {
    /// Each run, in the order in which they ran: at least one.
    Each(Vec<f64>),
    /// The median of several runs.
    Median {
        /// The bus bandwidth in GB/s.
        busbw_gbps: f64,
        /// The number of runs.
        runs: u32,
        /// (max − min) / median in per cent, or what it would be of normal numbers as far apart as the runs are; `None`
        /// where nothing tells.
        spread_pct: Option<f64>,
    },
}

/// With what each collective and scale was measured, in words.
pub type MeasuredWith = SortedMap<(Collective, Scale), Vec<String>>;

/// The libraries, data types and operations of rows, and a short number for each set of nodes, which tells sets apart and
/// names none.
#[must_use]
pub fn measured_with(rows: &[Row], origins: &Origins) -> MeasuredWith {
    /// More different ones are not told.
    const MAX: usize = 8;
    let key = |row: &Row| (row.workload.collective, row.workload.scale, row.origin);
    let mut words = MeasuredWith::new();
    for same in rows.chunk_by(|a, b| key(a) == key(b)) {
        let (collective, scale, origin) = key(&same[0]);
        let of_group = words.entry((collective, scale)).or_default();
        for (aspect, value) in Aspect::ALL.into_iter().zip(origins.get(origin).values()) {
            let Some(value) = value else { continue };
            let word = match aspect {
                Aspect::Nodes => format!("node set {}", value.chars().take(4).collect::<String>()),
                _ => value.clone(),
            };
            if of_group.len() < MAX && !of_group.contains(&word) {
                of_group.push(word);
            }
        }
    }
    words.values_mut().for_each(|words| words.compact_sort());
    words
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
const MAX_RUNS: usize = 16;

/// So many of those that are tied are kept in a thinned snapshot, those with the fewest channels first.
const MAX_TIED: usize = 3;

impl Snapshot {
    /// Of what was measured, and what is to be deployed by the last answer or, before any training, by the measured
    /// winners.
    ///
    /// # Errors
    /// None as long as nothing was learnt.
    pub fn new(study: &TuningStudy, extent: Extent) -> Result<Self, TuningStudyError> {
        let answer = study.to_deploy()?;
        let answer: SortedMap<Workload, &Recommendation> =
            answer.iter().rev().map(|recommendation| (recommendation.workload, recommendation)).collect();
        let (runs, screened) = (study.runs(), study.screened());
        let mut groups: Vec<SnapshotGroup> = Vec::new();
        for (place, first, of_place) in runs.places() {
            let Workload { collective, scale, size_bytes } = place.workload;
            let Some(measurement) = measurement(place, first, of_place, screened, extent) else { continue };
            if groups.last().is_none_or(|group| (group.collective, group.scale) != (collective, scale)) {
                let drift = Drift::new(runs, screened, (collective, scale));
                groups.push(SnapshotGroup { collective, scale, measured_with: Vec::new(), drift, sizes: Vec::new() });
            }
            let Some(group) = groups.last_mut() else { continue };
            let advice = || answer.get(&place.workload).copied();
            if group.sizes.last().is_none_or(|at| at.size_bytes != size_bytes) {
                let deployed = advice().map(deployed).unwrap_or_default();
                group.sizes.push(SnapshotSize { size_bytes, deployed, default: None, measured: Vec::new() });
            }
            let Some(at) = group.sizes.last_mut() else { continue };
            if place.kind == RunKind::Default {
                at.default = Some(measurement);
            } else if extent == Extent::Whole || advice().is_some_and(|r| is_kept(r, &measurement.configuration)) {
                at.measured.push(measurement);
            }
        }
        let program = concat!("collectune ", env!("CARGO_PKG_VERSION")).to_owned();
        Ok(Self { program, is_whole: extent == Extent::Whole, groups })
    }

    /// Says with what it was measured.
    pub fn measured_with(&mut self, words: &MeasuredWith) {
        for group in &mut self.groups {
            group.measured_with = words.get(&(group.collective, group.scale)).cloned().unwrap_or_default();
        }
    }

    /// The runs, as they were taken from a file.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let mut runs = Runs::default();
        for group in &self.groups {
            let SnapshotGroup { collective, scale, .. } = *group;
            for at in &group.sizes {
                let workload = Workload { collective, scale, size_bytes: at.size_bytes };
                let mut push = |measurement: &Measurement, kind| {
                    runs.push(workload, kind, measurement.configuration, &measurement.lines());
                };
                at.measured.iter().for_each(|measurement| push(measurement, RunKind::Asked));
                at.default.iter().for_each(|measurement| push(measurement, RunKind::Default));
            }
        }
        runs
    }

    /// Its size at a workload.
    #[must_use]
    pub fn at(&self, workload: &Workload) -> Option<&SnapshotSize> {
        let key = |group: &SnapshotGroup| (group.collective, group.scale);
        let group = self.groups.binary_search_by_key(&(workload.collective, workload.scale), key).ok()?;
        let sizes = &self.groups[group].sizes;
        sizes.binary_search_by_key(&workload.size_bytes, |at| at.size_bytes).ok().map(|at| &sizes[at])
    }

    /// All workloads, ascending.
    pub fn workloads(&self) -> impl Iterator<Item = Workload> {
        self.groups.iter().flat_map(|group| {
            let SnapshotGroup { collective, scale, .. } = *group;
            group.sizes.iter().map(move |at| Workload { collective, scale, size_bytes: at.size_bytes })
        })
    }

    /// Brings groups, sizes and configurations into their order, one of each.
    fn put_in_order(&mut self) {
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

impl SnapshotGroup {
    /// Whether another one holds the same runs, value by value.
    #[must_use]
    pub fn has_runs_of(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&SnapshotSize, &SnapshotSize)| {
            (a.size_bytes, &a.default, &a.measured) == (b.size_bytes, &b.default, &b.measured)
        };
        self.sizes.len() == other.sizes.len() && self.sizes.iter().zip(&other.sizes).all(is_same)
    }
}

impl Measurement {
    fn lines(&self) -> Vec<Run> {
        let evidence = if self.executed { Evidence::Executed } else { Evidence::Planned };
        let line = |busbw, repeats, spread| Run::known(self.configuration, busbw, repeats, spread, evidence);
        match &self.runs {
            SnapshotRuns::Each(runs) => runs.iter().map(|busbw| line(*busbw, 1, None)).collect(),
            SnapshotRuns::Median { busbw_gbps, runs, spread_pct } => vec![line(*busbw_gbps, *runs, *spread_pct)],
        }
    }
}

fn deployed(recommendation: &Recommendation) -> DeployedChoice {
    match (recommendation.decision, recommendation.configuration) {
        (Decision::KeepDefault { .. } | Decision::MeasureFirst, _) => DeployedChoice::Default,
        (Decision::Deploy | Decision::NoDefault, Some(configuration)) => DeployedChoice::Configuration(configuration),
        _ => DeployedChoice::Unknown,
    }
}

fn is_kept(recommendation: &Recommendation, configuration: &Configuration) -> bool {
    let of_best = recommendation.measured_best.as_ref().map(|best| best.configuration);
    recommendation.configuration == Some(*configuration)
        || of_best == Some(*configuration)
        || recommendation.tied.iter().take(MAX_TIED).any(|tied| tied == configuration)
}

/// The used runs of a place; `None` of none, and of one that stalled, which stands in an answer for want of a better one,
/// but is no change.
fn measurement(
    place: &PointRuns,
    first: usize,
    runs: &[Run],
    screened: &Screened,
    extent: Extent,
) -> Option<Measurement> {
    if let [lone] = runs
        && screened.is_stalled(&place.workload, lone)
    {
        return None;
    }
    let used = || runs.iter().zip(first..).filter(|(_, index)| screened.keep(place, *index).busbw).map(|(run, _)| run);
    let singles = used().all(|run| run.repeats == 1);
    let count = used().count();
    let measured = if singles && (1..=MAX_RUNS).contains(&count) && extent == Extent::Whole {
        SnapshotRuns::Each(used().map(|run| rounded(run.busbw_gbps)).collect())
    } else {
        let mut values: Vec<(f64, u32)> = used().map(|run| (run.busbw_gbps, run.repeats)).collect();
        let busbw_gbps = rounded(super::runs::weighted_median(&mut values)?);
        let own = OwnSpread::new(place, first, runs, screened);
        // The range that normal numbers with this deviation have.
        let spread = |deviation: f64| (exp(deviation * mean_range(own.runs)) - 1.0) * 100.0;
        let spread_pct = (own.variance.freedom() > 0.0).then(|| rounded(spread(own.variance.deviation())));
        SnapshotRuns::Median { busbw_gbps, runs: own.runs, spread_pct }
    };
    let executed = used().all(|run| run.evidence == Evidence::Executed);
    Some(Measurement { configuration: place.configuration, executed, runs: measured })
}

impl SnapshotRuns {
    /// The median bus bandwidth in GB/s.
    #[must_use]
    pub fn busbw_gbps(&self) -> f64 {
        match self {
            Self::Each(runs) => median(&mut runs.clone()).unwrap_or(f64::NAN),
            Self::Median { busbw_gbps, .. } => *busbw_gbps,
        }
    }

    /// The number of runs.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Each(runs) => u32::try_from(runs.len()).unwrap_or(u32::MAX),
            Self::Median { runs, .. } => *runs,
        }
    }
}

/// To five digits: times have no more.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
