//! A canvas to draw on in CSS pixels, and the colours of the theme.

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::{
    app::chart::CanvasSize,
    plot::{Colour, Ink, Theme, css},
};
use wasm_bindgen::JsCast;

/// The colours of a theme, as CSS colours for a canvas.
pub struct Inks {
    pub paper: String,
    pub text: String,
    pub muted: String,
    pub axis: String,
    pub grid: String,
    /// The colour of links that carry a chunk.
    pub busy: String,
    /// The colour of transfers on the critical path.
    pub critical: String,
    /// The colour of the tree of the chosen chunk.
    pub chunk: String,
    /// The picked element, and the bottleneck.
    pub picked: String,
}

impl Inks {
    /// The colours of a theme.
    pub fn of(theme: Theme) -> Self {
        let of = |ink| css(theme, ink);
        Self {
            paper: of(Ink::Paper),
            text: of(Ink::Text),
            muted: of(Ink::Muted),
            axis: of(Ink::Axis),
            grid: of(Ink::Grid),
            busy: of(Ink::Of(Colour::Answer)),
            critical: of(Ink::Of(Colour::Palette(0))),
            chunk: of(Ink::Of(Colour::Palette(1))),
            picked: of(Ink::Of(Colour::Palette(2))),
        }
    }
}

/// The context of a cleared canvas with the size of the sheet. The canvas counts how often it is drawn (`data-drawn`).
pub fn pen(canvas: &HtmlCanvasElement, canvas_size: &CanvasSize) -> Option<CanvasRenderingContext2d> {
    if (canvas.width(), canvas.height()) != (canvas_size.columns, canvas_size.rows) {
        canvas.set_width(canvas_size.columns);
        canvas.set_height(canvas_size.rows);
    }
    let pen: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    let ratio = canvas_size.pixel_ratio;
    pen.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0).ok()?;
    pen.clear_rect(0.0, 0.0, canvas_size.width() + 1.0, canvas_size.height() + 1.0);
    tally(canvas);
    Some(pen)
}

/// Counts a drawing of the canvas.
pub fn tally(canvas: &HtmlCanvasElement) {
    const NAME: &str = "data-drawn";
    let drawn = canvas.get_attribute(NAME).and_then(|drawn| drawn.parse::<u32>().ok()).unwrap_or(0);
    let _ = canvas.set_attribute(NAME, &(drawn + 1).to_string());
}
