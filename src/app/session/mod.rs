//! The session: open files, tasks, notices and workers of the page, which workbench is shown, and the state of each
//! workbench.
//!
//! The methods of [`Session`] are grouped by what they do: `runs` starts, cancels and restarts the work of the workers,
//! `reading` reads the open files, `training` trains and validates the model of the tuning workbench, `studies` answers
//! the other workbenches, `questions` asks the worker while no run needs it.

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
    intake::{FileReport, MappingRequest, files::DocumentFiles},
    registry::needs_files,
    report::Workbench,
    tuning::address::{Address, Panel},
};
use workers::{Workers, client::Client, pool::Pool};

/// The session. Copies share it.
#[derive(Clone, Copy)]
pub struct Session {
    /// The open files, in the order in which they were opened.
    pub files: RwSignal<Vec<OpenFile>, LocalStorage>,
    /// The workbench that is shown.
    pub workbench: RwSignal<Workbench>,
    /// The state of the tuning workbench.
    pub tuning: TuningState,
    /// The states of the other workbenches, in the order of [`Workbench::ALL`]; that of tuning is unused.
    workbenches: [WorkbenchState; Workbench::ALL.len()],
    /// The result of reading each file.
    pub reports: RwSignal<Arc<Vec<FileReport>>>,
    /// The loaded files that are not sweeps.
    pub documents: RwSignal<Arc<DocumentFiles>>,
    /// The task of the current run: reading, training, validating or a study.
    pub task: RwSignal<Option<Task>>,
    /// The task of a question beside the run.
    pub side_task: RwSignal<Option<Task>>,
    /// Whether a working worker has sent no message for long.
    pub is_silent: RwSignal<bool>,
    /// The number of questions under way that show no progress bar.
    pub quick_jobs: RwSignal<u32>,
    /// The notices on the page.
    pub notices: RwSignal<Vec<Notice>>,
    /// The file whose columns the dialog asks for, and what is known of them.
    pub asking: RwSignal<Option<(u32, MappingRequest)>>,
    /// The text for screen readers.
    pub announcement: RwSignal<String>,
    /// The data that the main worker holds in memory.
    pub worker_memory: RwSignal<WorkerMemory>,
    workers: StoredValue<Workers, LocalStorage>,
}

impl Session {
    /// A session without files that shows `workbench` with the choices of the address.
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

    /// Whether any task or question is under way.
    pub fn is_busy(self) -> bool {
        self.current_task().is_some() || self.quick_jobs.get() > 0
    }

    /// The task of the run, otherwise that of the question beside it.
    pub fn current_task(self) -> Option<Task> {
        self.task.get().or_else(|| self.side_task.get())
    }

    /// The address with the parts that it leaves open filled in, if the data is there.
    pub fn resolved(self, address: Address) -> Address {
        if address.is_particular() || !self.tuning.has_data() {
            return address;
        }
        let example = untrack(move || self.shows_example());
        let sets = self.tuning.sets.get_untracked();
        let chosen = address.resolve(&self.tuning.groups.read_untracked(), &sets, &self.tuning.answer.read_untracked());
        chosen.map_or(address, |workload| Address::of(&workload, sets.chosen, example))
    }

    /// Whether only the example is open.
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

    /// The state of a workbench other than tuning.
    pub fn state_of(self, workbench: Workbench) -> WorkbenchState {
        self.workbenches[workbench as usize]
    }

    /// Whether the workbench shows nothing without files, with the current choices.
    pub fn needs_files(self, workbench: Workbench) -> bool {
        self.state_of(workbench).choices.with(|choices| needs_files(workbench, choices))
    }

    /// Whether the workbench has something to study: loaded files, or data that it generates.
    pub fn can_study(self, workbench: Workbench) -> bool {
        !self.needs_files(workbench) || self.documents.with(|all| all.has(workbench))
    }
}
