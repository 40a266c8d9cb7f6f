//! `collectune topology`: from a graph of links to a schedule of a collective.

mod graph;
mod rings;
mod synthesize;
mod verify;

pub(super) use self::graph::is_form;

use super::commands;

commands! {
    /// Link graphs and dumps of machines: a verified schedule of a collective, and its distance to a lower bound
    Topology {
        Synthesize(synthesize::Synthesize),
        Rings(rings::FindRings),
        Verify(verify::Verify),
    }
}
