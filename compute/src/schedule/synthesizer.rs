//! What the searches for schedules have in common: the trait, its state and its result.

use super::{bound::Bounds, plan::Schedule, problem::Task};

/// The algorithms by which schedules are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// All algorithms that apply to the collective and the graph, one after the other, until one meets the bound.
    #[default]
    Auto,
    /// TACOS's random matching (arXiv 2304.05301), with a test of causality.
    Tacos,
    /// One greedy schedule: earliest arrival first, and of the chunks the one that the fewest nodes have.
    Earliest,
    /// Greedy schedules from many seeds, some with slow links that start later.
    Restarts,
    /// A beam search over the states of greedy schedules.
    Beam,
    /// A closed construction for vertex-transitive graphs: rings, tori, hypercubes.
    Symmetric,
    /// Routing over nodes that relay chunks they do not want.
    Routed,
    /// Exhaustive search for an optimal schedule, for small graphs.
    Exact,
}

impl Method {
    /// All algorithms.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::Tacos,
        Self::Earliest,
        Self::Restarts,
        Self::Beam,
        Self::Symmetric,
        Self::Routed,
        Self::Exact,
    ];

    /// The algorithms that the page offers: without the beam search, which does not beat restarts in the same time
    /// (docs/topology.md).
    pub const OFFERED: [Self; 7] =
        [Self::Auto, Self::Tacos, Self::Earliest, Self::Restarts, Self::Symmetric, Self::Routed, Self::Exact];

    /// What the algorithm is limited to, as a clause; `None` where it takes every collective and graph.
    pub const fn made_for(self) -> Option<&'static str> {
        match self {
            Self::Symmetric => Some(
                "it is for all_gather, reduce_scatter and all_reduce on graphs that look the same from every node, such as rings \
                 and tori",
            ),
            Self::Exact => Some("it is for up to 16 nodes and 128 chunks"),
            Self::Beam => Some("beyond 20,000 pairs of a chunk and a node restarts take its place"),
            _ => None,
        }
    }

    /// The name on the command line and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tacos => "tacos",
            Self::Earliest => "earliest",
            Self::Restarts => "restarts",
            Self::Beam => "beam",
            Self::Symmetric => "symmetric",
            Self::Routed => "routed",
            Self::Exact => "exact",
        }
    }
}

/// Whether a search can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchState {
    /// More work may find a shorter schedule.
    Working,
    /// Nothing is left to try, or the bound is met.
    Finished,
}

/// A schedule of one part of a collective.
#[derive(Clone, Debug)]
pub struct PartSchedule {
    /// The schedule, in the direction of copying.
    pub schedule: Schedule,
    /// When its last transfer ends, in ticks.
    pub time: u64,
    /// The algorithm that found it.
    pub by: Method,
}

/// A search for a schedule of one part of a collective, in slices: between two slices it can be stopped, and `best`
/// holds the shortest schedule so far.
pub trait Synthesizer {
    /// Continues the search for about `effort` decisions on a transfer. Replaces `best` by a shorter schedule, and
    /// raises `bounds` where more is proven.
    fn work(
        &mut self,
        task: &Task<'_>,
        bounds: &mut Bounds,
        best: &mut Option<PartSchedule>,
        effort: u64,
    ) -> SearchState;

    /// Progress of the schedule under construction, as (delivered, total) pairs of a chunk and a node.
    fn progress(&self, _task: &Task<'_>) -> Option<(u64, u64)> {
        None
    }
}

/// Replaces `best` where `schedule` is shorter.
pub(super) fn keep_shorter(best: &mut Option<PartSchedule>, schedule: Schedule, task: &Task<'_>, by: Method) {
    let time = schedule.end(task.graph);
    if best.as_ref().is_none_or(|best| time < best.time) {
        *best = Some(PartSchedule { schedule, time, by });
    }
}
