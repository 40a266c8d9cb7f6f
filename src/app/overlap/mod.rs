//! The overlap workbench: from metrics of kernels to how much slower they get beside collectives.

mod controls;
mod flow;
mod predict;
mod state;

pub use state::Kernels;

use leptos::prelude::*;

use super::{
    drop::{OnFiles, OpenButton},
    example::Example,
    files::Files,
    kept::KeptFiles,
    report::SectionView,
    tuning::Bench,
};
use crate::{
    app::live::{For, Show, live},
    report::{Fact, Section},
};
use controls::Controls;
use predict::Prediction;

/// The workbench, or the first visit to it.
#[component]
pub fn Overlap() -> impl IntoView {
    let bench: Bench = expect_context();
    let has_kernels = move || bench.documents.with(|all| !all.kernels.is_empty());
    view! {
        <Show when=has_kernels fallback=|| view! { <Welcome /> }>
            <div class="bench">
                <main class="bench-main">
                    <h1 class="visually-hidden">"Overlap"</h1>
                    <Show when=move || bench.shows_example()>
                        <p class="simulated">
                            "This is the example: simulated kernels, not a measurement. Drop your own to replace it."
                        </p>
                    </Show>
                    <Centre />
                </main>
                <aside class="bench-side" aria-label="What was loaded">
                    <Files />
                    <Basis />
                </aside>
            </div>
        </Show>
    }
}

#[component]
fn Welcome() -> impl IntoView {
    let bench: Bench = expect_context();
    let on_files: OnFiles = expect_context();
    let example: Example = expect_context();
    let is_reading = move || bench.has_files() && bench.task.with(Option::is_some);
    view! {
        <main class="welcome">
            <div class="welcome-zone">
                <h1>"Overlap"</h1>
                <Show when=is_reading>
                    <p role="status">"Reading …"</p>
                </Show>
                <p class="lead">
                    "Drop kernel metrics and slowdown statistics and see how much slower kernels get beside \
                     collectives, and whether learning predicts it better than no model at all."
                </p>
                <p class="welcome-drop">"Drop files or a folder anywhere on this page."</p>
                <div class="welcome-actions">
                    <OpenButton on_files primary=true />
                    <Show when=move || example.has_kernels()>
                        <button type="button" id="open-kernels-example" on:click=move |_| example.open_kernels(bench)>
                            "Open the example"
                        </button>
                    </Show>
                </div>
                <p class="small">
                    "Reads merged features (CSV), slowdown statistics (XLSX or CSV) with kernel metrics (CSV, JSON, "
                    <span class="verbatim">"ncu --csv"</span> "), GPU traces of "
                    <span class="verbatim">"nsys stats"</span>
                    ", and models of XGBoost as JSON. The example is simulated, not measured."
                </p>
            </div>
            <KeptFiles />
            <p class="promise">"Nothing is uploaded. Files are read and trained on in this tab."</p>
        </main>
    }
}

/// Controls, the answer, the prediction of one kernel.
#[component]
fn Centre() -> impl IntoView {
    let bench: Bench = expect_context();
    let kernels = bench.kernels;
    let report = kernels.report;
    let title = move || report.with(|report| report.as_ref().map(|report| report.title.clone()));
    let summary = move || {
        let sentences = report.with(|report| report.as_ref().map(|report| report.summary.clone()).unwrap_or_default());
        sentences.into_iter().map(|text| view! { <p class="sentence">{text}</p> }).collect_view()
    };
    let count = move || report.with(|report| report.as_ref().map_or(0, |report| report.sections.len()));
    let section = move |index: usize| {
        // What stays the same between two steps is not drawn again.
        let section = Memo::new(move |_| report.with(|report| report.as_ref()?.sections.get(index).cloned()));
        let shown = move |section: Section| view! { <SectionView section id=format!("section-{index}") /> };
        live(move || section.get().map(shown))
    };
    view! {
        <Show when=move || kernels.error.with(Option::is_some)>
            <section class="panel" role="alert">
                <h2>"Nothing to compare"</h2>
                <p class="wrong">{live(move || kernels.error.get())}</p>
            </section>
        </Show>
        <Show when=move || kernels.is_there()>
            <Controls />
            <section class="panel answer" aria-labelledby="overlap-answer">
                <h2 id="overlap-answer">{live(title)}</h2>
                {live(summary)}
            </section>
            <div class="panels">
                <For each=move || (0..count().min(2)).collect() key=|index| *index children=section />
            </div>
            <Show when=move || kernels.is_complete.get()>
                <Prediction />
            </Show>
            <div class="panels">
                <For each=move || (2..count().max(2)).collect() key=|index| *index children=section />
            </div>
        </Show>
    }
}

/// What the answer was computed with.
#[component]
fn Basis() -> impl IntoView {
    let bench: Bench = expect_context();
    let report = bench.kernels.report;
    let row = |Fact { name, value }: Fact| view! { <dt>{name}</dt> <dd>{value}</dd> };
    let facts = move || {
        let facts = report.with(|report| report.as_ref().map(|report| report.parameters.clone()).unwrap_or_default());
        facts.into_iter().map(row).collect_view()
    };
    view! {
        <Show when=move || bench.kernels.is_there()>
            <section class="panel" aria-labelledby="basis-heading">
                <h2 id="basis-heading">"Computed with"</h2>
                <dl class="facts">{live(facts)}</dl>
            </section>
        </Show>
    }
}
