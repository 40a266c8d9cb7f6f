//! The state of one chart, and how pointer and keyboard change it.

use std::{cell::RefCell, sync::Arc};

use leptos::prelude::*;

use super::{
    canvas::CanvasSize,
    linked::{Links, value_of},
};
use crate::{
    app::{
        reactive::effect,
        signal::{RwSignal, Signal, memo},
    },
    plot::{
        Chart, Layout, Pick, PointReadout, Rect, Spacing, Style, Theme, Walk, Zoom, reading, with_captions, zoom_text,
    },
};

/// The distance from a point within which the pointer points at it, in CSS pixels.
const POINTER_REACH_PX: f64 = 48.0;
/// The distance in CSS pixels from which moving the pressed pointer selects a part of the chart.
const DRAG_PX: f64 = 6.0;
/// The length of what a key shows after zooming in, as a share of what was shown before.
const KEY_ZOOM: f64 = 0.5;
/// How far a key moves what is shown, as a share of it.
const KEY_MOVE: f64 = 0.25;

/// What a viewer can switch above a chart, each off at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// The other spacing of the x axis.
    X,
    /// The other spacing of the y axis.
    Y,
    /// Times in µs instead of bus bandwidths in GB/s.
    Time,
}

impl Switch {
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Time];
}

/// Makes a chart of times of a chart of bus bandwidths; `None` where it can't.
pub type ToTime = Callback<Arc<Chart>, Option<Arc<Chart>>>;

#[derive(Clone, Copy)]
pub(super) struct State {
    /// The chart with its own axes, or with times if these are switched on.
    base: Signal<Option<Arc<Chart>>>,
    /// The chart as it is drawn.
    pub chart: Signal<Option<Arc<Chart>>>,
    to_time: Option<ToTime>,
    /// What is switched on, in the order of [`Switch::ALL`].
    pub switched: RwSignal<[bool; 3]>,
    /// The part of the chart that is shown.
    pub zoom: RwSignal<Zoom>,
    /// Whether the part that is drawn next is to be said.
    says_zoom: StoredValue<bool>,
    /// Where the pressed pointer began, and whether it has selected something since.
    drag: StoredValue<(Option<(f64, f64)>, bool)>,
    /// The rectangle that the pressed pointer selects.
    pub selection: RwSignal<Option<Rect>>,
    /// The value of the x axis that is pointed at in another chart or in a table.
    pub across: Signal<Option<f64>>,
    links: Links,
    pub theme: Signal<Theme>,
    /// The names of the hidden series.
    pub hidden: RwSignal<Vec<String>>,
    /// The point under the pointer, or the point that the keyboard went to.
    pub pointed: RwSignal<Option<Pick>>,
    /// The pinned point, whose values stay shown.
    pub pinned: RwSignal<Option<Pick>>,
    pub canvas_size: RwSignal<Option<CanvasSize>>,
    pub layout: RwSignal<Arc<Layout>>,
    /// The text for screen readers.
    pub announcement: RwSignal<String>,
    on_pick: Option<Callback<Option<Pick>>>,
}

impl State {
    /// The state of a chart; `number` tells it from the others on the page.
    pub fn new(
        number: usize,
        given: Signal<Option<Arc<Chart>>>,
        theme: Signal<Theme>,
        on_pick: Option<Callback<Option<Pick>>>,
        pinned: RwSignal<Option<Pick>>,
        to_time: Option<ToTime>,
    ) -> Self {
        let links: Links = expect_context();
        let switched = RwSignal::new([false; 3]);
        let base = memo(move || {
            let chart = given.get()?;
            let in_time = to_time.filter(|_| switched.get()[Switch::Time as usize]);
            in_time.and_then(|to_time| to_time.run(chart.clone())).or(Some(chart))
        });
        let chart = memo(move || {
            let (chart, [x, y, _]) = (base.get()?, switched.get());
            let [other_x, other_y] = if x || y { chart.other_spacings() } else { [None; 2] };
            let (other_x, other_y) = (other_x.filter(|_| x), other_y.filter(|_| y));
            if other_x.or(other_y).is_none() {
                return Some(chart);
            }
            let mut chart = Chart::clone(&chart);
            chart.x.spacing = other_x.unwrap_or(chart.x.spacing);
            chart.y.spacing = other_y.unwrap_or(chart.y.spacing);
            Some(Arc::new(chart))
        });
        let state = Self {
            base,
            chart,
            to_time,
            switched,
            zoom: RwSignal::default(),
            says_zoom: StoredValue::new(false),
            drag: StoredValue::new((None, false)),
            selection: RwSignal::new(None),
            across: memo(move || chart.with(|chart| links.across(number, chart.as_ref()?))),
            links,
            theme,
            hidden: RwSignal::default(),
            pointed: RwSignal::new(None),
            pinned,
            canvas_size: RwSignal::new(None),
            layout: RwSignal::default(),
            announcement: RwSignal::default(),
            on_pick,
        };
        let shown = RefCell::new(None);
        effect(move || {
            let chart = chart.get();
            if let Some(earlier) = shown.replace(Some(chart.clone())) {
                state.carry_over(earlier.as_deref(), chart.as_deref());
            }
            let known = |chart: &Chart| {
                links
                    .switched
                    .with_value(|all| all.iter().find(|(id, _)| *id == chart.id).map(|(_, switched)| *switched))
            };
            if let Some(known) = chart.as_deref().and_then(known).filter(|known| *known != switched.get_untracked()) {
                switched.set(known);
            }
        });
        effect(move || {
            let pointed = state.pointed.get();
            let value = chart.with(|chart| value_of(chart.as_ref()?, pointed?));
            links.point(Some(number), value.map(|value| vec![value]));
        });
        on_cleanup(move || links.point(Some(number), None));
        state
    }

    /// Keeps pointed and pinned point when another chart is shown, if it has the same points, and the part that is
    /// shown, as far as it has the same axes.
    fn carry_over(&self, earlier: Option<&Chart>, chart: Option<&Chart>) {
        let same = |pick| chart.and_then(|chart| chart.same_point(earlier?, pick));
        for kept in [self.pointed, self.pinned] {
            let before = kept.get_untracked();
            let now = before.and_then(same);
            if now != before {
                kept.set(now);
            }
        }
        let mut zoom = self.zoom.get_untracked();
        if let (Some(earlier), Some(chart)) = (earlier, chart) {
            let is_same = earlier.id == chart.id && earlier.x.quantity == chart.x.quantity;
            zoom.x = zoom.x.filter(|_| is_same);
            zoom.y = zoom.y.filter(|_| is_same && earlier.y == chart.y);
        }
        self.set_zoom(zoom, false);
    }

    /// Shows a part of the chart; `is_said` says whether it is announced.
    fn set_zoom(&self, zoom: Zoom, is_said: bool) {
        if self.zoom.get_untracked() != zoom {
            self.says_zoom.set_value(is_said);
            self.zoom.set(zoom);
        }
    }

    /// Shows both axes whole, and announces it.
    pub fn reset_zoom(&self) {
        self.set_zoom(Zoom::default(), true);
    }

    /// Shows `factor` times as much of the chart around a position in the picture.
    pub fn scale(&self, at: Option<(f64, f64)>, factor: f64, is_said: bool) {
        let before = self.zoom.get_untracked();
        self.set_zoom(self.layout.with_untracked(|layout| layout.scaled(before, at, factor)), is_said);
    }

    /// Takes the layout of what was drawn, and says what it shows if that was asked for.
    pub fn set_layout(&self, layout: Layout) {
        if self.says_zoom.try_update_value(std::mem::take) == Some(true)
            && let Some(chart) = self.chart.get_untracked()
        {
            self.announcement.set(zoom_text(&chart, &layout));
        }
        self.layout.set(Arc::new(layout));
    }

    /// What a switch offers, where it has a meaning: the name of what it switches on.
    pub fn offered(&self, switch: Switch) -> Option<&'static str> {
        let other = |axis: usize| self.base.with(|chart| chart.as_ref()?.other_spacings()[axis]);
        match switch {
            Switch::Time => self.to_time.map(|_| "Time"),
            Switch::X => other(0).map(|spacing| if spacing == Spacing::Linear { "Linear x" } else { "Log x" }),
            Switch::Y => other(1).map(|spacing| if spacing == Spacing::Linear { "Linear y" } else { "Log y" }),
        }
    }

    /// Switches something on or off, and keeps that for when the chart is shown again.
    pub fn toggle(&self, switch: Switch) {
        self.switched.update(|switched| switched[switch as usize] ^= true);
        if let Some(id) = self.chart.with_untracked(|chart| chart.as_ref().map(|chart| chart.id.clone())) {
            let switched = self.switched.get_untracked();
            self.links.switched.update_value(|all| {
                all.retain(|(known, _)| *known != id);
                all.push((id, switched));
            });
        }
    }

    /// Begins a drag at a position in CSS pixels.
    pub fn press(&self, at: (f64, f64)) {
        self.drag.set_value((Some(at), false));
    }

    /// The pointer moved while it was pressed; returns whether it selects something.
    pub fn drag_to(&self, (x, y): (f64, f64)) -> bool {
        let (Some(from), was_selecting) = self.drag.get_value() else { return false };
        let is_selecting = was_selecting || (x - from.0).abs().max((y - from.1).abs()) > DRAG_PX;
        if is_selecting {
            self.drag.set_value((Some(from), true));
            self.clear_pointed();
            self.selection.set(Some(self.layout.with_untracked(|layout| layout.selection(from, (x, y)))));
        }
        is_selecting
    }

    /// The pointer was released: shows what it has selected, unless it is `cancelled`.
    pub fn release(&self, cancelled: bool) {
        self.drag.update_value(|drag| drag.0 = None);
        let Some(area) = self.selection.get_untracked() else { return };
        self.selection.set(None);
        if !cancelled {
            let before = self.zoom.get_untracked();
            self.set_zoom(self.layout.with_untracked(|layout| layout.zoom_to(before, area)), true);
        }
    }

    /// Whether the click that follows a release is the end of a selection.
    pub fn takes_click(&self) -> bool {
        self.drag.get_value().1
    }

    /// The style of the drawing on the page; `None` while it has no size.
    pub fn style(&self) -> Option<Style> {
        let canvas_size = self.canvas_size.try_get()??;
        Some(Style {
            width: canvas_size.width(),
            height: canvas_size.height(),
            pixel_ratio: canvas_size.pixel_ratio,
            theme: self.theme.try_get()?,
            captions: false,
            hidden: self.hidden.try_get()?,
            zoom: self.zoom.try_get()?,
            ..Style::default()
        })
    }

    /// The style of the drawing in a file: as on the page, with title and legend above it.
    pub fn style_of_file(&self) -> Option<Style> {
        let style = untrack(|| self.style())?;
        self.chart.with_untracked(|chart| {
            let chart = chart.as_ref()?;
            let (width, height) = (style.width.max(480.0), chart.height().unwrap_or(style.height.max(320.0)));
            Some(with_captions(chart, Style { width, height, highlight: self.pinned.get_untracked(), ..style }))
        })
    }

    pub fn reading(&self, pick: Option<Pick>) -> Option<PointReadout> {
        self.chart.with(|chart| reading(chart.as_ref()?, pick?))
    }

    pub fn point_at(&self, x: f64, y: f64) {
        let nearest = self.layout.with_untracked(|layout| layout.nearest(x, y, POINTER_REACH_PX));
        if self.pointed.get_untracked() != nearest {
            self.pointed.set(nearest);
        }
    }

    pub fn clear_pointed(&self) {
        if self.pointed.get_untracked().is_some() {
            self.pointed.set(None);
        }
    }

    fn set_pin(&self, pick: Option<Pick>) {
        self.pinned.set(pick);
        if let Some(on_pick) = self.on_pick {
            on_pick.run(pick);
        }
    }

    fn announce(&self, before: &str, pick: Option<Pick>) {
        let sentence = untrack(|| self.reading(pick)).map(|reading| reading.sentence()).unwrap_or_default();
        self.announcement.set(format!("{before}{sentence}"));
    }

    /// Pins the point that is pointed at, or unpins it if it is the pinned one.
    pub fn pin(&self) {
        let pointed = self.pointed.get_untracked();
        if pointed.is_none() || pointed == self.pinned.get_untracked() {
            self.unpin();
        } else {
            self.set_pin(pointed);
            self.announce("Pinned. ", pointed);
        }
    }

    pub fn unpin(&self) {
        if self.pinned.get_untracked().is_some() {
            self.set_pin(None);
            self.announcement.set("Unpinned".to_owned());
        }
    }

    /// Handles a key, `shift` if that is held with it; returns whether it was used.
    pub fn key(&self, key: &str, shift: bool) -> bool {
        let zoomed = |factor: f64| {
            let pick = self.pointed.get_untracked().or(self.pinned.get_untracked());
            let place = pick.and_then(|pick| self.layout.with_untracked(|layout| layout.place(pick)));
            self.scale(place.map(|place| (place.x, place.y)), factor, true);
            true
        };
        let moved = |right: f64, up: f64| {
            let before = self.zoom.get_untracked();
            self.set_zoom(self.layout.with_untracked(|layout| layout.moved(before, right, up)), true);
            true
        };
        let step = match key {
            "+" | "=" => return zoomed(KEY_ZOOM),
            "-" | "_" => return zoomed(1.0 / KEY_ZOOM),
            "0" => {
                self.reset_zoom();
                return true;
            }
            "ArrowLeft" if shift => return moved(-KEY_MOVE, 0.0),
            "ArrowRight" if shift => return moved(KEY_MOVE, 0.0),
            "ArrowUp" if shift => return moved(0.0, KEY_MOVE),
            "ArrowDown" if shift => return moved(0.0, -KEY_MOVE),
            "Escape" if self.selection.get_untracked().is_some() => {
                self.release(true);
                return true;
            }
            "ArrowLeft" => Walk::Left,
            "ArrowRight" => Walk::Right,
            "ArrowUp" => Walk::PreviousSeries,
            "ArrowDown" => Walk::NextSeries,
            "Home" => Walk::First,
            "End" => Walk::Last,
            "Enter" | " " => {
                self.pin();
                return true;
            }
            "Escape" if self.pinned.get_untracked().is_some() => {
                self.unpin();
                return true;
            }
            "Escape" if self.pointed.get_untracked().is_some() => {
                self.clear_pointed();
                return true;
            }
            _ => return false,
        };
        let from = self.pointed.get_untracked().or(self.pinned.get_untracked());
        let reached = self.layout.with_untracked(|layout| layout.walk(from, step));
        self.pointed.set(reached);
        self.announce("", reached);
        true
    }
}
