//! A worker as the page sees it: jobs go in, answers come out, and every way of dying has a name.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::Future,
    rc::Rc,
};

use futures::channel::oneshot;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{ErrorEvent, MessageEvent, Worker};

use super::{failure::Failure, parts};
use crate::{
    progress::Step,
    worker::protocol::{BUILD, FromWorker, Request, Response, ToWorker},
};

/// One worker. It starts with its first job, and again with the first job after its end.
#[derive(Clone)]
pub struct Client(Rc<Shared>);

struct Shared {
    link: RefCell<Option<Link>>,
    /// Counts the workers, so that a start that was overtaken is recognised.
    generation: Cell<u32>,
    ready: Cell<bool>,
    /// What can't be sent before the worker is ready.
    unsent: RefCell<Vec<(Array, ArrayBuffer)>>,
    jobs: RefCell<BTreeMap<u32, Job>>,
    last_job: Cell<u32>,
    /// The file that the worker reads, or was reading when it ended.
    reading: Cell<Option<u32>>,
    silent_beats: Cell<u32>,
    on_idle_death: Box<dyn Fn(Failure)>,
}

struct Job {
    weight: Weight,
    progress: Box<dyn Fn(Step)>,
    answer: oneshot::Sender<Result<Answer, Failure>>,
}

/// An answered job.
pub struct Answer {
    /// What came out.
    pub response: Response,
    /// What came beside it: the training rows of [`Response::Trained`].
    pub training: Option<ArrayBuffer>,
}

/// How much a job matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Takes its time; stopping it means to stop the worker.
    Work,
    /// Is answered at once.
    Glance,
    /// Only asks whether anybody is there.
    Pulse,
}

type Listener<E> = Closure<dyn Fn(E)>;

struct Link {
    worker: Worker,
    _listeners: (Listener<MessageEvent>, Listener<ErrorEvent>, Listener<JsValue>),
}

impl Client {
    /// Beats without a job after which the worker is asked whether it is there.
    const IDLE_BEATS: u32 = 5;
    /// Beats after which a worker without work, or one that doesn't start, counts as dead.
    const LOST_BEATS: u32 = 15;
    /// Beats without a word from a worker at work after which its restart is offered.
    const SILENT_BEATS: u32 = 30;

    /// A worker that is not started yet; `on_idle_death` is told when it dies without a job.
    pub fn new(on_idle_death: impl Fn(Failure) + 'static) -> Self {
        Self(Rc::new(Shared {
            link: RefCell::new(None),
            generation: Cell::new(0),
            ready: Cell::new(false),
            unsent: RefCell::default(),
            jobs: RefCell::default(),
            last_job: Cell::new(0),
            reading: Cell::new(None),
            silent_beats: Cell::new(0),
            on_idle_death: Box::new(on_idle_death),
        }))
    }

    /// Sends a request with what travels beside it: handles of files, training rows. The answer comes when the returned future is awaited; the
    /// job runs whether or not it is.
    pub fn ask(
        &self,
        weight: Weight,
        request: Request,
        beside: &[JsValue],
        progress: Box<dyn Fn(Step)>,
    ) -> impl Future<Output = Result<Answer, Failure>> + use<> {
        let (answer, answered) = oneshot::channel();
        let job = self.0.last_job.get().wrapping_add(1);
        self.0.last_job.set(job);
        match postcard::to_stdvec(&ToWorker { job, request }) {
            Ok(bytes) => {
                let buffer = Uint8Array::from(bytes.as_slice()).buffer();
                let message = Array::of1(&buffer);
                for part in beside {
                    message.push(part);
                }
                self.0.jobs.borrow_mut().insert(job, Job { weight, progress, answer });
                if weight != Weight::Pulse {
                    self.0.silent_beats.set(0);
                    self.0.reading.set(None);
                }
                self.send(message, buffer);
            }
            Err(error) => drop(answer.send(Err(Failure::Refused(error.to_string())))),
        }
        async move { answered.await.unwrap_or(Err(Failure::Cancelled)) }
    }

    /// Ends the worker; its jobs fail as cancelled. The next job starts a new one.
    pub fn stop(&self) {
        self.end(&Failure::Cancelled);
    }

    /// Starts the worker before there is a job for it.
    pub fn warm_up(&self) {
        if self.0.link.borrow().is_none() {
            self.start();
        }
    }

    /// Whether a job is under way that only [`Self::stop`] can end.
    pub fn at_work(&self) -> bool {
        self.0.jobs.borrow().values().any(|job| job.weight == Weight::Work)
    }

    /// The number of the file that the worker reads, or was reading when it ended.
    pub fn reading(&self) -> Option<u32> {
        self.0.reading.get()
    }

    /// Called once a second while the page is visible and answers in time: looks after the worker's pulse. Counting beats
    /// and not time, neither a busy page nor a hidden tab nor a machine asleep looks like a silent worker. True where a
    /// worker at work has said nothing for long.
    pub fn beat(&self) -> bool {
        let silent = self.0.silent_beats.get() + 1;
        self.0.silent_beats.set(silent);
        if self.0.generation.get() == 0 {
            return false;
        }
        if self.at_work() && self.0.ready.get() {
            return silent >= Self::SILENT_BEATS;
        }
        // Without a link either nobody is there, or the code is on its way, which may take long on a slow line.
        if self.0.link.borrow().is_none() {
            return false;
        }
        let nothing_asked = self.0.jobs.borrow().is_empty();
        if silent >= Self::LOST_BEATS {
            self.end(&Failure::Silent);
        } else if silent >= Self::IDLE_BEATS && nothing_asked {
            drop(self.ask(Weight::Pulse, Request::Ping, &[], Box::new(|_| ())));
        }
        false
    }

    fn send(&self, message: Array, buffer: ArrayBuffer) {
        match &*self.0.link.borrow() {
            Some(link) if self.0.ready.get() => {
                let _ = link.worker.post_message_with_transfer(&message, &Array::of1(&buffer));
                return;
            }
            _ => self.0.unsent.borrow_mut().push((message, buffer)),
        }
        if self.0.link.borrow().is_none() && self.0.unsent.borrow().len() == 1 {
            self.start();
        }
    }

    fn start(&self) {
        let generation = self.0.generation.get() + 1;
        self.0.generation.set(generation);
        self.0.silent_beats.set(0);
        if !parts::are_here() {
            let doing = "loading the code for it";
            let step = || Step { doing: doing.to_owned(), ..Step::default() };
            self.0.jobs.borrow().values().for_each(|job| (job.progress)(step()));
        }
        let client = self.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let parts = parts::load().await;
            if client.0.generation.get() != generation {
                return;
            }
            client.0.silent_beats.set(0);
            let parts = parts.map_err(|error| Failure::NotLoaded(parts::describe(&error)));
            let not_started = |error| Failure::NotStarted(parts::describe(&error));
            match parts.and_then(|parts| parts.start_worker().map_err(not_started)) {
                Ok(worker) => client.listen_to(worker),
                Err(failure) => client.end(&failure),
            }
        });
    }

    fn listen_to(&self, worker: Worker) {
        // The link keeps the listeners, so they must not keep the link.
        let shared = Rc::downgrade(&self.0);
        let client = move || shared.upgrade().map(Client);
        let on_message = Listener::<MessageEvent>::new({
            let client = client.clone();
            move |event: MessageEvent| {
                if let Some(client) = client() {
                    client.hear(&event.data());
                }
            }
        });
        let on_error = Listener::<ErrorEvent>::new({
            let client = client.clone();
            move |event: ErrorEvent| {
                event.prevent_default();
                if let Some(client) = client() {
                    client.end(&Failure::of_error_event(&event.message()));
                }
            }
        });
        let on_garbled = Listener::<JsValue>::new(move |_| {
            if let Some(client) = client() {
                client.end(&Failure::Garbled);
            }
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_garbled.as_ref().unchecked_ref()));
        *self.0.link.borrow_mut() = Some(Link { worker, _listeners: (on_message, on_error, on_garbled) });
    }

    fn hear(&self, data: &JsValue) {
        self.0.silent_beats.set(0);
        let parts: Array = data.dyn_ref().cloned().unwrap_or_default();
        let bytes = parts.get(0).dyn_ref::<ArrayBuffer>().map(|buffer| Uint8Array::new(buffer).to_vec());
        match bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
            Some(FromWorker::Ready { build }) if build == BUILD => self.begin(),
            Some(FromWorker::Ready { build }) => self.end(&Failure::WrongBuild(build)),
            Some(FromWorker::Progress { job, step }) => {
                if let Some(job) = self.0.jobs.borrow().get(&job) {
                    (job.progress)(step);
                }
            }
            Some(FromWorker::Reading { file }) => self.0.reading.set(file),
            Some(FromWorker::Done { job, response }) => {
                let training = parts.get(1).dyn_into().ok();
                self.answer(job, Ok(Answer { response: *response, training }));
            }
            Some(FromWorker::Failed { job, message }) => self.answer(job, Err(Failure::Refused(message))),
            Some(FromWorker::Panicked { message }) => self.end(&Failure::Panicked(message)),
            None => self.end(&Failure::Garbled),
        }
    }

    fn begin(&self) {
        self.0.ready.set(true);
        for (message, buffer) in self.0.unsent.take() {
            self.send(message, buffer);
        }
    }

    fn answer(&self, job: u32, answer: Result<Answer, Failure>) {
        let job = self.0.jobs.borrow_mut().remove(&job);
        if let Some(job) = job {
            // Fails where nobody waits for the answer.
            let _ = job.answer.send(answer);
        }
    }

    fn end(&self, failure: &Failure) {
        self.0.generation.set(self.0.generation.get() + 1);
        self.0.ready.set(false);
        self.0.unsent.take();
        if let Some(link) = self.0.link.take() {
            link.worker.set_onmessage(None);
            link.worker.set_onerror(None);
            link.worker.set_onmessageerror(None);
            link.worker.terminate();
        }
        let jobs = self.0.jobs.take();
        let idle = jobs.values().all(|job| job.weight == Weight::Pulse);
        // Jobs are done in the order in which they came: only the first of those that wait can have ended the worker.
        let mut is_first = true;
        for job in jobs.into_values() {
            let is_cause = job.weight == Weight::Pulse || std::mem::take(&mut is_first) || !failure.is_death();
            let _ = job.answer.send(Err(if is_cause { failure.clone() } else { Failure::WithAnother }));
        }
        if idle && *failure != Failure::Cancelled {
            (self.0.on_idle_death)(failure.clone());
        }
    }
}
