//! The legend above the plot, for exported pictures.

use super::{
    Mark, Series, areas,
    marks::{self, key_width},
    measure::shortened,
    palette::Inks,
    paper::{DrawError, Letters, Paper},
    table::with_unit,
};

/// The height of a row in CSS pixels.
pub(super) const ROW: f64 = 20.0;
const KEY_GAP: f64 = 7.0;
const ENTRY_GAP: f64 = 20.0;

/// The text beside the sign of a series: its name, and for cells the values at the ends of the colour scale.
pub fn legend_text(series: &Series) -> String {
    let Mark::Cells(quantity, spacing) = &series.mark else { return series.name.clone() };
    let Some((low, high)) = areas::ends(series, *spacing) else { return series.name.clone() };
    let range = format!("{} – {}", areas::short_text(low, quantity), areas::short_text(high, quantity));
    format!("{}: {}", series.name, with_unit(&range, quantity))
}

struct Entry<'a> {
    series: &'a Series,
    name: String,
    left: f64,
    row: usize,
}

/// The positions of the entries.
pub(super) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    left_out: usize,
    most_rows: usize,
    letters: Letters,
}

impl<'a> Legend<'a> {
    /// Arranges the series in rows within `width` CSS pixels, at most so many; what has no room in the last row is
    /// counted.
    pub fn new(series: &[&'a Series], width: f64, most_rows: usize, letters: Letters) -> Self {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let (mut left, mut row) = (0.0, 0);
        for series in series {
            let key = key_width(&series.mark) + KEY_GAP;
            let name = shortened(&legend_text(series), letters.size, width - key);
            let needed = key + letters.width(&name);
            if left > 0.0 && left + needed > width {
                (left, row) = (0.0, row + 1);
            }
            if row == most_rows {
                break;
            }
            entries.push(Entry { series, name, left, row });
            left += needed + ENTRY_GAP;
        }
        let left_out = series.len() - entries.len();
        Self { entries, left_out, most_rows, letters }
    }

    /// The height of all rows in CSS pixels.
    pub fn height(&self) -> f64 {
        let rows = self.entries.last().map_or(0, |entry| entry.row + 1) + usize::from(self.left_out > 0);
        rows as f64 * ROW
    }

    /// Draws the legend with its upper left corner at this position.
    pub fn draw(&self, paper: &Paper<'_>, (left, top): (f64, f64), inks: &Inks) -> Result<(), DrawError> {
        let middle = |row: usize| top + (row as f64 + 0.5) * ROW;
        for entry in &self.entries {
            let place = (left + entry.left, middle(entry.row));
            marks::key(paper, entry.series, place, inks)?;
            paper.text(&entry.name, (place.0 + key_width(&entry.series.mark) + KEY_GAP, place.1), self.letters)?;
        }
        if self.left_out > 0 {
            paper.text(&format!("and {} more", self.left_out), (left, middle(self.most_rows)), self.letters)?;
        }
        Ok(())
    }
}
