//! The state of a workbench: what was chosen, and what came of it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    form::{Choices, Field},
    topology::network::Network,
    workbench::WorkbenchView,
};

/// What is chosen and shown of a workbench. Copies are the same.
#[derive(Clone, Copy)]
pub struct WorkbenchState {
    /// What was chosen.
    pub choices: RwSignal<Choices>,
    /// The answer so far.
    pub shown: RwSignal<Option<Arc<WorkbenchView>>>,
    /// Links and schedules to be drawn, where the workbench has any.
    pub network: RwSignal<Option<Arc<Network>>>,
    /// How far the study is that answers what is chosen.
    pub study: RwSignal<StudyState>,
    /// The drag of a slider that is under way: all values on the way are one step of the history.
    pub drag: StoredValue<Option<u32>>,
    /// How many drags there were, which tells one from the one before.
    drags: StoredValue<u32>,
    /// What workers did so far, for a new worker that takes the place of one that ended.
    pub(super) job_results: StoredValue<Vec<Vec<u8>>>,
    /// By which choices what is shown was found.
    pub(super) answered_choices: StoredValue<Choices>,
    /// The worker has what is shown.
    pub(super) is_in_worker: StoredValue<bool>,
    /// The worker is asked; what is chosen meanwhile is asked next.
    pub(super) request: StoredValue<RequestState>,
}

/// How far the study of a workbench is. Only what was not studied begins by itself, where it is looked at: what was
/// cancelled or has failed stays so until other files are open, something else is chosen, or somebody asks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// Nothing was studied of what is open, or other work took the place of the study.
    NotStudied,
    /// The worker is asked, or is about to be.
    UnderWay,
    /// What is shown answers what is chosen.
    Answered,
    /// Somebody ended the study.
    Cancelled,
    /// The workbench says why it can't answer.
    Refused(String),
    /// The worker ended, or the files could not be read: what it was at, and why.
    Failed(String),
}

/// Where the questions to the worker stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestState {
    /// Nobody asks.
    Idle,
    /// An answer is awaited.
    Waiting,
    /// A search was asked for something better, which takes a moment.
    Searching,
    /// An answer is awaited, and other things were chosen since.
    Outdated,
    /// An answer of a search is awaited, and nobody wants a better one.
    Stopping,
}

impl WorkbenchState {
    /// Nothing is known.
    pub fn new(choices: Choices) -> Self {
        Self {
            choices: RwSignal::new(choices),
            shown: RwSignal::new(None),
            network: RwSignal::new(None),
            study: RwSignal::new(StudyState::NotStudied),
            drag: StoredValue::new(None),
            drags: StoredValue::new(0),
            job_results: StoredValue::new(Vec::new()),
            answered_choices: StoredValue::new(Choices::default()),
            is_in_worker: StoredValue::new(false),
            request: StoredValue::new(RequestState::Idle),
        }
    }

    /// Whether there is an answer.
    pub fn has_answer(self) -> bool {
        self.shown.with(Option::is_some)
    }

    /// Whether something is left to be done.
    pub fn is_partial(self) -> bool {
        self.shown.with(|shown| shown.as_ref().is_some_and(|s| !s.jobs.rounds.is_empty() || s.jobs.goes_on))
    }

    /// Forgets everything but the choices: other files are open.
    pub fn clear(self) {
        self.shown.set(None);
        self.network.set(None);
        self.study.set(StudyState::NotStudied);
        self.job_results.set_value(Vec::new());
        self.is_in_worker.set_value(false);
    }

    /// The study that is under way ends as `state` says, and what waits for it, where `waiting`, doesn't begin.
    pub fn end_study(self, state: &StudyState, waiting: bool) {
        let ends = self.study.with_untracked(|now| match now {
            StudyState::UnderWay => true,
            StudyState::NotStudied => waiting,
            _ => false,
        });
        if ends {
            self.study.set(state.clone());
        }
    }

    /// Other work takes the place of the study.
    pub fn interrupt_study(self) {
        self.request.set_value(RequestState::Idle);
        self.end_study(&StudyState::NotStudied, false);
    }

    /// A value on the way of a slider is chosen: it belongs to the drag that is under way, or begins one.
    pub fn continue_drag(self, choose: impl FnOnce()) {
        let began = self.drag.get_value().unwrap_or_else(|| {
            self.drags.update_value(|drags| *drags = drags.wrapping_add(1));
            self.drags.get_value()
        });
        choose();
        // A choice ends a drag, unless it is one of it.
        self.drag.set_value(Some(began));
    }

    /// As [`Self::of_field`], without following the answer.
    pub fn of_field_untracked<T>(self, key: &str, find: impl FnOnce(&Field) -> T) -> Option<T> {
        self.shown.with_untracked(|shown| shown.as_ref()?.form.iter().find(|field| field.key == key).map(find))
    }

    /// Something of a field.
    pub fn of_field<T>(self, key: &str, find: impl FnOnce(&Field) -> T) -> Option<T> {
        self.shown.with(|shown| shown.as_ref()?.form.iter().find(|field| field.key == key).map(find))
    }
}
