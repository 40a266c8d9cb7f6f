//! Canvases whose pixels are the pixels of the screen, so that lines are sharp.

use leptos::prelude::*;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{CanvasRenderingContext2d, Element, EventTarget, HtmlCanvasElement, ResizeObserver};

use super::backend::FillingBackend;
use crate::plot::{DrawError, Style};

/// The size of a canvas in device pixels, and the number of device pixels in a CSS pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CanvasSize {
    /// The width, in device pixels.
    pub columns: u32,
    /// The height, in device pixels.
    pub rows: u32,
    /// The number of device pixels in a CSS pixel, from 0.25 to 16.
    pub pixel_ratio: f64,
}

impl CanvasSize {
    /// The size of a canvas that fills `element`, or `None` while the element has no size.
    pub fn of(element: &Element) -> Option<Self> {
        let pixel_ratio = window().device_pixel_ratio().clamp(0.25, 16.0);
        let bounds = element.get_bounding_client_rect();
        let pixels = |length: f64| (length.min(Style::LARGEST) * pixel_ratio).floor().max(0.0) as u32;
        let (columns, rows) = (pixels(bounds.width()), pixels(bounds.height()));
        (columns > 0 && rows > 0).then_some(Self { columns, rows, pixel_ratio })
    }

    /// The width, in CSS pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.columns) / self.pixel_ratio
    }

    /// The height, in CSS pixels.
    pub fn height(&self) -> f64 {
        f64::from(self.rows) / self.pixel_ratio
    }
}

/// Clears a canvas, resizes it as the style says and draws on it; `None` if the drawing failed.
///
/// The canvas is scaled by the fineness of the style, because plotters rounds coordinates: so they are rounded to
/// fractions of a device pixel.
pub(super) fn paint<T>(
    canvas: &HtmlCanvasElement,
    style: &Style,
    draw: impl FnOnce(FillingBackend) -> Result<T, DrawError>,
) -> Option<T> {
    let (columns, rows) = style.size_in_units();
    let (columns, rows) = (columns.div_ceil(style.fineness), rows.div_ceil(style.fineness));
    if (canvas.width(), canvas.height()) != (columns, rows) {
        canvas.set_width(columns);
        canvas.set_height(rows);
    }
    let context: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    let scale = 1.0 / f64::from(style.fineness);
    context.reset_transform().ok()?;
    context.clear_rect(0.0, 0.0, f64::from(columns), f64::from(rows));
    context.scale(scale, scale).ok()?;
    context.set_line_join("round");
    match draw(FillingBackend::new(CanvasBackend::with_canvas_object(canvas.clone())?, context)) {
        Ok(drawn) => Some(drawn),
        Err(error) => {
            web_sys::console::error_1(&format!("the chart could not be drawn: {error}").into());
            None
        }
    }
}

/// Calls back whenever the size of an element changes, until it is dropped.
pub(super) struct SizeWatch {
    observer: ResizeObserver,
    _callback: Closure<dyn FnMut()>,
}

impl SizeWatch {
    pub fn new(element: &Element, on_change: impl FnMut() + 'static) -> Option<Self> {
        let callback = Closure::<dyn FnMut()>::new(on_change);
        let observer = ResizeObserver::new(callback.as_ref().unchecked_ref()).ok()?;
        observer.observe(element);
        Some(Self { observer, _callback: callback })
    }
}

impl Drop for SizeWatch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

/// Calls back once the pixel ratio of the window differs from the given one (the page was zoomed, or moved to another
/// screen), until it is dropped.
pub(super) struct RatioWatch {
    query: EventTarget,
    callback: Closure<dyn FnMut()>,
}

impl RatioWatch {
    pub fn new(pixel_ratio: f64, on_change: impl FnMut() + 'static) -> Option<Self> {
        let query = window().match_media(&format!("(resolution: {pixel_ratio}dppx)")).ok()??;
        let callback = Closure::<dyn FnMut()>::new(on_change);
        query.add_event_listener_with_callback("change", callback.as_ref().unchecked_ref()).ok()?;
        Some(Self { query: query.into(), callback })
    }
}

impl Drop for RatioWatch {
    fn drop(&mut self) {
        let _ = self.query.remove_event_listener_with_callback("change", self.callback.as_ref().unchecked_ref());
    }
}
