//! Sorting without a copy of the standard library's sort for every type: four kilobytes of the page each.

use std::cmp::Ordering;

/// Stable sorts of slices, all by one and the same code. Where a million things are sorted, the standard library's own
/// are faster.
pub trait Order<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts by a number: nearly as fast as the standard library, where there may be millions; what is in order already
    /// costs one look.
    fn order_by_number(&mut self, key: impl Fn(&T) -> u64);

    /// Sorts ascending.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let places = places(self.len(), &|a, b| compare(&self[a], &self[b]));
        arrange(self, places);
    }

    fn order_by_number(&mut self, key: impl Fn(&T) -> u64) {
        if !self.is_sorted_by_key(&key) {
            let mut numbered: Vec<(u64, usize)> = self.iter().map(key).zip(0..).collect();
            ascending(&mut numbered);
            arrange(self, numbered.into_iter().map(|(_, place)| place).collect());
        }
    }
}

/// Puts to each place what stands at the place that is named for it.
fn arrange<T>(all: &mut [T], mut places: Vec<usize>) {
    // What belongs to a place may have been moved by an earlier exchange: then follow it.
    for place in 0..places.len() {
        let mut from = places[place];
        while from < place {
            from = places[from];
        }
        places[place] = from;
        all.swap(place, from);
    }
}

#[inline(never)]
fn ascending(numbered: &mut [(u64, usize)]) {
    numbered.sort_unstable();
}

/// The places of `count` things in their order.
#[inline(never)]
fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Collecting without that sort: the ordered maps and sets of the standard library sort what they are collected from.
pub trait Gather: Iterator + Sized {
    /// Puts one after the other into an empty collection.
    fn gather<C: Default + Extend<Self::Item>>(self) -> C {
        let mut gathered = C::default();
        gathered.extend(self);
        gathered
    }
}

impl<I: Iterator> Gather for I {}

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
            ours.order_by_key(|pair| pair.0);
            theirs.sort_by_key(|pair| pair.0);
            assert_eq!(ours, theirs);
            ours.order_by(|a, b| b.cmp(a));
            theirs.sort_by(|a, b| b.cmp(a));
            assert_eq!(ours, theirs);
            ours.order_by_number(|pair| pair.0 as u64);
            theirs.sort_by_key(|pair| pair.0);
            assert_eq!(ours, theirs);
            ours.order();
            theirs.sort();
            assert_eq!(ours, theirs);
        }
    }
}
