//! The communicators of a layout. Ranks are numbered with tensor parallelism fastest, then data, then pipeline.

use super::{run::Layout, samples::Communicator};

/// The communicators of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Communicators {
    /// The communicator of tensor parallelism.
    pub tensor: Communicator,
    /// The communicator over which gradients and parameters are exchanged.
    pub data: Communicator,
    /// The communicator for gradients of experts, which has fewer ranks.
    pub expert_data: Communicator,
    /// The communicator over which tokens are sent to experts.
    pub expert: Communicator,
    /// From each stage to the next; and last, with several stages, from the last to the first, which chunks of an
    /// interleaved schedule use.
    pub boundaries: Vec<Communicator>,
}

const BETWEEN: Communicator = Communicator { nodes: 2, per_node: 1 };
const WITHIN: Communicator = Communicator { nodes: 1, per_node: 2 };

impl Communicators {
    /// Those that a layout has: `dp` ranks whose neighbours are `mp` apart fill a node before the next.
    pub fn of(layout: &Layout) -> Self {
        let per_node = layout.gpus_per_node.max(1);
        let spread = |ranks: u32, room: u32| {
            let here = ranks.min(room.max(1)).max(1);
            Communicator { nodes: ranks.div_ceil(here).max(1), per_node: here }
        };
        let of_data = |ranks: u32| spread(ranks, per_node / layout.tensor.max(1));
        // Ranks that hold the same experts are `mp · ep` apart.
        let stride = layout.tensor.max(1).saturating_mul(layout.expert.max(1));
        Self {
            tensor: spread(layout.tensor, per_node),
            data: of_data(layout.data),
            expert_data: spread(layout.data / layout.expert.max(1), per_node / stride),
            expert: of_data(layout.expert),
            boundaries: boundaries(layout, per_node),
        }
    }

    /// Those of the reference (estimate-train-time), its defects included: a data group that asks for whole nodes, and
    /// one kind of boundary, between nodes as soon as there are as many GPUs as a node has.
    pub fn of_reference(layout: &Layout) -> Self {
        let node = layout.gpus_per_node.max(1);
        let tensor = layout.tensor.min(node).max(1);
        let data = (node / layout.tensor.max(1)).max(1);
        let between = layout.gpus() >= u64::from(node);
        Self {
            tensor: Communicator { nodes: (layout.tensor / tensor).max(1), per_node: tensor },
            data: Communicator { nodes: (layout.data / data).max(1), per_node: data },
            expert_data: Communicator::default(),
            expert: Communicator::default(),
            boundaries: vec![if between { BETWEEN } else { WITHIN }],
        }
    }
}

/// A boundary is inside a node only if every pair of ranks across it is.
fn boundaries(layout: &Layout, node: u32) -> Vec<Communicator> {
    let stage = u128::from(layout.tensor) * u128::from(layout.data);
    let (stages, node) = (u128::from(layout.pipeline), u128::from(node));
    if stages < 2 {
        return Vec::new();
    }
    let shape = |is_within: bool| if is_within { WITHIN } else { BETWEEN };
    let next = (0..stages - 1).map(|i| shape(i * stage / node == ((i + 2) * stage - 1) / node));
    next.chain([shape(stages * stage <= node)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(pipeline: u32, tensor: u32, data: u32, gpus_per_node: u32) -> Layout {
        Layout { pipeline, tensor, data, expert: 1, gpus_per_node }
    }

    #[test]
    fn groups_fill_nodes() {
        let of = |pp, mp, dp, g| {
            let all = Communicators::of(&layout(pp, mp, dp, g));
            (all.tensor.to_string(), all.data.to_string())
        };
        assert_eq!(of(4, 2, 2, 4), ("1×2".into(), "1×2".into()));
        assert_eq!(of(1, 8, 2, 4), ("2×4".into(), "2×1".into()));
        assert_eq!(of(1, 1, 16, 4), ("1×1".into(), "4×4".into()));
        assert_eq!(of(8, 1, 2, 4), ("1×1".into(), "1×2".into()));
    }

    #[test]
    fn boundaries_cross_nodes_only_where_ranks_do() {
        let of = |pp, mp, dp, g| Communicators::of(&layout(pp, mp, dp, g)).boundaries;
        // Two stages of two GPUs on each node of four: every other boundary, and the way back, leave it.
        assert_eq!(of(4, 2, 1, 4), [WITHIN, BETWEEN, WITHIN, BETWEEN]);
        assert_eq!(of(2, 2, 1, 4), [WITHIN, WITHIN]);
        assert_eq!(of(2, 2, 2, 4), [BETWEEN, BETWEEN]);
        // Three stages of three on nodes of eight: the third stage lies on both.
        assert_eq!(of(3, 3, 1, 8), [WITHIN, BETWEEN, BETWEEN]);
        assert!(of(1, 4, 4, 4).is_empty());
    }
}
