//! What `collectune step` and `collectune layouts` share: files become a study that is learnt on all processors.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::{Args, ValueEnum};

use super::{CliError, arguments::Measured, files, terminal};
use crate::{
    progress::{Progress, Silent},
    training_time::{
        self,
        bundle::{Asks, Fate, Question, Unit},
        calibrate::{Calibration, Terms},
        dropped::Dropped,
        memory,
        read::name::stem,
        regressors,
        run::Run,
        steps::StepTable,
        study::{Settings, Study, StudyError},
    },
    units::{count, grouped},
    workbench::WorkbenchError,
    worker::executor::ExecuteError,
};

/// How a step is composed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Mode {
    /// As estimate-train-time composes it, with its regressors
    Parity,
    /// Power laws, trees and curves; real layers and a simulated pipeline
    #[default]
    Default,
}

/// What is predicted, from which files.
#[derive(Args)]
pub(super) struct Bundle {
    /// Samples of operators and collectives, regressor settings, catalogues: files, folders or archives
    #[arg(required = true, value_name = "BUNDLE")]
    bundle: Vec<PathBuf>,

    /// Configuration of the run: YAML, or vTrain's JSON
    #[arg(long, value_name = "CONFIG")]
    run: Option<PathBuf>,

    /// Regressors and composition
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,

    /// Measured steps that calibrate; all-reduce tables beside them count
    #[arg(long, value_name = "MEASURED", num_args = 1..)]
    calibrate: Vec<PathBuf>,

    /// The cluster of the catalogue that they ran on; where not given, as their path or the samples tell
    #[arg(long, value_name = "NAME", requires = "calibrate")]
    measured_on: Option<String>,

    /// How many coefficients are fitted
    #[arg(long, value_name = "N", default_value = "4", value_parser = ["4", "6"])]
    coefficients: String,

    /// Which cluster, where several were given: its name
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// What a file is that does not tell it: its operator, seconds, bytes, as-written, both, or out to leave it out
    #[arg(long, value_name = "FILE=ANSWER")]
    answer: Vec<String>,

    /// What of a GPU's memory is kept free, in GiB
    #[arg(long, value_name = "GIB", default_value_t = memory::RESERVE_GIB, value_parser = gib)]
    reserve: f64,

    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) fn told(error: StudyError) -> CliError {
    CliError::Execute(ExecuteError::Workbench(WorkbenchError::from(error)))
}

/// A number of GiB.
pub(super) fn gib(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|gib| gib.is_finite() && *gib >= 0.0);
    number.ok_or_else(|| "expected GiB, such as 80".to_owned())
}

impl Bundle {
    /// The study of the files, and the settings that the arguments make, with the run if there is one.
    pub(super) fn open(&self) -> Result<(Study, Settings), CliError> {
        let paths: Vec<PathBuf> = self.bundle.iter().chain(&self.run).chain(&self.calibrate).cloned().collect();
        let opened = files::read_any(
            &paths,
            None,
            &Measured::default(),
            files::Reads::Of(crate::report::Workbench::TrainingTime),
        )?;
        let mut dropped = Dropped::new(opened.parts.samples.into_iter().flat_map(|(_, files)| files).collect());
        self.answer(&mut dropped)?;
        let study = Study::new(dropped);
        let bundle = study.bundle();
        terminal::say_notes(&bundle.notes);
        bundle.questions.iter().for_each(say_question);
        let run = self.chosen(&study)?;
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run));
        let held = || bundle.clusters.iter().map(|cluster| cluster.name.clone()).collect::<Vec<_>>().join(", ");
        let cluster = match &self.cluster {
            None => {
                if usual.is_none() && bundle.clusters.len() > 1 {
                    terminal::say("note", &format!("the first of {} is taken; --cluster takes another", held()));
                }
                usual.unwrap_or(0)
            }
            Some(name) => {
                let found = bundle.clusters.iter().position(|cluster| cluster.name.eq_ignore_ascii_case(name));
                found.ok_or_else(|| CliError::NoCluster { wanted: name.clone(), held: held() })?
            }
        };
        let terms = if self.coefficients == "6" { Terms::Six } else { Terms::Four };
        let mode = match self.mode {
            Mode::Parity => regressors::Mode::Parity,
            Mode::Default => regressors::Mode::Default,
        };
        let calibrate = self.table(bundle)?.map(|table| (table, terms));
        let (reserve_gib, seed, measured_on) = (self.reserve, self.seed, self.measured_on.clone());
        let settings =
            Settings { cluster, mode, run, calibrate, measured_on, reserve_gib, seed, ..Settings::default() };
        Ok((study, settings))
    }

    /// Answers what is asked of files, by their paths or the ends of these.
    fn answer(&self, dropped: &mut Dropped) -> Result<(), CliError> {
        for given in &self.answer {
            let (path, word) = given.rsplit_once('=').ok_or(CliError::Typed("--answer takes FILE=ANSWER"))?;
            let is_of = |question: &&Question| {
                question.path.strip_suffix(path).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
            };
            let question = dropped.bundle().questions.iter().find(is_of);
            let question =
                question.ok_or_else(|| CliError::Told(format!("--answer {given}: nothing is asked of it")))?;
            let answer = question.asks.answer(word).ok_or_else(|| {
                CliError::Told(format!("--answer {given}: {word} is no answer; {} are", words(question)))
            })?;
            dropped.answer(&question.path.clone(), answer);
        }
        Ok(())
    }

    /// The table of measured steps that calibrates, by index.
    fn table(&self, bundle: &training_time::bundle::Bundle) -> Result<Option<usize>, CliError> {
        if self.calibrate.is_empty() {
            return Ok(None);
        }
        if let Some(wanted) = self.measured_on.as_ref().filter(|name| bundle.catalogue.cluster(name).is_none()) {
            let names = bundle.catalogue.clusters.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>();
            let names = names.join(", ");
            return Err(CliError::Told(format!("--measured-on {wanted}: the catalogue knows {names}")));
        }
        // What is named counts, and not a table that the bundle has besides.
        let is_named = |table: &StepTable| self.calibrate.iter().any(|path| Path::new(&table.name).starts_with(path));
        let tables = || bundle.steps.iter().enumerate();
        let named: Vec<(usize, &StepTable)> = tables().filter(|(_, table)| is_named(table)).collect();
        let named = if named.is_empty() { tables().collect() } else { named };
        match named.as_slice() {
            [] => {
                let names: Vec<String> = self.calibrate.iter().map(|path| files::name(path)).collect();
                Err(CliError::Told(format!("--calibrate {}: no table of measured steps is there", names.join(" "))))
            }
            [(number, one)] => match one.suspicion {
                None => Ok(Some(*number)),
                Some(_) => Err(CliError::Told(format!(
                    "--calibrate {}: its times have a doubtful unit; say --answer {0}=seconds or --answer {0}=as-written",
                    one.name
                ))),
            },
            several => {
                let names: Vec<&str> = several.iter().map(|(_, table)| table.name.as_str()).collect();
                Err(CliError::Told(format!(
                    "--calibrate takes one table of measured steps; these are {}",
                    names.join(", ")
                )))
            }
        }
    }

    fn chosen(&self, study: &Study) -> Result<Option<Run>, CliError> {
        let runs = &study.bundle().runs;
        let Some(path) = &self.run else { return Ok(runs.first().map(|configured| configured.run.clone())) };
        let name = files::name(path);
        let file = study.bundle().files.iter().rfind(|file| file.path == name);
        if let Some(Fate::Unrecognised(why)) = file.map(|file| &file.fate) {
            return Err(CliError::NoRun { name, why: why.clone() });
        }
        let stem = stem(&name);
        let found = runs.iter().rfind(|configured| configured.run.name == stem).filter(|_| file.is_some());
        let found = found.map(|configured| configured.run.clone());
        found.map(Some).ok_or_else(|| CliError::NoRun { name, why: "no configuration can be read from it".to_owned() })
    }
}

/// The words that answer a question.
fn words(question: &Question) -> String {
    question.asks.answers().into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", ")
}

fn say_question(question: &Question) {
    // Times that may be seconds calibrate nothing; sizes that may be bytes are taken as they are written.
    let counts = matches!(question.asks, Asks::Unit { unit: Unit::Bytes, .. });
    let until = if counts { "It counts as written unless" } else { "It does not count until" };
    let (path, asked) = (&question.path, question.asks.sentence());
    terminal::say("note", &format!("{path}: {asked} {until} --answer {path}=ANSWER says it: {}", words(question)));
}

/// What must be known before anything is learnt: what was not sampled as the run needs it, and samples that are odd.
fn say_needs(study: &Study) -> Result<(), CliError> {
    for need in study.needs() {
        terminal::say("note", &need.sentence);
    }
    let flags = &study.health().map_err(told)?.flags;
    let odd: Vec<String> = flags
        .iter()
        .filter(|flag| flag.rule.is_doubtful())
        .map(|flag| format!("{} of {} of {}", grouped(flag.count as u64), count(flag.of as u64, "row"), flag.target))
        .collect();
    if !odd.is_empty() {
        let rest = odd.len().saturating_sub(files::TOLD);
        let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        let odd = odd.into_iter().take(files::TOLD).collect::<Vec<_>>().join(", ");
        terminal::say("note", &format!("odd samples, on which predictions are suspect: {odd}{more}"));
    }
    Ok(())
}

/// Learns what the settings need, on all processors.
pub(super) fn learn(study: &mut Study, settings: Settings) -> Result<(), CliError> {
    study.choose(settings).map_err(told)?;
    say_needs(study)?;
    for (of, why) in study.library().map_err(told)?.unusable() {
        terminal::say("note", &format!("the saved regressor of {of} is not used: {why}"));
    }
    let jobs: Vec<u32> = study.rounds().map_err(told)?.concat().into_iter().map(|(job, _)| job).collect();
    let next = AtomicUsize::new(0);
    let mut bar = terminal::Bar::new();
    let shared: &Study = study;
    let work = |bar: &mut dyn Progress| {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            bar.report("Learning from samples", next.load(Ordering::Relaxed) as u64, jobs.len() as u64);
            shared.work_here(*job, &mut Silent)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let done: Result<Vec<()>, StudyError> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(&mut Silent))).collect();
        let own = work(&mut bar);
        // A thread only ends early by a panic, which is a mistake of the program.
        others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect()
    });
    done.map(drop).map_err(told)
}

/// The calibration that was asked for, told in words besides.
pub(super) fn calibration(study: &Study) -> Result<Option<Calibration>, CliError> {
    let Some((table, _)) = study.settings().calibrate else { return Ok(None) };
    let ran_on = study.ran_on(table).ok_or(CliError::Typed(
        "on which cluster were the steps measured? Neither their path nor the samples name one that the catalogue knows: \
         --measured-on NAME",
    ))?;
    let found = study.calibration().map_err(told)?;
    if let Some(found) = &found {
        terminal::say("note", &found.sentence(ran_on));
        for (step, why) in found.left_out.iter().take(files::TOLD) {
            terminal::say("warning", &format!("measured step {step} is left out: {why}"));
        }
        let rest = found.left_out.len().saturating_sub(files::TOLD);
        if rest > 0 {
            terminal::say("warning", &format!("{} more left out", count(rest as u64, "measured step")));
        }
    }
    Ok(found)
}
