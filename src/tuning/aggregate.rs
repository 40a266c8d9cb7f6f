//! Repeats of one configuration become one point: median, spread, count.

use serde::{Deserialize, Serialize};

pub use super::sweep::Sweep;
use super::{
    read::{Asked, Evidence, Row, RowMarks, Sample},
    runs::{KeptParts, Runs},
};
use crate::{
    collective::{Configuration, Workload},
    text::json::{exact, exact_or_none},
};

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
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The configuration that ran.
    pub configuration: Configuration,
    /// Median over the repeats of in-place busbw.
    #[serde(deserialize_with = "exact")]
    pub busbw_gbps: f64,
    /// The number of runs of which the bandwidth is the median.
    pub repeats: u32,
    /// (max − min) / median in per cent; `None` for one run.
    #[serde(default, deserialize_with = "exact_or_none")]
    pub spread_pct: Option<f64>,
    /// Marks that any of the repeats has.
    pub marks: RowMarks,
    /// The settings that were asked of the library; of several, those that were asked most often.
    #[serde(default)]
    pub asked: Asked,
    /// How it is known what ran: the weakest evidence of the repeats.
    #[serde(default)]
    pub evidence: Evidence,
    /// Median over the repeats of out-of-place busbw, where `busbw_gbps` is in-place and there are any.
    #[serde(default, deserialize_with = "exact_or_none")]
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
            marks: RowMarks::default(),
            asked: Asked::default(),
            evidence: Evidence::default(),
            out_of_place_gbps: None,
        }
    }
}

/// The result of [`aggregate`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// A point for each size and configuration, and the defaults.
    pub sweep: Sweep,
    /// Notes for the user on rows that were joined, replaced or left out.
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

/// Brings the repeats of each configuration together, all of them: [`Runs::new`] and the medians of its places.
#[must_use]
pub fn aggregate(rows: &[Row], target: Target) -> Aggregate {
    let runs = Runs::new(rows.to_vec(), target);
    Aggregate { sweep: runs.sweep(|_, _| KeptParts::ALL), notes: runs.notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Protocol, Scale},
        tuning::read::RunKind,
    };

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
            kind: RunKind::Asked,
            marks: RowMarks::default(),
            asked: Default::default(),
            evidence: Default::default(),
            origin: 0,
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
        let default = |line, channels, busbw| Row { kind: RunKind::Default, ..row(line, channels, busbw) };
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
