//! Student's t distribution.

use crate::math::{Stream, exp, ln};

/// The share of a t distribution below `t`: by the regularised incomplete beta function (Lentz's continued fraction).
///
/// ```
/// use collectune_compute::bandit::student::cumulative;
/// assert!((cumulative(1.0, 1.0) - 0.75).abs() < 1e-12);
/// assert!((cumulative(2.0, 4.0) - 0.941_941_738_241_592_2).abs() < 1e-12);
/// ```
pub fn cumulative(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The share of an F distribution above `f`, of `between` and `within` degrees of freedom.
///
/// ```
/// use collectune_compute::bandit::student::{above_f, cumulative};
/// // With one degree of freedom between groups it is the square of a t.
/// assert!((above_f(4.0, 1.0, 10.0) - 2.0 * (1.0 - cumulative(2.0, 10.0))).abs() < 1e-12);
/// ```
pub fn above_f(f: f64, between: f64, within: f64) -> f64 {
    beta(within / 2.0, between / 2.0, within / (within + between * f.max(0.0)))
}

/// The quantile of a t distribution, by bisection.
pub fn quantile(share: f64, freedom: f64) -> f64 {
    if share < 0.5 {
        return -quantile(1.0 - share, freedom);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while cumulative(high, freedom) < share && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if cumulative(middle, freedom) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// ln Γ(x), for x above 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The regularised incomplete beta function I_x(a, b).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * ln(x) + b * ln(1.0 - x));
    // The continued fraction converges fast below this point; above it use I_x(a, b) = 1 − I_{1−x}(b, a).
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by the modified Lentz method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // Keeps denominators away from zero.
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            product *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// A draw of the Gamma distribution of scale 1 (Marsaglia and Tsang 2000); `shape` is at least 1.
pub fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    let d = shape.max(1.0) - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = stream.normal();
        let v = 1.0 + c * z;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - stream.unit();
        // The squeeze accepts most draws without a logarithm.
        if u < 1.0 - 0.0331 * z * z * z * z || ln(u) < 0.5 * z * z + d * (1.0 - v + ln(v)) {
            return d * v;
        }
    }
}

/// A draw of a t distribution; `freedom` is at least 2.
pub fn draw(freedom: f64, stream: &mut Stream) -> f64 {
    let half = freedom / 2.0;
    stream.normal() * (half / gamma(half, stream)).sqrt()
}
