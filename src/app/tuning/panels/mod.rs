//! The sides of the workbench: a strip of tabs, and one panel at a time. A panel asks the worker only while it is shown.

mod change;
mod comparison;
mod coverage;
mod documents;
mod hotspots;
mod noise;
mod plan;
mod tables;
mod tuner_files;

pub use hotspots::Hotspots;

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::Bench;
use crate::{
    app::{
        listing,
        live::{follow, live},
        text_file,
    },
    collective::Workload,
    tuning::{
        address::{Address, Panel},
        sets::SetChoice,
    },
};

/// A workload in words: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
fn place(workload: &Workload) -> String {
    Address::of(workload, SetChoice::Largest, false).to_string()
}

/// So much of the tab before the one shown can be seen.
const PEEK_PX: i32 = 40;

/// The strip of tabs.
#[component]
pub fn Tabs() -> impl IntoView {
    let bench: Bench = expect_context();
    let strip = NodeRef::<html::Div>::new();
    let is_there = move |panel: Panel| panel != Panel::Tables || bench.documents.with(|all| !all.listings.is_empty());
    let tab = move |panel: Panel| {
        let is_shown = move || bench.panel.get() == panel;
        view! {
            <button
                type="button"
                role="tab"
                id=format!("tab-{}", panel.key())
                aria-controls="panel"
                aria-selected=move || if is_shown() { "true" } else { "false" }
                tabindex=move || if is_shown() { "0" } else { "-1" }
                on:click=move |_| bench.panel.set(panel)
            >
                {panel.name()}
            </button>
        }
    };
    let tabs = move || Panel::ALL.iter().copied().filter(|panel| is_there(*panel)).map(tab).collect_view();
    let walk = move |event: ev::KeyboardEvent| {
        let shown: Vec<Panel> = Panel::ALL.iter().copied().filter(|panel| untrack(|| is_there(*panel))).collect();
        let here = shown.iter().position(|panel| *panel == bench.panel.get_untracked()).unwrap_or(0);
        let there = match event.key().as_str() {
            "ArrowRight" => (here + 1) % shown.len(),
            "ArrowLeft" => (here + shown.len() - 1) % shown.len(),
            "Home" => 0,
            "End" => shown.len() - 1,
            _ => return,
        };
        event.prevent_default();
        bench.panel.set(shown[there]);
        let name = format!("#tab-{}", shown[there].key());
        let button = strip.get_untracked().and_then(|strip| strip.query_selector(&name).ok().flatten());
        if let Some(button) = button.and_then(|button| button.dyn_into::<web_sys::HtmlElement>().ok()) {
            let _ = button.focus();
        }
    };
    // In a narrow window the row scrolls; the tab shown is in view.
    follow(move || {
        let name = format!("#tab-{}", bench.panel.get().key());
        let Some(strip) = strip.get() else { return };
        if let Some(button) = strip.query_selector(&name).ok().flatten() {
            let left = button.get_bounding_client_rect().left() - strip.get_bounding_client_rect().left();
            strip.set_scroll_left(strip.scroll_left() + left as i32 - PEEK_PX);
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label="Sides of the answer" node_ref=strip on:keydown=walk>
            {live(tabs)}
        </div>
    }
}

/// The panel shown, where it is not the answer.
#[component]
pub fn Side() -> impl IntoView {
    let bench: Bench = expect_context();
    live(move || match bench.panel.get() {
        Panel::Answer => ().into_any(),
        Panel::Noise => view! { <noise::NoisePanel /> }.into_any(),
        Panel::TunerFiles => view! { <tuner_files::TunerFilesPanel /> }.into_any(),
        Panel::Coverage => view! { <coverage::CoveragePanel /> }.into_any(),
        Panel::Plan => view! { <plan::PlanPanel /> }.into_any(),
        Panel::Ab => view! { <comparison::ComparisonPanel /> }.into_any(),
        Panel::Compare => view! { <change::ChangePanel /> }.into_any(),
        Panel::Tables => view! { <tables::TablesPanel /> }.into_any(),
    })
}
