//! The copy of the page on this device, which `web/register.js` and `web/service-worker.js` look after.

use js_sys::{Promise, Reflect};
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;

use super::session::{NoticeAction, Session};

#[wasm_bindgen]
extern "C" {
    /// Loads the page again, in the newer build where one waits.
    #[wasm_bindgen(js_namespace = collectune)]
    pub fn reload();
}

/// Until nothing more will be asked of the page's host: the copy is whole, or there will be none.
pub async fn until_settled() {
    // There is nothing to wait for where the promise is missing.
    let _ = promised("settled").await;
}

/// Says it when a newer build has arrived.
pub fn notify_of_update(session: Session) {
    spawn_local(async move {
        if promised("newer").await.is_ok() {
            let text = "A newer version is ready. Open files have to be opened again after a reload.";
            session.notify(text.into(), false, Some(NoticeAction::Reload));
        }
    });
}

/// What `web/register.js` promises under that name, once it is there.
async fn promised(name: &str) -> Result<JsValue, JsValue> {
    let boot = Reflect::get(&js_sys::global(), &"collectune".into())?;
    JsFuture::from(Reflect::get(&boot, &name.into())?.dyn_into::<Promise>()?).await
}
