//! Policy: from reward logs to decisions, and strategies in simulated worlds.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod reward_logs;
mod strategies;
