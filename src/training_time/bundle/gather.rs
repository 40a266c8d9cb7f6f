//! Joins dropped files into a bundle, independent of their order.

use super::{
    super::{
        catalogue::{Catalogue, StandIn},
        estimate::question::EstimateSettings,
        models::ModelFile,
        prediction::Direction,
        read::{
            TrainingFile,
            name::{Name, leaf, stem},
            nearest_names,
        },
        regressors::SavedModel,
        samples::{CollectiveSamples, OperatorSamples, Setting, SettingTarget},
        steps::StepTable,
        trace::{self, Trace},
    },
    Answers, Bundle, BundleFile, DroppedFile, FileAnswer, FileQuestion, FileUse, MOST_BYTES, MOST_FILES, QuestionKind,
    Unit,
    cluster_of::{self, Clusters},
    identify, merge,
};
use crate::{
    order::CompactSort,
    text::excerpt,
    units::{count, grouped},
};

/// The precision of samples whose file name does not state one.
const PRECISION: &str = "fp16";

/// Joins files into a bundle, using the answers that were given.
pub fn bring_together(files: Vec<DroppedFile>, answers: &Answers) -> Bundle {
    let mut gathering = Gathering {
        bundle: Bundle { catalogue: Catalogue::built_in(), ..Bundle::default() },
        clusters: Clusters::default(),
        merged: Vec::new(),
        answers,
    };
    let too_many = files.len().saturating_sub(MOST_FILES);
    if too_many > 0 {
        gathering
            .bundle
            .notes
            .push(format!("{} files are more than {MOST_FILES}: the last {too_many} were passed over", files.len()));
    }
    let mut bytes = 0;
    let mut parts: Vec<(usize, String, TrainingFile)> = Vec::new();
    for (index, file) in files.into_iter().take(MOST_FILES).enumerate() {
        if !matches!(file.part, TrainingFile::Traces(_)) {
            bytes += file.size_bytes;
        }
        let part = if bytes > MOST_BYTES {
            TrainingFile::Unrecognised(format!(
                "makes more than {} MiB together with those before it",
                MOST_BYTES >> 20
            ))
        } else {
            file.part
        };
        gathering.bundle.files.push(BundleFile {
            path: file.path.clone(),
            size_bytes: file.size_bytes,
            holds: String::new(),
            cluster: None,
            rows: 0,
            duplicate_rows: 0,
            fate: FileUse::Used,
            problems: file.problems,
            notes: file.notes,
        });
        parts.push((index, file.path, part));
    }
    // What others need comes first: catalogues, then samples over one communicator, then those over all of them; what
    // names no GPU after what does; runs when all operators are known.
    parts.compact_sort_by_key(|(index, path, part)| {
        let name = Name::cut(path);
        let turn = match part {
            TrainingFile::Catalogue(_) => 0,
            TrainingFile::Operator(_) | TrainingFile::Settings(_) if cluster_of::gpu(path, part, &name).is_some() => 1,
            TrainingFile::Collective(_) if name.gpu.is_some() && name.communicator.is_some() => 1,
            TrainingFile::Collective(_) if name.gpu.is_some() => 2,
            TrainingFile::Run(_) => 4,
            _ => 3,
        };
        (turn, *index)
    });
    for (index, path, part) in parts {
        gathering.take(index, &path, part);
    }
    gathering.finish()
}

struct Gathering<'a> {
    bundle: Bundle,
    clusters: Clusters,
    /// The files whose rows were merged: index of the cluster, target, path.
    merged: Vec<(usize, String, String)>,
    answers: &'a Answers,
}

impl Gathering<'_> {
    fn answers(&self, path: &str) -> impl Iterator<Item = &FileAnswer> {
        self.answers.iter().filter(move |(of, _)| of == path).map(|(_, answer)| answer)
    }

    fn ask(&mut self, file: usize, asks: QuestionKind) {
        let path = self.bundle.files[file].path.clone();
        self.bundle.questions.push(FileQuestion { file: file as u32, path, asks });
    }

    fn take(&mut self, index: usize, path: &str, part: TrainingFile) {
        let name = Name::cut(path);
        let gpu = cluster_of::gpu(path, &part, &name);
        if self.answers(path).any(|answer| *answer == FileAnswer::LeftOut) {
            self.bundle.files[index].fate = FileUse::KnownUnused("left out by hand".to_owned());
            return;
        }
        let (holds, fate) = match part {
            TrainingFile::Operator(samples) => self.operator(index, path, samples, &name, gpu.as_deref()),
            TrainingFile::Collective(rows) => self.collective(index, path, rows, &name, gpu.as_deref()),
            TrainingFile::Settings(rows) => {
                let cluster = self.clusters.of(path, gpu.as_deref());
                let file = &mut self.bundle.files[index];
                (file.cluster, file.rows) = (Some(cluster), rows.len());
                let settings = &mut self.clusters.all[cluster].settings;
                for row in rows {
                    let key = |setting: &Setting| (setting.function.clone(), setting.precision.clone(), setting.of);
                    match settings.iter().find(|known| key(known) == key(&row.setting)) {
                        Some(known) if known.family != row.setting.family => file.notes.push(format!(
                            "line {}: {} has other settings in an earlier row, which count",
                            row.line,
                            excerpt(&row.setting.function)
                        )),
                        Some(_) => file.duplicate_rows += 1,
                        None => settings.push(row.setting),
                    }
                }
                (format!("settings of {}", count(file.rows as u64, "regressor")), FileUse::Used)
            }
            TrainingFile::Steps(table) => self.steps(index, path, table),
            TrainingFile::Reduce(mut table) => {
                // Folders say of which GPU or cluster it is.
                path.clone_into(&mut table.name);
                self.bundle.files[index].rows = table.points.len();
                let holds = format!("all-reduce times over {} GPUs of a node", table.ranks);
                self.bundle.reduces.push(table);
                (holds, FileUse::Used)
            }
            TrainingFile::OldOptimizer(rows) => {
                self.bundle.files[index].rows = rows;
                let why = "the optimizer of whole models in the old form; the three stage optimizers replace it";
                ("samples of the old optimizer".to_owned(), FileUse::KnownUnused(why.to_owned()))
            }
            TrainingFile::Run(node) => match node.read(path, &self.bundle.catalogue) {
                Ok(configured) => {
                    let layout = configured.run.layout;
                    let holds = format!("a run with pp {}, mp {}, dp {}", layout.pipeline, layout.tensor, layout.data);
                    self.bundle.files[index].notes.extend(configured.notes.iter().cloned());
                    self.bundle.runs.push(configured);
                    (holds, FileUse::Used)
                }
                Err(error) => ("a run's configuration".to_owned(), FileUse::Unrecognised(error.to_string())),
            },
            TrainingFile::Sampling(sampling) => {
                let holds = format!(
                    "the sampling of {}, {} points",
                    excerpt(&sampling.function),
                    grouped(sampling.points() as u64)
                );
                self.bundle.samplings.push(sampling);
                (holds, FileUse::Used)
            }
            TrainingFile::Catalogue(catalogue) => {
                let entries = catalogue.gpus.len()
                    + catalogue.clusters.len()
                    + catalogue.operators.len()
                    + catalogue.collectives.len()
                    + catalogue.architectures.len();
                self.bundle.catalogue_files.push(path.to_owned());
                let replaced = self.bundle.catalogue.extend(*catalogue);
                if !replaced.is_empty() {
                    self.bundle.files[index].notes.push(format!("Replaces what is built in: {}", replaced.join("; ")));
                }
                let entries = format!("{} entr{}", entries, if entries == 1 { "y" } else { "ies" });
                (format!("a catalogue with {entries}"), FileUse::Used)
            }
            TrainingFile::Model(model) => {
                let (stem, direction) = match stem(path) {
                    stem if stem.ends_with("_bwd") => (&stem[..stem.len() - 4], Direction::Backward),
                    stem => (stem.strip_suffix("_fwd").unwrap_or(stem), Direction::Forward),
                };
                let named = Name::cut(stem);
                let operator = named.function.unwrap_or_default();
                let cluster = (!self.clusters.all.is_empty() || named.gpu.is_some())
                    .then(|| self.clusters.of(path, named.gpu.as_deref()));
                self.bundle.files[index].cluster = cluster;
                let way = if direction == Direction::Forward { "forward" } else { "backward" };
                let holds = format!("a saved regressor of {}, {way}", excerpt(&operator));
                let wanted = self.bundle.catalogue.operator(&operator).map(|known| known.features.len());
                let features = model.boosting.width();
                let fate = match wanted {
                    None => FileUse::KnownUnused(format!("there is no operator {}", excerpt(&operator))),
                    Some(wanted) if wanted != features => {
                        FileUse::KnownUnused(format!("it wants {features} features where {operator} has {wanted}"))
                    }
                    Some(_) => {
                        let path = path.to_owned();
                        self.bundle.models.push(SavedModel { path, cluster, operator, direction, model: *model });
                        FileUse::Used
                    }
                };
                (holds, fate)
            }
            TrainingFile::ModelFile(file) => {
                let holds = model_file_holds(&file);
                let notes = &mut self.bundle.files[index].notes;
                notes.extend(file.notes.iter().cloned());
                notes.extend(file.missing.iter().map(|open| format!("{}: {}", open.key, open.reason)));
                if EstimateSettings::logged_step(&file) == Some(None) {
                    notes.push("Its steps are not used: it does not say on how many GPUs they ran".to_owned());
                }
                // Every Hugging Face model has a config.json: the model is chosen by its name.
                let is_taken = |name: &str| self.bundle.model_files.iter().any(|(known, _)| known == name);
                let mut numbered = (2..).map(|number: u32| format!("{path} ({number})"));
                let name = Some(path.to_owned()).filter(|path| !is_taken(path));
                let name = name.or_else(|| numbered.find(|name| !is_taken(name))).unwrap_or_default();
                self.bundle.model_files.push((name, *file));
                (holds, FileUse::Used)
            }
            TrainingFile::OwnSteps(steps) => {
                self.bundle.files[index].rows = steps.len();
                self.bundle.own_steps.extend(steps.into_iter().map(|step| (path.to_owned(), step)));
                ("measured steps of one's own".to_owned(), FileUse::Used)
            }
            TrainingFile::Traces(traces) => {
                let of = |trace: &Trace| {
                    let (steps, us) = (count(trace.steps.into(), "step"), trace.step_us);
                    format!("a trace of {steps} of {:.3} s each", us / 1e6)
                };
                let holds = match &traces[..] {
                    [one] => of(one),
                    several => format!("traces of {} ranks", several.len()),
                };
                self.bundle.traces.extend(trace::named(path, traces));
                (holds, FileUse::Used)
            }
            TrainingFile::Unrecognised(why) => (String::new(), FileUse::Unrecognised(why)),
        };
        let file = &mut self.bundle.files[index];
        (file.holds, file.fate) = (holds, fate);
        if file.fate == FileUse::Used && file.rows == 0 && file.problems.count > 0 {
            file.fate = FileUse::Unrecognised("none of its rows can be used".to_owned());
        }
    }

    fn operator(
        &mut self,
        index: usize,
        path: &str,
        mut samples: OperatorSamples,
        name: &Name,
        gpu: Option<&str>,
    ) -> (String, FileUse) {
        let file = &mut self.bundle.files[index];
        file.rows = samples.len();
        samples.precision = name.precision.clone().unwrap_or_else(|| PRECISION.to_owned());
        if name.precision.is_none() {
            file.notes.push(format!("Its name says no precision: {PRECISION} is taken"));
        }
        let told = self.answers(path).find_map(|answer| match answer {
            FileAnswer::Operator(operator) => Some(operator.clone()),
            _ => None,
        });
        let operator = match told.map_or_else(|| self.identified(&samples, name, gpu), Ok) {
            Ok(operator) => operator,
            Err((asks, what)) => {
                self.ask(index, asks);
                return (what, FileUse::Asked);
            }
        };
        let what = format!("samples of operator {}, {}", excerpt(&operator), samples.precision);
        match self.bundle.catalogue.operator(&operator) {
            Some(known) if !identify::has_inputs(&samples, known) => {
                let why = format!(
                    "is named {operator}, whose columns are {}, and has {}",
                    known.inputs.join(","),
                    excerpt(&samples.inputs.join(","))
                );
                return (what, FileUse::Unrecognised(why));
            }
            Some(known) => {
                let inputs = known.inputs.clone();
                let Some(ordered) = merge::reordered(samples, &inputs) else {
                    return (what, FileUse::Unrecognised("has a column twice".to_owned()));
                };
                samples = ordered;
            }
            None => {
                let features = samples.inputs.iter().map(|input| super::super::expression::Expression::parse(input));
                let Ok(features) = features.collect::<Result<Vec<_>, _>>() else {
                    let why = "has a column whose name is none that an expression could use".to_owned();
                    return (what, FileUse::Unrecognised(why));
                };
                self.bundle.files[index].notes.push(format!(
                    "Nothing is known of operator {}: its columns are what regressors see; a catalogue can say more",
                    excerpt(&operator)
                ));
                self.bundle.catalogue.operators.push(super::super::catalogue::Operator {
                    name: operator.clone(),
                    inputs: samples.inputs.clone(),
                    features,
                    gemm: None,
                    flop: None,
                    bytes: None,
                    least_bytes: None,
                    backward_factor: None,
                    stands_in_for: None::<StandIn>,
                });
            }
        }
        samples.operator = operator;
        let cluster = self.clusters.of(path, gpu);
        self.bundle.files[index].cluster = Some(cluster);
        let operators = &self.clusters.all[cluster].operators;
        let same = |known: &OperatorSamples| known.operator == samples.operator && known.precision == samples.precision;
        let found = operators.iter().position(same);
        let target = format!("{} {}", samples.operator, samples.precision);
        if let Some(at) = found {
            let common = merge::common_operator_rows(&operators[at], &samples);
            let is_part = common == samples.len() || common == operators[at].len();
            let both = operators[at].backward_us.is_empty() == samples.backward_us.is_empty();
            if !both {
                return (
                    what,
                    FileUse::Unrecognised("has other times than the file before: one or two per row".to_owned()),
                );
            }
            if let Some(fate) = self.conflict(index, path, cluster, &target, is_part) {
                return (what, fate);
            }
        }
        let operators = &mut self.clusters.all[cluster].operators;
        let at = found.unwrap_or_else(|| {
            operators.push(OperatorSamples {
                operator: samples.operator.clone(),
                precision: samples.precision.clone(),
                inputs: samples.inputs.clone(),
                ..OperatorSamples::default()
            });
            operators.len() - 1
        });
        self.bundle.files[index].duplicate_rows = merge::operator(&mut operators[at], &samples, index as u32);
        self.merged.push((cluster, target, path.to_owned()));
        (what, FileUse::Used)
    }

    /// The operator by its name; or what is asked where the name doesn't say, with what it is called as long.
    fn identified(
        &self,
        samples: &OperatorSamples,
        name: &Name,
        gpu: Option<&str>,
    ) -> Result<String, (QuestionKind, String)> {
        let catalogue = &self.bundle.catalogue;
        let function = name.function.clone().unwrap_or_default();
        if let Some(known) = catalogue.operator(&function)
            && (identify::has_inputs(samples, known) || !self.shares_header(samples))
        {
            return Ok(function);
        }
        if name.precision.is_some() && !self.shares_header(samples) && !function.is_empty() {
            return Ok(function);
        }
        let gpu = gpu.and_then(|gpu| catalogue.gpu(gpu));
        let candidates = identify::candidates(samples, catalogue, gpu);
        let new = Some(function)
            .filter(|function| !function.is_empty() && catalogue.operator(function).is_none() && function.len() <= 80);
        Err((
            QuestionKind::Operator { candidates, new },
            "samples of an operator that its name doesn't tell".to_owned(),
        ))
    }

    fn shares_header(&self, samples: &OperatorSamples) -> bool {
        self.bundle.catalogue.operators.iter().any(|operator| identify::has_inputs(samples, operator))
    }

    /// The fate of a file whose name is already taken by a file with other rows: the user is asked.
    fn conflict(&mut self, index: usize, path: &str, cluster: usize, target: &str, is_part: bool) -> Option<FileUse> {
        if is_part || self.answers(path).any(|answer| *answer == FileAnswer::Both) {
            return None;
        }
        let same_name = |(of, what, other): &&(usize, String, String)| {
            *of == cluster && what == target && leaf(other) == leaf(path)
        };
        let with = self.merged.iter().find(same_name).map(|(.., other)| other.clone())?;
        self.ask(index, QuestionKind::Conflict { with });
        Some(FileUse::Asked)
    }

    fn collective(
        &mut self,
        index: usize,
        path: &str,
        mut rows: Vec<super::super::samples::CollectiveRow>,
        name: &Name,
        gpu: Option<&str>,
    ) -> (String, FileUse) {
        let file = &mut self.bundle.files[index];
        file.rows = rows.len();
        let Some(collective) = name.function.clone() else {
            return (
                "samples of a collective".to_owned(),
                FileUse::Unrecognised("has no name that says of which collective".to_owned()),
            );
        };
        let precision = name.precision.clone().unwrap_or_else(|| PRECISION.to_owned());
        let what = match name.communicator {
            Some(communicator) => format!("samples of {} over {communicator}, {precision}", excerpt(&collective)),
            None => format!("samples of {}, {precision}", excerpt(&collective)),
        };
        if self.bundle.catalogue.collective(&collective).is_none() {
            let known = self.bundle.catalogue.collectives.iter().map(|collective| collective.name.as_str());
            let near = nearest_names(&collective, known);
            let near =
                if near.is_empty() { String::new() } else { format!("; nearest in spelling: {}", near.join(", ")) };
            let why = format!(
                "nothing needs the collective {}{near}; a catalogue can say what it is for",
                excerpt(&collective)
            );
            return (what, FileUse::KnownUnused(why));
        }
        if let Some(named) = name.communicator {
            let others = rows.iter().filter(|row| row.communicator != named).count();
            if others > 0 {
                self.bundle.files[index].notes.push(format!(
                    "{} over other GPUs than the {named} of its name: the columns count",
                    count(others as u64, "row")
                ));
            }
        }
        let answer =
            self.answers(path).find_map(|answer| if let FileAnswer::Unit(unit) = answer { Some(*unit) } else { None });
        if answer == Some(Unit::Bytes) {
            rows.iter_mut().for_each(|row| row.elements = (row.elements / 2).max(1));
            self.bundle.files[index].notes.push("Its shapes are read as bytes, as you said".to_owned());
        }
        let cluster = self.clusters.of(path, gpu);
        self.bundle.files[index].cluster = Some(cluster);
        let collectives = &mut self.clusters.all[cluster].collectives;
        let same = |known: &CollectiveSamples| known.collective == collective && known.precision == precision;
        let at = collectives.iter().position(same).unwrap_or_else(|| {
            let empty = CollectiveSamples { collective, precision, rows: Vec::new() };
            collectives.push(empty);
            collectives.len() - 1
        });
        let before = collectives[at].rows.clone();
        let duplicate_rows = merge::collective(&mut collectives[at], &rows, index as u32);
        let is_part = duplicate_rows == rows.len() || duplicate_rows == before.len();
        let target = format!("{} {}", collectives[at].collective, collectives[at].precision);
        if !before.is_empty()
            && let Some(fate) = self.conflict(index, path, cluster, &target, is_part)
        {
            self.clusters.all[cluster].collectives[at].rows = before;
            return (what, fate);
        }
        let file = &mut self.bundle.files[index];
        file.duplicate_rows = duplicate_rows;
        if duplicate_rows == rows.len() && duplicate_rows > 0 {
            file.notes.push("All its rows stand in other files as well, and count once".to_owned());
        }
        self.merged.push((cluster, target, path.to_owned()));
        (what, FileUse::Used)
    }

    fn steps(&mut self, index: usize, path: &str, mut table: StepTable) -> (String, FileUse) {
        self.bundle.files[index].rows = table.steps.len();
        let answer =
            self.answers(path).find_map(|answer| if let FileAnswer::Unit(unit) = answer { Some(*unit) } else { None });
        match (table.suspicion, answer) {
            (_, Some(Unit::Seconds)) => {
                table.steps.iter_mut().for_each(|step| step.time_us *= 1000.0);
                table.suspicion = None;
            }
            (Some(factor), None) => {
                let suspicion = format!(
                    "As milliseconds its steps would compute about {factor} times faster than GPUs do: are they seconds?"
                );
                self.ask(index, QuestionKind::Unit { unit: Unit::Seconds, suspicion });
            }
            _ => table.suspicion = None,
        }
        for step in &mut table.steps {
            step.place.file = index as u32;
        }
        path.clone_into(&mut table.name);
        self.bundle.steps.push(table);
        ("measured steps".to_owned(), FileUse::Used)
    }

    fn finish(mut self) -> Bundle {
        for cluster in &mut self.clusters.all {
            for samples in &mut cluster.collectives {
                samples.rows.compact_sort_by(|a, b| (a.communicator, a.elements).cmp(&(b.communicator, b.elements)));
            }
            cluster.operators.compact_sort_by(|a, b| (&a.operator, &a.precision).cmp(&(&b.operator, &b.precision)));
            cluster
                .collectives
                .compact_sort_by(|a, b| (&a.collective, &a.precision).cmp(&(&b.collective, &b.precision)));
        }
        self.bundle.clusters = std::mem::take(&mut self.clusters).named();
        let rows: usize = self.bundle.files.iter().map(|file| file.rows).sum();
        if rows > super::super::read::MOST_ROWS {
            let most = grouped(super::super::read::MOST_ROWS as u64);
            self.bundle.notes.push(format!("{} rows are more than {most}: expect to wait", grouped(rows as u64)));
        }
        self.suspect_bytes();
        self.compare_settings();
        self.bundle
    }

    /// Sizes in bytes that are read as elements make a collective twice as fast as it is: its large messages against
    /// its small ones, where both ranges meet.
    fn suspect_bytes(&mut self) {
        let mut asks = Vec::new();
        for cluster in &self.bundle.clusters {
            for large in &cluster.collectives {
                let Some(small) = large.collective.strip_suffix("_large").and_then(|name| cluster.collective(name))
                else {
                    continue;
                };
                for (file, sentence) in doubtful_units(small, large) {
                    if !asks.iter().any(|(known, _)| *known == file) {
                        asks.push((file, sentence));
                    }
                }
            }
        }
        for (file, suspicion) in asks {
            let path = self.bundle.files[file].path.clone();
            if !self.answers(&path).any(|answer| matches!(answer, FileAnswer::Unit(_))) {
                self.ask(file, QuestionKind::Unit { unit: Unit::Bytes, suspicion });
            }
        }
    }

    /// Settings without samples, and samples without settings where there are some.
    fn compare_settings(&mut self) {
        for cluster in &self.bundle.clusters {
            if cluster.settings.is_empty() {
                continue;
            }
            let is_sampled = |setting: &&Setting| match setting.of {
                SettingTarget::Communicator(_) => cluster.collective(&setting.function).is_some(),
                _ => cluster.operator(&setting.function).is_some(),
            };
            let mut lonely: Vec<&str> =
                cluster.settings.iter().filter(|s| !is_sampled(s)).map(|s| s.function.as_str()).collect();
            lonely.dedup();
            let has = |name: &str| cluster.settings.iter().any(|setting| setting.function == name);
            let operators = cluster.operators.iter().map(|samples| samples.operator.as_str());
            let collectives = cluster.collectives.iter().map(|samples| samples.collective.as_str());
            let open: Vec<&str> = operators.chain(collectives).filter(|name| !has(name)).collect();
            if !lonely.is_empty() {
                let list = excerpt(&lonely.join(", "));
                self.bundle.notes.push(format!("{}: settings without samples, of {list}", cluster.name));
            }
            if !open.is_empty() {
                let list = excerpt(&open.join(", "));
                self.bundle.notes.push(format!(
                    "{}: no settings for {list}; parity searches them among its small grid",
                    cluster.name
                ));
            }
        }
    }
}

/// The contents of a model's file in words.
fn model_file_holds(file: &ModelFile) -> String {
    let mut holds = file.model.as_ref().map_or_else(
        || "how a model is trained, and no model".to_owned(),
        |model| format!("a model of {:.2} billion parameters", model.parameters() as f64 / 1e9),
    );
    if let Some(step) = file.measured {
        let (seconds, iterations) = (step.time_us / 1e6, count(step.iterations as u64, "iteration"));
        holds += &format!("; a step took {seconds:.3} s, the median of {iterations}");
    }
    holds
}

/// Files of either range whose times differ about twofold where both ranges meet.
fn doubtful_units(small: &CollectiveSamples, large: &CollectiveSamples) -> Vec<(usize, String)> {
    let mut doubtful = Vec::new();
    let mut communicators: Vec<_> = small.rows.iter().map(|row| row.communicator).collect();
    communicators.dedup();
    for communicator in communicators {
        let of = |samples: &CollectiveSamples| -> Vec<(f64, f64, u32)> {
            let rows = samples.rows.iter().filter(|row| row.communicator == communicator);
            rows.map(|row| (row.elements as f64, row.time_us, row.place.file)).collect()
        };
        let (below, above) = (of(small), of(large));
        /// So many rows on each side of the meeting tell.
        const ROWS: usize = 9;
        if below.len() < ROWS || above.len() < ROWS {
            continue;
        }
        // Time per element is nearly constant among large messages.
        let per_element = |rows: &[(f64, f64, u32)]| {
            let mut rates: Vec<f64> = rows.iter().map(|(elements, time, _)| time / elements).collect();
            crate::math::median(&mut rates).unwrap_or(1.0)
        };
        let (below, above) = (&below[below.len() - ROWS..], &above[..ROWS]);
        let ratio = per_element(below) / per_element(above);
        // A gap between the ranges would be told from the rates of the network, not from units.
        let meets = above[0].0 / below[ROWS - 1].0;
        let (file, which) = match ratio {
            r if (1.8..2.2).contains(&r) && (0.4..2.6).contains(&meets) => (above[0].2, "large"),
            r if (0.45..0.56).contains(&r) && (0.4..2.6).contains(&meets) => (below[0].2, "small"),
            _ => continue,
        };
        doubtful.push((
            file as usize,
            format!(
                "Over {communicator} its {which} messages look twice as fast as the others, a factor of {:.2}: are its \
                 shapes bytes instead of elements?",
                ratio.max(1.0 / ratio)
            ),
        ));
    }
    doubtful
}
