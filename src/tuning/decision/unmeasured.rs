//! What to do where the choice was not measured: what is expected of it against what is expected of the default.

use super::{Basis, Decision, Gain, KeepReason};
use crate::{
    math::{exp, ln, log2},
    tuning::{aggregate::Point, parameters::Confidence},
};

/// A bandwidth that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// busbw in GB/s.
    pub busbw_gbps: f64,
    /// The half width, in ln busbw, of the interval that holds it at the level of the decision; `None` while nothing
    /// was validated.
    pub half_width: Option<f64>,
}

/// The default's busbw in GB/s between the two nearest sizes at which it was measured: ln busbw over log2 size.
/// `defaults` are of one collective and scale, by size; `None` beyond the measured sizes.
#[must_use]
pub fn default_between(defaults: &[Point], size_bytes: u64) -> Option<f64> {
    let above = defaults.partition_point(|point| point.workload.size_bytes < size_bytes);
    let high = defaults.get(above)?;
    if high.workload.size_bytes == size_bytes {
        return Some(high.busbw_gbps);
    }
    let low = &defaults[above.checked_sub(1)?];
    let [x0, x1] = [low, high].map(|point| log2(point.workload.size_bytes as f64));
    let [y0, y1] = [low, high].map(|point| ln(point.busbw_gbps));
    Some(exp(y0 + (y1 - y0) * (log2(size_bytes as f64) - x0) / (x1 - x0))).filter(|busbw| busbw.is_finite())
}

/// Deploys a choice whose gain over the default lies above the smallest one as a whole interval. Errors of the two
/// expectations are taken as independent.
#[must_use]
pub fn unmeasured(
    choice: Option<Expected>,
    default: Option<Expected>,
    confidence: &Confidence,
) -> (Decision, Option<Gain>) {
    let Some(choice) = choice else { return (Decision::Unknown, None) };
    let Some(default) = default else { return (Decision::NoDefault, None) };
    let gain = ln(choice.busbw_gbps / default.busbw_gbps);
    let Some(half) = choice.half_width.filter(|_| gain.is_finite()) else {
        return (Decision::KeepDefault { reason: KeepReason::Uncertain }, None);
    };
    let of_default = default.half_width.unwrap_or(0.0);
    let half = (half * half + of_default * of_default).sqrt();
    let gain = Gain {
        pct: pct(gain),
        low_pct: pct(gain - half),
        high_pct: pct(gain + half),
        level: confidence.level,
        basis: Basis::HeldOut,
    };
    (decide(&gain, false, confidence), Some(gain))
}

/// Whether a gain is enough; `same`: the default was seen to run the choice.
pub(super) fn decide(gain: &Gain, same: bool, confidence: &Confidence) -> Decision {
    let reason = if gain.low_pct > confidence.minimum_gain_pct {
        return Decision::Deploy;
    } else if same {
        KeepReason::Same
    } else if gain.pct <= 0.0 {
        KeepReason::NotFaster
    } else if gain.low_pct > 0.0 {
        KeepReason::TooSmall
    } else {
        KeepReason::Uncertain
    };
    Decision::KeepDefault { reason }
}

/// From ln of a ratio to per cent more.
pub(super) fn pct(ln_ratio: f64) -> f64 {
    (exp(ln_ratio) - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload};

    fn expected(busbw_gbps: f64, half_width: f64) -> Option<Expected> {
        Some(Expected { busbw_gbps, half_width: Some(half_width) })
    }

    #[test]
    fn a_gain_must_lie_above_the_smallest_as_a_whole() {
        let confidence = |minimum_gain_pct| Confidence { minimum_gain_pct, ..Confidence::default() };
        let decision = |choice, minimum| unmeasured(choice, expected(10.0, 0.0), &confidence(minimum)).0;
        let keep = |reason| Decision::KeepDefault { reason };
        assert_eq!(decision(expected(12.0, 0.1), 0.0), Decision::Deploy);
        assert_eq!(decision(expected(12.0, 0.1), 9.0), keep(KeepReason::TooSmall));
        assert_eq!(decision(expected(12.0, 0.2), 0.0), keep(KeepReason::Uncertain));
        assert_eq!(decision(expected(9.0, 0.2), 0.0), keep(KeepReason::NotFaster));
        assert_eq!(decision(Some(Expected { busbw_gbps: 20.0, half_width: None }), 0.0), keep(KeepReason::Uncertain));
        assert_eq!(decision(None, 0.0), Decision::Unknown);
        assert_eq!(unmeasured(expected(12.0, 0.1), None, &confidence(0.0)), (Decision::NoDefault, None));
    }

    #[test]
    fn both_sides_may_err() {
        let gain = unmeasured(expected(12.0, 0.3), expected(10.0, 0.4), &Confidence::default()).1.unwrap();
        assert!((ln(1.0 + gain.low_pct / 100.0) - (ln(1.2) - 0.5)).abs() < 1e-9);
        assert!((gain.pct - 20.0).abs() < 1e-9 && gain.basis == Basis::HeldOut);
    }

    #[test]
    fn the_default_is_known_between_its_sizes_and_not_beyond() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 1 };
        let defaults = [(1024, 1.0), (4096, 4.0)].map(|(size_bytes, busbw)| {
            Point::new(Workload { collective: Collective::Reduce, scale, size_bytes }, configuration, busbw)
        });
        assert!((default_between(&defaults, 2048).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(default_between(&defaults, 4096), Some(4.0));
        assert_eq!([1023, 4097].map(|size| default_between(&defaults, size)), [None, None]);
        assert_eq!(default_between(&[], 1), None);
    }
}
