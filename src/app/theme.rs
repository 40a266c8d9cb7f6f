//! Light, dark, or as the system has it.

use leptos::{ev, prelude::*};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::MediaQueryListEvent;

use crate::{app::live::follow, plot::Theme};

/// What the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choice {
    #[default]
    System,
    Light,
    Dark,
}

const CHOICES: [(Choice, &str, &str); 3] =
    [(Choice::System, "system", "Auto"), (Choice::Light, "light", "Light"), (Choice::Dark, "dark", "Dark")];

/// The theme of the page, for what can't take it from the style sheet.
#[derive(Clone, Copy)]
pub struct ActiveTheme(Signal<Theme>, RwSignal<Choice>);

impl ActiveTheme {
    /// Follows the system and the stored choice.
    pub fn follow() -> Self {
        let choice = RwSignal::new(chosen(storage().and_then(|storage| storage.get_item("theme").ok()?).as_deref()));
        let query = window().match_media("(prefers-color-scheme: dark)").ok().flatten();
        let system_is_dark = RwSignal::new(query.as_ref().is_some_and(web_sys::MediaQueryList::matches));
        if let Some(query) = query {
            let on_change = Closure::<dyn Fn(MediaQueryListEvent)>::new(move |event: MediaQueryListEvent| {
                system_is_dark.set(event.matches());
            });
            query.set_onchange(Some(on_change.as_ref().unchecked_ref()));
            // The page follows the system as long as it lives.
            on_change.forget();
            std::mem::forget(query);
        }
        // Other tabs of the page choose for all of them.
        window_event_listener(ev::storage, move |event| {
            if event.key().as_deref() == Some("theme") {
                choice.set(chosen(event.new_value().as_deref()));
            }
        });
        let theme = Signal::derive(move || match (choice.get(), system_is_dark.get()) {
            (Choice::Dark, _) | (Choice::System, true) => Theme::Dark,
            _ => Theme::Light,
        });
        follow(move || {
            let root = document().document_element();
            let name = CHOICES.iter().find(|(c, ..)| *c == choice.get()).map(|(_, name, _)| *name);
            if let (Some(root), Some(name)) = (root, name) {
                // Both fail only where storage is forbidden or full; the choice then lasts for this visit.
                let _ = match name {
                    "system" => root.remove_attribute("data-theme"),
                    name => root.set_attribute("data-theme", name),
                };
                let _ = storage().map(|storage| storage.set_item("theme", name));
            }
        });
        Self(theme, choice)
    }

    /// Light or dark.
    pub fn signal(self) -> Signal<Theme> {
        self.0
    }
}

fn chosen(stored: Option<&str>) -> Choice {
    let stored = CHOICES.iter().find(|(_, name, _)| stored == Some(name));
    stored.map_or(Choice::System, |(choice, ..)| *choice)
}

/// What the browser keeps for the page, where it keeps anything.
pub fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

/// Chooses the theme.
#[component]
pub fn ThemeChoice() -> impl IntoView {
    let ActiveTheme(_, choice) = expect_context();
    let button = move |(value, name, label): (Choice, &'static str, &'static str)| {
        view! {
            <label class="segment">
                <input
                    type="radio"
                    name="theme"
                    value=name
                    prop:checked=move || choice.get() == value
                    on:change=move |_| choice.set(value)
                />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="segments">
            <legend class="visually-hidden">"Theme"</legend>
            {CHOICES.map(button).collect_view()}
        </fieldset>
    }
}
