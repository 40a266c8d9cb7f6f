//! A whole report: title, summary, sections, and the files and parameters that it was computed from.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::{
    reader::{OpenedReport, ReportReader, Source},
    section::SectionView,
};
use crate::{
    app::{
        browser_tasks::count_up_in_tasks,
        drop::{OnFiles, OpenButton},
        list::ListLimit,
        reactive::{For, Show, handler, reactive},
        session::Session,
        signal::{RwSignal, Signal},
    },
    report::{Fact, LoadedFile, Report, Workbench},
    text::visible,
    tuning::{address::Panel, states::StateKey},
    units::count,
};

/// A report with at least this many sections has a table of contents.
const LISTED_FROM: usize = 3;

/// A report that could be read.
#[component]
pub(super) fn ReportView(opened: Arc<OpenedReport>) -> impl IntoView {
    let Some(Ok(report)) = &opened.report else {
        return ().into_any();
    };
    let Report { workbench, title, summary, program, made_on, files, parameters, sections, snapshot, .. } = report;
    let (from, state) = match &opened.source {
        Source::Link(_) => ("Opened from a link".to_owned(), StateKey::Link),
        Source::File(file, name) => (format!("Opened from {}", visible(name)), StateKey::File(*file)),
    };
    let compare = (*workbench == Workbench::Tuning).then(|| match snapshot {
        Some(_) => view! { <CompareReport state /> }.into_any(),
        None => {
            let why = "It can't be compared with other data: it holds no measurements, for which short links have no \
                       room. Ask for a longer link, or for the HTML file.";
            view! { <p class="small">{why}</p> }.into_any()
        }
    });
    let made_on = made_on.as_ref().map(|day| format!(" on {day}")).unwrap_or_default();
    let origin = format!(": not verified. Made by {program}{made_on}; nothing was computed here.");
    let titles: Vec<String> = sections.iter().map(|section| section.title.clone()).collect();
    let contents = (titles.len() >= LISTED_FROM).then(|| view! { <ContentsList titles /> });
    let summary: Vec<_> = summary.iter().map(|sentence| view! { <p class="sentence">{sentence.clone()}</p> }).collect();
    let has_basis = !files.is_empty() || !parameters.is_empty();
    let basis = has_basis.then(|| view! { <Basis files=files.clone() parameters=parameters.clone() /> });
    let (kind, title) = (format!("{} report", workbench.name()), title.clone());
    // One section in each task of the browser, so that the page stays responsive.
    let drawn = count_up_in_tasks(sections.len());
    let all = sections.len();
    let section = move |index: usize| {
        let Some(Ok(report)) = &opened.report else { return None };
        let section = Signal::from(report.sections.get(index).cloned());
        Some(view! { <SectionView section id=section_id(index) /> })
    };
    view! {
        <main class="report">
            <div class="report-notice" role="note">
                <p><strong>{from}</strong> {origin}</p>
                {compare}
                <CloseReport />
            </div>
            <header class="panel answer report-head">
                <p class="small">{kind}</p>
                <h1>
                    <bdi>{visible(&title).into_owned()}</bdi>
                </h1>
                {summary}
            </header>
            {contents}
            <div class="report-sections">
                <For each=move || (0..drawn.get().min(all)).collect() key=|index| *index children=section />
            </div>
            {basis}
        </main>
    }
    .into_any()
}

fn section_id(index: usize) -> String {
    format!("section-{index}")
}

/// The button that closes the report.
#[component]
pub(super) fn CloseReport() -> impl IntoView {
    let (session, reader): (Session, ReportReader) = (expect_context(), expect_context());
    let has_files = move || session.files.with(|files| !files.is_empty());
    view! {
        <button type="button" on:click=handler(move |_| reader.close())>
            <Show when=has_files fallback=|| "Start your own">"Back to the workbench"</Show>
        </button>
    }
}

/// The way from a report of sweeps to what has changed since. Without measurements of one's own it asks for them.
#[component]
fn CompareReport(state: StateKey) -> impl IntoView {
    let (session, reader, on_files): (Session, ReportReader, OnFiles) =
        (expect_context(), expect_context(), expect_context());
    let asks = RwSignal::new(false);
    let compare = move |_| {
        let chosen = [
            ("p", Panel::Compare.key().to_owned()),
            ("before", state.to_string()),
            ("after", StateKey::Loaded.to_string()),
        ];
        session.workbench.set(Workbench::Tuning);
        session.choose_keys(Workbench::Tuning, &chosen);
        if untrack(move || session.tuning.has_data()) { reader.close() } else { asks.set(true) }
    };
    view! {
        <div class="report-compare">
            <Show
                when=move || asks.get()
                fallback=move || view! { <button type="button" on:click=handler(compare)>"Compare with my data"</button> }
            >
                <p role="status">"Drop a sweep of your own: it is compared with this report. "</p>
                <OpenButton on_files primary=true />
            </Show>
        </div>
    }
}

/// The table of contents. Its items are buttons: a link would replace the report in the address.
#[component]
fn ContentsList(titles: Vec<String>) -> impl IntoView {
    let item = |(index, title): (usize, String)| {
        let go = move |_| {
            let heading = document().get_element_by_id(&section_id(index));
            if let Some(heading) = heading.and_then(|heading| heading.dyn_into::<web_sys::HtmlElement>().ok()) {
                heading.scroll_into_view();
                let _ = heading.focus();
            }
        };
        view! { <li><button type="button" class="link" on:click=handler(go)>{title}</button></li> }
    };
    view! {
        <nav class="panel report-contents" aria-labelledby="contents-heading">
            <h2 id="contents-heading">"Contents"</h2>
            <ol>{titles.into_iter().enumerate().map(item).collect_view()}</ol>
        </nav>
    }
}

/// The files and parameters that the report was computed from.
#[component]
fn Basis(files: Vec<LoadedFile>, parameters: Vec<Fact>) -> impl IntoView {
    let file = |file: LoadedFile| {
        let left_out = match file.left_out {
            0 => "Nothing was left out.".to_owned(),
            lines => format!("{} left out.", count(lines, "line")),
        };
        view! {
            <li class="file">
                <p class="file-name">
                    <bdi>{file.name.map_or("A file without a name".into(), |name| visible(&name).into_owned())}</bdi>
                </p>
                <p class="file-facts">{file.holds}</p>
                <p class="small">{file.format}</p>
                <p class="small">{left_out}</p>
            </li>
        }
    };
    let fact = |fact: Fact| view! { <dt>{fact.name}</dt><dd>{fact.value}</dd> };
    let (shown_facts, all_facts) = (ListLimit::initial(), parameters.len());
    let facts = (all_facts > 0).then(|| {
        let listed = move || parameters.iter().take(shown_facts.get()).cloned().map(fact).collect_view();
        view! {
            <h3>"Computed with"</h3>
            <dl class="facts">{reactive(listed)}</dl>
            {shown_facts.more_button(move || all_facts)}
        }
    });
    let (shown_files, all_files) = (ListLimit::initial(), files.len());
    let listed = move || files.iter().take(shown_files.get()).cloned().map(file).collect_view();
    view! {
        <aside class="panel report-basis" aria-labelledby="basis-heading">
            <h2 id="basis-heading">"Files and parameters"</h2>
            <ul class="files">{reactive(listed)}</ul>
            {shown_files.more_button(move || all_files)}
            {facts}
        </aside>
    }
}
