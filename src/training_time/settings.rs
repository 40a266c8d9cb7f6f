//! What can be chosen in the training time workbench.

use crate::form;

/// The groups of fields.
#[derive(Clone, Copy)]
pub(super) enum Group {
    /// The run to predict.
    Run,
    /// Other times of collectives and operators.
    WhatIf,
    /// The search for layouts.
    Search,
    /// Measured steps.
    Calibration,
    /// Rows and files of samples.
    Samples,
    /// Entries that are typed.
    Catalogue,
    /// What is learnt.
    Regressors,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        let title = match group {
            Group::Run => "Run",
            Group::WhatIf => "What if",
            Group::Search => "Layouts",
            Group::Calibration => "Calibration",
            Group::Samples => "Health of the samples",
            Group::Catalogue => "Catalogue",
            Group::Regressors => "Regressors",
        };
        Self { number: group as u8, title: title.into() }
    }
}
