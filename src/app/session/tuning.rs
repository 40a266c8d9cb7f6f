//! The state of the tuning workbench: what is chosen, and what was found in the loaded sweep.

use std::sync::Arc;

use leptos::prelude::*;

use super::open_file::OpenFile;
use crate::{
    collective::Workload,
    tuning::{
        address::{Address, NotLoaded, Panel},
        aggregate::Target,
        conf::Reader,
        hotspots::Hotspot,
        parameters::Parameters,
        result::{Evaluation, Group, Importance, Recommendation, View},
        sets::{Choice, Sets},
        support::Library,
    },
};

/// What the recommendations shown stand on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerBasis {
    /// The highest measurements.
    #[default]
    Measured,
    /// The model's choices.
    Trained,
    /// The choices of whoever loses least, with intervals.
    Validated,
}

/// The state of the tuning workbench. Copies share it.
#[derive(Clone, Copy)]
pub struct TuningState {
    /// Which number of a row is the measurement.
    pub target: RwSignal<Target>,
    /// What to learn with.
    pub parameters: RwSignal<Parameters>,
    /// What was learnt with last.
    pub trained_with: RwSignal<Parameters>,
    /// What to show.
    pub address: RwSignal<Address>,
    /// Which side of it.
    pub panel: RwSignal<Panel>,
    /// The heat map compares with the default instead of the best.
    pub against_default: RwSignal<bool>,
    /// The configuration that is pinned in the heat map, and at the shown size in the other charts.
    pub pinned: RwSignal<Option<String>>,
    /// Who reads tuner files.
    pub reader: RwSignal<Reader>,
    /// On which library.
    pub library: RwSignal<Library>,
    /// What the job sends and nobody measured, with the number of calls: what the coverage found last.
    pub uncovered: RwSignal<Vec<(Workload, u64)>>,
    /// The sets of measurements that are kept apart, and which is loaded.
    pub sets: RwSignal<Arc<Sets>>,
    /// What was measured.
    pub groups: RwSignal<Arc<Vec<Group>>>,
    /// The best recommendations so far.
    pub answer: RwSignal<Arc<Vec<Recommendation>>>,
    /// What they stand on.
    pub basis: RwSignal<AnswerBasis>,
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
    /// The workload shown: what the address names of what is loaded; `None` before anything is loaded.
    pub shown: Memo<Option<Result<Workload, NotLoaded>>>,
}

impl TuningState {
    /// An empty state that shows `panel` of `address` once the data is there.
    pub fn new(files: RwSignal<Vec<OpenFile>, LocalStorage>, address: Address, panel: Panel) -> Self {
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
        Self {
            target: RwSignal::default(),
            parameters: RwSignal::default(),
            trained_with: RwSignal::default(),
            address,
            panel: RwSignal::new(panel),
            against_default: RwSignal::default(),
            pinned: RwSignal::default(),
            reader: RwSignal::default(),
            library: RwSignal::default(),
            uncovered: RwSignal::default(),
            sets,
            groups,
            answer,
            basis: RwSignal::default(),
            evaluation: RwSignal::default(),
            importances: RwSignal::default(),
            notes: RwSignal::default(),
            hotspots: RwSignal::default(),
            view: RwSignal::default(),
            shown,
        }
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

    /// Whether anything can be learnt from.
    pub fn has_data(self) -> bool {
        self.groups.with(|groups| !groups.is_empty())
    }

    /// The set of measurements that is shown, or about to be.
    pub fn chosen_set(self) -> Choice {
        match self.address.with(|address| address.set) {
            Choice::Largest => self.sets.with(|sets| sets.chosen),
            chosen => chosen,
        }
    }

    /// Which of several sets of measurements is loaded, in words.
    pub fn set_label(self) -> Option<String> {
        self.sets.with_untracked(|sets| sets.label().map(str::to_owned))
    }
}
