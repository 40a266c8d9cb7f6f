//! Intervals from held-out errors, local in size: small messages are noisier than large ones.

use std::collections::BTreeMap;

use super::aggregate::Point;
use crate::{
    collective::{Collective, Scale, Workload},
    learn::conformal,
    math::{ln, log2},
    order::CompactSort,
};

/// The share of new measurements that intervals should hold.
pub const LEVEL: f64 = 0.9;

/// Errors of sizes within this many doublings are pooled.
const NEAR_DOUBLINGS: f64 = 1.5;

/// Errors of further sizes are added, the nearest first, until there are this many.
const MIN_ERRORS: usize = 60;

/// The relative errors ln(measured / predicted) of points that the prediction had not seen.
#[derive(Clone, Debug, Default)]
pub struct HeldOutErrors {
    groups: BTreeMap<(Collective, Scale), Vec<HeldOut>>,
}

#[derive(Clone, Copy, Debug)]
struct HeldOut {
    log2_size: f64,
    fold: usize,
    error: f64,
    /// Whether the prediction was an extrapolation beyond the known sizes.
    is_beyond: bool,
}

impl HeldOutErrors {
    /// Compares held-out predictions with their points; `folds` says which fold each point was held out in, and
    /// `by_size` that folds are whole sizes.
    pub fn new(points: &[Point], predicted: &[Option<f64>], folds: &[usize], by_size: bool) -> Self {
        let mut sizes: BTreeMap<_, BTreeMap<u64, usize>> = BTreeMap::new();
        for (point, fold) in points.iter().zip(folds) {
            let Workload { collective, scale, size_bytes } = point.workload;
            sizes.entry((collective, scale)).or_default().insert(size_bytes, *fold);
        }
        let mut groups: BTreeMap<_, Vec<HeldOut>> = BTreeMap::new();
        for ((point, predicted), fold) in points.iter().zip(predicted).zip(folds) {
            let Some(predicted) = predicted.filter(|p| *p > 0.0 && point.busbw_gbps > 0.0) else { continue };
            let Workload { collective, scale, size_bytes } = point.workload;
            let known = |(_, other): &(&u64, &usize)| by_size && *other != fold;
            let sizes = &sizes[&(collective, scale)];
            groups.entry((collective, scale)).or_default().push(HeldOut {
                log2_size: log2(size_bytes as f64),
                fold: *fold,
                error: ln(point.busbw_gbps / predicted),
                is_beyond: by_size
                    && (!sizes.range(..size_bytes).any(|of| known(&of))
                        || !sizes.range(size_bytes..).any(|of| known(&of))),
            });
        }
        Self { groups }
    }

    /// The half width, in ln busbw, that holds `level` of measurements at a size; `None` where nothing was held
    /// out at that collective and scale.
    pub fn width(&self, collective: Collective, scale: Scale, size_bytes: u64, level: f64) -> Option<f64> {
        let errors = self.groups.get(&(collective, scale))?;
        let size = log2(size_bytes as f64);
        let is_beyond = errors.iter().all(|e| e.log2_size < size) || errors.iter().all(|e| e.log2_size > size);
        local_width(errors.iter(), size, is_beyond, level)
    }

    /// The half width, in ln busbw, that holds `level` of measurements at a size of a scale that was not measured: by
    /// the errors at all scales of the collective; `None` where none of them was held out.
    pub fn width_at_any_scale(&self, collective: Collective, size_bytes: u64, level: f64) -> Option<f64> {
        let errors = self.groups.iter().filter(|((of, _), _)| *of == collective).flat_map(|(_, errors)| errors);
        local_width(errors, log2(size_bytes as f64), false, level)
    }

    /// Share of held-out points inside the interval, in per cent, where widths at each scale come from errors at the
    /// other scales of the collective; `None` where there are none.
    pub fn coverage_across_scales_pct(&self, level: f64) -> Option<f64> {
        coverage_pct(
            level,
            self.groups.iter().map(|((collective, scale), held_out)| {
                let others = self.groups.iter().filter(|((of, other), _)| of == collective && other != scale);
                // Errors are carried over between scales here, so it does not matter whether a size is beyond those of
                // its scale.
                let inside = held_out.iter().map(|error| HeldOut { is_beyond: false, ..*error }).collect();
                (inside, others.flat_map(|(_, errors)| errors).copied().collect())
            }),
        )
    }

    /// The errors of one fold's points, and of the others'.
    fn split(&self, group: &(Collective, Scale), fold: usize) -> (Vec<HeldOut>, Vec<HeldOut>) {
        self.groups.get(group).into_iter().flatten().copied().partition(|error| error.fold == fold)
    }
}

/// Share of held-out points inside the interval, in per cent. For each (collective, scale) and fold, `errors_of`
/// names the predictor that the other folds would choose; its widths come from its errors in the other folds.
pub fn nested_coverage_pct<'a>(
    folds: impl Iterator<Item = ((Collective, Scale), usize)>,
    level: f64,
    errors_of: impl Fn(&(Collective, Scale), usize) -> &'a HeldOutErrors,
) -> Option<f64> {
    coverage_pct(level, folds.map(|(group, fold)| errors_of(&group, fold).split(&group, fold)))
}

/// Share of the held-out points inside the interval, in per cent, of pairs of held-out errors and those that their
/// widths come from; `None` where no width is known.
fn coverage_pct(level: f64, pairs: impl Iterator<Item = (Vec<HeldOut>, Vec<HeldOut>)>) -> Option<f64> {
    let (mut inside, mut all) = (0_usize, 0_usize);
    for (held_out, others) in pairs {
        let mut widths: BTreeMap<u64, Option<f64>> = BTreeMap::new();
        for error in held_out {
            let width = *widths
                .entry(error.log2_size.to_bits())
                .or_insert_with(|| local_width(others.iter(), error.log2_size, error.is_beyond, level));
            if let Some(width) = width {
                all += 1;
                inside += usize::from(error.error.abs() <= width);
            }
        }
    }
    (all > 0).then(|| inside as f64 / all as f64 * 100.0)
}

/// The width at a size. Extrapolations beyond the known sizes have larger errors than interpolations: there the width
/// is that of the errors of extrapolations, or of the nearest sizes if that is wider.
fn local_width<'a>(
    errors: impl Iterator<Item = &'a HeldOut>,
    log2_size: f64,
    is_beyond: bool,
    level: f64,
) -> Option<f64> {
    let (beyond, between): (Vec<&HeldOut>, Vec<&HeldOut>) = errors.partition(|error| error.is_beyond);
    let mut near: Vec<(f64, f64)> = between.iter().map(|e| ((e.log2_size - log2_size).abs(), e.error)).collect();
    near.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    let reach = near.get(MIN_ERRORS - 1).map_or(f64::INFINITY, |(distance, _)| distance.max(NEAR_DOUBLINGS));
    let mut near: Vec<f64> = near.into_iter().take_while(|(d, _)| *d <= reach).map(|(_, error)| error).collect();
    let width = conformal::width(&mut near, level);
    if !is_beyond && width.is_some() {
        return width;
    }
    let mut beyond: Vec<f64> = beyond.iter().map(|error| error.error).collect();
    // There are few errors of extrapolations, so their intervals are never narrower than those between the sizes.
    let widths = [width, conformal::width(&mut beyond, level)];
    widths.into_iter().flatten().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol, Workload},
        math::{Stream, exp},
    };

    #[test]
    fn intervals_hold_what_they_say_and_are_wider_where_it_is_noisier() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 1 };
        let mut stream = Stream::new(11);
        let (mut points, mut predicted, mut folds) = (Vec::new(), Vec::new(), Vec::new());
        for exponent in 12..28_u32 {
            for repeat in 0..80 {
                let noise = if exponent < 18 { 0.2 } else { 0.02 };
                let workload = Workload { collective: Collective::Broadcast, scale, size_bytes: 1 << exponent };
                let busbw_gbps = 10.0 * exp(noise * stream.normal());
                points.push(Point::new(workload, configuration, busbw_gbps));
                predicted.push(Some(10.0));
                folds.push(repeat % 5);
            }
        }
        let errors = HeldOutErrors::new(&points, &predicted, &folds, false);
        let folds = (0..5).map(|fold| ((Collective::Broadcast, scale), fold));
        let coverage = nested_coverage_pct(folds, 0.9, |_, _| &errors).unwrap_or_default();
        assert!((85.0..95.0).contains(&coverage), "{coverage}");
        let width = |size| errors.width(Collective::Broadcast, scale, size, 0.9).unwrap_or_default();
        assert!(width(1 << 13) > 5.0 * width(1 << 26));
        assert_eq!(errors.width(Collective::Reduce, scale, 1 << 13, 0.9), None);
    }
}
