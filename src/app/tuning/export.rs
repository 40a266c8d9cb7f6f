//! Takes a table away: copied or saved, as CSV, Markdown or JSON.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::Bench;
use crate::{
    app::{clipboard, fields::ChoiceField, parts::describe},
    tuning::{export::Format, result::Recommendation},
};

/// Format, copy, save.
#[component]
pub fn ExportMenu(#[prop(into)] rows: Signal<Arc<Vec<Recommendation>>>, name: &'static str) -> impl IntoView {
    let bench: Bench = expect_context();
    let format = RwSignal::new(Format::Csv);
    let text = move || rows.with_untracked(|rows| format.get_untracked().write(rows));
    let copy = move |_| {
        spawn_local(async move {
            if clipboard::copy(&text()).await {
                bench.announcement.set("Copied.".into());
            } else {
                bench.notify("The browser does not let the page copy; save the table instead.".into(), true, None);
            }
        });
    };
    let save = move |_| {
        let format = format.get_untracked();
        let name = format!("{name}.{}", format.extension());
        if let Err(error) = clipboard::save(&name, format.media_type(), &text()) {
            bench.notify(format!("The table could not be saved: {}.", describe(&error)), true, None);
        }
    };
    let choices = Format::ALL.iter().map(|format| (*format, format.name().to_owned())).collect::<Vec<_>>();
    view! {
        <div class="export" role="group" aria-label="Export">
            <ChoiceField
                label="Format"
                choices
                value=Signal::derive(move || Some(format.get()))
                on_value=UnsyncCallback::new(move |chosen| format.set(chosen))
            />
            <button type="button" on:click=copy>"Copy"</button>
            <button type="button" on:click=save>"Save"</button>
        </div>
    }
}
