//! Campaigns in which nothing changed, drawn from the runs of the two that are compared.
//!
//! Runs stall, and a launch or a pass may be slow at all of its sizes, so the distribution of medians of three such
//! runs has tails that no formula describes. Campaigns are therefore resampled: every launch gets the deviations, at
//! all sizes, of a random launch of the same pass. That keeps the errors that the sizes of a launch, or of a pass,
//! share. Every change that is found in these campaigns is a false alarm.

use super::{
    pooled::{ArmChange, SizeChanges},
    state::MeasuredArm,
};
use crate::math::{Stream, median};

/// The deviations of launches from the medians of their points.
#[derive(Clone, Debug)]
pub struct LaunchResiduals {
    /// By side (before, after), pass and arm: the deviation at each size in ln busbw; NaN where nothing ran.
    passes: [Vec<Vec<Vec<f64>>>; 2],
}

impl LaunchResiduals {
    /// The residuals of `arms`, which are ascending, at these sizes.
    pub fn new(sizes: &[SizeChanges], arms: &[MeasuredArm]) -> Self {
        let of_side = |side: usize| {
            let runs = sizes.iter().flat_map(|size| &size.cells).map(|cell| cell.residuals[side].len()).max();
            let mut passes = vec![vec![vec![f64::NAN; sizes.len()]; arms.len()]; runs.unwrap_or(0)];
            for (place, size) in sizes.iter().enumerate() {
                for cell in &size.cells {
                    let Ok(arm) = arms.binary_search(&cell.arm) else { continue };
                    for (pass, residual) in cell.residuals[side].iter().enumerate() {
                        passes[pass][arm][place] = *residual;
                    }
                }
            }
            passes
        };
        Self { passes: [of_side(0), of_side(1)] }
    }

    /// The changes of the same arms at the same sizes between two resampled campaigns, between which nothing changed.
    pub fn resampled(&self, sizes: &[SizeChanges], arms: &[MeasuredArm], stream: &mut Stream) -> Vec<SizeChanges> {
        let mut drawn: Vec<SizeChanges> = sizes.iter().map(|size| SizeChanges { cells: Vec::new(), ..*size }).collect();
        for arm in arms {
            let like = self
                .passes
                .each_ref()
                .map(|passes| passes.iter().map(|_| stream.below(arms.len())).collect::<Vec<usize>>());
            for (place, size) in sizes.iter().enumerate() {
                let Ok(cell) = size.cells.binary_search_by_key(arm, |cell| cell.arm) else { continue };
                let [before, after] = [0, 1].map(|side| {
                    let runs = size.cells[cell].residuals[side].len();
                    let of_pass = |(pass, like): (usize, &usize)| {
                        let launches = &self.passes[side][pass];
                        let all = launches[*like..].iter().chain(&launches[..*like]);
                        all.map(|launch| launch[place]).find(|residual| !residual.is_nan())
                    };
                    let mut runs: Vec<f64> = like[side].iter().enumerate().take(runs).filter_map(of_pass).collect();
                    (median(&mut runs).unwrap_or(0.0), error_of_median(&runs))
                });
                let error = (before.1 * before.1 + after.1 * after.1).sqrt();
                let ln_ratio = after.0 - before.0;
                drawn[place].cells.push(ArmChange {
                    arm: *arm,
                    ln_ratio,
                    rounded: 0.0,
                    error,
                    residuals: [vec![], vec![]],
                });
            }
        }
        drawn
    }
}

/// The standard error of the median of some runs, from their scatter; 0 for fewer than two.
fn error_of_median(runs: &[f64]) -> f64 {
    /// The standard error of a median of few runs over that of their mean.
    const MEDIAN_ERROR_FACTOR: f64 = 1.25;
    let n = runs.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = runs.iter().sum::<f64>() / n;
    let squares: f64 = runs.iter().map(|run| (run - mean) * (run - mean)).sum();
    MEDIAN_ERROR_FACTOR * (squares / (n - 1.0) / n).sqrt()
}
