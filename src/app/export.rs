//! Copies or saves a table as CSV, Markdown or JSON.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::session::Session;
use crate::{
    app::{clipboard, fields::ChoiceField, js_error::describe},
    text::Listing,
    tuning::export::ExportFormat,
};

/// Writes a listing in a format. Markdown has no secondary columns.
pub fn write_listing(format: ExportFormat, listing: &Listing) -> String {
    match format {
        ExportFormat::Csv => listing.to_table().to_csv(),
        ExportFormat::Markdown => listing.without_secondary_columns().to_table().to_markdown(),
        ExportFormat::Json => listing.to_json(),
    }
}

/// The export of the rows of a listing that its filter keeps.
#[component]
pub fn ListingExport(
    listing: Signal<Arc<Listing>>,
    #[prop(optional, into)] filter: Signal<String>,
    #[prop(into)] name: String,
) -> impl IntoView {
    let write = UnsyncCallback::new(move |format| {
        let kept = listing.with_untracked(|listing| listing.filtered(&filter.get_untracked()));
        write_listing(format, &kept)
    });
    view! { <ExportMenu write name /> }
}

/// The choice of a format, and the buttons that copy and save.
#[component]
pub fn ExportMenu(
    /// Writes the table in a format.
    write: UnsyncCallback<ExportFormat, String>,
    /// The name of the file, without the extension.
    #[prop(into)]
    name: String,
) -> impl IntoView {
    let session: Session = expect_context();
    let format = RwSignal::new(ExportFormat::Csv);
    let text = move || write.run(format.get_untracked());
    let copy = move |_| {
        spawn_local(async move {
            if clipboard::copy(&text()).await {
                session.announcement.set("Copied.".into());
            } else {
                session.notify("The browser does not let the page copy; save the table instead.".into(), true, None);
            }
        });
    };
    let name = StoredValue::new(name);
    let save = move |_| {
        let format = format.get_untracked();
        let name = name.with_value(|name| format!("{name}.{}", format.extension()));
        if let Err(error) = clipboard::save(&name, format.media_type(), &text()) {
            session.notify(format!("The table could not be saved: {}.", describe(&error)), true, None);
        }
    };
    let choices = || ExportFormat::ALL.iter().map(|format| (*format, format.name().to_owned())).collect::<Vec<_>>();
    view! {
        <div class="export" role="group" aria-label="Export">
            <ChoiceField
                label="Format"
                choices
                value=move || Some(format.get())
                on_value=move |chosen| format.set(chosen)
            />
            <button type="button" on:click=copy>"Copy"</button>
            <button type="button" on:click=save>"Save"</button>
        </div>
    }
}
