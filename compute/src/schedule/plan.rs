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
