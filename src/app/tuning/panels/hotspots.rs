//! Hotspots panel: sizes at which busbw drops.

use std::sync::Arc;

use leptos::prelude::*;

use super::super::worker_query::WorkerQuery;
use crate::{
    app::fields::{NumberField, prevent_submit},
    app::reactive::{Show, effect, reactive},
    app::{listing::ListingView, session::Session, text_file::TextFile},
    tuning::hotspots::{FILE_NAME, HotspotAnswer, HotspotQuestion, HotspotRule},
    worker::protocol::{Request, Response},
};

/// The hotspots of all loaded measurements.
#[component]
pub fn Hotspots() -> impl IntoView {
    let session: Session = expect_context();
    let rule = RwSignal::new(HotspotRule::default());
    let question = Signal::derive(move || {
        session.tuning.has_data().then(|| Request::Hotspots(HotspotQuestion { rule: rule.get() }))
    });
    let found = WorkerQuery::new(session, question);
    fn hotspots(response: &Response) -> Option<&HotspotAnswer> {
        if let Response::Hotspots(answer) = response { Some(answer) } else { None }
    }
    // The chart of busbw over size marks them.
    effect(move || {
        session.tuning.hotspots.set(found.get(|response| Some(Arc::new(hotspots(response)?.hotspots.clone()))));
    });
    on_cleanup(move || {
        session.tuning.hotspots.try_set(None);
    });
    let listing = found.listing(|response| Some(&hotspots(response)?.listing));
    let none = found.holds(|response| hotspots(response).is_some_and(|answer| answer.hotspots.is_empty()));
    let any = found.holds(|response| hotspots(response).is_some_and(|answer| !answer.hotspots.is_empty()));
    let report = move || {
        // A header line alone is an empty report.
        let text = found.get(|response| Some(hotspots(response)?.report.clone()))?;
        (text.lines().count() > 1).then(|| {
            view! {
                <details>
                    <summary>"The default's hotspots as rccl-sweep reports them"</summary>
                    <TextFile name=FILE_NAME text />
                </details>
            }
        })
    };
    view! {
        <section class="panel" aria-labelledby="hotspots-heading">
            <div class="panel-head">
                <h2 id="hotspots-heading">"Hotspots"</h2>
                <span class="small">"Sizes with a lower busbw than a smaller size."</span>
            </div>
            <form class="own" on:submit=prevent_submit>
                <NumberField
                    label="Drop of more than, %"
                    value=move || rule.get().threshold_pct
                    range=0.0..=99.0
                    step="any"
                    on_value=move |pct| rule.update(|rule| rule.threshold_pct = pct)
                />
                <NumberField
                    label="and at least, GB/s"
                    value=move || rule.get().min_drop_gbps
                    range=0.0..=1000.0
                    step="any"
                    on_value=move |gbps| rule.update(|rule| rule.min_drop_gbps = gbps)
                />
            </form>
            <Show when=none>
                <p class="small">"No hotspots: not for the default, the best measured or the recommended configurations."</p>
            </Show>
            <Show when=any>
                <ListingView heading="Where busbw drops" listing name="hotspots-found" />
            </Show>
            {reactive(report)}
        </section>
    }
}
