//! The list of the workbenches: the loaded files and the study of each, and the values that one passes to another.
//!
//! A further workbench is a folder of its own with an implementation of [`Study`], a variant of [`Workbench`], and its
//! entries here.

pub mod passed_values;

use crate::{
    command::{self, Commands},
    form::Choices,
    measure::MeasureCommand,
    overlap::{
        self,
        form::Overlap,
        loaded::{NamedKernelFile, bring_together},
    },
    policy::{self, form::Policy, read::NamedLog},
    progress::Progress,
    report::{Contents, Workbench},
    topology::{self, form::Topology, study::Part},
    training_time::{self, bundle::DroppedFile, form::TrainingTime, loaded::DroppedFiles},
    tuning::{self, address::Panel, form::Tuning, loaded::LoadedTuning},
    workbench::{ReportContext, Study, WorkbenchAnswer, WorkbenchError, WorkbenchQuestion, WorkbenchView},
};

/// The commands that make the files of a workbench on a cluster.
pub const fn measure_commands(workbench: Workbench) -> &'static [MeasureCommand] {
    match workbench {
        Workbench::Tuning => tuning::measure::COMMANDS,
        Workbench::Policy => policy::measure::COMMANDS,
        Workbench::TrainingTime => training_time::measure::COMMANDS,
        Workbench::Topology => topology::measure::COMMANDS,
        Workbench::Overlap => overlap::measure::COMMANDS,
    }
}

/// Whether a workbench has nothing to show before files are loaded: no built-in example, simulation, known model or
/// cost model.
pub fn needs_files(workbench: Workbench, choices: &Choices) -> bool {
    match workbench {
        Workbench::Topology => false,
        Workbench::Policy => !policy::form::is_simulated(choices),
        Workbench::TrainingTime => !training_time::form::names_model(choices),
        Workbench::Tuning => !Panel::of_choices(|key| choices.get(key)).needs_no_file(),
        Workbench::Overlap => true,
    }
}

/// The loaded files of all workbenches but tuning, each with its number.
#[derive(Debug, Default)]
pub struct WorkbenchFiles {
    /// Tables of kernels, traces, and models of their slowdown.
    pub kernels: Vec<(u32, NamedKernelFile)>,
    /// Samples and configurations of training steps.
    pub samples: Vec<(u32, DroppedFile)>,
    /// Reward logs.
    pub rewards: Vec<(u32, NamedLog)>,
    /// Topologies, dumps of machines, and schedules.
    pub topologies: Vec<(u32, String, Part)>,
}

impl WorkbenchFiles {
    /// The workbenches with loaded files, and the numbers of the files.
    pub fn files(&self) -> Vec<(Workbench, u32)> {
        let kernels = self.kernels.iter().map(|(file, _)| (Workbench::Overlap, *file));
        let samples = self.samples.iter().map(|(file, _)| (Workbench::TrainingTime, *file));
        let rewards = self.rewards.iter().map(|(file, _)| (Workbench::Policy, *file));
        let topologies = self.topologies.iter().map(|(file, ..)| (Workbench::Topology, *file));
        kernels.chain(samples).chain(rewards).chain(topologies).collect()
    }
}

/// The studies of all workbenches.
#[derive(Default)]
pub struct Studies {
    /// Measured collectives, and what to deploy.
    pub tuning: Tuning,
    /// Slowdown of kernels that overlap with collectives.
    pub overlap: Overlap,
    /// Time of training steps.
    pub training_time: TrainingTime,
    /// Policies from reward logs.
    pub policy: Policy,
    /// Schedules for topologies.
    pub topology: Topology,
    /// The samples of training steps that this worker keeps for further jobs.
    kept: Option<training_time::form::CachedStudy>,
}

impl Studies {
    /// The studies of loaded files.
    pub fn new(tuning: LoadedTuning, parts: WorkbenchFiles) -> Self {
        let kernels = bring_together(parts.kernels.into_iter().map(|(_, part)| part).collect());
        Self {
            tuning: Tuning::new(tuning),
            overlap: Overlap::new(kernels),
            training_time: TrainingTime::new(DroppedFiles::new(
                parts.samples.into_iter().map(|(_, file)| file).collect(),
            )),
            policy: Policy::new(parts.rewards.into_iter().map(|(_, log)| log).collect()),
            topology: Topology::new(parts.topologies.into_iter().map(|(_, name, part)| (name, part)).collect()),
            kept: None,
        }
    }

    /// The study of a workbench.
    pub fn of(&self, workbench: Workbench) -> &dyn Study {
        match workbench {
            Workbench::Overlap => &self.overlap,
            Workbench::TrainingTime => &self.training_time,
            Workbench::Policy => &self.policy,
            Workbench::Topology => &self.topology,
            Workbench::Tuning => &self.tuning,
        }
    }

    /// The study of a workbench, mutably.
    pub fn of_mut(&mut self, workbench: Workbench) -> &mut dyn Study {
        match workbench {
            Workbench::Overlap => &mut self.overlap,
            Workbench::TrainingTime => &mut self.training_time,
            Workbench::Policy => &mut self.policy,
            Workbench::Topology => &mut self.topology,
            Workbench::Tuning => &mut self.tuning,
        }
    }

    /// The commands that give the last answer of a workbench in a terminal, on its files with these names.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    pub fn commands(&self, workbench: Workbench, files: &[String]) -> Result<Commands, WorkbenchError> {
        let study = self.of(workbench);
        let form = study.form()?;
        let changed = command::changed(study.choices(), &form);
        Ok(study.commands(files, &changed, &form).unwrap_or_else(|| command::report(files, &changed)))
    }

    /// Answers a question.
    ///
    /// # Errors
    /// Returns the reason, in words for users.
    pub fn answer(
        &mut self,
        workbench: Workbench,
        question: WorkbenchQuestion,
        material: ReportContext<'_>,
        progress: &mut dyn Progress,
    ) -> Result<WorkbenchAnswer, WorkbenchError> {
        if let WorkbenchQuestion::Do { basis, jobs } = question {
            let done = match workbench {
                Workbench::TrainingTime => training_time::form::work(&mut self.kept, &basis, &jobs, progress),
                _ => work(workbench, &basis, &jobs, progress),
            };
            return Ok(WorkbenchAnswer::Done(done?));
        }
        let study = self.of_mut(workbench);
        match question {
            WorkbenchQuestion::Choose(choices) => study.choose(choices, progress)?,
            WorkbenchQuestion::Take(done) => {
                done.iter().try_for_each(|done| study.take(done, progress))?;
                study.conclude(progress)?;
            }
            WorkbenchQuestion::GoOn(last_ms) => study.go_on(last_ms, progress)?,
            WorkbenchQuestion::Detail(request) => return Ok(WorkbenchAnswer::Detail(study.detail(&request)?)),
            WorkbenchQuestion::Save(key) => return Ok(WorkbenchAnswer::File(study.file(&key, progress)?)),
            WorkbenchQuestion::Do { .. } => {}
        }
        // What is deployed is saved by its own button.
        let contents = Contents { workbench, deployables: false, ..Contents::whole() };
        let form = study.form()?;
        let mut report = study.shown(material, &contents)?;
        report.say_in_view(study.choices().not_offered(&form));
        Ok(WorkbenchAnswer::Shown(Box::new(WorkbenchView {
            attachments: study.attachments()?,
            form,
            files: study.files(),
            report,
            jobs: study.jobs()?,
        })))
    }
}

/// Does some jobs of a workbench, on any worker or thread.
///
/// # Errors
/// Returns an error if the basis comes from another build, or a job fails.
pub fn work(
    workbench: Workbench,
    basis: &[u8],
    jobs: &[u32],
    progress: &mut dyn Progress,
) -> Result<Vec<u8>, WorkbenchError> {
    match workbench {
        Workbench::Overlap => overlap::form::work(basis, jobs, progress),
        Workbench::TrainingTime => training_time::form::work(&mut None, basis, jobs, progress),
        Workbench::Policy => policy::form::work(basis, jobs, progress),
        Workbench::Tuning => tuning::form::work(basis, jobs, progress),
        Workbench::Topology => Err(WorkbenchError::NoJobs),
    }
}
