//! Draws the marks of a series.

use plotters::style::{Color, RGBAColor, RGBColor};

use super::{
    Colour, Mark, Rect, Series, areas,
    palette::{DASHED, Inks, Shape, dashes},
    paper::{DrawError, Paper},
    scale::Scales,
};

/// The stretches of points without a gap, so that a gap in the data is a gap in the line.
fn runs<T>(places: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for place in places {
        match (place, runs.last_mut()) {
            (Some(place), Some(run)) => run.push(place),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The additional width of the outline of a line over cells, in CSS pixels.
const RIM: f64 = 2.5;

fn line_width(colour: Colour) -> f64 {
    match colour {
        Colour::Answer => 2.5,
        Colour::Muted => 1.25,
        Colour::Palette(_) | Colour::Default => 1.75,
    }
}

/// Radius and opacity of dots: many dots are smaller and more transparent, so that their density shows.
fn dot_size(count: usize) -> (f64, f64) {
    match count {
        0..=80 => (3.25, 1.0),
        81..=400 => (2.6, 1.0),
        401..=MANY_DOTS => (2.0, 0.6),
        _ => (1.75, 0.35),
    }
}

/// The number of dots above which they are drawn as squares of whole pixels. At that size they look like circles, and
/// a canvas fills them in a third of the time: thousands of circles take longer than a frame.
const MANY_DOTS: usize = 2000;

/// A dot, outlined in the background's colour.
pub(super) fn dot(
    paper: &Paper<'_>,
    centre: (f64, f64),
    shape: Shape,
    radius: f64,
    colour: RGBAColor,
    rim: Option<RGBColor>,
) -> Result<(), DrawError> {
    let layers = rim.map(|rim| (radius + 1.1, rim.to_rgba())).into_iter().chain([(radius, colour)]);
    for (radius, colour) in layers {
        if shape == Shape::Circle {
            paper.disc(centre, radius, &colour)?;
        } else {
            let corners = shape.corners(radius);
            paper.polygon(&corners.iter().map(|(x, y)| (centre.0 + x, centre.1 + y)).collect::<Vec<_>>(), &colour)?;
        }
    }
    Ok(())
}

/// A ring, with the background inside.
fn ring(paper: &Paper<'_>, centre: (f64, f64), of: Colour, radius: f64, inks: &Inks) -> Result<(), DrawError> {
    let (shape, colour) = (Shape::of(of), inks.colour(of).to_rgba());
    dot(paper, centre, shape, radius + 1.0, colour, Some(inks.paper))?;
    dot(paper, centre, shape, radius - 0.75, inks.paper.to_rgba(), None)
}

fn whisker(paper: &Paper<'_>, (x, low, high): (f64, f64, f64), cap: f64, colour: RGBColor) -> Result<(), DrawError> {
    paper.line(&[(x, low), (x, high)], &colour, 1.25, &[])?;
    for end in [low, high] {
        paper.line(&[(x - cap, end), (x + cap, end)], &colour, 1.25, &[])?;
    }
    Ok(())
}

fn band(paper: &Paper<'_>, run: &[(f64, f64, f64)], colour: RGBColor, cover: f64) -> Result<(), DrawError> {
    let lower: Vec<_> = run.iter().map(|&(x, low, _)| (x, low)).collect();
    let upper: Vec<_> = run.iter().map(|&(x, _, high)| (x, high)).collect();
    if let [single] = run {
        return whisker(paper, *single, 3.0, colour);
    }
    let outline: Vec<_> = lower.iter().chain(upper.iter().rev()).copied().collect();
    paper.polygon(&outline, &colour.mix(cover))?;
    for edge in [lower, upper] {
        paper.line(&edge, &colour.mix(0.55), 0.75, &[])?;
    }
    Ok(())
}

pub(super) fn series(paper: &Paper<'_>, series: &Series, scales: &Scales, inks: &Inks) -> Result<(), DrawError> {
    let scales = &scales.of(series);
    let colour = inks.colour(series.colour);
    match series.mark {
        Mark::Spans => return areas::spans(paper, series, scales, inks),
        Mark::Cells(..) => return areas::cells(paper, series, scales, inks, None),
        _ => {}
    }
    if series.mark == Mark::Band {
        for run in runs(series.points.iter().map(|point| scales.interval(point))) {
            band(paper, &run, colour, inks.band)?;
        }
        return Ok(());
    }
    let places = || series.points.iter().map(|point| scales.place(point));
    if matches!(series.mark, Mark::Line | Mark::Dashed | Mark::LineAndDots) {
        let pattern = match series.mark {
            Mark::Dashed => DASHED,
            Mark::Line => dashes(series.colour),
            _ => &[],
        };
        for run in runs(places()) {
            if scales.over_cells {
                paper.line(&run, &inks.paper, line_width(series.colour) + RIM, &[])?;
            }
            paper.line(&run, &colour, line_width(series.colour), pattern)?;
            if let ([single], false) = (run.as_slice(), series.mark == Mark::LineAndDots) {
                paper.disc(*single, line_width(series.colour), &colour)?;
            }
        }
    }
    let (radius, cover) = dot_size(series.points.len());
    if series.mark == Mark::Whiskers {
        for interval in series.points.iter().filter_map(|point| scales.interval(point)) {
            whisker(paper, interval, radius.min(3.0), colour)?;
        }
    }
    if series.mark == Mark::Rings {
        return places().flatten().try_for_each(|place| ring(paper, place, series.colour, radius, inks));
    }
    if matches!(series.mark, Mark::Dots | Mark::LineAndDots | Mark::Whiskers) {
        if series.points.len() > MANY_DOTS {
            return paper.squares(places().flatten(), radius, colour, cover);
        }
        let rim = (cover >= 1.0).then_some(inks.paper);
        for place in places().flatten() {
            dot(paper, place, Shape::of(series.colour), radius, colour.mix(cover), rim)?;
        }
    }
    Ok(())
}

const KEY_WIDTH: f64 = 26.0;

/// The width of a series' sign in the legend in CSS pixels.
pub(super) fn key_width(mark: &Mark) -> f64 {
    if matches!(mark, Mark::Cells(..)) { areas::KEY_WIDTH } else { KEY_WIDTH }
}

/// A series' sign in the legend, [`key_width`] wide, from a place at half its height.
pub(super) fn key(
    paper: &Paper<'_>,
    series: &Series,
    (left, middle): (f64, f64),
    inks: &Inks,
) -> Result<(), DrawError> {
    let colour = inks.colour(series.colour);
    let (right, centre) = (left + KEY_WIDTH, left + KEY_WIDTH / 2.0);
    match series.mark {
        Mark::Band => {
            return band(
                paper,
                &[(left, middle + 5.0, middle - 5.0), (right, middle + 5.0, middle - 5.0)],
                colour,
                inks.band,
            );
        }
        Mark::Spans => {
            let area = Rect { left: left + 2.0, top: middle - 5.0, right: right - 2.0, bottom: middle + 5.0 };
            return paper.rectangle(&area, &colour);
        }
        Mark::Cells(..) => return areas::key(paper, (left, middle), inks),
        Mark::Whiskers => whisker(paper, (centre, middle + 6.0, middle - 6.0), 3.0, colour)?,
        Mark::Rings => return ring(paper, (centre, middle), series.colour, 3.25, inks),
        Mark::Dots => {}
        Mark::Line | Mark::Dashed | Mark::LineAndDots => {
            let pattern = match series.mark {
                Mark::Dashed => DASHED,
                Mark::Line => dashes(series.colour),
                _ => &[],
            };
            paper.line(&[(left, middle), (right, middle)], &colour, line_width(series.colour), pattern)?;
        }
    }
    if matches!(series.mark, Mark::Dots | Mark::LineAndDots | Mark::Whiskers) {
        dot(paper, (centre, middle), Shape::of(series.colour), 3.25, colour.to_rgba(), Some(inks.paper))?;
    }
    Ok(())
}
