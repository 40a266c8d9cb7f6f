//! What can be chosen in the topology workbench.

use crate::form;

#[derive(Clone, Copy)]
pub(super) enum Group {
    Links,
    Machine,
    Search,
    Edits,
    Damage,
    Robustness,
    Comparison,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        const TITLES: [&str; 7] = [
            "Link rates",
            "Machine",
            "Seed and time limit",
            "Added and removed links",
            "Damaged links and nodes",
            "Robustness",
            "Comparison",
        ];
        Self { number: group as u8, title: TITLES[group as usize].into() }
    }
}
