//! Runs: reading the files, training, validating and studying, one after the other. Each run has a number. What an
//! earlier run still brings is dropped, so nothing outdated is shown.

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsValue;

use super::{
    Session,
    notice::Remedy,
    reading::READING,
    task::{Stop, Task},
    workbench::StudyState,
    workers::{
        Held,
        client::{Answer, Client, Weight},
        failure::Failure,
        pool::Pool,
    },
};
use crate::{
    app::diagnostics,
    progress::Step,
    worker::protocol::{Request, Response},
};

impl Session {
    /// The worker that holds the document.
    pub fn main(self) -> Client {
        self.crew.with_value(|crew| crew.main.clone())
    }

    pub(super) fn pool(self) -> Pool {
        self.crew.with_value(|crew| crew.pool.clone())
    }

    /// Overtakes the run before, and gives this one its number.
    pub(super) fn begin(self) -> u32 {
        let (main, pool) = (self.main(), self.pool());
        pool.stop();
        if main.at_work() {
            main.stop();
            self.lose_held();
        }
        self.is_silent.set(false);
        self.desks.iter().for_each(|desk| desk.interrupt());
        self.crew
            .try_update_value(|crew| {
                crew.run += 1;
                crew.run
            })
            .unwrap_or_default()
    }

    pub(super) fn finish(self) {
        self.task.set(None);
    }

    pub(super) fn start(self, remedy: Remedy, work: impl AsyncFnOnce(u32) -> Result<(), Stop> + 'static) {
        let run = self.begin();
        self.task.set(Some(Task { name: "Starting", step: Step::default() }));
        spawn_local(async move {
            let end = work(run).await;
            if matches!(end, Err(Stop::Overtaken)) || self.still(run).is_err() {
                return;
            }
            self.finish();
            if let Err(Stop::Failed(failure)) = end
                && failure != Failure::Cancelled
            {
                self.notify_failure(&failure, remedy);
            }
        });
    }

    /// The worker that had something is gone.
    pub(super) fn lose_held(self) {
        self.held.set(Held::Nothing);
        self.desks.iter().for_each(|desk| desk.is_held.set_value(false));
    }

    /// What is going on, in words: the work, and how far it is.
    pub(super) fn at_work(self) -> String {
        let task = self.task.get_untracked().unwrap_or_default();
        if task.step.doing.is_empty() { task.name.to_owned() } else { format!("{}, {}", task.name, task.step.doing) }
    }

    /// The number of the run.
    pub(super) fn crew_run(self) -> Option<u32> {
        self.crew.try_with_value(|crew| crew.run)
    }

    pub(super) fn still(self, run: u32) -> Result<(), Stop> {
        match self.crew.try_with_value(|crew| crew.run == run) {
            Some(true) => Ok(()),
            _ => Err(Stop::Overtaken),
        }
    }

    /// A job of the run: its progress is the task shown, and the worker's end is noted.
    pub(super) async fn work(
        self,
        run: u32,
        name: &'static str,
        request: Request,
        beside: &[JsValue],
    ) -> Result<Answer, Stop> {
        self.task.set(Some(Task { name, step: Step::default() }));
        let progress = move |step| {
            if self.still(run).is_ok() {
                self.task.set(Some(Task { name, step }));
            }
        };
        let began_ms = diagnostics::now_ms();
        let answer = self.main().ask(Weight::Work, request, beside, Box::new(progress)).await;
        self.still(run)?;
        diagnostics::note_step(name, diagnostics::now_ms() - began_ms);
        answer.map_err(|failure| {
            self.note_death(&failure);
            failure.during(|| self.at_work()).into()
        })
    }

    /// A worker that died takes with it what it had in its memory.
    pub(super) fn note_death(self, failure: &Failure) {
        if !matches!(failure, Failure::Refused(_) | Failure::Cancelled) {
            self.lose_held();
        }
    }

    /// Asks the worker something beside the run that it answers at once. Where the worker ends at it, that is noted.
    pub(in crate::app) async fn glance(self, request: Request) -> Result<Response, Failure> {
        self.glances.update(|glances| *glances += 1);
        let answer = self.main().ask(Weight::Glance, request, &[], Box::new(|_| ())).await;
        self.glances.update(|glances| *glances -= 1);
        answer.map(|answer| answer.response).inspect_err(|failure| self.note_death(failure))
    }

    /// Ends what is going on. What is already there stays.
    pub fn cancel(self) {
        if self.leave_search() {
            return;
        }
        let was_reading = self.task.with_untracked(|task| task.as_ref().is_some_and(|task| task.name == READING));
        self.desks.iter().for_each(|desk| desk.give_up(&StudyState::Cancelled, was_reading));
        self.begin();
        self.finish();
        self.announcement.set("Cancelled.".into());
        if was_reading && !self.files.with_untracked(Vec::is_empty) {
            self.notify("Reading was cancelled; the files are still open.".into(), false, Some(Remedy::ReadAgain));
        }
    }

    /// Ends a worker that says nothing, and begins anew; without the file that it was reading.
    pub fn restart(self) {
        let was_reading = self.main().reading().filter(|_| self.main().at_work());
        self.begin();
        if let Some(file) = was_reading {
            self.leave_out(file, &Failure::Silent);
        }
        self.finish();
        // Where the silent one was of the pool, the model is still there.
        if self.held.get_untracked() == Held::Model { self.validate() } else { self.load() }
    }

    /// Called once a second while the page is visible.
    pub fn beat(self) {
        let silent = self.crew.with_value(|crew| (crew.main.clone(), crew.pool.clone()));
        let silent = silent.0.beat() | silent.1.beat();
        if self.is_silent.get_untracked() != silent {
            self.is_silent.set(silent);
        }
    }

    /// A worker died although nothing was asked of it: another takes its place, once.
    pub fn on_idle_death(self, failure: &Failure) {
        self.lose_held();
        let deaths = self.crew.try_update_value(|crew| {
            crew.idle_deaths += 1;
            crew.idle_deaths
        });
        if failure.is_curable() && deaths == Some(1) && self.tuning.has_data() {
            self.notify(format!("{failure} Your files are being read again."), false, None);
            self.start(Remedy::ReadAgain, async move |run| {
                self.run_load(run, true).await?;
                self.run_train(run).await?;
                self.run_validate(run).await
            });
        } else if !self.files.with_untracked(Vec::is_empty) {
            self.notify_failure(failure, Remedy::ReadAgain);
        }
    }

    /// A question beside the run ended the worker. It is not asked again as long as the same files are loaded.
    pub fn on_fatal(self, request: Request, failure: &Failure) {
        if failure.is_death() {
            self.crew.update_value(|crew| crew.fatal.push(request));
        }
        self.on_idle_death(failure);
    }

    /// Whether a question ended a worker that had the same files.
    pub fn is_fatal(self, request: &Request) -> bool {
        self.crew.with_value(|crew| crew.fatal.contains(request))
    }

    /// Starts the worker before there is anything to do.
    pub fn warm_up(self) {
        self.main().warm_up();
    }

    /// Lets the worker read once before there is anything to read.
    pub fn rehearse(self) {
        drop(self.main().ask(Weight::Glance, Request::Rehearse, &[], Box::new(|_| ())));
    }
}
