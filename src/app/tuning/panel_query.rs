//! Asks the worker for the panel that is shown, whenever the choices or the loaded data have changed, one question at a
//! time.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    app::{
        reactive::effect,
        report::ReportReader,
        session::{Answer, Failure, JobKind, Session, StudyState, study_request},
        signal::{RwSignal, memo},
    },
    form::Choices,
    report::Workbench,
    tuning::address::Panel,
    workbench::WorkbenchQuestion,
    worker::protocol::{GivenState, Request, Response},
};

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

/// The question and how far it has come. Copies share it.
#[derive(Clone, Copy)]
struct PanelQuery {
    session: Session,
    reader: ReportReader,
    state: StoredValue<RequestState>,
    /// The choices that were sent last.
    asked: StoredValue<Option<Choices>>,
    /// Why the last question could not be answered.
    error: RwSignal<Option<String>>,
}

/// Asks for the sections of the panel that is shown, and for the charts of the workload, until the component that calls
/// this is removed. Returns why the last question could not be answered.
pub fn ask_for_panels(session: Session, reader: ReportReader) -> RwSignal<Option<String>> {
    let (state, asked) = (StoredValue::new(RequestState::Idle), StoredValue::new(None));
    let query = PanelQuery { session, reader, state, asked, error: RwSignal::new(None) };
    let tuning = session.state_of(Workbench::Tuning);
    let unread = memo(move || unread(session));
    effect(move || {
        // These may change the answer.
        session.is_in_worker.track();
        session.tuning.basis.track();
        session.reports.track();
        session.tuning.answer.track();
        tuning.choices.track();
        // A memo that is only tracked, and never read, has nothing to follow.
        unread.with(|_| ());
        if is_wanted(session) {
            query.ask();
        }
    });
    query.error
}

/// Whether a panel is shown that can be answered now.
fn is_wanted(session: Session) -> bool {
    (session.reports.with(|files| !files.is_empty()) || !session.needs_files(Workbench::Tuning))
        && session.may_ask_beside()
        && (!session.tuning.has_data() || session.tuning.workload().is_some())
}

/// The files that the last answer wants by themselves.
fn unread(session: Session) -> Vec<u32> {
    let shown = session.state_of(Workbench::Tuning).shown;
    shown.with(|shown| shown.as_ref().map(|shown| shown.jobs.files.clone()).unwrap_or_default())
}

impl PanelQuery {
    fn ask(self) {
        let Self { session, state, asked, error, .. } = self;
        // Before anything else: what is under way is an answer to other choices than these.
        if state.get_value() != RequestState::Idle {
            state.set_value(RequestState::Outdated);
            return;
        }
        let study = session.state_of(Workbench::Tuning);
        let choices = study.choices.get_untracked();
        let (files, handles) = session.to_load(&untrack(move || unread(session)));
        let link = self.link_to_give();
        if files.is_empty() && link.is_none() && study.is_answered(&choices) || session.was_fatal(&choices) {
            return;
        }
        if !session.is_in_worker.get_untracked() {
            if session.task.with_untracked(Option::is_none) && asked.get_value().as_ref() != Some(&choices) {
                asked.set_value(Some(choices));
                session.reload_lost_files();
            }
            return;
        }
        state.set_value(RequestState::Waiting);
        asked.set_value(Some(choices.clone()));
        session.quick_jobs.update(|quick_jobs| *quick_jobs += 1);
        if let Some((fragment, _)) = &link {
            session.tuning.given_link.set_value(Some(fragment.clone()));
        }
        let given = files.into_iter().map(GivenState::File).chain(link.map(|(_, link)| link)).collect::<Vec<_>>();
        spawn_local(async move {
            let mut failure = None;
            if !given.is_empty() {
                let states = Request::TakeStates(given);
                failure = session.main().ask(JobKind::Quick, states, &handles, Box::new(|_| ())).await.err();
            }
            let answer = match failure {
                Some(failure) => Err(failure),
                None => {
                    let question = WorkbenchQuestion::Choose(choices.clone());
                    let request = study_request(Workbench::Tuning, question, study.awaits_answer());
                    session.main().ask(JobKind::Quick, request, &[], Box::new(|_| ())).await
                }
            };
            match answer {
                Ok(Answer { response: Response::Study(answer), .. }) => {
                    error.set(None);
                    let shown = session.show_answer(Workbench::Tuning, *answer, Some(choices));
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
                Ok(_) => {}
                Err(failure) if failure.is_expected() => {}
                Err(failure @ Failure::Refused(_)) => {
                    error.set(Some(failure.to_string()));
                }
                Err(failure) => {
                    let failure = failure.during(|| "Making a panel".to_owned());
                    error.set(Some(failure.to_string()));
                    session.on_fatal_question(choices, &failure);
                }
            }
            let was_outdated = state.try_get_value() == Some(RequestState::Outdated);
            state.try_set_value(RequestState::Idle);
            if was_outdated && untrack(move || is_wanted(session)) {
                self.ask();
            }
            session.quick_jobs.update(|quick_jobs| *quick_jobs -= 1);
        });
    }

    /// The fragment and the measurements of the report from a link, to compare with, where the worker does not hold
    /// them.
    fn link_to_give(self) -> Option<(String, GivenState)> {
        if self.session.tuning.panel.get_untracked() != Panel::Compare {
            return None;
        }
        let given = self.session.tuning.given_link;
        let (fragment, title, snapshot) = given.with_value(|held| self.reader.measured_by_link(held.as_deref()))?;
        Some((fragment, GivenState::Link(title, Box::new(snapshot))))
    }
}
