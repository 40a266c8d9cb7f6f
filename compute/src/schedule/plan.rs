//! Schedules: lists of transfers with their start times.

use super::graph::Graph;

/// One chunk carried over one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Index of the link.
    pub link: u32,
    /// Index of the chunk.
    pub chunk: u32,
    /// When the link begins to carry the chunk, in ticks.
    pub start: u64,
}

/// The transfers of a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The transfers, those that reduce before those that copy.
    pub transfers: Vec<Transfer>,
    /// How many of the first transfers reduce: the receiver adds what they carry to what it has.
    pub reducing: usize,
}

impl Schedule {
    /// When the last transfer ends, in ticks.
    pub fn end(&self, graph: &Graph) -> u64 {
        self.transfers.iter().map(|transfer| transfer.end(graph)).max().unwrap_or(0)
    }

    /// The same transfers backwards in time over the reversed links, as a reduction: the tree that spread a chunk
    /// collects it.
    #[must_use]
    pub fn reversed(mut self, graph: &Graph) -> Self {
        let end = self.end(graph);
        for transfer in &mut self.transfers {
            transfer.start = end - transfer.end(graph);
        }
        self.transfers.reverse();
        self.reducing = self.transfers.len();
        self
    }

    /// This schedule followed by another.
    #[must_use]
    pub fn then(mut self, graph: &Graph, mut next: Self) -> Self {
        let end = self.end(graph);
        next.transfers.iter_mut().for_each(|transfer| transfer.start += end);
        self.transfers.append(&mut next.transfers);
        self
    }
}

impl Transfer {
    /// When the chunk has arrived, in ticks.
    pub fn end(&self, graph: &Graph) -> u64 {
        self.start.saturating_add(graph.links()[self.link as usize].duration)
    }
}

#[cfg(test)]
impl Schedule {
    /// A schedule of transfers, each a link, a chunk and its start in ticks.
    pub(super) fn of(transfers: &[(u32, u32, u64)], reducing: usize) -> Self {
        let transfers = transfers.iter().map(|&(link, chunk, start)| Transfer { link, chunk, start });
        Self { transfers: transfers.collect(), reducing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    /// A line of three nodes, whose second link takes longer than the first.
    fn line() -> Graph {
        let link = |from, duration| Link { from, to: from + 1, duration, rate: 1 };
        Graph::new(3, vec![link(0, 2), link(1, 3)]).unwrap()
    }

    fn sent(link: u32, chunk: u32, start: u64) -> Transfer {
        Transfer { link, chunk, start }
    }

    /// Both chunks of node 0 at node 1, and the first of them at node 2, which ends last, but is not the last one of
    /// the list.
    fn spread() -> Schedule {
        Schedule { transfers: vec![sent(0, 0, 0), sent(1, 0, 4), sent(0, 1, 2)], reducing: 0 }
    }

    #[test]
    fn a_schedule_ends_with_the_transfer_that_arrives_last() {
        let ends: Vec<u64> = spread().transfers.iter().map(|transfer| transfer.end(&line())).collect();
        assert_eq!(ends, [2, 7, 4]);
        assert_eq!((spread().end(&line()), Schedule::default().end(&line())), (7, 0));
    }

    #[test]
    fn a_reversed_schedule_begins_with_what_ended_last_and_only_reduces() {
        let expected = vec![sent(0, 1, 3), sent(1, 0, 0), sent(0, 0, 5)];
        assert_eq!(spread().reversed(&line().reversed()), Schedule { transfers: expected, reducing: 3 });
    }

    #[test]
    fn the_second_of_two_schedules_begins_when_the_first_has_ended() {
        let first = Schedule { transfers: vec![sent(1, 0, 1)], reducing: 1 };
        let both = first.then(&line(), spread());
        let expected = vec![sent(1, 0, 1), sent(0, 0, 4), sent(1, 0, 8), sent(0, 1, 6)];
        assert_eq!(both, Schedule { transfers: expected, reducing: 1 });
    }
}
