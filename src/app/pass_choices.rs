//! The button that passes a result of one workbench to another, as choices of its form.

use leptos::prelude::*;

use super::{
    reactive::{Show, reactive},
    session::Session,
};
use crate::registry::passed_choices::PassedChoices;

/// A button that passes the choices that `found` returns to their workbench. Hidden while there are none, or while that
/// workbench can't study.
pub fn pass_choices_button(
    label: impl Fn() -> String + Send + Sync + 'static,
    found: impl Fn() -> Option<PassedChoices> + Send + Sync + 'static,
) -> AnyView {
    let session: Session = expect_context();
    let found = StoredValue::new(found);
    let label = StoredValue::new(label);
    let found = move || found.with_value(|found| found());
    let is_there = move || found().is_some_and(|found| session.can_study(found.to));
    let hand = move |_| {
        if let Some(PassedChoices { to, choices }) = untrack(found) {
            let state = session.state_of(to);
            state.drag.set_value(None);
            state.choices.update(|held| choices.iter().for_each(|(key, value)| held.set(key, value)));
            session.workbench.set(to);
            session.study(to);
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    };
    view! {
        <Show when=is_there>
            // It would cancel the run under way.
            <button type="button" disabled=move || session.task.with(Option::is_some) on:click=hand>
                {reactive(move || label.with_value(|label| label()))}
            </button>
        </Show>
    }
    .into_any()
}
