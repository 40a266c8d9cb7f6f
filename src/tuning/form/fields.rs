//! The table of the fields of the tuning workbench's settings.

use super::workload_label;
use crate::{
    collective::{Collective, Scale},
    form::{ChoiceError, Choices, Control, Field},
    order::CompactSort,
    tuning::{
        ab::script::CampaignPlan,
        address::Panel,
        conf::Reader,
        launch::Launcher,
        loaded::LoadedTuning,
        plan::PlanQuestion,
        settings::{DATA_TYPES, Settings},
        support::Library,
    },
};

/// A group of fields, each in a section of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What counts as a hotspot.
    Hotspots,
    /// What a loaded tuner file does.
    Check,
    /// Writing a tuner file.
    Write,
    /// Environment variables.
    Environment,
    /// What a job's calls are held against.
    Coverage,
    /// The calls that are typed.
    Calls,
    /// The library's cost table.
    Costs,
    /// What to measure next.
    Plan,
    /// A campaign that was run.
    Campaign,
    /// The next campaign.
    NextCampaign,
    /// Tables that are only shown.
    Tables,
}

impl Group {
    /// The word that stands for it, and the panel on which its section stands.
    const fn place(self) -> (&'static str, Panel) {
        match self {
            Self::Hotspots => ("hotspots", Panel::Answer),
            Self::Check => ("check", Panel::TunerFiles),
            Self::Write => ("write", Panel::TunerFiles),
            Self::Environment => ("environment", Panel::TunerFiles),
            Self::Coverage => ("coverage", Panel::Coverage),
            Self::Calls => ("calls", Panel::Coverage),
            Self::Costs => ("costs", Panel::Coverage),
            Self::Plan => ("plan", Panel::Plan),
            Self::Campaign => ("campaign", Panel::Ab),
            Self::NextCampaign => ("next-campaign", Panel::Ab),
            Self::Tables => ("tables", Panel::Tables),
        }
    }

    /// The word that stands for it.
    pub const fn key(self) -> &'static str {
        self.place().0
    }
}

/// What a field is of: where its value stands in the settings, and what it may be.
enum Kind {
    /// A number from the first to the last.
    Number(fn(&mut Settings) -> &mut f64, f64, f64),
    /// A whole number from the first to the last.
    Whole(fn(&mut Settings) -> &mut u32, u32, u32),
    /// A switch.
    Switch(fn(&mut Settings) -> &mut bool),
    /// A line of text.
    Text(fn(&mut Settings) -> &mut String),
    /// A loaded file, if any is.
    File(fn(&mut Settings) -> &mut Option<u32>, fn(&LoadedTuning) -> Options),
    /// One of these, read by the first function and set by the second one, which gives `None` for no value of it.
    One(fn(&LoadedTuning) -> Options, fn(&Settings) -> String, fn(&mut Settings, &str) -> Option<()>),
}
use Kind::{File, Number, One, Switch, Text, Whole};

/// Values with their labels.
type Options = Vec<(String, String)>;

/// A field of the settings.
struct SettingField {
    group: Group,
    key: &'static str,
    /// `{shown}` stands for the workload that is shown.
    label: &'static str,
    hint: &'static str,
    kind: Kind,
    is_there: fn(&LoadedTuning) -> bool,
}

const fn field(group: Group, key: &'static str, label: &'static str, kind: Kind) -> SettingField {
    SettingField { group, key, label, hint: "", kind, is_there: |_| true }
}

impl SettingField {
    const fn hinted(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    const fn where_there(self, is_there: fn(&LoadedTuning) -> bool) -> Self {
        Self { is_there, ..self }
    }

    fn control(&self, tuning: &LoadedTuning) -> Control {
        match self.kind {
            Number(_, least, most) => Control::NumberWithin { least, most, is_whole: false },
            Whole(_, least, most) => Control::NumberWithin { least: least.into(), most: most.into(), is_whole: true },
            Switch(_) => Control::Switch,
            Text(_) => Control::Text(Vec::new()),
            File(_, options) | One(options, ..) => Control::One(options(tuning)),
        }
    }

    fn get(&self, settings: &mut Settings) -> String {
        match self.kind {
            Number(of, ..) => of(settings).to_string(),
            Whole(of, ..) => of(settings).to_string(),
            Switch(of) => if *of(settings) { "1" } else { "" }.to_owned(),
            Text(of) => of(settings).clone(),
            File(of, _) => of(settings).map_or_else(String::new, |file| file.to_string()),
            One(_, get, _) => get(settings),
        }
    }

    /// `None` where the text is no value of the field.
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        match self.kind {
            Number(of, least, most) => {
                *of(settings) = text.parse().ok().filter(|number| (least..=most).contains(number))?;
            }
            Whole(of, least, most) => {
                *of(settings) = text.parse().ok().filter(|number| (least..=most).contains(number))?;
            }
            Switch(of) => *of(settings) = text == "1",
            Text(of) => text.clone_into(of(settings)),
            File(of, _) => *of(settings) = if text.is_empty() { None } else { Some(text.parse().ok()?) },
            One(.., set) => return set(settings, text),
        }
        Some(())
    }
}

const BATCHES: &str = "calls.batches";
const LAUNCHERS: [(&str, &str, Launcher); 2] =
    [("mpirun", "mpirun", Launcher::Mpirun), ("srun", "srun", Launcher::Srun)];
const LIBRARIES: [(&str, &str, Library); 2] = [("rccl", "RCCL", Library::Rccl), ("nccl", "NCCL", Library::Nccl)];

const READER: Kind = One(
    |_| Reader::ALL.iter().map(|reader| (reader.key().to_owned(), reader.name().to_owned())).collect(),
    |s| s.reader.key().to_owned(),
    |s, text| Reader::ALL.iter().find(|reader| reader.key() == text).map(|reader| s.reader = *reader),
);
const LIBRARY: Kind =
    One(|_| options(&LIBRARIES), |s| key_of(&LIBRARIES, s.library), |s, text| find(&LIBRARIES, &mut s.library, text));

/// All fields. The same key may stand in several groups: it is one setting.
const FIELDS: &[SettingField] = &[
    field(Group::Hotspots, "dip", "Drop of more than, %", Number(|s| &mut s.hotspots.threshold_pct, 0.0, 99.0)),
    field(Group::Hotspots, "dip-gbps", "and at least, GB/s", Number(|s| &mut s.hotspots.min_drop_gbps, 0.0, 1000.0)),
    field(Group::Check, "conf", "Tuner file", File(|s| &mut s.checked, confs)).where_there(has_conf),
    field(Group::Check, "reader", "Read by", READER).where_there(has_conf),
    field(Group::Check, "library", "Library", LIBRARY).where_there(has_conf),
    field(Group::Check, "all-readers", "Findings for all readers", Switch(|s| &mut s.all_readers))
        .where_there(has_conf),
    field(Group::Write, "reader", "Read by", READER),
    field(Group::Write, "library", "Library", LIBRARY),
    field(Group::Write, "architecture", "Architecture", Text(|s| &mut s.architecture))
        .hinted("gfx950")
        .where_there(|tuning| tuning.panel.settings.reader == Reader::Rccl),
    field(Group::Write, "by-scale", "One file per scale", Switch(|s| &mut s.by_scale)),
    field(Group::Write, "open-ends", "Also for sizes beyond the measured ones", Switch(|s| &mut s.open_ends))
        .hinted("The lowest rule begins at 0 and the highest has no end"),
    field(
        Group::Environment,
        "of-size",
        "The choice for {shown}, not the one that serves all sizes best",
        Switch(|s| &mut s.of_size),
    ),
    field(Group::Coverage, "typed", "Enter calls instead of using the loaded logs", Switch(|s| &mut s.by_hand))
        .where_there(|tuning| !tuning.files.jobs.is_empty()),
    field(Group::Coverage, "rules", "Tuner file", File(|s| &mut s.rules, |tuning| unsaid("none", confs(tuning)))),
    field(Group::Coverage, "reader", "Read by", READER),
    field(Group::Coverage, "library", "Library", LIBRARY),
    field(
        Group::Coverage,
        "scale",
        "Scale if the log does not say",
        One(
            |tuning| {
                let mut scales: Vec<Scale> = tuning.study.groups().iter().map(|group| group.scale).collect();
                scales.compact_sort();
                scales.dedup();
                unsaid("the scale shown", scales.into_iter().map(|s| (scale_key(s), s.to_string())).collect())
            },
            |s| s.scale.map_or_else(String::new, scale_key),
            |s, text| {
                let parse = |text: &str| {
                    let (nodes, ranks) = text.split_once('x')?;
                    Some(Scale { nodes: nodes.parse().ok()?, ranks: ranks.parse().ok()? })
                };
                s.scale = if text.is_empty() { None } else { Some(parse(text)?) };
                Some(())
            },
        ),
    ),
    field(Group::Coverage, "steps", "Steps × ranks in the log", Whole(|s| &mut s.divide_by, 1, 100_000_000)),
    field(
        Group::Calls,
        "calls.c",
        "Collective",
        One(
            |_| collectives(),
            |s| s.called.to_string(),
            |s, text| Collective::parse(text).map(|called| s.called = called),
        ),
    ),
    field(Group::Calls, BATCHES, "Batch sizes or tokens", Text(|s| &mut s.batches)),
    field(Group::Calls, "calls.hidden", "Hidden size", Whole(|s| &mut s.hidden, 1, 1 << 20)),
    field(
        Group::Calls,
        "calls.type",
        "Data type",
        One(
            |_| DATA_TYPES.map(|name| (name.to_owned(), name.to_owned())).to_vec(),
            |s| s.data_type.to_owned(),
            |s, text| DATA_TYPES.into_iter().find(|name| *name == text).map(|name| s.data_type = name),
        ),
    ),
    field(Group::Calls, "calls.each", "Calls of each per step", Whole(|s| &mut s.calls, 1, 1_000_000)),
    field(
        Group::Costs,
        "cost-table",
        "Cost table",
        One(
            |tuning| {
                tuning.panel.cost_tables.iter().enumerate().map(|(at, name)| (at.to_string(), name.clone())).collect()
            },
            |s| s.cost_table.to_string(),
            |s, text| text.parse().ok().map(|number| s.cost_table = number),
        ),
    ),
    field(Group::Plan, "launches", "Launches, at most", Whole(|s| &mut s.plan.runs, 1, PlanQuestion::MAX_RUNS)),
    field(
        Group::Plan,
        "repeats",
        "Repeats of new configurations",
        Whole(|s| &mut s.plan.repeats, 1, PlanQuestion::MAX_REPEATS),
    ),
    field(
        Group::Plan,
        "launcher",
        "Launched by",
        One(
            |_| options(&LAUNCHERS),
            |s| key_of(&LAUNCHERS, s.plan.launcher),
            |s, text| find(&LAUNCHERS, &mut s.plan.launcher, text),
        ),
    ),
    field(Group::Plan, "only-shown", "Only the collective and scale shown", Switch(|s| &mut s.only_shown))
        .where_there(|tuning| tuning.study.groups().len() > 1),
    field(
        Group::Campaign,
        "campaign",
        "Campaign",
        File(|s| &mut s.campaign, |tuning| named(tuning, &tuning.files.comparisons)),
    )
    .where_there(has_campaign),
    field(Group::Campaign, "campaign-conf", "Its tuner file", File(|s| &mut s.campaign_conf, confs))
        .where_there(|tuning| has_campaign(tuning) && has_conf(tuning)),
    field(
        Group::Campaign,
        "campaign-c",
        "Collective",
        One(
            |_| unsaid("as the files say", collectives()),
            |s| s.campaign_collective.map_or_else(String::new, |of| of.to_string()),
            |s, text| {
                s.campaign_collective = if text.is_empty() { None } else { Some(Collective::parse(text)?) };
                Some(())
            },
        ),
    )
    .where_there(has_campaign),
    field(Group::Campaign, "keep-confidence", "Confidence, %", Number(|s| &mut s.confidence_pct, 50.0, 99.9))
        .where_there(has_campaign),
    field(Group::Campaign, "keep-gain", "Smallest gain, %", Number(|s| &mut s.limits.min_gain_pct, 0.0, 100.0))
        .where_there(has_campaign),
    field(Group::Campaign, "keep-loss", "Largest loss, %", Number(|s| &mut s.limits.max_loss_pct, 0.0, 100.0))
        .where_there(has_campaign),
    field(
        Group::NextCampaign,
        "arm-launches",
        "Launches of each arm",
        Whole(|s| &mut s.arm_launches, 1, CampaignPlan::MAX_REPEATS),
    ),
    field(
        Group::NextCampaign,
        "arm-launcher",
        "Launched by",
        One(
            |_| options(&LAUNCHERS),
            |s| key_of(&LAUNCHERS, s.arm_launcher),
            |s, text| find(&LAUNCHERS, &mut s.arm_launcher, text),
        ),
    ),
    field(Group::NextCampaign, "plugin", "Path of the plugin", Text(|s| &mut s.plugin)),
    field(Group::NextCampaign, "conf-path", "Path of the tuner file", Text(|s| &mut s.conf_path)),
    field(Group::Tables, "table", "File", File(|s| &mut s.table, |tuning| named(tuning, &tuning.files.listings))),
];

/// Reads the choices of the panels.
///
/// # Errors
/// Returns the first choice that is not valid.
pub(super) fn read(choices: &Choices) -> Result<Settings, ChoiceError> {
    let mut settings = Settings { is_typed: choices.get(BATCHES).is_some(), ..Settings::default() };
    for field in FIELDS {
        let Some(text) = choices.get(field.key) else { continue };
        field.set(&mut settings, text.trim()).ok_or_else(|| ChoiceError {
            label: field.label.to_owned(),
            value: text.chars().take(40).collect(),
            expected: "a value of this field".to_owned(),
        })?;
    }
    Ok(settings)
}

/// The fields of the panel that is shown, with their values.
pub(super) fn form(tuning: &LoadedTuning) -> Vec<Field> {
    let (mut chosen, mut usual) = (tuning.panel.settings.clone(), tuning.resolved(Settings::default()));
    let shown = tuning.panel.settings.shown.as_ref().map(workload_label).unwrap_or_default();
    let is_there = |of: &&SettingField| of.group.place().1 == tuning.panel.settings.panel && (of.is_there)(tuning);
    let field = |of: &SettingField| {
        let label = of.label.replace("{shown}", &shown);
        let field = Field::new(&Choices::default(), of.key, &label, of.control(tuning), of.get(&mut usual));
        Field { value: of.get(&mut chosen), ..field.of(of.group.key()).hinted(of.hint) }
    };
    FIELDS.iter().filter(is_there).map(field).collect()
}

fn has_conf(tuning: &LoadedTuning) -> bool {
    !tuning.files.confs.is_empty()
}

fn has_campaign(tuning: &LoadedTuning) -> bool {
    !tuning.files.comparisons.is_empty()
}

fn confs(tuning: &LoadedTuning) -> Options {
    named(tuning, &tuning.files.confs)
}

/// Loaded files: their numbers with their names.
fn named<T>(tuning: &LoadedTuning, files: &[(u32, T)]) -> Options {
    files.iter().map(|(file, _)| (file.to_string(), tuning.name(*file).to_owned())).collect()
}

/// The options after one for no value.
fn unsaid(label: &str, mut options: Options) -> Options {
    options.insert(0, (String::new(), label.to_owned()));
    options
}

fn collectives() -> Options {
    Collective::ALL.iter().map(|of| (of.to_string(), of.to_string())).collect()
}

fn scale_key(scale: Scale) -> String {
    format!("{}x{}", scale.nodes, scale.ranks)
}

fn options<T>(all: &[(&str, &str, T)]) -> Options {
    all.iter().map(|(key, name, _)| ((*key).to_owned(), (*name).to_owned())).collect()
}

fn key_of<T: PartialEq>(all: &[(&str, &str, T)], value: T) -> String {
    all.iter().find(|(.., of)| *of == value).map_or_else(String::new, |(key, ..)| (*key).to_owned())
}

fn find<T: Copy>(all: &[(&str, &str, T)], into: &mut T, text: &str) -> Option<()> {
    all.iter().find(|(key, ..)| *key == text).map(|(.., value)| *into = *value)
}
