//! The title and the notes that the user adds to a report.

use leptos::{ev, html, prelude::*};

use super::writer::ReportWriter;
use crate::{
    app::{
        fields::choice_field,
        reactive::{effect, handler, reactive},
        signal::RwSignal,
    },
    report::{
        ReportFormat, Written,
        annotations::{Annotations, MOST_NOTE, MOST_NOTES, MOST_TITLE, Note},
    },
};

/// The fields for a title and for notes, and the notes so far.
#[component]
pub(super) fn AnnotationFields(writer: ReportWriter) -> impl IntoView {
    let annotations = writer.annotations;
    let (about, text) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let field = NodeRef::<html::Input>::new();
    let subjects = RwSignal::new(Vec::new());
    // The list stays while the report is written again.
    effect(move || match writer.written(ReportFormat::Link).as_deref() {
        Some(Ok(Written::Links(links))) if links.subjects != subjects.get_untracked() => {
            subjects.set(links.subjects.clone());
        }
        _ => {}
    });
    let options = move || {
        let about = about.get();
        let whole = ("The whole report".to_owned(), about.is_empty());
        let others = subjects.get().into_iter().map(|subject| (subject.clone(), subject == about));
        std::iter::once(whole).chain(others).collect()
    };
    let choose = move |index: usize| {
        let subject = index.checked_sub(1).and_then(|index| subjects.with_untracked(|all| all.get(index).cloned()));
        about.set(subject.unwrap_or_default());
    };
    let add = move || {
        let note = Note { about: about.get_untracked(), text: text.get_untracked().trim().to_owned() };
        if !note.text.is_empty() {
            writer.annotate(|annotations| annotations.notes.push(note));
            text.set(String::new());
        }
    };
    let is_full = move || annotations.with(|annotations| annotations.notes.len() >= MOST_NOTES);
    let focus = move || drop(field.get_untracked().map(|field| field.focus()));
    let note = move |(index, Note { about, text }): (usize, Note)| {
        let about = if about.is_empty() { "The whole report".to_owned() } else { about };
        let label = format!("Remove the note on {about}");
        let remove = move |_| {
            writer.annotate(|Annotations { notes, .. }| drop((index < notes.len()).then(|| notes.remove(index))));
            focus();
        };
        view! {
            <li>
                <span><bdi>{about}</bdi>": "<bdi>{text}</bdi></span>
                <button type="button" class="quiet" aria-label=label on:click=handler(remove)>"×"</button>
            </li>
        }
    };
    let notes = move || {
        let notes = annotations.with(|annotations| annotations.notes.clone());
        (!notes.is_empty())
            .then(|| view! { <ul class="own-notes">{notes.into_iter().enumerate().map(note).collect_view()}</ul> })
    };
    let is_used = annotations.with_untracked(|annotations| *annotations != Default::default());
    view! {
        <details class="annotations" open=is_used>
            <summary>"Title and notes"</summary>
            <label class="field">
                <span>"Title"</span>
                <input
                    type="text"
                    maxlength=MOST_TITLE.to_string()
                    prop:value=move || annotations.with(|annotations| annotations.title.clone())
                    on:change:target=move |event| {
                        let title = event.target().value();
                        writer.annotate(|annotations| annotations.title = title);
                    }
                />
            </label>
            {choice_field("Note on".into(), Box::new(options), Box::new(choose))}
            <label class="field">
                <span>"Note"</span>
                <input
                    type="text"
                    node_ref=field
                    maxlength=MOST_NOTE.to_string()
                    prop:value=move || text.get()
                    on:input:target=move |event| text.set(event.target().value())
                    on:keydown=handler(move |event: ev::KeyboardEvent| {
                        if event.key() == "Enter" {
                            add();
                        }
                    })
                />
            </label>
            <button type="button" disabled=is_full on:click=handler(move |_| {
                add();
                focus();
            })>"Add note"</button>
            {reactive(notes)}
            <p class="small">"They are part of the report in every form. Short links carry the first 200 characters of a note."</p>
        </details>
    }
}
