//! The cost model by which NCCL chooses algorithm and protocol: a latency and a bandwidth for each, computed when a
//! communicator is made (NVIDIA/nccl, src/graph/tuning.cc), of the releases 2.18.1 to 2.30.7.
//!
//! What it says is what the library believes, and no measurement: on one node it is too fast nearly everywhere, by 2 to
//! 40 % of the time. It knows no CollNet, and takes fp16, bf16 or fp32 that are summed: of other types and operations
//! NVLS may be off.

mod cells;
mod constants;
mod graphs;
mod log;

pub use self::{
    cells::{Cell, Choice},
    graphs::{Graph, Graphs, Machine, Path},
    log::{DifferentJobs, LoggedGraphs, read_log, read_logs},
};

use self::constants::Constants;
use crate::{collective::Scale, conf::machine::Version};
use std::fmt;

/// Releases whose models differ, as minor version and patch, in order.
const RELEASES: [(u32, u32); 17] = [
    (18, 1),
    (18, 3),
    (19, 3),
    (20, 3),
    (21, 5),
    (23, 4),
    (24, 3),
    (25, 1),
    (27, 3),
    (27, 5),
    (28, 3),
    (28, 7),
    (28, 9),
    (29, 2),
    (29, 7),
    (30, 3),
    (30, 7),
];

/// The newest version of the model, for a question that names none.
pub const NEWEST: Version = Version::release(2, RELEASES[RELEASES.len() - 1].0, RELEASES[RELEASES.len() - 1].1);

/// Why there is no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostModelError {
    /// The version is older or newer than those that are known.
    #[error("the cost model of NCCL {0} is not known; known are 2.18.1 to {NEWEST}")]
    Release(Version),
    /// The number of ranks is no multiple of that of nodes, or there is one rank alone.
    #[error("{0} can't be: as many ranks on each node, and two at least, were expected")]
    Scale(Scale),
    /// The channels that the library finds on a machine are not known.
    #[error(
        "the channels that NCCL finds on {scale} of {machine} are not known; known are 2, 4 and 8 GPUs of one node, and \
         nodes of H100 or H200 with 1, 2, 4 or 8 GPUs each"
    )]
    NoGraphs {
        /// The GPUs that were asked about.
        machine: Machine,
        /// The communicator, of which only some numbers of GPUs a node are known.
        scale: Scale,
    },
}

/// A release of NCCL whose model is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    minor: u32,
    patch: u32,
}

impl Release {
    /// The release whose model a version has: its own, or that of the release before it, or the first of a minor
    /// version that is given without its third number.
    ///
    /// # Errors
    /// [`CostModelError::Release`] for a version before 2.18.1 or after [`NEWEST`].
    pub fn of(version: Version) -> Result<Self, CostModelError> {
        let asked = (version.minor, version.patch.unwrap_or(0));
        let is_first_of_minor = |known: &&(u32, u32)| version.patch.is_none() && known.0 == version.minor;
        let first = RELEASES.iter().find(is_first_of_minor);
        let before = || RELEASES.iter().rev().find(|known| **known <= asked);
        let is_known = version.major == 2 && asked <= RELEASES[RELEASES.len() - 1];
        let (minor, patch) = *first.or_else(before).filter(|_| is_known).ok_or(CostModelError::Release(version))?;
        Ok(Self { minor, patch })
    }

    const fn is_from(self, minor: u32, patch: u32) -> bool {
        self.minor > minor || (self.minor == minor && self.patch >= patch)
    }

    /// The version with all three numbers, such as 2.28.9.
    pub const fn version(self) -> Version {
        Version::release(2, self.minor, self.patch)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version().fmt(f)
    }
}

/// The rows of the model's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

impl Generation {
    const fn of(capability: u32, release: Release) -> Self {
        match capability {
            // Blackwell has rows of its own from 2.25 on.
            100.. if release.is_from(25, 0) => Self::Blackwell,
            90.. => Self::Hopper,
            80.. => Self::Ampere,
            _ => Self::Volta,
        }
    }
}

/// Whose processors the nodes have, which changes the cost of a hop between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// A hop between nodes costs 1 µs at least, 3 µs with SIMPLE.
    #[default]
    Intel,
    /// A hop between nodes costs 2 µs at least, 6 µs with SIMPLE.
    Amd,
}

/// The model of a release for one communicator.
#[derive(Clone, Copy, Debug)]
pub struct CostModel {
    constants: Constants,
    /// The compute capability times ten.
    capability: u32,
    scale: Scale,
    graphs: Graphs,
    processor: Processor,
}

impl CostModel {
    /// The model of GPUs of a compute capability (times ten) with the graphs that the library found.
    ///
    /// # Errors
    /// [`CostModelError::Scale`] where the ranks are no multiple of the nodes, or less than two.
    pub fn new(
        release: Release,
        capability: u32,
        scale: Scale,
        graphs: Graphs,
        processor: Processor,
    ) -> Result<Self, CostModelError> {
        if scale.nodes == 0 || scale.ranks < 2 || !scale.ranks.is_multiple_of(scale.nodes) {
            return Err(CostModelError::Scale(scale));
        }
        let constants = Constants { release, generation: Generation::of(capability, release) };
        Ok(Self { constants, capability, scale, graphs, processor })
    }

    /// The model of a machine whose graphs are known.
    ///
    /// # Errors
    /// As [`Self::new`], and [`CostModelError::NoGraphs`] where the graphs of so many GPUs are not known.
    pub fn of_machine(
        machine: Machine,
        scale: Scale,
        release: Release,
        processor: Processor,
    ) -> Result<Self, CostModelError> {
        let graphs = machine.graphs(scale, release)?;
        Self::new(release, machine.capability(), scale, graphs, processor)
    }

    /// The release whose model it is.
    pub const fn release(&self) -> Release {
        self.constants.release
    }

    /// The compute capability of its GPUs, times ten.
    pub const fn capability(&self) -> u32 {
        self.capability
    }

    /// The nodes and ranks of the communicator.
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Protocol};

    fn release(text: &str) -> Release {
        Release::of(text.parse().unwrap()).unwrap()
    }

    fn model(machine: Machine, [nodes, gpus]: [u32; 2], version: &str) -> CostModel {
        let scale = Scale { nodes, ranks: nodes * gpus };
        CostModel::of_machine(machine, scale, release(version), Processor::Intel).unwrap()
    }

    #[test]
    fn a_version_takes_the_model_of_the_release_before_it() {
        for (version, of) in
            [("2.18.1", "2.18.1"), ("2.18.6", "2.18.3"), ("2.22.3", "2.21.5"), ("2.28", "2.28.3"), ("2.29.3", "2.29.2")]
        {
            assert_eq!(release(version).to_string(), of, "{version}");
        }
        for unknown in ["2.17.1", "2.18.0", "2.30.8", "2.31", "3.0", "1.30.7"] {
            let version = unknown.parse().unwrap();
            assert_eq!(Release::of(version), Err(CostModelError::Release(version)));
        }
    }

    #[test]
    fn cells_are_those_of_the_library() {
        let cell = |of: CostModel, collective, algorithm, protocol| {
            let cell = of.cell(collective, algorithm, protocol).unwrap();
            let rounded = |x: f64| (x * 10.0).round() / 10.0;
            (rounded(cell.latency_us), rounded(cell.algbw_gbps))
        };
        use {
            Algorithm::{Nvls, NvlsTree, Pat, Ring},
            Collective::{AllGather, AllReduce, AllToAll},
            Protocol::{Ll128, Simple},
        };
        let h100 = |nodes, gpus, version| model(Machine::H100, [nodes, gpus], version);
        assert_eq!(cell(h100(1, 8, "2.27.5"), AllReduce, Ring, Simple), (56.0, 205.7));
        assert_eq!(cell(h100(1, 8, "2.27.5"), AllReduce, Nvls, Simple), (25.0, 266.7));
        assert_eq!(cell(h100(1, 8, "2.28.9"), AllReduce, Nvls, Simple), (25.0, 272.0));
        assert_eq!(cell(h100(2, 8, "2.21.5"), AllReduce, Ring, Simple), (152.8, 204.8));
        assert_eq!(cell(h100(2, 8, "2.23.4"), AllReduce, Ring, Simple), (131.6, 204.8));
        assert_eq!(cell(h100(2, 8, "2.28.9"), AllReduce, NvlsTree, Simple), (66.8, 246.2));
        assert_eq!(cell(h100(16, 1, "2.27.5"), AllGather, Pat, Simple), (68.8, 36.0));
        let b200 = |version| model(Machine::B200, [1, 8], version);
        assert_eq!(cell(b200("2.28.9"), AllGather, Ring, Ll128), (27.3, 757.0));
        assert_eq!(cell(b200("2.29.2"), AllGather, Ring, Ll128), (27.3, 630.9));
        assert_eq!(h100(2, 8, "2.27.5").cell(AllReduce, Nvls, Simple), None);
        assert!(h100(1, 8, "2.27.5").cells(AllToAll).is_empty());
    }

    #[test]
    fn unknown_machines_are_refused() {
        let graphs = |machine: Machine, nodes, ranks| machine.graphs(Scale { nodes, ranks }, release("2.28.9"));
        for (machine, nodes, ranks) in
            [(Machine::A100, 2, 16), (Machine::H100, 1, 6), (Machine::H100, 2, 6), (Machine::B200, 2, 16)]
        {
            assert!(graphs(machine, nodes, ranks).is_err(), "{machine} {nodes} {ranks}");
        }
        assert_eq!([Machine::of_name("H800"), Machine::of_name("GB200")], [None; 2]);
        assert_eq!(Machine::of_name("NVIDIA H200 141GB"), Some(Machine::H100));
    }
}
