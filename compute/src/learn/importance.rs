//! Permutation importance: how much worse a model gets when one feature's values are shuffled (Breiman 2001).

use crate::{math::Stream, progress::Progress};

/// A permutation of one feature's values.
#[derive(Clone, Debug)]
pub struct Shuffle {
    /// The index of the feature.
    pub feature: usize,
    /// For each row the row whose value it gets.
    pub order: Vec<usize>,
}

/// For each feature, the increase of `error` when the feature's values are permuted at random, averaged over `rounds`
/// permutations. `error(None)` is the error of the original data.
///
/// # Errors
/// Returns the errors of `error`.
pub fn permutation<E>(
    features: usize,
    rows: usize,
    rounds: u32,
    seed: u64,
    progress: &mut dyn Progress,
    mut error: impl FnMut(Option<&Shuffle>) -> Result<f64, E>,
) -> Result<Vec<f64>, E> {
    let base = error(None)?;
    let mut stream = Stream::new(seed);
    let mut rises = vec![0.0; features];
    for (feature, rise) in rises.iter_mut().enumerate() {
        progress.report("Shuffling features", feature as u64, features as u64);
        for _round in 0..rounds {
            let mut order: Vec<usize> = (0..rows).collect();
            stream.shuffle(&mut order);
            *rise += (error(Some(&Shuffle { feature, order }))? - base) / f64::from(rounds.max(1));
        }
    }
    Ok(rises)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn only_what_the_model_uses_matters() {
        let error = |shuffle: Option<&Shuffle>| -> Result<f64, ()> {
            let used = shuffle.filter(|shuffle| shuffle.feature == 0);
            Ok(used.map_or(0.0, |s| s.order.iter().enumerate().map(|(row, from)| row.abs_diff(*from) as f64).sum()))
        };
        let rises = permutation(2, 50, 3, 1, &mut Silent, error).unwrap_or_default();
        assert!(rises[0] > 100.0);
        assert!(rises[1].abs() < 1e-12);
    }
}
