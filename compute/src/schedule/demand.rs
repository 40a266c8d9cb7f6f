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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::graph::Link;

    /// A line of nodes, whose links lead to the next node in one tick.
    fn line(nodes: u32) -> Graph {
        let link = |from| Link { from, to: from + 1, duration: 1, rate: 1 };
        Graph::new(nodes as usize, (0..nodes - 1).map(link).collect()).unwrap()
    }

    fn wants(demand: &Demand, chunk: usize) -> Vec<u32> {
        demand.wants(chunk).collect()
    }

    #[test]
    fn an_all_gather_has_the_chunks_of_each_node_one_after_the_other() {
        let demand = Demand::all_gather(3, 2);
        assert_eq!((demand.chunks(), demand.is_for_everyone()), (6, true));
        assert_eq!((demand.sources(3), wants(&demand, 3)), (&[1][..], vec![0, 2]));
        assert!(demand.has(3, 1) && !demand.has(3, 0));
        assert_eq!((demand.source_groups(), demand.pairs()), (3, 12));
    }

    #[test]
    fn a_broadcast_has_all_chunks_at_its_root() {
        let demand = Demand::broadcast(4, 2, 3);
        assert_eq!((demand.chunks(), demand.is_for_everyone()), (3, true));
        assert!((0..3).all(|chunk| demand.sources(chunk) == [2] && wants(&demand, chunk) == [0, 1, 3]));
        assert_eq!((demand.source_groups(), demand.pairs()), (1, 9));
    }

    #[test]
    fn lists_are_sorted_and_who_has_a_chunk_does_not_want_it() {
        let demand = Demand::from_chunks(5, [(vec![3, 1, 3], vec![4, 1, 0, 4]), (vec![2], vec![2])]);
        assert_eq!((demand.chunks(), demand.is_for_everyone()), (2, false));
        assert_eq!((demand.sources(0), wants(&demand, 0)), (&[1, 3][..], vec![0, 4]));
        assert_eq!((demand.sources(1), wants(&demand, 1)), (&[2][..], vec![]));
        assert_eq!((demand.source_groups(), demand.pairs()), (2, 2));
    }

    #[test]
    fn the_first_chunk_that_reaches_not_all_who_want_it_is_named() {
        let graph = line(3);
        let of =
            |chunks: &[(u32, u32)]| Demand::from_chunks(3, chunks.iter().map(|&(has, want)| (vec![has], vec![want])));
        assert_eq!(of(&[(0, 2), (0, 1), (1, 2)]).unreachable(&graph), None);
        assert_eq!(of(&[(0, 2), (1, 0), (2, 0)]).unreachable(&graph), Some((1, 0)));
        assert_eq!(Demand::all_gather(3, 1).unreachable(&graph), Some((1, 0)));
        let both = Link { from: 2, to: 0, duration: 1, rate: 1 };
        let ring = Graph::new(3, graph.links().iter().copied().chain([both]).collect()).unwrap();
        assert_eq!(Demand::all_gather(3, 1).unreachable(&ring), None);
        // A chunk that nobody has reaches nobody, however well the nodes are connected.
        let nowhere = Demand::from_chunks(3, [(vec![], vec![1])]);
        assert_eq!(nowhere.unreachable(&ring), Some((0, 1)));
    }

    #[test]
    fn least_transfers_are_the_hops_or_the_nodes_whichever_are_more() {
        let graph = line(4);
        // Three hops to one node; three nodes; one hop from the nearer of two sources; nobody.
        let chunks = [(vec![0], vec![3]), (vec![0], vec![1, 2, 3]), (vec![0, 2], vec![3]), (vec![1], vec![])];
        assert_eq!(Demand::from_chunks(4, chunks).least_transfers(&graph), 3 + 3 + 1);
    }
}
