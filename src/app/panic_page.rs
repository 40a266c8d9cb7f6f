//! The message that replaces the page after a panic or a trap of its code.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::ErrorEvent;

use super::diagnostics;

/// Shows the message whenever the code of the page panics or traps.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.to_string();
        web_sys::console::error_1(&message.as_str().into());
        show_page(&message);
    }));
    // Exhausted memory causes a trap without a panic.
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(|event: ErrorEvent| {
        let trapped = event.error().is_instance_of::<js_sys::Error>()
            && event.error().unchecked_into::<js_sys::Error>().name() == "RuntimeError";
        if trapped {
            show_page(&event.message());
        }
    });
    let _ = window().add_event_listener_with_callback("error", on_error.as_ref().unchecked_ref());
    on_error.forget();
}

/// Covers the page with the message. Uses plain DOM, because the code that drew the page has stopped.
fn show_page(message: &str) {
    let show = || -> Result<(), JsValue> {
        let (document, body) = (document(), document().body().ok_or(JsValue::NULL)?);
        if document.get_element_by_id("panic-page").is_some() {
            return Ok(());
        }
        let add = |parent: &web_sys::Node, tag: &str, text: &str| -> Result<web_sys::Element, JsValue> {
            let element = document.create_element(tag)?;
            element.set_text_content(Some(text));
            parent.append_child(&element)?;
            Ok(element)
        };
        let card: web_sys::HtmlDialogElement = add(&body, "dialog", "")?.unchecked_into();
        card.set_id("panic-page");
        card.set_attribute("role", "alertdialog")?;
        card.set_attribute("aria-label", "The page has stopped")?;
        // The page below does not work any more, so the dialog can't be closed.
        card.set_attribute("closedby", "none")?;
        add(&card, "h2", "The page has stopped")?;
        add(
            &card,
            "p",
            "This is a mistake in Collectune, or the browser has no memory left. Nothing was sent anywhere, and your \
             files are untouched. Reload the page and open them again.",
        )?;
        diagnostics::note_error(message);
        let facts = add(&card, "pre", &diagnostics::text())?;
        facts.set_id("panic-details");
        let again: web_sys::HtmlAnchorElement = add(&card, "a", "Reload")?.unchecked_into();
        again.set_class_name("button primary");
        // A link to the page itself would only change the fragment.
        again.set_href(&window().location().pathname()?);
        // web/boot.js, which still runs, listens to it.
        let copy = add(&card, "button", "Copy diagnostics")?;
        copy.set_attribute("data-copy", "panic-details")?;
        card.show_modal()?;
        again.focus()?;
        root_state("failed");
        Ok(())
    };
    let _ = show();
}

fn root_state(state: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-state", state);
    }
}
