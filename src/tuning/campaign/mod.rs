//! A tuning campaign: launch after launch, from nothing to a tuner file that an A/B has confirmed.
//!
//! A campaign is a folder with its settings ([`CampaignSettings`]), a journal with a line for each launch
//! ([`journal`]) and the logs. [`next`] says from these alone which launch comes next and why, so that a campaign that
//! was stopped at any moment goes on as if it had not been. [`best`] keeps what was fastest so far, [`history`] shows
//! what each launch added to it, [`drift`] takes the level of the day out of the measurements, and [`play`] answers
//! launches from a sweep instead of a cluster. Nothing here starts a process: that is the command line's work.

pub mod best;
pub mod drift;
pub mod history;
pub mod journal;
pub mod next;
pub mod play;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    conf::Reader,
    plan::{explore::LaunchThresholds, grid::LADDER},
    platform::Platform,
};
use crate::{
    collective::{Collective, Configuration, Scale},
    launch::Sizes,
};

/// A collective at a scale, which a campaign tunes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// The collective whose program of nccl-tests is launched.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
}

impl fmt::Display for Job {
    /// As in `all_reduce on 2 nodes, 16 ranks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.collective, self.scale)
    }
}

impl Job {
    /// The name of the job's folder of logs: `all_reduce_2n_16ranks`.
    pub fn folder(&self) -> String {
        format!("{}_{}n_{}ranks", self.collective, self.scale.nodes, self.scale.ranks)
    }
}

/// When a campaign ends at the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The most launches, warm-ups and A/B included; `None` for no limit.
    pub launches: Option<u32>,
    /// The most seconds that launches may take together; `None` for no limit.
    pub seconds: Option<f64>,
}

/// The A/B at the end of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbSettings {
    /// The path of the tuner plugin; `None` where the library reads the file by itself.
    pub plugin: Option<String>,
    /// The launches of each arm.
    pub repeats: u32,
}

/// What a campaign is to do. It is written once, at the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignSettings {
    /// The version of the format, [`CampaignSettings::FORMAT`].
    pub collectune_campaign: u32,
    /// The command line that starts ranks, with its placeholders.
    pub launcher: String,
    /// The folder of nccl-tests' programs.
    pub tests: String,
    /// The sweep that answers launches instead of a cluster; `None` for a cluster.
    pub simulated: Option<String>,
    /// The files and folders of earlier measurements, which say what to expect.
    #[serde(default)]
    pub prior: Vec<String>,
    /// The collectives and scales that are tuned, sorted.
    pub jobs: Vec<Job>,
    /// The range of message sizes.
    pub sizes: Sizes,
    /// When it ends at the latest.
    pub budget: Budget,
    /// The library, its version and the GPU, which say what can run; what is not told is taken from the logs.
    pub platform: Platform,
    /// The channel counts to try.
    pub channels: Vec<u32>,
    /// Configurations that are not launched, for all jobs.
    pub excluded: Vec<Configuration>,
    /// The launches of each configuration that is to be deployed, and of the default, at the end of the search.
    pub repeats: u32,
    /// Launches of the default at each scale before the first that counts.
    pub warm_ups: u32,
    /// The expected gains from which on a launch is worth making.
    pub worth: LaunchThresholds,
    /// Who will read the tuner file.
    pub reader: Reader,
    /// The A/B at the end; `None` for none.
    pub ab: Option<AbSettings>,
    /// The most seconds that a launch may take; `None`: as long as its neighbours let expect.
    pub time_limit_s: Option<f64>,
    /// Further arguments of nccl-tests, such as `-n 50`.
    pub arguments: Vec<String>,
    /// The seed of the order of the A/B's launches.
    pub seed: u64,
}

impl CampaignSettings {
    /// The version of the format of settings and journal.
    pub const FORMAT: u32 = 1;

    /// The name of the field by which a file of settings is known.
    pub const MARK: &str = "\"collectune_campaign\":";

    /// The channel counts that are tried where none are given: those of the planner up to the most that NCCL runs.
    pub fn usual_channels() -> Vec<u32> {
        LADDER.into_iter().filter(|channels| *channels <= 64).collect()
    }
}
