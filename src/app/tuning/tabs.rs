//! The row of tabs of the panels.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use crate::{
    app::{
        reactive::{effect, reactive},
        session::Session,
    },
    tuning::address::Panel,
};

/// The width of the tab before the chosen one that stays in view, in CSS pixels.
const PEEK_PX: i32 = 40;

/// The row of tabs, one for each panel.
#[component]
pub fn Tabs() -> impl IntoView {
    let session: Session = expect_context();
    let strip = NodeRef::<html::Div>::new();
    let is_there = move |panel: Panel| panel != Panel::Tables || session.documents.with(|all| !all.listings.is_empty());
    let tab = move |panel: Panel| {
        let is_shown = move || session.tuning.panel.get() == panel;
        view! {
            <button
                type="button"
                role="tab"
                id=format!("tab-{}", panel.key())
                aria-controls="panel"
                aria-selected=move || if is_shown() { "true" } else { "false" }
                tabindex=move || if is_shown() { "0" } else { "-1" }
                on:click=move |_| session.set_panel(panel)
            >
                {panel.name()}
            </button>
        }
    };
    let tabs = move || Panel::ALL.iter().copied().filter(|panel| is_there(*panel)).map(tab).collect_view();
    let walk = move |event: ev::KeyboardEvent| {
        let shown: Vec<Panel> = Panel::ALL.iter().copied().filter(|panel| untrack(|| is_there(*panel))).collect();
        let here = shown.iter().position(|panel| *panel == session.tuning.panel.get_untracked()).unwrap_or(0);
        let there = match event.key().as_str() {
            "ArrowRight" => (here + 1) % shown.len(),
            "ArrowLeft" => (here + shown.len() - 1) % shown.len(),
            "Home" => 0,
            "End" => shown.len() - 1,
            _ => return,
        };
        event.prevent_default();
        session.set_panel(shown[there]);
        let name = format!("#tab-{}", shown[there].key());
        let button = strip.get_untracked().and_then(|strip| strip.query_selector(&name).ok().flatten());
        if let Some(button) = button.and_then(|button| button.dyn_into::<web_sys::HtmlElement>().ok()) {
            let _ = button.focus();
        }
    };
    // In a narrow window the row scrolls; the chosen tab is kept in view.
    effect(move || {
        let name = format!("#tab-{}", session.tuning.panel.get().key());
        let Some(strip) = strip.get() else { return };
        if let Some(button) = strip.query_selector(&name).ok().flatten() {
            let left = button.get_bounding_client_rect().left() - strip.get_bounding_client_rect().left();
            strip.set_scroll_left(strip.scroll_left() + left as i32 - PEEK_PX);
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label="Panels" node_ref=strip on:keydown=walk>
            {reactive(tabs)}
        </div>
    }
}
