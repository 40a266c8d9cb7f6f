//! Plans of what to measure next.
//!
//! A launch of nccl-tests measures all sizes with one algorithm, protocol and channel count at one scale. [`grid`]
//! knows which launches there are and what is known of them, [`explore`] says which to make next, [`agenda`] puts all
//! that is worth measuring in order within a budget, [`duration`] says how long it takes, [`script`] and [`listing`]
//! write it. [`racing`] is the search that ours is compared with, [`replay`] compares them on sweeps that are
//! complete.

pub(crate) mod agenda;
mod duration;
pub mod explore;
mod grid;
pub(crate) mod listing;
mod racing;
pub mod replay;
pub(crate) mod script;

use serde::{Deserialize, Serialize};

use self::explore::LaunchThresholds;
use super::{
    launch::{Launcher, Sizes},
    platform::Platform,
    result::Recommendation,
    support::SupportMatrix,
    sweep::Sweep,
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    progress::Progress,
    text::Listing,
};

/// The settings of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanQuestion {
    /// For which collective and scale; `None`: all that were measured.
    pub of: Option<(Collective, Scale)>,
    /// At most so many launches, repeats counted.
    pub runs: u32,
    /// Launches of what was not measured before.
    pub repeats: u32,
    /// The expected gains from which on a launch is worth making.
    pub worth: LaunchThresholds,
    /// Channel counts to try; none: [`grid::LADDER`] up to the most that were measured.
    pub channels: Vec<u32>,
    /// The workloads that jobs call and nobody measured, with the number of calls.
    pub uncovered: Vec<(Workload, u64)>,
    /// Which of several sets of measurements the plan goes on with.
    pub measured_with: Option<String>,
    /// Where it is launched; `None`: as the measurements say, else RCCL.
    pub platform: Option<Platform>,
    /// The launcher that starts the ranks.
    pub launcher: Launcher,
    /// The seed of the order of the launches.
    pub seed: u64,
}

impl Default for PlanQuestion {
    fn default() -> Self {
        Self {
            of: None,
            runs: 30,
            repeats: 3,
            worth: LaunchThresholds::default(),
            channels: Vec::new(),
            uncovered: Vec::new(),
            measured_with: None,
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

/// Why something is worth measuring; the more urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No default was measured at some size: no gain can be told.
    NoDefault,
    /// A job sends it and nobody measured it.
    Uncovered,
    /// The launch is expected to change a recommendation.
    Gain,
    /// It can't be told apart from what it is tied with.
    Tie,
    /// The rule changes somewhere between two measured sizes.
    Boundary,
    /// Runs of the default beside the others, to tell the day from the configuration.
    Reference,
}

/// A planned launch, or several of the same.
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
    /// So many launches of the same, at least 1.
    pub repeats: u32,
    /// What is to be learnt from it.
    pub reason: Reason,
    /// By how much busbw is expected to rise with what is learnt, in per cent, as the root mean square over the
    /// measured sizes; `None` where nothing tells.
    pub expected_pct: Option<f64>,
    /// The times in µs of one operation of the smallest and of the largest size
    /// ([`duration::OperationTimes::ends_us`]).
    pub ends_us: Option<[f64; 2]>,
    /// How long all its launches take, in seconds ([`duration`]); `None` where nothing tells.
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
    /// Why it ends where it ends, and what must be known.
    pub notes: Vec<String>,
    /// The plan as a table, a row for each launch.
    pub listing: Listing,
    /// A bash script that makes the launches, for a file named [`script::FILE_NAME`].
    pub script: String,
    /// The plan as lines of rccl-sweep.
    pub sweep_arguments: String,
}

/// Answers the page's question. `recommendations` are what is to be deployed at the measured sizes.
pub fn plan(
    sweep: &Sweep,
    recommendations: &[Recommendation],
    support: &SupportMatrix,
    question: &PlanQuestion,
    progress: &mut dyn Progress,
) -> PlanAnswer {
    let agenda::Agenda { items, notes } = agenda::agenda(sweep, recommendations, support, question, progress);
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
