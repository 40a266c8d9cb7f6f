//! The charts, each from the view that the worker sent.

use std::sync::Arc;

use leptos::prelude::*;

use super::{Bench, Stage};
use crate::{
    app::{chart::ChartView, fields::ChoiceField, live::Show, pace, theme::ActiveTheme},
    plot::{Chart, Pick},
    tuning::{
        address::Address,
        charts::group_of,
        heat_map::{Against, meant, same_point},
        hotspots,
        result::View,
    },
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
                    {
                        let chart = over_size(bench);
                        view! { <ChartView chart theme pinned=pointed(bench, chart) /> }
                    }
                </Show>
            </section>
            <section class="panel">
                <Show when=move || second.get()>
                    {
                        let chart = chart_of(bench, 2, |view| Some(&view.busbw_over_channels));
                        view! { <ChartView chart theme pinned=pointed(bench, chart) /> }
                    }
                </Show>
            </section>
        </div>
    }
}

/// Where the point of the heat map is in another chart, while its size is shown.
fn pointed(bench: Bench, chart: Signal<Option<Arc<Chart>>>) -> Signal<Option<Pick>> {
    Memo::new(move |_| {
        let (size, configuration) = bench.point.get().filter(|point| Some(point.0) == shown_size(bench))?;
        chart.with(|chart| same_point(chart.as_ref()?, size, &configuration))
    })
    .into()
}

fn shown_size(bench: Bench) -> Option<u64> {
    bench.workload().map(|workload| workload.size_bytes)
}

/// What each configuration loses at each size. A cell opens its size, and is pinned in the other charts.
#[component]
pub fn HeatMap() -> impl IntoView {
    let bench: Bench = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let chart = chart_of(bench, 3, |view| view.heat_map.as_ref());
    let is_there = Memo::new(move |_| chart.with(Option::is_some));
    let has_default = Memo::new(move |_| {
        let Some(workload) = bench.workload() else { return false };
        bench.groups.with(|groups| group_of(groups, &workload).is_some_and(|group| group.default_sizes > 0))
    });
    let choices = || Against::ALL.iter().map(|against| (*against, against.name().to_owned())).collect();
    let pick = move |pick: Option<Pick>| {
        let point = chart.with_untracked(|chart| {
            let (size, configuration) = meant(chart.as_ref()?, pick?)?;
            Some((size, configuration.to_owned()))
        });
        if let (Some((size, _)), Some(workload)) = (&point, untrack(move || bench.workload())) {
            let Address { set, example, .. } = bench.address.get_untracked();
            bench.address.set(Address { size_bytes: Some(*size), ..Address::of(&workload, set, example) });
        }
        bench.point.set(point);
    };
    view! {
        <Show when=move || is_there.get()>
            <section class="panel heat-map">
                <Show when=move || has_default.get()>
                    <ChoiceField
                        label="Loss against"
                        choices
                        value=move || Some(bench.against.get())
                        on_value=move |against| bench.against.set(against)
                    />
                </Show>
                <ChartView chart theme on_pick=pick />
            </section>
        </Show>
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
