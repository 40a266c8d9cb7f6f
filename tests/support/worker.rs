//! A worker that is asked natively.

use collectune::{
    intake::{
        files::{FileSource, FileToLoad},
        unpack::is_archive,
    },
    progress::{Progress, Silent},
    tuning::{aggregate::Target, parameters::Parameters, result::Trained, sets::SetChoice},
    worker::{
        executor::Executor,
        protocol::{Loaded, Request, Response},
    },
};

/// Loads files, numbered from 0, into a worker instead of what it had; archives are unpacked before.
pub fn load(worker: &mut Executor, files: &[(&str, &[u8])]) -> Loaded {
    load_set(worker, files, SetChoice::Largest, &mut Silent)
}

/// As [`load`], of one way of measuring.
pub fn load_set(worker: &mut Executor, files: &[(&str, &[u8])], set: SetChoice, progress: &mut dyn Progress) -> Loaded {
    let mut opened = Vec::new();
    for (name, bytes) in files {
        if is_archive(name) {
            let archive = FileToLoad { id: 0, name: (*name).to_owned(), mapping: None };
            match worker.execute(Request::Unpack(archive), vec![bytes.to_vec().into()], progress) {
                Ok(Response::Unpacked(files)) => {
                    let read = files.into_iter().filter(|file| file.refused.is_none());
                    opened.extend(read.map(|file| (file.name, file.bytes)));
                }
                other => panic!("{other:?}"),
            }
        } else {
            opened.push(((*name).to_owned(), bytes.to_vec()));
        }
    }
    let (names, contents): (Vec<String>, Vec<Vec<u8>>) = opened.into_iter().unzip();
    let names = (0..).zip(names).map(|(id, name)| FileToLoad { id, name, mapping: None });
    let sources = contents.into_iter().map(FileSource::from);
    let request = Request::Load { files: names.collect(), target: Target::Time, set };
    match worker.execute(request, sources.collect(), progress) {
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

/// Trains a worker on what it has loaded.
pub fn train(worker: &mut Executor, parameters: &Parameters) -> Trained {
    worker.studies.tuning.loaded.train(parameters.clone(), &mut Silent).unwrap()
}

/// What a worker answers.
pub fn ask(worker: &mut Executor, request: Request) -> Response {
    worker.execute(request, Vec::new(), &mut Silent).unwrap()
}
