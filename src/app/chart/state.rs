//! What one chart on the page knows, and how pointer and keyboard change it.

use std::{cell::RefCell, sync::Arc};

use leptos::prelude::*;

use super::canvas::Sheet;
use crate::{
    app::live::follow,
    plot::{Chart, Layout, Pick, PointReadout, Style, Theme, Walk, reading},
};

/// How far from a point the pointer still means it, in CSS pixels.
const REACH: f64 = 48.0;
/// The height of title and legend above a chart that has them in the picture, in CSS pixels.
pub(super) const CAPTIONS: f64 = 72.0;

#[derive(Clone, Copy)]
pub(super) struct State {
    pub chart: Signal<Option<Arc<Chart>>>,
    pub theme: Signal<Theme>,
    /// Names of the series switched off.
    pub hidden: RwSignal<Vec<String>>,
    /// The point under the pointer or reached by the keyboard.
    pub pointed: RwSignal<Option<Pick>>,
    /// The point that stays.
    pub pinned: RwSignal<Option<Pick>>,
    pub sheet: RwSignal<Option<Sheet>>,
    pub layout: RwSignal<Arc<Layout>>,
    /// What a screen reader is told.
    pub said: RwSignal<String>,
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
            sheet: RwSignal::new(None),
            layout: RwSignal::default(),
            said: RwSignal::default(),
            on_pick,
        };
        let shown = RefCell::new(None);
        follow(move || {
            let chart = chart.get();
            if let Some(earlier) = shown.replace(Some(chart.clone())) {
                state.carry_over(earlier.as_deref(), chart.as_deref());
            }
        });
        state
    }

    /// Another chart: the pin stays on the same point if it still exists.
    fn carry_over(&self, earlier: Option<&Chart>, chart: Option<&Chart>) {
        let same = |pick| chart.and_then(|chart| chart.same_point(earlier?, pick));
        self.pointed.set(self.pointed.get_untracked().and_then(same));
        if let Some(pick) = self.pinned.get_untracked() {
            self.pinned.set(same(pick));
        }
    }

    /// How the chart is drawn on the page now.
    pub fn style(&self) -> Option<Style> {
        let sheet = self.sheet.try_get()??;
        Some(Style {
            width: sheet.width(),
            height: sheet.height(),
            pixel_ratio: sheet.pixel_ratio,
            theme: self.theme.try_get()?,
            captions: false,
            hidden: self.hidden.try_get()?,
            ..Style::default()
        })
    }

    /// How it is drawn in a file: as on the page, with title and legend above it.
    pub fn style_of_file(&self) -> Option<Style> {
        let style = untrack(|| self.style())?;
        let own = self.chart.with_untracked(|chart| chart.as_ref()?.height());
        let (width, height) = (style.width.max(480.0), own.unwrap_or(style.height.max(320.0)) + CAPTIONS);
        Some(Style { width, height, captions: true, highlight: self.pinned.get_untracked(), ..style })
    }

    pub fn reading(&self, pick: Option<Pick>) -> Option<PointReadout> {
        self.chart.with(|chart| reading(chart.as_ref()?, pick?))
    }

    pub fn point_at(&self, x: f64, y: f64) {
        let nearest = self.layout.with_untracked(|layout| layout.nearest(x, y, REACH));
        if self.pointed.get_untracked() != nearest {
            self.pointed.set(nearest);
        }
    }

    pub fn point_at_nothing(&self) {
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

    fn say(&self, before: &str, pick: Option<Pick>) {
        let sentence = untrack(|| self.reading(pick)).map(|reading| reading.sentence()).unwrap_or_default();
        self.said.set(format!("{before}{sentence}"));
    }

    /// Pins the point that is pointed at, or lets it go if it is the one that is pinned.
    pub fn pin(&self) {
        let pointed = self.pointed.get_untracked();
        if pointed.is_none() || pointed == self.pinned.get_untracked() {
            self.unpin();
        } else {
            self.set_pin(pointed);
            self.say("Pinned. ", pointed);
        }
    }

    pub fn unpin(&self) {
        if self.pinned.get_untracked().is_some() {
            self.set_pin(None);
            self.said.set("Not pinned any more".to_owned());
        }
    }

    /// What a key does; false if it does nothing here.
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
                self.point_at_nothing();
                return true;
            }
            _ => return false,
        };
        let from = self.pointed.get_untracked().or(self.pinned.get_untracked());
        let reached = self.layout.with_untracked(|layout| layout.walk(from, step));
        self.pointed.set(reached);
        self.say("", reached);
        true
    }
}
