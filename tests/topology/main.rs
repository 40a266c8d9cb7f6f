//! Topology: schedules of collectives over links.

#[path = "../support/mod.rs"]
mod support;

mod mscclpp;
mod nccl_graphs;
mod schedules;
mod workbench;
