//! A training cluster without a GPU: samples of made-up operators and collectives with a run to predict, for examples
//! and tests.
//!
//! Times follow the work of each operator on a made-up GPU and network, with some noise, and a few of the oddities that
//! real samples have: rows that are far off, an operator that was sampled for one tensor degree only. They are made up,
//! and so is every file that comes from here.

use super::{
    catalogue::{Catalogue, Operator},
    samples::{Communicator, VOCABULARY},
    scope::Scope,
};
use crate::{
    math::{Stream, exp},
    text::{Cell, Table},
};

/// The parameters of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The seed of all draws.
    pub seed: u64,
    /// The number of GPUs in a node.
    pub gpus_per_node: u32,
}

/// The name of the GPU, which says that there is none.
const GPU: &str = "SimulatedGPU";
/// TFLOP/s and GB/s that it reaches at best, and what a launch costs in µs.
const PEAK_TFLOPS: f64 = 250.0;
const MEMORY_GBPS: f64 = 1600.0;
const LAUNCH_US: f64 = 9.0;
/// GB/s of a GPU within a node and between nodes, and latency in µs.
const WITHIN: (f64, f64) = (200.0, 18.0);
const BETWEEN: (f64, f64) = (22.0, 45.0);

/// The operators with the ratio of backward to forward time.
const OPERATORS: [(&str, f64); 12] = [
    ("embedding", 2.2),
    ("RMSlayernorm", 3.1),
    ("linear1", 1.95),
    ("RoPE", 2.3),
    ("flash_atten", 2.9),
    ("linear2", 1.9),
    ("linear3", 1.9),
    ("gelu", 1.35),
    ("linear4", 1.9),
    ("linear_final", 1.85),
    ("parallel_cross_entropy_128", 0.35),
    ("res_add", 1.0),
];
const OPTIMIZERS: [(&str, f64); 3] =
    [("firstStage_optimizer", 1.08), ("middleStage_optimizer", 1.0), ("lastStage_optimizer", 1.06)];

impl Simulation {
    /// The cluster of the example.
    pub const fn example() -> Self {
        Self { seed: 1, gpus_per_node: 4 }
    }

    /// All files with their paths: samples of operators and collectives, a catalogue with the GPU, and a run.
    pub fn files(&self) -> Vec<(String, String)> {
        let catalogue = Catalogue::built_in();
        let mut noise = Stream::new(self.seed);
        let mut files = Vec::new();
        for (name, backward) in OPERATORS {
            let Some(operator) = catalogue.operator(name) else { continue };
            let table = samples(operator, backward, &mut noise);
            files.push((format!("simulated/operator/{GPU}_{name}_fp16.csv"), table.to_csv()));
        }
        for (name, factor) in OPTIMIZERS {
            files.push((format!("simulated/operator/{GPU}_{name}_fp16.csv"), optimizer(factor, &mut noise).to_csv()));
        }
        for (name, sizes) in
            [("allreduce", 1_u64 << 21), ("allreduce_large", 1 << 27), ("allgather_large", 1 << 25), ("p2p", 1 << 21)]
        {
            for communicator in self.communicators(name) {
                let Communicator { nodes, per_node } = communicator;
                let table = collective(&catalogue, name, sizes, communicator, &mut noise);
                files.push((format!("simulated/nccl/{GPU}_{name}_fp16_{nodes}_{per_node}.csv"), table.to_csv()));
            }
        }
        files.push(("simulated/simulated_catalogue.yml".to_owned(), self.catalogue()));
        files.push(("simulated/simulated_run.yml".to_owned(), self.run()));
        files
    }

    fn communicators(&self, name: &str) -> Vec<Communicator> {
        let over = |nodes, per_node| Communicator { nodes, per_node };
        match name {
            "p2p" => vec![over(1, 2), over(2, 1)],
            _ => vec![over(1, 2), over(1, self.gpus_per_node), over(2, 1), over(2, self.gpus_per_node), over(4, 1)],
        }
    }

    fn catalogue(&self) -> String {
        format!(
            "# Simulated: no such GPU exists.\ncatalogue: 1\ngpus:\n  - {{name: {GPU}, peak_tflops: {{fp16: 312}}, \
             memory_gib: 80, memory_gbps: 2039}}\nclusters:\n  - {{name: simulated, gpu: {GPU}, gpus_per_node: {}, nodes: \
             64, intra_gbps: {}, inter_gbps_per_gpu: {}, latency_us: {}}}\n",
            self.gpus_per_node, WITHIN.0, BETWEEN.0, BETWEEN.1
        )
    }

    fn run(&self) -> String {
        format!(
            "# A made-up run of a model of 7 B parameters on the simulated cluster.\ngpu_name: {GPU}\ncluster: simulated\n\
             # pp, mp, dp, b, h, l, dim, steps_per_update, gpus_per_node\n\
             training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, {}]\nencoders: 32\n",
            self.gpus_per_node
        )
    }
}

/// The sampled values of an input.
fn axis(operator: &str, input: &str) -> &'static [f64] {
    match input {
        // One of them was sampled on one GPU only.
        "mp" if operator == "linear2" => &[1.0],
        "mp" => &[1.0, 2.0, 4.0, 8.0],
        "b" => &[1.0, 2.0, 4.0, 8.0],
        "h" => &[16.0, 32.0, 64.0],
        "l" => &[1024.0, 2048.0, 4096.0],
        "dim" => &[2048.0, 4096.0, 6144.0],
        _ => &[1.0],
    }
}

/// Calls `each` with all combinations of the values, the last input fastest.
fn each_point(axes: &[&[f64]], mut each: impl FnMut(&[f64])) {
    let count: usize = axes.iter().map(|axis| axis.len()).product();
    for index in 0..count {
        let mut rest = index;
        let mut point = vec![0.0; axes.len()];
        for (value, axis) in point.iter_mut().zip(axes).rev() {
            *value = axis[rest % axis.len()];
            rest /= axis.len();
        }
        each(&point);
    }
}

fn samples(operator: &Operator, backward: f64, noise: &mut Stream) -> Table {
    let mut table =
        Table::new(operator.inputs.iter().map(String::as_str).chain(["F_dur(us)", "B_dur(us)"]).collect::<Vec<_>>());
    let axes: Vec<&[f64]> = operator.inputs.iter().map(|input| axis(&operator.name, input)).collect();
    each_point(&axes, |point| {
        let mut scope = Scope::default();
        scope.set("vocabulary", VOCABULARY);
        operator.inputs.iter().zip(point).for_each(|(name, value)| scope.set(name, *value));
        let work = |work: Option<f64>| work.unwrap_or_default();
        let flop = work(operator.flop(&scope).ok().flatten());
        let bytes = work(operator.bytes(&scope).ok().flatten());
        // Small matrices keep fewer of the GPU's processors busy.
        let share = 0.35 + 0.6 * (flop / (flop + 2e9));
        let work_us = (flop / (PEAK_TFLOPS * share) / 1e6).max(bytes / MEMORY_GBPS / 1e3);
        let forward = (LAUNCH_US + work_us) * exp(0.015 * noise.normal());
        let backward = (LAUNCH_US + work_us * backward) * exp(0.02 * noise.normal());
        let mut row: Vec<Cell> = point.iter().map(|value| Cell::Whole(*value as u64)).collect();
        row.extend([Cell::Number(forward, 1), Cell::Number(backward, 1)]);
        table.push(row);
    });
    table
}

fn optimizer(factor: f64, noise: &mut Stream) -> Table {
    let mut table = Table::new(["mp", "dim", "encoders", "dur(us)"]);
    let axes: [&[f64]; 3] = [&[1.0, 2.0, 4.0], &[2048.0, 4096.0, 6144.0], &[4.0, 6.0, 8.0, 10.0, 12.0]];
    each_point(&axes, |point| {
        let [mp, dim, layers] = [point[0], point[1], point[2]];
        let parameters = 12.0 * layers * dim * dim / mp;
        // Weights, gradients and two moments are read, and all but the gradients written.
        let mut time = (200.0 + 26.0 * parameters / MEMORY_GBPS / 1e3) * factor * exp(0.02 * noise.normal());
        // Some measurements went wrong.
        if noise.unit() < 0.03 {
            time *= 40.0;
        }
        let mut row: Vec<Cell> = point.iter().map(|value| Cell::Whole(*value as u64)).collect();
        row.push(Cell::Number(time, 1));
        table.push(row);
    });
    table
}

fn collective(
    catalogue: &Catalogue,
    name: &str,
    smallest: u64,
    communicator: Communicator,
    noise: &mut Stream,
) -> Table {
    /// The number of message sizes of a sweep.
    const SIZES: u64 = 64;
    let mut table = Table::new(["shape", "nodes", "GPUsPerNode", "dur(us)"]);
    let (gbps, latency_us) = if communicator.nodes > 1 { BETWEEN } else { WITHIN };
    let n = f64::from(communicator.ranks());
    let factor =
        catalogue.collective(name).and_then(|known| known.busbw_factor.evaluate(&Scope::from([("n", n)])).ok());
    for step in 1..=SIZES {
        let elements = smallest * (SIZES / 8 + step) / (SIZES / 8);
        let transfer = 2.0 * elements as f64 * factor.unwrap_or(1.0) / gbps / 1e3;
        let mut time = (latency_us + transfer) * exp(0.01 * noise.normal());
        if noise.unit() < 0.02 {
            time *= 2.2;
        }
        let counts = [elements, communicator.nodes.into(), communicator.per_node.into()];
        table.push(counts.into_iter().map(Cell::Whole).chain([Cell::Number(time, 1)]).collect());
    }
    table
}
