//! Saves a chart as a file. The file is made in the page and saved as a download; nothing is sent.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{Blob, HtmlCanvasElement};

use super::canvas::paint;
use crate::{
    app::clipboard::{save, save_blob},
    plot::{Chart, Style, draw, svg},
};

/// The number of pixels of a PNG per CSS pixel.
const PNG_RATIO: f64 = 2.0;

/// Saves the chart as an SVG document.
pub(super) fn save_svg(chart: &Chart, style: &Style) -> Result<(), JsValue> {
    save(&format!("{}.svg", file_stem(chart)), "image/svg+xml", &svg(chart, style))
}

/// Saves the chart as a PNG at twice the size on the page.
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

/// The id of the chart with characters that no file name can hold replaced by `-`, at most 80 of them.
pub(super) fn file_stem(chart: &Chart) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let stem: String = chart.id.chars().take(80).map(safe).collect();
    if stem.is_empty() { "chart".to_owned() } else { stem }
}
