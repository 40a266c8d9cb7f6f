//! Ordered maps and sets as sorted vectors. The standard library's are trees, four kilobytes of the page for each type
//! of key and value, and no faster for what is kept here: sizes, configurations, groups. What as many things may stand
//! in as a file has lines is a tree nevertheless: here, one that comes before all others moves them all.

use std::{
    borrow::Borrow,
    ops::{Bound, Index, RangeBounds},
    slice, vec,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::order::CompactSort;

/// A map sorted by its keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

/// A sorted set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T>(SortedMap<T, ()>);

/// A place in a map, which may still be empty.
pub struct Entry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    place: Result<usize, usize>,
    key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value of the key; inserts the result of `make` if there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let place = self.place.unwrap_or_else(|place| {
            self.entries.insert(place, (self.key, make()));
            place
        });
        &mut self.entries[place].1
    }

    /// The value of the key; inserts `value` if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value of the key; inserts the default value if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value of the key if there is one.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(place) = self.place {
            change(&mut self.entries[place].1);
        }
        self
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, ascending.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The values in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// The keys, ascending.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// Keeps the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// The smallest key with its value.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The largest key with its value.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, mutably.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// Whether there is a value for a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key and gives the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// The entry of a key, which may be vacant.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { place: self.place(&key), entries: &mut self.0, key }
    }

    /// Keys and values of a range of keys, ascending.
    pub fn range(&self, keys: impl RangeBounds<K>) -> Iter<'_, K, V> {
        let start = match keys.start_bound() {
            Bound::Included(first) => self.0.partition_point(|(key, _)| key < first),
            Bound::Excluded(before) => self.0.partition_point(|(key, _)| key <= before),
            Bound::Unbounded => 0,
        };
        let end = match keys.end_bound() {
            Bound::Included(last) => self.0.partition_point(|(key, _)| key <= last),
            Bound::Excluded(after) => self.0.partition_point(|(key, _)| key < after),
            Bound::Unbounded => self.0.len(),
        };
        self.0.get(start..end).unwrap_or_default().iter().map(|(key, value)| (key, value))
    }
}

/// The iterator over keys and values of a [`SortedMap`].
pub type Iter<'a, K, V> = std::iter::Map<slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        /// The number of entries up to which inserting them one by one beats sorting.
        const FEW: usize = 64;
        if !self.is_empty() {
            entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
            return;
        }
        let mut most = FEW;
        for entry in entries {
            self.0.push(entry);
            if self.len() > most {
                self.put_in_order();
                most = 2 * self.len() + FEW;
            }
        }
        self.put_in_order();
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// After others were put at its end: one after the other, each that comes before others would move them. The last
    /// of equal keys stays.
    fn put_in_order(&mut self) {
        if self.0.is_sorted_by(|(a, _), (b, _)| a < b) {
            return;
        }
        self.0.compact_sort_by(|(a, _), (b, _)| a.cmp(b));
        self.0.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                std::mem::swap(next, kept);
            }
            is_same
        });
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const COUNT: usize> From<[(K, V); COUNT]> for SortedMap<K, V> {
    fn from(entries: [(K, V); COUNT]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    /// # Panics
    /// Where there is no value for the key.
    fn index(&self, key: &K) -> &V {
        let place = self.0.binary_search_by(|(other, _)| other.cmp(key));
        &self.0[place.unwrap_or(self.0.len())].1
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SortedSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        self.0.keys()
    }

    /// Keeps the members for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|member, ()| keep(member));
    }

    /// The smallest member.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// The largest member.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether `member` is in the set.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(member)
    }

    /// Adds a member; returns false if it was in the set already.
    pub fn insert(&mut self, member: T) -> bool {
        self.0.insert(member, ()).is_none()
    }

    /// Removes a member; returns false if it was not in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(member).is_some()
    }

    /// The members of a range, ascending.
    pub fn range(&self, members: impl RangeBounds<T>) -> impl DoubleEndedIterator<Item = &T> {
        self.0.range(members).map(|(member, ())| member)
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        self.0.extend(members.into_iter().map(|member| (member, ())));
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut set = Self::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const COUNT: usize> From<[T; COUNT]> for SortedSet<T> {
    fn from(members: [T; COUNT]) -> Self {
        members.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::iter::Map<vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(member, ())| member)
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::iter::Map<slice::Iter<'a, (T, ())>, fn(&'a (T, ())) -> &'a T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.0.iter().map(|(member, ())| member)
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, T: Ord + Deserialize<'de>> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn collecting_keeps_the_last_of_equal_keys() {
        let pairs = |count: u64| (0..count).map(|at| (at.wrapping_mul(2_654_435_761) % 97 * 13 % 50, at));
        for count in [0, 1, 2, 63, 64, 65, 129, 1000] {
            let (ours, theirs): (SortedMap<_, _>, BTreeMap<_, _>) = (pairs(count).collect(), pairs(count).collect());
            assert_eq!(ours.into_iter().collect::<Vec<_>>(), theirs.into_iter().collect::<Vec<_>>());
        }
        let descending: SortedSet<u64> = (0..100_000).rev().collect();
        assert_eq!((descending.len(), descending.first()), (100_000, Some(&0)));
    }

    #[test]
    fn behaves_as_the_trees_do() {
        let (mut ours, mut theirs) = (SortedMap::new(), BTreeMap::new());
        // Knuth's linear congruential numbers: any order of steps and keys will do.
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for step in 0..400 {
            let key = below(40);
            match below(5) {
                0 => assert_eq!(ours.insert(key, step), theirs.insert(key, step)),
                1 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
                2 => assert_eq!(ours.entry(key).or_default(), theirs.entry(key).or_default()),
                3 => {
                    *ours.entry(key).and_modify(|v| *v += 1).or_insert(step) += 2;
                    *theirs.entry(key).and_modify(|v| *v += 1).or_insert(step) += 2;
                }
                _ => {
                    ours.retain(|k, _| k % 7 != key % 7);
                    theirs.retain(|k, _| k % 7 != key % 7);
                }
            }
            assert!(ours.iter().eq(theirs.iter()));
            assert_eq!((ours.get(&key), ours.len()), (theirs.get(&key), theirs.len()));
            assert!(ours.range(key..key + 9).eq(theirs.range(key..key + 9)));
            assert!(ours.range(..=key).rev().eq(theirs.range(..=key).rev()));
            assert_eq!(ours.last_key_value(), theirs.last_key_value());
        }
    }

    #[test]
    fn sets_hold_each_once() {
        let members = [5, 1, 4, 1, 5, 9];
        let (mut ours, theirs) = (SortedSet::from(members), BTreeSet::from(members));
        assert!(ours.iter().eq(theirs.iter()));
        assert!(!ours.insert(9) && ours.remove(&9) && !ours.contains(&9));
        assert!(ours.range(2..).eq([4, 5].iter()));
        assert_eq!((ours.first(), ours.last()), (Some(&1), Some(&5)));
    }
}
