//! Draws bars and cells: rectangles with text.

use plotters::style::text_anchor::HPos;

use super::{
    Mark, Point, Quantity, Rect, Series, Spacing,
    measure::text_width,
    palette::{Inks, STEPS},
    paper::{DrawError, Letters, Paper},
    scale::{Scale, Scales, coordinate},
    table::value_text,
};
use crate::order::CompactSort;

/// The part of its row that a bar takes, and the most in CSS pixels.
const SHARE: f64 = 0.78;
const THICKEST: f64 = 36.0;
/// The width in device pixels below which bars and cells have no gap between them.
const NARROW: f64 = 3.0;
const SMALL: f64 = 6.0;
/// Free room on both sides of a word together, in bars and in cells, and above and below it.
const AROUND: f64 = 3.0;
const AROUND_VALUE: f64 = 6.0;
const LEADING: f64 = 2.0;

/// The rectangle that a point covers; `None` if it can't be drawn, or its mark covers no area.
pub(super) fn area(point: &Point, mark: &Mark, scales: &Scales) -> Option<Rect> {
    let (top, bottom) = scales.y.unit_around(point.y)?;
    match mark {
        Mark::Spans => {
            let (start, end) = (scales.x.place(point.x)?, scales.x.place(point.x + point.value?)?);
            let (middle, half) = (f64::midpoint(top, bottom), ((bottom - top) * SHARE).clamp(1.0, THICKEST) / 2.0);
            let (first, last) = scales.x.bounds();
            let (left, right) = (start.min(end), start.max(end));
            let is_shown = !scales.x.is_part() || left <= last && right >= first;
            let shown = |place: f64| if scales.x.is_part() { place.clamp(first, last) } else { place };
            is_shown.then(|| Rect { left: shown(left), top: middle - half, right: shown(right), bottom: middle + half })
        }
        Mark::Cells(..) => {
            let (left, right) = scales.x.unit_around(point.x)?;
            Some(Rect { left, top, right, bottom })
        }
        _ => None,
    }
}

/// The offset of a dot that marks a cell from its centre: the upper right corner, beside the value.
pub(super) fn corner(x: &Scale, y: &Scale) -> (f64, f64) {
    const INSIDE: f64 = 8.0;
    let half = |scale: &Scale| (scale.unit() / 2.0 - INSIDE).max(0.0);
    (half(x), -half(y))
}

/// A rectangle on whole device pixels, at least one wide and high.
fn on_pixels(paper: &Paper<'_>, area: &Rect) -> Rect {
    let (left, top) = (paper.snapped(area.left), paper.snapped(area.top));
    Rect {
        left,
        top,
        right: paper.snapped(area.right).max(left + paper.pixel()),
        bottom: paper.snapped(area.bottom).max(top + paper.pixel()),
    }
}

/// The part of a note that is written into a bar.
fn label(note: &str) -> &str {
    note.split([',', ':', ';']).next().unwrap_or_default().trim()
}

/// Draws bars. Neighbours too narrow to be distinguished are drawn as one, so that there are never more bars than
/// pixels.
pub(super) fn spans(paper: &Paper<'_>, series: &Series, scales: &Scales, inks: &Inks) -> Result<(), DrawError> {
    let colour = inks.colour(series.colour);
    let places = series.points.iter().filter_map(|point| Some((area(point, &series.mark, scales)?, point)));
    let mut bars: Vec<(Rect, &Point)> = places.map(|(area, point)| (on_pixels(paper, &area), point)).collect();
    bars.compact_sort_by(|(a, _), (b, _)| a.top.total_cmp(&b.top).then(a.left.total_cmp(&b.left)));
    let narrow = NARROW * paper.pixel();
    let mut thin: Option<Rect> = None;
    for (bar, point) in bars {
        let is_thin = bar.width() < narrow;
        if let Some(run) = thin.as_mut().filter(|run| is_thin && run.top == bar.top && bar.left <= run.right) {
            run.right = run.right.max(bar.right);
            continue;
        }
        if let Some(run) = thin.take() {
            paper.rectangle(&run, &colour)?;
        }
        if is_thin {
            thin = Some(bar);
            continue;
        }
        let bar = Rect { right: bar.right - paper.pixel(), ..bar };
        paper.rectangle(&bar, &colour)?;
        let letters = Letters::new(10.5, &inks.on(series.colour)).anchored(HPos::Center);
        let has_room = bar.height() >= letters.size + LEADING && bar.width() > letters.size;
        let label = if has_room { label(&point.note) } else { "" };
        if !label.is_empty() && letters.width(label) + AROUND <= bar.width() {
            let centre = (f64::midpoint(bar.left, bar.right), f64::midpoint(bar.top, bar.bottom));
            paper.text(label, centre, letters)?;
        }
    }
    thin.map_or(Ok(()), |run| paper.rectangle(&run, &colour))
}

/// The colour scale of a series of cells: from its smallest value to its largest.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(series: &Series, spacing: Spacing) -> Option<Self> {
        let (low, high) = ends(series, spacing)?;
        Some(Self { low: coordinate(low, spacing)?, high: coordinate(high, spacing)? })
    }

    /// The step of the colour scale for a position; the middle one if all values are equal.
    fn step(&self, place: f64) -> usize {
        let share = (place - self.low) / (self.high - self.low);
        if share.is_finite() { ((share * STEPS as f64) as usize).min(STEPS - 1) } else { STEPS / 2 }
    }
}

/// The smallest and the largest value that a series of cells shows.
pub(super) fn ends(series: &Series, spacing: Spacing) -> Option<(f64, f64)> {
    let shown = series.points.iter().filter_map(|point| point.value.filter(|v| coordinate(*v, spacing).is_some()));
    let ends = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    (ends.0 <= ends.1).then_some(ends)
}

/// A value where there is little room: per cent with one digit after the point, and none from ten on.
pub(super) fn short_text(value: f64, quantity: &Quantity) -> String {
    if *quantity != Quantity::Percent || !value.is_finite() {
        return value_text(value, quantity);
    }
    let digits = usize::from(value.abs() < 9.95);
    let text = format!("{:.digits$}", value.abs());
    let is_negative = value < 0.0 && text.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    format!("{}{text}", if is_negative { "−" } else { "" })
}

/// The gap between cells, and the size of letters that gives all values room.
fn lettering(paper: &Paper<'_>, series: &Series, quantity: &Quantity, scales: &Scales) -> (f64, Option<f64>) {
    let (width, height) = (scales.x.unit(), scales.y.unit());
    let gap = if width.min(height) > SMALL * paper.pixel() { paper.pixel() } else { 0.0 };
    let mut sizes = [11.5, 10.0, 9.0].into_iter().filter(|size| size + LEADING + gap <= height && width > *size);
    let size = sizes.find(|size| {
        let labels = series.points.iter().filter_map(|point| Some(short_text(point.value?, quantity)));
        labels.map(|label| text_width(&label, *size)).all(|label| label + AROUND_VALUE <= width)
    });
    (gap, size)
}

/// Draws cells, with their values in them where all have room. Of those that lie below a line (`again`) only the
/// values, each on its own colour: the line passes behind.
pub(super) fn cells(
    paper: &Paper<'_>,
    series: &Series,
    scales: &Scales,
    inks: &Inks,
    again: Option<&dyn Fn(&Point) -> bool>,
) -> Result<(), DrawError> {
    let Mark::Cells(quantity, spacing) = &series.mark else { return Ok(()) };
    let range = Range::of(series, *spacing);
    let (gap, size) = lettering(paper, series, quantity, scales);
    for point in series.points.iter().filter(|point| again.is_none_or(|is_meant| is_meant(point))) {
        let Some(cell) = area(point, &series.mark, scales).map(|cell| on_pixels(paper, &cell)) else { continue };
        let cell = Rect { right: cell.right - gap, bottom: cell.bottom - gap, ..cell };
        let place = point.value.and_then(|value| coordinate(value, *spacing));
        let Some((range, place)) = range.as_ref().zip(place) else {
            if again.is_none() {
                paper.rectangle(&cell, &inks.fine_grid)?;
            }
            continue;
        };
        let (colour, ink) = inks.step(range.step(place));
        if again.is_none() {
            paper.rectangle(&cell, &colour)?;
        }
        if let Some((size, value)) = size.zip(point.value) {
            let label = short_text(value, quantity);
            let (x, y) = (f64::midpoint(cell.left, cell.right), f64::midpoint(cell.top, cell.bottom));
            if again.is_some() {
                let half = text_width(&label, size) / 2.0 + 1.0;
                let below = Rect { left: x - half, right: x + half, ..cell };
                paper.rectangle(&below, &colour)?;
            }
            paper.text(&label, (x, y), Letters::new(size, &ink).anchored(HPos::Center))?;
        }
    }
    Ok(())
}

/// The width of one colour in the key of cells, in CSS pixels.
const KEY_STEP: f64 = 8.0;
/// The width of the colour key of cells, in CSS pixels.
pub(super) const KEY_WIDTH: f64 = KEY_STEP * STEPS as f64;

/// Draws the colour key, from low to high.
pub(super) fn key(paper: &Paper<'_>, (left, middle): (f64, f64), inks: &Inks) -> Result<(), DrawError> {
    (0..STEPS).try_for_each(|step| {
        let left = left + step as f64 * KEY_STEP;
        let area = Rect { left, top: middle - 6.0, right: left + KEY_STEP, bottom: middle + 6.0 };
        paper.rectangle(&area, &inks.step(step).0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_in_cells_are_short() {
        let written = |value: f64| short_text(value, &Quantity::Percent);
        for (value, text) in
            [(0.0, "0.0"), (0.249, "0.2"), (9.94, "9.9"), (9.96, "10"), (99.4, "99"), (-0.04, "0.0"), (-33.3, "−33")]
        {
            assert_eq!(written(value), text, "{value}");
        }
        assert_eq!(short_text(1295.0, &Quantity::TimeUs), "1.295 ms");
    }
}
