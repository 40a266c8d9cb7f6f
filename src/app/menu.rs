//! A button that opens a menu: what can be done with a chart or a table, or which columns a table shows.
//!
//! The arrow keys, Home and End go through the entries; Escape closes the menu and gives the focus back to the button.

use crate::app::{
    reactive::{Show, handler},
    signal::{RwSignal, Signal},
};
use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, Node};

/// A command or switch of a menu.
pub struct MenuEntry {
    label: String,
    meaning: String,
    is_on: Option<Signal<bool>>,
    choose: UnsyncCallback<()>,
}

impl MenuEntry {
    /// An entry that does something and closes the menu.
    pub fn action(label: String, choose: impl Fn() + 'static) -> Self {
        Self { label, meaning: String::new(), is_on: None, choose: UnsyncCallback::new(move |()| choose()) }
    }

    /// An entry that is switched on and off while the menu stays open; its meaning is shown on hover.
    pub fn switch(label: String, meaning: String, is_on: Signal<bool>, toggle: impl Fn() + 'static) -> Self {
        Self { meaning, is_on: Some(is_on), ..Self::action(label, toggle) }
    }
}

/// A button that opens a list of commands.
#[component]
pub fn Menu(
    /// The visible text, such as `⋯`.
    label: &'static str,
    /// The name of the button and the menu for assistive technology.
    #[prop(into)]
    name: Signal<String>,
    /// Makes the entries whenever the menu is opened.
    entries: UnsyncCallback<(), Vec<MenuEntry>>,
) -> impl IntoView {
    let place = NodeRef::<html::Span>::new();
    let is_open = RwSignal::new(false);
    let is_above = RwSignal::new(false);
    // The button that opens the menu is the first.
    let buttons = move || -> Vec<HtmlElement> {
        let found = place.try_get_untracked().flatten().and_then(|place| place.query_selector_all("button").ok());
        let found = found.iter().flat_map(|all| (0..all.length()).filter_map(|index| all.get(index)));
        found.map(JsCast::unchecked_into).collect()
    };
    let focus = move |index: usize| {
        if let Some(button) = buttons().get(index) {
            let _ = button.focus();
        }
    };
    // The menu opens upwards where there is room for it above the button only.
    let open = move || {
        is_above.set(false);
        is_open.set(true);
        request_animation_frame(move || {
            let menu = buttons().get(1).and_then(|entry| entry.parent_element());
            if let Some((menu, button)) = menu.zip(buttons().into_iter().next()) {
                let (menu, button) = (menu.get_bounding_client_rect(), button.get_bounding_client_rect());
                let height = window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(f64::INFINITY);
                is_above.set(menu.bottom() > height && menu.height() < button.top());
            }
            focus(1);
        });
    };
    let close = move || {
        focus(0);
        is_open.set(false);
    };
    let walk = move |event: ev::KeyboardEvent| {
        let key = event.key();
        let last = buttons().len().saturating_sub(1);
        if !is_open.get_untracked() {
            if key == "ArrowDown" || key == "ArrowUp" {
                event.prevent_default();
                open();
            }
            return;
        }
        // The keys of the page are not for an open menu.
        event.stop_propagation();
        let focused = document().active_element();
        let here = buttons().iter().position(|button| Some(button.as_ref()) == focused.as_ref()).unwrap_or(0);
        match key.as_str() {
            "ArrowDown" => focus(here % last.max(1) + 1),
            "ArrowUp" => focus(if here > 1 { here - 1 } else { last }),
            "Home" => focus(1),
            "End" => focus(last),
            "Escape" => close(),
            _ => return,
        }
        event.prevent_default();
    };
    let leave = move |event: ev::FocusEvent| {
        let to = event.related_target().and_then(|to| to.dyn_into::<Node>().ok());
        if !place.try_get_untracked().flatten().is_some_and(|place| place.contains(to.as_ref())) {
            is_open.set(false);
        }
    };
    // Some browsers take the focus away from what is pressed, which would close the menu before the click.
    let keep_focus = move |event: ev::MouseEvent| {
        if is_open.get_untracked() {
            event.prevent_default();
        }
    };
    let entry = move |MenuEntry { label, meaning, is_on, choose }: MenuEntry| {
        let is_action = is_on.is_none();
        let run = move |_| {
            if is_action {
                close();
            }
            choose.run(());
        };
        view! {
            <button
                type="button"
                role=if is_action { "menuitem" } else { "menuitemcheckbox" }
                aria-checked=move || is_on.map(|is_on| if is_on.get() { "true" } else { "false" })
                tabindex="-1"
                title=(!meaning.is_empty()).then_some(meaning)
                on:click=handler(run)
            >
                {label}
            </button>
        }
    };
    view! {
        <span class="menu" node_ref=place on:keydown=handler(walk) on:focusout=handler(leave) on:mousedown=handler(keep_focus)>
            <button
                type="button"
                class="quiet"
                aria-haspopup="menu"
                aria-expanded=move || if is_open.get() { "true" } else { "false" }
                aria-label=move || name.get()
                on:click=handler(move |_| if is_open.get_untracked() { close() } else { open() })
            >
                {label}
            </button>
            <Show when=move || is_open.get()>
                <div role="menu" class:is-above=move || is_above.get() aria-label=move || name.get()>
                    {entries.run(()).into_iter().map(entry).collect_view()}
                </div>
            </Show>
        </span>
    }
}
