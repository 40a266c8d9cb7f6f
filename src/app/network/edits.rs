//! What is done to links and nodes: slowed, cut, restored, added, removed. Everything that is done is a choice in the address,
//! written as it can be typed: a list of words, `0-1` or `4`, some with `*` and numbers behind.

use leptos::prelude::*;

use super::{panel::link_of, scene::Scene, viewer::Viewer};
use crate::{
    app::{
        live::{Show, live},
        tuning::Bench,
    },
    form::Choices,
};

/// Lists of links, and of nodes.
const OF_LINKS: [&str; 2] = ["cut", "slow"];
const OF_NODES: [&str; 2] = ["dead", "weak"];

/// What a word is about.
fn about(word: &str) -> String {
    word.trim().split('*').next().unwrap_or_default().replace('>', "-")
}

/// Takes words out of lists. Whether any was there.
fn take_out(choices: &mut Choices, lists: &[&str], named: &[String]) -> bool {
    let mut was_there = false;
    for list in lists {
        let held = choices.get(list).unwrap_or_default().to_owned();
        let words: Vec<&str> = held.split([',', ' ', ';']).filter(|word| !word.is_empty()).collect();
        let left: Vec<&str> = words.iter().copied().filter(|word| !named.contains(&about(word))).collect();
        was_there |= left.len() < words.len();
        if left.is_empty() { choices.clear(list) } else { choices.set(list, &left.join(",")) }
    }
    was_there
}

/// Puts words into a list.
fn put_in(choices: &mut Choices, list: &str, named: &[String], rest: &str) {
    let held = choices.get(list).filter(|held| !held.is_empty()).map(str::to_owned);
    let words = named.iter().map(|name| format!("{name}{rest}"));
    choices.set(list, &held.into_iter().chain(words).collect::<Vec<_>>().join(","));
}

fn edit(bench: Bench, viewer: Viewer, change: impl FnOnce(&mut Choices)) {
    let mut choices = bench.desk(viewer.workbench).choices.get_untracked();
    change(&mut choices);
    bench.choose_all(viewer.workbench, choices);
}

/// Both directions between two nodes, or one: as lists name them.
fn named(from: u32, to: u32, both: bool) -> Vec<String> {
    let mut named = vec![format!("{from}-{to}")];
    named.extend(both.then(|| format!("{to}-{from}")));
    named
}

fn both_directions(both: RwSignal<bool>) -> impl IntoView {
    view! {
        <label class="check">
            <input type="checkbox" prop:checked=move || both.get() on:change:target=move |event| both.set(event.target().checked()) />
            <span>"both directions"</span>
        </label>
    }
}

/// Picks a node or a link by its name.
#[component]
pub fn Picker(viewer: Viewer) -> impl IntoView {
    let value = move || {
        let (picked, absent) = (viewer.picked.get(), viewer.absent.get());
        viewer.with(|scene| {
            let topology = &scene.network.topology;
            let nodes = topology.nodes as usize;
            let name = |from: u32, to: u32| format!("{}-{}", topology.label(from), topology.label(to));
            match (picked, absent) {
                (Some(node), _) if node < nodes => topology.label(node as u32),
                (Some(link), _) => topology.links.get(link - nodes).map(|of| name(of.from, of.to)).unwrap_or_default(),
                (None, Some(pair)) => name((pair / nodes) as u32, (pair % nodes) as u32),
                (None, None) => String::new(),
            }
        })
    };
    let choose = move |text: String| {
        let found = viewer.with_untracked(|scene| {
            let topology = &scene.network.topology;
            let text = text.trim();
            let both = text.split_once(['-', '>', '→', ' ']);
            let pair = both.and_then(|(from, to)| {
                let to = to.trim_start_matches(['-', '>', '→', ' ']);
                Some((topology.named(from.trim())?, topology.named(to.trim())?))
            });
            (pair, topology.named(text))
        });
        match found {
            Some((Some((from, to)), _)) => viewer.pick_pair(from, to),
            Some((None, node)) => viewer.pick(node.map(|node| node as usize)),
            None => {}
        }
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

/// Slows, cuts, restores and removes the picked link.
#[component]
pub fn LinkEdits(viewer: Viewer) -> impl IntoView {
    let bench: Bench = expect_context();
    let both = RwSignal::new(true);
    let is_whole = move || {
        viewer.with(|scene| link_of(scene, viewer.picked.get()).is_none_or(|link| scene.network.left(link) >= 1.0))
    };
    // The link, and its opposite where there is one and both are meant.
    let link = move || {
        let find = |scene: &Scene| {
            let topology = &scene.network.topology;
            let link = topology.links.get(link_of(scene, viewer.picked.get_untracked())? as usize)?;
            let is_back = both.get_untracked() && topology.link(link.to, link.from).is_some();
            Some((link.from, link.to, named(link.from, link.to, is_back)))
        };
        viewer.with_untracked(find).flatten()
    };
    let damage = move |list: &'static str, share: &'static str| {
        let Some((.., named)) = link() else { return };
        edit(bench, viewer, |choices| {
            take_out(choices, &OF_LINKS, &named);
            if !list.is_empty() {
                put_in(choices, list, &named, share);
            }
        });
    };
    let remove = move |_| {
        let Some((from, to, named)) = link() else { return };
        edit(bench, viewer, |choices| {
            take_out(choices, &OF_LINKS, &named);
            // What was added is not added; what was there before is removed.
            let before: Vec<String> =
                named.into_iter().filter(|name| !take_out(choices, &["add"], std::slice::from_ref(name))).collect();
            if !before.is_empty() {
                put_in(choices, "remove", &before, "");
            }
        });
        viewer.pick(None);
        let nodes = viewer.with_untracked(|scene| scene.network.topology.nodes).unwrap_or(0);
        viewer.absent.set(Some((from * nodes + to) as usize));
    };
    view! {
        <div class="network-damage" role="group" aria-label="Damage">
            <button type="button" on:click=move |_| damage("slow", "")>"Slow to a half"</button>
            <button type="button" on:click=move |_| damage("slow", "*0.1")>"To a tenth"</button>
            <button type="button" on:click=move |_| damage("cut", "")>"Cut"</button>
            <button type="button" disabled=move || is_whole() == Some(true) on:click=move |_| damage("", "")>"Restore"</button>
            <button type="button" title="from the graph: no longer a damage, but another graph" on:click=remove>"Remove"</button>
        </div>
        {both_directions(both)}
    }
}

/// Slows the links of the picked node, takes it out, or begins a link from it.
#[component]
pub fn NodeEdits(viewer: Viewer) -> impl IntoView {
    let bench: Bench = expect_context();
    let damage = move |list: &'static str, share: &'static str| {
        let Some(node) = viewer.picked.get_untracked() else { return };
        let named = [node.to_string()];
        edit(bench, viewer, |choices| {
            take_out(choices, &OF_NODES, &named);
            if !list.is_empty() {
                put_in(choices, list, &named, share);
            }
        });
    };
    let begins = move || viewer.from.get().is_some();
    let begin = move |_| viewer.from.set(viewer.picked.get_untracked().filter(|_| !begins()));
    view! {
        <div class="network-damage" role="group" aria-label="Damage of the node">
            <button type="button" on:click=move |_| damage("weak", "")>"Its links to a half"</button>
            <button type="button" on:click=move |_| damage("weak", "*0.1")>"To a tenth"</button>
            <button type="button" on:click=move |_| damage("dead", "")>"Take it out"</button>
            <button type="button" on:click=move |_| damage("", "")>"Restore"</button>
            <button type="button" aria-pressed=move || begins().to_string() on:click=begin>"Link from here"</button>
        </div>
        <Show when=begins>
            <p class="small" role="status">"Click the node that it leads to, or write both above: 0-3."</p>
        </Show>
    }
}

/// Adds a link between two nodes that have none.
#[component]
pub fn NewLink(viewer: Viewer) -> impl IntoView {
    let bench: Bench = expect_context();
    let both = RwSignal::new(true);
    let rates = [RwSignal::new(String::new()), RwSignal::new(String::new())];
    let pair = move || {
        let absent = viewer.absent.get()?;
        let nodes = viewer.with(|scene| scene.network.topology.nodes as usize)?.max(1);
        Some(((absent / nodes) as u32, (absent % nodes) as u32))
    };
    let title = move || {
        let (from, to) = pair()?;
        viewer.with(|scene| {
            let topology = &scene.network.topology;
            format!("No link {} → {}", topology.label(from), topology.label(to))
        })
    };
    let usual = move |which: usize| {
        let usual = viewer.with(|scene| scene.network.topology.usual_rates());
        usual.map(|(latency, bandwidth)| [bandwidth, latency][which].to_string())
    };
    let unit = move || viewer.with(|scene| scene.network.topology.unit.name());
    let add = move |_| {
        let Some((from, to)) = untrack(pair) else { return };
        let is_back = viewer.with_untracked(|scene| scene.network.topology.link(to, from).is_some());
        let named = named(from, to, both.get_untracked() && is_back == Some(false));
        let [bandwidth, latency] = rates.map(|rate| rate.get_untracked().trim().to_owned());
        let rest = match (bandwidth.as_str(), latency.as_str()) {
            ("", "") => String::new(),
            (_, "") => format!("*{bandwidth}"),
            ("", _) => format!("*{}*{latency}", untrack(move || usual(0)).unwrap_or_default()),
            _ => format!("*{bandwidth}*{latency}"),
        };
        edit(bench, viewer, |choices| {
            // What was removed comes back as it was, unless it is to have other rates.
            let mut back =
                |name: &String| rest.is_empty() && take_out(choices, &["remove"], std::slice::from_ref(name));
            let new: Vec<String> = named.iter().filter(|name| !back(name)).cloned().collect();
            if !new.is_empty() {
                put_in(choices, "add", &new, &rest);
            }
        });
        viewer.pick(None);
    };
    let rate = move |which: usize, label: &'static str| {
        view! {
            <label class="field">
                <span>{label} {live(move || (which == 0).then(unit).flatten())}</span>
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
        <h3>{live(title)}</h3>
        <div class="network-rates">{rate(0, "Bandwidth, ")} {rate(1, "Latency, ns")}</div>
        {both_directions(both)}
        <button type="button" on:click=add>"Add the link"</button>
    }
}
