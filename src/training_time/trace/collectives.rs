//! The collectives of a trace, of which the profiler recorded ranks and sizes.

use super::TracedCollective;
use crate::{collective::Collective, order::CompactSort};

/// A call of a collective: which, in which of the groups of [`Calls`], and its size in bytes as nccl-tests counts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CollectiveCall {
    pub(super) collective: Collective,
    pub(super) group: usize,
    pub(super) size_bytes: u64,
}

/// The most groups of ranks whose collectives are kept.
const MOST_GROUPS: usize = 256;

/// Calls of collectives, and how many have no size.
#[derive(Default)]
pub(super) struct Calls {
    /// Each with its time in µs.
    calls: Vec<(CollectiveCall, f64)>,
    /// The ranks of each group, by what the trace says of it.
    groups: Vec<(String, Vec<u32>)>,
    without_size: u64,
}

impl Calls {
    /// Adds the kernel of a call.
    pub(super) fn add(&mut self, call: CollectiveCall, time_us: f64) {
        self.calls.push((call, time_us));
    }

    /// Adds a kernel of a collective of which the trace does not say the size.
    pub(super) fn add_without_size(&mut self) {
        self.without_size += 1;
    }

    /// The index of a group by what the trace says of it; where it is new, `ranks` are added. `None` if there are none,
    /// or too many groups.
    pub(super) fn group(&mut self, said: String, ranks: impl FnOnce() -> Option<Vec<u32>>) -> Option<usize> {
        if let Some(known) = self.groups.iter().position(|(known, _)| *known == said) {
            return Some(known);
        }
        if self.groups.len() == MOST_GROUPS {
            return None;
        }
        self.groups.push((said, ranks()?));
        Some(self.groups.len() - 1)
    }

    /// Calls of the same collective, ranks and size together, and the number of kernels without a size.
    pub(super) fn alike(mut self) -> (Vec<TracedCollective>, u64) {
        self.calls.compact_sort_by(|a, b| a.0.cmp(&b.0));
        let of = |same: &[(CollectiveCall, f64)]| TracedCollective {
            collective: same[0].0.collective,
            ranks: self.groups[same[0].0.group].1.clone(),
            size_bytes: same[0].0.size_bytes as f64,
            shortest_us: same.iter().map(|(_, time_us)| *time_us).fold(f64::INFINITY, f64::min),
            calls: same.len() as u32,
        };
        (self.calls.chunk_by(|a, b| a.0 == b.0).map(of).collect(), self.without_size)
    }
}
