//! The fastest step of each tensor and pipeline degree as a chart of cells: what a search found, at a glance.

use crate::{
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    training_time::step::listing::time,
    units::count,
};

/// The time of a layout, with its degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct DegreeTime {
    /// GPUs among which each matrix is split.
    pub tensor: u32,
    /// Stages of the pipeline, each with a part of the layers.
    pub pipeline: u32,
    /// The time of a step in µs.
    pub time_us: f64,
    /// The whole layout in words.
    pub words: String,
}

/// Pipeline degrees from left to right, tensor degrees from top to bottom; a cell has the fastest of its layouts.
pub fn degree_chart(id: &str, layouts: &[DegreeTime]) -> Chart {
    let distinct = |of: fn(&DegreeTime) -> u32| {
        let mut all: Vec<u32> = layouts.iter().map(of).collect();
        all.compact_sort();
        all.dedup();
        all
    };
    let (tensor, pipeline) = (distinct(|layout| layout.tensor), distinct(|layout| layout.pipeline));
    let names = |name: &str, degrees: &[u32]| degrees.iter().map(|degree| format!("{name} {degree}")).collect();
    let fastest = |is_meant: &dyn Fn(&&DegreeTime) -> bool| {
        layouts.iter().filter(is_meant).min_by(|a, b| a.time_us.total_cmp(&b.time_us))
    };
    let mut points = Vec::new();
    for (row, tp) in tensor.iter().enumerate() {
        for (column, pp) in pipeline.iter().enumerate() {
            let best = fastest(&|layout| (layout.tensor, layout.pipeline) == (*tp, *pp));
            let note = best.map(|layout| layout.words.clone()).unwrap_or_default();
            points.push(Point { note, ..Point::cell(column, row, best.map(|layout| layout.time_us)) });
        }
    }
    // Which layout is the fastest is said beside the other chart.
    let steps: Vec<f64> = points.iter().filter_map(|point| point.value).collect();
    let ends = steps.iter().copied().reduce(f64::min).zip(steps.iter().copied().reduce(f64::max));
    let summary = ends.map_or_else(String::new, |(least, most)| {
        let pairs = count(steps.len() as u64, "pair");
        format!("The fastest steps of {pairs} of degrees take {} to {}.", time(least), time(most))
    });
    Chart {
        id: id.to_owned(),
        title: "Fastest step of each tensor and pipeline degree".to_owned(),
        summary,
        x: Axis::of_names("Pipeline stages", names("pp", &pipeline)),
        y: Axis::of_names("Tensor degree", names("tp", &tensor)),
        series: vec![Series::new(
            "Step time",
            Colour::Answer,
            Mark::Cells(Quantity::TimeUs, Spacing::Logarithmic),
            points,
        )],
    }
}
