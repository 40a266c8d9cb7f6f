//! Repeats of one configuration become one point: median, spread, count.

use std::cmp::Ordering::Equal;

use serde::{Deserialize, Serialize};

use super::read::{Asked, Evidence, Kind, Marks, Row, Sample};
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
    /// What was asked of the library; of several, what was asked most often.
    #[serde(default)]
    pub asked: Asked,
    /// How it is known what ran: the weakest evidence of the repeats.
    #[serde(default)]
    pub evidence: Evidence,
    /// Median over the repeats of out-of-place busbw, where `busbw_gbps` is in-place and there are any.
    #[serde(default)]
    pub out_of_place_gbps: Option<f64>,
}

impl Point {
    /// One run, of which nothing more is known.
    #[must_use]
    pub fn new(workload: Workload, configuration: Configuration, busbw_gbps: f64) -> Self {
        Self {
            workload,
            configuration,
            busbw_gbps,
            repeats: 1,
            spread_pct: None,
            marks: Marks::default(),
            asked: Asked::default(),
            evidence: Evidence::default(),
            out_of_place_gbps: None,
        }
    }
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
/// a note says so; single rows without one are not used, which a note says as well. A run that stands in two files
/// (a merged file and its parts were dropped together) counts once.
#[must_use]
pub fn aggregate(rows: &[Row], target: Target) -> Aggregate {
    let mut order: Vec<u32> = (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect();
    order.sort_by_key(|i| {
        let row = &rows[*i as usize];
        (row.workload, row.kind, row.ran)
    });
    let sorted = Sorted { rows, order };

    let mut out = Aggregate::default();
    let mut doubled = 0;
    for group in sorted.chunks(&sorted.order, |row| (row.workload.collective, row.workload.scale)) {
        let first = sorted.row(group[0]).workload;
        let in_place = group.iter().filter(|i| sorted.row(**i).in_place.is_some()).count();
        if in_place == 0 {
            out.notes.push(no_in_place(first.collective, first.scale));
        } else if in_place < group.len() {
            out.notes.push(unused(group.len() - in_place, first.collective, first.scale));
        }
        let run = |i: &u32| Run::new(sorted.row(*i), target, in_place > 0);
        for workload in sorted.chunks(group, |row| (row.workload, row.kind)) {
            let Row { workload: of, kind, .. } = *sorted.row(workload[0]);
            let mut point = |i: &[u32]| point(of, i.iter().filter_map(run).collect(), &mut doubled);
            match kind {
                Kind::Asked => out.sweep.points.extend(sorted.chunks(workload, |row| row.ran).filter_map(point)),
                Kind::Default => out.sweep.defaults.extend(point(workload)),
            }
        }
    }
    if doubled > 0 {
        let stand = if doubled == 1 { "1 row stands" } else { &format!("{doubled} rows stand") };
        out.notes.push(format!("{stand} in two files with the same times: counted once"));
    }
    out
}

/// Rows in the order of an index.
struct Sorted<'a> {
    rows: &'a [Row],
    order: Vec<u32>,
}

impl Sorted<'_> {
    fn row(&self, i: u32) -> &Row {
        &self.rows[i as usize]
    }

    /// Pieces of a part of the order in which all rows have the same key.
    fn chunks<'b, K: PartialEq>(
        &'b self,
        part: &'b [u32],
        key: impl Fn(&Row) -> K + 'b,
    ) -> impl Iterator<Item = &'b [u32]> {
        part.chunk_by(move |a, b| key(self.row(*a)) == key(self.row(*b)))
    }
}

/// One run, or several of which it is the median.
struct Run {
    busbw_gbps: f64,
    repeats: u32,
    spread_pct: Option<f64>,
    marks: Marks,
    ran: Configuration,
    file: u16,
    /// Both times, to tell runs from each other.
    times_us: [Option<f64>; 2],
}

impl Run {
    fn new(row: &Row, target: Target, in_place: bool) -> Option<Self> {
        let sample = if in_place { row.in_place } else { row.out_of_place }?;
        Some(Self {
            busbw_gbps: target.busbw_gbps(&row.workload, &sample),
            repeats: row.repeats,
            spread_pct: row.spread_pct,
            marks: row.marks,
            ran: row.ran,
            file: row.file,
            times_us: [row.in_place, row.out_of_place].map(|sample| sample.and_then(|s| s.time_us)),
        })
    }

    /// Two rows of different files that are the same run: nobody measures the same ten digits twice.
    fn is_same(&self, other: &Self) -> bool {
        self.file != other.file
            && self.times_us == other.times_us
            && self.times_us.iter().all(Option::is_some)
            && (self.ran, self.repeats) == (other.ran, other.repeats)
    }
}

/// One point of runs that are ordered by what ran; `None` of none. Adds how many runs stood there twice.
fn point(workload: Workload, mut runs: Vec<Run>, doubled: &mut u64) -> Option<Point> {
    let configuration = most_frequent(&runs)?;
    runs.sort_by(|a, b| {
        a.busbw_gbps.total_cmp(&b.busbw_gbps).then(a.times_us[1].partial_cmp(&b.times_us[1]).unwrap_or(Equal))
    });
    let before = runs.len();
    runs.dedup_by(|later, earlier| later.is_same(earlier));
    *doubled += (before - runs.len()) as u64;
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
        asked: Asked::default(),
        evidence: Evidence::default(),
        out_of_place_gbps: None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    fn row(line: u32, channels: u32, busbw_gbps: f64) -> Row {
        let workload =
            Workload { collective: Collective::Broadcast, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 1 << 20 };
        let time_us = Some(workload.size_bytes as f64 / 1000.0 / busbw_gbps);
        Row {
            file: 0,
            line,
            workload,
            ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels },
            in_place: Some(Sample { time_us, busbw_gbps }),
            out_of_place: Some(Sample { time_us: Some(10.0), busbw_gbps: 1.0 }),
            repeats: 1,
            spread_pct: None,
            kind: Kind::Asked,
            marks: Marks::default(),
            asked: Default::default(),
            evidence: Default::default(),
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn repeats_become_their_median() {
        let rows = [row(2, 8, 30.0), row(3, 4, 7.0), row(4, 8, 10.0), row(5, 8, 20.0)];
        let points = aggregate(&rows, Target::Time).sweep.points;
        assert_eq!(points.iter().map(|p| (p.configuration.channels, p.repeats)).collect::<Vec<_>>(), [(4, 1), (8, 3)]);
        assert!(close(points[1].busbw_gbps, 20.0) && points[1].spread_pct.is_some_and(|s| close(s, 100.0)));
        assert_eq!(points[0].spread_pct, None);
    }

    #[test]
    fn a_median_counts_as_often_as_it_was_run() {
        let median = Row { repeats: 3, spread_pct: Some(50.0), ..row(2, 8, 10.0) };
        let points = aggregate(&[row(3, 8, 12.0), median, row(4, 8, 11.0)], Target::Printed).sweep.points;
        assert!(close(points[0].busbw_gbps, 10.0));
        assert_eq!((points[0].repeats, points[0].spread_pct), (5, Some(50.0)));
    }

    #[test]
    fn the_default_is_what_it_chose_most_often() {
        let default = |line, channels, busbw| Row { kind: Kind::Default, ..row(line, channels, busbw) };
        let rows = [default(2, 4, 1.0), default(3, 8, 3.0), default(4, 8, 2.0), row(5, 8, 9.0)];
        let sweep = aggregate(&rows, Target::Time).sweep;
        assert_eq!((sweep.points.len(), sweep.defaults.len()), (1, 1));
        assert_eq!((sweep.defaults[0].configuration.channels, sweep.defaults[0].repeats), (8, 3));
        assert!(close(sweep.defaults[0].busbw_gbps, 2.0));
    }

    #[test]
    fn out_of_place_stands_in_only_for_a_whole_group() {
        let without = |line| Row { in_place: None, ..row(line, 8, 1.0) };
        let Aggregate { sweep, notes } = aggregate(&[without(2), without(3)], Target::Printed);
        assert!(close(sweep.points[0].busbw_gbps, 1.0) && notes[0].contains("out-of-place ones are used"), "{notes:?}");
        let Aggregate { sweep, notes } = aggregate(&[without(2), row(3, 4, 5.0)], Target::Printed);
        assert_eq!(sweep.points.len(), 1);
        assert_eq!(notes, ["1 row of broadcast on 2 nodes, 16 ranks without an in-place measurement is not used"]);
    }

    #[test]
    fn a_run_in_two_files_counts_once() {
        let rows = [row(2, 8, 10.0), row(3, 8, 20.0), row(4, 8, 20.0)];
        let again = rows.map(|row| Row { file: 1, ..row });
        let Aggregate { sweep, notes } = aggregate(&[rows, again].concat(), Target::Time);
        assert_eq!(sweep.points[0].repeats, 3);
        assert_eq!(notes, ["3 rows stand in two files with the same times: counted once"]);
        let alone = aggregate(&rows, Target::Time);
        assert_eq!((alone.sweep, alone.notes), (sweep, vec![]));
    }

    #[test]
    fn time_has_more_digits_than_busbw_and_less_say_where_they_disagree() {
        let workload = row(2, 8, 1.0).workload;
        let value =
            |time_us, busbw_gbps| Target::Time.busbw_gbps(&workload, &Sample { time_us: Some(time_us), busbw_gbps });
        assert!(close(value(1_048_576.0 / 1000.0 / 10.004, 10.0), 10.004));
        assert!(close(value(1_048_576.0 / 1000.0 / 10.1, 10.0), 10.0));
    }
}
