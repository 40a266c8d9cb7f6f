//! The command line: what each command says and writes, and how it ends.

#[path = "../support/mod.rs"]
mod support;

mod conf_and_coverage;
mod copied_commands;
mod cost_model;
mod former_names;
mod overlap_wrong_answers;
mod policy;
mod policy_repeats;
mod policy_wrong_answers;
mod reach;
mod terminal;
mod topology;
mod topology_wrong_answers;
mod train_and_predict;
mod training_time;
mod training_time_wrong_answers;
mod tune;
mod tuning_wrong_answers;
