//! What any workbench can be asked, and what it answers: choices in, a form and a report out, jobs that any worker can do
//! in between. The page draws it, and knows no workbench but [`tuning`](crate::tuning), which has a page of its own.
//!
//! A [`Study`] holds what was loaded for a workbench, and what came out of it. The page sends [`Question::Choose`],
//! shows what comes back, has the [`Jobs`] done by other workers, gives the results in with [`Question::Take`], and shows
//! what comes back then; until nothing is left to do. A search that one worker does alone is continued by
//! [`Question::GoOn`].
//!
//! A further workbench is a file here that implements [`Study`] and maps [`Choices`] to what it is asked, an entry in
//! [`Studies`] and [`work`], and its words in `app/workbench/words.rs`. A field's group is the title of the section that
//! it stands in; [`Exhibit::choose`](crate::report::Exhibit::choose) makes the rows of a table choices.

pub mod handover;
mod overlap;
mod policy;
pub mod topology;
mod training_time;

use serde::{Deserialize, Serialize};

use crate::{
    form::{ChoiceError, Choices, Field},
    overlap::files::{NamedPart, bring_together},
    policy::study::NamedLog,
    progress::Progress,
    report::{Contents, LoadedFile, Report, TextFile, Workbench},
    text::Problems,
    topology::{network::Network, study::Part, timeline::Timeline},
    training_time::{bundle::DroppedFile, dropped::Dropped},
};
pub use overlap::Overlap;
pub use policy::Policy;
pub use topology::Topology;
pub use training_time::TrainingTime;

/// Why a question can't be answered, for people.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// Something was chosen that can't be.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// What the overlap workbench says.
    #[error(transparent)]
    Overlap(#[from] crate::overlap::study::StudyError),
    /// What the topology workbench says.
    #[error(transparent)]
    Topology(#[from] crate::topology::study::StudyError),
    /// What the policy workbench says.
    #[error(transparent)]
    Policy(#[from] crate::policy::study::StudyError),
    /// What the training-time workbench says.
    #[error(transparent)]
    TrainingTime(Box<crate::training_time::study::StudyError>),
    /// The tuning workbench is asked in other ways.
    #[error("this workbench has no form")]
    NoForm,
    /// A file that is not offered.
    #[error("there is no file {0:?} to save")]
    NoFile(String),
    /// A message that another build wrote.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// What a workbench is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Studies what is loaded by these choices; what was computed before and still holds is kept. Answers
    /// [`Answer::Shown`].
    Choose(Choices),
    /// Does some of [`Jobs::rounds`], on any worker. Answers [`Answer::Done`].
    Do {
        /// From [`Jobs::basis`].
        basis: Vec<u8>,
        /// Numbers of jobs.
        jobs: Vec<u32>,
    },
    /// Takes what was done, in any order. Answers [`Answer::Shown`].
    Take(Vec<Vec<u8>>),
    /// Works on for a moment, where [`Jobs::goes_on`]; the moment before took so many ms, 0 where there was none. Answers
    /// [`Answer::Shown`].
    GoOn(u32),
    /// A file. Answers [`Answer::File`].
    Save(String),
    /// What moves over the network from an instant on, in ns, and the way of a chunk, in timelines that are cut. Answers
    /// [`Answer::Cut`].
    Cut(f64, Option<u32>),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`Question::Choose`], [`Question::Take`] and [`Question::GoOn`].
    Shown(Box<Shown>),
    /// Of [`Question::Do`]: opaque, for [`Question::Take`].
    Done(Vec<u8>),
    /// Of [`Question::Save`].
    File(TextFile),
    /// Of [`Question::Cut`]: a timeline for each of [`Network::timelines`], empty where that is whole.
    Cut(Vec<Timeline>),
}

/// All that is to be seen of a workbench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What can be chosen.
    pub form: Vec<Field>,
    /// What can be saved: key and label.
    pub files: Vec<(String, String)>,
    /// What was found so far.
    pub report: Report,
    /// What is left to be done.
    pub jobs: Jobs,
    /// Links and schedules to be drawn, where they are others than those before.
    pub network: Option<Box<Network>>,
    /// How many times longer a kernel takes beside collectives: another workbench can use it.
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

/// Work that any worker can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    /// What it needs.
    pub basis: Vec<u8>,
    /// Rounds of jobs, after each of which there is more to be told: numbers, and how long each takes relative to the
    /// others.
    pub rounds: Vec<Vec<(u32, f64)>>,
    /// Nothing that was done for earlier choices holds any more.
    pub is_anew: bool,
    /// The study itself can find something better by [`Question::GoOn`]: each takes a moment (a tenth of a second, or
    /// so), so that a search is left by asking no more, and nothing that was found is lost.
    pub goes_on: bool,
}

/// What is loaded, as a report names it.
#[derive(Clone, Debug, Default)]
pub struct Material<'a> {
    /// What was loaded, and what was left out.
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// What was loaded for a workbench, and what came out of it.
pub trait Study {
    /// Studies by these choices; what was computed before and still holds is kept.
    ///
    /// # Errors
    /// What was chosen can't be, or nothing is there to study.
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Takes in what a worker did.
    ///
    /// # Errors
    /// It comes from another build, or can't be used.
    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Draws conclusions from what was taken in: once, however much it was.
    ///
    /// # Errors
    /// Nothing is there to study.
    fn conclude(&mut self, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// Searches on for a moment, where [`Jobs::goes_on`]. Nothing here has a clock: `last_ms` is how long the moment before
    /// took, 0 where there was none.
    ///
    /// # Errors
    /// Nothing is there to study.
    fn go_on(&mut self, _last_ms: u32, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// What can be chosen, as it stands.
    ///
    /// # Errors
    /// Nothing is there to study.
    fn form(&self) -> Result<Vec<Field>, WorkbenchError>;

    /// What can be saved: key and label.
    fn files(&self) -> Vec<(String, String)>;

    /// One of these files.
    ///
    /// # Errors
    /// There is no such file, or it can't be made.
    fn file(&self, key: &str, progress: &mut dyn Progress) -> Result<TextFile, WorkbenchError>;

    /// What is left to be done.
    ///
    /// # Errors
    /// Nothing is there to study.
    fn jobs(&self) -> Result<Jobs, WorkbenchError>;

    /// Links and schedules to be drawn, where they are others than those that were given away before.
    fn network(&mut self) -> Option<Box<Network>> {
        None
    }

    /// How many times longer a kernel takes beside collectives, where that was predicted.
    fn slowdown(&self) -> Option<f64> {
        None
    }

    /// What moves from an instant on, in ns, in each timeline that is cut; and the way of a chunk.
    fn cut(&self, _from_ns: f64, _chunk: Option<u32>) -> Vec<Timeline> {
        Vec::new()
    }

    /// What was found so far.
    ///
    /// # Errors
    /// Nothing is there to study.
    fn report(&self, material: Material<'_>, contents: &Contents) -> Result<Report, WorkbenchError>;
}

/// What was loaded for all workbenches but tuning, each part under its file's number.
#[derive(Debug, Default)]
pub struct Parts {
    /// Tables of kernels, traces, and models of their slowdown.
    pub kernels: Vec<(u32, NamedPart)>,
    /// Samples and configurations of training steps; of an archive, all its files.
    pub samples: Vec<(u32, Vec<DroppedFile>)>,
    /// Logs of rewards.
    pub rewards: Vec<(u32, NamedLog)>,
    /// Link graphs, dumps of machines, schedules.
    pub topologies: Vec<(u32, String, Part)>,
}

impl Parts {
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

/// All workbenches that are asked in this way.
#[derive(Default)]
pub struct Studies {
    /// Kernels beside collectives.
    pub overlap: Overlap,
    /// Steps of training.
    pub training_time: TrainingTime,
    /// Logs of rewards.
    pub policy: Policy,
    /// Link graphs.
    pub topology: Topology,
    /// Samples of training steps that this worker did jobs from.
    kept: Option<training_time::Kept>,
}

impl Studies {
    /// Studies of what was loaded.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let kernels = bring_together(parts.kernels.into_iter().map(|(_, part)| part).collect());
        Self {
            overlap: Overlap::new(kernels),
            training_time: TrainingTime::new(Dropped::new(
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

    /// The same, to be asked.
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
    /// What stands in the way, in words for people.
    pub fn answer(
        &mut self,
        workbench: Workbench,
        question: Question,
        material: Material<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Answer, WorkbenchError> {
        if let Question::Do { basis, jobs } = question {
            let done = match workbench {
                Workbench::TrainingTime => training_time::work(&mut self.kept, &basis, &jobs, progress),
                _ => work(workbench, &basis, &jobs, progress),
            };
            return Ok(Answer::Done(done?));
        }
        let study = self.of_mut(workbench).ok_or(WorkbenchError::NoForm)?;
        match question {
            Question::Choose(choices) => study.choose(choices, progress)?,
            Question::Take(done) => {
                done.iter().try_for_each(|done| study.take(done, progress))?;
                study.conclude(progress)?;
            }
            Question::GoOn(last_ms) => study.go_on(last_ms, progress)?,
            Question::Cut(from_ns, chunk) => return Ok(Answer::Cut(study.cut(from_ns, chunk))),
            Question::Save(key) => return Ok(Answer::File(study.file(&key, progress)?)),
            Question::Do { .. } => {}
        }
        // What is deployed is saved by its own button.
        let contents = Contents { workbench, deployables: false, ..Contents::whole() };
        let network = study.network();
        Ok(Answer::Shown(Box::new(Shown {
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
/// The basis comes from another build, or can't be worked with.
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
