//! What a panel asks the worker: only while it is shown, again when the question or what is loaded has changed, and one
//! question at a time.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::{Bench, Held};
use crate::{
    app::{client::Weight, failure::Failure},
    worker::protocol::{Request, Response},
};

/// A question and its last answer.
pub struct Inquiry<T: Send + Sync + 'static> {
    /// What the worker said last.
    pub answer: RwSignal<Option<Arc<T>>>,
    /// Why it could not.
    pub error: RwSignal<Option<String>>,
}

impl<T: Send + Sync + 'static> Clone for Inquiry<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Inquiry<T> {}

/// Where an inquiry stands.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    /// Nobody asks.
    Free,
    /// An answer is awaited.
    Busy,
    /// An answer is awaited, and the question has changed since.
    Outdated,
}

impl<T: Send + Sync + 'static> Inquiry<T> {
    /// Asks `question` as long as the component lives that calls this. `None` where there is nothing to ask yet; `take`
    /// finds the answer in the response.
    pub fn new(bench: Bench, question: Signal<Option<Request>>, take: fn(Response) -> Option<T>) -> Self {
        let inquiry = Self { answer: RwSignal::new(None), error: RwSignal::new(None) };
        let line = StoredValue::new(Line::Free);
        Effect::new(move || {
            // Whatever may change the answer.
            bench.held.track();
            bench.stage.track();
            bench.reports.track();
            bench.answer.track();
            question.track();
            inquiry.ask(bench, question, take, line);
        });
        inquiry
    }

    fn ask(
        self,
        bench: Bench,
        question: Signal<Option<Request>>,
        take: fn(Response) -> Option<T>,
        line: StoredValue<Line>,
    ) {
        let Some(question_now) = question.try_get_untracked() else { return };
        let Some(request) = question_now.filter(|_| bench.held.get_untracked() != Held::Nothing) else {
            self.answer.try_set(None);
            return;
        };
        if line.try_get_value() != Some(Line::Free) {
            line.try_set_value(Line::Outdated);
            return;
        }
        line.set_value(Line::Busy);
        bench.glances.update(|glances| *glances += 1);
        let answer = bench.main().ask(Weight::Glance, request, &[], Box::new(|_| ()));
        spawn_local(async move {
            let answer = answer.await;
            match answer.map(|answer| take(answer.response)) {
                Ok(Some(answer)) => {
                    self.error.try_set(None);
                    self.answer.try_set(Some(Arc::new(answer)));
                }
                Ok(None) | Err(Failure::Cancelled) => {}
                Err(failure @ Failure::Refused(_)) => {
                    self.answer.try_set(None);
                    self.error.try_set(Some(failure.to_string()));
                }
                Err(failure) => bench.on_idle_death(&failure),
            }
            let was_outdated = line.try_get_value() == Some(Line::Outdated);
            line.try_set_value(Line::Free);
            if was_outdated {
                self.ask(bench, question, take, line);
            }
            bench.glances.update(|glances| *glances -= 1);
        });
    }

    /// What was said last, or nothing.
    pub fn get(self) -> Option<Arc<T>> {
        self.answer.get()
    }
}
