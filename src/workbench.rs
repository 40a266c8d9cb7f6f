//! The contract between a workbench and the page: choices in, a form and a report out, jobs that any worker can do in
//! between. The page draws any workbench by it; [`tuning`](crate::tuning) trains and answers by messages of its own.
//!
//! A [`Study`] holds what was loaded for a workbench, and what came out of it. The page sends
//! [`WorkbenchQuestion::Choose`], shows what comes back, has the [`Jobs`] done by other workers, gives the results in
//! with [`WorkbenchQuestion::Take`], and shows what comes back then, until nothing is left to do. A search that one
//! worker does alone is continued by [`WorkbenchQuestion::GoOn`].
//!
//! Which workbenches there are is said in [`registry`](crate::registry).

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    form::{ChoiceError, Choices, Field},
    progress::Progress,
    report::{Contents, LoadedFile, Report, TextFile},
    text::Problems,
};

/// The reason why a question can't be answered. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// A choice is not valid.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The workbench can't answer; the error is its own.
    #[error(transparent)]
    Study(Box<dyn std::error::Error + Send + Sync>),
    /// The workbench has no jobs.
    #[error("this workbench has no form")]
    NoForm,
    /// There is no file with this key.
    #[error("there is no file {0:?} to save")]
    NoFile(String),
    /// There is no more of an attachment than was given.
    #[error("there is nothing more to show")]
    NoDetail,
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
    /// More of an attachment, which [`Study::detail`] gives for a request of the attachment's kind. Answered by
    /// [`WorkbenchAnswer::Detail`].
    Detail(Attachment),
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
    /// The answer to [`WorkbenchQuestion::Detail`].
    Detail(Attachment),
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
    /// What the page draws or uses beside the report: of each kind at most one.
    pub attachments: Vec<Attachment>,
}

impl WorkbenchView {
    /// The content of the attachment of a kind; `None` where there is none, or it comes from another build.
    #[must_use]
    pub fn attachment<T: DeserializeOwned>(&self, kind: AttachmentKind) -> Option<T> {
        self.attachments.iter().find(|attachment| attachment.kind == kind)?.read().ok()
    }
}

/// What the content of an [`Attachment`] is, and so what type it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachmentKind {
    /// A link graph with schedules on it: [`Network`](crate::topology::network::Network). A detail is asked for by a
    /// [`CutRequest`](crate::topology::network::CutRequest) and is a timeline for each of the network's that is cut.
    Network,
    /// Series that mark points of the chart of busbw over size, of a workload: `(Workload, Vec<Series>)`.
    Marks,
    /// The factor by which a kernel is slower at the same time as collectives, for another workbench: an `f64`.
    Slowdown,
}

/// A part of an answer that is neither form nor report, which any workbench may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// The value in postcard's format.
    content: Vec<u8>,
}

impl Attachment {
    /// An attachment with this content.
    ///
    /// # Errors
    /// Returns an error if it can't be written.
    pub fn new(kind: AttachmentKind, content: &impl Serialize) -> Result<Self, postcard::Error> {
        Ok(Self { kind, content: postcard::to_allocvec(content)? })
    }

    /// The content.
    ///
    /// # Errors
    /// Returns an error if it is of another type, or of another build.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, postcard::Error> {
        postcard::from_bytes(&self.content)
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

    /// What is drawn or used beside the report. A network is given only where it changed since this was asked last.
    ///
    /// # Errors
    /// Returns an error if an attachment can't be written.
    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        Ok(Vec::new())
    }

    /// More of an attachment, for a request of the same kind.
    ///
    /// # Errors
    /// Returns [`WorkbenchError::NoDetail`] where there is no more of this kind, or an error if the request comes from
    /// another build.
    fn detail(&self, _: &Attachment) -> Result<Attachment, WorkbenchError> {
        Err(WorkbenchError::NoDetail)
    }

    /// The part of the report that the page shows by the choices; as long as a workbench has no panels, all of it.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn shown(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        self.report(material, contents)
    }

    /// The report on the results so far.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError>;
}
