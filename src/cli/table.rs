//! Tables for people: columns under their headers, numbers flush right.

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use crate::text::{Column, Entry, Listing, visible};

/// A listing as lines; what a cell does not say is shown as a dash.
pub(super) fn of_listing(listing: &Listing) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header((0..listing.columns.len()).map(|index| header(listing, index)));
    for (column, Column { is_numeric, .. }) in table.column_iter_mut().zip(&listing.columns) {
        column.set_padding((0, 2));
        column.set_cell_alignment(if *is_numeric { CellAlignment::Right } else { CellAlignment::Left });
    }
    let shown =
        |entry: &Entry| if entry.text.is_empty() { "–".to_owned() } else { visible(&entry.text).into_owned() };
    for row in &listing.rows {
        table.add_row(row.iter().map(shown));
    }
    table.trim_fmt() + "\n"
}

/// The header of a column of numbers, with the unit that its meaning tells where neither its name nor its cells do.
fn header(listing: &Listing, index: usize) -> String {
    const UNITS: [(&str, &str); 4] =
        [("per cent", "%"), ("GB/s", "GB/s"), ("in milliseconds", "ms"), ("in microseconds", "µs")];
    let Column { name, meaning, is_numeric, .. } = &listing.columns[index];
    let name = visible(name).into_owned();
    let mut told = UNITS.iter().filter(|(words, _)| *is_numeric && meaning.contains(words)).map(|(_, unit)| *unit);
    let (Some(unit), None) = (told.next(), told.next()) else { return name };
    let mut cells = listing.rows.iter().filter_map(|row| row.get(index));
    if name.contains(unit) || cells.any(|cell| cell.text.contains(unit)) { name } else { format!("{name} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(columns: &[Column; 2], rows: &[[&str; 2]]) -> String {
        let rows = rows.iter().map(|row| row.map(Entry::text).to_vec()).collect();
        of_listing(&Listing { columns: columns.to_vec(), rows })
    }

    #[test]
    fn columns_stand_under_their_headers() {
        let columns = [Column::numbers("Size", ""), Column::words("Chosen by", "")];
        let lines = lines(&columns, &[["16 MiB", "model"], ["4 B", ""]]);
        assert_eq!(lines, "  Size  Chosen by\n16 MiB  model\n   4 B  –\n");
    }

    #[test]
    fn a_unit_that_nothing_else_tells_stands_in_the_header() {
        let columns = [Column::numbers("Gain", "of busbw, in per cent"), Column::numbers("Best", "busbw, GB/s")];
        assert_eq!(lines(&columns, &[["7", "12.5"]]), "Gain %  Best GB/s\n     7       12.5\n");
        assert_eq!(lines(&columns, &[["7 %", "12.5 GB/s"]]), "Gain       Best\n 7 %  12.5 GB/s\n");
        let columns = [Column::numbers("GB/s", "busbw, GB/s"), Column::words("Why", "in per cent")];
        assert_eq!(lines(&columns, &[["7", "x"]]), "GB/s  Why\n   7  x\n");
    }

    #[test]
    fn wide_characters_take_two_places() {
        let columns = [Column::words("Kernel", ""), Column::numbers("µs", "")];
        let lines = lines(&columns, &[["核心", "7"], ["gemm", "12"]]);
        assert_eq!(lines, "Kernel  µs\n核心     7\ngemm    12\n");
    }

    #[test]
    fn a_long_cell_is_not_broken() {
        let long = "a_kernel ".repeat(60);
        let lines = lines(&[Column::words("Kernel", ""), Column::words("", "")], &[[&long, "x"]]);
        assert_eq!(lines.lines().nth(1), Some(&format!("{long}  x")[..]));
    }
}
