//! A chart as data: everything that decides what is drawn, and nothing about where.

use serde::{Deserialize, Serialize};

use super::Pick;

/// A chart of series over two axes, without size or colours of a theme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// A name that stays the same between versions of the data: file name of exports, key of tests.
    pub id: String,
    /// A short title that says what the chart shows.
    pub title: String,
    /// One sentence for those who can't see it: what is highest, where, and by how much.
    pub summary: String,
    /// The horizontal axis, whose values grow to the right.
    pub x: Axis,
    /// The vertical axis, whose values grow upwards; names go downwards.
    pub y: Axis,
    /// The series in drawing order; the first is at the bottom.
    pub series: Vec<Series>,
}

impl Chart {
    /// The height of a chart of rows in CSS pixels; `None` if the height is not determined by rows.
    pub fn height(&self) -> Option<f64> {
        /// The height of one row, and the space below and above all rows.
        const ROW: f64 = 32.0;
        const AROUND: f64 = 84.0;
        /// The smallest height of a row of cells in which its name fits.
        const LEAST_ROW: f64 = 15.0;
        let has_cells = self.series.iter().any(|series| matches!(series.mark, Mark::Cells(..)));
        match &self.y.quantity {
            Quantity::Names(names) => {
                let rows = names.len() as f64;
                let least = if has_cells { (rows * LEAST_ROW + AROUND).min(1200.0) } else { 0.0 };
                Some((rows * ROW + AROUND).min(640.0).max(least))
            }
            _ => None,
        }
    }

    /// The point of this chart that corresponds to a point of an earlier one: in the series of the same name, at the
    /// same x, nearest in y.
    pub fn same_point(&self, earlier: &Chart, pick: Pick) -> Option<Pick> {
        let before = earlier.series.get(pick.series)?;
        let point = before.points.get(pick.point)?;
        let series = self.series.iter().position(|series| series.name == before.name)?;
        let points = self.series[series].points.iter().enumerate().filter(|(_, other)| other.x == point.x);
        let closest = points.min_by(|(_, a), (_, b)| (a.y - point.y).abs().total_cmp(&(b.y - point.y).abs()))?;
        Some(Pick { series, point: closest.0 })
    }
}

/// The label, quantity and spacing of an axis; its ends come from the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The label, without the unit.
    pub label: String,
    /// The quantity of its numbers.
    pub quantity: Quantity,
    /// The mapping from values to positions.
    pub spacing: Spacing,
}

impl Axis {
    /// An axis with its label, which is without the unit.
    pub fn new(label: &str, quantity: Quantity, spacing: Spacing) -> Self {
        Self { label: label.to_owned(), quantity, spacing }
    }

    /// An axis of categories: its values are places in a list of names.
    pub fn of_names(label: &str, names: Vec<String>) -> Self {
        Self::new(label, Quantity::Names(names), Spacing::Linear)
    }
}

/// The quantity of numbers, which determines how they are printed and where ticks are placed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// Bytes, printed in binary units; ticks at powers of two.
    Bytes,
    /// Bus bandwidth in GB/s (1e9 B/s).
    BusbwGbps,
    /// Whole numbers (channels); ticks at the values that the series have.
    Count,
    /// Time in microseconds, printed in µs, ms or s.
    TimeUs,
    /// A percentage as a number: 3.5 is 3.5 %.
    Percent,
    /// A number without a unit, as it is.
    Number,
    /// GiB as a plain number; ticks at round decimal values.
    Gib,
    /// A share between 0 and 1, printed as a percentage.
    Share,
    /// Categories: 0 is the first name. They go from left to right on a horizontal axis and from top to bottom on a
    /// vertical one, one unit each, in [`Spacing::Linear`] whatever the axis says.
    Names(Vec<String>),
}

impl Quantity {
    /// Whether the values are categories.
    pub fn is_names(&self) -> bool {
        matches!(self, Self::Names(_))
    }
}

/// The mapping from values to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Spacing {
    /// In proportion. Amounts start at zero where none is negative; sizes and counts, which are positions, where they
    /// start.
    Linear,
    /// By the logarithm; values at or below zero are not drawn.
    Logarithmic,
    /// By the logarithm of 1 + |value|, on either side of zero: in proportion up to about 1, then by the logarithm.
    SymmetricLogarithmic,
}

/// A named series of points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name in the legend, unique in the chart.
    pub name: String,
    /// The colour, and with it the shape of dots and the dashes of lines.
    pub colour: Colour,
    /// How its points are drawn.
    pub mark: Mark,
    /// The points, ascending in x for lines and bands.
    pub points: Vec<Point>,
}

impl Series {
    /// A series; the name is unique in its chart.
    pub fn new(name: impl Into<String>, colour: Colour, mark: Mark, points: Vec<Point>) -> Self {
        Self { name: name.into(), colour, mark, points }
    }
}

/// A colour of the palette, so that the theme decides the shade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Colour {
    /// The colour with this index of the Okabe-Ito palette, modulo its length.
    Palette(u8),
    /// The answer: the one series that everything else is compared with.
    Answer,
    /// The colour of the library's default.
    Default,
    /// The colour of context in the background.
    Muted,
}

/// How the points of a series are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A dashed line through the points.
    Dashed,
    /// A dot for each point.
    Dots,
    /// A line with a dot at each point.
    LineAndDots,
    /// A band between `low` and `high`, without a line.
    Band,
    /// A dot with a whisker from `low` to `high`.
    Whiskers,
    /// Bars along x, as in a timeline. Each begins at `x`, is `value` long and is in the row `y`, one unit high. Its
    /// label is the beginning of its note up to the first comma, colon or semicolon, if there is room.
    Spans,
    /// A ring for each point.
    Rings,
    /// A heat map: a cell around each (`x`, `y`), one unit wide and high, whose colour represents its `value`. The
    /// fields are the quantity of the values and their spacing on the colour scale. A cell without a value is drawn
    /// empty. The name of the series names the quantity; its colour is not used.
    Cells(Quantity, Spacing),
}

impl Mark {
    /// Whether its points are areas, which are pointed at where they lie instead of from near by.
    pub(super) fn is_area(&self) -> bool {
        matches!(self, Self::Spans | Self::Cells(..))
    }
}

/// A point of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The value in units of the x axis.
    pub x: f64,
    /// The value in units of the y axis.
    pub y: f64,
    /// Lower end of an interval, in units of the y axis, or of a cell's value.
    pub low: Option<f64>,
    /// Upper end of an interval, in units of the y axis, or of a cell's value.
    pub high: Option<f64>,
    /// The length of a span in units of the x axis, or the value of a cell; of no meaning in other marks.
    pub value: Option<f64>,
    /// The text that hovering adds: the configuration, the repeats, the origin of the number.
    pub note: String,
}

impl Point {
    /// A point with the text that hovering adds.
    pub fn new(x: f64, y: f64, note: String) -> Self {
        Self { x, y, note, ..Self::default() }
    }

    /// A bar of [`Mark::Spans`] from `start` to `end` in its row, counted from 0.
    pub fn span(start: f64, end: f64, row: usize) -> Self {
        Self { x: start, y: row as f64, value: Some(end - start), ..Self::default() }
    }

    /// A cell of [`Mark::Cells`] between two axes of names.
    pub fn cell(column: usize, row: usize, value: Option<f64>) -> Self {
        Self { x: column as f64, y: row as f64, value, ..Self::default() }
    }
}
