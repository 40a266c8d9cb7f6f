//! The positions of drawn points, by which a pointer or keyboard finds them.

use super::Pick;

/// A rectangle in CSS pixels, from the upper left of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// The left edge in CSS pixels, from the chart's left.
    pub left: f64,
    /// The upper edge in CSS pixels, from the chart's top.
    pub top: f64,
    /// The right edge in CSS pixels, at or beyond `left`.
    pub right: f64,
    /// The lower edge in CSS pixels, at or below `top`.
    pub bottom: f64,
}

impl Rect {
    /// Whether a position lies inside or on the edge.
    pub fn contains(&self, x: f64, y: f64) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The squared distance of a position from the rectangle; zero inside.
    fn distance(&self, x: f64, y: f64) -> f64 {
        let beyond = |place: f64, low: f64, high: f64| (low - place).max(place - high).max(0.0);
        let (across, down) = (beyond(x, self.left, self.right), beyond(y, self.top, self.bottom));
        across * across + down * down
    }

    /// The width, right minus left.
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    /// The height, bottom minus top.
    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// The position of a drawn point in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointPosition {
    /// The point that is drawn at this position.
    pub pick: Pick,
    /// The distance from the left edge of the picture.
    pub x: f64,
    /// The distance from the upper edge of the picture.
    pub y: f64,
    /// All that a bar or a cell covers; it is pointed at there and nowhere else.
    pub area: Option<Rect>,
}

/// The positions of the points of a drawn series.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnSeries {
    /// The series' index in [`Chart::series`](super::Chart::series), from 0.
    pub index: usize,
    /// The positions of its drawable points, from left to right.
    pub positions: Vec<PointPosition>,
}

/// The positions of the parts of a drawn chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The rectangle between the axes.
    pub plot: Rect,
    /// The visible series with at least one drawable point that can be pointed at, in chart order. Bands are left
    /// out: their points lie behind those of another series.
    pub series: Vec<DrawnSeries>,
}

/// One step of walking through the points of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The next point to the left in the same series.
    Left,
    /// The next point to the right in the same series.
    Right,
    /// The previous series, at the point nearest in x; the row above, where bars or cells lie in rows.
    PreviousSeries,
    /// The next series, at the point nearest in x; the row below, where bars or cells lie in rows.
    NextSeries,
    /// To the leftmost point of the series.
    First,
    /// To the rightmost point of the series.
    Last,
}

/// The distance from a bar or cell at which it is still selected, in CSS pixels: bars can be very narrow.
const AREA_REACH: f64 = 3.0;
/// Points whose heights differ by less lie on one row.
const SAME_ROW: f64 = 0.5;

impl Layout {
    /// The place of a point; `None` where it isn't drawn.
    pub fn place(&self, pick: Pick) -> Option<PointPosition> {
        let series = self.series.iter().find(|series| series.index == pick.series)?;
        series.positions.iter().find(|place| place.pick == pick).copied()
    }

    /// The drawn point nearest to a position in the picture, at most `reach` CSS pixels away. Of equally near ones
    /// the last drawn wins, as it is on top. Bars and cells are found within their areas.
    pub fn nearest(&self, x: f64, y: f64, reach: f64) -> Option<Pick> {
        let mut best = (reach * reach, None);
        for place in self.series.iter().flat_map(|series| &series.positions) {
            let distance = match &place.area {
                Some(area) => area.distance(x, y),
                None => (place.x - x) * (place.x - x) + (place.y - y) * (place.y - y),
            };
            if distance <= best.0 && (place.area.is_none() || distance <= AREA_REACH * AREA_REACH) {
                best = (distance, Some(place.pick));
            }
        }
        best.1
    }

    /// Where a step leads from a point. Without a point, or from one that isn't drawn any more, every step enters
    /// the chart at the first point of the series drawn on top.
    ///
    /// A chart of bars or cells is walked as it lies on the paper: along a row whatever the series, and from row to
    /// row. It is entered at the first of its upper row.
    pub fn walk(&self, from: Option<Pick>, step: Walk) -> Option<Pick> {
        if self.places().any(|place| place.area.is_some()) {
            return self.walk_rows(from, step);
        }
        let entry = || self.series.last().and_then(|series| series.positions.first()).map(|place| place.pick);
        let Some(pick) = from else { return entry() };
        let Some(row) = self.series.iter().position(|series| series.index == pick.series) else { return entry() };
        let places = &self.series[row].positions;
        let Some(at) = places.iter().position(|place| place.pick == pick) else { return entry() };
        let last = places.len() - 1;
        let count = self.series.len();
        let neighbour = |row: usize| {
            let gap = |place: &&PointPosition| ((place.x - places[at].x).abs(), (place.y - places[at].y).abs());
            let closer = |a: &&PointPosition, b: &&PointPosition| {
                gap(a).0.total_cmp(&gap(b).0).then(gap(a).1.total_cmp(&gap(b).1))
            };
            self.series[row].positions.iter().min_by(closer).map(|place| place.pick)
        };
        match step {
            Walk::Left => Some(places[at.saturating_sub(1)].pick),
            Walk::Right => Some(places[(at + 1).min(last)].pick),
            Walk::First => Some(places[0].pick),
            Walk::Last => Some(places[last].pick),
            Walk::PreviousSeries => neighbour((row + count - 1) % count),
            Walk::NextSeries => neighbour((row + 1) % count),
        }
    }

    fn places(&self) -> impl Iterator<Item = &PointPosition> {
        self.series.iter().flat_map(|series| &series.positions)
    }

    fn walk_rows(&self, from: Option<Pick>, step: Walk) -> Option<Pick> {
        let along = |a: &&PointPosition, b: &&PointPosition| a.x.total_cmp(&b.x).then(a.pick.cmp(&b.pick));
        let row = |y: f64| self.places().filter(move |place| (place.y - y).abs() < SAME_ROW);
        let Some(here) = from.and_then(|pick| self.place(pick)) else {
            let upper = self.places().map(|place| place.y).min_by(f64::total_cmp)?;
            return row(upper).min_by(along).map(|place| place.pick);
        };
        let nearest = |y: f64| row(y).min_by(|a, b| (a.x - here.x).abs().total_cmp(&(b.x - here.x).abs()));
        let heights = || self.places().map(|place| place.y);
        let reached = match step {
            Walk::Left => row(here.y).filter(|place| along(place, &&here).is_lt()).max_by(along),
            Walk::Right => row(here.y).filter(|place| along(place, &&here).is_gt()).min_by(along),
            Walk::First => row(here.y).min_by(along),
            Walk::Last => row(here.y).max_by(along),
            Walk::PreviousSeries => {
                heights().filter(|y| *y <= here.y - SAME_ROW).max_by(f64::total_cmp).and_then(nearest)
            }
            Walk::NextSeries => heights().filter(|y| *y >= here.y + SAME_ROW).min_by(f64::total_cmp).and_then(nearest),
        };
        Some(reached.map_or(here.pick, |place| place.pick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let series = |index: usize, y: f64, xs: &[f64]| DrawnSeries {
            index,
            positions: xs
                .iter()
                .enumerate()
                .map(|(point, &x)| PointPosition { pick: Pick { series: index, point }, x, y, area: None })
                .collect(),
        };
        Layout {
            plot: Rect::default(),
            series: vec![series(1, 10.0, &[0.0, 50.0, 100.0]), series(4, 20.0, &[0.0, 90.0])],
        }
    }

    #[test]
    fn the_nearest_point_is_within_reach() {
        let pick = |series, point| Some(Pick { series, point });
        assert_eq!(layout().nearest(48.0, 12.0, 30.0), pick(1, 1));
        assert_eq!(layout().nearest(92.0, 19.0, 30.0), pick(4, 1));
        assert_eq!(layout().nearest(48.0, 80.0, 30.0), None);
        assert_eq!(layout().nearest(0.0, 15.0, 30.0), pick(4, 0), "of equals the upper one");
        assert_eq!(layout().nearest(f64::NAN, 0.0, 30.0), None);
    }

    #[test]
    fn walking_stays_inside_and_changes_series_at_the_same_x() {
        let layout = layout();
        let pick = |series, point| Some(Pick { series, point });
        assert_eq!(layout.walk(None, Walk::Right), pick(4, 0));
        assert_eq!(layout.walk(pick(9, 9), Walk::Left), pick(4, 0));
        assert_eq!(layout.walk(pick(1, 0), Walk::Left), pick(1, 0));
        assert_eq!(layout.walk(pick(1, 1), Walk::Right), pick(1, 2));
        assert_eq!(layout.walk(pick(1, 2), Walk::Right), pick(1, 2));
        assert_eq!(layout.walk(pick(1, 2), Walk::NextSeries), pick(4, 1));
        assert_eq!(layout.walk(pick(4, 1), Walk::NextSeries), pick(1, 2));
        assert_eq!(layout.walk(pick(1, 0), Walk::PreviousSeries), pick(4, 0));
        assert_eq!(layout.walk(pick(1, 0), Walk::Last), pick(1, 2));
        assert_eq!(Layout::default().walk(pick(1, 0), Walk::Last), None);
    }
}
