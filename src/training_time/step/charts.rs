//! The charts of a step.

use super::{component::Component, listing::share, plan::Plan, result::Step};
use crate::{
    pipeline::Timed,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
};

/// The most operations that are drawn; more would be too small to distinguish.
const MOST: usize = 4000;

/// The pipeline: what each stage does when, with its bubbles as what is left free. `None` without one.
pub fn timeline(plan: &Plan, step: &Step) -> Option<Chart> {
    let operations = plan.timeline();
    if plan.stages.len() < 2 || operations.is_empty() {
        return None;
    }
    // Of a long pipeline the beginning, with its fill and the steady state.
    let end = if operations.len() > MOST {
        let mut starts: Vec<f64> = operations.iter().map(|timed| timed.start).collect();
        crate::math::ascending(&mut starts);
        starts[MOST]
    } else {
        f64::INFINITY
    };
    let drawn = |is_forward: bool| {
        let own = operations.iter().filter(|timed| timed.operation.is_forward == is_forward && timed.start < end);
        own.map(|timed| point(timed, plan)).collect::<Vec<Point>>()
    };
    let series = |name: &str, colour, points| Series::new(name, colour, Mark::Spans, points);
    let stages = (0..plan.stages.len()).map(|stage| format!("stage {stage}")).collect();
    let whole = if end.is_finite() { "Its beginning is drawn. " } else { "" };
    Some(Chart {
        id: "training-time-pipeline".to_owned(),
        title: "Pipeline".to_owned(),
        summary: format!(
            "{whole}The busiest stage, stage {}, waits {} of the pipeline's time.",
            step.busiest[0],
            share(step.bubble())
        ),
        x: Axis::new("Time", Quantity::TimeUs, Spacing::Linear),
        y: Axis::of_names("Stage", stages),
        series: vec![
            series("Forward", Colour::Palette(4), drawn(true)),
            series("Backward, with what is computed again", Colour::Palette(0), drawn(false)),
        ],
    })
}

fn point(timed: &Timed, plan: &Plan) -> Point {
    let operation = &timed.operation;
    let chunk =
        if plan.run.execution.virtual_stages > 1 { format!(", chunk {}", operation.chunk) } else { String::new() };
    let way = if operation.is_forward { "forward" } else { "backward" };
    let note = format!("{}, {way}{chunk}", operation.micro_batch);
    Point { note, ..Point::span(timed.start, timed.end, timed.stage) }
}

/// The colour of a component, in every chart of a step. The nine of any step differ; what only experts and calibration
/// add takes one of those that lie far from it.
const fn colour(component: Component) -> Colour {
    match component {
        Component::Forward => Colour::Palette(4),
        Component::Backward => Colour::Palette(0),
        Component::Recompute | Component::Overhead => Colour::Palette(3),
        Component::TensorAllReduce => Colour::Palette(1),
        Component::P2p => Colour::Palette(2),
        Component::Bubble => Colour::Muted,
        Component::GradientAllReduce => Colour::Answer,
        Component::Optimizer => Colour::Palette(5),
        Component::AllGather | Component::AllToAll => Colour::Default,
    }
}

/// The components of the step's time as a chart.
pub fn breakdown(step: &Step) -> Chart {
    let mut before = 0.0;
    let series = step.components.iter().filter(|(_, time)| *time > 0.0).map(|(component, time)| {
        let start = before;
        before += time;
        Series::new(
            component.title(),
            colour(component),
            Mark::Spans,
            vec![Point {
                note: format!("{}, {}", component.title(), share(time / step.total_us)),
                ..Point::span(start, before, 0)
            }],
        )
    });
    let series: Vec<Series> = series.collect();
    let largest = step.components.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Chart {
        id: "training-time-breakdown".to_owned(),
        title: "What the step's time goes into".to_owned(),
        summary: largest.map_or_else(String::new, |(component, time)| {
            format!(
                "The largest is {}, {} of the step.",
                component.title().to_ascii_lowercase(),
                share(time / step.total_us)
            )
        }),
        x: Axis::new("Time", Quantity::TimeUs, Spacing::Linear),
        y: Axis::of_names("", vec!["step".to_owned()]),
        series,
    }
}
