//! A printed bandwidth is an interval: with two decimals 0.05 GB/s stands for 0.045 to 0.055.
//!
//! The median of rounded values is the rounded median, so however many runs there are, it may be off by half a digit.
//! That is no noise that more runs would average out, and is added to intervals as a whole. A value of more digits is
//! exact: one that was computed from a time.

use crate::math::ln;

/// The last digit of a printed busbw, in GB/s.
const DIGIT_GBPS: f64 = 0.01;

/// The last digit, in GB/s, if a value has no more; the median of an even number of such values has half of one more.
fn digit(busbw_gbps: f64) -> Option<f64> {
    let halves = 2.0 * busbw_gbps / DIGIT_GBPS;
    ((halves - halves.round()).abs() < 2e-6).then_some(DIGIT_GBPS)
}

/// By how much ln busbw may lie above that of a printed value for its rounding.
pub fn above(busbw_gbps: f64) -> f64 {
    digit(busbw_gbps).map_or(0.0, |digit| ln(1.0 + digit / 2.0 / busbw_gbps))
}

/// By how much ln busbw may lie below that of a printed value for its rounding.
pub fn below(busbw_gbps: f64) -> f64 {
    /// Half a digit may be all of a value.
    const MAX: f64 = 0.9;
    digit(busbw_gbps).map_or(0.0, |digit| -ln(1.0 - (digit / 2.0 / busbw_gbps).min(MAX)))
}

/// By how much ln busbw may lie off that of a printed value for its rounding, on the side on which that is more.
pub fn either_side(busbw_gbps: f64) -> f64 {
    above(busbw_gbps).max(below(busbw_gbps))
}

/// The range of bandwidths that a printed value may stand for, in GB/s.
pub fn range(busbw_gbps: f64) -> (f64, f64) {
    let half = digit(busbw_gbps).map_or(0.0, |digit| digit / 2.0);
    ((busbw_gbps - half).max(0.0), busbw_gbps + half)
}

/// The standard deviation, as a share, that rounding brings to single runs; 0 for a value of more digits.
pub fn deviation(busbw_gbps: f64) -> f64 {
    digit(busbw_gbps).map_or(0.0, |digit| digit / busbw_gbps / 12.0_f64.sqrt())
}

/// The standard deviation, as a share, that rounding brings to the range of two runs of about this busbw.
pub fn of_range(busbw_gbps: f64) -> f64 {
    /// The range of two numbers that are each rounded to a digit errs by this share of it.
    const ROUNDED_RANGE: f64 = 0.41;
    DIGIT_GBPS / busbw_gbps * ROUNDED_RANGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_decimals_are_an_interval_and_more_are_none() {
        let (low, high) = range(0.05);
        assert!((low - 0.045).abs() < 1e-12 && (high - 0.055).abs() < 1e-12);
        assert!((above(0.05) - ln(1.1)).abs() < 1e-12 && (below(0.05) + ln(0.9)).abs() < 1e-12);
        // The median of 0.05 and 0.06.
        assert!(above(0.055) > 0.0);
        for exact in [0.0523, 0.12345, 362.1234] {
            assert_eq!((above(exact), below(exact), deviation(exact), range(exact)), (0.0, 0.0, 0.0, (exact, exact)));
        }
        assert!(below(0.005).is_finite() && above(f64::NAN) == 0.0);
    }

    #[test]
    fn what_rounding_brings_is_that_of_a_number_anywhere_between_the_halves() {
        let (low, high) = range(0.05);
        let within: Vec<f64> = (0..1000).map(|step| low + (high - low) * (f64::from(step) + 0.5) / 1000.0).collect();
        let squares: f64 = within.iter().map(|value| (value / 0.05 - 1.0) * (value / 0.05 - 1.0)).sum();
        let spread = (squares / 1000.0).sqrt();
        assert!((deviation(0.05) / spread - 1.0).abs() < 1e-3, "{} {spread}", deviation(0.05));
        // A range is the difference of two such numbers.
        assert!((of_range(0.05) / spread - std::f64::consts::SQRT_2).abs() < 0.02, "{}", of_range(0.05));
        assert_eq!((either_side(0.05), either_side(0.0523)), (below(0.05), 0.0));
    }
}
