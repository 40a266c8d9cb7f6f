//! Spreads work that takes long to build or to draw over several tasks of the browser, so that a click is handled
//! between two of them.

use std::time::Duration;

use leptos::prelude::*;

use super::{
    reactive::effect,
    signal::{RwSignal, Signal},
};

/// A signal that counts from 0 to `last`, one step in each task of the browser. It stops when its owner is disposed of.
pub fn count_up_in_tasks(last: usize) -> Signal<usize> {
    fn next(step: RwSignal<usize>, last: usize) {
        set_timeout(
            move || {
                // The owner may have been disposed of.
                let Some(reached) = step.try_get_untracked() else { return };
                step.set(reached + 1);
                if reached + 1 < last {
                    next(step, last);
                }
            },
            Duration::ZERO,
        );
    }
    let step = RwSignal::new(0);
    next(step, last);
    step.into()
}

/// A signal with the value of `source`, delayed by `tasks` tasks of the browser.
pub fn delayed<T>(tasks: usize, source: Signal<T>) -> Signal<T>
where
    T: Clone + Send + Sync + 'static,
{
    fn wait(tasks: usize, then: impl FnOnce() + 'static) {
        if tasks == 0 { then() } else { set_timeout(move || wait(tasks - 1, then), Duration::ZERO) }
    }
    let value = RwSignal::new(source.get_untracked());
    let is_first = StoredValue::new(true);
    effect(move || {
        source.track();
        if is_first.try_update_value(|first| std::mem::replace(first, false)) == Some(false) {
            wait(tasks, move || {
                if let Some(newest) = source.try_get_untracked() {
                    value.set(newest);
                }
            });
        }
    });
    value.into()
}
