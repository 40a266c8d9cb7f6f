//! The workbench's charts, as data.

use super::{
    aggregate,
    decision::{Decision, Judge},
    features::ModelInput,
    read::RunKind,
    recommend::Recommender,
    result::{Group, Interval, Recommendation},
    validate::Validation,
    wording,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    learn::LearnError,
    order::CompactSort,
    plot::{Axis, Chart, Colour, FileLine, Mark, Point, Quantity, Series, Spacing},
    units::{Size, microseconds, percent},
};

fn place(collective: Collective, scale: Scale) -> String {
    format!("{collective} on {scale}")
}

/// busbw against size: what was measured, the answer with its interval, the default.
pub fn busbw_over_size(recommender: &Recommender<'_>, group: &Group, answer: &[Recommendation]) -> Chart {
    let (collective, scale) = (group.collective, group.scale);
    let at = |point: &aggregate::Point, kind, note| Point {
        line: line_of(&recommender.judge, point, kind),
        ..Point::new(point.workload.size_bytes as f64, point.busbw_gbps, note)
    };
    let measured = recommender.sweep.points_of(collective, scale).iter();
    let measured = measured
        .map(|point| at(point, RunKind::Asked, format!("{}, {}", point.configuration, wording::runs_of(point))));
    let mut of_group: Vec<&Recommendation> =
        answer.iter().filter(|r| (r.workload.collective, r.workload.scale) == (collective, scale)).collect();
    of_group.compact_sort_by_key(|r| r.workload.size_bytes);
    // Where the default stays, the line has a gap.
    let chosen = of_group.iter().filter_map(|r| {
        let deployed = r.decision.names_configuration();
        let x = r.workload.size_bytes as f64;
        if !deployed {
            return Some(Point::new(x, f64::NAN, r.decision.word().to_owned()));
        }
        let y = r.predicted_busbw_gbps?;
        let note = format!("{}{}, {}", r.configuration?, time(&r.workload, y), wording::support(r.support));
        Some(within(r.interval_90, Point::new(x, y, note)))
    });
    let mut chosen: Vec<Point> = chosen.collect();
    if chosen.iter().all(|point| point.y.is_nan()) {
        chosen.clear();
    }
    let default = recommender.sweep.defaults_of(collective, scale).iter();
    let ran = |point: &aggregate::Point| format!("ran {}, {}", point.configuration, wording::runs_of(point));
    let default: Vec<Point> = default.map(|point| at(point, RunKind::Default, ran(point))).collect();
    let deployed = of_group.iter().filter(|r| r.decision == Decision::Deploy);
    let gain = deployed.filter_map(|r| r.gain_pct.map(|gain| (gain, r))).max_by(|a, b| a.0.total_cmp(&b.0));
    let top = chosen.iter().filter(|point| point.y.is_finite()).max_by(|a, b| a.y.total_cmp(&b.y));
    let mut summary = match top {
        None if of_group.is_empty() => format!("{}: measured points, no answer yet.", place(collective, scale)),
        None => format!("{}: nothing is to be deployed.", place(collective, scale)),
        Some(top) => format!(
            "{}: what is to be deployed reaches {} at {}.",
            place(collective, scale),
            wording::speed(&Workload { collective, scale, size_bytes: top.x as u64 }, top.y),
            Size(top.x as u64)
        ),
    };
    if let Some((gain, r)) = gain {
        summary += &format!(" Largest gain over the default: {} at {}.", percent(gain), Size(r.workload.size_bytes));
    }
    let mut all = vec![Series::new("Measured", Colour::Muted, Mark::Dots, measured.collect())];
    if chosen.iter().any(|point| point.low.is_some()) {
        all.push(Series::new("90 % interval", Colour::Answer, Mark::Band, chosen.clone()));
    }
    if !default.is_empty() {
        all.push(Series::new("Default", Colour::Default, Mark::Dashed, default));
    }
    if !chosen.is_empty() {
        all.push(Series::new("To deploy", Colour::Answer, Mark::LineAndDots, chosen));
    }
    Chart {
        id: format!("busbw-over-size-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("busbw over message size, {}", place(collective, scale)),
        summary,
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series: all,
    }
}

/// The colour, shape and dashes of an algorithm and protocol: the same in all charts, and no two the same. Of six hues
/// TREE and RING have one for each protocol; the others, which run SIMPLE alone, take that of something they are seldom
/// beside.
fn colour(algorithm: Algorithm, protocol: Protocol) -> Colour {
    let of_protocol = match protocol {
        Protocol::Ll => 0,
        Protocol::Ll128 => 1,
        Protocol::Simple | Protocol::None => 2,
    };
    let other = |number: u8| number + 14 * (2 - of_protocol);
    Colour::Palette(match algorithm {
        Algorithm::Tree => of_protocol,
        Algorithm::Ring => 3 + of_protocol,
        Algorithm::Pat => other(6),
        Algorithm::Direct => other(7),
        Algorithm::NvlsTree => other(8),
        Algorithm::CollnetChain => other(9),
        Algorithm::None => other(12),
        Algorithm::Nvls => other(13),
        Algorithm::CollnetDirect => other(14),
    })
}

/// busbw against channels at one size: a line of predictions for each algorithm and protocol, and what was measured.
/// Returns an error if the model can't be evaluated.
pub fn busbw_over_channels(
    recommender: &Recommender<'_>,
    group: Option<&Group>,
    recommendation: &Recommendation,
) -> Result<Chart, LearnError> {
    let workload = recommendation.workload;
    let limit = recommender.space.max_channels(&workload);
    let mut all = Vec::new();
    for pair in group.into_iter().flat_map(|group| &group.pairs) {
        let colour = colour(pair.algorithm, pair.protocol);
        let configuration = |channels| Configuration { algorithm: pair.algorithm, protocol: pair.protocol, channels };
        let name = format!("{}/{}", pair.algorithm, pair.protocol);
        let measured: Vec<Point> = recommender
            .sweep
            .points_at(&workload)
            .iter()
            .filter(|p| (p.configuration.algorithm, p.configuration.protocol) == (pair.algorithm, pair.protocol))
            .map(|p| {
                let note = format!("measured, {}", wording::runs_of(p));
                Point {
                    line: line_of(&recommender.judge, p, RunKind::Asked),
                    ..Point::new(f64::from(p.configuration.channels), p.busbw_gbps, note)
                }
            })
            .collect();
        if let Some(model) = recommender.model.filter(|_| recommender.space.allows(&workload, &configuration(1))) {
            let asks: Vec<ModelInput> = (1..=limit).map(|channels| (workload, configuration(channels))).collect();
            let predicted = model.predict(&asks)?;
            let line = asks.iter().zip(predicted).filter_map(|((_, c), busbw)| {
                let known = pair.channels.binary_search(&c.channels).is_ok();
                let note = if known { "model" } else { "model, not a measured count" };
                let y = recommender.ceilings.hold(&workload, c, busbw?);
                let note = format!("{note}{}", time(&workload, y));
                Some(Point::new(f64::from(c.channels), y, note))
            });
            all.push(Series::new(format!("{name}, model"), colour, Mark::Line, line.collect()));
            if !measured.is_empty() {
                all.push(Series::new(format!("{name}, measured"), colour, Mark::Dots, measured));
            }
        } else if !measured.is_empty() {
            all.push(Series::new(format!("{name}, measured"), colour, Mark::LineAndDots, measured));
        }
    }
    if let (Some(configuration), Some(y)) = (recommendation.configuration, recommendation.predicted_busbw_gbps) {
        let note = format!("{configuration}{}", time(&workload, y));
        let point = Point::new(f64::from(configuration.channels), y, note);
        let point = within(recommendation.interval_90, point);
        let name = if recommendation.decision.names_configuration() { "To deploy" } else { "Best known" };
        all.push(Series::new(name, Colour::Answer, Mark::Whiskers, vec![point]));
    }
    let size = Size(workload.size_bytes);
    let summary = match (recommendation.configuration, recommendation.predicted_busbw_gbps) {
        (Some(c), Some(b)) => format!("At {size} the best known is {c} with {}.", wording::speed(&workload, b)),
        _ => format!("No configuration is known for {size}."),
    };
    Ok(Chart {
        id: format!("busbw-over-channels-{}-{}n-{}", workload.collective, workload.scale.nodes, workload.size_bytes),
        title: format!("busbw over channels at {size}, {}", place(workload.collective, workload.scale)),
        summary,
        x: Axis::new("Channels", Quantity::Count, Spacing::Linear),
        y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Linear),
        series: all,
    })
}

/// Predicted against measured for one collective and scale, each point predicted by a model that had not seen it.
pub fn predicted_over_measured(
    recommender: &Recommender<'_>,
    validation: &Validation,
    collective: Collective,
    scale: Scale,
) -> Chart {
    let points = recommender.sweep.points.iter().zip(&validation.out_of_fold);
    let of_group = || points.clone().filter(|(p, _)| (p.workload.collective, p.workload.scale) == (collective, scale));
    let dot = |point: &aggregate::Point, predicted: f64| {
        let error = percent((predicted / point.busbw_gbps - 1.0) * 100.0);
        let note = format!("{} at {}, {error}", point.configuration, Size(point.workload.size_bytes));
        let line = line_of(&recommender.judge, point, RunKind::Asked);
        Point { line, ..Point::new(point.busbw_gbps, predicted, note) }
    };
    let by_size: Vec<Point> = of_group().filter_map(|(p, (size, _))| Some(dot(p, (*size)?))).collect();
    let by_configuration: Vec<Point> = of_group().filter_map(|(p, (_, c))| Some(dot(p, (*c)?))).collect();
    let ends = of_group()
        .map(|(p, _)| p.busbw_gbps)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), b| (low.min(b), high.max(b)));
    let ends = [ends.0, ends.1].into_iter().filter(|b| b.is_finite() && *b > 0.0);
    let diagonal = ends.map(|b| Point::new(b, b, String::new()));
    let within = by_configuration.iter().filter(|p| (p.y / p.x - 1.0).abs() <= 0.1).count();
    let summary = format!(
        "{}: {within} of {} held-out configurations are predicted within 10 %.",
        place(collective, scale),
        by_configuration.len()
    );
    Chart {
        id: format!("predicted-over-measured-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("Predicted over measured, out of fold, {}", place(collective, scale)),
        summary,
        x: Axis::new("Measured busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        y: Axis::new("Predicted busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series: vec![
            Series::new("Equal", Colour::Muted, Mark::Line, diagonal.collect()),
            Series::new("Unseen size", Colour::Palette(0), Mark::Dots, by_size),
            Series::new("Unseen configuration", Colour::Palette(1), Mark::Dots, by_configuration),
        ],
    }
}

/// The first line with a run that a point is the median of, and how many further ones there are; `None` where the file
/// is not known.
pub(super) fn line_of(judge: &Judge<'_>, point: &aggregate::Point, kind: RunKind) -> Option<FileLine> {
    let (place, first, runs) = judge.runs.of(&point.workload, kind, point.configuration)?;
    let mut used = runs.iter().zip(first..).filter(|(_, index)| judge.screened.keep(place, *index).busbw);
    let (run, _) = used.next().filter(|(run, _)| run.line > 0 && run.file < u16::MAX)?;
    Some(FileLine { file: run.file, line: run.line, others: used.count() as u32 })
}

/// A chart of busbw for a workload's collective and scale with times instead; over anything but sizes those of its
/// size.
pub fn in_time(chart: &Chart, workload: &Workload) -> Chart {
    let Workload { collective, scale, size_bytes } = *workload;
    let over_sizes = chart.x.quantity == Quantity::Bytes;
    let of = |x: f64, busbw_gbps: f64| {
        let size_bytes = if over_sizes { x as u64 } else { size_bytes };
        collective.time_us(scale.ranks, size_bytes, busbw_gbps)
    };
    let title = chart.title.replacen(&chart.y.label, "Time", 1);
    Chart { title, ..chart.with_y(Axis::new("Time", Quantity::TimeUs, chart.y.spacing), &of) }
}

fn time(workload: &Workload, busbw_gbps: f64) -> String {
    workload.time_us(busbw_gbps).map_or_else(String::new, |time_us| format!(", {}", microseconds(time_us)))
}

/// A point with the ends of an interval, where there is one.
fn within(interval: Option<Interval>, point: Point) -> Point {
    Point { low: interval.map(|i| i.low_gbps), high: interval.map(|i| i.high_gbps), ..point }
}

/// Which group a workload belongs to.
pub fn group_of<'a>(groups: &'a [Group], workload: &Workload) -> Option<&'a Group> {
    groups.iter().find(|group| (group.collective, group.scale) == (workload.collective, workload.scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busbw_becomes_time() {
        let workload =
            Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 1 << 20 };
        let chart = |x: Axis| Chart {
            id: String::new(),
            title: "busbw over something".to_owned(),
            summary: String::new(),
            x,
            y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
            series: vec![Series::new(
                "Measured",
                Colour::Muted,
                Mark::Dots,
                vec![Point::new(4096.0, 2.0, String::new())],
            )],
        };
        let time = |size_bytes| Workload { size_bytes, ..workload }.time_us(2.0).unwrap_or_default();
        let over_size = in_time(&chart(Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic)), &workload);
        assert_eq!((over_size.title.as_str(), over_size.y.label.as_str()), ("Time over something", "Time"));
        assert_eq!(over_size.series[0].points[0].y, time(4096));
        let over_channels = in_time(&chart(Axis::new("Channels", Quantity::Count, Spacing::Linear)), &workload);
        assert_eq!(over_channels.series[0].points[0].y, time(1 << 20));
    }

    #[test]
    fn no_two_that_run_look_the_same() {
        use crate::tuning::{
            platform::Library,
            support::{SupportMatrix, SupportOutcome},
        };
        // Hues repeat after six, shapes after seven.
        let cue = |algorithm, protocol| match colour(algorithm, protocol) {
            Colour::Palette(number) => (number % 6, number % 7),
            _ => unreachable!("all have a colour of the palette"),
        };
        let scale = Scale { nodes: 2, ranks: 2 };
        for library in [Library::Nccl, Library::Rccl] {
            let support = SupportMatrix::new(library.matrix(), &crate::tuning::sweep::Sweep::default());
            for collective in Collective::ALL {
                let workload = Workload { collective: *collective, scale, size_bytes: 1 << 30 };
                let all = Algorithm::ALL.iter().flat_map(|a| Protocol::ALL.iter().map(move |p| (*a, *p)));
                let mut cues: Vec<(u8, u8)> = all
                    .filter(|(a, p)| support.outcome(&workload, *a, *p) == SupportOutcome::Runs)
                    .chain([(Algorithm::Direct, Protocol::Simple), (Algorithm::None, Protocol::None)])
                    .map(|(a, p)| cue(a, p))
                    .collect();
                let count = cues.len();
                cues.compact_sort();
                cues.dedup();
                assert_eq!(cues.len(), count, "{collective}");
            }
        }
    }
}
