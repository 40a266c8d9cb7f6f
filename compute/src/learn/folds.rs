//! Cross-validation folds over groups: rows of a group are never in training and test set at once.

use crate::order::CompactSort;

/// Assigns each row a fold: the rank of its group among the distinct groups in ascending order, modulo `folds`.
pub fn by_rank<G: Ord + Copy>(groups: &[G], folds: usize) -> Vec<usize> {
    let mut distinct = groups.to_vec();
    distinct.compact_sort();
    distinct.dedup();
    groups.iter().map(|group| distinct.binary_search(group).unwrap_or_default() % folds.max(1)).collect()
}

/// The rows outside and the rows inside a fold.
pub fn split(assignment: &[usize], fold: usize) -> (Vec<usize>, Vec<usize>) {
    (0..assignment.len()).partition(|&row| assignment[row] != fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_a_group_are_in_one_fold() {
        let assignment = by_rank(&[30, 10, 20, 10, 40], 3);
        assert_eq!(assignment, [2, 0, 1, 0, 0]);
        assert_eq!(split(&assignment, 0), (vec![0, 2], vec![1, 3, 4]));
    }
}
