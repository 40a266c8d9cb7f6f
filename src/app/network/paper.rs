//! A canvas to draw on in CSS pixels, and the colours of the theme.

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::{
    app::chart::Sheet,
    plot::{Colour, Ink, Theme, css},
};
use wasm_bindgen::JsCast;

/// The colours of a theme, as a canvas takes them.
pub struct Inks {
    pub paper: String,
    pub text: String,
    pub muted: String,
    pub axis: String,
    pub grid: String,
    /// What a link carries.
    pub busy: String,
    /// What decides the time.
    pub critical: String,
    /// The chosen chunk.
    pub chunk: String,
    /// What is picked, and the bottleneck.
    pub picked: String,
}

impl Inks {
    /// Those of a theme.
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

/// A pen on a cleared canvas that is as large as the sheet; the canvas counts how often it is drawn (`data-drawn`).
pub fn pen(canvas: &HtmlCanvasElement, sheet: &Sheet) -> Option<CanvasRenderingContext2d> {
    if (canvas.width(), canvas.height()) != (sheet.columns, sheet.rows) {
        canvas.set_width(sheet.columns);
        canvas.set_height(sheet.rows);
    }
    let pen: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    let ratio = sheet.pixel_ratio;
    pen.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0).ok()?;
    pen.clear_rect(0.0, 0.0, sheet.width() + 1.0, sheet.height() + 1.0);
    tally(canvas);
    Some(pen)
}

/// Counts that a canvas was drawn.
pub fn tally(canvas: &HtmlCanvasElement) {
    const NAME: &str = "data-drawn";
    let drawn = canvas.get_attribute(NAME).and_then(|drawn| drawn.parse::<u32>().ok()).unwrap_or(0);
    let _ = canvas.set_attribute(NAME, &(drawn + 1).to_string());
}
