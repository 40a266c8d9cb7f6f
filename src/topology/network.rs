//! What is drawn of a topology and of schedules on it.

use serde::{Deserialize, Serialize};

use super::{dump::Pattern, film::Film, layout::Place, model::Topology};

/// A topology with what was found on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// All links, as they were before any damage.
    pub topology: Topology,
    /// Where its nodes stand.
    pub places: Vec<Place>,
    /// Damaged links, ascending, with the share of their bandwidth that is left: 0 of one that is cut.
    pub damaged: Vec<(u32, f64)>,
    /// Nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// Rings and trees that were dumped.
    pub patterns: Vec<Pattern>,
    /// What no schedule can beat, in ns.
    pub bound_ns: f64,
    /// Schedules by their names, the best first; their links are numbered without those that are cut ([`Network::whole`]).
    pub films: Vec<(String, Film)>,
}

impl Network {
    /// What is left of a link's bandwidth.
    #[must_use]
    pub fn left(&self, link: u32) -> f64 {
        self.damaged.iter().find(|(damaged, _)| *damaged == link).map_or(1.0, |(_, left)| *left)
    }

    /// The links that are not cut, by their numbers in the topology: at each place, which link films call by it.
    #[must_use]
    pub fn whole(&self) -> Vec<u32> {
        (0..self.topology.links.len() as u32).filter(|link| self.left(*link) > 0.0).collect()
    }
}

/// A topology with damaged links: shares of bandwidth, 0 of what is cut.
#[must_use]
pub fn damaged(topology: &Topology, damage: &[(u32, f64)]) -> Topology {
    let left = |index: u32| damage.iter().find(|(of, _)| *of == index).map_or(1.0, |(_, left)| *left);
    let mut links = Vec::with_capacity(topology.links.len());
    for (index, link) in (0..).zip(&topology.links) {
        if left(index) > 0.0 {
            let mut link = *link;
            link.bandwidth *= left(index);
            links.push(link);
        }
    }
    Topology { links, ..topology.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::generate::{Kind, Recipe};

    #[test]
    fn films_count_the_links_that_are_left() {
        let topology = Recipe::new(Kind::Line(3)).make().unwrap();
        let damage = vec![(1, 0.0), (2, 0.5)];
        let left = damaged(&topology, &damage);
        assert_eq!(left.links.len(), 3);
        assert_eq!((left.links[1].from, left.links[1].bandwidth), (topology.links[2].from, 25.0));
        let network = Network { topology, damaged: damage, ..Network::default() };
        assert_eq!(network.whole(), [0, 2, 3]);
    }
}
