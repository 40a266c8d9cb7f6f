//! What is chosen in the tuning workbench, and what its shown panel is made of.

use super::{
    ab::verdict::Limits,
    address::Panel,
    conf::Reader,
    coverage::calls::{TypedCalls, type_bytes},
    hotspots::{HotspotAnswer, HotspotRule},
    launch::Launcher,
    parameters::Parameters,
    plan::PlanQuestion,
    support::Library,
};
use crate::{
    collective::{Collective, Scale, Workload},
    report::Section,
};

/// The data types of typed calls.
pub const DATA_TYPES: [&str; 5] = ["bfloat16", "float16", "float32", "float8", "int8"];

/// Everything that can be chosen, but for the parameters of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The panel that is shown.
    pub panel: Panel,
    /// The workload that is shown, if it is loaded.
    pub shown: Option<Workload>,
    /// The dip that counts as a hotspot.
    pub hotspots: HotspotRule,
    /// The reader of the tuner files that are written and checked.
    pub reader: Reader,
    /// The library of the tuner files.
    pub library: Library,
    /// The tuner file that is checked, by its number.
    pub checked: Option<u32>,
    /// Whether it is checked for all readers.
    pub all_readers: bool,
    /// The GPU's architecture, for the names of written tuner files; empty for the usual one.
    pub architecture: String,
    /// Whether a tuner file is written for each scale.
    pub by_scale: bool,
    /// Whether rules hold beyond the measured sizes.
    pub open_ends: bool,
    /// Whether environment variables are those of the size that is shown.
    pub of_size: bool,
    /// Whether typed calls are used instead of those of logs.
    pub by_hand: bool,
    /// Whether anything was typed.
    pub is_typed: bool,
    /// The collective that is called.
    pub called: Collective,
    /// Batch sizes or tokens, separated by commas or spaces.
    pub batches: String,
    /// The hidden size of the model, in elements.
    pub hidden: u32,
    /// The name of the data type.
    pub data_type: &'static str,
    /// Calls of each per step.
    pub calls: u32,
    /// The tuner file that a job's calls are held against.
    pub rules: Option<u32>,
    /// The scale of calls whose log doesn't say it; `None` for the one that is shown.
    pub scale: Option<Scale>,
    /// How many steps of the job were logged, times the ranks that logged.
    pub divide_by: u32,
    /// Which cost table of the library is drawn.
    pub cost_table: u32,
    /// The plan of what to measure next.
    pub plan: PlanQuestion,
    /// Whether only the collective and scale that are shown are planned for.
    pub only_shown: bool,
    /// The per-size statistics of the campaign that is judged.
    pub campaign: Option<u32>,
    /// The tuner file that ran in it.
    pub campaign_conf: Option<u32>,
    /// Its collective, where the files don't say it.
    pub campaign_collective: Option<Collective>,
    /// The probability from which on a rule is kept, in per cent.
    pub confidence_pct: f64,
    /// When a rule is kept besides.
    pub limits: Limits,
    /// Launches of each arm of the next campaign.
    pub arm_launches: u32,
    /// The launcher of the next campaign.
    pub arm_launcher: Launcher,
    /// The path of the tuner plugin.
    pub plugin: String,
    /// The path of the tuner file.
    pub conf_path: String,
    /// The table that is shown.
    pub table: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            panel: Panel::default(),
            shown: None,
            hotspots: HotspotRule::default(),
            reader: Reader::default(),
            library: Library::default(),
            checked: None,
            all_readers: false,
            architecture: String::new(),
            by_scale: false,
            open_ends: false,
            of_size: false,
            by_hand: false,
            is_typed: false,
            called: Collective::AllReduce,
            batches: "1, 8, 64".to_owned(),
            hidden: 8192,
            data_type: DATA_TYPES[0],
            calls: 160,
            rules: None,
            scale: None,
            divide_by: 1,
            cost_table: 0,
            plan: PlanQuestion::default(),
            only_shown: false,
            campaign: None,
            campaign_conf: None,
            campaign_collective: None,
            confidence_pct: limits.confidence * 100.0,
            limits,
            arm_launches: 6,
            arm_launcher: Launcher::default(),
            plugin: "/path/to/libnccl-tuner.so".to_owned(),
            conf_path: "/path/to/tuner.conf".to_owned(),
            table: None,
        }
    }
}

impl Settings {
    /// The calls that are typed; `None` as long as nothing was typed.
    ///
    /// # Errors
    /// Returns what is wrong with the batch sizes.
    pub fn typed(&self) -> Result<Option<TypedCalls>, String> {
        if !self.is_typed {
            return Ok(None);
        }
        let number = |word: &str| {
            let number = word.parse::<u64>().ok().filter(|number| (1..=1 << 32).contains(number));
            number.ok_or_else(|| format!("{word} is not a batch size"))
        };
        let words = self.batches.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
        let batches = words.map(number).collect::<Result<Vec<u64>, String>>()?;
        if batches.is_empty() {
            return Err("at least one batch size".to_owned());
        }
        let type_bytes = type_bytes(self.data_type).unwrap_or(2);
        let (collective, hidden) = (self.called, self.hidden.into());
        Ok(Some(TypedCalls { collective, batches, hidden, type_bytes, calls: self.calls }))
    }
}

/// The panel that is shown.
#[derive(Default)]
pub struct ShownPanel {
    /// The settings.
    pub settings: Settings,
    /// The workloads that a job sends and nobody measured, with their number of calls, as coverage found them last.
    pub uncovered: Vec<(Workload, u64)>,
    /// The titles of the library's cost tables, as coverage found them last.
    pub cost_tables: Vec<String>,
    /// The hotspots by the rule that was asked for last, and what was learnt then.
    pub hotspots: Option<(HotspotRule, Learnt, HotspotAnswer)>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// The parameters of the training, and whether it was validated.
pub type Learnt = (Option<Parameters>, bool);
