//! The positions of drawn points, by which a pointer or keyboard finds them.

use super::{Pick, Zoom, scale::ZoomScale};

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

    /// The parts of a line through points that lie inside.
    pub(super) fn cut_line(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
        for pair in points.windows(2) {
            let Some((from, to)) = self.cut(pair[0], pair[1]) else { continue };
            match runs.last_mut() {
                Some(run) if run.last() == Some(&from) => run.push(to),
                _ => runs.push(vec![from, to]),
            }
        }
        runs
    }

    /// The part of a straight line that lies inside (Liang and Barsky).
    fn cut(&self, from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let (mut start, mut end) = (0.0_f64, 1.0_f64);
        for (step, room) in [
            (-across, from.0 - self.left),
            (across, self.right - from.0),
            (-down, from.1 - self.top),
            (down, self.bottom - from.1),
        ] {
            match step {
                step if step < 0.0 => start = start.max(room / step),
                step if step > 0.0 => end = end.min(room / step),
                _ if room < 0.0 => return None,
                _ => {}
            }
        }
        let at = |share: f64| (from.0 + across * share, from.1 + down * share);
        let ends = (if start > 0.0 { at(start) } else { from }, if end < 1.0 { at(end) } else { to });
        (start <= end).then_some(ends)
    }

    /// The part of a polygon that lies inside (Sutherland and Hodgman).
    pub(super) fn cut_polygon(&self, corners: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let depths: [&dyn Fn((f64, f64)) -> f64; 4] =
            [&|(x, _)| x - self.left, &|(x, _)| self.right - x, &|(_, y)| y - self.top, &|(_, y)| self.bottom - y];
        depths.iter().fold(corners.to_vec(), |polygon, depth| {
            let before = polygon.last().into_iter().chain(&polygon);
            let mut kept = Vec::with_capacity(polygon.len() + 2);
            for (&from, &to) in before.zip(&polygon) {
                let (a, b) = (depth(from), depth(to));
                if (a < 0.0) != (b < 0.0) {
                    let share = a / (a - b);
                    kept.push((from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share));
                }
                if b >= 0.0 {
                    kept.push(to);
                }
            }
            kept
        })
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
    /// The scales of the x and the y axis; `None` where nothing is drawn.
    pub(super) scales: Option<[ZoomScale; 2]>,
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

/// A selection that extends less than this in CSS pixels along one axis is a selection along the other one.
const THIN: f64 = 20.0;

impl Layout {
    /// The rectangle that is selected between two positions in the picture: the whole height of the plot where they lie
    /// beside each other, the whole width where they lie below each other.
    pub fn selection(&self, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> Rect {
        let Rect { left, top, right, bottom } = self.plot;
        let is_beside = (to_y - y).abs() < THIN;
        let is_below = !is_beside && (to_x - x).abs() < THIN;
        let side = |is_whole: bool, a: f64, b: f64, (low, high): (f64, f64)| match is_whole {
            true => (low, high),
            false => (a.min(b).max(low), a.max(b).min(high)),
        };
        let (left, right) = side(is_below, x, to_x, (left, right));
        let (top, bottom) = side(is_beside, y, to_y, (top, bottom));
        Rect { left, top, right, bottom }
    }

    /// The part of the chart within a rectangle of the picture. Along an axis of which it covers all that is shown,
    /// `before` stays.
    pub fn zoom_to(&self, before: Zoom, area: Rect) -> Zoom {
        let Some([x, y]) = self.scales else { return before };
        let side = |scale: ZoomScale, before: Option<(f64, f64)>, (from, to): (f64, f64), all: (f64, f64)| {
            if (from, to) == all || from >= to { before } else { scale.between(from, to) }
        };
        let Rect { left, top, right, bottom } = self.plot;
        Zoom {
            x: side(x, before.x, (area.left, area.right), (left, right)),
            y: side(y, before.y, (area.top, area.bottom), (top, bottom)),
        }
    }

    /// The part that is `factor` times as long as the one before, around a position in the picture or the middle. The
    /// y axis takes part in it where it shows a part already.
    pub fn scaled(&self, before: Zoom, at: Option<(f64, f64)>, factor: f64) -> Zoom {
        let Some([x, y]) = self.scales else { return before };
        let Rect { left, top, right, bottom } = self.plot;
        let at = at.unwrap_or((f64::midpoint(left, right), f64::midpoint(top, bottom)));
        let upright = before.y.and_then(|part| y.scaled(Some(part), at.1, factor));
        Zoom { x: x.scaled(before.x, at.0, factor), y: upright }
    }

    /// The part that lies so many lengths of the one before to the right and upwards.
    pub fn moved(&self, before: Zoom, right: f64, up: f64) -> Zoom {
        let Some([x, y]) = self.scales else { return before };
        let up = if y.shown.is_of_categories() { -up } else { up };
        Zoom { x: x.moved(before.x, right), y: before.y.and_then(|part| y.moved(Some(part), up)) }
    }

    /// The position of a value on the x axis in CSS pixels, and the stretch that it takes where values are categories;
    /// `None` if it isn't shown.
    pub(super) fn across(&self, value: f64) -> Option<(f64, (f64, f64))> {
        let scale = self.scales?[0].shown;
        let at = scale.place(value).filter(|at| (self.plot.left..=self.plot.right).contains(at))?;
        Some((at, scale.unit_around(value).filter(|_| scale.is_of_categories()).unwrap_or((at, at))))
    }

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
            ..Layout::default()
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

    #[test]
    fn lines_and_polygons_are_cut_to_a_rectangle() {
        let area = Rect { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };
        let across = [(-5.0, 5.0), (5.0, 5.0), (15.0, 5.0), (15.0, 20.0), (5.0, 20.0), (5.0, 8.0)];
        assert_eq!(area.cut_line(&across), [vec![(0.0, 5.0), (5.0, 5.0), (10.0, 5.0)], vec![(5.0, 10.0), (5.0, 8.0)]]);
        assert!(area.cut_line(&[(-5.0, 2.0), (2.0, -5.0)]).is_empty(), "past a corner");
        let triangle = [(-10.0, 5.0), (5.0, 5.0), (5.0, 30.0)];
        let cut = area.cut_polygon(&triangle);
        assert!(cut.len() >= 4 && cut.iter().all(|(x, y)| area.contains(*x, *y)), "{cut:?}");
        assert_eq!(area.cut_polygon(&[(20.0, 0.0), (30.0, 0.0), (30.0, 5.0)]), []);
        assert_eq!(area.cut_polygon(&[]), []);
    }

    #[test]
    fn a_selection_along_one_axis_takes_all_of_the_other() {
        let plot = Rect { left: 10.0, top: 10.0, right: 110.0, bottom: 90.0 };
        let layout = Layout { plot, ..Layout::default() };
        assert_eq!(layout.selection((80.0, 40.0), (30.0, 45.0)), Rect { left: 30.0, right: 80.0, ..plot });
        assert_eq!(layout.selection((50.0, 80.0), (55.0, 30.0)), Rect { top: 30.0, bottom: 80.0, ..plot });
        let corner = layout.selection((60.0, 60.0), (500.0, 500.0));
        assert_eq!(corner, Rect { left: 60.0, top: 60.0, ..plot });
        assert_eq!(layout.zoom_to(Zoom::default(), corner), Zoom::default(), "nothing is drawn");
    }
}
