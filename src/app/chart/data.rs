//! The data of a chart as a table, for screen readers and for copying.

use std::sync::Arc;

use crate::app::reactive::reactive;
use leptos::prelude::*;

use crate::plot::{Chart, table};

/// The number of rows that are listed; the table says how many more there are. More would make the page slow.
const MAX_ROWS: usize = 2000;

/// The table of the data, built when it is opened.
#[component]
pub(super) fn DataTable(chart: Signal<Option<Arc<Chart>>>) -> impl IntoView {
    let open = RwSignal::new(false);
    let toggle = move |event: web_sys::Event| {
        open.set(event_target::<web_sys::Element>(&event).has_attribute("open"));
    };
    let content = move || open.get().then(|| chart.get()).flatten().map(|chart| rows(&chart));
    view! {
        <details class="chart-data" hidden=move || chart.with(Option::is_none) on:toggle=toggle>
            <summary>"Show data"</summary>
            {reactive(content)}
        </details>
    }
}

fn rows(chart: &Chart) -> impl IntoView + use<> {
    let table = table(chart);
    let left_out = table.rows.len().saturating_sub(MAX_ROWS);
    let kinds = table.numeric;
    let headers = table.headers.into_iter().zip(&kinds);
    let headers =
        headers.map(|(header, numeric)| view! { <th scope="col" class:number=*numeric>{header}</th> }).collect_view();
    let cells = |row: Vec<String>| {
        let mut cells = row.into_iter().zip(&kinds);
        let head = cells.next().map(|(name, _)| view! { <th scope="row">{name}</th> });
        let rest = cells.map(|(cell, numeric)| view! { <td class:number=*numeric>{cell}</td> }).collect_view();
        view! { <tr>{head}{rest}</tr> }
    };
    let body = table.rows.into_iter().take(MAX_ROWS).map(cells).collect_view();
    let rest = (left_out > 0).then(|| view! { <p>{format!("{left_out} more points are not listed here.")}</p> });
    view! {
        <div class="chart-data-scroll" tabindex="0" role="region" aria-label=format!("Data of {}", chart.title)>
            <table>
                <caption class="visually-hidden">{chart.summary.clone()}</caption>
                <thead><tr>{headers}</tr></thead>
                <tbody>{body}</tbody>
            </table>
            {rest}
        </div>
    }
}
