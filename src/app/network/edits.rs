//! The buttons that slow, cut, restore, add and remove links and nodes. Every change is a choice in the address,
//! written by [`crate::topology::form::edit`].

use leptos::prelude::*;

use super::{
    drawing::{NetworkDrawing, Picked},
    viewer::Viewer,
};
use crate::{
    app::{
        reactive::{Show, handler, reactive},
        session::Session,
        signal::RwSignal,
    },
    form::Choices,
    topology::form::edit::{self, EditTarget},
};

fn change(session: Session, viewer: Viewer, change: impl FnOnce(&mut Choices)) {
    let mut choices = session.state_of(viewer.workbench).choices.get_untracked();
    change(&mut choices);
    session.choose_all(viewer.workbench, choices);
}

/// A link, and its opposite where both are meant.
fn links(from: u32, to: u32, both: bool) -> Vec<EditTarget> {
    let back = both.then_some(EditTarget::Link(to, from));
    [EditTarget::Link(from, to)].into_iter().chain(back).collect()
}

fn both_directions(both: RwSignal<bool>) -> impl IntoView {
    view! {
        <label class="check">
            <input type="checkbox" prop:checked=move || both.get() on:change:target=move |event| both.set(event.target().checked()) />
            <span>"both directions"</span>
        </label>
    }
}

/// Form fields that pick a node or a link by name.
#[component]
pub fn Picker(viewer: Viewer) -> impl IntoView {
    let value = move || {
        let name = |drawing: &NetworkDrawing, spot: EditTarget| {
            let name = |node: u32| drawing.network.topology.label(node);
            drawing.picked(Some(spot)).map(|_| match spot {
                EditTarget::Node(node) => name(node),
                EditTarget::Link(from, to) => format!("{}-{}", name(from), name(to)),
            })
        };
        let picked = viewer.picked.get();
        viewer.with(|drawing| name(drawing, picked?)).flatten().unwrap_or_default()
    };
    let choose = move |text: String| {
        let found = viewer.with_untracked(|drawing| {
            let topology = &drawing.network.topology;
            let text = text.trim();
            let both = text.split_once(['-', '>', '→', ' ']);
            let pair = both.and_then(|(from, to)| {
                let to = to.trim_start_matches(['-', '>', '→', ' ']);
                Some((topology.named(from.trim())?, topology.named(to.trim())?))
            });
            match pair.filter(|(from, to)| from != to) {
                Some((from, to)) => Some(EditTarget::Link(from, to)),
                None => topology.named(text).map(EditTarget::Node),
            }
        });
        viewer.pick(found.flatten());
    };
    view! {
        <label class="field">
            <span>"Node or link"</span>
            <input
                type="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="3, or 0-3"
                prop:value=value
                on:change:target=move |event| choose(event.target().value())
            />
        </label>
    }
}

/// Buttons that slow, cut, restore and remove the picked link.
#[component]
pub fn LinkEdits(viewer: Viewer) -> impl IntoView {
    let session: Session = expect_context();
    let both = RwSignal::new(true);
    let is_whole = move || {
        let is_whole = |drawing: &NetworkDrawing, picked| match picked {
            Picked::Link(link) => drawing.network.left(link) >= 1.0,
            _ => true,
        };
        viewer.with_picked(is_whole).unwrap_or(true)
    };
    // The link, and its opposite if there is one and `both` is set.
    let picked = move || {
        let Some(EditTarget::Link(from, to)) = viewer.picked.get_untracked() else { return Vec::new() };
        let has_back = viewer.with_untracked(|drawing| drawing.network.topology.link(to, from).is_some());
        links(from, to, both.get_untracked() && has_back == Some(true))
    };
    let leave = move |share: f64| change(session, viewer, |choices| edit::set_remaining(choices, &picked(), share));
    let remove = move |_| {
        change(session, viewer, |choices| edit::remove(choices, &picked()));
        // The answer takes a while: a link that was removed can't be removed again until then.
        viewer.pick(None);
    };
    view! {
        <div class="network-damage" role="group" aria-label="Damage">
            <button type="button" on:click=handler(move |_| leave(0.5))>"Slow to 50 %"</button>
            <button type="button" on:click=handler(move |_| leave(0.1))>"Slow to 10 %"</button>
            <button type="button" on:click=handler(move |_| leave(0.0))>"Cut"</button>
            <button type="button" disabled=is_whole on:click=handler(move |_| leave(1.0))>"Restore"</button>
            <button type="button" title="Removes the link from the graph instead of damaging it" on:click=handler(remove)>"Remove"</button>
        </div>
        {both_directions(both)}
    }
}

/// Buttons that slow the links of the picked node, remove the node, or start a link from it.
#[component]
pub fn NodeEdits(viewer: Viewer) -> impl IntoView {
    let session: Session = expect_context();
    let leave = move |share: f64| {
        let picked = viewer.picked.get_untracked();
        change(session, viewer, |choices| edit::set_remaining(choices, picked.as_slice(), share));
    };
    let begins = move || viewer.begins.get();
    let begin = move |_| viewer.begins.update(|begins| *begins = !*begins);
    view! {
        <div class="network-damage" role="group" aria-label="Damage of the node">
            <button type="button" on:click=handler(move |_| leave(0.5))>"Slow its links to 50 %"</button>
            <button type="button" on:click=handler(move |_| leave(0.1))>"Slow its links to 10 %"</button>
            <button type="button" on:click=handler(move |_| leave(0.0))>"Take the node down"</button>
            <button type="button" on:click=handler(move |_| leave(1.0))>"Restore"</button>
            <button type="button" aria-pressed=move || begins().to_string() on:click=handler(begin)>"Link from here"</button>
        </div>
        <Show when=begins>
            <p class="small" role="status">"Click the node that it leads to, or write both above: 0-3."</p>
        </Show>
    }
}

/// A button that adds a link between two nodes without one.
#[component]
pub fn NewLink(viewer: Viewer) -> impl IntoView {
    let session: Session = expect_context();
    let both = RwSignal::new(true);
    let rates = [RwSignal::new(String::new()), RwSignal::new(String::new())];
    let asked = StoredValue::new(None);
    let title = move || {
        let title = |drawing: &NetworkDrawing, picked| {
            let Picked::Gap(from, to) = picked else { return None };
            Some(format!("No link {} → {}", drawing.network.topology.label(from), drawing.network.topology.label(to)))
        };
        viewer.with_picked(title).flatten()
    };
    let usual = move |which: usize| {
        let usual = viewer.with(|drawing| drawing.network.topology.usual_rates());
        usual.map(|(latency, bandwidth)| [bandwidth, latency][which].to_string())
    };
    let unit = move || viewer.with(|drawing| drawing.network.topology.unit.name());
    let add = move |_| {
        let Some(EditTarget::Link(from, to)) = viewer.picked.get_untracked() else { return };
        let has_back = viewer.with_untracked(|drawing| drawing.network.topology.link(to, from).is_some());
        let links = links(from, to, both.get_untracked() && has_back == Some(false));
        let [bandwidth, latency] = rates.map(|rate| rate.get_untracked().trim().to_owned());
        let bandwidth = match bandwidth.as_str() {
            "" if !latency.is_empty() => untrack(move || usual(0)).unwrap_or_default(),
            _ => bandwidth,
        };
        let rates: Vec<&str> = [&*bandwidth, &*latency].into_iter().filter(|rate| !rate.is_empty()).collect();
        // On a second click before the answer, the choices no longer mention a link that was removed and restored.
        let wanted = |choices: Choices| (choices, links.clone(), rates.join("*"));
        let chosen = || session.state_of(viewer.workbench).choices.get_untracked();
        if asked.get_value() != Some(wanted(chosen())) {
            change(session, viewer, |choices| edit::add(choices, &links, &rates));
            asked.set_value(Some(wanted(chosen())));
        }
    };
    let rate = move |which: usize, label: &'static str| {
        view! {
            <label class="field">
                <span>{label} {reactive(move || (which == 0).then(unit).flatten())}</span>
                <input
                    type="number"
                    min="0"
                    step="any"
                    placeholder=move || usual(which)
                    prop:value=move || rates[which].get()
                    on:change:target=move |event| rates[which].set(event.target().value())
                />
            </label>
        }
    };
    view! {
        <h3>{reactive(title)}</h3>
        <div class="network-rates">{rate(0, "Bandwidth, ")} {rate(1, "Latency, ns")}</div>
        {both_directions(both)}
        <button type="button" on:click=handler(add)>"Add the link"</button>
    }
}
