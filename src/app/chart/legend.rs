//! The legend: a button for each series, which shows or hides it.

use std::sync::Arc;

use crate::app::{
    list::ListLimit,
    reactive::{For, handler},
    signal::{RwSignal, Signal},
    terms::term,
};
use leptos::prelude::*;

use crate::plot::{Chart, Colour, Mark, Series, Theme, key_svg, legend_text};

/// The symbol of a series as a data URL of an SVG, drawn by the code that draws the chart.
pub(super) fn key_address(colour: Colour, mark: Mark, theme: Theme) -> String {
    let series = Series { name: String::new(), colour, mark, points: Vec::new() };
    let encoded = js_sys::encode_uri_component(&key_svg(&series, theme));
    format!("data:image/svg+xml,{}", String::from(encoded))
}

/// The buttons that show or hide the series.
#[component]
pub(super) fn Legend(
    chart: Signal<Option<Arc<Chart>>>,
    theme: Signal<Theme>,
    hidden: RwSignal<Vec<String>>,
) -> impl IntoView {
    let shown_series = ListLimit::initial();
    let entries = move || {
        let entry = |series: &Series| (series.name.clone(), legend_text(series), series.colour, series.mark.clone());
        let first = |chart: &Arc<Chart>| chart.series.iter().take(shown_series.get()).map(entry).collect::<Vec<_>>();
        chart.with(|chart| chart.as_ref().map(first).unwrap_or_default())
    };
    let all = move || chart.with(|chart| chart.as_ref().map_or(0, |chart| chart.series.len()));
    let button = move |(name, text, colour, mark): (String, String, Colour, Mark)| {
        let shown = {
            let name = name.clone();
            move || hidden.with(|hidden| !hidden.contains(&name))
        };
        let toggle = {
            let name = name.clone();
            move |_| {
                hidden.update(|hidden| {
                    let before = hidden.len();
                    hidden.retain(|other| *other != name);
                    if hidden.len() == before {
                        hidden.push(name.clone());
                    }
                });
            }
        };
        view! {
            <li>
                <button type="button" aria-pressed=move || shown().to_string() on:click=handler(toggle)>
                    <img src=move || key_address(colour, mark.clone(), theme.get()) alt="" height="16"/>
                    {term(text)}
                </button>
            </li>
        }
    };
    view! {
        <ul class="chart-legend" aria-label="Series">
            <For each=entries key=Clone::clone children=button/>
        </ul>
        {shown_series.more_button(all)}
    }
}
