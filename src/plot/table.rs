//! A chart's numbers as text: one point for a readout, all of them for the table behind the picture.

use super::{Axis, Chart, FileLine, Layout, Mark, Pick, Point, Quantity, Series};
use crate::units::{Size, significant, with_minus};

/// The values of one point as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointReadout {
    /// The name of the series.
    pub series: String,
    /// The x axis' label and the value with its unit.
    pub x: (String, String),
    /// The y axis' label and the value with its unit.
    pub y: (String, String),
    /// For spans and cells: the name of the further quantity that the mark shows, `Length` or `Value`, and its value
    /// with the unit.
    pub value: Option<(String, String)>,
    /// The interval with its unit, `361.2 – 398.0 GB/s`; empty where there is none.
    pub interval: String,
    /// The note of the point.
    pub note: String,
    /// The line of a file that it was measured in.
    pub line: Option<FileLine>,
}

impl PointReadout {
    /// The values in one sentence, for a screen reader.
    pub fn sentence(&self) -> String {
        let mut text = format!("{}: {} {}, {} {}", self.series, self.x.0, self.x.1, self.y.0, self.y.1);
        if let Some((label, value)) = &self.value {
            text.push_str(&format!(", {} {value}", label.to_ascii_lowercase()));
        }
        for (before, part) in [(", between ", &self.interval), ("; ", &self.note)] {
            if !part.is_empty() {
                text.push_str(before);
                text.push_str(&part.replace(" – ", " and "));
            }
        }
        text
    }
}

/// The data of a chart as a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartTable {
    /// The header of each column, with the unit.
    pub headers: Vec<String>,
    /// Whether a column holds numbers, which are set flush right.
    pub numeric: Vec<bool>,
    /// One row per point, in the order of the chart.
    pub rows: Vec<Vec<String>>,
    /// What each cell of [`ChartTable::rows`] is sorted by; text where there is no number.
    pub numbers: Vec<Vec<Option<f64>>>,
}

/// The unit in which a time prints, and its length in microseconds.
pub(super) fn time_unit(time_us: f64) -> (&'static str, f64) {
    match time_us.abs() {
        us if us < 1e3 => ("µs", 1.0),
        us if us < 1e6 => ("ms", 1e3),
        _ => ("s", 1e6),
    }
}

fn number_text(value: f64) -> String {
    with_minus(significant(value))
}

/// A value in its quantity's way of printing, without the unit unless it is part of the number (`16 MiB`, `2.5 ms`).
pub fn value_text(value: f64, quantity: &Quantity) -> String {
    let whole = value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15;
    match quantity {
        Quantity::Bytes if whole && value >= 0.0 => Size(value as u64).to_string(),
        Quantity::Bytes => format!("{} B", number_text(value)),
        Quantity::Count if whole => with_minus(format!("{value}")),
        Quantity::TimeUs if value == 0.0 => "0 s".to_owned(),
        Quantity::TimeUs => {
            let (name, unit_us) = time_unit(value);
            format!("{} {name}", number_text(value / unit_us))
        }
        Quantity::Share => number_text(value * 100.0),
        Quantity::Names(names) => {
            let name = Some(value.round()).filter(|n| *n >= 0.0).and_then(|n| names.get(n as usize));
            name.cloned().unwrap_or_else(|| number_text(value))
        }
        _ => number_text(value),
    }
}

/// The unit that follows a value, with its space; empty for bytes and times, which carry it, and for bare numbers.
pub(super) fn unit(quantity: &Quantity) -> &'static str {
    match quantity {
        Quantity::BusbwGbps => "GB/s",
        Quantity::Percent | Quantity::Share => "%",
        Quantity::Gib => "GiB",
        Quantity::Bytes | Quantity::TimeUs | Quantity::Count | Quantity::Number | Quantity::Names(_) => "",
    }
}

/// The label of an axis with its unit, such as `busbw (GB/s)`.
pub(super) fn axis_title(axis: &Axis) -> String {
    match unit(&axis.quantity) {
        "" => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    }
}

pub(super) fn with_unit(text: &str, quantity: &Quantity) -> String {
    match unit(quantity) {
        "" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

fn interval_text(point: &Point, quantity: &Quantity) -> String {
    match (point.low, point.high) {
        (Some(low), Some(high)) => {
            with_unit(&format!("{} – {}", value_text(low, quantity), value_text(high, quantity)), quantity)
        }
        _ => String::new(),
    }
}

/// One point in words; `None` where the chart has no such point.
pub fn reading(chart: &Chart, pick: Pick) -> Option<PointReadout> {
    let series = chart.series.get(pick.series)?;
    let point = series.points.get(pick.point)?;
    let told = |value, quantity: &Quantity| with_unit(&value_text(value, quantity), quantity);
    let place = |axis: &Axis, value| (axis.label.clone(), told(value, &axis.quantity));
    let mut x = place(&chart.x, point.x);
    if let (Mark::Spans, Some(length)) = (&series.mark, point.value) {
        x.1 = format!("{} to {}", x.1, told(point.x + length, &chart.x.quantity));
    }
    let (label, quantity) = value_quantity(chart, series);
    Some(PointReadout {
        series: series.name.clone(),
        x,
        y: place(&chart.y, point.y),
        value: point.value.filter(|_| series.mark.is_area()).map(|value| (label.to_owned(), told(value, quantity))),
        interval: interval_text(point, interval_quantity(chart, series)),
        note: point.note.clone(),
        line: point.line,
    })
}

/// The name and quantity of the values of spans or cells.
fn value_quantity<'a>(chart: &'a Chart, series: &'a Series) -> (&'static str, &'a Quantity) {
    match &series.mark {
        Mark::Cells(quantity, _) => ("Value", quantity),
        _ => ("Length", &chart.x.quantity),
    }
}

/// The quantity of the ends of a series' intervals.
fn interval_quantity<'a>(chart: &'a Chart, series: &'a Series) -> &'a Quantity {
    match &series.mark {
        Mark::Cells(quantity, _) => quantity,
        _ => &chart.y.quantity,
    }
}

/// The drawn points of other series at the same x, one for each series: the nearest in y. For a bar or a cell, only
/// those at the same position.
pub fn beside(chart: &Chart, layout: &Layout, pick: Pick) -> Vec<Pick> {
    let point = |pick: Pick| chart.series.get(pick.series).and_then(|series| series.points.get(pick.point));
    let is_area = |series: usize| chart.series.get(series).is_some_and(|series| series.mark.is_area());
    let Some(here) = point(pick) else { return Vec::new() };
    let others = layout.series.iter().filter(|series| series.index != pick.series);
    let nearest = others.filter_map(|series| {
        let same = series.positions.iter().filter_map(|place| Some((place.pick, point(place.pick)?)));
        let in_place = is_area(pick.series) || is_area(series.index);
        let same = same.filter(|(_, other)| other.x == here.x && (!in_place || other.y == here.y));
        same.min_by(|(_, a), (_, b)| (a.y - here.y).abs().total_cmp(&(b.y - here.y).abs())).map(|(pick, _)| pick)
    });
    nearest.collect()
}

/// What a chart shows after zooming, for a screen reader: how many points, and the first and the last of their x
/// values.
pub fn zoom_text(chart: &Chart, layout: &Layout) -> String {
    let places = layout.series.iter().flat_map(|series| &series.positions);
    let xs = places.filter_map(|place| Some(chart.series.get(place.pick.series)?.points.get(place.pick.point)?.x));
    let (count, low, high) =
        xs.fold((0, f64::INFINITY, f64::NEG_INFINITY), |(count, low, high), x| (count + 1, x.min(low), x.max(high)));
    let points = crate::units::count(count, "point");
    if count == 0 {
        return format!("{points} shown");
    }
    let told = |value| with_unit(&value_text(value, &chart.x.quantity), &chart.x.quantity);
    format!("{points} shown, {} {} to {}", chart.x.label, told(low), told(high))
}

/// All points of a chart as text. The columns for intervals and notes are left out where no point has one.
pub fn table(chart: &Chart) -> ChartTable {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let intervals = points().any(|point| point.low.is_some() || point.high.is_some());
    let values = || chart.series.iter().filter(|series| series.mark.is_area());
    let notes = points().any(|point| !point.note.is_empty());
    let number = |axis: &Axis| (axis_title(axis), !axis.quantity.is_names());
    let mut columns = vec![("Series".to_owned(), false), number(&chart.x), number(&chart.y)];
    let mut of_interval = columns[2].0.clone();
    if let Some(series) = values().next_back() {
        columns.push((value_quantity(chart, series).0.to_owned(), true));
        of_interval = "Value".to_owned();
    }
    if intervals {
        columns.extend(["low", "high"].map(|end| (format!("{of_interval}, {end}"), true)));
    }
    if notes {
        columns.push(("Note".to_owned(), false));
    }
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    for series in &chart.series {
        let (_, value_is) = value_quantity(chart, series);
        let interval_is = interval_quantity(chart, series);
        for point in &series.points {
            let number = |value: Option<f64>, quantity: &Quantity| {
                let text = value.map(|value| value_text(value, quantity)).unwrap_or_default();
                (text, value.filter(|_| !quantity.is_names()))
            };
            let mut row = vec![(series.name.clone(), None)];
            row.extend([(point.x, &chart.x), (point.y, &chart.y)].map(|(at, axis)| number(Some(at), &axis.quantity)));
            if values().next().is_some() {
                let (text, value) = number(point.value.filter(|_| series.mark.is_area()), value_is);
                let text = if text.is_empty() { text } else { with_unit(&text, value_is) };
                row.push((text, value));
            }
            if intervals {
                row.extend([point.low, point.high].map(|end| number(end, interval_is)));
            }
            if notes {
                row.push((point.note.clone(), None));
            }
            let (texts, of_row): (Vec<String>, Vec<Option<f64>>) = row.into_iter().unzip();
            rows.push(texts);
            numbers.push(of_row);
        }
    }
    let (headers, numeric) = columns.into_iter().unzip();
    ChartTable { headers, numeric, rows, numbers }
}
