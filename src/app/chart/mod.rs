//! The one chart of the page.

use std::sync::Arc;

use leptos::prelude::*;

use crate::plot::{Chart, Pick, Theme};

/// A chart with its legend, readout, data table and exports.
#[component]
pub fn ChartView(
    /// What to draw; `None` while there is nothing yet.
    #[prop(into)]
    chart: Signal<Option<Arc<Chart>>>,
    /// Light or dark.
    #[prop(into)]
    theme: Signal<Theme>,
    /// Told when a point is pinned, and with `None` when it is let go.
    #[prop(optional, into)]
    on_pick: Option<Callback<Option<Pick>>>,
) -> impl IntoView {
    let _ = (theme, on_pick);
    let title = move || chart.with(|chart| chart.as_ref().map(|chart| chart.title.clone()));
    view! { <figure class="chart"><figcaption class="chart-title">{title}</figcaption></figure> }
}
