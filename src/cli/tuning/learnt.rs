//! What commands share that learn from sweeps: arguments, reading, and training as the page's workers do it.

use std::path::PathBuf;

use clap::Args;

use crate::{
    cli::{
        arguments::{Learning, Measured},
        error::{CliError, refuse},
        files::{self, Reads},
        terminal, threads,
    },
    intake::{FileReport, files::OpenedFiles},
    progress::{Progress, Silent},
    report::Workbench,
    topology::study::Part,
    tuning::{
        loaded::predict_folds,
        parameters::Parameters,
        result::{Evaluation, Group, Trained, Validated},
    },
    worker::executor::Executor,
};

/// How sweeps are read, and what is learnt from them.
#[derive(Args)]
pub(in crate::cli) struct FromSweeps {
    /// Links of the cluster, as CSV or as NCCL or RCCL dumped them (NCCL_TOPO_DUMP_FILE): no prediction of a scale with
    /// as many ranks exceeds what they carry
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    topology: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    #[command(flatten)]
    pub(in crate::cli) learning: Learning,
}

impl FromSweeps {
    /// Reads sweeps, and names the files that are none, but for the logs of jobs where `with_jobs`. Fails if a file
    /// can't be opened, none holds a sweep, there is no such set, or `--topology` names no links.
    pub(in crate::cli) fn read(&self, paths: &[PathBuf], with_jobs: bool) -> Result<OpenedFiles, CliError> {
        let opened = self.read_any(paths)?;
        let mut used: Vec<u32> = opened.parts.topologies.iter().map(|(id, ..)| *id).collect();
        used.extend(opened.documents.jobs.iter().filter(|_| with_jobs).map(|(id, _)| *id));
        files::say_unused(&opened, Reads::Sweeps, &used);
        files::has_rows(opened)
    }

    /// Reads files, sweeps or others; the links only where there is a sweep. Fails if a file can't be opened, there is
    /// no such set, or `--topology` names no links.
    pub(in crate::cli) fn read_any(&self, paths: &[PathBuf]) -> Result<OpenedFiles, CliError> {
        let mut opened = files::read(paths, &self.measured, Reads::Sweeps)?;
        if !opened.rows.is_empty() {
            self.add_links(&mut opened)?;
        }
        Ok(opened)
    }

    fn add_links(&self, opened: &mut OpenedFiles) -> Result<(), CliError> {
        for path in &self.topology {
            let reads = Reads::Of(Workbench::Topology);
            let links = files::read(std::slice::from_ref(path), &Measured::default(), reads)?;
            let first = opened.files.iter().map(|file| file.id + 1).max().unwrap_or(0);
            let is_links = |part: &Part| matches!(part, Part::Topology(_) | Part::Machine(_));
            if !links.parts.topologies.iter().any(|(.., part)| is_links(part)) {
                return refuse(format!(
                    "--topology {}: it holds no links; a link graph (CSV) or the dump of a machine was expected",
                    files::name(path)
                ));
            }
            opened.files.extend(links.files.into_iter().map(|file| FileReport { id: file.id + first, ..file }));
            let parts = links.parts.topologies.into_iter();
            opened.parts.topologies.extend(parts.map(|(id, name, part)| (id + first, name, part)));
        }
        Ok(())
    }

    /// With what is learnt: that of a model file, and what was typed. Fails if a run of another file is to be brought
    /// back.
    pub(in crate::cli) fn parameters(&self, opened: &OpenedFiles) -> Result<Parameters, CliError> {
        self.learning.parameters(opened.parameters.clone(), &opened.files)
    }

    /// Learns, validates, and says what must be known, with what was found out `besides`. Fails if there is too little
    /// to learn from.
    pub(in crate::cli) fn learn(
        &self,
        opened: OpenedFiles,
        parameters: &Parameters,
        besides: Option<String>,
    ) -> Result<Learnt, CliError> {
        let mut bar = terminal::Bar::new();
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, self.learning.target, &mut bar)?;
        let learnt = train(&mut executor, parameters, &mut bar);
        drop(bar);
        let (trained, validated) = learnt.inspect_err(|_error| terminal::say_notes(&loaded.notes))?;
        let mut notes = [loaded.notes, trained.notes, validated.notes].concat();
        notes.extend(besides);
        terminal::say_notes(&notes);
        Ok(Learnt { executor, groups: loaded.groups, evaluation: validated.evaluation, notes })
    }
}

/// Trains on what an executor has taken in, and validates, as the page's workers do it. Fails if there is too little to
/// learn from.
pub(in crate::cli) fn train(
    executor: &mut Executor,
    parameters: &Parameters,
    progress: &mut dyn Progress,
) -> Result<(Trained, Validated), CliError> {
    let loaded = &mut executor.studies.tuning.loaded;
    let trained = loaded.train(parameters.clone(), progress)?;
    let folds = threads::each("Validating", trained.folds.len(), |fold| {
        predict_folds(&trained.training, parameters, &[fold], &mut Silent)
    })?;
    let validated = loaded.validate(&folds, progress)?;
    Ok((trained, validated))
}

/// The result of training on files, and how far to trust it.
pub(in crate::cli) struct Learnt {
    /// Holds the sweep, the model and its validation.
    pub(in crate::cli) executor: Executor,
    /// The measured collectives and scales.
    pub(in crate::cli) groups: Vec<Group>,
    /// Scores of the model and the baselines.
    pub(in crate::cli) evaluation: Evaluation,
    /// Notes on sweep, model and answers.
    pub(in crate::cli) notes: Vec<String>,
}

/// The collectives and scales that were measured, in words.
pub(in crate::cli) fn held(groups: &[Group]) -> String {
    let names: Vec<String> = groups.iter().map(|group| format!("{} on {}", group.collective, group.scale)).collect();
    names.join("; ")
}
