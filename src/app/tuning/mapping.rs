//! Asks which column is which, where a table's headers don't say it.

use leptos::{ev, html, prelude::*};

use super::Bench;
use crate::intake::{ColumnSource, Mapping, MappingRequest, Outcome, WantedColumn};

/// The dialog; it opens by itself for the first file that needs it.
#[component]
pub fn MappingDialog() -> impl IntoView {
    let bench: Bench = expect_context();
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move || {
        let needing = bench.reports.with(|reports| {
            reports.iter().find_map(|report| match &report.outcome {
                Outcome::NeedsMapping(request) => Some((report.id, request.clone())),
                _ => None,
            })
        });
        if needing.is_some() {
            bench.asking.set(needing);
        }
    });
    Effect::new(move || {
        let Some(dialog) = dialog.get() else { return };
        match (bench.asking.with(Option::is_some), dialog.open()) {
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    let form = move || bench.asking.get().map(|(id, request)| view! { <MappingForm id request /> });
    view! {
        <dialog
            node_ref=dialog
            class="mapping"
            aria-labelledby="mapping-heading"
            on:close=move |_| bench.asking.set(None)
        >
            {form}
        </dialog>
    }
}

/// What a wanted column is taken from: index of a header, a constant, or nothing.
#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Nothing,
    Column(usize),
    Constant(String),
}

#[component]
fn MappingForm(id: u32, request: MappingRequest) -> impl IntoView {
    let bench: Bench = expect_context();
    let MappingRequest { problem, headers, sample, wanted } = request;
    let name = bench.files.with_untracked(|files| files.iter().find(|file| file.id == id).map(|f| f.handle.name()));
    let fields: Vec<(WantedColumn, RwSignal<Choice>)> = wanted
        .into_iter()
        .map(|column| {
            let guess = column.guess.map_or(Choice::Nothing, Choice::Column);
            (column, RwSignal::new(guess))
        })
        .collect();
    let missing = {
        let needed: Vec<_> = fields
            .iter()
            .filter(|(column, _)| column.needed)
            .map(|(column, choice)| (column.name.clone(), *choice))
            .collect();
        Memo::new(move |_| {
            let is_missing = |choice: &Choice| match choice {
                Choice::Nothing => true,
                Choice::Constant(text) => text.trim().is_empty(),
                Choice::Column(_) => false,
            };
            let missing = needed.iter().filter(|(_, choice)| choice.with(is_missing)).map(|(name, _)| name.clone());
            missing.collect::<Vec<_>>().join(", ")
        })
    };
    let chosen: Vec<_> = fields.iter().map(|(column, choice)| (column.name.clone(), *choice)).collect();
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let source = |(name, choice): &(String, RwSignal<Choice>)| {
            let source = match choice.get_untracked() {
                Choice::Nothing => return None,
                Choice::Column(index) => ColumnSource::Column(index),
                Choice::Constant(text) => ColumnSource::Constant(text.trim().to_owned()),
            };
            Some((name.clone(), source))
        };
        let columns = chosen.iter().filter_map(source).collect();
        bench.asking.set(None);
        bench.map(id, Mapping { columns });
    };
    let sample_rows = sample.into_iter().map(|row| {
        view! { <tr>{row.into_iter().map(|cell| view! { <td class="verbatim">{cell}</td> }).collect_view()}</tr> }
    });
    let sample_head = headers.clone().into_iter().map(|header| view! { <th scope="col">{header}</th> });
    view! {
        <form on:submit=submit>
            <h2 id="mapping-heading">"Which column is which?"</h2>
            <p>
                <strong class="verbatim">{name}</strong>
                " " {problem} ". Its first lines:"
            </p>
            <div class="table-box" tabindex="0" role="region" aria-label="First lines of the file">
                <table class="data">
                    <thead>
                        <tr>{sample_head.collect_view()}</tr>
                    </thead>
                    <tbody>{sample_rows.collect_view()}</tbody>
                </table>
            </div>
            <div class="mapping-fields">
                {fields
                    .into_iter()
                    .map(|(column, choice)| view! { <MappingField column choice headers=headers.clone() /> })
                    .collect_view()}
            </div>
            <div class="actions">
                <button type="submit" class="primary" disabled=move || missing.with(|m| !m.is_empty())>
                    "Read with these columns"
                </button>
                <button type="button" on:click=move |_| bench.asking.set(None)>"Not now"</button>
                <Show when=move || missing.with(|m| !m.is_empty())>
                    <span class="small">"Still needed: " {move || missing.get()}</span>
                </Show>
            </div>
        </form>
    }
}

#[component]
fn MappingField(column: WantedColumn, choice: RwSignal<Choice>, headers: Vec<String>) -> impl IntoView {
    let (guess, constant) = (column.guess, headers.len() + 1);
    let change = move |index: i32| {
        choice.set(match index as usize {
            0 => Choice::Nothing,
            index if index == constant => Choice::Constant(String::new()),
            index => Choice::Column(index - 1),
        });
    };
    let options = headers.into_iter().enumerate().map(|(index, header)| {
        view! { <option selected=guess == Some(index)>{header}</option> }
    });
    view! {
        <div class="mapping-field">
            <label class="field">
                <span>{column.name} {column.needed.then_some(" *")}</span>
                <select on:change:target=move |event| change(event.target().selected_index())>
                    <option>"–"</option>
                    {options.collect_view()}
                    <option>"the same for all rows …"</option>
                </select>
            </label>
            <Show when=move || choice.with(|choice| matches!(choice, Choice::Constant(_)))>
                <input
                    type="text"
                    aria-label="The value for all rows"
                    on:input:target=move |event| choice.set(Choice::Constant(event.target().value()))
                />
            </Show>
            <span class="small">{column.meaning}</span>
        </div>
    }
}
