//! The session: open files, tasks, notices and workers of the page, which workbench is shown, and the state of each
//! workbench. What the page does with them stands in the modules: [`runs`] orders the work, [`reading`] reads the open
//! files, [`training`] trains and validates the model of the tuning workbench, [`studies`] answers the other
//! workbenches, [`questions`] asks the worker beside the run.

mod notice;
mod open_file;
mod questions;
mod reading;
mod runs;
mod studies;
mod task;
mod training;
mod tuning;
mod workbench;
pub mod workers;

pub use notice::{Notice, NoticeAction};
pub use open_file::OpenFile;
pub use task::Task;
pub use tuning::{AnswerBasis, TuningState};
pub use workbench::{StudyState, WorkbenchState};
pub use workers::{WorkerMemory, client::JobKind, failure::Failure};

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    form::Choices,
    intake::{FileReport, MappingRequest},
    report::Workbench,
    tuning::address::{Address, Panel},
    workbench::needs_files,
    worker::protocol::DocumentFiles,
};
use workers::{Workers, client::Client, pool::Pool};

/// The session. Copies share it.
#[derive(Clone, Copy)]
pub struct Session {
    /// Open files, in the order in which they came.
    pub files: RwSignal<Vec<OpenFile>, LocalStorage>,
    /// Which workbench is shown.
    pub workbench: RwSignal<Workbench>,
    /// The state of the tuning workbench.
    pub tuning: TuningState,
    /// What is chosen and shown of each workbench, in the order of [`Workbench::ALL`].
    workbenches: [WorkbenchState; Workbench::ALL.len()],
    /// What became of each file.
    pub reports: RwSignal<Arc<Vec<FileReport>>>,
    /// The loaded files that are no sweep.
    pub documents: RwSignal<Arc<DocumentFiles>>,
    /// The run: loading, training, validating.
    pub task: RwSignal<Option<Task>>,
    /// A question beside the run.
    pub side_task: RwSignal<Option<Task>>,
    /// A worker at work has said nothing for long.
    pub is_silent: RwSignal<bool>,
    /// Questions under way that need no progress bar.
    pub quick_jobs: RwSignal<u32>,
    /// What the user must know.
    pub notices: RwSignal<Vec<Notice>>,
    /// The file whose columns are asked for, and what is known of them.
    pub asking: RwSignal<Option<(u32, MappingRequest)>>,
    /// What screen readers are told.
    pub announcement: RwSignal<String>,
    /// What the worker has in its memory.
    pub worker_memory: RwSignal<WorkerMemory>,
    workers: StoredValue<Workers, LocalStorage>,
}

impl Session {
    /// An empty session that shows `workbench` as the address says.
    pub fn new(address: Address, panel: Panel, workbench: Workbench, choices: &Choices) -> Self {
        let files = RwSignal::new_local(Vec::<OpenFile>::new());
        let session = Self {
            files,
            workbench: RwSignal::new(workbench),
            tuning: TuningState::new(files, address, panel),
            workbenches: std::array::from_fn(|index| {
                WorkbenchState::new(if index == workbench as usize { choices.clone() } else { Choices::default() })
            }),
            reports: RwSignal::default(),
            documents: RwSignal::default(),
            task: RwSignal::default(),
            side_task: RwSignal::default(),
            is_silent: RwSignal::default(),
            quick_jobs: RwSignal::default(),
            notices: RwSignal::default(),
            asking: RwSignal::default(),
            announcement: RwSignal::default(),
            worker_memory: RwSignal::default(),
            workers: StoredValue::new_local(Workers {
                main: Client::new(|_| ()),
                pool: Pool::new(window().navigator().hardware_concurrency()),
                run: 0,
                last_id: 0,
                unvalidated: None,
                view_again: false,
                view_asked: false,
                idle_crashes: 0,
                fatal_questions: Vec::new(),
                files_changed: false,
            }),
        };
        session
            .workers
            .update_value(|workers| workers.main = Client::new(move |failure| session.on_idle_crash(&failure)));
        session
    }

    /// Whether anything is going on.
    pub fn is_busy(self) -> bool {
        self.current_task().is_some() || self.quick_jobs.get() > 0
    }

    /// What is going on: the run, or else the question beside it.
    pub fn current_task(self) -> Option<Task> {
        self.task.get().or_else(|| self.side_task.get())
    }

    /// An address as it came from the URL, with what it leaves open chosen.
    pub fn resolved(self, address: Address) -> Address {
        if address.is_particular() || !self.tuning.has_data() {
            return address;
        }
        let example = untrack(move || self.shows_example());
        let sets = self.tuning.sets.get_untracked();
        let chosen = address.resolve(&self.tuning.groups.read_untracked(), &sets, &self.tuning.answer.read_untracked());
        chosen.map_or(address, |workload| Address::of(&workload, sets.chosen, example))
    }

    /// Whether the example is all that is open.
    pub fn shows_example(self) -> bool {
        self.files.with(|files| !files.is_empty() && files.iter().all(|file| file.is_example))
    }

    /// Whether any file is open.
    pub fn has_files(self) -> bool {
        self.files.with(|files| !files.is_empty())
    }

    pub(super) fn next_id(self) -> u32 {
        self.workers
            .try_update_value(|workers| {
                workers.last_id += 1;
                workers.last_id
            })
            .unwrap_or_default()
    }

    /// What is shown of a workbench.
    pub fn state_of(self, workbench: Workbench) -> WorkbenchState {
        self.workbenches[workbench as usize]
    }

    /// Whether there is nothing to show before something is loaded.
    pub fn needs_files(self, workbench: Workbench) -> bool {
        self.state_of(workbench).choices.with(|choices| needs_files(workbench, choices))
    }

    /// Whether there is anything to study: loaded files, or an example that is made.
    pub fn can_study(self, workbench: Workbench) -> bool {
        !self.needs_files(workbench) || self.documents.with(|all| all.has(workbench))
    }
}
