//! The examples, which are fetched with the page, so that opening one needs no request.

use futures::future::join_all;
use js_sys::Array;
use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Response};

use super::{
    js_error, offline,
    session::{Failure, NoticeAction, Session},
    signal::RwSignal,
    worker_code,
};
use crate::{intake::EXAMPLES, report::Workbench};

/// The examples of the workbenches. Copies share them.
#[derive(Clone, Copy)]
pub struct Example {
    files: leptos::prelude::RwSignal<Vec<(Workbench, File)>, LocalStorage>,
    settled: RwSignal<bool>,
    failed: RwSignal<bool>,
}

impl Example {
    /// Fetches the examples, waits for everything else that the page fetches, and opens an example if the address asks
    /// for it.
    pub fn fetch(session: Session) -> Self {
        let example = Self {
            files: leptos::prelude::RwSignal::new_local(Vec::new()),
            settled: RwSignal::new(false),
            failed: RwSignal::new(false),
        };
        spawn_local(async move {
            let fetch = async |(workbench, name): (Workbench, &'static str)| Some((workbench, fetched(name).await?));
            let files = join_all(EXAMPLES.into_iter().map(fetch)).await;
            example.files.set(files.into_iter().flatten().collect());
            if let Err(error) = worker_code::load().await {
                session.notify_failure(&Failure::NotLoaded(js_error::describe(&error)), NoticeAction::Reload);
                example.failed.set(true);
                return;
            }
            session.warm_up();
            example.open_if_asked(session);
            session.warm_up_reader();
            offline::until_settled().await;
            example.settled.set(true);
        });
        example
    }

    /// Whether the page will fetch nothing more.
    pub fn is_settled(self) -> bool {
        self.settled.get()
    }

    /// Whether something that the page needs could not be fetched.
    pub fn has_failed(self) -> bool {
        self.failed.get()
    }

    /// Whether `workbench` has an example.
    pub fn has(self, workbench: Workbench) -> bool {
        self.files.with(|files| files.iter().any(|(of, _)| *of == workbench))
    }

    /// Opens the example of `workbench` and shows the workbench.
    pub fn open(self, session: Session, workbench: Workbench) {
        session.workbench.set(workbench);
        let files = self.files.get_untracked().into_iter().filter(|(of, _)| *of == workbench);
        session.open(files.map(|(_, file)| file).collect(), true);
    }

    /// Opens the example of the shown workbench if the address asks for it and no file is open, or only those of the
    /// example of another workbench.
    pub fn open_if_asked(self, session: Session) {
        let workbench = session.workbench.get_untracked();
        let has_room = || !session.has_files() || session.shows_other_example(workbench);
        if session.tuning.names_example.get_untracked() && untrack(has_room) {
            self.open(session, workbench);
        }
    }
}

async fn fetched(name: &str) -> Option<File> {
    let response: Response =
        JsFuture::from(window().fetch_with_str(&format!("examples/{name}"))).await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    let content = JsFuture::from(response.blob().ok()?).await.ok()?;
    File::new_with_blob_sequence(&Array::of1(&content), name).ok()
}
