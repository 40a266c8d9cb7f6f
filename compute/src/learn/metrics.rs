//! How far predictions are from measurements.

/// The coefficient of determination 1 − Σ(m−p)²/Σ(m−m̄)²; `None` for fewer than two points, or for measurements that
/// differ by no more than rounding.
pub fn r2(pairs: &[(f64, f64)]) -> Option<f64> {
    let mean = pairs.iter().map(|(measured, _)| measured).sum::<f64>() / pairs.len() as f64;
    let spread: f64 = pairs.iter().map(|(measured, _)| (measured - mean) * (measured - mean)).sum();
    let error: f64 = pairs.iter().map(|(measured, predicted)| (measured - predicted) * (measured - predicted)).sum();
    // A relative standard deviation of a billionth: times are measured with fewer digits.
    let is_constant = spread <= 1e-18 * mean * mean * pairs.len() as f64;
    finite(1.0 - error / spread).filter(|_| !is_constant)
}

/// The mean of |m − p|; `None` without pairs.
pub fn mean_absolute_error(pairs: &[(f64, f64)]) -> Option<f64> {
    finite(pairs.iter().map(|(measured, predicted)| (measured - predicted).abs()).sum::<f64>() / pairs.len() as f64)
}

/// The mean of |m − p| / m in per cent over measurements that are not zero; `None` without any.
pub fn mean_absolute_percentage_error(pairs: &[(f64, f64)]) -> Option<f64> {
    let shares: Vec<f64> = pairs.iter().filter(|(m, _)| *m != 0.0).map(|(m, p)| ((m - p) / m).abs()).collect();
    finite(shares.iter().sum::<f64>() / shares.len() as f64 * 100.0)
}

/// The mean of finite numbers; `None` without any.
pub fn mean(values: &[f64]) -> Option<f64> {
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

/// Averages of no values and ratios to a spread of zero are not finite.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let pairs = [(1.0, 1.5), (2.0, 2.0), (4.0, 3.0)];
        assert!((r2(&pairs).unwrap_or_default() - (1.0 - 1.25 / (14.0 / 3.0))).abs() < 1e-12);
        assert_eq!(mean_absolute_error(&pairs), Some(0.5));
        assert_eq!(mean_absolute_percentage_error(&pairs), Some(25.0));
        assert_eq!(r2(&[]), None);
        assert_eq!(r2(&[(1.0, 1.0)]), None);
        // The same ratio of different times.
        assert_eq!(r2(&[(1.3, 1.0), (1.3 + 2e-16, 1.0), (1.3 - 2e-16, 1.0)]), None);
        assert!(r2(&[(1.3, 1.3), (1.300_001, 1.3)]).is_some());
        assert_eq!(mean_absolute_error(&[]), None);
    }
}
