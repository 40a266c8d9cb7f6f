//! Repeatability: how closely the slowdowns of one run repeat in another run of the same program.

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
pub struct Repeatability {
    /// The names of the two runs, the first of which predicts the second.
    pub runs: [String; 2],
    /// The number of kernels that overlap in both.
    pub kernels: u64,
    /// Those of them that have the same durations in both.
    pub equal: u64,
    /// Pearson's correlation of their slowdowns; `None` where one of them does not vary.
    pub correlation: Option<f64>,
    /// The mean error of durations where the slowdowns of the first run predict the second, in per cent.
    pub mape_pct: f64,
    /// The mean error of the same durations without any slowdown, in per cent.
    pub no_slowdown_mape_pct: f64,
    /// Kernels whose duration the first run predicts within 5 %, in per cent.
    pub within_5_pct: f64,
}

/// The share of equal kernel names, launch by launch, from which two runs count as the same program.
const SAME_NAMES: f64 = 0.9;
/// ln of durations alone that differ by no more in the median: the same GPU.
const SAME_GPU: f64 = 0.1;

/// The repeatability of every pair of runs of the same program.
pub fn repeatability(datasets: &[Dataset]) -> Vec<Repeatability> {
    let pairs = datasets.iter().enumerate().flat_map(|(at, a)| datasets[at + 1..].iter().map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| of_pair(a, b)).collect()
}

fn of_pair(a: &Dataset, b: &Dataset) -> Option<Repeatability> {
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
    let equal = both.iter().filter(|(a, b)| (a.alone_ns, a.duration_ns) == (b.alone_ns, b.duration_ns)).count();
    let within =
        durations.iter().filter(|(measured, estimates)| (estimates - measured).abs() <= 0.05 * measured).count();
    let none: Vec<(f64, f64)> = both.iter().map(|(_, b)| (b.duration_ns, b.alone_ns)).collect();
    Some(Repeatability {
        runs: [a.name.clone(), b.name.clone()],
        kernels: both.len() as u64,
        equal: equal as u64,
        correlation: correlation(both.iter().map(|(a, b)| (a.slowdown(), b.slowdown()))),
        mape_pct: metrics::mean_absolute_percentage_error(&durations)?,
        no_slowdown_mape_pct: metrics::mean_absolute_percentage_error(&none)?,
        within_5_pct: within as f64 / durations.len() as f64 * 100.0,
    })
}

impl Repeatability {
    /// More than half of the kernels have the same durations in both: they are copies of one measurement.
    pub fn is_copy(&self) -> bool {
        self.equal * 2 > self.kernels
    }

    /// The comparison as a whole sentence, for the report.
    pub fn sentence(&self) -> String {
        let [a, b] = &self.runs;
        if self.is_copy() {
            return format!(
                "{a} and {b} hold the same launches: {} of {} kernels have the same durations in both, so nothing can be said of \
                 how well slowdowns repeat.",
                self.equal, self.kernels
            );
        }
        let correlation =
            self.correlation.map_or_else(String::new, |r| format!(", their slowdowns correlate at {r:.2}"));
        let against = if self.mape_pct > self.no_slowdown_mape_pct {
            "so a slowdown as one launch shows it is worse than none"
        } else {
            "so a slowdown as one launch shows it is better than none"
        };
        format!(
            "{a} and {b} are two runs of one program: over {} kernels{correlation}, and the first predicts the durations \
             of the second with an error of {:.1} %. No slowdown at all misses the same durations by {:.1} %, {against}; a \
             model that learns from many launches can err less than either.",
            self.kernels, self.mape_pct, self.no_slowdown_mape_pct
        )
    }
}
