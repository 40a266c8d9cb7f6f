//! What no schedule over a graph of links exceeds: the topology workbench finds it, and the tuning workbench holds its
//! predictions to it.

use crate::collective::{Algorithm, Collective, Scale};

/// The highest bus bandwidths over a graph of links.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The file that the links stand in.
    pub file: String,
    /// Ranks over all nodes: the nodes of the graph.
    pub ranks: u32,
    /// Nodes of the cluster; `None` where the file does not say which ranks are on one.
    pub nodes: Option<u32>,
    /// The highest bus bandwidth of each collective, in GB/s.
    pub busbw_gbps: Vec<(Collective, f64)>,
}

impl Ceiling {
    /// The highest bus bandwidth of a collective in GB/s; `None` where the graph is of another scale.
    pub fn of(&self, collective: Collective, scale: Scale) -> Option<f64> {
        let is_scale = self.ranks == scale.ranks && self.nodes.is_none_or(|nodes| nodes == scale.nodes);
        let found = self.busbw_gbps.iter().find(|(of, _)| *of == collective);
        found.filter(|_| is_scale).map(|(_, busbw_gbps)| *busbw_gbps)
    }

    /// Whether it holds for an algorithm: where switches reduce or multiply what passes, less goes over the links.
    pub const fn holds_for(algorithm: Algorithm) -> bool {
        use Algorithm::{CollnetChain, CollnetDirect, Nvls, NvlsTree};
        !matches!(algorithm, CollnetDirect | CollnetChain | Nvls | NvlsTree)
    }
}
