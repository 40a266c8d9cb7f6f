//! The fields of search limits: channels, algorithms, protocols.

use leptos::prelude::*;

use crate::{
    app::fields::ManyField,
    app::reactive::Show,
    collective::{Algorithm, Protocol},
    tuning::parameters::SearchLimits,
};

/// The fields of search limits.
#[component]
pub fn LimitFields(limits: RwSignal<SearchLimits>) -> impl IntoView {
    let wrong = RwSignal::new(false);
    let on_channels = move |text: String| {
        let text = text.trim();
        let channels =
            if text.is_empty() { Some(None) } else { text.parse().ok().filter(|n| (1..=1024).contains(n)).map(Some) };
        wrong.set(channels.is_none());
        if let Some(channels) = channels {
            limits.update(|limits| limits.max_channels = channels);
        }
    };
    let algorithms = Algorithm::ALL.iter().filter(|a| !matches!(a, Algorithm::Direct | Algorithm::None));
    let protocols = Protocol::ALL.iter().filter(|p| **p != Protocol::None);
    view! {
        <label class="field">
            <span>"Max channels"</span>
            <input
                type="number"
                inputmode="numeric"
                min="1"
                max="1024"
                placeholder="as measured"
                aria-invalid=move || wrong.get().then_some("true")
                prop:value=move || limits.with(|l| l.max_channels.map(|n| n.to_string()).unwrap_or_default())
                on:change:target=move |event| on_channels(event.target().value())
            />
            <Show when=move || wrong.get()>
                <small class="wrong">"a whole number from 1 to 1024, or nothing"</small>
            </Show>
        </label>
        <ManyField
            label="Algorithms"
            choices=algorithms.map(|a| (*a, a.name())).collect()
            value=Signal::derive(move || limits.with(|l| l.algorithms.clone()))
            on_value=UnsyncCallback::new(move |chosen| limits.update(|l| l.algorithms = chosen))
        />
        <ManyField
            label="Protocols"
            choices=protocols.map(|p| (*p, p.name())).collect()
            value=Signal::derive(move || limits.with(|l| l.protocols.clone()))
            on_value=UnsyncCallback::new(move |chosen| limits.update(|l| l.protocols = chosen))
        />
        <p class="small">
            "With nothing ticked, what was measured is searched. What was not measured is searched where it can run "
            "and the model can predict it."
        </p>
    }
}
