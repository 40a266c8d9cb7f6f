//! Sorting and collecting with little code: 240 sorts and the maps that are collected by the standard library's sort
//! are 103 kilobytes of the page, compressed.

use std::cmp::Ordering;

use tiny_sort::stable;

/// Stable sorts of slices by the crate `tiny_sort`, a twentieth of the code of the standard library's for each type and
/// comparison. Items that are in order already cost one pass, others two to four times as long as there.
pub trait CompactSort<T> {
    /// Sorts by a comparison.
    fn compact_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by a key, ascending.
    fn compact_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.compact_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts ascending.
    fn compact_sort(&mut self)
    where
        T: Ord,
    {
        self.compact_sort_by(T::cmp);
    }
}

impl<T> CompactSort<T> for [T] {
    fn compact_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        if !self.is_sorted_by(|a, b| compare(a, b).is_le()) {
            stable::sort_by(self, compare);
        }
    }
}

/// Collecting into an ordered map or set without the sort with which `collect` begins.
pub trait CompactCollect: Iterator + Sized {
    /// Inserts the items one by one into an empty collection.
    fn compact_collect<C: Default + Extend<Self::Item>>(self) -> C {
        let mut collection = C::default();
        collection.extend(self);
        collection
    }
}

impl<I: Iterator> CompactCollect for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_stable() {
        // Any mixture of equal and different keys will do.
        let key = |index: usize, count: usize| index.wrapping_mul(2_654_435_761) % (1 + count / 2);
        for count in (0..60).chain([1000]) {
            let mut ours: Vec<(usize, usize)> = (0..count).map(|index| (key(index, count), index)).collect();
            let mut theirs = ours.clone();
            ours.compact_sort_by_key(|pair| pair.0);
            theirs.sort_by_key(|pair| pair.0);
            assert_eq!(ours, theirs);
        }
    }
}
