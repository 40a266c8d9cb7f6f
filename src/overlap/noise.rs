//! How well a run predicts another run of the same program: no model can be expected to do better.

use serde::{Deserialize, Serialize};

use super::{
    checks::correlation,
    kernel::{Dataset, Kernel, ratio},
};
use crate::{
    learn::metrics,
    math::{ln, median},
};

/// Two runs of one program on one kind of GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Their names.
    pub runs: [String; 2],
    /// Kernels that overlap in both.
    pub kernels: u64,
    /// Pearson's correlation of their slowdowns.
    pub correlation: Option<f64>,
    /// The mean error of durations where the slowdowns of the first run predict the second, in per cent.
    pub mape_pct: f64,
    /// Kernels whose duration the first run predicts within 5 %, in per cent.
    pub within_5_pct: f64,
}

/// The same kernels, nearly, launch by launch.
const SAME_NAMES: f64 = 0.9;
/// ln of durations alone that differ by no more in the median: the same GPU.
const SAME_GPU: f64 = 0.1;

/// Every pair of runs of one program.
#[must_use]
pub fn ceilings(datasets: &[Dataset]) -> Vec<Ceiling> {
    let pairs = datasets.iter().enumerate().flat_map(|(at, a)| datasets[at + 1..].iter().map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| ceiling(a, b)).collect()
}

fn ceiling(a: &Dataset, b: &Dataset) -> Option<Ceiling> {
    let longer = a.kernels.len().max(b.kernels.len());
    let same: Vec<(&Kernel, &Kernel)> = a.kernels.iter().zip(&b.kernels).filter(|(a, b)| a.name == b.name).collect();
    if (same.len() as f64) < SAME_NAMES * longer as f64 {
        return None;
    }
    let mut apart: Vec<f64> = same.iter().map(|(a, b)| ln(a.alone_ns / b.alone_ns).abs()).collect();
    median(&mut apart).filter(|apart| *apart <= SAME_GPU)?;
    let both: Vec<_> = same.into_iter().filter(|(a, b)| a.is_overlapped() && b.is_overlapped()).collect();
    let durations: Vec<(f64, f64)> =
        both.iter().map(|(a, b)| (b.duration_ns, b.alone_ns * ratio(a.slowdown(), b.overlap_ratio))).collect();
    let within = durations.iter().filter(|(measured, said)| (said - measured).abs() <= 0.05 * measured).count();
    Some(Ceiling {
        runs: [a.name.clone(), b.name.clone()],
        kernels: both.len() as u64,
        correlation: correlation(both.iter().map(|(a, b)| (a.slowdown(), b.slowdown()))),
        mape_pct: metrics::mean_absolute_percentage_error(&durations)?,
        within_5_pct: within as f64 / durations.len() as f64 * 100.0,
    })
}

impl Ceiling {
    /// In words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let [a, b] = &self.runs;
        let correlation =
            self.correlation.map_or_else(String::new, |r| format!(", their slowdowns correlate at {r:.2}"));
        format!(
            "{a} and {b} are two runs of one program: over {} kernels{correlation}, and the first predicts the durations \
             of the second with an error of {:.1} %. No model can be expected to do better.",
            self.kernels, self.mape_pct
        )
    }
}
