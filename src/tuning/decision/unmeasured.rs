//! Decides at sizes where the choice was not measured, from the expected bandwidths of the choice and the default.

use super::{Decision, Gain, KeepReason, NoiseBasis, printed};
use crate::{
    math::{exp, ln, log2},
    tuning::{aggregate::Point, baselines::BusbwCurve, parameters::Confidence},
};

/// The predicted bandwidth of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedBusbw {
    /// The bus bandwidth in GB/s.
    pub busbw_gbps: f64,
    /// The half width, in ln of the gain, of the interval that holds its gain over the default at the level of the
    /// decision; `None` while nothing was validated.
    pub half_width: Option<f64>,
}

/// The bandwidth of the default at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultBusbw {
    /// The default was measured: bus bandwidth in GB/s.
    Measured(f64),
    /// It was measured at a smaller and at a larger size.
    Between {
        /// busbw in GB/s on the line between the nearest two sizes, ln busbw over log2 size.
        busbw_gbps: f64,
        /// By how much rounding at these two sizes may have moved ln busbw, upwards and downwards; 0 where more digits
        /// are known.
        rounded: [f64; 2],
    },
}

impl DefaultBusbw {
    /// The bus bandwidth in GB/s.
    pub const fn busbw_gbps(self) -> f64 {
        match self {
            Self::Measured(busbw_gbps) | Self::Between { busbw_gbps, .. } => busbw_gbps,
        }
    }

    /// By how much the rounding of printed bandwidths may have moved ln busbw, upwards and downwards.
    fn rounded(self) -> [f64; 2] {
        match self {
            Self::Measured(busbw) => [printed::above(busbw), printed::below(busbw)],
            Self::Between { rounded, .. } => rounded,
        }
    }
}

/// The default at a size. `defaults` are of one collective and scale, by size; `None` beyond the measured sizes.
pub fn default_there(defaults: &[Point], size_bytes: u64) -> Option<DefaultBusbw> {
    default_without(defaults, size_bytes, |_| false)
}

/// The default at a size, as if the points that are `held_out` were not measured.
pub fn default_without(defaults: &[Point], size_bytes: u64, held_out: impl Fn(&Point) -> bool) -> Option<DefaultBusbw> {
    let (below, above) = defaults.split_at(defaults.partition_point(|point| point.workload.size_bytes < size_bytes));
    let high = above.iter().find(|point| !held_out(point))?;
    if high.workload.size_bytes == size_bytes {
        return Some(DefaultBusbw::Measured(high.busbw_gbps));
    }
    let low = below.iter().rev().find(|point| !held_out(point))?;
    let busbw_gbps = BusbwCurve::new([low, high]).at(size_bytes as f64)?;
    // In the worst case rounding moved both ends in the same direction. Each counts with its weight in the
    // interpolation.
    let [start, here, end] =
        [low.workload.size_bytes, size_bytes, high.workload.size_bytes].map(|size| log2(size as f64));
    let share = (here - start) / (end - start);
    let rounded = [printed::above, printed::below]
        .map(|of: fn(f64) -> f64| (1.0 - share) * of(low.busbw_gbps) + share * of(high.busbw_gbps));
    Some(DefaultBusbw::Between { busbw_gbps, rounded })
}

/// The decision on a configuration that was not measured. It is deployed under the same condition as a measured one:
/// the whole interval of its gain lies above the smallest gain asked for. If only a part of the interval does, or no
/// interval is known, it must be measured first; else the default is kept.
pub fn unmeasured(
    choice: Option<ExpectedBusbw>,
    default: Option<DefaultBusbw>,
    confidence: &Confidence,
) -> (Decision, Option<Gain>) {
    let Some(choice) = choice else { return (Decision::Unknown, None) };
    let Some(default) = default else { return (Decision::NoDefault, None) };
    let height = ln(choice.busbw_gbps / default.busbw_gbps());
    let [above, below] = default.rounded();
    let gain = choice.half_width.filter(|_| height.is_finite()).map(|half| Gain {
        pct: pct(height),
        low_pct: pct(height - half - above),
        high_pct: pct(height + half + below),
        level: confidence.level,
        basis: NoiseBasis::HeldOut,
    });
    let decision = match &gain {
        Some(gain) if gain.low_pct > confidence.minimum_gain_pct => Decision::Deploy,
        Some(gain) if gain.high_pct > confidence.minimum_gain_pct => Decision::MeasureFirst,
        Some(gain) if gain.pct > 0.0 => Decision::KeepDefault { reason: KeepReason::TooSmall },
        Some(_) => Decision::KeepDefault { reason: KeepReason::NotFaster },
        None => Decision::MeasureFirst,
    };
    (decision, gain)
}

/// The decision on a measured gain. `rounded` is the part of ln of the gain that rounding may have caused; `same` says
/// that the default was seen to run the choice.
pub(super) fn decide(gain: &Gain, rounded: f64, same: bool, confidence: &Confidence) -> Decision {
    let reason = if gain.low_pct > confidence.minimum_gain_pct {
        return Decision::Deploy;
    } else if same {
        KeepReason::Same
    } else if gain.pct <= 0.0 {
        KeepReason::NotFaster
    } else if gain.low_pct > 0.0 {
        KeepReason::TooSmall
    } else if pct(ln(1.0 + gain.low_pct / 100.0) + rounded) > confidence.minimum_gain_pct {
        KeepReason::Rounded
    } else {
        KeepReason::Uncertain
    };
    Decision::KeepDefault { reason }
}

/// The increase in per cent that ln of a ratio stands for.
pub(super) fn pct(ln_ratio: f64) -> f64 {
    (exp(ln_ratio) - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload};

    fn expected(busbw_gbps: f64, half_width: f64) -> Option<ExpectedBusbw> {
        Some(ExpectedBusbw { busbw_gbps, half_width: Some(half_width) })
    }

    fn keep(reason: KeepReason) -> Decision {
        Decision::KeepDefault { reason }
    }

    fn confidence(minimum_gain_pct: f64) -> Confidence {
        Confidence { minimum_gain_pct, ..Confidence::default() }
    }

    #[test]
    fn a_gain_must_lie_above_the_smallest_as_a_whole_whether_the_default_was_measured_or_not() {
        let between = DefaultBusbw::Between { busbw_gbps: 10.0, rounded: [0.0; 2] };
        for default in [DefaultBusbw::Measured(10.0), between].map(Some) {
            let decision = |choice, minimum| unmeasured(choice, default, &confidence(minimum)).0;
            assert_eq!(decision(expected(12.0, 0.1), 0.0), Decision::Deploy);
            assert_eq!(decision(expected(12.0, 0.1), 9.0), Decision::MeasureFirst);
            assert_eq!(decision(expected(12.0, 0.1), 50.0), keep(KeepReason::TooSmall));
            assert_eq!(decision(expected(12.0, 0.2), 0.0), Decision::MeasureFirst);
            assert_eq!(decision(expected(9.0, 0.2), 0.0), Decision::MeasureFirst);
            assert_eq!(decision(expected(9.0, 0.05), 0.0), keep(KeepReason::NotFaster));
            assert_eq!(
                decision(Some(ExpectedBusbw { busbw_gbps: 20.0, half_width: None }), 0.0),
                Decision::MeasureFirst
            );
            assert_eq!(decision(None, 0.0), Decision::Unknown);
        }
        assert_eq!(unmeasured(expected(12.0, 0.1), None, &confidence(0.0)), (Decision::NoDefault, None));
    }

    #[test]
    fn the_default_is_known_between_its_sizes_and_not_beyond() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 1 };
        let defaults = [(1024, 1.0), (4096, 4.0)].map(|(size_bytes, busbw)| {
            Point::new(Workload { collective: Collective::Reduce, scale, size_bytes }, configuration, busbw)
        });
        let there = default_there(&defaults, 2048).unwrap();
        assert!((there.busbw_gbps() - 2.0).abs() < 1e-9 && matches!(there, DefaultBusbw::Between { .. }));
        assert_eq!(default_there(&defaults, 4096), Some(DefaultBusbw::Measured(4.0)));
        assert_eq!([1023, 4097].map(|size| default_there(&defaults, size)), [None, None]);
        assert_eq!(default_there(&[], 1), None);
    }
    #[test]
    fn between_two_printed_sizes_the_default_is_as_uncertain_as_its_neighbours_are_printed() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 1 };
        let there = |busbw: [f64; 2], size_bytes| {
            let point = |(size_bytes, busbw)| {
                Point::new(Workload { collective: Collective::Reduce, scale, size_bytes }, configuration, busbw)
            };
            default_there(&[(1024, busbw[0]), (4096, busbw[1])].map(point), size_bytes)
        };
        // 0.05 printed at both sizes is 0.045 to 0.055 between them as well: 0.0545 may be 1 % less.
        let printed = there([0.05, 0.05], 2048).unwrap();
        let DefaultBusbw::Between { busbw_gbps, rounded } = printed else { panic!("{printed:?}") };
        assert!((busbw_gbps - 0.05).abs() < 1e-12);
        assert!((rounded[0] - ln(1.1)).abs() < 1e-9 && (rounded[1] + ln(0.9)).abs() < 1e-9, "{rounded:?}");
        let (decision, gain) = unmeasured(expected(0.0545, 0.01), Some(printed), &confidence(1.0));
        let gain = gain.unwrap();
        assert_eq!(decision, Decision::MeasureFirst);
        assert!(gain.low_pct < -1.0 && (gain.pct - 9.0).abs() < 1e-6 && gain.high_pct > 21.0, "{gain:?}");
        // What no rounding explains is deployed.
        assert_eq!(unmeasured(expected(0.06, 0.01), Some(printed), &confidence(1.0)).0, Decision::Deploy);
        // Where times tell more digits, nothing is added; where one neighbour does, half of the other's is left midway.
        let exact = there([0.0501, 0.0502].map(|busbw| busbw + 1e-5), 2048);
        assert_eq!(unmeasured(expected(0.0545, 0.01), exact, &confidence(1.0)).0, Decision::Deploy);
        let half = there([0.05, 0.050_01], 2048).unwrap();
        assert!((half.rounded()[0] - ln(1.1) / 2.0).abs() < 1e-9, "{half:?}");
    }

    #[test]
    fn a_gain_of_just_the_smallest_that_is_asked_for_is_too_small() {
        let default = Some(DefaultBusbw::Between { busbw_gbps: 10.0, rounded: [0.0; 2] });
        let decision = |choice, minimum| unmeasured(choice, default, &confidence(minimum));
        let gain = decision(expected(12.0, 0.0), 0.0).1.unwrap();
        assert_eq!(gain.low_pct, gain.high_pct);
        assert_eq!(decision(expected(12.0, 0.0), gain.pct).0, keep(KeepReason::TooSmall));
        assert_eq!(decision(expected(10.05, 0.0), 5.0).0, keep(KeepReason::TooSmall));
        assert_eq!(decision(expected(10.0, 0.0), 0.0).0, keep(KeepReason::NotFaster));
        // Nothing can be said of a gain over nothing.
        let nothing = Some(DefaultBusbw::Between { busbw_gbps: 0.0, rounded: [0.0; 2] });
        assert_eq!(unmeasured(expected(12.0, 0.1), nothing, &confidence(0.0)), (Decision::MeasureFirst, None));
    }

    #[test]
    fn a_measured_gain_is_deployed_or_told_why_not() {
        let decided = |pct: f64, low_pct: f64, rounded: f64, same: bool| {
            let gain = Gain { pct, low_pct, high_pct: 2.0 * pct, level: 0.9, basis: NoiseBasis::Repeats };
            decide(&gain, rounded, same, &confidence(1.0))
        };
        assert_eq!(decided(3.0, 1.1, 0.0, false), Decision::Deploy);
        assert_eq!(decided(3.0, 1.1, 0.0, true), Decision::Deploy);
        assert_eq!(decided(3.0, 1.0, 0.0, false), keep(KeepReason::TooSmall));
        assert_eq!(decided(3.0, 0.5, 0.0, true), keep(KeepReason::Same));
        assert_eq!(decided(0.5, 0.4, 0.0, false), keep(KeepReason::TooSmall));
        assert_eq!(decided(0.5, 0.0, 0.0, false), keep(KeepReason::Uncertain));
        assert_eq!(decided(0.0, -1.0, 0.5, false), keep(KeepReason::NotFaster));
        // The interval reaches down to −2 %, of which rounding explains 2 %, or 4 %.
        assert_eq!(decided(3.0, -2.0, 0.02, false), keep(KeepReason::Uncertain));
        assert_eq!(decided(3.0, -2.0, 0.04, false), keep(KeepReason::Rounded));
    }
}
