//! Studies of the workbenches: the main worker answers, the pool does the jobs that remain, round by round, and the
//! answer is shown after each round. The page of tuning asks for other panels and workloads beside these runs.

use std::{rc::Rc, sync::Arc, time::Duration};

use futures::channel::oneshot;
use js_sys::ArrayBuffer;
use leptos::{prelude::*, task::spawn_local};

use super::{
    Session,
    notice::NoticeAction,
    task::{RunError, Task},
    workbench::{RequestState, StudyState, WorkbenchState},
    workers::failure::Failure,
};
use crate::{
    app::{
        clipboard,
        diagnostics::{self, now_ms},
        js_error::describe,
        words::words,
    },
    form::{Choices, Control},
    plot::{Chart, Pick},
    progress::Step,
    report::Workbench,
    schedule::timeline::Timeline,
    topology::network::{CutRequest, Network},
    tuning::result::{Recommended, View},
    workbench::{Attachment, AttachmentKind, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::protocol::{Request, Response},
};

/// The time that a search may take to end after it was asked to stop; then its worker is ended.
const STOP_SEARCH_WITHIN: Duration = Duration::from_millis(600);

/// The number of choices that error messages name, and the number of characters of each.
const MAX_CHOICES: usize = 12;
const MAX_CHOICE_CHARS: usize = 60;

/// The request that asks a workbench a question; `is_held` says whether the page holds what the worker showed last.
pub fn study_request(workbench: Workbench, question: WorkbenchQuestion, is_held: bool) -> Request {
    Request::Study { workbench, question: Box::new(question), is_held }
}

impl Session {
    /// Chooses a value of a field. The default value removes the choice. Fields that depend on it are reset.
    pub fn choose(self, workbench: Workbench, key: &str, value: &str) {
        let state = self.state_of(workbench);
        state.drag.set_value(None);
        let shown = state.shown.get_untracked();
        let form = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
        let field = form.iter().find(|field| field.key == key);
        state.choices.update(|choices| {
            if let Some(leader) = field {
                let led = form.iter().filter(|field| leader.leads.contains(&field.group));
                led.for_each(|field| choices.clear(&field.key));
            }
            if field.is_some_and(|field| field.usual == value) {
                choices.clear(key);
            } else {
                choices.set(key, value);
            }
        });
        self.study_choice(workbench);
    }

    /// Makes several choices at once, also of default values.
    pub fn choose_together(self, workbench: Workbench, chosen: &[(String, String)]) {
        let state = self.state_of(workbench);
        state.drag.set_value(None);
        state.choices.update(|choices| chosen.iter().for_each(|(key, value)| choices.set(key, value)));
        self.study_choice(workbench);
    }

    /// Has a choice answered. The page of tuning asks by itself, and what it learnt stays where it can.
    fn study_choice(self, workbench: Workbench) {
        if workbench != Workbench::Tuning {
            return self.study(workbench);
        }
        let state = self.state_of(workbench);
        if matches!(state.study.get_untracked(), StudyState::Cancelled | StudyState::Refused(_) | StudyState::Failed(_))
        {
            state.study.set(StudyState::NotStudied);
        }
    }

    /// Chooses the series of a pinned point, if a field offers it; removes the choice if the point is unpinned.
    pub fn choose_series(self, workbench: Workbench, chart: &Chart, pick: Option<Pick>) {
        let shown = self.state_of(workbench).shown.get_untracked();
        let form = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
        let of_chart = |label: &str| chart.series.iter().any(|series| series.name == label);
        let picked = pick.and_then(|pick| chart.series.get(pick.series)).map(|series| series.name.as_str());
        let chosen = form.iter().filter(|field| field.picked).find_map(|field| {
            let Control::One(options) = &field.control else { return None };
            let option = match picked {
                Some(name) => options.iter().find(|(_, label)| label == name).map(|(value, _)| value.clone()),
                None => options.iter().any(|(value, label)| *value == field.value && of_chart(label)).then(String::new),
            };
            Some((field.key.clone(), option.filter(|value| *value != field.value)?))
        });
        if let Some((key, value)) = chosen {
            self.choose(workbench, &key, &value);
        }
    }

    /// Sets the choices of an address, and studies if they differ from the current ones. A training that was cancelled
    /// is not begun by a step back to another panel.
    pub fn choose_all(self, workbench: Workbench, choices: Choices) {
        let state = self.state_of(workbench);
        state.drag.set_value(None);
        if state.choices.with_untracked(|held| *held != choices) {
            state.choices.set(choices);
            let was_cancelled = workbench == Workbench::Tuning && state.study.get_untracked() == StudyState::Cancelled;
            if !was_cancelled && untrack(move || self.can_study(workbench)) {
                self.study_choice(workbench);
            }
        }
    }

    /// Has the worker answer the current choices.
    pub fn study(self, workbench: Workbench) {
        let state = self.state_of(workbench);
        if state.request.get_value() != RequestState::Idle && self.is_busy_untracked() {
            state.request.set_value(RequestState::Outdated);
            return;
        }
        self.start(NoticeAction::ReadAgain, async move |run| self.run_study(run, workbench).await);
        // Set before the first answer of the worker, so that Cancel refers to this study.
        state.study.set(StudyState::UnderWay);
    }

    /// Stops a search, which keeps what it has found; returns whether there was one. If it takes longer than
    /// [`STOP_SEARCH_WITHIN`], it is cancelled.
    pub fn stop_search(self) -> bool {
        let searching = |state: &WorkbenchState| state.request.get_value() == RequestState::Searching;
        let Some(state) = self.workbenches.into_iter().find(searching).filter(|_| self.is_busy_untracked()) else {
            return false;
        };
        state.request.set_value(RequestState::Stopping);
        let run = self.run_number();
        let end = move || {
            if self.run_number() == run && state.request.get_value() == RequestState::Stopping {
                self.cancel();
            }
        };
        set_timeout(end, STOP_SEARCH_WITHIN);
        true
    }

    fn is_busy_untracked(self) -> bool {
        self.task.with_untracked(Option::is_some)
    }

    /// Studies the workbenches that `only` selects, if they are shown or have loaded files. Sweeps are always studied.
    pub async fn run_studies(self, run: u32, only: impl Fn(Workbench) -> bool) -> Result<(), RunError> {
        for workbench in Workbench::ALL.iter().copied().filter(|workbench| only(*workbench)) {
            // A workbench without files is studied only when it is shown.
            let is_wanted = || {
                workbench == Workbench::Tuning
                    || workbench == self.workbench.get_untracked()
                    || self.documents.with_untracked(|all| all.has(workbench))
            };
            if is_wanted() {
                self.run_study(run, workbench).await?;
            }
        }
        Ok(())
    }

    /// Studies a workbench until the answer is complete or has failed. If a worker ends, only this study fails; the run
    /// goes on with a new worker.
    async fn run_study(self, run: u32, workbench: Workbench) -> Result<(), RunError> {
        if !self.is_in_worker.get_untracked() {
            self.run_load(run, true).await?;
        }
        let state = self.state_of(workbench);
        if !untrack(move || self.can_study(workbench)) {
            state.end_study(&StudyState::NotStudied, false);
            return Ok(());
        }
        state.study.set(StudyState::UnderWay);
        let failure = match self.run_rounds(run, workbench).await {
            Ok(()) => {
                state.study.set(StudyState::Answered);
                return Ok(());
            }
            Err(RunError::Superseded) => return Err(RunError::Superseded),
            Err(RunError::Failed(failure)) => failure,
        };
        state.request.set_value(RequestState::Idle);
        match failure {
            Failure::Refused(why) => state.study.set(StudyState::Refused(why)),
            Failure::Cancelled => state.study.set(StudyState::Cancelled),
            failure => {
                diagnostics::note_error(&failure.cause().to_string());
                state.study.set(StudyState::Failed(failure.to_string()));
                if !failure.can_retry() {
                    return Err(failure.into());
                }
                if self.workbench.get_untracked() != workbench {
                    self.notify(failure.to_string(), true, None);
                }
            }
        }
        Ok(())
    }

    /// Asks for the answer to the choices, and has the pool do its jobs, until none are left.
    async fn run_rounds(self, run: u32, workbench: Workbench) -> Result<(), RunError> {
        let state = self.state_of(workbench);
        self.pool().warm_up();
        if !state.is_in_worker.get_value() && !state.job_results.with_value(Vec::is_empty) {
            self.restore_worker(run, workbench).await?;
        }
        'choices: loop {
            let question = WorkbenchQuestion::Choose(state.choices.get_untracked());
            let (mut shown, mut basis) = self.ask_study(run, workbench, question).await?;
            if state.follow_files(&shown.form) && workbench != Workbench::Tuning {
                continue 'choices;
            }
            if shown.jobs.is_anew {
                state.job_results.set_value(Vec::new());
            }
            let cost_of = |rounds: &[Vec<(u32, f64)>]| rounds.iter().flatten().map(|(_, cost)| cost).sum::<f64>();
            let total = cost_of(&shown.jobs.rounds);
            let mut last_ms = 0;
            loop {
                if state.request.get_value() == RequestState::Outdated {
                    continue 'choices;
                }
                let is_left = state.request.get_value() == RequestState::Stopping;
                state.request.set_value(RequestState::Idle);
                if shown.jobs.rounds.is_empty() && shown.jobs.goes_on && !is_left {
                    if shown.jobs.is_long {
                        state.job_results.set_value(Vec::new());
                    }
                    let began_ms = now_ms();
                    (shown, basis) = self.ask_study(run, workbench, WorkbenchQuestion::GoOn(last_ms)).await?;
                    last_ms = (now_ms() - began_ms).max(1.0) as u32;
                    continue;
                }
                let (Some(round), Some(rows)) = (shown.jobs.rounds.first().cloned(), basis) else { break };
                let costs: Vec<f64> = round.iter().map(|(_, cost)| *cost).collect();
                let (left, here) = (cost_of(&shown.jobs.rounds), costs.iter().sum::<f64>());
                let report = move |share: f64| {
                    if self.ensure_current(run).is_ok() {
                        let share = (total - left + here * share) / total;
                        let doing = words(workbench).jobs.into();
                        let step = Step { doing, done: (share * 1000.0) as u64, total: 1000 };
                        self.task.set(Some(Task { name: words(workbench).doing_jobs, step }));
                    }
                };
                let job = |job: u32| {
                    study_request(
                        workbench,
                        WorkbenchQuestion::Do { basis: Vec::new(), jobs: vec![round[job as usize].0] },
                        false,
                    )
                };
                let done = self.pool().folds(&rows, &costs, &job, Rc::new(report)).await;
                self.ensure_current(run)?;
                let done = done.map_err(|failure| failure.during(|| self.describe_study(workbench)))?;
                state.job_results.update_value(|all| all.extend(done.iter().cloned()));
                (shown, basis) = self.ask_study(run, workbench, WorkbenchQuestion::Take(done)).await?;
            }
            let first = shown.report.summary.first().cloned();
            self.announcement.set(first.unwrap_or_else(|| words(workbench).complete.into()));
            return Ok(());
        }
    }

    /// Gives a new worker the choices and job results behind the answer that is shown.
    async fn restore_worker(self, run: u32, workbench: Workbench) -> Result<(), RunError> {
        let state = self.state_of(workbench);
        if untrack(move || state.has_answer()) {
            self.ask_study(run, workbench, WorkbenchQuestion::Choose(state.answered_choices.get_value())).await?;
            let done = state.job_results.get_value();
            if !done.is_empty() {
                self.ask_study(run, workbench, WorkbenchQuestion::Take(done)).await?;
            }
            state.request.set_value(RequestState::Idle);
        }
        Ok(())
    }

    /// Makes sure that the worker holds the answer that is shown. A new worker does not: what was cancelled is not
    /// computed again before it is needed.
    ///
    /// # Errors
    /// Returns `Refused` if other work is under way, `Cancelled` if this was cancelled, and otherwise why it failed.
    pub async fn ensure_in_worker(self, workbench: Workbench) -> Result<(), Failure> {
        let state = self.state_of(workbench);
        let is_there = self.is_in_worker.get_untracked()
            && (state.is_in_worker.get_value() || !untrack(move || state.has_answer()));
        if is_there {
            return Ok(());
        }
        if self.is_busy_untracked() {
            return Err(Failure::Refused("Other work is under way. Try again when it is done.".into()));
        }
        let (end, ended) = oneshot::channel();
        self.start(NoticeAction::ReadAgain, async move |run| {
            let brought = async {
                if !self.is_in_worker.get_untracked() {
                    self.run_load(run, true).await?;
                }
                self.restore_worker(run, workbench).await
            };
            let brought = brought.await;
            // The caller reports the failure.
            let _ = end.send(match brought {
                Ok(()) => Ok(()),
                Err(RunError::Superseded) => return Err(RunError::Superseded),
                Err(RunError::Failed(failure)) => Err(failure),
            });
            Ok(())
        });
        ended.await.unwrap_or(Err(Failure::Cancelled))
    }

    /// Asks the worker a question about a workbench and shows the answer. Also returns the data that jobs need.
    async fn ask_study(
        self,
        run: u32,
        workbench: Workbench,
        question: WorkbenchQuestion,
    ) -> Result<(Arc<WorkbenchView>, Option<ArrayBuffer>), RunError> {
        let state = self.state_of(workbench);
        let is_long = state.shown.with_untracked(|shown| shown.as_ref().is_some_and(|shown| shown.jobs.is_long));
        let (request_state, name) = match question {
            WorkbenchQuestion::GoOn(_) if !is_long => (RequestState::Searching, words(workbench).doing),
            WorkbenchQuestion::Take(_) => (RequestState::Waiting, words(workbench).doing_jobs),
            _ => (RequestState::Waiting, words(workbench).doing),
        };
        state.request.set_value(request_state);
        let chosen = if let WorkbenchQuestion::Choose(choices) = &question { Some(choices.clone()) } else { None };
        let at = || RunError::Failed(Failure::InvalidMessage);
        let request = study_request(workbench, question, state.awaits_answer());
        let answer = self.run_job(run, name, request, &[]).await;
        let answer = answer.map_err(|stop| match stop {
            RunError::Failed(Failure::During(step, cause)) => {
                Failure::During(self.describe_with_choices(workbench, &step), cause).into()
            }
            other => other,
        })?;
        let Response::Study(study) = answer.response else { return Err(at()) };
        let shown = self.show_answer(workbench, *study, chosen).ok_or_else(at)?;
        state.is_in_worker.set_value(true);
        Ok((shown, answer.attachments.into_iter().next()))
    }

    /// Shows an answer of the worker, to these choices if it is one to choices; `None` if there is nothing that it
    /// could change.
    pub fn show_answer(
        self,
        workbench: Workbench,
        answer: WorkbenchAnswer,
        chosen: Option<Choices>,
    ) -> Option<Arc<WorkbenchView>> {
        let state = self.state_of(workbench);
        let mut shown = match (answer, state.shown.get_untracked()) {
            (WorkbenchAnswer::Shown(shown), _) => *shown,
            (WorkbenchAnswer::Changed(change), Some(before)) => change.apply(&before),
            _ => return None,
        };
        if let Some(network) = shown.attachment::<Network>(AttachmentKind::Network) {
            state.network.set(Some(Arc::new(network)));
        }
        if let Some(Recommended { basis, groups, answer, notes }) = shown.attachment(AttachmentKind::Recommendations) {
            self.tuning.basis.set(basis);
            self.tuning.groups.set(Arc::new(groups));
            self.tuning.answer.set(Arc::new(answer));
            self.tuning.notes.update(|all| all[1] = notes);
        }
        if let Some(view) = shown.attachment::<View>(AttachmentKind::Charts) {
            self.tuning.view.set(Some(Arc::new(view)));
        }
        shown.attachments.retain(|attachment| !attachment.kind.is_kept());
        let shown: Arc<WorkbenchView> = shown.into();
        if let Some(chosen) = chosen {
            state.answered_choices.set_value(chosen);
        }
        state.is_last.set_value(true);
        state.shown.set(Some(shown.clone()));
        Some(shown)
    }

    /// The workbench, the choices and the kind of work as text, for error messages.
    fn describe_study(self, workbench: Workbench) -> String {
        self.describe_with_choices(workbench, words(workbench).jobs)
    }

    fn describe_with_choices(self, workbench: Workbench, step: &str) -> String {
        let state = self.state_of(workbench);
        let chosen: Vec<String> = state.choices.with_untracked(|choices| {
            let label = |key: &str| state.of_field_untracked(key, |field| field.label.clone());
            let named = |(key, value): (&str, &str)| {
                let value: String = value.chars().take(MAX_CHOICE_CHARS).collect();
                format!("{}: {value}", label(key).unwrap_or_else(|| key.to_owned()))
            };
            choices.iter().take(MAX_CHOICES).map(named).collect()
        });
        let chosen = if chosen.is_empty() { String::new() } else { format!(" ({})", chosen.join("; ")) };
        format!("{}{chosen}, {step}", workbench.name())
    }

    /// The transfers of the network from `from_ns` on, those of one chunk if `chunk` is given; `None` if the worker
    /// can't answer.
    pub fn timeline_window(
        self,
        workbench: Workbench,
        from_ns: f64,
        chunk: Option<u32>,
    ) -> impl Future<Output = Option<Vec<Timeline>>> {
        let request = Attachment::new(AttachmentKind::Network, &CutRequest { from_ns, chunk });
        let question = request.ok().map(|request| study_request(workbench, WorkbenchQuestion::Detail(request), false));
        // A new worker holds no schedule until the workbench is studied again.
        let is_in_worker = self.state_of(workbench).is_in_worker.get_value();
        async move {
            match self.ask_quick(question.filter(|_| is_in_worker)?).await.ok()? {
                Response::Study(answer) => match *answer {
                    WorkbenchAnswer::Detail(timelines) => timelines.read().ok(),
                    _ => None,
                },
                _ => None,
            }
        }
    }

    /// Has the worker write a file, and saves it.
    pub fn save(self, workbench: Workbench, key: String) {
        spawn_local(async move {
            let request = study_request(workbench, WorkbenchQuestion::Save(key), false);
            let answer = match self.ensure_in_worker(workbench).await {
                Ok(()) => self.ask_quick(request).await,
                Err(failure) => Err(failure),
            };
            let saved = match answer {
                Ok(Response::Study(answer)) => match *answer {
                    WorkbenchAnswer::File(file) => {
                        clipboard::save(&file.name, "text/plain", &file.text).map_err(|error| describe(&error))
                    }
                    _ => Err(Failure::InvalidMessage.to_string()),
                },
                Ok(_) => Err(Failure::InvalidMessage.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            if let Err(why) = saved {
                self.notify(format!("The file could not be saved: {}.", why.trim_end_matches('.')), true, None);
            }
        });
    }
}
