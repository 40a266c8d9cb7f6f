//! Measured steps as runs, on the cluster that they ran on.

use super::{
    calibrate::Measured,
    catalogue::{Catalogue, ClusterEntry},
    samples::{Cluster, CollectiveRow, CollectiveSamples, Communicator, Place},
    steps::{ReduceTable, StepTable},
};
use crate::order::Order;

/// The cluster that a table's steps ran on: the one whose name its path holds, else that of the samples.
#[must_use]
pub fn cluster_entry<'a>(table: &StepTable, samples: &Cluster, catalogue: &'a Catalogue) -> Option<&'a ClusterEntry> {
    let path = table.name.to_ascii_lowercase();
    let named = catalogue.clusters.iter().find(|entry| path.contains(&entry.name.to_ascii_lowercase()));
    named.or_else(|| catalogue.cluster(&samples.name))
}

/// The operators of samples on another cluster: its all-reduce tables, and what the catalogue knows of its network. The
/// samples' own cluster stays as it is.
#[must_use]
pub fn on_cluster(samples: &Cluster, entry: &ClusterEntry, reduces: &[ReduceTable], catalogue: &Catalogue) -> Cluster {
    if entry.name.eq_ignore_ascii_case(&samples.name) {
        return samples.clone();
    }
    let mut rows: Vec<CollectiveRow> = Vec::new();
    for table in reduces.iter().filter(|table| is_of_gpu(table, &entry.gpu, catalogue)) {
        let communicator = Communicator { nodes: 1, per_node: table.ranks };
        if rows.iter().any(|row| row.communicator == communicator) {
            continue;
        }
        let row = |&(bytes, time_us): &(u64, f64)| CollectiveRow {
            elements: bytes / 2,
            communicator,
            time_us,
            place: Place::default(),
        };
        rows.extend(table.points.iter().map(row));
    }
    rows.order_by_key(|row| (row.communicator, row.elements));
    let collective = CollectiveSamples { collective: "allreduce".to_owned(), precision: "fp16".to_owned(), rows };
    let collectives = if collective.rows.is_empty() { Vec::new() } else { vec![collective] };
    Cluster { name: entry.name.clone(), collectives, ..samples.clone() }
}

/// A table whose path names another GPU is of that one.
fn is_of_gpu(table: &ReduceTable, gpu: &str, catalogue: &Catalogue) -> bool {
    let path = table.name.to_ascii_lowercase();
    let names = |known: &super::catalogue::Gpu| {
        known.aliases.iter().chain([&known.name]).any(|name| path.contains(&name.to_ascii_lowercase()))
    };
    let named: Vec<&str> =
        catalogue.gpus.iter().filter(|known| names(known)).map(|known| known.name.as_str()).collect();
    let own = catalogue.gpu(gpu).map(|known| known.name.as_str());
    named.is_empty() || own.is_some_and(|own| named.contains(&own))
}

/// Its steps as runs.
#[must_use]
pub fn runs(table: &StepTable, entry: &ClusterEntry, catalogue: &Catalogue) -> Vec<Measured> {
    let run = |step: &super::steps::MeasuredStep| Measured {
        run: step.run(entry.gpus_per_node, catalogue),
        time_us: step.time_us,
    };
    table.steps.iter().map(run).collect()
}
