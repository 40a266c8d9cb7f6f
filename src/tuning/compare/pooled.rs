//! The changes of all arms that both states measured, pooled by size.
//!
//! A change of driver or network affects everything that runs at a size. So at each size the changes of all
//! configurations and of the default are one sample: its trimmed mean is the change there, and its scatter gives the
//! standard error (Yuen 1974), whatever the source of the noise, and although some runs may have stalled. It needs
//! [`MIN_CELLS`] changes.

use super::{
    family::student_errors,
    state::{MIN_RUNS, MeasuredArm, MeasuredState},
};
use crate::{
    collective::{Collective, Scale, Workload},
    math::{ascending, ln, median},
    order::CompactSort,
};

/// The fewest changes at a size that are pooled.
pub const MIN_CELLS: usize = 8;

/// The share that is trimmed at either end.
const TRIMMED: f64 = 0.2;

/// The smallest standard error of a change, as a share.
pub(super) const MIN_ERROR: f64 = 1e-4;

/// The degrees of freedom of that estimate, as a share of the number of values.
pub(super) const MAD_FREEDOM_SHARE: f64 = 0.37;

/// The most degrees of freedom that are assumed: medians of few runs have heavy tails.
pub(super) const MAX_FREEDOM: f64 = 12.0;

/// The change of one arm at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmChange {
    /// The configuration, or the default, as measured on both sides.
    pub arm: MeasuredArm,
    /// ln of after / before.
    pub ln_ratio: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// Its standard error by its own runs; 0 where these don't show it.
    pub error: f64,
    /// The deviations of the runs before, and of those after, from their median in ln busbw; empty where rows are
    /// medians.
    pub residuals: [Vec<f64>; 2],
}

/// The changes of all arms at one size.
#[derive(Clone, Debug)]
pub struct SizeChanges {
    /// The collective, scale and message size of all its arms.
    pub workload: Workload,
    /// The changes, ascending by arm.
    pub cells: Vec<ArmChange>,
}

/// The pooled change at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledChange {
    /// ln of after / before.
    pub ln_ratio: f64,
    error: f64,
    freedom: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// The number of arms that are pooled.
    pub of: usize,
}

impl SizeChanges {
    /// The arms with enough runs on both sides.
    pub fn new(
        before: &MeasuredState<'_>,
        after: &MeasuredState<'_>,
        workload: Workload,
        common: &[MeasuredArm],
    ) -> Self {
        let cell = |arm: &MeasuredArm| {
            let [old, new] = [before, after].map(|state| state.point(&workload, *arm));
            let (old, new) = (old?, new?);
            let rounded = [before, after].map(|state| state.rounded(&workload, *arm));
            let ln_ratio = ln(new.busbw_gbps / old.busbw_gbps);
            let is_told = old.repeats.min(new.repeats) >= MIN_RUNS && ln_ratio.is_finite();
            let errors = [before, after].map(|state| state.own_error(&workload, *arm));
            let error = (errors[0] * errors[0] + errors[1] * errors[1]).sqrt();
            let residuals = [before, after].map(|state| state.residuals(&workload, *arm));
            is_told.then_some(ArmChange { arm: *arm, ln_ratio, rounded: rounded[0] + rounded[1], error, residuals })
        };
        let mut cells: Vec<ArmChange> = common.iter().filter_map(cell).collect();
        cells.compact_sort_by_key(|cell| cell.arm);
        Self { workload, cells }
    }

    /// The collective and scale; only changes within one of them are compared with each other.
    pub fn group(&self) -> (Collective, Scale) {
        (self.workload.collective, self.workload.scale)
    }

    /// The pooled change; `None` with too few arms.
    pub fn pooled(&self) -> Option<PooledChange> {
        let n = self.cells.len();
        if n < MIN_CELLS {
            return None;
        }
        let mut changes: Vec<f64> = self.cells.iter().map(|cell| cell.ln_ratio).collect();
        ascending(&mut changes);
        let cut = (n as f64 * TRIMMED) as usize;
        let (low, high) = (changes[cut], changes[n - 1 - cut]);
        let kept = (n - 2 * cut) as f64;
        let ln_ratio = changes[cut..n - cut].iter().sum::<f64>() / kept;
        let pulled: Vec<f64> = changes.iter().map(|change| change.clamp(low, high)).collect();
        let mean = pulled.iter().sum::<f64>() / n as f64;
        let squares: f64 = pulled.iter().map(|change| (change - mean) * (change - mean)).sum();
        let error = (squares / (kept * (kept - 1.0))).sqrt().max(MIN_ERROR);
        Some(PooledChange { ln_ratio, error, freedom: kept - 1.0, rounded: self.rounded(), of: n })
    }

    /// The message size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.workload.size_bytes
    }

    /// The median of ln of after / before of all arms here; `None` without arms.
    pub fn middle(&self) -> Option<f64> {
        self.pooled().map(|pooled| pooled.ln_ratio).or_else(|| self.median())
    }

    /// ln of after / before of each arm.
    pub fn changes(&self) -> impl Iterator<Item = (MeasuredArm, f64)> {
        self.cells.iter().map(|cell| (cell.arm, cell.ln_ratio))
    }

    /// By how much rounding may have moved the median of all.
    pub fn rounded(&self) -> f64 {
        self.cells.iter().map(|cell| cell.rounded).sum::<f64>() / self.cells.len().max(1) as f64
    }

    /// The median of ln of after / before; `None` without arms.
    pub fn median(&self) -> Option<f64> {
        median(&mut self.changes().map(|(_, change)| change).collect::<Vec<_>>())
    }
}

impl PooledChange {
    /// The standard error of the change.
    pub const fn error(&self) -> f64 {
        self.error
    }

    /// Its error in each round of draws, at the `number`th size of all.
    pub fn errors(&self, number: usize) -> Vec<f32> {
        student_errors(self.error, self.freedom, 0xA11 + number as u64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol},
        math::Stream,
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn arm(channels: u32) -> MeasuredArm {
        MeasuredArm::Asked(Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels })
    }

    /// Twenty configurations at sixteen sizes with 2 % of noise; `change` by configuration and size.
    pub fn sizes(seed: u64, change: impl Fn(u32, usize) -> f64) -> Vec<SizeChanges> {
        let mut stream = Stream::new(seed);
        let at = |size: usize, stream: &mut Stream| SizeChanges {
            workload: Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes: 4096 << size },
            cells: (0..20)
                .map(|c| {
                    let ln_ratio = change(c, size) + 0.02 * stream.normal();
                    ArmChange { arm: arm(c), ln_ratio, rounded: 0.0, error: 0.0, residuals: [vec![], vec![]] }
                })
                .collect(),
        };
        (0..16).map(|size| at(size, &mut stream)).collect()
    }

    #[test]
    fn all_of_a_size_tell_what_one_of_them_hides() {
        let pooled = sizes(1, |_, size| if size == 3 { -0.03 } else { 0.0 })[3].pooled().unwrap();
        assert!((pooled.ln_ratio + 0.03).abs() < 0.015 && pooled.error < 0.008, "{pooled:?}");
        assert_eq!(pooled.of, 20);
        // A few stalled runs don't change the result.
        let stalled = sizes(1, |c, _| if c < 3 { -1.0 } else { 0.0 })[3].pooled().unwrap();
        assert!(stalled.ln_ratio.abs() < 0.02 && stalled.error < 0.012, "{stalled:?}");
        let few = SizeChanges { cells: sizes(1, |_, _| 0.0)[0].cells[..7].to_vec(), ..sizes(1, |_, _| 0.0)[0].clone() };
        assert_eq!(few.pooled(), None);
    }

    #[test]
    fn the_error_of_a_pooled_change_is_that_by_which_it_errs() {
        let found: Vec<PooledChange> = (0..200).filter_map(|seed| sizes(seed, |_, _| 0.05)[0].pooled()).collect();
        let squares: f64 = found.iter().map(|pooled| (pooled.ln_ratio - 0.05) * (pooled.ln_ratio - 0.05)).sum();
        let errs = (squares / 200.0).sqrt();
        let told = found.iter().map(PooledChange::error).sum::<f64>() / 200.0;
        assert!(found.len() == 200 && (told / errs - 1.0).abs() < 0.2, "{told} {errs}");
        // Twenty, of which a fifth is trimmed at either end.
        assert_eq!(found[0].freedom, 11.0);
        let spread = |errors: &[f32]| {
            let squares: f64 = errors.iter().map(|error| f64::from(*error) * f64::from(*error)).sum();
            (squares / errors.len() as f64).sqrt()
        };
        // Student's t with 11 degrees of freedom.
        assert!((spread(&found[0].errors(0)) / found[0].error() - (11.0_f64 / 9.0).sqrt()).abs() < 0.05);
        assert_ne!(found[0].errors(0), found[0].errors(1));
    }

    #[test]
    fn rounding_moves_all_of_a_size_as_much_as_one_of_them() {
        let mut size = sizes(1, |_, _| 0.0).remove(0);
        size.cells.truncate(MIN_CELLS);
        size.cells.iter_mut().zip(0_u32..).for_each(|(cell, n)| cell.rounded = 0.01 * f64::from(n));
        assert!((size.rounded() - 0.035).abs() < 1e-12, "{}", size.rounded());
        assert_eq!(size.pooled().unwrap().rounded, size.rounded());
        size.cells.clear();
        assert_eq!(size.rounded(), 0.0);
    }
}
