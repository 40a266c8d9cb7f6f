//! Sorting and collecting with little code.
//!
//! The standard library's sort is compiled again for every type and comparison, about four kilobytes of the page each.
//! The functions here sort indices instead, by one compiled sort for all types.

use std::cmp::Ordering;

/// Stable sorts of slices that share one compiled sort. For a million items and more the standard library's are faster.
pub trait CompactSort<T> {
    /// Sorts by a comparison.
    fn compact_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by a key, ascending.
    fn compact_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.compact_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts by an integer key, ascending: nearly as fast as the standard library also for millions of items. Items
    /// that are in order already cost one pass.
    fn compact_sort_by_number(&mut self, key: impl Fn(&T) -> u64);

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
        let sources = sorted_indices(self.len(), &|a, b| compare(&self[a], &self[b]));
        permute(self, sources);
    }

    fn compact_sort_by_number(&mut self, key: impl Fn(&T) -> u64) {
        if !self.is_sorted_by_key(&key) {
            let mut keyed: Vec<(u64, usize)> = self.iter().map(key).zip(0..).collect();
            sort_pairs(&mut keyed);
            permute(self, keyed.into_iter().map(|(_, index)| index).collect());
        }
    }
}

/// Moves the item of index `sources[i]` to index `i`, for all `i`, by swaps.
fn permute<T>(items: &mut [T], mut sources: Vec<usize>) {
    for target in 0..sources.len() {
        let mut source = sources[target];
        // An item from below `target` was swapped away when that index was filled: follow where it went.
        while source < target {
            source = sources[source];
        }
        sources[target] = source;
        items.swap(target, source);
    }
}

/// Not inlined, so that there is one copy of this sort.
#[inline(never)]
fn sort_pairs(keyed: &mut [(u64, usize)]) {
    keyed.sort_unstable();
}

/// The indices `0..count`, stably sorted by a comparison of indices. The comparison is a trait object, so that this is
/// compiled once.
#[inline(never)]
fn sorted_indices(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..count).collect();
    indices.sort_by(|a, b| compare(*a, *b));
    indices
}

/// Collecting without the standard library's sort: `collect` into an ordered map or set sorts the items first.
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
    fn sorts_as_the_standard_library_does() {
        // Any mixture of equal and different keys will do.
        let key = |index: usize, count: usize| index.wrapping_mul(2_654_435_761) % (1 + count / 2);
        for count in (0..60).chain([1000]) {
            let mut ours: Vec<(usize, usize)> = (0..count).map(|index| (key(index, count), index)).collect();
            let mut theirs = ours.clone();
            ours.compact_sort_by_key(|pair| pair.0);
            theirs.sort_by_key(|pair| pair.0);
            assert_eq!(ours, theirs);
            ours.compact_sort_by(|a, b| b.cmp(a));
            theirs.sort_by(|a, b| b.cmp(a));
            assert_eq!(ours, theirs);
            ours.compact_sort_by_number(|pair| pair.0 as u64);
            theirs.sort_by_key(|pair| pair.0);
            assert_eq!(ours, theirs);
            ours.compact_sort();
            theirs.sort();
            assert_eq!(ours, theirs);
        }
    }
}
