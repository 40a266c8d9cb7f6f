//! Tuning: from sweeps to configurations, tuner files, plans and comparisons.

#[path = "../support/mod.rs"]
mod support;

mod ab_scripts;
mod ab_verdicts;
mod accuracy;
mod between_sizes;
mod built_in_tables;
mod c_readers;
mod compare_states;
mod cost_model;
mod coverage;
mod decisions;
mod hotspots;
mod logs;
mod ncclx;
mod panels;
mod plan;
mod plan_strategies;
mod reach;
mod screening;
mod tuner_files;
