//! The one table of the page: sorted by its headers, filtered by a text, walked with the keyboard.

use std::sync::Arc;

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use crate::tuning::listing::Listing;

/// As many rows are drawn without being asked for; more would keep the page from answering.
const FIRST_ROWS: usize = 250;

/// A sorted and filtered table whose rows can be opened.
#[component]
pub fn DataTable(
    /// What the table shows, for assistive technology.
    caption: &'static str,
    /// Its content.
    #[prop(into)]
    listing: Signal<Arc<Listing>>,
    /// The row that is open.
    #[prop(into)]
    current: Signal<Option<usize>>,
    /// A row's class, by index.
    row_class: UnsyncCallback<usize, &'static str>,
    /// Told which row is opened.
    on_open: UnsyncCallback<usize>,
    /// Keeps the rows with all these words.
    #[prop(into)]
    filter: Signal<String>,
) -> impl IntoView {
    let sort = RwSignal::new(None::<(usize, bool)>);
    let limit = RwSignal::new(FIRST_ROWS);
    let body = NodeRef::<html::Tbody>::new();
    let order = Memo::new(move |_| listing.with(|listing| listing.order(sort.get(), &filter.get())));
    // A third click brings back the order in which the rows came.
    let sort_by = move |column: usize| {
        sort.update(|sort| {
            *sort = match *sort {
                Some((same, false)) if same == column => Some((column, true)),
                Some((same, true)) if same == column => None,
                _ => Some((column, false)),
            };
        });
    };
    let aria_sort = move |column: usize| match sort.get() {
        Some((same, descending)) if same == column => Some(if descending { "descending" } else { "ascending" }),
        _ => None,
    };
    let headers = move || {
        let columns = listing.with(|listing| listing.columns.clone());
        let header = |(index, column): (usize, crate::tuning::listing::Column)| {
            view! {
                <th scope="col" class:numeric=column.is_numeric aria-sort=move || aria_sort(index)>
                    <button type="button" title=column.meaning on:click=move |_| sort_by(index)>
                        {column.name}
                    </button>
                </th>
            }
        };
        columns.into_iter().enumerate().map(header).collect_view()
    };
    let row = move |index: usize| {
        let cells = listing.with_untracked(|listing| {
            let columns = listing.columns.clone();
            listing.rows.get(index).cloned().unwrap_or_default().into_iter().zip(columns).collect::<Vec<_>>()
        });
        let mut cells = cells.into_iter();
        let head = cells.next().map(|(cell, column)| {
            view! {
                <th scope="row" class:numeric=column.is_numeric>
                    <button type="button" class="row-button">
                        {cell.text}
                    </button>
                </th>
            }
        });
        let rest = cells.map(|(cell, column)| view! { <td class:numeric=column.is_numeric>{cell.text}</td> });
        view! {
            <tr
                class=row_class.run(index)
                class:is-current=move || current.get() == Some(index)
                aria-current=move || (current.get() == Some(index)).then_some("true")
                on:click=move |_| on_open.run(index)
            >
                {head}
                {rest.collect_view()}
            </tr>
        }
    };
    let walk = move |event: ev::KeyboardEvent| {
        let Some(body) = body.get_untracked() else { return };
        let Ok(buttons) = body.query_selector_all(".row-button") else { return };
        let focused = document().active_element();
        let buttons: Vec<web_sys::HtmlElement> =
            (0..buttons.length()).filter_map(|index| buttons.get(index)?.dyn_into().ok()).collect();
        let here = buttons.iter().position(|button| Some(button.as_ref()) == focused.as_ref());
        let there = match event.key().as_str() {
            "ArrowDown" => here.map_or(0, |here| here + 1),
            "ArrowUp" => here.map_or(0, |here| here.saturating_sub(1)),
            "Home" => 0,
            "End" => buttons.len().saturating_sub(1),
            _ => return,
        };
        event.prevent_default();
        if let Some(button) = buttons.get(there) {
            let _ = button.focus();
        }
    };
    let rows = move || {
        // The rows are made anew with the content; their order alone moves them.
        listing.track();
        order.get().into_iter().take(limit.get()).map(row).collect_view()
    };
    let hidden = move || order.with(Vec::len).saturating_sub(limit.get());
    let is_cut = move || hidden() > 0;
    view! {
        <div class="table-box" tabindex="0" role="region" aria-label=caption>
            <table class="data">
                <caption class="visually-hidden">{caption}</caption>
                <thead>
                    <tr>{headers}</tr>
                </thead>
                <tbody node_ref=body on:keydown=walk>{rows}</tbody>
            </table>
            <Show when=is_cut>
                <button type="button" on:click=move |_| limit.set(usize::MAX)>
                    "Show "
                    {hidden}
                    " further rows"
                </button>
            </Show>
            <Show when=move || order.with(Vec::is_empty)>
                <p class="empty">"No row holds that."</p>
            </Show>
        </div>
    }
}
