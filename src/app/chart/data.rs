//! The data of a chart as a table, for screen readers and for copying.

use std::sync::Arc;

use crate::app::{
    listing::ListingView,
    reactive::reactive,
    signal::{RwSignal, Signal, memo},
};
use leptos::prelude::*;

use super::export::file_stem;
use crate::{plot::Chart, report::Exhibit};

/// The table of the data while it is shown.
#[component]
pub(super) fn ChartData(chart: Signal<Option<Arc<Chart>>>, is_shown: RwSignal<bool>) -> impl IntoView {
    // The table stays, with its order, while the chart keeps its name.
    let name = memo(move || {
        chart.with(|chart| {
            let chart = chart.as_ref().filter(|_| is_shown.get())?;
            Some((format!("Data of {}", chart.title), file_stem(chart)))
        })
    });
    let listing = memo(move || {
        let of = |chart: &Arc<Chart>| Exhibit::of_chart(chart).listing;
        Arc::new(chart.with(|chart| chart.as_ref().map(of)).unwrap_or_default())
    });
    let table = move || name.get().map(|(heading, name)| view! { <ListingView heading listing name /> });
    view! { <div class="chart-data">{reactive(table)}</div> }
}
