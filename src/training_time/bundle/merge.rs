//! Rows of several files come together: identical rows of two files count once, repeats within one stay.

use std::hash::Hasher;

use fnv::FnvHasher;

use super::super::samples::{CollectiveRow, CollectiveSamples, OperatorSamples};
use crate::order::CompactSort;

/// A hash of all bits of a row, by which equal rows are found.
fn hash(values: impl Iterator<Item = f64>) -> u64 {
    let mut hasher = FnvHasher::default();
    values.for_each(|value| hasher.write_u64(value.to_bits()));
    hasher.finish()
}

fn row_hash(samples: &OperatorSamples, row: usize) -> u64 {
    let times = [samples.forward_us.get(row), samples.backward_us.get(row)];
    hash(samples.row(row).iter().copied().chain(times.into_iter().flatten().copied()))
}

fn collective_hash(row: &CollectiveRow) -> u64 {
    let of =
        [f64::from(row.communicator.nodes), f64::from(row.communicator.per_node), row.elements as f64, row.time_us];
    hash(of.into_iter())
}

/// The rows that are there already, each to be met once.
struct Known {
    hashes: Vec<u64>,
    /// The number of equal rows beginning here that were matched.
    met: Vec<u32>,
}

impl Known {
    fn new(mut hashes: Vec<u64>) -> Self {
        hashes.compact_sort();
        Self { met: vec![0; hashes.len()], hashes }
    }

    /// Whether a row is there already, and not yet met as often as it is there.
    fn take_match(&mut self, hash: u64) -> bool {
        let first = self.hashes.partition_point(|known| *known < hash);
        let end = self.hashes.partition_point(|known| *known <= hash);
        let take_match = first < end && (self.met[first] as usize) < end - first;
        if take_match {
            self.met[first] += 1;
        }
        take_match
    }
}

/// The number of rows of `more` that `samples` contains as well; both have the same inputs in the same order.
pub(super) fn common_operator_rows(samples: &OperatorSamples, more: &OperatorSamples) -> usize {
    let mut known = Known::new((0..samples.len()).map(|row| row_hash(samples, row)).collect());
    (0..more.len()).filter(|row| known.take_match(row_hash(more, *row))).count()
}

/// Adds the rows of another file, as the one with this index; says how many were there already.
pub(super) fn operator(into: &mut OperatorSamples, more: &OperatorSamples, file: u32) -> usize {
    let hashes = if more.is_empty() { Vec::new() } else { (0..into.len()).map(|row| row_hash(into, row)).collect() };
    let mut known = Known::new(hashes);
    let mut duplicate_rows = 0;
    for row in 0..more.len() {
        if !known.hashes.is_empty() && known.take_match(row_hash(more, row)) {
            duplicate_rows += 1;
            continue;
        }
        into.values.extend_from_slice(more.row(row));
        into.forward_us.push(more.forward_us[row]);
        into.backward_us.extend(more.backward_us.get(row));
        let mut place = more.places[row];
        place.file = file;
        into.places.push(place);
    }
    duplicate_rows
}

/// Adds the rows of another file, as the one with this index; says how many were there already.
pub(super) fn collective(into: &mut CollectiveSamples, more: &[CollectiveRow], file: u32) -> usize {
    let mut known = Known::new(into.rows.iter().map(collective_hash).collect());
    let mut duplicate_rows = 0;
    for row in more {
        if !known.hashes.is_empty() && known.take_match(collective_hash(row)) {
            duplicate_rows += 1;
            continue;
        }
        let mut row = *row;
        row.place.file = file;
        into.rows.push(row);
    }
    duplicate_rows
}

/// The samples with their inputs in this order; `None` where they have others.
pub(super) fn reordered(samples: OperatorSamples, inputs: &[String]) -> Option<OperatorSamples> {
    if samples.inputs == inputs {
        return Some(samples);
    }
    if samples.inputs.len() != inputs.len() {
        return None;
    }
    let places: Option<Vec<usize>> =
        inputs.iter().map(|input| samples.inputs.iter().position(|known| known == input)).collect();
    let places = places?;
    let values = (0..samples.len()).flat_map(|row| places.iter().map(move |place| (row, *place)));
    let values = values.map(|(row, place)| samples.row(row)[place]).collect();
    Some(OperatorSamples { inputs: inputs.to_vec(), values, ..samples })
}
