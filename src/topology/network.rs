//! The data of the network view: a topology with the schedules on it.

use serde::{Deserialize, Serialize};

use super::{dump::Pattern, layout::Place, model::Topology, timeline::Timeline};

/// A topology with its schedules, as the page draws it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The topology as it was opened, with what is damaged or dead.
    pub topology: Topology,
    /// Where each node is drawn, in the order of nodes.
    pub places: Vec<Place>,
    /// The damaged links, ascending, with the share of bandwidth that is left; 0 for a cut link.
    pub damaged: Vec<(u32, f64)>,
    /// The dead nodes, ascending. All their links are cut; timelines number the other nodes only.
    pub dead: Vec<u32>,
    /// The nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// The rings and trees of a dump, drawn over the links; empty without a dump.
    pub patterns: Vec<Pattern>,
    /// The lower bound of all schedules, in ns.
    pub bound_ns: f64,
    /// The schedules with their names, the best first. Their links are numbered without cut ones ([`Network::whole`]),
    /// their nodes without dead ones ([`Network::alive`]).
    pub timelines: Vec<(String, Timeline)>,
}

/// A request for the transfers of the timelines that are too long to be given whole. It is answered by a timeline for
/// each of [`Network::timelines`], empty where that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutRequest {
    /// The time of the first transfers, in ns.
    pub from_ns: f64,
    /// The chunk whose whole path is given as well.
    pub chunk: Option<u32>,
}

impl Network {
    /// The share of a link's bandwidth that is left.
    pub fn left(&self, link: u32) -> f64 {
        self.damaged.binary_search_by_key(&link, |(damaged, _)| *damaged).map_or(1.0, |at| self.damaged[at].1)
    }

    /// The indices in the topology of the links that are not cut, in the order in which timelines number them.
    pub fn whole(&self) -> Vec<u32> {
        (0..self.topology.links.len() as u32).filter(|link| self.left(*link) > 0.0).collect()
    }
}

impl Network {
    /// The indices in the topology of the nodes that are not dead, in the order in which timelines number them.
    pub fn alive(&self) -> Vec<u32> {
        (0..self.topology.nodes).filter(|node| self.dead.binary_search(node).is_err()).collect()
    }

    /// The topology with its damage, in the numbering of timelines.
    pub fn left_over(&self) -> Topology {
        damaged(&self.topology, &self.damaged, &self.dead)
    }
}

/// A topology with damaged links (ascending, with shares of bandwidth, 0 for cut ones) and without dead nodes
/// (ascending) and their links. The other nodes keep their names.
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
    fn timelines_number_only_links_that_are_not_cut() {
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
