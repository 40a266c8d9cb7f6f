//! Transcendental functions with the same bits on every target, and seeded random streams.
//!
//! The standard library's `exp`, `ln` and friends differ by one unit in the last place between a native
//! build and WebAssembly; these come from the `libm` crate on both.

use std::hash::Hasher;

use fnv::FnvHasher;

pub use libm::{cos, erfc, exp, exp2, log as ln, log2, pow, sin};

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo) of some bytes. Policies schedule by it, and model files and links carry
/// it: it is the same on every target and in every version.
///
/// ```
/// assert_eq!(collectune_compute::math::hash(b"allreduce/5/2/8/0"), 0xD8FD_171D_3B55_A31B);
/// ```
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The step of [`Stream`]'s state: 2⁶⁴ divided by the golden ratio.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of `z`.
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A reproducible stream of random numbers: SplitMix64 (Steele, Lea, Flood 2014), the same on every target.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed. Different seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number in `0..bound`, without bias beyond 2⁻⁶⁴·bound; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * ln(1.0 - self.unit())).sqrt();
        radius * cos(std::f64::consts::TAU * self.unit())
    }

    /// Puts the items in a random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Sorts numbers in ascending order, NaN last. Not inlined, so that the standard library's sort is compiled once.
#[inline(never)]
pub fn ascending(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// The median of finite numbers, which are reordered; `None` for an empty slice.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    ascending(values);
    Some(if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) })
}

/// The median absolute deviation of normal numbers times this is their standard deviation.
pub const MAD_TO_DEVIATION: f64 = 1.4826;

/// The median, and the standard deviation that normal numbers with the same median absolute deviation have; `None` for
/// an empty slice. The slice is sorted.
pub fn median_and_deviation(values: &mut [f64]) -> Option<(f64, f64)> {
    let middle = median(values)?;
    let mut from: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some((middle, median(&mut from)? * MAD_TO_DEVIATION))
}

/// The quantile `share` in 0..=1 of sorted numbers, interpolated linearly; `None` for an empty slice.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let low = place as usize;
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed| {
            (0..4)
                .map({
                    let mut s = Stream::new(seed);
                    move |_| s.next_u64()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!(draw(0)[0], 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn order_statistics() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), Some(2.5));
    }
}
