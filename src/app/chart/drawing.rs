//! The drawing of a chart: one canvas for the chart, and one above it for the points that are pointed at or pinned.

use crate::app::reactive::{Show, effect, handler, reactive};
use leptos::{html, prelude::*};

use super::{
    canvas::{CanvasSize, RatioWatch, SizeWatch, paint},
    legend::key_address,
    state::State,
};
use crate::{
    app::{
        file_line::{FileLineButton, place_text},
        session::Session,
        signal::{RwSignal, memo},
    },
    math::exp,
    plot::{Chart, Layout, Pick, PointReadout, Rect, Zoom, beside, draw, draw_highlights},
};

/// The logarithm of how much more is shown for each pixel that the wheel turns.
const WHEEL_ZOOM: f64 = 0.004;

/// The drawing. It takes the keyboard focus; keys go from point to point.
#[component]
pub(super) fn Drawing(state: State) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let under = NodeRef::<html::Canvas>::new();
    let over = NodeRef::<html::Canvas>::new();
    follow_size(frame, state.canvas_size);
    draw_in_frames(under, state);
    draw_marking(over, state);

    let text = move |part: fn(&Chart) -> &String| {
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
        if plain && state.key(&event.key(), event.shift_key()) {
            event.prevent_default();
            event.stop_propagation();
        }
    };
    let place = |event: &web_sys::MouseEvent| (f64::from(event.offset_x()), f64::from(event.offset_y()));
    let point = move |event: &web_sys::MouseEvent| {
        let (x, y) = place(event);
        state.point_at(x, y);
    };
    let click = move |event: web_sys::MouseEvent| {
        if !state.takes_click() {
            point(&event);
            state.pin();
        }
    };
    let press = move |event: web_sys::PointerEvent| {
        if event.is_primary() && event.button() == 0 {
            state.press(place(&event));
        }
    };
    let pointer = move |event: web_sys::PointerEvent| {
        if event.buttons() & 1 == 0 {
            point(&event);
        } else if state.drag_to(place(&event))
            && let Some(canvas) = over.get_untracked()
        {
            // Fails only if the pointer is gone.
            let _ = canvas.set_pointer_capture(event.pointer_id());
        }
    };
    // Without Ctrl the wheel scrolls the page. Browsers send a pinch on a touchpad as a wheel with Ctrl.
    let wheel = move |event: web_sys::WheelEvent| {
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let lines = event.delta_mode() != web_sys::WheelEvent::DOM_DELTA_PIXEL;
            let by = (event.delta_y() * if lines { 16.0 } else { 1.0 }).clamp(-100.0, 100.0);
            state.scale(Some(place(&event)), exp(by * WHEEL_ZOOM), false);
        }
    };
    let reset = move |_| {
        state.reset_zoom();
        if let Some(frame) = frame.get_untracked() {
            let _ = frame.focus();
        }
    };
    let side_of_selection =
        move |length: fn(&Rect) -> f64| move || state.selection.get().map(|area| format!("{:.1}px", length(&area)));
    view! {
        <div
            node_ref=frame
            class="chart-stage"
            style:height=height
            tabindex="0"
            role="application"
            aria-roledescription="chart"
            aria-label=text(|chart| &chart.title)
            aria-describedby="chart-keys"
            on:keydown=handler(on_key)
            on:blur=handler(move |_| state.clear_pointed())
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
                on:pointerdown=handler(press)
                on:pointermove=handler(pointer)
                on:pointerup=handler(move |_| state.release(false))
                on:pointercancel=handler(move |_| state.release(true))
                on:pointerleave=handler(move |_| state.clear_pointed())
                on:wheel=handler(wheel)
                on:click=handler(click)
                on:dblclick=handler(move |_| state.reset_zoom())
            ></canvas>
            <div
                class="chart-selection"
                aria-hidden="true"
                hidden=move || state.selection.with(Option::is_none)
                style:left=side_of_selection(|area| area.left)
                style:top=side_of_selection(|area| area.top)
                style:width=side_of_selection(Rect::width)
                style:height=side_of_selection(Rect::height)
            ></div>
            <Show when=move || !state.zoom.with(Zoom::is_all)>
                <button type="button" class="chart-reset" on:click=handler(reset)>"Reset zoom"</button>
            </Show>
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
            kept.set(canvas_size);
        }
    };
    let size_watch = StoredValue::new_local(None);
    effect(move || {
        if let Some(element) = frame.get() {
            measure();
            size_watch.set_value(SizeWatch::new(&element, measure));
        }
    });
    let pixel_ratio = memo(move || kept.get().map(|canvas_size| canvas_size.pixel_ratio));
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
        state.zoom.track();
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
            state.set_layout(layout.unwrap_or_default());
        });
        if let Some(Some(earlier)) = waiting.try_update_value(|handle| std::mem::replace(handle, frame.ok())) {
            earlier.cancel();
        }
    });
}

/// Draws the markers of the point that is pointed at, of the point that is pinned, and of what is pointed at elsewhere.
fn draw_marking(canvas: NodeRef<html::Canvas>, state: State) {
    effect(move || {
        let (layout, pointed, pinned) = (state.layout.get(), state.pointed.get(), state.pinned.get());
        let across = state.across.get();
        let (Some(canvas), Some(style)) = (canvas.get(), untrack(|| state.style())) else { return };
        let Some(chart) = state.chart.get_untracked() else { return };
        let picks: Vec<Pick> = pinned.into_iter().chain(pointed.filter(|_| pointed != pinned)).collect();
        paint(&canvas, &style, |backend| draw_highlights(&chart, &style, &layout, &picks, across, backend));
    });
}

/// The number of other series whose values are shown beside a point.
const MAX_BESIDE: usize = 8;

/// The values of the point that is pointed at, and those of the other series at the same x, beside the point.
#[component]
fn Tip(state: State) -> impl IntoView {
    let place = memo(move || state.layout.with(|layout| layout.place(state.pointed.get()?)));
    let half_of = move |length: fn(&CanvasSize) -> f64| {
        state.canvas_size.get().map_or(f64::INFINITY, |canvas_size| length(&canvas_size) / 2.0)
    };
    let pixels = |length: f64| format!("{length:.1}px");
    let reading = move |pick: Pick| untrack(move || state.reading(Some(pick)));
    let others = move |layout: &Layout, pick: Pick| {
        let picks = state.chart.with_untracked(|chart| chart.as_ref().map(|chart| beside(chart, layout, pick)));
        let readings = picks.unwrap_or_default().into_iter().take(MAX_BESIDE).filter_map(reading);
        let row =
            |reading: PointReadout| view! { <dt>{reading.series}</dt><dd>{reading.value.unwrap_or(reading.y).1}</dd> };
        let rows: Vec<_> = readings.map(row).collect();
        (!rows.is_empty()).then(|| view! { <dl class="chart-values chart-beside">{rows}</dl> })
    };
    // Follows the layout alone, which changes after each new chart; following the chart too would build it twice.
    let content = move || {
        let layout = state.layout.get();
        let pick = place.get()?.pick;
        let reading = reading(pick)?;
        Some(view! {
            <Values state reading pick/>
            {others(&layout, pick)}
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
            style=("--top", move || place.get().map(|place| pixels(place.y)))
            style=("--height", move || state.canvas_size.get().map(|size| pixels(size.height())))
        >
            {reactive(content)}
        </div>
    }
}

/// The values of a point as a list of labels and values.
#[component]
pub(super) fn Values(
    state: State,
    reading: PointReadout,
    pick: Pick,
    /// Whether they are those of the pinned point, from which one gets to where it was measured.
    #[prop(optional)]
    is_pinned: bool,
) -> impl IntoView {
    let key = move || {
        let theme = state.theme.get();
        let key = |chart: &Chart| {
            chart.series.get(pick.series).map(|series| key_address(series.colour, series.mark.clone(), theme))
        };
        state.chart.with_untracked(|chart| key(chart.as_ref()?))
    };
    let PointReadout { series, x, y, value, interval, note, line } = reading;
    let session: Session = expect_context();
    let line = line.and_then(|line| {
        let text = place_text(session, line)?;
        Some(match is_pinned {
            true => view! { <FileLineButton line text /> }.into_any(),
            false => view! { <p class="chart-values-note">{text}</p> }.into_any(),
        })
    });
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
        {line}
    }
}
