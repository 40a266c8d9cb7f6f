//! A file that the page holds open.

use crate::intake::{Mapping, MappingRequest};

/// A file that the page holds open.
#[derive(Clone)]
pub struct OpenFile {
    /// Names it to the worker.
    pub id: u32,
    /// The browser's handle; its content stays on the disk.
    pub handle: web_sys::File,
    /// Of a table with unknown headers: what was asked, and the answer.
    pub mapping: Option<(MappingRequest, Mapping)>,
    /// Comes with the page.
    pub is_example: bool,
    /// Why it is left out: it ended the worker that read it.
    pub not_read: Option<String>,
}
