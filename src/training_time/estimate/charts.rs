//! The charts of an estimated step.

use super::{
    layouts::{Layouts, RankedLayout},
    listing,
    question::Estimated,
};
use crate::{
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    training_time::{
        degree_chart::{DegreeTime, degree_chart},
        memory::GIB,
        step::listing::{share, time},
    },
};

/// Where the time of the step goes.
pub fn breakdown(answer: &Estimated) -> Chart {
    const COLOURS: [Colour; 10] = [
        Colour::Palette(4),
        Colour::Palette(0),
        Colour::Palette(1),
        Colour::Palette(3),
        Colour::Palette(2),
        Colour::Answer,
        Colour::Muted,
        Colour::Default,
        Colour::Palette(5),
        Colour::Palette(3),
    ];
    let mut before = 0.0;
    let components = &answer.step.components;
    let series = components.iter().zip(COLOURS.into_iter().cycle()).map(|((name, us), colour)| {
        let start = before;
        before += us;
        let note = format!("{name}, {}", share(us / answer.step.time_us));
        Series::new(*name, colour, Mark::Spans, vec![Point { note, ..Point::span(start, before, 0) }])
    });
    let series = series.collect();
    let largest = components.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Chart {
        id: "estimate-breakdown".to_owned(),
        title: "What the step's time goes into".to_owned(),
        summary: largest.map_or_else(String::new, |(name, us)| {
            format!("The largest part is {}, {} of the step.", name.to_lowercase(), share(us / answer.step.time_us))
        }),
        x: Axis::new("Time", Quantity::TimeUs, Spacing::Linear),
        y: Axis::of_names("", vec!["step".to_owned()]),
        series,
    }
}

/// Step time over memory of the layouts that are listed, with those of which no faster one is smaller.
pub fn time_over_memory(found: &Layouts) -> Chart {
    let point = |layout: &RankedLayout| Point {
        x: layout.memory_bytes / GIB,
        y: layout.time_us,
        note: listing::degrees_in_words(layout),
        ..Point::default()
    };
    let points = |layouts: &[RankedLayout]| layouts.iter().map(point).collect::<Vec<Point>>();
    let axis = |label: &str, quantity| Axis::new(label, quantity, Spacing::Linear);
    Chart {
        id: "estimate-layouts".to_owned(),
        title: "Step time over memory".to_owned(),
        summary: found.ranked.first().map_or_else(String::new, |best| {
            format!(
                "The fastest, {}, takes {} and {:.1} GiB a GPU.",
                listing::degrees_in_words(best),
                time(best.time_us),
                best.memory_bytes / GIB
            )
        }),
        x: axis("Memory of the fullest stage", Quantity::Gib),
        y: axis("Step time", Quantity::TimeUs),
        series: vec![
            Series::new("Fastest layouts", Colour::Muted, Mark::Dots, points(&found.ranked)),
            Series::new("No other is faster and smaller", Colour::Palette(0), Mark::LineAndDots, {
                let mut front = points(&found.frontier);
                front.reverse();
                front
            }),
        ],
    }
}

/// The fastest layout of each tensor and pipeline degree, of all that fit.
pub fn by_degrees(found: &Layouts) -> Chart {
    let of = |layout: &RankedLayout| DegreeTime {
        tensor: layout.degrees.tensor,
        pipeline: layout.degrees.pipeline,
        time_us: layout.time_us,
        words: listing::degrees_in_words(layout),
    };
    degree_chart("estimate-degrees", &found.by_degrees.iter().map(of).collect::<Vec<_>>())
}
