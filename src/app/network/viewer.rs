//! The state of the network view: the time cursor, the picked element, the playback.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::drawing::{NetworkDrawing, Picked, PreparedWindow, PreparedWindows, ticks};
use crate::{
    app::{
        diagnostics::now_ms,
        reactive::effect,
        session::Session,
        signal::{RwSignal, Signal},
    },
    report::Workbench,
    schedule::timeline::Timeline,
    topology::form::edit::EditTarget,
};

/// The speeds of playback, relative to the usual one.
pub const SPEEDS: [(f64, &str); 7] =
    [(0.125, "⅛"), (0.25, "¼"), (0.5, "½"), (1.0, "1"), (2.0, "2"), (4.0, "4"), (8.0, "8")];
const USUAL_SPEED: usize = 3;
/// The duration of a whole schedule at the usual speed, in ms.
const WHOLE_MS: f64 = 12_000.0;
/// The least duration of an average transfer at the usual speed, in ms.
const LEAST_MS: f64 = 60.0;
/// The duration of a step with reduced motion, in ms.
const STEP_MS: f64 = 800.0;

/// The state of the network view. Copies share it.
#[derive(Clone, Copy)]
pub struct Viewer {
    /// The workbench of the network.
    pub workbench: Workbench,
    /// The prepared network; `None` before the first answer.
    pub drawing: Signal<Option<Arc<NetworkDrawing>>>,
    /// The time cursor, in ns.
    pub time_ns: RwSignal<f64>,
    /// Whether the playback is running.
    pub plays: RwSignal<bool>,
    /// The index of the speed in [`SPEEDS`].
    pub speed: RwSignal<usize>,
    /// The picked element. It is kept when links come and go, and may be missing from the graph.
    pub picked: RwSignal<Option<EditTarget>>,
    /// A link is to be added from the picked node: the next click says where it leads.
    pub begins: RwSignal<bool>,
    /// The chunk whose tree is drawn.
    pub chunk: RwSignal<Option<usize>>,
    /// The index of the schedule shown for comparison; 0 for none.
    pub compared: RwSignal<usize>,
    /// The overlay: 0 for none, 1 for the bottleneck, above that the dumped rings and trees.
    pub over: RwSignal<usize>,
    /// The channel of the dumped rings or trees; `None` for all.
    pub channel: RwSignal<Option<usize>>,
    /// The index of the order of links in [`super::timeline_chart::SORTS`].
    pub sort: RwSignal<usize>,
    /// The loaded windows of abridged timelines.
    pub windows: RwSignal<Arc<PreparedWindows>>,
    /// Whether the worker has been asked for windows.
    is_asked: StoredValue<bool>,
}

impl Viewer {
    /// A viewer at the start of the schedule, with nothing picked.
    pub fn new(workbench: Workbench, drawing: Signal<Option<Arc<NetworkDrawing>>>) -> Self {
        Self {
            workbench,
            drawing,
            time_ns: RwSignal::new(0.0),
            plays: RwSignal::new(false),
            speed: RwSignal::new(USUAL_SPEED),
            picked: RwSignal::new(None),
            begins: RwSignal::new(false),
            chunk: RwSignal::new(None),
            compared: RwSignal::new(0),
            over: RwSignal::new(1),
            channel: RwSignal::new(None),
            sort: RwSignal::new(0),
            windows: RwSignal::new(Arc::default()),
            is_asked: StoredValue::new(false),
        }
    }

    /// Maps the prepared network, if there is one, and tracks it.
    pub fn with<T>(self, look: impl FnOnce(&NetworkDrawing) -> T) -> Option<T> {
        self.drawing.try_with(|drawing| drawing.as_ref().map(|drawing| look(drawing))).flatten()
    }

    /// Maps the picked element, if it exists, and tracks it.
    pub fn with_picked<T>(self, look: impl FnOnce(&NetworkDrawing, Picked) -> T) -> Option<T> {
        let picked = self.picked.get();
        self.with(|drawing| drawing.picked(picked).map(|picked| look(drawing, picked))).flatten()
    }

    /// As [`Viewer::with`], without tracking.
    pub fn with_untracked<T>(self, look: impl FnOnce(&NetworkDrawing) -> T) -> Option<T> {
        self.drawing.try_with_untracked(|drawing| drawing.as_ref().map(|drawing| look(drawing))).flatten()
    }

    /// Maps the timeline and the loaded window of a schedule.
    pub fn with_window<T>(
        self,
        timeline: usize,
        look: impl FnOnce(&NetworkDrawing, &Timeline, &PreparedWindow) -> T,
    ) -> Option<T> {
        let windows = self.windows.try_get()?;
        self.with(|drawing| {
            drawing.window(timeline, &windows).map(|(timeline, window)| look(drawing, timeline, window))
        })
        .flatten()
    }

    /// Loads windows around the cursor where timelines are abridged, one request at a time.
    pub fn load_windows(self, session: Session) {
        effect(move || {
            self.drawing.track();
            self.plays.track();
            let (time, chunk, windows) = (self.time_ns.get(), self.chunk.get(), self.windows.get());
            let chunk = chunk.map(|chunk| chunk as u32);
            let of = self
                .with_untracked(|drawing| drawing.needs_windows(&windows, time, chunk).then(|| drawing.key()))
                .flatten();
            let (Some(of), false) = (of, self.is_asked.get_value()) else { return };
            self.is_asked.set_value(true);
            let answer = session.timeline_window(self.workbench, time, chunk);
            spawn_local(async move {
                let loaded = answer.await;
                if self.is_asked.try_set_value(false).is_some() {
                    return;
                }
                let windows = self.with_untracked(|drawing| match loaded {
                    // The network has changed since: its windows are requested anew.
                    _ if drawing.key() != of => Some(PreparedWindows::default()),
                    Some(loaded) if !loaded.is_empty() => Some(drawing.completed(loaded, chunk)),
                    _ => None,
                });
                if let Some(windows) = windows.flatten() {
                    self.windows.set(Arc::new(windows));
                }
            });
        });
    }

    /// The end of all schedules, in ns.
    pub fn end_ns(self) -> f64 {
        self.with(|drawing| drawing.end_ns).unwrap_or(0.0)
    }

    /// Moves the time cursor, within the schedules.
    pub fn go_to(self, time_ns: f64) {
        let end = self.with_untracked(|drawing| drawing.end_ns).unwrap_or(0.0);
        self.time_ns.set(time_ns.clamp(0.0, end));
    }

    /// Moves the cursor to the next or the previous event; returns whether there is one.
    pub fn step(self, forth: bool) -> bool {
        let (now, windows) = (self.time_ns.get_untracked(), self.windows.get_untracked());
        let next = self.with_untracked(|drawing| {
            let timelines = [0, self.compared.get_untracked()];
            let near = timelines.iter().filter_map(|timeline| drawing.window(*timeline, &windows)).filter_map(
                |(timeline, window)| {
                    let (time, events) = (ticks(timeline, now), &window.events);
                    let at = if forth {
                        events.get(events.partition_point(|event| *event <= time)).copied()
                    } else {
                        events.partition_point(|event| *event < time).checked_sub(1).map(|at| events[at])
                    };
                    // At the edge of a window, move to its end, so that the next window is loaded.
                    let edge =
                        timeline.window.as_ref().map(|cut| if forth { cut.to } else { cut.from.saturating_sub(1) });
                    let edge =
                        edge.filter(|edge| if forth { *edge > time && time < timeline.end } else { *edge < time });
                    at.or(edge).map(|at| timeline.ns(at))
                },
            );
            near.reduce(|a, b| if forth { a.min(b) } else { a.max(b) })
        });
        match next.flatten() {
            Some(next) => {
                self.go_to(next);
                true
            }
            None => false,
        }
    }

    /// Picks an element, or nothing with `None`.
    pub fn pick(self, picked: Option<EditTarget>) {
        self.picked.set(picked);
        self.begins.set(false);
    }

    /// Starts or stops the playback.
    pub fn toggle(self) {
        let plays = !self.plays.get_untracked();
        self.plays.set(plays);
        if plays {
            if self.time_ns.get_untracked() >= self.with_untracked(|drawing| drawing.end_ns).unwrap_or(0.0) {
                self.go_to(0.0);
            }
            play(self, now_ms(), prefers_stillness());
        }
    }

    /// Handles a key; returns whether it was used.
    pub fn key(self, key: &str) -> bool {
        match key {
            " " => self.toggle(),
            "ArrowRight" => drop(self.step(true)),
            "ArrowLeft" => drop(self.step(false)),
            "Home" => self.go_to(0.0),
            "End" => self.go_to(f64::MAX),
            "+" | "=" => self.speed.update(|speed| *speed = (*speed + 1).min(SPEEDS.len() - 1)),
            "-" => self.speed.update(|speed| *speed = speed.saturating_sub(1)),
            "Escape" => {
                self.pick(None);
                self.chunk.set(None);
            }
            _ => return false,
        }
        true
    }
}

/// Whether the user prefers reduced motion.
fn prefers_stillness() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|query| query.matches())
}

/// Requests the next frame of the playback. With reduced motion it goes from event to event.
fn play(viewer: Viewer, last_ms: f64, is_stepwise: bool) {
    request_animation_frame(move || {
        if viewer.plays.try_get_untracked() != Some(true) {
            return;
        }
        let now = now_ms();
        if is_stepwise {
            if now - last_ms < STEP_MS {
                return play(viewer, last_ms, true);
            }
            if !viewer.step(true) {
                return viewer.plays.set(false);
            }
            return play(viewer, now, true);
        }
        let end = viewer.with_untracked(|drawing| drawing.end_ns).unwrap_or(0.0);
        let step = viewer.with_untracked(|drawing| drawing.step_ns).unwrap_or(0.0);
        let pace = (end / WHOLE_MS).min(step / LEAST_MS) * SPEEDS[viewer.speed.get_untracked()].0;
        let time = viewer.time_ns.get_untracked() + (now - last_ms).min(250.0) * pace;
        viewer.time_ns.set(time.min(end));
        if time >= end {
            return viewer.plays.set(false);
        }
        play(viewer, now, false);
    });
}
