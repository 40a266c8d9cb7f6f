//! What can be wrong with a plan.

use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A key is missing, or has a value of another kind.
    Schema,
    /// The reader of MSCCL++ refuses it, or a number leads nowhere.
    Load,
    /// More of something than MSCCL++ has room for, whether it checks that or not.
    Limit,
    /// An operation leaves its buffer.
    Bounds,
    /// The kernel takes the buffers of an operation otherwise than the plan gives them.
    Operands,
    /// Threads of a block access the same data, signal or wait with no barrier (`nop`) between.
    NoSync,
    /// Two thread blocks access the same data in no order, and one writes.
    Race,
    /// A rank accesses a peer's user buffer, or what a peer may still access in scratch for the launch before, before
    /// anything came from that peer in this launch.
    Early,
    /// A rank may end while a peer, or a put over a port, still accesses its user buffer.
    Late,
    /// `get` with unlike offsets: MSCCL++ adds that of the source to the local address, and that of the destination to
    /// the remote one.
    Get,
    /// Signals or semaphores are not as before the launch: the next one begins with them.
    LeftOver,
    /// No thread block can go on.
    Deadlock,
    /// A result is not what the collective asks for.
    Data,
    /// It is too large to be run here.
    Unchecked,
}

impl FaultKind {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Load => "load",
            Self::Limit => "limit",
            Self::Bounds => "bounds",
            Self::Operands => "operands",
            Self::NoSync => "no barrier",
            Self::Race => "race",
            Self::Early => "early",
            Self::Late => "late",
            Self::Get => "get",
            Self::LeftOver => "left over",
            Self::Deadlock => "deadlock",
            Self::Data => "data",
            Self::Unchecked => "not checked",
        }
    }
}

/// A fault of a plan, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The GPU, from 0; `None` for the plan as a whole.
    pub gpu: Option<u32>,
    /// The thread block of the GPU, from 0.
    pub block: Option<u32>,
    /// The operation of the thread block, from 0; operations within a pipeline follow it in the count.
    pub operation: Option<u32>,
    /// What is wrong, as a clause.
    pub what: String,
}

impl Fault {
    pub(super) fn of_plan(kind: FaultKind, what: impl Into<String>) -> Self {
        Self { kind, gpu: None, block: None, operation: None, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("gpu", self.gpu), ("thread block", self.block), ("operation", self.operation)];
        let place: Vec<String> = parts.iter().filter_map(|(name, of)| Some(format!("{name} {}", (*of)?))).collect();
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        write!(f, "{} ({})", self.what, self.kind.name())
    }
}
