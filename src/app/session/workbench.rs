//! The state of a workbench: the choices, and the answer to them.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::signal::RwSignal,
    form::{Choices, Field},
    topology::network::Network,
    workbench::WorkbenchView,
};

/// The choices and the answer of a workbench. Copies share them.
#[derive(Clone, Copy)]
pub struct WorkbenchState {
    /// The values that the user chose.
    pub choices: RwSignal<Choices>,
    /// The key of the chosen tab; the first one is shown where the answer has none of this key.
    pub tab: RwSignal<String>,
    /// The last answer; `None` before the first one.
    pub shown: RwSignal<Option<Arc<WorkbenchView>>>,
    /// Network and schedules to be drawn, if the answer has any.
    pub network: RwSignal<Option<Arc<Network>>>,
    /// The progress of the study of the current choices.
    pub study: RwSignal<StudyState>,
    /// The number of the slider drag under way: its values share one entry of the history.
    pub drag: StoredValue<Option<u32>>,
    /// The number of drags so far.
    drags: StoredValue<u32>,
    /// The results of jobs so far, for a new worker if the present one ends.
    pub(super) job_results: StoredValue<Vec<Vec<u8>>>,
    /// The form before other files were opened, until the first answer on these; empty otherwise.
    pub(super) form_before: StoredValue<Vec<Field>>,
    /// The forms that were shown before each change of the files, the first one first.
    earlier_forms: StoredValue<Vec<Vec<Field>>>,
    /// Whether the choices were changed by following their files, and not by somebody.
    has_followed: StoredValue<bool>,
    /// The choices that the answer shown belongs to.
    pub(super) answered_choices: StoredValue<Choices>,
    /// Whether the worker holds the answer that is shown.
    pub(super) is_in_worker: StoredValue<bool>,
    /// Whether the answer that is shown is the last that the worker sent: not while another is awaited.
    pub(super) is_last: StoredValue<bool>,
    /// The state of the request to the worker.
    pub(super) request: StoredValue<RequestState>,
}

/// The progress of a study. Only `NotStudied` starts by itself, when the workbench is shown: after a cancellation or
/// failure nothing starts until other files are opened, something else is chosen, or the user asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// The open files were not studied, or another run replaced the study.
    NotStudied,
    /// The study is under way or about to start.
    UnderWay,
    /// The answer shown is that of the current choices.
    Answered,
    /// The user cancelled the study.
    Cancelled,
    /// The workbench can't answer, for this reason.
    Refused(String),
    /// The worker ended or the files could not be read; the text says during which work, and why.
    Failed(String),
}

/// The state of the request to the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestState {
    /// No request is under way.
    Idle,
    /// A request is under way.
    Waiting,
    /// A search was asked for a better result, which takes a moment.
    Searching,
    /// An answer is awaited, and the choices have changed since.
    Outdated,
    /// An answer of a search is awaited, and the search is to end.
    Stopping,
}

impl WorkbenchState {
    /// A state without an answer.
    pub fn new(choices: Choices) -> Self {
        Self {
            choices: RwSignal::new(choices),
            tab: RwSignal::default(),
            shown: RwSignal::new(None),
            network: RwSignal::new(None),
            study: RwSignal::new(StudyState::NotStudied),
            drag: StoredValue::new(None),
            drags: StoredValue::new(0),
            job_results: StoredValue::new(Vec::new()),
            form_before: StoredValue::new(Vec::new()),
            earlier_forms: StoredValue::new(Vec::new()),
            has_followed: StoredValue::new(false),
            answered_choices: StoredValue::new(Choices::default()),
            is_in_worker: StoredValue::new(false),
            is_last: StoredValue::new(false),
            request: StoredValue::new(RequestState::Idle),
        }
    }

    /// Whether there is an answer.
    pub fn has_answer(self) -> bool {
        self.shown.with(Option::is_some)
    }

    /// Whether jobs or a search remain.
    pub fn is_partial(self) -> bool {
        self.goes_on() || self.shown.with(|shown| shown.as_ref().is_some_and(|shown| !shown.jobs.rounds.is_empty()))
    }

    /// Whether a search remains, or the training with the chosen settings.
    pub fn goes_on(self) -> bool {
        self.shown.with(|shown| shown.as_ref().is_some_and(|shown| shown.jobs.goes_on))
    }

    /// Resets everything but the choices, because other files were opened.
    pub fn clear(self) {
        if let Some(shown) = self.shown.get_untracked() {
            self.form_before.set_value(shown.form.clone());
            self.earlier_forms.update_value(|forms| forms.push(shown.form.clone()));
        }
        self.shown.set(None);
        self.network.set(None);
        self.study.set(StudyState::NotStudied);
        self.job_results.set_value(Vec::new());
        self.is_in_worker.set_value(false);
        self.is_last.set_value(false);
    }

    /// Ends the study under way with `state`; with `waiting`, also one that has not started.
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

    /// Ends the study because another run replaces it.
    pub fn interrupt_study(self) {
        self.request.set_value(RequestState::Idle);
        self.end_study(&StudyState::NotStudied, false);
    }

    /// Makes a choice as part of the slider drag under way, or of a new drag.
    pub fn continue_drag(self, choose: impl FnOnce()) {
        let began = self.drag.get_value().unwrap_or_else(|| {
            self.drags.update_value(|drags| *drags = drags.wrapping_add(1));
            self.drags.get_value()
        });
        choose();
        // A choice ends the drag unless it is part of it.
        self.drag.set_value(Some(began));
    }

    /// Notes that a question is sent; returns whether what is shown is what the worker will have sent last.
    pub fn awaits_answer(self) -> bool {
        let is_held = self.is_last.get_value();
        self.is_last.set_value(false);
        is_held
    }

    /// Has the choices follow their files after others were opened; returns whether any choice changed.
    pub(super) fn follow_files(self, form: &[Field]) -> bool {
        let before = self.form_before.get_value();
        self.form_before.set_value(Vec::new());
        if before.is_empty() {
            return false;
        }
        let choices = self.choices.get_untracked();
        let carried = choices.after_other_files(&before, form);
        let is_other = carried != choices;
        if is_other {
            self.has_followed.set_value(true);
            self.choices.set(carried);
        }
        is_other
    }

    /// How often other files were opened or closed below an answer. An entry of the history is of one of these times.
    pub fn files_changed(self) -> usize {
        self.earlier_forms.with_value(Vec::len)
    }

    /// Choices of an earlier entry of the history come next: they follow the files of then.
    pub fn expect_choices_of(self, files_changed: usize) {
        let form = self.earlier_forms.with_value(|forms| forms.get(files_changed).cloned());
        self.form_before.set_value(form.unwrap_or_default());
    }

    /// Whether the choices were changed by following their files since this was asked last.
    pub fn takes_following(self) -> bool {
        let has_followed = self.has_followed.get_value();
        self.has_followed.set_value(false);
        has_followed
    }

    /// Whether what is shown is the worker's answer to these choices.
    pub fn is_answered(self, choices: &Choices) -> bool {
        self.is_in_worker.get_value() && self.answered_choices.with_value(|answered| answered == choices)
    }

    /// As [`Self::of_field`], without tracking.
    pub fn of_field_untracked<T>(self, key: &str, find: impl FnOnce(&Field) -> T) -> Option<T> {
        self.shown.with_untracked(|shown| shown.as_ref()?.form.iter().find(|field| field.key == key).map(find))
    }

    /// Maps the field with this key, if the form has it.
    pub fn of_field<T>(self, key: &str, find: impl FnOnce(&Field) -> T) -> Option<T> {
        self.shown.with(|shown| shown.as_ref()?.form.iter().find(|field| field.key == key).map(find))
    }
}
