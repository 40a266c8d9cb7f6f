//! The fields of the training time workbench.

use super::{
    CATALOGUE_KEY, OPERATORS, TrainingTime,
    answers::key_of,
    settings::{CURVES, EXPERT, usual_batch},
};
use crate::{
    form::{Control, Field},
    training_time::{health::LeftOut, memory, regressors::Mode, search::listing as layouts, settings::Group},
    workbench::WorkbenchError,
};

const CURVE_LABELS: [&str; 5] = [
    "Tensor all-reduce",
    "Gradient all-reduce",
    "Parameter all-gather",
    "Messages between stages",
    "Expert all-to-all",
];

impl TrainingTime {
    /// All fields with their current values.
    pub(super) fn fields(&self) -> Result<Vec<Field>, WorkbenchError> {
        let bundle = self.study.bundle();
        let field =
            |key: &str, label: &str, control, usual: &str| Field::of_choices(&self.choices, key, label, control, usual);
        let numbered = |names: Vec<String>| {
            names.into_iter().enumerate().map(|(at, name)| ((at + 1).to_string(), name)).collect::<Vec<_>>()
        };
        let mut fields = Vec::new();
        if bundle.runs.len() > 1 {
            let names = numbered(bundle.runs.iter().map(|configured| configured.run.name.clone()).collect());
            fields.push(field("run", "Run", Control::One(names), "1").leading(vec![None]));
        }
        // Where samples would stand in for another GPU's, somebody says so.
        let chosen = bundle.clusters.get(self.study.settings().cluster);
        let run = self.study.settings().run.as_ref();
        let stands_in = run.zip(chosen).is_some_and(|(run, chosen)| bundle.other_gpu(run, chosen).is_some());
        if bundle.clusters.len() > 1 || stands_in {
            let usual = (self.study.settings().cluster + 1).to_string();
            let usual = if stands_in { String::new() } else { usual };
            let names = bundle.clusters.iter().map(|cluster| format!("{} ({})", cluster.name, cluster.gpu)).collect();
            let mut all = numbered(names);
            if stands_in {
                all.insert(0, (String::new(), "…".to_owned()));
            }
            fields.push(field("cluster", "Cluster", Control::One(all), &usual));
        }
        let modes = options(&[
            ("default", "power laws, trees and curves; simulated pipeline"),
            ("parity", "as estimate-train-time"),
        ]);
        fields.push(field("mode", "Mode", Control::One(modes), "default"));
        self.run_fields(&mut fields);
        if let Some(run) = &self.study.settings().run {
            self.what_if_fields(run.model.experts > 1, &mut fields);
        }
        self.search_fields(&mut fields);
        if !bundle.steps.is_empty() {
            let mut tables = vec![("0".to_owned(), "none".to_owned())];
            tables.extend(numbered(bundle.steps.iter().map(|table| table.name.clone()).collect()));
            fields.push(field("steps", "Measured steps", Control::One(tables), "0").of(Group::Calibration));
            if let Some((table, _)) = self.study.settings().calibrate {
                let clusters = bundle.catalogue.clusters.iter().map(|entry| entry.name.clone());
                let clusters = clusters.map(|name| (name.clone(), name));
                let ran_on = self.study.ran_on(table).unwrap_or_default();
                let mut all: Vec<(String, String)> = clusters.collect();
                all.insert(0, (String::new(), "…".to_owned()));
                // What the files tell is the usual one; a choice stays a choice.
                let usual = if self.choices.get("steps-on").is_some() { "" } else { ran_on };
                fields.push(field("steps-on", "Measured on", Control::One(all), usual).of(Group::Calibration));
                let names = bundle.catalogue.architectures.iter().map(|known| (known.name.clone(), known.name.clone()));
                let mut all =
                    vec![(String::new(), "as its rows say, or of the cluster's steps, or of the run".to_owned())];
                all.extend(names);
                fields
                    .push(field("steps-as", "Architecture of the steps", Control::One(all), "").of(Group::Calibration));
                let label = "Use coefficients that do not help";
                fields.push(field("steps-anyway", label, Control::Switch, "").of(Group::Calibration));
            }
            let terms = options(&[("4", "four"), ("6", "six")]);
            fields.push(field("terms", "Coefficients", Control::One(terms), "4").of(Group::Calibration));
        }
        if let Some(shown) = self.shown() {
            let inputs = self.study.library()?.inputs(shown);
            if let Some(usual) = inputs.last().cloned() {
                let inputs = inputs.into_iter().map(|input| (input.clone(), input)).collect();
                fields.push(field("over", "Shown over", Control::One(inputs), &usual).of(Group::Regressors));
            }
        }
        if self.mode() == Mode::Parity {
            let cluster = bundle.clusters.get(self.study.settings().cluster);
            let operators = cluster.iter().flat_map(|cluster| cluster.operators.iter().map(|of| of.operator.clone()));
            let collectives = cluster.iter().flat_map(|c| c.collectives.iter().map(|of| of.collective.clone()));
            let mut names: Vec<(String, String)> = vec![(String::new(), "none".to_owned())];
            names.extend(operators.chain(collectives).map(|name| (name.clone(), name)));
            let grid = field("grid", "Search settings of", Control::One(names), "").of(Group::Regressors);
            fields.push(grid.hinted("on the reference's full grid: minutes"));
        }
        let lines = field(CATALOGUE_KEY, "Added to the catalogue", Control::Lines, "").of(Group::Catalogue);
        fields.push(lines.hinted("catalogue: 1"));
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
            fields.push(field("out", "Leave out", Control::Many(all), "").of(Group::Samples));
        }
        for question in &self.asked {
            let mut choices = question.asks.answers();
            choices.insert(0, (String::new(), "…".to_owned()));
            fields.push(
                field(&format!("ask.{}", question.file), &question.path, Control::One(choices), "").of(Group::Samples),
            );
        }
        Ok(fields)
    }

    /// Adds the fields of the run.
    fn run_fields(&self, fields: &mut Vec<Field>) {
        let run = self.study.settings().run.clone().unwrap_or_else(|| self.blank());
        let (model, layout, execution) = (&run.model, &run.layout, &run.execution);
        let mut number = |key: &str, label: &str, value: u32| {
            let mut field = Field::of_choices(&self.choices, key, label, Control::Number, value.to_string());
            field.value = value.to_string();
            fields.push(field.of(Group::Run));
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
            fields.push(Field::of_choices(&self.choices, key, label, control, usual).of(Group::Run));
        };
        push(
            "r.recompute",
            "Recompute",
            Control::One(recompute_options()),
            layouts::recompute(execution.recompute).to_owned(),
        );
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

    fn what_if_fields(&self, has_experts: bool, fields: &mut Vec<Field>) {
        let field =
            |key: &str, label: &str, control, usual: &str| Field::of_choices(&self.choices, key, label, control, usual);
        let curves = || CURVES.iter().zip(CURVE_LABELS).filter(move |((key, _), _)| *key != EXPERT || has_experts);
        for ((key, _), label) in curves() {
            let slider = Control::Slider { least: 0.1, most: 4.0, step: 0.05 };
            fields.push(
                field(&format!("x.{key}"), &format!("{label} ×"), slider, "1")
                    .of(Group::WhatIf)
                    .hinted("times its time"),
            );
        }
        let slider = Control::Slider { least: 0.5, most: 2.0, step: 0.01 };
        let operators = field(OPERATORS, "Operators of a layer ×", slider, "1").of(Group::WhatIf);
        fields.push(operators.hinted("slowdown beside collectives"));
        fields.push(field("x.curves", "other curves", Control::Switch, "").of(Group::WhatIf));
        for ((key, _), label) in curves() {
            let key = format!("x.{key}-curve");
            if self.choices.get("x.curves") == Some("1") || self.choices.get(&key).is_some() {
                let lines = field(&key, &format!("{label}: another curve"), Control::Lines, "").of(Group::WhatIf);
                fields.push(lines.hinted("1x4 (nodes x GPUs), then bytes:microseconds, a pair per line"));
            }
        }
    }

    fn search_fields(&self, fields: &mut Vec<Field>) {
        let settings = self.study.settings();
        let run = settings.run.clone().unwrap_or_else(|| self.blank());
        let gpus = settings.search.as_ref().and_then(|search| search.gpus.first().copied());
        let batch = usual_batch(&run, gpus.unwrap_or(run.layout.gpus() as u32));
        let memory =
            self.study.bundle().memory_gib(&run, settings.cluster).map(|gib| gib.to_string()).unwrap_or_default();
        let mut push = |key: &str, label: &str, control, usual: String, hint: &str| {
            fields.push(Field::of_choices(&self.choices, key, label, control, usual).of(Group::Search).hinted(hint));
        };
        push(
            "s.gpus",
            "GPUs of the job",
            Control::Text(Vec::new()),
            String::new(),
            "searches all layouts on so many; several numbers with commas between",
        );
        push("s.batch", "Global batch", Control::Number, batch.to_string(), "sequences in a step of all replicas");
        push("s.b", "Micro-batch sizes", Control::Text(Vec::new()), "1,2,4,8,16".to_owned(), "sizes to try");
        push(
            "s.recompute",
            "Recompute",
            Control::Many(options(&[
                ("full", "full recompute"),
                ("selective", "selective recompute"),
                ("none", "no recompute"),
            ])),
            layouts::recompute(run.execution.recompute).to_owned(),
            "to try",
        );
        push("s.between", "Tensor groups over several nodes", Control::Switch, String::new(), "");
        push("s.memory", "Memory of a GPU (GiB)", Control::Number, memory, "");
        push("s.reserve", "Kept free of it (GiB)", Control::Number, memory::RESERVE_GIB.to_string(), "");
        push("s.all", "Every layout, not only the best", Control::Switch, String::new(), "");
    }
}

fn options(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(value, label)| ((*value).to_owned(), (*label).to_owned())).collect()
}

fn recompute_options() -> Vec<(String, String)> {
    options(&[("full", "full"), ("selective", "selective"), ("none", "none")])
}
