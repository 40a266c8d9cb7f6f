//! Simulated rows of the sizes that the benches are about.

use collectune::{
    intake::{self, FileContent},
    learn::Table,
    progress::Silent,
    tuning::{
        aggregate::Target,
        features::{self, ModelInput},
        read::Row,
        runs::aggregate,
        simulate::Simulation,
        sweep::Sweep,
    },
};

/// The rows of a simulation.
pub fn rows(simulation: &Simulation) -> Vec<Row> {
    let csv = simulation.to_csv();
    match intake::open(csv.as_bytes(), "simulated.csv", csv.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Rows(rows)) => rows,
        (report, _) => panic!("{report:?}"),
    }
}

/// The points of a simulation.
pub fn sweep(simulation: &Simulation) -> Sweep {
    aggregate(&rows(simulation), Target::Time)
}

/// Exactly so many rows as the seed sees them, picked evenly from a sweep of six collectives at four scales: its ten
/// features and the printed busbw.
pub fn seed_rows(wanted: usize) -> (Table, Vec<f64>) {
    let all = rows(&Simulation::of_rows(wanted as u64));
    let picked = (0..wanted).map(|i| &all[i * all.len() / wanted]);
    let (asks, busbw): (Vec<ModelInput>, Vec<f64>) = picked
        .filter_map(|row| {
            let sample = row.in_place?;
            Some(((row.workload, row.ran), Target::Printed.busbw_gbps(&row.workload, &sample)))
        })
        .unzip();
    (features::seed(&asks), busbw)
}
