//! The differences between the passes over a sweep.
//!
//! A sweep with repeats is measured in passes: all first runs, all second runs, and so on. A pass as a whole can be
//! faster or slower than the others (clocks, temperature, other jobs on the network), and so can a campaign; the passes
//! show by how much. This is a variance component: the variance of the means of the passes, less the part that the
//! noise of single runs contributes (one-way random effects by the method of moments: Searle, Casella, McCulloch 1992).

use crate::{
    collective::{Collective, Scale},
    math::ln,
    report::snapshot::Drift,
    tuning::{
        runs::{Run, Runs},
        stalls::Screened,
    },
};
use std::collections::BTreeMap;

/// The most passes that are examined.
const MAX_PASSES: usize = 16;

impl Drift {
    /// The drift of the single runs of one collective and scale. Only points with the most frequent number of runs, of
    /// 2 to [`MAX_PASSES`], count; `None` without such points.
    pub fn new(runs: &Runs, screened: &Screened, group: (Collective, Scale)) -> Option<Self> {
        let all = || {
            runs.places_of(group).filter(|(place, first, of)| {
                (2..=MAX_PASSES).contains(&of.len())
                    && of.iter().zip(*first..).all(|(run, at)| run.repeats == 1 && screened.keep(place, at).busbw)
            })
        };
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        all().for_each(|(_, _, of)| *counts.entry(of.len()).or_default() += 1);
        let passes = counts.iter().max_by_key(|(_, places)| **places).map(|(passes, _)| *passes)?;
        let of_passes = || all().filter(|(_, _, of)| of.len() == passes);
        let mut variances: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (place, _, of) in of_passes() {
            let (squares, freedom) = variances.entry(place.workload.size_bytes).or_default();
            *squares += residuals(of).map(|residual| residual * residual).sum::<f64>();
            *freedom += (passes - 1) as f64;
        }
        let mut sums = vec![0.0; passes];
        let mut weights = 0.0;
        for (place, _, of) in of_passes() {
            let Some((squares, freedom)) = variances.get(&place.workload.size_bytes) else { continue };
            let weight = freedom / squares.max(1e-8 * freedom);
            weights += weight;
            sums.iter_mut().zip(residuals(of)).for_each(|(sum, residual)| *sum += weight * residual);
        }
        let of_means = sums.iter().map(|sum| sum / weights * (sum / weights)).sum::<f64>() / (passes - 1) as f64;
        let variance = (of_means - 1.0 / weights).max(0.0);
        let deviation_pct = variance.sqrt() * 100.0;
        deviation_pct.is_finite().then_some(Self { deviation_pct, passes: passes as u32 })
    }
}

/// ln busbw of each run less their mean.
fn residuals(runs: &[Run]) -> impl Iterator<Item = f64> {
    let mean = runs.iter().map(|run| ln(run.busbw_gbps)).sum::<f64>() / runs.len() as f64;
    runs.iter().map(move |run| ln(run.busbw_gbps) - mean)
}
