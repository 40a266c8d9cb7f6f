//! The single runs behind the points, kept compactly: to judge noise, to set runs aside, to bring them back.

use std::{
    cmp::Ordering::Equal,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use super::{
    aggregate::{Point, Target},
    read::{Asked, Evidence, Row, RowMarks, RunKind},
    sweep::Sweep,
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    order::CompactSort,
    units::count,
};

/// The points of all rows: each the median of its repeats.
pub fn aggregate(rows: &[Row], target: Target) -> Sweep {
    Runs::new(rows.to_vec(), target).sweep(|_, _| KeptParts::ALL)
}

/// The files of a collective and scale, of which some were measured in another state than others: their defaults
/// differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FilesApart {
    pub of: (Collective, Scale),
    /// Each file, ascending, with the first file of what it was measured with: itself, or its folder.
    pub units: Vec<(u16, u16)>,
}

impl FilesApart {
    fn unit(&self, file: u16) -> u16 {
        self.units.binary_search_by_key(&file, |(file, _)| *file).map_or(file, |at| self.units[at].1)
    }
}

/// One run, or several of which a line is the median. 56 bytes: a line of the file that it comes from has twice that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// busbw in GB/s: in place, or out of place where a collective and scale has nothing in place.
    pub busbw_gbps: f64,
    /// The out-of-place bus bandwidth in GB/s; 0 where there is none.
    out_of_place_gbps: f64,
    /// (max − min) / median in per cent of the runs that the line is the median of; not a number where it is not known.
    spread_pct: f64,
    /// The configuration that ran, not necessarily what was asked for.
    pub ran: Configuration,
    /// Line in the file, from 1.
    pub line: u32,
    /// How many runs the line is the median of.
    pub repeats: u32,
    /// The settings that were asked of the library.
    pub asked: Asked,
    /// Which file, as the caller numbers them.
    pub file: u16,
    /// How it is known what ran.
    pub evidence: Evidence,
    /// Warnings that the row's other columns give.
    pub marks: RowMarks,
}

impl Run {
    /// A run, or the median of several, of which nothing more is known.
    pub fn known(
        ran: Configuration,
        busbw_gbps: f64,
        repeats: u32,
        spread_pct: Option<f64>,
        evidence: Evidence,
    ) -> Self {
        Self {
            busbw_gbps,
            out_of_place_gbps: 0.0,
            spread_pct: spread_pct.unwrap_or(f64::NAN),
            ran,
            line: 0,
            repeats,
            asked: Asked::default(),
            file: 0,
            evidence,
            marks: RowMarks::default(),
        }
    }

    /// The out-of-place bus bandwidth in GB/s; `None` where it was not measured or stands in for the in-place one.
    pub fn out_of_place_gbps(&self) -> Option<f64> {
        Some(self.out_of_place_gbps).filter(|out_of_place| *out_of_place > 0.0)
    }

    /// The out-of-place measurement as a run of its own; `None` where there is none.
    pub fn out_of_place(&self) -> Option<Self> {
        Some(Self { busbw_gbps: self.out_of_place_gbps()?, out_of_place_gbps: 0.0, spread_pct: f64::NAN, ..*self })
    }

    /// (max − min) / median in per cent of the runs that the line is the median of.
    pub fn spread_pct(&self) -> Option<f64> {
        Some(self.spread_pct).filter(|spread| !spread.is_nan())
    }
}

/// The runs of one configuration, or of the default, at one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointRuns {
    /// The collective, scale and message size.
    pub workload: Workload,
    /// A configuration that was asked for, or the default.
    pub kind: RunKind,
    /// The configuration that ran most often.
    pub configuration: Configuration,
    end: u32,
}

/// All runs of a sweep, by workload, kind and configuration; those of one place in the order of files and lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    places: Vec<PointRuns>,
    runs: Vec<Run>,
    /// Notes for the user on rows that were joined, replaced or left out.
    pub notes: Vec<String>,
    /// Where the default differs between files.
    pub(super) apart: Vec<FilesApart>,
}

impl Runs {
    /// Takes the measurements out of rows.
    ///
    /// Where no row of a collective and scale has an in-place measurement, the out-of-place one stands in, and a note
    /// says so; single rows without one are not used, which a note says as well. A run that stands in two files (a
    /// merged file and its parts were dropped together) counts once.
    ///
    /// A million rows are more than half of what a page holds of them: they become runs in their own memory, row by
    /// row.
    pub fn new(mut rows: Vec<Row>, target: Target) -> Self {
        sort_rows(&mut rows);
        let mut out = Self::default();
        let mut in_place = BTreeMap::new();
        let mut counts = Vec::new();
        for group in rows.chunk_by(|a, b| group_of(a) == group_of(b)) {
            let of = group_of(&group[0]);
            let measured = group.iter().filter(|row| row.in_place.is_some()).count();
            if measured == 0 {
                out.notes.push(no_in_place(of.0, of.1));
            } else if measured < group.len() {
                out.notes.push(unused(group.len() - measured, of.0, of.1));
            }
            in_place.insert(of, measured > 0);
            for same in group.chunk_by(|a, b| place_of(a) == place_of(b)) {
                let used = same.iter().filter(|row| measured == 0 || row.in_place.is_some()).count();
                counts.push((same[0].workload, same[0].kind, used));
            }
        }
        let timed = |row: Row| TimedRun::new(&row, target, in_place[&group_of(&row)]);
        let mut timed: Vec<TimedRun> = rows.into_iter().filter_map(timed).collect();
        let (mut start, mut duplicates) = (0, 0);
        for (workload, kind, used) in counts {
            let runs = &mut timed[start..start + used];
            start += used;
            let Some(configuration) = most_frequent(runs.iter().map(|t| (t.run.ran, t.run.repeats))) else { continue };
            duplicates += mark_duplicates(runs);
            let end = u32::try_from(start - duplicates).unwrap_or(u32::MAX);
            out.places.push(PointRuns { workload, kind, configuration, end });
        }
        out.runs = timed.into_iter().filter(|t| !t.is_duplicate).map(|t| t.run).collect();
        if duplicates > 0 {
            let rows = count(duplicates as u64, "row");
            out.notes.push(format!("Counted once: {rows} with the same times in two files"));
        }
        out
    }

    /// Puts the runs of each place in the order of their files' names, so that it does not matter in which order the
    /// files were given: by folder, then by the repeat that a name ends with (`_r3`), then by name. Runs of files
    /// without a name stay in the order of the numbers.
    pub fn order_by_names(&mut self, names: &BTreeMap<u16, String>) {
        let key = |name: &str| {
            let at = name.rfind(['/', '\\']).map_or(0, |at| at + 1);
            let (folder, file) = name.split_at(at);
            let stem = file.split('.').next().unwrap_or_default();
            let repeat = stem.rsplit('_').find_map(|word| word.strip_prefix('r')?.parse::<u32>().ok());
            (folder.to_owned(), repeat, file.to_owned())
        };
        let mut order: Vec<_> = names.iter().map(|(file, name)| (key(name), *file)).collect();
        order.compact_sort();
        if order.is_sorted_by_key(|(_, file)| *file) {
            return;
        }
        let rank: HashMap<u16, usize> = order.iter().enumerate().map(|(rank, (_, file))| (*file, rank)).collect();
        let mut start = 0;
        for place in &self.places {
            let end = place.end as usize;
            let of = |run: &Run| (rank.get(&run.file).copied().unwrap_or(usize::from(run.file)), run.file, run.line);
            self.runs[start..end].sort_by_cached_key(of);
            start = end;
        }
    }

    /// Points of which no more is known, each as one line.
    pub fn of_points(Sweep { points, defaults }: Sweep) -> Self {
        let mut out = Self::default();
        let mut defaults = defaults.iter().peekable();
        let mut push = |point: &Point, kind| {
            let run = Run {
                out_of_place_gbps: point.out_of_place_gbps.unwrap_or(0.0),
                asked: point.asked,
                marks: point.marks,
                ..Run::known(point.configuration, point.busbw_gbps, point.repeats, point.spread_pct, point.evidence)
            };
            out.push(point.workload, kind, point.configuration, &[run]);
        };
        for at in points.chunk_by(|a, b| a.workload == b.workload) {
            while let Some(default) = defaults.next_if(|default| default.workload < at[0].workload) {
                push(default, RunKind::Default);
            }
            at.iter().for_each(|point| push(point, RunKind::Asked));
            if let Some(default) = defaults.next_if(|default| default.workload == at[0].workload) {
                push(default, RunKind::Default);
            }
        }
        defaults.for_each(|default| push(default, RunKind::Default));
        out
    }

    /// Whether a configuration was measured in the same files as the default of a workload, as far as these have
    /// different defaults.
    pub fn is_beside_default(&self, workload: &Workload, configuration: Configuration) -> bool {
        self.apart.iter().all(|apart| self.are_together(apart, workload, configuration))
    }

    fn are_together(&self, apart: &FilesApart, workload: &Workload, configuration: Configuration) -> bool {
        if (workload.collective, workload.scale) != apart.of {
            return true;
        }
        let units = |kind| -> BTreeSet<u16> {
            let place = self.of(workload, kind, configuration);
            place.into_iter().flat_map(|(.., of_place)| of_place.iter().map(|run| apart.unit(run.file))).collect()
        };
        units(RunKind::Asked) == units(RunKind::Default)
    }

    /// Adds the runs of a place, which comes after all others by workload, kind and configuration.
    pub fn push(&mut self, workload: Workload, kind: RunKind, configuration: Configuration, runs: &[Run]) {
        self.runs.extend_from_slice(runs);
        let end = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        self.places.push(PointRuns { workload, kind, configuration, end });
    }

    /// Whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Every place with the index of its first run and its runs, in order.
    pub fn places(&self) -> impl Iterator<Item = (&PointRuns, usize, &[Run])> {
        (0..self.places.len()).map(|index| self.place(index))
    }

    /// The places of a collective and scale, in order.
    pub fn places_of(&self, group: (Collective, Scale)) -> impl Iterator<Item = (&PointRuns, usize, &[Run])> {
        let key = |place: &PointRuns| (place.workload.collective, place.workload.scale);
        let begin = self.places.partition_point(|place| key(place) < group);
        let end = self.places.partition_point(|place| key(place) <= group);
        (begin..end).map(|index| self.place(index))
    }

    fn place(&self, index: usize) -> (&PointRuns, usize, &[Run]) {
        let start = index.checked_sub(1).map_or(0, |before| self.places[before].end as usize);
        let place = &self.places[index];
        (place, start, &self.runs[start..place.end as usize])
    }

    /// The place of a configuration, or of the default, at a workload.
    pub fn of(
        &self,
        workload: &Workload,
        kind: RunKind,
        configuration: Configuration,
    ) -> Option<(&PointRuns, usize, &[Run])> {
        let wanted = (*workload, kind, if kind == RunKind::Default { None } else { Some(configuration) });
        let key = |place: &PointRuns| {
            let configuration = if place.kind == RunKind::Default { None } else { Some(place.configuration) };
            (place.workload, place.kind, configuration)
        };
        let index = self.places.partition_point(|place| key(place) < wanted);
        self.places.get(index).filter(|place| key(place) == wanted)?;
        Some(self.place(index))
    }

    /// The places of a workload, the default's last.
    pub fn at(&self, workload: &Workload) -> impl Iterator<Item = (&PointRuns, usize, &[Run])> {
        let begin = self.places.partition_point(|p| p.workload < *workload);
        let end = self.places.partition_point(|p| p.workload <= *workload);
        (begin..end).map(|index| self.place(index))
    }

    /// The points of these runs: each the median over its runs of busbw, a line that is itself the median of n runs
    /// counting n times. `keep` says which runs of a place are used; a place without any has no point.
    pub fn sweep(&self, mut keep: impl FnMut(&PointRuns, usize) -> KeptParts) -> Sweep {
        let mut sweep = Sweep::default();
        let (mut used, mut out_of_place) = (Vec::new(), Vec::new());
        for (place, first, runs) in self.places() {
            used.clear();
            out_of_place.clear();
            for (run, index) in runs.iter().zip(first..) {
                let keep = keep(place, index);
                if keep.busbw {
                    used.push(*run);
                }
                if let Some(busbw_gbps) = run.out_of_place_gbps().filter(|_| keep.out_of_place) {
                    out_of_place.push((busbw_gbps, run.repeats));
                }
            }
            let points = if place.kind == RunKind::Default { &mut sweep.defaults } else { &mut sweep.points };
            points.extend(point(place, &used, &mut out_of_place));
        }
        sweep
    }
}

/// The measurements of a run that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptParts {
    /// The bus bandwidth of the run.
    pub busbw: bool,
    /// The out-of-place measurement beside it.
    pub out_of_place: bool,
}

impl KeptParts {
    /// The in-place and the out-of-place measurement are used.
    pub const ALL: Self = Self { busbw: true, out_of_place: true };
    /// The run is set aside as a whole.
    pub const NOTHING: Self = Self { busbw: false, out_of_place: false };
}

/// A run with both its times, to tell runs from each other.
struct TimedRun {
    run: Run,
    times_us: [Option<f64>; 2],
    /// Whether an earlier file has the same run.
    is_duplicate: bool,
}

impl TimedRun {
    fn new(row: &Row, target: Target, in_place: bool) -> Option<Self> {
        let sample = if in_place { row.in_place } else { row.out_of_place }?;
        let out_of_place =
            row.out_of_place.filter(|_| in_place).map(|out_of_place| target.busbw_gbps(&row.workload, &out_of_place));
        let run = Run {
            busbw_gbps: target.busbw_gbps(&row.workload, &sample),
            out_of_place_gbps: out_of_place.unwrap_or(0.0),
            spread_pct: row.spread_pct.unwrap_or(f64::NAN),
            ran: row.ran,
            line: row.line,
            repeats: row.repeats,
            asked: row.asked,
            file: row.file,
            evidence: row.evidence,
            marks: row.marks,
        };
        let times_us = [row.in_place, row.out_of_place].map(|sample| sample.and_then(|s| s.time_us));
        Some(Self { run, times_us, is_duplicate: false })
    }

    /// Two rows of different files that are the same run: nobody measures the same ten digits twice.
    fn is_same(&self, other: &Self) -> bool {
        self.run.file != other.run.file
            && self.times_us == other.times_us
            && self.times_us.iter().all(Option::is_some)
            && (self.run.ran, self.run.repeats) == (other.run.ran, other.run.repeats)
    }
}

/// Marks the runs of one place, by file and line, that stand there twice, and says how many these are.
fn mark_duplicates(runs: &mut [TimedRun]) -> usize {
    if runs.first().map(|t| t.run.file) == runs.last().map(|t| t.run.file) {
        return 0;
    }
    runs.compact_sort_by(|a, b| {
        let out_of_place = || a.times_us[1].partial_cmp(&b.times_us[1]).unwrap_or(Equal);
        a.run.busbw_gbps.total_cmp(&b.run.busbw_gbps).then_with(out_of_place)
    });
    let mut duplicates = 0;
    let mut first = 0;
    for index in 1..runs.len() {
        if runs[index].is_same(&runs[first]) {
            runs[index].is_duplicate = true;
            duplicates += 1;
        } else {
            first = index;
        }
    }
    runs.compact_sort_by_key(|t| (t.run.file, t.run.line));
    duplicates
}

fn point(place: &PointRuns, runs: &[Run], out_of_place: &mut [(f64, u32)]) -> Option<Point> {
    let mut values: Vec<(f64, u32)> = runs.iter().map(|run| (run.busbw_gbps, run.repeats)).collect();
    let busbw_gbps = weighted_median(&mut values)?;
    let across = (values[values.len() - 1].0 - values[0].0) / busbw_gbps * 100.0;
    let within = runs.iter().filter_map(Run::spread_pct).reduce(f64::max);
    Some(Point {
        workload: place.workload,
        configuration: place.configuration,
        busbw_gbps,
        repeats: runs.iter().fold(0_u32, |sum, run| sum.saturating_add(run.repeats)),
        spread_pct: if runs.len() > 1 { Some(within.unwrap_or(0.0).max(across)) } else { within },
        marks: runs.iter().fold(RowMarks::default(), |marks, run| marks.union(run.marks)),
        asked: most_frequent(runs.iter().map(|run| (run.asked, run.repeats))).unwrap_or_default(),
        evidence: runs.iter().map(|run| run.evidence).max().unwrap_or_default(),
        out_of_place_gbps: weighted_median(out_of_place),
    })
}

/// The median of values, each as often as its repeats say; sorts them. `None` for none.
pub fn weighted_median(values: &mut [(f64, u32)]) -> Option<f64> {
    values.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u64 = values.iter().map(|(_, repeats)| u64::from(*repeats)).sum();
    let at = |place: u64| {
        let mut passed = 0;
        let found = values.iter().find(|(_, repeats)| {
            passed += u64::from(*repeats);
            passed > place
        });
        found.map(|(value, _)| *value)
    };
    Some(f64::midpoint(at(total.checked_sub(1)? / 2)?, at(total / 2)?))
}

/// The item that occurs most often, each counted as often as its number says; the lowest of those that occur equally
/// often.
fn most_frequent<T: Ord>(items: impl Iterator<Item = (T, u32)>) -> Option<T> {
    let mut counts: BTreeMap<T, u64> = BTreeMap::new();
    for (item, repeats) in items {
        *counts.entry(item).or_default() += u64::from(repeats);
    }
    counts.into_iter().reduce(|most, next| if next.1 > most.1 { next } else { most }).map(|(item, _)| item)
}

/// The workload, kind and configuration of a row. The default is one place, whatever it chose.
fn place_of(row: &Row) -> (Workload, RunKind, Option<Configuration>) {
    (row.workload, row.kind, (row.kind == RunKind::Asked).then_some(row.ran))
}

/// Sorts rows by place, file and line. Many rows have few places and mostly stand in the order of files and lines:
/// counting them by place and swapping each into its own position is a fraction of the time that comparing them takes,
/// and needs four bytes a row beside them.
fn sort_rows(rows: &mut [Row]) {
    let mut numbers = HashMap::new();
    let mut positions = Vec::with_capacity(rows.len());
    let mut counts: Vec<u32> = Vec::new();
    for row in &*rows {
        let number = *numbers.entry(place_of(row)).or_insert(counts.len());
        if number == counts.len() {
            counts.push(0);
        }
        counts[number] += 1;
        positions.push(number as u32);
    }
    let mut places: Vec<_> = numbers.into_iter().collect();
    places.compact_sort();
    let mut free = vec![0; counts.len()];
    let mut begin = 0;
    for (_, number) in places {
        free[number] = begin;
        begin += counts[number];
    }
    for position in &mut positions {
        let next = &mut free[*position as usize];
        *position = *next;
        *next += 1;
    }
    for at in 0..rows.len() {
        while positions[at] as usize != at {
            let to = positions[at] as usize;
            rows.swap(at, to);
            positions.swap(at, to);
        }
    }
    for same in rows.chunk_by_mut(|a, b| place_of(a) == place_of(b)) {
        if !same.is_sorted_by_key(|row| (row.file, row.line)) {
            same.compact_sort_by_key(|row| (row.file, row.line));
        }
    }
}

fn group_of(row: &Row) -> (Collective, Scale) {
    (row.workload.collective, row.workload.scale)
}

fn no_in_place(collective: Collective, scale: Scale) -> String {
    format!("{collective} on {scale} has no in-place measurements: the out-of-place ones are used instead")
}

fn unused(rows: usize, collective: Collective, scale: Scale) -> String {
    let rows = count(rows as u64, "row");
    format!("Not used: {rows} of {collective} on {scale} without an in-place measurement")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Protocol},
        tuning::read::Sample,
    };

    fn noted(rows: &[Row], target: Target) -> (Sweep, Vec<String>) {
        (aggregate(rows, target), Runs::new(rows.to_vec(), target).notes)
    }

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
        let points = aggregate(&rows, Target::Time).points;
        assert_eq!(points.iter().map(|p| (p.configuration.channels, p.repeats)).collect::<Vec<_>>(), [(4, 1), (8, 3)]);
        assert!(close(points[1].busbw_gbps, 20.0) && points[1].spread_pct.is_some_and(|s| close(s, 100.0)));
        assert_eq!(points[0].spread_pct, None);
    }

    #[test]
    fn a_median_counts_as_often_as_it_was_run() {
        let median = Row { repeats: 3, spread_pct: Some(50.0), ..row(2, 8, 10.0) };
        let points = aggregate(&[row(3, 8, 12.0), median, row(4, 8, 11.0)], Target::Printed).points;
        assert!(close(points[0].busbw_gbps, 10.0));
        assert_eq!((points[0].repeats, points[0].spread_pct), (5, Some(50.0)));
    }

    #[test]
    fn the_default_is_what_it_chose_most_often() {
        let default = |line, channels, busbw| Row { kind: RunKind::Default, ..row(line, channels, busbw) };
        let rows = [default(2, 4, 1.0), default(3, 8, 3.0), default(4, 8, 2.0), row(5, 8, 9.0)];
        let sweep = aggregate(&rows, Target::Time);
        assert_eq!((sweep.points.len(), sweep.defaults.len()), (1, 1));
        assert_eq!((sweep.defaults[0].configuration.channels, sweep.defaults[0].repeats), (8, 3));
        assert!(close(sweep.defaults[0].busbw_gbps, 2.0));
    }

    #[test]
    fn out_of_place_stands_in_only_for_a_whole_group() {
        let without = |line| Row { in_place: None, ..row(line, 8, 1.0) };
        let (sweep, notes) = noted(&[without(2), without(3)], Target::Printed);
        assert!(close(sweep.points[0].busbw_gbps, 1.0) && notes[0].contains("out-of-place ones are used"), "{notes:?}");
        let (sweep, notes) = noted(&[without(2), row(3, 4, 5.0)], Target::Printed);
        assert_eq!(sweep.points.len(), 1);
        assert_eq!(notes, ["Not used: 1 row of broadcast on 2 nodes, 16 ranks without an in-place measurement"]);
    }

    #[test]
    fn a_run_in_two_files_counts_once() {
        let rows = [row(2, 8, 10.0), row(3, 8, 20.0), row(4, 8, 20.0)];
        let again = rows.map(|row| Row { file: 1, ..row });
        let (sweep, notes) = noted(&[rows, again].concat(), Target::Time);
        assert_eq!(sweep.points[0].repeats, 3);
        assert_eq!(notes, ["Counted once: 3 rows with the same times in two files"]);
        assert_eq!(noted(&rows, Target::Time), (sweep, vec![]));
    }

    #[test]
    fn a_run_is_small() {
        assert_eq!(size_of::<Run>(), 56);
        assert!(size_of::<PointRuns>() <= 48, "{}", size_of::<PointRuns>());
    }

    #[test]
    fn medians_have_weights() {
        assert_eq!(weighted_median(&mut [(3.0, 1), (1.0, 1), (2.0, 1)]), Some(2.0));
        assert_eq!(weighted_median(&mut [(3.0, 3), (1.0, 1), (2.0, 1)]), Some(3.0));
        assert_eq!(weighted_median(&mut [(4.0, 1), (1.0, 1)]), Some(2.5));
        assert_eq!(weighted_median(&mut []), None);
    }

    #[test]
    fn the_most_frequent_counts_runs() {
        assert_eq!(most_frequent([(2, 1), (1, 1), (2, 1)].into_iter()), Some(2));
        assert_eq!(most_frequent([(2, 1), (1, 3), (2, 1)].into_iter()), Some(1));
        assert_eq!(most_frequent([(2, 1), (1, 1)].into_iter()), Some(1));
    }
}
