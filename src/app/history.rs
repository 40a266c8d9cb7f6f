//! The address says what is shown, and each choice is an entry of the browser's history: Back undoes it, Forward does it
//! again. What an address doesn't hold (how to learn, who reads tuner files) stays beside it, in the entry.

use js_sys::Uint8Array;
use leptos::{ev, prelude::*};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::{example::Example, live, report::Reader, tuning::Bench};
use crate::tuning::{
    address::{Address, Panel},
    aggregate::Target,
    conf,
    heat_map::Against,
    parameters::Parameters,
    sets::SetChoice,
    support::Library,
};
use crate::{form, report::Workbench};

/// What is chosen besides the address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Choices {
    parameters: Parameters,
    target: Target,
    reader: conf::Reader,
    library: Library,
}

impl Choices {
    fn of(bench: Bench) -> Self {
        Self {
            parameters: bench.learnt_with.get(),
            target: bench.target.get(),
            reader: bench.reader.get(),
            library: bench.library.get(),
        }
    }

    fn to_state(&self) -> JsValue {
        postcard::to_allocvec(self).map_or(JsValue::NULL, |bytes| Uint8Array::from(bytes.as_slice()).into())
    }

    fn from_state(state: &JsValue) -> Option<Self> {
        postcard::from_bytes(&state.dyn_ref::<Uint8Array>()?.to_vec()).ok()
    }

    /// Takes them back, and reads or learns again where that changes.
    fn choose(self, bench: Bench) {
        let reads_again = bench.target.get_untracked() != self.target;
        let learns_again = bench.learnt_with.get_untracked() != self.parameters;
        bench.target.set(self.target);
        bench.reader.set(self.reader);
        bench.library.set(self.library);
        bench.learnt_with.set(self.parameters.clone());
        bench.parameters.set(self.parameters);
        match untrack(move || bench.has_data()) {
            true if reads_again => bench.load(),
            true if learns_again => bench.train(),
            _ => {}
        }
    }
}

/// The part of the address from its `#`.
pub fn fragment() -> String {
    window().location().hash().unwrap_or_default()
}

/// Where the history stands.
#[derive(Clone, PartialEq)]
struct Entry {
    /// The address's fragment; empty for that of nothing in particular.
    fragment: String,
    choices: Choices,
    is_report: bool,
    has_data: bool,
    /// The drag of a slider that is under way.
    drag: Option<u32>,
}

/// Writes what is chosen into the history, and follows it: Back and Forward, a link pasted into the bar.
pub fn follow(bench: Bench, reader: Reader, example: Example) {
    let entry = StoredValue::new(None::<Entry>);
    live::follow(move || {
        let (address, panel, against) =
            (bench.address.get(), bench.panel.get(), Against::default_if(bench.against_default.get()));
        let workbench = bench.workbench.get();
        let is_tuning = workbench == Workbench::Tuning;
        let choices = bench.desk(workbench).choices.get();
        let report = reader.fragment();
        // An address that names nothing needs no fragment, and no URL can take one away but the whole one.
        let is_bare =
            address == Address::default() && (panel, against) == Default::default() && report.is_none() && is_tuning;
        let now = Entry {
            is_report: report.is_some(),
            fragment: match report {
                Some(report) => report,
                None if is_bare => String::new(),
                None if !is_tuning => {
                    let example = if address.example || bench.shows_example() { "&x=1" } else { "" };
                    workbench.fragment() + example + &choices.suffix()
                }
                None => address.fragment() + &panel.suffix() + against.suffix(),
            },
            choices: Choices::of(bench),
            has_data: bench.has_data() || bench.desk(workbench).is_there(),
            drag: bench.desk(workbench).drag.get_value(),
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
        // A view takes the place of the address that left its choice open, or Back would only choose it again; and what
        // is chosen while there is no data is no step of anybody's.
        let is_of_tuning = || is_tuning && Workbench::of(&here) == Workbench::Tuning;
        let was_open = || is_of_tuning() && Address::parse(&here).is_ok_and(|address| address == Address::default());
        let is_dragged_on = now.drag.is_some() && before.as_ref().is_some_and(|before| before.drag == now.drag);
        // Where the browser went by itself, its entry is there already: what it says otherwise than it is written here
        // would else be a step that Back only leads to again.
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
        let choices = Choices::from_state(&event.state());
        if reader.follow(&here) {
            return;
        }
        let workbench = Workbench::of(&here);
        match Address::parse(&here) {
            // What is shown of a sweep stays for the way back.
            Ok(_) if workbench != Workbench::Tuning && untrack(move || bench.has_files()) => {
                bench.workbench.set(workbench);
                bench.choose_all(workbench, form::Choices::parse(&here));
            }
            Ok(address) => {
                bench.workbench.set(workbench);
                if workbench != Workbench::Tuning {
                    bench.choose_all(workbench, form::Choices::parse(&here));
                }
                let pinned = bench.pinned(address);
                let panel = Panel::of(&here);
                bench.address.set(pinned);
                bench.panel.set(panel);
                bench.against_default.set(Against::of(&here) == Against::Default);
                if let Some(choices) = choices {
                    // They are of this entry, and so no new one.
                    entry.update_value(|entry| {
                        if let Some(entry) = entry {
                            entry.choices = choices.clone();
                        }
                    });
                    choices.choose(bench);
                }
                example.open_if_asked(bench);
            }
            Err(error) => bench.notify(format!("{error}."), true, None),
        }
    });
    on_cleanup(move || listener.remove());
}
