//! Schedules.

use super::graph::Graph;

/// A chunk on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which link, by index.
    pub link: u32,
    /// Which chunk.
    pub chunk: u32,
    /// When it begins, in ticks.
    pub start: u64,
}

/// Who sends what when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Those that reduce come before those that copy.
    pub transfers: Vec<Transfer>,
    /// So many of the first transfers add what they carry to what is there.
    pub reducing: usize,
}

impl Schedule {
    /// When the last transfer ends, in ticks.
    #[must_use]
    pub fn end(&self, graph: &Graph) -> u64 {
        self.transfers.iter().map(|transfer| transfer.end(graph)).max().unwrap_or(0)
    }

    /// The same backwards in time, over the reversed links: what spread a chunk collects it then.
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

    /// One after the other.
    #[must_use]
    pub fn then(mut self, graph: &Graph, mut next: Self) -> Self {
        let end = self.end(graph);
        next.transfers.iter_mut().for_each(|transfer| transfer.start += end);
        self.transfers.append(&mut next.transfers);
        self
    }
}

impl Transfer {
    /// When it has arrived, in ticks.
    #[must_use]
    pub fn end(&self, graph: &Graph) -> u64 {
        self.start.saturating_add(graph.links()[self.link as usize].duration)
    }
}
