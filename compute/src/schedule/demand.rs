//! The conditions of a collective: which nodes have and which nodes want each chunk.

use super::graph::Graph;

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

/// The chunks `0..chunks`, each with the nodes that have it and the nodes that want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    nodes: usize,
    sources: Lists,
    /// `None` where every node wants every chunk.
    wants: Option<Lists>,
}

impl Demand {
    /// An all_gather: node n has the chunks `n·k..(n+1)·k`, where k is `chunks_per_node`, and wants all.
    pub fn all_gather(nodes: usize, chunks_per_node: usize) -> Self {
        let mut sources = Lists::new();
        for node in 0..nodes {
            (0..chunks_per_node).for_each(|_| sources.push([node as u32]));
        }
        Self { nodes, sources, wants: None }
    }

    /// A broadcast: `root` has `chunks` chunks that every node wants.
    pub fn broadcast(nodes: usize, root: u32, chunks: usize) -> Self {
        let mut sources = Lists::new();
        (0..chunks).for_each(|_| sources.push([root]));
        Self { nodes, sources, wants: None }
    }

    /// Any demand: for each chunk the nodes that have it and those that want it. A node that has a chunk does not want
    /// it, and duplicates count once.
    pub fn from_chunks(nodes: usize, chunks: impl IntoIterator<Item = (Vec<u32>, Vec<u32>)>) -> Self {
        let (mut sources, mut wants) = (Lists::new(), Lists::new());
        for (mut has, mut want) in chunks {
            for list in [&mut has, &mut want] {
                list.sort_by_cached_key(|node| u64::from(*node));
                list.dedup();
            }
            wants.push(want.into_iter().filter(|node| has.binary_search(node).is_err()));
            sources.push(has);
        }
        Self { nodes, sources, wants: Some(wants) }
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.sources.first.len() - 1
    }

    /// Whether every node wants every chunk.
    pub fn is_for_everyone(&self) -> bool {
        self.wants.is_none()
    }

    /// The nodes that have a chunk at the beginning, ascending.
    pub fn sources(&self, chunk: usize) -> &[u32] {
        self.sources.of(chunk)
    }

    /// The nodes that want a chunk and do not have it at the beginning.
    pub fn wants(&self, chunk: usize) -> impl Iterator<Item = u32> + '_ {
        let (some, all) = match &self.wants {
            Some(wants) => (wants.of(chunk), 0),
            None => (&[][..], self.nodes as u32),
        };
        some.iter().copied().chain((0..all).filter(move |node| !self.has(chunk, *node)))
    }

    /// Whether a node has a chunk at the beginning.
    pub fn has(&self, chunk: usize, node: u32) -> bool {
        self.sources(chunk).binary_search(&node).is_ok()
    }

    /// The number of runs of consecutive chunks with the same sources: each takes one search for shortest paths.
    pub fn source_groups(&self) -> usize {
        let is_other = |chunk: &usize| *chunk == 0 || self.sources(*chunk) != self.sources(*chunk - 1);
        (0..self.chunks()).filter(is_other).count()
    }

    /// Number of pairs of a chunk and a node that wants it.
    pub fn pairs(&self) -> usize {
        match &self.wants {
            Some(wants) => wants.nodes.len(),
            None => self.nodes * self.chunks() - self.sources.nodes.len(),
        }
    }

    /// The first chunk that can't reach a node that wants it, with that node; `None` where all chunks can.
    pub fn unreachable(&self, graph: &Graph) -> Option<(u32, u32)> {
        // In a strongly connected graph every chunk that some node has reaches all nodes.
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

    /// A lower bound of the number of transfers: for each chunk the number of hops to the farthest node that wants it,
    /// or the number of nodes that want it, whichever is larger. All must be reachable.
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
