//! Tables for people: columns under their headers, numbers flush right.

use comfy_table::{CellAlignment, presets::NOTHING};

use crate::text::{Entry, Listing, visible};

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table of texts.
pub(super) struct Table(comfy_table::Table);

impl Table {
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_header(columns.iter().map(|(name, _)| visible(name).into_owned()));
        for (column, (_, align)) in table.column_iter_mut().zip(columns) {
            column.set_padding((0, 2));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        Self(table)
    }

    /// A listing as it is shown.
    pub(super) fn of(listing: &Listing) -> Self {
        let mut table = Self::for_columns_of(listing);
        for row in &listing.rows {
            table.push(row.iter().map(|entry| Some(entry.text.clone())).collect());
        }
        table
    }

    /// A table without rows, with the columns of a listing.
    fn for_columns_of(listing: &Listing) -> Self {
        let align = |is_numeric| if is_numeric { Align::Right } else { Align::Left };
        let columns: Vec<(&str, Align)> =
            listing.columns.iter().map(|column| (&column.name[..], align(column.is_numeric))).collect();
        Self::new(&columns)
    }

    /// Adds a row with a cell for each column; what is not known is shown as a dash.
    pub(super) fn push(&mut self, cells: Vec<Option<String>>) {
        let shown = |cell: Option<String>| cell.map_or_else(|| "–".to_owned(), |cell| visible(&cell).into_owned());
        self.0.add_row(cells.into_iter().map(shown));
    }

    /// Header and rows, a line each.
    pub(super) fn lines(&self) -> String {
        self.0.trim_fmt() + "\n"
    }
}

/// A listing as lines; what a cell does not say is shown as a dash.
pub(super) fn of_listing(listing: &Listing) -> String {
    let mut table = Table::for_columns_of(listing);
    for row in &listing.rows {
        let text = |entry: &Entry| Some(entry.text.clone()).filter(|text| !text.is_empty());
        table.push(row.iter().map(text).collect());
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

    #[test]
    fn wide_characters_take_two_places() {
        let mut table = Table::new(&[("Kernel", Align::Left), ("µs", Align::Right)]);
        table.push(vec![Some("核心".to_owned()), Some("7".to_owned())]);
        table.push(vec![Some("gemm".to_owned()), Some("12".to_owned())]);
        assert_eq!(table.lines(), "Kernel  µs\n核心     7\ngemm    12\n");
    }

    #[test]
    fn a_long_cell_is_not_broken() {
        let long = "a_kernel ".repeat(60);
        let mut table = Table::new(&[("Kernel", Align::Left), ("", Align::Left)]);
        table.push(vec![Some(long.clone()), Some("x".to_owned())]);
        assert_eq!(table.lines().lines().nth(1), Some(&format!("{long}  x")[..]));
    }
}
