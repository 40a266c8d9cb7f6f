//! What a study is asked for, and what it tells.

use super::super::{
    dump::{Pattern, Rates},
    generate::Recipe,
    layout::Place,
    model::Topology,
    timeline::Timeline,
};
use crate::{plot::Chart, text::Listing};

/// Which topology.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A loaded dump of a machine, by its place among them, with rates.
    Machine(u32, Rates),
    /// A form.
    Made(Recipe),
    /// One that was loaded or edited.
    Edited(Topology),
}

/// A topology that was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opened {
    /// The chosen one.
    pub topology: Topology,
    /// Where its nodes stand.
    pub places: Vec<Place>,
    /// What must be known of it.
    pub notes: Vec<String>,
    /// GPUs of a machine, with their paths and ports.
    pub machine: Option<Listing>,
    /// Rings and trees that were dumped, to be drawn over it.
    pub patterns: Vec<Pattern>,
}

/// How far a search is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// The best so far, in ns.
    pub time_ns: Option<f64>,
    /// The bound that is shown (the largest of L2, L3 and L4), in ns.
    pub bound_ns: f64,
    /// What is proven besides, in ns.
    pub proven_ns: f64,
    /// Nothing shorter is possible.
    pub is_optimal: bool,
    /// Nothing shorter is possible that adds all up before it copies.
    pub is_optimal_in_parts: bool,
    /// More work may find something better.
    pub is_working: bool,
    /// In a sentence.
    pub sentence: String,
}

/// The best schedule so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// How far the search is.
    pub standing: Standing,
    /// What the schedule is and how good it is, in sentences.
    pub sentences: Vec<String>,
    /// The schedule.
    pub timeline: Option<Timeline>,
    /// Nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// The bounds, with what makes them.
    pub bounds: Listing,
    /// Every link.
    pub links: Listing,
    /// The critical path.
    pub critical: Listing,
    /// Busy links over time.
    pub utilisation: Option<Chart>,
    /// What has arrived over time.
    pub progress: Option<Chart>,
}

/// A result file that was checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// Its dialect.
    pub dialect: String,
    /// What was found, in sentences.
    pub sentences: Vec<String>,
    /// What is wrong with it; empty where nothing is.
    pub faults: Vec<String>,
    /// There may be more faults: no more are looked for once there are [`MAX_FAULTS`](crate::schedule::verify::MAX_FAULTS) of the schedule.
    pub is_cut: bool,
    /// Its time in ns.
    pub time_ns: f64,
    /// The bound, in ns.
    pub bound_ns: f64,
    /// The time that the file claims, in ns.
    pub claimed_ns: Option<f64>,
    /// The schedule.
    pub timeline: Option<Timeline>,
}
