//! The row of choices above the answer, the question that the answer is to. It stays in view.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;

use super::{chart::follow_size, reactive::effect};
use crate::app::signal::RwSignal;

/// The property of the style sheets that holds the height of the row, below which the tabs stay in view.
const HEIGHT: &str = "--question";

/// The row of choices of a workbench.
#[component]
pub fn Question(
    /// The name of the row for assistive technology.
    label: &'static str,
    children: Children,
) -> impl IntoView {
    let row = NodeRef::<html::Div>::new();
    let size = RwSignal::new(None);
    follow_size(row, size);
    effect(move || set_height(size.get().map_or(0.0, |size| size.height())));
    on_cleanup(|| set_height(0.0));
    view! {
        <div class="question" node_ref=row>
            <section class="controls" aria-label=label>
                {children()}
            </section>
        </div>
    }
}

fn set_height(height_px: f64) {
    let root = document().document_element().and_then(|root| root.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(root) = root {
        let _ = web_sys::HtmlElement::style(&root).set_property(HEIGHT, &format!("{height_px}px"));
    }
}
