//! The three charts, each from the view that the worker sent.

use std::sync::Arc;

use leptos::prelude::*;

use super::{Bench, Stage};
use crate::{
    app::{chart::ChartView, live::Show, pace, theme::ActiveTheme},
    plot::Chart,
    tuning::{hotspots, result::View},
};

/// One chart of the view; each is drawn in a task of its own.
fn chart_of(bench: Bench, tasks: usize, part: fn(&View) -> Option<&Chart>) -> Signal<Option<Arc<Chart>>> {
    let view = pace::later(tasks, Signal::from(bench.view));
    Memo::new(move |_| view.with(|view: &Option<Arc<View>>| part(view.as_ref()?).cloned().map(Arc::new))).into()
}

/// busbw over size, with what dips marked.
fn over_size(bench: Bench) -> Signal<Option<Arc<Chart>>> {
    let chart = chart_of(bench, 1, |view| Some(&view.busbw_over_size));
    Memo::new(move |_| {
        let (chart, workload) = (chart.get()?, bench.workload()?);
        let marks = bench.hotspots.with(|all| {
            all.as_ref().map(|all| hotspots::marks(all, workload.collective, workload.scale)).unwrap_or_default()
        });
        if marks.is_empty() {
            return Some(chart);
        }
        let mut marked = Chart::clone(&chart);
        marked.series.extend(marks);
        Some(Arc::new(marked))
    })
    .into()
}

/// busbw against size, and against channels. Their places are there before they are.
#[component]
pub fn Charts(first: Signal<bool>, second: Signal<bool>) -> impl IntoView {
    let bench: Bench = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    view! {
        <div class="charts">
            <section class="panel">
                <Show when=move || first.get()>
                    <ChartView chart=over_size(bench) theme />
                </Show>
            </section>
            <section class="panel">
                <Show when=move || second.get()>
                    <ChartView chart=chart_of(bench, 2, |view| Some(&view.busbw_over_channels)) theme />
                </Show>
            </section>
        </div>
    }
}

/// Predicted against measured, out of fold.
#[component]
pub fn Accuracy() -> impl IntoView {
    let bench: Bench = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let is_there = move || {
        bench.stage.get() == Stage::Validated
            && bench.view.with(|view| view.as_ref().is_some_and(|view| view.predicted_over_measured.is_some()))
    };
    view! {
        <Show when=is_there>
            <section class="panel">
                <ChartView chart=chart_of(bench, 3, |view| view.predicted_over_measured.as_ref()) theme />
            </section>
        </Show>
    }
}
