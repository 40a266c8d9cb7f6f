//! A table with heading, filter and menus.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    export::{TableMenus, write_listing},
    fields::filter_field,
    reactive::Show,
    signal::{RwSignal, Signal},
    table::DataTable,
};
use crate::text::Listing;

/// The number of columns up to which two tables stand side by side in a wide window.
const MAX_NARROW_COLUMNS: usize = 3;

/// A table with heading, filter and menus.
#[component]
pub fn ListingView(
    /// The heading above the table.
    #[prop(into)]
    heading: String,
    /// The content of the table.
    #[prop(into)]
    listing: Signal<Arc<Listing>>,
    /// The name of exported files, without the extension.
    #[prop(into)]
    name: String,
    /// The CSS class of a row, by index.
    #[prop(optional)]
    row_class: Option<UnsyncCallback<usize, &'static str>>,
    /// Called with the index of a row that is opened; without it rows can't be opened.
    #[prop(default = None)]
    on_open: Option<UnsyncCallback<usize>>,
) -> impl IntoView {
    let filter = RwSignal::new(String::new());
    let asked = RwSignal::new(Vec::new());
    let is_long = move || listing.with(|listing| listing.rows.len() > 8);
    let write = UnsyncCallback::new(move |format| {
        let kept = listing.with_untracked(|listing| listing.filtered(&filter.get_untracked()));
        write_listing(format, &kept)
    });
    let is_narrow = move || listing.with(|listing| listing.columns.len() <= MAX_NARROW_COLUMNS);
    view! {
        <div class="listing" class:is-narrow=is_narrow>
            <div class="panel-head">
                <h3>{heading.clone()}</h3>
                <Show when=is_long>
                    {filter_field("Filter rows", filter)}
                </Show>
                <TableMenus listing asked title=heading.clone() name write />
            </div>
            <DataTable caption=heading listing asked row_class on_open filter />
        </div>
    }
}
