//! Measured kernels, and what their slowdown beside communication is.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One launch of a kernel, alone and beside a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name without parameters, as the profiler shortens it.
    pub name: String,
    /// The number of the line, row or record in its file, from 1.
    pub line: u64,
    /// The duration in ns without communication beside it.
    pub alone_ns: f64,
    /// The duration in the distributed run.
    pub duration_ns: f64,
    /// The share of [`Kernel::duration_ns`] that overlaps communication, from 0 to 1.
    pub overlap_ratio: f64,
    /// The profiler's metrics, one for each column of the [`Dataset`].
    pub metrics: Vec<f64>,
}

impl Kernel {
    /// The slowdown s of `duration = alone · (1 + overlap ratio · s)`: a relative increase, 0 without overlap.
    pub fn slowdown(&self) -> f64 {
        slowdown(self.duration_ns / self.alone_ns, self.overlap_ratio)
    }

    /// Whether the kernel ran at the same time as a collective.
    pub fn is_overlapped(&self) -> bool {
        self.overlap_ratio != 0.0
    }
}

/// The slowdown of a kernel whose duration is `ratio` times that alone.
pub fn slowdown(ratio: f64, overlap_ratio: f64) -> f64 {
    if overlap_ratio == 0.0 { 0.0 } else { (ratio - 1.0) / overlap_ratio }
}

/// The duration of a kernel over that alone, by its slowdown. No kernel takes less than no time.
pub fn ratio(slowdown: f64, overlap_ratio: f64) -> f64 {
    (1.0 + overlap_ratio * slowdown).max(0.0)
}

/// The first of these kernels that each is equal to: of the same name, durations, overlap ratio and metrics, of which
/// the first `metrics` count. Most are only equal to themselves.
pub fn first_equals(kernels: &[&Kernel], metrics: usize) -> Vec<usize> {
    let mut known: HashMap<(&str, Vec<u64>), usize> = HashMap::with_capacity(kernels.len());
    let numbers = |kernel: &Kernel| {
        let times = [kernel.alone_ns, kernel.duration_ns, kernel.overlap_ratio];
        times.iter().chain(kernel.metrics.iter().take(metrics)).map(|number| number.to_bits()).collect()
    };
    let mut firsts = Vec::with_capacity(kernels.len());
    for (index, kernel) in kernels.iter().enumerate() {
        firsts.push(*known.entry((kernel.name.as_str(), numbers(kernel))).or_insert(index));
    }
    firsts
}

/// Kernels of one run, in the order of their launches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// The names of the files that hold the run.
    pub name: String,
    /// The columns besides durations: the [`standard`](crate::overlap::read::STANDARD) metrics that are available, in
    /// their order, then every other numeric column.
    pub columns: Vec<String>,
    /// The kernel launches, in the order of the file.
    pub kernels: Vec<Kernel>,
    /// Rows whose slowdown is not that of their durations, which count; and the first one's line.
    pub contradictions: (u64, Option<u64>),
}

impl Dataset {
    /// The number of columns that are standard metrics, which come first. One of the further columns may be a row
    /// number.
    pub fn standard_metrics(&self) -> usize {
        let is_standard = |name: &&String| super::read::STANDARD.iter().any(|(standard, _)| standard == name);
        self.columns.iter().take_while(is_standard).count()
    }

    /// The launches that ran at the same time as a collective.
    pub fn overlapped(&self) -> impl Iterator<Item = &Kernel> + Clone {
        self.kernels.iter().filter(|kernel| kernel.is_overlapped())
    }
}
