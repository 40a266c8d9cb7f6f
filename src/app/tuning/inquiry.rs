//! What a panel asks the worker: only while it is shown, again when the question or what is loaded has changed, and one
//! question at a time.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::{Bench, Held};
use crate::{
    app::{client::Weight, failure::Failure, live::follow},
    plot::Chart,
    text::Listing,
    worker::protocol::{Request, Response},
};

/// A question and its last answer.
#[derive(Clone, Copy)]
pub struct Inquiry {
    /// What the worker said last.
    response: RwSignal<Option<Arc<Response>>>,
    /// Why it could not.
    pub error: RwSignal<Option<String>>,
    /// What was asked last.
    asked: StoredValue<Option<Request>>,
}

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

/// What a question is about, in words.
const fn about(request: &Request) -> &'static str {
    match request {
        Request::Record(_) => "Listing the runs of a point",
        Request::Hotspots(_) => "Looking for sizes at which curves dip",
        Request::Conf(_) => "Reading or writing a tuner file",
        Request::Coverage(_) => "Comparing with what a job sends",
        Request::Ab(_) => "Judging an A/B comparison",
        Request::AbScript(_) => "Writing an A/B campaign",
        Request::Plan(_) => "Planning what to measure next",
        Request::Compare { .. } => "Comparing two states",
        Request::Table { .. } => "Showing a table",
        _ => "Answering a question",
    }
}

impl Inquiry {
    /// Asks `question` as long as the component lives that calls this. `None` where there is nothing to ask yet.
    pub fn new(bench: Bench, question: Signal<Option<Request>>) -> Self {
        let inquiry = Self { response: RwSignal::new(None), error: RwSignal::new(None), asked: StoredValue::new(None) };
        let line = StoredValue::new(Line::Free);
        follow(move || {
            // Whatever may change the answer.
            bench.held.track();
            bench.stage.track();
            bench.reports.track();
            bench.answer.track();
            question.track();
            inquiry.ask(bench, question, line);
        });
        inquiry
    }

    fn ask(self, bench: Bench, question: Signal<Option<Request>>, line: StoredValue<Line>) {
        let Some(question_now) = question.try_get_untracked() else { return };
        let Some(request) = question_now.filter(|request| !bench.is_fatal(request)) else {
            self.response.try_set(None);
            return;
        };
        if bench.held.get_untracked() == Held::Nothing {
            let is_same = self.asked.try_with_value(|asked| asked.as_ref() == Some(&request)) == Some(true);
            if bench.task.with_untracked(Option::is_some) {
                self.response.try_set(None);
            } else if !is_same {
                self.asked.try_set_value(Some(request));
                bench.restore();
            }
            return;
        }
        if line.try_get_value() != Some(Line::Free) {
            line.try_set_value(Line::Outdated);
            return;
        }
        line.set_value(Line::Busy);
        self.asked.set_value(Some(request.clone()));
        bench.glances.update(|glances| *glances += 1);
        let beside = bench.beside(&request);
        let answer = bench.main().ask(Weight::Glance, request.clone(), &beside, Box::new(|_| ()));
        spawn_local(async move {
            let answer = answer.await;
            match answer {
                Ok(answer) => {
                    self.error.try_set(None);
                    self.response.try_set(Some(Arc::new(answer.response)));
                }
                Err(failure) if failure.is_no_fault() => {}
                Err(failure @ Failure::Refused(_)) => {
                    self.response.try_set(None);
                    self.error.try_set(Some(failure.to_string()));
                }
                Err(failure) => {
                    let failure = failure.during(|| about(&request).to_owned());
                    self.response.try_set(None);
                    self.error.try_set(Some(failure.to_string()));
                    bench.on_fatal(request, &failure);
                }
            }
            let was_outdated = line.try_get_value() == Some(Line::Outdated);
            line.try_set_value(Line::Free);
            if was_outdated {
                self.ask(bench, question, line);
            }
            bench.glances.update(|glances| *glances -= 1);
        });
    }

    /// What `find` finds in the last response.
    pub fn get<T>(self, find: impl FnOnce(&Response) -> Option<T>) -> Option<T> {
        self.response.with(|response| find(response.as_ref()?))
    }

    /// As [`Self::get`], without following what is said later.
    pub fn now<T>(self, find: impl FnOnce(&Response) -> Option<T>) -> Option<T> {
        self.response.with_untracked(|response| find(response.as_ref()?))
    }

    /// A table of the last response; an empty one before.
    pub fn listing(self, find: fn(&Response) -> Option<&Listing>) -> Signal<Arc<Listing>> {
        Memo::new(move |_| self.get(|response| find(response).cloned().map(Arc::new)).unwrap_or_default()).into()
    }

    /// A chart of the last response.
    pub fn chart(self, find: fn(&Response) -> Option<&Chart>) -> Signal<Option<Arc<Chart>>> {
        Memo::new(move |_| self.get(|response| find(response).cloned().map(Arc::new))).into()
    }

    /// Whether something holds of the last response.
    pub fn is(self, holds: fn(&Response) -> bool) -> impl Fn() -> bool + Copy + Send + Sync {
        move || self.get(|response| Some(holds(response))) == Some(true)
    }
}
