//! A text that is shown, copied and saved.

use leptos::prelude::*;

use super::{
    clipboard,
    js_error::describe,
    list::ListLimit,
    reactive::{handler, reactive},
    session::Session,
};

/// The number of lines that are shown.
const SHOWN_LINES: usize = 400;

/// A text with its name, and buttons that copy and save it.
#[component]
pub fn TextFile(
    /// The name of the file; empty for a text that is only copied.
    #[prop(into)]
    name: String,
    /// A description of a few words.
    #[prop(optional, into)]
    about: String,
    /// The whole text, also if only its beginning is shown.
    #[prop(into)]
    text: String,
) -> impl IntoView {
    let session: Session = expect_context();
    let lines = text.lines().count();
    let shown = text.lines().take(SHOWN_LINES).collect::<Vec<_>>().join("\n");
    let cut = (lines > SHOWN_LINES).then(|| format!("{} further lines are in the file.", lines - SHOWN_LINES));
    let has_name = !name.is_empty();
    let label = if has_name { format!("Content of {name}") } else { about.clone() };
    let text = StoredValue::new(text);
    let copy = move |_| {
        if let Some(text) = text.try_get_value() {
            session.copy(text, "save the file");
        }
    };
    let file = StoredValue::new(name.clone());
    let save = move |_| {
        let outcome = text.with_value(|text| file.with_value(|name| clipboard::save(name, "text/plain", text)));
        if let Err(error) = outcome {
            session.notify(format!("The file could not be saved: {}.", describe(&error)), true, None);
        }
    };
    let names = [format!("Copy {label}"), format!("Save {name}")];
    let [copy_name, save_name] = names;
    view! {
        <div class="text-file">
            <div class="panel-head">
                <strong class="verbatim">{name}</strong>
                <span class="small">{about}</span>
                <span class="export">
                    <button type="button" aria-label=copy_name on:click=handler(copy)>
                        "Copy"
                    </button>
                    {has_name
                        .then(|| {
                            view! {
                                <button type="button" aria-label=save_name on:click=handler(save)>
                                    "Save"
                                </button>
                            }
                        })}
                </span>
            </div>
            <pre class="text" tabindex="0" role="group" aria-label=label>
                {shown}
            </pre>
            {cut.map(|words| view! { <p class="small">{words}</p> })}
        </div>
    }
}

/// A list of notes; nothing if there are none.
#[component]
pub fn Notes(
    /// The notes, a sentence each.
    notes: Vec<String>,
    /// Whether the notes are warnings.
    #[prop(optional)]
    warn: bool,
) -> impl IntoView {
    let shown = ListLimit::initial();
    let all = notes.len();
    (all > 0).then(|| {
        let items = move || {
            let item = |text: &String| view! { <li class:warning=warn>{text.clone()}</li> };
            notes.iter().take(shown.get()).map(item).collect_view()
        };
        view! {
            <ul class="notes">{reactive(items)}</ul>
            {shown.more_button(move || all)}
        }
    })
}
