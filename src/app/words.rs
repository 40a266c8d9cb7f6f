//! The texts of each workbench.

use crate::report::Workbench;

/// The texts of a workbench.
pub struct WorkbenchWords {
    /// What to drop, and what it answers.
    pub lead: &'static str,
    /// The formats that it reads.
    pub reads: &'static str,
    /// The sentence above an opened example.
    pub example: &'static str,
    /// The sentence above generated data, if it shows some before a file is loaded.
    pub made: &'static str,
    /// The name of the task of the main worker.
    pub doing: &'static str,
    /// The name of the task of the pool, and of taking in what it did.
    pub doing_jobs: &'static str,
    /// The step of the task while the pool works.
    pub jobs: &'static str,
    /// The heading if it can't answer.
    pub refused: &'static str,
    /// The status if jobs remain after a cancellation.
    pub partial: &'static str,
    /// The label of the button that does the remaining jobs.
    pub again: &'static str,
    /// The status of a complete answer.
    pub complete: &'static str,
}

/// The texts that the page shows for `workbench`.
pub const fn words(workbench: Workbench) -> WorkbenchWords {
    match workbench {
        Workbench::Overlap => WorkbenchWords {
            lead: "Drop kernel metrics and slowdown statistics and see how much slower kernels get beside collectives, \
                   and whether learning predicts it better than no model at all.",
            reads: "Reads merged features (CSV), slowdown statistics (XLSX or CSV) with kernel metrics (CSV, JSON, ncu \
                    --csv), GPU traces (nsys stats, rocprofv3), and models of XGBoost as JSON. The example is simulated, \
                    not measured.",
            example: "This is the example: simulated kernels, not a measurement. Drop your own to replace it.",
            made: "",
            doing: "Comparing",
            doing_jobs: "Comparing",
            jobs: "Predicting what was held out",
            refused: "Nothing to compare",
            partial: "Not all models were compared.",
            again: "Compare",
            complete: "Each model was tested on kernels that it was not fitted on.",
        },
        Workbench::Tuning => WorkbenchWords {
            lead: "Drop a sweep of collectives and see which algorithm, protocol and channel count to deploy for each \
                   message size.",
            reads: "Reads the tables of rccl-sweep, logs and tables of nccl-tests and rccl-tests, debug logs of jobs \
                    (NCCL_DEBUG=INFO), tuner files, A/B campaigns, and the reports and models of this page, gzipped or \
                    not. The example is simulated, not measured.",
            example: "This is the example: a simulated sweep, not a measurement. Drop your own to replace it.",
            made: "",
            doing: "Training",
            doing_jobs: "Validating",
            jobs: "Predicting what was held out",
            refused: "Nothing was learnt",
            partial: "",
            again: "Train",
            complete: "Validation is done.",
        },
        Workbench::TrainingTime => WorkbenchWords {
            lead: "Drop a model's config.json, or samples of single operators and collectives, and see what a training step \
                   costs with a layout, what it is made of, whether it fits, and which layout is best.",
            reads: "Reads folders or zips of samples (CSV) of estimate-train-time with their regressor and sampling \
                    configurations, run configurations (YAML, or vTrain's JSON), measured steps, all-reduce tables, \
                    saved XGBoost regressors and catalogues. A config.json of Hugging Face, TorchTitan's TOML or \
                    arguments of Megatron-LM need no samples, and steps of your own make their estimate sharper. The \
                    example is simulated, not measured.",
            example: "This is the example: simulated samples, not measurements. Drop your own to replace them.",
            made: "An estimate without samples, of a model that is known by name. Drop a config.json to estimate another one.",
            doing: "Predicting",
            doing_jobs: "Predicting",
            jobs: "Predicting what was held out",
            refused: "Nothing to predict",
            partial: "Not all regressors were trained.",
            again: "Go on",
            complete: "The errors are those at samples, or published steps, that were held out.",
        },
        Workbench::Topology => WorkbenchWords {
            lead: "Drop a link graph, or the topology dump of NCCL or RCCL, and see a schedule of a collective for it, \
                   how far it can be from the best possible one, and why.",
            reads: "Reads topologies as CSV, NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE as XML, schedules as CSV, \
                    plans of MSCCL++ and conditions of a collective as JSON, and algorithms of MSCCL as XML. The example is generated, not measured.",
            example: "This is the example: a generated graph. Drop your own to replace it.",
            made: "This is the example: a generated graph. Drop your own to replace it.",
            doing: "Synthesizing",
            doing_jobs: "Synthesizing",
            jobs: "",
            refused: "Nothing to synthesize",
            partial: "Not all synthesizers were run.",
            again: "Go on",
            complete: "Every schedule that is shown was verified.",
        },
        Workbench::Policy => WorkbenchWords {
            lead: "Drop reward logs of a job's tuner, and see what a bandit would have learnt, what it would have cost, \
                   and whether any arm is worth deploying.",
            reads: "Reads reward logs, lists of times, means of episodes and of arms (JSON, CSV), and the policy files and \
                    records by whose schedule arms ran. The example is simulated, not measured.",
            example: "This is the example: simulated rewards, not measurements. Drop your own to replace them.",
            made: "The strategies run on simulated latencies. Drop a reward log to run them on measured ones.",
            doing: "Replaying",
            doing_jobs: "Replaying",
            jobs: "Running seeds",
            refused: "Nothing to replay",
            partial: "Not everything was replayed.",
            again: "Go on",
            complete: "Each estimate is shown with its uncertainty.",
        },
    }
}
