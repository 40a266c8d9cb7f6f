//! Dots that lie on each other are drawn once: a thousand of them would make most of the page.

use crate::{
    math::log2,
    order::CompactSort,
    plot::{Axis, Chart, Mark, Point, Spacing, Style},
};

/// The size of a square in CSS pixels: dots in the same square count as one.
const SQUARE: f64 = 4.0;

/// The chart, reduced to what is distinguishable when drawn in a style.
pub(super) fn sketch(chart: &Chart, style: &Style) -> Chart {
    let mut sketch = chart.clone();
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let across = Cells::new(&chart.x, points().map(|point| point.x), style.width);
    let up = Cells::new(&chart.y, points().map(|point| point.y), style.height);
    for series in sketch.series.iter_mut().filter(|series| series.mark == Mark::Dots) {
        let cell = |(index, point): (usize, &Point)| ((across.of(point.x), up.of(point.y)), index);
        let mut cells: Vec<_> = series.points.iter().enumerate().map(cell).collect();
        cells.compact_sort();
        cells.dedup_by_key(|(cell, _)| *cell);
        let mut kept: Vec<usize> = cells.into_iter().map(|(_, index)| index).collect();
        kept.compact_sort();
        series.points = kept.into_iter().map(|index| series.points[index].clone()).collect();
    }
    sketch
}

/// A grid of squares along an axis.
struct Cells {
    spacing: Spacing,
    low: f64,
    size: f64,
}

impl Cells {
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, length: f64) -> Self {
        let places = values.map(|value| place(axis.spacing, value)).filter(|place| place.is_finite());
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
        Self { spacing: axis.spacing, low, size: ((high - low) * SQUARE / length).max(f64::MIN_POSITIVE) }
    }

    /// The index of the square; values that can't be drawn share one.
    fn of(&self, value: f64) -> i32 {
        ((place(self.spacing, value) - self.low) / self.size) as i32
    }
}

fn place(spacing: Spacing, value: f64) -> f64 {
    match spacing {
        Spacing::Linear => value,
        Spacing::Logarithmic => log2(value),
        Spacing::SymmetricLogarithmic => log2(1.0 + value.abs()).copysign(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Colour, Quantity, Series};

    #[test]
    fn dots_on_each_other_are_drawn_once_and_lines_stay() {
        let axis = |quantity, spacing| Axis { label: String::new(), quantity, spacing };
        let ys = [1.0, 1.000_1, 50.0, 100.0, f64::NAN, f64::INFINITY, -1.0];
        let points: Vec<Point> = ys.map(|y| Point { x: 4096.0, y, ..Point::default() }).into();
        let series = |mark| Series { name: format!("{mark:?}"), colour: Colour::Muted, mark, points: points.clone() };
        let chart = Chart {
            id: String::new(),
            title: String::new(),
            summary: String::new(),
            x: axis(Quantity::Bytes, Spacing::Logarithmic),
            y: axis(Quantity::BusbwGbps, Spacing::Logarithmic),
            series: vec![series(Mark::Dots), series(Mark::Line)],
        };
        let drawn = sketch(&chart, &Style::default());
        let left: Vec<f64> = drawn.series[0].points.iter().map(|point| point.y).filter(|y| *y > 0.0).collect();
        assert_eq!(left[..3], [1.0, 50.0, 100.0]);
        assert_eq!(drawn.series[1].points.len(), ys.len());
    }
}
