//! What is drawn of a topology and of schedules on it.

use serde::{Deserialize, Serialize};

use super::{dump::Pattern, layout::Place, model::Topology, timeline::Timeline};

/// A topology with what was found on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// All links, as they were before any damage.
    pub topology: Topology,
    /// Where its nodes stand.
    pub places: Vec<Place>,
    /// Damaged links, ascending, with the share of their bandwidth that is left: 0 of one that is cut.
    pub damaged: Vec<(u32, f64)>,
    /// Dead nodes, ascending: all their links are cut, and timelines count the others only.
    pub dead: Vec<u32>,
    /// Nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// Rings and trees that were dumped.
    pub patterns: Vec<Pattern>,
    /// What no schedule can beat, in ns.
    pub bound_ns: f64,
    /// Schedules by their names, the best first; their links are numbered without those that are cut ([`Network::whole`]),
    /// their nodes without those that are dead ([`Network::alive`]).
    pub timelines: Vec<(String, Timeline)>,
}

impl Network {
    /// What is left of a link's bandwidth.
    #[must_use]
    pub fn left(&self, link: u32) -> f64 {
        self.damaged.binary_search_by_key(&link, |(damaged, _)| *damaged).map_or(1.0, |at| self.damaged[at].1)
    }

    /// The links that are not cut, by their numbers in the topology: at each place, which link timelines call by it.
    #[must_use]
    pub fn whole(&self) -> Vec<u32> {
        (0..self.topology.links.len() as u32).filter(|link| self.left(*link) > 0.0).collect()
    }
}

impl Network {
    /// The nodes that are not dead, by their numbers in the topology: at each place, which node timelines call by it.
    #[must_use]
    pub fn alive(&self) -> Vec<u32> {
        (0..self.topology.nodes).filter(|node| self.dead.binary_search(node).is_err()).collect()
    }

    /// The topology as it is with its damage; timelines count its links and nodes.
    #[must_use]
    pub fn left_over(&self) -> Topology {
        damaged(&self.topology, &self.damaged, &self.dead)
    }
}

/// A topology with damaged links (ascending, with shares of bandwidth, 0 of what is cut) and without dead nodes (ascending),
/// which take their links with them. The other nodes keep their names.
#[must_use]
pub fn damaged(topology: &Topology, damage: &[(u32, f64)], dead: &[u32]) -> Topology {
    let left = |index: u32| damage.binary_search_by_key(&index, |(of, _)| *of).map_or(1.0, |at| damage[at].1);
    let is_dead = |node: u32| dead.binary_search(&node).is_ok();
    let place = |node: u32| node - dead.partition_point(|gone| *gone < node) as u32;
    let mut links = Vec::with_capacity(topology.links.len());
    for (index, link) in (0..).zip(&topology.links) {
        if left(index) > 0.0 && !is_dead(link.from) && !is_dead(link.to) {
            let mut link = *link;
            link.bandwidth *= left(index);
            (link.from, link.to) = (place(link.from), place(link.to));
            links.push(link);
        }
    }
    if dead.is_empty() {
        return Topology { links, ..topology.clone() };
    }
    let alive: Vec<u32> = (0..topology.nodes).filter(|node| !is_dead(*node)).collect();
    let labels = alive.iter().map(|node| topology.label(*node)).collect();
    Topology { links, labels, nodes: alive.len() as u32, shape: None, ..topology.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::generate::{Kind, Recipe};

    #[test]
    fn timelines_count_the_links_that_are_left() {
        let topology = Recipe::new(Kind::Line(3)).make().unwrap();
        let damage = vec![(1, 0.0), (2, 0.5)];
        let left = damaged(&topology, &damage, &[]);
        assert_eq!(left.links.len(), 3);
        assert_eq!((left.links[1].from, left.links[1].bandwidth), (topology.links[2].from, 25.0));
        let network = Network { topology, damaged: damage, ..Network::default() };
        assert_eq!(network.whole(), [0, 2, 3]);
    }

    #[test]
    fn nodes_keep_their_names_when_others_are_gone() {
        let topology = Recipe::new(Kind::Ring { nodes: 5, one_way: true }).make().unwrap();
        let network = Network { topology, dead: vec![1, 3], ..Network::default() };
        let left = network.left_over();
        assert_eq!((left.nodes, left.links.len(), left.label(1)), (3, 1, "2".to_owned()));
        assert_eq!((left.links[0].from, left.links[0].to), (2, 0));
        assert_eq!(network.alive(), [0, 2, 4]);
    }
}
