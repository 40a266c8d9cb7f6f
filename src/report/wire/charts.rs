//! Charts: `{"id","title","summary","x":["Message size","bytes","log"],"y":[…],"series":[…]}`, a series as
//! `{"name","colour","mark","x":[…],"y":[…],"low":[…],"high":[…],"values":[…],"notes":[…]}`. An axis of categories has
//! their names in the fourth place; cells have what their values are, as an axis without a label, in `"value"`.

use serde_json::Value;

use super::{Cursor, WireError, list, numbers, object, slug, text, texts};
use crate::plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing};

const QUANTITIES: [(&str, Quantity); 8] = [
    ("bytes", Quantity::Bytes),
    ("busbw_gbps", Quantity::BusbwGbps),
    ("count", Quantity::Count),
    ("time_us", Quantity::TimeUs),
    ("percent", Quantity::Percent),
    ("number", Quantity::Number),
    ("gib", Quantity::Gib),
    ("share", Quantity::Share),
];
const NAMES: &str = "names";
const SPACINGS: [(&str, Spacing); 3] =
    [("linear", Spacing::Linear), ("log", Spacing::Logarithmic), ("symlog", Spacing::SymmetricLogarithmic)];
const MARKS: [(&str, Mark); 8] = [
    ("line", Mark::Line),
    ("dashed", Mark::Dashed),
    ("dots", Mark::Dots),
    ("line-and-dots", Mark::LineAndDots),
    ("band", Mark::Band),
    ("whiskers", Mark::Whiskers),
    ("spans", Mark::Spans),
    ("rings", Mark::Rings),
];
const CELLS: &str = "cells";
const COLOURS: [(&str, Colour); 3] =
    [("answer", Colour::Answer), ("default", Colour::Default), ("muted", Colour::Muted)];

fn word<T: PartialEq>(words: &[(&'static str, T)], wanted: &T) -> Option<&'static str> {
    words.iter().find(|(_, value)| value == wanted).map(|(word, _)| *word)
}

fn of_word<T: Clone>(words: &[(&'static str, T)], at: &Cursor<'_>, what: &str) -> Result<T, WireError> {
    let word = at.text()?;
    let found = words.iter().find(|(known, _)| *known == word).map(|(_, value)| value.clone());
    found.ok_or_else(|| at.expected(format!("{what} that this version knows")))
}

pub(super) fn write(chart: &Chart) -> Value {
    object([
        ("id", text(&chart.id)),
        ("title", text(&chart.title)),
        ("summary", text(&chart.summary)),
        ("x", axis(&chart.x)),
        ("y", axis(&chart.y)),
        ("series", list(&chart.series, series)),
    ])
}

fn axis(axis: &Axis) -> Value {
    Value::Array(measure(&axis.label, &axis.quantity, axis.spacing))
}

fn measure(label: &str, quantity: &Quantity, spacing: Spacing) -> Vec<Value> {
    let spacing = text(word(&SPACINGS, &spacing).unwrap_or_default());
    match quantity {
        Quantity::Names(names) => vec![text(label), text(NAMES), spacing, texts(names)],
        quantity => vec![text(label), text(word(&QUANTITIES, quantity).unwrap_or_default()), spacing],
    }
}

fn series(series: &Series) -> Value {
    let colour = match series.colour {
        Colour::Palette(n) => n.into(),
        named => text(word(&COLOURS, &named).unwrap_or_default()),
    };
    let points = &series.points;
    let ends = |end: fn(&Point) -> Option<f64>| match points.iter().any(|point| end(point).is_some()) {
        true => list(points, |point| end(point).map_or(Value::Null, numbers::write)),
        false => Value::Null,
    };
    // Times of a long run need more digits than are shown, or bars would overlap: whole ones keep all of theirs.
    let along = |value: f64| match series.mark {
        Mark::Spans if value.abs() >= 1e4 => numbers::write(value.round()),
        _ => numbers::write(value),
    };
    let (mark, value) = match &series.mark {
        Mark::Cells(quantity, spacing) => (CELLS, Value::Array(measure("", quantity, *spacing))),
        mark => (word(&MARKS, mark).unwrap_or_default(), Value::Null),
    };
    let values = match points.iter().any(|point| point.value.is_some()) {
        true => list(points, |point| point.value.map_or(Value::Null, along)),
        false => Value::Null,
    };
    let has_notes = points.iter().any(|point| !point.note.is_empty());
    object([
        ("name", text(&series.name)),
        ("colour", colour),
        ("mark", text(mark)),
        ("value", value),
        ("x", list(points, |point| along(point.x))),
        ("y", list(points, |point| numbers::write(point.y))),
        ("low", ends(|point| point.low)),
        ("high", ends(|point| point.high)),
        ("values", values),
        ("notes", if has_notes { list(points, |point| text(&point.note)) } else { Value::Null }),
    ])
}

pub(super) fn read(at: Cursor<'_>) -> Result<Chart, WireError> {
    at.object()?;
    Ok(Chart {
        id: slug(at.field("id").text()?),
        title: at.field("title").text()?.to_owned(),
        summary: at.field("summary").text()?.to_owned(),
        x: read_axis(at.field("x"))?,
        y: read_axis(at.field("y"))?,
        series: at.field("series").list(read_series)?,
    })
}

fn read_axis(at: Cursor<'_>) -> Result<Axis, WireError> {
    let of_names = at.items::<4>();
    let names = of_names.map(|[label, quantity, spacing, names]| ([label, quantity, spacing], Some(names)));
    let Some(([label, quantity, spacing], names)) = names.or_else(|| Some((at.items()?, None))) else {
        return Err(at.expected("a label, a quantity and a spacing"));
    };
    Ok(Axis {
        label: label.text()?.to_owned(),
        quantity: match names {
            Some(names) if quantity.text()? == NAMES => Quantity::Names(names.texts()?),
            _ => of_word(&QUANTITIES, &quantity, "a quantity")?,
        },
        spacing: of_word(&SPACINGS, &spacing, "a spacing")?,
    })
}

fn read_mark(at: &Cursor<'_>) -> Result<Mark, WireError> {
    let mark = at.field("mark");
    if mark.text()? == CELLS {
        let Axis { quantity, spacing, .. } = read_axis(at.field("value"))?;
        return Ok(Mark::Cells(quantity, spacing));
    }
    of_word(&MARKS, &mark, "a mark")
}

fn read_series(at: Cursor<'_>) -> Result<Series, WireError> {
    at.object()?;
    let colour = at.field("colour");
    let colour = match colour.value().as_u64() {
        Some(n) => Colour::Palette(u8::try_from(n).map_err(|_error| colour.expected("a number up to 255"))?),
        None => of_word(&COLOURS, &colour, "a colour")?,
    };
    let number = |at: Cursor<'_>| at.number()?.ok_or_else(|| at.expected("a number"));
    let xs = at.field("x").list(number)?;
    let ys = at.field("y").list(number)?;
    let lows = at.field("low").list(|at| at.number())?;
    let highs = at.field("high").list(|at| at.number())?;
    let values = at.field("values").list(|at| at.number())?;
    let notes = at.field("notes").texts()?;
    for (name, length, needed) in [
        ("y", ys.len(), true),
        ("low", lows.len(), false),
        ("high", highs.len(), false),
        ("values", values.len(), false),
        ("notes", notes.len(), false),
    ] {
        if length != xs.len() && (needed || length > 0) {
            return Err(at.field(name).expected(format!("{}, as many as there are in x,", xs.len())));
        }
    }
    let mut points: Vec<Point> = xs.into_iter().zip(ys).map(|(x, y)| Point { x, y, ..Point::default() }).collect();
    points.iter_mut().zip(lows).for_each(|(point, low)| point.low = low);
    points.iter_mut().zip(highs).for_each(|(point, high)| point.high = high);
    points.iter_mut().zip(values).for_each(|(point, value)| point.value = value);
    points.iter_mut().zip(notes).for_each(|(point, note)| point.note = note);
    Ok(Series { name: at.field("name").text()?.to_owned(), colour, mark: read_mark(&at)?, points })
}
