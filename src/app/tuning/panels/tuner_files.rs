//! Tuner files panel: writes a tuner file from the answer, checks loaded ones, and compares their choices with the
//! sweep.

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
        fields::prevent_submit,
        reactive::{Show, reactive},
        theme::ActiveTheme,
    },
    app::{
        listing::ListingView,
        session::Session,
        text_file::{Notes, TextFile},
    },
    collective::Workload,
    plot::Chart,
    text::Listing,
    tuning::conf::{
        Finding, Reader, Severity,
        export::{self, ExportOptions},
        question::{ConfAnswer, ConfQuestion},
    },
    worker::protocol::{Request, Response},
};

/// A query of the worker about tuner files.
fn query(session: Session, question: impl Fn() -> Option<ConfQuestion> + Send + Sync + 'static) -> WorkerQuery {
    WorkerQuery::new(session, Signal::derive(move || question().map(Request::Conf)))
}

fn exported(response: &Response) -> Option<(&export::ConfExport, &Listing)> {
    match response {
        Response::Conf(ConfAnswer::Export { export, listing }) => Some((export, listing)),
        _ => None,
    }
}

fn linted(response: &Response) -> Option<(&[Finding], &Listing, &str)> {
    match response {
        Response::Conf(ConfAnswer::Lint { findings, listing, summary }) => Some((findings, listing, summary)),
        _ => None,
    }
}

type Charts = [(Workload, Chart)];

fn overlaid(response: &Response) -> Option<(&Listing, &str, &Charts)> {
    match response {
        Response::Conf(ConfAnswer::Overlay { listing, summary, charts }) => Some((listing, summary, charts)),
        _ => None,
    }
}

/// The check of loaded tuner files, then the file that is written.
#[component]
pub fn TunerFilesPanel() -> impl IntoView {
    let session: Session = expect_context();
    let has_conf = move || session.documents.with(|all| !all.confs.is_empty());
    let has_data = move || session.tuning.has_data();
    view! {
        <Show when=has_conf>
            <CheckTunerFile />
        </Show>
        <Show when=has_data>
            <WriteTunerFile />
            <EnvironmentVariables />
        </Show>
        <Show when=move || !has_conf()>
            <p class="panel small">
                "Drop a tuner file to see what each of its rules does in each reader, and what it would choose at every \
                 measured size."
            </p>
        </Show>
    }
}

#[component]
fn WriteTunerFile() -> impl IntoView {
    let session: Session = expect_context();
    let by_scale = RwSignal::new(false);
    let open_ends = RwSignal::new(false);
    let architecture = RwSignal::new(String::new());
    let found = query(session, move || {
        let written = architecture.with(|text| text.trim().to_owned());
        session.tuning.has_data().then(|| {
            ConfQuestion::Export(ExportOptions {
                reader: session.tuning.reader.get(),
                library: session.tuning.library.get(),
                by_scale: by_scale.get(),
                open_ends: open_ends.get(),
                architecture: Some(written).filter(|text| !text.is_empty()),
                ..ExportOptions::default()
            })
        })
    });
    let listing = found.listing(|response| Some(exported(response)?.1));
    let result = move || {
        found.get(|response| Some(exported(response)?.0.clone())).map(|export| {
            let refusals = export.refusals.iter().map(export::Refusal::message).collect::<Vec<_>>();
            let none = (export.files.is_empty() && refusals.is_empty()).then(
                || view! { <p class="small">"No configuration beats the default, so a tuner file would be empty."</p> },
            );
            let files = export.files.into_iter().map(|file| {
                let about = crate::units::count(file.rules as u64, "rule");
                view! { <TextFile name=file.name about text=file.text /> }
            });
            view! {
                <Notes notes=refusals warn=true />
                {none}
                {files.collect_view()}
                <TextFile name="" about="how to make this reader load the file" text=export.loading />
                <Notes notes=export.warnings warn=true />
            }
        })
    };
    view! {
        <section class="panel" aria-labelledby="export-heading">
            <h2 id="export-heading">"Write a tuner file"</h2>
            <form class="own" on:submit=prevent_submit>
                <ReaderFields />
                <Show when=move || session.tuning.reader.get() == Reader::Rccl>
                    <label class="field">
                        <span>"Architecture"</span>
                        <input type="text" placeholder="gfx950" spellcheck="false" bind:value=architecture />
                    </label>
                </Show>
                <label class="check">
                    <input type="checkbox" bind:checked=by_scale />
                    <span>"One file per scale"</span>
                </label>
                <label class="check" title="The lowest rule begins at 0 and the highest has no end">
                    <input type="checkbox" bind:checked=open_ends />
                    <span>"Also for sizes beyond the measured ones"</span>
                </label>
            </form>
            <Failed error=found.error />
            {reactive(result)}
            <ListingView heading="What this reader will run" listing name="what-will-run" />
        </section>
    }
}

#[component]
fn EnvironmentVariables() -> impl IntoView {
    let session: Session = expect_context();
    let of_size = RwSignal::new(false);
    let found = query(session, move || {
        let Workload { collective, scale, .. } = session.tuning.workload()?;
        let configuration = if of_size.get() { Some(session.tuning.recommendation()?.configuration?) } else { None };
        Some(ConfQuestion::Environment { collective, scale, configuration, library: session.tuning.library.get() })
    });
    let content = move || {
        found.get(|response| match response {
            Response::Conf(ConfAnswer::Environment(environment)) => {
                let about = environment.configuration.to_string();
                Some(view! {
                    <TextFile name="" about text=environment.text.clone() />
                    <Notes notes=environment.warnings.clone() warn=true />
                })
            }
            _ => None,
        })
    };
    let label = move || session.tuning.workload().map(|workload| workload_label(&workload));
    view! {
        <details class="panel">
            <summary>"As environment variables, for the whole job"</summary>
            <label class="check">
                <input type="checkbox" bind:checked=of_size />
                <span>"The choice for " {reactive(label)} ", not the one that serves all sizes best"</span>
            </label>
            <Failed error=found.error />
            {reactive(content)}
        </details>
    }
}

/// The findings about a loaded file, and its choices.
#[component]
fn CheckTunerFile() -> impl IntoView {
    let session: Session = expect_context();
    let conf = DocumentChoice::new(move || session.documents.with(|all| all.confs.clone()));
    let all_readers = RwSignal::new(false);
    let has_data = move || session.tuning.has_data();
    let lint = query(session, move || {
        let readers = if all_readers.get() { Vec::new() } else { vec![session.tuning.reader.get()] };
        Some(ConfQuestion::Lint { file: conf.chosen.get()?, readers, library: session.tuning.library.get() })
    });
    let summary = move || lint.get(|response| Some(linted(response)?.2.to_owned()));
    let findings = lint.listing(|response| Some(linted(response)?.1));
    let has_findings = lint.holds(|response| linted(response).is_some_and(|(findings, ..)| !findings.is_empty()));
    let row_class = UnsyncCallback::new(move |row: usize| {
        match lint.get_untracked(|response| Some(linted(response)?.0.get(row)?.severity)) {
            Some(Severity::Changes) => "changes",
            Some(Severity::Dead) => "dead",
            _ => "",
        }
    });
    view! {
        <section class="panel" aria-labelledby="check-heading">
            <h2 id="check-heading">"What this tuner file does"</h2>
            <form class="own" on:submit=prevent_submit>
                <DocumentField label="Tuner file" choice=conf />
                <ReaderFields />
                <label class="check">
                    <input type="checkbox" bind:checked=all_readers />
                    <span>"Findings for all readers"</span>
                </label>
            </form>
            <Failed error=lint.error />
            <p role="status">{summary}</p>
            <Show when=has_findings>
                <ListingView heading="Findings" listing=findings name="findings" row_class=row_class />
            </Show>
            <Show
                when=has_data
                fallback=|| view! { <p class="small">"Drop the sweep beside it to see what the file would cost or gain."</p> }
            >
                <Overlay conf=conf.chosen />
            </Show>
        </section>
    }
}

/// The choices of a loaded file at the measured sizes.
#[component]
fn Overlay(conf: Memo<Option<u32>>) -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let found = query(session, move || {
        Some(ConfQuestion::Overlay {
            file: conf.get()?,
            reader: session.tuning.reader.get(),
            library: session.tuning.library.get(),
        })
    });
    let summary = move || found.get(|response| Some(overlaid(response)?.1.to_owned()));
    let listing = found.listing(|response| Some(overlaid(response)?.0));
    // The chart follows the collective and scale that the controls above choose.
    let chart = Memo::new(move |_| {
        let shown = session.tuning.workload()?;
        let is_shown = |of: &&(Workload, Chart)| (of.0.collective, of.0.scale) == (shown.collective, shown.scale);
        found.get(|response| Some(Arc::new(overlaid(response)?.2.iter().find(is_shown)?.1.clone())))
    });
    view! {
        <Failed error=found.error />
        <p>{summary}</p>
        <ChartView chart=chart theme />
        <ListingView heading="What it would choose at the measured sizes" listing name="overlay" />
    }
}
