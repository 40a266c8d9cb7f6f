//! What can be chosen in the training time workbench.

use crate::form;

#[derive(Clone, Copy)]
pub(super) enum Group {
    Run,
    WhatIf,
    Search,
    Calibration,
    Samples,
    Catalogue,
    Regressors,
    Model,
    Estimate,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        const TITLES: [&str; 9] = [
            "Run",
            "What if",
            "Layouts",
            "Calibration",
            "Health of the samples",
            "Catalogue",
            "Regressors",
            "Model",
            "Layout",
        ];
        Self { number: group as u8, title: TITLES[group as usize].into() }
    }
}
