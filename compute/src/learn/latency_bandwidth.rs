//! Latency and bandwidth at one end of a curve, to extrapolate it beyond the measured sizes.
//!
//! time = latency + size / bandwidth (Hockney 1994), both non-negative, by least squares of the relative errors of the
//! time. The bandwidth of a size stays below the asymptote, whereas a straight line through the last points would grow
//! without limit. [`super::hockney`] fits the same law as a surface over all sizes; here only the points near one end
//! are used, because protocols and transports change along the curve.

use std::f64::consts::LN_2;

use crate::math::{exp, ln};

/// The number of points at an end that are fitted: two for the coefficients, and as many again to reduce noise.
pub const POINTS: usize = 4;

/// The law `latency + per_byte · size`, in any unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyBandwidth {
    latency: f64,
    per_byte: f64,
}

impl LatencyBandwidth {
    /// Fits the law to places (log2 size, ln (size / time)). `None` for fewer than two distinct sizes, or numbers that
    /// are not finite.
    pub fn fit(places: &[(f64, f64)]) -> Option<Self> {
        // Sizes are relative to the last place, to avoid overflow.
        let (origin, _) = *places.last()?;
        let mut sums = [0.0; 5];
        for (x, height) in places {
            let size = exp((x - origin) * LN_2);
            let time = size * exp(-height);
            let (u, v) = (1.0 / time, size / time);
            for (sum, product) in sums.iter_mut().zip([u * u, u * v, v * v, u, v]) {
                *sum += product;
            }
        }
        let [uu, uv, vv, u, v] = sums;
        let determinant = uu * vv - uv * uv;
        let is_solvable = sums.iter().all(|sum| sum.is_finite()) && determinant > 1e-12 * uu * vv;
        if !is_solvable {
            return None;
        }
        let (latency, per_byte) = ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant);
        // Where one coefficient would be negative, set it to 0 and fit the other alone.
        let (latency, per_byte) = match (latency > 0.0, per_byte > 0.0) {
            (true, true) => (latency, per_byte),
            (false, _) => (0.0, v / vv),
            (_, false) => (u / uu, 0.0),
        };
        Some(Self { latency, per_byte: per_byte * exp(-origin * LN_2) })
    }

    /// ln (size / time) at a log2 size.
    pub fn height(&self, x: f64) -> f64 {
        let size = x * LN_2;
        let (a, b) = (ln(self.latency), ln(self.per_byte) + size);
        let larger = a.max(b);
        size - larger - ln(exp(a - larger) + exp(b - larger))
    }
}

/// The increase of ln (size / time) from the last of `places` to a log2 size beyond it, by the law of up to [`POINTS`]
/// last places. `places` are (log2 size, ln (size / time)), ordered towards that end. 0 if the law can't be fitted.
pub fn growth(places: &[(f64, f64)], x: f64) -> f64 {
    let places = &places[places.len().saturating_sub(POINTS)..];
    let Some((last, _)) = places.last() else { return 0.0 };
    let grown = LatencyBandwidth::fit(places).map(|law| law.height(x) - law.height(*last));
    grown.filter(|grown| grown.is_finite()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp2;

    /// ln (size / time) for a latency of 20 us and 100 GB/s.
    fn transfer(x: f64) -> (f64, f64) {
        let size = exp2(x);
        (x, ln(size / (20.0 + size / 100_000.0)))
    }

    #[test]
    fn extrapolates_by_latency_and_bandwidth_at_both_ends() {
        let rising: Vec<_> = (18..26).map(|x| transfer(f64::from(x))).collect();
        for beyond in [26.0, 29.0, 40.0] {
            let expected = transfer(beyond).1 - rising[7].1;
            assert!((growth(&rising, beyond) - expected).abs() < 1e-6, "{beyond}");
        }
        let falling: Vec<_> = rising.iter().rev().copied().collect();
        for beyond in [17.0, 10.0, 0.0] {
            let expected = transfer(beyond).1 - rising[0].1;
            assert!((growth(&falling, beyond) - expected).abs() < 1e-6, "{beyond}");
        }
    }

    #[test]
    fn never_exceeds_the_asymptote_and_needs_two_sizes() {
        let flat = [(20.0, 3.0), (21.0, 3.1), (22.0, 3.12), (23.0, 3.13)];
        assert!((0.0..0.05).contains(&growth(&flat, 60.0)));
        // What falls with the size has no latency; it stays.
        let falling = [(20.0, 3.1), (21.0, 3.0), (22.0, 2.9)];
        assert!(growth(&falling, 30.0).abs() < 1e-12);
        // What grows faster than its size has no bandwidth: the latency alone, as its time can't fall.
        let steep = [(10.0, 0.0), (11.0, 1.0), (12.0, 2.0)];
        assert!((growth(&steep, 13.0) - LN_2).abs() < 1e-9);
        assert_eq!([growth(&[], 3.0), growth(&[(1.0, 2.0)], 3.0), growth(&[(1.0, 2.0), (1.0, 2.5)], 3.0)], [0.0; 3]);
        assert_eq!(growth(&[(1.0, f64::NAN), (2.0, 1.0)], 3.0), 0.0);
    }
}
