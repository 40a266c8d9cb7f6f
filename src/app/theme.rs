//! The theme: light, dark, or that of the system.

use leptos::{ev, prelude::*};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::MediaQueryListEvent;

use crate::{
    app::{
        printing::Printing,
        reactive::{effect, handler},
        signal::{RwSignal, Signal, memo},
    },
    plot::Theme,
};

/// The choice of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ThemeSetting {
    #[default]
    System,
    Light,
    Dark,
}

const SETTINGS: [(ThemeSetting, &str, &str); 3] = [
    (ThemeSetting::System, "system", "Auto"),
    (ThemeSetting::Light, "light", "Light"),
    (ThemeSetting::Dark, "dark", "Dark"),
];

/// The theme of the page, for code that can't use the style sheet. Copies share it.
#[derive(Clone, Copy)]
pub struct ActiveTheme(Signal<Theme>, RwSignal<ThemeSetting>);

impl ActiveTheme {
    /// Follows the system, the stored choice, and other tabs. What is drawn is light while the browser prints.
    pub fn new(Printing(is_printing): Printing) -> Self {
        let setting =
            RwSignal::new(parse_setting(storage().and_then(|storage| storage.get_item("theme").ok()?).as_deref()));
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
        // The choice in another tab holds for all tabs.
        window_event_listener(ev::storage, move |event| {
            if event.key().as_deref() == Some("theme") {
                setting.set(parse_setting(event.new_value().as_deref()));
            }
        });
        let theme = memo(move || match (setting.get(), system_is_dark.get()) {
            _ if is_printing.get() => Theme::Light,
            (ThemeSetting::Dark, _) | (ThemeSetting::System, true) => Theme::Dark,
            _ => Theme::Light,
        });
        effect(move || {
            let root = document().document_element();
            let name = SETTINGS.iter().find(|(c, ..)| *c == setting.get()).map(|(_, name, _)| *name);
            if let (Some(root), Some(name)) = (root, name) {
                // Both fail only if storage is forbidden or full; then the choice lasts for this visit.
                let _ = match name {
                    "system" => root.remove_attribute("data-theme"),
                    name => root.set_attribute("data-theme", name),
                };
                let _ = storage().map(|storage| storage.set_item("theme", name));
            }
        });
        Self(theme, setting)
    }

    /// The light or the dark theme, with that of the system resolved.
    pub fn signal(self) -> Signal<Theme> {
        self.0
    }
}

fn parse_setting(stored: Option<&str>) -> ThemeSetting {
    let stored = SETTINGS.iter().find(|(_, name, _)| stored == Some(name));
    stored.map_or(ThemeSetting::System, |(setting, ..)| *setting)
}

/// The local storage, if the browser allows it.
pub fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

/// The three buttons that choose the theme.
#[component]
pub fn ThemeChoice() -> impl IntoView {
    let ActiveTheme(_, setting) = expect_context();
    let button = move |(value, name, label): (ThemeSetting, &'static str, &'static str)| {
        view! {
            <label class="segment">
                <input
                    type="radio"
                    name="theme"
                    value=name
                    prop:checked=move || setting.get() == value
                    on:change=handler(move |_| setting.set(value))
                />
                <span>{label}</span>
            </label>
        }
    };
    view! {
        <fieldset class="segments">
            <legend class="visually-hidden">"Theme"</legend>
            {SETTINGS.map(button).collect_view()}
        </fieldset>
    }
}
