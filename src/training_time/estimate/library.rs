//! Exchanges by the cost model of NCCL.

use super::exchange::{Group, Operation};
use crate::{
    collective::{Collective, Scale},
    conf::machine::Version,
    cost_model::{CostModel, CostModelError, Machine, Processor, Release},
};

/// How many times as long as the model says collectives take: the geometric mean over published tables of nccl-tests on
/// two, four and eight A100, H100 and B200 of a node, from 1 MiB on, is between 1.1 and 1.4 by GPU
/// (ai-dynamo/aiconfigurator at 095f58a).
const LONGER: f64 = 1.25;

/// The cost model of a version of NCCL on a GPU whose channels are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LibraryModel {
    machine: Machine,
    release: Release,
}

impl LibraryModel {
    /// The model of a version on a GPU of this name; `None` for a GPU whose channels are not known.
    ///
    /// # Errors
    /// Returns [`CostModelError::Release`] for a version that is not known.
    pub fn of(gpu: &str, version: Version) -> Result<Option<Self>, CostModelError> {
        let release = Release::of(version)?;
        Ok(Machine::of_name(gpu).map(|machine| Self { machine, release }))
    }

    /// The name of the basis of its times.
    pub fn name(&self) -> String {
        format!("cost model of NCCL {}", self.release)
    }

    /// Time in µs of an exchange; `None` where the channels of the group are not known, or the library has no choice of
    /// algorithms for it.
    pub(super) fn time_us(&self, operation: Operation, group: Group, bytes: f64) -> Option<f64> {
        let collective = match operation {
            Operation::AllReduce => Collective::AllReduce,
            Operation::Gather => Collective::AllGather,
            Operation::Around | Operation::Message | Operation::ToExperts { .. } => return None,
        };
        let nodes = group.ranks.checked_div(group.linked).filter(|nodes| nodes * group.linked == group.ranks)?;
        let scale = Scale { nodes, ranks: group.ranks };
        let model = CostModel::of_machine(self.machine, scale, self.release, Processor::default()).ok()?;
        Some(LONGER * model.choice(collective, bytes as u64)?.time_us)
    }
}
