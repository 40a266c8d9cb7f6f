//! The dialog that shares a report: as a link, a file, text for a pull request, or printed. Nothing is sent.

mod link;
mod notes;
mod writer;

use leptos::{html, prelude::*};

use super::{
    reactive::{Show, handler, modal, reactive},
    report::ReportReader,
    session::Session,
};
use crate::{
    app::signal::RwSignal,
    report::{Contents, ReportFormat, Workbench, Written},
    units::file_size,
};
use link::LinkOption;
use notes::AnnotationFields;
use writer::{KeptAnnotations, ReportWriter};

/// Whether the dialog is open, and the titles and notes that were written in it. Copies share them.
#[derive(Clone, Copy)]
pub struct Share(RwSignal<bool>, KeptAnnotations);

impl Share {
    pub fn new() -> Self {
        Self(RwSignal::new(false), StoredValue::new(Vec::new()))
    }

    /// Whether there is a report to share.
    pub fn has_report(self, session: Session, reader: ReportReader) -> bool {
        if reader.is_open() {
            reader.has_report()
        } else {
            match session.workbench.get() {
                Workbench::Tuning => session.tuning.has_data(),
                workbench => session.state_of(workbench).has_answer(),
            }
        }
    }

    /// Opens the dialog, which starts writing the report.
    pub fn open(self) {
        self.0.set(true);
    }
}

/// The dialog, empty while it is closed.
#[component]
pub fn ShareDialog() -> impl IntoView {
    let Share(is_open, kept) = expect_context();
    let dialog = NodeRef::<html::Dialog>::new();
    modal(dialog, move || is_open.get());
    view! {
        <dialog node_ref=dialog class="share-dialog" aria-labelledby="share-heading" on:close=handler(move |_| is_open.set(false))>
            <Show when=move || is_open.get()>
                <ShareOptions is_open kept />
            </Show>
        </dialog>
    }
}

/// The contents of the report, and the ways to share it.
#[component]
fn ShareOptions(is_open: RwSignal<bool>, kept: KeptAnnotations) -> impl IntoView {
    let reader: ReportReader = expect_context();
    let writer = ReportWriter::open(expect_context(), reader, kept);
    let is_own = !untrack(move || reader.has_report());
    let print = move |_| {
        is_open.set(false);
        // The dialog must be closed before the browser lays out the pages.
        set_timeout(|| drop(window().print()), std::time::Duration::from_millis(50));
    };
    view! {
        <div class="share-head">
            <h2 id="share-heading">"Share"</h2>
            <button type="button" class="quiet" aria-label="Close" on:click=handler(move |_| is_open.set(false))>"×"</button>
        </div>
        <p class="small">
            "Nothing is uploaded. The link contains the data itself after the # sign, which browsers do not send to \
             servers; the files are made in this tab."
        </p>
        {if is_own {
            view! { <Switches writer /> }.into_any()
        } else {
            view! { <p class="small">"The report is shared as it was opened, with your title and notes."</p> }.into_any()
        }}
        <AnnotationFields writer />
        <ul class="ways">
            <LinkOption writer />
            <FileOption
                writer
                form=ReportFormat::Html
                about="One file with all tables and charts, readable without scripts and on paper; drop it on this page to open it again."
            />
            <FileOption writer form=ReportFormat::Markdown about="For a pull request or a chat." />
            <FileOption writer form=ReportFormat::Json about="For scripts; drop it on this page to open it again." />
            <li class="way">
                <div class="way-what">
                    <h3>"Paper"</h3>
                    <p class="small">"What is shown now, without controls; also as PDF."</p>
                </div>
                <div class="way-do">
                    <button type="button" on:click=handler(print)>"Print"</button>
                </div>
            </li>
        </ul>
        <div class="share-foot">
            <p class="small" role="status" aria-live="polite">{reactive(move || writer.message.get())}</p>
            <Show when=move || writer.is_writing()>
                <button type="button" on:click=handler(move |_| writer.stop())>"Cancel"</button>
            </Show>
        </div>
    }
}

/// The switches of what the report contains.
#[component]
fn Switches(writer: ReportWriter) -> impl IntoView {
    /// Which reports have a part.
    enum AppliesTo {
        EveryReport,
        SweepReport,
    }
    type Part = (AppliesTo, &'static str, fn(&Contents) -> bool, fn(&mut Contents, bool));
    const PARTS: [Part; 5] = [
        (AppliesTo::EveryReport, "File names", |c| c.file_names, |c, on| c.file_names = on),
        (AppliesTo::EveryReport, "Charts", |c| c.charts, |c, on| c.charts = on),
        (AppliesTo::SweepReport, "Tuner files", |c| c.deployables, |c, on| c.deployables = on),
        (
            AppliesTo::SweepReport,
            "Measurements, to compare with later",
            |c| c.measurements,
            |c, on| c.measurements = on,
        ),
        (AppliesTo::EveryReport, "Today's date", |c| c.made_on.is_some(), |c, on| c.made_on = on.then(writer::today)),
    ];
    let is_tuning = writer.contents.with_untracked(|contents| contents.workbench == Workbench::Tuning);
    let is_there = move |(of, ..): &Part| is_tuning || matches!(of, AppliesTo::EveryReport);
    let switch = move |(_, label, is_on, set): Part| {
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    prop:checked=move || writer.contents.with(is_on)
                    on:change:target=move |event| writer.choose(|contents| set(contents, event.target().checked()))
                />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="field many">
            <legend>"What the report contains"</legend>
            <div class="checks">{PARTS.into_iter().filter(is_there).map(switch).collect_view()}</div>
        </fieldset>
    }
}

/// The report as a file, with a button that saves it.
#[component]
fn FileOption(writer: ReportWriter, form: ReportFormat, about: &'static str) -> impl IntoView {
    let is_text = form == ReportFormat::Markdown;
    let size = move || {
        Some(match writer.written(form)?.as_ref() {
            Ok(Written::File { text, .. }) => file_size(text.len() as u64),
            Ok(Written::Links(_)) => return None,
            Err(why) => why.clone(),
        })
    };
    let not_ready = move || !matches!(writer.written(form).as_deref(), Some(Ok(_)));
    let copy = move |_| {
        if let Some(Ok(Written::File { text, .. })) = untrack(move || writer.written(form)).as_deref() {
            writer.copy(text.clone(), "the file can be saved instead");
        }
    };
    let save = move |_| {
        let written = untrack(move || writer.written(form));
        let Some(Ok(Written::File { name, media_type, text })) = written.as_deref() else { return };
        writer.save(name, media_type, text);
    };
    let names = ["Copy", "Save"].map(|act| format!("{act} {}", form.name()));
    let [copy_name, save_name] = names;
    view! {
        <li class="way">
            <div class="way-what">
                <h3>{form.name()}" " <span class="small">{reactive(size)}</span></h3>
                <p class="small">{about}</p>
            </div>
            <div class="way-do">
                {is_text
                    .then(|| {
                        view! {
                            <button type="button" aria-label=copy_name disabled=not_ready on:click=handler(copy)>"Copy"</button>
                        }
                    })}
                <button type="button" aria-label=save_name disabled=not_ready on:click=handler(save)>"Save"</button>
            </div>
        </li>
    }
}
