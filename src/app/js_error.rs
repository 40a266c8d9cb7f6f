//! What JavaScript throws, in words.

use wasm_bindgen::{JsCast, JsValue};

/// A thrown value in words.
pub fn describe(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map_or_else(|| format!("{error:?}"), |error| String::from(error.message()))
}
