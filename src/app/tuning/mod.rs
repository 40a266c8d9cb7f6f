//! The tuning workbench: from a dropped sweep to the configuration to deploy.

mod answer;
mod charts;
mod controls;
mod mapping;
mod panel_query;
mod table;

pub use mapping::MappingDialog;

use leptos::prelude::*;

use super::{
    browser_tasks,
    command_line::CopyCommand,
    files::Files,
    measure::NoFileYet,
    session::{Session, StudyState},
    tabs::{Tabs, tab_id},
    workbench::{AnswerRow, Sections, study_when_free, why_unanswered},
};
use crate::{
    app::{
        reactive::{Show, effect, handler, reactive},
        signal::memo,
    },
    intake::{FileReport, Outcome, files::DocumentFiles},
    report::{Workbench, placement::Tab},
    tuning::address::{Address, Panel},
};
use answer::Answer;
use charts::{HeatMap, OverChannels, Picture};
use controls::Controls;
use panel_query::ask_for_panels;
use table::OptimalConfigurations;

/// The workbench while a file is open.
#[component]
pub fn Tuning() -> impl IntoView {
    let session: Session = expect_context();
    let has_data = move || session.tuning.has_data();
    let has_documents = move || session.documents.with(|all| **all != DocumentFiles::default());
    let is_empty = move || {
        let is_refused = |file: &FileReport| matches!(file.outcome, Outcome::Refused(_));
        session.reports.with(|files| !files.is_empty() && files.iter().all(is_refused))
    };
    let is_answer = move || session.tuning.panel.get() == Panel::Answer;
    let needs_no_file = move || session.tuning.panel.get().needs_no_file();
    let is_made = move || needs_no_file() && !session.has_files();
    let shows_workload = move || session.tuning.workload().is_some();
    // The reason of a refused study is shown only once.
    let is_refused =
        move || session.state_of(Workbench::Tuning).study.with(|study| matches!(study, StudyState::Refused(_)));
    effect(move || session.reload_other_set());
    study_when_free(session, Workbench::Tuning);
    let error = ask_for_panels(session, expect_context());
    let failed =
        move || error.get().filter(|_| !is_refused()).map(|error| view! { <p class="wrong" role="alert">{error}</p> });
    view! {
        <div class="bench">
            <aside class="bench-side" aria-label="Loaded files">
                <Show when=move || session.has_files()>
                    <Files />
                </Show>
                <Show when=is_made>
                    <NoFileYet workbench=Workbench::Tuning chooses=false />
                </Show>
            </aside>
            <main class="bench-main">
                <h1 class="visually-hidden">"Tuning"</h1>
                <Show when=move || session.shows_example()>
                    <p class="simulated">
                        "This is the example: a simulated sweep, not a measurement. Drop your own to replace it."
                    </p>
                </Show>
                <Show when=move || has_data() || has_documents() || needs_no_file()>
                    <Show when=shows_workload>
                        <Controls />
                        <AnswerRow is_brief=memo(move || !is_answer())>
                            <Answer />
                            <Picture />
                        </AnswerRow>
                    </Show>
                    <Show when=move || session.has_files()>
                        <PanelTabs />
                    </Show>
                    <div
                        class="panels"
                        role=move || if session.has_files() { "tabpanel" } else { "region" }
                        id="panel"
                        aria-labelledby=move || session.has_files().then(|| tab_id(session.tuning.panel.get().key()))
                        aria-label=move || (!session.has_files()).then(|| session.tuning.panel.get().name())
                    >
                        <Show when=move || !has_data() || shows_workload() || needs_no_file() fallback=|| view! { <NotLoadedView /> }>
                            {reactive(move || why_unanswered(session, Workbench::Tuning))}
                            {reactive(failed)}
                            <Show when=is_answer fallback=|| view! { <OtherPanel /> }>
                                <Show when=has_data fallback=|| view! { <NoSweep /> }>
                                    <AnswerPanel />
                                </Show>
                            </Show>
                        </Show>
                    </div>
                </Show>
                <Show when=is_empty>
                    <section class="panel">
                        <h2>"Nothing to show"</h2>
                        <p class="small">
                            "None of the open files could be read. The list of files says why. Drop a sweep, a tuner file, the log \
                             of a job, or a report."
                        </p>
                    </section>
                </Show>
            </main>
        </div>
    }
}

/// The tabs of the panels.
#[component]
fn PanelTabs() -> impl IntoView {
    let session: Session = expect_context();
    let tabs = memo(move || {
        let [has_journal, has_tables] =
            session.documents.with(|all| [!all.journals.is_empty(), !all.listings.is_empty()]);
        let is_there = |panel: &&Panel| match panel {
            Panel::Campaign => has_journal,
            Panel::Tables => has_tables,
            _ => true,
        };
        let tab = |panel: &Panel| Tab::new(panel.key(), panel.name());
        Panel::ALL.iter().filter(is_there).map(tab).collect::<Vec<_>>()
    });
    let shown = memo(move || session.tuning.panel.get().key().to_owned());
    let choose = UnsyncCallback::new(move |key: String| {
        let panel = Panel::ALL.iter().find(|panel| panel.key() == key);
        panel.copied().into_iter().for_each(|panel| session.set_panel(panel));
    });
    view! { <Tabs tabs shown choose /> }
}

/// The chosen panel other than the answer.
#[component]
fn OtherPanel() -> impl IntoView {
    let session: Session = expect_context();
    // Each panel has sections of its own: none is kept from the panel before.
    let sections = move || {
        session.tuning.panel.with(|_| ());
        view! { <Sections workbench=Workbench::Tuning /> }
    };
    view! {
        <Show when=move || session.tuning.workload().is_none()>
            <CopyCommand workbench=Workbench::Tuning />
        </Show>
        <Show when=move || session.tuning.panel.get() == Panel::HeatMap>
            <HeatMap />
        </Show>
        {reactive(sections)}
        <Show when=move || session.tuning.panel.get() == Panel::Model>
            <SaveModel />
        </Show>
    }
}

/// The answer panel while no sweep is open.
#[component]
fn NoSweep() -> impl IntoView {
    view! {
        <section class="panel">
            <h2>"No sweep is open"</h2>
            <p class="small">"Drop a sweep, as tables or as logs, to see what to deploy."</p>
        </section>
    }
}

/// The answer panel. Its parts are built in several tasks of the browser.
#[component]
fn AnswerPanel() -> impl IntoView {
    let step = browser_tasks::count_up_in_tasks(3);
    let is_at = move |first: usize| step.get() >= first;
    view! {
        <Show when=move || is_at(1)>
            <OptimalConfigurations />
        </Show>
        <Show when=move || is_at(2)>
            <OverChannels />
        </Show>
        <Show when=move || is_at(3)>
            <Sections workbench=Workbench::Tuning />
        </Show>
    }
}

/// The button that saves the model, once there is one.
#[component]
fn SaveModel() -> impl IntoView {
    let session: Session = expect_context();
    let files = move || {
        let shown = session.state_of(Workbench::Tuning).shown;
        shown.with(|shown| shown.as_ref().map(|shown| shown.files.clone()).unwrap_or_default())
    };
    let button = move |(key, label): (String, String)| {
        let save = move |_| session.save(Workbench::Tuning, key.clone());
        view! {
            <button
                type="button"
                title="Parameters, seed and training rows as a file that opens here again"
                disabled=move || session.is_busy()
                on:click=handler(save)
            >
                {label}
            </button>
        }
    };
    view! { <div>{reactive(move || files().into_iter().map(button).collect_view())}</div> }
}

/// Says that the workload of the address is not loaded. No other data is shown in its place.
#[component]
fn NotLoadedView() -> impl IntoView {
    let session: Session = expect_context();
    let missing = move || session.tuning.shown.get().and_then(Result::err).map(|missing| missing.address);
    let is_example = move || missing().is_some_and(|address| address.example) && !session.shows_example();
    let name = move || missing().map(|address| address.to_string());
    let show_loaded = move |_| {
        let anything = Address { example: session.shows_example(), ..Address::default() };
        session.set_address(session.resolved(anything));
    };
    view! {
        <section class="panel not-loaded" role="status">
            <h2>"Not loaded"</h2>
            <Show
                when=is_example
                fallback=move || {
                    view! {
                        <p>
                            "The link shows " <strong>{reactive(name)}</strong>
                            ", which is not in the open files. Drop the sweep that contains it."
                        </p>
                    }
                }
            >
                <p>"The link shows the example. It opens when no other file is open."</p>
            </Show>
            <button type="button" on:click=handler(show_loaded)>"Show what is loaded"</button>
        </section>
    }
}
