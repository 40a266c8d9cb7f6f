//! What `collectune step` and `collectune layouts` share: files become a study that is learnt on all processors.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::{Args, ValueEnum};

use super::{CliError, arguments::Measured, files, terminal};
use crate::{
    progress::{Progress, Silent},
    training_time::{
        bundle::Fate,
        calibrate::{Calibration, Terms},
        dropped::Dropped,
        memory,
        read::name::stem,
        regressors,
        run::Run,
        study::{Settings, Study, StudyError},
    },
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

    /// How many coefficients are fitted: 4 or 6
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(4..=6))]
    coefficients: u8,

    /// Which cluster, where several were given: its name
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// What of a GPU's memory is kept free, in GiB
    #[arg(long, value_name = "GIB", default_value_t = memory::RESERVE_GIB)]
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

impl Bundle {
    /// The study of the files, and the settings that the arguments make, with the run if there is one.
    pub(super) fn open(&self) -> Result<(Study, Settings), CliError> {
        let paths: Vec<PathBuf> = self.bundle.iter().chain(&self.run).chain(&self.calibrate).cloned().collect();
        let opened = files::read_any(&paths, None, &Measured::default())?;
        let study = Study::new(Dropped::new(opened.parts.samples.into_iter().flat_map(|(_, files)| files).collect()));
        let bundle = study.bundle();
        terminal::say_notes(&bundle.notes);
        for question in &bundle.questions {
            terminal::say("note", &format!("{} does not count: it can't be told what it is", question.path));
        }
        let run = self.chosen(&study)?;
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run)).unwrap_or(0);
        let cluster = match &self.cluster {
            None => usual,
            Some(name) => {
                let found = bundle.clusters.iter().position(|cluster| cluster.name.eq_ignore_ascii_case(name));
                let held = || bundle.clusters.iter().map(|cluster| cluster.name.clone()).collect::<Vec<_>>().join(", ");
                found.ok_or_else(|| CliError::NoCluster { wanted: name.clone(), held: held() })?
            }
        };
        let table = (!self.calibrate.is_empty()).then(|| bundle.steps.len().saturating_sub(1));
        if table.is_some() && bundle.steps.is_empty() {
            return Err(CliError::Typed("--calibrate names no table of measured steps"));
        }
        let terms = if self.coefficients > 4 { Terms::Six } else { Terms::Four };
        let mode = match self.mode {
            Mode::Parity => regressors::Mode::Parity,
            Mode::Default => regressors::Mode::Default,
        };
        let calibrate = table.map(|table| (table, terms));
        let (reserve_gib, seed) = (self.reserve, self.seed);
        let settings = Settings { cluster, mode, run, calibrate, reserve_gib, seed, ..Settings::default() };
        Ok((study, settings))
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
        found.map(Some).ok_or(CliError::Typed("--run names no configuration that can be read"))
    }
}

/// Learns what the settings need, on all processors.
pub(super) fn learn(study: &mut Study, settings: Settings) -> Result<(), CliError> {
    study.choose(settings).map_err(told)?;
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

/// Coefficients in words, for people.
pub(super) fn say_calibration(calibration: Option<&Calibration>) {
    if let Some(found) = calibration {
        let text = format!(
            "calibrated on {} steps: {:.1} % mean error out of fold ({:.1} % without), {:.0} % inside their intervals",
            found.steps, found.cross_validated.mape, found.uncalibrated.mape, found.coverage
        );
        terminal::say("note", &text);
    }
}
