//! The state of one chart, and how pointer and keyboard change it.

use std::{cell::RefCell, sync::Arc};

use leptos::prelude::*;

use super::canvas::CanvasSize;
use crate::{
    app::reactive::effect,
    plot::{Chart, Layout, Pick, PointReadout, Style, Theme, Walk, reading},
};

/// The distance from a point within which the pointer points at it, in CSS pixels.
const POINTER_REACH_PX: f64 = 48.0;
/// The height that title and legend take above a chart in an exported picture, in CSS pixels.
pub(super) const CAPTIONS_HEIGHT_PX: f64 = 72.0;

#[derive(Clone, Copy)]
pub(super) struct State {
    pub chart: Signal<Option<Arc<Chart>>>,
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
    pub fn new(
        chart: Signal<Option<Arc<Chart>>>,
        theme: Signal<Theme>,
        on_pick: Option<Callback<Option<Pick>>>,
        pinned: RwSignal<Option<Pick>>,
    ) -> Self {
        let state = Self {
            chart,
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
        });
        state
    }

    /// Keeps pointed and pinned point when another chart is shown, if it has the same points.
    fn carry_over(&self, earlier: Option<&Chart>, chart: Option<&Chart>) {
        let same = |pick| chart.and_then(|chart| chart.same_point(earlier?, pick));
        self.pointed.set(self.pointed.get_untracked().and_then(same));
        if let Some(pick) = self.pinned.get_untracked() {
            self.pinned.set(same(pick));
        }
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
            ..Style::default()
        })
    }

    /// The style of the drawing in a file: as on the page, with title and legend above it.
    pub fn style_of_file(&self) -> Option<Style> {
        let style = untrack(|| self.style())?;
        let own = self.chart.with_untracked(|chart| chart.as_ref()?.height());
        let (width, height) = (style.width.max(480.0), own.unwrap_or(style.height.max(320.0)) + CAPTIONS_HEIGHT_PX);
        Some(Style { width, height, captions: true, highlight: self.pinned.get_untracked(), ..style })
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

    /// Handles a key; returns whether it was used.
    pub fn key(&self, key: &str) -> bool {
        let step = match key {
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
