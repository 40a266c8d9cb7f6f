//! Changes to a topology by link and node: lists of entries, as they are written in addresses and fields.
//!
//! `add=0-3,3-0*25*700` (bandwidth, latency in ns) and `remove=0-1` change the topology itself. `cut=0-1`,
//! `slow=0-1*0.1`, `dead=4` and `weak=4*0.5` are damage, under which the schedule for the whole topology is evaluated
//! as well.

use std::fmt;

use crate::{
    form::{ChoiceError, Choices},
    order::CompactSort,
    topology::{
        model::{Link, Topology, link_problem},
        settings::Group,
    },
};

/// The lists of links and nodes: where they stand in the form, their keys, labels and hints.
pub(super) const LISTS: [(Group, &str, &str, &str); 6] = [
    (Group::Edits, "add", "Add links", "0-3, or 0-3*50*500: bandwidth, ns"),
    (Group::Edits, "remove", "Remove links", "0-1,1-0"),
    (Group::Damage, "cut", "Cut links", "0-1,1-0"),
    (Group::Damage, "slow", "Slow links", "0-1 at half, 0-1*0.1 at a tenth"),
    (Group::Damage, "dead", "Dead nodes", "3,4"),
    (Group::Damage, "weak", "Nodes with slow links", "3 at half, 3*0.1 at a tenth"),
];

/// The keys of lists of damage, of links and of nodes.
const DAMAGE: [&str; 4] = ["cut", "slow", "dead", "weak"];

/// The subject of an entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditTarget {
    /// A node by its number, such as `4`.
    Node(u32),
    /// The link from one node to another, whether the graph has it or not: `0-3`, `0>3` or `0->3`.
    Link(u32, u32),
}

impl EditTarget {
    fn parse(word: &str) -> Option<Self> {
        let node = |text: &str| text.trim().parse().ok();
        match word.split_once(['-', '>']) {
            Some((from, to)) => Some(Self::Link(node(from)?, node(to.trim_start_matches('>'))?)),
            None => node(word).map(Self::Node),
        }
    }
}

impl fmt::Display for EditTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "{node}"),
            Self::Link(from, to) => write!(f, "{from}-{to}"),
        }
    }
}

/// The links and nodes that are slow or dead.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Damage {
    /// Links, ascending, with the shares of bandwidth that are left.
    pub links: Vec<(u32, f64)>,
    /// Nodes, ascending, with the shares that are left to all their links; 0 of a dead one.
    pub nodes: Vec<(u32, f64)>,
}

impl Damage {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.nodes.is_empty()
    }

    pub fn dead(&self) -> Vec<u32> {
        self.nodes.iter().filter(|(_, left)| *left == 0.0).map(|(node, _)| *node).collect()
    }

    /// The remaining bandwidth of each link that is damaged, or whose node is, as a share; ascending by link.
    pub fn left(&self, topology: &Topology) -> Vec<(u32, f64)> {
        let of =
            |list: &[(u32, f64)], key: u32| list.binary_search_by_key(&key, |(of, _)| *of).map_or(1.0, |at| list[at].1);
        let left = |(index, link): (u32, &Link)| {
            let ends = of(&self.nodes, link.from).min(of(&self.nodes, link.to));
            (index, of(&self.links, index).min(ends))
        };
        (0..).zip(&topology.links).map(left).filter(|(_, left)| *left < 1.0).collect()
    }
}

fn words(listed: &str) -> impl Iterator<Item = &str> {
    listed.split([',', ' ', ';']).map(str::trim).filter(|word| !word.is_empty())
}

/// The subject of an entry, and its parameters after each `*`.
fn parts(word: &str) -> (&str, Vec<&str>) {
    let mut parts = word.split('*').map(str::trim);
    (parts.next().unwrap_or_default(), parts.collect())
}

/// The parts of all entries of a list.
fn listed<'a>(choices: &'a Choices, key: &str) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    words(choices.get(key).unwrap_or_default()).map(parts)
}

/// Takes what is about a spot out of a list. Whether any was there.
fn remove_entry(choices: &mut Choices, list: &str, spot: EditTarget) -> bool {
    let held = choices.get(list).unwrap_or_default().to_owned();
    let is_other = |word: &&str| EditTarget::parse(parts(word).0) != Some(spot);
    let left: Vec<&str> = words(&held).filter(is_other).collect();
    let was_there = left.len() < words(&held).count();
    if was_there {
        set(choices, list, &left);
    }
    was_there
}

/// Adds an entry to a list.
fn add_entry(choices: &mut Choices, list: &str, word: &str) {
    let held = choices.get(list).unwrap_or_default().to_owned();
    set(choices, list, &words(&held).chain([word]).collect::<Vec<_>>());
}

fn set(choices: &mut Choices, list: &str, words: &[&str]) {
    if words.is_empty() { choices.clear(list) } else { choices.set(list, &words.join(",")) }
}

/// Leaves a share of their bandwidth to links, or to all links of nodes, whatever was left to them before: 0 cuts a
/// link and takes a node out, 1 restores.
pub fn set_remaining(choices: &mut Choices, spots: &[EditTarget], share: f64) {
    for spot in spots {
        for list in DAMAGE {
            remove_entry(choices, list, *spot);
        }
        let (slow, dead) = if matches!(spot, EditTarget::Link(..)) { ("slow", "cut") } else { ("weak", "dead") };
        if share == 0.0 {
            add_entry(choices, dead, &spot.to_string());
        } else if share < 1.0 {
            add_entry(choices, slow, &format!("{spot}*{share}"));
        }
    }
}

/// Removes links from the graph: one that was added is added no more.
pub fn remove(choices: &mut Choices, links: &[EditTarget]) {
    set_remaining(choices, links, 1.0);
    for link in links {
        if !remove_entry(choices, "add", *link) {
            add_entry(choices, "remove", &link.to_string());
        }
    }
}

/// Adds links to the graph, with their bandwidth and their latency in ns where they are given, as they were typed. One
/// that was removed comes back as it was, unless it is to have rates of its own; one that was added has what is given
/// now.
pub fn add(choices: &mut Choices, links: &[EditTarget], rates: &[&str]) {
    for link in links {
        remove_entry(choices, "add", *link);
        if !(rates.is_empty() && remove_entry(choices, "remove", *link)) {
            let word: String = rates.iter().fold(link.to_string(), |word, rate| word + "*" + rate);
            add_entry(choices, "add", &word);
        }
    }
}

/// The two nodes of a link.
fn ends(word: &str, topology: &Topology) -> Option<(u32, u32)> {
    match EditTarget::parse(word)? {
        EditTarget::Link(from, to) if from.max(to) < topology.nodes => Some((from, to)),
        _ => None,
    }
}

fn place(word: &str, topology: &Topology) -> Option<u32> {
    let (from, to) = ends(word, topology)?;
    topology.link(from, to)
}

fn node(word: &str, topology: &Topology) -> Option<u32> {
    match EditTarget::parse(word)? {
        EditTarget::Node(node) if node < topology.nodes => Some(node),
        _ => None,
    }
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

/// The error of an entry of the list with this key, by the list's label.
fn wrong(key: &str, word: &str, expected: &str) -> ChoiceError {
    let label = LISTS.iter().find(|(_, of, ..)| *of == key).map_or(key, |(_, _, label, _)| label);
    ChoiceError::new(label, word, expected)
}

/// Refuses lists that nobody typed: each word of them is looked for among all links.
fn check_length(choices: &Choices, keys: &[&str]) -> Result<(), ChoiceError> {
    /// The most entries of a list.
    const MOST: usize = 1000;
    let is_long = |key: &&&str| words(choices.get(key).unwrap_or_default()).nth(MOST).is_some();
    match keys.iter().find(is_long) {
        Some(key) => Err(wrong(key, choices.get(key).unwrap_or_default(), "a list of at most 1,000 links or nodes")),
        None => Ok(()),
    }
}

/// The graph with links added and removed; `None` where none are.
pub(super) fn edited(choices: &Choices, topology: &Topology) -> Result<Option<Topology>, ChoiceError> {
    check_length(choices, &["add", "remove"])?;
    let usual = topology.usual_rates();
    let mut gone = Vec::new();
    for (word, _) in listed(choices, "remove") {
        let expected = "a link of this graph, written as 0-1";
        gone.push(place(word, topology).ok_or_else(|| wrong("remove", word, expected))?);
    }
    let mut index = 0..;
    let mut edited = topology.clone();
    edited.links.retain(|_| index.next().is_none_or(|index| !gone.contains(&index)));
    for (word, given) in listed(choices, "add") {
        let expected = "two nodes of this graph, written as 0-3, or as 0-3*50*500 with a bandwidth and a latency in ns";
        let rates: Option<Vec<f64>> = given.iter().map(|rate| rate.parse().ok()).collect();
        let (Some((from, to)), Some(rates), 0..=2) = (ends(word, topology), rates, given.len()) else {
            return Err(wrong("add", word, expected));
        };
        let (latency_ns, bandwidth) = usual;
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

/// The damaged links and nodes that are chosen.
pub(super) fn damage(choices: &Choices, topology: &Topology) -> Result<Damage, ChoiceError> {
    check_length(choices, &DAMAGE)?;
    let mut damage = Damage::default();
    for (key, usual) in [("slow", 0.5), ("cut", 0.0)] {
        for (word, given) in listed(choices, key) {
            let (Some(link), Some(left)) = (place(word, topology), share(&given, usual)) else {
                let expected = "a link of this graph, written as 0-1 or, at a tenth of its bandwidth, 0-1*0.1";
                return Err(wrong(key, word, expected));
            };
            damage.links.retain(|(of, _)| *of != link);
            damage.links.push((link, left));
        }
    }
    for (key, usual) in [("weak", 0.5), ("dead", 0.0)] {
        for (word, given) in listed(choices, key) {
            let (Some(node), Some(left)) = (node(word, topology), share(&given, usual)) else {
                let expected = "a node of this graph, written as 3 or, with its links at a tenth, 3*0.1";
                return Err(wrong(key, word, expected));
            };
            damage.nodes.retain(|(of, _)| *of != node);
            damage.nodes.push((node, left));
        }
    }
    damage.links.compact_sort_by_key(|(link, _)| *link);
    damage.nodes.compact_sort_by_key(|(node, _)| *node);
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
        assert!(error.starts_with("Cut links: \"0-2\" is not a link of this graph"), "{error}");
        let error = damage(&Choices::parse("#dead=5"), &topology).unwrap_err().to_string();
        assert!(error.starts_with("Dead nodes: \"5\" is not a node of this graph"), "{error}");
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

    fn after(text: &str, change: impl FnOnce(&mut Choices)) -> String {
        let mut choices = Choices::parse(text);
        change(&mut choices);
        choices.suffix()
    }

    #[test]
    fn what_is_done_to_a_spot_takes_the_place_of_what_was_done() {
        let both = [EditTarget::Link(0, 1), EditTarget::Link(1, 0)];
        let set_remaining =
            |text: &str, spots: &[EditTarget], share| after(text, |choices| set_remaining(choices, spots, share));
        assert_eq!(set_remaining("#v=1", &both, 0.0), "&cut=0-1,1-0");
        assert_eq!(set_remaining("#cut=0-1,1-0;2-3", &both, 0.1), "&cut=2-3&slow=0-1*0.1,1-0*0.1");
        assert_eq!(set_remaining("#slow=0-1*0.1,2-3", &both, 0.5), "&slow=2-3,0-1*0.5,1-0*0.5");
        // However it was typed, and whatever stands beside.
        assert_eq!(set_remaining("#slow=0->1*0.25,0-12,1>0&dead=1&weak=0", &both, 1.0), "&slow=0-12&dead=1&weak=0");
        assert_eq!(set_remaining("#weak=4*0.1,3&slow=4-3", &[EditTarget::Node(4)], 0.0), "&weak=3&slow=4-3&dead=4");
        assert_eq!(set_remaining("#dead=4", &[EditTarget::Node(4)], 1.0), "");
    }

    #[test]
    fn what_is_added_and_removed_again_leaves_nothing_behind() {
        let both = [EditTarget::Link(0, 2), EditTarget::Link(2, 0)];
        let removed = |text: &str| after(text, |choices| remove(choices, &both));
        let added = |text: &str, rates: &[&str]| after(text, |choices| add(choices, &both, rates));
        assert_eq!(added("#v=1", &[]), "&add=0-2,2-0");
        assert_eq!(added("#add=1-3", &["25", "700"]), "&add=1-3,0-2*25*700,2-0*25*700");
        assert_eq!(removed("#add=0->2*25,1-3,2-0&cut=2-0"), "&add=1-3");
        assert_eq!(removed("#add=0-2"), "&remove=2-0");
        assert_eq!(added("#remove=0-2,2>0", &[]), "");
        assert_eq!(added("#remove=0-2", &["25"]), "&remove=0-2&add=0-2*25,2-0*25");
        // Twice is as once, also with other rates.
        assert_eq!(added("#add=0-2,2-0", &[]), "&add=0-2,2-0");
        assert_eq!(added("#add=0->2*25,2-0*25,1-3", &["50"]), "&add=1-3,0-2*50,2-0*50");
        assert_eq!(added("#remove=0-2&add=0-2*25,2-0*25", &["25"]), "&remove=0-2&add=0-2*25,2-0*25");
        // What is written is what is read.
        let edited = edited(&Choices::parse(&added("#v=1", &["25", "700"])), &ring()).unwrap().unwrap();
        assert_eq!((edited.links.len(), edited.links[11].bandwidth, edited.links[11].latency_ns), (12, 25.0, 700.0));
        assert_eq!(super::edited(&Choices::parse("#add=0->2,2>0"), &ring()).unwrap().unwrap().links.len(), 12);
    }
}
