//! The features of a workload and configuration from which the models predict.

use crate::{
    collective::{Configuration, Workload},
    learn::{Table, importance::Shuffle},
    math::log2,
};

/// A workload and a configuration to run it with.
pub type ModelInput = (Workload, Configuration);

/// Names of the features of [`seed`].
pub const SEED: [&str; 10] = [
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
pub fn seed(asks: &[ModelInput]) -> Table {
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

/// Names of what [`logarithmic`] is about; its features are these and [`BYTES_PER_CHANNEL`].
pub const LOGARITHMIC: [&str; 7] =
    ["log2 size", "log2 channels", "nodes", "ranks", "collective", "algorithm", "protocol"];

/// The name of the last feature of [`logarithmic`], which follows from size and channels.
pub const BYTES_PER_CHANNEL: &str = "log2 bytes per channel";

/// The features of the default model: sizes and channels as logarithms.
///
/// How a message fills the chunks of its channels depends on its bytes per channel: a step of busbw lies along a
/// diagonal of sizes and channels, which trees can't cut by either alone.
pub fn logarithmic(asks: &[ModelInput]) -> Table {
    let mut names = LOGARITHMIC.to_vec();
    names.push(BYTES_PER_CHANNEL);
    let mut table = Table::new(&names);
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
            size - channels,
        ]);
    }
    table
}

/// Importances of the features of [`logarithmic`] as those of [`LOGARITHMIC`]: bytes per channel count half for the
/// size and half for the channels.
pub fn of_named(mut importances: Vec<f64>) -> Vec<f64> {
    if let Some(per_channel) = (importances.len() > LOGARITHMIC.len()).then(|| importances.pop()).flatten() {
        importances[..2].iter_mut().for_each(|importance| *importance += per_channel / 2.0);
    }
    importances
}

/// The two coordinates of the smooth surfaces: log2 of the size and of the channels.
pub fn place(size_bytes: u64, channels: u32) -> [f64; 2] {
    [log2(size_bytes.max(1) as f64), log2(f64::from(channels.max(1)))]
}

/// The asks with one of the [`logarithmic`] features' values taken from other asks.
pub fn shuffled(asks: &[ModelInput], shuffle: &Shuffle) -> Vec<ModelInput> {
    let mut shuffled = asks.to_vec();
    for ((workload, configuration), &from) in shuffled.iter_mut().zip(&shuffle.order) {
        let (other, theirs) = asks[from];
        match shuffle.feature {
            0 => workload.size_bytes = other.size_bytes,
            1 => configuration.channels = theirs.channels,
            2 => workload.scale.nodes = other.scale.nodes,
            3 => workload.scale.ranks = other.scale.ranks,
            4 => workload.collective = other.collective,
            5 => configuration.algorithm = theirs.algorithm,
            _ => configuration.protocol = theirs.protocol,
        }
    }
    shuffled
}
