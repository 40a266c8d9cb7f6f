//! Coverage panel: the sizes that a job sends, compared with the rules of a tuner file and with the measurements.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    super::worker_query::WorkerQuery,
    documents::{DocumentChoice, DocumentField},
    shared::{Failed, ReaderFields, workload_label},
};
use crate::{
    app::{
        chart::ChartView,
        fields::{ChoiceField, NumberField, prevent_submit},
        reactive::{Show, effect, reactive},
        theme::ActiveTheme,
    },
    app::{listing::ListingView, session::Session, text_file::Notes},
    collective::{Collective, Scale},
    order::CompactSort,
    plot::Chart,
    tuning::coverage::{
        CoverageAnswer, CoverageQuestion,
        calls::{TypedCalls, type_bytes},
    },
    worker::protocol::{Request, Response},
};

/// The number of unmeasured workloads that are named.
const MAX_NAMED: usize = 12;

const DATA_TYPES: [&str; 5] = ["bfloat16", "float16", "float32", "float8", "int8"];

/// The calls of a job, from its log or entered, and how they are covered.
#[component]
pub fn CoveragePanel() -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let has_log = Memo::new(move |_| session.documents.with(|all| !all.jobs.is_empty()));
    let by_hand = RwSignal::new(false);
    let is_typed = Memo::new(move |_| by_hand.get() || !has_log.get());
    let typed = RwSignal::new(None::<TypedCalls>);
    let conf = DocumentChoice::new(move || session.documents.with(|all| all.confs.clone()));
    let scale = RwSignal::new(None::<Scale>);
    let divide_by = RwSignal::new(1_u32);
    let question = Signal::derive(move || {
        let typed = if is_typed.get() { Some(typed.get()?) } else { None };
        Some(Request::Coverage(CoverageQuestion {
            typed,
            conf: conf.chosen.get(),
            reader: session.tuning.reader.get(),
            library: session.tuning.library.get(),
            scale: scale.get().or_else(|| session.tuning.workload().map(|workload| workload.scale)),
            divide_by: divide_by.get(),
        }))
    });
    let found = WorkerQuery::new(session, question);
    fn coverage(response: &Response) -> Option<&CoverageAnswer> {
        if let Response::Coverage(answer) = response { Some(answer) } else { None }
    }
    // Calls that were never measured go to the plan.
    effect(move || {
        if let Some(uncovered) = found.get(|response| Some(coverage(response)?.measure_next.clone())) {
            session.tuning.uncovered.set(uncovered);
        }
    });
    let scales = move || {
        let mut scales: Vec<Scale> =
            session.tuning.groups.with(|groups| groups.iter().map(|group| group.scale).collect());
        scales.compact_sort();
        scales.dedup();
        let named = scales.into_iter().map(|scale| (Some(scale), scale.to_string()));
        std::iter::once((None, "the scale shown".to_owned())).chain(named).collect::<Vec<_>>()
    };
    let is_there = found.holds(|response| coverage(response).is_some_and(|answer| !answer.listing.rows.is_empty()));
    let listing = found.listing(|response| Some(&coverage(response)?.listing));
    let histogram = found.chart(|response| Some(&coverage(response)?.histogram));
    let sentence = move || found.get(|response| Some(coverage(response)?.sentence.clone()));
    let notes = move || found.get(|response| Some(view! { <Notes notes=coverage(response)?.notes.clone() /> }));
    let next = move || {
        let mut all: Vec<String> = found
            .get(|r| Some(coverage(r)?.measure_next.iter().map(|(workload, _)| workload_label(workload)).collect()))?;
        let rest = all.len().saturating_sub(MAX_NAMED);
        all.truncate(MAX_NAMED);
        let rest = (rest > 0).then(|| format!("And {rest} more. "));
        (!all.is_empty()).then(|| {
            view! {
                <h3>"Called and never measured"</h3>
                <Notes notes=all />
                <p class="small">{rest} "They come first in What to measure next."</p>
            }
        })
    };
    let costs = Memo::new(move |_| found.get(|r| Some(coverage(r)?.costs.clone())).unwrap_or_default());
    view! {
        <section class="panel" aria-labelledby="coverage-heading">
            <div class="panel-head">
                <h2 id="coverage-heading">"Coverage"</h2>
                <span class="small">"The sizes that a job sends, and what a tuner file chooses for them."</span>
            </div>
            <Show when=move || has_log.get() fallback=|| view! {
                <p class="small">
                    "Drop the job's NCCL log (NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL or TUNING), or type what it sends."
                </p>
            }>
                <label class="check">
                    <input type="checkbox" bind:checked=by_hand />
                    <span>"Enter calls instead of using the loaded logs"</span>
                </label>
            </Show>
            <Show when=move || is_typed.get()>
                <TypedCalls typed />
            </Show>
            <form class="own" on:submit=prevent_submit>
                <DocumentField label="Tuner file" choice=conf none="none" />
                <ReaderFields />
                <ChoiceField
                    label="Scale if the log does not say"
                    choices=scales
                    value=move || Some(scale.get())
                    on_value=move |chosen| scale.set(chosen)
                />
                <NumberField
                    label="Steps × ranks in the log"
                    value=move || divide_by.get()
                    range=1..=100_000_000
                    on_value=move |number| divide_by.set(number)
                />
            </form>
            <Failed error=found.error />
            <Show when=is_there>
                <p class="sentence" role="status">{reactive(sentence)}</p>
                {reactive(notes)}
                <ListingView heading="Calls" listing name="coverage" />
                {reactive(next)}
                <ChartView chart=histogram theme />
            </Show>
            <Costs charts=costs />
        </section>
    }
}

/// The cost table of the library as charts, one collective at a time.
#[component]
fn Costs(#[prop(into)] charts: Signal<Vec<Chart>>) -> impl IntoView {
    let theme = expect_context::<ActiveTheme>().signal();
    let chosen = RwSignal::new(0_usize);
    let any = move || charts.with(|charts| !charts.is_empty());
    let choices = move || {
        charts.with(|charts| charts.iter().enumerate().map(|(n, chart)| (n, chart.title.clone())).collect::<Vec<_>>())
    };
    let chart = Memo::new(move |_| charts.with(|all| all.get(chosen.get()).or(all.first()).cloned().map(Arc::new)));
    view! {
        <Show when=any>
            <div class="panel-head">
                <h3>"The library's cost table beside the measurements"</h3>
                <ChoiceField
                    label="Cost table"
                    choices
                    value=move || Some(chosen.get())
                    on_value=move |number| chosen.set(number)
                />
            </div>
            <ChartView chart=chart theme />
        </Show>
    }
}

/// The form for calls by batch size, hidden size and data type.
#[component]
fn TypedCalls(typed: RwSignal<Option<TypedCalls>>) -> impl IntoView {
    let collective = RwSignal::new(Collective::AllReduce);
    let batches = RwSignal::new("1, 8, 64".to_owned());
    let hidden = RwSignal::new(8192_u64);
    let data_type = RwSignal::new(DATA_TYPES[0]);
    let calls = RwSignal::new(160_u32);
    let wrong = RwSignal::new(None::<String>);
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let text = batches.get_untracked();
        let words = text.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
        let numbers: Result<Vec<u64>, String> = words
            .map(|word| {
                let number = word.parse::<u64>().ok().filter(|number| (1..=1 << 32).contains(number));
                number.ok_or_else(|| format!("{word} is not a batch size"))
            })
            .collect();
        match numbers {
            Ok(numbers) if !numbers.is_empty() => {
                wrong.set(None);
                typed.set(Some(TypedCalls {
                    collective: collective.get_untracked(),
                    batches: numbers,
                    hidden: hidden.get_untracked(),
                    type_bytes: type_bytes(data_type.get_untracked()).unwrap_or(2),
                    calls: calls.get_untracked(),
                }));
            }
            Ok(_) => wrong.set(Some("at least one batch size".to_owned())),
            Err(sentence) => wrong.set(Some(sentence)),
        }
    };
    let collectives = || Collective::ALL.iter().map(|c| (*c, c.to_string())).collect::<Vec<_>>();
    let types = || DATA_TYPES.map(|name| (name, name.to_owned())).to_vec();
    view! {
        <form class="own" on:submit=submit aria-label="What the job sends">
            <ChoiceField
                label="Collective"
                choices=collectives
                value=move || Some(collective.get())
                on_value=move |chosen| collective.set(chosen)
            />
            <label class="field">
                <span>"Batch sizes or tokens"</span>
                <input
                    type="text"
                    autocomplete="off"
                    spellcheck="false"
                    aria-invalid=move || wrong.with(Option::is_some).then_some("true")
                    bind:value=batches
                />
                {reactive(move || wrong.get().map(|error| view! { <small class="wrong" role="alert">{error}</small> }))}
            </label>
            <NumberField
                label="Hidden size"
                value=move || hidden.get()
                range=1..=1_048_576
                on_value=move |number| hidden.set(number)
            />
            <ChoiceField
                label="Data type"
                choices=types
                value=move || Some(data_type.get())
                on_value=move |chosen| data_type.set(chosen)
            />
            <NumberField
                label="Calls of each per step"
                value=move || calls.get()
                range=1..=1_000_000
                on_value=move |number| calls.set(number)
            />
            <button type="submit" class="primary">"Show"</button>
        </form>
    }
}
