//! Runs that stalled: something else held the machine up, and what was measured is not the configuration.
//!
//! The rule, for in-place and for out-of-place runs alike. A run stalled when it is at least [`MIN_SLOWDOWN`] times
//! slower than its siblings' median, and slower by more than [`MIN_DEVIATIONS`] standard deviations of a run at its
//! size. That deviation is robust: the median over all places of this and the two neighbouring sizes of ln(max / min) /
//! d₂(n), where d₂(n) is the mean range of n standard normal numbers (Tippett 1925); so a sweep that is noisy
//! everywhere has few stalls. Of two runs the slower one is compared with the faster. A run without siblings is
//! compared with its measurement in the other placement, as the two usually relate at its size; it is named, and stays,
//! for there is nothing in its place. Being
//! slower than a median, at most half of the runs of a place can have stalled. Lines that are medians are left alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    parameters::{Screening, StallId},
    read::{Placement, RunKind},
    runs::{KeptParts, PointRuns, Run, Runs},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::{exp, ln, median, median_and_deviation},
    order::{CompactCollect, CompactSort},
    units::{Size, count},
};

/// A stalled run is at least this many times slower than the other runs of its point.
pub const MIN_SLOWDOWN: f64 = 1.5;

/// It is also slower than them by more than this many standard deviations.
pub const MIN_DEVIATIONS: f64 = 6.0;

/// The smallest number of runs with both placements from which their ratio at a size is known.
const MIN_PAIRS: usize = 5;

/// A run that was slowed down by something else than its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Which file, as the caller numbers them.
    pub file: u16,
    /// Line in the file, from 1.
    pub line: u32,
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The configuration that ran, not necessarily what was asked for.
    pub configuration: Configuration,
    /// Whether it was a run of the default.
    pub is_default: bool,
    /// Which of the place's runs, from 1, in the order of files and lines.
    pub repeat: u32,
    /// How many runs the place has.
    pub of: u32,
    /// Which of the row's measurements stalled.
    #[serde(rename = "half")]
    pub placement: Placement,
    /// The bus bandwidth of the run in GB/s.
    pub busbw_gbps: f64,
    /// The expected bus bandwidth in GB/s: the median of the point; of two runs the other; of one the bandwidth that
    /// its other placement lets expect.
    pub expected_gbps: f64,
    /// It is not used. `false` for a run without siblings, and where stalls are to be used.
    pub set_aside: bool,
}

impl Stall {
    /// The identity of the run, by which it can be brought back.
    pub const fn id(&self) -> StallId {
        StallId { file: self.file, line: self.line, placement: self.placement }
    }

    /// How many times slower it was than expected.
    pub fn times_slower(&self) -> f64 {
        self.expected_gbps / self.busbw_gbps
    }
}

/// Which runs are set aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screened {
    /// All that stalled, in the order of the runs.
    pub stalls: Vec<Stall>,
    /// The stalls that are set aside, by the index of the run, ascending.
    aside: Vec<(usize, Placement)>,
    by_hand: Vec<(Collective, Scale, Configuration)>,
    /// Those of them that were not measured.
    unknown: Vec<(Collective, Scale, Configuration)>,
}

impl Screened {
    /// Finds the stalled runs and sets them aside, as far as `screening` says.
    pub fn new(runs: &Runs, screening: &Screening) -> Self {
        let mut screened = Self::default();
        screened.by_hand.extend(screening.set_aside.iter().map(|s| (s.collective, s.scale, s.configuration)));
        screened.unknown.clone_from(&screened.by_hand);
        screened.unknown.retain(|(collective, scale, configuration)| {
            !runs.places().any(|(place, ..)| {
                let Workload { collective: of, scale: on, .. } = place.workload;
                place.kind == RunKind::Asked && (of, on, place.configuration) == (*collective, *scale, *configuration)
            })
        });
        for placement in [Placement::InPlace, Placement::OutOfPlace] {
            screened.judge(runs, placement, screening);
        }
        screened.stalls.compact_sort_by_key(|s| (s.workload, s.is_default, s.configuration, s.file, s.line));
        screened.aside.compact_sort_by_key(|(index, placement)| (*index, *placement == Placement::OutOfPlace));
        screened
    }

    /// The measurements of a run that are used; `run` is its index in [`Runs`].
    pub fn keep(&self, place: &PointRuns, run: usize) -> KeptParts {
        let Workload { collective, scale, .. } = place.workload;
        if place.kind == RunKind::Asked && self.by_hand.contains(&(collective, scale, place.configuration)) {
            return KeptParts::NOTHING;
        }
        let mut keep = KeptParts::ALL;
        let begin = self.aside.partition_point(|(index, _)| *index < run);
        for (_, placement) in self.aside[begin..].iter().take_while(|(index, _)| *index == run) {
            match placement {
                Placement::InPlace => keep.busbw = false,
                Placement::OutOfPlace => keep.out_of_place = false,
            }
        }
        keep
    }

    /// The stalled runs of a workload, whether they are set aside or not.
    fn at(&self, workload: &Workload) -> impl Iterator<Item = &Stall> {
        let begin = self.stalls.partition_point(|stall| stall.workload < *workload);
        self.stalls[begin..].iter().take_while(move |stall| stall.workload == *workload)
    }

    /// A run of a workload stalled, whether it is set aside or not.
    pub fn is_stalled(&self, workload: &Workload, run: &Run) -> bool {
        let is = |stall: &Stall| (stall.file, stall.line, stall.placement) == (run.file, run.line, Placement::InPlace);
        self.at(workload).any(is)
    }

    /// The only run of a configuration, or of the default, at a workload is far from what its other placement lets
    /// expect: which of the two is wrong can't be told.
    pub fn contradicts_itself(&self, workload: &Workload, configuration: Configuration, is_default: bool) -> bool {
        let is_its = |stall: &Stall| is_default || stall.configuration == configuration;
        self.at(workload).any(|stall| stall.of == 1 && stall.is_default == is_default && is_its(stall))
    }

    /// Notes for the user: the stalled runs, in a sentence for each collective and scale.
    pub fn notes(&self) -> Vec<String> {
        let group = |stall: &Stall| (stall.workload.collective, stall.workload.scale);
        let of_group = |stalls: &[Stall]| {
            let (collective, scale) = group(&stalls[0]);
            let used = stalls.iter().filter(|stall| !stall.set_aside).count();
            let worst =
                stalls.iter().max_by(|a, b| a.times_slower().total_cmp(&b.times_slower())).unwrap_or(&stalls[0]);
            format!(
                "{collective} on {scale}: {} stalled, {}; the slowest by a factor of {:.1}, {} at {}",
                count(stalls.len() as u64, "measurement"),
                match used {
                    0 => "all set aside".to_owned(),
                    used if used == stalls.len() => "all used".to_owned(),
                    used => format!("{} set aside and {used} used", stalls.len() - used),
                },
                worst.times_slower(),
                worst.configuration,
                Size(worst.workload.size_bytes),
            )
        };
        let unknown = self.unknown.iter().map(|(collective, scale, configuration)| {
            format!(
                "{configuration} of {collective} on {scale} is to be left out and was not measured: nothing is left out"
            )
        });
        self.stalls.chunk_by(|a, b| group(a) == group(b)).map(of_group).chain(unknown).collect()
    }

    fn judge(&mut self, runs: &Runs, placement: Placement, screening: &Screening) {
        let usual = UsualSpreads::new(runs, placement);
        for (place, first, of_place) in runs.places() {
            let Some(usual) = usual.at(&place.workload) else { continue };
            let values: Vec<Option<f64>> = of_place.iter().map(|run| single(run, placement)).collect();
            let mut siblings: Vec<f64> = values.iter().flatten().map(|busbw| ln(*busbw)).collect();
            let lone = siblings.len() == 1;
            // Of two runs the faster is what the slower is compared with.
            let expected = match siblings[..] {
                [] => continue,
                [_] => None,
                [a, b] => Some(a.max(b)),
                _ => median(&mut siblings),
            };
            for (nth, (run, value)) in of_place.iter().zip(&values).enumerate() {
                let Some(value) = *value else { continue };
                let (expected, deviation) = match expected {
                    Some(expected) => (expected, usual.deviation),
                    None => match (usual.relation_of_placements, single(run, placement.other())) {
                        (Some((relation, deviation)), Some(other)) => (ln(other) + relation, deviation),
                        _ => continue,
                    },
                };
                if expected - ln(value) <= ln(MIN_SLOWDOWN).max(MIN_DEVIATIONS * deviation) {
                    continue;
                }
                let id = StallId { file: run.file, line: run.line, placement };
                let set_aside = !lone && !screening.keep_stalls && !screening.brought_back.contains(&id);
                self.stalls.push(Stall {
                    file: run.file,
                    line: run.line,
                    workload: place.workload,
                    configuration: run.ran,
                    is_default: place.kind == RunKind::Default,
                    repeat: nth as u32 + 1,
                    of: of_place.len() as u32,
                    placement,
                    busbw_gbps: value,
                    expected_gbps: exp(expected),
                    set_aside,
                });
                if set_aside {
                    self.aside.push((first + nth, placement));
                }
            }
        }
    }
}

impl Placement {
    const fn other(self) -> Self {
        match self {
            Self::InPlace => Self::OutOfPlace,
            Self::OutOfPlace => Self::InPlace,
        }
    }
}

/// The measurement of a single run.
fn single(run: &Run, placement: Placement) -> Option<f64> {
    let busbw = match placement {
        Placement::InPlace => Some(run.busbw_gbps),
        Placement::OutOfPlace => run.out_of_place_gbps(),
    };
    busbw.filter(|busbw| run.repeats == 1 && *busbw > 0.0)
}

/// How far runs of a size usually are from each other.
#[derive(Clone, Copy)]
struct SizeSpread {
    deviation: f64,
    /// ln of busbw in this placement over that in the other one: the median, and the deviation from it.
    relation_of_placements: Option<(f64, f64)>,
}

struct UsualSpreads(BTreeMap<Workload, SizeSpread>);

impl UsualSpreads {
    fn new(runs: &Runs, placement: Placement) -> Self {
        let mut sizes: Vec<(Workload, Vec<f64>, Vec<f64>)> = Vec::new();
        for (place, _, of_place) in runs.places() {
            if sizes.last().is_none_or(|(workload, ..)| *workload != place.workload) {
                sizes.push((place.workload, Vec::new(), Vec::new()));
            }
            let Some((_, deviations, relations)) = sizes.last_mut() else { continue };
            let values = || of_place.iter().filter_map(|run| single(run, placement));
            let (n, low, high) = values()
                .fold((0, f64::INFINITY, 0.0_f64), |(n, low, high), value| (n + 1, low.min(value), high.max(value)));
            if n > 1 {
                deviations.push(ln(high / low) / mean_range(n));
            }
            let pairs =
                of_place.iter().filter_map(|run| Some((single(run, placement)?, single(run, placement.other())?)));
            relations.extend(pairs.map(|(value, other)| ln(value / other)));
        }
        let group = |at: usize| (sizes[at].0.collective, sizes[at].0.scale);
        let near = |at: usize| {
            (at.saturating_sub(1)..(at + 2).min(sizes.len())).filter(move |other| group(*other) == group(at))
        };
        let usual = |at: usize| {
            let mut deviations: Vec<f64> = near(at).flat_map(|other| sizes[other].1.iter().copied()).collect();
            let mut relations: Vec<f64> = near(at).flat_map(|other| sizes[other].2.iter().copied()).collect();
            let relation_of_placements =
                if relations.len() < MIN_PAIRS { None } else { median_and_deviation(&mut relations) };
            (sizes[at].0, SizeSpread { deviation: median(&mut deviations).unwrap_or(0.0), relation_of_placements })
        };
        Self((0..sizes.len()).map(usual).compact_collect())
    }

    fn at(&self, workload: &Workload) -> Option<SizeSpread> {
        self.0.get(workload).copied()
    }
}

/// d₂(n): the mean of max − min of `n` standard normal numbers (Tippett 1925), linear between the tabled numbers.
pub fn mean_range(n: u32) -> f64 {
    const TABLE: [(u32, f64); 13] = [
        (1, 0.0),
        (2, 1.128),
        (3, 1.693),
        (4, 2.059),
        (5, 2.326),
        (6, 2.534),
        (7, 2.704),
        (8, 2.847),
        (9, 2.970),
        (10, 3.078),
        (20, 3.735),
        (100, 5.015),
        (1000, 6.483),
    ];
    let above = TABLE.partition_point(|(tabled, _)| *tabled < n);
    let Some((n1, d1)) = TABLE.get(above) else { return TABLE[TABLE.len() - 1].1 };
    let Some((n0, d0)) = above.checked_sub(1).map(|below| TABLE[below]) else { return *d1 };
    d0 + (d1 - d0) * f64::from(n - n0) / f64::from(n1 - n0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Protocol},
        math::Stream,
        tuning::{
            aggregate::Target,
            parameters::SetAside,
            read::{Asked, Evidence, Row, RowMarks, Sample},
        },
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn row(line: u32, channels: u32, in_place: f64, out_of_place: f64) -> Row {
        let sample = |busbw_gbps| Some(Sample { time_us: None, busbw_gbps });
        Row {
            file: 3,
            line,
            workload: Workload { collective: Collective::Broadcast, scale: SCALE, size_bytes: 1 << 20 },
            ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels },
            in_place: sample(in_place),
            out_of_place: sample(out_of_place),
            repeats: 1,
            spread_pct: None,
            kind: RunKind::Asked,
            marks: RowMarks::default(),
            asked: Asked::default(),
            evidence: Evidence::default(),
            origin: 0,
        }
    }

    /// Ten configurations of `repeats` runs with a deviation, the value of one run divided by `stall`.
    fn rows(repeats: u32, deviation: f64, stall: f64) -> Vec<Row> {
        let mut stream = Stream::new(5);
        let mut noisy = || 10.0 * exp(deviation * stream.normal());
        let places = (0..repeats).flat_map(|repeat| (1..=10).map(move |channels| (repeat, channels)));
        let mut rows: Vec<Row> =
            places.map(|(repeat, channels)| row(2 + repeat * 10 + channels, channels, noisy(), noisy())).collect();
        if let Some(Sample { busbw_gbps, .. }) = rows[4].in_place.as_mut() {
            *busbw_gbps /= stall;
        }
        rows
    }

    fn screened(rows: &[Row], screening: &Screening) -> (Screened, Vec<f64>) {
        let runs = Runs::new(rows.to_vec(), Target::Printed);
        let screened = Screened::new(&runs, screening);
        let points = runs.sweep(|place, run| screened.keep(place, run)).points;
        (screened, points.iter().map(|point| point.busbw_gbps).collect())
    }

    #[test]
    fn a_stall_is_named_and_set_aside_until_it_is_brought_back() {
        for repeats in [2, 3, 5] {
            let rows = rows(repeats, 0.01, 4.0);
            let (found, values) = screened(&rows, &Screening::default());
            let [stall] = found.stalls[..] else { panic!("{found:?}") };
            assert_eq!((stall.file, stall.line, stall.repeat, stall.of), (3, 7, 1, repeats));
            assert_eq!((stall.configuration.channels, stall.placement, stall.set_aside), (5, Placement::InPlace, true));
            assert!((3.5..4.5).contains(&stall.times_slower()), "{stall:?}");
            let note = &found.notes()[0];
            assert!(note.starts_with("broadcast on 2 nodes, 16 ranks: 1 measurement stalled, all set aside"), "{note}");
            assert!(values.iter().all(|busbw| (9.5..10.5).contains(busbw)), "{values:?}");
            let (found, values) = screened(&rows, &Screening { keep_stalls: true, ..Screening::default() });
            assert!(!found.stalls[0].set_aside);
            let brought_back = vec![stall.id()];
            let (one, same) = screened(&rows, &Screening { brought_back, ..Screening::default() });
            assert!(!one.stalls[0].set_aside && same == values);
            let other = StallId { line: stall.line + 1, ..stall.id() };
            let (none, _) = screened(&rows, &Screening { brought_back: vec![other], ..Screening::default() });
            assert!(none.stalls[0].set_aside);
            assert!(repeats > 2 || values[4] < 9.0, "{values:?}");
        }
    }

    #[test]
    fn a_run_of_the_default_stalls_like_any_other() {
        let mut rows = rows(3, 0.01, 4.0);
        rows.iter_mut().filter(|row| row.ran.channels == 5).for_each(|row| row.kind = RunKind::Default);
        let runs = Runs::new(rows.clone(), Target::Printed);
        let screened = Screened::new(&runs, &Screening::default());
        assert!(screened.stalls[0].is_default && screened.stalls[0].set_aside, "{screened:?}");
        let sweep = runs.sweep(|place, run| screened.keep(place, run));
        assert!(sweep.defaults[0].repeats == 2 && sweep.defaults[0].busbw_gbps > 9.0, "{:?}", sweep.defaults);
    }

    #[test]
    fn a_lone_stall_is_named_and_stays() {
        let (found, values) = screened(&rows(1, 0.01, 20.0), &Screening::default());
        let [stall] = found.stalls[..] else { panic!("{found:?}") };
        assert_eq!((stall.line, stall.placement, stall.set_aside, stall.of), (7, Placement::InPlace, false, 1));
        assert_eq!(values.len(), 10);
    }

    #[test]
    fn honest_noise_is_no_stall() {
        for deviation in [0.001, 0.05, 0.3] {
            let (found, _) = screened(&rows(3, deviation, 1.0), &Screening::default());
            assert_eq!(found.stalls, []);
        }
    }

    #[test]
    fn never_more_than_half_of_the_runs_are_set_aside() {
        let mut rows = rows(4, 0.01, 1.0);
        for row in rows.iter_mut().filter(|row| row.ran.channels == 5).take(3) {
            *row = Row { in_place: Some(Sample { time_us: None, busbw_gbps: 0.1 }), ..*row };
        }
        let (found, _) = screened(&rows, &Screening::default());
        assert!(found.aside.len() <= 2, "{found:?}");
    }

    #[test]
    fn a_configuration_is_set_aside_by_hand_at_its_scale() {
        let rows = rows(3, 0.01, 1.0);
        let Row { workload, ran, .. } = rows[2];
        let aside = |scale| vec![SetAside { collective: workload.collective, scale, configuration: ran }];
        let count = |scale| screened(&rows, &Screening { set_aside: aside(scale), ..Screening::default() }).1.len();
        assert_eq!(count(SCALE), 9);
        assert_eq!(count(Scale { nodes: 3, ranks: 24 }), 10);
    }

    #[test]
    fn ranges_are_tippett_s() {
        assert!((mean_range(3) - 1.693).abs() < 1e-9);
        assert!((3.078..3.735).contains(&mean_range(15)));
        assert!((mean_range(5_000_000) - 6.483).abs() < 1e-9);
    }
}
