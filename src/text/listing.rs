//! Tables that are shown to people: the text of cells, and the numbers by which they are sorted.

use crate::order::CompactSort;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Cell, Table, number};
use crate::units::{Size, grouped, significant};

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

    /// The unit that the meaning names, which cells without one have.
    fn unit(&self) -> Option<&'static str> {
        const NAMED: [(&str, &str); 5] = [
            ("GB/s", "GB/s"),
            ("in per cent", "%"),
            ("in microseconds", "µs"),
            ("in milliseconds", "ms"),
            ("in points", "points"),
        ];
        NAMED.into_iter().find(|(words, _)| self.meaning.contains(words)).map(|(_, unit)| unit)
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

    /// The header of a column for people, with the unit where its cells are numbers without one.
    pub fn heading(&self, index: usize) -> String {
        let Some(column) = self.columns.get(index) else { return String::new() };
        let cells = || self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.as_str());
        let is_bare = |unit: &str| {
            column.is_numeric
                && !column.name.contains(unit)
                && cells().all(|text| !text.contains(unit) && !text.ends_with(|c: char| c.is_ascii_alphabetic()))
        };
        match column.unit().filter(|unit| is_bare(unit)) {
            Some(unit) => format!("{}, {unit}", column.name),
            None => column.name.to_string(),
        }
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
        self.table_under(self.columns.iter().map(|column| column.name.to_string()).collect())
    }

    /// The listing as Markdown, its headers and cells as they are shown.
    pub fn to_markdown(&self) -> String {
        self.table_under((0..self.columns.len()).map(|index| self.heading(index)).collect()).to_markdown()
    }

    fn table_under(&self, headers: Vec<String>) -> Table {
        let mut table = Table::new(headers);
        for row in &self.rows {
            table.push(row.iter().map(|entry| Cell::Text(entry.text.clone())).collect());
        }
        table
    }

    /// The listing for spreadsheets and programs. Where all cells of a column are numbers of one unit, the unit stands
    /// in the header (`Gain, %`) and the cells are bare; sizes are in bytes, and times of several units in
    /// microseconds. Other cells are as they are shown. Each cell's number is the one that its text shows.
    fn with_units_in_headers(&self) -> Self {
        let mut listing = self.clone();
        for (at, column) in listing.columns.iter_mut().enumerate() {
            let cells: Vec<&Entry> =
                self.rows.iter().filter_map(|row| row.get(at)).filter(|e| !e.text.is_empty()).collect();
            let unit = CellUnit::of(&cells);
            let name = match unit {
                Some(CellUnit::Same("")) => column.unit().unwrap_or_default(),
                Some(unit) => unit.name(),
                None => "",
            };
            if !name.is_empty() && !column.name.contains(name) {
                column.name = format!("{}, {name}", column.name).into();
            }
            for cell in listing.rows.iter_mut().filter_map(|row| row.get_mut(at)) {
                if let Some(bare) = unit.and_then(|unit| unit.bare(cell)) {
                    cell.text = bare;
                }
                cell.number = number(&cell.text);
            }
        }
        listing
    }

    /// The listing as CSV, with units in the headers.
    pub fn to_csv(&self) -> String {
        self.with_units_in_headers().to_table().to_csv()
    }

    /// The listing as JSON, with units in the names: an object per row, numbers where a cell shows one, else its text;
    /// empty cells are left out.
    pub fn to_json(&self) -> String {
        let listing = self.with_units_in_headers();
        let object = |row: &Vec<Entry>| {
            let cells = listing.columns.iter().zip(row).filter(|(_, entry)| !entry.text.is_empty());
            // One by one: to collect them brings a sort of its own.
            let mut object = serde_json::Map::new();
            for (column, entry) in cells {
                let value = entry.number.map_or_else(|| entry.text.as_str().into(), serde_json::Value::from);
                object.insert(column.name.to_string(), value);
            }
            serde_json::Value::Object(object)
        };
        let rows: Vec<serde_json::Value> = listing.rows.iter().map(object).collect();
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

/// The unit of all cells of a column.
#[derive(Clone, Copy, PartialEq)]
enum CellUnit {
    /// Sizes, each in the largest unit that suits it.
    Bytes,
    /// Times, some in other units than others.
    Times,
    /// The same for all; empty for none.
    Same(&'static str),
}

/// The units of times and their lengths in microseconds.
const TIMES: [(&str, f64); 4] = [("ns", 1e-3), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
/// The units of cells besides sizes and times, as they stand after the number.
const UNITS: [&str; 5] = ["%", "GB/s", "GiB", "MiB", "×"];

impl CellUnit {
    /// The unit of all cells; `None` if one has none of these, or there are no cells.
    fn of(cells: &[&Entry]) -> Option<Self> {
        if !cells.is_empty() && cells.iter().all(|cell| size(cell).is_some()) {
            return Some(Self::Bytes);
        }
        let mut units = cells.iter().map(|cell| Some(parts(&cell.text)?.1));
        let first = units.next()??;
        let is_time = |unit: &str| TIMES.iter().any(|(time, _)| *time == unit);
        units.try_fold(Self::Same(first), |so_far, unit| match (so_far, unit?) {
            (Self::Same(first), unit) if unit == first => Some(so_far),
            (Self::Same(first), unit) if is_time(first) && is_time(unit) => Some(Self::Times),
            (Self::Times, unit) if is_time(unit) => Some(so_far),
            _ => None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Times => "µs",
            Self::Same(unit) => unit,
        }
    }

    /// The text of a cell without its unit; `None` for an empty one.
    fn bare(self, cell: &Entry) -> Option<String> {
        match self {
            Self::Bytes => size(cell).map(|bytes| bytes.to_string()),
            Self::Times => {
                let (text, unit) = parts(&cell.text)?;
                let (_, time_us) = TIMES.into_iter().find(|(name, _)| *name == unit)?;
                Some(significant(number(&text)? * time_us))
            }
            Self::Same(_) => parts(&cell.text).map(|(text, _)| text),
        }
    }
}

/// The bytes of a cell that shows a size.
fn size(cell: &Entry) -> Option<u64> {
    let bytes = cell.number.filter(|bytes| *bytes >= 0.0)? as u64;
    (Size(bytes).to_string() == cell.text).then_some(bytes)
}

/// The number of a text without separators of thousands, and its unit.
fn parts(text: &str) -> Option<(String, &'static str)> {
    let (shown, unit) = text.split_once(' ').unwrap_or((text, ""));
    let known = TIMES.iter().map(|(name, _)| *name).chain(UNITS).chain([""]);
    let unit = known.into_iter().find(|known| *known == unit)?;
    let shown = shown.replace('−', "-");
    let bare = shown.replace(',', "");
    let is_grouped = bare.parse().is_ok_and(|whole| grouped(whole) == shown);
    (number(&shown).is_some() || is_grouped).then_some((bare, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listing of one column, whose cells have these texts and numbers.
    fn column(column: Column, cells: &[(&str, Option<f64>)]) -> Listing {
        let row = |(text, number): &(&str, Option<f64>)| vec![Entry { text: (*text).to_owned(), number: *number }];
        Listing { columns: vec![column], rows: cells.iter().map(row).collect() }
    }

    #[test]
    fn units_that_all_cells_share_go_to_the_header() {
        let numbers = |name, meaning| Column::numbers(name, meaning);
        for (listing, written) in [
            (
                column(numbers("Gain", ""), &[("+2.5 %", Some(2.5)), ("−0.4 %", Some(-0.4))]),
                "\"Gain, %\"\n+2.5\n-0.4\n",
            ),
            (column(numbers("Share", ""), &[("42 %", Some(0.42))]), "\"Share, %\"\n42\n"),
            (
                column(numbers("Size", ""), &[("16 MiB", Some(16_777_216.0)), ("512 B", Some(512.0))]),
                "\"Size, bytes\"\n16777216\n512\n",
            ),
            (
                column(numbers("Takes", ""), &[("2.5 ms", None), ("30 µs", None), ("1.5 s", None)]),
                "\"Takes, µs\"\n2500\n30.00\n1500000\n",
            ),
            (column(numbers("Takes", ""), &[("2.5 ms", None), ("3 ms", None)]), "\"Takes, ms\"\n2.5\n3\n"),
            (column(numbers("busbw", "median, GB/s"), &[("12.5", Some(12.5))]), "\"busbw, GB/s\"\n12.5\n"),
            (column(numbers("Time, µs", "in microseconds"), &[("12.5", Some(12.5))]), "\"Time, µs\"\n12.5\n"),
            (column(numbers("Calls", ""), &[("1,234,567", Some(1_234_567.0))]), "Calls\n1234567\n"),
            // Cells of which one is no number of the unit are as they are shown.
            (column(numbers("More", ""), &[("3", Some(3.0)), ("never", Some(f64::INFINITY))]), "More\n3\nnever\n"),
            (column(numbers("Best", ", GB/s"), &[("12.5 RING/LL/8", Some(12.5))]), "Best\n12.5 RING/LL/8\n"),
            (column(numbers("Mixed", ""), &[("3 %", None), ("3 GB/s", None)]), "Mixed\n3 %\n3 GB/s\n"),
            (column(numbers("None", "in per cent"), &[("", None)]), "None\n\"\"\n"),
            (column(Column::words("Sizes", ""), &[("1,5", None), ("2,000", None)]), "Sizes\n\"1,5\"\n\"2,000\"\n"),
        ] {
            assert_eq!(listing.to_csv(), written);
        }
    }

    #[test]
    fn headings_have_the_units_that_cells_leave_out() {
        for (name, meaning, cells, heading) in [
            ("busbw", "median, GB/s", ["12.5", ""], "busbw, GB/s"),
            ("Error", "in per cent, with its spread", ["5.0 ± 0.2", "7.1"], "Error, %"),
            ("Gain", "in per cent", ["+2.5 %", "−0.4 %"], "Gain"),
            ("Gain", "in per cent; with its interval", ["+2.5 % (1 to 4)", "−0.4 % (−1 to 1)"], "Gain"),
            ("Time", "in microseconds", ["12.5 µs", "1.2 ms"], "Time"),
            ("Within 5 %", "in per cent", ["80", "90"], "Within 5 %"),
            ("Calls", "how many", ["3", "4"], "Calls"),
        ] {
            let cells = cells.map(|text| (text, None));
            assert_eq!(column(Column::numbers(name, meaning), &cells).heading(0), heading);
        }
    }

    #[test]
    fn json_has_the_numbers_that_are_shown() {
        let severity = column(Column::words("Severity", ""), &[("dead", Some(1.0)), ("", None)]);
        assert_eq!(severity.to_json(), "[\n  {\n    \"Severity\": \"dead\"\n  },\n  {}\n]\n");
        let share = column(Column::numbers("Share", ""), &[("42 %", Some(0.421))]);
        assert_eq!(share.to_json(), "[\n  {\n    \"Share, %\": 42.0\n  }\n]\n");
        let interval = column(Column::numbers("Gain interval", "in per cent"), &[("+1.0 to +4.0 %", Some(1.0))]);
        assert_eq!(interval.to_json(), "[\n  {\n    \"Gain interval\": \"+1.0 to +4.0 %\"\n  }\n]\n");
    }
}
