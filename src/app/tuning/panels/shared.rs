//! Fields and messages that several panels have.

use leptos::prelude::*;

use crate::app::reactive::reactive;

/// The error of a panel, if there is one.
#[component]
pub fn Failed(error: RwSignal<Option<String>>) -> impl IntoView {
    reactive(move || error.get().map(|error| view! { <p class="wrong" role="alert">{error}</p> }))
}
