//! Which chunks are where, and who wants them.

use super::graph::Graph;
use crate::order::CompactSort;

/// Lists of nodes, one per chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    first: Vec<u32>,
    nodes: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Self { first: vec![0], nodes: Vec::new() }
    }

    fn push(&mut self, nodes: impl IntoIterator<Item = u32>) {
        self.nodes.extend(nodes);
        self.first.push(self.nodes.len() as u32);
    }

    fn of(&self, chunk: usize) -> &[u32] {
        &self.nodes[self.first[chunk] as usize..self.first[chunk + 1] as usize]
    }
}

/// Chunks `0..chunks`, each on some nodes and wanted by others: conditions before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    nodes: usize,
    sources: Lists,
    /// `None` where every node wants every chunk.
    wants: Option<Lists>,
}

impl Demand {
    /// Every node has `chunks_per_node` chunks and wants all: node n has `n·k..(n+1)·k`.
    #[must_use]
    pub fn all_gather(nodes: usize, chunks_per_node: usize) -> Self {
        let mut sources = Lists::new();
        for node in 0..nodes {
            (0..chunks_per_node).for_each(|_| sources.push([node as u32]));
        }
        Self { nodes, sources, wants: None }
    }

    /// One node has `chunks` chunks that every node wants.
    #[must_use]
    pub fn broadcast(nodes: usize, root: u32, chunks: usize) -> Self {
        let mut sources = Lists::new();
        (0..chunks).for_each(|_| sources.push([root]));
        Self { nodes, sources, wants: None }
    }

    /// Chunks in order, each with the nodes that have it and those that want it. Who has a chunk does not want it, and who
    /// is named twice counts once.
    #[must_use]
    pub fn of(nodes: usize, chunks: impl IntoIterator<Item = (Vec<u32>, Vec<u32>)>) -> Self {
        let (mut sources, mut wants) = (Lists::new(), Lists::new());
        for (mut has, mut want) in chunks {
            for list in [&mut has, &mut want] {
                list.compact_sort_by_number(|node| u64::from(*node));
                list.dedup();
            }
            wants.push(want.into_iter().filter(|node| has.binary_search(node).is_err()));
            sources.push(has);
        }
        Self { nodes, sources, wants: Some(wants) }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many chunks there are.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.sources.first.len() - 1
    }

    /// Every node wants every chunk.
    #[must_use]
    pub fn is_for_everyone(&self) -> bool {
        self.wants.is_none()
    }

    /// Who has a chunk at the beginning, in order.
    #[must_use]
    pub fn sources(&self, chunk: usize) -> &[u32] {
        self.sources.of(chunk)
    }

    /// Who has to have a chunk in the end and has not.
    pub fn wants(&self, chunk: usize) -> impl Iterator<Item = u32> + '_ {
        let (some, all) = match &self.wants {
            Some(wants) => (wants.of(chunk), 0),
            None => (&[][..], self.nodes as u32),
        };
        some.iter().copied().chain((0..all).filter(move |node| !self.has(chunk, *node)))
    }

    /// Whether a node has a chunk at the beginning.
    #[must_use]
    pub fn has(&self, chunk: usize, node: u32) -> bool {
        self.sources(chunk).binary_search(&node).is_ok()
    }

    /// How often ways are looked for from nodes that have a chunk: once for chunks that follow each other and are at the same.
    #[must_use]
    pub fn searches(&self) -> usize {
        let is_other = |chunk: &usize| *chunk == 0 || self.sources(*chunk) != self.sources(*chunk - 1);
        (0..self.chunks()).filter(is_other).count()
    }

    /// Pairs of a chunk and a node that wants it.
    #[must_use]
    pub fn pairs(&self) -> usize {
        match &self.wants {
            Some(wants) => wants.nodes.len(),
            None => self.nodes * self.chunks() - self.sources.nodes.len(),
        }
    }

    /// The first chunk that a node wants and can't be brought to it from any that has it.
    #[must_use]
    pub fn unreachable(&self, graph: &Graph) -> Option<(u32, u32)> {
        // Where each node reaches each there is a way for every chunk that anybody has.
        if graph.components().len() == 1 && (0..self.chunks()).all(|chunk| !self.sources(chunk).is_empty()) {
            return None;
        }
        let mut last: Option<(&[u32], Vec<u64>)> = None;
        for chunk in 0..self.chunks() {
            let sources = self.sources(chunk);
            if last.as_ref().is_none_or(|(of, _)| *of != sources) {
                last = Some((sources, graph.distances(sources.iter().copied())));
            }
            let distance = last.as_ref().map_or(&[][..], |(_, distance)| distance);
            if let Some(node) = self.wants(chunk).find(|node| distance[*node as usize] == u64::MAX) {
                return Some((chunk as u32, node));
            }
        }
        None
    }

    /// Transfers that no schedule does without: of each chunk one for each link of the shortest way to who is farthest, or for
    /// each node that wants it, whichever is more. All can be reached.
    #[must_use]
    pub fn least_transfers(&self, graph: &Graph) -> u64 {
        let mut last: Option<(&[u32], Vec<u32>)> = None;
        let mut least = 0;
        for chunk in 0..self.chunks() {
            let sources = self.sources(chunk);
            if last.as_ref().is_none_or(|(of, _)| *of != sources) {
                last = Some((sources, graph.hops(sources)));
            }
            let hops = last.as_ref().map_or(&[][..], |(_, hops)| hops);
            let farthest = self.wants(chunk).map(|node| hops[node as usize]).max().unwrap_or(0);
            least += u64::from(farthest).max(self.wants(chunk).count() as u64);
        }
        least
    }
}
