//! The charts of the workload shown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::session::Session,
    app::{
        browser_tasks,
        chart::{ChartView, ToTime},
        reactive::{Show, effect},
        signal::{RwSignal, Signal, memo},
        theme::ActiveTheme,
    },
    collective::Workload,
    plot::{Chart, Pick, Series},
    report::Workbench,
    tuning::{
        address::Address,
        charts::{group_of, in_time},
        heat_map::{Against, meant, same_point},
        result::View,
    },
    workbench::AttachmentKind,
};

/// One chart of the view, drawn `tasks` tasks of the browser after the view has come.
fn chart_of(session: Session, tasks: usize, part: fn(&View) -> Option<&Chart>) -> Signal<Option<Arc<Chart>>> {
    let view = browser_tasks::delayed(tasks, Signal::from(session.tuning.view));
    memo(move || view.with(|view: &Option<Arc<View>>| part(view.as_ref()?).cloned().map(Arc::new)))
}

/// busbw over size, with hotspots marked.
fn over_size(session: Session) -> Signal<Option<Arc<Chart>>> {
    let chart = chart_of(session, 1, |view| Some(&view.busbw_over_size));
    memo(move || {
        let (chart, workload) = (chart.get()?, session.tuning.workload()?);
        let marks = session
            .state_of(Workbench::Tuning)
            .shown
            .with(|shown| shown.as_ref()?.attachment::<(Workload, Vec<Series>)>(AttachmentKind::Marks));
        let Some((_, marks)) = marks.filter(|(of, marks)| *of == workload && !marks.is_empty()) else {
            return Some(chart);
        };
        let mut marked = Chart::clone(&chart);
        marked.series.extend(marks);
        Some(Arc::new(marked))
    })
}

/// Makes charts of times for the workload shown.
fn to_time(session: Session) -> ToTime {
    Callback::new(move |chart: Arc<Chart>| {
        session.tuning.workload().map(|workload| Arc::new(in_time(&chart, &workload)))
    })
}

/// busbw over size, from which the answer is read. The panel is there before the chart, so that the page doesn't jump.
#[component]
pub fn Picture() -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let step = browser_tasks::count_up_in_tasks(2);
    let chart = over_size(session);
    view! {
        <section class="panel picture-panel" aria-label="Picture of the answer">
            <Show when=move || { step.get() >= 2 }>
                <ChartView chart theme to_time=to_time(session) pinned=pinned(session, chart) />
            </Show>
        </section>
    }
}

/// busbw over channels at the size shown.
#[component]
pub fn OverChannels() -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let chart = chart_of(session, 2, |view| Some(&view.busbw_over_channels));
    view! {
        <section class="panel over-channels">
            <ChartView chart theme to_time=to_time(session) pinned=pinned(session, chart) />
        </section>
    }
}

/// The pinned point of a chart: that of the configuration that is pinned in the heat map, at the shown size.
fn pinned(session: Session, chart: Signal<Option<Arc<Chart>>>) -> RwSignal<Option<Pick>> {
    let pinned = RwSignal::new(None);
    effect(move || {
        let (Some(configuration), Some(workload)) = (session.tuning.pinned.get(), session.tuning.workload()) else {
            return;
        };
        let same = chart.with(|chart| same_point(chart.as_ref()?, workload.size_bytes, &configuration));
        if same.is_some() {
            pinned.set(same);
        }
    });
    pinned
}

/// The loss of each configuration at each size. A click on a cell shows its size and pins its configuration in the
/// other charts.
#[component]
pub fn HeatMap() -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let chart = chart_of(session, 3, |view| view.heat_map.as_ref());
    let has_default = move || {
        let workload = session.tuning.workload();
        session
            .tuning
            .groups
            .with(|groups| workload.and_then(|shown| group_of(groups, &shown)).is_some_and(|g| g.default_sizes > 0))
    };
    let pick = move |pick: Option<Pick>| {
        let point = chart.with_untracked(|chart| {
            let (size, configuration) = meant(chart.as_ref()?, pick?)?;
            Some((size, configuration.to_owned()))
        });
        if let Some((size, _)) = &point {
            let address = session.tuning.address.get_untracked();
            session.set_address(Address { size_bytes: Some(*size), ..address });
        }
        session.tuning.pinned.set(point.map(|(_, configuration)| configuration));
    };
    let compare = move |with_default: bool| {
        let value = if with_default { "default".to_owned() } else { String::new() };
        session.choose_keys(Workbench::Tuning, &[("h", value)]);
    };
    let has_none = move || {
        session.tuning.view.with(|view: &Option<Arc<View>>| view.as_ref().is_some_and(|v| v.heat_map.is_none()))
    };
    view! {
        <Show when=has_none>
            <section class="panel">
                <p>
                    "The sweep has only the library's default here. The heat map compares configurations, each measured with NCCL_ALGO, NCCL_PROTO and the channels set."
                </p>
            </section>
        </Show>
        <Show when=move || chart.with(Option::is_some)>
            <section class="panel heat-map">
                <label class="check" hidden=move || !has_default()>
                    <input
                        type="checkbox"
                        prop:checked=move || session.tuning.against.get() == Against::Default
                        on:change:target=move |event| compare(event.target().checked())
                    />
                    <span>"Compare with the default"</span>
                </label>
                <ChartView chart theme on_pick=pick pinned=pinned(session, chart) />
            </section>
        </Show>
    }
}
