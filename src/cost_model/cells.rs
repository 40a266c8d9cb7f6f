//! Latency and bandwidth of each algorithm and protocol, and the time of a call.

use super::{
    CostModel, Generation, Processor,
    constants::{ByNodes, Hop, TREE_SHARES},
    graphs::{Graph, Path},
};
use crate::collective::{Algorithm, Collective, Protocol};

/// What the model says of an algorithm with a protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// One that the collective runs with on this communicator.
    pub algorithm: Algorithm,
    /// Of LL, LL128 and SIMPLE.
    pub protocol: Protocol,
    /// The time in µs of a call without bytes.
    pub latency_us: f64,
    /// The algorithm bandwidth in GB/s: bytes over time, not busbw.
    pub algbw_gbps: f64,
}

/// What the library would run for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The algorithm and protocol with the least time at this size.
    pub cell: Cell,
    /// The time in µs that the model gives it.
    pub time_us: f64,
    /// The channels over which the call is spread where nothing runs beside it.
    pub channels: u32,
}

/// The algorithms in the order in which the library compares them: a later one displaces an earlier one only if it is
/// faster.
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Tree, Algorithm::Ring, Algorithm::Nvls, Algorithm::NvlsTree, Algorithm::Pat];
const PROTOCOLS: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

impl CostModel {
    /// The table of a collective, in the order of the library; empty for one that the model doesn't know (alltoall,
    /// sendrecv and others of point-to-point transfers).
    pub fn cells(&self, collective: Collective) -> Vec<Cell> {
        let pairs = ALGORITHMS.iter().flat_map(|algorithm| PROTOCOLS.map(|protocol| (*algorithm, protocol)));
        pairs.filter_map(|(algorithm, protocol)| self.cell(collective, algorithm, protocol)).collect()
    }

    /// The cell of an algorithm and a protocol; `None` where it does not run, or is switched off.
    pub fn cell(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> Option<Cell> {
        let graph = self.graph(algorithm)?;
        if !self.runs(collective, algorithm, protocol) {
            return None;
        }
        let algbw_gbps =
            self.channels_gbps(collective, algorithm, protocol, graph) * self.share_of_message(collective, algorithm);
        let latency_us = self.latency_us(collective, algorithm, protocol, graph);
        (algbw_gbps > 0.0).then_some(Cell { algorithm, protocol, latency_us, algbw_gbps })
    }

    /// What the library would run for a call of `size_bytes`, as nccl-tests counts them; `None` where the model doesn't
    /// know the collective.
    pub fn choice(&self, collective: Collective, size_bytes: u64) -> Option<Choice> {
        let timed = self.cells(collective).into_iter().map(|cell| (self.time_us(collective, &cell, size_bytes), cell));
        let (time_us, cell) = timed.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
        Some(Choice { cell, time_us, channels: self.channels(collective, &cell, size_bytes) })
    }

    /// The time in µs of a call of `size_bytes`, as nccl-tests counts them (`ncclTopoGetAlgoTime`).
    pub fn time_us(&self, collective: Collective, cell: &Cell, size_bytes: u64) -> f64 {
        let gbps = cell.algbw_gbps * self.share_of_size(collective, cell, size_bytes);
        // Long calls of rings over nodes fall behind until all channels are filled.
        let is_plateau = cell.algorithm == Algorithm::Ring
            && cell.protocol == Protocol::Simple
            && collective == Collective::AllReduce
            && self.scale.nodes > 1
            && size_bytes / (u64::from(self.all_channels()) * u64::from(self.scale.ranks)) >= 64;
        let latency = match is_plateau {
            true if self.constants.generation == Generation::Volta => 1.9,
            true => 1.4,
            false => 1.0,
        };
        cell.latency_us * latency + size_bytes as f64 / (1000.0 * gbps)
    }

    /// The channels over which a call is spread: fewer while each would have less than its threads are worth, and at
    /// most one for each 32 KiB that travel.
    pub fn channels(&self, collective: Collective, cell: &Cell, size_bytes: u64) -> u32 {
        let ranks = u64::from(self.scale.ranks);
        let is_ring = cell.algorithm == Algorithm::Ring;
        let (threads, bytes_each) = match cell.protocol {
            Protocol::Ll => (512, if is_ring { 8 * ranks } else { 8 }),
            Protocol::Ll128 => (640, 8),
            _ if matches!(cell.algorithm, Algorithm::Nvls | Algorithm::NvlsTree) => (640, 64),
            _ if is_ring && self.graphs.ring.intra_gbps * f64::from(self.graphs.ring.channels) <= 12.0 => (256, 64),
            _ => (512, 64),
        };
        let worth = u32::try_from(size_bytes / (threads * bytes_each)).unwrap_or(u32::MAX);
        let travels = match collective {
            Collective::AllReduce => 2 * size_bytes,
            _ => size_bytes,
        };
        let flags = if cell.protocol == Protocol::Ll { 4 } else { 1 };
        let filled = u32::try_from((travels * flags).div_ceil(32_768)).unwrap_or(u32::MAX);
        let most = match cell.algorithm {
            Algorithm::Nvls | Algorithm::NvlsTree => self.nvls_channels(),
            _ => self.all_channels(),
        };
        most.min(worth.max(1)).min(filled.max(1))
    }

    /// The channels of a communicator: each ring and tree twice, and on Hopper and later over nodes twice again where
    /// there are few fast ones.
    fn all_channels(&self) -> u32 {
        let ring = &self.graphs.ring;
        let twice = 2 * ring.channels;
        let is_few = self.scale.nodes > 1 && ring.intra_gbps > 45.0 && twice < 16;
        if is_few && self.capability >= 90 { 2 * twice } else { twice }
    }

    const fn nvls_channels(&self) -> u32 {
        match (self.capability, self.scale.nodes) {
            (100.., 1) => 24,
            (100.., _) => 32,
            _ => 16,
        }
    }

    const fn graph(&self, algorithm: Algorithm) -> Option<&Graph> {
        match algorithm {
            Algorithm::Ring => Some(&self.graphs.ring),
            Algorithm::Tree | Algorithm::Pat => Some(&self.graphs.tree),
            Algorithm::Nvls | Algorithm::NvlsTree => self.graphs.nvls.as_ref(),
            _ => None,
        }
    }

    fn runs(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol) -> bool {
        let is_gather = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        let (nodes, is_from) = (self.scale.nodes, |minor| self.constants.release.is_from(minor, 0));
        let is_there = match algorithm {
            Algorithm::Nvls => {
                // Between nodes it needs a network that reduces.
                nodes == 1 && (!is_gather || is_from(19)) && (self.per_node() > 2 || is_from(28))
            }
            Algorithm::NvlsTree => nodes > 1,
            Algorithm::Pat => is_from(23) && nodes == self.scale.ranks,
            _ => true,
        };
        let has_protocol = protocol != Protocol::Ll128 || self.has_ll128(algorithm);
        is_there && has_protocol && collective.can_run(algorithm, protocol)
    }

    /// Whether the paths carry LL128's stores whole.
    fn has_ll128(&self, algorithm: Algorithm) -> bool {
        let Some(graph) = self.graph(algorithm) else { return false };
        let farthest_intra = if self.constants.release.is_from(18, 3) { Path::NvLinkBridge } else { Path::NvLink };
        let farthest_inter = match self.capability {
            // Of 2.27.3 alone.
            90.. if self.constants.release.is_from(27, 3) && !self.constants.release.is_from(27, 5) => Path::P2c,
            90.. => Path::Pxn,
            _ => Path::Pxb,
        };
        let is_gpu = match self.capability {
            70.. if self.constants.release.is_from(27, 0) => true,
            100 | 120 => self.constants.release.is_from(25, 0),
            70 | 80 | 90 => true,
            _ => false,
        };
        is_gpu && graph.intra <= farthest_intra && (self.scale.nodes == 1 || graph.inter <= farthest_inter)
    }

    /// The bandwidth in GB/s of all channels together, before the share of it that a message has.
    fn channels_gbps(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol, graph: &Graph) -> f64 {
        let channels = f64::from(graph.channels);
        let each = if self.scale.nodes <= 2 { graph.intra_gbps } else { graph.inter_gbps };
        let all = channels * each;
        let at = |of: ByNodes| self.by_nodes(of);
        match (algorithm, protocol) {
            (Algorithm::Ring, Protocol::Ll) => {
                let part = match collective {
                    _ if self.constants.release.is_from(21, 0) => 2.0,
                    Collective::AllReduce | Collective::Reduce => 4.0,
                    _ if self.scale.nodes > 1 => 4.0,
                    _ => 3.0,
                };
                self.ll_most_gbps().min(all / part)
            }
            (Algorithm::Ring, Protocol::Ll128) => {
                let is_alone = self.per_node() < 2 && !self.constants.release.is_from(23, 0);
                let share = if is_alone { 0.7 } else { 0.92 };
                (share * all).min(channels * at(self.constants.ring_ll128_gbps()))
            }
            (Algorithm::Tree, _) => {
                let tree = (0.92 * all).min(channels * at(self.constants.tree_gbps()));
                let tree = match protocol {
                    Protocol::Ll => (tree / 3.8).min(self.ll_most_gbps()),
                    Protocol::Ll128 => {
                        let share = if self.scale.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                        (tree * share).min(channels * at(self.constants.tree_ll128_gbps()))
                    }
                    _ => tree,
                };
                if graph.is_plain_tree && self.constants.release.is_from(18, 3) { 0.85 * tree } else { tree }
            }
            (Algorithm::Pat, _) => all * if self.constants.release.is_from(24, 0) { 0.75 } else { 0.85 },
            (Algorithm::Nvls | Algorithm::NvlsTree, _) => channels * self.nvls_gbps(collective, algorithm, graph),
            _ => all,
        }
    }

    /// The bandwidth in GB/s of a channel of NVLS or NVLSTree.
    fn nvls_gbps(&self, collective: Collective, algorithm: Algorithm, graph: &Graph) -> f64 {
        let (intra, inter) = (graph.intra_gbps, graph.inter_gbps);
        let channels = f64::from(graph.channels);
        let gpus = f64::from(self.per_node());
        let is_tree = algorithm == Algorithm::NvlsTree;
        let is_reduced = collective == Collective::AllReduce;
        let others = (gpus - 1.0) / gpus;
        if self.constants.release.is_from(28, 0) {
            let times = if is_reduced { 2.0 } else { others };
            let links = intra * self.constants.nvls_share() * (channels - 1.0) / channels * times;
            let network = if is_tree && self.scale.nodes <= 2 { 2.0 * inter } else { inter };
            let least = links.min(network);
            return if is_tree { least.min(self.by_nodes(self.constants.nvls_tree_gbps())) } else { least };
        }
        match (is_tree, self.scale.nodes) {
            _ if !self.constants.release.is_from(19, 0) => {
                if self.scale.nodes <= 2 {
                    intra
                } else {
                    inter
                }
            }
            (false, _) if !is_reduced && self.constants.release.is_from(27, 0) => (intra * others).min(0.9 * inter),
            (true, 3..) => intra.min(inter / 2.0),
            _ => intra.min(inter),
        }
    }

    /// The bytes of a message over those that each channel carries.
    fn share_of_message(&self, collective: Collective, algorithm: Algorithm) -> f64 {
        let (ranks, nodes) = (f64::from(self.scale.ranks), f64::from(self.scale.nodes));
        let steps = self.steps(collective);
        match algorithm {
            Algorithm::Ring => ranks / steps,
            _ if self.constants.release.is_from(23, 0) && collective != Collective::AllReduce => 1.0,
            Algorithm::Nvls | Algorithm::NvlsTree if self.constants.release.is_from(28, 0) => ranks / steps,
            Algorithm::Nvls | Algorithm::NvlsTree if self.constants.release.is_from(19, 0) => 5.0 / 6.0,
            Algorithm::Nvls if self.constants.release.is_from(18, 3) => 5.0 / 6.0,
            Algorithm::Nvls => 0.75,
            Algorithm::NvlsTree => 0.7 * nodes / (2.0 * (nodes - 1.0)),
            _ => 0.5,
        }
    }

    /// The share of its bandwidth that a tree reaches at a size.
    fn share_of_size(&self, collective: Collective, cell: &Cell, size_bytes: u64) -> f64 {
        let is_recent = self.constants.release.is_from(29, 0);
        let row = match (cell.algorithm, cell.protocol) {
            (Algorithm::Tree, Protocol::Ll) => 0,
            (Algorithm::Tree, Protocol::Ll128) => 1,
            (Algorithm::Tree, _) => 2,
            (Algorithm::NvlsTree, _) if is_recent && self.capability >= 100 => 2,
            _ => return 1.0,
        };
        let known = if is_recent { TREE_SHARES[row].len() } else { TREE_SHARES[row].len() - 1 };
        let doublings = (size_bytes >> 6).checked_ilog2().map(|log2| log2 as usize);
        match doublings.filter(|at| *at < known && collective == Collective::AllReduce) {
            Some(at) => TREE_SHARES[row][at],
            None => 1.0,
        }
    }

    fn latency_us(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol, graph: &Graph) -> f64 {
        let (nodes, ranks) = (f64::from(self.scale.nodes), f64::from(self.scale.ranks));
        let near = if graph.intra == Path::NvLink { Hop::NvLink } else { Hop::Pci };
        let hop = |link| self.constants.hop_us(link, algorithm, protocol);
        let intra = hop(near);
        let is_alone = self.per_node() == 1 && self.constants.release.is_from(23, 0);
        let network_of = if is_alone { Algorithm::Tree } else { algorithm };
        let network = self.constants.hop_us(Hop::Network, network_of, protocol);
        let levels = f64::from(self.scale.nodes.ilog2());
        let base = self.constants.base_us(algorithm, protocol);
        base + match algorithm {
            Algorithm::Ring if matches!(collective, Collective::Broadcast | Collective::Reduce) => {
                let link = if self.scale.nodes == 1 { near } else { Hop::Network };
                match (graph.is_same_channels, protocol) {
                    (true, _) => hop(link),
                    (false, Protocol::Simple) => {
                        self.steps(collective) * self.constants.hop_us(link, Algorithm::Tree, protocol)
                    }
                    (false, _) => self.steps(collective) * hop(link),
                }
            }
            Algorithm::Ring => {
                let hops_between = match collective {
                    _ if self.scale.nodes == 1 => 0.0,
                    Collective::AllReduce if self.constants.release.is_from(23, 0) => 2.0 * (nodes - 1.0),
                    Collective::AllReduce => 2.0 * nodes,
                    _ => nodes - 1.0,
                };
                let overhead = match self.processor {
                    _ if self.scale.nodes == 1 => 0.0,
                    Processor::Intel => 1.0,
                    Processor::Amd => 2.0,
                };
                let overhead = if protocol == Protocol::Simple { 3.0 * overhead } else { overhead };
                (self.steps(collective) - hops_between) * intra.max(overhead) + hops_between * network
            }
            Algorithm::Tree => 2.0 * ((ranks / nodes - 1.0) * intra + levels * network),
            Algorithm::NvlsTree if !self.constants.release.is_from(19, 0) => 2.0 * (nodes - 1.0) * network,
            Algorithm::NvlsTree => intra + 2.0 * levels * network,
            Algorithm::Pat => 8.0 + levels * network / 3.5 + 2.8 * ranks,
            _ => intra,
        }
    }

    fn steps(&self, collective: Collective) -> f64 {
        let ranks = f64::from(self.scale.ranks);
        match collective {
            Collective::AllReduce => 2.0 * (ranks - 1.0),
            Collective::AllGather | Collective::ReduceScatter => ranks - 1.0,
            _ => ranks,
        }
    }

    const fn per_node(&self) -> u32 {
        self.scale.ranks / self.scale.nodes
    }

    const fn by_nodes(&self, of: ByNodes) -> f64 {
        match self.scale.nodes {
            1 => of[0],
            2 => of[1],
            _ => of[2],
        }
    }

    fn ll_most_gbps(&self) -> f64 {
        let row = match (self.scale.nodes, self.processor) {
            (1, _) => self.constants.generation,
            (_, Processor::Intel) => Generation::Volta,
            (_, Processor::Amd) => Generation::Ampere,
        };
        self.by_nodes(self.constants.ll_most_gbps(row))
    }
}
