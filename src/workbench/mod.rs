//! What any workbench can be asked, and what it answers: choices in, a form and a report out, jobs that any worker can
//! do in between. The page draws it, and knows no workbench but [`tuning`](crate::tuning), which has a page of its own.
//!
//! A [`Study`] holds what was loaded for a workbench, and what came out of it. The page sends
//! [`WorkbenchQuestion::Choose`], shows what comes back, has the [`Jobs`] done by other workers, gives the results in
//! with [`WorkbenchQuestion::Take`], and shows what comes back then; until nothing is left to do. A search that one
//! worker does alone is continued by [`WorkbenchQuestion::GoOn`].
//!
//! A further workbench is a file here that implements [`Study`] and maps [`Choices`] to what it is asked, an entry in
//! [`Studies`] and [`work`], and its words in `app/workbench/words.rs`. A field's group is the title of the section
//! that it stands in; [`Exhibit::choose`](crate::report::Exhibit::choose) makes the rows of a table choices.

mod overlap;
pub mod passed_choices;
mod policy;
pub mod topology;
mod training_time;

use serde::{Deserialize, Serialize};

use crate::{
    form::{ChoiceError, Choices, Field},
    overlap::files::{NamedKernelFile, bring_together},
    policy::study::NamedLog,
    progress::Progress,
    report::{Contents, LoadedFile, Report, TextFile, Workbench},
    text::Problems,
    topology::{network::Network, study::Part, timeline::Timeline},
    training_time::{bundle::DroppedFile, dropped::DroppedFiles},
};
pub use overlap::Overlap;
pub use policy::Policy;
pub use topology::Topology;
pub use training_time::TrainingTime;

/// The reason why a question can't be answered. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// A choice is not valid.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The overlap workbench can't answer.
    #[error(transparent)]
    Overlap(#[from] crate::overlap::study::StudyError),
    /// The topology workbench can't answer.
    #[error(transparent)]
    Topology(#[from] crate::topology::study::StudyError),
    /// The policy workbench can't answer.
    #[error(transparent)]
    Policy(#[from] crate::policy::study::StudyError),
    /// The training time workbench can't answer.
    #[error(transparent)]
    TrainingTime(Box<crate::training_time::study::StudyError>),
    /// The tuning workbench does not use this protocol.
    #[error("this workbench has no form")]
    NoForm,
    /// There is no file with this key.
    #[error("there is no file {0:?} to save")]
    NoFile(String),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// A question to a workbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkbenchQuestion {
    /// Studies what is loaded by these choices; what was computed before and still holds is kept. Answered by
    /// [`WorkbenchAnswer::Shown`].
    Choose(Choices),
    /// Carries out some of [`Jobs::rounds`], on any worker. Answered by [`WorkbenchAnswer::Done`].
    Do {
        /// The data from [`Jobs::basis`].
        basis: Vec<u8>,
        /// The numbers of the jobs.
        jobs: Vec<u32>,
    },
    /// Adopts the results of jobs, in any order. Answered by [`WorkbenchAnswer::Shown`].
    Take(Vec<Vec<u8>>),
    /// Works on for a moment, where [`Jobs::goes_on`]; the moment before took so many ms, 0 where there was none.
    /// Answered by [`WorkbenchAnswer::Shown`].
    GoOn(u32),
    /// The file with this key. Answered by [`WorkbenchAnswer::File`].
    Save(String),
    /// The transfers from a time on, in ns, and the path of a chunk, in timelines that are cut. Answered by
    /// [`WorkbenchAnswer::Cut`].
    Cut(f64, Option<u32>),
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkbenchAnswer {
    /// The answer to [`WorkbenchQuestion::Choose`], [`WorkbenchQuestion::Take`] and [`WorkbenchQuestion::GoOn`].
    Shown(Box<WorkbenchView>),
    /// The answer to [`WorkbenchQuestion::Do`], to be passed to [`WorkbenchQuestion::Take`] unchanged.
    Done(Vec<u8>),
    /// The answer to [`WorkbenchQuestion::Save`].
    File(TextFile),
    /// The answer to [`WorkbenchQuestion::Cut`]: a timeline for each of [`Network::timelines`], empty where that is
    /// complete.
    Cut(Vec<Timeline>),
}

/// Everything that the page shows of a workbench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkbenchView {
    /// The fields of the form.
    pub form: Vec<Field>,
    /// The files that can be saved: key and label.
    pub files: Vec<(String, String)>,
    /// The report on the results so far.
    pub report: Report,
    /// The remaining jobs.
    pub jobs: Jobs,
    /// Links and schedules to be drawn, where they are others than those before.
    pub network: Option<Box<Network>>,
    /// The factor by which a kernel is slower at the same time as collectives, which another workbench can use.
    pub slowdown: Option<f64>,
}

/// Whether a workbench has nothing to show before something is loaded: no example that is made, and no simulation.
#[must_use]
pub fn needs_files(workbench: Workbench, choices: &Choices) -> bool {
    match workbench {
        Workbench::Topology => false,
        Workbench::Policy => !policy::is_simulated(choices),
        _ => true,
    }
}

/// Jobs that any worker can carry out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    /// The data that the jobs need.
    pub basis: Vec<u8>,
    /// Rounds of jobs, after each of which there is more to be told: numbers, and how long each takes relative to the
    /// others.
    pub rounds: Vec<Vec<(u32, f64)>>,
    /// Nothing that was done for earlier choices holds any more.
    pub is_anew: bool,
    /// The study itself can find something better by [`WorkbenchQuestion::GoOn`]: each takes a moment (a tenth of a
    /// second, or so), so that a search is left by asking no more, and nothing that was found is lost.
    pub goes_on: bool,
}

/// The loaded files for use in a report.
#[derive(Clone, Debug, Default)]
pub struct ReportContext<'a> {
    /// The entries of the loaded files.
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// A workbench: loaded files, settings and results behind a protocol of choices, jobs and reports.
pub trait Study {
    /// Studies by these choices; what was computed before and still holds is kept.
    ///
    /// # Errors
    /// Returns an error if a choice is not valid, or if nothing was loaded.
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Takes in what a worker did.
    ///
    /// # Errors
    /// Returns an error if it comes from another build, or can't be used.
    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Draws conclusions from what was taken in: once, however much it was.
    ///
    /// # Errors
    /// Returns an error if nothing is there to study.
    fn conclude(&mut self, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// Searches on for a moment, where [`Jobs::goes_on`]. Nothing here has a clock: `last_ms` is how long the moment
    /// before took, 0 where there was none.
    ///
    /// # Errors
    /// Returns an error if nothing is there to study.
    fn go_on(&mut self, _last_ms: u32, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// The fields of the form with their current values.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn form(&self) -> Result<Vec<Field>, WorkbenchError>;

    /// The files that can be saved: key and label.
    fn files(&self) -> Vec<(String, String)>;

    /// One of these files.
    ///
    /// # Errors
    /// Returns an error if there is no such file, or it can't be made.
    fn file(&self, key: &str, progress: &mut dyn Progress) -> Result<TextFile, WorkbenchError>;

    /// The remaining jobs.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn jobs(&self) -> Result<Jobs, WorkbenchError>;

    /// Links and schedules to be drawn, where they are others than those that were given away before.
    fn network(&mut self) -> Option<Box<Network>> {
        None
    }

    /// The factor by which a kernel is slower at the same time as collectives, if it was predicted.
    fn slowdown(&self) -> Option<f64> {
        None
    }

    /// The transfers from a time on, in ns, in each timeline that is cut, and the path of a chunk.
    fn cut(&self, _from_ns: f64, _chunk: Option<u32>) -> Vec<Timeline> {
        Vec::new()
    }

    /// The report on the results so far.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError>;
}

/// The loaded files of all workbenches but tuning, each with its number.
#[derive(Debug, Default)]
pub struct WorkbenchFiles {
    /// Tables of kernels, traces, and models of their slowdown.
    pub kernels: Vec<(u32, NamedKernelFile)>,
    /// Samples and configurations of training steps; of an archive, all its files.
    pub samples: Vec<(u32, Vec<DroppedFile>)>,
    /// Reward logs.
    pub rewards: Vec<(u32, NamedLog)>,
    /// Topologies, dumps of machines, and schedules.
    pub topologies: Vec<(u32, String, Part)>,
}

impl WorkbenchFiles {
    /// The workbenches that something was loaded for, with the files' numbers.
    #[must_use]
    pub fn files(&self) -> Vec<(Workbench, u32)> {
        let kernels = self.kernels.iter().map(|(file, _)| (Workbench::Overlap, *file));
        let samples = self.samples.iter().map(|(file, _)| (Workbench::TrainingTime, *file));
        let rewards = self.rewards.iter().map(|(file, _)| (Workbench::Policy, *file));
        let topologies = self.topologies.iter().map(|(file, ..)| (Workbench::Topology, *file));
        kernels.chain(samples).chain(rewards).chain(topologies).collect()
    }
}

/// The studies of all workbenches but tuning.
#[derive(Default)]
pub struct Studies {
    /// Slowdown of kernels that overlap with collectives.
    pub overlap: Overlap,
    /// Time of training steps.
    pub training_time: TrainingTime,
    /// Policies from reward logs.
    pub policy: Policy,
    /// Schedules for topologies.
    pub topology: Topology,
    /// Samples of training steps that this worker did jobs from.
    kept: Option<training_time::CachedStudy>,
}

impl Studies {
    /// The studies of loaded files.
    #[must_use]
    pub fn new(parts: WorkbenchFiles) -> Self {
        let kernels = bring_together(parts.kernels.into_iter().map(|(_, part)| part).collect());
        Self {
            overlap: Overlap::new(kernels),
            training_time: TrainingTime::new(DroppedFiles::new(
                parts.samples.into_iter().flat_map(|(_, files)| files).collect(),
            )),
            policy: Policy::new(parts.rewards.into_iter().map(|(_, log)| log).collect()),
            topology: Topology::new(parts.topologies.into_iter().map(|(_, name, part)| (name, part)).collect()),
            kept: None,
        }
    }

    /// The study of a workbench; `None` for the tuning workbench.
    #[must_use]
    pub fn of(&self, workbench: Workbench) -> Option<&dyn Study> {
        match workbench {
            Workbench::Overlap => Some(&self.overlap),
            Workbench::TrainingTime => Some(&self.training_time),
            Workbench::Policy => Some(&self.policy),
            Workbench::Topology => Some(&self.topology),
            Workbench::Tuning => None,
        }
    }

    /// The study of a workbench, mutably.
    pub fn of_mut(&mut self, workbench: Workbench) -> Option<&mut dyn Study> {
        match workbench {
            Workbench::Overlap => Some(&mut self.overlap),
            Workbench::TrainingTime => Some(&mut self.training_time),
            Workbench::Policy => Some(&mut self.policy),
            Workbench::Topology => Some(&mut self.topology),
            Workbench::Tuning => None,
        }
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
                Workbench::TrainingTime => training_time::work(&mut self.kept, &basis, &jobs, progress),
                _ => work(workbench, &basis, &jobs, progress),
            };
            return Ok(WorkbenchAnswer::Done(done?));
        }
        let study = self.of_mut(workbench).ok_or(WorkbenchError::NoForm)?;
        match question {
            WorkbenchQuestion::Choose(choices) => study.choose(choices, progress)?,
            WorkbenchQuestion::Take(done) => {
                done.iter().try_for_each(|done| study.take(done, progress))?;
                study.conclude(progress)?;
            }
            WorkbenchQuestion::GoOn(last_ms) => study.go_on(last_ms, progress)?,
            WorkbenchQuestion::Cut(from_ns, chunk) => return Ok(WorkbenchAnswer::Cut(study.cut(from_ns, chunk))),
            WorkbenchQuestion::Save(key) => return Ok(WorkbenchAnswer::File(study.file(&key, progress)?)),
            WorkbenchQuestion::Do { .. } => {}
        }
        // What is deployed is saved by its own button.
        let contents = Contents { workbench, deployables: false, ..Contents::whole() };
        let network = study.network();
        Ok(WorkbenchAnswer::Shown(Box::new(WorkbenchView {
            network,
            slowdown: study.slowdown(),
            form: study.form()?,
            files: study.files(),
            report: study.report(material, &contents)?,
            jobs: study.jobs()?,
        })))
    }
}

/// Does some jobs of a workbench, on any worker or thread.
///
/// # Errors
/// Returns an error if the basis comes from another build, or can't be worked with.
pub fn work(
    workbench: Workbench,
    basis: &[u8],
    jobs: &[u32],
    progress: &mut dyn Progress,
) -> Result<Vec<u8>, WorkbenchError> {
    match workbench {
        Workbench::Overlap => overlap::work(basis, jobs, progress),
        Workbench::TrainingTime => training_time::work(&mut None, basis, jobs, progress),
        Workbench::Policy => policy::work(basis, jobs, progress),
        Workbench::Tuning | Workbench::Topology => Err(WorkbenchError::NoForm),
    }
}
