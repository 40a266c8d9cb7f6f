//! Charts of the library's own cost model beside the measurements.

use super::{CoverageLine, collectives};
use crate::{
    collective::{Collective, Scale},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    tuning::{
        aggregate,
        job::{Cost, CostTable},
        sweep::{Sweep, best},
    },
    units::significant,
};

/// Sizes at which the curves are drawn: 1 KiB to 1 GiB.
const EXPONENTS: std::ops::RangeInclusive<u32> = 10..=30;

/// Time of a call in microseconds as NCCL estimates it (src/graph/tuning.cc): latency + size / bandwidth.
pub fn time_us(cost: &Cost, size_bytes: u64) -> f64 {
    cost.latency_us + size_bytes as f64 / (cost.algbw_gbps * 1000.0)
}

/// A chart for each table and each collective that is called on as many ranks; a table that does not say its ranks is
/// drawn for the scale of the first line.
pub fn charts(tables: &[CostTable], sweep: &Sweep, lines: &[CoverageLine]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        for collective in collectives(lines) {
            let mut scales = lines.iter().filter(|l| l.workload.collective == collective).map(|l| l.workload.scale);
            let scale = scales.find(|scale| table.ranks.is_none_or(|ranks| scale.ranks == ranks));
            let costs: Vec<&Cost> = table.costs.iter().filter(|cost| cost.collective == collective).collect();
            if let (Some(scale), false) = (scale, costs.is_empty()) {
                charts.push(chart(&costs, sweep, collective, scale, number));
            }
        }
    }
    charts
}

fn chart(costs: &[&Cost], sweep: &Sweep, collective: Collective, scale: Scale, number: usize) -> Chart {
    let measured = sweep.points_of(collective, scale).chunk_by(|a, b| a.workload == b.workload).filter_map(best);
    let at = |point: &aggregate::Point, note| Point::new(point.workload.size_bytes as f64, point.busbw_gbps, note);
    let measured = measured.map(|point| at(point, point.configuration.to_string()));
    let default = sweep.defaults_of(collective, scale).iter().map(|point| at(point, String::new()));
    let mut all = vec![
        Series::new("Best measured", Colour::Muted, Mark::Dots, measured.collect()),
        Series::new("Default, measured", Colour::Default, Mark::LineAndDots, default.collect()),
    ];
    all.retain(|series| !series.points.is_empty());
    for (index, cost) in costs.iter().enumerate() {
        let curve = EXPONENTS.map(|exponent| {
            let size_bytes = 1_u64 << exponent;
            let y = collective.busbw_gbps(scale.ranks, size_bytes, time_us(cost, size_bytes));
            Point::new(size_bytes as f64, y, String::new())
        });
        let curve: Vec<Point> = curve.filter(|point| point.y.is_finite() && point.y > 0.0).collect();
        let name = format!("{}/{}, believed", cost.algorithm, cost.protocol);
        if !curve.is_empty() && all.iter().all(|series| series.name != name) {
            all.push(Series::new(&name, Colour::Palette(index as u8), Mark::Dashed, curve));
        }
    }
    let highest = costs.iter().map(|cost| cost.algbw_gbps).fold(0.0, f64::max);
    Chart {
        id: format!("costs-{number}-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("What the library believes, {collective} on {scale}"),
        summary: format!(
            "The library's own table: {} combinations, the highest with {} GB/s of algorithm bandwidth.",
            costs.len(),
            significant(highest)
        ),
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series: all,
    }
}
