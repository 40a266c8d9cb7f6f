//! The paths of a job's calls, as its reach report tells them for each collective, size and number of ranks.

use std::collections::BTreeMap;

use crate::{
    collective::Collective,
    order::CompactSort,
    tuning::{
        job::CollectiveCall,
        reach::{Path, Reach},
    },
};

/// A path with the ranks of the communicator and the number of calls.
type CountedPath = (Option<u32>, Path, u64);

/// The paths by collective and bytes.
pub(super) struct CallPaths(BTreeMap<(Collective, u64), Vec<CountedPath>>);

/// The paths of a report's calls whose bytes are known.
pub(super) fn of(reach: &Reach) -> CallPaths {
    let mut paths: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in reach.lines.iter().filter(|line| !line.is_per_rank) {
        let ranks = reach.communicators.get(line.communicator as usize).and_then(|communicator| communicator.ranks);
        if let Some(size_bytes) = line.size_bytes {
            paths.entry((line.collective, size_bytes)).or_default().push((ranks, line.path, line.calls));
        }
    }
    CallPaths(paths)
}

impl CallPaths {
    /// The paths of a call with their shares, the largest first. What no line tells is unknown.
    pub(super) fn of_call(&self, call: &CollectiveCall) -> Vec<(Path, f64)> {
        let of_size = self.0.get(&(call.collective, call.size_bytes)).map_or(&[][..], Vec::as_slice);
        let is_of_call = |ranks: &Option<u32>| ranks.is_none() || call.ranks.is_none() || *ranks == call.ranks;
        let mut counts: BTreeMap<Path, u64> = BTreeMap::new();
        for (_, path, calls) in of_size.iter().filter(|(ranks, ..)| is_of_call(ranks)) {
            let count = counts.entry(*path).or_default();
            *count = count.saturating_add(*calls);
        }
        let all: f64 = counts.values().map(|count| *count as f64).sum();
        if all <= 0.0 {
            return vec![(Path::Unknown, 1.0)];
        }
        let mut shares: Vec<_> = counts.into_iter().map(|(path, count)| (path, count as f64 / all)).collect();
        shares.compact_sort_by(|(_, a), (_, b)| b.total_cmp(a));
        shares
    }
}
