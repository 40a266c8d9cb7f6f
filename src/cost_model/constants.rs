//! The constants of NCCL's cost model, by release (NVIDIA/nccl, src/graph/tuning.cc, at the tags v2.18.1-1 to
//! v2.30.7-1).

use super::{Generation, Release};
use crate::collective::{Algorithm, Protocol};

/// What a hop goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    NvLink,
    Pci,
    Network,
}

/// A figure on one node, on two, and on more.
pub(super) type ByNodes = [f64; 3];

/// The constants of one release and one generation of GPUs. Bandwidths are in GB/s, latencies in µs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub(super) release: Release,
    pub(super) generation: Generation,
}

impl Constants {
    fn is_from(&self, minor: u32, patch: u32) -> bool {
        self.release.is_from(minor, patch)
    }

    /// The most that rings and trees reach with LL over nodes of processors by Intel, or within a node of this
    /// generation.
    pub(super) fn ll_most_gbps(&self, row: Generation) -> ByNodes {
        match row {
            Generation::Volta => [39.0, 39.0, 20.4],
            Generation::Hopper if self.is_from(21, 0) => [141.0, 45.0, 35.0],
            Generation::Blackwell => [282.0, 90.0, 70.0],
            Generation::Ampere | Generation::Hopper => [87.7, 22.5, 19.0],
        }
    }

    /// The most of a ring's channel with LL128.
    pub(super) fn ring_ll128_gbps(&self) -> ByNodes {
        match self.generation {
            Generation::Volta | Generation::Ampere => [20.0; 3],
            Generation::Hopper => [36.7; 3],
            Generation::Blackwell if self.is_from(29, 7) => [40.0; 3],
            Generation::Blackwell if self.is_from(29, 0) => [34.5, 34.6, 34.5],
            Generation::Blackwell if self.is_from(28, 7) => [73.4, 34.6, 73.4],
            Generation::Blackwell => [73.4; 3],
        }
    }

    /// The most of a tree's channel with LL128.
    pub(super) fn tree_ll128_gbps(&self) -> ByNodes {
        match self.generation {
            Generation::Volta | Generation::Ampere => [20.0; 3],
            Generation::Hopper if self.is_from(18, 3) => [36.7, 36.7, 29.0],
            Generation::Hopper => [36.7; 3],
            Generation::Blackwell if self.is_from(28, 0) => [55.6, 31.67, 20.0],
            Generation::Blackwell => [73.4, 73.4, 58.0],
        }
    }

    /// The most of a tree's channel.
    pub(super) fn tree_gbps(&self) -> ByNodes {
        match self.generation {
            Generation::Volta => [26.5, 18.5, 10.0],
            Generation::Ampere => [24.0, 23.6, 17.8],
            Generation::Hopper if self.is_from(18, 3) => [38.7, 41.4, 36.0],
            Generation::Hopper => [38.7, 41.4, 33.0],
            Generation::Blackwell if self.is_from(28, 0) => [70.0, 42.8, 24.0],
            Generation::Blackwell => [77.4, 82.8, 72.0],
        }
    }

    /// The most of an NVLSTree's channel, from 2.28 on.
    pub(super) fn nvls_tree_gbps(&self) -> ByNodes {
        match self.generation {
            Generation::Volta => [26.5, 18.5, 10.0],
            Generation::Ampere => [24.0, 23.6, 17.8],
            Generation::Hopper => [0.0, 57.7, 45.5],
            Generation::Blackwell if self.is_from(30, 0) => [0.0, 96.0, 80.0],
            Generation::Blackwell if self.is_from(28, 9) => [0.0, 96.0, 43.8],
            Generation::Blackwell => [0.0, 96.0, 43.1],
        }
    }

    /// The share of the links that NVLS reaches, from 2.28 on.
    pub(super) const fn nvls_share(&self) -> f64 {
        match self.generation {
            Generation::Volta | Generation::Ampere => 0.0,
            Generation::Hopper => 0.85,
            Generation::Blackwell => 0.74,
        }
    }

    /// The latency that an algorithm has whatever its number of hops.
    pub(super) fn base_us(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        match (algorithm, protocol) {
            (Algorithm::Tree, Protocol::Ll) => 6.8,
            (Algorithm::Ring, Protocol::Ll) => 6.6,
            (Algorithm::Tree | Algorithm::Ring, Protocol::Ll128) => 14.0,
            (Algorithm::Tree, Protocol::Simple) if !self.is_from(23, 0) => 0.0,
            (Algorithm::Tree | Algorithm::Ring, Protocol::Simple) => 8.4,
            (Algorithm::Nvls | Algorithm::NvlsTree, _) if !self.is_from(19, 0) => 23.0,
            _ => 0.0,
        }
    }

    /// The latency of a hop.
    pub(super) fn hop_us(&self, link: Hop, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let by_link = |nvlink: f64, pci: f64, network: f64| match link {
            Hop::NvLink => nvlink,
            Hop::Pci => pci,
            Hop::Network => network,
        };
        match (algorithm, protocol) {
            (Algorithm::Tree, Protocol::Ll) => by_link(0.6, 1.0, 5.0),
            (Algorithm::Tree, Protocol::Ll128) => by_link(1.25, 1.9, 8.5),
            (Algorithm::Tree, _) if self.is_from(23, 0) => by_link(4.0, 4.0, 14.0),
            (Algorithm::Tree, _) if self.is_from(18, 3) && !self.is_from(19, 0) => by_link(4.0, 6.0, 14.0),
            (Algorithm::Tree, _) => by_link(28.0, 28.0, 28.0),
            (Algorithm::Ring, Protocol::Ll) => by_link(0.6, 1.0, 2.7),
            (Algorithm::Ring, Protocol::Ll128) => by_link(1.9, 2.5, 4.0),
            (Algorithm::Ring, _) => by_link(3.4, 5.7, 14.0),
            (Algorithm::Nvls, _) => by_link(self.nvls_us(), 0.0, 18.0),
            (Algorithm::NvlsTree, _) => by_link(self.nvls_us(), 0.0, self.nvls_tree_network_us()),
            _ => 0.0,
        }
    }

    fn nvls_us(&self) -> f64 {
        match self.release {
            _ if self.is_from(21, 0) => 25.0,
            _ if self.is_from(19, 0) => 23.0,
            _ => 0.0,
        }
    }

    fn nvls_tree_network_us(&self) -> f64 {
        match self.release {
            _ if self.is_from(28, 9) => 20.9,
            _ if self.is_from(19, 0) => 14.0,
            _ => 19.0,
        }
    }
}

/// The share of its bandwidth that a tree reaches with messages of 64 bytes, 128 bytes and so on:
/// `treeCorrectionFactor` of LL, LL128 and Simple, of which releases before 2.29 have one less.
pub(super) const TREE_SHARES: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0,
        1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0,
        1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9,
        0.9, 0.9,
    ],
];
