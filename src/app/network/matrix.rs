//! The matrix of nodes and chunks: a pixel for each pair, coloured by its time of arrival, filled up to the time
//! cursor.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use super::{
    drawing::{Key, NetworkDrawing, ticks},
    paper::tally,
    viewer::Viewer,
};
use crate::{
    app::{
        reactive::{effect, handler, reactive},
        signal::{RwSignal, Signal},
        theme::ActiveTheme,
    },
    plot::{INK_STEPS, Theme, step_rgb},
    topology::listing,
};

/// The state of the canvas.
#[derive(Default)]
struct Drawn {
    /// The drawing, the schedule and the theme that it shows.
    of: Option<(Key, usize, Theme)>,
    pixels: Vec<u8>,
    /// The number of filled cells, in the order of arrival.
    filled: usize,
}

/// The colours of pairs that have not arrived, and of those that exist from the beginning: quieter than any step of the
/// scale.
const fn quiet(theme: Theme) -> ([u8; 4], [u8; 4]) {
    match theme {
        Theme::Light => ([0xEE, 0xF0, 0xF3, 255], [0x7E, 0x86, 0x8F, 255]),
        Theme::Dark => ([0x1F, 0x24, 0x2B, 255], [0x7B, 0x84, 0x8E, 255]),
    }
}

impl Drawn {
    /// Fills the cells up to an instant, or clears those after it; returns whether any changed.
    fn update(&mut self, drawing: &NetworkDrawing, index: usize, theme: Theme, time_ns: f64) -> bool {
        let Some((timeline, prepared)) = drawing.prepared(index) else { return false };
        let (empty, own) = quiet(theme);
        let key = Some((drawing.key(), index, theme));
        let is_other = self.of != key;
        if is_other {
            self.pixels = empty.repeat(prepared.ownership.len());
            (self.of, self.filled) = (key, 0);
        }
        let time = ticks(timeline, time_ns);
        let wanted = prepared.order.partition_point(|cell| prepared.ownership[*cell as usize] <= time);
        let mut paint = |cell: u32, colour: [u8; 4]| {
            let at = cell as usize * 4;
            self.pixels[at..at + 4].copy_from_slice(&colour);
        };
        for cell in prepared.order.get(self.filled..wanted).unwrap_or_default() {
            let at = prepared.ownership[*cell as usize];
            let step = 1 + (at as f64 / timeline.end.max(1) as f64 * (INK_STEPS - 2) as f64) as usize;
            let [r, g, b] = step_rgb(theme, step);
            paint(*cell, if at == 0 { own } else { [r, g, b, 255] });
        }
        for cell in prepared.order.get(wanted..self.filled).unwrap_or_default() {
            paint(*cell, empty);
        }
        std::mem::replace(&mut self.filled, wanted) != wanted || is_other
    }
}

fn put(canvas: &HtmlCanvasElement, drawn: &Drawn, columns: u32, rows: u32) -> Option<()> {
    if (canvas.width(), canvas.height()) != (columns, rows) {
        canvas.set_width(columns);
        canvas.set_height(rows);
    }
    let pen: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    let image = ImageData::new_with_u8_clamped_array_and_sh(Clamped(&drawn.pixels), columns, rows).ok()?;
    pen.put_image_data(&image, 0.0, 0.0).ok()?;
    tally(canvas);
    Some(())
}

/// The matrix of one schedule. A click chooses a chunk.
#[component]
pub fn Matrix(
    viewer: Viewer,
    /// The index of the schedule.
    timeline: Signal<usize>,
) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    let theme = expect_context::<ActiveTheme>().signal();
    let drawn = StoredValue::new_local(Drawn::default());
    let pointed = RwSignal::new(None::<usize>);
    effect(move || {
        let (Some(canvas), theme, time, timeline) = (canvas.get(), theme.get(), viewer.time_ns.get(), timeline.get())
        else {
            return;
        };
        viewer.with(|drawing| {
            let Some((_, prepared)) = drawing.prepared(timeline) else { return };
            let (rows, columns) = prepared.cells;
            drawn.update_value(|drawn| {
                if drawn.update(drawing, timeline, theme, time) {
                    put(&canvas, drawn, columns, rows);
                }
            });
        });
    });
    let cell = move |event: &web_sys::MouseEvent| {
        let canvas = canvas.get_untracked()?;
        let (width, height) = (f64::from(canvas.client_width()), f64::from(canvas.client_height()));
        let (x, y) = (f64::from(event.offset_x()) / width.max(1.0), f64::from(event.offset_y()) / height.max(1.0));
        let (columns, rows) = (canvas.width(), canvas.height());
        let at = |share: f64, count: u32| ((share * f64::from(count)) as u32).min(count.saturating_sub(1));
        Some(at(y, rows) as usize * columns as usize + at(x, columns) as usize)
    };
    let choose = move |event: web_sys::MouseEvent| {
        let prepared = |drawing: &NetworkDrawing| {
            drawing.prepared(timeline.get_untracked()).map(|(_, prepared)| (prepared.cells.1, prepared.every.1))
        };
        let (columns, every) = viewer.with_untracked(prepared).flatten().unwrap_or((1, 1));
        let chunk = cell(&event).map(|cell| cell % columns.max(1) as usize * every as usize);
        viewer.chunk.set(if viewer.chunk.get_untracked() == chunk { None } else { chunk });
    };
    let words = move || {
        viewer.with(|drawing| {
            let (timeline, prepared) = drawing.prepared(timeline.get())?;
            let Some(cell) = pointed.get() else {
                let some = match prepared.every {
                    (1, 1) => String::new(),
                    (nodes, chunks) => format!(" (every {nodes}th and {chunks}th)"),
                };
                return Some(format!(
                    "{} nodes down, {} chunks across{some}; a click shows the path of a chunk.",
                    timeline.nodes, timeline.chunks
                ));
            };
            let columns = prepared.cells.1.max(1) as usize;
            let (node, chunk) =
                (cell / columns * prepared.every.0 as usize, cell % columns * prepared.every.1 as usize);
            let name = drawing.name(node as u32);
            Some(match prepared.ownership.get(cell) {
                Some(0) => format!("Node {name} has chunk {chunk} from the beginning."),
                Some(&u64::MAX) | None => format!("Node {name} never has chunk {chunk}."),
                Some(at) => format!("Chunk {chunk} comes to node {name} at {}.", listing::time(timeline.ns(*at))),
            })
        })
    };
    let description = move || {
        let time = if viewer.plays.get() { return None } else { viewer.time_ns.get() };
        viewer.with(|drawing| {
            let (timeline, prepared) = drawing.prepared(timeline.get())?;
            let time = ticks(timeline, time);
            let there = prepared.order.partition_point(|cell| prepared.ownership[*cell as usize] <= time);
            Some(format!("Which node has which chunk: {there} of {} pairs", prepared.order.len()))
        })
    };
    view! {
        <figure class="network-matrix">
            <canvas
                node_ref=canvas
                role="img"
                aria-label=description
                on:click=handler(choose)
                on:pointermove=handler(move |event: ev::PointerEvent| pointed.set(cell(&event)))
                on:pointerleave=handler(move |_| pointed.set(None))
            ></canvas>
            <figcaption class="small">{reactive(words)}</figcaption>
        </figure>
    }
}
