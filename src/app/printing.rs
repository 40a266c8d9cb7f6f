//! Follows whether the browser prints: charts are then drawn as SVG and tables in full.

use leptos::{ev, prelude::*};

use crate::app::signal::RwSignal;

/// Whether the browser prints. Copies share it.
#[derive(Clone, Copy)]
pub struct Printing(pub RwSignal<bool>);

impl Printing {
    /// Listens to the browser. Effects of the signal run before the browser lays out the pages.
    pub fn new() -> Self {
        let is_printing = RwSignal::new(false);
        let before = window_event_listener(ev::beforeprint, move |_| is_printing.set(true));
        let after = window_event_listener(ev::afterprint, move |_| is_printing.set(false));
        on_cleanup(move || [before, after].into_iter().for_each(WindowListenerHandle::remove));
        Self(is_printing)
    }
}
