//! Intervals from held-out errors (split conformal prediction; Vovk, Gammerman, Shafer 2005).

/// The half-width of an interval that holds a share `level` of new errors: the ⌈(n + 1)·level⌉-th smallest of the
/// absolute `errors`, the largest if there are too few. `None` without errors.
pub fn width(errors: &mut [f64], level: f64) -> Option<f64> {
    let last = errors.len().checked_sub(1)?;
    errors.iter_mut().for_each(|error| *error = error.abs());
    crate::math::ascending(errors);
    let rank = (((errors.len() + 1) as f64) * level).ceil() as usize;
    Some(errors[rank.saturating_sub(1).min(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_has_the_rank_of_split_conformal_prediction() {
        let mut errors: Vec<f64> = (1..=19).map(|i| f64::from(i) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(width(&mut errors, 0.9), Some(18.0));
        assert_eq!(width(&mut [3.0], 0.9), Some(3.0));
        assert_eq!(width(&mut [], 0.9), None);
    }
}
