//! The model of a topology: nodes, and links with latency and bandwidth.

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::{order::CompactSort, units::first_of};

/// The unit in which bandwidths are given: binary or decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// 2³⁰ bytes per second, which programs that write these files call "GB/s".
    #[default]
    Gib,
    /// 10⁹ bytes per second: decimal gigabytes.
    Gb,
}

impl Unit {
    /// The number of bytes per second in one unit.
    pub const fn bytes_per_second(self) -> u64 {
        match self {
            Self::Gib => 1 << 30,
            Self::Gb => 1_000_000_000,
        }
    }

    /// The header of a bandwidth column in this unit. Other programs write GB/s for GiB/s; the decimal unit gets a
    /// header of its own, so that it is not lost.
    pub const fn header(self) -> &'static str {
        match self {
            Self::Gib => "Bandwidth (GB/s)",
            Self::Gb => "Bandwidth (10^9 B/s)",
        }
    }

    /// The unit as people write it: binary GiB/s or decimal GB/s.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gib => "GiB/s",
            Self::Gb => "GB/s",
        }
    }
}

/// A directed link: it carries one chunk at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The number of the node that sends.
    pub from: u32,
    /// The number of the node that receives.
    pub to: u32,
    /// The time of a transfer besides that for its bytes, in ns.
    pub latency_ns: f64,
    /// Bandwidth in the topology's [`Unit`]; may be infinite where the latency is not zero.
    pub bandwidth: f64,
}

/// A topology: a directed graph with latencies and bandwidths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// The name for people: of the file, or of the form.
    pub name: String,
    /// Number of nodes; they are numbered `0..nodes`.
    pub nodes: u32,
    /// The directed links, numbered in this order.
    pub links: Vec<Link>,
    /// The unit of all links' bandwidths.
    pub unit: Unit,
    /// The names of nodes; empty where they only have numbers.
    pub labels: Vec<String>,
    /// The form in which it was generated, if known.
    pub shape: Option<Shape>,
}

/// Why a topology can't be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// Returned when there are no nodes.
    #[error("there are no nodes")]
    Empty,
    /// Returned when there are this many nodes, more than 65,536.
    #[error("there are {0} nodes, more than 65,536")]
    TooLarge(u32),
    /// Returned when a link can't be used.
    #[error("link {from} to {to}: {why}")]
    Link {
        /// The number of the node that sends.
        from: u32,
        /// The number of the node that receives.
        to: u32,
        /// What is wrong with the link, as a clause.
        why: &'static str,
    },
}

/// The longest duration of a link in ns: if a tick is 1 ns, the sum of a million of them still fits 64 bits.
pub(super) const LONGEST_NS: f64 = (1_u64 << 43) as f64;

/// The reason why a link is invalid; `None` for a valid one.
pub fn link_problem(link: &Link, nodes: u32) -> Option<&'static str> {
    Some(match link {
        Link { from, to, .. } if *from >= nodes || *to >= nodes => "there is no such node",
        Link { from, to, .. } if from == to => "it leads from a node to itself",
        Link { latency_ns, .. } if !latency_ns.is_finite() || *latency_ns < 0.0 => "its latency is no time",
        Link { latency_ns, .. } if *latency_ns > LONGEST_NS => {
            "its latency is more than 8,796 s, the longest that is counted"
        }
        Link { bandwidth, .. } if bandwidth.is_nan() || *bandwidth <= 0.0 => {
            "its bandwidth is not above zero; leave the link out if nothing goes over it"
        }
        Link { latency_ns, bandwidth, .. } if bandwidth.is_infinite() && *latency_ns == 0.0 => {
            "it takes no time at all: give it a latency or a finite bandwidth"
        }
        _ => return None,
    })
}

impl Topology {
    /// The most frequent latency in ns and bandwidth: the default for an added link.
    pub fn usual_rates(&self) -> (f64, f64) {
        let rates = |link: usize| (self.links[link].latency_ns, self.links[link].bandwidth);
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        order.compact_sort_by(|a, b| {
            let (a, b) = (rates(*a), rates(*b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        // Of equally frequent rates the first.
        let same = order.chunk_by(|a, b| rates(*a) == rates(*b));
        let most = same.max_by_key(|same| (same.len(), std::cmp::Reverse(same[0])));
        most.map_or((500.0, 50.0), |same| rates(same[0]))
    }

    /// The index of the link between two nodes, if there is one.
    pub fn link(&self, from: u32, to: u32) -> Option<u32> {
        self.links.iter().position(|link| (link.from, link.to) == (from, to)).map(|place| place as u32)
    }

    /// The node of a name or of a number.
    pub fn named(&self, name: &str) -> Option<u32> {
        let place = self.labels.iter().position(|label| !label.is_empty() && label == name).map(|place| place as u32);
        place.or_else(|| name.parse().ok().filter(|node| *node < self.nodes))
    }

    /// The name of a node, or its number.
    pub fn label(&self, node: u32) -> String {
        self.labels.get(node as usize).filter(|label| !label.is_empty()).cloned().unwrap_or_else(|| node.to_string())
    }

    /// Notes about obstacles to a collective: nodes without links, nodes that can't reach each other.
    pub fn notes(&self) -> Vec<String> {
        let Ok((graph, _)) = self.graph(1 << 20) else { return Vec::new() };
        let mut notes = Vec::new();
        let all = || 0..self.nodes;
        let list = |nodes: Vec<u32>| first_of(5, &nodes, |node| self.label(*node));
        let mut say = |nodes: Vec<u32>, one: &str, many: &str| match nodes.len() {
            0 => {}
            1 => notes.push(format!("Node {} {one}", list(nodes))),
            _ => notes.push(format!("Nodes {} {many}", list(nodes))),
        };
        let (out, into) = (|n: u32| graph.outgoing(n as usize).len(), |n: u32| graph.incoming(n as usize).len());
        say(all().filter(|n| out(*n) + into(*n) == 0).collect(), "has no link", "have no links");
        say(
            all().filter(|n| into(*n) == 0 && out(*n) > 0).collect(),
            "has links out only: nothing can come to it",
            "have links out only: nothing can come to them",
        );
        say(
            all().filter(|n| out(*n) == 0 && into(*n) > 0).collect(),
            "has links in only: nothing can leave it",
            "have links in only: nothing can leave them",
        );
        let components = graph.components();
        if components.len() > 1 {
            let largest = components.first().map_or(0, Vec::len);
            notes.push(format!(
                "Not all nodes can reach each other: {} groups, the largest of {largest} of {} nodes",
                components.len(),
                self.nodes
            ));
        }
        notes
    }
}
