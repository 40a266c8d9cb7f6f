//! The chart of links over time: the share of busy links, the transfers of each link, the critical path, and the time
//! cursor.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::CanvasRenderingContext2d;

use super::{
    drawing::{NetworkDrawing, PreparedTimeline},
    paper::{Inks, pen},
    viewer::Viewer,
};
use crate::{
    app::{
        chart::{CanvasSize, follow_size},
        reactive::{effect, handler},
        signal::{RwSignal, Signal},
        theme::ActiveTheme,
    },
    order::CompactSort,
    schedule::timeline::{Idle, STEPS, Timeline, TimelineSummary},
    topology::listing,
};

/// The width for the names of links; below, the margin at the right.
const GUTTER: f64 = 64.0;
const END: f64 = 18.0;
/// The largest total height of all rows, in CSS pixels.
const HIGHEST: f64 = 4000.0;

/// The names of the orders in which links are listed.
pub const SORTS: [&str; 3] = ["by number", "by use", "by slack"];

/// The horizontal position of an instant on a sheet.
fn across(canvas_size: &CanvasSize, time_ns: f64, end_ns: f64) -> f64 {
    let width = (canvas_size.width() - GUTTER - END).max(1.0);
    GUTTER + if end_ns > 0.0 { width * time_ns / end_ns } else { 0.0 }
}

/// The height of a row.
fn lane(links: usize) -> f64 {
    (HIGHEST / links.max(1) as f64).min(if links <= 40 { 14.0 } else { 11.0 })
}

/// The links in the chosen order.
fn sorted(timeline: &Timeline, sort: usize) -> Vec<u32> {
    let mut links: Vec<u32> = (0..timeline.links.len() as u32).collect();
    let slack = |link: &u32| {
        let (first, last) = (timeline.first[*link as usize] as usize, timeline.first[*link as usize + 1] as usize);
        timeline.slack.get(first..last).and_then(|slack| slack.iter().min().copied()).unwrap_or(u64::MAX)
    };
    match sort {
        1 => links.compact_sort_by_key(|link| u64::MAX - (timeline.busy_share(*link) * 1e12) as u64),
        2 => links.compact_sort_by_key(slack),
        _ => {}
    }
    links
}

/// One schedule over time. A click or a drag moves the time cursor.
#[component]
pub fn TimelineChart(
    viewer: Viewer,
    /// The index of the schedule.
    timeline: Signal<usize>,
) -> impl IntoView {
    let (head, body, whole) = (NodeRef::<html::Div>::new(), NodeRef::<html::Div>::new(), NodeRef::<html::Div>::new());
    let (busy, lanes) = (NodeRef::<html::Canvas>::new(), NodeRef::<html::Canvas>::new());
    let sheets = [RwSignal::new(None), RwSignal::new(None), RwSignal::new(None)];
    follow_size(head, sheets[0]);
    follow_size(body, sheets[1]);
    follow_size(whole, sheets[2]);
    let theme = expect_context::<ActiveTheme>().signal();
    effect(move || {
        let (Some(canvas), Some(canvas_size), inks) = (busy.get(), sheets[0].get(), Inks::of(theme.get())) else {
            return;
        };
        let timeline = timeline.get();
        viewer.with(|drawing| {
            let (Some(pen), Some((timeline, prepared))) = (pen(&canvas, &canvas_size), drawing.prepared(timeline))
            else {
                return;
            };
            share(&pen, &inks, &canvas_size, timeline, prepared, drawing.end_ns);
        });
    });
    effect(move || {
        let (Some(canvas), Some(canvas_size), inks) = (lanes.get(), sheets[1].get(), Inks::of(theme.get())) else {
            return;
        };
        // Use the width of the upper chart, so that a scroll bar does not shift the times.
        let Some(head) = sheets[0].get() else { return };
        let (timeline, sort, chunk) = (timeline.get(), viewer.sort.get(), viewer.chunk.get());
        viewer.with(|drawing| {
            let (Some(pen), Some((timeline, prepared))) = (pen(&canvas, &canvas_size), drawing.prepared(timeline))
            else {
                return;
            };
            match timeline.summary() {
                Some(summary) => lanes_summary(&pen, &inks, &head, summary, timeline.ns(timeline.end), drawing.end_ns),
                None => bars(&pen, &inks, &head, drawing, (timeline, prepared), sort, chunk),
            }
        });
    });
    // The cursor is moved by CSS, without drawing the charts again.
    let cursor = move || {
        let canvas_size = sheets[2].get()?;
        Some(format!("translateX({:.2}px)", across(&canvas_size, viewer.time_ns.get(), viewer.end_ns())))
    };
    let height = move || {
        let links =
            viewer.with(|drawing| drawing.prepared(timeline.get()).map_or(0, |(timeline, _)| lanes_of(timeline)));
        links.map(|links| format!("{:.0}px", lane(links) * links as f64 + 4.0))
    };
    let busy_words = move || {
        viewer.with(|drawing| {
            let (timeline, prepared) = drawing.prepared(timeline.get())?;
            let mean = prepared.busy.iter().map(|share| share.0).sum::<f64>() / prepared.busy.len() as f64 * 100.0;
            Some(format!("Busy links over {}: {mean:.0} % on average", listing::time(timeline.ns(timeline.end))))
        })
    };
    let lane_words = move || {
        viewer.with(|drawing| {
            let (timeline, _) = drawing.prepared(timeline.get())?;
            let (links, path) = (timeline.links.len(), timeline.critical.len());
            if let Some(summary) = timeline.summary() {
                return Some(format!("How busy {links} links are over time, {} in a row.", summary.links_of_lane));
            }
            Some(format!("What each of {links} links carries over time; {path} transfers decide the time. The tables below have both."))
        })
    };
    let seek = move |event: &web_sys::MouseEvent| {
        let Some(canvas_size) = sheets[2].get_untracked() else { return };
        let Some(element) = event.current_target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) else {
            return;
        };
        let x = f64::from(event.client_x()) - element.get_bounding_client_rect().left();
        let share = (x - GUTTER) / (canvas_size.width() - GUTTER - END).max(1.0);
        let end = viewer.with_untracked(|drawing| drawing.end_ns).unwrap_or(0.0);
        viewer.go_to(share.clamp(0.0, 1.0) * end);
    };
    view! {
        <div
            node_ref=whole
            class="network-time"
            on:pointerdown=handler(move |event: ev::PointerEvent| seek(&event))
            on:pointermove=handler(move |event: ev::PointerEvent| if event.buttons() & 1 == 1 { seek(&event) })
        >
            <div node_ref=head class="network-busy">
                <canvas node_ref=busy role="img" aria-label=busy_words></canvas>
            </div>
            <div class="network-lanes" tabindex="0" role="group" aria-label="Links over time">
                <div node_ref=body style:height=height>
                    <canvas node_ref=lanes role="img" aria-label=lane_words></canvas>
                </div>
            </div>
            <div class="network-cursor" style:transform=cursor></div>
        </div>
    }
}

fn small(pen: &CanvasRenderingContext2d, size: f64) {
    pen.set_font(&format!("{size}px system-ui, sans-serif"));
    pen.set_text_baseline("middle");
}

/// Draws the share of busy links over time, unweighted and weighted by bandwidth.
fn share(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    canvas_size: &CanvasSize,
    timeline: &Timeline,
    prepared: &PreparedTimeline,
    end_ns: f64,
) {
    let (top, bottom) = (8.0, canvas_size.height() - 18.0);
    let x = |step: usize| across(canvas_size, timeline.ns(timeline.end) * step as f64 / STEPS as f64, end_ns);
    let y = |share: f64| bottom - (bottom - top) * share.min(1.0);
    small(pen, 11.0);
    pen.set_fill_style_str(&inks.muted);
    pen.set_text_align("right");
    pen.set_stroke_style_str(&inks.grid);
    pen.set_line_width(1.0);
    for (level, words) in [(0.0, "0"), (0.5, ""), (1.0, "100 %")] {
        pen.begin_path();
        pen.move_to(GUTTER, y(level));
        pen.line_to(across(canvas_size, end_ns, end_ns), y(level));
        pen.stroke();
        let _ = pen.fill_text(words, GUTTER - 6.0, y(level));
    }
    let outline = |of: fn(&(f64, f64)) -> f64| {
        pen.begin_path();
        pen.move_to(x(0), y(0.0));
        for (step, busy) in prepared.busy.iter().enumerate() {
            pen.line_to(x(step), y(of(busy)));
            pen.line_to(x(step + 1), y(of(busy)));
        }
        pen.line_to(x(STEPS), y(0.0));
    };
    pen.set_fill_style_str(&inks.busy);
    pen.set_global_alpha(0.25);
    outline(|busy| busy.0);
    pen.fill();
    pen.set_global_alpha(1.0);
    pen.set_stroke_style_str(&inks.busy);
    pen.set_line_width(1.2);
    outline(|busy| busy.0);
    pen.stroke();
    pen.set_stroke_style_str(&inks.muted);
    pen.set_line_width(1.0);
    outline(|busy| busy.1);
    pen.stroke();
    pen.set_fill_style_str(&inks.muted);
    let marks = if canvas_size.width() < 500.0 { 2 } else { 4 };
    for mark in 0..=marks {
        let time = end_ns * f64::from(mark) / f64::from(marks);
        pen.set_text_align(if mark == marks {
            "right"
        } else if mark == 0 {
            "left"
        } else {
            "center"
        });
        let _ = pen.fill_text(
            &listing::time(rounded(time, end_ns)),
            across(canvas_size, time, end_ns),
            canvas_size.height() - 7.0,
        );
    }
}

/// Rounds the time of a mark to the digits that it needs.
fn rounded(time_ns: f64, end_ns: f64) -> f64 {
    let mut unit = 1.0;
    while unit * 1000.0 < end_ns {
        unit *= 10.0;
    }
    if time_ns < end_ns { (time_ns / unit).round() * unit } else { time_ns }
}

/// The number of rows of the chart.
fn lanes_of(timeline: &Timeline) -> usize {
    timeline.summary().map_or(timeline.links.len(), |summary| summary.lanes.len() / STEPS)
}

/// Draws how busy groups of links are over time, darker for busier.
fn lanes_summary(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    canvas_size: &CanvasSize,
    summary: &TimelineSummary,
    end_ns: f64,
    all_ns: f64,
) {
    const SHADES: u8 = 6;
    let lane = lane(summary.lanes.len() / STEPS);
    let x = |step: usize| across(canvas_size, end_ns * step as f64 / STEPS as f64, all_ns);
    pen.set_fill_style_str(&inks.busy);
    for shade in 1..=SHADES {
        pen.set_global_alpha(f64::from(shade) / f64::from(SHADES));
        for (row, busy) in summary.lanes.chunks(STEPS).enumerate() {
            let mut from = 0;
            for same in busy.chunk_by(|a, b| a.div_ceil(43) == b.div_ceil(43)) {
                if same[0].div_ceil(43) == shade {
                    pen.fill_rect(x(from), 2.0 + lane * row as f64, x(from + same.len()) - x(from), lane);
                }
                from += same.len();
            }
        }
    }
    pen.set_global_alpha(1.0);
}

/// Draws the transfers of each link over time, and the reasons of its gaps.
fn bars(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    canvas_size: &CanvasSize,
    drawing: &NetworkDrawing,
    (timeline, prepared): (&Timeline, &PreparedTimeline),
    sort: usize,
    chunk: Option<usize>,
) {
    let links = sorted(timeline, sort);
    let lane = lane(links.len());
    let end = drawing.end_ns;
    let x = |ticks: u64| across(canvas_size, timeline.ns(ticks), end);
    let gap = if lane > 6.0 {
        2.0
    } else if lane > 3.0 {
        1.0
    } else {
        0.0
    };
    let thick = lane - gap;
    let row = |place: usize| 2.0 + lane * place as f64;
    // Gaps: links that wait for a chunk, and links whose chunk is sent later.
    if lane > 4.0 {
        for (kind, ink, alpha) in [(Idle::Waiting, &inks.grid, 1.0), (Idle::Held, &inks.picked, 0.35)] {
            pen.set_fill_style_str(ink);
            pen.set_global_alpha(alpha);
            for (place, link) in links.iter().enumerate() {
                let gaps = timeline.idle(*link, &prepared.ownership);
                for (from, to, _) in gaps.into_iter().filter(|(.., of)| *of == kind) {
                    pen.fill_rect(x(from), row(place) + thick / 3.0, x(to) - x(from), thick / 3.0);
                }
            }
        }
        pen.set_global_alpha(1.0);
    }
    let kind = |index: u32, carried: u32| match chunk {
        Some(chunk) if chunk == carried as usize => 2,
        _ => usize::from(prepared.window.is_critical[index as usize]),
    };
    // Bars that are too narrow to be told apart are merged.
    let is_fine = (x(timeline.end) - x(0)) / timeline.len().max(1) as f64 * (links.len() as f64) < 4.0;
    let separation = if is_fine { 0.0 } else { 1.0 };
    for (group, ink) in [&inks.busy, &inks.critical, &inks.chunk].into_iter().enumerate() {
        pen.set_fill_style_str(ink);
        for (place, link) in links.iter().enumerate() {
            let fill =
                |(from, to): (f64, f64)| pen.fill_rect(from, row(place), (to - from - separation).max(0.5), thick);
            let mut open: Option<(f64, f64)> = None;
            for sent in timeline.transfers_on(*link).filter(|sent| kind(sent.index, sent.chunk) == group) {
                let (from, to) = (x(sent.start), x(sent.end));
                open = match open {
                    Some((first, last)) if is_fine && from - last < 0.5 => Some((first, to)),
                    before => {
                        before.into_iter().for_each(fill);
                        Some((from, to))
                    }
                };
            }
            open.into_iter().for_each(fill);
        }
    }
    // The slack of transfers.
    if lane > 8.0 && !timeline.slack.is_empty() {
        pen.set_fill_style_str(&inks.axis);
        for (place, link) in links.iter().enumerate() {
            for sent in timeline.transfers_on(*link) {
                let slack = timeline.slack[sent.index as usize];
                if slack > 0 {
                    let (from, to) = (x(sent.end), x((sent.end + slack).min(timeline.end)));
                    pen.fill_rect(from, row(place) + thick - 1.5, to - from, 1.5);
                }
            }
        }
    }
    if lane > 8.0 {
        small(pen, (lane - 1.5).min(10.5));
        pen.set_text_align("right");
        pen.set_fill_style_str(&inks.muted);
        for (place, link) in links.iter().enumerate() {
            let (from, to) = timeline.links[*link as usize];
            let words = format!("{} → {}", drawing.name(from), drawing.name(to));
            let _ = pen.fill_text_with_max_width(&words, GUTTER - 6.0, row(place) + thick / 2.0, GUTTER - 8.0);
        }
    }
}
