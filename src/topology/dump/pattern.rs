//! The rings and trees in dumps of NCCL and RCCL.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    super::model::{Link, Topology},
    Element, MOST_DEV, Machine, Rates, dev as number_of, integer,
};
use crate::{
    collective::Collective,
    order::{CompactCollect, CompactSort},
    text::number,
};

/// The rings or trees of a graph dump.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// NCCL's number of the graph.
    pub id: u32,
    /// What the channels are, for people.
    pub kind: String,
    /// The bandwidth that NCCL expects of each channel within the node, in GB/s.
    pub speed_gbps: f64,
    /// The GPUs of one node that each channel passes, in order.
    pub channels: Vec<Vec<u32>>,
    /// The network ports by which each channel enters and leaves the node, if it does.
    pub ports: Vec<Option<(u32, u32)>>,
    /// The number of nodes that it spans; every node has the same channels.
    pub nodes: u32,
}

/// The attributes of a graph beside its channels, as the file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated {
    /// NCCL's number of the pattern: 1 to 3 trees, 4 rings, 5 NVLink SHARP, 6 CollNet.
    pub pattern: u32,
    /// The number of channels; `None` where it is missing.
    pub channels: Option<u32>,
    /// The worst path between GPUs of a channel, as a word.
    pub intra: String,
    /// The worst path to a network port, as a word.
    pub inter: String,
    /// Whether a channel may leave through another port than it enters.
    pub crosses_nics: bool,
    /// Device numbers of 10 and more that are written without `0x`.
    pub decimals: Vec<u32>,
}

/// The graphs of a file: the channels of each, and what it states of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graphs {
    /// The version of the format; NCCL reads version 1 alone.
    pub version: Option<String>,
    /// The channels of each graph.
    pub patterns: Vec<Pattern>,
    /// The attributes of each graph, in the same order.
    pub stated: Vec<Stated>,
}

/// The most GPUs that the channels of all graphs pass, over all nodes.
pub const MOST_HOPS: u64 = 500_000;

pub(super) fn read(graph: &Element) -> Result<Pattern, String> {
    let whole = |name: &str| graph.get(name).and_then(integer).unwrap_or(0);
    // NCCL's src/include/graph.h.
    let kind = match whole("pattern") {
        1 => "balanced trees",
        2 => "split trees",
        3 => "trees",
        4 => "rings",
        5 => "NVLink SHARP",
        6 => "CollNet",
        _ => "of an unknown kind",
    };
    let dev = |what: &Element| {
        let wrong = || format!("line {}: a {} without dev from 0 to {MOST_DEV}", what.line, what.name);
        what.get("dev").and_then(number_of).ok_or_else(wrong)
    };
    let all = |channel: &Element, what: &str| channel.named(what).map(dev).collect::<Result<Vec<u32>, _>>();
    let (mut channels, mut ports) = (Vec::new(), Vec::new());
    for channel in graph.named("channel") {
        channels.push(all(channel, "gpu")?);
        let nets = all(channel, "net")?;
        ports.push(nets.first().copied().zip(nets.last().copied()));
    }
    let speed_gbps = graph.get("speedintra").and_then(number).unwrap_or(0.0);
    Ok(Pattern { id: whole("id"), kind: kind.to_owned(), speed_gbps, channels, ports, nodes: 1 })
}

/// The attributes of a graph beside its channels.
pub(super) fn stated(graph: &Element) -> Stated {
    let whole = |name: &str| graph.get(name).and_then(integer);
    let word = |name: &str| graph.get(name).unwrap_or_default().to_owned();
    let devs = graph.named("channel").flat_map(|channel| channel.named("gpu").chain(channel.named("net")));
    let decimals = devs.filter_map(|of| of.get("dev").filter(|dev| !dev.starts_with("0x")).and_then(integer));
    let mut decimals: Vec<u32> = decimals.filter(|dev| *dev >= 10).collect();
    decimals.sort_by_cached_key(|dev| u64::from(*dev));
    decimals.dedup();
    Stated {
        pattern: whole("pattern").unwrap_or(0),
        channels: whole("nchannels"),
        intra: word("typeintra"),
        inter: word("typeinter"),
        crosses_nics: whole("crossnic") == Some(1),
        decimals,
    }
}

impl Pattern {
    /// Whether its channels are rings, as its kind says.
    pub fn is_ring(&self) -> bool {
        self.kind == "rings"
    }

    /// Whether the channels are trees: within a node a chain, whose first GPU is linked to other nodes.
    pub fn is_tree(&self) -> bool {
        self.kind.ends_with("trees")
    }

    /// The number of GPUs per node.
    fn width(&self) -> u32 {
        self.channels.iter().flatten().max().map_or(0, |most| most + 1)
    }

    /// One channel over all nodes as paths: a ring as one closed path, a tree as a chain for each node from the first
    /// GPU of the node before.
    fn paths(&self, channel: &[u32]) -> Vec<Vec<u32>> {
        let (width, nodes) = (self.width(), self.nodes.max(1));
        let of_node = |node: u32| channel.iter().map(move |gpu| gpu + node * width);
        if self.is_ring() {
            let ring: Vec<u32> = (0..nodes).flat_map(of_node).collect();
            let back = ring.first().copied().filter(|first| ring.last() != Some(first));
            return vec![ring.into_iter().chain(back).collect()];
        }
        let before = |node: u32| node.checked_sub(1).and_then(|before| of_node(before).next());
        (0..nodes).map(|node| before(node).into_iter().chain(of_node(node)).collect()).collect()
    }

    /// The pairs of consecutive GPUs in one channel or in all, with the number of channels that have the pair.
    pub fn edges(&self, channel: Option<usize>) -> Vec<((u32, u32), u32)> {
        let mut edges: Vec<((u32, u32), usize)> = Vec::new();
        let chosen = (0..).zip(&self.channels).filter(|(index, _)| channel.is_none_or(|channel| channel == *index));
        for path in chosen.flat_map(|(_, channel)| self.paths(channel)) {
            edges.extend(path.windows(2).map(|pair| (pair[0], pair[1])).zip(edges.len()..));
        }
        edges.compact_sort();
        let same = edges.chunk_by(|a, b| a.0 == b.0);
        let mut counted: Vec<(usize, (u32, u32), u32)> =
            same.map(|same| (same[0].1, same[0].0, same.len() as u32)).collect();
        counted.sort_by_cached_key(|(first, ..)| *first as u64);
        counted.into_iter().map(|(_, edge, count)| (edge, count)).collect()
    }

    /// The number of GPUs that its channels pass, over all nodes.
    pub fn hops(&self) -> u64 {
        self.channels.iter().map(|channel| channel.len() as u64).sum::<u64>() * u64::from(self.nodes.max(1))
    }

    /// The duration of the slowest step in ns, where each channel carries its share of `bytes` over each of its links,
    /// and channels over the same link or port share it. `None` where a link or a port is missing.
    fn step_ns(&self, topology: &Topology, machine: Option<(&Machine, &Rates)>, bytes: f64) -> Option<f64> {
        let share = bytes / self.channels.len() as f64;
        let (width, unit) = (self.width().max(1), topology.unit.bytes_per_second() as f64);
        let is_inside = |(from, to): (u32, u32)| from / width == to / width;
        let mut slowest = 0.0_f64;
        let links: BTreeMap<(u32, u32), &Link> =
            topology.links.iter().rev().map(|link| ((link.from, link.to), link)).compact_collect();
        for (edge, count) in self.edges(None) {
            if is_inside(edge) {
                let link = links.get(&edge)?;
                let takes = link.latency_ns + share * f64::from(count) * 1e9 / (link.bandwidth * unit);
                slowest = slowest.max(takes);
            }
        }
        if self.nodes > 1 {
            let (machine, rates) = machine?;
            let used: Vec<(u32, u32)> = self.ports.iter().copied().collect::<Option<_>>()?;
            for nic in &machine.nics {
                let leaving = used.iter().filter(|(_, last)| *last == nic.dev).count();
                let coming = used.iter().filter(|(first, _)| *first == nic.dev).count();
                // One byte takes 1 ns at 1 GB/s.
                let takes = share * leaving.max(coming) as f64 / nic.gbps;
                slowest = slowest.max(if leaving + coming > 0 { rates.net_latency_ns + takes } else { 0.0 });
            }
        }
        Some(slowest)
    }

    /// The time of a collective over these channels in ns, in the cost model of the links, with `chunk_bytes` per node.
    /// A ring takes as many steps as there are other nodes, each as long as on the slowest link; a tree reduces and
    /// broadcasts at the same time, in arbitrarily small pieces. `None` for other collectives, or where a link is
    /// missing.
    pub fn takes_ns(
        &self,
        collective: Collective,
        topology: &Topology,
        machine: Option<(&Machine, &Rates)>,
        chunk_bytes: u64,
    ) -> Option<f64> {
        if self.channels.is_empty() || self.width() * self.nodes.max(1) != topology.nodes {
            return None;
        }
        let others = f64::from(topology.nodes - 1);
        let times = match collective {
            Collective::AllGather | Collective::ReduceScatter => 1.0,
            Collective::AllReduce => 2.0,
            _ => return None,
        };
        if self.is_ring() {
            return Some(times * others * self.step_ns(topology, machine, chunk_bytes as f64)?);
        }
        if !self.is_tree() || collective != Collective::AllReduce {
            return None;
        }
        // The data of all nodes goes up, and the sum down in the other direction at the same time.
        let whole = chunk_bytes as f64 * f64::from(topology.nodes);
        self.step_ns(topology, machine, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::generate::{Kind, Recipe};

    fn rings() -> Pattern {
        let kind = "rings".to_owned();
        Pattern { kind, channels: vec![vec![0, 1, 2, 3], vec![0, 3, 2, 1]], nodes: 1, ..Pattern::default() }
    }

    #[test]
    fn rings_close_across_nodes() {
        let mut rings = rings();
        assert_eq!(rings.edges(Some(0)), [((0, 1), 1), ((1, 2), 1), ((2, 3), 1), ((3, 0), 1)]);
        assert_eq!(rings.edges(None).len(), 8);
        rings.nodes = 2;
        let edges: Vec<(u32, u32)> = rings.edges(Some(0)).into_iter().map(|(edge, _)| edge).collect();
        assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0)]);
        let trees = Pattern { kind: "balanced trees".to_owned(), ..rings };
        let edges: Vec<(u32, u32)> = trees.edges(Some(0)).into_iter().map(|(edge, _)| edge).collect();
        assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7)]);
    }

    #[test]
    fn two_rings_in_both_directions_halve_what_each_carries() {
        let topology = Recipe::new(Kind::Ring { nodes: 4, one_way: false }).make().unwrap();
        let takes = |collective| rings().takes_ns(collective, &topology, None, 1 << 20);
        // Three steps of half a MiB over 50 GiB/s and 500 ns.
        assert_eq!(takes(Collective::AllGather), Some(3.0 * (500.0 + 9_765.625)));
        assert_eq!(takes(Collective::AllReduce), Some(6.0 * (500.0 + 9_765.625)));
        assert_eq!(takes(Collective::Broadcast), None);
        let line = Recipe::new(Kind::Line(4)).make().unwrap();
        assert_eq!(rings().takes_ns(Collective::AllGather, &line, None, 1 << 20), None);
    }
}
