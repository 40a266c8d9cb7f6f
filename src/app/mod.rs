//! The page: what is the same for every workbench. [`tuning`] is the workbench that exists.
//!
//! [`drop`] lets files in, [`client`] and [`pool`] talk to the workers, whose side is [`backstage`]; [`chart`] and
//! [`table`] show, [`status`] says what is going on and what went wrong.

pub mod backstage;
pub mod chart;
mod client;
mod clipboard;
mod drop;
mod example;
mod failure;
mod fields;
mod files;
mod last_words;
mod live;
mod pace;
mod parts;
mod pool;
mod status;
mod table;
mod theme;
mod tuning;

use crate::app::live::{Show, follow, live};
use leptos::{ev, mount::mount_to_body, prelude::*};
use wasm_bindgen::JsCast;

use crate::tuning::{
    address::{Address, Panel},
    sets::Choice,
};
use drop::{DropZone, OnFiles, OpenButton, Opened};
use example::Example;
use status::{Notices, Status};
use theme::{ActiveTheme, ThemeChoice};
use tuning::{Bench, Tuning, Welcome};

/// Whether this is the page. A worker has no window.
#[must_use]
pub fn has_a_window() -> bool {
    js_sys::global().is_instance_of::<web_sys::Window>()
}

/// Opens the page.
pub fn run() {
    last_words::listen();
    mount_to_body(App);
}

#[component]
fn App() -> impl IntoView {
    provide_context(ActiveTheme::follow());
    let (address, broken_link) = match Address::parse(&location_fragment()) {
        Ok(address) => (address, None),
        Err(error) => (Address::default(), Some(error)),
    };
    let bench = Bench::new(address, Panel::of(&location_fragment()));
    provide_context(bench);
    if let Some(error) = broken_link {
        bench.notify(format!("{error}."), true, None);
    }
    let collecting = RwSignal::new(false);
    let on_files = OnFiles::new(move |Opened { files, too_many }| {
        if too_many {
            bench.notify("Only the first 500 files were opened.".into(), true, None);
        }
        bench.open(files, false);
    });
    provide_context(on_files);
    let example = Example::fetch(bench);
    provide_context(example);
    follow_location(bench, example);
    keep_the_pulse(bench);
    tell_the_state(bench, collecting, example);

    let has_files = Memo::new(move |_| bench.files.with(|files| !files.is_empty()));
    view! {
        <header class="masthead">
            <a class="wordmark" href="#">"Collectune"</a>
            <nav aria-label="Workbenches">
                <a class="tab" href="#v=1&w=tuning" aria-current="page">"Tuning"</a>
            </nav>
            <div class="masthead-tools">
                <Show when=move || has_files.get()>
                    <OpenButton on_files />
                </Show>
                <ThemeChoice />
            </div>
        </header>
        <Status />
        <Notices />
        <Show when=move || has_files.get() fallback=|| view! { <Welcome /> }>
            <Tuning />
        </Show>
        <DropZone on_files collecting />
        <div class="visually-hidden" role="status" aria-live="polite">{live(move || bench.announcement.get())}</div>
    }
}

fn location_fragment() -> String {
    window().location().hash().unwrap_or_default()
}

/// Writes what is shown into the URL, and follows the URL: a link pasted into the bar, back and forward.
fn follow_location(bench: Bench, example: Example) {
    let is_first = StoredValue::new(true);
    follow(move || {
        let panel = bench.panel.get();
        let fragment = bench.address.get().fragment() + &panel.suffix();
        let is_first = is_first.try_update_value(|first| std::mem::replace(first, !bench.has_data()));
        // An address that names nothing needs no fragment, and no URL can take one away but the whole one.
        let is_bare = bench.address.get() == Address::default() && panel == Panel::default();
        let place = Address { set: Choice::Largest, ..bench.address.get() };
        let title = if is_bare { "Collectune".to_owned() } else { format!("{place} – Collectune") };
        document().set_title(&title);
        let here = location_fragment();
        if here == fragment || (is_bare && here.is_empty()) {
            return;
        }
        let url = if is_bare { window().location().pathname().unwrap_or_default() } else { fragment };
        if let Ok(history) = window().history() {
            let nothing = wasm_bindgen::JsValue::NULL;
            // A view takes the place of the address that left its choice open, or Back would only choose it again.
            let was_open = Address::parse(&here).is_ok_and(|address| address == Address::default());
            let _ = if is_first == Some(true) || was_open {
                history.replace_state_with_url(&nothing, "", Some(&url))
            } else {
                history.push_state_with_url(&nothing, "", Some(&url))
            };
        }
    });
    let listener = window_event_listener(ev::popstate, move |_| match Address::parse(&location_fragment()) {
        Ok(address) => {
            let pinned = bench.pinned(address);
            bench.address.set(pinned);
            bench.panel.set(Panel::of(&location_fragment()));
            example.open_if_asked(bench);
        }
        Err(error) => bench.notify(format!("{error}."), true, None),
    });
    on_cleanup(move || listener.remove());
}

/// Listens to the workers once a second, as long as the page is looked at.
fn keep_the_pulse(bench: Bench) {
    let beat = move || {
        if document().visibility_state() == web_sys::VisibilityState::Visible {
            bench.beat();
        }
    };
    if let Ok(handle) = set_interval_with_handle(beat, std::time::Duration::from_secs(1)) {
        on_cleanup(move || handle.clear());
    }
}

/// `<html data-state>`: `loading`, `busy`, `idle` or `failed`, for style sheets and tests.
fn tell_the_state(bench: Bench, collecting: RwSignal<bool>, example: Example) {
    let state = Memo::new(move |_| {
        if example.is_stuck() {
            "failed"
        } else if !example.is_settled() {
            "loading"
        } else if collecting.get() || bench.is_busy() {
            "busy"
        } else {
            "idle"
        }
    });
    follow(move || {
        if let Some(root) = document().document_element() {
            let root: web_sys::HtmlElement = root.unchecked_into();
            let _ = root.set_attribute("data-state", state.get());
        }
    });
}
