//! The chart of the page: two canvases, a legend that hides series, the values of the pinned point, and a menu that
//! saves it and shows its data as a table.
//!
//! The pointer shows the values of a point and a click pins it; it is marked in other charts and in tables as well
//! ([`linked`]). With the keyboard, arrow keys go from point to point and from series to series, Home and End to the
//! ends of a series; Enter pins the point and Escape unpins it. A drag, Ctrl with the wheel, or plus and minus show a
//! part of the chart, and a double click or 0 all of it. The dialog under `?` says so (`#chart-keys` in `index.html`),
//! which describes every drawing to those who hear the page.

use std::{
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::app::{
    export::{export_entries, write_listing},
    lazy::is_near_viewport,
    menu::{Menu, MenuEntry},
    reactive::{Show, handler, reactive},
    session::Session,
};
use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;

use crate::{
    app::signal::{RwSignal, Signal, memo},
    plot::{Chart, Pick, Style, Theme},
    report::Exhibit,
    tuning::export::ExportFormat,
};

mod backend;
mod canvas;
mod data;
mod drawing;
mod export;
mod legend;
pub mod linked;
mod printed;
mod state;

pub use state::ToTime;

pub(super) use canvas::CanvasSize;
pub(super) use drawing::follow_size;

use data::ChartData;
use drawing::{Drawing, Values};
use legend::Legend;
use printed::PrintedChart;
use state::{State, Switch};

/// A chart with its legend, readout, menu and data table.
#[component]
pub fn ChartView(
    /// The chart; `None` while there is none yet.
    #[prop(into)]
    chart: Signal<Option<Arc<Chart>>>,
    /// The light or the dark theme.
    #[prop(into)]
    theme: Signal<Theme>,
    /// Called with the point when one is pinned, and with `None` when it is unpinned.
    #[prop(optional, into)]
    on_pick: Option<Callback<Option<Pick>>>,
    /// The pinned point, if it is shared with something else that pins points.
    #[prop(optional)]
    pinned: Option<RwSignal<Option<Pick>>>,
    /// Makes the chart of times, where the chart is one of bus bandwidths.
    #[prop(optional)]
    to_time: Option<ToTime>,
) -> impl IntoView {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let state = State::new(number, chart, theme, on_pick, pinned.unwrap_or_default(), to_time);
    let chart = state.chart;
    let shows_data = RwSignal::new(false);
    let title = move || chart.with(|chart| chart.as_ref().map(|chart| chart.title.clone()));
    let place = NodeRef::<html::Figure>::new();
    let is_near = is_near_viewport(move || place.get().map(Into::into));
    let drawn = move || {
        view! {
            <div class="chart-controls">
                <Legend chart theme hidden=state.hidden/>
                <Switches state/>
            </div>
            <Drawing state/>
            <Readout state/>
            <p class="visually-hidden" role="status" aria-live="polite" aria-atomic="true">{move || state.announcement.get()}</p>
            <ChartData chart is_shown=shows_data/>
            <PrintedChart state/>
        }
    };
    let height = move || chart.with(|chart| chart.as_ref().and_then(|chart| chart.height()));
    let summary = move || chart.with(|chart| chart.as_ref().map(|chart| chart.summary.clone()));
    // Keyboard focus draws the chart as well.
    let come = move |_| {
        is_near.set(true);
        focus_drawing(place);
    };
    let place_holder = move || {
        view! {
            <div
                class="chart-stage"
                role="img"
                aria-label=summary
                tabindex="0"
                style:height=move || height().map(|height| format!("{height}px"))
                on:focus=handler(come)
            ></div>
        }
    };
    view! {
        <figure node_ref=place class="chart">
            <figcaption class="chart-head">
                <span class="chart-title">{reactive(title)}</span>
                <Exports state shows_data/>
            </figcaption>
            <Show when=move || is_near.get() fallback=place_holder>{drawn()}</Show>
        </figure>
    }
}

/// Moves the focus from the placeholder to the drawing that replaces it.
fn focus_drawing(place: NodeRef<html::Figure>) {
    request_animation_frame(move || {
        let drawing =
            place.try_get_untracked().flatten().and_then(|place| place.query_selector(".chart-stage").ok()?);
        if let Some(drawing) = drawing {
            let _ = drawing.unchecked_into::<web_sys::HtmlElement>().focus();
        }
    });
}

/// The values of the pinned point.
#[component]
fn Readout(state: State) -> impl IntoView {
    let pinned = move || {
        let pick = state.pinned.get()?;
        let reading = state.reading(Some(pick))?;
        Some(view! {
            <Values state reading pick is_pinned=true/>
            <button type="button" class="chart-unpin" on:click=handler(move |_| state.unpin())>"Unpin"</button>
        })
    };
    view! { <div class="chart-readout">{reactive(pinned)}</div> }
}

/// The switches of the axes, where they have a meaning.
#[component]
fn Switches(state: State) -> impl IntoView {
    let button = move |switch: Switch| {
        view! {
            <button
                type="button"
                hidden=move || state.offered(switch).is_none()
                aria-pressed=move || state.switched.get()[switch as usize].to_string()
                on:click=handler(move |_| state.toggle(switch))
            >
                {reactive(move || state.offered(switch))}
            </button>
        }
    };
    view! { <div class="chart-switches" role="group" aria-label="Axes">{Switch::ALL.map(button)}</div> }
}

/// The menu that saves the chart, and copies, saves or shows its data.
#[component]
fn Exports(state: State, shows_data: RwSignal<bool>) -> impl IntoView {
    let session: Session = expect_context();
    let chart = state.chart;
    let save = move |label: &str, save: fn(&Chart, &Style) -> Result<(), wasm_bindgen::JsValue>| {
        MenuEntry::action(label.to_owned(), move || {
            let (Some(chart), Some(style)) = (chart.get_untracked(), state.style_of_file()) else { return };
            if save(&chart, &style).is_err() {
                state.announcement.set("The browser could not save the file".to_owned());
            }
        })
    };
    let write = UnsyncCallback::new(move |format| {
        let data = chart.with_untracked(|chart| chart.as_ref().map(|chart| Exhibit::of_chart(chart).listing));
        write_listing(format, &data.unwrap_or_default())
    });
    let entries = UnsyncCallback::new(move |()| {
        let name = chart.with_untracked(|chart| chart.as_ref().map(|chart| export::file_stem(chart)));
        let mut entries = vec![save("Save as PNG", export::save_png), save("Save as SVG", export::save_svg)];
        entries.extend(export_entries(session, &[ExportFormat::Csv], "data ", &name.unwrap_or_default(), write));
        let toggle = move || shows_data.update(|shows| *shows = !*shows);
        entries.push(MenuEntry::switch("Show data".to_owned(), String::new(), shows_data.into(), toggle));
        entries
    });
    let name = memo(move || {
        chart.with(|chart| chart.as_ref().map_or_else(String::new, |chart| format!("Options of {}", chart.title)))
    });
    view! {
        <Show when=move || chart.with(Option::is_some)>
            <span class="menus">
                <Menu label="⋯" name entries />
            </span>
        </Show>
    }
}
