//! Keeps the address and the history of the browser equal to what is chosen. Each choice is an entry of the history:
//! Back undoes it, Forward makes it again. Choices that the address doesn't hold (how to train) are stored
//! in the state of the entry.

use js_sys::Uint8Array;
use leptos::{ev, prelude::*};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::{example::Example, reactive, report::ReportReader, session::Session};
use crate::{
    form,
    report::Workbench,
    tuning::{
        address::{Address, Panel},
        aggregate::Target,
        heat_map::Against,
        parameters::Parameters,
        sets::SetChoice,
    },
};

/// The choices that are not part of the address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HistoryState {
    parameters: Parameters,
    target: Target,
}

impl HistoryState {
    fn of(session: Session) -> Self {
        Self { parameters: session.tuning.trained_with.get(), target: session.tuning.target.get() }
    }

    fn to_state(&self) -> JsValue {
        postcard::to_allocvec(self).map_or(JsValue::NULL, |bytes| Uint8Array::from(bytes.as_slice()).into())
    }

    fn from_state(state: &JsValue) -> Option<Self> {
        postcard::from_bytes(&state.dyn_ref::<Uint8Array>()?.to_vec()).ok()
    }

    /// Sets these choices, and reads or trains again where they differ from the current ones.
    fn restore(self, session: Session) {
        let reads_again = session.tuning.target.get_untracked() != self.target;
        let learns_again = session.tuning.trained_with.get_untracked() != self.parameters;
        session.tuning.target.set(self.target);
        session.tuning.trained_with.set(self.parameters.clone());
        session.tuning.parameters.set(self.parameters);
        match untrack(move || session.tuning.has_data()) {
            true if reads_again => session.load(),
            true if learns_again => session.train(),
            _ => {}
        }
    }
}

/// The fragment of the address, with its `#`.
pub fn fragment() -> String {
    window().location().hash().unwrap_or_default()
}

/// The entry of the history that was written last.
#[derive(Clone, PartialEq)]
struct HistoryEntry {
    /// The fragment of the address; empty if nothing in particular is shown.
    fragment: String,
    choices: HistoryState,
    is_report: bool,
    has_data: bool,
    /// The number of the slider drag under way: its values share one entry.
    drag: Option<u32>,
}

/// Writes choices into the history, and follows Back, Forward and addresses that the user enters.
pub fn synchronize(session: Session, reader: ReportReader, example: Example) {
    let entry = StoredValue::new(None::<HistoryEntry>);
    reactive::effect(move || {
        let (address, panel, against) = (
            session.tuning.address.get(),
            session.tuning.panel.get(),
            Against::default_if(session.tuning.against_default.get()),
        );
        let workbench = session.workbench.get();
        let is_tuning = workbench == Workbench::Tuning;
        let choices = session.state_of(workbench).choices.get();
        let report = reader.fragment();
        // An empty address needs no fragment; only a full URL can remove one.
        let is_bare = address == Address::default()
            && (panel, against) == Default::default()
            && report.is_none()
            && is_tuning
            && choices.is_empty();
        let now = HistoryEntry {
            is_report: report.is_some(),
            fragment: match report {
                Some(report) => report,
                None if is_bare => String::new(),
                None if !is_tuning => {
                    let example = if address.example || session.shows_example() { "&x=1" } else { "" };
                    workbench.fragment() + example + &choices.suffix()
                }
                None => address.fragment() + &panel.suffix() + against.suffix() + &choices.suffix(),
            },
            choices: HistoryState::of(session),
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
        let is_there = here == now.fragment;
        let is_new_choice = before.as_ref().is_some_and(|before| before.choices != now.choices);
        // The address of a view replaces one that left the choice open, because Back would only choose the view again.
        // Choices without data make no entry.
        let is_of_tuning = || is_tuning && Workbench::of(&here) == Workbench::Tuning;
        let was_open = || is_of_tuning() && Address::parse(&here).is_ok_and(|address| address == Address::default());
        let is_dragged_on = now.drag.is_some() && before.as_ref().is_some_and(|before| before.drag == now.drag);
        // After Back or Forward the entry exists already; a new one for the same address, written differently, would
        // only be a detour.
        let is_ours = before.as_ref().is_some_and(|before| before.fragment == here);
        let is_step = is_ours
            && !is_dragged_on
            && before.is_some_and(|before| before.has_data || before.is_report || now.is_report)
            && if is_there { is_new_choice } else { now.is_report || !was_open() };
        let Ok(history) = window().history() else { return };
        let is_kept = history.state().is_ok_and(|state| !state.is_null());
        if !(is_there && is_kept && !is_new_choice) {
            let url = if is_bare { window().location().pathname().unwrap_or_default() } else { now.fragment };
            let state = now.choices.to_state();
            let _ = if is_step {
                history.push_state_with_url(&state, "", Some(&url))
            } else {
                history.replace_state_with_url(&state, "", Some(&url))
            };
        }
    });
    let listener = window_event_listener(ev::popstate, move |event| {
        let here = fragment();
        let choices = HistoryState::from_state(&event.state());
        if reader.open_address(&here) {
            return;
        }
        let workbench = Workbench::of(&here);
        match Address::parse(&here) {
            // The workload of a sweep stays for the way back.
            Ok(_) if workbench != Workbench::Tuning && untrack(move || session.has_files()) => {
                session.workbench.set(workbench);
                session.choose_all(workbench, form::Choices::parse(&here));
            }
            Ok(address) => {
                session.workbench.set(workbench);
                session.choose_all(
                    workbench,
                    if workbench == Workbench::Tuning {
                        Address::panel_choices(&here)
                    } else {
                        form::Choices::parse(&here)
                    },
                );
                let pinned = session.resolved(address);
                let panel = Panel::of(&here);
                session.tuning.address.set(pinned);
                session.tuning.panel.set(panel);
                session.tuning.against_default.set(Against::of(&here) == Against::Default);
                if let Some(choices) = choices {
                    // They belong to this entry and must not make a new one.
                    entry.update_value(|entry| {
                        if let Some(entry) = entry {
                            entry.choices = choices.clone();
                        }
                    });
                    choices.restore(session);
                }
                example.open_if_asked(session);
            }
            Err(error) => session.notify(format!("{error}."), true, None),
        }
    });
    on_cleanup(move || listener.remove());
}
