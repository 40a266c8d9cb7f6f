//! Runs: reading the files and studying, one after the other. Each run has a number; results of
//! an earlier run are discarded, so that nothing outdated is shown.

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsValue;

use super::{
    Session,
    notice::NoticeAction,
    reading::READING,
    task::{RunError, Task},
    workbench::StudyState,
    workers::{
        client::{Answer, Client, JobKind},
        failure::Failure,
        pool::Pool,
    },
};
use crate::{
    app::diagnostics,
    form::Choices,
    progress::Step,
    report::Workbench,
    worker::protocol::{Request, Response},
};

impl Session {
    /// The worker that holds the loaded files.
    pub fn main(self) -> Client {
        self.workers.with_value(|workers| workers.main.clone())
    }

    pub(super) fn pool(self) -> Pool {
        self.workers.with_value(|workers| workers.pool.clone())
    }

    /// Ends the run under way and returns the number of the new one.
    pub(super) fn begin_run(self) -> u32 {
        let (main, pool) = (self.main(), self.pool());
        pool.stop();
        if main.is_working() {
            main.stop();
            self.forget_worker_memory();
        }
        self.is_silent.set(false);
        self.workbenches.iter().for_each(|state| state.interrupt_study());
        self.workers
            .try_update_value(|workers| {
                workers.run += 1;
                workers.run
            })
            .unwrap_or_default()
    }

    pub(super) fn end_run(self) {
        self.task.set(None);
    }

    pub(super) fn start(self, action: NoticeAction, work: impl AsyncFnOnce(u32) -> Result<(), RunError> + 'static) {
        let run = self.begin_run();
        self.task.set(Some(Task { name: "Starting", step: Step::default() }));
        spawn_local(async move {
            let end = work(run).await;
            if matches!(end, Err(RunError::Superseded)) || self.ensure_current(run).is_err() {
                return;
            }
            self.end_run();
            if let Err(RunError::Failed(failure)) = end
                && failure != Failure::Cancelled
            {
                self.notify_failure(&failure, action);
            }
        });
    }

    /// Notes that the worker has ended and holds nothing any more.
    pub(super) fn forget_worker_memory(self) {
        self.is_in_worker.set(false);
        self.tuning.given_link.set_value(None);
        self.workbenches.iter().for_each(|state| state.is_in_worker.set_value(false));
    }

    /// The task of the run and its step as text, for error messages.
    pub(super) fn describe_task(self) -> String {
        let task = self.task.get_untracked().unwrap_or_default();
        if task.step.doing.is_empty() { task.name.to_owned() } else { format!("{}, {}", task.name, task.step.doing) }
    }

    /// The number of the current run.
    pub(super) fn run_number(self) -> Option<u32> {
        self.workers.try_with_value(|workers| workers.run)
    }

    pub(super) fn ensure_current(self, run: u32) -> Result<(), RunError> {
        match self.workers.try_with_value(|workers| workers.run == run) {
            Some(true) => Ok(()),
            _ => Err(RunError::Superseded),
        }
    }

    /// Has the main worker do a job of the run, with its progress as the task that is shown. If the worker ends, that
    /// is noted.
    pub(super) async fn run_job(
        self,
        run: u32,
        name: &'static str,
        request: Request,
        attachments: &[JsValue],
    ) -> Result<Answer, RunError> {
        self.task.set(Some(Task { name, step: Step::default() }));
        let progress = move |step| {
            if self.ensure_current(run).is_ok() {
                self.task.set(Some(Task { name, step }));
            }
        };
        let began_ms = diagnostics::now_ms();
        let answer = self.main().ask(JobKind::Long, request, attachments, Box::new(progress)).await;
        self.ensure_current(run)?;
        diagnostics::note_step(name, diagnostics::now_ms() - began_ms);
        answer.map_err(|failure| {
            self.note_worker_end(&failure);
            failure.during(|| self.describe_task()).into()
        })
    }

    /// Notes the end of the worker, unless it only refused the job or was cancelled.
    pub(super) fn note_worker_end(self, failure: &Failure) {
        if !matches!(failure, Failure::Refused(_) | Failure::Cancelled) {
            self.forget_worker_memory();
        }
    }

    /// Asks the main worker a question that it answers at once. If the worker ends, that is noted.
    pub(in crate::app) async fn ask_quick(self, request: Request) -> Result<Response, Failure> {
        self.quick_jobs.update(|quick_jobs| *quick_jobs += 1);
        let answer = self.main().ask(JobKind::Quick, request, &[], Box::new(|_| ())).await;
        self.quick_jobs.update(|quick_jobs| *quick_jobs -= 1);
        answer.map(|answer| answer.response).inspect_err(|failure| self.note_worker_end(failure))
    }

    /// Cancels what is under way. What is shown stays.
    pub fn cancel(self) {
        if self.stop_search() {
            return;
        }
        let was_reading = self.task.with_untracked(|task| task.as_ref().is_some_and(|task| task.name == READING));
        self.workbenches.iter().for_each(|state| state.end_study(&StudyState::Cancelled, was_reading));
        self.begin_run();
        self.end_run();
        self.announcement.set("Cancelled.".into());
        if was_reading && !self.files.with_untracked(Vec::is_empty) {
            self.notify(
                "Reading was cancelled; the files are still open.".into(),
                false,
                Some(NoticeAction::ReadAgain),
            );
        }
    }

    /// Ends a worker that does not respond and starts again, without the file that it was reading.
    pub fn restart(self) {
        let was_reading = self.main().reading().filter(|_| self.main().is_working());
        self.begin_run();
        if let Some(file) = was_reading {
            self.exclude_file(file, &Failure::NotResponding);
        }
        self.end_run();
        // If a worker of the pool did not respond, the main worker still holds the files and what it did.
        if self.is_in_worker.get_untracked() { self.study(self.workbench.get_untracked()) } else { self.load() }
    }

    /// Checks whether the workers respond; called once a second while the page is visible.
    pub fn check_workers(self) {
        let silent = self.workers.with_value(|workers| (workers.main.clone(), workers.pool.clone()));
        let silent = silent.0.check_alive() | silent.1.check_alive();
        if self.is_silent.get_untracked() != silent {
            self.is_silent.set(silent);
        }
    }

    /// Handles the end of a worker without a job: reads the files again once, then offers to do so.
    pub fn on_idle_crash(self, failure: &Failure) {
        self.forget_worker_memory();
        let deaths = self.workers.try_update_value(|workers| {
            workers.idle_crashes += 1;
            workers.idle_crashes
        });
        if failure.can_retry() && deaths == Some(1) && self.tuning.has_data() {
            self.notify(format!("{failure} Your files are being read again."), false, None);
            self.start(NoticeAction::ReadAgain, async move |run| {
                self.run_load(run, true).await?;
                self.run_studies(run, |workbench| workbench == Workbench::Tuning).await
            });
        } else if !self.files.with_untracked(Vec::is_empty) {
            self.notify_failure(failure, NoticeAction::ReadAgain);
        }
    }

    /// Notes a question that ended the worker; it is not asked again while the same files are loaded.
    pub fn on_fatal_question(self, choices: Choices, failure: &Failure) {
        if failure.ended_worker() {
            self.workers.update_value(|workers| workers.fatal_questions.push(choices));
        }
        self.on_idle_crash(failure);
    }

    /// Whether this question ended the worker with the files that are loaded.
    pub fn was_fatal(self, choices: &Choices) -> bool {
        self.workers.with_value(|workers| workers.fatal_questions.contains(choices))
    }

    /// Starts the main worker before there is a job for it.
    pub fn warm_up(self) {
        self.main().warm_up();
    }

    /// Has the worker read a small table, so that its code is compiled before files are opened.
    pub fn warm_up_reader(self) {
        drop(self.main().ask(JobKind::Quick, Request::Rehearse, &[], Box::new(|_| ())));
    }
}
