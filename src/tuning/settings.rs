//! What can be chosen in the tuning workbench: its settings, and the table of their fields.

use super::{
    ab::{AbQuestion, script::CampaignPlan},
    address::{Address, Panel},
    aggregate::Target,
    compare::CompareQuestion,
    conf::{Reader, export::ExportOptions},
    coverage::{CoverageQuestion, calls::TypedCalls},
    data_type::DataType,
    heat_map::Against,
    hotspots::HotspotRule,
    library_choice::{self, LibraryQuestion},
    loaded::LoadedTuning,
    parameters::{Parameters, Preset, SearchLimits, SetAside, StallId},
    plan::PlanQuestion,
    platform::{Gpu, Library, Version},
    reach::JobVariable,
    sets::SetChoice,
    sizes::{MAX_SIZES, SizesError, parse_batches, parse_sizes},
    states::StateKey,
};
use crate::{
    collective::{Algorithm, Collective, Protocol, Scale, Workload},
    cost_model::{Machine, Processor},
    form::{self, ChoiceError, Control, Field, Form, Setting, list_setting},
    launch::Launcher,
    order::CompactSort,
    units::Size,
};

/// The groups of fields, each of which stands in a section of its own.
#[derive(Clone, Copy)]
pub(super) enum Group {
    /// The preset, size and seed of the model.
    Model,
    /// The algorithms, protocols and channels that the answer may take.
    Limits,
    /// When to recommend something else than the default.
    Confidence,
    /// The configurations that are set aside by hand.
    SetAside,
    /// Whether stalled runs are used like any other.
    Stalls,
    /// The importance of the model's features.
    Importances,
    /// Sizes that are asked for.
    OwnSizes,
    /// Where the model searches for these.
    OwnLimits,
    /// What counts as a hotspot.
    Hotspots,
    /// A loaded tuner file.
    Check,
    /// A tuner file to be written.
    Write,
    /// Environment variables.
    Environment,
    /// The calls of a job that are typed.
    Calls,
    /// What a job's calls are held against.
    Coverage,
    /// The library's cost table.
    Costs,
    /// What to measure next.
    Plan,
    /// An A/B that was run.
    Ab,
    /// The launches of each arm, the launcher and the paths in the script of the next A/B.
    NextAb,
    /// The states to compare, before and after, and the limits of a change.
    Compare,
    /// Tables that are only shown.
    Tables,
    /// The machine whose cost model is asked.
    CostModel,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        let title = match group {
            Group::Model => "Model",
            Group::Limits => "Search limits",
            Group::Confidence => "Required confidence",
            Group::SetAside => "Set aside by hand",
            Group::Stalls => "Stalled runs",
            Group::Importances => "Feature importance",
            Group::OwnSizes => "Sizes of your own",
            Group::OwnLimits => "Search limits for these sizes",
            Group::Hotspots => "Hotspots",
            Group::Check => "What this tuner file does",
            Group::Write => "Write a tuner file",
            Group::Environment => "As environment variables, for the whole job",
            Group::Calls => "What the job sends",
            Group::Coverage => "Coverage",
            Group::Costs => "The library's cost table beside the measurements",
            Group::Plan => "What to measure next",
            Group::Ab => "A/B",
            Group::NextAb => "The next A/B",
            Group::Compare => "Compare",
            Group::Tables => "Tables",
            Group::CostModel => "What NCCL chooses by its own cost model",
        };
        Self { number: group as u8, title: title.into() }
    }
}

/// The settings of the workbench.
#[derive(Default)]
pub(super) struct Settings {
    /// The panel that is shown.
    pub panel: Panel,
    /// The workload that is shown, if it is loaded.
    pub shown: Option<Workload>,
    /// With what the heat map compares.
    pub against: Against,
    /// How to learn, search and decide; those of an opened model file where nothing else is chosen.
    pub parameters: Parameters,
    /// The measured configuration whose runs are listed: what would set it aside, or [`DEFAULT_RUNS`].
    pub opened: String,
    /// Whether the importance of the features is wanted.
    pub importances: bool,
    /// The sizes that are asked for, as they were typed.
    pub own_sizes: String,
    /// Where the model searches for these.
    pub own_limits: SearchLimits,
    /// The dip that counts as a hotspot.
    pub hotspots: HotspotRule,
    /// The tuner file that is checked, by its number.
    pub checked: Option<u32>,
    /// Whether it is checked for all readers.
    pub all_readers: bool,
    /// The tuner files to write, and the reader and library of all tuner files.
    pub export: ExportOptions,
    /// Whether environment variables are those of the size that is shown.
    pub of_size: bool,
    /// Whether calls are typed, also where logs are loaded.
    pub by_hand: bool,
    /// Why the typed calls can't be used.
    pub wrong_calls: Option<String>,
    /// What a job's calls are held against.
    pub coverage: CoverageQuestion,
    /// Which cost table of the library is drawn.
    pub cost_table: usize,
    /// The plan of what to measure next.
    pub plan: PlanQuestion,
    /// Whether only the collective and scale that are shown are planned for.
    pub only_shown: bool,
    /// The campaign that is judged.
    pub ab: AbQuestion,
    /// The launches of each arm of the next A/B, and the launcher.
    pub arms: (u32, Launcher),
    /// The paths of the tuner plugin and of the tuner file in the next A/B.
    pub paths: [String; 2],
    /// The states that are compared, before and after; `None` while there is only one.
    pub compared: Option<[StateKey; 2]>,
    /// The limits of the comparison.
    pub compare: CompareQuestion,
    /// The tuner file that is deployed, by its number; `None`: what the state before recommends is.
    pub deployed: Option<u32>,
    /// The table that is shown.
    pub table: Option<u32>,
    /// The machine and the collective whose cost model is asked.
    pub library_choice: LibraryQuestion,
}

/// The value of the field of the opened configuration that names the default.
pub(super) const DEFAULT_RUNS: &str = "default";

/// Loaded files: their numbers with their names.
type Files = Vec<(String, String)>;

impl Settings {
    /// The fields of the panel that is shown, by the choices of the form; what the others have is read as well. `shown`
    /// is the workload that is shown.
    pub fn fields(form: &mut Form<'_>, shown: Option<Workload>, tuning: &LoadedTuning, cost_tables: &[String]) -> Self {
        let panel = Panel::of_choices(|key| form.get(key));
        let parameters = tuning.saved_parameters.clone().unwrap_or_default();
        let against = Against::of_choices(|key| form.get(key));
        let mut settings = Self { panel, shown, against, parameters, ..Self::default() };
        (settings.export.reader, settings.export.library) = reader_and_library(form, tuning);
        (settings.coverage.reader, settings.coverage.library) = (settings.export.reader, settings.export.library);
        if let Some(told) = tuning.platform().filter(|told| told.library == settings.export.platform().library) {
            (settings.export.version, settings.export.gpu) = (told.version, told.gpu);
            (settings.coverage.on.version, settings.coverage.on.gpu) = (told.version, told.gpu);
        }
        settings.parameter_fields(form);
        match panel {
            Panel::Answer => {
                settings.hotspot_fields(form);
                settings.own_size_fields(form, tuning);
            }
            Panel::Model => {
                form.group(Group::Importances);
                let importances = Field::new("importances", "Compute the importance of each feature", Control::Switch);
                form.field(importances, &mut settings.importances);
            }
            Panel::TunerFiles => settings.tuner_file_fields(form, tuning),
            Panel::Coverage => settings.coverage_fields(form, tuning, cost_tables),
            Panel::Plan => settings.plan_fields(form, tuning),
            Panel::Ab => settings.ab_fields(form, tuning),
            Panel::Tables => {
                form.group(Group::Tables);
                settings.table = file(form, tuning, "table", "File", named(tuning, &tuning.files.listings), None);
            }
            Panel::Compare => settings.compare_fields(form, tuning),
            Panel::CostModel => settings.cost_model_fields(form, tuning),
            Panel::HeatMap | Panel::Noise | Panel::Campaign => {}
        }
        settings
    }

    /// How to learn and to decide. What a model file holds are the defaults.
    fn parameter_fields(&mut self, form: &mut Form<'_>) {
        let (parameters, is_noise) = (&mut self.parameters, self.panel == Panel::Noise);
        let seed = || [Preset::Seed.text()];
        let others = || Preset::ALL.iter().filter(|preset| **preset != Preset::Seed).map(Preset::text);
        form.group(Group::Model);
        let presets = Preset::ALL.iter().map(|preset| (preset.text(), preset.name().to_owned()));
        form.field(Field::new("preset", "Preset", Control::One(presets.collect())), &mut parameters.preset);
        let trees = Field::new("trees", "Trees", Control::whole(1, 2000)).only_for("preset", others());
        form.field(trees, &mut parameters.trees);
        let boosting = |key: &str, label: &str, control| Field::new(key, label, control).only_for("preset", seed());
        form.field(boosting("stages", "Stages", Control::whole(1, 2000)), &mut parameters.stages);
        form.field(boosting("depth", "Depth", Control::whole(1, 16)), &mut parameters.depth);
        let rate = boosting("learning-rate", "Learning rate", Control::within(0.001, 1.0));
        form.field(rate, &mut parameters.learning_rate);
        let stop = boosting("early-stopping", "Early stopping after", Control::whole(0, 500));
        form.field(stop, &mut parameters.early_stopping);
        form.field(Field::new("seed", "Seed", Control::whole(0, u32::MAX)), &mut parameters.seed);
        let targets = Control::one(&[("time", "from the time"), ("printed", "as printed")]);
        form.field(Field::new("busbw", "busbw", targets), &mut Target::default());
        limit_fields(form, Group::Limits, "", &mut parameters.search);
        form.group(Group::Confidence);
        form.is_listed = is_noise;
        let confidence = &mut parameters.confidence;
        percent(form, "confidence", "Confidence, %", (50.0, 99.9), &mut confidence.level);
        let least = Field::new("least-gain", "Smallest gain worth a rule, %", Control::within(0.0, 100.0));
        form.field(least, &mut confidence.minimum_gain_pct);
        let screening = &mut parameters.screening;
        form.group(Group::SetAside);
        form.is_listed = is_noise;
        form.unlisted("open", String::EXPECTED, &mut self.opened);
        let before = screening.set_aside.clone();
        form.unlisted("aside", <Vec<SetAside>>::EXPECTED, &mut screening.set_aside);
        let opened = self.opened.parse().ok();
        let known = screening.set_aside.iter().chain(&opened).chain(&before);
        let mut options: Vec<(String, String)> = Vec::new();
        for aside in known {
            let of = format!("{} of {} on {}", aside.configuration, aside.collective, aside.scale);
            if options.iter().all(|(_, label)| *label != of) {
                options.push((aside.to_string(), of));
            }
        }
        if !options.is_empty() {
            let label = "Not used at any size of its scale";
            form.chosen(Field::new("aside", label, Control::Many(options)).usually(before.text()));
        }
        form.group(Group::Stalls);
        form.is_listed = is_noise;
        let keep = Field::new("keep-stalls", "Use them all like any other run", Control::Switch);
        form.field(keep, &mut screening.keep_stalls);
        form.unlisted("back", <Vec<StallId>>::EXPECTED, &mut screening.brought_back);
    }

    /// The sizes that are asked for beside the measured ones, and where the model searches for them.
    fn own_size_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        if !tuning.study.groups().is_empty() {
            form.group(Group::OwnSizes);
            let sizes = Field::new("sizes", "Sizes", Control::text(&[])).hinted("16M, 1.5G, 368640");
            form.field(sizes, &mut self.own_sizes);
            limit_fields(form, Group::OwnLimits, "own-", &mut self.own_limits);
        }
    }

    /// The sizes that are asked for in bytes, ascending; none where no size was typed.
    ///
    /// # Errors
    /// Returns the first text that is no size.
    pub fn own_sizes(&self) -> Result<Vec<u64>, ChoiceError> {
        match self.own_sizes.trim() {
            "" => Ok(Vec::new()),
            sizes => parse_sizes(sizes).map_err(|error| match error {
                SizesError::Size(error) => ChoiceError::new("Sizes", &error.text, Size::EXPECTED),
                SizesError::Zero => {
                    ChoiceError::new("Sizes", "0", "a size above 0: without bytes there is no bandwidth")
                }
                SizesError::TooMany => {
                    ChoiceError::new("Sizes", sizes, &format!("a list of at most {MAX_SIZES} sizes"))
                }
                SizesError::Empty => ChoiceError::new("Sizes", sizes, Size::EXPECTED),
            }),
        }
    }

    fn hotspot_fields(&mut self, form: &mut Form<'_>) {
        form.group(Group::Hotspots);
        let (pct, gbps) = (Control::within(0.0, 99.0), Control::within(0.0, 1000.0));
        form.field(Field::new("dip", "Drop of more than, %", pct), &mut self.hotspots.threshold_pct);
        form.field(Field::new("dip-gbps", "and at least, GB/s", gbps), &mut self.hotspots.min_drop_gbps);
    }

    /// The reader and the library of tuner files; the choice is the same in all panels.
    fn reader_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        let readers = Reader::ALL.iter().map(|reader| (reader.key().to_owned(), reader.name().to_owned()));
        let reader = Field::new("reader", "Read by", Control::One(readers.collect()));
        form.field(reader.usually(tuning.usual_reader().text()), &mut self.export.reader);
        // NCCLX is a kind of NCCL.
        let others =
            Reader::ALL.iter().filter(|reader| **reader != Reader::Ncclx).map(|reader| reader.key().to_owned());
        let library = Field::new("library", "Library", Control::one(&[("rccl", "RCCL"), ("nccl", "NCCL")]))
            .only_for("reader", others);
        form.field(library.usually(usual_library(tuning).text()), &mut self.export.library);
    }

    fn tuner_file_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        let confs = named(tuning, &tuning.files.confs);
        if !confs.is_empty() {
            form.group(Group::Check);
            self.checked = file(form, tuning, "conf", "Tuner file", confs, None);
            self.reader_fields(form, tuning);
            let all = Field::new("all-readers", "Findings for all readers", Control::Switch);
            form.field(all, &mut self.all_readers);
        }
        form.group(Group::Write);
        self.reader_fields(form, tuning);
        if self.export.reader == Reader::Rccl {
            let architecture = Field::new("architecture", "Architecture", Control::text(&[])).hinted("gfx950");
            form.field(architecture, &mut self.export.architecture);
        }
        if self.export.platform().library == Library::Rccl {
            if self.export.reader != Reader::Rccl {
                form.field(Field::new("gpu", "GPU", Control::text(&[])).hinted("gfx950"), &mut self.export.gpu);
            }
            let version = Field::new("library-version", "Version of the library", Control::text(&[])).hinted("2.30.4");
            form.field(version, &mut self.export.version);
            let omitted = Field::new("without-built-in", "Leave out the rows of RCCL's own table", Control::Switch)
                .hinted("Such a table, for gfx950 from RCCL 2.28.3 on, is displaced by any tuner and any other file");
            form.field(omitted, &mut self.export.leaves_out_built_in);
        }
        form.field(Field::new("by-scale", "One file per scale", Control::Switch), &mut self.export.by_scale);
        let open_ends = Field::new("open-ends", "Also for sizes beyond the measured ones", Control::Switch)
            .hinted("The lowest rule begins at 0 and the highest has no end");
        form.field(open_ends, &mut self.export.open_ends);
        if let Some(shown) = self.shown.as_ref().map(Address::label) {
            form.group(Group::Environment);
            let label = format!("The choice for {shown}, not the one that serves all sizes best");
            form.field(Field::new("of-size", &label, Control::Switch), &mut self.of_size);
        }
    }

    fn coverage_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning, cost_tables: &[String]) {
        form.group(Group::Coverage);
        if tuning.files.jobs.is_empty() {
            self.by_hand = true;
        } else {
            let typed = Field::new("typed", "Enter calls instead of using the loaded logs", Control::Switch);
            form.field(typed, &mut self.by_hand);
        }
        self.coverage.conf =
            file(form, tuning, "rules", "Tuner file", named(tuning, &tuning.files.confs), Some("none"));
        self.reader_fields(form, tuning);
        let mut scales: Vec<Scale> = tuning.study.groups().iter().map(|group| group.scale).collect();
        scales.compact_sort();
        scales.dedup();
        let named = scales.into_iter().map(|scale| (Some(scale).text(), scale.to_string()));
        let unsaid = [(String::new(), "the scale shown".to_owned())];
        let scales = Control::One(unsaid.into_iter().chain(named).collect());
        form.field(Field::new("scale", "Scale if the log does not say", scales), &mut self.coverage.scale);
        self.coverage.scale = self.coverage.scale.or(self.shown.map(|shown| shown.scale));
        let steps = Field::new("steps", "Steps × ranks in the log", Control::whole(1, 100_000_000));
        form.field(steps, &mut self.coverage.divide_by);
        let on = &mut self.coverage.on;
        form.field(Field::new("gpu", "GPU", Control::text(&[])).hinted("gfx950"), &mut on.gpu);
        let version = Field::new("library-version", "Version of the library", Control::text(&[])).hinted("2.30.4");
        form.field(version, &mut on.version);
        let environment = Field::new("env", "Variables of the job", Control::text(&[])).hinted("RCCL_DDA_ENABLE=0");
        form.field(environment, &mut on.environment);
        if cost_tables.is_empty() {
            form.unlisted("cost-table", usize::EXPECTED, &mut self.cost_table);
        } else {
            form.group(Group::Costs);
            let tables = cost_tables.iter().enumerate().map(|(at, title)| (at.to_string(), title.clone()));
            form.field(Field::new("cost-table", "Cost table", Control::One(tables.collect())), &mut self.cost_table);
        }
        if self.by_hand {
            match calls(form) {
                Ok(calls) => self.coverage.typed = calls,
                Err(wrong) => self.wrong_calls = Some(wrong),
            }
        }
    }

    fn plan_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        form.group(Group::Plan);
        let plan = &mut self.plan;
        let launches = Control::whole(1, PlanQuestion::MAX_RUNS);
        form.field(Field::new("launches", "Launches, at most", launches), &mut plan.runs);
        let repeats = Control::whole(1, PlanQuestion::MAX_REPEATS);
        form.field(Field::new("repeats", "Repeats of new configurations", repeats), &mut plan.repeats);
        form.field(launcher("launcher"), &mut plan.launcher);
        if tuning.study.groups().len() > 1 {
            let only = Field::new("only-shown", "Only the collective and scale shown", Control::Switch);
            form.field(only, &mut self.only_shown);
        }
        plan.seed = self.parameters.seed;
        plan.of = self.shown.filter(|_| self.only_shown).map(|shown| (shown.collective, shown.scale));
    }

    fn ab_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        let (campaigns, confs) = (named(tuning, &tuning.files.comparisons), named(tuning, &tuning.files.confs));
        if !campaigns.is_empty() {
            form.group(Group::Ab);
            self.ab.file = file(form, tuning, "campaign", "Campaign", campaigns, None);
            if !confs.is_empty() {
                self.ab.conf = file(form, tuning, "campaign-conf", "Its tuner file", confs, None);
            }
            let unsaid = [(String::new(), "as the files say".to_owned())];
            let collectives = Control::One(unsaid.into_iter().chain(collectives()).collect());
            form.field(Field::new("campaign-c", "Collective", collectives), &mut self.ab.collective);
            let limits = &mut self.ab.limits;
            percent(form, "keep-confidence", "Confidence, %", (50.0, 99.9), &mut limits.confidence);
            let pct = || Control::within(0.0, 100.0);
            form.field(Field::new("keep-gain", "Smallest gain, %", pct()), &mut limits.min_gain_pct);
            form.field(Field::new("keep-loss", "Largest loss, %", pct()), &mut limits.max_loss_pct);
        }
        form.group(Group::NextAb);
        self.arms.0 = 6;
        let launches = Control::whole(1, CampaignPlan::MAX_REPEATS);
        form.field(Field::new("arm-launches", "Launches of each arm", launches), &mut self.arms.0);
        form.field(launcher("arm-launcher"), &mut self.arms.1);
        self.paths = ["/path/to/libnccl-tuner.so", "/path/to/tuner.conf"].map(str::to_owned);
        let [plugin, conf] = &mut self.paths;
        form.field(Field::new("plugin", "Path of the plugin", Control::text(&[])), plugin);
        form.field(Field::new("conf-path", "Path of the tuner file", Control::text(&[])), conf);
    }

    /// The machine, where the sweep tells it that of the sweep, and the collective and scale that are shown.
    fn cost_model_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        form.group(Group::CostModel);
        let question = &mut self.library_choice;
        let told = tuning.platform().filter(|told| told.library == Library::Nccl).unwrap_or_default();
        let known = |machine: &Machine| told.gpu == Some(Gpu::Sm(machine.capability()));
        question.machine = Machine::ALL.into_iter().find(known).unwrap_or(question.machine);
        question.version = told.version.unwrap_or(question.version);
        if let Some(shown) = self.shown {
            question.collective = shown.collective;
            question.scale = shown.scale;
        }
        let machines = Control::one(&[("a100", "A100"), ("h100", "H100 or H200"), ("b200", "B200")]);
        form.field(Field::new("nccl-gpu", "GPU", machines), &mut question.machine);
        let of = library_choice::COLLECTIVES.map(|of| (of.to_string(), of.to_string()));
        let mut collective = Some(question.collective);
        form.field(Field::new("nccl-collective", "Collective", Control::One(of.to_vec())), &mut collective);
        question.collective = collective.unwrap_or(question.collective);
        let [mut nodes, mut gpus] = [question.scale.nodes, question.scale.ranks / question.scale.nodes.max(1)];
        form.field(Field::new("nccl-nodes", "Nodes", Control::whole(1, 4096)), &mut nodes);
        form.field(Field::new("nccl-gpus", "GPUs a node", Control::whole(1, 8)), &mut gpus);
        question.scale = Scale { nodes, ranks: nodes * gpus };
        let mut version = Some(question.version);
        let versions = Field::new("nccl-version", "Version of NCCL", Control::text(&[])).hinted("2.28.9");
        form.field(versions, &mut version);
        question.version = version.unwrap_or(question.version);
        let processors = Control::one(&[("intel", "Intel"), ("amd", "AMD")]);
        form.field(Field::new("nccl-processor", "Processors", processors), &mut question.processor);
    }

    /// The states that are compared: where none is chosen, the first before and the last single one after. A state that
    /// is not there any more is not chosen.
    fn compare_fields(&mut self, form: &mut Form<'_>, tuning: &LoadedTuning) {
        let states = tuning.states();
        let is_single = |state: &StateKey| tuning.files.states.is_single(*state);
        let mut single = states.iter().map(|(state, _)| *state).filter(is_single);
        form.group(Group::Compare);
        if let (Some(first), Some(last)) = (single.next(), single.next_back()) {
            let value = |state: &StateKey| match state {
                StateKey::File(file) => tuning.place(*file).to_string(),
                state => state.to_string(),
            };
            let options: Vec<_> = states.iter().map(|(state, name)| (value(state), name.clone())).collect();
            let mut state = |field: Field, usual: StateKey| {
                let chosen = one_of_these(form, field, options.clone(), value(&usual));
                states.iter().map(|(state, _)| *state).find(|state| value(state) == chosen).unwrap_or(usual)
            };
            let before = state(Field::new("before", "Before", Control::One(Vec::new())), first);
            let after = Field::new("after", "After", Control::One(Vec::new())).swapping("before");
            self.compared = Some([before, state(after, last)]);
            let confs = named(tuning, &tuning.files.confs);
            if !confs.is_empty() {
                self.deployed = file(form, tuning, "deployed", "Deployed", confs, Some("what was best before"));
            }
            percent(form, "change-confidence", "Confidence, %", (50.0, 99.0), &mut self.compare.level);
            let label = "Smallest change that matters, %";
            let least = Field::new("least-change", label, Control::within(0.0, 100.0));
            form.field(least, &mut self.compare.least_pct);
        }
    }
}

/// A share, chosen in per cent with one decimal.
fn percent(form: &mut Form<'_>, key: &str, label: &str, (least, most): (f64, f64), share: &mut f64) {
    let usual_pct = (*share * 1000.0).round() / 10.0;
    let mut pct = usual_pct;
    form.field(Field::new(key, label, Control::within(least, most)), &mut pct);
    // A default with more decimals stays what it is.
    if pct != usual_pct {
        *share = pct / 100.0;
    }
}

/// The fields of the limits of a search. Their keys begin with `prefix`.
fn limit_fields(form: &mut Form<'_>, group: Group, prefix: &str, limits: &mut SearchLimits) {
    form.group(group);
    let key = |name: &str| format!("{prefix}{name}");
    let channels = Field::new(&key("max-channels"), "Max channels", Control::whole(1, 1024)).hinted("as measured");
    form.field(channels, &mut limits.max_channels);
    let algorithms =
        Algorithm::ALL.iter().filter(|algorithm| !matches!(algorithm, Algorithm::Direct | Algorithm::None));
    let algorithms = algorithms.map(|algorithm| (algorithm.to_string(), algorithm.to_string())).collect();
    form.field(Field::new(&key("algorithms"), "Algorithms", Control::Many(algorithms)), &mut limits.algorithms);
    let protocols = Protocol::ALL.iter().filter(|protocol| **protocol != Protocol::None);
    let protocols = protocols.map(|protocol| (protocol.to_string(), protocol.to_string())).collect();
    form.field(Field::new(&key("protocols"), "Protocols", Control::Many(protocols)), &mut limits.protocols);
}

/// The workload that choices ask for, of what is loaded. The page has made sure that the set is the one that is loaded.
pub(super) fn shown(choices: &form::Choices, tuning: &LoadedTuning) -> Option<Workload> {
    let address = Address { set: SetChoice::Largest, ..Address::of_choices(|key| choices.get(key)) };
    let answer = tuning.study.to_deploy().unwrap_or_default();
    address.resolve(tuning.study.groups(), &Default::default(), &answer).ok()
}

/// The fields of the calls that are typed: what they say, if any was typed, or what is wrong with the batch sizes.
fn calls(form: &mut Form<'_>) -> Result<Option<TypedCalls>, String> {
    const DATA_TYPES: [&str; 5] = ["bfloat16", "float16", "float32", "float8", "int8"];
    form.group(Group::Calls);
    let (mut collective, mut batches) = (Some(Collective::AllReduce), "1, 8, 64".to_owned());
    let (mut hidden, mut calls) = (8192_u32, 160);
    form.field(Field::new("calls.c", "Collective", Control::One(collectives().collect())), &mut collective);
    let label = "Batch sizes or tokens";
    form.field(Field::new("calls.batches", label, Control::text(&[])), &mut batches);
    form.field(Field::new("calls.hidden", "Hidden size", Control::whole(1, 1 << 20)), &mut hidden);
    let types = Control::one(&DATA_TYPES.map(|name| (name, name)));
    let data_type = form.chosen(Field::new("calls.type", "Data type", types).usually(DATA_TYPES[0]));
    form.field(Field::new("calls.each", "Calls of each per step", Control::whole(1, 1_000_000)), &mut calls);
    if form.get("calls.batches").is_none() {
        return Ok(None);
    }
    // As the command line reads --batches.
    let batches = parse_batches(&batches).map_err(|error| format!("{label}: {error}"))?;
    let type_bytes = data_type.and_then(DataType::parse).map_or(2, |of| of.bytes);
    let collective = collective.unwrap_or(Collective::AllReduce);
    Ok(Some(TypedCalls { collective, batches, hidden: hidden.into(), type_bytes, calls }))
}

fn named<T>(tuning: &LoadedTuning, files: &[(u32, T)]) -> Files {
    files.iter().map(|(file, _)| (tuning.place(*file).to_string(), tuning.name(*file).to_owned())).collect()
}

/// The choice of a loaded file, by its place among all: the newest, or none where that has a name, until another one
/// that is loaded is chosen.
fn file(
    form: &mut Form<'_>,
    tuning: &LoadedTuning,
    key: &str,
    label: &str,
    mut files: Files,
    none: Option<&str>,
) -> Option<u32> {
    let newest = files.last().map(|(file, _)| file.clone()).unwrap_or_default();
    let usual = none.map_or(newest, |none| {
        files.insert(0, (String::new(), none.to_owned()));
        String::new()
    });
    let place = one_of_these(form, Field::new(key, label, Control::One(Vec::new())), files, usual).parse().ok()?;
    tuning.at_place(place)
}

/// The choice of one of these, each with value and label: `usual` where none was chosen, or one that is not there any
/// more. Without options there is no field.
fn one_of_these(form: &mut Form<'_>, field: Field, options: Files, usual: String) -> String {
    let chosen = form.get(&field.key).filter(|chosen| options.iter().any(|(value, _)| value == chosen));
    let value = chosen.unwrap_or(&usual).to_owned();
    if !options.is_empty() {
        form.add(Field { value: value.clone(), control: Control::One(options), ..field.usually(usual) });
    }
    value
}

fn launcher(key: &str) -> Field {
    Field::new(key, "Launched by", Control::one(&[("mpirun", "mpirun"), ("srun", "srun")]))
}

fn collectives() -> impl Iterator<Item = (String, String)> {
    Collective::ALL.iter().map(|of| (of.to_string(), of.to_string()))
}

/// A value that is one of several, by its key.
macro_rules! one_of {
    ($type:ty, $expected:literal, $key:expr, $find:expr) => {
        impl Setting for $type {
            const EXPECTED: &'static str = $expected;

            fn text(&self) -> String {
                $key(self)
            }

            fn set(&mut self, text: &str) -> Option<()> {
                *self = $find(text)?;
                Some(())
            }
        }
    };
}

one_of!(Reader, "a reader of tuner files", |reader: &Self| reader.key().to_owned(), Self::parse);

/// A value that is one of these, each with its key.
macro_rules! keyed {
    ($type:ident, $expected:literal, [$(($key:literal, $value:ident)),*]) => {
        one_of!(
            $type,
            $expected,
            |value: &Self| match value { $(Self::$value => $key),* }.to_owned(),
            |text: &str| match text { $($key => Some(Self::$value),)* _ => None }
        );
    };
}

keyed!(Library, "rccl or nccl", [("rccl", Rccl), ("nccl", Nccl)]);
keyed!(Launcher, "mpirun or srun", [("mpirun", Mpirun), ("srun", Srun)]);
keyed!(Machine, "a100, h100 or b200", [("a100", A100), ("h100", H100), ("b200", B200)]);
keyed!(Processor, "intel or amd", [("intel", Intel), ("amd", Amd)]);
keyed!(Target, "time or printed", [("time", Time), ("printed", Printed)]);
one_of!(
    Option<Collective>,
    "a collective",
    |collective: &Self| collective.map_or_else(String::new, |of| of.to_string()),
    |text: &str| if text.is_empty() { Some(None) } else { Collective::parse(text).map(Some) }
);
one_of!(
    Option<Scale>,
    "nodes and ranks, like 2x16",
    |scale: &Self| scale.map_or_else(String::new, |of| format!("{}x{}", of.nodes, of.ranks)),
    |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
);
one_of!(
    Option<Gpu>,
    "a GPU, like gfx950 or mi300x",
    |gpu: &Self| gpu.map_or_else(String::new, |gpu| gpu.to_string()),
    |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
);
one_of!(
    Option<Version>,
    "a version, like 2.30.4",
    |version: &Self| version.map_or_else(String::new, |version| version.to_string()),
    |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
);
one_of!(Preset, "a preset", |preset: &Self| preset.key().to_owned(), |text| Self::ALL
    .iter()
    .copied()
    .find(|preset| preset.key() == text));
list_setting!(JobVariable: "NAME=VALUE, with commas between them", Algorithm: "algorithms", Protocol: "protocols", SetAside: "configurations to set aside", StallId: "runs");

/// The library that the measurements name, else RCCL.
fn usual_library(tuning: &LoadedTuning) -> Library {
    tuning.platform().map(|told| told.library).unwrap_or_default()
}

fn reader_and_library(form: &mut Form<'_>, tuning: &LoadedTuning) -> (Reader, Library) {
    let mut both = (tuning.usual_reader(), usual_library(tuning));
    form.unlisted("reader", Reader::EXPECTED, &mut both.0);
    form.unlisted("library", Library::EXPECTED, &mut both.1);
    both
}

/// Which column is the measurement, as it is chosen; the time where the choice is not valid.
pub fn target(choices: &form::Choices) -> Target {
    let mut target = Target::default();
    choices.get("busbw").and_then(|text| target.set(text));
    target
}
