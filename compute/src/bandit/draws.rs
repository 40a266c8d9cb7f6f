//! Random numbers by place: of a seed, a channel and an index, in any order, the same on every target.

use crate::math::{GOLDEN, cos, ln, mix};

/// Uniform in [0, 1): `U(s, c, i) = (mix(mix(sγ + c + 1) + (i + 1)γ) >> 11) · 2⁻⁵³`.
///
/// ```
/// use collectune_compute::bandit::draws::uniform;
/// assert_eq!(uniform(0, 0, 0), 0.749_748_241_358_030_1);
/// assert_eq!(uniform(7, 2, 5), 0.963_890_728_436_016_4);
/// ```
pub fn uniform(seed: u64, channel: u64, index: u64) -> f64 {
    let stream = mix(seed.wrapping_mul(GOLDEN).wrapping_add(channel).wrapping_add(1));
    let bits = mix(stream.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)));
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal (Box–Muller): `Z(s, c, t) = √(−2 ln(1 − U(s, c, 2t))) · cos(2π U(s, c, 2t + 1))`.
///
/// ```
/// use collectune_compute::bandit::draws::normal;
/// for (index, expected) in (0..).zip([-1.157_549_371, 1.029_695_113, -0.553_882_660]) {
///     assert!((normal(0, 0, index) - expected).abs() < 1e-9);
/// }
/// ```
pub fn normal(seed: u64, channel: u64, index: u64) -> f64 {
    let radius = (-2.0 * ln(1.0 - uniform(seed, channel, index.wrapping_mul(2)))).sqrt();
    radius * cos(std::f64::consts::TAU * uniform(seed, channel, index.wrapping_mul(2).wrapping_add(1)))
}
