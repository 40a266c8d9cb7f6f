//! The canvas of a network: links and nodes on one layer, moving chunks on another.

use std::rc::Rc;

use leptos::{html, prelude::*};
use std::f64::consts::{PI, TAU};
use web_sys::CanvasRenderingContext2d;

use super::{
    drawing::{Key, NetworkDrawing, Picked, PreparedTimeline, PreparedWindow, ticks},
    geometry::{Curve, Geometry},
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
    topology::form::edit::EditTarget,
    topology::timeline::{TimedTransfer, Timeline},
};

/// The geometry of a drawing on a sheet, kept while both stay the same.
type GeometryCache = StoredValue<Option<(Key, CanvasSize, Rc<Geometry>)>, LocalStorage>;

fn geometry(cache: GeometryCache, drawing: &NetworkDrawing, canvas_size: &CanvasSize) -> Rc<Geometry> {
    let key = drawing.key();
    let found = cache.with_value(|cache| {
        cache.as_ref().filter(|(of, on, _)| *of == key && on == canvas_size).map(|(.., geometry)| geometry.clone())
    });
    found.unwrap_or_else(|| {
        let geometry = Rc::new(Geometry::new(&drawing.network, canvas_size));
        cache.set_value(Some((key, *canvas_size, geometry.clone())));
        geometry
    })
}

/// The network with one of its schedules. It takes the keyboard focus: keys move the time cursor, a click picks a node
/// or a link.
#[component]
pub fn NetworkCanvas(
    viewer: Viewer,
    /// The index of the schedule.
    timeline: Signal<usize>,
) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let (under, over) = (NodeRef::<html::Canvas>::new(), NodeRef::<html::Canvas>::new());
    let canvas_size = RwSignal::new(None);
    let cache: GeometryCache = StoredValue::new_local(None);
    let theme = expect_context::<ActiveTheme>().signal();
    follow_size(frame, canvas_size);
    effect(move || {
        let (Some(canvas), Some(canvas_size), inks) = (under.get(), canvas_size.get(), Inks::of(theme.get())) else {
            return;
        };
        let (picked, chunk, overlay, timeline) =
            (viewer.picked.get(), viewer.chunk.get(), viewer.over.get(), timeline.get());
        let channel = viewer.channel.get();
        let windows = if chunk.is_some() { viewer.windows.get() } else { viewer.windows.get_untracked() };
        viewer.with(|drawing| {
            let geometry = geometry(cache, drawing, &canvas_size);
            let Some(pen) = pen(&canvas, &canvas_size) else { return };
            draw_links(&pen, 1.0 / canvas_size.pixel_ratio, &inks, drawing, &geometry, overlay, channel);
            if let (Some(chunk), Some((timeline, _))) = (chunk, drawing.window(timeline, &windows)) {
                draw_tree(&pen, &inks, drawing, timeline, &geometry, chunk);
            }
            let picked = drawing.picked(picked);
            if let Some(Picked::Gap(from, to)) = picked {
                draw_missing_link(&pen, &inks, &geometry, (from, to));
            }
            draw_nodes(&pen, &inks, drawing, &geometry, picked);
        });
    });
    effect(move || {
        let (Some(canvas), Some(canvas_size), inks) = (over.get(), canvas_size.get(), Inks::of(theme.get())) else {
            return;
        };
        let (time, chunk, timeline) = (viewer.time_ns.get(), viewer.chunk.get(), timeline.get());
        viewer.with_window(timeline, |drawing, of, window| {
            let time = ticks(of, time).min(of.end);
            // Keep the last frame until the window at this time has been loaded.
            if !of.covers(time) && time < of.end {
                return;
            }
            let geometry = geometry(cache, drawing, &canvas_size);
            let Some(pen) = pen(&canvas, &canvas_size) else { return };
            let hair = 1.0 / canvas_size.pixel_ratio;
            draw_transfers(&pen, hair, &inks, (drawing, &geometry), (of, window), time, chunk);
            if let Some(prepared) = drawing.timelines.get(timeline) {
                draw_rings(&pen, &inks, (drawing, &geometry), prepared, window, time);
            }
        });
    });
    let description = move || {
        // Not announced during playback.
        let time = if viewer.plays.get() { return None } else { viewer.time_ns.get() };
        viewer.with(|drawing| drawing.description(timeline.get(), &viewer.windows.get(), time))
    };
    let aspect = move || viewer.with(|drawing| format!("1 / {:.3}", Geometry::aspect(&drawing.network).max(0.3)));
    let on_key = move |event: web_sys::KeyboardEvent| {
        let is_plain = !(event.ctrl_key() || event.alt_key() || event.meta_key());
        if is_plain && viewer.key(&event.key()) {
            event.prevent_default();
            event.stop_propagation();
        }
    };
    let click = move |event: web_sys::MouseEvent| {
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        let Some(canvas_size) = canvas_size.get_untracked() else { return };
        let find =
            |drawing: &NetworkDrawing| geometry(cache, drawing, &canvas_size).pick(&drawing.network.topology, at);
        let found = viewer.with_untracked(find).flatten();
        let picked = viewer.picked.get_untracked();
        let begins = viewer.with_untracked(|drawing| drawing.picked(picked)).flatten();
        let begins = begins.filter(|_| viewer.begins.get_untracked());
        viewer.pick(match (begins, found) {
            (Some(Picked::Node(from)), Some(EditTarget::Node(to))) if from != to => Some(EditTarget::Link(from, to)),
            _ => found.filter(|_| picked != found),
        });
    };
    view! {
        <div
            node_ref=frame
            class="network-stage"
            class:is-overlaid=move || 1 < viewer.over.get()
            tabindex="0"
            role="application"
            aria-roledescription="schedule player"
            aria-label="Network: space plays, arrows step, Home and End go to the ends, plus and minus change the speed"
            style:aspect-ratio=aspect
            on:keydown=handler(on_key)
            on:click=handler(click)
        >
            <canvas node_ref=under class="network-under" aria-hidden="true"></canvas>
            <canvas node_ref=over class="network-over" role="img" aria-label=description></canvas>
        </div>
    }
}

fn trace(pen: &CanvasRenderingContext2d, curve: &Curve) {
    pen.move_to(curve.from.0, curve.from.1);
    pen.quadratic_curve_to(curve.bend.0, curve.bend.1, curve.to.0, curve.to.1);
}

fn stroke(pen: &CanvasRenderingContext2d, geometry: &Geometry, links: &mut dyn Iterator<Item = usize>) {
    pen.begin_path();
    links.filter_map(|link| geometry.curves.get(link)).for_each(|curve| trace(pen, curve));
    pen.stroke();
}

fn dashed(pen: &CanvasRenderingContext2d, lengths: &[f64]) {
    let lengths: js_sys::Array = lengths.iter().map(|length| wasm_bindgen::JsValue::from(*length)).collect();
    let _ = pen.set_line_dash(&lengths);
}

/// Draws the links by bandwidth, the damaged ones, and the overlay: the bottleneck, or dumped rings and trees.
fn draw_links(
    pen: &CanvasRenderingContext2d,
    hair: f64,
    inks: &Inks,
    drawing: &NetworkDrawing,
    geometry: &Geometry,
    overlay: usize,
    channel: Option<usize>,
) {
    const WIDTHS: usize = 4;
    let network = &drawing.network;
    let links = &network.topology.links;
    let fastest = links.iter().map(|link| link.bandwidth).filter(|of| of.is_finite()).fold(0.0, f64::max);
    let width = |link: usize| {
        let share = if fastest > 0.0 { (links[link].bandwidth / fastest).min(1.0) } else { 1.0 };
        (share.sqrt() * (WIDTHS - 1) as f64 + 0.5) as usize
    };
    let is_whole = |link: usize| network.damaged.iter().all(|(damaged, _)| *damaged as usize != link);
    let thick = if geometry.radius < 6.0 { 0.6 } else { 1.0 };
    pen.set_line_cap("butt");
    pen.set_stroke_style_str(&inks.axis);
    for step in 0..WIDTHS {
        let is_fine = links.len() > FINE;
        pen.set_line_width(if is_fine { hair } else { (0.7 + 0.75 * step as f64) * thick });
        stroke(pen, geometry, &mut (0..links.len()).filter(|link| width(*link) == step && is_whole(*link)));
    }
    // An arrow shows the direction of a link that has no opposite.
    pen.begin_path();
    for link in (0..links.len()).filter(|link| geometry.is_single[*link]) {
        let [a, b] = geometry.arrow(link, (geometry.radius * 0.9).max(4.0));
        let tip = geometry.curves[link].to;
        pen.move_to(a.0, a.1);
        pen.line_to(tip.0, tip.1);
        pen.line_to(b.0, b.1);
    }
    pen.set_line_width(1.2);
    pen.stroke();
    match overlay {
        0 => {}
        1 => {
            pen.set_stroke_style_str(&inks.picked);
            pen.set_line_width(3.0 * thick + 1.0);
            pen.set_global_alpha(0.55);
            stroke(pen, geometry, &mut network.cut.1.iter().map(|link| *link as usize));
            pen.set_global_alpha(1.0);
        }
        pattern => {
            if let Some(pattern) = network.patterns.get(pattern - 2) {
                for ((from, to), count) in pattern.edges(channel) {
                    let found = network.topology.link(from, to).map(|link| link as usize);
                    pen.set_stroke_style_str(&inks.chunk);
                    pen.set_line_width((1.5 + f64::from(count)).min(7.0));
                    pen.set_global_alpha(0.75);
                    match (found, geometry.nodes.get(from as usize), geometry.nodes.get(to as usize)) {
                        (Some(link), ..) => stroke(pen, geometry, &mut [link].into_iter()),
                        (None, Some(from), Some(to)) => draw_dashed_line(pen, *from, *to),
                        _ => {}
                    }
                    pen.set_global_alpha(1.0);
                }
            }
        }
    }
    pen.set_stroke_style_str(&inks.critical);
    for (link, left) in &network.damaged {
        let lengths: &[f64] = if *left > 0.0 { &[7.0, 3.0] } else { &[2.0, 5.0] };
        dashed(pen, lengths);
        pen.set_line_width(1.6);
        stroke(pen, geometry, &mut [*link as usize].into_iter());
    }
    dashed(pen, &[]);
}

/// Draws the tree of a chunk over the links.
fn draw_tree(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    drawing: &NetworkDrawing,
    timeline: &Timeline,
    geometry: &Geometry,
    chunk: usize,
) {
    pen.set_stroke_style_str(&inks.chunk);
    pen.set_line_width((geometry.radius * 0.45).clamp(2.0, 6.0));
    let branches = timeline.tree(chunk as u32);
    let mut links = branches.iter().filter_map(|branch| drawing.whole.get(branch.sent.link as usize));
    stroke(pen, geometry, &mut links.by_ref().map(|link| *link as usize));
}

/// Draws a place where a link can be added.
fn draw_missing_link(pen: &CanvasRenderingContext2d, inks: &Inks, geometry: &Geometry, (from, to): (u32, u32)) {
    let at = |node: u32| geometry.nodes.get(node as usize);
    let (Some(from), Some(to)) = (at(from), at(to)) else { return };
    pen.set_stroke_style_str(&inks.picked);
    pen.set_line_width(2.0);
    draw_dashed_line(pen, *from, *to);
}

/// Draws a dashed line between two nodes without a link.
fn draw_dashed_line(pen: &CanvasRenderingContext2d, from: (f64, f64), to: (f64, f64)) {
    dashed(pen, &[4.0, 4.0]);
    pen.begin_path();
    pen.move_to(from.0, from.1);
    pen.line_to(to.0, to.1);
    pen.stroke();
    dashed(pen, &[]);
}

fn disc(pen: &CanvasRenderingContext2d, at: (f64, f64), radius: f64) {
    pen.move_to(at.0 + radius, at.1);
    let _ = pen.arc(at.0, at.1, radius, 0.0, TAU);
}

fn draw_nodes(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    drawing: &NetworkDrawing,
    geometry: &Geometry,
    picked: Option<Picked>,
) {
    let network = &drawing.network;
    pen.set_fill_style_str(&inks.paper);
    pen.set_stroke_style_str(&inks.axis);
    pen.set_line_width(1.0);
    pen.begin_path();
    geometry.nodes.iter().for_each(|at| disc(pen, *at, geometry.radius));
    pen.fill();
    pen.stroke();
    // Cross out dead nodes.
    pen.set_stroke_style_str(&inks.critical);
    pen.set_line_width(1.6);
    pen.begin_path();
    for (x, y) in network.dead.iter().filter_map(|node| geometry.nodes.get(*node as usize)) {
        let reach = geometry.radius * 1.1;
        for slope in [reach, -reach] {
            pen.move_to(x - reach, y - slope);
            pen.line_to(x + reach, y + slope);
        }
    }
    pen.stroke();
    pen.set_stroke_style_str(&inks.picked);
    pen.set_line_width(3.0);
    match picked {
        Some(Picked::Node(node)) => {
            pen.begin_path();
            geometry.nodes.get(node as usize).into_iter().for_each(|at| disc(pen, *at, geometry.radius + 3.0));
            pen.stroke();
        }
        Some(Picked::Link(link)) => stroke(pen, geometry, &mut [link as usize].into_iter()),
        _ => {}
    }
    if geometry.has_labels {
        let size = (geometry.radius * 0.85).clamp(7.0, 12.0);
        pen.set_font(&format!("{size}px system-ui, sans-serif"));
        pen.set_text_align("center");
        pen.set_text_baseline("middle");
        pen.set_fill_style_str(&inks.text);
        for (node, at) in (0..).zip(&geometry.nodes) {
            let _ = pen.fill_text_with_max_width(&network.topology.label(node), at.0, at.1, geometry.radius * 1.7);
        }
    }
}

/// Curves per path: browsers draw many small paths faster than one that covers the canvas.
const BATCH: usize = 16;
/// From this number of busy links on, lines are one device pixel wide, which takes a fifth of the time of wider ones.
const MANY: usize = 200;
/// From this number of links on, links are drawn thin, and busy ones are not drawn again.
const FINE: usize = 3000;
/// The most nodes around which progress rings are drawn.
const RINGED: usize = 1500;
/// Below this radius squares look like discs and are drawn three times as fast.
const SMALL: f64 = 2.5;

/// Draws busy links and the chunks on them. `hair` is the width of a device pixel.
fn draw_transfers(
    pen: &CanvasRenderingContext2d,
    hair: f64,
    inks: &Inks,
    (drawing, geometry): (&NetworkDrawing, &Geometry),
    (timeline, window): (&Timeline, &PreparedWindow),
    time: u64,
    chunk: Option<usize>,
) {
    let sent: Vec<TimedTransfer> =
        (0..timeline.links.len() as u32).filter_map(|link| timeline.transfer_at(link, time)).collect();
    let kind = |sent: &TimedTransfer| match chunk {
        Some(chunk) if sent.chunk as usize == chunk => 2,
        _ => usize::from(window.is_critical[sent.index as usize]),
    };
    let dot = (geometry.radius * 0.42).clamp(1.6, 6.0);
    for (group, ink) in [&inks.busy, &inks.critical, &inks.chunk].into_iter().enumerate() {
        pen.set_stroke_style_str(ink);
        pen.set_fill_style_str(ink);
        let of_group: Vec<(&TimedTransfer, &Curve)> = sent
            .iter()
            .filter(|sent| kind(sent) == group)
            .filter_map(|sent| Some((sent, geometry.curves.get(*drawing.whole.get(sent.link as usize)? as usize)?)))
            .collect();
        // Critical transfers are more opaque.
        let (width, alpha) = match group {
            0 if of_group.len() > MANY => (hair, 0.7),
            0 => ((dot * 0.6).max(1.2), 0.4),
            _ => ((dot * 0.6).max(1.2), 0.8),
        };
        pen.set_line_width(width);
        pen.set_global_alpha(alpha);
        for batch in of_group.chunks(BATCH).filter(|_| of_group.len() <= FINE) {
            pen.begin_path();
            batch.iter().for_each(|(_, curve)| trace(pen, curve));
            pen.stroke();
        }
        pen.set_global_alpha(1.0);
        pen.set_line_cap("round");
        pen.set_line_width(2.0 * dot);
        for batch in of_group.chunks(BATCH) {
            pen.begin_path();
            for (sent, curve) in batch {
                let share = (time - sent.start) as f64 / (sent.end - sent.start).max(1) as f64;
                let (x, y) = curve.at(share);
                if dot < SMALL {
                    pen.rect(x - dot, y - dot, 2.0 * dot, 2.0 * dot);
                } else {
                    // A line of no length with round caps is a disc, and faster than an arc.
                    pen.move_to(x, y);
                    pen.line_to(x + 0.01, y);
                }
            }
            if dot < SMALL { pen.fill() } else { pen.stroke() }
        }
        pen.set_line_cap("butt");
    }
}

/// Draws the share of expected transfers that have arrived as rings around nodes.
fn draw_rings(
    pen: &CanvasRenderingContext2d,
    inks: &Inks,
    (drawing, geometry): (&NetworkDrawing, &Geometry),
    prepared: &PreparedTimeline,
    window: &PreparedWindow,
    time: u64,
) {
    if geometry.nodes.len() > RINGED {
        return;
    }
    pen.set_stroke_style_str(&inks.busy);
    pen.set_line_width((geometry.radius * 0.3).clamp(1.0, 4.0));
    for (batch, places) in geometry.nodes.chunks(BATCH).enumerate() {
        pen.begin_path();
        for (node, at) in (batch * BATCH..).zip(places) {
            let Some(node) = drawing.node_in_timeline(node as u32) else { continue };
            let there = window.arrived_by(node, time);
            if there > 0 {
                let share = f64::from(there) / f64::from(prepared.due[node]);
                pen.move_to(at.0, at.1 - geometry.radius);
                let _ = pen.arc(at.0, at.1, geometry.radius, -PI / 2.0, -PI / 2.0 + TAU * share);
            }
        }
        pen.stroke();
    }
}
