//! The state of the overlap workbench: which run, which columns, whose predictions, what came out.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    overlap::{
        features::Settings,
        request::{Shown, Studied},
    },
    report::Report,
};

/// What is known of kernels beside collectives. Copies are the same.
#[derive(Clone, Copy)]
pub struct Kernels {
    /// Which run, and what models are given.
    pub settings: RwSignal<Settings>,
    /// Whose predictions are shown; `None` for those of the verdict.
    pub shown: RwSignal<Option<Shown>>,
    /// What is known before anything is learnt.
    pub studied: RwSignal<Option<Arc<Studied>>>,
    /// The answer so far.
    pub report: RwSignal<Option<Arc<Report>>>,
    /// Why there is none.
    pub error: RwSignal<Option<String>>,
    /// All models were compared.
    pub is_complete: RwSignal<bool>,
    /// What workers predicted so far, for a new worker that takes the place of one that ended.
    pub(super) folds: StoredValue<Vec<Vec<u8>>>,
}

impl Kernels {
    /// Nothing is known.
    pub fn new() -> Self {
        Self {
            settings: RwSignal::new(Settings::default()),
            shown: RwSignal::new(None),
            studied: RwSignal::new(None),
            report: RwSignal::new(None),
            error: RwSignal::new(None),
            is_complete: RwSignal::new(false),
            folds: StoredValue::new(Vec::new()),
        }
    }

    /// Whether there is an answer.
    pub fn is_there(self) -> bool {
        self.report.with(Option::is_some)
    }

    /// Forgets everything: other files are open.
    pub fn forget(self) {
        self.settings.set(Settings::default());
        self.shown.set(None);
        self.studied.set(None);
        self.report.set(None);
        self.error.set(None);
        self.is_complete.set(false);
        self.folds.set_value(Vec::new());
    }
}
