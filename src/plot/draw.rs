//! Draws a chart, whatever the backend.

use crate::order::CompactSort;
use plotters::style::text_anchor::HPos;
use plotters_backend::DrawingBackend;

use super::{
    Axis, Chart, DrawnSeries, Layout, Mark, Pick, Point, PointPosition, Rect, Series, Spacing, Style, Zoom, areas,
    legend::{Legend, ROW as LEGEND_ROW},
    marks,
    measure::{Lettering, shortened, text_width},
    palette::{Inks, inks},
    paper::{DrawError, Letters, Paper},
    scale::{Scale, Scales, ZoomScale},
    table::axis_title,
    ticks::{Room, Ticks, ticks},
};

const SMALL: f64 = 11.5;
const NORMAL: f64 = 12.0;
const TITLE: f64 = 15.0;
/// The gap between a tick label and its axis.
const LABEL_GAP: f64 = 8.0;
/// The space above the plot, for the title of the y axis.
const ABOVE: f64 = 22.0;
/// Below the plot: tick labels and the title of the x axis.
const BELOW: f64 = 40.0;
/// The largest share of the width for the names of categories.
const LONGEST_NAME: f64 = 0.3;
/// The same beside cells, which are of use where they are narrow, and whose names differ at their ends.
const LONGEST_OF_CELLS: f64 = 0.36;
/// The distance at which a dot beside its position can still be pointed at, in CSS pixels.
const ASIDE: f64 = 6.0;

/// The margin around the chart: an exported picture needs more than one within a page.
fn margin(style: &Style) -> f64 {
    if style.captions { 14.0 } else { 3.0 }
}

/// Draws a chart and returns the positions of its parts.
///
/// The backend must have [`Style::size_in_units`] units (a canvas scales by one over the fineness) and lay out text
/// itself, as the canvas and SVG backends do.
///
/// # Errors
///
/// Returns errors of the backend only. A chart that can't be drawn is replaced by a sentence.
pub fn draw<B: DrawingBackend>(chart: &Chart, style: &Style, backend: B) -> Result<Layout, DrawError> {
    let paper = Paper::new(backend, style, Lettering::CANVAS)?;
    let layout = draw_on(&paper, chart, style)?;
    paper.present()?;
    Ok(layout)
}

/// Draws only the marking of points of a chart that was drawn with the same style: a ring, and lines to the axes. A
/// value of the x axis that is pointed at elsewhere (`across`) is marked by a line, and by rings where series have one
/// point there.
///
/// # Errors
///
/// Returns errors of the backend only. A point that isn't drawn leaves nothing.
pub fn draw_highlights<B: DrawingBackend>(
    chart: &Chart,
    style: &Style,
    layout: &Layout,
    picks: &[Pick],
    across: Option<f64>,
    backend: B,
) -> Result<(), DrawError> {
    let paper = Paper::new(backend, style, Lettering::CANVAS)?;
    if let Some(value) = across {
        mark_across(&paper, chart, style, layout, value)?;
    }
    picks.iter().try_for_each(|&pick| highlight(&paper, chart, style, layout, pick))?;
    paper.present()
}

pub(super) fn draw_on(paper: &Paper<'_>, chart: &Chart, style: &Style) -> Result<Layout, DrawError> {
    let inks = inks(style.theme);
    let (width, height) = style.size();
    let visible: Vec<(usize, &Series)> =
        chart.series.iter().enumerate().filter(|(_, series)| !style.hidden.contains(&series.name)).collect();
    let margin = margin(style);
    let mut sheet = Rect { left: margin, top: margin, right: width - margin, bottom: height - margin };
    if style.captions {
        paper.fill(&inks.paper)?;
        sheet.top = captions(paper, chart, &visible, &sheet, inks)?;
    }
    let Some(frame) = Frame::new(chart, &visible, &sheet, &style.zoom) else {
        let sentence = match (chart.series.is_empty(), visible.is_empty()) {
            (true, _) => "Nothing to draw yet",
            (false, true) => "Every series is switched off in the legend",
            (false, false) => "No point of this chart can be drawn",
        };
        let letters = Letters::new(13.0, &inks.muted).anchored(HPos::Center);
        paper.text(
            &shortened(sentence, 13.0, width),
            (width / 2.0, f64::midpoint(sheet.top, sheet.bottom)),
            letters,
        )?;
        return Ok(Layout::default());
    };
    frame.draw(paper, chart, &sheet, inks)?;
    paper.clip(frame.axes.iter().any(|axis| axis.shown.is_part()).then_some(frame.plot));
    for (_, series) in &visible {
        marks::series(paper, series, &frame.scales, inks)?;
    }
    let is_on_line = |cell: &Point| {
        let lines = visible.iter().filter(|(_, series)| matches!(series.mark, Mark::Dashed | Mark::LineAndDots));
        let mut points = lines.flat_map(|(_, series)| &series.points);
        points.any(|point| (point.x, point.y) == (cell.x, cell.y))
    };
    for (_, series) in &visible {
        areas::cells(paper, series, &frame.scales, inks, Some(&is_on_line))?;
    }
    paper.clip(None);
    let layout = Layout { plot: frame.plot, series: drawn(&visible, &frame), scales: Some(frame.axes) };
    if let Some(pick) = style.highlight {
        highlight(paper, chart, style, &layout, pick)?;
    }
    Ok(layout)
}

/// Title and legend; gives the height at which they end.
fn captions(
    paper: &Paper<'_>,
    chart: &Chart,
    visible: &[(usize, &Series)],
    sheet: &Rect,
    inks: &Inks,
) -> Result<f64, DrawError> {
    let letters = Letters::new(TITLE, &inks.ink).bold();
    let mut top = sheet.top;
    for line in title_lines(chart, sheet.width()) {
        paper.text(&line, (sheet.left, top + 7.0), letters)?;
        top += TITLE_LINE;
    }
    top += if chart.title.is_empty() { 0.0 } else { TITLE_GAP };
    let series: Vec<&Series> = visible.iter().map(|(_, series)| *series).collect();
    let free = sheet.bottom - top - LEAST_OF_PLOT * sheet.height();
    let rows = (free / LEGEND_ROW) as usize;
    let legend = Legend::new(&series, sheet.width(), rows.clamp(1, MOST_LEGEND_ROWS), Letters::new(NORMAL, &inks.ink));
    legend.draw(paper, (sheet.left, top), inks)?;
    Ok(top + legend.height() + LEGEND_GAP)
}

/// The height of one line of the title, and the gaps below the title and the legend, in CSS pixels.
const TITLE_LINE: f64 = 19.0;
const TITLE_GAP: f64 = 6.0;
const LEGEND_GAP: f64 = 8.0;
/// The least share of a picture's height that the legend leaves to the plot.
const LEAST_OF_PLOT: f64 = 0.4;
const MOST_LEGEND_ROWS: usize = 16;
/// The most lines of a title; what has no room in the last one is cut.
const MOST_TITLE_LINES: usize = 3;

/// The title in lines that fit in `width` CSS pixels; none without a title.
fn title_lines(chart: &Chart, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in chart.title.split_whitespace() {
        let may_begin = lines.len() < MOST_TITLE_LINES;
        match lines.last_mut() {
            Some(line) if may_begin && lines_full(line, word, width) => lines.push(word.to_owned()),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| shortened(line, TITLE * 1.1, width)).collect()
}

/// Whether a word has no room behind what stands in a line of the title.
fn lines_full(line: &str, word: &str, width: f64) -> bool {
    text_width(line, TITLE * 1.1) + text_width(" ", TITLE * 1.1) + text_width(word, TITLE * 1.1) > width
}

/// The style of a picture with title and legend above the height that the style has: as many lines as they take.
pub fn with_captions(chart: &Chart, style: Style) -> Style {
    let style = Style { captions: true, ..style };
    let width = style.size().0 - 2.0 * margin(&style);
    let series: Vec<&Series> = chart.series.iter().filter(|series| !style.hidden.contains(&series.name)).collect();
    let letters = Letters::new(NORMAL, &inks(style.theme).ink);
    let title = match title_lines(chart, width).len() {
        0 => 0.0,
        lines => lines as f64 * TITLE_LINE + TITLE_GAP,
    };
    let above = title + Legend::new(&series, width, MOST_LEGEND_ROWS, letters).height() + LEGEND_GAP;
    Style { height: style.height + above, ..style }
}

/// The rectangle of the plot and everything that follows from the data's extent.
struct Frame {
    plot: Rect,
    scales: Scales,
    /// The x and the y axis, as they are shown and as a whole.
    axes: [ZoomScale; 2],
    x_ticks: Ticks,
    y_ticks: Ticks,
}

impl Frame {
    /// `None` if no point can be drawn, or there is no room for one.
    fn new(chart: &Chart, visible: &[(usize, &Series)], sheet: &Rect, zoom: &Zoom) -> Option<Self> {
        let letters = Letters::new(SMALL, &plotters::style::BLACK);
        let (top, bottom) = (sheet.top + ABOVE, sheet.bottom - BELOW);
        let (from, to) = if chart.y.quantity.is_names() { (top, bottom) } else { (bottom, top) };
        let whole = Scale::new(&chart.y, y_values(&chart.y, visible, None).into_iter(), from, to)?;
        let spans = visible.iter().filter(|(_, series)| series.mark == Mark::Spans);
        let ends = spans.flat_map(|(_, series)| &series.points).filter_map(|point| Some(point.x + point.value?));
        let xs: Vec<f64> = points(visible).map(|point| point.x).chain(ends).collect();
        let across = Scale::new(&chart.x, xs.iter().copied(), 0.0, 1.0)?.part(zoom.x);
        let fitting = Some(across.ends()).filter(|_| across.is_part() && zoom.y.is_none()).and_then(|part| {
            let fitted = Scale::new(&chart.y, y_values(&chart.y, visible, Some(part)).into_iter(), from, to)?;
            Some(fitted.within(&whole))
        });
        let y = fitting.unwrap_or_else(|| whole.part(zoom.y));
        let upright = ZoomScale { shown: y, whole };
        let has_cells = visible.iter().any(|(_, series)| matches!(series.mark, Mark::Cells(..)));
        let longest = sheet.width() * if has_cells { LONGEST_OF_CELLS } else { LONGEST_NAME };
        let room = Room { extent: &|_| SMALL, gap: 6.0, least: 32.0, longest };
        let ys: Vec<f64> = points(visible).map(|point| point.y).collect();
        let y_ticks = ticks(&chart.y, &y, &ys, &room);
        let widest = y_ticks.labelled.iter().map(|(_, label)| letters.width(label)).fold(0.0, f64::max);
        // The last label on the x axis may stand half its width beyond the plot.
        let (left, right) = (sheet.left + widest + LABEL_GAP, sheet.right - 16.0);
        if right - left < 24.0 || bottom - top < 24.0 {
            return None;
        }
        let whole = Scale::new(&chart.x, xs.iter().copied(), left, right)?;
        let x = whole.part(zoom.x);
        let room = Room {
            extent: &|label| letters.width(label),
            gap: 10.0,
            least: 34.0,
            longest: sheet.width() * LONGEST_NAME,
        };
        let x_ticks = ticks(&chart.x, &x, &xs, &room);
        let aside = if has_cells { areas::corner(&x, &y) } else { (0.0, 0.0) };
        let scales = Scales { x, y, aside, over_cells: has_cells };
        let axes = [ZoomScale { shown: x, whole }, upright];
        Some(Self { plot: Rect { left, top, right, bottom }, scales, axes, x_ticks, y_ticks })
    }

    /// Draws gridlines, axes, labels and titles.
    fn draw(&self, paper: &Paper<'_>, chart: &Chart, sheet: &Rect, inks: &Inks) -> Result<(), DrawError> {
        let Rect { left, top, right, bottom } = self.plot;
        // Cells are their own grid.
        let is_grid = |axis: &Axis| {
            let is_cells = |series: &Series| matches!(series.mark, Mark::Cells(..));
            !(axis.quantity.is_names() && chart.series.iter().any(is_cells))
        };
        let vertical = |x: f64, colour| paper.hairline((x, top), (x, bottom), colour);
        let horizontal = |y: f64, colour| paper.hairline((left, y), (right, y), colour);
        self.x_ticks.fine.iter().try_for_each(|&x| vertical(x, &inks.fine_grid))?;
        self.y_ticks.fine.iter().try_for_each(|&y| horizontal(y, &inks.fine_grid))?;
        if is_grid(&chart.x) {
            self.x_ticks.labelled.iter().try_for_each(|&(x, _)| vertical(x, &inks.grid))?;
        }
        if is_grid(&chart.y) {
            self.y_ticks.labelled.iter().try_for_each(|&(y, _)| horizontal(y, &inks.grid))?;
        }
        horizontal(bottom, &inks.axis)?;
        let zero = self.scales.y.place(0.0).filter(|zero| !chart.y.quantity.is_names() && (top..bottom).contains(zero));
        if let Some(zero) = zero {
            horizontal(zero, &inks.axis)?;
        }
        let letters = Letters::new(SMALL, &inks.muted);
        for (x, label) in &self.x_ticks.labelled {
            paper.hairline((*x, bottom), (*x, bottom + 4.0), &inks.axis)?;
            paper.text(label, (*x, bottom + 14.0), letters.anchored(HPos::Center))?;
        }
        for (y, label) in &self.y_ticks.labelled {
            paper.text(label, (left - LABEL_GAP, *y), letters.anchored(HPos::Right))?;
        }
        let letters = Letters::new(NORMAL, &inks.muted);
        let title = |axis| shortened(&axis_title(axis), NORMAL, right - sheet.left);
        paper.text(&title(&chart.y), (sheet.left, top - 14.0), letters)?;
        paper.text(&title(&chart.x), (right, bottom + 32.0), letters.anchored(HPos::Right))
    }
}

fn points<'a>(visible: &'a [(usize, &'a Series)]) -> impl Iterator<Item = &'a Point> {
    visible.iter().flat_map(|(_, series)| &series.points)
}

/// The values that the y axis shows: all points, and of their intervals as much as leaves the points room. `part` are
/// the ends of the x axis, if not all points are shown.
fn y_values(axis: &Axis, visible: &[(usize, &Series)], part: Option<(f64, f64)>) -> Vec<f64> {
    let is_shown = |point: &&Point| part.is_none_or(|(low, high)| (low..=high).contains(&point.x));
    let mut values: Vec<f64> = points(visible).filter(is_shown).map(|point| point.y).collect();
    let usable = |value: &&f64| value.is_finite() && (axis.spacing != Spacing::Logarithmic || **value > 0.0);
    let (least, most) =
        values.iter().filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &v| (l.min(v), m.max(v)));
    let span = most - least.min(0.0);
    let (lowest, highest) = match axis.spacing {
        // Where all points lie on zero, their intervals alone say how far the axis goes.
        Spacing::Linear if span == 0.0 => (f64::NEG_INFINITY, f64::INFINITY),
        Spacing::Linear | Spacing::SymmetricLogarithmic => (least.min(0.0) - 0.5 * span, most + 0.5 * span),
        Spacing::Logarithmic => (least / 4.0, most * 4.0),
    };
    let marked = visible.iter().filter(|(_, series)| matches!(series.mark, Mark::Band | Mark::Whiskers));
    let ends = marked
        .flat_map(|(_, series)| &series.points)
        .filter(is_shown)
        .flat_map(|point| [point.low, point.high])
        .flatten();
    let within = ends.filter(|end| usable(&end)).map(|end| end.clamp(lowest.min(highest), highest.max(lowest)));
    let within: Vec<f64> = if least <= most { within.collect() } else { Vec::new() };
    values.extend(within);
    values
}

fn drawn(visible: &[(usize, &Series)], frame: &Frame) -> Vec<DrawnSeries> {
    let (scales, plot) = (&frame.scales, &frame.plot);
    let is_part = frame.axes.iter().any(|axis| axis.shown.is_part());
    let all_bands = visible.iter().all(|(_, series)| series.mark == Mark::Band);
    let pointed = visible.iter().filter(|(_, series)| all_bands || series.mark != Mark::Band);
    let mut drawn = Vec::new();
    for &(index, series) in pointed {
        let scales = &scales.of(series);
        let places = series.points.iter().enumerate().filter_map(|(point, value)| {
            let ((x, y), area) = if series.mark.is_area() {
                let area = areas::area(value, &series.mark, scales)?;
                ((f64::midpoint(area.left, area.right), f64::midpoint(area.top, area.bottom)), Some(area))
            } else {
                let (x, y) = scales.place(value)?;
                let (right, down) = scales.aside;
                // What stands aside is found there, and walked to from where it belongs.
                let around = Rect { left: x - ASIDE, top: y - ASIDE, right: x + ASIDE, bottom: y + ASIDE };
                ((x - right, y - down), scales.over_cells.then_some(around))
            };
            Some(PointPosition { pick: Pick { series: index, point }, x, y, area })
        });
        let is_shown = |place: &PointPosition| !is_part || plot.contains(place.x, place.y);
        let mut places: Vec<PointPosition> = places.filter(is_shown).collect();
        places.compact_sort_by(|a, b| a.x.total_cmp(&b.x).then(b.y.total_cmp(&a.y)));
        if !places.is_empty() {
            drawn.push(DrawnSeries { index, positions: places });
        }
    }
    drawn
}

fn highlight(paper: &Paper<'_>, chart: &Chart, style: &Style, layout: &Layout, pick: Pick) -> Result<(), DrawError> {
    let (Some(place), Some(series)) = (layout.place(pick), chart.series.get(pick.series)) else { return Ok(()) };
    let inks = inks(style.theme);
    let (x, y) = (place.x, place.y);
    let Rect { left, bottom, .. } = layout.plot;
    if let Some(area) = place.area {
        let Rect { left, top, right, bottom: under } = area;
        if series.mark == Mark::Spans {
            [left, right].iter().try_for_each(|&x| paper.hairline((x, under), (x, bottom), &inks.axis))?;
        }
        let outline = [(left, top), (right, top), (right, under), (left, under), (left, top), (right, top)];
        paper.line(&outline, &inks.paper, 5.0, &[])?;
        return paper.line(&outline, &inks.ink, 2.0, &[]);
    }
    for (from, to) in [((left, y), (x - 8.0, y)), ((x, y + 8.0), (x, bottom))] {
        if from.0 <= to.0 && from.1 <= to.1 {
            paper.hairline(from, to, &inks.axis)?;
        }
    }
    paper.ring((x, y), 7.0, &inks.paper, 4.5)?;
    paper.disc((x, y), 3.5, &inks.colour(series.colour))?;
    paper.ring((x, y), 7.0, &inks.ink, 1.75)
}

fn mark_across(paper: &Paper<'_>, chart: &Chart, style: &Style, layout: &Layout, value: f64) -> Result<(), DrawError> {
    let Some((x, (left, right))) = layout.across(value) else { return Ok(()) };
    let inks = inks(style.theme);
    let Rect { top, bottom, .. } = layout.plot;
    for edge in [left, right] {
        paper.line(&[(edge, top), (edge, bottom)], &inks.ink, 1.5, &[3.0, 3.0])?;
    }
    for series in &layout.series {
        let mut here = series.positions.iter().filter(|place| place.area.is_none() && (place.x - x).abs() < 0.5);
        if let (Some(place), None, Some(of)) = (here.next(), here.next(), chart.series.get(series.index)) {
            paper.disc((place.x, place.y), 3.5, &inks.colour(of.colour))?;
            paper.ring((place.x, place.y), 6.0, &inks.ink, 1.5)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Colour, Quantity};

    #[test]
    fn intervals_around_zero_are_seen_whole() {
        let axis = Axis { label: "Change".into(), quantity: Quantity::Percent, spacing: Spacing::Linear };
        let of = |y: f64| Series {
            name: "change".into(),
            colour: Colour::Answer,
            mark: Mark::Whiskers,
            points: vec![Point { x: 1.0, y, low: Some(-55.0), high: Some(126.0), ..Point::default() }],
        };
        assert_eq!(y_values(&axis, &[(0, &of(0.0))], None), [0.0, -55.0, 126.0]);
        assert_eq!(y_values(&axis, &[(0, &of(10.0))], None), [10.0, -5.0, 15.0]);
    }
}
