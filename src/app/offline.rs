//! The copy of the page for offline use, which `web/register.js` and `web/service-worker.js` maintain.

use js_sys::{Promise, Reflect};
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;

use super::session::{NoticeAction, Session};

#[wasm_bindgen]
extern "C" {
    /// Reloads the page, in the newer version if one is ready.
    #[wasm_bindgen(js_namespace = collectune)]
    pub fn reload();
}

/// Waits until the page will make no further request: the copy is complete, or there will be none.
pub async fn until_settled() {
    // If the promise is missing, there is nothing to wait for.
    let _ = promised("settled").await;
}

/// Shows a notice when a newer version is ready.
pub fn notify_of_update(session: Session) {
    spawn_local(async move {
        if promised("newer").await.is_ok() {
            let text = "A newer version is ready. Open files have to be opened again after a reload.";
            session.notify(text.into(), false, Some(NoticeAction::Reload));
        }
    });
}

/// Waits for the promise `collectune.<name>` of `web/register.js`.
async fn promised(name: &str) -> Result<JsValue, JsValue> {
    let boot = Reflect::get(&js_sys::global(), &"collectune".into())?;
    JsFuture::from(Reflect::get(&boot, &name.into())?.dyn_into::<Promise>()?).await
}
