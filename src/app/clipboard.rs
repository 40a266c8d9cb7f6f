//! Results leave the page: into the clipboard, or as a file.

use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

/// Copies a text. False where the browser forbids it.
pub async fn copy(text: &str) -> bool {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into());
    // Browsers have no clipboard outside secure contexts.
    if clipboard.is_ok_and(|clipboard| clipboard.is_undefined()) {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}

/// Saves a text as a file in the way the browser saves downloads.
pub fn save(name: &str, kind: &str, text: &str) -> Result<(), JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let blob = Blob::new_with_str_sequence_and_options(&Array::of1(&text.into()), &options)?;
    let address = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    // The browser reads the blob after the click has returned.
    set_timeout(move || drop(Url::revoke_object_url(&address)), std::time::Duration::from_secs(60));
    Ok(())
}
