//! The commands that give the answer of a panel in a terminal.

use super::{
    address::Panel, conf::Reader, heat_map::Against, loaded::LoadedTuning, parameters::Preset, platform::Library,
    settings::Settings, states::StateKey,
};
use crate::{
    collective::{Scale, Workload},
    command::{Command, Commands},
    form::{Choices, Field, Setting},
    launch::{Sizes, short_size},
};

/// The fields of a panel that are no option, beside the limits of the search for sizes of one's own where they differ.
const NO_OPTION: [&str; 5] = ["dip", "dip-gbps", "of-size", "cost-table", "table"];

/// Choices of learning, and the option for each.
const BOOSTING: [(&str, &str); 4] = [
    ("stages", "--stages"),
    ("depth", "--depth"),
    ("learning-rate", "--learning-rate"),
    ("early-stopping", "--early-stopping"),
];
const TREES: [(&str, &str); 1] = [("trees", "--trees")];
const LEARNING: [(&str, &str); 9] = [
    ("preset", "--preset"),
    ("busbw", "--target"),
    ("seed", "--seed"),
    ("confidence", "--level"),
    ("least-gain", "--minimum-gain"),
    ("keep-stalls", "--keep-stalls?"),
    ("max-channels", "--max-channels"),
    ("algorithms", "--algorithms"),
    ("protocols", "--protocols"),
];

/// How the keys of the search limits for sizes of one's own begin. They are options only where they are those of all
/// sizes.
const OWN: &str = "own-";

/// What the commands of a panel are made of; `changed` are the choices that are not usual.
struct Panels<'a> {
    settings: &'a Settings,
    tuning: &'a LoadedTuning,
    sweeps: &'a [String],
    changed: &'a Choices,
}

/// The commands of the panel that is shown, on sweeps with these names, with the choices that are not usual and their
/// fields.
pub(super) fn commands(
    settings: &Settings,
    tuning: &LoadedTuning,
    sweeps: &[String],
    (changed, form): (&Choices, &[Field]),
) -> Commands {
    let of = Panels { settings, tuning, sweeps, changed };
    let mut commands = Commands::default();
    let own_limits_differ = settings.own_limits != settings.parameters.search;
    match settings.panel {
        // Nothing is learnt from the default alone.
        Panel::Answer if !sweeps.is_empty() && !tuning.study.has_choice() => {
            let mut command = Command::new("report", sweeps);
            of.set(&mut command, "--set");
            commands.lines.push(command);
        }
        Panel::Answer => commands.lines.extend(of.predict(!own_limits_differ)),
        Panel::Noise | Panel::HeatMap | Panel::Model if !tuning.study.has_choice() => {}
        Panel::Noise => commands.lines.extend(of.predict(false).map(|mut command| {
            command.word("--all-columns");
            command
        })),
        Panel::HeatMap => commands.lines.extend(of.chart()),
        Panel::Model => commands.lines.extend(of.train()),
        Panel::TunerFiles => commands.lines.extend(of.lint().into_iter().chain(of.export())),
        Panel::Coverage => commands.lines.extend(of.coverage()),
        Panel::Plan => commands.lines.extend(of.plan()),
        Panel::Ab => commands.lines.extend(of.ab().into_iter().chain(of.ab_plan())),
        Panel::Compare => match of.compare() {
            Some(Ok(command)) => commands.lines.push(command),
            Some(Err(why)) => commands.left_out.push(why.to_owned()),
            None => {}
        },
        Panel::CostModel => commands.lines.push(of.cost_model()),
        Panel::Campaign | Panel::Tables => {}
    }
    for field in form {
        let is_own = || {
            let is_limit = field.key.starts_with(OWN) && !settings.own_sizes.trim().is_empty();
            own_limits_differ && (is_limit || field.key == "sizes")
        };
        if changed.get(&field.key).is_some() && (NO_OPTION.contains(&&*field.key) || is_own()) {
            commands.leave_out(&field.label, &field.value);
        }
    }
    if settings.panel == Panel::Noise && !settings.opened.is_empty() {
        commands.leave_out("the runs of one configuration", &settings.opened);
    }
    commands
}

impl Panels<'_> {
    /// A command on the sweeps, if there are some.
    fn of_sweeps(&self, words: &str) -> Option<Command> {
        (!self.sweeps.is_empty()).then(|| Command::new(words, self.sweeps))
    }

    /// The option that names the set of measurements, where it is not the largest.
    fn set(&self, command: &mut Command, option: &str) {
        match (self.changed.get("m"), &self.tuning.set) {
            (Some("all"), Some(_)) => command.option(option, "all"),
            (Some(_), Some(label)) => command.option(option, label),
            _ => {}
        }
    }

    /// The options of those choices of a table, key and option, that are not usual. An option that ends in `?` has no
    /// value.
    fn options(&self, command: &mut Command, table: &[(&str, &str)]) {
        for (key, option) in table {
            let Some(value) = self.changed.get(key).map(str::trim).filter(|value| !value.is_empty()) else { continue };
            match option.strip_suffix('?') {
                Some(option) => command.word(option),
                None => command.option(option, value),
            }
        }
    }

    /// The options of how to learn and to decide that are not the default, or not those of the model file.
    fn learning(&self, command: &mut Command) {
        let parameters = &self.settings.parameters;
        self.set(command, "--set");
        self.options(command, if parameters.preset == Preset::Seed { &BOOSTING[..] } else { &TREES });
        self.options(command, &LEARNING);
        for aside in &parameters.screening.set_aside {
            command.option("--set-aside", &aside.to_string());
        }
        for run in &parameters.screening.brought_back {
            let text = run.to_string();
            if let Some((_, place)) = text.split_once(':') {
                command.option("--bring-back", &format!("{}:{place}", self.tuning.name(run.file.into())));
            }
        }
    }

    fn predict(&self, with_own: bool) -> Option<Command> {
        let (mut command, shown) = (self.of_sweeps("tuning predict")?, self.settings.shown?);
        of_scale(&mut command, shown);
        let mut sizes = vec![shown.size_bytes];
        if with_own {
            sizes.extend(self.settings.own_sizes().ok()?);
        }
        let sizes: Vec<String> = sizes.into_iter().map(short_size).collect();
        command.option(if sizes.len() > 1 { "--sizes" } else { "--size" }, &sizes.join(","));
        self.learning(&mut command);
        Some(command)
    }

    fn chart(&self) -> Option<Command> {
        let mut command = self.of_sweeps("tuning chart")?;
        of_scale(&mut command, self.settings.shown?);
        if self.settings.against == Against::Default {
            command.option("--against", "default");
        }
        self.learning(&mut command);
        command.option("-o", "heat-map.svg");
        Some(command)
    }

    fn train(&self) -> Option<Command> {
        let mut command = self.of_sweeps("tuning train")?;
        self.learning(&mut command);
        if self.settings.importances {
            command.word("--importances");
        }
        Some(command)
    }

    fn lint(&self) -> Option<Command> {
        let conf = self.tuning.name(self.settings.checked?).to_owned();
        let mut command = Command::new("tuning lint", &[conf]);
        if !self.settings.all_readers {
            command.option("--reader", self.settings.export.reader.key());
        }
        self.library(&mut command);
        let platform = self.settings.export.platform();
        if let Some(gpu) = platform.gpu {
            command.option("--gpu", &gpu.to_string());
        }
        if let Some(version) = platform.version {
            command.option("--library-version", &version.to_string());
        }
        if !self.sweeps.is_empty() {
            self.set(&mut command, "--set");
        }
        self.beside(&mut command);
        Some(command)
    }

    fn cost_model(&self) -> Command {
        let question = &self.settings.library_choice;
        let mut command = Command::new("tuning cost-model", &[]);
        command.option("--gpu", &question.machine.text());
        command.option("--nodes", &question.scale.nodes.to_string());
        command.option("--ranks", &question.scale.ranks.to_string());
        command.option("--collective", question.collective.name());
        command.option("--library-version", &question.version.to_string());
        self.options(&mut command, &[("nccl-processor", "--processor")]);
        command.word("--table");
        self.beside(&mut command);
        if !self.sweeps.is_empty() {
            self.set(&mut command, "--set");
        }
        command
    }

    fn library(&self, command: &mut Command) {
        if self.settings.export.reader == Reader::Ncclx && !self.settings.all_readers {
            return;
        }
        // Without the option a command takes RCCL, or what its sweep says.
        if self.settings.export.library != Library::default() || self.changed.get("library").is_some() {
            command.option("--library", &self.settings.export.library.text());
        }
    }

    /// Names the sweeps after `--sweep`, where the command's own files are others; it takes all words that follow.
    fn beside(&self, command: &mut Command) {
        // A log that completes a sweep and is one of the job's is read once.
        let jobs = self.names(&self.tuning.files.jobs);
        let is_asked = self.settings.panel == Panel::Coverage && !self.settings.by_hand;
        let sweeps: Vec<&String> = self.sweeps.iter().filter(|name| !is_asked || !jobs.contains(name)).collect();
        if !sweeps.is_empty() {
            command.word("--sweep");
            sweeps.into_iter().for_each(|name| command.file(name));
        }
    }

    fn export(&self) -> Option<Command> {
        let (mut command, options) = (self.of_sweeps("tuning export")?, &self.settings.export);
        command.option("--reader", options.reader.key());
        self.library(&mut command);
        if options.reader == Reader::Rccl {
            self.options(&mut command, &[("architecture", "--architecture")]);
        } else {
            self.options(&mut command, &[("gpu", "--gpu")]);
        }
        self.options(
            &mut command,
            &[("library-version", "--library-version"), ("without-built-in", "--without-built-in?")],
        );
        self.options(&mut command, &[("by-scale", "--by-scale?"), ("open-ends", "--open-ends?")]);
        self.learning(&mut command);
        Some(command)
    }

    fn names<T>(&self, files: &[(u32, T)]) -> Vec<String> {
        files.iter().map(|(file, _)| self.tuning.name(*file).to_owned()).collect()
    }

    fn coverage(&self) -> Option<Command> {
        let (settings, asked) = (self.settings, &self.settings.coverage);
        let mut command = match (&asked.typed, settings.by_hand) {
            (Some(typed), _) => {
                let mut command = Command::new("tuning coverage", &[]);
                let batches: Vec<String> = typed.batches.iter().map(ToString::to_string).collect();
                command.option("--collective", typed.collective.name());
                command.option("--batches", &batches.join(","));
                command.option("--hidden", &typed.hidden.text());
                command.option("--type", self.changed.get("calls.type").unwrap_or("bfloat16"));
                command.option("--calls", &typed.calls.text());
                command
            }
            (None, true) => return None,
            (None, false) => {
                let mut command = Command::new("tuning coverage", &self.names(&self.tuning.files.jobs));
                self.options(&mut command, &[("steps", "--steps")]);
                command
            }
        };
        if let Some(conf) = asked.conf {
            command.word("--conf");
            command.file(self.tuning.name(conf));
            command.option("--reader", asked.reader.key());
        }
        self.library(&mut command);
        if let Some(gpu) = asked.on.gpu {
            command.option("--gpu", &gpu.to_string());
        }
        if let Some(version) = asked.on.version {
            command.option("--library-version", &version.to_string());
        }
        asked.on.environment.iter().for_each(|variable| command.option("--env", &variable.to_string()));
        if let Some(scale) = asked.scale {
            nodes_and_ranks(&mut command, scale);
        }
        if !self.sweeps.is_empty() {
            self.learning(&mut command);
        }
        self.beside(&mut command);
        Some(command)
    }

    fn plan(&self) -> Option<Command> {
        let (mut command, plan) = (self.of_sweeps("tuning plan")?, &self.settings.plan);
        let jobs = self.names(&self.tuning.files.jobs);
        jobs.iter().filter(|job| !self.sweeps.contains(job)).for_each(|job| command.file(job));
        if self.tuning.study.has_choice() {
            command.word("--learn");
        }
        self.options(&mut command, &[("launches", "--runs"), ("repeats", "--repeats"), ("launcher", "--launcher")]);
        if let Some((collective, scale)) = plan.of {
            command.option("--collective", collective.name());
            nodes_and_ranks(&mut command, scale);
        }
        self.learning(&mut command);
        Some(command)
    }

    fn ab(&self) -> Option<Command> {
        let asked = &self.settings.ab;
        let mut command = Command::new("tuning ab", &[self.tuning.name(asked.file?).to_owned()]);
        if let Some(conf) = asked.conf {
            command.word("--conf");
            command.file(self.tuning.name(conf));
        }
        if self.changed.get("keep-confidence").is_some() {
            command.option("--confidence", &asked.limits.confidence.text());
        }
        let table = [("campaign-c", "--collective"), ("keep-gain", "--least-gain"), ("keep-loss", "--largest-loss")];
        self.options(&mut command, &table);
        Some(command)
    }

    fn ab_plan(&self) -> Option<Command> {
        let shown = self.settings.shown?;
        let is_shown =
            |group: &&super::result::Group| (group.collective, group.scale) == (shown.collective, shown.scale);
        let group = self.tuning.study.groups().iter().find(is_shown)?;
        let sizes = Sizes::to_cover(*group.sizes.first()?, *group.sizes.last()?, shown.scale.ranks);
        let mut command = Command::new("tuning ab-plan", &[]);
        of_scale(&mut command, shown);
        for (option, path) in ["--plugin", "--conf"].into_iter().zip(&self.settings.paths) {
            command.word(option);
            command.file(path);
        }
        command.option("--min", &short_size(sizes.first));
        command.option("--max", &short_size(sizes.last));
        command.option("--repeats", &self.settings.arms.0.text());
        self.options(&mut command, &[("arm-launcher", "--launcher")]);
        Some(command)
    }

    /// The comparison of two states, if there are two; else why it is no command.
    fn compare(&self) -> Option<Result<Command, &'static str>> {
        let states = self.settings.compared?;
        let mut command = Command::new("tuning compare", &[]);
        for state in states {
            match state {
                StateKey::Link => {
                    return Some(Err("A report that a link carried is no file: save it, and open the file."));
                }
                StateKey::File(file) => command.file(self.tuning.name(file)),
                StateKey::Loaded if self.sweeps.len() > 1 && self.sweeps.iter().any(|name| name.contains(',')) => {
                    return Some(Err(
                        "No command names several files whose names have commas: put them into a folder.",
                    ));
                }
                StateKey::Loaded => command.file(&self.sweeps.join(",")),
            }
        }
        for (state, option) in states.into_iter().zip(["--set-before", "--set-after"]) {
            if state == StateKey::Loaded {
                self.set(&mut command, option);
            }
        }
        self.options(&mut command, &[("change-confidence", "--level"), ("least-change", "--least")]);
        if let Some(conf) = self.settings.deployed {
            command.word("--conf");
            command.file(self.tuning.name(conf));
            command.option("--reader", self.settings.export.reader.key());
            self.library(&mut command);
        }
        Some(Ok(command))
    }
}

fn of_scale(command: &mut Command, shown: Workload) {
    command.option("--collective", shown.collective.name());
    nodes_and_ranks(command, shown.scale);
}

fn nodes_and_ranks(command: &mut Command, scale: Scale) {
    command.option("--nodes", &scale.nodes.text());
    command.option("--ranks", &scale.ranks.text());
}
