//! Code that commands which learn from sweeps share: arguments, reading, and training as the page's workers do it, on
//! threads.

use std::{
    num::NonZero,
    path::PathBuf,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use clap::Args;

use super::{
    CliError,
    arguments::{Learning, Measured, Unsaid},
    files::{self, Reads},
    terminal,
};
use crate::{
    intake::{FileReport, files::OpenedFiles},
    progress::{Progress, Silent},
    report::Workbench,
    topology::study::Part,
    tuning::{
        aggregate::Target,
        loaded,
        parameters::Parameters,
        result::{Evaluation, Group, Trained},
    },
    worker::executor::{ExecuteError, Executor},
};

/// How sweeps are read, and what is learnt from them.
#[derive(Args)]
pub(super) struct FromSweeps {
    /// Links of the cluster, as CSV or as NCCL or RCCL dumped them (NCCL_TOPO_DUMP_FILE): no prediction of a scale with
    /// as many ranks exceeds what they carry
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    topology: Vec<PathBuf>,

    #[command(flatten)]
    unsaid: Unsaid,

    #[command(flatten)]
    measured: Measured,

    #[command(flatten)]
    pub(super) learning: Learning,
}

impl FromSweeps {
    /// Reads sweeps, and names the files that are none.
    ///
    /// # Errors
    /// A file can't be opened, none holds a sweep, there is no such set, or `--topology` names no links.
    pub(super) fn read(&self, paths: &[PathBuf]) -> Result<OpenedFiles, CliError> {
        let opened = self.read_any(paths)?;
        let links: Vec<u32> = opened.parts.topologies.iter().map(|(id, ..)| *id).collect();
        files::say_no_sweep(&opened, &links);
        if opened.rows.is_empty() { Err(CliError::NothingRead) } else { Ok(opened) }
    }

    /// Reads files, sweeps or others; the links only where there is a sweep.
    ///
    /// # Errors
    /// A file can't be opened, there is no such set, or `--topology` names no links.
    pub(super) fn read_any(&self, paths: &[PathBuf]) -> Result<OpenedFiles, CliError> {
        let mut opened = files::read_any(paths, self.unsaid.configuration.as_ref(), &self.measured, Reads::SweepsSaid)?;
        if !opened.rows.is_empty() {
            self.add_links(&mut opened)?;
        }
        Ok(opened)
    }

    fn add_links(&self, opened: &mut OpenedFiles) -> Result<(), CliError> {
        for path in &self.topology {
            let reads = Reads::Of(Workbench::Topology);
            let links = files::read_any(std::slice::from_ref(path), None, &Measured::default(), reads)?;
            let first = opened.files.iter().map(|file| file.id + 1).max().unwrap_or(0);
            let is_links = |part: &Part| matches!(part, Part::Topology(_) | Part::Machine(_));
            if !links.parts.topologies.iter().any(|(.., part)| is_links(part)) {
                return Err(CliError::Told(format!(
                    "--topology {}: it holds no links; a link graph (CSV) or the dump of a machine was expected",
                    files::name(path)
                )));
            }
            opened.files.extend(links.files.into_iter().map(|file| FileReport { id: file.id + first, ..file }));
            let parts = links.parts.topologies.into_iter();
            opened.parts.topologies.extend(parts.map(|(id, name, part)| (id + first, name, part)));
        }
        Ok(())
    }

    /// With what is learnt: that of a model file, and what was typed.
    pub(super) fn parameters(&self, opened: &OpenedFiles) -> Parameters {
        self.learning.parameters(opened.parameters.clone())
    }

    /// Learns, validates, and says what must be known, with what was found out `besides`.
    ///
    /// # Errors
    /// There is too little to learn from.
    pub(super) fn learn(
        &self,
        opened: OpenedFiles,
        parameters: &Parameters,
        besides: impl IntoIterator<Item = String>,
    ) -> Result<Learnt, CliError> {
        let mut bar = terminal::Bar::new();
        let mut learnt = Learnt::learn(opened, self.learning.target, parameters, &mut bar)?;
        drop(bar);
        learnt.notes.extend(besides);
        terminal::say_notes(&learnt.notes);
        Ok(learnt)
    }
}

/// The result of training on files, and how far to trust it.
pub(super) struct Learnt {
    /// Holds the sweep, the model and its validation.
    pub(super) executor: Executor,
    /// The measured collectives and scales.
    pub(super) groups: Vec<Group>,
    /// Scores of the model and the baselines.
    pub(super) evaluation: Evaluation,
    /// Notes on sweep, model and answers.
    pub(super) notes: Vec<String>,
}

impl Learnt {
    /// Learns from what files hold, and validates.
    pub(super) fn learn(
        opened: OpenedFiles,
        target: Target,
        parameters: &Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, ExecuteError> {
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, target, progress)?;
        let trained = executor.tuning.train(parameters.clone(), progress)?;
        let folds = predict_folds(&trained, parameters, progress)?;
        let validated = executor.tuning.validate(&folds, progress)?;
        let notes = [loaded.notes, trained.notes, validated.notes].concat();
        Ok(Self { executor, groups: loaded.groups, evaluation: validated.evaluation, notes })
    }
}

/// Predicts the folds on as many threads as the machine has processors, each fold by itself.
fn predict_folds(
    trained: &Trained,
    parameters: &Parameters,
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<u8>>, ExecuteError> {
    let total = trained.folds.len();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(total);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let fold = next.fetch_add(1, Ordering::Relaxed);
                    let predict = || loaded::predict_folds(&trained.training, parameters, &[fold as u32], &mut Silent);
                    if fold >= total || sender.send(predict()).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut folds = Vec::with_capacity(total);
        progress.report("Validating", 0, total as u64);
        for fold in receiver {
            folds.push(fold?);
            progress.report("Validating", folds.len() as u64, total as u64);
        }
        Ok(folds)
    })
}
