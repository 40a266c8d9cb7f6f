//! The charts of predictions and their errors.

use super::{kernel::Dataset, models::Predicted};
use crate::{
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    units::percent,
};

/// Predicted over measured slowdowns, in per cent of the part that overlaps; `estimates` are the predictions of the
/// model `title`.
pub fn predicted_over_measured(dataset: &Dataset, id: &str, title: &str, estimates: &[Option<Predicted>]) -> Chart {
    let pairs = dataset.overlapped().zip(estimates).filter_map(|(kernel, estimates)| Some((kernel, (*estimates)?)));
    let mut points = Vec::new();
    let mut within = 0;
    for (kernel, estimates) in pairs {
        let error = (estimates.ratio * kernel.alone_ns / kernel.duration_ns - 1.0) * 100.0;
        within += usize::from(error.abs() <= 10.0);
        points.push(Point {
            x: kernel.slowdown() * 100.0,
            y: estimates.slowdown * 100.0,
            note: format!("{}, line {}: duration {}", kernel.name, kernel.line, percent(error)),
            ..Point::default()
        });
    }
    let ends = points
        .iter()
        .flat_map(|point| [point.x, point.y])
        .fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    // Straight lines of a symmetric-logarithmic chart go through zero.
    let diagonal = [ends.0, 0.0, ends.1].map(|value| Point { x: value, y: value, ..Point::default() }).to_vec();
    let axis = |label: &str| Axis::new(label, Quantity::Percent, Spacing::SymmetricLogarithmic);
    Chart {
        id: format!("overlap-predicted-over-measured-{id}"),
        title: format!("Predicted over measured slowdown: {title}"),
        summary: format!("{within} of {} durations are predicted within 10 %.", points.len()),
        x: axis("Measured slowdown"),
        y: axis("Predicted slowdown"),
        series: vec![
            Series::new("Equal", Colour::Muted, Mark::Line, diagonal),
            Series::new("Kernels", Colour::Palette(0), Mark::Dots, points),
        ],
    }
}

/// The boundaries of the classes of [`errors`], in per cent.
const EDGES: [f64; 14] = [-100.0, -50.0, -30.0, -20.0, -15.0, -10.0, -5.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0];

/// A histogram of the relative errors of durations, for each model.
pub fn errors(dataset: &Dataset, models: &[(&str, &[Option<Predicted>])]) -> Chart {
    let series = models.iter().enumerate().map(|(index, (title, estimates))| {
        let pairs = dataset.overlapped().zip(estimates.iter());
        let errors: Vec<f64> = pairs
            .filter_map(|(kernel, estimates)| {
                Some(((*estimates)?.ratio * kernel.alone_ns / kernel.duration_ns - 1.0) * 100.0)
            })
            .collect();
        let class = |low: f64, high: f64| errors.iter().filter(|e| **e > low && **e <= high).count() as f64;
        let count = errors.len().max(1) as f64;
        let mut points = Vec::new();
        let mut step = |low: f64, high: f64, shown: (f64, f64), words: String| {
            let share = class(low, high) / count * 100.0;
            for x in [shown.0, shown.1] {
                points.push(Point { x, y: share, note: words.clone(), ..Point::default() });
            }
        };
        step(f64::NEG_INFINITY, EDGES[0], (-120.0, EDGES[0]), "missed by more than −100 %".to_owned());
        for pair in EDGES.windows(2) {
            step(
                pair[0],
                pair[1],
                (pair[0], pair[1]),
                format!("missed by {} to {}", percent(pair[0]), percent(pair[1])),
            );
        }
        step(EDGES[13], f64::INFINITY, (EDGES[13], 120.0), "missed by more than +100 %".to_owned());
        Series::new(*title, if index == 0 { Colour::Answer } else { Colour::Palette(index as u8) }, Mark::Line, points)
    });
    Chart {
        id: "overlap-errors".to_owned(),
        title: "Errors of durations".to_owned(),
        summary: "The share of kernels by how much the predicted duration is too short or too long.".to_owned(),
        x: Axis::new("Error", Quantity::Percent, Spacing::Linear),
        y: Axis::new("Kernels", Quantity::Percent, Spacing::Linear),
        series: series.collect(),
    }
}
