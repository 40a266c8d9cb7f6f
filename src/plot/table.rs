//! A chart's numbers as text: one point for a readout, all of them for the table behind the picture.

use super::{Axis, Chart, Layout, Pick, Point, Quantity};
use crate::units::{Size, significant};

/// One point in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The series' name.
    pub series: String,
    /// The x axis' label and the value with its unit.
    pub x: (String, String),
    /// The y axis' label and the value with its unit.
    pub y: (String, String),
    /// The interval with its unit, `361.2 – 398.0 GB/s`; empty where there is none.
    pub interval: String,
    /// The point's note.
    pub note: String,
}

impl Reading {
    /// The reading in one sentence, for a screen reader.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = format!("{}: {} {}, {} {}", self.series, self.x.0, self.x.1, self.y.0, self.y.1);
        for (before, part) in [(", between ", &self.interval), ("; ", &self.note)] {
            if !part.is_empty() {
                text.push_str(before);
                text.push_str(&part.replace(" – ", " and "));
            }
        }
        text
    }
}

/// The chart's data as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// One per column, units included.
    pub headers: Vec<String>,
    /// Whether a column holds numbers, which are set flush right.
    pub numeric: Vec<bool>,
    /// One row per point, in the order of the chart.
    pub rows: Vec<Vec<String>>,
}

/// A value in its quantity's way of printing, without the unit unless it is part of the number (`16 MiB`).
#[must_use]
pub fn value_text(value: f64, quantity: Quantity) -> String {
    let whole = value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15;
    match quantity {
        Quantity::Bytes if whole && value >= 0.0 => Size(value as u64).to_string(),
        Quantity::Bytes => format!("{} B", significant(value)),
        Quantity::Count if whole => format!("{value}"),
        _ => significant(value),
    }
}

/// The unit that follows a value, with its space; empty for bytes, which carry it, and for bare numbers.
#[must_use]
pub(super) fn unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::BusbwGbps => "GB/s",
        Quantity::TimeUs => "µs",
        Quantity::Percent => "%",
        Quantity::Bytes | Quantity::Count | Quantity::Number => "",
    }
}

/// The axis' label with its unit: `busbw (GB/s)`.
#[must_use]
pub(super) fn axis_title(axis: &Axis) -> String {
    match unit(axis.quantity) {
        "" => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    }
}

fn with_unit(text: &str, quantity: Quantity) -> String {
    match unit(quantity) {
        "" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

fn interval_text(point: &Point, quantity: Quantity) -> String {
    match (point.low, point.high) {
        (Some(low), Some(high)) => {
            with_unit(&format!("{} – {}", value_text(low, quantity), value_text(high, quantity)), quantity)
        }
        _ => String::new(),
    }
}

/// One point in words; `None` where the chart has no such point.
#[must_use]
pub fn reading(chart: &Chart, pick: Pick) -> Option<Reading> {
    let series = chart.series.get(pick.series)?;
    let point = series.points.get(pick.point)?;
    let value = |axis: &Axis, value| (axis.label.clone(), with_unit(&value_text(value, axis.quantity), axis.quantity));
    Some(Reading {
        series: series.name.clone(),
        x: value(&chart.x, point.x),
        y: value(&chart.y, point.y),
        interval: interval_text(point, chart.y.quantity),
        note: point.note.clone(),
    })
}

/// The drawn points of other series at the same x, one for each series: the nearest in y.
#[must_use]
pub fn beside(chart: &Chart, layout: &Layout, pick: Pick) -> Vec<Pick> {
    let point = |pick: Pick| chart.series.get(pick.series).and_then(|series| series.points.get(pick.point));
    let Some(here) = point(pick) else { return Vec::new() };
    let others = layout.series.iter().filter(|series| series.index != pick.series);
    let nearest = others.filter_map(|series| {
        let same = series.places.iter().filter_map(|place| Some((place.pick, point(place.pick)?)));
        let same = same.filter(|(_, other)| other.x == here.x);
        same.min_by(|(_, a), (_, b)| (a.y - here.y).abs().total_cmp(&(b.y - here.y).abs())).map(|(pick, _)| pick)
    });
    nearest.collect()
}

/// All points of a chart as text. The columns for intervals and notes are left out where no point has one.
#[must_use]
pub fn table(chart: &Chart) -> Table {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let intervals = points().any(|point| point.low.is_some() || point.high.is_some());
    let notes = points().any(|point| !point.note.is_empty());
    let y = axis_title(&chart.y);
    let mut columns = vec![("Series".to_owned(), false), (axis_title(&chart.x), true), (y.clone(), true)];
    if intervals {
        columns.extend([(format!("{y}, low"), true), (format!("{y}, high"), true)]);
    }
    if notes {
        columns.push(("Note".to_owned(), false));
    }
    let mut rows = Vec::new();
    for series in &chart.series {
        for point in &series.points {
            let y_text = |value| value_text(value, chart.y.quantity);
            let mut row = vec![series.name.clone(), value_text(point.x, chart.x.quantity), y_text(point.y)];
            if intervals {
                row.extend([point.low, point.high].map(|end| end.map(y_text).unwrap_or_default()));
            }
            if notes {
                row.push(point.note.clone());
            }
            rows.push(row);
        }
    }
    let (headers, numeric) = columns.into_iter().unzip();
    Table { headers, numeric, rows }
}
