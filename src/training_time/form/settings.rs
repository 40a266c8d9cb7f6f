//! Converts choices to settings of the study: changes, calibration and search.

use super::{OPERATORS, TrainingTime, run::recompute_of};
use crate::{
    form::ChoiceError,
    order::CompactSort,
    training_time::{
        calibrate::Terms,
        memory,
        regressors::{
            Mode,
            what_if::{Change, To},
        },
        run::{Recompute, Run},
        samples::Communicator,
        search,
        study::Settings,
    },
    workbench::WorkbenchError,
};

/// The most GPUs that layouts are searched for: their divisors are tried one by one.
const MOST_GPUS: u32 = 1 << 20;
/// The most entries of such a list.
const MOST_NUMBERS: usize = 32;

/// Curves that can be scaled, with the collectives that they are.
pub(super) const CURVES: [(&str, &[&str]); 5] = [
    ("tensor", &["allreduce"]),
    ("gradient", &["allreduce_large"]),
    ("gather", &["allgather_large"]),
    ("p2p", &["p2p"]),
    (EXPERT, &["alltoall"]),
];
pub(super) const EXPERT: &str = "expert";

impl TrainingTime {
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
            names.compact_sort();
            names.dedup();
            changes.extend(names.iter().map(|name| change(name, slowdown)));
        }
        Ok(changes)
    }

    pub(super) fn settings(&self) -> Result<Settings, WorkbenchError> {
        let run = self.run()?;
        let bundle = self.study.bundle();
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run)).unwrap_or(0);
        let cluster = self.choices.parsed::<usize>("cluster", "the number of a cluster")?;
        let held = cluster.filter(|number| (1..=bundle.clusters.len()).contains(number));
        let stands_in = held.is_some();
        let cluster = held.map_or(usual, |number| number - 1);
        let terms = if self.choices.get("terms") == Some("6") { Terms::Six } else { Terms::Four };
        let table = self.choices.parsed::<usize>("steps", "the number of a table")?.filter(|number| *number > 0);
        let reserve_gib = self.decimal("s.reserve", memory::RESERVE_GIB)?;
        let gpus = self.numbers("s.gpus", "GPUs", "", MOST_GPUS)?;
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
            measured_as: self.choices.get("steps-as").filter(|name| !name.is_empty()).map(str::to_owned),
            calibrate_anyway: self.choices.get("steps-anyway") == Some("1"),
            stands_in,
            search,
            settings_of: settings_of.map(str::to_owned),
            reserve_gib,
            run,
            ..Settings::default()
        })
    }

    /// Integers separated by commas, ascending and without repetition.
    fn numbers(&self, key: &str, label: &str, usual: &str, most: u32) -> Result<Vec<u32>, WorkbenchError> {
        let wrong = |value: &str, expected: String| ChoiceError {
            label: label.to_owned(),
            value: value.chars().take(40).collect(),
            expected,
        };
        let number = |word: &str| {
            let number = word.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| wrong(word, format!("a whole number from 1 to {most}")))
        };
        let typed = self.choices.get(key).unwrap_or(usual);
        let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "0");
        let mut all = words.map(number).collect::<Result<Vec<u32>, _>>()?;
        all.compact_sort();
        all.dedup();
        if all.len() > MOST_NUMBERS {
            return Err(wrong(typed, format!("at most {MOST_NUMBERS} numbers")).into());
        }
        Ok(all)
    }

    fn question(
        &self,
        run: Run,
        gpus: Vec<u32>,
        cluster: usize,
        reserve_gib: f64,
    ) -> Result<search::SearchSettings, WorkbenchError> {
        let bundle = self.study.bundle();
        let usual = bundle.memory_gib(&run, cluster);
        let first = gpus.first().copied().unwrap_or(1);
        let batch = self.number("s.batch", usual_batch(&run, first))?;
        let again = self.choices.get("s.recompute").unwrap_or("");
        let mut question = search::SearchSettings { gpus, ..search::SearchSettings::new(run, first, u64::from(batch)) };
        let chosen: Vec<Recompute> = again.split(',').filter(|name| !name.is_empty()).map(recompute_of).collect();
        if !chosen.is_empty() {
            question.recompute = chosen;
        }
        question.mode = self.mode();
        question.micro_batches = self.numbers("s.b", "Micro-batch sizes", "1,2,4,8,16", u32::MAX)?;
        question.tensor_between_nodes = self.choices.get("s.between") == Some("1");
        question.memory_gib = self.choices.parsed::<f64>("s.memory", "GiB")?.or(usual);
        question.reserve_gib = reserve_gib;
        question.everything = self.choices.get("s.all") == Some("1");
        Ok(question)
    }
}

pub(super) fn usual_batch(run: &Run, gpus: u32) -> u32 {
    // As many sequences per GPU as the run has.
    let of_run = run.global_batch().saturating_mul(u64::from(gpus)) / run.layout.gpus().max(1);
    u32::try_from(of_run.max(1)).unwrap_or(u32::MAX)
}

/// Bytes and microseconds, a pair per line; the first line may say over how many nodes and GPUs of each: `2x8`.
fn curve(lines: &str) -> Result<To, WorkbenchError> {
    let wrong = |line: &str| ChoiceError {
        label: "Curve".to_owned(),
        value: line.chars().take(40).collect(),
        expected: "bytes and microseconds".to_owned(),
    };
    let pair = |line: &str| {
        let mut numbers = line.split([' ', '\t', ':', ';']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        let is_usable = |number: f64| number > 0.0 && number.is_finite();
        match (numbers.next(), numbers.next()) {
            (Some(Ok(bytes)), Some(Ok(time_us))) if is_usable(bytes) && is_usable(time_us) => {
                Ok((bytes / 2.0, time_us))
            }
            _ => Err(wrong(line)),
        }
    };
    let mut rest = lines.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let over = rest.peek().and_then(|line| {
        let (nodes, per_node) = line.split_once(['x', '×'])?;
        let count = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
        Some(Communicator { nodes: count(nodes)?, per_node: count(per_node)? })
    });
    let points = rest.skip(usize::from(over.is_some())).map(pair).collect::<Result<Vec<_>, _>>()?;
    if points.is_empty() { Err(wrong(lines).into()) } else { Ok(To::Table { points, over }) }
}
