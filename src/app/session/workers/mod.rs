//! The workers: one that holds the loaded files, and a pool for jobs; and what the page remembers about their work.

pub mod client;
pub mod failure;
pub mod pool;

use client::Client;
use pool::Pool;

use crate::{form::Choices, tuning::aggregate::Target};

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
    /// The number of workers that ended without a job since the user asked for work; stops endless restarts.
    pub idle_crashes: u32,
    /// Questions beside the run that ended a worker with the loaded files.
    pub fatal_questions: Vec<Choices>,
    /// The column that was read as the measurement; `None` before anything was read.
    pub target: Option<Target>,
    /// Whether other files are open than those whose results are shown.
    pub files_changed: bool,
}
