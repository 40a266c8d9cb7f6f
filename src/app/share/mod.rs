//! What was found leaves the page: as a link, a file, text for a pull request, or on paper. Nothing is sent anywhere.

mod desk;
mod link;

use leptos::{html, prelude::*};

use super::{
    clipboard,
    js_error::describe,
    live::{Show, follow, live},
    report::Reader,
    session::Session,
};
use crate::{
    report::{Contents, ReportFormat, Workbench, Written},
    units::file_size,
};
use desk::Desk;
use link::LinkWay;

/// Whether the dialog is open. Copies are the same.
#[derive(Clone, Copy)]
pub struct Share(RwSignal<bool>);

impl Share {
    /// A closed dialog.
    pub fn new() -> Self {
        Self(RwSignal::new(false))
    }

    /// Whether there is anything to share.
    pub fn is_there(self, session: Session, reader: Reader) -> bool {
        if reader.is_open() {
            reader.has_report()
        } else {
            match session.workbench.get() {
                Workbench::Tuning => session.tuning.has_data(),
                workbench => session.desk(workbench).is_there(),
            }
        }
    }

    /// Opens it.
    pub fn open(self) {
        self.0.set(true);
    }
}

/// The dialog.
#[component]
pub fn ShareDialog() -> impl IntoView {
    let Share(is_open) = expect_context();
    let dialog = NodeRef::<html::Dialog>::new();
    follow(move || {
        let Some(dialog) = dialog.get() else { return };
        match (is_open.get(), dialog.open()) {
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    view! {
        <dialog node_ref=dialog class="share-dialog" aria-labelledby="share-heading" on:close=move |_| is_open.set(false)>
            <Show when=move || is_open.get()>
                <Ways is_open />
            </Show>
        </dialog>
    }
}

/// What travels, and how.
#[component]
fn Ways(is_open: RwSignal<bool>) -> impl IntoView {
    let reader: Reader = expect_context();
    let desk = Desk::open(expect_context(), reader);
    let is_own = !untrack(move || reader.has_report());
    let print = move |_| {
        is_open.set(false);
        // The dialog is gone before the browser looks at the page.
        set_timeout(|| drop(window().print()), std::time::Duration::from_millis(50));
    };
    view! {
        <div class="share-head">
            <h2 id="share-heading">"Share"</h2>
            <button type="button" class="quiet" aria-label="Close" on:click=move |_| is_open.set(false)>"×"</button>
        </div>
        <p class="small">
            "Nothing is uploaded. The link contains the data itself after the # sign, which browsers do not send to \
             servers; the files are made in this tab."
        </p>
        {if is_own {
            view! { <Switches desk /> }.into_any()
        } else {
            view! { <p class="small">"The report travels as it was opened."</p> }.into_any()
        }}
        <ul class="ways">
            <LinkWay desk />
            <FileWay
                desk
                form=ReportFormat::Html
                about="One file with all tables and charts, readable without scripts and on paper; dropped on this page it is live again."
            />
            <FileWay desk form=ReportFormat::Markdown about="For a pull request or a chat." />
            <FileWay desk form=ReportFormat::Json about="For scripts; dropped on this page it is live again." />
            <li class="way">
                <div class="way-what">
                    <h3>"Paper"</h3>
                    <p class="small">"What is shown now, without controls; also as PDF."</p>
                </div>
                <div class="way-do">
                    <button type="button" on:click=print>"Print"</button>
                </div>
            </li>
        </ul>
        <div class="share-foot">
            <p class="small" role="status" aria-live="polite">{live(move || desk.said.get())}</p>
            <Show when=move || desk.is_writing()>
                <button type="button" on:click=move |_| desk.stop()>"Cancel"</button>
            </Show>
        </div>
    }
}

/// What goes into the report.
#[component]
fn Switches(desk: Desk) -> impl IntoView {
    /// A part of every report, or of a sweep's alone.
    enum Of {
        All,
        Sweep,
    }
    type Part = (Of, &'static str, fn(&Contents) -> bool, fn(&mut Contents, bool));
    const PARTS: [Part; 5] = [
        (Of::All, "File names", |c| c.file_names, |c, on| c.file_names = on),
        (Of::All, "Charts", |c| c.charts, |c, on| c.charts = on),
        (Of::Sweep, "Tuner files", |c| c.deployables, |c, on| c.deployables = on),
        (Of::Sweep, "Measurements, to compare with later", |c| c.measurements, |c, on| c.measurements = on),
        (Of::All, "Today's date", |c| c.made_on.is_some(), |c, on| c.made_on = on.then(desk::today)),
    ];
    let is_tuning = desk.contents.with_untracked(|contents| contents.workbench == Workbench::Tuning);
    let is_there = move |(of, ..): &Part| is_tuning || matches!(of, Of::All);
    let switch = move |(_, label, is_on, set): Part| {
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    prop:checked=move || desk.contents.with(is_on)
                    on:change:target=move |event| desk.choose(|contents| set(contents, event.target().checked()))
                />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="field many">
            <legend>"What travels"</legend>
            <div class="checks">{PARTS.into_iter().filter(is_there).map(switch).collect_view()}</div>
        </fieldset>
    }
}

/// A way to leave as a file.
#[component]
fn FileWay(desk: Desk, form: ReportFormat, about: &'static str) -> impl IntoView {
    let is_text = form == ReportFormat::Markdown;
    let size = move || {
        Some(match desk.written(form)?.as_ref() {
            Ok(Written::File { text, .. }) => file_size(text.len() as u64),
            Ok(Written::Link(_)) => return None,
            Err(why) => why.clone(),
        })
    };
    let not_ready = move || !matches!(desk.written(form).as_deref(), Some(Ok(_)));
    let copy = move |_| {
        if let Some(Ok(Written::File { text, .. })) = untrack(move || desk.written(form)).as_deref() {
            desk.copy(text.clone(), "the file can be saved instead");
        }
    };
    let save = move |_| {
        let written = untrack(move || desk.written(form));
        let Some(Ok(Written::File { name, media_type, text })) = written.as_deref() else { return };
        desk.say(match clipboard::save(name, media_type, text) {
            Ok(()) => format!("Saved as {name}."),
            Err(error) => format!("The file could not be saved: {}.", describe(&error)),
        });
    };
    let names = ["Copy", "Save"].map(|act| format!("{act} {}", form.name()));
    let [copy_name, save_name] = names;
    view! {
        <li class="way">
            <div class="way-what">
                <h3>{form.name()}" " <span class="small">{live(size)}</span></h3>
                <p class="small">{about}</p>
            </div>
            <div class="way-do">
                {is_text
                    .then(|| {
                        view! {
                            <button type="button" aria-label=copy_name disabled=not_ready on:click=copy>"Copy"</button>
                        }
                    })}
                <button type="button" aria-label=save_name disabled=not_ready on:click=save>"Save"</button>
            </div>
        </li>
    }
}
