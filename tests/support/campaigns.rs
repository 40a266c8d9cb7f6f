//! Simulated campaigns of a small sweep, and what a comparison of two of them says.

use collectune::{
    collective::Collective,
    intake::{self, FileContent},
    progress::Silent,
    report::snapshot::{Extent, Snapshot},
    tuning::{
        aggregate::Target,
        compare::{ChangeVerdict, CompareFindings, CompareQuestion},
        read::Row,
        runs::Runs,
        simulate::Simulation,
        study::TuningStudy,
    },
};

pub fn read(name: &str, bytes: &[u8]) -> Vec<Row> {
    match intake::open(bytes, name, bytes.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Rows(rows)) => rows,
        (report, _) => panic!("{report:?}"),
    }
}

pub fn snapshot(rows: Vec<Row>, extent: Extent) -> Snapshot {
    Snapshot::new(&TuningStudy::of_runs(Runs::new(rows, Target::Time), Target::Time), extent).unwrap()
}

/// A campaign of a small sweep.
pub fn campaign(seed: u64, repeats: u32) -> Vec<Row> {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes: (12..28).map(|log2| 1 << log2).collect(),
        channels: vec![4, 8, 16, 32],
        repeats,
        seed,
    };
    read("simulated.csv", simulation.to_csv().as_bytes())
}

/// Every run of some rows takes longer.
pub fn slower(rows: &mut [Row], factor: f64, which: impl Fn(&Row) -> bool) {
    for row in rows.iter_mut().filter(|row| which(row)) {
        for sample in [&mut row.in_place, &mut row.out_of_place].into_iter().flatten() {
            sample.time_us = sample.time_us.map(|time| time * factor);
            sample.busbw_gbps /= factor;
        }
    }
}

pub fn any_change(question: &CompareQuestion) -> CompareQuestion {
    CompareQuestion { least_pct: 0.0, ..question.clone() }
}

/// How many sizes and configurations are said to have changed beside the whole.
pub fn changed(findings: &CompareFindings) -> usize {
    let is_changed = |verdict| matches!(verdict, ChangeVerdict::Slower | ChangeVerdict::Faster);
    findings.differences.iter().filter(|difference| is_changed(difference.verdict)).count() + findings.relative.len()
}

/// Whether a collective and scale is said to have changed as a whole.
pub fn whole_changed(findings: &CompareFindings) -> bool {
    findings.overall.iter().any(|whole| matches!(whole.verdict, ChangeVerdict::Slower | ChangeVerdict::Faster))
}
