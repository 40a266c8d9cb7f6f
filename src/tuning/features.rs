//! What the trees see of a workload and a configuration.

use crate::{
    collective::{Configuration, Workload},
    learn::Table,
    math::log2,
};

/// A workload and a configuration to run it with.
pub type Ask = (Workload, Configuration);

const SEED: [&str; 10] = [
    "collective",
    "num_nodes",
    "num_gpus",
    "size_bytes",
    "log_size",
    "gpus_per_node",
    "bytes_per_gpu",
    "algo",
    "proto",
    "nchannels",
];

/// The ten features of rccl-tune-predict, in its order.
#[must_use]
pub fn seed(asks: &[Ask]) -> Table {
    let mut table = Table::new(&SEED);
    for (workload, configuration) in asks {
        let nodes = f64::from(workload.scale.nodes);
        let ranks = f64::from(workload.scale.ranks);
        let size_bytes = workload.size_bytes as f64;
        table.push(&[
            f64::from(workload.collective.code()),
            nodes,
            ranks,
            size_bytes,
            log2(size_bytes),
            ranks / nodes,
            size_bytes / ranks,
            f64::from(configuration.algorithm.code()),
            f64::from(configuration.protocol.code()),
            f64::from(configuration.channels),
        ]);
    }
    table
}

const LOGARITHMIC: [&str; 7] = ["log2 size", "log2 channels", "nodes", "ranks", "collective", "algorithm", "protocol"];

/// What busbw depends on, with sizes and channels as logarithms.
#[must_use]
pub fn logarithmic(asks: &[Ask]) -> Table {
    let mut table = Table::new(&LOGARITHMIC);
    for (workload, configuration) in asks {
        let [size, channels] = place(workload.size_bytes, configuration.channels);
        table.push(&[
            size,
            channels,
            f64::from(workload.scale.nodes),
            f64::from(workload.scale.ranks),
            f64::from(workload.collective.code()),
            f64::from(configuration.algorithm.code()),
            f64::from(configuration.protocol.code()),
        ]);
    }
    table
}

/// The two coordinates of the smooth surfaces: log2 of the size and of the channels.
#[must_use]
pub fn place(size_bytes: u64, channels: u32) -> [f64; 2] {
    [log2(size_bytes.max(1) as f64), log2(f64::from(channels.max(1)))]
}
