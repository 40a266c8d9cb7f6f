//! The chart as an SVG, drawn when the page is printed.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{DomParser, SupportedType};

use super::state::State;
use crate::{
    app::{printing::Printing, reactive::effect},
    plot::{Style, Theme, svg, with_captions},
};

/// The SVG of the chart while the browser prints; empty otherwise.
#[component]
pub(super) fn PrintedChart(state: State) -> impl IntoView {
    let page = NodeRef::<html::Div>::new();
    let Printing(is_printing) = expect_context();
    effect(move || {
        let (Some(page), is_printing) = (page.get(), is_printing.get()) else { return };
        page.set_text_content(None);
        let Some(chart) = state.chart.get_untracked().filter(|_| is_printing) else { return };
        let style = Style {
            height: chart.height().unwrap_or(340.0),
            theme: Theme::Light,
            hidden: state.hidden.get_untracked(),
            highlight: state.pinned.get_untracked(),
            zoom: state.zoom.get_untracked(),
            ..Style::default()
        };
        // A parsed SVG document runs no scripts, and its texts are escaped when it is written.
        let document = DomParser::new().and_then(|parser| {
            parser.parse_from_string(&svg(&chart, &with_captions(&chart, style)), SupportedType::ImageSvgXml)
        });
        if let Some(drawing) = document.ok().and_then(|document| document.document_element()) {
            let _ = page.append_child(drawing.unchecked_ref());
        }
    });
    view! { <div node_ref=page class="chart-paper"></div> }
}
