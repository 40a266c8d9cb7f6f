//! Directed link graphs whose durations are whole ticks.

use crate::order::CompactSort;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The most nodes that a graph may have.
pub const MAX_NODES: usize = 1 << 16;

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The sending node.
    pub from: u32,
    /// The receiving node.
    pub to: u32,
    /// How long a chunk occupies the link, in ticks; at least 1.
    pub duration: u64,
    /// Bandwidth, in a unit that all links of a graph share; at least 1.
    pub rate: u64,
}

/// Lists of link indices, one per node.
#[derive(Clone, Debug, Default)]
struct Lists {
    first: Vec<u32>,
    links: Vec<u32>,
}

impl Lists {
    fn new(nodes: usize, links: &[Link], key: impl Fn(&Link) -> u32) -> Self {
        let mut first = vec![0; nodes + 1];
        for link in links {
            first[key(link) as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut lists = vec![0; links.len()];
        for (index, link) in links.iter().enumerate() {
            let place = &mut next[key(link) as usize];
            lists[*place as usize] = index as u32;
            *place += 1;
        }
        Self { first, links: lists }
    }

    fn of(&self, node: usize) -> &[u32] {
        &self.links[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// A directed graph of the nodes `0..nodes`.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: usize,
    links: Vec<Link>,
    outgoing: Lists,
    incoming: Lists,
}

/// A link that is not valid, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("link {0} leads to itself or to a node that is not there, or takes no time")]
pub struct BadLink(pub usize);

impl Graph {
    /// Builds a graph.
    ///
    /// # Errors
    /// Returns [`BadLink`] if a link leads to itself or to an unknown node, or has a duration or rate of 0.
    pub fn new(nodes: usize, links: Vec<Link>) -> Result<Self, BadLink> {
        let is_bad = |link: &Link| {
            let inside = (link.from as usize) < nodes && (link.to as usize) < nodes;
            !inside || link.from == link.to || link.duration == 0 || link.rate == 0
        };
        if let Some(bad) = links.iter().position(is_bad) {
            return Err(BadLink(bad));
        }
        let outgoing = Lists::new(nodes, &links, |link| link.from);
        let incoming = Lists::new(nodes, &links, |link| link.to);
        Ok(Self { nodes, links, outgoing, incoming })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// All links, by index.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The indices of the links out of a node.
    pub fn outgoing(&self, node: usize) -> &[u32] {
        self.outgoing.of(node)
    }

    /// The indices of the links into a node.
    pub fn incoming(&self, node: usize) -> &[u32] {
        self.incoming.of(node)
    }

    /// The graph with all links reversed; their indices stay.
    pub fn reversed(&self) -> Self {
        let turned = |link: &Link| Link { from: link.to, to: link.from, ..*link };
        Self {
            nodes: self.nodes,
            links: self.links.iter().map(turned).collect(),
            outgoing: self.incoming.clone(),
            incoming: self.outgoing.clone(),
        }
    }

    /// The common duration of all links; `None` where they differ or there are none.
    pub fn uniform(&self) -> Option<u64> {
        let first = self.links.first()?.duration;
        self.links.iter().all(|link| link.duration == first).then_some(first)
    }

    /// The number of groups of links with the same sender and the same duration.
    pub fn link_groups(&self) -> usize {
        if self.uniform().is_some() {
            return self.nodes;
        }
        let mut durations = Vec::new();
        let of_node = |node: usize| {
            durations.clear();
            durations.extend(self.outgoing(node).iter().map(|link| self.links[*link as usize].duration));
            durations.compact_sort();
            durations.dedup();
            durations.len()
        };
        (0..self.nodes).map(of_node).sum()
    }

    /// The number of hops on a shortest path from the nearest source to each node; `u32::MAX` where there is no path.
    pub fn hops(&self, sources: &[u32]) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.nodes];
        let mut reached = sources.to_vec();
        sources.iter().for_each(|node| hops[*node as usize] = 0);
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            for &link in self.outgoing(node as usize) {
                let to = self.links[link as usize].to;
                if hops[to as usize] == u32::MAX {
                    hops[to as usize] = hops[node as usize] + 1;
                    reached.push(to);
                }
            }
        }
        hops
    }

    /// The ticks on a shortest path from the nearest source to each node; `u64::MAX` where there is no path.
    pub fn distances(&self, sources: impl IntoIterator<Item = u32>) -> Vec<u64> {
        if let Some(step) = self.uniform() {
            let sources: Vec<u32> = sources.into_iter().collect();
            let ticks = |hops: u32| if hops == u32::MAX { u64::MAX } else { u64::from(hops).saturating_mul(step) };
            return self.hops(&sources).into_iter().map(ticks).collect();
        }
        let mut distance = vec![u64::MAX; self.nodes];
        let mut open = BinaryHeap::new();
        for source in sources {
            distance[source as usize] = 0;
            open.push((Reverse(0_u64), source));
        }
        while let Some((Reverse(at), node)) = open.pop() {
            if at > distance[node as usize] {
                continue;
            }
            for &link in self.outgoing(node as usize) {
                let Link { to, duration, .. } = self.links[link as usize];
                let then = at.saturating_add(duration);
                if then < distance[to as usize] {
                    distance[to as usize] = then;
                    open.push((Reverse(then), to));
                }
            }
        }
        distance
    }

    /// The strongly connected components (Kosaraju), largest first; of equal sizes the one with the smallest node
    /// first.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut finished = Vec::with_capacity(self.nodes);
        let mut seen = vec![false; self.nodes];
        for start in 0..self.nodes {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let node = *node;
                match self.outgoing(node).get(*next) {
                    Some(&link) => {
                        *next += 1;
                        let to = self.links[link as usize].to as usize;
                        if !std::mem::replace(&mut seen[to], true) {
                            path.push((to, 0));
                        }
                    }
                    None => {
                        finished.push(node);
                        path.pop();
                    }
                }
            }
        }
        seen.fill(false);
        let mut components = Vec::new();
        for &start in finished.iter().rev() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut component = vec![start as u32];
            let mut next = 0;
            while let Some(&node) = component.get(next) {
                next += 1;
                for &link in self.incoming(node as usize) {
                    let from = self.links[link as usize].from;
                    if !std::mem::replace(&mut seen[from as usize], true) {
                        component.push(from);
                    }
                }
            }
            component.compact_sort();
            components.push(component);
        }
        components.compact_sort_by_key(|component| (Reverse(component.len()), component[0]));
        components
    }
}

#[cfg(test)]
impl Graph {
    /// A graph of links with the given ends and durations in ticks, all of rate 1.
    pub(super) fn of_durations(nodes: usize, links: &[(u32, u32, u64)]) -> Self {
        let link = |&(from, to, duration)| Link { from, to, duration, rate: 1 };
        Self::new(nodes, links.iter().map(link).collect()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_not_valid_is_named() {
        let good = Link { from: 0, to: 1, duration: 1, rate: 1 };
        let bad = [
            Link { from: 2, ..good },
            Link { to: 2, ..good },
            Link { to: 0, ..good },
            Link { duration: 0, ..good },
            Link { rate: 0, ..good },
        ];
        for bad in bad {
            assert_eq!(Graph::new(2, vec![good, bad]).unwrap_err(), BadLink(1), "{bad:?}");
        }
    }

    #[test]
    fn each_node_lists_its_links() {
        let graph = Graph::of_durations(3, &[(0, 1, 1), (2, 1, 1), (1, 0, 1), (0, 2, 1)]);
        assert_eq!((graph.nodes(), graph.links().len()), (3, 4));
        assert_eq!([0, 1, 2].map(|node| graph.outgoing(node).to_vec()), [vec![0, 3], vec![2], vec![1]]);
        assert_eq!([0, 1, 2].map(|node| graph.incoming(node).to_vec()), [vec![2], vec![0, 1], vec![3]]);
        let turned = graph.reversed();
        assert_eq!((turned.nodes(), turned.links()[0]), (3, Link { from: 1, to: 0, duration: 1, rate: 1 }));
        assert!((0..3).all(|node| turned.outgoing(node) == graph.incoming(node)));
        assert!((0..3).all(|node| turned.incoming(node) == graph.outgoing(node)));
    }

    #[test]
    fn the_shortest_path_in_ticks_may_have_more_hops() {
        // Directly in 9 ticks, or over another node in 5; node 3 is not reached.
        let graph = Graph::of_durations(4, &[(0, 1, 2), (1, 2, 3), (0, 2, 9), (3, 0, 1)]);
        assert_eq!(graph.uniform(), None);
        assert_eq!(graph.hops(&[0]), [0, 1, 1, u32::MAX]);
        assert_eq!(graph.distances([0]), [0, 2, 5, u64::MAX]);
        assert_eq!(graph.distances([1, 3]), [1, 0, 3, 0]);
    }

    #[test]
    fn with_equal_durations_ticks_are_hops() {
        let graph = Graph::of_durations(4, &[(0, 1, 7), (1, 2, 7)]);
        assert_eq!(graph.uniform(), Some(7));
        assert_eq!(graph.distances([0]), [0, 7, 14, u64::MAX]);
        assert_eq!(graph.distances([2, 0]), [0, 7, 0, u64::MAX]);
        assert_eq!(Graph::default().uniform(), None);
    }

    #[test]
    fn links_of_a_sender_with_equal_durations_are_a_group() {
        assert_eq!(Graph::of_durations(3, &[(0, 1, 2), (0, 2, 2), (1, 2, 3), (2, 0, 2), (2, 1, 5)]).link_groups(), 4);
        // One duration everywhere: a group for each node.
        assert_eq!(Graph::of_durations(3, &[(0, 1, 2), (0, 2, 2)]).link_groups(), 3);
    }

    #[test]
    fn components_are_the_largest_first_then_by_their_first_node() {
        // A circle of 3, 4, 5; one of 1 and 2, which leads to it; 0 and 6 alone.
        let links = [(3, 4, 1), (4, 5, 1), (5, 3, 1), (1, 2, 1), (2, 1, 1), (2, 3, 1), (0, 1, 1), (5, 6, 1)];
        assert_eq!(Graph::of_durations(7, &links).components(), [vec![3, 4, 5], vec![1, 2], vec![0], vec![6]]);
    }
}
