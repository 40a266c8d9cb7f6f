//! The example sweep: fetched with the page, so that opening it later needs no request.

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Response};

use super::{drop::text_as_file, offline, parts, tuning::Bench};

const ADDRESS: &str = "examples/simulated_sweep.csv";

/// The example sweep.
#[derive(Clone, Copy)]
pub struct Example {
    file: RwSignal<Option<File>, LocalStorage>,
    settled: RwSignal<bool>,
    stuck: RwSignal<bool>,
}

impl Example {
    /// Fetches it, and waits for everything else that the page fetches. Opens it where the address asks for it.
    pub fn fetch(bench: Bench) -> Self {
        let example =
            Self { file: RwSignal::new_local(None), settled: RwSignal::new(false), stuck: RwSignal::new(false) };
        spawn_local(async move {
            if let Some(text) = fetched().await {
                example.file.set(text_as_file("simulated_sweep.csv", &text));
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

    /// Opens it.
    pub fn open(self, bench: Bench) {
        bench.open(self.file.get_untracked().into_iter().collect(), true);
    }

    /// Opens it where the address names it and nothing else is open.
    pub fn open_if_asked(self, bench: Bench) {
        if bench.address.get_untracked().example && bench.files.with_untracked(Vec::is_empty) {
            self.open(bench);
        }
    }
}

async fn fetched() -> Option<String> {
    let response: Response = JsFuture::from(window().fetch_with_str(ADDRESS)).await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    JsFuture::from(response.text().ok()?).await.ok()?.as_string()
}
