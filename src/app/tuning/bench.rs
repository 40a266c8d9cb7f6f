//! The state of the tuning workbench: what is open, what came out of it, what is going on.

use std::sync::Arc;

use js_sys::ArrayBuffer;
use leptos::prelude::*;

use crate::{
    app::{client::Client, diagnostics, failure::Failure, pool::Pool, workbench::Desk},
    collective::Workload,
    form::Choices,
    intake::{FileReport, Mapping, MappingRequest},
    progress::Step,
    report::Workbench,
    tuning::{
        address::{Address, NotLoaded, Panel},
        aggregate::Target,
        conf::Reader,
        hotspots::Hotspot,
        parameters::Parameters,
        result::{Evaluation, Group, Importance, Recommendation, View},
        sets::{SetChoice, Sets},
        support::Library,
    },
    worker::protocol::{DocumentFiles, Request},
};

/// A file that the page holds open.
#[derive(Clone)]
pub struct OpenFile {
    /// Names it to the worker.
    pub id: u32,
    /// The browser's handle; its content stays on the disk.
    pub handle: web_sys::File,
    /// Of a table with unknown headers: what was asked, and the answer.
    pub mapping: Option<(MappingRequest, Mapping)>,
    /// Comes with the page.
    pub is_example: bool,
    /// Why it is left out: it ended the worker that read it.
    pub not_read: Option<String>,
}

/// What the recommendations shown stand on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The highest measurements.
    #[default]
    Measured,
    /// The model's choices.
    Trained,
    /// The choices of whoever loses least, with intervals.
    Validated,
}

/// What the worker has in its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
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

/// What is going on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// What kind of work, for people: `Reading`.
    pub name: &'static str,
    /// How far it is.
    pub step: Step,
}

/// Something that the user must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Distinguishes it in the list.
    pub id: u32,
    /// What happened.
    pub text: String,
    /// Whether it is worse than news.
    pub is_error: bool,
    /// What can be done about it.
    pub remedy: Option<Remedy>,
}

/// What can be done about a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Read the open files again.
    ReadAgain,
    /// Train again.
    Train,
    /// Reload the page.
    Reload,
}

/// The tuning workbench. Copies are the same workbench.
#[derive(Clone, Copy)]
pub struct Bench {
    /// Open files, in the order in which they came.
    pub files: RwSignal<Vec<OpenFile>, LocalStorage>,
    /// Which number of a row is the measurement.
    pub target: RwSignal<Target>,
    /// What to learn with.
    pub parameters: RwSignal<Parameters>,
    /// What was learnt with last.
    pub learnt_with: RwSignal<Parameters>,
    /// What to show.
    pub address: RwSignal<Address>,
    /// Which side of it.
    pub panel: RwSignal<Panel>,
    /// The heat map compares with the default instead of the best.
    pub against_default: RwSignal<bool>,
    /// The configuration that is pinned in the heat map, and at the shown size in the other charts.
    pub pinned: RwSignal<Option<String>>,
    /// Which workbench is shown.
    pub workbench: RwSignal<Workbench>,
    /// What is chosen and shown of each workbench, in the order of [`Workbench::ALL`].
    pub(in crate::app) desks: [Desk; Workbench::ALL.len()],
    /// Who reads tuner files.
    pub reader: RwSignal<Reader>,
    /// On which library.
    pub library: RwSignal<Library>,

    /// What became of each file.
    pub reports: RwSignal<Arc<Vec<FileReport>>>,
    /// The loaded files that are no sweep.
    pub documents: RwSignal<Arc<DocumentFiles>>,
    /// What the job sends and nobody measured, with the number of calls: what the coverage found last.
    pub uncovered: RwSignal<Vec<(Workload, u64)>>,
    /// The sets of measurements that are kept apart, and which is loaded.
    pub sets: RwSignal<Arc<Sets>>,
    /// What was measured.
    pub groups: RwSignal<Arc<Vec<Group>>>,
    /// The best recommendations so far.
    pub answer: RwSignal<Arc<Vec<Recommendation>>>,
    /// What they stand on.
    pub stage: RwSignal<Stage>,
    /// How far to trust them.
    pub evaluation: RwSignal<Option<Arc<Evaluation>>>,
    /// Which features matter, once asked for.
    pub importances: RwSignal<Option<Arc<Vec<Importance>>>>,
    /// What the reader, the model and the validation want said, in this order.
    pub notes: RwSignal<[Vec<String>; 3]>,
    /// Where curves dip, while somebody wants to see it.
    pub hotspots: RwSignal<Option<Arc<Vec<Hotspot>>>>,
    /// The charts of the workload shown.
    pub view: RwSignal<Option<Arc<View>>>,

    /// The run: loading, training, validating.
    pub task: RwSignal<Option<Task>>,
    /// A question beside the run.
    pub side_task: RwSignal<Option<Task>>,
    /// A worker at work has said nothing for long.
    pub is_silent: RwSignal<bool>,
    /// Questions under way that need no progress bar.
    pub glances: RwSignal<u32>,
    /// What the user must know.
    pub notices: RwSignal<Vec<Notice>>,
    /// The file whose columns are asked for, and what is known of them.
    pub asking: RwSignal<Option<(u32, MappingRequest)>>,
    /// What screen readers are told.
    pub announcement: RwSignal<String>,
    /// What the worker has in its memory.
    pub held: RwSignal<Held>,

    /// The workload shown: what the address names of what is loaded; `None` before anything is loaded.
    pub shown: Memo<Option<Result<Workload, NotLoaded>>>,

    pub(super) crew: StoredValue<Crew, LocalStorage>,
}

/// The workers, and what the page remembers about their work.
pub struct Crew {
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
    pub idle_deaths: u32,
    /// Questions beside the run at which workers ended that had these files.
    pub fatal: Vec<Request>,
    /// Other files are open than those that are shown.
    pub is_unshown: bool,
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

impl Bench {
    /// An empty workbench that shows `address`, and of it `panel`, once the data is there.
    pub fn new(address: Address, panel: Panel, workbench: Workbench, choices: &Choices) -> Self {
        let files = RwSignal::new_local(Vec::<OpenFile>::new());
        let groups = RwSignal::new(Arc::new(Vec::new()));
        let answer = RwSignal::new(Arc::new(Vec::new()));
        let sets: RwSignal<Arc<Sets>> = RwSignal::default();
        let address = RwSignal::new(address);
        let shown = Memo::new(move |_| {
            let (address, groups) = (address.get(), groups.get());
            let only_example = files.with(|files| files.iter().all(|file| file.is_example));
            if groups.is_empty() {
                None
            } else if address.example != only_example {
                Some(Err(NotLoaded { address }))
            } else {
                Some(address.resolve(&groups, &sets.read_untracked(), &answer.read_untracked()))
            }
        });
        let bench = Self {
            files,
            target: RwSignal::default(),
            parameters: RwSignal::default(),
            learnt_with: RwSignal::default(),
            address,
            panel: RwSignal::new(panel),
            against_default: RwSignal::default(),
            pinned: RwSignal::default(),
            workbench: RwSignal::new(workbench),
            desks: std::array::from_fn(|index| {
                Desk::new(if index == workbench as usize { choices.clone() } else { Choices::default() })
            }),
            reader: RwSignal::default(),
            library: RwSignal::default(),
            reports: RwSignal::default(),
            documents: RwSignal::default(),
            uncovered: RwSignal::default(),
            sets,
            groups,
            answer,
            stage: RwSignal::default(),
            evaluation: RwSignal::default(),
            importances: RwSignal::default(),
            notes: RwSignal::default(),
            hotspots: RwSignal::default(),
            view: RwSignal::default(),
            task: RwSignal::default(),
            side_task: RwSignal::default(),
            is_silent: RwSignal::default(),
            glances: RwSignal::default(),
            notices: RwSignal::default(),
            asking: RwSignal::default(),
            announcement: RwSignal::default(),
            held: RwSignal::default(),
            shown,
            crew: StoredValue::new_local(Crew {
                main: Client::new(|_| ()),
                pool: Pool::new(window().navigator().hardware_concurrency()),
                run: 0,
                last_id: 0,
                unvalidated: None,
                view_again: false,
                view_asked: false,
                idle_deaths: 0,
                fatal: Vec::new(),
                is_unshown: false,
            }),
        };
        bench.crew.update_value(|crew| crew.main = Client::new(move |failure| bench.on_idle_death(&failure)));
        bench
    }

    /// Whether anything is going on.
    pub fn is_busy(self) -> bool {
        self.current_task().is_some() || self.glances.get() > 0
    }

    /// What is going on: the run, or else the question beside it.
    pub fn current_task(self) -> Option<Task> {
        self.task.get().or_else(|| self.side_task.get())
    }

    /// An address as it came from the URL, with what it leaves open chosen.
    pub fn pinned(self, address: Address) -> Address {
        if address.is_particular() || !self.has_data() {
            return address;
        }
        let example = untrack(move || self.shows_example());
        let sets = self.sets.get_untracked();
        let chosen = address.resolve(&self.groups.read_untracked(), &sets, &self.answer.read_untracked());
        chosen.map_or(address, |workload| Address::of(&workload, sets.chosen, example))
    }

    /// The workload shown, where there is one.
    pub fn workload(self) -> Option<Workload> {
        self.shown.get().and_then(Result::ok)
    }

    /// The recommendation of the workload shown: of the answer where it was measured, else of the view.
    pub fn recommendation(self) -> Option<Recommendation> {
        let workload = self.workload()?;
        let of_answer = self.answer.with(|answer| answer.iter().find(|r| r.workload == workload).cloned());
        of_answer.or_else(|| {
            self.view
                .with(|view| view.as_ref().map(|view| &view.recommendation).filter(|r| r.workload == workload).cloned())
        })
    }

    /// Whether the example is all that is open.
    pub fn shows_example(self) -> bool {
        self.files.with(|files| !files.is_empty() && files.iter().all(|file| file.is_example))
    }

    /// Whether any file is open.
    pub fn has_files(self) -> bool {
        self.files.with(|files| !files.is_empty())
    }

    /// Whether anything can be learnt from.
    pub fn has_data(self) -> bool {
        self.groups.with(|groups| !groups.is_empty())
    }

    /// The set of measurements that is shown, or about to be.
    pub fn chosen_set(self) -> SetChoice {
        match self.address.with(|address| address.set) {
            SetChoice::Largest => self.sets.with(|sets| sets.chosen),
            chosen => chosen,
        }
    }

    /// Which of several sets of measurements is loaded, in words.
    pub fn set_label(self) -> Option<String> {
        self.sets.with_untracked(|sets| sets.label().map(str::to_owned))
    }

    /// Tells the user of something.
    pub fn notify(self, text: String, is_error: bool, remedy: Option<Remedy>) {
        let id = self.next_id();
        self.notices.update(|notices| {
            notices.retain(|notice| notice.text != text);
            notices.push(Notice { id, text, is_error, remedy });
        });
    }

    /// Tells the user of a failure, with what can be done.
    pub fn notify_failure(self, failure: &Failure, remedy: Remedy) {
        diagnostics::note_error(&failure.cause().to_string());
        let remedy = if failure.is_curable() { remedy } else { Remedy::Reload };
        self.notify(failure.to_string(), true, Some(remedy));
    }

    pub(super) fn next_id(self) -> u32 {
        self.crew
            .try_update_value(|crew| {
                crew.last_id += 1;
                crew.last_id
            })
            .unwrap_or_default()
    }
}
