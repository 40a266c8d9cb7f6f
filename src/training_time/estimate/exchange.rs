//! What ranks of a step exchange.

use crate::collective::Collective;

/// What a step exchanges something for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeUse {
    /// Activations of the ranks that split a matrix.
    Tensor,
    /// Gradients, summed over the replicas.
    Gradients,
    /// Parameters of replicas that hold a share of them each.
    Parameters,
    /// Activations of one stage for the next.
    Messages,
    /// Tokens for experts on other ranks.
    Experts,
    /// Keys and values of the ranks that split a sequence.
    Sequence,
}

impl ExchangeUse {
    /// The exchange as tables and the terminal name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "Tensor groups",
            Self::Gradients => "Gradients",
            Self::Parameters => "Parameters",
            Self::Messages => "Messages between stages",
            Self::Experts => "Tokens to experts and back",
            Self::Sequence => "Keys and values",
        }
    }

    /// What a measured collective says something about; nothing of a collective that no step has.
    pub const fn of(collective: Collective) -> &'static [Self] {
        match collective {
            // A ring passes the same links in all three.
            Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => {
                &[Self::Tensor, Self::Gradients, Self::Parameters]
            }
            Collective::SendRecv => &[Self::Messages],
            Collective::AllToAll => &[Self::Experts],
            _ => &[],
        }
    }
}

/// A group of ranks that exchange something, and how they lie on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of ranks that take part, at least 1.
    pub ranks: u32,
    /// How many of them the fast links join.
    pub linked: u32,
}

impl Group {
    /// The ranks of a group between which `between` others lie, on nodes of `linked_gpus`, in a step of `gpus`. Where
    /// such groups don't divide a node, some of them lie on two: all wait for those. Of a rack, jobs use as many GPUs
    /// as their groups divide, such as 64 of 72.
    pub fn of(ranks: u32, between: u32, linked_gpus: u32, gpus: u64) -> Self {
        /// The most GPUs of what is taken for a node, of which jobs use all.
        const NODE: u32 = 16;
        let (ranks, between) = (ranks.max(1), between.max(1));
        let span = ranks.saturating_mul(between);
        let is_node = linked_gpus <= NODE && gpus > linked_gpus.into();
        let straddles = is_node && span <= linked_gpus && !linked_gpus.is_multiple_of(span);
        let divides = |part: &u32| span.is_multiple_of(*part) && linked_gpus.is_multiple_of(*part);
        let beside = if straddles { (1..span).rev().find(divides).unwrap_or(1) } else { linked_gpus } / between;
        Self { ranks, linked: beside.clamp(1, ranks) }
    }

    /// The sender and the receiver of a message.
    pub const fn pair(is_linked: bool) -> Self {
        Self { ranks: 2, linked: if is_linked { 2 } else { 1 } }
    }

    pub(super) const fn spans_nodes(self) -> bool {
        self.ranks > self.linked
    }

    pub(super) fn others(self) -> f64 {
        f64::from(self.ranks - 1) / f64::from(self.ranks)
    }
}

/// The collective by which ranks exchange bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// An all_reduce of as many bytes.
    AllReduce,
    /// An all_gather to as many bytes, or a reduce_scatter of them.
    Gather,
    /// As many bytes of every rank go around the group.
    Around,
    /// A message from one rank to another.
    Message,
    /// As many bytes of each rank go to some experts each that are spread over the group. Between nodes they are sent
    /// once to each node on which such an expert is.
    ToExperts {
        /// The number of experts to which each byte goes.
        copies: f64,
    },
}

/// Something that ranks of a step exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// What the step exchanges it for.
    pub of: ExchangeUse,
    /// The collective by which it is exchanged.
    pub operation: Operation,
    /// The ranks that take part.
    pub group: Group,
    /// The bytes that [`Operation`] counts.
    pub bytes: f64,
}

/// What ranks of the busiest stage exchange, and how long that takes.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedExchange {
    /// What is exchanged between which ranks.
    pub exchange: Exchange,
    /// How often in a step.
    pub times: f64,
    /// The time of one in µs, hidden behind kernels or not.
    pub time_us: f64,
    /// Where the time is from.
    pub source: ExchangeSource,
    /// The same in words: `links`, the cost model, `measured`, or what was measured nearby.
    pub basis: String,
}

/// Where the time of an exchange is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeSource {
    /// The bandwidth of links.
    Links,
    /// The cost model of the library.
    Library,
    /// What was measured, nearby at least.
    Measured,
}

impl Exchange {
    /// The bytes by which nccl-tests would call it: of an exchange with experts those that a rank sends.
    pub fn message_bytes(&self) -> f64 {
        match self.operation {
            Operation::ToExperts { copies } => copies.min(self.group.ranks.into()) * self.bytes,
            _ => self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_lie_on_two_nodes_are_not_all_linked() {
        let linked = |ranks, between, gpus| Group::of(ranks, between, 8, gpus).linked;
        // On one node, and where groups divide it.
        assert_eq!([linked(6, 1, 6), linked(8, 1, 64), linked(4, 2, 64), linked(2, 1, 64)], [6, 8, 4, 2]);
        // Ranks 6 to 11 lie on two nodes of eight: two of them on the first.
        assert_eq!([linked(6, 1, 24), linked(3, 1, 24), linked(3, 2, 24)], [2, 1, 1]);
        assert_eq!(Group::of(16, 1, 72, 144).linked, 16);
        // Wider than a node.
        assert_eq!([linked(16, 1, 64), linked(16, 4, 64), linked(4, 8, 64)], [8, 2, 1]);
    }
}
