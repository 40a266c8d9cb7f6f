//! Repeats of one configuration become one point: median, spread, count.

use serde::{Deserialize, Serialize};

use super::read::{Kind, Marks, Row, Sample};
pub use super::sweep::Sweep;
use crate::collective::{Collective, Configuration, Scale, Workload};

/// Which number of a row is the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// In-place busbw recomputed from the time, which has five digits where busbw has two decimals; the
    /// printed busbw where the two disagree.
    #[default]
    Time,
    /// In-place busbw as printed; from the time where 0 is printed.
    Printed,
}

/// All repeats of one configuration at one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Collective, scale and size.
    pub workload: Workload,
    /// What ran.
    pub configuration: Configuration,
    /// Median over the repeats of in-place busbw.
    pub busbw_gbps: f64,
    /// How many runs.
    pub repeats: u32,
    /// (max − min) / median in per cent; `None` for one run.
    pub spread_pct: Option<f64>,
    /// Marks that any of the repeats has.
    pub marks: Marks,
}

/// What came out of [`aggregate`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// The points.
    pub sweep: Sweep,
    /// What must be known about how they came about.
    pub notes: Vec<String>,
}

/// busbw is printed with two decimals; this is half of the last one and a little for the time's own rounding.
const HALF_DECIMAL_GBPS: f64 = 0.006;
/// Times have at least four digits.
const TIME_DIGITS: f64 = 1e-3;

impl Target {
    /// The measurement of a sample, in GB/s; always above zero for a sample that was read.
    ///
    /// [`Target::Time`] takes the printed value where it is further from the recomputed one than rounding allows:
    /// medians of an even number of runs, ranks that were counted otherwise.
    #[must_use]
    pub fn busbw_gbps(self, workload: &Workload, sample: &Sample) -> f64 {
        let printed = sample.busbw_gbps;
        let Some(time_us) = sample.time_us else { return printed };
        let computed = workload.collective.busbw_gbps(workload.scale.ranks, workload.size_bytes, time_us);
        let agrees = (computed - printed).abs() <= HALF_DECIMAL_GBPS + TIME_DIGITS * computed;
        let take_computed = (self == Self::Time && agrees) || printed <= 0.0;
        if take_computed && computed > 0.0 { computed } else { printed }
    }
}

/// Brings the repeats of each configuration together.
///
/// A point's value is the median over its runs of in-place busbw; a line that is itself the median of n runs counts
/// n times. Where no row of a collective and scale has an in-place measurement, the out-of-place one stands in, and
/// a note says so; single rows without one are not used, which a note says as well.
#[must_use]
pub fn aggregate(rows: &[Row], target: Target) -> Aggregate {
    let key = |i: &u32| {
        let row = &rows[*i as usize];
        (row.workload, row.kind, row.ran)
    };
    let mut order: Vec<u32> = (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect();
    order.sort_by_key(key);

    let mut out = Aggregate::default();
    let group = |i: &u32| (rows[*i as usize].workload.collective, rows[*i as usize].workload.scale);
    for same_group in order.chunk_by(|a, b| group(a) == group(b)) {
        let (collective, scale) = group(&same_group[0]);
        let in_place = same_group.iter().filter(|i| rows[**i as usize].in_place.is_some()).count();
        if in_place == 0 {
            out.notes.push(no_in_place(collective, scale));
        } else if in_place < same_group.len() {
            out.notes.push(unused(same_group.len() - in_place, collective, scale));
        }
        let sample = |row: &Row| if in_place > 0 { row.in_place } else { row.out_of_place };
        let runs = |i: &u32| {
            let row = &rows[*i as usize];
            let busbw_gbps = target.busbw_gbps(&row.workload, &sample(row)?);
            Some(Run { busbw_gbps, repeats: row.repeats, spread_pct: row.spread_pct, marks: row.marks, ran: row.ran })
        };
        let kind = |i: &u32| (rows[*i as usize].workload, rows[*i as usize].kind);
        for same_kind in same_group.chunk_by(|a, b| kind(a) == kind(b)) {
            let (workload, kind) = kind(&same_kind[0]);
            match kind {
                Kind::Asked => {
                    let same_ran = same_kind.chunk_by(|a, b| rows[*a as usize].ran == rows[*b as usize].ran);
                    out.sweep
                        .points
                        .extend(same_ran.filter_map(|i| point(workload, i.iter().filter_map(runs).collect())));
                }
                Kind::Default => {
                    out.sweep.defaults.extend(point(workload, same_kind.iter().filter_map(runs).collect()));
                }
            }
        }
    }
    out
}

/// One run, or several of which it is the median.
struct Run {
    busbw_gbps: f64,
    repeats: u32,
    spread_pct: Option<f64>,
    marks: Marks,
    ran: Configuration,
}

/// One point of runs that are ordered by what ran; `None` of none.
fn point(workload: Workload, mut runs: Vec<Run>) -> Option<Point> {
    let configuration = most_frequent(&runs)?;
    runs.sort_unstable_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps));
    let repeats = runs.iter().fold(0_u32, |sum, run| sum.saturating_add(run.repeats));
    let busbw_gbps = median(&runs);
    let across = (runs[runs.len() - 1].busbw_gbps - runs[0].busbw_gbps) / busbw_gbps * 100.0;
    let within = runs.iter().filter_map(|run| run.spread_pct).reduce(f64::max);
    Some(Point {
        workload,
        configuration,
        busbw_gbps,
        repeats,
        spread_pct: if runs.len() > 1 { Some(within.unwrap_or(0.0).max(across)) } else { within },
        marks: runs.iter().fold(Marks::default(), |marks, run| marks.union(run.marks)),
    })
}

/// The median of ascending runs, each as often as it has repeats.
fn median(runs: &[Run]) -> f64 {
    let total: u64 = runs.iter().map(|run| u64::from(run.repeats)).sum();
    let at = |place: u64| {
        let mut passed = 0;
        let found = runs.iter().find(|run| {
            passed += u64::from(run.repeats);
            passed > place
        });
        found.map_or(0.0, |run| run.busbw_gbps)
    };
    f64::midpoint(at((total - 1) / 2), at(total / 2))
}

/// What ran most often; the first of those that ran equally often.
fn most_frequent(runs: &[Run]) -> Option<Configuration> {
    let mut best: Option<(u64, Configuration)> = None;
    for same in runs.chunk_by(|a, b| a.ran == b.ran) {
        let count = same.iter().map(|run| u64::from(run.repeats)).sum();
        if best.is_none_or(|(most, _)| count > most) {
            best = Some((count, same[0].ran));
        }
    }
    best.map(|(_, ran)| ran)
}

fn no_in_place(collective: Collective, scale: Scale) -> String {
    format!("{collective} on {scale} has no in-place measurements: the out-of-place ones are used instead")
}

fn unused(rows: usize, collective: Collective, scale: Scale) -> String {
    let (s, are) = if rows == 1 { ("", "is") } else { ("s", "are") };
    format!("{rows} row{s} of {collective} on {scale} without an in-place measurement {are} not used")
}
