//! A worker as the page uses it: jobs are sent and answered, and every way in which a worker can end is a [`Failure`].

use std::{
    cell::{Cell, RefCell},
    future::Future,
    rc::Rc,
};

use futures::channel::oneshot;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{ErrorEvent, MessageEvent, Worker};

use super::failure::Failure;
use crate::{
    app::{js_error, worker_code},
    progress::Step,
    worker::protocol::{BUILD, FromWorker, Request, Response, ToWorker},
};

/// A worker. It starts with its first job, and again with the first job after it has ended.
#[derive(Clone)]
pub struct Client(Rc<ClientState>);

struct ClientState {
    running: RefCell<Option<RunningWorker>>,
    /// The number of the worker; a start whose number is no longer current is discarded.
    generation: Cell<u32>,
    ready: Cell<bool>,
    /// Messages that wait until the worker is ready.
    unsent: RefCell<Vec<(Array, ArrayBuffer)>>,
    /// The jobs that are not answered yet, with their numbers.
    jobs: RefCell<Vec<(u32, Job)>>,
    last_job: Cell<u32>,
    /// The number of the file that the worker reads, or was reading when it ended.
    reading: Cell<Option<u32>>,
    checks_without_message: Cell<u32>,
    on_idle_crash: Box<dyn Fn(Failure)>,
}

struct Job {
    kind: JobKind,
    progress: Box<dyn Fn(Step)>,
    answer: oneshot::Sender<Result<Answer, Failure>>,
}

/// The answer to a job.
pub struct Answer {
    /// The response of the worker.
    pub response: Response,
    /// The data that came with the response: that of jobs, or the files of an archive.
    pub attachments: Vec<ArrayBuffer>,
}

/// How a job is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Takes long; it can only be stopped by ending the worker.
    Long,
    /// Is answered at once; the worker is not ended for it.
    Quick,
    /// Asks whether the worker responds.
    Ping,
}

type Listener<E> = Closure<dyn Fn(E)>;

struct RunningWorker {
    worker: Worker,
    _listeners: (Listener<MessageEvent>, Listener<ErrorEvent>, Listener<JsValue>),
}

impl Client {
    /// The number of checks without a message after which an idle worker is sent a ping.
    const PING_AFTER_CHECKS: u32 = 5;
    /// The number of checks without a message after which a worker without a long job is taken as dead.
    const LOST_AFTER_CHECKS: u32 = 15;
    /// The number of checks without a message after which the restart of a working worker is offered.
    const SILENT_AFTER_CHECKS: u32 = 30;

    /// A worker that has not started. `on_idle_crash` is called when it ends while it has no job.
    pub fn new(on_idle_crash: impl Fn(Failure) + 'static) -> Self {
        Self(Rc::new(ClientState {
            running: RefCell::new(None),
            generation: Cell::new(0),
            ready: Cell::new(false),
            unsent: RefCell::default(),
            jobs: RefCell::default(),
            last_job: Cell::new(0),
            reading: Cell::new(None),
            checks_without_message: Cell::new(0),
            on_idle_crash: Box::new(on_idle_crash),
        }))
    }

    /// Sends a request with attachments: handles of files, training rows. The job runs whether or not the returned
    /// future is awaited.
    ///
    /// # Errors
    /// The future returns why the job was not answered.
    pub fn ask(
        &self,
        kind: JobKind,
        request: Request,
        attachments: &[JsValue],
        progress: Box<dyn Fn(Step)>,
    ) -> impl Future<Output = Result<Answer, Failure>> + use<> {
        let (answer, answered) = oneshot::channel();
        let job = self.0.last_job.get().wrapping_add(1);
        self.0.last_job.set(job);
        match postcard::to_stdvec(&ToWorker { job, request }) {
            Ok(bytes) => {
                let buffer = Uint8Array::from(bytes.as_slice()).buffer();
                let message = Array::of1(&buffer);
                for part in attachments {
                    message.push(part);
                }
                self.0.jobs.borrow_mut().push((job, Job { kind, progress, answer }));
                if kind != JobKind::Ping {
                    self.0.checks_without_message.set(0);
                    self.0.reading.set(None);
                }
                self.send(message, buffer);
            }
            Err(error) => drop(answer.send(Err(Failure::Refused(error.to_string())))),
        }
        async move { answered.await.unwrap_or(Err(Failure::Cancelled)) }
    }

    /// Ends the worker; its jobs fail as cancelled. The next job starts a new worker.
    pub fn stop(&self) {
        self.terminate(&Failure::Cancelled);
    }

    /// Starts the worker before there is a job for it.
    pub fn warm_up(&self) {
        if self.0.running.borrow().is_none() {
            self.start();
        }
    }

    /// Whether a long job is under way.
    pub fn is_working(&self) -> bool {
        self.0.jobs.borrow().iter().any(|(_, job)| job.kind == JobKind::Long)
    }

    /// The number of the file that the worker reads, or was reading when it ended.
    pub fn reading(&self) -> Option<u32> {
        self.0.reading.get()
    }

    /// Called once a second while the page is visible and not busy. Counts calls instead of measuring time, so that a
    /// busy page, a hidden tab or a sleeping machine does not look like a worker that doesn't respond. Returns whether
    /// a working worker has sent no message for long.
    pub fn check_alive(&self) -> bool {
        let silent = self.0.checks_without_message.get() + 1;
        self.0.checks_without_message.set(silent);
        if self.0.generation.get() == 0 {
            return false;
        }
        if self.is_working() && self.0.ready.get() {
            return silent >= Self::SILENT_AFTER_CHECKS;
        }
        // No worker runs, or its code is being fetched, which may take long on a slow connection.
        if self.0.running.borrow().is_none() {
            return false;
        }
        let nothing_asked = self.0.jobs.borrow().is_empty();
        if silent >= Self::LOST_AFTER_CHECKS {
            self.terminate(&Failure::NotResponding);
        } else if silent >= Self::PING_AFTER_CHECKS && nothing_asked {
            drop(self.ask(JobKind::Ping, Request::Ping, &[], Box::new(|_| ())));
        }
        false
    }

    fn send(&self, message: Array, buffer: ArrayBuffer) {
        match &*self.0.running.borrow() {
            Some(running) if self.0.ready.get() => {
                let _ = running.worker.post_message_with_transfer(&message, &Array::of1(&buffer));
                return;
            }
            _ => self.0.unsent.borrow_mut().push((message, buffer)),
        }
        if self.0.running.borrow().is_none() && self.0.unsent.borrow().len() == 1 {
            self.start();
        }
    }

    fn start(&self) {
        let generation = self.0.generation.get() + 1;
        self.0.generation.set(generation);
        self.0.checks_without_message.set(0);
        if !worker_code::is_loaded() {
            let doing = "loading the code for it";
            let step = || Step { doing: doing.to_owned(), ..Step::default() };
            self.0.jobs.borrow().iter().for_each(|(_, job)| (job.progress)(step()));
        }
        let client = self.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let code = worker_code::load().await;
            if client.0.generation.get() != generation {
                return;
            }
            client.0.checks_without_message.set(0);
            let code = code.map_err(|error| Failure::NotLoaded(js_error::describe(&error)));
            let not_started = |error| Failure::NotStarted(js_error::describe(&error));
            match code.and_then(|code| code.start_worker().map_err(not_started)) {
                Ok(worker) => client.attach(worker),
                Err(failure) => client.terminate(&failure),
            }
        });
    }

    fn attach(&self, worker: Worker) {
        // The running worker owns the listeners, so they hold a weak reference.
        let shared = Rc::downgrade(&self.0);
        let client = move || shared.upgrade().map(Client);
        let on_message = Listener::<MessageEvent>::new({
            let client = client.clone();
            move |event: MessageEvent| {
                if let Some(client) = client() {
                    client.receive(&event.data());
                }
            }
        });
        let on_error = Listener::<ErrorEvent>::new({
            let client = client.clone();
            move |event: ErrorEvent| {
                event.prevent_default();
                if let Some(client) = client() {
                    client.terminate(&Failure::of_error_event(&event.message()));
                }
            }
        });
        let on_garbled = Listener::<JsValue>::new(move |_| {
            if let Some(client) = client() {
                client.terminate(&Failure::InvalidMessage);
            }
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_garbled.as_ref().unchecked_ref()));
        *self.0.running.borrow_mut() = Some(RunningWorker { worker, _listeners: (on_message, on_error, on_garbled) });
    }

    fn receive(&self, data: &JsValue) {
        self.0.checks_without_message.set(0);
        let message_parts: Array = data.dyn_ref().cloned().unwrap_or_default();
        let bytes = message_parts.get(0).dyn_ref::<ArrayBuffer>().map(|buffer| Uint8Array::new(buffer).to_vec());
        match bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
            Some(FromWorker::Ready { build }) if build == BUILD => self.on_ready(),
            Some(FromWorker::Ready { build }) => self.terminate(&Failure::WrongBuild(build)),
            Some(FromWorker::Progress { job, step }) => {
                if let Some((_, job)) = self.0.jobs.borrow().iter().find(|(number, _)| *number == job) {
                    (job.progress)(step);
                }
            }
            Some(FromWorker::Reading { file }) => self.0.reading.set(file),
            Some(FromWorker::Done { job, response }) => {
                let attachments = message_parts.iter().skip(1).filter_map(|part| part.dyn_into().ok()).collect();
                self.complete(job, Ok(Answer { response: *response, attachments }));
            }
            Some(FromWorker::Failed { job, message }) => self.complete(job, Err(Failure::Refused(message))),
            Some(FromWorker::Panicked { message }) => self.terminate(&Failure::Panicked(message)),
            None => self.terminate(&Failure::InvalidMessage),
        }
    }

    fn on_ready(&self) {
        self.0.ready.set(true);
        for (message, buffer) in self.0.unsent.take() {
            self.send(message, buffer);
        }
    }

    fn complete(&self, job: u32, answer: Result<Answer, Failure>) {
        let at = self.0.jobs.borrow().iter().position(|(number, _)| *number == job);
        let job = at.map(|at| self.0.jobs.borrow_mut().remove(at));
        if let Some((_, job)) = job {
            // Fails if the future of the answer was dropped.
            let _ = job.answer.send(answer);
        }
    }

    fn terminate(&self, failure: &Failure) {
        self.0.generation.set(self.0.generation.get() + 1);
        self.0.ready.set(false);
        self.0.unsent.take();
        if let Some(running) = self.0.running.take() {
            running.worker.set_onmessage(None);
            running.worker.set_onerror(None);
            running.worker.set_onmessageerror(None);
            running.worker.terminate();
        }
        let jobs = self.0.jobs.take();
        let idle = jobs.iter().all(|(_, job)| job.kind == JobKind::Ping);
        // Jobs are done in the order in which they came, so only the first of them can have ended the worker.
        let mut is_first = true;
        for (_, job) in jobs {
            let is_cause = job.kind == JobKind::Ping || std::mem::take(&mut is_first) || !failure.ended_worker();
            let _ = job.answer.send(Err(if is_cause { failure.clone() } else { Failure::EndedByOtherJob }));
        }
        if idle && *failure != Failure::Cancelled {
            (self.0.on_idle_crash)(failure.clone());
        }
    }
}
