//! The training-time workbench: which cluster and run, what if, which layouts, which measured steps.

mod form;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Jobs, Material, Study, WorkbenchError};
use crate::{
    crc32::Crc32,
    form::{ChoiceError, Choices, Field},
    order::Order,
    progress::Progress,
    report::{self, Contents, Report, TextFile, training_time::SHOWN},
    training_time::{
        bundle::{Answer, Answers, Asks, Question, Unit},
        calibrate::{Calibration, Terms},
        catalogue::Catalogue,
        dropped::Dropped,
        health::{LeftOut, health},
        memory,
        regressors::{
            Mode,
            what_if::{Change, To},
        },
        run::{Execution, Layout, Model, Recompute, Run},
        samples::Communicator,
        search::{self, listing as layouts},
        study::{self, Outcome, Searched, Settings, StudyError, Workshop},
    },
};

/// What is typed of a catalogue.
const CATALOGUE_KEY: &str = "catalogue";

/// What was dropped of training steps, and learnt.
#[derive(Default)]
pub struct TrainingTime {
    study: study::Study,
    choices: Choices,
    is_anew: bool,
    /// Tells apart what workers did for these samples from what they did for others.
    basis: Vec<u8>,
    outcome: Option<Result<Outcome, String>>,
    calibration: Option<Calibration>,
    searched: Option<Searched>,
    /// The catalogue as it was typed, and why it can't be read.
    typed: String,
    catalogue_error: Option<String>,
    /// Questions about files, also those that were answered: an answer can be taken back.
    asked: Vec<Question>,
}

/// What a worker did.
#[derive(Serialize, Deserialize)]
struct Done {
    of: u32,
    jobs: Vec<(u32, Vec<u8>)>,
}

/// Does some jobs from the samples alone.
///
/// # Errors
/// They come from another build.
pub(super) fn work(
    kept: &mut Option<Kept>,
    basis: &[u8],
    jobs: &[u32],
    progress: &mut dyn Progress,
) -> Result<Vec<u8>, WorkbenchError> {
    let kept = match kept {
        Some(kept) if kept.basis == basis => kept,
        _ => kept.insert(Kept { workshop: Workshop::new(basis)?, of: Crc32::of(basis), basis: basis.to_vec() }),
    };
    let jobs = kept.workshop.work(jobs, progress);
    Ok(postcard::to_allocvec(&Done { of: kept.of, jobs })?)
}

/// What a worker keeps between jobs from the same samples, which would otherwise be read again for each.
pub(super) struct Kept {
    basis: Vec<u8>,
    of: u32,
    workshop: Workshop,
}

impl TrainingTime {
    /// Studies what files hold.
    #[must_use]
    pub fn new(dropped: Dropped) -> Self {
        Self { study: study::Study::new(dropped), ..Self::default() }
    }

    /// What was dropped.
    pub fn dropped(&mut self) -> &mut Dropped {
        self.study.dropped_mut()
    }

    /// What is known of it.
    #[must_use]
    pub const fn study(&self) -> &study::Study {
        &self.study
    }

    fn number(&self, key: &str, usual: u32) -> Result<u32, WorkbenchError> {
        Ok(self.choices.parsed::<u32>(key, "a whole number")?.unwrap_or(usual))
    }

    fn decimal(&self, key: &str, usual: f64) -> Result<f64, WorkbenchError> {
        let value = self.choices.parsed::<f64>(key, "a number")?.unwrap_or(usual);
        Ok(if value.is_finite() { value } else { usual })
    }

    /// The regressor that is shown.
    fn shown(&self) -> Option<u32> {
        self.choices.get(SHOWN).and_then(|number| number.parse().ok())
    }

    fn mode(&self) -> Mode {
        if self.choices.get("mode") == Some("parity") { Mode::Parity } else { Mode::Default }
    }

    /// The dropped run that is chosen, or the first.
    fn dropped_run(&self) -> Option<&Run> {
        let runs = &self.study.bundle().runs;
        let chosen = self.choices.get("run").and_then(|number| number.parse::<usize>().ok()).unwrap_or(1);
        runs.get(chosen.saturating_sub(1)).map(|configured| &configured.run)
    }

    /// A model to search for where no run was dropped: the reference's example of 7 billion parameters.
    fn blank(&self) -> Run {
        let catalogue = &self.study.bundle().catalogue;
        let architecture = catalogue.architectures.first();
        let layer = architecture.map(|known| known.layer.iter().map(|item| item.operator.clone()).collect());
        Run {
            name: "Typed run".to_owned(),
            gpu: None,
            cluster: None,
            model: Model {
                architecture: architecture.map(|known| known.name.clone()),
                layers: 32,
                hidden: 4096,
                heads: 32,
                kv_heads: 32,
                sequence: 4096,
                ffn: 16384,
                vocabulary: 50257,
                layer: layer.unwrap_or_default(),
                norm: "RMSlayernorm".to_owned(),
                forward_syncs: 2,
                backward_syncs: 2,
                experts: 1,
                top_k: 1,
                load_balance: 1.0,
            },
            layout: Layout { pipeline: 1, tensor: 1, data: 1, expert: 1, gpus_per_node: 4 },
            micro_batch: 1,
            micro_batches: 8,
            execution: Execution::default(),
        }
    }

    /// The run with what was typed instead; `None` where nothing was dropped nor typed.
    fn run(&self) -> Result<Option<Run>, WorkbenchError> {
        let is_typed = self.choices.iter().any(|(key, _)| key.starts_with("r."));
        let Some(mut run) = self.dropped_run().cloned().or_else(|| is_typed.then(|| self.blank())) else {
            return Ok(None);
        };
        let before = run.model.clone();
        let model = &mut run.model;
        for (key, value) in [
            ("r.layers", &mut model.layers),
            ("r.hidden", &mut model.hidden),
            ("r.heads", &mut model.heads),
            ("r.l", &mut model.sequence),
            ("r.vocabulary", &mut model.vocabulary),
            ("r.experts", &mut model.experts),
            ("r.top-k", &mut model.top_k),
            ("r.pp", &mut run.layout.pipeline),
            ("r.tp", &mut run.layout.tensor),
            ("r.dp", &mut run.layout.data),
            ("r.ep", &mut run.layout.expert),
            ("r.g", &mut run.layout.gpus_per_node),
            ("r.b", &mut run.micro_batch),
            ("r.m", &mut run.micro_batches),
            ("r.chunks", &mut run.execution.virtual_stages),
        ] {
            *value = self.number(key, *value)?;
        }
        // What stands in a proportion to the hidden size and the heads keeps it.
        if before.ffn == before.hidden.saturating_mul(4) {
            run.model.ffn = run.model.hidden.saturating_mul(4);
        }
        if before.kv_heads == before.heads {
            run.model.kv_heads = run.model.heads;
        }
        if run.model.layers != before.layers || self.choices.get("r.pp").is_some() {
            run.execution.layers_per_stage = None;
        }
        run.model.load_balance = self.decimal("r.balance", run.model.load_balance)?;
        run.execution.data_overlap = self.decimal("r.hidden-exchange", run.execution.data_overlap)?;
        if let Some(again) = self.choices.get("r.recompute") {
            run.execution.recompute = recompute_of(again);
        }
        if let Some(zero) = self.choices.get("r.zero") {
            run.execution.zero = u8::from(zero == "1");
        }
        if let Some(hides) = self.choices.get("r.p2p") {
            run.execution.p2p_overlapped = hides == "1";
        }
        Ok(Some(run))
    }

    fn changes(&self) -> Result<Vec<Change>, WorkbenchError> {
        let mut changes = Vec::new();
        let change = |function: &str, factor: f64| Change {
            function: function.to_owned(),
            communicator: None,
            direction: None,
            to: To::Times(factor),
        };
        for (key, functions) in CURVES {
            let factor = self.decimal(&format!("x.{key}"), 1.0)?;
            if factor != 1.0 {
                changes.extend(functions.iter().map(|function| change(function, factor)));
            }
            // A curve that another workbench tuned: bytes and µs, a pair per line.
            if let Some(lines) = self.choices.get(&format!("x.{key}-curve")) {
                let to = curve(lines)?;
                changes.extend(functions.iter().map(|function| Change { to: to.clone(), ..change(function, 1.0) }));
            }
        }
        let slowdown = self.decimal(OPERATORS, 1.0)?;
        if slowdown != 1.0
            && let Some(run) = self.run()?
        {
            let mut names = run.model.layer;
            names.order();
            names.dedup();
            changes.extend(names.iter().map(|name| change(name, slowdown)));
        }
        Ok(changes)
    }

    fn settings(&self) -> Result<Settings, WorkbenchError> {
        let run = self.run()?;
        let bundle = self.study.bundle();
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run)).unwrap_or(0);
        let cluster = self.choices.parsed::<usize>("cluster", "the number of a cluster")?;
        let cluster = cluster.map_or(usual, |number| number.saturating_sub(1));
        let terms = if self.choices.get("terms") == Some("6") { Terms::Six } else { Terms::Four };
        let table = self.choices.parsed::<usize>("steps", "the number of a table")?.filter(|number| *number > 0);
        let reserve_gib = self.decimal("s.reserve", memory::RESERVE_GIB)?;
        let gpus = self.gpus()?;
        let search = if gpus.is_empty() {
            None
        } else {
            let base = run.clone().unwrap_or_else(|| self.blank());
            Some(self.question(base, gpus, cluster, reserve_gib)?)
        };
        let settings_of = self.choices.get("grid").filter(|name| !name.is_empty() && self.mode() == Mode::Parity);
        Ok(Settings {
            cluster,
            mode: self.mode(),
            changes: self.changes()?,
            calibrate: table.map(|number| (number - 1, terms)),
            measured_on: self.choices.get("steps-on").map(str::to_owned),
            search,
            settings_of: settings_of.map(str::to_owned),
            reserve_gib,
            run,
            ..Settings::default()
        })
    }

    /// The numbers of GPUs to search layouts for: with commas between.
    fn gpus(&self) -> Result<Vec<u32>, WorkbenchError> {
        let typed = self.choices.get("s.gpus").unwrap_or("");
        let number = |word: &str| match word.parse::<u32>() {
            Ok(gpus) if (1..=MOST_GPUS).contains(&gpus) => Ok(gpus),
            _ => Err(ChoiceError {
                label: "GPUs".to_owned(),
                value: word.chars().take(40).collect(),
                expected: format!("a number of GPUs from 1 to {MOST_GPUS}"),
            }),
        };
        let mut all = typed
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty() && *word != "0")
            .map(number)
            .collect::<Result<Vec<u32>, _>>()?;
        all.order();
        all.dedup();
        Ok(all)
    }

    fn question(
        &self,
        run: Run,
        gpus: Vec<u32>,
        cluster: usize,
        reserve_gib: f64,
    ) -> Result<search::Question, WorkbenchError> {
        let bundle = self.study.bundle();
        let gpu = bundle.clusters.get(cluster).and_then(|cluster| bundle.catalogue.gpu(&cluster.gpu));
        let usual = run.execution.memory_gib.or_else(|| gpu.and_then(|gpu| gpu.memory_gib));
        let first = gpus.first().copied().unwrap_or(1);
        let batch = self.number("s.batch", usual_batch(&run, first))?;
        let again = self.choices.get("s.recompute").unwrap_or("");
        let sizes = self.choices.get("s.b").unwrap_or("1,2,4,8,16");
        let mut question = search::Question { gpus, ..search::Question::new(run, first, u64::from(batch)) };
        let chosen: Vec<Recompute> = again.split(',').filter(|name| !name.is_empty()).map(recompute_of).collect();
        if !chosen.is_empty() {
            question.recompute = chosen;
        }
        question.mode = self.mode();
        question.micro_batches =
            sizes.split(',').filter_map(|size| size.trim().parse().ok()).filter(|b| *b > 0).collect();
        question.tensor_between_nodes = self.choices.get("s.between") == Some("1");
        question.memory_gib = self.choices.parsed::<f64>("s.memory", "GiB")?.or(usual);
        question.reserve_gib = reserve_gib;
        question.everything = self.choices.get("s.all") == Some("1");
        Ok(question)
    }

    /// Adds what is typed of a catalogue, or says why it can't be read.
    fn read_catalogue(&mut self) {
        let typed = self.choices.get(CATALOGUE_KEY).unwrap_or_default();
        if typed == self.typed {
            return;
        }
        typed.clone_into(&mut self.typed);
        let read = (!typed.is_empty()).then(|| Catalogue::parse(typed)).transpose();
        self.catalogue_error = read.as_ref().err().map(ToString::to_string);
        self.study.dropped_mut().type_catalogue(read.unwrap_or_default());
    }

    /// Answers about files and rows that are left out, as they were chosen.
    fn answer_files(&mut self) {
        self.note_questions();
        let answered = self.asked.iter().filter_map(|question| {
            let chosen = self.choices.get(&format!("ask.{}", question.file)).filter(|chosen| !chosen.is_empty())?;
            let answer = match (&question.asks, chosen) {
                (_, "out") => Answer::LeftOut,
                (Asks::Operator { .. }, operator) => Answer::Operator(operator.to_owned()),
                (Asks::Unit { unit, .. }, "other") => Answer::Unit(*unit),
                (Asks::Unit { .. }, _) => Answer::Unit(Unit::AsWritten),
                (Asks::Conflict { .. }, _) => Answer::Both,
            };
            Some((question.path.clone(), answer))
        });
        let answers: Answers = answered.collect();
        let left_out = self.left_out();
        let dropped = self.study.dropped();
        if answers != *dropped.answers() || left_out != dropped.left_out() {
            self.study.dropped_mut().decide(answers, left_out);
            self.note_questions();
        }
    }

    fn note_questions(&mut self) {
        for question in &self.study.bundle().questions {
            if !self.asked.iter().any(|known| known.file == question.file) {
                self.asked.push(question.clone());
            }
        }
    }

    /// The flagged rows that are left out.
    fn left_out(&self) -> Vec<LeftOut> {
        let chosen = self.choices.get("out").unwrap_or_default();
        let known = self.study.dropped().left_out();
        let held: Vec<String> = known.iter().map(key_of).collect();
        let is_as_before = chosen.split(',').filter(|key| !key.is_empty()).eq(held.iter().map(String::as_str));
        if is_as_before || chosen.is_empty() {
            return if chosen.is_empty() { Vec::new() } else { known.to_vec() };
        }
        let bundle = self.study.bundle();
        let flags = bundle.clusters.iter().flat_map(|cluster| health(cluster, &bundle.catalogue).flags);
        let mut all: Vec<LeftOut> = known.to_vec();
        for flag in &flags.collect::<Vec<_>>() {
            let own = LeftOut::from(flag);
            if !all.iter().any(|known| key_of(known) == key_of(&own)) {
                all.push(own);
            }
        }
        all.retain(|rows| chosen.split(',').any(|key| key == key_of(rows)));
        all
    }

    fn is_partial(&self) -> bool {
        self.searched.as_ref().is_some_and(|searched| searched.found.is_partial)
    }
}

/// The most GPUs that layouts are searched for: their divisors are tried one by one.
const MOST_GPUS: u32 = 1 << 20;

/// Curves that can be scaled, with the collectives that they are.
const CURVES: [(&str, &[&str]); 5] = [
    ("tensor", &["allreduce"]),
    ("gradient", &["allreduce_large"]),
    ("gather", &["allgather_large"]),
    ("p2p", &["p2p"]),
    (EXPERT, &["alltoall"]),
];
const EXPERT: &str = "expert";
/// The factor of all operators of a layer.
pub(super) const OPERATORS: &str = "x.operators";

fn usual_batch(run: &Run, gpus: u32) -> u32 {
    // As many sequences per GPU as the run has.
    let of_run = run.global_batch().saturating_mul(u64::from(gpus)) / run.layout.gpus().max(1);
    u32::try_from(of_run.max(1)).unwrap_or(u32::MAX)
}

fn recompute_of(name: &str) -> Recompute {
    match name {
        "selective" => Recompute::Selective,
        "none" => Recompute::None,
        _ => Recompute::Full,
    }
}

/// What tells rows that are left out apart in a choice of several.
fn key_of(rows: &LeftOut) -> String {
    let first = rows.places.first().copied().unwrap_or_default();
    format!("{}.{}.{}.{}", rows.cluster, rows.target, first.line, rows.places.len()).replace([',', ' '], "_")
}

/// Bytes and microseconds, a pair per line; the first line may say over how many nodes and GPUs of each: `2x8`.
fn curve(lines: &str) -> Result<To, WorkbenchError> {
    let pair = |line: &str| {
        let mut numbers = line.split([' ', '\t', ':', ';']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(bytes)), Some(Ok(time_us))) if bytes > 0.0 && time_us > 0.0 => Ok((bytes / 2.0, time_us)),
            _ => Err(ChoiceError {
                label: "Curve".to_owned(),
                value: line.chars().take(40).collect(),
                expected: "bytes and microseconds".to_owned(),
            }),
        }
    };
    let mut lines = lines.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let over = lines.peek().and_then(|line| {
        let (nodes, per_node) = line.split_once(['x', '×'])?;
        let count = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
        Some(Communicator { nodes: count(nodes)?, per_node: count(per_node)? })
    });
    let points = lines.skip(usize::from(over.is_some())).map(pair).collect::<Result<_, _>>()?;
    Ok(To::Table { points, over })
}

impl Study for TrainingTime {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        self.read_catalogue();
        self.answer_files();
        let settings = self.settings()?;
        let steps = |settings: &Settings| (settings.calibrate.map(|(table, _)| table), settings.measured_on.clone());
        let before = steps(self.study.settings());
        self.is_anew = self.study.choose(settings)?;
        if self.is_anew || before != steps(self.study.settings()) {
            self.basis = self.study.basis()?;
            self.is_anew = true;
        }
        self.conclude(progress)
    }

    fn take(&mut self, done: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let done: Done = postcard::from_bytes(done)?;
        if done.of != Crc32::of(&self.basis) {
            return Ok(());
        }
        Ok(self.study.take(&done.jobs)?)
    }

    fn conclude(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        (self.outcome, self.searched) = (None, None);
        self.calibration = self.study.calibration()?;
        let calibration = self.calibration.as_ref();
        if self.study.settings().run.is_some() && self.study.is_ready() {
            self.outcome = Some(self.study.outcome(calibration).map_err(|error| error.to_string()));
        }
        if self.study.can_search() {
            self.searched = self.study.searched(calibration, progress, &mut |_| ControlFlow::Break(()))?;
        }
        Ok(())
    }

    fn go_on(&mut self, _last_ms: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        if self.is_partial() {
            let calibration = self.calibration.as_ref();
            self.searched = self.study.searched(calibration, progress, &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        self.fields()
    }

    fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("catalogue".to_owned(), "Save the catalogue".to_owned())];
        let found = self.study.found_settings().unwrap_or_default();
        let label = |name: &String| format!("Save the settings found, {name}");
        files.extend(found.iter().map(|(name, _)| (name.clone(), label(name))));
        if self.searched.is_some() && !self.is_partial() {
            files.push(("layouts".to_owned(), "Save the layouts".to_owned()));
        }
        files
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        let file = |name: &str, text: String, note: &str| TextFile { name: name.into(), text, note: note.into() };
        match (key, &self.searched) {
            ("catalogue", _) => Ok(file(
                "catalogue.yaml",
                self.study.bundle().catalogue.to_yaml(),
                "GPUs, clusters, operators, collectives and architectures; drop it to add to them",
            )),
            ("layouts", Some(searched)) => {
                let text = layouts::layouts(&searched.found.rows).to_json();
                Ok(file("layouts.json", text, "Layouts by step time"))
            }
            _ => {
                let found = self.study.found_settings()?.into_iter().find(|(name, _)| name == key);
                let (name, text) = found.ok_or_else(|| WorkbenchError::NoFile(key.to_owned()))?;
                Ok(file(&name, text, "Settings of regressors; drop them with the samples"))
            }
        }
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        let rounds = self.study.rounds()?;
        let basis = if rounds.is_empty() { Vec::new() } else { self.basis.clone() };
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, goes_on: self.is_partial() })
    }

    fn report(&self, material: Material<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        let Material { files, problems } = material;
        let material = report::training_time::Material {
            study: &self.study,
            outcome: self.outcome.as_ref().map(|outcome| outcome.as_ref().map_err(Clone::clone)),
            calibration: self.calibration.as_ref(),
            searched: self.searched.as_ref(),
            catalogue_error: self.catalogue_error.as_deref(),
            shown: (self.shown(), self.choices.get("over").map(str::to_owned)),
            files,
            problems,
        };
        Ok(report::training_time::report(material, contents)?)
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::TrainingTime(Box::new(error))
    }
}
