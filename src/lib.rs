//! Collectune turns what a cluster measured into what to deploy.
//!
//! A performance engineer drops a sweep of collectives and gets the algorithm, protocol and channel count to set for
//! each message size, how much that gains over the library's default, and how far to trust it. The library does not
//! depend on a browser. Three small programs use it: the page, its worker, and the command line. Page and worker are
//! separate, so that the page is shown before the worker's code has been fetched.
//!
//! # Modules by layer
//!
//! A module imports from layers below its own, never from its own layer or from above.
//!
//! | layer | module | contents |
//! |---|---|---|
//! | 10 | `main.rs`, `bin/worker.rs`, `bin/cli.rs` | programs of a few lines: page, worker, command line |
//! | 9 | `app` (WebAssembly), `cli` (native) | the page and the command line |
//! | 8 | [`worker`] | the protocol between page and worker, and the executor behind it |
//! | 7 | [`registry`], above it [`intake`] | the list of the workbenches, and the values that one passes to another; recognition of files by their content, and the choice of a reader |
//! | 6 | [`tuning`], [`policy`], [`training_time`], [`topology`], [`overlap`] | the workbenches: algorithm, protocol and channels; which policy reward logs call for; the time of a training step; collectives for a link graph; how much slower kernels get beside collectives |
//! | 5 | [`workbench`], [`measure`] | the contract between a workbench and the page: choices, form, jobs, report, attachments; the commands that make the files of a workbench |
//! | 4 | [`report`], [`command`], [`launch`] | reports: what a workbench found, to be drawn, printed, shared and opened again; command lines that give the same answer in a terminal; launches of nccl-tests as lines of a script |
//! | 3 | [`ceiling`], [`learn`], [`bandit`], [`schedule`], [`pipeline`], [`conf`], [`plot`], [`text`], [`form`] | the busbw that links allow; models and their validation; strategies that learn from rewards; schedules of collectives; stages of a training step; tuner files; charts; delimited text; choices |
//! | 2 | [`collective`] | collectives, algorithms, protocols, workloads, configurations |
//! | 1 | [`archive`], [`sqlite`] | zip and tar archives; tables of a SQLite database |
//! | 0 | [`units`], [`glossary`], [`math`], [`order`], [`progress`], [`crc32`] | sizes and numbers; explanations of terms; functions with the same bits everywhere; sorting; progress; a checksum |
//!
//! [`learn`], [`bandit`], [`schedule`], [`pipeline`], [`math`], [`order`], [`progress`] and the part of [`text`] that
//! splits a stream into records are in the folder `compute`, a crate of their own: the page is built for size, these
//! for speed.
//!
//! The tuner plugin, the folder `plugin`, uses the library without its feature `workbenches`: the basic types, [`conf`]
//! and [`policy::file`].
//!
//! # The life of a file
//!
//! 1. The page posts a file's handle to the worker, as a [`worker::protocol::Request::Load`].
//! 2. [`intake::open`] streams it: inflates, decodes, recognises, and lets [`tuning::read`] turn lines into rows, or
//!    [`tuning::log`] the runs of a log.
//! 3. [`tuning::runs`] keeps every run, [`tuning::stalls`] sets aside those that stalled, and their medians are the
//!    [`tuning::sweep::Sweep`].
//! 4. [`tuning::decision`] decides by the measurements and their noise whether a configuration is better than the
//!    default: the first answer.
//! 5. [`tuning::model`] learns busbw, and [`tuning::search`] finds the configuration with the highest prediction that
//!    can run.
//! 6. [`tuning::recommend`] makes a recommendation for each workload: the second answer.
//! 7. Other workers predict held-out folds ([`tuning::validate`]). Their errors become intervals, and a baseline with a
//!    smaller regret answers instead of the model: the last answer.
//! 8. [`tuning::charts`] makes charts of it, [`plot`] draws them on the page's canvas or as SVG.
//! 9. [`tuning::export`] and [`tuning::model_file`] write it as CSV, Markdown, JSON, or a model; [`tuning::conf`]
//!    writes tuner files.

#[cfg(feature = "workbenches")]
pub mod archive;
#[cfg(feature = "workbenches")]
pub mod ceiling;
pub mod collective;
pub mod conf;
pub mod crc32;
pub mod text;
pub mod units;

/// The part of the policy workbench that the tuner plugin uses: policy files and their types.
#[cfg(not(feature = "workbenches"))]
pub mod policy {
    pub mod arm;
    pub mod bands;
    pub mod chunks;
    pub mod file;
    pub mod key;
    pub mod record;
}

pub use collectune_compute::{bandit, intervals, math, order, progress};

// The plugin doesn't need these modules, and does without the libraries that they use.
#[cfg(all(feature = "workbenches", target_arch = "wasm32"))]
pub mod app;
#[cfg(all(feature = "workbenches", not(target_arch = "wasm32")))]
pub mod cli;
#[cfg(feature = "workbenches")]
pub mod command;
#[cfg(feature = "workbenches")]
pub mod cost_model;
#[cfg(feature = "workbenches")]
pub mod form;
#[cfg(feature = "workbenches")]
pub mod glossary;
#[cfg(feature = "workbenches")]
pub mod intake;
#[cfg(feature = "workbenches")]
pub mod launch;
#[cfg(feature = "workbenches")]
pub mod measure;
#[cfg(feature = "workbenches")]
pub mod overlap;
#[cfg(feature = "workbenches")]
pub mod plot;
#[cfg(feature = "workbenches")]
pub mod policy;
#[cfg(feature = "workbenches")]
pub mod registry;
#[cfg(feature = "workbenches")]
pub mod report;
#[cfg(feature = "workbenches")]
pub mod sqlite;
#[cfg(feature = "workbenches")]
pub mod topology;
#[cfg(feature = "workbenches")]
pub mod training_time;
#[cfg(feature = "workbenches")]
pub mod tuning;
#[cfg(feature = "workbenches")]
pub mod workbench;
#[cfg(feature = "workbenches")]
pub mod worker;

#[cfg(feature = "workbenches")]
pub use collectune_compute::{learn, pipeline, schedule};
