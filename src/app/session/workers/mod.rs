//! The workers: one that holds the loaded files, and a pool for jobs; and what the page remembers about their work.

pub mod client;
pub mod failure;
pub mod pool;

use client::Client;
use js_sys::ArrayBuffer;
use pool::Pool;

use crate::{tuning::parameters::Parameters, worker::protocol::Request};

/// The data that the main worker holds in memory. Each value includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkerMemory {
    /// Nothing: the worker is new.
    #[default]
    Nothing,
    /// The rows of the loaded files.
    Sweep,
    /// The model of the last training.
    Model,
    /// The evaluation of the model.
    Evaluation,
}

/// The workers, and what the page remembers about their work.
pub struct Workers {
    /// The worker that holds the loaded files.
    pub main: Client,
    /// The workers for jobs, such as validation folds.
    pub pool: Pool,
    /// The number of the current run; results of earlier runs are discarded.
    pub run: u32,
    /// The last number given to a file or notice.
    pub last_id: u32,
    /// The last training, until it has been validated.
    pub unvalidated: Option<Unvalidated>,
    /// Whether the charts are to be asked for again when the pending answer comes.
    pub view_again: bool,
    /// Whether charts were asked for and have not come.
    pub view_asked: bool,
    /// The number of workers that ended without a job since the user asked for work; stops endless restarts.
    pub idle_crashes: u32,
    /// Questions beside the run that ended a worker with the loaded files.
    pub fatal_questions: Vec<Request>,
    /// Whether other files are open than those whose results are shown.
    pub files_changed: bool,
}

/// A training that has not been validated.
#[derive(Clone)]
pub struct Unvalidated {
    /// The training rows, encoded by the worker.
    pub training: ArrayBuffer,
    /// The parameters of the training.
    pub parameters: Parameters,
    /// The relative cost of each validation fold.
    pub fold_costs: Vec<f64>,
}
