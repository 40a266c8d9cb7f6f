//! Keeps the address and the history of the browser equal to what is chosen. Each choice is an entry of the history:
//! Back undoes it, Forward makes it again.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsValue;

use super::{example::Example, reactive, report::ReportReader, session::Session};
use crate::{
    form::{self, Choices},
    report::Workbench,
    tuning::{
        address::{Address, AddressError},
        sets::SetChoice,
    },
};

/// The fragment of the address, with its `#`.
pub fn fragment() -> String {
    window().location().hash().unwrap_or_default()
}

/// The entry of the history that was written last.
#[derive(Clone, PartialEq)]
struct HistoryEntry {
    /// The fragment of the address; empty if nothing in particular is shown.
    fragment: String,
    is_report: bool,
    has_data: bool,
    /// The number of the slider drag under way: its values share one entry.
    drag: Option<u32>,
}

/// Writes choices into the history, and follows Back, Forward and addresses that the user enters. A notice says why an
/// address can't be read, and goes with it; `broken` is that of the address with which the page was opened.
pub fn synchronize(session: Session, reader: ReportReader, example: Example, broken: Option<AddressError>) {
    let notified = StoredValue::new(String::new());
    let notify_of = move |error: AddressError| {
        let text = format!("{error}.");
        notified.set_value(text.clone());
        session.notify(text, true, None);
    };
    broken.into_iter().for_each(notify_of);
    let entry = StoredValue::new(None::<HistoryEntry>);
    // Tells entries of this visit from those of an earlier one, whose files are gone.
    let visit = js_sys::Date::now().to_string();
    let of_visit = visit.clone();
    reactive::effect(move || {
        let address = session.tuning.address.get();
        let workbench = session.workbench.get();
        let is_tuning = workbench == Workbench::Tuning;
        let choices = session.state_of(workbench).choices.get();
        let tab = session.state_of(workbench).tab.get();
        let report = reader.fragment();
        // An empty address needs no fragment; only a full URL can remove one.
        let is_bare = address == Address::default() && report.is_none() && is_tuning && choices.is_empty();
        let now = HistoryEntry {
            is_report: report.is_some(),
            fragment: match report {
                Some(report) => report,
                None if is_bare => String::new(),
                None if !is_tuning => {
                    let example = if address.example || session.shows_example() { "&x=1" } else { "" };
                    let tab = if tab.is_empty() { tab } else { format!("&tab={tab}") };
                    workbench.fragment() + example + &tab + &choices.suffix()
                }
                None => address.fragment_with(&choices),
            },
            has_data: session.tuning.has_data() || session.state_of(workbench).has_answer(),
            drag: session.state_of(workbench).drag.get_value(),
        };
        document().set_title(&match reader.title() {
            Some(title) => format!("{title} – Collectune"),
            None if is_bare => "Collectune".to_owned(),
            None if !is_tuning => format!("{} – Collectune", workbench.name()),
            None => format!("{} – Collectune", Address { set: SetChoice::Largest, ..address }),
        });
        let before = entry.try_update_value(|entry| entry.replace(now.clone())).flatten();
        let here = fragment();
        // The address of a view replaces one that left the choice open, because Back would only choose the view again.
        // Choices without data make no entry.
        let is_of_tuning = || is_tuning && Workbench::of(&here) == Workbench::Tuning;
        let was_open = || is_of_tuning() && Address::parse(&here).is_ok_and(|address| address == Address::default());
        let is_dragged_on = now.drag.is_some() && before.as_ref().is_some_and(|before| before.drag == now.drag);
        // After Back or Forward the entry exists already; a new one for the same address, written differently, would
        // only be a detour.
        let is_ours = before.as_ref().is_some_and(|before| before.fragment == here);
        // Choices that follow their files are no step of anybody's.
        let has_followed = session.state_of(workbench).takes_following();
        let is_step = is_ours
            && !is_dragged_on
            && !has_followed
            && before.is_some_and(|before| before.has_data || before.is_report || now.is_report)
            && (now.is_report || !was_open());
        let Ok(history) = window().history() else { return };
        if here != now.fragment {
            let url = if is_bare { window().location().pathname().unwrap_or_default() } else { now.fragment };
            let files_changed = session.state_of(workbench).files_changed();
            let state = JsValue::from_str(&format!("{of_visit} {files_changed}"));
            let _ = if is_step {
                history.push_state_with_url(&state, "", Some(&url))
            } else {
                history.replace_state_with_url(&state, "", Some(&url))
            };
        }
    });
    let listener = window_event_listener(ev::popstate, move |event| {
        let here = fragment();
        let state = event.state().as_string().unwrap_or_default();
        let files_changed = state.strip_prefix(&visit).and_then(|rest| rest.trim().parse::<usize>().ok());
        session.withdraw(&notified.get_value());
        if reader.open_address(&here) {
            return;
        }
        let workbench = Workbench::of(&here);
        let state = session.state_of(workbench);
        let show = || {
            session.workbench.set(workbench);
            state.tab.set(form::tab(&here));
        };
        let choose = |choices: Choices| {
            let is_other = state.choices.with_untracked(|held| *held != choices);
            if let Some(time) = files_changed.filter(|time| is_other && *time < state.files_changed()) {
                state.expect_choices_of(time);
            }
            session.choose_all(workbench, choices);
        };
        match Address::parse(&here) {
            // The workload of a sweep stays for the way back.
            Ok(_) if workbench != Workbench::Tuning && untrack(move || session.has_files()) => {
                show();
                choose(Choices::parse(&here));
            }
            Ok(address) => {
                show();
                let mut choices = Choices::parse(&here);
                let is_tuning = workbench == Workbench::Tuning;
                // What the address leaves open is filled in at once: otherwise it would be a step of its own.
                let address = if is_tuning { session.resolved(address) } else { address };
                if is_tuning {
                    let pairs = address.choices();
                    pairs
                        .iter()
                        .filter(|(_, value)| !value.is_empty())
                        .for_each(|(key, value)| choices.set(key, value));
                }
                session.tuning.names_example.set(address.example);
                choose(choices);
                example.open_if_asked(session);
            }
            Err(error) => notify_of(error),
        }
    });
    on_cleanup(move || listener.remove());
}
