//! The rows of a search as charts.

use super::{Row, SearchResult};
use crate::{
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    training_time::{
        degree_chart::{DegreeTime, degree_chart},
        memory::GIB,
    },
};

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

/// The fastest row of each tensor and pipeline degree.
pub fn by_degrees(found: &SearchResult) -> Chart {
    let of = |row: &Row| DegreeTime {
        tensor: row.layout.tensor,
        pipeline: row.layout.pipeline,
        time_us: row.total_us,
        words: words(row),
    };
    degree_chart("training-time-degrees", &found.rows.iter().map(of).collect::<Vec<_>>())
}
