//! A listing as the page shows it: heading, filter, export, table.

use std::sync::Arc;

use leptos::prelude::*;

use super::{export::ListingExport, reactive::Show, table::DataTable};
use crate::text::Listing;

/// A table with everything around it.
#[component]
pub fn ListingView(
    /// Its heading.
    #[prop(into)]
    heading: String,
    /// The table.
    #[prop(into)]
    listing: Signal<Arc<Listing>>,
    /// The name of its export, without the extension.
    #[prop(into)]
    name: String,
    /// A row's class, by index.
    #[prop(optional)]
    row_class: Option<UnsyncCallback<usize, &'static str>>,
    /// Told which row is opened; without it no row opens.
    #[prop(optional)]
    on_open: Option<UnsyncCallback<usize>>,
) -> impl IntoView {
    let filter = RwSignal::new(String::new());
    let is_long = move || listing.with(|listing| listing.rows.len() > 8);
    view! {
        <div class="listing">
            <div class="panel-head">
                <h3>{heading.clone()}</h3>
                <Show when=is_long>
                    <label class="filter">
                        <span class="visually-hidden">"Filter rows"</span>
                        <input type="search" placeholder="Filter" bind:value=filter />
                    </label>
                </Show>
                <ListingExport listing filter name />
            </div>
            <DataTable caption=heading listing row_class on_open filter />
        </div>
    }
}
