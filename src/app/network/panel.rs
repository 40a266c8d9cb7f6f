//! What is picked: a link with its data, a node with what it has, a chunk with its way; what can be done to links and
//! nodes is in [`super::edits`].

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    drawing::{NetworkDrawing, Picked, PreparedWindows, ticks},
    edits::{LinkEdits, NewLink, NodeEdits, Picker},
    viewer::Viewer,
};
use crate::{
    app::{
        listing::ListingView,
        reactive::{Show, reactive},
        signal::memo,
    },
    topology::listing,
    units::{first_of, significant},
};

/// The most chunks that are named one by one.
const MAX_NAMED: usize = 12;

/// Facts about the picked element, or an overview.
#[component]
pub fn Panel(viewer: Viewer) -> impl IntoView {
    // The picked element may no longer exist.
    let picked = move || viewer.with_picked(|_, picked| picked);
    let is_node = move || matches!(picked(), Some(Picked::Node(_)));
    let is_link = move || matches!(picked(), Some(Picked::Link(_)));
    let is_gap = move || matches!(picked(), Some(Picked::Gap(..)));
    let node = move || {
        let words = |drawing: &NetworkDrawing, picked| match picked {
            Picked::Node(node) => node_words(drawing, &viewer.windows.get(), node, viewer.time_ns.get()),
            _ => None,
        };
        viewer.with_picked(words).flatten()
    };
    let node_view = move || node().map(|(title, text)| view! { <h3>{title}</h3> <p>{text}</p> });
    view! {
        <div class="network-picked">
            <Picker viewer />
            <Show when=move || picked().is_none()>
                <p class="small">
                    "Click a link to see what it carries, and to slow, cut or remove it; click a node to see what it has, to take it out, and to link it to another."
                </p>
            </Show>
            {reactive(node_view)}
            <Show when=is_node>
                <NodeEdits viewer />
            </Show>
            <Show when=is_link>
                <LinkPanel viewer />
            </Show>
            <Show when=is_gap>
                <NewLink viewer />
            </Show>
            <ChunkPanel viewer />
        </div>
    }
}

fn node_words(
    drawing: &NetworkDrawing,
    windows: &PreparedWindows,
    node: u32,
    time_ns: f64,
) -> Option<(String, String)> {
    let title = format!("Node {}", drawing.network.topology.label(node));
    let Some(node) = drawing.node_in_timeline(node) else { return Some((title, "It is down.".to_owned())) };
    let Some((timeline, prepared)) = drawing.prepared(0) else { return Some((title, String::new())) };
    let chunks = timeline.chunks as usize;
    let time = ticks(timeline, time_ns);
    if timeline.window.is_some() {
        let (_, window) = drawing.window(0, windows)?;
        let (there, due) = (window.arrived_by(node, time), prepared.due[node]);
        return Some((title, format!("At {} {there} of {due} transfers to it have arrived.", listing::time(time_ns))));
    }
    let row = prepared.ownership.get(node * chunks..(node + 1) * chunks)?;
    let has: Vec<usize> = (0..chunks).filter(|chunk| row[*chunk] <= time).collect();
    let list = |some: &[usize]| first_of(MAX_NAMED, some, usize::to_string);
    let mut text = format!("At {} it has {} of {chunks} chunks", listing::time(time_ns), has.len());
    if !has.is_empty() {
        text += &format!(": {}", list(&has));
    }
    text.push('.');
    let next = row.iter().enumerate().filter(|(_, at)| **at > time && **at != u64::MAX).min_by_key(|(_, at)| **at);
    if let Some((chunk, at)) = next {
        text += &format!(" Next comes chunk {chunk}, at {}.", listing::time(timeline.ns(*at)));
    }
    Some((title, text))
}

#[component]
fn LinkPanel(viewer: Viewer) -> impl IntoView {
    let title = move || {
        let title = |drawing: &NetworkDrawing, picked| {
            let Picked::Link(link) = picked else { return None };
            let topology = &drawing.network.topology;
            let link = topology.links.get(link as usize)?;
            Some(format!("Link {} → {}", topology.label(link.from), topology.label(link.to)))
        };
        viewer.with_picked(title).flatten()
    };
    let facts = move || {
        let facts = viewer.with_picked(|drawing, picked| match picked {
            Picked::Link(link) => link_facts(drawing, &viewer.windows.get(), link, viewer.time_ns.get()),
            _ => None,
        });
        let row = |(name, value): (&'static str, String)| view! { <dt>{name}</dt> <dd>{value}</dd> };
        facts.flatten().map(|facts| facts.into_iter().map(row).collect_view())
    };
    view! {
        <h3>{reactive(title)}</h3>
        <dl class="facts">{reactive(facts)}</dl>
        <LinkEdits viewer />
    }
}

fn link_facts(
    drawing: &NetworkDrawing,
    windows: &PreparedWindows,
    link: u32,
    time_ns: f64,
) -> Option<Vec<(&'static str, String)>> {
    let topology = &drawing.network.topology;
    let of = topology.links.get(link as usize)?;
    let left = drawing.network.left(link);
    let mut facts = vec![
        ("Bandwidth", format!("{} {}", significant(of.bandwidth * left), topology.unit.name())),
        ("Latency", listing::time(of.latency_ns)),
    ];
    if left == 0.0 {
        facts[0].1 = "cut".into();
    } else if left < 1.0 {
        facts[0].1 += &format!(", {:.0} % of what it was", left * 100.0);
    }
    if let (Some(place), Some((timeline, _))) = (drawing.link_in_timeline(link), drawing.prepared(0)) {
        let first = timeline.first[place as usize] as usize;
        let last = timeline.first[place as usize + 1] as usize;
        facts.push(("A chunk takes", listing::time(timeline.ns(timeline.durations[place as usize]))));
        facts.push(("Carries", crate::units::count(u64::from(timeline.chunks_carried(place)), "chunk")));
        facts.push(("Busy", format!("{:.1} % of the time", timeline.busy_share(place) * 100.0)));
        if let Some(slack) = timeline.slack.get(first..last).and_then(|slack| slack.iter().min()) {
            let slack =
                if *slack == 0 { "none: it decides the time".into() } else { listing::time(timeline.ns(*slack)) };
            facts.push(("Slack", slack));
        }
        let now =
            drawing.window(0, windows).and_then(|(timeline, _)| timeline.transfer_at(place, ticks(timeline, time_ns)));
        facts.push(("Now", now.map_or_else(|| "idle".into(), |sent| format!("carries chunk {}", sent.chunk))));
    }
    Some(facts)
}

/// The chosen chunk and its tree.
#[component]
fn ChunkPanel(viewer: Viewer) -> impl IntoView {
    let value = move || viewer.chunk.get().map(|chunk| chunk.to_string()).unwrap_or_default();
    let most = move || {
        viewer.with(|drawing| {
            drawing.prepared(0).map_or(0, |(timeline, _)| timeline.chunks.saturating_sub(1)).to_string()
        })
    };
    let choose = move |text: String| {
        let chunks =
            viewer.with_untracked(|drawing| drawing.prepared(0).map_or(0, |(timeline, _)| timeline.chunks as usize));
        viewer.chunk.set(text.trim().parse().ok().filter(|chunk| *chunk < chunks.unwrap_or(0)));
    };
    let listing = memo(move || {
        let chunk = viewer.chunk.get();
        let tree = viewer.with_window(0, |drawing, timeline, _| {
            let chunk = chunk.filter(|chunk| *chunk < timeline.chunks as usize)?;
            Some(listing::tree(&drawing.network.left_over(), timeline, chunk as u32))
        });
        Arc::new(tree.flatten().unwrap_or_default())
    });
    view! {
        <label class="field">
            <span>"Path of chunk"</span>
            <input
                type="number"
                min="0"
                max=most
                placeholder="none"
                prop:value=value
                on:change:target=move |event| choose(event.target().value())
            />
        </label>
        <Show when=move || listing.with(|listing| !listing.rows.is_empty())>
            <ListingView heading="Path of the chunk" listing=listing name="topology-chunk" />
        </Show>
    }
}
