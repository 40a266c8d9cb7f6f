//! Files that were measured in different states: each has the default beside configurations of its own, and the
//! default is another. Pooled, a configuration of the one would be compared with the default of both.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    read::RunKind,
    runs::{FilesApart, Run, Runs, weighted_median},
};
use crate::{
    collective::{Collective, Scale, Workload},
    math::{exp, ln, median},
    order::CompactCollect,
    units::{Size, count, percent},
};

/// The fewest sizes at which two files must both have the default.
const MIN_SIZES: usize = 3;
/// Half of the sizes must differ by more than this, in per cent.
const LEAST_PCT: f64 = 3.0;
/// Half of the sizes must differ by more than this many standard errors of the difference of two medians.
const MIN_ERRORS: f64 = 3.0;

/// What the files of a collective and scale hold.
#[derive(Default)]
struct GroupFiles {
    /// Those with configurations that were asked for.
    asked: BTreeSet<u16>,
    /// The runs of the default, by file and size.
    defaults: BTreeMap<u16, Defaults>,
}

/// The runs of the default by size.
type Defaults = BTreeMap<u64, Vec<Run>>;

/// Compares the default of files that hold it beside further configurations: where it differs, a note says so, and
/// [`Runs::is_beside_default`] tells the judge. `names` are the names of the files.
pub fn keep_defaults_apart(runs: &mut Runs, names: &BTreeMap<u16, String>) {
    let (apart, notes) = defaults_apart(runs, names);
    runs.apart = apart;
    runs.notes.splice(0..0, notes);
}

/// Where files, or folders of files, that each hold the default and further configurations have another default: what
/// the judge must know of it, and a note for each collective and scale. `names` are the names of the files.
fn defaults_apart(runs: &Runs, names: &BTreeMap<u16, String>) -> (Vec<FilesApart>, Vec<String>) {
    let mut groups: BTreeMap<(Collective, Scale), GroupFiles> = BTreeMap::new();
    for (place, _, of_place) in runs.places() {
        let Workload { collective, scale, size_bytes } = place.workload;
        let group = groups.entry((collective, scale)).or_default();
        for run in of_place {
            if place.kind == RunKind::Asked {
                group.asked.insert(run.file);
            } else {
                group.defaults.entry(run.file).or_default().entry(size_bytes).or_default().push(*run);
            }
        }
    }
    let (mut apart, mut notes) = (Vec::new(), Vec::new());
    for (of, group) in groups.into_iter().filter(|(_, group)| group.defaults.len() > 1) {
        let (units, defaults) = group.units(names);
        let mut holders = defaults.iter();
        let Some((first, of_first)) = holders.next() else { continue };
        let differences = holders.filter_map(|(other, of_other)| Some((*other, Difference::new(of_first, of_other)?)));
        let Some((other, most)) = differences.max_by(|(_, a), (_, b)| a.pct.total_cmp(&b.pct)) else { continue };
        let name = |unit: u16| {
            let own = names.get(&unit).map_or("", String::as_str);
            if group.holds_both(unit) { own } else { folder(own).unwrap_or(own) }
        };
        notes.push(format!(
            "{} on {}: the default of {} and that of {} differ by {:.0} % or more at half of {} (most at {}: {} in the latter), \
             beyond noise: they were measured on different machines or in different states. Nothing is deployed that ran in one \
             of them alone: answer one at a time, or compare them (tab Compare of the page, collectune tuning compare)",
            of.0,
            of.1,
            name(*first),
            name(other),
            most.pct,
            count(most.sizes as u64, "common size"),
            Size(most.at.0),
            percent(most.at.1),
        ));
        apart.push(FilesApart { of, units });
    }
    (apart, notes)
}

impl GroupFiles {
    fn holds_both(&self, file: u16) -> bool {
        self.asked.contains(&file) && self.defaults.contains_key(&file)
    }

    /// Each file with the first file of its unit, and the runs of the default of each unit that holds configurations
    /// besides. A file that holds both is a unit; others are one with those of their folder.
    fn units(&self, names: &BTreeMap<u16, String>) -> (Vec<(u16, u16)>, BTreeMap<u16, Defaults>) {
        let mut folders: BTreeMap<&str, u16> = BTreeMap::new();
        let files: BTreeSet<u16> = self.asked.iter().chain(self.defaults.keys()).copied().compact_collect();
        let mut units = Vec::new();
        for file in files {
            let of = names.get(&file).and_then(|name| folder(name)).filter(|_| !self.holds_both(file));
            units.push((file, of.map_or(file, |of| *folders.entry(of).or_insert(file))));
        }
        let with_asked: BTreeSet<u16> =
            units.iter().filter(|(file, _)| self.asked.contains(file)).map(|(_, unit)| *unit).collect();
        let mut defaults: BTreeMap<u16, Defaults> = BTreeMap::new();
        for (file, unit) in units.iter().filter(|(_, unit)| with_asked.contains(unit)) {
            for (size_bytes, of_size) in self.defaults.get(file).into_iter().flatten() {
                defaults.entry(*unit).or_default().entry(*size_bytes).or_default().extend_from_slice(of_size);
            }
        }
        (units, defaults)
    }
}

/// By how much the default of one file differs from another's.
struct Difference {
    /// Half of the sizes differ by at least this, in per cent.
    pct: f64,
    /// The number of sizes that both have.
    sizes: usize,
    /// The size with the largest difference, and the busbw of the second over the first there, in per cent.
    at: (u64, f64),
}

impl Difference {
    /// `None` where it may be noise, or is of no account.
    fn new(first: &Defaults, second: &Defaults) -> Option<Self> {
        let common = first.iter().filter_map(|(size, of_first)| Some((*size, of_first, second.get(size)?)));
        let (mut squares, mut freedom) = (0.0, 0.0);
        let mut ratios: Vec<(u64, f64, f64)> = Vec::new();
        for (size_bytes, a, b) in common {
            let mut runs = 0.0;
            for side in [a, b] {
                let (of_side, of_freedom, n) = squares_of(side);
                squares += of_side;
                freedom += of_freedom;
                runs += 1.0 / n;
            }
            ratios.push((size_bytes, ln(busbw(b)? / busbw(a)?), runs));
        }
        if ratios.len() < MIN_SIZES {
            return None;
        }
        let mut all: Vec<f64> = ratios.iter().map(|(_, ratio, _)| ratio.abs()).collect();
        let half = median(&mut all)?;
        let errors = if freedom > 0.0 {
            // The variance of a median is up to π / 2 times that of a mean.
            let of_one = squares / freedom * std::f64::consts::FRAC_PI_2;
            let mut errors: Vec<f64> =
                ratios.iter().map(|(_, ratio, runs)| ratio.abs() / (of_one * runs).sqrt()).collect();
            median(&mut errors)?
        } else {
            // Without repeats only a difference that is the same at all sizes tells itself from noise.
            let mean = ratios.iter().map(|(_, ratio, _)| ratio).sum::<f64>() / ratios.len() as f64;
            let squares = ratios.iter().map(|(_, ratio, _)| (ratio - mean) * (ratio - mean)).sum::<f64>();
            mean.abs() / (squares / (ratios.len() - 1) as f64).sqrt()
        };
        let (size_bytes, most, _) = *ratios.iter().max_by(|(_, a, _), (_, b, _)| a.abs().total_cmp(&b.abs()))?;
        let pct = |ratio: f64| (exp(ratio) - 1.0) * 100.0;
        let found = Self { pct: pct(half), sizes: ratios.len(), at: (size_bytes, pct(most)) };
        (errors > MIN_ERRORS && found.pct > LEAST_PCT).then_some(found)
    }
}

/// The median busbw in GB/s.
fn busbw(runs: &[Run]) -> Option<f64> {
    let mut values: Vec<(f64, u32)> = runs.iter().map(|run| (run.busbw_gbps, run.repeats)).collect();
    weighted_median(&mut values).filter(|busbw| *busbw > 0.0)
}

/// The sum of the squares of the deviations of ln busbw from its mean, its degrees of freedom, and the number of runs.
fn squares_of(runs: &[Run]) -> (f64, f64, f64) {
    let n: f64 = runs.iter().map(|run| f64::from(run.repeats)).sum();
    if runs.iter().any(|run| run.repeats != 1 || run.busbw_gbps <= 0.0) {
        return (0.0, 0.0, n.max(1.0));
    }
    let logarithms: Vec<f64> = runs.iter().map(|run| ln(run.busbw_gbps)).collect();
    let mean = logarithms.iter().sum::<f64>() / n;
    (logarithms.iter().map(|value| (value - mean) * (value - mean)).sum(), n - 1.0, n)
}

/// The folder of a file's name; `None` where it has none.
fn folder(name: &str) -> Option<&str> {
    name.rsplit_once(['/', '\\']).map(|(folder, _)| folder).filter(|folder| !folder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol},
        math::Stream,
        tuning::{
            aggregate::Target,
            decision::{Decision, KeepReason},
            read::{Row, RowMarks, Sample},
            study::TuningStudy,
        },
    };

    /// Rows of a file: three runs of the default and of configurations with these channels at six sizes, with a noise
    /// of 1 %.
    fn rows(file: u16, (default, asked): (f64, f64), channels: &[u32], random: &mut Stream) -> Vec<Row> {
        let scale = Scale { nodes: 1, ranks: 8 };
        let mut rows = Vec::new();
        for exponent in 20..26 {
            for channels in [None].into_iter().chain(channels.iter().copied().map(Some)) {
                for _ in 0..3 {
                    let busbw = if channels.is_some() { asked } else { default };
                    let ran = Configuration {
                        algorithm: Algorithm::Ring,
                        protocol: Protocol::Simple,
                        channels: channels.unwrap_or(24),
                    };
                    rows.push(Row {
                        file,
                        line: rows.len() as u32 + 2,
                        workload: Workload { collective: Collective::AllReduce, scale, size_bytes: 1 << exponent },
                        ran,
                        in_place: Some(Sample { time_us: None, busbw_gbps: busbw * (1.0 + 0.01 * random.normal()) }),
                        out_of_place: None,
                        repeats: 1,
                        spread_pct: None,
                        kind: if channels.is_some() { RunKind::Asked } else { RunKind::Default },
                        marks: RowMarks::default(),
                        asked: Default::default(),
                        evidence: Default::default(),
                        origin: 0,
                    });
                }
            }
        }
        rows
    }

    fn names(names: &[&str]) -> BTreeMap<u16, String> {
        (0..).zip(names).map(|(file, name)| (file, (*name).to_owned())).collect()
    }

    fn decided(rows: Vec<Row>, names: &BTreeMap<u16, String>) -> (Vec<Decision>, Vec<String>) {
        let mut runs = Runs::new(rows, Target::Printed);
        keep_defaults_apart(&mut runs, names);
        let notes = runs.notes.clone();
        let answers = TuningStudy::of_runs(runs, Target::Printed).winners().expect("it was measured");
        (answers.iter().map(|answer| answer.decision).collect(), notes)
    }

    #[test]
    fn nothing_is_deployed_that_ran_beside_one_of_two_defaults() {
        let random = &mut Stream::new(1);
        // Of the gain over both defaults together a part is the state of the faster file.
        let fast = rows(0, (100.0, 200.0), &[8], random);
        let slow = rows(1, (60.0, 50.0), &[4], random);
        let (decisions, notes) = decided([fast, slow].concat(), &names(&["a.csv", "b.csv"]));
        let held = Decision::KeepDefault { reason: KeepReason::OtherState };
        assert_eq!(decisions, [held; 6]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("the default of a.csv and that of b.csv differ by 6"), "{notes:?}");
        // The same configurations beside both defaults are compared with both.
        let fast = rows(0, (100.0, 130.0), &[8], random);
        let slow = rows(1, (60.0, 78.0), &[8], random);
        let (decisions, notes) = decided([fast, slow].concat(), &names(&["a.csv", "b.csv"]));
        assert!(!decisions.contains(&held) && notes.len() == 1, "{decisions:?} {notes:?}");
    }

    #[test]
    fn folders_are_compared_and_the_logs_of_one_campaign_are_not() {
        let random = &mut Stream::new(2);
        let mut of = |file, busbw, channels: &[u32], kind| {
            let mut all = rows(file, (busbw, busbw), channels, random);
            all.retain(|row| row.kind == kind);
            all
        };
        let mut campaign = |first: u16, busbw: f64, channels| {
            let default = of(first, busbw, &[], RunKind::Default);
            [default, of(first + 1, busbw, channels, RunKind::Asked)].concat()
        };
        let all = [campaign(0, 100.0, &[8]), campaign(2, 70.0, &[4])].concat();
        let in_folders = names(&["old/d.log", "old/c.log", "new/d.log", "new/c.log"]);
        let (_, notes) = decided(all.clone(), &in_folders);
        assert!(notes.len() == 1 && notes[0].contains("the default of old and that of new"), "{notes:?}");
        for together in [&["d.log", "c.log", "d2.log", "c2.log"], &["x/d.log", "x/c.log", "x/d2.log", "x/c2.log"]] {
            assert_eq!(decided(all.clone(), &names(together)).1, Vec::<String>::new());
        }
    }

    #[test]
    fn defaults_that_differ_by_noise_are_one() {
        let random = &mut Stream::new(3);
        let mut told = 0;
        for _ in 0..200 {
            let both = [rows(0, (100.0, 90.0), &[8], random), rows(1, (100.0, 90.0), &[4], random)].concat();
            told += decided(both, &names(&["a.csv", "b.csv"])).1.len();
        }
        assert_eq!(told, 0);
    }
}
