//! One kernel is predicted: a measured one, or as it is typed.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::{
        fields::stay,
        listing::ListingView,
        live::{Show, follow, live},
        tuning::{Bench, Inquiry},
    },
    overlap::{
        predict,
        request::{Answer, Question, Shown},
    },
    worker::protocol::{Request, Response},
};

/// The form and what is to be expected.
#[component]
pub(super) fn Prediction() -> impl IntoView {
    let bench: Bench = expect_context();
    let kernels = bench.kernels;
    let index = RwSignal::new(None::<u32>);
    let typed = RwSignal::new(None::<predict::Question>);
    let about = |question: Question| Some(Request::Overlap(Box::new(question)));
    let picked = Inquiry::new(
        bench,
        Signal::derive(move || {
            kernels.studied.track();
            about(Question::Kernel(index.get()))
        }),
    );
    follow(move || {
        if let Some(kernel) = picked.get(|response| match answer(response)? {
            Answer::Kernel(kernel) => Some(kernel.as_ref().clone()),
            _ => None,
        }) {
            typed.set(Some(kernel));
        }
    });
    let found = Inquiry::new(
        bench,
        Signal::derive(move || {
            kernels.report.track();
            let model = match kernels.shown.get() {
                Some(Shown::Model(kind)) => Some(kind),
                _ => None,
            };
            about(Question::Predict(predict::Question { model, ..typed.get()? }))
        }),
    );
    let sentences = move || {
        let sentences = found.get(|response| match answer(response)? {
            Answer::Predicted { sentences, .. } => Some(sentences.clone()),
            _ => None,
        });
        sentences.unwrap_or_default().into_iter().map(|text| view! { <p class="sentence">{text}</p> }).collect_view()
    };
    let nearest = found.listing(|response| match answer(response)? {
        Answer::Predicted { listing, .. } => Some(listing),
        _ => None,
    });
    let pick = UnsyncCallback::new(move |row: usize| {
        let kernel = found.now(|response| match answer(response)? {
            Answer::Predicted { nearest, .. } => nearest.get(row).copied(),
            _ => None,
        });
        index.set(kernel);
    });
    let change = move |change: Box<dyn FnOnce(&mut predict::Question)>| {
        typed.update(|typed| {
            if let Some(typed) = typed {
                change(typed);
            }
        });
    };
    let read = move |find: fn(&predict::Question) -> f64| {
        move || typed.with(|typed| typed.as_ref().map(|typed| rounded(find(typed))).unwrap_or_default())
    };
    // A measured kernel is picked by its place in the run.
    let row = move || index.get().map(|index| (index + 1).to_string()).unwrap_or_default();
    let names = move || {
        let names = kernels.studied.with(|studied| studied.as_ref().map(|s| s.names.clone()).unwrap_or_default());
        names.into_iter().map(|name| view! { <option value=name></option> }).collect_view()
    };
    let rename = move |name: String| {
        // What another kernel was measured with says nothing of this one.
        change(Box::new(move |typed| {
            typed.metrics.iter_mut().for_each(|metric| *metric = None);
            typed.name = name;
        }));
    };
    let columns =
        move || kernels.studied.with(|studied| studied.as_ref().map(|s| s.columns.clone()).unwrap_or_default());
    let metric = move |(column, (name, is_given)): (usize, (String, bool))| {
        let value = move || {
            let value = typed.with(|typed| typed.as_ref()?.metrics.get(column).copied().flatten());
            value.map(rounded).unwrap_or_default()
        };
        is_given.then(|| {
            number(
                name,
                "usual",
                Box::new(value),
                Box::new(move |text| {
                    let value = text.parse().ok();
                    change(Box::new(move |typed| {
                        if let Some(metric) = typed.metrics.get_mut(column) {
                            *metric = value;
                        }
                    }));
                }),
            )
        })
    };
    let take = move |set: fn(&mut predict::Question, f64)| {
        Box::new(move |text: &str| {
            if let Ok(value) = text.parse() {
                change(Box::new(move |typed| set(typed, value)));
            }
        })
    };
    view! {
        <section class="panel" aria-labelledby="prediction-heading">
            <div class="panel-head">
                <h2 id="prediction-heading">"Predict a kernel"</h2>
                <span class="small">"A measured one, or what you type. A metric left empty is the usual one of its name."</span>
            </div>
            <form class="own" on:submit=stay>
                {number("Launch".into(), "of the run", Box::new(row), Box::new(move |text| {
                    if let Ok(place) = text.parse::<u32>() {
                        index.set(Some(place.saturating_sub(1)));
                    }
                }))}
                <label class="field wide">
                    <span>"Kernel name"</span>
                    <input
                        type="text"
                        list="kernel-names"
                        autocomplete="off"
                        spellcheck="false"
                        prop:value=move || typed.with(|typed| typed.as_ref().map(|typed| typed.name.clone()))
                        on:change:target=move |event| rename(event.target().value())
                    />
                    <datalist id="kernel-names">{live(names)}</datalist>
                </label>
                {number("Duration alone, µs".into(), "", Box::new(read(|typed| typed.alone_ns / 1000.0)), take(|typed, us| typed.alone_ns = us * 1000.0))}
                {number("Overlap ratio, 0 to 1".into(), "", Box::new(read(|typed| typed.overlap_ratio)), take(|typed, ratio| typed.overlap_ratio = ratio))}
                {live(move || columns().into_iter().enumerate().map(metric).collect_view())}
            </form>
            {live(move || found.error.get().or(picked.error.get()).map(|why| view! { <p class="wrong" role="alert">{why}</p> }))}
            <div role="status">{live(sentences)}</div>
            <Show when=move || nearest.with(|nearest: &Arc<_>| !nearest.rows.is_empty())>
                <ListingView heading="Nearest measured kernels" listing=nearest name="nearest-kernels" on_open=pick />
            </Show>
        </section>
    }
}

fn answer(response: &Response) -> Option<&Answer> {
    match response {
        Response::Overlap(answer) => Some(answer),
        _ => None,
    }
}

/// As many digits as anybody types.
fn rounded(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}

/// A number, as it is typed.
fn number(
    label: String,
    placeholder: &'static str,
    value: Box<dyn Fn() -> String + Send>,
    take: Box<dyn Fn(&str)>,
) -> AnyView {
    view! {
        <label class="field">
            <span>{label}</span>
            <input
                type="number"
                inputmode="decimal"
                step="any"
                placeholder=placeholder
                prop:value=value
                on:change:target=move |event| take(event.target().value().trim())
            />
        </label>
    }
    .into_any()
}
