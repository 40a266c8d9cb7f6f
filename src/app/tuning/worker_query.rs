//! Questions of a panel to the worker: asked only while the panel is shown, asked again when the question or the loaded
//! data has changed, one at a time.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use crate::{
    app::{
        reactive::effect,
        session::{Answer, Failure, JobKind, Session, StudyState},
    },
    report::Workbench,
    text::Listing,
    workbench::WorkbenchQuestion,
    worker::protocol::{Request, Response},
};

/// A question and its last answer. Copies share them.
#[derive(Clone, Copy)]
pub struct WorkerQuery {
    /// The last response; `None` before the first one, and after an error.
    response: RwSignal<Option<Arc<Response>>>,
    /// Why the question could not be answered.
    pub error: RwSignal<Option<String>>,
    /// The request that was sent last.
    asked: StoredValue<Option<Request>>,
}

/// The state of the request to the worker.
#[derive(Clone, Copy, PartialEq)]
enum RequestState {
    /// No request is under way.
    Idle,
    /// A request is under way.
    Waiting,
    /// An answer is awaited, and the question has changed since.
    Outdated,
}

/// The work of a request as text, for error messages.
const fn about(request: &Request) -> &'static str {
    match request {
        Request::Compare { .. } => "Comparing two states",
        _ => "Making a panel",
    }
}

impl WorkerQuery {
    /// Asks `question` until the component that calls this is removed. `None` while there is nothing to ask.
    pub fn new(session: Session, question: Signal<Option<Request>>) -> Self {
        let query = Self { response: RwSignal::new(None), error: RwSignal::new(None), asked: StoredValue::new(None) };
        let state = StoredValue::new(RequestState::Idle);
        effect(move || {
            // These may change the answer.
            session.is_in_worker.track();
            session.tuning.basis.track();
            session.reports.track();
            session.tuning.answer.track();
            question.track();
            query.ask(session, question, state);
        });
        query
    }

    fn ask(self, session: Session, question: Signal<Option<Request>>, state: StoredValue<RequestState>) {
        let Some(question_now) = question.try_get_untracked() else { return };
        let Some(request) = question_now.filter(|request| !session.was_fatal(request)) else {
            self.response.try_set(None);
            return;
        };
        let of_study = match &request {
            Request::Study { question, .. } => match &**question {
                WorkbenchQuestion::Choose(choices) => Some(choices.clone()),
                _ => None,
            },
            _ => None,
        };
        let study = session.state_of(Workbench::Tuning);
        if of_study.as_ref().is_some_and(|choices| study.is_answered(choices)) {
            return;
        }
        if !session.is_in_worker.get_untracked() {
            let is_same = self.asked.try_with_value(|asked| asked.as_ref() == Some(&request)) == Some(true);
            if session.task.with_untracked(Option::is_some) {
                self.response.try_set(None);
            } else if !is_same {
                self.asked.try_set_value(Some(request));
                session.reload_lost_files();
            }
            return;
        }
        if state.try_get_value() != Some(RequestState::Idle) {
            state.try_set_value(RequestState::Outdated);
            return;
        }
        state.set_value(RequestState::Waiting);
        self.asked.set_value(Some(request.clone()));
        session.quick_jobs.update(|quick_jobs| *quick_jobs += 1);
        let handles = session.handles_for(&request);
        let mut sent = request.clone();
        if let Request::Study { is_held, .. } = &mut sent {
            *is_held = study.awaits_answer();
        }
        let answer = session.main().ask(JobKind::Quick, sent, &handles, Box::new(|_| ()));
        spawn_local(async move {
            let answer = answer.await;
            match answer {
                Ok(Answer { response: Response::Study(answer), .. }) => {
                    self.error.try_set(None);
                    let shown = session.show_answer(Workbench::Tuning, *answer, of_study);
                    // Other parameters are learnt from; what was cancelled is not begun again.
                    let is_anew = shown.is_some_and(|shown| shown.jobs.is_anew);
                    match study.study.get_untracked() {
                        StudyState::Answered | StudyState::UnderWay if is_anew => {
                            session.study(Workbench::Tuning);
                        }
                        StudyState::Refused(_) => study.study.set(StudyState::NotStudied),
                        _ => {}
                    }
                }
                // The answer to the present question follows.
                Ok(_) if state.try_get_value() == Some(RequestState::Outdated) => {}
                Ok(answer) => {
                    self.error.try_set(None);
                    self.response.try_set(Some(Arc::new(answer.response)));
                }
                Err(failure) if failure.is_expected() => {}
                Err(failure @ Failure::Refused(_)) => {
                    self.response.try_set(None);
                    self.error.try_set(Some(failure.to_string()));
                }
                Err(failure) => {
                    let failure = failure.during(|| about(&request).to_owned());
                    self.response.try_set(None);
                    self.error.try_set(Some(failure.to_string()));
                    session.on_fatal_question(request, &failure);
                }
            }
            let was_outdated = state.try_get_value() == Some(RequestState::Outdated);
            state.try_set_value(RequestState::Idle);
            if was_outdated {
                self.ask(session, question, state);
            }
            session.quick_jobs.update(|quick_jobs| *quick_jobs -= 1);
        });
    }

    /// Maps the last response, and tracks it.
    pub fn get<T>(self, find: impl FnOnce(&Response) -> Option<T>) -> Option<T> {
        self.response.with(|response| find(response.as_ref()?))
    }

    /// A table of the last response; empty before.
    pub fn listing(self, find: fn(&Response) -> Option<&Listing>) -> Signal<Arc<Listing>> {
        Memo::new(move |_| self.get(|response| find(response).cloned().map(Arc::new)).unwrap_or_default()).into()
    }
}
