//! Tables that are shown to people: the text of cells, and the numbers by which they are sorted.

use crate::order::CompactSort;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Cell, Table};
use crate::units::Size;

/// A cell of a listing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The text that is shown.
    pub text: String,
    /// By what it is sorted; text where it is no number.
    pub number: Option<f64>,
}

impl Entry {
    /// A cell of text, which is aligned left.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: None }
    }

    /// A message size in bytes, in binary units.
    pub fn size(size_bytes: u64) -> Self {
        Self { text: Size(size_bytes).to_string(), number: Some(size_bytes as f64) }
    }

    /// A number as it is written; an empty cell where there is none.
    pub fn number(value: Option<f64>, written: impl FnOnce(f64) -> String) -> Self {
        Self { text: value.map(written).unwrap_or_default(), number: value }
    }
}

/// A column of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The header, by which a column is found.
    pub name: Cow<'static, str>,
    /// The meaning of the column, with unit and reference.
    pub meaning: Cow<'static, str>,
    /// Whether the column holds numbers, which are right-aligned.
    pub is_numeric: bool,
    /// Shown on demand only: it explains what the others say, and a table of all of them would be too wide to read.
    #[serde(default)]
    pub is_secondary: bool,
}

impl Column {
    /// A column of text, aligned left; its meaning explains the header.
    pub const fn words(name: &'static str, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), meaning: Cow::Borrowed(meaning), is_numeric: false, is_secondary: false }
    }

    /// A column of numbers, aligned right; its meaning explains the header.
    pub const fn numbers(name: &'static str, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), meaning: Cow::Borrowed(meaning), is_numeric: true, is_secondary: false }
    }

    /// The column, marked to be shown on demand only.
    #[must_use]
    pub const fn secondary(mut self) -> Self {
        self.is_secondary = true;
        self
    }
}

/// A table that is shown to people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Entry>>,
}

impl Listing {
    /// The listing without the columns that are empty all the way down.
    pub fn without_empty_columns(&self) -> Self {
        let has_text =
            |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.text.is_empty()));
        self.with(has_text)
    }

    /// Shows a column on demand only; nothing where there is no such column.
    pub fn hide(&mut self, name: &str) {
        self.columns.iter_mut().filter(|column| column.name == name).for_each(|column| column.is_secondary = true);
    }

    /// The listing without the columns that are shown on demand only.
    pub fn without_secondary_columns(&self) -> Self {
        self.with(|column| !self.columns[column].is_secondary)
    }

    /// The listing with the columns whose index `keeps` accepts.
    fn with(&self, keeps: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.columns.len()).filter(|column| keeps(*column)).collect();
        let row = |row: &Vec<Entry>| kept.iter().filter_map(|column| row.get(*column).cloned()).collect();
        Self {
            columns: kept.iter().map(|column| self.columns[*column].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The listing with the rows that a filter keeps, as in [`Listing::visible_rows`].
    pub fn filtered(&self, filter: &str) -> Self {
        let rows = self.visible_rows(None, filter).into_iter().map(|index| self.rows[index].clone()).collect();
        Self { columns: self.columns.clone(), rows }
    }

    /// The listing as a table to be written, its cells as they are shown.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new(self.columns.iter().map(|column| column.name.to_string()));
        for row in &self.rows {
            table.push(row.iter().map(|entry| Cell::Text(entry.text.clone())).collect());
        }
        table
    }

    /// The listing as JSON: an object per row, numbers where a cell has one, else its text; empty cells are left out.
    pub fn to_json(&self) -> String {
        let object = |row: &Vec<Entry>| {
            let cells = self.columns.iter().zip(row).filter(|(_, entry)| !entry.text.is_empty());
            // One by one: to collect them brings a sort of its own.
            let mut object = serde_json::Map::new();
            for (column, entry) in cells {
                let value = entry.number.map_or_else(|| entry.text.as_str().into(), serde_json::Value::from);
                object.insert(column.name.to_string(), value);
            }
            serde_json::Value::Object(object)
        };
        let rows: Vec<serde_json::Value> = self.rows.iter().map(object).collect();
        super::json::indented(&rows) + "\n"
    }

    /// The rows to show: those in which every word of `filter` occurs in some cell, in any case, ordered by a
    /// column (ascending or descending, empty cells last) or as they came.
    pub fn visible_rows(&self, sort: Option<(usize, bool)>, filter: &str) -> Vec<usize> {
        let words: Vec<String> = filter.split_whitespace().map(str::to_ascii_lowercase).collect();
        let holds = |row: &[Entry]| {
            let cells: Vec<String> = row.iter().map(|cell| cell.text.to_ascii_lowercase()).collect();
            words.iter().all(|word| cells.iter().any(|cell| cell.contains(word)))
        };
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|index| holds(&self.rows[*index])).collect();
        if let Some((column, descending)) = sort {
            order.compact_sort_by(|a, b| {
                let (a, b) = (self.rows[*a].get(column), self.rows[*b].get(column));
                let is_empty = |cell: Option<&Entry>| cell.is_none_or(|cell| cell.text.is_empty());
                let (a_empty, b_empty) = (is_empty(a), is_empty(b));
                let ordering = match (a.zip(b), a.and_then(|a| a.number).zip(b.and_then(|b| b.number))) {
                    (_, Some((a, b))) => a.total_cmp(&b),
                    (Some((a, b)), None) => a.text.cmp(&b.text),
                    (None, None) => std::cmp::Ordering::Equal,
                };
                a_empty.cmp(&b_empty).then(if descending { ordering.reverse() } else { ordering })
            });
        }
        order
    }
}
