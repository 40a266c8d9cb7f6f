//! Paper is no screen: while the browser prints, what is drawn or cut for the screen is made anew.

use leptos::{ev, prelude::*};

/// Whether the browser prints.
#[derive(Clone, Copy)]
pub struct Printing(pub RwSignal<bool>);

impl Printing {
    /// Listens to the browser. What follows the signal is done when it lays out the pages.
    pub fn new() -> Self {
        let is_printing = RwSignal::new(false);
        let before = window_event_listener(ev::beforeprint, move |_| is_printing.set(true));
        let after = window_event_listener(ev::afterprint, move |_| is_printing.set(false));
        on_cleanup(move || [before, after].into_iter().for_each(WindowListenerHandle::remove));
        Self(is_printing)
    }
}
