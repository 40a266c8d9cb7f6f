//! Topology: schedules of collectives over links.

#[path = "../support/mod.rs"]
mod support;

mod mscclpp;
mod schedules;
mod workbench;
