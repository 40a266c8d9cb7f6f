//! What can be chosen in the topology workbench.

use crate::form;

/// The groups of fields.
#[derive(Clone, Copy)]
pub(super) enum Group {
    /// Bandwidths and latencies.
    Links,
    /// Rates of a dumped machine.
    Machine,
    /// How long is searched.
    Search,
    /// Links of the graph.
    Edits,
    /// What is slow or dead.
    Damage,
    /// Durations that vary, and damage of each link.
    Robustness,
    /// Other synthesizers and seeds.
    Comparison,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        let title = match group {
            Group::Links => "Link rates",
            Group::Machine => "Machine",
            Group::Search => "Seed and time limit",
            Group::Edits => "Added and removed links",
            Group::Damage => "Damaged links and nodes",
            Group::Robustness => "Robustness",
            Group::Comparison => "Comparison",
        };
        Self { number: group as u8, title: title.into() }
    }
}
