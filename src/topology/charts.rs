//! Charts of schedules: busy links and arrivals over time.

use super::{listing, robust::Variation, timeline::Timeline};
use crate::plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing};

fn axis(label: &str, quantity: Quantity) -> Axis {
    Axis::new(label, quantity, Spacing::Linear)
}

/// The chart of the share of links that are busy over time.
pub fn utilisation(timeline: &Timeline) -> Chart {
    const STEPS: usize = 120;
    let shares = timeline.utilisation(STEPS);
    let time = |step: usize| timeline.ns(timeline.end) / 1000.0 * step as f64 / STEPS as f64;
    let points = |of: fn(&(f64, f64)) -> f64| {
        let steps = shares.iter().enumerate().flat_map(|(step, share)| [(step, share), (step + 1, share)]);
        steps.map(|(step, share)| Point { x: time(step), y: of(share) * 100.0, ..Point::default() }).collect()
    };
    let mean = shares.iter().map(|share| share.0).sum::<f64>() / shares.len() as f64 * 100.0;
    Chart {
        id: "topology-utilisation".to_owned(),
        title: "Busy links over time".to_owned(),
        summary: format!("Links are busy for {mean:.1} % of the time on average."),
        x: axis("Time", Quantity::TimeUs),
        y: axis("Busy", Quantity::Percent),
        series: vec![
            Series::new("Links", Colour::Answer, Mark::Line, points(|share| share.0)),
            Series::new("By bandwidth", Colour::Palette(1), Mark::Dashed, points(|share| share.1)),
        ],
    }
}

/// The chart of arrivals over time, of one schedule or of several.
pub fn progress(timelines: &[(&str, &Timeline)]) -> Chart {
    const MOST: usize = 400;
    let series = |(index, (name, timeline)): (usize, &(&str, &Timeline))| {
        let progress = timeline.progress();
        let total = progress.last().map_or(1, |last| last.1.max(1)) as f64;
        let thin = progress.len().div_ceil(MOST).max(1);
        let kept = progress.iter().enumerate().filter(|(at, _)| at % thin == 0 || at + 1 == progress.len());
        let point = |(_, (time, count)): (usize, &(u64, u64))| Point {
            x: timeline.ns(*time) / 1000.0,
            y: *count as f64 / total * 100.0,
            note: format!("{count} of {total} transfers"),
            ..Point::default()
        };
        Series::new(
            *name,
            if index == 0 { Colour::Answer } else { Colour::Palette(index as u8) },
            Mark::Line,
            kept.map(point).collect(),
        )
    };
    let ends: Vec<String> = timelines
        .iter()
        .map(|(name, timeline)| format!("{name} ends after {}", listing::time(timeline.ns(timeline.end))))
        .collect();
    Chart {
        id: "topology-progress".to_owned(),
        title: "What has arrived over time".to_owned(),
        summary: format!("{}.", ends.join("; ")),
        x: axis("Time", Quantity::TimeUs),
        y: axis("Arrived", Quantity::Percent),
        series: timelines.iter().enumerate().map(series).collect(),
    }
}

/// The distribution of end times under varying bandwidths, with their median and their 95th and 99th percentile.
pub fn varied(varied: &Variation, sigma: f64) -> Chart {
    const MOST: usize = 200;
    let longer = |ns: f64| (ns / varied.nominal_ns.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    let runs = varied.ends_ns.len();
    let thin = runs.div_ceil(MOST).max(1);
    let kept = (0..runs).filter(|at| at % thin == 0 || at + 1 == runs);
    let ended = kept.map(|at| Point {
        x: longer(varied.ends_ns[at]),
        y: (at + 1) as f64 / runs as f64 * 100.0,
        note: listing::time(varied.ends_ns[at]),
        ..Point::default()
    });
    let mark = |ns: f64, share: f64| Point { x: longer(ns), y: share, note: listing::time(ns), ..Point::default() };
    let planned = [0.0, 100.0].map(|share| mark(varied.nominal_ns, share));
    let shares = [("p50", varied.p50_ns, 50.0), ("p95", varied.p95_ns, 95.0), ("p99", varied.p99_ns, 99.0)];
    let shares = (1..).zip(shares).map(|(colour, (name, ns, share))| {
        Series::new(name, Colour::Palette(colour), Mark::Dots, vec![mark(ns, share)])
    });
    let lines = [
        Series::new("Runs", Colour::Answer, Mark::Line, ended.collect()),
        Series::new("Planned", Colour::Muted, Mark::Dashed, planned.into()),
    ];
    Chart {
        id: "topology-varied".to_owned(),
        title: "When runs end under varying bandwidths".to_owned(),
        summary: format!(
            "Spread σ {sigma}: half of the runs end by {}, 95 of 100 by {}, 99 of 100 by {}; {} were planned.",
            listing::time(varied.p50_ns),
            listing::time(varied.p95_ns),
            listing::time(varied.p99_ns),
            listing::time(varied.nominal_ns)
        ),
        x: axis("Longer than planned", Quantity::Percent),
        y: axis("Runs that have ended", Quantity::Percent),
        series: lines.into_iter().chain(shares).collect(),
    }
}

/// The histogram of the times that a greedy schedule takes over seeds, in per cent above the bound.
pub fn seeds(all: &[(&str, Vec<f64>)], best_ns: f64, bound_ns: f64) -> Chart {
    const BINS: usize = 24;
    let longer = |ns: f64| (ns / bound_ns.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    let times = || all.iter().flat_map(|(_, times)| times).map(|ns| longer(*ns));
    let most = times().fold(longer(best_ns), f64::max);
    let least = times().fold(longer(best_ns), f64::min);
    // Keep the best and the worst off the rim, and a width above zero where all times are equal.
    let width = ((most - least) / (BINS - 2) as f64).max(0.1);
    let from = least - width * 0.5;
    let series = |(index, (name, times)): (usize, &(&str, Vec<f64>))| {
        let mut bins = [0_u32; BINS];
        for time in times {
            bins[(((longer(*time) - from) / width) as usize).min(BINS - 1)] += 1;
        }
        let edge = |bin: usize, count: u32| Point {
            x: from + width * bin as f64,
            y: f64::from(count) / times.len().max(1) as f64 * 100.0,
            note: format!("{count} of {} seeds", times.len()),
            ..Point::default()
        };
        let steps = bins.iter().enumerate().flat_map(|(bin, count)| [edge(bin, *count), edge(bin + 1, *count)]);
        Series::new(
            *name,
            Colour::Palette(index as u8),
            Mark::Line,
            std::iter::once(edge(0, 0)).chain(steps).chain([edge(BINS, 0)]).collect(),
        )
    };
    let best = [0.0, 100.0].map(|share| Point {
        x: longer(best_ns),
        y: share,
        note: listing::time(best_ns),
        ..Point::default()
    });
    let mut lines: Vec<Series> = all.iter().enumerate().map(series).collect();
    let name = "Best so far".to_owned();
    lines.push(Series::new(name, Colour::Answer, Mark::Dashed, best.into()));
    let words = |(name, times): &(&str, Vec<f64>)| {
        let reach = times.iter().filter(|time| **time <= best_ns).count();
        let (least, most) = times.iter().fold((f64::MAX, 0.0_f64), |(a, b), time| (a.min(*time), b.max(*time)));
        let range = if least < most {
            format!("{} to {}", listing::time(least), listing::time(most))
        } else {
            format!("always {}", listing::time(least))
        };
        format!("{name}: {range}; {reach} of {} seeds are as good as the best schedule", times.len())
    };
    Chart {
        id: "topology-seeds".to_owned(),
        title: "Times over seeds".to_owned(),
        summary: format!("{}.", all.iter().map(words).collect::<Vec<_>>().join(". ")),
        x: axis("Longer than the bound", Quantity::Percent),
        y: axis("Seeds", Quantity::Percent),
        series: lines,
    }
}
