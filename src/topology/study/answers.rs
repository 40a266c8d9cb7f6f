//! The requests to a study and its answers.

use super::super::{
    dump::{Pattern, Rates},
    generate::Recipe,
    layout::Place,
    model::Topology,
    timeline::Timeline,
};
use crate::{plot::Chart, text::Listing};

/// Where a topology comes from, with the rates of its links.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A loaded dump of a machine, by its index, with rates.
    Machine(u32, Rates),
    /// A form such as a ring or a mesh, with its sizes and rates.
    Made(Recipe),
    /// A topology as it was read or edited, with rates of its own.
    Edited(Topology),
}

/// A chosen topology with what is shown beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opened {
    /// The topology, which holds a valid graph.
    pub topology: Topology,
    /// Where each node is drawn, in the order of nodes.
    pub places: Vec<Place>,
    /// What was assumed or damaged, a sentence each.
    pub notes: Vec<String>,
    /// The GPUs of a machine with their paths and ports.
    pub machine: Option<Listing>,
    /// The dumped rings and trees, to be drawn over the topology.
    pub patterns: Vec<Pattern>,
}

/// How far a search has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchStatus {
    /// The time of the best schedule so far, in ns.
    pub time_ns: Option<f64>,
    /// The bound that is shown (the largest of L2, L3 and L4), in ns.
    pub bound_ns: f64,
    /// The proven lower bound, in ns.
    pub proven_ns: f64,
    /// Whether the schedule is proven to be optimal.
    pub is_optimal: bool,
    /// Whether it is proven to be optimal among schedules that complete the reduction before they copy.
    pub is_optimal_in_parts: bool,
    /// Whether the search can still find a better schedule or a proof.
    pub is_working: bool,
    /// The standing of the search, as a sentence.
    pub sentence: String,
}

/// The best schedule so far with all that is shown of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// How far the search has come.
    pub status: SearchStatus,
    /// What the schedule is and how good it is, in sentences.
    pub sentences: Vec<String>,
    /// The schedule over time; `None` if it can't be drawn, being wrong or too long.
    pub timeline: Option<Timeline>,
    /// The nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// A row for each lower bound, with its time and why it holds.
    pub bounds: Listing,
    /// A row for each link, with what it carries.
    pub links: Listing,
    /// The table of the critical path.
    pub critical: Listing,
    /// The chart of busy links over time.
    pub utilisation: Option<Chart>,
    /// The chart of arrivals over time.
    pub progress: Option<Chart>,
}

/// The result of verifying a result file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// The dialect's name for people.
    pub dialect: String,
    /// What was found, a whole sentence each.
    pub sentences: Vec<String>,
    /// The faults of the schedule; empty for a valid one.
    pub faults: Vec<String>,
    /// Whether there may be more faults: the search for them stops at
    /// [`MAX_FAULTS`](crate::schedule::verify::MAX_FAULTS).
    pub is_cut: bool,
    /// The time of the schedule, in ns.
    pub time_ns: f64,
    /// The lower bound of all schedules, in ns.
    pub bound_ns: f64,
    /// The time that the file claims, in ns.
    pub claimed_ns: Option<f64>,
    /// The schedule over time; `None` if it can't be drawn, being wrong or too long.
    pub timeline: Option<Timeline>,
}
