//! The state of a workbench: what was chosen, and what came of it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    form::{Choices, Field},
    topology::network::Network,
    workbench::Shown,
};

/// What is chosen and shown of a workbench. Copies are the same.
#[derive(Clone, Copy)]
pub struct Desk {
    /// What was chosen.
    pub choices: RwSignal<Choices>,
    /// The answer so far.
    pub shown: RwSignal<Option<Arc<Shown>>>,
    /// Links and schedules to be drawn, where the workbench has any.
    pub network: RwSignal<Option<Arc<Network>>>,
    /// Why there is none.
    pub error: RwSignal<Option<String>>,
    /// The drag of a slider that is under way: all values on the way are one step of the history.
    pub drag: StoredValue<Option<u32>>,
    /// How many drags there were, which tells one from the one before.
    drags: StoredValue<u32>,
    /// What workers did so far, for a new worker that takes the place of one that ended.
    pub(super) done: StoredValue<Vec<Vec<u8>>>,
    /// The worker is asked; what is chosen meanwhile is asked next.
    pub(super) line: StoredValue<Line>,
}

/// Where the questions to the worker stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Nobody asks.
    Free,
    /// An answer is awaited.
    Busy,
    /// An answer is awaited, and other things were chosen since.
    Outdated,
    /// An answer of a search is awaited, and nobody wants a better one.
    Left,
}

impl Desk {
    /// Nothing is known.
    pub fn new(choices: Choices) -> Self {
        Self {
            choices: RwSignal::new(choices),
            shown: RwSignal::new(None),
            network: RwSignal::new(None),
            error: RwSignal::new(None),
            drag: StoredValue::new(None),
            drags: StoredValue::new(0),
            done: StoredValue::new(Vec::new()),
            line: StoredValue::new(Line::Free),
        }
    }

    /// Whether there is an answer.
    pub fn is_there(self) -> bool {
        self.shown.with(Option::is_some)
    }

    /// Whether something is left to be done.
    pub fn is_partial(self) -> bool {
        self.shown.with(|shown| shown.as_ref().is_some_and(|s| !s.jobs.rounds.is_empty() || s.jobs.goes_on))
    }

    /// Forgets everything but the choices: other files are open.
    pub fn forget(self) {
        self.shown.set(None);
        self.network.set(None);
        self.error.set(None);
        self.done.set_value(Vec::new());
    }

    /// A value on the way of a slider is chosen: it belongs to the drag that is under way, or begins one.
    pub(super) fn drag_on(self, choose: impl FnOnce()) {
        let began = self.drag.get_value().unwrap_or_else(|| {
            self.drags.update_value(|drags| *drags = drags.wrapping_add(1));
            self.drags.get_value()
        });
        choose();
        // A choice ends a drag, unless it is one of it.
        self.drag.set_value(Some(began));
    }

    /// Something of a field.
    pub fn of_field<T>(self, key: &str, find: impl FnOnce(&Field) -> T) -> Option<T> {
        self.shown.with(|shown| shown.as_ref()?.form.iter().find(|field| field.key == key).map(find))
    }
}
