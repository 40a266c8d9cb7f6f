//! The copy of the page on this device, which `web/register.js` and `web/service-worker.js` look after.

use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;

use super::{
    parts,
    tuning::{Bench, Remedy},
};

#[wasm_bindgen]
extern "C" {
    /// Loads the page again, in the newer build where one waits.
    #[wasm_bindgen(js_namespace = collectune)]
    pub fn reload();
}

/// Until nothing more will be asked of the page's host: the copy is whole, or there will be none.
pub async fn settled() {
    // There is nothing to wait for where the promise is missing.
    let _ = parts::promised("settled").await;
}

/// Says it when a newer build has arrived.
pub fn announce_newer(bench: Bench) {
    spawn_local(async move {
        if parts::promised("newer").await.is_ok() {
            let text = "A newer version is ready. Open files have to be opened again after a reload.";
            bench.notify(text.into(), false, Some(Remedy::Reload));
        }
    });
}
