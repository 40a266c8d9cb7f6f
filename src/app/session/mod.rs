//! The session: open files, tasks, notices and workers of the page, which workbench is shown, and the state of each
//! workbench.
//!
//! The methods of [`Session`] are grouped by what they do: `runs` starts, cancels and restarts the work of the workers,
//! `reading` reads the open files, `studies` answers the workbenches.

mod notice;
mod open_file;
mod reading;
mod runs;
mod studies;
mod task;
mod tuning;
mod workbench;
pub mod workers;

pub use notice::{Notice, NoticeAction};
pub use open_file::OpenFile;
pub use studies::study_request;
pub use task::Task;
pub use tuning::TuningState;
pub use workbench::{StudyState, WorkbenchState};
pub use workers::{
    client::{Answer, JobKind},
    failure::Failure,
};

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::signal::RwSignal,
    form::Choices,
    intake::{FileReport, MappingRequest, files::DocumentFiles},
    registry::needs_files,
    report::Workbench,
    tuning::address::Address,
};
use workers::{Workers, client::Client, pool::Pool};

/// The session. Copies share it.
#[derive(Clone, Copy)]
pub struct Session {
    /// The open files, in the order in which they were opened.
    pub files: leptos::prelude::RwSignal<Vec<OpenFile>, LocalStorage>,
    /// The workbench that is shown.
    pub workbench: RwSignal<Workbench>,
    /// The state of the tuning workbench.
    pub tuning: TuningState,
    /// The states of the workbenches, in the order of [`Workbench::ALL`].
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
    /// Whether the main worker holds the open files.
    pub is_in_worker: RwSignal<bool>,
    workers: StoredValue<Workers, LocalStorage>,
}

impl Session {
    /// A session without files that shows `workbench` with the choices of the address, which may be the example's.
    pub fn new(workbench: Workbench, choices: &Choices, names_example: bool) -> Self {
        let files = leptos::prelude::RwSignal::new_local(Vec::<OpenFile>::new());
        let workbenches: [WorkbenchState; Workbench::ALL.len()] = std::array::from_fn(|index| {
            WorkbenchState::new(if index == workbench as usize { choices.clone() } else { Choices::default() })
        });
        let of_tuning = workbenches[Workbench::Tuning as usize].choices;
        let session = Self {
            files,
            workbench: RwSignal::new(workbench),
            tuning: TuningState::new(files, of_tuning, RwSignal::new(names_example)),
            workbenches,
            reports: RwSignal::default(),
            documents: RwSignal::default(),
            task: RwSignal::default(),
            side_task: RwSignal::default(),
            is_silent: RwSignal::default(),
            quick_jobs: RwSignal::default(),
            notices: RwSignal::default(),
            asking: RwSignal::default(),
            announcement: RwSignal::default(),
            is_in_worker: RwSignal::default(),
            workers: StoredValue::new_local(Workers {
                main: Client::new(|_| ()),
                pool: Pool::new(window().navigator().hardware_concurrency()),
                run: 0,
                last_id: 0,
                idle_crashes: 0,
                fatal_questions: Vec::new(),
                target: None,
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
        let chosen = address.resolve(&self.tuning.groups.get_untracked(), &sets, &self.tuning.answer.get_untracked());
        chosen.map_or(address, |workload| Address::of(&workload, sets.chosen, example))
    }

    /// Whether only the example is open.
    pub fn shows_example(self) -> bool {
        self.files.with(|files| !files.is_empty() && files.iter().all(|file| file.is_example))
    }

    /// Whether only the example of another workbench is open.
    pub fn shows_other_example(self, workbench: Workbench) -> bool {
        self.shows_example() && !self.has_files_of(workbench)
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

    /// The state of a workbench.
    pub fn state_of(self, workbench: Workbench) -> WorkbenchState {
        self.workbenches[workbench as usize]
    }

    /// Whether the workbench shows nothing without files, with the current choices.
    pub fn needs_files(self, workbench: Workbench) -> bool {
        self.state_of(workbench).choices.with(|choices| needs_files(workbench, choices))
    }

    /// Whether the workbench has something to study: loaded files, or data that it generates.
    pub fn can_study(self, workbench: Workbench) -> bool {
        !self.needs_files(workbench) || self.has_files_of(workbench)
    }

    /// Whether files are loaded that the workbench studies.
    pub fn has_files_of(self, workbench: Workbench) -> bool {
        match workbench {
            Workbench::Tuning => self.tuning.has_data(),
            _ => self.documents.with(|all| all.has(workbench)),
        }
    }
}
