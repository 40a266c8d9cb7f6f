//! The training-time workbench: which cluster and run, what if, which layouts, which measured steps.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Jobs, Material, Study, WorkbenchError};
use crate::{
    crc32::Crc32,
    form::{ChoiceError, Choices, Control, Field},
    order::Order,
    progress::Progress,
    report::{self, Contents, Report, TextFile},
    training_time::{
        bundle::{Answer, Answers, Asks, Question, Unit},
        calibrate::{Calibration, Terms},
        dropped::Dropped,
        health::{LeftOut, health},
        memory,
        regressors::{
            Mode,
            what_if::{Change, To},
        },
        run::{Execution, Layout, Model, Recompute, Run},
        search::{self, listing as layouts},
        study::{self, Outcome, Searched, Settings, StudyError},
    },
};

const RUN: &str = "Run";
const WHAT_IF: &str = "What if";
const SEARCH: &str = "Layouts";
const CALIBRATION: &str = "Calibration";
const SAMPLES: &str = "Samples";

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
pub(super) fn work(basis: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let jobs = study::work(basis, jobs, progress)?;
    Ok(postcard::to_allocvec(&Done { of: Crc32::of(basis), jobs })?)
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
                let points = curve(lines)?;
                changes.extend(
                    functions.iter().map(|function| Change { to: To::Table(points.clone()), ..change(function, 1.0) }),
                );
            }
        }
        let slowdown = self.decimal("x.operators", 1.0)?;
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
        let Some(chosen) = self.choices.get("out") else { return Vec::new() };
        let known = self.study.dropped().left_out();
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

    /// Tells what is known by now.
    fn conclude(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        (self.outcome, self.searched) = (None, None);
        self.calibration = self.study.calibration()?;
        let calibration = self.calibration.as_ref();
        if self.study.settings().run.is_some() && self.study.is_ready() {
            self.outcome = Some(self.study.outcome(calibration).map_err(|error| error.to_string()));
        }
        if self.study.can_search() {
            // The first rows at once; the others by and by.
            self.searched = self.study.searched(calibration, progress, &mut |_| ControlFlow::Break(()))?;
        }
        Ok(())
    }

    fn is_partial(&self) -> bool {
        self.searched.as_ref().is_some_and(|searched| searched.found.is_partial)
    }

    /// Fields of the run.
    fn run_fields(&self, fields: &mut Vec<Field>) {
        let run = self.study.settings().run.clone().unwrap_or_else(|| self.blank());
        let (model, layout, execution) = (&run.model, &run.layout, &run.execution);
        let mut number = |key: &str, label: &str, value: u32| {
            let mut field = Field::new(&self.choices, key, label, Control::Number, value.to_string());
            field.value = value.to_string();
            fields.push(field.of(RUN));
        };
        number("r.pp", "Pipeline stages", layout.pipeline);
        number("r.tp", "Tensor degree", layout.tensor);
        number("r.dp", "Data-parallel degree", layout.data);
        if model.experts > 1 {
            number("r.ep", "Expert degree", layout.expert);
        }
        number("r.g", "GPUs of a node", layout.gpus_per_node);
        number("r.b", "Sequences of a micro-batch", run.micro_batch);
        number("r.m", "Micro-batches per step", run.micro_batches);
        number("r.chunks", "Chunks per stage", execution.virtual_stages);
        number("r.layers", "Layers", model.layers);
        number("r.hidden", "Hidden size", model.hidden);
        number("r.heads", "Attention heads", model.heads);
        number("r.l", "Sequence length", model.sequence);
        number("r.vocabulary", "Vocabulary", model.vocabulary);
        number("r.experts", "Experts", model.experts);
        if model.experts > 1 {
            number("r.top-k", "Experts of a token", model.top_k);
        }
        let mut push = |key: &str, label: &str, control, usual: String| {
            fields.push(Field::new(&self.choices, key, label, control, usual).of(RUN));
        };
        push("r.recompute", "Recompute", Control::One(again()), layouts::recompute(execution.recompute).to_owned());
        let zero = options(&[("0", "every rank updates everything"), ("1", "the optimizer is sharded")]);
        push("r.zero", "ZeRO", Control::One(zero), execution.zero.to_string());
        let p2p = options(&[("0", "block"), ("1", "hide behind computing")]);
        push("r.p2p", "Messages between stages", Control::One(p2p), u8::from(execution.p2p_overlapped).to_string());
        let slider = |least, most, step| Control::Slider { least, most, step };
        push(
            "r.hidden-exchange",
            "Hidden share of the gradients' exchange",
            slider(0.0, 1.0, 0.05),
            execution.data_overlap.to_string(),
        );
        if model.experts > 1 {
            push("r.balance", "Fullest expert over the mean", slider(1.0, 4.0, 0.05), model.load_balance.to_string());
        }
    }

    fn search_fields(&self, fields: &mut Vec<Field>) {
        let settings = self.study.settings();
        let run = settings.run.clone().unwrap_or_else(|| self.blank());
        let gpus = settings.search.as_ref().and_then(|search| search.gpus.first().copied());
        let batch = usual_batch(&run, gpus.unwrap_or(run.layout.gpus() as u32));
        let memory = self.study.memory_gib(&run).map(|gib| gib.to_string()).unwrap_or_default();
        let mut push = |key: &str, label: &str, control, usual: String, hint: &str| {
            fields.push(Field::new(&self.choices, key, label, control, usual).of(SEARCH).hinted(hint));
        };
        push(
            "s.gpus",
            "GPUs",
            Control::Text(Vec::new()),
            String::new(),
            "searches all layouts on so many; several numbers with commas between",
        );
        push("s.batch", "Global batch", Control::Number, batch.to_string(), "sequences in a step of all replicas");
        push("s.b", "Micro-batches", Control::Text(Vec::new()), "1,2,4,8,16".to_owned(), "sizes to try");
        push(
            "s.recompute",
            "Recompute",
            Control::Many(again()),
            layouts::recompute(run.execution.recompute).to_owned(),
            "to try",
        );
        push("s.between", "Tensor groups over several nodes", Control::Switch, String::new(), "");
        push("s.memory", "Memory of a GPU (GiB)", Control::Number, memory, "");
        push("s.reserve", "Kept free of it (GiB)", Control::Number, memory::RESERVE_GIB.to_string(), "");
        push("s.all", "Every layout, not only the best", Control::Switch, String::new(), "");
    }
}

/// The most GPUs that layouts are searched for: their divisors are tried one by one.
const MOST_GPUS: u32 = 1 << 20;

/// Curves that can be scaled, with the collectives that they are.
const CURVES: [(&str, &[&str]); 4] = [
    ("tensor", &["allreduce"]),
    ("gradient", &["allreduce_large"]),
    ("gather", &["allgather_large"]),
    ("p2p", &["p2p"]),
];
const CURVE_LABELS: [&str; 4] =
    ["Tensor all-reduce", "Gradient all-reduce", "Parameter all-gather", "Messages between stages"];

fn usual_batch(run: &Run, gpus: u32) -> u32 {
    // As many sequences per GPU as the run has.
    let of_run = run.global_batch().saturating_mul(u64::from(gpus)) / run.layout.gpus().max(1);
    u32::try_from(of_run.max(1)).unwrap_or(u32::MAX)
}

fn options(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(value, label)| ((*value).to_owned(), (*label).to_owned())).collect()
}

fn again() -> Vec<(String, String)> {
    options(&[("full", "full"), ("selective", "selective"), ("none", "none")])
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

/// Bytes and microseconds, a pair per line.
fn curve(lines: &str) -> Result<Vec<(f64, f64)>, WorkbenchError> {
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
    let lines = lines.split(['\n', '~']).map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(pair).collect::<Result<_, _>>()?)
}

impl Study for TrainingTime {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        self.answer_files();
        let settings = self.settings()?;
        let table = self.study.settings().calibrate.map(|(table, _)| table);
        self.is_anew = self.study.choose(settings)?;
        if self.is_anew || table != self.study.settings().calibrate.map(|(table, _)| table) {
            self.basis = self.study.basis()?;
            self.is_anew = true;
        }
        self.conclude(progress)
    }

    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let done: Done = postcard::from_bytes(done)?;
        if done.of != Crc32::of(&self.basis) {
            return Ok(());
        }
        self.study.take(&done.jobs)?;
        self.conclude(progress)
    }

    fn go_on(&mut self, _last_ms: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        if self.is_partial() {
            let calibration = self.calibration.as_ref();
            self.searched = self.study.searched(calibration, progress, &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let bundle = self.study.bundle();
        let field =
            |key: &str, label: &str, control, usual: &str| Field::new(&self.choices, key, label, control, usual);
        let numbered = |names: Vec<String>| {
            names.into_iter().enumerate().map(|(at, name)| ((at + 1).to_string(), name)).collect::<Vec<_>>()
        };
        let mut fields = Vec::new();
        if bundle.runs.len() > 1 {
            let names = numbered(bundle.runs.iter().map(|configured| configured.run.name.clone()).collect());
            fields.push(field("run", "Run", Control::One(names), "1").leading());
        }
        if bundle.clusters.len() > 1 {
            let usual = (self.study.settings().cluster + 1).to_string();
            let names = bundle.clusters.iter().map(|cluster| format!("{} ({})", cluster.name, cluster.gpu)).collect();
            fields.push(field("cluster", "Cluster", Control::One(numbered(names)), &usual));
        }
        let modes = options(&[
            ("default", "power laws, trees and curves; simulated pipeline"),
            ("parity", "as estimate-train-time"),
        ]);
        fields.push(field("mode", "Mode", Control::One(modes), "default"));
        self.run_fields(&mut fields);
        for ((key, _), label) in CURVES.iter().zip(CURVE_LABELS) {
            let slider = Control::Slider { least: 0.1, most: 4.0, step: 0.05 };
            fields.push(field(&format!("x.{key}"), label, slider, "1").of(WHAT_IF).hinted("times its time"));
        }
        let slider = Control::Slider { least: 0.5, most: 2.0, step: 0.01 };
        fields.push(
            field("x.operators", "Operators of a layer", slider, "1").of(WHAT_IF).hinted("slowdown beside collectives"),
        );
        for ((key, _), label) in CURVES.iter().zip(CURVE_LABELS) {
            let label = format!("{label}: another curve");
            let lines = field(&format!("x.{key}-curve"), &label, Control::Lines, "");
            fields.push(lines.of(WHAT_IF).hinted("bytes and microseconds, a pair per line"));
        }
        self.search_fields(&mut fields);
        if !bundle.steps.is_empty() {
            let mut tables = vec![("0".to_owned(), "none".to_owned())];
            tables.extend(numbered(bundle.steps.iter().map(|table| table.name.clone()).collect()));
            fields.push(field("steps", "Measured steps", Control::One(tables), "0").of(CALIBRATION));
            let terms = options(&[("4", "four"), ("6", "six")]);
            fields.push(field("terms", "Coefficients", Control::One(terms), "4").of(CALIBRATION));
        }
        if self.mode() == Mode::Parity {
            let cluster = bundle.clusters.get(self.study.settings().cluster);
            let operators = cluster.iter().flat_map(|cluster| cluster.operators.iter().map(|of| of.operator.clone()));
            let collectives = cluster.iter().flat_map(|c| c.collectives.iter().map(|of| of.collective.clone()));
            let mut names: Vec<(String, String)> = vec![(String::new(), "none".to_owned())];
            names.extend(operators.chain(collectives).map(|name| (name.clone(), name)));
            let grid = field("grid", "Search settings of", Control::One(names), "").of(SAMPLES);
            fields.push(grid.hinted("on the reference's full grid: minutes"));
        }
        let flags = self.study.health()?.flags.iter().filter(|flag| flag.rule.is_doubtful());
        let own = flags.map(|flag| (key_of(&LeftOut::from(flag)), format!("{}: {}", flag.target, flag.what)));
        let known = self
            .study
            .dropped()
            .left_out()
            .iter()
            .map(|rows| (key_of(rows), format!("{}: {} rows", rows.target, rows.places.len())));
        let all: Vec<(String, String)> = known.chain(own).collect();
        if !all.is_empty() {
            fields.push(field("out", "Leave out", Control::Many(all), "").of(SAMPLES));
        }
        for question in &self.asked {
            let choices = match &question.asks {
                Asks::Operator { candidates, new } => {
                    let known = candidates.iter().map(|candidate| candidate.operator.clone());
                    known.chain(new.clone()).map(|name| (name.clone(), name)).collect()
                }
                Asks::Unit { suspicion, .. } => options(&[("as", "as written"), ("other", suspicion)]),
                Asks::Conflict { with } => options(&[("both", &format!("count beside {with}"))]),
            };
            let mut choices: Vec<(String, String)> = choices;
            choices.push(("out".to_owned(), "leave it out".to_owned()));
            choices.insert(0, (String::new(), "…".to_owned()));
            fields
                .push(field(&format!("ask.{}", question.file), &question.path, Control::One(choices), "").of(SAMPLES));
        }
        Ok(fields)
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
