//! What to measure next.
//!
//! A launch of nccl-tests measures all sizes with one algorithm, protocol and channel count at one scale. [`grid`]
//! knows which launches there are and what is known of them, [`explore`] says which to make next, [`agenda`] puts all
//! that is worth measuring in order within a budget, [`duration`] says how long it takes, [`script`] and [`listing`]
//! write it. [`racing`] is the search that ours is compared with, [`rehearsal`] compares them on sweeps that are
//! complete.

pub mod agenda;
pub mod duration;
pub mod explore;
pub mod grid;
pub mod listing;
pub mod racing;
pub mod rehearsal;
pub mod script;

use serde::{Deserialize, Serialize};

use self::explore::Worth;
use super::{launch::Launcher, platform::Platform, result::Recommendation, support::Support, sweep::Sweep};
use crate::{
    collective::{Collective, Scale, Workload},
    progress::Progress,
    text::Listing,
};

/// What is asked of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// For which collective and scale; `None`: all that were measured.
    pub of: Option<(Collective, Scale)>,
    /// At most so many launches, repeats counted.
    pub runs: u32,
    /// Launches of what was not measured before.
    pub repeats: u32,
    /// What is worth a launch.
    pub worth: Worth,
    /// Channel counts to try; none: [`grid::LADDER`] up to the most that were measured.
    pub channels: Vec<u32>,
    /// What jobs send and nobody measured, with the number of calls.
    pub uncovered: Vec<(Workload, u64)>,
    /// Which of several sets of measurements the plan goes on with.
    pub measured_with: Option<String>,
    /// Where it is launched; `None`: as the measurements say, else RCCL.
    pub platform: Option<Platform>,
    /// What starts the ranks.
    pub launcher: Launcher,
    /// Shuffles the launches.
    pub seed: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            of: None,
            runs: 30,
            repeats: 3,
            worth: Worth::default(),
            channels: Vec::new(),
            uncovered: Vec::new(),
            measured_with: None,
            platform: None,
            launcher: Launcher::default(),
            seed: 42,
        }
    }
}

impl Question {
    /// The most launches of a plan: more are a sweep of their own.
    pub const MOST_RUNS: u32 = 1000;
    /// The most launches of one configuration.
    pub const MOST_REPEATS: u32 = 99;
}

/// A plan, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What to launch, the most urgent first. The page is told by the listing.
    #[serde(skip)]
    pub items: Vec<agenda::Item>,
    /// Why it ends where it ends, and what must be known.
    pub notes: Vec<String>,
    /// A row per item.
    pub listing: Listing,
    /// A bash script that makes the launches, for a file named [`script::FILE_NAME`].
    pub script: String,
    /// The same as lines of rccl-sweep.
    pub sweep_arguments: String,
}

/// Answers the page's question. `recommendations` are what is to be deployed at the measured sizes.
pub fn plan(
    sweep: &Sweep,
    recommendations: &[Recommendation],
    support: &Support,
    question: &Question,
    progress: &mut dyn Progress,
) -> Answer {
    let agenda::Agenda { items, notes } = agenda::agenda(sweep, recommendations, support, question, progress);
    Answer {
        listing: listing::listing(&items),
        script: script::script(&items, question, duration::told(&items, &duration::Times::new(sweep)).as_deref()),
        sweep_arguments: script::sweep_arguments(&items),
        items,
        notes,
    }
}
