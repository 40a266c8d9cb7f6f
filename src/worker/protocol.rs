//! What the page and a worker say to each other.
//!
//! A conversation: the worker says [`FromWorker::Ready`] with its [`BUILD`]; the page sends [`ToWorker`] with a
//! job number and a [`Request`]; the worker answers with any number of `Progress` and `Reading` and one `Done` or
//! `Failed` for that job. It does one job after the other, in the order in which they came. A job is cancelled by
//! terminating the worker. Messages travel as postcard bytes; the handles of files travel beside them, in the order of
//! [`Request::Load`]'s files.
//!
//! One worker holds what was loaded and learnt, and answers at any time. Further workers with the same code do jobs,
//! such as folds of a validation, from the basis that [`Jobs`](crate::workbench::Jobs) carries; the page passes their
//! results to the first one. So jobs run on several cores, and can be cancelled without losing what was loaded.

use serde::{Deserialize, Serialize};

use crate::{
    intake::{
        FileReport,
        files::{DocumentFiles, FileToLoad},
        lines::FileLines,
        unpack::UnpackedFile,
    },
    measure::{MeasureCommand, MeasureValues, UsedValues},
    progress::Step,
    report::{self, snapshot::Snapshot},
    tuning::{
        aggregate::Target,
        result::{Group, Recommendation},
        sets::{SetChoice, Sets},
    },
    workbench,
};

/// Tells two builds apart: page and worker must agree on it before they talk.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+protocol.9");

/// A message from the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToWorker {
    /// The number of the job, which the replies carry.
    pub job: u32,
    /// The request.
    pub request: Request,
}

/// A message from a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker has started.
    Ready {
        /// The worker's [`BUILD`].
        build: String,
    },
    /// A job has made progress.
    Progress {
        /// The number of the job.
        job: u32,
        /// The progress.
        step: Step,
    },
    /// A job begins to read a file, or has read all of them. If the worker crashes, the last of these was being read.
    Reading {
        /// The number of the file that is being read.
        file: Option<u32>,
    },
    /// A job is done.
    Done {
        /// The number of the job.
        job: u32,
        /// The response.
        response: Box<Response>,
    },
    /// A job failed.
    Failed {
        /// The number of the job.
        job: u32,
        /// The reason and remedy, in a sentence for users.
        message: String,
    },
    /// The worker panicked and is dead; where, for a bug report.
    Panicked {
        /// The message and location of the panic.
        message: String,
    },
}

/// A request to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Checks that the worker responds. Answered by [`Response::Pong`].
    Ping,
    /// Reads sample texts in advance: browsers compile WebAssembly functions at their first call, and the first dropped
    /// file would have to wait for that. Answered by [`Response::Pong`].
    Rehearse,
    /// Reads these files and forgets all earlier ones. Answered by [`Response::Loaded`].
    Load {
        /// The files, in the order of the handles.
        files: Vec<FileToLoad>,
        /// The number of a row that counts as the measurement: recomputed from the time, or as printed.
        target: Target,
        /// The set of measurements to study, if there are several.
        set: SetChoice,
    },
    /// Unpacks an archive. Answered by [`Response::Unpacked`].
    Unpack(FileToLoad),
    /// A question to a workbench. Answered by [`Response::Study`].
    Study {
        /// The workbench.
        workbench: report::Workbench,
        /// The question.
        question: Box<workbench::WorkbenchQuestion>,
        /// Whether the page holds what this worker showed last of the workbench.
        is_held: bool,
    },
    /// Takes measured states to compare with ([`Jobs::files`](workbench::Jobs::files)). Files are read once more; their
    /// handles travel beside the request. Answered by [`Response::Pong`].
    TakeStates(Vec<GivenState>),
    /// The report on what was found. Answered by [`Response::Report`].
    Report(report::Contents),
    /// The report of [`Request::Report`] as a file or as links. Answered by [`Response::Written`].
    WriteReport {
        /// The parts to include.
        contents: report::Contents,
        /// The format, the user's title and notes, and the address of the page.
        options: report::WriteOptions,
    },
    /// An opened report, written as a file or as links. Answered by [`Response::Written`].
    WriteOpened {
        /// The report.
        report: Box<report::Report>,
        /// The format, the user's title and notes, and the address of the page.
        options: report::WriteOptions,
    },
    /// A loaded report. Answered by [`Response::Report`].
    OpenReport {
        /// The number of the file.
        file: u32,
    },
    /// A line of a file, whose handle travels beside the request. Answered by [`Response::Lines`].
    ReadLine(u32),
    /// The commands that make the files of a workbench. Answered by [`Response::MeasureCommands`].
    MeasureCommands(report::Workbench, MeasureValues),
}

/// A measured state beside the loaded measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GivenState {
    /// A loaded file, by itself.
    File(FileToLoad),
    /// The snapshot within the report of a link, with the report's title.
    Link(String, Box<Snapshot>),
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "one at a time, and FromWorker boxes it")]
pub enum Response {
    /// The response to [`Request::Ping`], [`Request::Rehearse`] and [`Request::TakeStates`].
    Pong,
    /// The response to [`Request::Load`].
    Loaded(Loaded),
    /// The response to [`Request::Unpack`]: the files of the archive, whose contents travel beside it in their order.
    Unpacked(Vec<UnpackedFile>),
    /// The response to [`Request::Study`].
    Study(Box<workbench::WorkbenchAnswer>),
    /// The response to [`Request::Report`] and [`Request::OpenReport`].
    Report(Box<report::Report>),
    /// The response to [`Request::WriteReport`] and [`Request::WriteOpened`].
    Written(report::Written),
    /// The response to [`Request::ReadLine`]: the line with those around it.
    Lines(FileLines),
    /// The response to [`Request::MeasureCommands`]: the commands, filled, and what they depend on.
    MeasureCommands(Vec<MeasureCommand<String>>, UsedValues),
}

/// The result of loading files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// The report on each file.
    pub files: Vec<FileReport>,
    /// The measured groups; empty if no measurement could be read.
    pub groups: Vec<Group>,
    /// The sets of measurements that are not pooled, and the one that is studied.
    pub sets: Sets,
    /// The measured winners, which are the answer before any model is trained.
    pub winners: Vec<Recommendation>,
    /// Notes about all files, such as that a sweep has winners only, or runs without defaults.
    pub notes: Vec<String>,
    /// The files that are not sweeps.
    pub documents: DocumentFiles,
}
