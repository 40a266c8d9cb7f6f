//! The workers: one that holds what was loaded, and a pool for jobs; and what the page remembers about their work.

pub mod client;
pub mod failure;
pub mod pool;

use client::Client;
use js_sys::ArrayBuffer;
use pool::Pool;

use crate::{tuning::parameters::Parameters, worker::protocol::Request};

/// What the worker has in its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkerMemory {
    /// Nothing: it is new.
    #[default]
    Nothing,
    /// The sweep.
    Sweep,
    /// The sweep and a model.
    Model,
    /// The sweep, a model and its evaluation.
    Evaluation,
}

/// The workers, and what the page remembers about their work.
pub struct Workers {
    /// Holds the document.
    pub main: Client,
    /// Compute folds.
    pub pool: Pool,
    /// Counts the runs: what an earlier one brings is dropped.
    pub run: u32,
    /// The last id given.
    pub last_id: u32,
    /// What the last training left to validate, until that is done.
    pub unvalidated: Option<Unvalidated>,
    /// The view was asked for while another was under way.
    pub view_again: bool,
    /// A view is under way.
    pub view_asked: bool,
    /// Workers that died without a job since somebody asked for work: brings no endless revival.
    pub idle_crashes: u32,
    /// Questions beside the run at which workers ended that had these files.
    pub fatal_questions: Vec<Request>,
    /// Other files are open than those that are shown.
    pub files_changed: bool,
}

/// A training that was not validated yet.
#[derive(Clone)]
pub struct Unvalidated {
    /// Its rows, as the worker wrote them.
    pub training: ArrayBuffer,
    /// What it was trained with.
    pub parameters: Parameters,
    /// What each fold costs, relative to the others.
    pub fold_costs: Vec<f64>,
}
