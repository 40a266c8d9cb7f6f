//! The rows of a search as charts and a heat map.

use serde::{Deserialize, Serialize};

use super::{Row, SearchResult};
use crate::{
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    training_time::memory::GIB,
};

/// The fastest time of each pair of tensor and pipeline degree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// The tensor-parallel degrees, ascending: one for each row of the map.
    pub tensor: Vec<u32>,
    /// The numbers of pipeline stages, ascending: one for each column of the map.
    pub pipeline: Vec<u32>,
    /// Row after row: the fastest of the pair, by its index among the rows.
    pub cells: Vec<Option<u32>>,
}

/// The heat map of all rows.
pub fn heat_map(rows: &[Row]) -> HeatMap {
    let distinct = |of: fn(&Row) -> u32| {
        let mut all: Vec<u32> = rows.iter().map(of).collect();
        all.compact_sort();
        all.dedup();
        all
    };
    let (tensor, pipeline) = (distinct(|row| row.layout.tensor), distinct(|row| row.layout.pipeline));
    let fastest = |tp: u32, pp: u32| {
        let own = rows.iter().enumerate().filter(|(_, row)| row.layout.tensor == tp && row.layout.pipeline == pp);
        own.min_by(|a, b| a.1.total_us.total_cmp(&b.1.total_us)).map(|(index, _)| index as u32)
    };
    let cells = tensor.iter().flat_map(|tp| pipeline.iter().map(|pp| fastest(*tp, *pp))).collect();
    HeatMap { tensor, pipeline, cells }
}

/// The indices of the rows that no other row beats in both time and memory, fastest first.
pub fn pareto(rows: &[Row]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.compact_sort_by(|a, b| {
        let (a, b) = (&rows[*a], &rows[*b]);
        a.total_us.total_cmp(&b.total_us).then(a.memory_bytes.total_cmp(&b.memory_bytes))
    });
    let mut least = f64::INFINITY;
    order.retain(|row| {
        let memory = rows[*row].memory_bytes;
        let is_less = memory < least;
        least = least.min(memory);
        is_less
    });
    order
}

/// A layout in words: `tp 2, pp 4, dp 2, b 4`.
pub fn words(row: &Row) -> String {
    let layout = &row.layout;
    let expert = if layout.expert > 1 { format!(", ep {}", layout.expert) } else { String::new() };
    format!("tp {}, pp {}, dp {}{expert}, b {}", layout.tensor, layout.pipeline, layout.data, row.micro_batch)
}

/// A chart of step time over the memory of the fullest stage.
pub fn time_over_memory(found: &SearchResult) -> Chart {
    let point = |row: &Row| Point {
        x: row.memory_bytes / GIB,
        y: row.total_us,
        low: row.interval_us.map(|ends| ends[0]),
        high: row.interval_us.map(|ends| ends[1]),
        note: words(row),
        ..Point::default()
    };
    let front = pareto(&found.rows);
    let mut series = vec![Series::new("Layouts", Colour::Muted, Mark::Dots, found.rows.iter().map(point).collect())];
    series.push(Series::new(
        "No other is faster and smaller",
        Colour::Palette(0),
        Mark::LineAndDots,
        front.iter().rev().map(|row| point(&found.rows[*row])).collect(),
    ));
    let mut best = |name: &str, colour, row: Option<&Row>| {
        let points = row.map(point).into_iter().collect::<Vec<_>>();
        if !points.is_empty() {
            series.push(Series::new(name, colour, Mark::Whiskers, points));
        }
    };
    best("Best", Colour::Answer, found.rows.first());
    best("Best that needs no extrapolation", Colour::Palette(2), found.covered.as_ref());
    let summary = found.rows.first().map_or_else(String::new, |row| {
        format!(
            "The fastest, {}, takes {} and {:.1} GiB; {} of {} layouts are beaten by no other in both.",
            words(row),
            crate::training_time::step::listing::time(row.total_us),
            row.memory_bytes / GIB,
            front.len(),
            found.rows.len()
        )
    });
    let axis = |label: &str, quantity| Axis::new(label, quantity, Spacing::Linear);
    Chart {
        id: "training-time-layouts".to_owned(),
        title: "Step time over memory".to_owned(),
        summary,
        x: axis("Memory of the fullest stage", Quantity::Gib),
        y: axis("Step time", Quantity::TimeUs),
        series,
    }
}

/// The map as a chart: pipeline degrees from left to right, tensor degrees from top to bottom.
pub fn heat_chart(found: &SearchResult) -> Chart {
    let map = heat_map(&found.rows);
    let names = |name: &str, degrees: &[u32]| degrees.iter().map(|degree| format!("{name} {degree}")).collect();
    let mut points = Vec::new();
    for (index, cell) in map.cells.iter().enumerate() {
        let (row, column) = (index / map.pipeline.len().max(1), index % map.pipeline.len().max(1));
        let best = cell.and_then(|at| found.rows.get(at as usize));
        let note = best.map(words).unwrap_or_default();
        points.push(Point { note, ..Point::cell(column, row, best.map(|row| row.total_us)) });
    }
    let summary = found.rows.first().map_or_else(String::new, |row| format!("The fastest is {}.", words(row)));
    Chart {
        id: "training-time-degrees".to_owned(),
        title: "Fastest step of each tensor and pipeline degree".to_owned(),
        summary,
        x: Axis::of_names("Pipeline stages", names("pp", &map.pipeline)),
        y: Axis::of_names("Tensor degree", names("tp", &map.tensor)),
        series: vec![Series::new(
            "Step time",
            Colour::Answer,
            Mark::Cells(Quantity::TimeUs, Spacing::Logarithmic),
            points,
        )],
    }
}
