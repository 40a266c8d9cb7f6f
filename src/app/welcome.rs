//! The page of a workbench before any file is open: what it answers, what to drop, and its example. The first view has
//! a card for each workbench.

use leptos::prelude::*;

use super::{
    drop::{OnFiles, OpenButton},
    example::Example,
    file_store::StoredFiles,
    files::Files,
    measure::NoFileYet,
    reactive::{Show, handler, reactive},
    session::Session,
    words::words,
};
use crate::{report::Workbench, tuning::address::Panel};

/// The page of a workbench before any file is open.
#[component]
pub fn Welcome(
    workbench: Workbench,
    /// What to drop, and what it answers.
    lead: &'static str,
    /// The formats that it reads.
    reads: &'static str,
) -> impl IntoView {
    let session: Session = expect_context();
    let on_files: OnFiles = expect_context();
    let example: Example = expect_context();
    let is_reading = move || session.has_files() && session.task.with(Option::is_some);
    // A link names the workload that was shown; it does not hold the measurements.
    let awaited = move || {
        let address = session.tuning.address.get();
        (workbench == Workbench::Tuning && address.is_particular() && !address.example).then(|| {
            view! {
                <p class="awaited" role="status">
                    "This link shows " <strong>{address.to_string()}</strong> ". Drop the sweep that was measured there."
                </p>
            }
        })
    };
    let chooses = workbench == Workbench::Tuning;
    let name = if workbench == Workbench::Tuning { "Collectune" } else { workbench.name() };
    view! {
        <main class="welcome">
            <div class="welcome-zone">
                <h1>{name}</h1>
                <Show when=is_reading>
                    <p role="status">"Reading …"</p>
                </Show>
                <p class="lead">{lead}</p>
                {reactive(awaited)}
                <p class="welcome-drop">"Drop files or a folder anywhere on this page, or paste their text."</p>
                <div class="welcome-actions">
                    <OpenButton on_files primary=true />
                    <Show when=move || example.has(workbench)>
                        <button type="button" id="open-example" on:click=handler(move |_| example.open(session, workbench))>
                            "Open the example"
                        </button>
                    </Show>
                    <Show when=move || workbench == Workbench::Policy>
                        <button type="button" on:click=handler(move |_| session.choose(workbench, "world", "clear"))>
                            "Simulate strategies"
                        </button>
                    </Show>
                    <Show when=move || chooses>
                        <button type="button" on:click=handler(move |_| session.set_panel(Panel::CostModel))>
                            "See what NCCL chooses by itself"
                        </button>
                    </Show>
                    <Show when=move || workbench == Workbench::TrainingTime>
                        <button type="button" on:click=handler(move |_| session.choose(workbench, "e.model", "llama-3.1-8b"))>
                            "Estimate a known model"
                        </button>
                    </Show>
                </div>
                <p class="small">{reads}</p>
            </div>
            <Show when=move || workbench == Workbench::Tuning>
                <div class="cards">{Workbench::ALL.iter().copied().map(|of| view! { <Card workbench=of /> }).collect_view()}</div>
            </Show>
            <NoFileYet workbench chooses />
            // Open files that have nothing for this workbench, with the reason.
            <Show when=move || session.has_files()>
                <Files />
            </Show>
            <StoredFiles />
            <p class="promise">"Nothing is uploaded. Files are read and trained on in this tab."</p>
        </main>
    }
}

/// What a workbench answers: a picture, what to drop and what one gets, and its example.
#[component]
fn Card(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let example: Example = expect_context();
    // tests/common/pictures.rs draws them from the examples.
    let picture = match workbench {
        Workbench::Tuning => include_str!("pictures/tuning.txt"),
        Workbench::Policy => include_str!("pictures/policy.txt"),
        Workbench::TrainingTime => include_str!("pictures/training-time.txt"),
        Workbench::Topology => include_str!("pictures/topology.txt"),
        Workbench::Overlap => include_str!("pictures/overlap.txt"),
    };
    let path = |(class, data): (&'static str, &'static str)| view! { <path class=class d=data /> };
    let paths = picture.lines().filter_map(|line| line.split_once(": ")).map(path).collect_view();
    let label = format!("Open the example of {}", workbench.name());
    let open = move || {
        let label = label.clone();
        // A workbench without an example file makes its example itself.
        if example.has(workbench) {
            view! {
                <button type="button" aria-label=label on:click=handler(move |_| example.open(session, workbench))>
                    "Open the example"
                </button>
            }
            .into_any()
        } else {
            view! { <a class="button" aria-label=label href=workbench.fragment()>"Open the example"</a> }.into_any()
        }
    };
    view! {
        <section class="panel card" aria-label=workbench.name()>
            <h2>
                <a href=workbench.fragment()>{workbench.name()}</a>
            </h2>
            <svg class="picture" viewBox="0 0 240 96" aria-hidden="true">{paths}</svg>
            <p>{words(workbench).lead}</p>
            {reactive(open)}
        </section>
    }
}
