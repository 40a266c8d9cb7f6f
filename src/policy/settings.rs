//! What can be chosen in the policy workbench.

use crate::form;

/// The groups of fields.
#[derive(Clone, Copy)]
pub(super) enum Group {
    /// What logs don't say of themselves.
    Attribution,
    /// What is exported.
    Files,
    /// The key that is shown.
    Key,
    /// What strategies play in.
    Strategies,
    /// How strategies decide.
    Parameters,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        let title = match group {
            Group::Attribution => "Which arm ran",
            Group::Files => "Files",
            Group::Key => "Arms",
            Group::Strategies => "Strategies",
            Group::Parameters => "Parameters of strategies",
        };
        Self { number: group as u8, title: title.into() }
    }
}
