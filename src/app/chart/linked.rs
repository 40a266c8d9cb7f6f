//! What is pointed at in a chart or a table, so that the others mark it; and what was switched in a chart, so that it
//! is as it was when its section is shown again.

use leptos::prelude::*;

use crate::{
    app::signal::RwSignal,
    plot::{Chart, Pick, is_same_label, value_text},
    text::{Column, Entry, Listing},
};

/// A value under a label: of the x axis of a chart, or of a column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledValue {
    /// The label of the axis or column.
    pub label: String,
    /// The value as a number; `None` for categories.
    pub number: Option<f64>,
    /// The value as it is written.
    pub text: String,
}

/// The point or row under the pointer or the focus, with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointed {
    /// The number of the chart; `None` for a table.
    pub chart: Option<usize>,
    /// The value of the point, or those of the row.
    pub values: Vec<LabelledValue>,
}

/// The links between charts and tables. Copies share them.
#[derive(Clone, Copy, Default)]
pub struct Links {
    /// The point or row to mark elsewhere; `None` for none.
    pub pointed: RwSignal<Option<Pointed>>,
    /// What was switched, with the id of each chart.
    pub(super) switched: StoredValue<Vec<(String, [bool; 3])>>,
}

impl Links {
    /// Points at something, or at nothing: the latter only if it was this chart, or a table (`None`), that pointed.
    pub fn point(self, chart: Option<usize>, values: Option<Vec<LabelledValue>>) {
        let pointed = values.map(|values| Pointed { chart, values });
        let is_other = self.pointed.with_untracked(|before| {
            let is_own = before.as_ref().is_some_and(|before| before.chart == chart);
            (pointed.is_some() || is_own) && *before != pointed
        });
        if is_other {
            self.pointed.set(pointed);
        }
    }

    /// The value of a chart's x axis that is pointed at elsewhere.
    pub(super) fn across(self, own: usize, chart: &Chart) -> Option<f64> {
        self.pointed.with(|pointed| {
            let pointed = pointed.as_ref().filter(|pointed| pointed.chart != Some(own))?;
            pointed.values.iter().find_map(|value| chart.x_of(&value.label, value.number, &value.text))
        })
    }

    /// The rows of a table that show what is pointed at in a chart.
    pub fn marked_rows(self, listing: &Listing) -> Vec<usize> {
        self.pointed.with(|pointed| {
            let Some(Pointed { chart: Some(_), values }) = pointed else { return Vec::new() };
            let rows = |value: &LabelledValue| {
                let column = listing.columns.iter().position(|column| is_same_label(&column.name, &value.label))?;
                let is_it =
                    |entry: &Entry| entry.text == value.text || entry.number.is_some() && entry.number == value.number;
                let rows = listing.rows.iter().enumerate();
                Some(rows.filter(|(_, row)| row.get(column).is_some_and(is_it)).map(|(row, _)| row).collect())
            };
            values.iter().find_map(rows).unwrap_or_default()
        })
    }
}

/// The values of a row of a table.
pub fn values_of_row(listing: &Listing, row: usize) -> Vec<LabelledValue> {
    let cells = listing.columns.iter().zip(listing.rows.get(row).into_iter().flatten());
    let value = |(column, entry): (&Column, &Entry)| LabelledValue {
        label: column.name.to_string(),
        number: entry.number,
        text: entry.text.clone(),
    };
    cells.map(value).collect()
}

/// The x value of a point.
pub(super) fn value_of(chart: &Chart, pick: Pick) -> Option<LabelledValue> {
    let x = chart.series.get(pick.series)?.points.get(pick.point)?.x;
    let number = (!chart.x.quantity.is_names()).then_some(x);
    Some(LabelledValue { label: chart.x.label.clone(), number, text: value_text(x, &chart.x.quantity) })
}
