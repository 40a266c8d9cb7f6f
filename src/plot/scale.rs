//! Maps values to positions along an axis.

use super::{Axis, Colour, Point, Quantity, Series, Spacing};
use crate::math::{exp2, log2, pow};

/// Values beyond this in magnitude, or closer to zero on a logarithmic axis, are not drawn: they would leave no room
/// for anything else, and sums of them overflow.
const LARGEST: f64 = 1e100;
/// The length of a unit in CSS pixels where units are not proportional to the length of the axis.
const UNIT: f64 = 16.0;

/// The mapping of one axis from values to CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    spacing: Spacing,
    /// Whether values beyond the ends are left out.
    closed: bool,
    /// Whether only a part of the axis is shown, so that there are values beyond the ends.
    is_part: bool,
    /// The ends of the axis, as logarithms to base two where it is logarithmic.
    low: f64,
    high: f64,
    /// The positions of the two ends.
    from: f64,
    to: f64,
}

/// Whether an axis of this spacing has a place for a value.
fn is_drawable(value: f64, spacing: Spacing) -> bool {
    match spacing {
        Spacing::Linear | Spacing::SymmetricLogarithmic => value.abs() <= LARGEST,
        Spacing::Logarithmic => (1.0 / LARGEST..=LARGEST).contains(&value),
    }
}

/// A value's coordinate before it is stretched to pixels: the value or its logarithm; `None` if it can't be drawn. It
/// rises with the value.
pub(super) fn coordinate(value: f64, spacing: Spacing) -> Option<f64> {
    is_drawable(value, spacing).then(|| match spacing {
        Spacing::Linear => value,
        Spacing::Logarithmic => log2(value),
        Spacing::SymmetricLogarithmic => log2(1.0 + value.abs()).copysign(value),
    })
}

/// The value at a coordinate: the reverse of [`coordinate`].
fn value(coordinate: f64, spacing: Spacing) -> f64 {
    match spacing {
        Spacing::Linear => coordinate,
        Spacing::Logarithmic => exp2(coordinate),
        Spacing::SymmetricLogarithmic => (exp2(coordinate.abs()) - 1.0).copysign(coordinate),
    }
}

/// The largest of 1, 2, 5 times a power of ten that is not above a positive value.
pub(super) fn round_down(value: f64) -> f64 {
    let decade = pow(10.0, (log2(value) / std::f64::consts::LOG2_10).floor());
    [5.0, 2.0].iter().map(|step| step * decade).find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(decade)
}

/// The smallest of 1, 2, 5 times a power of ten that is not below a positive value.
pub(super) fn round_up(value: f64) -> f64 {
    let decade = pow(10.0, (log2(value) / std::f64::consts::LOG2_10).floor());
    [1.0, 2.0, 5.0].iter().map(|step| step * decade).find(|step| *step >= value * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

/// Whether times or bare numbers lie so close together that an axis from zero would show one flat line. Bandwidths and
/// shares are compared by their height and always start at zero.
fn is_narrow(quantity: &Quantity, least: f64, most: f64) -> bool {
    matches!(quantity, Quantity::TimeUs | Quantity::Number) && least > 0.0 && most > least && least > 0.75 * most
}

impl Scale {
    /// The scale that shows all values of an axis that can be shown, with a little air; `None` if there are none.
    /// `from` and `to` are the places of its ends in CSS pixels.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        if let Quantity::Names(names) = &axis.quantity {
            let (low, high) = (-0.5, names.len() as f64 - 0.5);
            let mut values = values;
            return values.any(|value| (low..=high).contains(&value)).then_some(Self {
                spacing: Spacing::Linear,
                closed: true,
                is_part: false,
                low,
                high,
                from,
                to,
            });
        }
        // The ends before their logarithms: a chart has thousands of values.
        let drawable = values.filter(|&value| is_drawable(value, axis.spacing));
        let (least, most) =
            drawable.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)));
        let (Some(least), Some(most)) = (coordinate(least, axis.spacing), coordinate(most, axis.spacing)) else {
            return None;
        };
        let positions = matches!(axis.quantity, Quantity::Count | Quantity::Bytes);
        let (low, high) = match axis.spacing {
            Spacing::Linear if positions => {
                let air = if most > least { (most - least) * 0.03 } else { (most.abs() * 0.5).max(1.0) };
                (least - air, most + air)
            }
            Spacing::Linear if is_narrow(&axis.quantity, least, most) => {
                let air = (most - least) * 0.08;
                (least - air, most + air)
            }
            Spacing::Linear => {
                let (low, high) = (least.min(0.0), most.max(0.0));
                let air = (high - low) * 0.05;
                match (low < 0.0, high > 0.0) {
                    (false, false) => (0.0, 1.0),
                    (below, above) => (low - if below { air } else { 0.0 }, high + if above { air } else { 0.0 }),
                }
            }
            Spacing::SymmetricLogarithmic => {
                let (low, high) = if most - least < 2.0 { (least - 1.0, most + 1.0) } else { (least, most) };
                let air = (high - low) * 0.04;
                (low - air, high + air)
            }
            Spacing::Logarithmic => {
                let binary = axis.quantity == Quantity::Bytes;
                let (mut low, mut high) = (least, most);
                if high - low < 2.0 {
                    // Too little for two ticks: out to the next ones.
                    (low, high) = if binary {
                        ((low - 0.25).floor(), (high + 0.25).ceil())
                    } else {
                        (log2(round_down(exp2(low) * 0.9)), log2(round_up(exp2(high) * 1.1)))
                    };
                }
                let air = (high - low) * if binary { 0.025 } else { 0.04 };
                (low - air, high + air)
            }
        };
        // Numbers so large that their differences vanish, or so small that they round to 0.
        let (low, high) = if high - low > high.abs().max(low.abs()) * 1e-12 && high - low > 1e-200 {
            (low, high)
        } else {
            (low.min(0.0), high.max(0.0).max(low.abs()).max(1e-100))
        };
        Some(Self { spacing: axis.spacing, closed: false, is_part: false, low, high, from, to })
    }

    /// The scale of a part of this axis, between two values; of categories all that it touches. The whole scale where
    /// there is no such part.
    pub fn part(self, ends: Option<(f64, f64)>) -> Self {
        let of = |end| coordinate(end, self.spacing);
        let Some((low, high)) = ends.and_then(|(low, high)| Some((of(low)?, of(high)?))) else { return self };
        let (low, high) = (low.max(self.low), high.min(self.high));
        let (low, high) = match self.closed {
            true => ((low + 0.5 + 1e-6).floor() - 0.5, (high + 0.5 - 1e-6).ceil() - 0.5),
            false => (low, high),
        };
        if high - low >= 0.5 * self.least() { Self { is_part: true, low, high, ..self } } else { self }
    }

    /// This scale, marked as a part if it shows less than another one of the same axis.
    pub fn within(self, whole: &Self) -> Self {
        Self { is_part: self.low > whole.low || self.high < whole.high, ..self }
    }

    /// The shortest part that can be shown, as a difference of coordinates.
    fn least(&self) -> f64 {
        if self.closed { 1.0 } else { (self.high - self.low) * 1e-4 }
    }

    /// The values at the ends of a part of this axis from its coordinates, moved and cut to what the axis has; `None`
    /// for all of it.
    fn held(&self, (low, high): (f64, f64)) -> Option<(f64, f64)> {
        let width = (high - low).max(self.least());
        if !width.is_finite() || width >= (self.high - self.low) * (1.0 - 1e-6) {
            return None;
        }
        let low = f64::midpoint(low, high) - width / 2.0;
        let low = low.min(self.high - width).max(self.low);
        Some((value(low, self.spacing), value(low + width, self.spacing)))
    }

    /// The coordinate at a position in CSS pixels.
    fn coordinate_at(&self, place: f64) -> f64 {
        self.low + (place - self.from) / (self.to - self.from) * (self.high - self.low)
    }

    /// The place of a value in CSS pixels, inside the axis or outside; `None` if it can't be drawn.
    pub fn place(&self, value: f64) -> Option<f64> {
        let coordinate = coordinate(value, self.spacing)?;
        if self.closed && !(self.low..=self.high).contains(&coordinate) {
            return None;
        }
        let share = (coordinate - self.low) / (self.high - self.low);
        Some(self.from + share * (self.to - self.from))
    }

    /// The position of an end of an interval; an end beyond the axis is at the end of the axis, unless a part of it is
    /// shown.
    pub fn place_of_end(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        let (first, last) = self.bounds();
        let beyond = if value > 1.0 { self.to } else { self.from };
        let negative = self.spacing != Spacing::Logarithmic && value < 0.0;
        let place = self.place(value).unwrap_or(if negative { self.from } else { beyond });
        Some(if self.is_part { place } else { place.clamp(first, last) })
    }

    /// The stretch of CSS pixels around a value that one unit takes, cut to the axis.
    pub fn unit_around(&self, value: f64) -> Option<(f64, f64)> {
        let middle = self.place(value)?;
        let ends = (self.place(value - 0.5), self.place(value + 0.5));
        let (a, b) = ends.0.zip(ends.1).unwrap_or((middle - UNIT / 2.0, middle + UNIT / 2.0));
        let (first, last) = self.bounds();
        Some((a.min(b).clamp(first, last), a.max(b).clamp(first, last)))
    }

    /// The CSS pixels that a category takes.
    pub fn unit(&self) -> f64 {
        let middle = if self.is_part { (self.low + 0.5).ceil() } else { 0.0 };
        self.unit_around(middle).map_or(0.0, |(from, to)| to - from)
    }

    /// The values at the two ends.
    pub fn ends(&self) -> (f64, f64) {
        (value(self.low, self.spacing), value(self.high, self.spacing))
    }

    /// The positions of the two ends in CSS pixels, the smaller first.
    pub fn bounds(&self) -> (f64, f64) {
        (self.from.min(self.to), self.from.max(self.to))
    }

    /// Whether values are categories, one unit long each.
    pub fn is_of_categories(&self) -> bool {
        self.closed
    }

    /// Whether only a part of the axis is shown.
    pub fn is_part(&self) -> bool {
        self.is_part
    }

    /// The spacing that is drawn: linear where values are categories.
    pub fn spacing(&self) -> Spacing {
        self.spacing
    }

    /// The length of the axis in CSS pixels.
    pub fn length(&self) -> f64 {
        (self.to - self.from).abs()
    }
}

/// The scale of an axis as it is drawn, and that of all its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZoomScale {
    /// The scale of the part of the axis that is shown, which may be all of it.
    pub shown: Scale,
    /// The scale of all values of the axis.
    pub whole: Scale,
}

impl ZoomScale {
    /// The values at the ends of the part between two positions in CSS pixels; `None` for all of the axis.
    pub fn between(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let (a, b) = (self.shown.coordinate_at(a), self.shown.coordinate_at(b));
        self.whole.held((a.min(b), a.max(b)))
    }

    /// The values at the ends of the part that is `factor` times as long as `part` (`None`: the whole) and has the
    /// same value at a position in CSS pixels; `None` for all of the axis.
    pub fn scaled(&self, part: Option<(f64, f64)>, at: f64, factor: f64) -> Option<(f64, f64)> {
        let (low, high) = self.coordinates(part);
        let at = self.shown.coordinate_at(at).max(low).min(high);
        self.whole.held((at + (low - at) * factor, at + (high - at) * factor))
    }

    /// The values at the ends of the part that lies so many of its lengths above `part`.
    pub fn moved(&self, part: Option<(f64, f64)>, lengths: f64) -> Option<(f64, f64)> {
        let (low, high) = self.coordinates(part);
        let by = (high - low) * lengths;
        self.whole.held((low + by, high + by))
    }

    fn coordinates(&self, part: Option<(f64, f64)>) -> (f64, f64) {
        let of = |end| coordinate(end, self.whole.spacing);
        part.and_then(|(low, high)| Some((of(low)?, of(high)?))).unwrap_or((self.whole.low, self.whole.high))
    }
}

/// The scales of the two axes of a chart.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    pub x: Scale,
    pub y: Scale,
    /// The offset of a point from its position, so that it does not cover the contents of a cell.
    pub aside: (f64, f64),
    /// Whether there are cells: marks over them are outlined in the background's colour, and found at their exact
    /// positions.
    pub over_cells: bool,
}

impl Scales {
    /// The scales for a series: series in the background mark whole cells, at their centres.
    pub fn of(self, series: &Series) -> Self {
        if series.colour == Colour::Muted { Self { aside: (0.0, 0.0), ..self } } else { self }
    }

    /// The place of a point; `None` if one of its coordinates can't be drawn.
    pub fn place(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x.place(point.x)? + self.aside.0, self.y.place(point.y)? + self.aside.1))
    }

    /// The place of an interval's ends: x, lower end, upper end.
    pub fn interval(&self, point: &Point) -> Option<(f64, f64, f64)> {
        let x = self.x.place(point.x)?;
        Some((x, self.y.place_of_end(point.low?)?, self.y.place_of_end(point.high?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(quantity: Quantity, spacing: Spacing) -> Axis {
        Axis { label: String::new(), quantity, spacing }
    }

    #[test]
    fn steps_round_to_one_two_five() {
        for (value, down, up) in [(1.0, 1.0, 1.0), (3.0, 2.0, 5.0), (0.07, 0.05, 0.1), (999.0, 500.0, 1000.0)] {
            assert!((round_down(value) / down - 1.0).abs() < 1e-9, "{value}");
            assert!((round_up(value) / up - 1.0).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn bandwidth_starts_at_zero_and_sizes_do_not() {
        let scale = |quantity, spacing, values: &[f64]| {
            Scale::new(&axis(quantity, spacing), values.iter().copied(), 0.0, 100.0).map(|scale| scale.ends())
        };
        let (low, high) = scale(Quantity::BusbwGbps, Spacing::Linear, &[100.0, 200.0]).expect("a scale");
        assert!(low == 0.0 && high > 200.0);
        let (low, high) = scale(Quantity::Bytes, Spacing::Logarithmic, &[4096.0, 1048576.0]).expect("a scale");
        assert!(low > 2048.0 && low < 4096.0 && high > 1048576.0 && high < 2097152.0);
        let (low, high) = scale(Quantity::BusbwGbps, Spacing::Logarithmic, &[300.0]).expect("a scale");
        assert!(low <= 200.0 && high >= 500.0);
        assert_eq!(scale(Quantity::BusbwGbps, Spacing::Linear, &[0.0]), Some((0.0, 1.0)));
        assert_eq!(scale(Quantity::BusbwGbps, Spacing::Linear, &[f64::NAN, f64::INFINITY]), None);
        assert_eq!(scale(Quantity::BusbwGbps, Spacing::Logarithmic, &[0.0, -3.0]), None);
    }

    #[test]
    fn times_that_hardly_differ_are_seen_to_differ() {
        let ends = |quantity, values: [f64; 2]| {
            Scale::new(&axis(quantity, Spacing::Linear), values.into_iter(), 0.0, 100.0).map(|scale| scale.ends())
        };
        let (low, high) = ends(Quantity::Number, [27.0, 27.5]).expect("a scale");
        assert!(low > 26.9 && high < 27.6, "{low} {high}");
        assert_eq!(ends(Quantity::Number, [20.0, 27.5]).map(|ends| ends.0), Some(0.0));
        assert_eq!(ends(Quantity::BusbwGbps, [27.0, 27.5]).map(|ends| ends.0), Some(0.0));
        assert_eq!(ends(Quantity::TimeUs, [5.0, 5.0]).map(|ends| ends.0), Some(0.0));
    }

    #[test]
    fn symmetric_logarithms_go_through_zero() {
        let values = [-3.0, 0.0, 1023.0].into_iter();
        let axis = axis(Quantity::Percent, Spacing::SymmetricLogarithmic);
        let scale = Scale::new(&axis, values, 0.0, 100.0).expect("a scale");
        let places: Vec<f64> = [-3.0, 0.0, 3.0, 1023.0].iter().filter_map(|value| scale.place(*value)).collect();
        assert!((places[1] - places[0] - (places[2] - places[1])).abs() < 1e-9, "{places:?}");
        assert!((places[3] - places[1] - 5.0 * (places[2] - places[1])).abs() < 1e-9, "{places:?}");
        let (low, high) = scale.ends();
        assert!(low < -3.0 && low > -10.0 && high > 1023.0 && high < 4000.0, "{low} {high}");
        assert_eq!(scale.place(f64::NAN), None);
    }

    #[test]
    fn ends_of_intervals_stay_on_the_axis() {
        let values = [1.0, 100.0].into_iter();
        let scale = Scale::new(&axis(Quantity::BusbwGbps, Spacing::Logarithmic), values, 100.0, 0.0).expect("a scale");
        assert_eq!(scale.place_of_end(-5.0), Some(100.0));
        assert_eq!(scale.place_of_end(1e6), Some(0.0));
        assert_eq!(scale.place_of_end(f64::INFINITY), Some(0.0));
        assert_eq!(scale.place_of_end(f64::NAN), None);
    }

    #[test]
    fn zooming_keeps_the_value_under_the_pointer_and_stays_on_the_axis() {
        let axis = axis(Quantity::Bytes, Spacing::Logarithmic);
        let whole = Scale::new(&axis, [1024.0, 1048576.0].into_iter(), 0.0, 100.0).expect("a scale");
        let at = 30.0;
        let scale = |shown| ZoomScale { shown, whole };
        let part = scale(whole).scaled(None, at, 0.5);
        let shown = whole.part(part);
        assert!(shown.is_part());
        assert!((shown.coordinate_at(at) - whole.coordinate_at(at)).abs() < 1e-9);
        assert!((shown.high - shown.low - (whole.high - whole.low) / 2.0).abs() < 1e-9);
        assert_eq!(scale(shown).scaled(part, at, 2.0), None, "back to all of it");
        let moved = whole.part(scale(shown).moved(part, 5.0));
        assert!((moved.high - whole.high).abs() < 1e-9, "not beyond the end");
        assert!((moved.high - moved.low - (shown.high - shown.low)).abs() < 1e-9, "of the same length");
        let (low, high) = scale(whole).between(60.0, 20.0).expect("a part");
        assert!((whole.place(low).unwrap_or_default() - 20.0).abs() < 1e-6, "{low}");
        assert!((whole.place(high).unwrap_or_default() - 60.0).abs() < 1e-6, "{high}");
        let closest = (0..100).fold(None, |part, _| scale(whole.part(part)).scaled(part, at, 0.5));
        assert!(whole.part(closest).is_part(), "however far one zooms in");
    }

    #[test]
    fn of_categories_whole_ones_are_shown() {
        let axis = Axis::of_names("", ["a", "b", "c", "d"].map(str::to_owned).to_vec());
        let whole = Scale::new(&axis, [0.0, 3.0].into_iter(), 0.0, 100.0).expect("a scale");
        let part = whole.part(Some((0.7, 1.6)));
        assert_eq!((part.ends(), part.unit()), ((0.5, 2.5), 50.0));
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(|value| part.place(value)), [None, Some(25.0), Some(75.0), None]);
        for hostile in [(f64::NAN, 1.0), (2.0, 1.0), (7.0, 9.0)] {
            assert_eq!(whole.part(Some(hostile)), whole);
        }
    }
}
