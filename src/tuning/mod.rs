//! The tuning workbench: from a sweep of collectives to the configuration to deploy.
//!
//! The files tell the story in the order in which the data walks: [`read`] turns text into rows (by [`columns`]),
//! [`sets`] keeps apart what was measured in different ways ([`origin`]),
//! [`runs`] keeps their measurements, [`stalls`] names those that stalled, [`aggregate`] turns repeats into the points
//! of a [`sweep`], [`decision`] separates them from noise and the default, [`model`] learns busbw from them,
//! [`search`] asks the model for the best configuration, [`validate`] says how far to trust it, [`recommend`] puts one
//! answer together, [`charts`] and [`heat_map`] draw it, [`record`] shows the runs behind it, [`study`] holds it all
//! together, [`loaded`] with the files beside it, [`result`] is what comes out. [`wording`] and [`listing`] say it to
//! people, [`export`] writes it, [`conf`] writes and reads tuner files, [`coverage`] holds them against what a job
//! sends; [`address`] names a view, [`sizes`] reads sizes as people write them, [`log`] reads what nccl-tests and a
//! job's library print ([`job`]), [`reach`] says which calls a tuner decides, [`model_file`] keeps a model,
//! [`simulate`] makes sweeps for examples and benchmarks.
//!
//! What comes after an answer: [`hotspots`] finds where a curve dips, [`plan`] says what to measure next, [`ab`]
//! judges a tuner file by runs with it and without it; [`launch`](crate::launch) writes the launches of both.
//! [`support`] says what can run, [`platform`] where. [`busbw_check`], [`wrong_values`] and [`doubts`] say what the
//! measurements themselves speak against.

pub mod ab;
pub mod address;
pub mod aggregate;
pub mod baselines;
pub mod busbw_check;
pub mod campaign;
mod ceilings;
pub(crate) mod charts;
pub mod columns;
mod command;
pub mod compare;
pub mod conf;
pub mod coverage;
pub mod data_type;
pub mod decision;
pub mod defaults_apart;
pub mod doubts;
pub mod export;
pub mod extrapolation;
pub mod features;
pub mod form;
pub mod heat_map;
pub mod hotspots;
mod intervals;
pub mod job;
pub mod library_choice;
pub(crate) mod listing;
pub mod loaded;
pub(crate) mod log;
pub mod measure;
pub mod model;
pub mod model_file;
pub(crate) mod origin;
pub mod parameters;
pub mod plan;
pub mod platform;
pub mod random_split;
pub mod reach;
pub mod read;
pub mod recommend;
pub mod record;
pub mod report;
pub mod result;
pub mod runs;
pub mod search;
pub mod sets;
pub mod settings;
pub mod simulate;
pub mod sizes;
pub(crate) mod snapshot;
pub mod stalls;
pub mod states;
pub mod study;
pub mod support;
pub mod sweep;
pub mod validate;
pub mod variables;
pub mod wording;
pub mod wrong_values;
