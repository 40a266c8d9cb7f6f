//! Hotspots: sizes at which a curve dips.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    super::{Bench, inquiry::Inquiry},
    listing::ListingView,
    text_file::TextFile,
};
use crate::{
    app::fields::{NumberField, stay},
    app::live::{Show, follow, live},
    tuning::hotspots::{FILE_NAME, HotspotAnswer, HotspotQuestion, HotspotRule},
    worker::protocol::{Request, Response},
};

/// The hotspots of everything loaded.
#[component]
pub fn Hotspots() -> impl IntoView {
    let bench: Bench = expect_context();
    let rule = RwSignal::new(HotspotRule::default());
    let question =
        Signal::derive(move || bench.has_data().then(|| Request::Hotspots(HotspotQuestion { rule: rule.get() })));
    let found = Inquiry::new(bench, question);
    fn hotspots(response: &Response) -> Option<&HotspotAnswer> {
        if let Response::Hotspots(answer) = response { Some(answer) } else { None }
    }
    // The chart of busbw over size marks them.
    follow(move || bench.hotspots.set(found.get(|response| Some(Arc::new(hotspots(response)?.hotspots.clone())))));
    on_cleanup(move || {
        bench.hotspots.try_set(None);
    });
    let listing = found.listing(|response| Some(&hotspots(response)?.listing));
    let none = found.is(|response| hotspots(response).is_some_and(|answer| answer.hotspots.is_empty()));
    let any = found.is(|response| hotspots(response).is_some_and(|answer| !answer.hotspots.is_empty()));
    let report = move || {
        // A header line alone reports nothing.
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
                <span class="small">"Sizes that run slower than a smaller one. An alarm, not a search."</span>
            </div>
            <form class="own" on:submit=stay>
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
                <p class="small">"No curve dips: not the default's, not the best measured, not what is to be deployed."</p>
            </Show>
            <Show when=any>
                <ListingView heading="Where curves dip" listing name="hotspots-found" />
            </Show>
            {live(report)}
        </section>
    }
}
