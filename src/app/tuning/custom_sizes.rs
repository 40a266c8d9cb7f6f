//! Recommendations for sizes that the user enters, measured or not, with their own search limits.

use std::sync::Arc;

use leptos::{ev, prelude::*, task::spawn_local};

use super::{limits::LimitFields, table::RecommendationTable};
use crate::{
    app::reactive::{Show, effect, reactive},
    app::{
        export::ExportMenu,
        session::{Session, WorkerMemory},
    },
    collective::Workload,
    tuning::{export::ExportFormat, parameters::SearchLimits, result::Recommendation, sizes::parse_sizes},
    worker::protocol::Request,
};

/// The form for the sizes, and the table of recommendations.
#[component]
pub fn CustomSizes() -> impl IntoView {
    let session: Session = expect_context();
    let text = RwSignal::new(String::new());
    let limits = RwSignal::new(SearchLimits::default());
    let error = RwSignal::new(None::<String>);
    let rows = RwSignal::new(Arc::new(Vec::<Recommendation>::new()));
    // The recommendations belong to the data before.
    effect(move || {
        session.tuning.groups.track();
        rows.set(Arc::default());
    });
    let ask = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let Some(workload) = untrack(move || session.tuning.workload()) else { return };
        let sizes = match parse_sizes(&text.get_untracked()) {
            Ok(sizes) => sizes,
            Err(wrong) => return error.set(Some(wrong.to_string())),
        };
        error.set(None);
        let request = request_for(&workload, sizes, limits.get_untracked());
        spawn_local(async move {
            match session.recommend(request).await {
                Ok(answers) => rows.set(Arc::new(answers)),
                Err(failure) if failure.is_expected() => {}
                Err(failure) => error.set(Some(failure.to_string())),
            }
        });
    };
    let label = move || session.tuning.workload().map(|w| format!("{} on {}", w.collective, w.scale));
    let cannot = move || session.worker_memory.get() < WorkerMemory::Model || session.tuning.workload().is_none();
    let differs = move |r: &Recommendation| {
        let (other, busbw) = r.exhaustive?;
        let size = crate::units::Size(r.workload.size_bytes);
        Some(format!("{size}: the exhaustive search finds {other} at {} GB/s.", crate::units::significant(busbw)))
    };
    let check = move || {
        let found: Vec<String> = rows.with(|rows| rows.iter().filter_map(differs).collect());
        let agrees = found.is_empty().then(|| view! { <li>"The exhaustive search finds the same."</li> });
        view! {
            <ul class="notes">
                {agrees} {found.into_iter().map(|text| view! { <li class="warning">{text}</li> }).collect_view()}
            </ul>
        }
    };
    let write = UnsyncCallback::new(move |format: ExportFormat| {
        rows.with_untracked(|rows| format.write(rows, session.tuning.set_label().as_deref()))
    });
    view! {
        <section class="panel" aria-labelledby="own-heading">
            <div class="panel-head">
                <h2 id="own-heading">"Sizes of your own"</h2>
                <span class="small">{reactive(label)}</span>
            </div>
            <form class="own" on:submit=ask>
                <label class="field wide">
                    <span>"Sizes"</span>
                    <input
                        type="text"
                        placeholder="16M, 1.5G, 368640"
                        autocomplete="off"
                        spellcheck="false"
                        aria-invalid=move || error.with(Option::is_some).then_some("true")
                        bind:value=text
                    />
                    {reactive(move || error.get().map(|error| view! { <small class="wrong" role="alert">{error}</small> }))}
                </label>
                <details class="limits">
                    <summary>"Search limits"</summary>
                    <LimitFields limits />
                </details>
                <button type="submit" class="primary" disabled=cannot>"Answer"</button>
            </form>
            <Show when=move || rows.with(|rows| !rows.is_empty())>
                <div class="panel-head">
                    <ExportMenu write name="answers" />
                </div>
                <RecommendationTable rows filter=String::new() caption="Answers for sizes of your own" />
                {reactive(check)}
            </Show>
        </section>
    }
}

/// The request for recommendations at these sizes.
fn request_for(workload: &Workload, sizes: Vec<u64>, search: SearchLimits) -> Request {
    Request::Recommend { collective: workload.collective, scale: workload.scale, sizes, search }
}
