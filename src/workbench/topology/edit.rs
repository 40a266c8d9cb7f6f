//! What is changed of a graph, link by link and node by node: lists of words, as they stand in the address and in fields.
//!
//! `add=0-3,3-0*25*700` (bandwidth, latency in ns) and `remove=0-1` make it another graph; `cut=0-1`, `slow=0-1*0.1`,
//! `dead=4` and `weak=4*0.5` are damage of it, under which the schedule for the whole graph is looked at as well.

use crate::{
    form::{ChoiceError, Choices},
    order::Order,
    topology::model::{Link, Topology, link_problem},
};

/// What is slow or dead.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Damage {
    /// Links, ascending, with the shares of bandwidth that are left.
    pub links: Vec<(u32, f64)>,
    /// Nodes, ascending, with the shares that are left to all their links; 0 of a dead one.
    pub nodes: Vec<(u32, f64)>,
}

impl Damage {
    /// Nothing is.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.nodes.is_empty()
    }

    /// Dead nodes, ascending.
    pub fn dead(&self) -> Vec<u32> {
        self.nodes.iter().filter(|(_, left)| *left == 0.0).map(|(node, _)| *node).collect()
    }

    /// What is left of each link that is damaged, or whose node is; ascending.
    pub fn left(&self, topology: &Topology) -> Vec<(u32, f64)> {
        let of = |list: &[(u32, f64)], key: u32| list.iter().find(|(of, _)| *of == key).map_or(1.0, |(_, left)| *left);
        let left = |(index, link): (u32, &Link)| {
            let ends = of(&self.nodes, link.from).min(of(&self.nodes, link.to));
            (index, of(&self.links, index).min(ends))
        };
        (0..).zip(&topology.links).map(left).filter(|(_, left)| *left < 1.0).collect()
    }
}

/// Words of a list, each with what stands behind its `*`.
fn words<'a>(choices: &'a Choices, key: &str) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    let listed = choices.get(key).unwrap_or_default();
    listed.split([',', ' ', ';']).map(str::trim).filter(|word| !word.is_empty()).map(|word| {
        let mut parts = word.split('*').map(str::trim);
        (parts.next().unwrap_or_default(), parts.collect())
    })
}

fn wrong(key: &str, value: &str, expected: &str) -> ChoiceError {
    ChoiceError { label: key.into(), value: value.chars().take(40).collect(), expected: expected.into() }
}

/// Two nodes: `0-3`, or `0>3`.
fn ends(word: &str, topology: &Topology) -> Option<(u32, u32)> {
    let (from, to) = word.split_once(['-', '>'])?;
    let node = |text: &str| text.parse::<u32>().ok().filter(|node| *node < topology.nodes);
    Some((node(from.trim_end_matches('-'))?, node(to.trim_start_matches('>'))?))
}

fn place(word: &str, topology: &Topology) -> Option<u32> {
    let (from, to) = ends(word, topology)?;
    topology.link(from, to)
}

/// A share of bandwidth: what is usual where none is given.
fn share(given: &[&str], usual: f64) -> Option<f64> {
    let share = match given {
        [] => Some(usual),
        [share] => share.parse().ok(),
        _ => None,
    };
    share.filter(|share| *share == 0.0 || (1e-6..=1.0).contains(share))
}

/// The graph with links added and removed; `None` where none are.
pub(super) fn edited(choices: &Choices, topology: &Topology) -> Result<Option<Topology>, ChoiceError> {
    let mut gone = Vec::new();
    for (word, _) in words(choices, "remove") {
        let expected = "a link of this graph, written as 0-1";
        gone.push(place(word, topology).ok_or_else(|| wrong("remove", word, expected))?);
    }
    let mut index = 0..;
    let mut edited = topology.clone();
    edited.links.retain(|_| index.next().is_none_or(|index| !gone.contains(&index)));
    for (word, given) in words(choices, "add") {
        let expected = "two nodes of this graph, written as 0-3, or as 0-3*50*500 with a bandwidth and a latency in ns";
        let rates: Option<Vec<f64>> = given.iter().map(|rate| rate.parse().ok()).collect();
        let (Some((from, to)), Some(rates), 0..=2) = (ends(word, topology), rates, given.len()) else {
            return Err(wrong("add", word, expected));
        };
        let (latency_ns, bandwidth) = topology.usual_rates();
        let (bandwidth, latency_ns) =
            (rates.first().copied().unwrap_or(bandwidth), rates.get(1).copied().unwrap_or(latency_ns));
        let link = Link { from, to, latency_ns, bandwidth };
        if let Some(why) = link_problem(&link, topology.nodes) {
            return Err(wrong("add", word, &format!("a link that can be: {why}")));
        }
        if place(word, &edited).is_some() {
            return Err(wrong("add", word, "a new link: there is one already, which can be removed first"));
        }
        edited.links.push(link);
    }
    Ok((edited.links != topology.links).then_some(edited))
}

/// What is slow or dead.
pub(super) fn damage(choices: &Choices, topology: &Topology) -> Result<Damage, ChoiceError> {
    let mut damage = Damage::default();
    for (key, usual) in [("slow", 0.5), ("cut", 0.0)] {
        for (word, given) in words(choices, key) {
            let (Some(link), Some(left)) = (place(word, topology), share(&given, usual)) else {
                let expected = "a link of this graph, written as 0-1 or, at a tenth of its bandwidth, 0-1*0.1";
                return Err(wrong(key, word, expected));
            };
            damage.links.retain(|(of, _)| *of != link);
            damage.links.push((link, left));
        }
    }
    for (key, usual) in [("weak", 0.5), ("dead", 0.0)] {
        for (word, given) in words(choices, key) {
            let node = word.parse::<u32>().ok().filter(|node| *node < topology.nodes);
            let (Some(node), Some(left)) = (node, share(&given, usual)) else {
                let expected = "a node of this graph, written as 3 or, with its links at a tenth, 3*0.1";
                return Err(wrong(key, word, expected));
            };
            damage.nodes.retain(|(of, _)| *of != node);
            damage.nodes.push((node, left));
        }
    }
    damage.links.order_by_key(|(link, _)| *link);
    damage.nodes.order_by_key(|(node, _)| *node);
    Ok(damage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::generate::{Kind, Recipe};

    fn ring() -> Topology {
        Recipe::new(Kind::parse("ring:5").unwrap()).make().unwrap()
    }

    #[test]
    fn damage_names_links_and_nodes_of_the_graph() {
        let mut choices = Choices::parse("#v=1&cut=0-1&slow=1-2,2-3*0.1,0-1&weak=4&dead=3");
        let topology = ring();
        let of = damage(&choices, &topology).unwrap();
        let shares: Vec<f64> = of.links.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [0.0, 0.5, 0.1]);
        assert_eq!((of.nodes.as_slice(), of.dead()), ([(3, 0.0), (4, 0.5)].as_slice(), vec![3]));
        // Each link is as its worse end is: of 0 and 4, half; of 3, nothing.
        let left = of.left(&topology);
        let at = |from, to| {
            let place = topology.links.iter().position(|link| (link.from, link.to) == (from, to)).unwrap();
            left.iter().find(|(link, _)| *link as usize == place).map(|(_, left)| *left)
        };
        assert_eq!((at(4, 0), at(2, 3), at(3, 4), at(2, 1)), (Some(0.5), Some(0.0), Some(0.0), None));
        choices.set("cut", "0-2");
        let error = damage(&choices, &topology).unwrap_err().to_string();
        assert!(error.starts_with("cut: \"0-2\" is not a link of this graph"), "{error}");
        let error = damage(&Choices::parse("#dead=5"), &topology).unwrap_err().to_string();
        assert!(error.starts_with("dead: \"5\" is not a node of this graph"), "{error}");
    }

    #[test]
    fn links_are_added_and_removed() {
        let topology = ring();
        let edited = |text: &str| edited(&Choices::parse(text), &topology);
        assert_eq!(edited("#graph=ring"), Ok(None));
        let other = edited("#add=0-2,2-0*25*700&remove=0-1,1-0").unwrap().unwrap();
        assert_eq!(other.links.len(), 10);
        let last = &other.links[8..];
        assert_eq!(
            (last[0].bandwidth, last[0].latency_ns, last[1].bandwidth, last[1].latency_ns),
            (50.0, 500.0, 25.0, 700.0)
        );
        // What is removed can be given other rates.
        assert_eq!(edited("#remove=0-1&add=0-1*1").unwrap().unwrap().links.len(), 10);
        for (text, why) in [
            ("#add=0-1", "there is one already"),
            ("#add=0-5", "is not two nodes of this graph"),
            ("#add=0-0", "it leads from a node to itself"),
            ("#add=0-2*0", "its bandwidth is not above zero"),
            ("#add=0-2*x", "written as 0-3"),
            ("#add=0-2*-1*1*1", "written as 0-3"),
            ("#remove=0-2", "is not a link of this graph"),
        ] {
            let error = edited(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
