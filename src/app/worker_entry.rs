//! The program of a worker: takes requests from the page, hands them to the executor, and answers.
//!
//! A message in either direction is an array: first the encoded [`ToWorker`] or [`FromWorker`], then the attachments,
//! which the browser passes without a copy in the encoding: the handles of a request's files, the data of jobs, and the
//! files of an archive. The field of an attachment is empty in the encoded message.

use std::{
    cell::RefCell,
    io::{self, Read},
    iter, mem,
    rc::Rc,
};

use gloo_file::Blob;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{DedicatedWorkerGlobalScope, FileReaderSync, MessageEvent};

use super::js_error::describe;
use crate::{
    intake::files::FileSource,
    progress::{Progress, Step},
    workbench::{WorkbenchAnswer, WorkbenchQuestion},
    worker::{
        executor::Executor,
        protocol::{BUILD, FromWorker, Request, Response, ToWorker},
    },
};

/// Answers the page's requests until the worker is terminated.
pub fn run() {
    std::panic::set_hook(Box::new(|panic| post(&FromWorker::Panicked { message: panic.to_string() }, &[])));
    let executor = RefCell::new(Executor::default());
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((message, files)) = received(event.data()) {
            answer(&mut executor.borrow_mut(), message, files);
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    post(&FromWorker::Ready { build: BUILD.to_owned() }, &[]);
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Decodes a message of the page. `None` if it can't be decoded: the page is of another build, which `Ready` has told
/// it.
fn received(data: JsValue) -> Option<(ToWorker, Vec<FileSource>)> {
    let parts: Array = data.dyn_into().ok()?;
    let mut message: ToWorker = postcard::from_bytes(&bytes_of(&parts.get(0))?).ok()?;
    let mut blobs = Vec::new();
    for part in parts.iter().skip(1) {
        match (part.dyn_into::<web_sys::Blob>(), &mut message.request) {
            (Ok(blob), _) => blobs.push(Blob::from(blob)),
            (Err(part), Request::Study { question, .. }) => {
                if let WorkbenchQuestion::Do { basis, .. } = &mut **question {
                    *basis = bytes_of(&part)?;
                }
            }
            _ => {}
        }
    }
    Some((message, FileBatch::sources(blobs)))
}

fn bytes_of(part: &JsValue) -> Option<Vec<u8>> {
    Some(Uint8Array::new(part.dyn_ref::<ArrayBuffer>()?).to_vec())
}

fn answer(executor: &mut Executor, ToWorker { job, request }: ToWorker, files: Vec<FileSource>) {
    let mut reporter = Reporter { job, last: Step::default(), posted_ms: f64::NEG_INFINITY };
    match executor.execute(request, files, &mut reporter) {
        Ok(mut response) => {
            let attachments = match &mut response {
                Response::Study(answer) => {
                    let jobs = match &mut **answer {
                        WorkbenchAnswer::Shown(shown) => Some(&mut shown.jobs),
                        WorkbenchAnswer::Changed(change) => Some(&mut change.jobs),
                        _ => None,
                    };
                    let basis = jobs.map(|jobs| mem::take(&mut jobs.basis)).filter(|basis| !basis.is_empty());
                    basis.into_iter().collect()
                }
                Response::Unpacked(files) => files.iter_mut().map(|file| mem::take(&mut file.bytes)).collect(),
                _ => Vec::new(),
            };
            post(&FromWorker::Done { job, response: Box::new(response) }, &attachments);
        }
        Err(error) => post(&FromWorker::Failed { job, message: error.to_string() }, &[]),
    }
}

fn post(message: &FromWorker, attachments: &[Vec<u8>]) {
    // Both fail only if the page is gone or memory is exhausted; then nothing can be reported.
    if let Ok(bytes) = postcard::to_stdvec(message) {
        let parts: Array =
            iter::once(&bytes).chain(attachments).map(|bytes| Uint8Array::from(bytes.as_slice()).buffer()).collect();
        let _ = scope().post_message_with_transfer(&parts, &parts);
    }
}

/// Sends progress to the page, at most every [`Self::EVERY_MS`] for the same step.
struct Reporter {
    job: u32,
    last: Step,
    posted_ms: f64,
}

impl Reporter {
    const EVERY_MS: f64 = 50.0;
}

impl Progress for Reporter {
    fn report(&mut self, doing: &str, done: u64, total: u64) {
        let now_ms = js_sys::Date::now();
        if doing == self.last.doing && now_ms - self.posted_ms < Self::EVERY_MS {
            return;
        }
        self.last = Step { doing: doing.to_owned(), done, total };
        self.posted_ms = now_ms;
        post(&FromWorker::Progress { job: self.job, step: self.last.clone() }, &[]);
    }

    fn reading(&mut self, file: Option<u32>) {
        post(&FromWorker::Reading { file }, &[]);
    }
}

/// The number of bytes that are read from the browser at once.
const PIECE_BYTES: u64 = 8 << 20;

fn read_blob(blob: &web_sys::Blob) -> Result<Vec<u8>, JsValue> {
    Ok(Uint8Array::new(&FileReaderSync::new()?.read_as_array_buffer(blob)?.into()).to_vec())
}

/// The files of a request. Small ones are read ahead together, because a call to the browser takes about a millisecond,
/// however little it reads.
struct FileBatch {
    blobs: Vec<Blob>,
    /// The content of the files that were read ahead.
    ahead: Vec<Option<Vec<u8>>>,
    /// The number of files for which reading ahead was tried.
    tried: usize,
}

impl FileBatch {
    fn sources(blobs: Vec<Blob>) -> Vec<FileSource> {
        let sizes: Vec<u64> = blobs.iter().map(Blob::size).collect();
        let batch = Rc::new(RefCell::new(Self { ahead: vec![None; blobs.len()], blobs, tried: 0 }));
        let source = |(at, size_bytes)| {
            let content = BlobReader { batch: Rc::clone(&batch), at, size_bytes, next: 0, piece: Vec::new(), taken: 0 };
            FileSource { size_bytes, content: Box::new(content) }
        };
        sizes.into_iter().enumerate().map(source).collect()
    }

    /// A piece of a file from byte `from` on.
    fn piece(&mut self, at: usize, from: u64) -> Result<Vec<u8>, JsValue> {
        if from == 0 {
            if at >= self.tried {
                self.read_ahead(at);
            }
            if let Some(whole) = self.ahead[at].take() {
                return Ok(whole);
            }
        }
        let blob = &self.blobs[at];
        read_blob(blob.slice(from, (from + PIECE_BYTES).min(blob.size())).as_ref())
    }

    /// Reads a file and those after it that fit into a piece together. If one of them can't be read, none is, and each
    /// is read by itself.
    fn read_ahead(&mut self, at: usize) {
        let mut bytes = 0;
        let fits = |blob: &&Blob| {
            bytes += blob.size();
            bytes <= PIECE_BYTES
        };
        let together: Vec<&Blob> = self.blobs[at..].iter().take_while(fits).collect();
        self.tried = at + together.len().max(1);
        if together.len() < 2 {
            return;
        }
        let sizes: Vec<usize> = together.iter().map(|blob| blob.size() as usize).collect();
        let length: usize = sizes.iter().sum();
        let all: Array = together.into_iter().map(|blob| web_sys::Blob::clone(blob.as_ref())).collect();
        let read = web_sys::Blob::new_with_blob_sequence(&all).and_then(|all| read_blob(&all));
        // If a file has become shorter, the offsets of those after it are wrong.
        let Some(all) = read.ok().filter(|all| all.len() == length) else { return };
        let mut rest = all.as_slice();
        for (size, ahead) in sizes.into_iter().zip(&mut self.ahead[at..]) {
            let (file, after) = rest.split_at(size);
            *ahead = Some(file.to_vec());
            rest = after;
        }
    }
}

/// Reads a file piece by piece, so that only one piece is in memory.
struct BlobReader {
    batch: Rc<RefCell<FileBatch>>,
    /// The index of the file.
    at: usize,
    size_bytes: u64,
    /// The byte at which the next piece starts.
    next: u64,
    piece: Vec<u8>,
    taken: usize,
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() && self.next < self.size_bytes {
            self.piece = self.batch.borrow_mut().piece(self.at, self.next).map_err(|error| {
                io::Error::other(format!(
                    "the browser can't read it any more; it was moved or changed since it was opened, so open it again ({})",
                    describe(&error)
                ))
            })?;
            self.next += self.piece.len() as u64;
            self.taken = 0;
        }
        let rest = &self.piece[self.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}
