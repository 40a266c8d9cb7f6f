//! What is looked at: the instant to which everything is linked, what is picked, and what moves it on.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::scene::{Picked, Reel, Reels, Scene, ticks};
use crate::{
    app::{diagnostics::now_ms, live::follow, tuning::Bench},
    report::Workbench,
    schedule::film::Film,
    workbench::topology::edit::EditTarget,
};

/// How fast a schedule is played: shares of a second's usual pace.
pub const SPEEDS: [(f64, &str); 7] =
    [(0.125, "⅛"), (0.25, "¼"), (0.5, "½"), (1.0, "1"), (2.0, "2"), (4.0, "4"), (8.0, "8")];
const USUAL_SPEED: usize = 3;
/// How long a whole schedule takes at the usual speed.
const WHOLE_MS: f64 = 12_000.0;
/// How long a transfer takes at least on average, for the eye to follow it.
const LEAST_MS: f64 = 60.0;
/// How long each step stays where motion is reduced.
const STEP_MS: f64 = 800.0;

/// The state of the player. Copies are the same.
#[derive(Clone, Copy)]
pub struct Viewer {
    /// Whose network it is.
    pub workbench: Workbench,
    /// What is drawn.
    pub scene: Memo<Option<Arc<Scene>>>,
    /// The cursor, in ns.
    pub time_ns: RwSignal<f64>,
    /// Whether it moves by itself.
    pub plays: RwSignal<bool>,
    /// One of [`SPEEDS`].
    pub speed: RwSignal<usize>,
    /// What is picked: it stays when links come and go, and may be gone from the graph.
    pub picked: RwSignal<Option<EditTarget>>,
    /// A link is to be added from the picked node: the next click says where it leads.
    pub begins: RwSignal<bool>,
    /// A chunk, whose tree is drawn.
    pub chunk: RwSignal<Option<usize>>,
    /// The schedule that stands beside the best: its place, 0 for none.
    pub beside: RwSignal<usize>,
    /// What is drawn over the links: 0 nothing, 1 the bottleneck, then dumped rings and trees.
    pub over: RwSignal<usize>,
    /// The channel of what was dumped; all where none is chosen.
    pub channel: RwSignal<Option<usize>>,
    /// By what links are sorted.
    pub sort: RwSignal<usize>,
    /// What moves around the cursor in films that are cut.
    pub reels: RwSignal<Arc<Reels>>,
    /// The worker is asked for it.
    is_asked: StoredValue<bool>,
}

impl Viewer {
    /// Nothing is picked, and nothing moves.
    pub fn new(workbench: Workbench, scene: Memo<Option<Arc<Scene>>>) -> Self {
        Self {
            workbench,
            scene,
            time_ns: RwSignal::new(0.0),
            plays: RwSignal::new(false),
            speed: RwSignal::new(USUAL_SPEED),
            picked: RwSignal::new(None),
            begins: RwSignal::new(false),
            chunk: RwSignal::new(None),
            beside: RwSignal::new(0),
            over: RwSignal::new(1),
            channel: RwSignal::new(None),
            sort: RwSignal::new(0),
            reels: RwSignal::new(Arc::default()),
            is_asked: StoredValue::new(false),
        }
    }

    /// Something of what is drawn.
    pub fn with<T>(self, look: impl FnOnce(&Scene) -> T) -> Option<T> {
        self.scene.try_with(|scene| scene.as_ref().map(|scene| look(scene))).flatten()
    }

    /// Something of what is picked, where the graph has it still.
    pub fn with_picked<T>(self, look: impl FnOnce(&Scene, Picked) -> T) -> Option<T> {
        let picked = self.picked.get();
        self.with(|scene| scene.picked(picked).map(|picked| look(scene, picked))).flatten()
    }

    /// The same as [`Viewer::with`], without following it.
    pub fn with_untracked<T>(self, look: impl FnOnce(&Scene) -> T) -> Option<T> {
        self.scene.try_with_untracked(|scene| scene.as_ref().map(|scene| look(scene))).flatten()
    }

    /// Something of what moves in a schedule.
    pub fn moving<T>(self, film: usize, look: impl FnOnce(&Scene, &Film, &Reel) -> T) -> Option<T> {
        let reels = self.reels.try_get()?;
        self.with(|scene| scene.moving(film, &reels).map(|(film, reel)| look(scene, film, reel))).flatten()
    }

    /// Asks for what moves around the cursor, where films are cut: one question at a time.
    pub fn follow_cuts(self, bench: Bench) {
        follow(move || {
            self.scene.track();
            self.plays.track();
            let (time, chunk, reels) = (self.time_ns.get(), self.chunk.get(), self.reels.get());
            let chunk = chunk.map(|chunk| chunk as u32);
            let of = self.with_untracked(|scene| scene.lacks(&reels, time, chunk).then(|| scene.key())).flatten();
            let (Some(of), false) = (of, self.is_asked.get_value()) else { return };
            self.is_asked.set_value(true);
            let answer = bench.cut(self.workbench, time, chunk);
            spawn_local(async move {
                let cuts = answer.await;
                if self.is_asked.try_set_value(false).is_some() {
                    return;
                }
                let reels = self.with_untracked(|scene| match cuts {
                    // Another network came meanwhile, whose films are asked for anew.
                    _ if scene.key() != of => Some(Reels::default()),
                    Some(cuts) if !cuts.is_empty() => Some(scene.continued(cuts, chunk)),
                    _ => None,
                });
                if let Some(reels) = reels.flatten() {
                    self.reels.set(Arc::new(reels));
                }
            });
        });
    }

    /// When everything is done, in ns.
    pub fn end_ns(self) -> f64 {
        self.with(|scene| scene.end_ns).unwrap_or(0.0)
    }

    /// Moves the cursor.
    pub fn go_to(self, time_ns: f64) {
        let end = self.with_untracked(|scene| scene.end_ns).unwrap_or(0.0);
        self.time_ns.set(time_ns.clamp(0.0, end));
    }

    /// Moves to the next instant at which anything begins or ends, or to the one before. Whether there is one.
    pub fn step(self, forth: bool) -> bool {
        let (now, reels) = (self.time_ns.get_untracked(), self.reels.get_untracked());
        let next = self.with_untracked(|scene| {
            let films = [0, self.beside.get_untracked()];
            let near = films.iter().filter_map(|film| scene.moving(*film, &reels)).filter_map(|(film, reel)| {
                let (time, events) = (ticks(film, now), &reel.events);
                let at = if forth {
                    events.get(events.partition_point(|event| *event <= time)).copied()
                } else {
                    events.partition_point(|event| *event < time).checked_sub(1).map(|at| events[at])
                };
                // Where what is there ends, more is asked for.
                let edge = film.cut.as_ref().map(|cut| if forth { cut.to } else { cut.from.saturating_sub(1) });
                let edge = edge.filter(|edge| if forth { *edge > time && time < film.end } else { *edge < time });
                at.or(edge).map(|at| film.ns(at))
            });
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

    /// Picks something, or nothing.
    pub fn pick(self, picked: Option<EditTarget>) {
        self.picked.set(picked);
        self.begins.set(false);
    }

    /// Plays, or stops.
    pub fn toggle(self) {
        let plays = !self.plays.get_untracked();
        self.plays.set(plays);
        if plays {
            if self.time_ns.get_untracked() >= self.with_untracked(|scene| scene.end_ns).unwrap_or(0.0) {
                self.go_to(0.0);
            }
            play(self, now_ms(), prefers_stillness());
        }
    }

    /// What a key does; false where it does nothing.
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

/// Whether whoever looks has asked for less motion.
fn prefers_stillness() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|query| query.matches())
}

/// The next frame, and the one after it. Where motion is reduced it goes from event to event.
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
        let end = viewer.with_untracked(|scene| scene.end_ns).unwrap_or(0.0);
        let step = viewer.with_untracked(|scene| scene.step_ns).unwrap_or(0.0);
        let pace = (end / WHOLE_MS).min(step / LEAST_MS) * SPEEDS[viewer.speed.get_untracked()].0;
        let time = viewer.time_ns.get_untracked() + (now - last_ms).min(250.0) * pace;
        viewer.time_ns.set(time.min(end));
        if time >= end {
            return viewer.plays.set(false);
        }
        play(viewer, now, false);
    });
}
