//! Where the focus goes when what had it is removed.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{reactive::effect, session::Session};
use crate::app::signal::RwSignal;

/// What is to have the focus after what had it.
#[derive(Clone, Copy)]
pub struct Focus {
    /// CSS selectors; the first one that finds an element counts.
    wanted: RwSignal<Option<Vec<String>>>,
}

impl Focus {
    /// Watches the session from here on.
    pub fn new(session: Session) -> Self {
        let wanted = RwSignal::new(None::<Vec<String>>);
        effect(move || {
            // The page is drawn anew when files are read and when work is done.
            session.reports.track();
            let is_busy = session.is_busy();
            let Some(selectors) = wanted.get() else { return };
            request_animation_frame(move || {
                if document().active_element().is_none_or(|element| element.tag_name() == "BODY") {
                    give(&selectors);
                }
                if !is_busy {
                    wanted.set(None);
                }
            });
        });
        Self { wanted }
    }

    /// Gives the focus to what the first of these CSS selectors finds, else to the content, until the work under way is
    /// done. A user who has moved it since keeps it.
    pub fn go_on(self, selectors: Vec<String>) {
        self.wanted.set(Some(selectors));
    }
}

fn give(selectors: &[String]) {
    let takes = |selector: &str| {
        let found = document().query_selector(selector).ok().flatten();
        let Some(next) = found.and_then(|found| found.dyn_into::<HtmlElement>().ok()) else { return false };
        if next.tab_index() < 0 {
            next.set_tab_index(-1);
        }
        let _ = next.focus();
        // What is folded can't have it.
        document().active_element().as_ref() == Some(next.as_ref())
    };
    let _ = selectors.iter().map(String::as_str).chain(["main"]).any(takes);
}
