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

#[cfg(test)]
mod tests {
    use super::{super::pooled::tests::sizes, *};

    /// Changes of twenty arms at sixteen sizes, all slower after, whose three runs before and four after have these
    /// deviations.
    fn slower(before: f64, after: f64) -> Vec<SizeChanges> {
        let mut stream = Stream::new(3);
        let mut sizes = sizes(1, |_, _| -0.3);
        for cell in sizes.iter_mut().flat_map(|size| &mut size.cells) {
            let mut runs = |n, deviation: f64| (0..n).map(|_| deviation * stream.normal()).collect::<Vec<f64>>();
            cell.residuals = [runs(3, before), runs(4, after)];
        }
        sizes
    }

    fn arms(sizes: &[SizeChanges]) -> Vec<MeasuredArm> {
        sizes[0].cells.iter().map(|cell| cell.arm).collect()
    }

    fn deviation(values: &[f64]) -> f64 {
        (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
    }

    #[test]
    fn between_campaigns_that_are_drawn_nothing_changed_but_the_runs() {
        for (before, after) in [(0.02, 0.0), (0.0, 0.02), (0.02, 0.04)] {
            let measured = slower(before, after);
            let arms = arms(&measured);
            let launches = LaunchResiduals::new(&measured, &arms);
            let mut stream = Stream::new(7);
            let drawn: Vec<SizeChanges> =
                (0..20).flat_map(|_| launches.resampled(&measured, &arms, &mut stream)).collect();
            assert!(drawn.iter().zip(&measured).all(|(drawn, of)| drawn.workload == of.workload));
            let cells = || drawn.iter().flat_map(|size| &size.cells);
            assert_eq!(cells().count(), 20 * 16 * 20);
            let changes: Vec<f64> = cells().map(|cell| cell.ln_ratio).collect();
            let mean = changes.iter().sum::<f64>() / changes.len() as f64;
            assert!(mean.abs() < 0.004, "{mean}");
            // The variances of the medians of three and of four normal numbers are 0.449 and 0.298.
            let expected = (0.449 * before * before + 0.298 * after * after).sqrt();
            assert!((deviation(&changes) / expected - 1.0).abs() < 0.1, "{} {expected}", deviation(&changes));
            let told = deviation(&cells().map(|cell| cell.error).collect::<Vec<_>>());
            assert!((told / expected - 1.0).abs() < 0.2, "{told} {expected}");
        }
    }

    #[test]
    fn a_launch_keeps_what_its_sizes_share() {
        // Every run of a launch is off by the same at all sizes.
        let mut measured = slower(0.0, 0.0);
        let mut stream = Stream::new(5);
        let off: Vec<f64> = (0..20 * 3).map(|_| stream.normal()).collect();
        for size in &mut measured {
            for (arm, cell) in size.cells.iter_mut().enumerate() {
                cell.residuals = [off[arm * 3..arm * 3 + 3].to_vec(), vec![0.0; 3]];
            }
        }
        let arms = arms(&measured);
        let drawn = LaunchResiduals::new(&measured, &arms).resampled(&measured, &arms, &mut stream);
        for size in &drawn {
            assert!(size.cells.iter().zip(&drawn[0].cells).all(|(cell, first)| cell.ln_ratio == first.ln_ratio));
        }
        let some: Vec<f64> = drawn[0].cells.iter().map(|cell| cell.ln_ratio).collect();
        assert!(some.iter().any(|change| *change != some[0]), "{some:?}");
    }

    #[test]
    fn what_has_no_runs_of_its_own_does_not_change() {
        let mut measured = slower(0.02, 0.02);
        measured[3].cells[5].residuals = [vec![], vec![]];
        measured[4].cells.remove(5);
        let arms = arms(&measured);
        let drawn = LaunchResiduals::new(&measured, &arms).resampled(&measured, &arms, &mut Stream::new(1));
        assert_eq!((drawn[3].cells[5].ln_ratio, drawn[3].cells[5].error), (0.0, 0.0));
        assert_eq!(drawn[4].cells.len(), 19);
        assert!(drawn.iter().flat_map(|size| &size.cells).all(|cell| cell.ln_ratio.is_finite()));
    }
}
