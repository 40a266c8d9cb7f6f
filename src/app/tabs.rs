//! The row of tabs of a workbench.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::reactive::{effect, handler, reactive};
use crate::app::signal::{Signal, memo};
use crate::report::placement::Tab;

/// The width of the tab before the chosen one that stays in view, in CSS pixels.
const PEEK_PX: i32 = 40;

/// The id of a tab, by its key.
pub fn tab_id(key: &str) -> String {
    format!("tab-{key}")
}

/// A row of tabs that control the element `panel`.
#[component]
pub fn Tabs(
    /// The tabs, in their order.
    #[prop(into)]
    tabs: Signal<Vec<Tab>>,
    /// The key of the tab that is shown.
    #[prop(into)]
    shown: Signal<String>,
    /// Shows the tab with this key.
    choose: UnsyncCallback<String>,
) -> impl IntoView {
    let strip = NodeRef::<html::Div>::new();
    let tab = move |Tab { key, name }: Tab| {
        let (id, own) = (tab_id(&key), key.clone().into_owned());
        let is_shown = memo(move || shown.with(|shown| *shown == own));
        view! {
            <button
                type="button"
                role="tab"
                id=id
                aria-controls="panel"
                aria-selected=move || if is_shown.get() { "true" } else { "false" }
                tabindex=move || if is_shown.get() { "0" } else { "-1" }
                on:click=handler(move |_| choose.run(key.clone().into_owned()))
            >
                {name}
            </button>
        }
    };
    let row = move || tabs.get().into_iter().map(tab).collect_view();
    let button = move |key: &str| {
        let found = strip.get_untracked()?.query_selector(&format!("#{}", tab_id(key))).ok()??;
        found.dyn_into::<web_sys::HtmlElement>().ok()
    };
    let walk = move |event: ev::KeyboardEvent| {
        let all = tabs.get_untracked();
        let here = all.iter().position(|tab| shown.with_untracked(|shown| *shown == tab.key)).unwrap_or(0);
        let there = match event.key().as_str() {
            "ArrowRight" => (here + 1) % all.len(),
            "ArrowLeft" => (here + all.len() - 1) % all.len(),
            "Home" => 0,
            "End" => all.len() - 1,
            _ => return,
        };
        event.prevent_default();
        choose.run(all[there].key.clone().into_owned());
        if let Some(button) = button(&all[there].key) {
            let _ = button.focus();
        }
    };
    // In a narrow window the row scrolls; the chosen tab is kept in view.
    effect(move || {
        let (key, Some(strip)) = (shown.get(), strip.get()) else { return };
        if let Some(button) = button(&key) {
            let left = button.get_bounding_client_rect().left() - strip.get_bounding_client_rect().left();
            strip.set_scroll_left(strip.scroll_left() + left as i32 - PEEK_PX);
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label="Sections" node_ref=strip on:keydown=handler(walk)>
            {reactive(row)}
        </div>
    }
}
