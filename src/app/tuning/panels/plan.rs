//! Plan panel: what to measure next within a number of launches, as a script.

use leptos::prelude::*;

use super::{
    super::worker_query::WorkerQuery,
    shared::{Failed, LauncherField},
};
use crate::{
    app::fields::{NumberField, prevent_submit},
    app::reactive::{Show, reactive},
    app::{
        listing::ListingView,
        session::Session,
        text_file::{Notes, TextFile},
    },
    tuning::{
        launch::Launcher,
        plan::{PlanAnswer, PlanQuestion, script::FILE_NAME},
    },
    worker::protocol::{Request, Response},
};

/// The form of the plan, and the plan.
#[component]
pub fn PlanPanel() -> impl IntoView {
    let session: Session = expect_context();
    let runs = RwSignal::new(PlanQuestion::default().runs);
    let repeats = RwSignal::new(PlanQuestion::default().repeats);
    let launcher = RwSignal::new(Launcher::default());
    let only_shown = RwSignal::new(false);
    let question = Signal::derive(move || {
        session.tuning.has_data().then(|| {
            let of = session
                .tuning
                .workload()
                .filter(|_| only_shown.get())
                .map(|workload| (workload.collective, workload.scale));
            Request::Plan(PlanQuestion {
                of,
                runs: runs.get(),
                repeats: repeats.get(),
                launcher: launcher.get(),
                uncovered: session.tuning.uncovered.get(),
                ..PlanQuestion::default()
            })
        })
    });
    let found = WorkerQuery::new(session, question);
    fn plan(response: &Response) -> Option<&PlanAnswer> {
        if let Response::Plan(answer) = response { Some(answer) } else { None }
    }
    let listing = found.listing(|response| Some(&plan(response)?.listing));
    let any = found.holds(|response| plan(response).is_some_and(|answer| !answer.listing.rows.is_empty()));
    let notes = move || found.get(|response| Some(view! { <Notes notes=plan(response)?.notes.clone() /> }));
    let scripts = move || {
        let (script, arguments) = found.get(|response| {
            let answer = plan(response).filter(|answer| !answer.listing.rows.is_empty())?;
            Some((answer.script.clone(), answer.sweep_arguments.clone()))
        })?;
        Some(view! {
            <TextFile name=FILE_NAME about="launches of nccl-tests or rccl-tests" text=script />
            <details>
                <summary>"As arguments of rccl-sweep"</summary>
                <TextFile name="" about="rccl-sweep" text=arguments />
            </details>
        })
    };
    let several = move || session.tuning.groups.with(|groups| groups.len() > 1);
    view! {
        <section class="panel" aria-labelledby="plan-heading">
            <div class="panel-head">
                <h2 id="plan-heading">"What to measure next"</h2>
                <span class="small">"One launch measures every size with one configuration."</span>
            </div>
            <Show
                when=move || session.tuning.has_data()
                fallback=|| view! { <p class="small">"Drop a sweep first: the plan says what to add to it."</p> }
            >
                <form class="own" on:submit=prevent_submit>
                    <NumberField
                        label="Launches, at most"
                        value=move || runs.get()
                        range=1..=PlanQuestion::MAX_RUNS
                        on_value=move |number| runs.set(number)
                    />
                    <NumberField
                        label="Repeats of new configurations"
                        value=move || repeats.get()
                        range=1..=PlanQuestion::MAX_REPEATS
                        on_value=move |number| repeats.set(number)
                    />
                    <LauncherField launcher />
                    <Show when=several>
                        <label class="check">
                            <input type="checkbox" bind:checked=only_shown />
                            <span>"Only the collective and scale shown"</span>
                        </label>
                    </Show>
                </form>
                <Failed error=found.error />
                {reactive(notes)}
                <Show when=any>
                    <ListingView heading="The most urgent first" listing name="measure-next" />
                </Show>
                {reactive(scripts)}
            </Show>
        </section>
    }
}
