//! The graphs that NCCL searches for before it computes its cost model: how many channels of rings, trees and NVLS
//! there are, and how fast each is.

use std::{fmt, str::FromStr};

use super::{CostModelError, Release};
use crate::{collective::Scale, conf::machine::Gpu};

/// How far apart two GPUs, or a GPU and its network card, are (`PATH_*` in NCCL, src/graph/topo.h), from near to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// `LOC`: the same device.
    Local,
    /// `NVL`: a direct NVLink.
    NvLink,
    /// `NVB`: NVLink through another GPU.
    NvLinkBridge,
    /// `C2C`: NVLink between a processor and a GPU.
    C2c,
    /// `PIX`: at most one PCIe switch.
    Pix,
    /// `PXB`: several PCIe switches.
    Pxb,
    /// `P2C`: a network card through C2C and PCIe.
    P2c,
    /// `PXN`: a network card of another GPU, reached over NVLink.
    Pxn,
    /// `PHB`: through the processor's host bridge.
    Phb,
    /// `SYS`: between processors; also what the library can't reach otherwise.
    System,
}

impl FromStr for Path {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text.trim().to_ascii_uppercase().as_str() {
            "LOC" => Self::Local,
            "NVL" => Self::NvLink,
            "NVB" => Self::NvLinkBridge,
            "C2C" => Self::C2c,
            "PIX" => Self::Pix,
            "PXB" => Self::Pxb,
            "P2C" => Self::P2c,
            "PXN" => Self::Pxn,
            "PHB" => Self::Phb,
            "SYS" | "NET" | "DIS" => Self::System,
            _ => return Err(()),
        })
    }
}

/// The graph of rings, of trees, or of NVLS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graph {
    /// The number of channels, at least 1.
    pub channels: u32,
    /// The bandwidth of each within a node, in GB/s.
    pub intra_gbps: f64,
    /// The bandwidth of each between nodes, in GB/s.
    pub inter_gbps: f64,
    /// The longest path within a node.
    pub intra: Path,
    /// The longest path to a network card.
    pub inter: Path,
    /// The pattern of a tree in which one GPU of a node does all of the network (`NCCL_TOPO_PATTERN_TREE`, 3).
    pub is_plain_tree: bool,
    /// All channels go the same way (`sameChannels`).
    pub is_same_channels: bool,
}

impl Graph {
    /// A graph of so many channels over NVLink, each with these GB/s within a node and between nodes.
    const fn of_nvlink(channels: u32, [intra_gbps, inter_gbps]: [f64; 2], inter: Path) -> Self {
        let intra = Path::NvLink;
        Self { channels, intra_gbps, inter_gbps, intra, inter, is_plain_tree: false, is_same_channels: true }
    }
}

/// The graphs of a communicator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graphs {
    /// Rings through all GPUs of a node, one for each channel.
    pub ring: Graph,
    /// Trees, of as many channels as the rings; PAT runs on it as well.
    pub tree: Graph,
    /// NVLS and NVLSTree; `None` where there is none.
    pub nvls: Option<Graph>,
}

/// A machine whose graphs are known without a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Nodes of A100 behind NVSwitches, 12 links each.
    A100,
    /// Nodes of H100 or H200 behind NVSwitches, 18 links each; between nodes a network card of 400 Gb/s for each GPU.
    H100,
    /// Nodes of B200 behind NVSwitches, 18 links each.
    B200,
}

impl Machine {
    /// All of them, from the oldest GPU to the newest.
    pub const ALL: [Self; 3] = [Self::A100, Self::H100, Self::B200];

    /// The machine of a GPU by its name, such as `h100`, `H200-SXM`; `None` for others, also those of the same
    /// architecture with fewer links, such as A800.
    pub fn of_name(name: &str) -> Option<Self> {
        match Gpu::of_device(name)?.0 {
            "a100" => Some(Self::A100),
            "h100" | "h200" => Some(Self::H100),
            "b200" => Some(Self::B200),
            _ => None,
        }
    }

    /// Its compute capability times ten.
    pub const fn capability(self) -> u32 {
        match self {
            Self::A100 => 80,
            Self::H100 => 90,
            Self::B200 => 100,
        }
    }

    /// The graphs of a communicator, as the search of a release finds them (src/graph/search.cc with the rates of
    /// topo.h; confirmed by logs of eight H100 and two A100, and of 1 to 16 nodes of H100).
    ///
    /// # Errors
    /// [`CostModelError::NoGraphs`] where they are not known.
    pub fn graphs(self, Scale { nodes, ranks }: Scale, release: Release) -> Result<Graphs, CostModelError> {
        let gpus = ranks / nodes.max(1);
        let is_known = match (self, nodes) {
            (_, 1) => matches!(gpus, 2 | 4 | 8),
            (Self::H100, _) => matches!(gpus, 1 | 2 | 4 | 8),
            _ => false,
        };
        if !is_known || !ranks.is_multiple_of(nodes) {
            return Err(CostModelError::NoGraphs { machine: self, scale: Scale { nodes, ranks } });
        }
        Ok(if nodes == 1 { self.on_one_node(gpus, release) } else { between_h100(gpus, nodes) })
    }

    fn on_one_node(self, gpus: u32, release: Release) -> Graphs {
        let graph = |channels, intra_gbps, inter_gbps| Graph::of_nvlink(channels, [intra_gbps, inter_gbps], Path::Pix);
        let (channels, ring_gbps, links_gbps) = match self {
            Self::A100 => (12, 20.0, 40.0),
            Self::H100 => (12, 30.0, 60.0),
            Self::B200 => (16, 45.0, 90.0),
        };
        let tree_gbps = match (self, gpus) {
            (_, 2) => links_gbps,
            (Self::B200, 4) => 50.0,
            (Self::B200, _) if !release.is_from(29, 0) => 40.0,
            _ => ring_gbps,
        };
        let tree = graph(channels, tree_gbps, tree_gbps);
        // From 2.28 on there is NVLS with two GPUs as well.
        let has_nvls = self != Self::A100 && (gpus > 2 || release.is_from(28, 0));
        let nvls_gbps = match (self, gpus) {
            (Self::H100, 8) => 40.0,
            (Self::B200, 8) => 80.0,
            _ => links_gbps,
        };
        Graphs {
            ring: graph(channels, ring_gbps, ring_gbps),
            // Of B200 with four GPUs the pattern is not confirmed by a log.
            tree: Graph { is_plain_tree: self == Self::B200 && gpus == 4, ..tree },
            nvls: has_nvls.then(|| graph(gpus, nvls_gbps, links_gbps)),
        }
    }
}

/// Nodes of H100 with eight cards of 400 Gb/s, as logs of NCCL 2.27.5 have them (meta-pytorch/autoparallel at
/// a54c2529).
fn between_h100(gpus: u32, nodes: u32) -> Graphs {
    let (channels, gbps) = if gpus == 8 { (8, 48.0) } else { (2 * gpus, 24.0) };
    let graph = |channels, intra_gbps, inter_gbps| Graph::of_nvlink(channels, [intra_gbps, inter_gbps], Path::Pxn);
    let tree_gbps = if nodes == 2 { f64::max(gbps, 45.0) } else { gbps };
    let nvls = match gpus {
        4 => Some(graph(4, 60.0, 48.0)),
        8 => Some(graph(8, 40.0, 48.0)),
        _ => None,
    };
    let tree = Graph { is_plain_tree: true, ..graph(channels, tree_gbps, gbps) };
    Graphs { ring: graph(channels, gbps, gbps), tree, nvls }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A100 => "A100",
            Self::H100 => "H100",
            Self::B200 => "B200",
        })
    }
}
