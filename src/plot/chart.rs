//! A chart as data: everything that decides what is drawn, and nothing about where.

use serde::{Deserialize, Serialize};

use super::Pick;
use crate::units::Size;

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

    /// The other spacing that an axis can have: in proportion where it is by logarithms, and the reverse where all
    /// values are positive and not of one magnitude. `None` for categories and for areas.
    fn other_spacing(&self, axis: &Axis, of: fn(&Point) -> f64) -> Option<Spacing> {
        /// The ratio of the largest to the smallest value below which logarithms show nothing new.
        const LEAST_RATIO: f64 = 4.0;
        if axis.quantity.is_names() || self.series.iter().any(|series| series.mark.is_area()) {
            return None;
        }
        if axis.spacing != Spacing::Linear {
            return Some(Spacing::Linear);
        }
        let values = self.series.iter().flat_map(|series| &series.points).map(of).filter(|value| value.is_finite());
        let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
        (least > 0.0 && most >= LEAST_RATIO * least).then_some(Spacing::Logarithmic)
    }

    /// The other spacings of the x and the y axis, where they can have one.
    pub fn other_spacings(&self) -> [Option<Spacing>; 2] {
        [self.other_spacing(&self.x, |point| point.x), self.other_spacing(&self.y, |point| point.y)]
    }

    /// The chart with other values on its y axis: what `of` makes of x and y. Intervals keep their lower end first.
    #[must_use]
    pub fn with_y(&self, y: Axis, of: &dyn Fn(f64, f64) -> f64) -> Self {
        let mut chart = Self { y, ..self.clone() };
        for point in chart.series.iter_mut().flat_map(|series| &mut series.points) {
            let end = |end: Option<f64>| end.map(|end| of(point.x, end));
            let ends = [end(point.low), end(point.high)];
            let is_reversed = ends[0] > ends[1];
            [point.low, point.high] = if is_reversed { [ends[1], ends[0]] } else { ends };
            point.y = of(point.x, point.y);
        }
        chart
    }

    /// The value of the x axis that means what another chart or a table says under a label: as a number, or as text
    /// where it is of categories. `None` where the axis is of something else.
    pub fn x_of(&self, label: &str, number: Option<f64>, text: &str) -> Option<f64> {
        if !is_same_label(&self.x.label, label) {
            return None;
        }
        match &self.x.quantity {
            Quantity::Names(names) => names.iter().position(|name| name == text).map(|place| place as f64),
            Quantity::Bytes => number.or_else(|| Some(text.parse::<Size>().ok()?.0 as f64)),
            _ => number,
        }
    }

    /// The point of this chart that corresponds to a point of an earlier one: in the series of the same name, at the
    /// same x, in the same place with the same note, or else nearest in y.
    pub fn same_point(&self, earlier: &Chart, pick: Pick) -> Option<Pick> {
        let before = earlier.series.get(pick.series)?;
        let point = before.points.get(pick.point)?;
        let series = self.series.iter().position(|series| series.name == before.name)?;
        let is_same = |other: &Point| other.x == point.x && !point.note.is_empty() && other.note == point.note;
        if self.series[series].points.get(pick.point).is_some_and(is_same) {
            return Some(Pick { series, ..pick });
        }
        let points = self.series[series].points.iter().enumerate().filter(|(_, other)| other.x == point.x);
        let closest = points.min_by(|(_, a), (_, b)| (a.y - point.y).abs().total_cmp(&(b.y - point.y).abs()))?;
        Some(Pick { series, point: closest.0 })
    }
}

/// Whether two labels of axes or columns name the same: a column of message sizes is called size.
pub fn is_same_label(a: &str, b: &str) -> bool {
    let is_size = |label| matches!(label, "Message size" | "Size");
    a == b || is_size(a) && is_size(b)
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// The line of a file that it was measured in.
    pub line: Option<FileLine>,
}

/// Points are equal where all their values are, also those that are no number.
impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        let bits = |point: &Self| {
            let Self { x, y, low, high, value, .. } = *point;
            [Some(x), Some(y), low, high, value].map(|value| value.map(f64::to_bits))
        };
        bits(self) == bits(other) && self.note == other.note && self.line == other.line
    }
}

/// The line of a loaded file, and how many further ones. Reports that are written hold none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLine {
    /// The number of the loaded file.
    pub file: u16,
    /// The line in it, from 1.
    pub line: u32,
    /// How many further lines the point comes from.
    pub others: u32,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(mark: Mark, ys: [f64; 3]) -> Chart {
        let points = [1024.0, 4096.0, 16384.0].into_iter().zip(ys).map(|(x, y)| Point { x, y, ..Point::default() });
        Chart {
            id: String::new(),
            title: String::new(),
            summary: String::new(),
            x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
            y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Linear),
            series: vec![Series::new("Measured", Colour::Answer, mark, points.collect())],
        }
    }

    #[test]
    fn an_axis_has_another_spacing_where_it_shows_something_else() {
        let others = |mark, ys| chart(mark, ys).other_spacings();
        let (linear, logarithmic) = (Some(Spacing::Linear), Some(Spacing::Logarithmic));
        assert_eq!(others(Mark::Dots, [1.0, 2.0, 8.0]), [linear, logarithmic]);
        assert_eq!(others(Mark::Dots, [1.0, 2.0, 3.0]), [linear, None], "of one magnitude");
        assert_eq!(others(Mark::Dots, [0.0, 2.0, 8.0]), [linear, None], "zero has no logarithm");
        assert_eq!(others(Mark::Dots, [f64::NAN, 2.0, 8.0]), [linear, logarithmic]);
        assert_eq!(others(Mark::Spans, [1.0, 2.0, 8.0]), [None, None]);
    }

    #[test]
    fn another_y_keeps_points_and_turns_intervals() {
        let mut chart = chart(Mark::Whiskers, [1.0, 2.0, 4.0]);
        (chart.series[0].points[1].low, chart.series[0].points[1].high) = (Some(1.0), Some(4.0));
        let times = chart.with_y(Axis::new("Time", Quantity::TimeUs, Spacing::Linear), &|x, y| x / y);
        let point = &times.series[0].points[1];
        assert_eq!((point.x, point.y, point.low, point.high), (4096.0, 2048.0, Some(1024.0), Some(4096.0)));
        assert_eq!(times.y.label, "Time");
    }

    #[test]
    fn a_value_is_found_under_another_spelling() {
        let mut chart = chart(Mark::Dots, [1.0, 2.0, 4.0]);
        assert_eq!(chart.x_of("Message size", Some(4096.0), "4 KiB"), Some(4096.0));
        assert_eq!(chart.x_of("Size", None, "4 KiB"), Some(4096.0));
        assert_eq!(chart.x_of("busbw", Some(4096.0), "4 KiB"), None);
        chart.x = Axis::of_names("Message size", vec!["1 KiB".into(), "4 KiB".into()]);
        assert_eq!(chart.x_of("Size", Some(4096.0), "4 KiB"), Some(1.0));
        assert_eq!(chart.x_of("Size", Some(1.0), "1 B"), None);
    }
}
