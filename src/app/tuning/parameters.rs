//! The parameters of training, and the model as a file.

use leptos::{prelude::*, task::spawn_local};

use super::limits::LimitFields;
use crate::{
    app::session::{Session, WorkerMemory},
    app::{
        clipboard,
        fields::{ChoiceField, NumberField},
        js_error::describe,
        reactive::{Show, effect},
    },
    tuning::{
        aggregate::Target,
        parameters::{Parameters, Preset},
    },
};

const TARGETS: [(Target, &str); 2] = [(Target::Time, "from the time"), (Target::Printed, "as printed")];

/// The form of the parameters, with buttons that train and save the model.
#[component]
pub fn ParametersForm() -> impl IntoView {
    let session: Session = expect_context();
    let parameters = session.tuning.parameters;
    let preset = Memo::new(move |_| parameters.with(|p| p.preset));
    let limits = RwSignal::new(parameters.with_untracked(|p| p.search.clone()));
    effect(move || limits.set(parameters.with(|p| p.search.clone())));
    effect(move || {
        let limits = limits.get();
        if parameters.with_untracked(|p| p.search != limits) {
            parameters.update(|p| p.search = limits);
        }
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        session.train();
    };
    let retarget = move |target| {
        session.tuning.target.set(target);
        session.load();
    };
    view! {
        <section class="panel" aria-labelledby="parameters-heading">
            <h2 id="parameters-heading">"Model"</h2>
            <form class="fields" on:submit=submit>
                <ChoiceField
                    label="Preset"
                    choices=|| Preset::ALL.iter().map(|preset| (*preset, preset.name().to_owned())).collect()
                    value=move || Some(preset.get())
                    on_value=move |preset| parameters.update(|p| p.preset = preset)
                />
                <Show
                    when=move || preset.get() == Preset::Seed
                    fallback=move || {
                        view! {
                            <NumberField
                                label="Trees"
                                value=move || parameters.with(|p| p.trees)
                                range=1..=2000
                                on_value=move |n| parameters.update(|p| p.trees = n)
                            />
                        }
                    }
                >
                    <BoostingFields parameters />
                </Show>
                <NumberField
                    label="Seed"
                    value=move || parameters.with(|p| p.seed)
                    range=0..=u64::from(u32::MAX)
                    on_value=move |seed| parameters.update(|p| p.seed = seed)
                />
                <ChoiceField
                    label="busbw"
                    choices=|| TARGETS.map(|(target, name)| (target, name.to_owned())).to_vec()
                    value=move || Some(session.tuning.target.get())
                    on_value=retarget
                />
                <details class="limits">
                    <summary>"Search limits"</summary>
                    <LimitFields limits />
                </details>
                <div class="actions">
                    <button type="submit" class="primary">"Train"</button>
                    <button
                        type="button"
                        on:click=move |_| parameters.set(Parameters::default())
                        disabled=move || parameters.with(|p| *p == Parameters::default())
                    >
                        "Defaults"
                    </button>
                    <SaveModel />
                </div>
            </form>
        </section>
    }
}

#[component]
fn BoostingFields(parameters: RwSignal<Parameters>) -> impl IntoView {
    view! {
        <NumberField
            label="Stages"
            value=move || parameters.with(|p| p.stages)
            range=1..=2000
            on_value=move |n| parameters.update(|p| p.stages = n)
        />
        <NumberField
            label="Depth"
            value=move || parameters.with(|p| p.depth)
            range=1..=16
            on_value=move |n| parameters.update(|p| p.depth = n)
        />
        <NumberField
            label="Learning rate"
            value=move || parameters.with(|p| p.learning_rate)
            range=0.001..=1.0
            step="any"
            on_value=move |rate| parameters.update(|p| p.learning_rate = rate)
        />
        <NumberField
            label="Early stopping after"
            value=move || parameters.with(|p| p.early_stopping)
            range=0..=500
            on_value=move |n| parameters.update(|p| p.early_stopping = n)
        />
    }
}

#[component]
fn SaveModel() -> impl IntoView {
    let session: Session = expect_context();
    let save = move |_| {
        spawn_local(async move {
            let saved = match session.save_model().await {
                Ok(text) => clipboard::save("collectune-model.json", "application/json", &text)
                    .map_err(|error| format!("The model could not be saved: {}.", describe(&error))),
                Err(failure) if failure.is_expected() => Ok(()),
                Err(failure) => Err(failure.to_string()),
            };
            if let Err(message) = saved {
                session.notify(message, true, None);
            }
        });
    };
    let cannot = move || session.worker_memory.get() < WorkerMemory::Model || session.is_busy();
    view! {
        <button
            type="button"
            title="Parameters, seed and training rows as a file that opens here again"
            disabled=cannot
            on:click=save
        >
            "Save model"
        </button>
    }
}
