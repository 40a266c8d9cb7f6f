//! The menus of a table: which columns it shows, and copying and saving it as CSV, Markdown or JSON.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    menu::{Menu, MenuEntry},
    reactive::Show,
    session::Session,
    signal::{RwSignal, Signal, memo},
};
use crate::{
    app::{clipboard, js_error::describe},
    text::{Column, Listing},
    tuning::export::ExportFormat,
};

/// Writes a listing in a format. Markdown has no secondary columns.
pub fn write_listing(format: ExportFormat, listing: &Listing) -> String {
    match format {
        ExportFormat::Csv => listing.to_csv(),
        ExportFormat::Markdown => listing.without_secondary_columns().to_markdown(),
        ExportFormat::Json => listing.to_json(),
    }
}

/// The entries that copy a table, and those that save it, in each of the formats.
pub fn export_entries(
    session: Session,
    formats: &'static [ExportFormat],
    // What is written, as a word with the space after it; empty for what the menu belongs to.
    what: &str,
    // The name of the file, without the extension.
    name: &str,
    write: UnsyncCallback<ExportFormat, String>,
) -> Vec<MenuEntry> {
    let copy = move |format: ExportFormat| session.copy(write.run(format), "save the table");
    let save = move |name: &str, format: ExportFormat| {
        let name = format!("{name}.{}", format.extension());
        if let Err(error) = clipboard::save(&name, format.media_type(), &write.run(format)) {
            session.notify(format!("The table could not be saved: {}.", describe(&error)), true, None);
        }
    };
    let copies = formats.iter().map(|format| {
        let label = format!("Copy {what}as {}", format.name());
        MenuEntry::action(label, move || copy(*format))
    });
    let saves = formats.iter().map(|format| {
        let (label, name) = (format!("Save {what}as {}", format.name()), name.to_owned());
        MenuEntry::action(label, move || save(&name, *format))
    });
    copies.chain(saves).collect()
}

/// The menu of the columns that are shown on demand, if there are any, and the menu that copies and saves.
#[component]
pub fn TableMenus(
    /// All rows and columns, secondary ones included.
    #[prop(into)]
    listing: Signal<Arc<Listing>>,
    /// The names of the secondary columns that are shown.
    asked: RwSignal<Vec<String>>,
    /// The name of the table for assistive technology.
    #[prop(into)]
    title: String,
    /// The name of saved files, without the extension.
    #[prop(into)]
    name: String,
    /// Writes the table in a format.
    write: UnsyncCallback<ExportFormat, String>,
) -> impl IntoView {
    let session: Session = expect_context();
    let has_more = move || listing.with(|listing| listing.columns.iter().any(|column| column.is_secondary));
    let secondary = move || {
        let all = listing.get_untracked();
        all.columns.iter().filter(|column| column.is_secondary).cloned().collect::<Vec<Column>>()
    };
    let columns = UnsyncCallback::new(move |()| {
        let names: Vec<String> = secondary().iter().map(|column| column.name.to_string()).collect();
        let count = names.len();
        let is_all = memo(move || asked.with(Vec::len) >= count);
        let toggle_all = move || asked.set(if is_all.get_untracked() { Vec::new() } else { names.clone() });
        let mut entries = vec![MenuEntry::switch("All columns".to_owned(), String::new(), is_all, toggle_all)];
        entries.extend(secondary().into_iter().map(|Column { name, meaning, .. }| {
            let [own, other] = [(); 2].map(|()| name.to_string());
            let is_shown = memo(move || asked.with(|asked| asked.contains(&own)));
            let toggle = move || {
                asked.update(|asked| match asked.iter().position(|name| *name == other) {
                    Some(place) => drop(asked.remove(place)),
                    None => asked.push(other.clone()),
                });
            };
            MenuEntry::switch(name.into_owned(), meaning.into_owned(), is_shown, toggle)
        }));
        entries
    });
    let columns_of = format!("Columns of {title}");
    let mut options_of = title;
    options_of.insert_str(0, "Options of ");
    let options = UnsyncCallback::new(move |()| export_entries(session, ExportFormat::ALL, "", &name, write));
    view! {
        <span class="menus">
            <Show when=has_more>
                <Menu label="Columns" name=columns_of.clone() entries=columns />
            </Show>
            <Menu label="⋯" name=options_of entries=options />
        </span>
    }
}
