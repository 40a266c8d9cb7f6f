//! The chart as a file: made in the tab, handed to the browser as a download.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{Blob, HtmlCanvasElement};

use super::canvas::paint;
use crate::{
    app::clipboard::{save, save_blob},
    plot::{Chart, Style, draw, svg},
};

/// How much sharper than the screen's CSS pixels a PNG is.
const PNG_RATIO: f64 = 2.0;

/// Saves the chart as an SVG document.
pub(super) fn save_svg(chart: &Chart, style: &Style) -> Result<(), JsValue> {
    save(&format!("{}.svg", file_stem(chart)), "image/svg+xml", &svg(chart, style))
}

/// Saves the chart as a PNG at twice the screen's size.
pub(super) fn save_png(chart: &Chart, style: &Style) -> Result<(), JsValue> {
    let style = Style { pixel_ratio: PNG_RATIO, ..style.clone() };
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.dyn_into()?;
    paint(&canvas, &style, |backend| draw(chart, &style, backend)).ok_or("the chart could not be drawn")?;
    let name = format!("{}.png", file_stem(chart));
    let on_blob = Closure::once_into_js(move |blob: Option<Blob>| {
        if let Some(Err(error)) = blob.map(|blob| save_blob(&name, blob.into())) {
            web_sys::console::error_1(&error);
        }
    });
    canvas.to_blob(on_blob.unchecked_ref())
}

/// The chart's id as far as a file name may hold it.
fn file_stem(chart: &Chart) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let stem: String = chart.id.chars().take(80).map(safe).collect();
    if stem.is_empty() { "chart".to_owned() } else { stem }
}
