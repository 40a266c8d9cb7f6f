//! Noise panel: the runs behind the answer, stalled runs, configurations that are set aside, and the required
//! confidence.

use leptos::prelude::*;

use super::{super::worker_query::WorkerQuery, shared::Failed};
use crate::{
    app::fields::{NumberField, prevent_submit},
    app::list::ListLimit,
    app::reactive::{Show, effect, reactive},
    app::{listing::ListingView, session::Session},
    tuning::{address::Address, parameters::SetAside, record},
    units::percent,
    worker::protocol::{Request, Response},
};

fn query(
    session: Session,
    question: impl Fn() -> Option<record::RecordQuestion> + Send + Sync + 'static,
) -> WorkerQuery {
    WorkerQuery::new(session, Signal::derive(move || question().map(Request::Record)))
}

fn recorded(response: &Response) -> Option<&record::RecordAnswer> {
    if let Response::Record(answer) = response { Some(answer) } else { None }
}

/// The runs of the workload shown, and the stalled runs of all.
#[component]
pub fn NoisePanel() -> impl IntoView {
    let session: Session = expect_context();
    let has_data = move || session.tuning.has_data();
    view! {
        <Show
            when=has_data
            fallback=|| view! { <p class="panel small">"Drop a sweep to see how noisy it is."</p> }
        >
            <ConfidenceForm />
            <RunsPanel />
            <Stalls />
        </Show>
    }
}

/// The form for the confidence and the smallest gain.
#[component]
fn ConfidenceForm() -> impl IntoView {
    let session: Session = expect_context();
    let parameters = session.tuning.parameters;
    view! {
        <section class="panel" aria-labelledby="confidence-heading">
            <div class="panel-head">
                <h2 id="confidence-heading">"Required confidence"</h2>
                <span class="small">"A configuration is recommended only if its whole interval is above the default."</span>
            </div>
            <form class="own" on:submit=prevent_submit>
                <NumberField
                    label="Confidence, %"
                    value=move || parameters.with(|p| (p.confidence.level * 1000.0).round() / 10.0)
                    range=50.0..=99.9
                    step="any"
                    on_value=move |pct: f64| {
                        parameters.update(|p| p.confidence.level = pct / 100.0);
                        session.train();
                    }
                />
                <NumberField
                    label="Smallest gain worth a rule, %"
                    value=move || parameters.with(|p| p.confidence.minimum_gain_pct)
                    range=0.0..=100.0
                    step="any"
                    on_value=move |pct| {
                        parameters.update(|p| p.confidence.minimum_gain_pct = pct);
                        session.train();
                    }
                />
            </form>
        </section>
    }
}

/// The measured configurations of the workload shown, and its noise.
#[component]
fn RunsPanel() -> impl IntoView {
    let session: Session = expect_context();
    let found = query(session, move || Some(record::RecordQuestion { workload: Some(session.tuning.workload()?) }));
    let listing = found.listing(|response| Some(&recorded(response)?.listing));
    let label = move || session.tuning.workload().map(|workload| Address::label(&workload));
    let open = RwSignal::new(None::<usize>);
    // The index belongs to the workload before.
    effect(move || {
        session.tuning.shown.track();
        open.set(None);
    });
    let noise = move || {
        let noise = found.get(|response| recorded(response)?.noise)?;
        let more = noise.more_runs.words();
        Some(view! {
            <dl class="figures">
                <Figure name="Spread of one run" value=format!("{:.1} %", noise.spread_pct) note="standard deviation, pooled over this and the neighbouring sizes" />
                <Figure name="Visible gain" value=percent(noise.visible_gain_pct) note="the smallest that these runs detect half of the time" />
                <Figure
                    name="Runs"
                    value=format!("{} and {}", noise.repeats, noise.default_repeats)
                    note="of the choice and of the default"
                />
                <Figure
                    name="To decide"
                    value=if more.is_empty() { "decided".to_owned() } else { more }
                    note="runs of each side"
                />
            </dl>
        })
    };
    let row_class = UnsyncCallback::new(move |row: usize| {
        found
            .get_untracked(|response| {
                let measured = recorded(response)?.measured.get(row)?;
                Some(if measured.is_set_aside {
                    "dead"
                } else if measured.is_tied {
                    "keep"
                } else {
                    ""
                })
            })
            .unwrap_or_default()
    });
    view! {
        <section class="panel" aria-labelledby="record-heading">
            <div class="panel-head">
                <h2 id="record-heading">"Runs behind the answer"</h2>
                <span class="small">{reactive(label)}</span>
            </div>
            <Failed error=found.error />
            {reactive(noise)}
            <ListingView
                heading="What was measured; open a row to see its runs"
                listing
                name="runs"
                row_class
                on_open=Some(UnsyncCallback::new(move |row| open.update(|open| *open = (*open != Some(row)).then_some(row))))
            />
            <ConfigurationRuns found open />
            <SetAsideList />
        </section>
    }
}

#[component]
fn Figure(name: &'static str, value: String, note: &'static str) -> impl IntoView {
    view! {
        <div class="figure">
            <dt>{name}</dt>
            <dd>{value}</dd>
            <dd class="figure-note">{note}</dd>
        </div>
    }
}

/// The runs of the opened configuration, and the button that sets it aside.
#[component]
fn ConfigurationRuns(found: WorkerQuery, open: RwSignal<Option<usize>>) -> impl IntoView {
    let session: Session = expect_context();
    reactive(move || {
        let (workload, row) = (session.tuning.workload()?, open.get()?);
        let measured = found.get(|response| recorded(response)?.measured.get(row).cloned())?;
        let name = if measured.is_default { "The default".to_owned() } else { measured.configuration.to_string() };
        let aside =
            SetAside { collective: workload.collective, scale: workload.scale, configuration: measured.configuration };
        let switch = (!measured.is_default).then(|| {
            let words = if measured.is_set_aside { "Use it again" } else { "Set aside at every size of this scale" };
            view! {
                <button type="button" on:click=move |_| session.toggle_set_aside(aside)>
                    {words}
                </button>
            }
        });
        let run = |run: record::RecordedRun| {
            let gbps = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), crate::units::significant);
            view! {
                <tr class:dead=!run.is_used>
                    <th scope="row">{run.file}</th>
                    <td class="numeric">{run.line}</td>
                    <td class="numeric">{gbps(Some(run.busbw_gbps))}</td>
                    <td class="numeric">{gbps(run.out_of_place_gbps)}</td>
                    <td>{if run.is_used { "used" } else { "set aside" }}</td>
                </tr>
            }
        };
        let label = format!("Runs of {name}");
        let runs = measured.runs;
        let (shown, all_runs) = (ListLimit::initial(), runs.len());
        Some(view! {
            <div class="panel-head">
                <h3>{name}</h3>
                {switch}
            </div>
            <div class="table-box" tabindex="0" role="region" aria-label=label>
                <table class="data narrow">
                    <thead>
                        <tr>
                            <th scope="col">"File"</th>
                            <th scope="col" class="numeric">"Line"</th>
                            <th scope="col" class="numeric">"busbw"</th>
                            <th scope="col" class="numeric">"out of place"</th>
                            <th scope="col">"Use"</th>
                        </tr>
                    </thead>
                    <tbody>{reactive(move || runs.iter().take(shown.get()).cloned().map(run).collect_view())}</tbody>
                </table>
                {shown.more_button(move || all_runs)}
            </div>
        })
    })
}

/// The configurations that were set aside by hand, each with a button that brings it back.
#[component]
fn SetAsideList() -> impl IntoView {
    let session: Session = expect_context();
    let shown = ListLimit::initial();
    let count = move || session.tuning.parameters.with(|p| p.screening.set_aside.len());
    let all = move || {
        session.tuning.parameters.with(|p| p.screening.set_aside.iter().take(shown.get()).copied().collect::<Vec<_>>())
    };
    let item = move |aside: SetAside| {
        let words = format!("{} of {} on {}", aside.configuration, aside.collective, aside.scale);
        let label = format!("Bring back {words}");
        view! {
            <li>
                {words} " "
                <button type="button" aria-label=label on:click=move |_| session.toggle_set_aside(aside)>
                    "Bring back"
                </button>
            </li>
        }
    };
    reactive(move || {
        let all = all();
        (!all.is_empty()).then(|| {
            view! {
                <h3>"Set aside by hand"</h3>
                <ul class="notes">{all.into_iter().map(item).collect_view()}</ul>
                {shown.more_button(count)}
            }
        })
    })
}

/// The stalled runs of all workloads.
#[component]
fn Stalls() -> impl IntoView {
    let session: Session = expect_context();
    let found = query(session, move || session.tuning.has_data().then(record::RecordQuestion::default));
    let listing = found.listing(|response| Some(&recorded(response)?.stall_listing));
    let any = found.holds(|response| recorded(response).is_some_and(|answer| !answer.stalls.is_empty()));
    let none = found.holds(|response| recorded(response).is_some_and(|answer| answer.stalls.is_empty()));
    let keeps = Memo::new(move |_| session.tuning.parameters.with(|p| p.screening.keep_stalls));
    let keep = move |keep: bool| {
        session.tuning.parameters.update(|p| p.screening.keep_stalls = keep);
        session.train();
    };
    let row_class = UnsyncCallback::new(move |row: usize| {
        let set_aside = found.get_untracked(|response| Some(recorded(response)?.stalls.get(row)?.set_aside));
        if set_aside == Some(true) { "dead" } else { "" }
    });
    let toggle = UnsyncCallback::new(move |row: usize| {
        if let Some(stall) = found.get_untracked(|response| recorded(response)?.stalls.get(row).copied()) {
            session.toggle_stall(&stall);
        }
    });
    view! {
        <section class="panel" aria-labelledby="stalls-heading">
            <div class="panel-head">
                <h2 id="stalls-heading">"Stalled runs"</h2>
                <span class="small">"These runs were much slower than their repeats. Measure them again. Open a row to use its run, or to set it aside again."</span>
            </div>
            <Show when=none>
                <p class="small">"No run stalled."</p>
            </Show>
            <Show when=any>
                <label class="check">
                    <input
                        type="checkbox"
                        prop:checked=move || keeps.get()
                        on:change:target=move |event| keep(event.target().checked())
                    />
                    <span>"Use them all like any other run"</span>
                </label>
                <ListingView
                    heading="By workload"
                    listing
                    name="stalls"
                    row_class
                    on_open=Some(toggle)
                />
            </Show>
        </section>
    }
}
