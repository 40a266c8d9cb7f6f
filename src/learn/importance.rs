//! Permutation importance: how much worse a model gets when one feature's values are shuffled (Breiman 2001).

use super::Table;
use crate::{math::Stream, progress::Progress};

/// For each feature the rise of `error(table)` when that feature's values are put in a random order, averaged over
/// `rounds` orders.
pub fn permutation<E>(
    table: &Table,
    rounds: u32,
    seed: u64,
    progress: &mut dyn Progress,
    mut error: impl FnMut(&Table) -> Result<f64, E>,
) -> Result<Vec<f64>, E> {
    let base = error(table)?;
    let features = table.names().len();
    let mut stream = Stream::new(seed);
    let mut rises = vec![0.0; features];
    for (feature, rise) in rises.iter_mut().enumerate() {
        progress.report("Shuffling features", feature as u64, features as u64);
        for _round in 0..rounds {
            let mut order: Vec<usize> = (0..table.rows()).collect();
            stream.shuffle(&mut order);
            *rise += (error(&table.with_permuted(feature, &order))? - base) / f64::from(rounds.max(1));
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
        let mut table = Table::new(&["used", "ignored"]);
        (0..50).for_each(|i| table.push(&[f64::from(i), f64::from(i * i)]));
        let error = |t: &Table| -> Result<f64, ()> {
            Ok((0..t.rows()).map(|row| (t.row(row)[0] - row as f64).abs()).sum::<f64>())
        };
        let rises = permutation(&table, 3, 1, &mut Silent, error).unwrap_or_default();
        assert!(rises[0] > 100.0);
        assert!(rises[1].abs() < 1e-12);
    }
}
