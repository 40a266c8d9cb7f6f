//! The passes over one campaign, brought to one level.
//!
//! A pass measures everything once, and can be faster or slower than the others as a whole. This is common to all
//! points and no noise of a single one. It is subtracted from all points of the pass before they are compared, so that
//! it neither hides a change of a few points nor looks like one. The uncertainty that it adds to the level of a
//! campaign is part of the overall change ([`super::overall`]).

use crate::{
    math::{exp, ln, median},
    report::snapshot::{Snapshot, SnapshotGroup, SnapshotRuns},
};

/// A snapshot with each pass brought to the level of the middle one, for each collective and scale whose passes differ
/// by more than the noise of single runs explains; `None` if there is no such one. Points with another number of runs
/// than most are not changed, since it is not known which pass a run belongs to.
pub fn levelled(snapshot: &Snapshot) -> Option<Snapshot> {
    let levels: Vec<Option<Vec<f64>>> = snapshot.groups.iter().map(levels).collect();
    if levels.iter().all(Option::is_none) {
        return None;
    }
    let mut levelled = snapshot.clone();
    for (group, levels) in levelled.groups.iter_mut().zip(levels) {
        let Some(levels) = levels else { continue };
        for measurement in group.sizes.iter_mut().flat_map(|at| at.measured.iter_mut().chain(&mut at.default)) {
            match &mut measurement.runs {
                SnapshotRuns::Each(runs) if runs.len() == levels.len() => {
                    runs.iter_mut().zip(&levels).for_each(|(run, level)| *run *= exp(-level));
                }
                _ => {}
            }
        }
    }
    Some(levelled)
}

/// The levels of the passes above the middle one, in ln busbw; `None` where noise explains the differences.
fn levels(group: &SnapshotGroup) -> Option<Vec<f64>> {
    let drift = group.drift.filter(|drift| drift.deviation_pct > 0.0)?;
    let passes = drift.passes as usize;
    let places = || {
        let measured = group.sizes.iter().flat_map(|at| at.measured.iter().chain(&at.default));
        measured.filter_map(move |measurement| match &measurement.runs {
            SnapshotRuns::Each(runs) if runs.len() == passes => Some(runs.as_slice()),
            _ => None,
        })
    };
    let off = |pass: usize| {
        let mut all: Vec<f64> = places()
            .map(|runs| ln(runs[pass]) - runs.iter().map(|run| ln(*run)).sum::<f64>() / passes as f64)
            .filter(|off| off.is_finite())
            .collect();
        median(&mut all)
    };
    let levels: Vec<f64> = (0..passes).map(off).collect::<Option<_>>()?;
    let middle = median(&mut levels.clone())?;
    Some(levels.into_iter().map(|level| level - middle).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale},
        report::snapshot::{DeployedChoice, Drift, Measurement, SnapshotSize},
    };

    fn of(deviation_pct: f64, runs: &[Vec<f64>]) -> Snapshot {
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 1 };
        let at = |(size_bytes, runs): (u64, &Vec<f64>)| SnapshotSize {
            size_bytes,
            deployed: DeployedChoice::Unknown,
            default: None,
            measured: vec![Measurement { configuration, executed: true, runs: SnapshotRuns::Each(runs.clone()) }],
        };
        let group = SnapshotGroup {
            collective: Collective::AllReduce,
            scale: Scale { nodes: 1, ranks: 8 },
            measured_with: Vec::new(),
            drift: Some(Drift { deviation_pct, passes: 3 }),
            sizes: (1..).zip(runs).map(at).collect(),
        };
        Snapshot { is_whole: true, groups: vec![group], ..Snapshot::default() }
    }

    #[test]
    fn passes_come_to_the_level_of_the_middle_one() {
        let runs = [vec![0.8, 1.0, 1.01], vec![8.0, 10.0, 10.1], vec![80.0, 100.0, 101.0], vec![5.0, 5.0]];
        let even = levelled(&of(10.0, &runs)).unwrap();
        for (at, middle) in even.groups[0].sizes.iter().zip([1.0, 10.0, 100.0]) {
            let SnapshotRuns::Each(runs) = &at.measured[0].runs else { panic!() };
            assert!(runs.iter().all(|run| (run / middle - 1.0).abs() < 1e-9), "{runs:?}");
        }
        // It is not known of which passes these are.
        assert_eq!(even.groups[0].sizes[3].measured[0].runs, SnapshotRuns::Each(vec![5.0, 5.0]));
        assert_eq!(levelled(&of(0.0, &runs)), None);
    }

    #[test]
    fn only_the_groups_whose_passes_differ_are_levelled() {
        let runs = [vec![0.8, 1.0, 1.01], vec![8.0, 10.0, 10.1]];
        let mut both = of(10.0, &runs);
        both.groups.extend(of(0.0, &runs).groups);
        let even = levelled(&both).unwrap();
        assert_eq!(even.groups[1], both.groups[1]);
        assert_ne!(even.groups[0], both.groups[0]);
    }

    #[test]
    fn a_run_that_tells_nothing_does_not_shift_its_pass() {
        let runs = [vec![0.8, 1.0, 1.01], vec![0.8, 1.0, 0.0], vec![0.8, 1.0, 1.01]];
        let even = levelled(&of(10.0, &runs)).unwrap();
        let SnapshotRuns::Each(runs) = &even.groups[0].sizes[2].measured[0].runs else { panic!() };
        assert!(runs.iter().all(|run| (run - 1.0).abs() < 1e-9), "{runs:?}");
    }
}
