//! The dialogs of the page: the commands with their keys under `?`, and About.
//!
//! Both are markup of `index.html`. A command there names the control that it presses by `data-for`, a CSS selector,
//! and its keys by `data-key`. So every command is a control of the page, and the keys that are shown are the keys that
//! work. A button with `data-open` opens the dialog of that id.

use leptos::{ev, prelude::*, task::spawn_local};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, HtmlElement, HtmlInputElement, KeyboardEvent};

use super::{diagnostics, fields};

/// Listens to the keys, and to the buttons that open dialogs or stand for commands.
pub fn listen() {
    window_event_listener(ev::keydown, |event| on_key(&event));
    window_event_listener(ev::click, |event| {
        let Some(clicked) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else { return };
        if let Some(button) = clicked.closest("[data-open]").ok().flatten() {
            open(&button.get_attribute("data-open").unwrap_or_default());
        } else if let Some(command) = clicked.closest("#commands [data-for]").ok().flatten() {
            run(&command);
        }
    });
    window_event_listener(ev::input, |event| {
        if event.target().is_some_and(|field| field.unchecked_ref::<Element>().id() == "commands-filter") {
            list();
        }
    });
}

fn open(id: &str) {
    let dialog = document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlDialogElement>().ok());
    let Some(dialog) = dialog else { return };
    if let Some(field) = filter() {
        field.set_value("");
    }
    if let Some(element) = document().get_element_by_id("diagnostics") {
        element.set_text_content(Some(&diagnostics::text()));
    }
    list();
    // Fails only if the dialog is open already.
    let _ = dialog.show_modal();
}

/// Shows the commands whose control is on the page and whose name contains all words of the filter.
fn list() {
    let words = filter().map(|field| field.value().to_ascii_lowercase()).unwrap_or_default();
    for command in commands() {
        let name = command.text_content().unwrap_or_default().to_ascii_lowercase();
        let is_listed = control(&command).is_some() && words.split_whitespace().all(|word| name.contains(word));
        if let Some(item) = command.parent_element() {
            let _ = item.toggle_attribute_with_force("hidden", !is_listed);
        }
    }
}

fn run(command: &Element) {
    let Some(control) = control(command) else { return };
    if let Some(dialog) = command.closest("dialog").ok().flatten() {
        dialog.unchecked_into::<HtmlDialogElement>().close();
    }
    // After this event: a click during the handler would not reach the click listeners.
    spawn_local(async move {
        // The closed dialog gave the focus back; a clicked control has the focus. A dialog that opens gives it back to
        // what had it before.
        if !control.has_attribute("data-open") {
            let _ = control.focus();
        }
        control.click();
    });
}

fn on_key(event: &KeyboardEvent) {
    let key = event.key();
    // AltGr sets both flags.
    let is_chord = (event.ctrl_key() || event.meta_key()) && !event.alt_key();
    let dialog = document().query_selector("dialog[open]").ok().flatten();
    if let Some(dialog) = dialog {
        if dialog.id() == "commands" && !is_chord && walk(&key) {
            event.prevent_default();
        }
        return;
    }
    let is_off = || document().query_selector("#single-keys:checked").is_ok_and(|switch| switch.is_none());
    if !is_chord && (event.alt_key() && !event.ctrl_key() || fields::is_typing(event) || is_off()) {
        return;
    }
    let name = if is_chord { format!("Ctrl+{}", key.to_ascii_uppercase()) } else { key };
    let named =
        |command: &Element| command.get_attribute("data-key").is_some_and(|keys| keys.split(' ').any(|k| k == name));
    if let Some(command) = commands().into_iter().find(named)
        && control(&command).is_some()
    {
        event.prevent_default();
        run(&command);
    }
}

/// Moves the focus in the list of commands with the arrow keys; Enter in the filter runs the first. Returns whether the
/// key was used.
fn walk(key: &str) -> bool {
    let shown: Vec<Element> = commands()
        .into_iter()
        .filter(|command| command.parent_element().is_some_and(|item| !item.has_attribute("hidden")))
        .collect();
    let focused = document().active_element();
    let here = shown.iter().position(|command| Some(command) == focused.as_ref());
    let there = match (key, here) {
        ("Enter", None) if focused == filter().map(JsCast::unchecked_into) => {
            if let Some(command) = shown.first() {
                run(command);
            }
            return true;
        }
        ("ArrowDown", None) => 0,
        ("ArrowDown", Some(here)) => here + 1,
        ("ArrowUp", Some(here)) if here > 0 => here - 1,
        _ => return false,
    };
    if let Some(command) = shown.get(there) {
        let _ = command.unchecked_ref::<HtmlElement>().focus();
    }
    true
}

fn filter() -> Option<HtmlInputElement> {
    document().get_element_by_id("commands-filter")?.dyn_into().ok()
}

fn commands() -> Vec<Element> {
    let Ok(found) = document().query_selector_all("#commands [data-for]") else { return Vec::new() };
    (0..found.length()).filter_map(|index| found.get(index)?.dyn_into().ok()).collect()
}

/// The control that a command presses, if it is on the page and not disabled.
fn control(command: &Element) -> Option<HtmlElement> {
    let control = document().query_selector(&command.get_attribute("data-for")?).ok()??;
    let is_usable = !control.matches(":disabled, [aria-disabled=true]").unwrap_or_default();
    is_usable.then(|| control.unchecked_into())
}
