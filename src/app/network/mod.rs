//! Plays schedules over a network. Everything is linked to one cursor in time: [`canvas`] draws links, nodes and what
//! moves, [`timeline_chart`] links over time, [`matrix`] who has what, [`panel`] what is picked and [`edits`] what is
//! done to it. [`viewer`] holds the cursor and moves it, [`drawing`] and [`geometry`] prepare what is drawn. Each layer
//! is a canvas of its own, which counts how often it is drawn.

mod canvas;
mod drawing;
mod edits;
mod geometry;
mod matrix;
mod panel;
mod paper;
mod timeline_chart;
mod viewer;

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::{
        fields::choice_field,
        reactive::{Show, handler, reactive},
        session::Session,
        signal::memo,
        theme::ActiveTheme,
    },
    report::Workbench,
    topology::listing,
};
use canvas::NetworkCanvas;
use drawing::NetworkDrawing;
use matrix::Matrix;
use panel::Panel;
use paper::Inks;
use timeline_chart::{SORTS, TimelineChart};
use viewer::{SPEEDS, Viewer};

/// The network view of a workbench: the network, its schedules and the controls.
#[component]
pub fn NetworkView(workbench: Workbench) -> impl IntoView {
    let network = expect_context::<Session>().state_of(workbench).network;
    let drawing = memo(move || network.get().map(|network| Arc::new(NetworkDrawing::new(network))));
    let viewer = Viewer::new(workbench, drawing);
    viewer.load_windows(expect_context());
    let has_timeline = move || viewer.with(|drawing| !drawing.timelines.is_empty()).unwrap_or(false);
    let first = memo(|| 0);
    // The schedule shown for comparison may no longer exist.
    let second = memo(move || {
        let all = viewer.with(|drawing| drawing.timelines.len()).unwrap_or(0);
        Some(viewer.compared.get()).filter(|compared| *compared < all).unwrap_or(0)
    });
    let is_compared = move || second.get() > 0;
    let name = move |timeline: usize| {
        viewer.with(|drawing| {
            drawing
                .network
                .timelines
                .get(timeline)
                .map(|(name, timeline)| format!("{name}, {}", listing::time(timeline.ns(timeline.end))))
        })
    };
    view! {
        <section class="panel network" aria-labelledby="network-heading">
            <h2 id="network-heading">"Schedule over time"</h2>
            <Show when=has_timeline>
                <Controls viewer />
            </Show>
            <Show when=has_timeline>
                <Legend viewer />
            </Show>
            <div class="network-views" class:is-compared=is_compared>
                <div class="network-one">
                    <Show when=is_compared>
                        <h3>{reactive(move || name(0))}</h3>
                    </Show>
                    <NetworkCanvas viewer timeline=first />
                </div>
                <Show when=is_compared>
                    <div class="network-one">
                        <h3>{reactive(move || name(second.get()))}</h3>
                        <NetworkCanvas viewer timeline=second />
                    </div>
                </Show>
                <div class="network-side">
                    <Panel viewer />
                    <Show when=has_timeline>
                        <Matrix viewer timeline=first />
                    </Show>
                    <Show when=is_compared>
                        <Matrix viewer timeline=second />
                    </Show>
                </div>
            </div>
            <Show when=has_timeline>
                <TimelineChart viewer timeline=first />
            </Show>
            <Show when=is_compared>
                <h3>{reactive(move || name(second.get()))}</h3>
                <TimelineChart viewer timeline=second />
            </Show>
        </section>
    }
}

/// What the colours of links mean.
#[component]
fn Legend(viewer: Viewer) -> impl IntoView {
    let theme = expect_context::<ActiveTheme>().signal();
    let entries = move || {
        let inks = Inks::of(theme.get());
        let mut all = vec![(inks.busy, "carries a chunk"), (inks.critical, "carries one on the critical path")];
        let is_damaged = viewer.with(|drawing| !drawing.network.damaged.is_empty()).unwrap_or(false);
        if is_damaged {
            all[1].1 = "carries one on the critical path; dashed: slow, dotted: cut";
        }
        match viewer.over.get() {
            0 => {}
            1 => all.push((inks.picked, "the bottleneck")),
            _ => all.push((inks.chunk, "the dumped rings or trees")),
        }
        let entry = |(ink, words): (String, &'static str)| view! { <li><span style:background=ink></span>{words}</li> };
        all.into_iter().map(entry).collect_view()
    };
    view! { <ul class="network-legend" aria-label="Colours of links">{reactive(entries)}</ul> }
}

/// The controls: play, step and seek; the overlay, the schedule for comparison, the order of links.
#[component]
fn Controls(viewer: Viewer) -> impl IntoView {
    let label = move || if viewer.plays.get() { "Pause" } else { "Play" };
    let end = move || viewer.end_ns();
    let clock =
        move || format!("{} of {}", listing::time((viewer.time_ns.get() * 10.0).round() / 10.0), listing::time(end()));
    let speeds = move || {
        SPEEDS.iter().enumerate().map(|(index, (_, name))| (format!("{name} ×"), index == viewer.speed.get())).collect()
    };
    let overs = move || {
        let patterns = viewer.with(|drawing| {
            let kinds = drawing.network.patterns.iter();
            kinds.map(|of| format!("dumped {} ({})", of.kind, of.channels.len())).collect::<Vec<_>>()
        });
        let names = ["nothing".to_owned(), "the bottleneck".to_owned()].into_iter().chain(patterns.unwrap_or_default());
        names.enumerate().map(|(index, name)| (name, index == viewer.over.get())).collect()
    };
    let timelines = move || {
        let names = viewer
            .with(|drawing| drawing.network.timelines.iter().skip(1).map(|(name, _)| name.clone()).collect::<Vec<_>>());
        let names = std::iter::once("nothing".to_owned()).chain(names.unwrap_or_default());
        names.enumerate().map(|(index, name)| (name, index == viewer.compared.get())).collect()
    };
    let sorts = move || {
        SORTS.iter().enumerate().map(|(index, name)| ((*name).to_owned(), index == viewer.sort.get())).collect()
    };
    let has_channels = move || viewer.over.get() > 1;
    let has_more = move || viewer.with(|drawing| drawing.timelines.len() > 1).unwrap_or(false);
    let step = move |forth: bool| {
        viewer.plays.set(false);
        viewer.step(forth);
    };
    view! {
        <div class="network-controls" role="group" aria-label="Player">
            <button type="button" class="network-play" on:click=handler(move |_| viewer.toggle())>{label}</button>
            <button type="button" aria-label="Step back" title="to the event before (←)" on:click=handler(move |_| step(false))>"◂"</button>
            <button type="button" aria-label="Step on" title="to the next event (→)" on:click=handler(move |_| step(true))>"▸"</button>
            <label class="network-scrub">
                <span class="visually-hidden">"Time"</span>
                <input
                    type="range"
                    min="0"
                    max=move || end().to_string()
                    step="any"
                    aria-valuetext=clock
                    prop:value=move || viewer.time_ns.get().to_string()
                    on:input:target=move |event| viewer.go_to(event.target().value().parse().unwrap_or(0.0))
                />
            </label>
            <output class="network-clock">{reactive(clock)}</output>
        </div>
        <div class="controls network-choices">
            {choice_field("Speed".into(), Box::new(speeds), Box::new(move |index| viewer.speed.set(index)))}
            {choice_field("Overlay".into(), Box::new(overs), Box::new(move |index| viewer.over.set(index)))}
            <Show when=has_channels>
                <label class="field">
                    <span>"Channel"</span>
                    <input
                        type="number"
                        min="0"
                        placeholder="all"
                        prop:value=move || viewer.channel.get().map(|channel| channel.to_string())
                        on:change:target=move |event| viewer.channel.set(event.target().value().trim().parse().ok())
                    />
                </label>
            </Show>
            {choice_field("Links over time".into(), Box::new(sorts), Box::new(move |index| viewer.sort.set(index)))}
            <Show when=has_more>
                {choice_field("Compare with".into(), Box::new(timelines), Box::new(move |index| viewer.compared.set(index)))}
            </Show>
        </div>
    }
}
