//! A file that is open on the page.

use wasm_bindgen::JsValue;

use crate::intake::{Mapping, MappingRequest, files::FileToLoad};

/// A file that is open on the page.
#[derive(Clone)]
pub struct OpenFile {
    /// The number of the file, which the worker uses as well; unique in the session.
    pub id: u32,
    /// The handle of the browser; the content stays on the disk.
    pub handle: web_sys::File,
    /// For a table with unknown headers: the question that was asked, and the answer.
    pub mapping: Option<(MappingRequest, Mapping)>,
    /// Whether it is the example of the page.
    pub is_example: bool,
    /// Why the file is left out, if the worker ended while reading it.
    pub not_read: Option<String>,
}

impl OpenFile {
    /// The file as a request names it, and its handle.
    pub fn to_load(&self) -> (FileToLoad, JsValue) {
        let mapping = self.mapping.as_ref().map(|(_, mapping)| mapping.clone());
        (FileToLoad { id: self.id, name: self.handle.name(), mapping }, JsValue::from(&self.handle))
    }
}
