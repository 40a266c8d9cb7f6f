//! Kernels without a GPU: launches of a made-up training step beside made-up collectives, for examples and tests.
//!
//! A kernel that moves much memory, fills many of the GPU's processors and runs long is slowed down more, as a
//! collective takes both from it. Names, metrics and durations are of the order that a step of a transformer shows.
//! They are made up, and so is every file that comes from here.

use crate::{
    math::{Stream, exp},
    text::{Cell, Table},
};

/// The size and seed of a simulated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// Layers of the model; each launches every kernel once forward and once backward.
    pub layers: u32,
    /// The seed of the kernels' durations and metrics.
    pub seed: u64,
}

/// A kernel: its name; compute, memory and DRAM throughput, achieved and maximum occupancy, hit rates of the caches,
/// all in per cent; its duration alone in µs; the share of its launches beside a collective.
type Shape = (&'static str, [f64; 7], f64, f64);

const SHAPES: [Shape; 12] = [
    ("simulated_gemm_128x256_qkv", [78.0, 46.0, 31.0, 12.4, 12.5, 22.0, 74.0], 410.0, 0.7),
    ("simulated_gemm_128x128_out", [74.0, 51.0, 35.0, 12.3, 12.5, 25.0, 70.0], 160.0, 0.7),
    ("simulated_gemm_256x128_up", [81.0, 44.0, 29.0, 12.4, 12.5, 20.0, 77.0], 620.0, 0.8),
    ("simulated_gemm_128x128_down", [79.0, 48.0, 33.0, 12.2, 12.5, 23.0, 72.0], 590.0, 0.8),
    ("simulated_attention_forward", [62.0, 38.0, 14.0, 23.0, 25.0, 41.0, 83.0], 340.0, 0.6),
    ("simulated_attention_backward", [58.0, 42.0, 18.0, 22.0, 25.0, 37.0, 79.0], 870.0, 0.8),
    ("simulated_layer_norm", [31.0, 84.0, 84.0, 71.0, 75.0, 38.0, 46.0], 62.0, 0.6),
    ("simulated_gelu", [24.0, 91.0, 91.0, 82.0, 100.0, 0.5, 33.0], 118.0, 0.6),
    ("simulated_residual_add", [12.0, 92.0, 92.0, 84.0, 100.0, 0.1, 34.0], 47.0, 0.5),
    ("simulated_dropout", [27.0, 88.0, 88.0, 79.0, 100.0, 0.4, 34.0], 74.0, 0.5),
    ("simulated_softmax", [38.0, 80.0, 77.0, 74.0, 100.0, 12.0, 41.0], 96.0, 0.6),
    ("simulated_bias_reduce", [18.0, 63.0, 58.0, 49.0, 50.0, 18.0, 52.0], 28.0, 0.5),
];

const HEADER: [&str; 16] = [
    "id",
    "kShortName",
    "kDemangledName",
    "ground_truth",
    "duration",
    "overlap_ratio",
    "slowdown",
    "ID",
    "Kernel Name",
    "Compute throughput",
    "Memory throughput",
    "DRAM throughput",
    "Achieved occupancy",
    "Maximum occupancy",
    "L1 hit rate",
    "L2 hit rate",
];

impl Simulation {
    /// The run of the built-in example.
    pub fn example() -> Self {
        Self { layers: 12, seed: 1 }
    }

    /// Writes it as merged features, in the form of the published module.
    pub fn to_csv(&self) -> String {
        let mut noise = Stream::new(self.seed);
        let mut table = Table::new(HEADER);
        let launches = (0..self.layers * 2).flat_map(|_| SHAPES);
        for (id, (name, metrics, alone_us, beside)) in (1_u64..).zip(launches) {
            let alone = (alone_us * 1000.0 * exp(0.25 * noise.normal())).round();
            let metrics = metrics.map(|metric| {
                let measured = metric * exp(0.2 * noise.normal());
                (measured.min(100.0) * 100.0).round() / 100.0
            });
            let overlap_ratio = if noise.unit() < beside { (0.15 + 0.85 * noise.unit()).min(1.0) } else { 0.0 };
            // A collective takes bandwidth and processors, which slows a kernel the more of them it uses.
            let [compute, _, dram, ..] = metrics;
            let pressure = 0.05 + 0.9 * (dram / 100.0) * (dram / 100.0) + 0.25 * (compute / 100.0) * (compute / 100.0);
            let slowdown = pressure * exp(0.1 * noise.normal());
            let factor = (1.0 + overlap_ratio * slowdown) * exp(0.015 * noise.normal());
            let duration = (alone * factor).round();
            let told = if overlap_ratio > 0.0 { (duration / alone - 1.0) / overlap_ratio } else { 0.0 };
            let mut row: Vec<Cell> = vec![
                id.into(),
                name.into(),
                name.into(),
                Cell::Number(alone, 0),
                Cell::Number(duration, 0),
                Cell::Number(overlap_ratio, 9),
                Cell::Number(told, 9),
                (id - 1).into(),
                name.into(),
            ];
            row.extend(metrics.map(|metric| Cell::Number(metric, 2)));
            table.push(row);
        }
        table.to_csv()
    }
}
