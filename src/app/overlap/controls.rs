//! What is compared: run, columns, whose predictions are shown; and what leaves as a file.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    app::{
        client::Weight,
        clipboard,
        failure::Failure,
        fields::ChoiceField,
        live::{Show, live},
        parts::describe,
        tuning::Bench,
    },
    overlap::{
        models::Kind,
        request::{Answer, Question, Shown, Studied},
    },
    units::count,
    worker::protocol::{Request, Response},
};

/// The choices above the answer.
#[component]
pub(super) fn Controls() -> impl IntoView {
    let bench: Bench = expect_context();
    let kernels = bench.kernels;
    let of = move |find: fn(&Studied) -> Vec<String>| {
        kernels.studied.with(|studied| studied.as_deref().map(find).unwrap_or_default())
    };
    let runs = move || {
        let name = |studied: &Studied| {
            studied.runs.iter().map(|run| format!("{}: {}", run.name, count(run.kernels, "kernel"))).collect()
        };
        of(name).into_iter().enumerate().collect::<Vec<_>>()
    };
    // The verdict's choice, the models, then those that were dropped.
    let models = move || {
        let own = Kind::ALL.iter().map(|kind| kind.title().to_owned());
        let all =
            std::iter::once("as the verdict says".to_owned()).chain(own).chain(of(|studied| studied.models.clone()));
        all.enumerate().collect::<Vec<_>>()
    };
    let shown = move || match kernels.shown.get() {
        None => 0,
        Some(Shown::Model(kind)) => 1 + kind as usize,
        Some(Shown::Imported { model, .. }) => 1 + Kind::ALL.len() + model as usize,
    };
    let show = move |index: usize| {
        bench.show_model(index.checked_sub(1).map(|own| {
            match (Kind::ALL.get(own), own.checked_sub(Kind::ALL.len())) {
                (None, Some(model)) => Shown::Imported { model: model as u32, standardised: false },
                (kind, _) => Shown::Model(kind.copied().unwrap_or(Kind::NoSlowdown)),
            }
        }));
    };
    let is_imported = move || matches!(kernels.shown.get(), Some(Shown::Imported { .. }));
    let is_scaled = move || matches!(kernels.shown.get(), Some(Shown::Imported { standardised: true, .. }));
    let scale = move |standardised: bool| {
        if let Some(Shown::Imported { model, .. }) = kernels.shown.get_untracked() {
            bench.show_model(Some(Shown::Imported { model, standardised }));
        }
    };
    let several = move || kernels.studied.with(|studied| studied.as_ref().is_some_and(|s| s.runs.len() > 1));
    let run = move || Some(kernels.settings.with(|settings| settings.dataset as usize));
    let choose_run = move |index: usize| {
        bench.study_with(|settings| (settings.dataset, settings.columns) = (index as u32, None));
    };
    let save = move |question: fn(Kind) -> Question| {
        let kind = match kernels.shown.get_untracked() {
            Some(Shown::Model(kind)) => kind,
            _ => Kind::TreesLad,
        };
        save_answer(bench, question(kind));
    };
    view! {
        <section class="controls" aria-label="What is compared">
            <Show when=several>
                <ChoiceField label="Run" choices=runs value=run on_value=choose_run />
            </Show>
            <ChoiceField label="Shown" choices=models value=move || Some(shown()) on_value=show />
            <Show when=is_imported>
                <label class="check">
                    <input
                        type="checkbox"
                        prop:checked=is_scaled
                        on:change:target=move |event| scale(event.target().checked())
                    />
                    <span>"features standardised"</span>
                </label>
            </Show>
            <Columns />
            <div class="export" role="group" aria-label="Files">
                <button type="button" on:click=move |_| save(Question::Predictions)>"Save predictions"</button>
                <button type="button" title="The shown trees, else the default ones, as JSON of XGBoost" on:click=move |_| save(Question::Trees)>
                    "Save trees"
                </button>
            </div>
        </section>
    }
}

/// The columns that models are given.
#[component]
fn Columns() -> impl IntoView {
    let bench: Bench = expect_context();
    let studied = bench.kernels.studied;
    let columns = move || studied.with(|studied| studied.as_ref().map(|s| s.columns.clone()).unwrap_or_default());
    let words = move || {
        let columns = columns();
        let given = columns.iter().filter(|(_, is_given)| *is_given).count();
        format!("Metrics: {given} of {}", columns.len())
    };
    let toggle = move |name: &str, on: bool| {
        let mut chosen: Vec<String> =
            untrack(columns).into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
        chosen.retain(|other| other != name);
        chosen.extend(on.then(|| name.to_owned()));
        bench.study_with(|settings| settings.columns = Some(chosen));
    };
    let item = move |(name, is_given): (String, bool)| {
        let label = name.clone();
        view! {
            <label class="check">
                <input type="checkbox" prop:checked=is_given on:change:target=move |event| toggle(&name, event.target().checked()) />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <Show when=move || !columns().is_empty()>
            <details class="limits">
                <summary>{live(words)}</summary>
                <div class="checks">{live(move || columns().into_iter().map(item).collect_view())}</div>
            </details>
        </Show>
    }
}

/// Asks for a file and saves it.
fn save_answer(bench: Bench, question: Question) {
    bench.glances.update(|glances| *glances += 1);
    let answer = bench.main().ask(Weight::Glance, Request::Overlap(Box::new(question)), &[], Box::new(|_| ()));
    spawn_local(async move {
        let answer = answer.await.map(|answer| answer.response);
        bench.glances.update(|glances| *glances -= 1);
        let saved = match answer {
            Ok(Response::Overlap(answer)) => match *answer {
                Answer::File(file) => {
                    clipboard::save(&file.name, "text/plain", &file.text).map_err(|error| describe(&error))
                }
                _ => Err(Failure::Garbled.to_string()),
            },
            Ok(_) => Err(Failure::Garbled.to_string()),
            Err(failure) => Err(failure.to_string()),
        };
        if let Err(why) = saved {
            bench.notify(format!("The file could not be saved: {}.", why.trim_end_matches('.')), true, None);
        }
    });
}
