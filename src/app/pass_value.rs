//! The button that passes a result of one workbench to another, which chooses it in its form.

use leptos::prelude::*;

use super::{
    reactive::{Show, handler, reactive},
    session::Session,
};
use crate::{
    registry::passed_values::{receive, receiver},
    workbench::PassedValue,
};

/// A button that passes what `found` returns to the workbench that has a use for it. Hidden while there are none, or
/// while that workbench can't study.
pub fn pass_button(
    label: impl Fn() -> String + Send + Sync + 'static,
    found: impl Fn() -> Option<PassedValue> + Send + Sync + 'static,
) -> AnyView {
    let session: Session = expect_context();
    let found = StoredValue::new(found);
    let label = StoredValue::new(label);
    let found = move || found.with_value(|found| found());
    let is_there = move || found().is_some_and(|found| session.can_study(receiver(&found)));
    let hand = move |_| {
        if let Some(passed) = untrack(found) {
            let to = receiver(&passed);
            let state = session.state_of(to);
            state.drag.set_value(None);
            state.choices.update(|choices| receive(&passed, choices));
            session.workbench.set(to);
            session.study(to);
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    };
    view! {
        <Show when=is_there>
            // It would cancel the run under way.
            <button type="button" disabled=move || session.task.with(Option::is_some) on:click=handler(hand)>
                {reactive(move || label.with_value(|label| label()))}
            </button>
        </Show>
    }
    .into_any()
}
