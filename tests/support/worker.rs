//! A worker that is asked natively.

use collectune::{
    progress::Silent,
    worker::{
        executor::{Executor, FileSource},
        protocol::{FileToLoad, Loaded, Request, Response},
    },
};

/// Loads files, numbered from 0, into a worker instead of what it had.
pub fn load(worker: &mut Executor, files: &[(&str, &[u8])]) -> Loaded {
    let names = (0..).zip(files).map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None });
    let sources = files.iter().map(|(_, bytes)| FileSource {
        size_bytes: bytes.len() as u64,
        content: Box::new(std::io::Cursor::new(bytes.to_vec())),
    });
    let request = Request::Load { files: names.collect(), target: Default::default(), set: Default::default() };
    match worker.execute(request, sources.collect(), &mut Silent) {
        Ok(Response::Loaded(loaded)) => loaded,
        other => panic!("{other:?}"),
    }
}

/// A worker that has loaded texts.
pub fn with(files: &[(&str, String)]) -> Executor {
    let mut worker = Executor::default();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    load(&mut worker, &files);
    worker
}

/// What a worker answers.
pub fn ask(worker: &mut Executor, request: Request) -> Response {
    worker.execute(request, Vec::new(), &mut Silent).unwrap()
}
