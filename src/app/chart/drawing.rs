//! The drawing of a chart: one canvas for the chart, and one above it for the points that are pointed at or pinned.

use std::sync::Arc;

use crate::app::reactive::{Show, effect, reactive};
use leptos::{html, prelude::*};

use super::{
    canvas::{CanvasSize, RatioWatch, SizeWatch, paint},
    legend::key_address,
    state::State,
};
use crate::plot::{Layout, Pick, PointReadout, beside, draw, draw_highlights};

/// The drawing. It takes the keyboard focus; keys go from point to point.
#[component]
pub(super) fn Drawing(state: State, described_by: String) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let under = NodeRef::<html::Canvas>::new();
    let over = NodeRef::<html::Canvas>::new();
    follow_size(frame, state.canvas_size);
    draw_in_frames(under, state);
    draw_marking(over, state);

    let text = move |part: fn(&crate::plot::Chart) -> &String| {
        move || state.chart.with(|chart| chart.as_deref().map(|chart| part(chart).clone()))
    };
    let side = |length: fn(&CanvasSize) -> f64| {
        move || state.canvas_size.get().map(|canvas_size| format!("{}px", length(&canvas_size)))
    };
    let height = move || {
        let own = state.chart.with(|chart| chart.as_ref().and_then(|chart| chart.height()));
        own.map(|height| format!("{height}px"))
    };
    let on_key = move |event: web_sys::KeyboardEvent| {
        let plain = !(event.ctrl_key() || event.alt_key() || event.meta_key());
        if plain && state.key(&event.key()) {
            event.prevent_default();
            event.stop_propagation();
        }
    };
    let point = move |event: &web_sys::MouseEvent| {
        state.point_at(f64::from(event.offset_x()), f64::from(event.offset_y()));
    };
    let click = move |event: web_sys::MouseEvent| {
        point(&event);
        state.pin();
    };
    view! {
        <div
            node_ref=frame
            class="chart-stage"
            style:height=height
            tabindex="0"
            role="application"
            aria-roledescription="chart"
            aria-label=text(|chart| &chart.title)
            aria-describedby=described_by
            on:keydown=on_key
            on:blur=move |_| state.clear_pointed()
        >
            <canvas
                node_ref=under
                role="img"
                aria-label=text(|chart| &chart.summary)
                style:width=side(CanvasSize::width)
                style:height=side(CanvasSize::height)
            ></canvas>
            <canvas
                node_ref=over
                class="chart-over"
                aria-hidden="true"
                style:width=side(CanvasSize::width)
                style:height=side(CanvasSize::height)
                on:pointermove=move |event| point(&event)
                on:pointerleave=move |_| state.clear_pointed()
                on:click=click
            ></canvas>
            <Tip state/>
            <Show when=move || state.chart.with(Option::is_none)>
                <p class="chart-waiting">"No chart yet"</p>
            </Show>
        </div>
    }
}

/// Keeps `kept` equal to the size of the element and the pixel ratio of the screen.
pub fn follow_size(frame: NodeRef<html::Div>, kept: RwSignal<Option<CanvasSize>>) {
    let measure = move || {
        let Some(element) = frame.try_get_untracked().flatten() else { return };
        let canvas_size = CanvasSize::of(&element);
        if kept.try_get_untracked().is_some_and(|before| before != canvas_size) {
            kept.try_set(canvas_size);
        }
    };
    let size_watch = StoredValue::new_local(None);
    effect(move || {
        if let Some(element) = frame.get() {
            measure();
            size_watch.set_value(SizeWatch::new(&element, measure));
        }
    });
    let pixel_ratio = Memo::new(move |_| kept.get().map(|canvas_size| canvas_size.pixel_ratio));
    let ratio_watch = StoredValue::new_local(None);
    effect(move || {
        let ratio = pixel_ratio.get();
        ratio_watch.set_value(ratio.and_then(|ratio| RatioWatch::new(ratio, measure)));
    });
}

/// Draws the chart before the next frame whenever the chart, the theme, the hidden series or the size have changed.
fn draw_in_frames(canvas: NodeRef<html::Canvas>, state: State) {
    let waiting: StoredValue<Option<AnimationFrameRequestHandle>> = StoredValue::new(None);
    effect(move || {
        state.chart.track();
        state.theme.track();
        state.hidden.track();
        state.canvas_size.track();
        canvas.track();
        let frame = request_animation_frame_with_handle(move || {
            let Some(Some(canvas)) = canvas.try_get_untracked() else { return };
            let Some(style) = untrack(|| state.style()) else { return };
            let chart = state.chart.try_get_untracked().flatten();
            let layout = match chart {
                Some(chart) => paint(&canvas, &style, |backend| draw(&chart, &style, backend)),
                None => paint(&canvas, &style, |_| Ok(Layout::default())),
            };
            state.layout.try_set(Arc::new(layout.unwrap_or_default()));
        });
        if let Some(Some(earlier)) = waiting.try_update_value(|handle| std::mem::replace(handle, frame.ok())) {
            earlier.cancel();
        }
    });
}

/// Draws the markers of the point that is pointed at and of the point that is pinned.
fn draw_marking(canvas: NodeRef<html::Canvas>, state: State) {
    effect(move || {
        let (layout, pointed, pinned) = (state.layout.get(), state.pointed.get(), state.pinned.get());
        let (Some(canvas), Some(style)) = (canvas.get(), untrack(|| state.style())) else { return };
        let Some(chart) = state.chart.get_untracked() else { return };
        let picks: Vec<Pick> = pinned.into_iter().chain(pointed.filter(|_| pointed != pinned)).collect();
        paint(&canvas, &style, |backend| draw_highlights(&chart, &style, &layout, &picks, backend));
    });
}

/// The number of other series whose values are shown beside a point.
const MAX_BESIDE: usize = 8;

/// The values of the point that is pointed at, and those of the other series at the same x, beside the point.
#[component]
fn Tip(state: State) -> impl IntoView {
    let place = Memo::new(move |_| state.layout.with(|layout| layout.place(state.pointed.get()?)));
    let half_of = move |length: fn(&CanvasSize) -> f64| {
        state.canvas_size.get().map_or(f64::INFINITY, |canvas_size| length(&canvas_size) / 2.0)
    };
    let pixels = |length: f64| format!("{length:.1}px");
    let others = move |pick: Pick| {
        let layout = state.layout.get();
        let picks = state.chart.with(|chart| chart.as_ref().map(|chart| beside(chart, &layout, pick)));
        let readings =
            picks.unwrap_or_default().into_iter().take(MAX_BESIDE).filter_map(|pick| state.reading(Some(pick)));
        let row =
            |reading: PointReadout| view! { <dt>{reading.series}</dt><dd>{reading.value.unwrap_or(reading.y).1}</dd> };
        let rows: Vec<_> = readings.map(row).collect();
        (!rows.is_empty()).then(|| view! { <dl class="chart-values chart-beside">{rows}</dl> })
    };
    let content = move || {
        let pick = place.get()?.pick;
        let reading = state.reading(Some(pick))?;
        Some(view! {
            <Values state reading pick/>
            {others(pick)}
        })
    };
    view! {
        <div
            class="chart-tip"
            class:to-left=move || place.get().is_some_and(|place| place.x > half_of(CanvasSize::width))
            class:to-top=move || place.get().is_some_and(|place| place.y > half_of(CanvasSize::height))
            aria-hidden="true"
            hidden=move || place.get().is_none()
            style:left=move || place.get().map(|place| pixels(place.x))
            style:top=move || place.get().map(|place| pixels(place.y))
        >
            {reactive(content)}
        </div>
    }
}

/// The values of a point as a list of labels and values.
#[component]
pub(super) fn Values(state: State, reading: PointReadout, pick: Pick) -> impl IntoView {
    let key = move || {
        let chart = state.chart.get()?;
        let series = chart.series.get(pick.series)?;
        Some(key_address(series.colour, series.mark.clone(), state.theme.get()))
    };
    let PointReadout { series, x, y, value, interval, note } = reading;
    let row = |label: String, value: String| view! { <dt>{label}</dt><dd>{value}</dd> };
    view! {
        <p class="chart-values-series"><img src=key alt="" height="16"/>{series}</p>
        <dl class="chart-values">
            {row(x.0, x.1)}
            {row(y.0, y.1)}
            {value.map(|value| row(value.0, value.1))}
            {(!interval.is_empty()).then(|| row("between".to_owned(), interval))}
        </dl>
        {(!note.is_empty()).then(|| view! { <p class="chart-values-note">{note}</p> })}
    }
}
