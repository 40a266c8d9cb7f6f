//! Charts of schedules.

use super::film::Film;
use crate::plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing};

fn axis(label: &str, quantity: Quantity) -> Axis {
    Axis { label: label.to_owned(), quantity, spacing: Spacing::Linear }
}

/// The share of links that are busy over time.
#[must_use]
pub fn utilisation(film: &Film) -> Chart {
    const STEPS: usize = 120;
    let shares = film.utilisation(STEPS);
    let time = |step: usize| film.ns(film.end) / 1000.0 * step as f64 / STEPS as f64;
    let points = |of: fn(&(f64, f64)) -> f64| {
        let steps = shares.iter().enumerate().flat_map(|(step, share)| [(step, share), (step + 1, share)]);
        steps.map(|(step, share)| Point { x: time(step), y: of(share) * 100.0, ..Point::default() }).collect()
    };
    let mean = shares.iter().map(|share| share.0).sum::<f64>() / shares.len() as f64 * 100.0;
    let series = |name: &str, colour, mark, points| Series { name: name.to_owned(), colour, mark, points };
    Chart {
        id: "topology-utilisation".to_owned(),
        title: "Busy links over time".to_owned(),
        summary: format!("Links are busy for {mean:.1} % of the time on average."),
        x: axis("Time", Quantity::TimeUs),
        y: axis("Busy", Quantity::Percent),
        series: vec![
            series("Links", Colour::Answer, Mark::Line, points(|share| share.0)),
            series("By bandwidth", Colour::Palette(1), Mark::Dashed, points(|share| share.1)),
        ],
    }
}

/// How much has arrived over time, of one schedule or of several.
#[must_use]
pub fn progress(films: &[(&str, &Film)]) -> Chart {
    const MOST: usize = 400;
    let series = |(index, (name, film)): (usize, &(&str, &Film))| {
        let progress = film.progress();
        let total = progress.last().map_or(1, |last| last.1.max(1)) as f64;
        let thin = progress.len().div_ceil(MOST).max(1);
        let kept = progress.iter().enumerate().filter(|(at, _)| at % thin == 0 || at + 1 == progress.len());
        let point = |(_, (time, count)): (usize, &(u64, u64))| Point {
            x: film.ns(*time) / 1000.0,
            y: *count as f64 / total * 100.0,
            note: format!("{count} of {total} transfers"),
            ..Point::default()
        };
        Series {
            name: (*name).to_owned(),
            colour: if index == 0 { Colour::Answer } else { Colour::Palette(index as u8) },
            mark: Mark::Line,
            points: kept.map(point).collect(),
        }
    };
    let ends: Vec<String> = films
        .iter()
        .map(|(name, film)| format!("{name} ends after {}", super::listing::time(film.ns(film.end))))
        .collect();
    Chart {
        id: "topology-progress".to_owned(),
        title: "What has arrived over time".to_owned(),
        summary: format!("{}.", ends.join("; ")),
        x: axis("Time", Quantity::TimeUs),
        y: axis("Arrived", Quantity::Percent),
        series: films.iter().enumerate().map(series).collect(),
    }
}
