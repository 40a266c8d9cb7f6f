//! How wrong expectations beyond the largest measured size are: what was measured last is left out, expected by latency
//! and bandwidth ([`growth`]) of what remains, and compared.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    aggregate::Point,
    sweep::{Sweep, key},
};
use crate::{
    collective::{Collective, Configuration, Scale},
    learn::{
        conformal,
        latency_bandwidth::{POINTS, growth},
    },
    math::{ln, log2},
    order::{CompactCollect, CompactSort},
};

/// The number of sizes that are left out, one after the other. Further beyond, widths grow with the distance.
const MAX_STEPS: usize = 2;

/// A curve errs in proportion to this, in ln busbw, plus what it is still expected to change: one that has flattened is
/// well known, one that still rises is not.
const MIN_CHANGE: f64 = 0.05;

/// Errors beyond the sizes of each (collective, scale).
#[derive(Clone, Debug, Default)]
pub struct ExtrapolationErrors {
    groups: BTreeMap<(Collective, Scale), GroupEnd>,
}

/// A measurement of a curve: which of the sizes, and its log2 size and ln busbw.
type CurvePoint = (usize, (f64, f64));

#[derive(Clone, Debug, Default)]
struct GroupEnd {
    /// log2 of the largest size, and of the size before it.
    largest: f64,
    before: f64,
    /// Errors over what was expected to change, by how many sizes beyond, from 1.
    errors: [Vec<f64>; MAX_STEPS],
}

impl ExtrapolationErrors {
    /// Leaves out sizes of every (collective, scale).
    pub fn new(sweep: &Sweep) -> Self {
        let of_group = |points: &[Point]| {
            let sizes: BTreeSet<u64> = points.iter().map(|point| point.workload.size_bytes).compact_collect();
            (key(&points[0]), GroupEnd::new(&sizes.into_iter().collect::<Vec<u64>>(), points))
        };
        Self { groups: sweep.points.chunk_by(|a, b| key(a) == key(b)).map(of_group).compact_collect() }
    }

    /// The half width, in ln busbw, that holds `level` of measurements at a size beyond the measured ones, of a curve
    /// that is expected to change by `change` (ln busbw) from the largest measured size on. `None` where the size is
    /// not beyond it, or too few sizes were measured to tell.
    pub fn width(&self, collective: Collective, scale: Scale, size_bytes: u64, change: f64, level: f64) -> Option<f64> {
        self.groups.get(&(collective, scale))?.width(log2(size_bytes as f64), change, level)
    }
}

impl GroupEnd {
    /// Of the measured sizes of one collective and scale, in bytes, ascending, and all that was measured at them.
    fn new(sizes: &[u64], points: &[Point]) -> Self {
        let index: BTreeMap<u64, usize> =
            sizes.iter().enumerate().map(|(index, size)| (*size, index)).compact_collect();
        let mut curves: BTreeMap<Configuration, Vec<CurvePoint>> = BTreeMap::new();
        for point in points.iter().filter(|point| point.busbw_gbps > 0.0 && point.busbw_gbps.is_finite()) {
            let size_bytes = point.workload.size_bytes;
            let place = (log2(size_bytes as f64), ln(point.busbw_gbps));
            curves.entry(point.configuration).or_default().push((index[&size_bytes], place));
        }
        let place = |back: usize| sizes.len().checked_sub(back).map_or(f64::NAN, |at| log2(sizes[at] as f64));
        let mut end = Self { largest: place(1), before: place(2), ..Self::default() };
        for curve in curves.values_mut() {
            curve.compact_sort_by_key(|(index, _)| *index);
            for left_out in 1..=MAX_STEPS.min(sizes.len()) {
                let kept = curve.partition_point(|(index, _)| *index < sizes.len() - left_out);
                end.compare(&curve[..kept], &curve[kept..]);
            }
        }
        end
    }

    /// Two points would go on without any error of their own.
    fn compare(&mut self, kept: &[CurvePoint], left_out: &[CurvePoint]) {
        let near: Vec<(f64, f64)> = kept[kept.len().saturating_sub(POINTS)..].iter().map(|(_, place)| *place).collect();
        let [.., (last, (_, height))] = *kept else { return };
        if near.len() < 3 {
            return;
        }
        for (index, (x, measured)) in left_out {
            let change = growth(&near, *x);
            if let Some(errors) = self.errors.get_mut(index - last - 1) {
                errors.push((measured - height - change) / (MIN_CHANGE + change.abs()));
            }
        }
    }

    fn width(&self, size: f64, change: f64, level: f64) -> Option<f64> {
        let steps = (size - self.largest) / (self.largest - self.before);
        if steps.is_nan() || steps <= 0.0 {
            return None;
        }
        let known = (steps.ceil() as usize).clamp(1, MAX_STEPS);
        let widths = self.errors[..known].iter().filter_map(|errors| conformal::width(&mut errors.clone(), level));
        let width = widths.reduce(f64::max)?;
        Some(width * (MIN_CHANGE + change.abs()) * (steps / MAX_STEPS as f64).max(1.0))
    }
}
