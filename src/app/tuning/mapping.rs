//! The dialog that asks which column of a table is which, if its headers don't say it.

use leptos::{ev, html, prelude::*};

use crate::{
    app::reactive::{Show, effect, handler, modal, reactive},
    app::session::Session,
    app::signal::{RwSignal, memo},
    intake::{ColumnSource, Mapping, MappingRequest, Outcome, WantedColumn},
    tuning::columns::Columns,
};

/// The dialog. It opens by itself once for each file that needs it.
#[component]
pub fn MappingDialog() -> impl IntoView {
    let session: Session = expect_context();
    let dialog = NodeRef::<html::Dialog>::new();
    // The dialog opens by itself once for each file, and whenever its button is pressed.
    let asked = StoredValue::new(Vec::new());
    effect(move || {
        let needing = session.reports.with(|reports| {
            reports.iter().find_map(|report| match &report.outcome {
                Outcome::NeedsMapping(request) if !asked.with_value(|asked| asked.contains(&report.id)) => {
                    Some((report.id, request.clone()))
                }
                _ => None,
            })
        });
        if let Some((id, request)) = needing {
            asked.update_value(|asked| asked.push(id));
            session.asking.set(Some((id, request)));
        }
    });
    modal(dialog, move || session.asking.with(Option::is_some));
    let form = move || session.asking.get().map(|(id, request)| view! { <MappingForm id request /> });
    view! {
        <dialog
            node_ref=dialog
            class="mapping"
            aria-labelledby="mapping-heading"
            on:close=handler(move |_| session.asking.set(None))
        >
            {reactive(form)}
        </dialog>
    }
}

/// The columns of the configuration, the algorithm first.
const WHAT_RAN: [&str; 3] = ["algo", "proto", "nchannels"];

/// The source of a wanted column: the index of a header, a constant, or nothing.
#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Nothing,
    Column(usize),
    Constant(String),
}

#[component]
fn MappingForm(id: u32, request: MappingRequest) -> impl IntoView {
    let session: Session = expect_context();
    let MappingRequest { problem, headers, sample, wanted } = request.clone();
    let file = session.files.with_untracked(|files| files.iter().find(|file| file.id == id).cloned());
    let name = file.as_ref().map(|file| file.handle.name());
    let answered = file.and_then(|file| file.mapping).map(|(_, mapping)| mapping.columns).unwrap_or_default();
    let first_choice = |column: &WantedColumn| match answered.iter().find(|(name, _)| *name == column.name) {
        Some((_, ColumnSource::Column(index))) => Choice::Column(*index),
        Some((_, ColumnSource::Constant(text))) => Choice::Constant(text.clone()),
        None => column.guess.map_or(Choice::Nothing, Choice::Column),
    };
    // A log may tell everything but the configuration: then only that is asked.
    let is_unsaid = |column: &&WantedColumn| WHAT_RAN.contains(&column.name.as_str());
    let asks_what_ran = wanted.iter().filter(|c| c.needed && c.guess.is_none()).all(|column| is_unsaid(&column))
        && wanted.iter().filter(is_unsaid).all(|column| column.guess.is_none());
    let fields: Vec<_> = wanted.into_iter().map(|column| (RwSignal::new(first_choice(&column)), column)).collect();
    let chosen: Vec<_> = fields.iter().map(|(choice, column)| (column.name.clone(), *choice)).collect();
    let mapping = memo(move || {
        let source = |(name, choice): &(String, RwSignal<Choice>)| {
            let source = match choice.get() {
                Choice::Nothing => return None,
                Choice::Column(index) => ColumnSource::Column(index),
                Choice::Constant(text) => ColumnSource::Constant(text.trim().to_owned()),
            };
            Some((name.clone(), source))
        };
        Mapping { columns: chosen.iter().filter_map(source).collect() }
    });
    let wrong = {
        let headers = headers.clone();
        memo(move || mapping.with(|m| Columns::mapped(&headers, &m.columns).err().map(|error| error.to_string())))
    };
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        session.asking.set(None);
        session.read_with_mapping(id, (request.clone(), mapping.get_untracked()));
    };
    let sample_rows = sample.into_iter().map(|row| {
        view! { <tr>{row.into_iter().map(|cell| view! { <td class="verbatim">{cell}</td> }).collect_view()}</tr> }
    });
    let sample_head = headers.clone().into_iter().map(|header| view! { <th scope="col">{header}</th> });
    let (needed, further): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, column)| column.needed);
    let what_ran: Vec<_> = needed
        .iter()
        .filter(|(_, column)| asks_what_ran && is_unsaid(&column))
        .map(|(choice, column)| (*choice, column.clone()))
        .collect();
    let (needed, further) = if asks_what_ran { (Vec::new(), [needed, further].concat()) } else { (needed, further) };
    let heading = if asks_what_ran { "What ran?" } else { "Which column is which?" };
    let field = |(choice, column): (RwSignal<Choice>, WantedColumn)| {
        view! { <MappingField column choice headers=headers.clone() /> }
    };
    view! {
        <form on:submit=handler(submit)>
            <h2 id="mapping-heading">{heading}</h2>
            <p>
                <strong class="verbatim">{name}</strong>
                ": "
                {problem}
                ". Its first lines:"
            </p>
            <div class="table-box" tabindex="0" role="region" aria-label="First lines of the file">
                <table class="data">
                    <thead>
                        <tr>{sample_head.collect_view()}</tr>
                    </thead>
                    <tbody>{sample_rows.collect_view()}</tbody>
                </table>
            </div>
            {asks_what_ran.then(|| view! { <WhatRan fields=what_ran /> })}
            <div class="mapping-fields">{needed.into_iter().map(field).collect_view()}</div>
            <details>
                <summary>{if asks_what_ran { "All columns" } else { "Further columns" }}</summary>
                <div class="mapping-fields">{further.into_iter().map(field).collect_view()}</div>
            </details>
            <div class="actions">
                <button type="submit" class="primary" disabled=move || wrong.with(Option::is_some)>
                    {if asks_what_ran { "Read" } else { "Read with these columns" }}
                </button>
                <button type="button" on:click=handler(move |_| session.asking.set(None))>"Not now"</button>
                <span class="small" role="status">{reactive(move || wrong.get().map(|why| format!("Not yet: {why}.")))}</span>
            </div>
        </form>
    }
}

/// Asks for the configuration of all rows of a log that names none: the default, or a forced configuration.
#[component]
fn WhatRan(fields: Vec<(RwSignal<Choice>, WantedColumn)>) -> impl IntoView {
    let is_default = RwSignal::new(false);
    let choices: Vec<RwSignal<Choice>> = fields.iter().map(|(choice, _)| *choice).collect();
    for choice in &choices {
        if choice.get_untracked() == Choice::Nothing {
            choice.set(Choice::Constant(String::new()));
        }
    }
    let toggle = move |on: bool| {
        is_default.set(on);
        for (index, choice) in choices.iter().enumerate() {
            choice.set(match (on, index) {
                (true, 0) => Choice::Constant("DEFAULT".to_owned()),
                (true, _) => Choice::Nothing,
                (false, _) => Choice::Constant(String::new()),
            });
        }
    };
    let field = |(choice, column): (RwSignal<Choice>, WantedColumn)| {
        let text = move || match choice.get() {
            Choice::Constant(text) if !is_default.get() => text,
            _ => String::new(),
        };
        view! {
            <label class="field">
                <span>{column.meaning}</span>
                <input
                    type="text"
                    autocomplete="off"
                    spellcheck="false"
                    disabled=move || is_default.get()
                    prop:value=text
                    on:input:target=move |event| choice.set(Choice::Constant(event.target().value()))
                />
            </label>
        }
    };
    view! {
        <label class="check">
            <input type="checkbox" on:change:target=move |event| toggle(event.target().checked()) />
            <span>"The library chose by itself: these are default runs"</span>
        </label>
        <div class="mapping-fields">{fields.into_iter().map(field).collect_view()}</div>
    }
}

#[component]
fn MappingField(column: WantedColumn, choice: RwSignal<Choice>, headers: Vec<String>) -> impl IntoView {
    let constant = headers.len() + 1;
    let change = move |index: i32| {
        choice.set(match index as usize {
            0 => Choice::Nothing,
            index if index == constant => Choice::Constant(String::new()),
            index => Choice::Column(index - 1),
        });
    };
    let first = choice.get_untracked();
    let is_constant = matches!(first, Choice::Constant(_));
    let options = headers.into_iter().enumerate().map(|(index, header)| {
        view! { <option selected=first == Choice::Column(index)>{header}</option> }
    });
    let text = move || match choice.get() {
        Choice::Constant(text) => text,
        _ => String::new(),
    };
    let label = format!("{} for all rows", column.name);
    view! {
        <div class="mapping-field">
            <label class="field">
                <span>{column.name}</span>
                <select on:change:target=move |event| change(event.target().selected_index())>
                    <option>"–"</option>
                    {options.collect_view()}
                    <option selected=is_constant>"the same for all rows …"</option>
                </select>
            </label>
            <Show when=move || choice.with(|choice| matches!(choice, Choice::Constant(_)))>
                <input
                    type="text"
                    aria-label=label.clone()
                    prop:value=text
                    on:input:target=move |event| choice.set(Choice::Constant(event.target().value()))
                />
            </Show>
            <span class="small">{column.meaning}</span>
        </div>
    }
}
