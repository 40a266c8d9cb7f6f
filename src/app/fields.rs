//! Form fields: a label, a control, and what is wrong with what stands in it.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

use crate::app::live::{Show, live};
use leptos::prelude::*;

/// A number within a range. What can't be taken is said, and the last good value stays.
#[component]
pub fn NumberField<T>(
    label: &'static str,
    value: Signal<T>,
    range: RangeInclusive<T>,
    #[prop(default = "1")] step: &'static str,
    on_value: UnsyncCallback<T>,
) -> impl IntoView
where
    T: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    let wrong = RwSignal::new(false);
    let (least, most) = (range.start().to_string(), range.end().to_string());
    let hint = format!("a number from {least} to {most}");
    let change = move |text: String| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        wrong.set(number.is_none());
        if let Some(number) = number {
            on_value.run(number);
        }
    };
    view! {
        <label class="field">
            <span>{label}</span>
            <input
                type="number"
                inputmode="decimal"
                min=least
                max=most
                step=step
                aria-invalid=move || wrong.get().then_some("true")
                prop:value=move || value.get().to_string()
                on:change:target=move |event| change(event.target().value())
            />
            <Show when=move || wrong.get()>
                <small class="wrong">{hint.clone()}</small>
            </Show>
        </label>
    }
}

/// One of several values.
#[component]
pub fn ChoiceField<T>(
    label: &'static str,
    #[prop(into)] choices: Signal<Vec<(T, String)>>,
    #[prop(into)] value: Signal<Option<T>>,
    on_value: UnsyncCallback<T>,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let change = move |index: i32| {
        let chosen = choices.with(|choices| choices.get(index as usize).map(|(value, _)| value.clone()));
        if let Some(chosen) = chosen {
            on_value.run(chosen);
        }
    };
    // The options are made anew with every change, so that the selected one is always the value.
    let options = move || {
        let value = value.get();
        let option = |(choice, text): (T, String)| {
            let selected = value.as_ref() == Some(&choice);
            view! { <option selected=selected>{text}</option> }
        };
        choices.get().into_iter().map(option).collect_view()
    };
    view! {
        <label class="field">
            <span>{label}</span>
            <select on:change:target=move |event| change(event.target().selected_index())>{live(options)}</select>
        </label>
    }
}

/// Yes or no for each of several values.
#[component]
pub fn ManyField<T>(
    label: &'static str,
    choices: Vec<(T, &'static str)>,
    value: Signal<Vec<T>>,
    on_value: UnsyncCallback<Vec<T>>,
) -> impl IntoView
where
    T: Copy + PartialEq + Send + Sync + 'static,
{
    let item = move |(choice, text): (T, &'static str)| {
        let toggle = move |on: bool| {
            let mut chosen = value.get_untracked();
            chosen.retain(|other| *other != choice);
            chosen.extend(on.then_some(choice));
            on_value.run(chosen);
        };
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    prop:checked=move || value.with(|chosen| chosen.contains(&choice))
                    on:change:target=move |event| toggle(event.target().checked())
                />
                <span>{text}</span>
            </label>
        }
    };
    view! {
        <fieldset class="field many">
            <legend>{label}</legend>
            <div class="checks">{choices.into_iter().map(item).collect_view()}</div>
        </fieldset>
    }
}
