//! The state of the tuning workbench beside its choices and its answer: what was found in the loaded sweep.

use std::sync::Arc;

use leptos::prelude::*;

use super::{Session, open_file::OpenFile, workbench::StudyState};
use crate::{
    app::signal::{RwSignal, Signal, memo},
    collective::Workload,
    form::Choices,
    report::Workbench,
    tuning::{
        address::{Address, NotLoaded, Panel},
        heat_map::Against,
        result::{AnswerBasis, Group, Recommendation, View},
        sets::{SetChoice, Sets},
    },
};

/// The state of the tuning workbench. Copies share it.
#[derive(Clone, Copy)]
pub struct TuningState {
    /// The workload that the choices ask for.
    pub address: Signal<Address>,
    /// The panel that is chosen.
    pub panel: Signal<Panel>,
    /// With what the heat map compares.
    pub against: Signal<Against>,
    /// Whether the address is that of the example.
    pub names_example: RwSignal<bool>,
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
    /// The notes of reading, and those of training and validation.
    pub notes: RwSignal<[Vec<String>; 2]>,
    /// The charts of the workload shown.
    pub view: RwSignal<Option<Arc<View>>>,
    /// The fragment of the link whose measurements the worker holds, to compare with.
    pub given_link: StoredValue<Option<String>>,
    /// The workload that the address names, or an error if it is not loaded; `None` before anything is loaded.
    pub shown: Signal<Option<Result<Workload, NotLoaded>>>,
}

impl TuningState {
    /// A state without data.
    pub fn new(
        files: leptos::prelude::RwSignal<Vec<OpenFile>, LocalStorage>,
        choices: RwSignal<Choices>,
        names_example: RwSignal<bool>,
    ) -> Self {
        let groups = RwSignal::new(Arc::new(Vec::new()));
        let answer = RwSignal::new(Arc::new(Vec::new()));
        let sets: RwSignal<Arc<Sets>> = RwSignal::default();
        let address = memo(move || {
            let address = choices.with(|choices| Address::of_choices(|key| choices.get(key)));
            Address { example: names_example.get(), ..address }
        });
        let shown = memo(move || {
            let (address, groups) = (address.get(), groups.get());
            let only_example = files.with(|files| files.iter().all(|file| file.is_example));
            if groups.is_empty() {
                None
            } else if address.example != only_example {
                Some(Err(NotLoaded { address }))
            } else {
                Some(address.resolve(&groups, &sets.get_untracked(), &answer.get_untracked()))
            }
        });
        Self {
            address,
            panel: memo(move || choices.with(|choices| Panel::of_choices(|key| choices.get(key)))),
            against: memo(move || choices.with(|choices| Against::of_choices(|key| choices.get(key)))),
            names_example,
            pinned: RwSignal::default(),
            sets,
            groups,
            answer,
            basis: RwSignal::default(),
            notes: RwSignal::default(),
            view: RwSignal::default(),
            given_link: StoredValue::default(),
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

    /// Resets what reading and learning found; the choices and the pinned configuration stay.
    pub(super) fn clear(self) {
        self.sets.set(Arc::default());
        self.groups.set(Arc::default());
        self.answer.set(Arc::default());
        self.basis.set(AnswerBasis::Measured);
        self.view.set(None);
        self.notes.set(Default::default());
    }
}

impl Session {
    /// Changes what the choices of the tuning workbench ask for.
    pub fn set_address(self, address: Address) {
        self.tuning.names_example.set(address.example);
        self.choose_keys(Workbench::Tuning, &address.choices());
    }

    /// Shows a panel of the tuning workbench.
    pub fn set_panel(self, panel: Panel) {
        let key = if panel == Panel::default() { String::new() } else { panel.key().to_owned() };
        self.choose_keys(Workbench::Tuning, &[("p", key)]);
    }

    /// Sets or, where a value is empty, removes choices, without an answer before the page asks for one.
    pub fn choose_keys(self, workbench: Workbench, chosen: &[(&str, String)]) {
        let state = self.state_of(workbench);
        state.drag.set_value(None);
        let mut choices = state.choices.get_untracked();
        for (key, value) in chosen {
            if value.is_empty() { choices.clear(key) } else { choices.set(key, value) }
        }
        if state.choices.with_untracked(|held| *held != choices) {
            state.choices.set(choices);
        }
    }

    /// Whether the page of tuning may ask beside the runs: not while a run is about to answer the same.
    pub fn may_ask_beside(self) -> bool {
        let state = self.state_of(Workbench::Tuning);
        !self.tuning.has_data() || state.study.with(|study| *study != StudyState::NotStudied)
    }
}
