//! Tables for people: columns under their headers, numbers flush right.

use crate::text::{Column, Entry, Listing, visible};

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table of text cells for the terminal.
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(), rows: Vec::new() }
    }

    /// A listing as it is shown.
    pub(super) fn of(listing: &Listing) -> Self {
        let align = |is_numeric| if is_numeric { Align::Right } else { Align::Left };
        let columns =
            listing.columns.iter().map(|column| (visible(&column.name).into_owned(), align(column.is_numeric)));
        let shown = |row: &Vec<Entry>| row.iter().map(|entry| visible(&entry.text).into_owned()).collect();
        Self { columns: columns.collect(), rows: listing.rows.iter().map(shown).collect() }
    }

    /// Adds a row with a cell for each column; what is not known is shown as a dash.
    pub(super) fn push(&mut self, cells: Vec<Option<String>>) {
        let shown = |cell: Option<String>| cell.map_or_else(|| "–".to_owned(), |cell| visible(&cell).into_owned());
        self.rows.push(cells.into_iter().map(shown).collect());
    }

    /// Header and rows, a line each.
    pub(super) fn lines(&self) -> String {
        let headers: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&headers]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in [&headers].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let gap = if line.is_empty() { "" } else { "  " };
                line += &match align {
                    Align::Left => format!("{gap}{cell:<width$}"),
                    Align::Right => format!("{gap}{cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// A listing as lines; what a cell does not say is shown as a dash.
pub(super) fn of_listing(listing: &Listing) -> String {
    let align = |column: &Column| if column.is_numeric { Align::Right } else { Align::Left };
    let columns = listing.columns.iter().map(|column| (visible(&column.name).into_owned(), align(column))).collect();
    let mut table = Table { columns, rows: Vec::new() };
    for row in &listing.rows {
        table.push(row.iter().map(|entry| Some(entry.text.clone()).filter(|text| !text.is_empty())).collect());
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_headers() {
        let mut table = Table::new(&[("Size", Align::Right), ("Chosen by", Align::Left)]);
        table.push(vec![Some("16 MiB".to_owned()), Some("model".to_owned())]);
        table.push(vec![Some("4 B".to_owned()), None]);
        assert_eq!(table.lines(), "  Size  Chosen by\n16 MiB  model\n   4 B  –\n");
    }
}
