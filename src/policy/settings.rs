//! What can be chosen in the policy workbench: its settings, and the table of their fields.

use super::{
    arm::Arm,
    bands::{Bands, BandsError},
    read,
    request::{self, Highlight, LogSettings, ReplaySettings},
    result::PolicyOverview,
    simulate,
    study::PolicyStudy,
};
use crate::{
    bandit::strategies::StrategyKind,
    collective::{Collective, Scale},
    form::{self, ChoiceError, Control, Field, Form},
    units::Size,
};

#[derive(Clone, Copy)]
pub(super) enum Group {
    Attribution,
    Files,
    Key,
    Strategies,
    Parameters,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        const TITLES: [&str; 5] = ["Which arm ran", "Files", "Arms", "Strategies", "Parameters of strategies"];
        Self { number: group as u8, title: TITLES[group as usize].into() }
    }
}

/// The settings of the workbench.
#[derive(Default)]
pub(super) struct Settings {
    /// The index of the key that is shown.
    pub key: u32,
    /// What strategies play in; `None` where the key that is shown can't be replayed.
    pub replay: Option<ReplaySettings>,
    pub highlight: Highlight,
}

/// The settings of the files to save.
pub(super) struct FileSettings {
    /// The generation of the policy file.
    pub generation: u64,
    /// The command that the script runs.
    pub command: String,
}

fn arm(label: &str, text: &str) -> Result<Arm, ChoiceError> {
    Arm::parse(text).ok_or_else(|| ChoiceError::new(label, text, Arm::EXPECTED))
}

/// The fields on facts that logs lack.
pub(super) fn attribution(form: &mut Form<'_>, study: &PolicyStudy) -> request::Settings {
    const ELSEWHERE: &str = "where a log does not say it";
    let mut settings = request::Settings::default();
    form.group(Group::Attribution);
    for (number, named) in (1..).zip(study.logs()) {
        let field = |what: &str, label: &str, control| {
            Field::new(&format!("{what}.{number}"), &format!("{}: {label}", named.name), control)
        };
        let mut of_log = LogSettings::default();
        let arms = Control::text(&["auto", "tree/simple", "tree/ll128", "ring/simple", "ring/ll128"]);
        of_log.arm = form.read(field("arm", "arm", arms).hinted("of every line"), |text| arm("arm", text));
        let mut from_line = None;
        form.field_of(field("from", "from line", Control::Number), "the number of a line", &mut from_line);
        of_log.from_line = from_line.unwrap_or(0);
        let modes = Control::one(&[("", "as the log says"), ("0", "no"), ("1", "yes")]);
        of_log.overlap = form.read(field("overlap", "overlap", modes), |text| Ok(text == "1"));
        settings.logs.push(of_log);
    }
    let schedule = &mut settings.schedule;
    let arms = Field::new("arms", "Arms by number, or in turns", Control::text(&[&simulate::ARMS.join(",")]));
    let each = |text: &str| {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(|name| arm("Arms by number, or in turns", name)).collect::<Result<Vec<Arm>, _>>()
    };
    schedule.arms = form.read(arms.hinted("tree/simple,…,auto"), each).unwrap_or_default();
    let number = |key: &str, label: &str, hint: &str| Field::new(key, label, Control::Number).hinted(hint);
    form.field(number("warm-up", "Calls before the first line", "arms took turns"), &mut schedule.warm_up);
    form.field(number("turns", "Calls that took turns", "all"), &mut schedule.turns);
    let policy = Field::new("schedule", "Policy file by whose schedule arms ran", Control::Lines);
    let policy = form.read(policy, |text| {
        read::policy(text).map_err(|error| {
            ChoiceError::new("Policy file by whose schedule arms ran", text, &format!("a policy file: it {error}"))
        })
    });
    let likely = Control::text(&["allreduce"]);
    let collective = form.read(Field::new("collective", "Collective", likely).hinted(ELSEWHERE), |name| {
        let wrong = || ChoiceError::new("Collective", name, "a collective, like allreduce");
        Collective::parse(name).ok_or_else(wrong)
    });
    let (mut size, mut nodes, mut ranks) = (None::<Size>, None::<u32>, None::<u32>);
    form.field(Field::new("size", "Size", Control::text(&[])).hinted(ELSEWHERE), &mut size);
    form.field(number("nodes", "Nodes", ELSEWHERE), &mut nodes);
    form.field(number("ranks", "Ranks", ELSEWHERE), &mut ranks);
    let scale = nodes.zip(ranks).and_then(|(nodes, ranks)| Scale::new(nodes, ranks));
    if let (Some(nodes), Some(ranks), None) = (nodes, ranks, scale) {
        let expected = format!("a number of nodes from 1 to that of the ranks, {ranks}");
        form.refuse(ChoiceError::new("Nodes", &nodes.to_string(), &expected));
    }
    for log in &mut settings.logs {
        (log.collective, log.scale, log.size_bytes) = (collective, scale, size.map(|size| size.0));
    }
    if nodes.is_some() != ranks.is_some() {
        schedule.notes.push("Of nodes and ranks one is given: it is not used without the other".to_owned());
    }
    if let Some(read) = policy {
        schedule.notes.extend(read.notes.iter().map(|note| format!("The policy file of the schedule: {note}")));
        schedule.policies.extend(read.policy);
    }
    let bands = Field::new("bands", "Bands", Control::text(&Bands::NAMED.map(|(name, _)| name))).hinted("seven");
    let bands = form.read(bands, |bands| {
        const EXPECTED: &str = "six, seven, eight, or ascending sizes in bytes between commas, like 1K,256K,1M";
        bands.parse().map_err(|_error: BandsError| ChoiceError::new("Bands", bands, EXPECTED))
    });
    settings.bands = bands.unwrap_or_default();
    form.field(Field::new("library", "Library version", Control::text(&[])), &mut settings.library);
    form.is_listed = false;
    form.field(Field::new("seed", "Seed", Control::Number), &mut settings.seed);
    settings
}

/// The fields of the files to save.
pub(super) fn files(form: &mut Form<'_>, study: &PolicyStudy) -> FileSettings {
    let mut settings = FileSettings { generation: study.next_generation(), command: "./job".to_owned() };
    form.group(Group::Files);
    form.field(Field::new("generation", "Generation of the policy file", Control::Number), &mut settings.generation);
    let command = Field::new("command", "Command of the script", Control::text(&[])).usually(&*settings.command);
    settings.command = form.read(command, |text| Ok(text.to_owned())).unwrap_or(settings.command);
    settings
}

/// The field of the key that is shown, by its index.
pub(super) fn key(form: &mut Form<'_>, studied: Option<&PolicyOverview>) -> u32 {
    let all = studied.into_iter().flat_map(|studied| studied.keys.iter().zip(&studied.verdicts));
    let option = |(number, (key, verdict)): (u32, _)| (number.to_string(), format!("{key}: {verdict}"));
    let keys: Vec<(String, String)> = (1..).zip(all).map(option).collect();
    // Another key than the only one, of an address, is said not to be there.
    form.is_listed = keys.len() > 1 || form.get("key").is_some();
    let key = form.offered(Field::new("key", "Key", Control::One(keys)).usually("1"));
    key.and_then(|key| key.parse().ok()).map_or(0, |key: u32| key.saturating_sub(1))
}

/// The fields on what charts emphasise.
pub(super) fn highlight(form: &mut Form<'_>, settings: &Settings, studied: Option<&PolicyOverview>) -> Highlight {
    let mut highlight = Highlight::default();
    if let Some(of) = studied.and_then(|studied| studied.results.get(settings.key as usize)) {
        let mut options = vec![(String::new(), "all arms".to_owned())];
        options.extend(of.arms.iter().map(|arm| arm.arm.to_string()).map(|name| (name.clone(), name)));
        form.group(Group::Key);
        form.field(Field::new("arm", "Arm in colour", Control::One(options)).picked(), &mut highlight.arm);
    }
    if let Some(replay) = &settings.replay {
        let mut options = vec![(String::new(), "all".to_owned())];
        let titles = replay.strategies.iter().map(StrategyKind::title);
        options.extend((1..).zip(titles).map(|(number, title): (u32, String)| (number.to_string(), title)));
        form.group(Group::Strategies);
        let chosen = form.chosen(Field::new("strategy", "Strategy in colour", Control::One(options)).picked());
        let number = chosen.and_then(|number| number.trim().parse::<u32>().ok());
        highlight.strategy = number.and_then(|number| number.checked_sub(1));
    }
    highlight
}
