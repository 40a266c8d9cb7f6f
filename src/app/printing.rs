//! Follows whether the browser prints: charts are then drawn as SVG and tables in full.

use leptos::{ev, prelude::*};

use crate::app::{executor, signal::RwSignal};

/// Whether the browser prints. Copies share it.
#[derive(Clone, Copy)]
pub struct Printing(pub RwSignal<bool>);

impl Printing {
    /// Listens to the browser. Effects of the signal run before its handler returns: Firefox lays out the pages without
    /// a microtask in between.
    pub fn new() -> Self {
        let is_printing = RwSignal::new(false);
        let set = move |prints| {
            is_printing.set(prints);
            executor::run_effects();
        };
        let before = window_event_listener(ev::beforeprint, move |_| set(true));
        let after = window_event_listener(ev::afterprint, move |_| set(false));
        on_cleanup(move || [before, after].into_iter().for_each(WindowListenerHandle::remove));
        Self(is_printing)
    }
}
