//! Draws the form of a workbench. A field is kept while its key and kind stay the same, so that the focus stays in it
//! when the answer changes.

use leptos::prelude::*;

use crate::{
    app::{
        fields::{choice_field, number_field},
        list::ListLimit,
        menu::{Menu, MenuEntry},
        pass_value::pass_button,
        question::Question,
        reactive::{For, Show, handler, reactive},
        session::{Session, WorkbenchState},
        signal::{RwSignal, Signal, memo},
        terms::term,
    },
    form::{Choices, Control, Field, Group},
    report::Workbench,
    units::significant,
    workbench::{AttachmentKind, PassedValue, WorkbenchView},
};

/// The number of suggestions of a text field.
const MAX_SUGGESTIONS: usize = 200;

/// The number of files up to which each has a button that saves it; more files are chosen from a menu.
const MAX_BUTTONS: usize = 2;

/// The fields above the answer, and those of groups that have no section.
#[component]
pub(super) fn ChoiceBar(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let state = session.state_of(workbench);
    let groups = move || {
        state.shown.with(|shown| {
            let Some(shown) = shown else { return Vec::new() };
            let has_section = |group| shown.report.sections.iter().any(|section| section.form.as_ref() == Some(group));
            let mut groups: Vec<Group> = Vec::new();
            for group in shown.form.iter().filter_map(|field| field.group.as_ref()) {
                if !groups.contains(group) && !has_section(group) {
                    groups.push(group.clone());
                }
            }
            groups
        })
    };
    let group_view = move |group: Group| {
        let number = group.number;
        let words = move || state.shown.with(|shown| shown.as_ref().map(|shown| summary(&group, &shown.form)));
        view! {
            <details class="limits">
                <summary>{reactive(words)}</summary>
                <div class="own">
                    <Fields workbench group=Some(number) />
                </div>
            </details>
        }
    };
    view! {
        <Question label="Choices">
            <Fields workbench group=None />
            <For each=groups key=|group| group.number children=group_view />
        </Question>
    }
}

/// What can be done with the answer: its files saved, and its value passed to another workbench.
#[component]
pub(super) fn Actions(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let state = session.state_of(workbench);
    let files = move || state.shown.with(|shown| shown.as_ref().map(|shown| shown.files.clone()).unwrap_or_default());
    let button = move |(key, label): (String, String)| {
        view! { <button type="button" on:click=handler(move |_| session.save(workbench, key.clone()))>{label}</button> }
    };
    let entry =
        move |(key, label): (String, String)| MenuEntry::action(label, move || session.save(workbench, key.clone()));
    let entries = UnsyncCallback::new(move |()| untrack(files).into_iter().map(entry).collect());
    let save = move || {
        let all = files();
        if all.len() <= MAX_BUTTONS {
            return all.into_iter().map(button).collect_view().into_any();
        }
        view! {
            <span class="menus">
                <Menu label="Save" name="Save a file" entries />
            </span>
        }
        .into_any()
    };
    let times = move || {
        state.shown.with(|shown| shown.as_ref().and_then(|shown| shown.attachment::<f64>(AttachmentKind::Slowdown)))
    };
    let label = move || format!("Use ×{} in training time", times().map(significant).unwrap_or_default());
    let given = move || times().map(PassedValue::Slowdown);
    view! {
        {pass_button(label, given)}
        <Show when=move || !files().is_empty()>
            <div class="export" role="group" aria-label="Files">
                {reactive(save)}
            </div>
        </Show>
    }
}

/// The heading of a collapsed group, which says what is chosen in it.
fn summary(group: &Group, form: &[Field]) -> String {
    let mut fields = form.iter().filter(|field| field.group.as_ref() == Some(group));
    let title = &group.title;
    match (fields.next(), fields.next()) {
        (Some(Field { control: Control::Many(options), value, .. }), None) => {
            let chosen = value.split(',').filter(|value| !value.is_empty()).count();
            format!("{title}: {chosen} of {}", options.len())
        }
        _ => title.to_string(),
    }
}

/// The form of a group in its section.
#[component]
pub(super) fn GroupForm(
    workbench: Workbench,
    /// The number of the group.
    group: Option<u8>,
    /// The label of the button that makes all choices of the form.
    #[prop(into)]
    submit: Signal<Option<String>>,
) -> impl IntoView {
    let session: Session = expect_context();
    let state = session.state_of(workbench);
    let groups = move || {
        let of_form = |shown: &WorkbenchView| group.is_some() && shown.form.iter().any(|field| number(field) == group);
        let is_there = state.shown.with(|shown| shown.as_deref().is_some_and(of_form));
        group.filter(|_| is_there).into_iter().collect::<Vec<_>>()
    };
    let form = move |group: u8| {
        let draft = submit.with_untracked(Option::is_some).then(|| RwSignal::new(Choices::default()));
        let send = move |event: leptos::ev::SubmitEvent| {
            event.prevent_default();
            let Some(draft) = draft else { return };
            let fields = state.shown.with_untracked(|shown| shown.as_ref().map(|shown| shown.form.clone()));
            let edited = draft.get_untracked();
            let value = |field: &Field| edited.get(&field.key).unwrap_or(&field.value).to_owned();
            let of_group = fields.iter().flatten().filter(|field| number(field) == Some(group));
            let chosen: Vec<_> = of_group.map(|field| (field.key.clone(), value(field))).collect();
            session.choose_together(workbench, &chosen);
            // From here on the fields show what is chosen, which Back may take back.
            draft.set(Choices::default());
        };
        let usual = move || {
            let fields = |shown: &Option<std::sync::Arc<WorkbenchView>>| {
                let fields = shown.iter().flat_map(|shown| &shown.form).filter(|field| number(field) == Some(group));
                fields.map(|field| (field.key.clone(), field.usual.clone())).collect::<Vec<_>>()
            };
            state.shown.with(fields)
        };
        let is_usual = move || {
            let held = |key: &str| of_draft(draft, state, key);
            usual().iter().all(|(key, usual)| held(key).is_none_or(|held| held == *usual))
        };
        let reset = move |_| {
            let usual = untrack(usual);
            draft
                .into_iter()
                .for_each(|draft| draft.update(|draft| usual.iter().for_each(|(key, value)| draft.set(key, value))));
        };
        let defaults = draft.is_some().then(|| {
            view! { <button type="button" disabled=is_usual on:click=handler(reset)>"Defaults"</button> }
        });
        let button = submit.get_untracked().map(|label| {
            view! { <button type="submit" class="primary">{label}</button> }
        });
        view! {
            <form class="own" on:submit=handler(send)>
                <Fields workbench group=Some(group) draft />
                {button}
                {defaults}
            </form>
        }
    };
    view! { <For each=groups key=u8::clone children=form /> }
}

/// The value of a field of a form that is sent: as it was edited, else as it was chosen.
fn of_draft(draft: Option<RwSignal<Choices>>, state: WorkbenchState, key: &str) -> Option<String> {
    let get = |choices: &Choices| choices.get(key).map(str::to_owned);
    draft?.with(get).or_else(|| state.choices.with(get)).or_else(|| state.of_field(key, |field| field.value.clone()))
}

/// The number of a field's group.
fn number(field: &Field) -> Option<u8> {
    field.group.as_ref().map(|group| group.number)
}

/// The fields of a group.
#[component]
fn Fields(
    workbench: Workbench,
    group: Option<u8>,
    /// What was edited since the form was sent; without it each edit is a choice.
    #[prop(default = None)]
    draft: Option<RwSignal<Choices>>,
) -> impl IntoView {
    let state = expect_context::<Session>().state_of(workbench);
    let fields = move || {
        state.shown.with(|shown| {
            let fields = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
            let held =
                |key: &str| of_draft(draft, state, key).or_else(|| state.of_field(key, |field| field.value.clone()));
            let is_meant = |field: &&Field| {
                let only = field.only_for.as_ref();
                only.is_none_or(|(key, values)| held(key).is_none_or(|held| values.contains(&held)))
            };
            let of_group = fields.iter().filter(|field| number(field) == group).filter(is_meant);
            of_group.map(|field| (field.key.clone(), field.label.clone(), kind(&field.control))).collect::<Vec<_>>()
        })
    };
    let view = move |(key, label, kind): (String, String, u8)| field(workbench, state, draft, key, label, kind);
    view! { <For each=fields key=Clone::clone children=view /> }
}

fn kind(control: &Control) -> u8 {
    match control {
        Control::One(_) => 0,
        Control::Many(_) => 1,
        Control::Switch => 2,
        Control::Number => 3,
        Control::Slider { .. } => 4,
        Control::Text(_) => 5,
        Control::Lines => 6,
        Control::NumberWithin { .. } => 7,
    }
}

fn field(
    workbench: Workbench,
    state: WorkbenchState,
    draft: Option<RwSignal<Choices>>,
    key: String,
    label: String,
    kind: u8,
) -> AnyView {
    let session: Session = expect_context();
    // Every kind of field needs its value and the handler of changes.
    let key = StoredValue::new(key);
    // A field is written only when its value differs: an answer must not overwrite what is being typed.
    let held = memo(move || {
        key.with_value(|key| of_draft(draft, state, key).or_else(|| state.of_field(key, |field| field.value.clone())))
    });
    let value = move || held.get().unwrap_or_default();
    let choose = move |value: &str| match draft {
        Some(draft) => draft.update(|draft| draft.set(&key.get_value(), value.trim())),
        None => session.choose(workbench, &key.get_value(), value.trim()),
    };
    let hint = move || key.with_value(|key| state.of_field(key, |field| field.hint.clone())).unwrap_or_default();
    let options = move || {
        let find = |field: &Field| match &field.control {
            Control::One(options) | Control::Many(options) => options.clone(),
            Control::Text(likely) => likely.iter().map(|text| (text.clone(), String::new())).collect(),
            _ => Vec::new(),
        };
        key.with_value(|key| state.of_field(key, find)).unwrap_or_default()
    };
    match kind {
        0 => {
            // The list shows the current choice: an answer to an earlier one may still come.
            let chosen = move |key: &String| {
                let chosen = || state.choices.with(|choices| choices.get(key).map(str::to_owned));
                of_draft(draft, state, key).or_else(chosen).or_else(|| state.of_field(key, |field| field.usual.clone()))
            };
            let all = move || {
                let options = options();
                let chosen = key.with_value(chosen).filter(|chosen| options.iter().any(|(option, _)| option == chosen));
                let value = chosen.unwrap_or_else(value);
                options.into_iter().map(|(option, text)| (text, option == value)).collect()
            };
            let change = move |index: usize| {
                if let Some((option, _)) = untrack(options).get(index) {
                    choose(option);
                }
            };
            let field = choice_field(label, Box::new(all), Box::new(change));
            let other = key.with_value(|key| state.of_field_untracked(key, |field| field.swaps_with.clone()));
            let Some(other) = other.flatten() else { return field };
            let swap = move |_| {
                let here = key.get_value();
                let held = |key: &str| state.of_field_untracked(key, |field| field.value.clone()).unwrap_or_default();
                let (value, others) = (held(&here), held(&other));
                session.choose_together(workbench, &[(here, others), (other.clone(), value)]);
            };
            view! {
                {field}
                <button type="button" on:click=handler(swap)>"Swap"</button>
            }
            .into_any()
        }
        1 => {
            let toggle = move |option: &str, on: bool| {
                let held = untrack(value);
                let is_on = |other: &str| if other == option { on } else { held.split(',').any(|held| held == other) };
                let chosen: Vec<String> =
                    untrack(options).into_iter().map(|(other, _)| other).filter(|other| is_on(other)).collect();
                choose(&chosen.join(","));
            };
            let item = move |(option, text): (String, String)| {
                let name = option.clone();
                let is_on = move || value().split(',').any(|held| held == name);
                check(text, String::new(), Box::new(is_on), Box::new(move |on| toggle(&option, on)))
            };
            // The heading of its group names it already.
            let is_alone = state.shown.with_untracked(|shown| {
                let form = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
                let group = form.iter().find(|field| key.with_value(|key| field.key == *key)).map(number);
                form.iter().filter(|field| Some(number(field)) == group).count() < 2
            });
            let shown = ListLimit::initial();
            let listed = move || options().into_iter().take(shown.get()).collect::<Vec<_>>();
            view! {
                <fieldset class="field many">
                    <legend class:visually-hidden=is_alone>{term(label)}</legend>
                    <div class="checks">
                        <For each=listed key=|option| option.0.clone() children=item />
                    </div>
                    {shown.more_button(move || options().len())}
                </fieldset>
            }
            .into_any()
        }
        2 => check(
            label,
            hint(),
            Box::new(move || value() == "1"),
            Box::new(move |on| choose(if on { "1" } else { "" })),
        ),
        3 => view! {
            <label class="field">
                {term(label)}
                <input
                    type="number"
                    inputmode="decimal"
                    step="any"
                    placeholder=hint
                    prop:value=value
                    on:change:target=move |event| choose(&event.target().value())
                />
            </label>
        }
        .into_any(),
        4 => {
            let bound = move |which: usize| {
                let find = |field: &Field| match field.control {
                    Control::Slider { least, most, step } => [least, most, step][which].to_string(),
                    _ => String::new(),
                };
                key.with_value(|key| state.of_field(key, find)).unwrap_or_default()
            };
            // A change does not end the drag: a key that is held down makes a change with each value.
            let end = move || state.drag.set_value(None);
            // The label's first control is the output: without a name of its own the slider has none.
            let name = label.clone();
            view! {
                <label class="field slider">
                    <span>{term(label)} " " <output>{reactive(value)}</output></span>
                    <input
                        type="range"
                        aria-label=name
                        min=move || bound(0)
                        max=move || bound(1)
                        step=move || bound(2)
                        title=hint
                        prop:value=value
                        on:input:target=move |event| state.continue_drag(|| choose(&event.target().value()))
                        on:pointerup=handler(move |_| end())
                        on:pointercancel=handler(move |_| end())
                        on:keyup=handler(move |_| end())
                        on:blur=handler(move |_| end())
                    />
                </label>
            }
            .into_any()
        }
        5 => {
            let list = format!("likely-{}", key.get_value());
            let likely = move || {
                let likely = options().into_iter().take(MAX_SUGGESTIONS);
                likely.map(|(text, _)| view! { <option value=text></option> }).collect_view()
            };
            view! {
                <label class="field wide">
                    {term(label)}
                    <input
                        type="text"
                        list=list.clone()
                        autocomplete="off"
                        spellcheck="false"
                        placeholder=hint
                        prop:value=value
                        on:change:target=move |event| choose(&event.target().value())
                    />
                    <datalist id=list>{reactive(likely)}</datalist>
                </label>
            }
            .into_any()
        }
        7 => {
            let range = move |find: fn(f64, f64, bool) -> String| {
                let of = |field: &Field| match field.control {
                    Control::NumberWithin { least, most, is_whole } => find(least, most, is_whole),
                    _ => String::new(),
                };
                key.with_value(|key| state.of_field_untracked(key, of)).unwrap_or_default()
            };
            let [least, most] = [range(|least, _, _| least.to_string()), range(|_, most, _| most.to_string())];
            let expected = key.with_value(|key| state.of_field_untracked(key, |field| field.control.expected()));
            let step = range(|_, _, is_whole| if is_whole { "1" } else { "any" }.to_owned());
            let is_within = move |text: &str| {
                let is_within = |field: &Field| field.takes(text);
                key.with_value(|key| state.of_field_untracked(key, is_within)) == Some(true)
            };
            let take = move |text: &str| {
                let is_within = is_within(text);
                if is_within {
                    choose(text);
                }
                is_within
            };
            let words = [expected.unwrap_or_default(), untrack(hint)];
            number_field(label, [least, most, step], words, Box::new(value), Box::new(take))
        }
        _ => view! {
            <label class="field wide">
                {term(label)}
                <textarea
                    rows="6"
                    spellcheck="false"
                    placeholder=hint
                    prop:value=value
                    on:change:target=move |event| choose(&event.target().value())
                ></textarea>
            </label>
        }
        .into_any(),
    }
}

fn check(label: String, title: String, is_on: Box<dyn Fn() -> bool + Send>, on_change: Box<dyn Fn(bool)>) -> AnyView {
    view! {
        <label class="check" title=(!title.is_empty()).then_some(title)>
            <input type="checkbox" prop:checked=is_on on:change:target=move |event| on_change(event.target().checked()) />
            {term(label)}
        </label>
    }
    .into_any()
}
