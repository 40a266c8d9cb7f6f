//! Fields and messages that several panels have.

use leptos::prelude::*;

use crate::{
    app::reactive::reactive,
    collective::Workload,
    tuning::{address::Address, sets::SetChoice},
};

/// A workload as text: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
pub fn workload_label(workload: &Workload) -> String {
    Address::of(workload, SetChoice::Largest, false).to_string()
}

/// The error of a panel, if there is one.
#[component]
pub fn Failed(error: RwSignal<Option<String>>) -> impl IntoView {
    reactive(move || error.get().map(|error| view! { <p class="wrong" role="alert">{error}</p> }))
}
