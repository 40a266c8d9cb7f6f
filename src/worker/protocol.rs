//! What the page and a worker say to each other.
//!
//! A conversation: the worker says [`FromWorker::Ready`] with its [`BUILD`]; the page sends [`ToWorker`] with a
//! job number and a [`Request`]; the worker answers with any number of `Progress` and `Reading` and one `Done` or
//! `Failed` for that job. It does one job after the other, in the order in which they came. A job is cancelled by terminating the worker. Messages travel as postcard bytes; the handles of
//! files travel beside them, in the order of [`Request::Load`]'s files.
//!
//! One worker holds the document (files, model, evaluation) and answers views at any time. Folds are computed by
//! further workers of the same code, from the training rows that `Trained` carries, and come back to the first
//! through the page: so validation runs on several cores and can be cancelled without losing anything.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Scale, Workload},
    intake::{FileReport, Mapping},
    progress::Step,
    report,
    text::Listing,
    tuning::{
        aggregate::Target,
        change, comparison, conf, coverage,
        heat_map::Against,
        hotspots,
        parameters::{Parameters, SearchLimits},
        plan, record,
        result::{Evaluation, Group, Importance, Recommendation, View},
        sets::{Choice, Sets},
        snapshot::Snapshot,
    },
    workbench,
};

/// Tells two builds apart: page and worker must agree on it before they talk.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+protocol.3");

/// From the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToWorker {
    /// Numbers the job; answers carry it.
    pub job: u32,
    /// What to do.
    pub request: Request,
}

/// From a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker has started.
    Ready {
        /// Its [`BUILD`].
        build: String,
    },
    /// A job goes on.
    Progress {
        /// Which job.
        job: u32,
        /// How far it is.
        step: Step,
    },
    /// A job reads a file from now on, or none any more: where the worker dies, this file was it.
    Reading {
        /// The file's number.
        file: Option<u32>,
    },
    /// A job is done.
    Done {
        /// Which job.
        job: u32,
        /// What came out.
        response: Box<Response>,
    },
    /// A job can't be done; one sentence for people.
    Failed {
        /// Which job.
        job: u32,
        /// Why, and how to mend it.
        message: String,
    },
    /// The worker panicked and is dead; where, for a bug report.
    Panicked {
        /// The panic's message and place.
        message: String,
    },
}

/// What a worker can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Answers [`Response::Pong`]: is anybody there?
    Ping,
    /// Reads texts that nobody dropped, so that reading is no longer slow when somebody does: code that never ran is
    /// compiled when it first does. Answers [`Response::Pong`].
    Rehearse,
    /// Reads these files and forgets all earlier ones. Answers [`Response::Loaded`].
    Load {
        /// The files, in the order of the handles.
        files: Vec<FileToLoad>,
        /// Which number of a row is the measurement.
        target: Target,
        /// Which set of measurements to study, where there are several.
        set: Choice,
    },
    /// Learns from the loaded sweep and answers every measured workload; where only the search's limits differ
    /// from the last training, the model is kept. Answers [`Response::Trained`].
    Train {
        /// What to learn, and where to search.
        parameters: Parameters,
    },
    /// Computes some folds from the training rows alone, on any worker. Answers [`Response::FoldsDone`].
    Folds {
        /// From [`Trained::training`].
        training: Vec<u8>,
        /// The parameters of the training.
        parameters: Parameters,
        /// Which of [`Trained::folds`], by index.
        folds: Vec<u32>,
    },
    /// Takes all folds together, in any order. Answers [`Response::Validated`].
    Validate {
        /// What [`Response::FoldsDone`] carried, one per call.
        folds: Vec<Vec<u8>>,
    },
    /// The charts of one workload. Answers [`Response::View`].
    View {
        /// Which; its size needs not be a measured one.
        workload: Workload,
        /// What the heat map compares with.
        against: Against,
    },
    /// Answers for workloads of any size. Answers [`Response::Recommended`].
    Recommend {
        /// The collective.
        collective: Collective,
        /// Nodes and ranks.
        scale: Scale,
        /// Sizes in bytes.
        sizes: Vec<u64>,
        /// Where to search, for this question only.
        search: SearchLimits,
    },
    /// Which features matter. Answers [`Response::Importances`].
    Importances,
    /// The model as a file. Answers [`Response::ModelFile`].
    SaveModel,
    /// The runs behind a workload's points, and what stalled. Answers [`Response::Record`].
    Record(record::Question),
    /// Where curves of busbw over size dip. Answers [`Response::Hotspots`].
    Hotspots(hotspots::Question),
    /// About tuner files, to be read or to be written. Answers [`Response::Conf`].
    Conf(conf::question::Question),
    /// The sizes that a job sends. Answers [`Response::Coverage`].
    Coverage(coverage::Question),
    /// Which rules of a tuner file an A/B campaign lets stand. Answers [`Response::Compared`].
    Compare(comparison::Question),
    /// The next A/B campaign. Answers [`Response::Campaign`].
    Campaign(comparison::script::Campaign),
    /// What to measure next. Answers [`Response::Plan`].
    Plan(plan::Question),
    /// A workbench other than tuning. Answers [`Response::Study`].
    Study {
        /// Which.
        workbench: report::Workbench,
        /// What it is asked.
        question: Box<workbench::Question>,
    },
    /// What was found, in the form that travels. Answers [`Response::Report`].
    Report(report::Contents),
    /// What changed between two measured states. Answers [`Response::Changed`].
    Change {
        /// The state before.
        before: Side,
        /// The state after.
        after: Side,
        /// What is asked.
        question: change::Question,
    },
    /// The same as a file or as a link. Answers [`Response::Written`].
    WriteReport {
        /// What goes into it.
        contents: report::Contents,
        /// As what it leaves.
        form: report::Form,
    },
    /// A report that was opened, as a file or as a link again. Answers [`Response::Written`].
    WriteOpened {
        /// It.
        report: Box<report::Report>,
        /// As what it leaves.
        form: report::Form,
    },
    /// A loaded report. Answers [`Response::Report`].
    OpenReport {
        /// The file's number.
        file: u32,
    },
    /// A loaded table that can only be looked at. Answers [`Response::Table`].
    Table {
        /// The file's number.
        file: u32,
    },
}

/// One of two measured states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Side {
    /// What is loaded, and what was answered last.
    Loaded,
    /// Sweeps that are read for this question alone, or one report. Their handles travel beside the request, those of the
    /// state before first.
    Files(Vec<FileToLoad>),
    /// What an opened report carries.
    Snapshot(Box<Snapshot>),
}

/// The loaded files that are no sweep, by their numbers, in the order in which they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFiles {
    /// Tuner files.
    pub confs: Vec<u32>,
    /// Logs of jobs.
    pub jobs: Vec<u32>,
    /// Comparisons with the default.
    pub comparisons: Vec<u32>,
    /// Those of the other workbenches, with which it is.
    pub studied: Vec<(report::Workbench, u32)>,
    /// Tables to look at.
    pub listings: Vec<u32>,
    /// Reports.
    pub reports: Vec<u32>,
}

impl DocumentFiles {
    /// Those of a workbench other than tuning.
    pub fn of(&self, workbench: report::Workbench) -> impl Iterator<Item = u32> {
        self.studied.iter().filter(move |(of, _)| *of == workbench).map(|(_, file)| *file)
    }

    /// Something was loaded for a workbench other than tuning.
    #[must_use]
    pub fn has(&self, workbench: report::Workbench) -> bool {
        self.of(workbench).next().is_some()
    }
}

/// One file of [`Request::Load`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileToLoad {
    /// The page's number for it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The answer of the mapping dialog, if one was asked for.
    pub mapping: Option<Mapping>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "one at a time, and FromWorker boxes it")]
pub enum Response {
    /// Of [`Request::Ping`] and [`Request::Rehearse`].
    Pong,
    /// Of [`Request::Load`].
    Loaded(Loaded),
    /// Of [`Request::Train`].
    Trained(Trained),
    /// Of [`Request::Folds`]: opaque, for [`Request::Validate`].
    FoldsDone(Vec<u8>),
    /// Of [`Request::Validate`].
    Validated(Validated),
    /// Of [`Request::View`].
    View(View),
    /// Of [`Request::Recommend`].
    Recommended(Vec<Recommendation>),
    /// Of [`Request::Importances`].
    Importances(Vec<Importance>),
    /// Of [`Request::SaveModel`]: the file's text.
    ModelFile(String),
    /// Of [`Request::Record`].
    Record(record::Answer),
    /// Of [`Request::Hotspots`].
    Hotspots(hotspots::Answer),
    /// Of [`Request::Conf`].
    Conf(conf::question::Answer),
    /// Of [`Request::Coverage`].
    Coverage(Box<coverage::Answer>),
    /// Of [`Request::Compare`].
    Compared(comparison::Answer),
    /// Of [`Request::Campaign`]: a bash script.
    Campaign(String),
    /// Of [`Request::Plan`].
    Plan(plan::Answer),
    /// Of [`Request::Study`].
    Study(Box<workbench::Answer>),
    /// Of [`Request::Report`] and [`Request::OpenReport`].
    Report(Box<report::Report>),
    /// Of [`Request::Change`].
    Changed(Box<change::Answer>),
    /// Of [`Request::WriteReport`] and [`Request::WriteOpened`].
    Written(report::Written),
    /// Of [`Request::Table`]; empty where the file is not loaded any more.
    Table(Listing),
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// What became of each file.
    pub files: Vec<FileReport>,
    /// What was measured; empty when nothing could be read.
    pub groups: Vec<Group>,
    /// The sets of measurements that are kept apart, and which of them all this is about.
    pub sets: Sets,
    /// The measured winners: the first answer, before any model.
    pub winners: Vec<Recommendation>,
    /// A model file was among the files: its parameters, to train with.
    pub parameters: Option<Parameters>,
    /// What must be known about the whole: a sweep of winners only, runs without defaults.
    pub notes: Vec<String>,
    /// What is no sweep.
    pub documents: DocumentFiles,
}

/// What was learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// What to deploy, for every measured workload.
    pub answer: Vec<Recommendation>,
    /// What was measured, without what is set aside now.
    pub groups: Vec<Group>,
    /// The training rows, for [`Request::Folds`].
    pub training: Vec<u8>,
    /// How long each fold is expected to take, relative to the others; its index names the fold.
    pub folds: Vec<f64>,
    /// What must be known: a model file whose hash differs, rows thinned.
    pub notes: Vec<String>,
}

/// How far to trust it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// Scores of the model and the baselines.
    pub evaluation: Evaluation,
    /// The answer again, with intervals, and from a baseline where that has the lower regret.
    pub answer: Vec<Recommendation>,
    /// What must be known: a baseline took over.
    pub notes: Vec<String>,
}
