//! The state of the tuning workbench: what is chosen, and what was found in the loaded sweep.

use std::sync::Arc;

use leptos::prelude::*;

use super::open_file::OpenFile;
use crate::{
    collective::Workload,
    tuning::{
        address::{Address, NotLoaded, Panel},
        aggregate::Target,
        parameters::Parameters,
        platform::Library,
        result::{Evaluation, Group, Importance, Recommendation, View},
        sets::{SetChoice, Sets},
    },
};

/// The basis of the recommendations, from the first answer to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerBasis {
    /// The configurations with the highest measured busbw.
    #[default]
    Measured,
    /// The predictions of the model.
    Trained,
    /// The predictor with the lowest regret in validation, with intervals.
    Validated,
}

/// The state of the tuning workbench. Copies share it.
#[derive(Clone, Copy)]
pub struct TuningState {
    /// Which column is the measurement: the time, or the printed busbw.
    pub target: RwSignal<Target>,
    /// The parameters of the form, for the next training.
    pub parameters: RwSignal<Parameters>,
    /// The parameters of the last training.
    pub trained_with: RwSignal<Parameters>,
    /// The workload that is asked for.
    pub address: RwSignal<Address>,
    /// The panel that is shown.
    pub panel: RwSignal<Panel>,
    /// Whether the heat map compares with the default instead of the best.
    pub against_default: RwSignal<bool>,
    /// The configuration that is pinned in the heat map, and at the shown size in the other charts.
    pub pinned: RwSignal<Option<String>>,
    /// The sets of measurements, and which of them is loaded.
    pub sets: RwSignal<Arc<Sets>>,
    /// The collectives and scales that were measured.
    pub groups: RwSignal<Arc<Vec<Group>>>,
    /// The recommendation for each measured workload.
    pub answer: RwSignal<Arc<Vec<Recommendation>>>,
    /// The basis of the recommendations.
    pub basis: RwSignal<AnswerBasis>,
    /// The errors in validation; `None` before.
    pub evaluation: RwSignal<Option<Arc<Evaluation>>>,
    /// The feature importances; `None` before they were asked for.
    pub importances: RwSignal<Option<Arc<Vec<Importance>>>>,
    /// The notes of reading, training and validation, in this order.
    pub notes: RwSignal<[Vec<String>; 3]>,
    /// The charts of the workload shown.
    pub view: RwSignal<Option<Arc<View>>>,
    /// The workload that the address names, or an error if it is not loaded; `None` before anything is loaded.
    pub shown: Memo<Option<Result<Workload, NotLoaded>>>,
}

impl TuningState {
    /// A state without data, with address and panel of the page's address.
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
            sets,
            groups,
            answer,
            basis: RwSignal::default(),
            evaluation: RwSignal::default(),
            importances: RwSignal::default(),
            notes: RwSignal::default(),
            view: RwSignal::default(),
            shown,
        }
    }

    /// The workload shown, if there is one.
    pub fn workload(self) -> Option<Workload> {
        self.shown.get().and_then(Result::ok)
    }

    /// The recommendation for the workload shown: that of the answer if it was measured, otherwise that of the charts.
    pub fn recommendation(self) -> Option<Recommendation> {
        let workload = self.workload()?;
        let of_answer = self.answer.with(|answer| answer.iter().find(|r| r.workload == workload).cloned());
        of_answer.or_else(|| {
            self.view
                .with(|view| view.as_ref().map(|view| &view.recommendation).filter(|r| r.workload == workload).cloned())
        })
    }

    /// Whether measurements of a sweep are loaded.
    pub fn has_data(self) -> bool {
        self.groups.with(|groups| !groups.is_empty())
    }

    /// The set of measurements that is shown or is being loaded.
    pub fn chosen_set(self) -> SetChoice {
        match self.address.with(|address| address.set) {
            SetChoice::Largest => self.sets.with(|sets| sets.chosen),
            chosen => chosen,
        }
    }

    /// The name of the loaded set, if there are several.
    pub fn set_label(self) -> Option<String> {
        self.sets.with_untracked(|sets| sets.label().map(str::to_owned))
    }
}
