//! What the page says of each workbench.

use crate::report::Workbench;

/// Words of a workbench.
pub struct Words {
    /// What to drop, and what comes of it.
    pub lead: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// What the example is.
    pub example: &'static str,
    /// What the worker does.
    pub doing: &'static str,
    /// Why there is no answer.
    pub refused: &'static str,
    /// Something was cancelled.
    pub partial: &'static str,
    /// Takes up what was cancelled.
    pub again: &'static str,
    /// Everything was done.
    pub complete: &'static str,
}

/// The words of a workbench.
pub const fn words(workbench: Workbench) -> Words {
    match workbench {
        Workbench::Overlap => Words {
            lead: "Drop kernel metrics and slowdown statistics and see how much slower kernels get beside collectives, \
                   and whether learning predicts it better than no model at all.",
            reads: "Reads merged features (CSV), slowdown statistics (XLSX or CSV) with kernel metrics (CSV, JSON, ncu \
                    --csv), GPU traces of nsys stats, and models of XGBoost as JSON. The example is simulated, not \
                    measured.",
            example: "This is the example: simulated kernels, not a measurement. Drop your own to replace it.",
            doing: "Comparing",
            refused: "Nothing to compare",
            partial: "Not all models were compared.",
            again: "Compare",
            complete: "Every model predicted only what it had not seen.",
        },
        Workbench::Tuning => Words {
            lead: "Drop a sweep of collectives and see which algorithm, protocol and channel count to deploy for each \
                   message size.",
            reads: "Reads the tables of rccl-sweep, logs and tables of nccl-tests and rccl-tests, debug logs of jobs \
                    (NCCL_DEBUG=INFO), tuner files, A/B campaigns, and the reports and models of this page, gzipped or \
                    not. The example is simulated, not measured.",
            ..OTHER
        },
        Workbench::Policy | Workbench::TrainingTime | Workbench::Topology => OTHER,
    }
}

const OTHER: Words = Words {
    lead: "",
    reads: "",
    example: "This is the example: simulated, not measured. Drop your own files to replace it.",
    doing: "Computing",
    refused: "Nothing to compute",
    partial: "Not everything was computed.",
    again: "Go on",
    complete: "Everything was computed.",
};
