//! The messages of errors that JavaScript throws.

use wasm_bindgen::{JsCast, JsValue};

/// The message of a thrown value; its debug text if it is no `Error`.
pub fn describe(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map_or_else(|| format!("{error:?}"), |error| String::from(error.message()))
}
