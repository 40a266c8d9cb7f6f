//! The examples: fetched with the page, so that opening one later needs no request.

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Response};

use super::{drop::text_as_file, offline, parts, tuning::Bench};
use crate::report::Workbench;

const SWEEP: &str = "simulated_sweep.csv";
const KERNELS: &str = "simulated_kernels.csv";

/// The example of each workbench.
#[derive(Clone, Copy)]
pub struct Example {
    file: RwSignal<Option<File>, LocalStorage>,
    kernels: RwSignal<Option<File>, LocalStorage>,
    settled: RwSignal<bool>,
    stuck: RwSignal<bool>,
}

impl Example {
    /// Fetches it, and waits for everything else that the page fetches. Opens it where the address asks for it.
    pub fn fetch(bench: Bench) -> Self {
        let example = Self {
            file: RwSignal::new_local(None),
            kernels: RwSignal::new_local(None),
            settled: RwSignal::new(false),
            stuck: RwSignal::new(false),
        };
        spawn_local(async move {
            for (name, file) in [(SWEEP, example.file), (KERNELS, example.kernels)] {
                if let Some(text) = fetched(name).await {
                    file.set(text_as_file(name, &text));
                }
            }
            // Where the parts are missing, `boot.js` has said so.
            if parts::load().await.is_err() {
                example.stuck.set(true);
                return;
            }
            bench.warm_up();
            example.open_if_asked(bench);
            offline::settled().await;
            example.settled.set(true);
        });
        example
    }

    /// Whether nothing will be fetched any more.
    pub fn is_settled(self) -> bool {
        self.settled.get()
    }

    /// Whether something that the page can't do without did not arrive.
    pub fn is_stuck(self) -> bool {
        self.stuck.get()
    }

    /// Whether there is an example to open.
    pub fn is_there(self) -> bool {
        self.file.with(Option::is_some)
    }

    /// Whether there are kernels to open.
    pub fn has_kernels(self) -> bool {
        self.kernels.with(Option::is_some)
    }

    /// Opens the kernels.
    pub fn open_kernels(self, bench: Bench) {
        bench.workbench.set(Workbench::Overlap);
        bench.open(self.kernels.get_untracked().into_iter().collect(), true);
    }

    /// Opens the sweep.
    pub fn open(self, bench: Bench) {
        bench.open(self.file.get_untracked().into_iter().collect(), true);
    }

    /// Opens it where the address names it and nothing else is open.
    pub fn open_if_asked(self, bench: Bench) {
        if bench.address.get_untracked().example && bench.files.with_untracked(Vec::is_empty) {
            if bench.workbench.get_untracked() == Workbench::Overlap {
                self.open_kernels(bench);
            } else {
                self.open(bench);
            }
        }
    }
}

async fn fetched(name: &str) -> Option<String> {
    let response: Response =
        JsFuture::from(window().fetch_with_str(&format!("examples/{name}"))).await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    JsFuture::from(response.text().ok()?).await.ok()?.as_string()
}
