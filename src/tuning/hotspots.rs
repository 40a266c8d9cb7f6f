//! Sizes at which a curve of busbw over size dips: rccl-sweep's hotspots.
//!
//! Bandwidth should not fall as messages grow. Along ascending sizes the running maximum is kept; a size whose
//! bandwidth lies below it by more than a threshold, whatever the rounding of both, belongs to a hotspot. A smooth
//! curve proves nothing: hotspots are an alarm, not a search.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{decision::printed, result::Recommendation, sweep::Sweep};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    order::CompactSort,
    plot::{Colour, Mark, Point, Series},
    text::{Cell, Column, Entry, Listing, Table},
    units::{Size, significant},
};

/// The dip from which on a range of sizes counts as a hotspot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotspotRule {
    /// A bandwidth must lie below the running maximum by more than this, in per cent of the maximum.
    pub threshold_pct: f64,
    /// It must also lie below it by at least this much, in GB/s.
    pub min_drop_gbps: f64,
}

impl Default for HotspotRule {
    fn default() -> Self {
        Self { threshold_pct: 10.0, min_drop_gbps: 0.0 }
    }
}

/// The curve of busbw over size that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HotspotCurve {
    /// The default: the library chooses by itself.
    Default,
    /// The best measurement of each size.
    MeasuredBest,
    /// The recommended configuration: its measurement where there is one, else its prediction.
    Recommended,
}

impl HotspotCurve {
    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::MeasuredBest => "best measured",
            Self::Recommended => "to deploy",
        }
    }
}

/// One size of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotspotPoint {
    /// The message size in bytes.
    pub size_bytes: u64,
    /// The bus bandwidth in GB/s.
    pub busbw_gbps: f64,
    /// The configuration that ran or would run.
    pub configuration: Configuration,
}

/// Neighbouring sizes at which a curve lies too low.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hotspot {
    /// Whose busbw dips: the default's, the best measured, or the recommended.
    pub curve: HotspotCurve,
    /// The collective of the curve.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The running maximum before it, in GB/s: what is expected at least.
    pub expected_gbps: f64,
    /// The points of the dip, ascending by size; never empty.
    pub places: Vec<HotspotPoint>,
}

impl Hotspot {
    /// By how much a bandwidth lies below what is expected, in per cent of the latter.
    fn drop_pct(&self, busbw_gbps: f64) -> f64 {
        (self.expected_gbps - busbw_gbps) / self.expected_gbps * 100.0
    }

    /// The lowest and the highest bandwidth, in GB/s.
    pub fn range_gbps(&self) -> (f64, f64) {
        let extend =
            |(low, high): (f64, f64), place: &HotspotPoint| (low.min(place.busbw_gbps), high.max(place.busbw_gbps));
        self.places.iter().fold((f64::INFINITY, 0.0), extend)
    }
}

/// The hotspots of one curve, given by sizes ascending.
fn along(
    curve: HotspotCurve,
    collective: Collective,
    scale: Scale,
    places: &[HotspotPoint],
    rule: HotspotRule,
) -> Vec<Hotspot> {
    let mut hotspots: Vec<Hotspot> = Vec::new();
    let (mut maximum, mut is_open) = (0.0, false);
    for place in places {
        if place.busbw_gbps > maximum {
            maximum = place.busbw_gbps;
        }
        let (at_most, at_least) = (printed::range(place.busbw_gbps).1, printed::range(maximum).0);
        let is_low =
            at_most < at_least * (1.0 - rule.threshold_pct / 100.0) && maximum - place.busbw_gbps >= rule.min_drop_gbps;
        match hotspots.last_mut().filter(|_| is_open && is_low) {
            Some(open) => open.places.push(*place),
            None if is_low => {
                hotspots.push(Hotspot { curve, collective, scale, expected_gbps: maximum, places: vec![*place] });
            }
            None => {}
        }
        is_open = is_low;
    }
    hotspots
}

/// The hotspots of a sweep: of the default, of the best measurements, and of what is to be deployed, each collective
/// and scale by itself.
pub fn find(sweep: &Sweep, answer: &[Recommendation], rule: HotspotRule) -> Vec<Hotspot> {
    let mut hotspots = Vec::new();
    let mut answers: BTreeMap<(Collective, Scale), Vec<&Recommendation>> = BTreeMap::new();
    for recommendation in answer {
        let Workload { collective, scale, .. } = recommendation.workload;
        answers.entry((collective, scale)).or_default().push(recommendation);
    }
    for group in sweep.groups() {
        let (collective, scale) = (group.collective, group.scale);
        let default = sweep.defaults_of(collective, scale).iter();
        let default = default.map(|p| HotspotPoint {
            size_bytes: p.workload.size_bytes,
            busbw_gbps: p.busbw_gbps,
            configuration: p.configuration,
        });
        let points = sweep.points_of(collective, scale);
        let best = points.chunk_by(|a, b| a.workload == b.workload).filter_map(super::sweep::best).map(|p| {
            HotspotPoint { size_bytes: p.workload.size_bytes, busbw_gbps: p.busbw_gbps, configuration: p.configuration }
        });
        let mut recommended: Vec<HotspotPoint> = answers
            .get(&(collective, scale))
            .into_iter()
            .flatten()
            .filter_map(|r| {
                let configuration = r.configuration?;
                let measured = sweep
                    .points_at(&r.workload)
                    .iter()
                    .find(|p| p.configuration == configuration)
                    .map(|p| p.busbw_gbps);
                let busbw_gbps = measured.or(r.predicted_busbw_gbps)?;
                Some(HotspotPoint { size_bytes: r.workload.size_bytes, busbw_gbps, configuration })
            })
            .collect();
        recommended.compact_sort_by_key(|place| place.size_bytes);
        let curves = [
            (HotspotCurve::Default, default.collect()),
            (HotspotCurve::MeasuredBest, best.collect()),
            (HotspotCurve::Recommended, recommended),
        ];
        for (curve, places) in curves {
            hotspots.extend(along(curve, collective, scale, &places, rule));
        }
    }
    hotspots
}

/// The settings of the search for hotspots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotspotQuestion {
    /// How deep a dip must be to be listed.
    pub rule: HotspotRule,
}

/// Hotspots as the page shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotspotAnswer {
    /// The hotspots: by collective and scale, then curve, then size.
    pub hotspots: Vec<Hotspot>,
    /// The hotspots as a table, a row for each.
    pub listing: Listing,
    /// The default's hotspots in the format of rccl-sweep, for a file named [`FILE_NAME`].
    pub report: String,
}

/// The name of the report.
pub const FILE_NAME: &str = "hotspots.csv";

/// Finds the hotspots of the curves and writes their table and report.
pub fn answer(sweep: &Sweep, recommendations: &[Recommendation], question: &HotspotQuestion) -> HotspotAnswer {
    let hotspots = find(sweep, recommendations, question.rule);
    let default: Vec<Hotspot> = hotspots.iter().filter(|h| h.curve == HotspotCurve::Default).cloned().collect();
    HotspotAnswer { listing: listing(&hotspots), report: report(&default), hotspots }
}

/// The hotspots in the format of rccl-sweep's report, CRLF at the ends of lines; algorithm, protocol and channels are
/// those of the first size.
pub fn report(hotspots: &[Hotspot]) -> String {
    let mut table = Table::new([
        "collective",
        "num_nodes",
        "num_gpus",
        "hotspot_start_bytes",
        "hotspot_end_bytes",
        "hotspot_start_human",
        "hotspot_end_human",
        "expected_busbw",
        "actual_busbw_min",
        "actual_busbw_max",
        "drop_percent_min",
        "drop_percent_max",
        "current_algo",
        "current_proto",
        "current_nchannels",
        "data_points",
    ]);
    let human = |size_bytes| Size(size_bytes).to_string().replace([' ', 'i'], "");
    for hotspot in hotspots {
        let [first, last] = [hotspot.places.first(), hotspot.places.last()].map(|p| p.map_or(0, |p| p.size_bytes));
        let (low, high) = hotspot.range_gbps();
        let Some(HotspotPoint { configuration, .. }) = hotspot.places.first() else { continue };
        let unsaid = hotspot.curve == HotspotCurve::Default;
        let algorithm = match configuration.algorithm {
            Algorithm::None if unsaid => "DEFAULT",
            algorithm => algorithm.name(),
        };
        let protocol = match configuration.protocol {
            Protocol::None if unsaid => "DEFAULT",
            protocol => protocol.name(),
        };
        table.push(vec![
            format!("{}_perf", hotspot.collective).into(),
            hotspot.scale.nodes.into(),
            hotspot.scale.ranks.into(),
            first.into(),
            last.into(),
            human(first).into(),
            human(last).into(),
            Cell::Number(hotspot.expected_gbps, 2),
            Cell::Number(low, 2),
            Cell::Number(high, 2),
            Cell::Number(hotspot.drop_pct(high), 1),
            Cell::Number(hotspot.drop_pct(low), 1),
            algorithm.into(),
            protocol.into(),
            configuration.channels.into(),
            (hotspot.places.len() as u64).into(),
        ]);
    }
    table.to_csv().replace('\n', "\r\n")
}

/// The hotspots as a table, a row for each.
pub fn listing(hotspots: &[Hotspot]) -> Listing {
    let columns = vec![
        Column::words("Curve", "whose bandwidth dips: the default's, the best measured, or what is to be deployed"),
        Column::words("Collective", "collective"),
        Column::words("Scale", "nodes × ranks"),
        Column::numbers("From", "its first message size"),
        Column::numbers("To", "its last message size"),
        Column::numbers("Expected", "the highest busbw of all smaller sizes, GB/s"),
        Column::numbers("Lowest", "the lowest busbw in it, GB/s"),
        Column::numbers("Drop", "the lowest busbw below the expected one, in per cent of the latter"),
        Column::words("Runs", "what runs at its lowest size"),
        Column::numbers("Sizes", "measured sizes in it"),
    ];
    let row = |hotspot: &Hotspot| {
        let size = |place: Option<&HotspotPoint>| {
            Entry::number(place.map(|p| p.size_bytes as f64), |n| Size(n as u64).to_string())
        };
        let low = hotspot.range_gbps().0;
        let lowest = hotspot.places.iter().find(|p| p.busbw_gbps <= low);
        vec![
            Entry::text(hotspot.curve.name()),
            Entry::text(hotspot.collective.name()),
            Entry::text(format!("{} × {}", hotspot.scale.nodes, hotspot.scale.ranks)),
            size(hotspot.places.first()),
            size(hotspot.places.last()),
            Entry::number(Some(hotspot.expected_gbps), significant),
            Entry::number(Some(low), significant),
            Entry::number(Some(hotspot.drop_pct(low)), |drop| format!("{drop:.1} %")),
            Entry::text(lowest.map(|p| what_runs(hotspot.curve, p.configuration)).unwrap_or_default()),
            Entry::number(Some(hotspot.places.len() as f64), |n| format!("{n}")),
        ]
    };
    Listing { columns, rows: hotspots.iter().map(row).collect() }
}

fn what_runs(curve: HotspotCurve, configuration: Configuration) -> String {
    if curve == HotspotCurve::Default && configuration.algorithm == Algorithm::None {
        return "the library's choice".to_owned();
    }
    configuration.to_string()
}

/// The hotspots of a collective and scale as marks for a chart of busbw over size; a series for each curve that has
/// any.
pub fn marks(hotspots: &[Hotspot], collective: Collective, scale: Scale) -> Vec<Series> {
    let series = |curve: HotspotCurve| {
        let of_curve = hotspots.iter().filter(|h| (h.curve, h.collective, h.scale) == (curve, collective, scale));
        let points: Vec<Point> = of_curve
            .flat_map(|hotspot| {
                hotspot.places.iter().map(|place| Point {
                    low: Some(place.busbw_gbps),
                    high: Some(hotspot.expected_gbps),
                    ..Point::new(
                        place.size_bytes as f64,
                        place.busbw_gbps,
                        format!(
                            "{:.1} % below the {} GB/s of smaller sizes",
                            hotspot.drop_pct(place.busbw_gbps),
                            significant(hotspot.expected_gbps)
                        ),
                    )
                })
            })
            .collect();
        let colour = if curve == HotspotCurve::Default { Colour::Default } else { Colour::Answer };
        let name = format!("Hotspot, {}", curve.name());
        (!points.is_empty()).then(|| Series::new(&name, colour, Mark::Whiskers, points))
    };
    [HotspotCurve::Default, HotspotCurve::MeasuredBest, HotspotCurve::Recommended]
        .into_iter()
        .filter_map(series)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{collective::Workload, tuning::aggregate};

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn point(size_bytes: u64, channels: u32, busbw_gbps: f64) -> aggregate::Point {
        aggregate::Point::new(
            Workload { collective: Collective::Broadcast, scale: SCALE, size_bytes },
            Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels },
            busbw_gbps,
        )
    }

    fn default(busbw: &[f64]) -> Sweep {
        let points = busbw.iter().enumerate().map(|(i, b)| point(4096 << i, 8, *b)).collect();
        Sweep { points: Vec::new(), defaults: points }
    }

    fn ranges(sweep: &Sweep, rule: HotspotRule) -> Vec<(u64, u64)> {
        let ends = |h: &Hotspot| (h.places[0].size_bytes >> 12, h.places[h.places.len() - 1].size_bytes >> 12);
        find(sweep, &[], rule).iter().map(ends).collect()
    }

    #[test]
    fn a_dip_opens_extends_and_closes() {
        // 9.0 is exactly the threshold and no hotspot; 9.5 closes; a new maximum closes too.
        let sweep = default(&[10.0, 9.0, 8.0, 8.9, 9.5, 7.0, 12.0, 10.9, 10.7]);
        assert_eq!(ranges(&sweep, HotspotRule::default()), [(4, 8), (32, 32), (256, 256)]);
        let of_at_least_two = HotspotRule { min_drop_gbps: 2.0, ..HotspotRule::default() };
        assert_eq!(ranges(&sweep, of_at_least_two), [(4, 4), (32, 32)]);
        assert_eq!(ranges(&sweep, HotspotRule { threshold_pct: 25.0, ..HotspotRule::default() }), [(32, 32)]);
        let first = &find(&sweep, &[], HotspotRule::default())[0];
        assert_eq!((first.expected_gbps, first.range_gbps()), (10.0, (8.0, 8.9)));
    }

    #[test]
    fn configurations_are_kept_apart() {
        // In one running maximum, 8 channels at 8 KiB would be a dip below 1 channel at 4 KiB.
        let points = vec![point(4096, 1, 10.0), point(4096, 8, 2.0), point(8192, 1, 11.0), point(8192, 8, 3.0)];
        assert!(find(&Sweep { points, defaults: Vec::new() }, &[], HotspotRule::default()).is_empty());
    }

    #[test]
    fn the_best_measured_curve_has_its_own_hotspots() {
        let points = vec![point(4096, 1, 10.0), point(8192, 1, 8.0), point(8192, 8, 8.5)];
        let found = find(&Sweep { points, defaults: Vec::new() }, &[], HotspotRule::default());
        let [Hotspot { curve: HotspotCurve::MeasuredBest, places, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(places[0].configuration.channels, 8);
        let marks = marks(&found, Collective::Broadcast, SCALE);
        assert_eq!((marks.len(), marks[0].points[0].y, marks[0].points[0].high), (1, 8.5, Some(10.0)));
        assert_eq!(listing(&found).rows[0][8].text, "RING/LL/8");
    }

    #[test]
    fn the_report_has_the_columns_of_rccl_sweep() {
        let report = report(&find(&default(&[10.0, 8.0, 8.25]), &[], HotspotRule::default()));
        let lines: Vec<&str> = report.split("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "broadcast_perf,2,16,8192,16384,8KB,16KB,10.00,8.00,8.25,17.5,20.0,RING,LL,8,2");
    }
}
