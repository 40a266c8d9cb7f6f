//! Plans of what to measure next.
//!
//! A launch of nccl-tests measures all sizes with one algorithm, protocol and channel count at one scale. [`grid`] has
//! the possible launches and what is known of each, [`explore`] chooses the next one, [`agenda`] orders everything that
//! is worth measuring within a budget, [`duration`] estimates how long it takes, and [`script`] and [`listing`] write
//! the plan. [`stalled`] says which launches are worth making again. [`racing`] is the search that ours is compared
//! with; [`replay`] compares them on complete sweeps.

pub(crate) mod agenda;
pub(crate) mod duration;
pub mod explore;
pub(crate) mod grid;
pub(crate) mod listing;
mod racing;
pub mod replay;
pub(crate) mod script;
mod stalled;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::explore::LaunchThresholds;
use super::{platform::Platform, result::Recommendation, stalls::Stall, support::SupportMatrix, sweep::Sweep};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    launch::{Launcher, Sizes},
    order::CompactSort,
    progress::Progress,
    text::Listing,
    units::{Size, count},
};

/// The settings of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanQuestion {
    /// The collective and scale; `None` for all that were measured.
    pub of: Option<(Collective, Scale)>,
    /// The most launches, repeats included.
    pub runs: u32,
    /// The number of launches of each configuration that was not measured before.
    pub repeats: u32,
    /// The expected gains from which on a launch is worth making.
    pub worth: LaunchThresholds,
    /// Channel counts to try; if empty, [`grid::LADDER`] up to the most that were measured.
    pub channels: Vec<u32>,
    /// Configurations that were launched before, whatever came of it, one for each launch: no gain is expected of them,
    /// and what stalled is not made a third time.
    pub launched: Vec<Configuration>,
    /// In-place runs of a configuration that stalled, and are the only one at their size.
    pub stalls: Vec<Stall>,
    /// The unmeasured workloads that jobs call, with the number of calls.
    pub uncovered: Vec<(Workload, u64)>,
    /// The set of measurements that the plan continues, if there are several.
    pub measured_with: Option<String>,
    /// Further arguments of nccl-tests, each after a blank, by which a collective and scale is measured as before:
    /// ` -d bfloat16 -o max`.
    #[serde(skip)]
    pub arguments: Vec<(Collective, Scale, String)>,
    /// The data types (`ncclDataType_t`) of calls that were typed, by collective and size in bytes.
    #[serde(skip)]
    pub job_data_types: Option<BTreeMap<(Collective, u64), BTreeSet<u32>>>,
    /// The data types in which jobs send unmeasured sizes, by the names of nccl-tests, where nothing says with which
    /// type was measured before.
    #[serde(skip)]
    pub data_types: Vec<(Workload, &'static str)>,
    /// The library and GPU of the launches; `None` for those that the measurements name, or else RCCL.
    pub platform: Option<Platform>,
    /// The launcher that starts the ranks.
    pub launcher: Launcher,
    /// The seed of the order of the launches.
    pub seed: u64,
}

impl PlanQuestion {
    /// The further arguments of a collective and scale; empty where there are none.
    fn arguments_of(&self, collective: Collective, scale: Scale) -> &str {
        let of = self.arguments.iter().find(|(of, at, _)| (*of, *at) == (collective, scale));
        of.map_or("", |(_, _, arguments)| arguments)
    }

    /// The data type in which a job sends an unmeasured size; `None` where it is that of before, or not known.
    fn data_type_of(&self, workload: Workload) -> Option<&'static str> {
        self.data_types.iter().find(|(of, _)| *of == workload).map(|(_, data_type)| *data_type)
    }
}

impl Default for PlanQuestion {
    fn default() -> Self {
        Self {
            of: None,
            runs: 30,
            repeats: 3,
            worth: LaunchThresholds::default(),
            channels: Vec::new(),
            launched: Vec::new(),
            stalls: Vec::new(),
            uncovered: Vec::new(),
            measured_with: None,
            arguments: Vec::new(),
            job_data_types: None,
            data_types: Vec::new(),
            platform: None,
            launcher: Launcher::default(),
            seed: 42,
        }
    }
}

impl PlanQuestion {
    /// The most launches of a plan: more are a sweep of their own.
    pub const MAX_RUNS: u32 = 1000;
    /// The most launches of one configuration.
    pub const MAX_REPEATS: u32 = 99;
}

/// Why something is worth measuring, the most urgent reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The default was not measured at some size, so no gain is known there.
    NoDefault,
    /// A job sends an unmeasured size.
    Uncovered,
    /// The launch is expected to change a recommendation.
    Gain,
    /// The configuration is tied, and more runs may decide.
    Tie,
    /// The rule changes somewhere between two measured sizes.
    Boundary,
    /// Runs of the default among the others, which separate the level of the day from the effect of configurations.
    Reference,
}

/// A planned launch, or several equal ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedLaunch {
    /// The collective whose program of nccl-tests is launched.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The configuration to ask for; `None`: the default.
    pub configuration: Option<Configuration>,
    /// The range of message sizes.
    pub sizes: Sizes,
    /// The number of equal launches, at least 1.
    pub repeats: u32,
    /// Why it is worth making.
    pub reason: Reason,
    /// The expected gain of busbw from its result, in per cent: the root mean square over the measured sizes; `None`
    /// where it is not known.
    pub expected_pct: Option<f64>,
    /// The times of one operation of the smallest and of the largest size, in µs
    /// ([`duration::OperationTimes::ends_us`]).
    pub ends_us: Option<[f64; 2]>,
    /// The time of all its launches in seconds ([`duration`]); `None` where it is not known.
    pub seconds: Option<f64>,
    /// The reason in a sentence.
    pub why: String,
}

/// A plan, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// The launches, the most urgent first. Not sent to the page, which shows the listing.
    #[serde(skip)]
    pub items: Vec<PlannedLaunch>,
    /// Why the plan ends where it does, and other notes for the user.
    pub notes: Vec<String>,
    /// The plan as a table, a row for each launch.
    pub listing: Listing,
    /// The bash script of the launches, for a file named [`script::FILE_NAME`].
    pub script: String,
    /// The launches as arguments of rccl-sweep, a line each.
    pub sweep_arguments: String,
}

/// Whether measurements at one scale say what to expect at another. One node says nothing about several, where the
/// network decides.
pub fn carries_over(from: Scale, to: Scale) -> bool {
    (from.nodes == 1) == (to.nodes == 1)
}

/// The measured sizes that planned launches pass over, since nccl-tests goes from the first size by factors of two, a
/// sentence for each collective and scale.
pub fn between_doublings(sweep: &Sweep, items: &[PlannedLaunch]) -> Vec<String> {
    let mut ranges: Vec<(Collective, Scale, Sizes)> =
        items.iter().map(|item| (item.collective, item.scale, item.sizes)).collect();
    ranges.compact_sort();
    ranges.dedup();
    let mut notes = Vec::new();
    for of_scale in ranges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (collective, scale, _) = of_scale[0];
        // Sizes are rounded down so that all ranks have equal parts.
        let slack = u64::from(scale.ranks).saturating_mul(64);
        let is_reached = |size: u64, sizes: &Sizes| {
            let mut steps = std::iter::successors(Some(sizes.first.max(1)), |step| step.checked_mul(2));
            steps.find(|step| *step >= size).is_some_and(|step| step - size < slack || step == size)
        };
        let points = sweep.points_of(collective, scale).iter().chain(sweep.defaults_of(collective, scale));
        let mut missed: Vec<u64> = points
            .map(|point| point.workload.size_bytes)
            .filter(|size| {
                let mut within =
                    of_scale.iter().map(|(.., sizes)| sizes).filter(|sizes| (sizes.first..=sizes.last).contains(size));
                within
                    .next()
                    .is_some_and(|first| !is_reached(*size, first) && within.all(|other| !is_reached(*size, other)))
            })
            .collect();
        missed.compact_sort();
        missed.dedup();
        if let Some(first) = missed.first() {
            notes.push(format!(
                "{collective} on {scale}: the launches double their sizes (-f 2), and pass over {}, the smallest {}",
                count(missed.len() as u64, "measured size"),
                Size(*first)
            ));
        }
    }
    notes
}

/// Answers the page's question. `recommendations` are what is to be deployed at the measured sizes. `elsewhere` was
/// measured on another day or with another version, and says only what to expect.
pub fn plan(
    sweep: &Sweep,
    elsewhere: Option<&Sweep>,
    recommendations: &[Recommendation],
    support: &SupportMatrix,
    question: &PlanQuestion,
    progress: &mut dyn Progress,
) -> PlanAnswer {
    let agenda::Agenda { items, notes } =
        agenda::agenda(sweep, elsewhere, recommendations, support, question, progress);
    PlanAnswer {
        listing: listing::listing(&items),
        script: script::script(
            &items,
            question,
            duration::sentence(&items, &duration::OperationTimes::new(sweep)).as_deref(),
        ),
        sweep_arguments: script::sweep_arguments(&items),
        items,
        notes,
    }
}
