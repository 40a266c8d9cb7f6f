//! Copies texts to the clipboard and saves files as downloads.

use gloo_file::{Blob, ObjectUrl};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::HtmlAnchorElement;

/// Copies a text to the clipboard; returns whether the browser allowed it.
pub async fn copy(text: &str) -> bool {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into());
    // Browsers have no clipboard outside secure contexts.
    if clipboard.is_ok_and(|clipboard| clipboard.is_undefined()) {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}

/// Saves a text as a download. `kind` is its media type.
pub fn save(name: &str, kind: &str, text: &str) -> Result<(), JsValue> {
    save_blob(name, Blob::new_with_options(text, Some(kind)))
}

/// Saves a blob as a download. No request is made: the browser reads it from memory.
pub fn save_blob(name: &str, blob: Blob) -> Result<(), JsValue> {
    let address = ObjectUrl::from(blob);
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    // The browser reads the blob after the click has returned.
    set_timeout(move || drop(address), std::time::Duration::from_secs(60));
    Ok(())
}
