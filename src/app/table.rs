//! The table of the page: sorted by its headers, filtered by a text, walked with the keyboard.

use std::sync::Arc;

use crate::app::reactive::{For, Show, handler, reactive};
use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::{
    browser_tasks::count_up_in_tasks,
    chart::linked::{Links, values_of_row},
    lazy::is_near_viewport,
    printing::Printing,
    signal::{RwSignal, Signal, memo},
    terms::term,
};
use crate::text::{Listing, visible};

/// The number of rows that are drawn at first; more would block the page.
const FIRST_ROWS: usize = 240;

/// The number of cells that are drawn at first; a wide table has fewer rows.
const FIRST_CELLS: usize = 6000;

/// The least number of rows that are drawn at first.
const MIN_ROWS: usize = 8;

/// The number of cells that each press of the button adds.
const MORE_CELLS: usize = 24_000;

/// The number of rows built in one task of the browser.
const ROWS_PER_TASK: usize = 8;

/// A table that is sorted and filtered, and whose rows can be opened.
#[component]
pub fn DataTable(
    /// The name of the table for assistive technology.
    #[prop(into)]
    caption: String,
    /// The content of the table.
    #[prop(into)]
    listing: Signal<Arc<Listing>>,
    /// The names of the secondary columns that are shown.
    asked: RwSignal<Vec<String>>,
    /// The index of the row that is marked as current.
    #[prop(optional, into)]
    current: Signal<Option<usize>>,
    /// The CSS class of a row, by index.
    #[prop(default = None)]
    row_class: Option<UnsyncCallback<usize, &'static str>>,
    /// Called with the index of a row that is opened; without it rows can't be opened.
    #[prop(default = None)]
    on_open: Option<UnsyncCallback<usize>>,
    /// Keeps the rows that contain all words of this text.
    #[prop(optional, into)]
    filter: Signal<String>,
) -> impl IntoView {
    let sort = RwSignal::new(None::<(usize, bool)>);
    let drawn = count_up_in_tasks(FIRST_ROWS / ROWS_PER_TASK);
    // The number of rows drawn depends on the number of columns.
    let width = memo(move || listing.with(|listing| listing.columns.len()));
    let shown = memo(move || {
        listing.with(|listing| {
            let columns = listing.columns.iter().enumerate();
            let is_shown = |name: &str| asked.with(|asked| asked.iter().any(|other| other == name));
            let shown = columns.filter(|(_, column)| !column.is_secondary || is_shown(&column.name));
            shown.map(|(index, _)| index).collect::<Vec<usize>>()
        })
    });
    let first_rows = move || (FIRST_CELLS / width.get().max(1)).clamp(MIN_ROWS, FIRST_ROWS);
    let more_rows = move || (MORE_CELLS / width.get().max(1)).max(MIN_ROWS);
    let extra_rows = RwSignal::new(0_usize);
    let Printing(is_printing) = expect_context();
    let most = move || if is_printing.get() { usize::MAX } else { first_rows() + extra_rows.get() };
    let place = NodeRef::<html::Div>::new();
    let is_near = is_near_viewport(move || place.get().map(Into::into));
    // What is printed is there at once, whether it was drawn before or not.
    let is_whole = move || is_printing.get() || extra_rows.get() > 0;
    let limit = move || if is_whole() { most() } else { most().min((drawn.get() + 1) * ROWS_PER_TASK) };
    let body = NodeRef::<html::Tbody>::new();
    let order = memo(move || listing.with(|listing| listing.visible_rows(sort.get(), &filter.get())));
    // The third click restores the original order.
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
        let header = |index: usize| {
            let column = columns.get(index)?.clone();
            let heading = listing.with(|listing| listing.heading(index));
            Some(view! {
                <th scope="col" class:numeric=column.is_numeric aria-sort=move || aria_sort(index)>
                    <button type="button" title=column.meaning on:click=handler(move |_| sort_by(index))>
                        {term(heading)}
                    </button>
                </th>
            })
        };
        shown.get().into_iter().map(header).collect_view()
    };
    let links: Links = expect_context();
    let marked = memo(move || listing.with(|listing| links.marked_rows(listing)));
    // A row is built once and its cells follow the content, so that it keeps the focus when the content changes.
    let row = move |index: usize| {
        let columns = listing.with_untracked(|listing| listing.columns.clone());
        let text = move |column: usize| {
            move || listing.with(|l| l.rows.get(index)?.get(column).map(|cell| visible(&cell.text).into_owned()))
        };
        let head = if on_open.is_some() {
            view! {
                <button type="button" class="row-button">
                    <bdi>{text(0)}</bdi>
                </button>
            }
            .into_any()
        } else {
            view! { <bdi>{text(0)}</bdi> }.into_any()
        };
        let cell = |place: usize| {
            let is_numeric = columns.get(place)?.is_numeric;
            Some(view! {
                <td class:numeric=is_numeric>
                    <bdi>{text(place)}</bdi>
                </td>
            })
        };
        let rest = shown.get_untracked().into_iter().skip(1).map(cell).collect_view();
        let is_current = memo(move || current.get() == Some(index));
        let is_marked = memo(move || marked.with(|marked| marked.contains(&index)));
        let class = move || {
            listing.track();
            let own = row_class.map(|class| class.run(index)).unwrap_or_default();
            let current = if is_current.get() { "is-current" } else { "" };
            format!("{own} {current} {}", if is_marked.get() { "is-marked" } else { "" })
        };
        let point = move || links.point(None, Some(listing.with_untracked(|listing| values_of_row(listing, index))));
        view! {
            <tr
                class=class
                aria-current=move || is_current.get().then_some("true")
                on:mouseenter=handler(move |_| point())
                on:focusin=handler(move |_| point())
                on:click=handler(move |_| {
                    if let Some(on_open) = on_open {
                        on_open.run(index);
                    }
                })
            >
                <th scope="row" class:numeric=columns.first().is_some_and(|column| column.is_numeric)>
                    {head}
                </th>
                {rest}
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
        // The key changes with the columns, because the cells do.
        let columns = shown.with(|shown| shown.iter().fold(width.get(), |all, column| all.wrapping_mul(31) ^ column));
        let limit = if is_near.get() || is_printing.get() { limit() } else { 0 };
        order.get().into_iter().take(limit).map(move |index| (columns, index)).collect::<Vec<_>>()
    };
    let title = caption.clone();
    let hidden = move || order.with(Vec::len).saturating_sub(most());
    let next = move || {
        let (hidden, more) = (hidden(), more_rows());
        if hidden > more { format!("{more} of {hidden}") } else { hidden.to_string() }
    };
    let is_cut = move || hidden() > 0;
    view! {
        <div
            node_ref=place
            class="table-box"
            class:is-far=move || !is_near.get()
            tabindex="0"
            role="region"
            aria-label=caption
            on:focus=handler(move |_| is_near.set(true))
        >
            <table class="data">
                <caption class="visually-hidden">{title}</caption>
                <thead>
                    <tr>{reactive(move || is_near.get().then(headers))}</tr>
                </thead>
                <tbody
                    node_ref=body
                    on:keydown=handler(walk)
                    on:mouseleave=handler(move |_| links.point(None, None))
                    on:focusout=handler(move |_| links.point(None, None))
                >
                    <For each=rows key=|row| *row children=move |(_, index)| row(index) />
                </tbody>
            </table>
            <Show when=is_cut>
                <button type="button" on:click=handler(move |_| extra_rows.update(|extra_rows| *extra_rows += untrack(more_rows)))>
                    "Show "
                    {reactive(next)}
                    " further rows"
                </button>
            </Show>
            <Show when=move || order.with(Vec::is_empty)>
                <p class="empty">
                    {reactive(move || if filter.with(String::is_empty) { "There are no rows." } else { "No row matches the filter." })}
                </p>
            </Show>
        </div>
    }
}
