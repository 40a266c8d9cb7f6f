//! Form fields: a label, a control, and the error of the value.

use std::cell::RefCell;

use crate::app::{
    reactive::{Show, effect},
    signal::RwSignal,
    terms::term,
};
use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event};

use crate::units::grouped;

/// A field for words by which a list is filtered.
pub fn filter_field(label: &'static str, words: RwSignal<String>) -> AnyView {
    view! { <label class="filter">{search_input(label.to_owned(), || "Filter".to_owned(), words)}</label> }.into_any()
}

fn search_input(label: String, placeholder: impl Fn() -> String + Send + 'static, words: RwSignal<String>) -> AnyView {
    view! {
        <input
            type="search"
            aria-label=label
            placeholder=placeholder
            prop:value=move || words.get()
            on:input:target=move |event| words.set(event.target().value())
        />
    }
    .into_any()
}

/// Whether an event comes from a field that takes keys, such as a text field or a list.
pub fn is_typing(event: &Event) -> bool {
    const FIELDS: &str = "input:not([type=checkbox], [type=radio], [type=file], [type=button]), select, textarea";
    let element = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    element.is_some_and(|element| element.matches(FIELDS).unwrap_or_default())
}

/// A field for a number within a range, with what it expects and a placeholder; `take` returns whether the text was
/// used. A text that can't be used shows an error, and the last valid value stays.
pub fn number_field(
    label: String,
    [least, most, step]: [String; 3],
    [expected, placeholder]: [String; 2],
    value: Box<dyn Fn() -> String + Send>,
    take: Box<dyn Fn(&str) -> bool>,
) -> AnyView {
    let wrong = RwSignal::new(false);
    view! {
        <label class="field">
            {term(label)}
            <input
                type="number"
                inputmode="decimal"
                min=least
                max=most
                step=step
                placeholder=placeholder
                aria-invalid=move || wrong.get().then_some("true")
                prop:value=value
                on:change:target=move |event| wrong.set(!take(event.target().value().trim()))
            />
            <Show when=move || wrong.get()>
                <small class="wrong">{expected.clone()}</small>
            </Show>
        </label>
    }
    .into_any()
}

/// A list of which one value is chosen.
#[component]
pub fn ChoiceField<T>(
    label: &'static str,
    choices: impl Fn() -> Vec<(T, String)> + Clone + Send + 'static,
    value: impl Fn() -> Option<T> + Send + 'static,
    on_value: impl Fn(T) + 'static,
) -> impl IntoView
where
    T: PartialEq + 'static,
{
    let all = choices.clone();
    let options = move || {
        let value = value();
        all().into_iter().map(|(choice, text)| (text, value.as_ref() == Some(&choice))).collect()
    };
    let change = move |index: usize| {
        if let Some((chosen, _)) = untrack(&choices).into_iter().nth(index) {
            on_value(chosen);
        }
    };
    choice_field(label.to_owned(), Box::new(options), Box::new(change))
}

/// A list with more options than this shows the first of them and a search field for the others.
const MAX_OPTIONS: usize = 200;

/// The part of [`ChoiceField`] that doesn't depend on the type: the names of the options and whether each is chosen.
pub fn choice_field(
    label: String,
    options: Box<dyn Fn() -> Vec<(String, bool)> + Send>,
    change: Box<dyn Fn(usize)>,
) -> AnyView {
    let list = NodeRef::<html::Select>::new();
    let stands = RefCell::new(Vec::new());
    let wanted = RwSignal::new(String::new());
    // The number of options, and the indices of those in the list.
    let all = RwSignal::new(0_usize);
    let listed = StoredValue::new(Vec::<usize>::new());
    effect(move || {
        let Some(list) = list.get() else { return };
        let options = options();
        if all.get_untracked() != options.len() {
            all.set(options.len());
        }
        let is_long = options.len() > MAX_OPTIONS;
        let wanted = if is_long { wanted.with(|wanted| wanted.trim().to_lowercase()) } else { String::new() };
        let is_kept = |text: &str| wanted.is_empty() || text.to_lowercase().contains(&wanted);
        let mut most = MAX_OPTIONS;
        // The chosen option is always in the list, in its position.
        let kept = options.into_iter().enumerate().filter(|(_, (text, is_selected))| {
            *is_selected
                || most > 0 && is_kept(text) && {
                    most -= 1;
                    true
                }
        });
        let (places, kept): (Vec<usize>, Vec<(String, bool)>) = kept.unzip();
        listed.set_value(places);
        let (texts, is_selected): (Vec<String>, Vec<bool>) = kept.into_iter().unzip();
        // Writing into an open list closes it or loses its highlight, so only changes are written.
        if *stands.borrow() != texts {
            list.set_length(0);
            for text in &texts {
                if let Ok(option) = document().create_element("option") {
                    option.set_text_content(Some(text));
                    let _ = list.append_child(&option);
                }
            }
            stands.replace(texts);
        }
        let selected = is_selected.iter().position(|is_selected| *is_selected).unwrap_or(0) as i32;
        if list.selected_index() != selected {
            list.set_selected_index(selected);
        }
    });
    let find = {
        let label = format!("Find in {label}");
        move || search_input(label.clone(), move || format!("Find in {}", grouped(all.get() as u64)), wanted)
    };
    let choose = move |at: usize| {
        if let Some(at) = listed.with_value(|listed| listed.get(at).copied()) {
            change(at);
        }
    };
    view! {
        <label class="field">
            {term(label)}
            <select
                node_ref=list
                on:change:target=move |event| choose(event.target().selected_index() as usize)
            ></select>
        </label>
        <Show when=move || { all.get() > MAX_OPTIONS }>{find.clone()}</Show>
    }
    .into_any()
}
