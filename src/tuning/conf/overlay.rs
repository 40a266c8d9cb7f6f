//! A tuner file laid over a sweep: what it would choose at each measured size, and what that costs.

use serde::{Deserialize, Serialize};

use super::{
    choose::{Effect, choose},
    expect::{Expectations, Expected, Predict},
    reader::Reader,
    rule::Rule,
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    tuning::{
        support::SupportMatrix,
        sweep::{Sweep, best},
    },
    units::{Size, count, percent, significant},
};

/// One measured size of one collective and scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverlayPoint {
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The effect of the tuner file there.
    pub effect: Effect,
    /// The line of the rule that applies; `None` in a gap.
    pub line: Option<u32>,
    /// The expected bandwidth of the effect; `None` where it is not known.
    pub expected: Option<Expected>,
    /// The highest measurement and its busbw in GB/s; `None` for its configuration where that is the default.
    pub best: (Option<Configuration>, f64),
    /// The default's busbw in GB/s, where it was measured.
    pub default_gbps: Option<f64>,
}

impl OverlayPoint {
    /// Share of the best measured busbw that is lost, in per cent.
    pub fn lost_pct(&self) -> Option<f64> {
        self.expected.map(|expected| (1.0 - expected.busbw_gbps / self.best.1) * 100.0)
    }

    /// The gain over the default in per cent of its bandwidth; `None` where one of the two is not known.
    pub fn gain_pct(&self) -> Option<f64> {
        Some((self.expected?.busbw_gbps / self.default_gbps? - 1.0) * 100.0)
    }
}

/// Every measured size under a tuner file, in the sweep's order.
pub fn overlay(
    rules: &[Rule],
    reader: Reader,
    support: &SupportMatrix,
    sweep: &Sweep,
    predict: Option<Predict<'_>>,
) -> Vec<OverlayPoint> {
    let expectations = Expectations::new(sweep, support, predict);
    let mut places = Vec::new();
    for group in sweep.groups() {
        for size_bytes in group.sizes {
            let workload = Workload { collective: group.collective, scale: group.scale, size_bytes };
            let choice = choose(rules, reader, support, &workload);
            let default_gbps = sweep.default_at(&workload).map(|point| point.busbw_gbps);
            let forced = best(sweep.points_at(&workload)).map(|point| (Some(point.configuration), point.busbw_gbps));
            let own = default_gbps.map(|busbw| (None, busbw));
            let highest = [forced, own].into_iter().flatten().reduce(|a, b| if b.1 > a.1 { b } else { a });
            let Some(best) = highest else { continue };
            places.push(OverlayPoint {
                workload,
                effect: choice.effect,
                line: choice.rule.and_then(|index| rules.get(index)).map(|rule| rule.line),
                expected: expectations.of(choice.effect, &workload),
                best,
                default_gbps,
            });
        }
    }
    places
}

const COLUMNS: [Column; 12] = [
    Column::words("Collective", "collective"),
    Column::words("Scale", "nodes × ranks"),
    Column::numbers("Size", "message size"),
    Column::numbers("Line", "the rule that applies; none in a gap"),
    Column::words("Would run", "what this reader would run"),
    Column::numbers("busbw", "busbw expected of it, GB/s"),
    Column::words("Known by", "measured, interpolated between measured sizes, or from the model").secondary(),
    Column::numbers("Best", "the highest measured busbw, GB/s").secondary(),
    Column::words("Best measured", "its configuration"),
    Column::numbers("Lost", "share of the best that is lost, in per cent"),
    Column::numbers("Default", "busbw measured with the library's own choice, GB/s").secondary(),
    Column::numbers("Gain", "over the default, in per cent of it"),
];

/// The places as a table.
pub fn listing(places: &[OverlayPoint]) -> Listing {
    let row = |place: &OverlayPoint| {
        let Workload { collective, scale, size_bytes } = place.workload;
        let busbw = place.expected.map(|expected| expected.busbw_gbps);
        vec![
            Entry::text(collective.name()),
            Entry::text(format!("{} × {}", scale.nodes, scale.ranks)),
            Entry::size(size_bytes),
            Entry::number(place.line.map(f64::from), |line| format!("{line:.0}")),
            Entry::text(place.effect.to_string()),
            Entry::number(busbw, significant),
            Entry::text(place.expected.map_or("not known", |expected| expected.basis.name())),
            Entry::number(Some(place.best.1), significant),
            Entry::text(place.best.0.map_or_else(|| "default".to_owned(), |best| best.to_string())),
            Entry::number(place.lost_pct(), |lost| format!("{lost:.1} %")),
            Entry::number(place.default_gbps, significant),
            Entry::number(place.gain_pct(), percent),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: places.iter().map(row).collect() }
}

/// A sentence that sums up gains and losses over all points.
pub fn summary(places: &[OverlayPoint]) -> String {
    let lost: Vec<f64> = places.iter().filter_map(OverlayPoint::lost_pct).collect();
    let gaps = places.iter().filter(|place| place.line.is_none()).count();
    let mean = lost.iter().sum::<f64>() / lost.len().max(1) as f64;
    let worst = places.iter().filter_map(|p| Some((p.lost_pct()?, p))).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((most, at)) = worst else {
        return format!("Nothing can be told: none of what it would run at {} sizes was measured.", places.len());
    };
    let Workload { collective, scale, size_bytes } = at.workload;
    format!(
        "At {} of {} measured sizes what would run is known: it loses {mean:.1} % of the best on average, at most \
         {most:.1} % ({collective} of {} on {scale}); {} without a rule.",
        lost.len(),
        places.len(),
        Size(size_bytes),
        count(gaps as u64, "size"),
    )
}

/// busbw over size of one collective and scale: the best, the default, and what would run.
pub fn chart(places: &[OverlayPoint], collective: Collective, scale: Scale, reader: Reader) -> Chart {
    let of: Vec<&OverlayPoint> =
        places.iter().filter(|p| (p.workload.collective, p.workload.scale) == (collective, scale)).collect();
    let point = |place: &OverlayPoint, y, note| Point::new(place.workload.size_bytes as f64, y, note);
    let best = of.iter().map(|place| {
        point(place, place.best.1, place.best.0.map_or_else(|| "default".to_owned(), |best| best.to_string()))
    });
    let default = of.iter().filter_map(|place| Some(point(place, place.default_gbps?, "default".to_owned())));
    let chosen = of.iter().filter_map(|place| {
        let expected = place.expected?;
        let rule = place.line.map_or_else(|| "no rule".to_owned(), |line| format!("line {line}"));
        Some(point(place, expected.busbw_gbps, format!("{}, {rule}, {}", place.effect, expected.basis.name())))
    });
    let mut all = vec![Series::new("Best measured", Colour::Muted, Mark::LineAndDots, best.collect())];
    let default: Vec<Point> = default.collect();
    if !default.is_empty() {
        all.push(Series::new("Default", Colour::Default, Mark::Dashed, default));
    }
    all.push(Series::new("This file", Colour::Answer, Mark::LineAndDots, chosen.collect()));
    let own: Vec<OverlayPoint> = of.into_iter().cloned().collect();
    Chart {
        id: format!("conf-{}-{collective}-{}n{}r", reader.key(), scale.nodes, scale.ranks),
        title: format!("What {} would run, {collective} on {scale}", reader.name()),
        summary: summary(&own),
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series: all,
    }
}
