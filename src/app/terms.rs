//! Explanations of the glossary's terms in labels: shown while the pointer is over a label or what it labels has the
//! focus, until Escape.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{Element, EventTarget, HtmlElement};

use crate::glossary::explained;

/// The id of the element that has the explanation.
const ID: &str = "explanation";

/// The space around an explanation, in CSS pixels.
const MARGIN_PX: f64 = 8.0;

/// A label, marked if it uses a term of the glossary.
pub fn term(label: String) -> AnyView {
    let is_term = !explained(&label).is_empty();
    view! { <span class:term=is_term>{label}</span> }.into_any()
}

/// A label of something that can't have the focus; it has it itself where it uses a term.
pub fn focusable_term(label: &str) -> AnyView {
    let is_term = !explained(label).is_empty();
    view! { <span class:term=is_term tabindex=is_term.then_some("0")>{label.to_owned()}</span> }.into_any()
}

/// The element that shows an explanation.
#[component]
pub fn Explanation() -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    // What has the focus and is explained.
    let described = || document().query_selector(&format!("[aria-describedby={ID}]")).ok().flatten();
    let hide = move || {
        let Some(tip) = node.get_untracked() else { return };
        if let Some(described) = described() {
            let _ = described.remove_attribute("aria-describedby");
        }
        // Fails where it is hidden already.
        let _ = tip.hide_popover();
    };
    let show = move |label: &Element| {
        let Some(tip) = node.get_untracked() else { return };
        hide();
        let hint = label.closest("[title]").ok().flatten().and_then(|hinted| hinted.get_attribute("title"));
        let own = explained(&label.text_content().unwrap_or_default());
        tip.set_text_content(Some(&hint.into_iter().chain([own]).collect::<Vec<_>>().join("\n")));
        let _ = tip.show_popover();
        place(&tip, label);
    };
    let over = move |event: ev::PointerEvent| match element(event.target()) {
        Some(over) if over.id() == ID => {}
        over => match over.and_then(|over| over.closest(".term").ok().flatten()) {
            Some(label) => show(&label),
            None if described().is_none() => hide(),
            None => {}
        },
    };
    let focus = move |event: ev::FocusEvent| {
        let Some(focused) = element(event.target()) else { return };
        let is_shown = focused.matches(":focus-visible").unwrap_or_default();
        match label_of(&focused).filter(|_| is_shown) {
            Some(label) => {
                show(&label);
                let _ = focused.set_attribute("aria-describedby", ID);
            }
            None => hide(),
        }
    };
    let listeners = [
        window_event_listener(ev::pointerover, over),
        window_event_listener(ev::focusin, focus),
        window_event_listener(ev::focusout, move |_| hide()),
        // Its place is that of the width before.
        window_event_listener(ev::resize, move |_| hide()),
        window_event_listener(ev::keydown, move |event| {
            if event.key() == "Escape" {
                hide();
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(WindowListenerHandle::remove));
    view! { <div id=ID class="explanation" role="tooltip" popover="manual" node_ref=node></div> }
}

fn element(target: Option<EventTarget>) -> Option<Element> {
    target?.dyn_into().ok()
}

/// The marked label of what has the focus.
fn label_of(focused: &Element) -> Option<Element> {
    let within = |outer: &str| focused.closest(outer).ok()??.query_selector(".term").ok()?;
    focused.closest(".term").ok()?.or_else(|| ["button", "label", "fieldset"].into_iter().find_map(within))
}

/// Puts an explanation above its label, or below it where there is no room.
fn place(tip: &HtmlElement, label: &Element) {
    let (label, own) = (label.get_bounding_client_rect(), tip.get_bounding_client_rect());
    let [x, y] = [window().scroll_x(), window().scroll_y()].map(Result::unwrap_or_default);
    let width = document().document_element().map_or(0.0, |root| f64::from(root.client_width()));
    let left = label.left().min(width - own.width() - MARGIN_PX).max(MARGIN_PX);
    let above = label.top() - own.height();
    let top = if above < 0.0 { label.bottom() } else { above };
    let style = HtmlElement::style(tip);
    let _ = style.set_property("left", &format!("{}px", left + x));
    let _ = style.set_property("top", &format!("{}px", top + y));
}
