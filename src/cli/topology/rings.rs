//! `collectune topology rings`: rings for a machine, as a graph file of NCCL.

use std::path::PathBuf;

use clap::Args;

use super::graph;
use crate::{
    cli::{
        error::{CliError, told},
        json::object,
        save, terminal,
    },
    topology::nccl_graph,
};

/// Find rings for a machine that carry the most together, and write them as a graph file of NCCL
///
/// Reads a dump of a machine (NCCL_TOPO_DUMP_FILE) with the bandwidths that NCCL counts for PCIe, NVLink and between
/// CPUs. What NCCL made of it itself is checked by `collectune topology verify graph.xml --graph topology.xml`.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune topology rings topology.xml -o rings.xml
  collectune topology verify rings.xml --graph topology.xml")]
pub(in crate::cli) struct FindRings {
    /// The dump of the machine
    #[arg(value_name = "TOPOLOGY")]
    machine: PathBuf,

    /// Write the rings as a graph file, for NCCL_GRAPH_FILE
    #[arg(short, long, value_name = "FILE.xml")]
    output: Option<PathBuf>,

    /// Bandwidth of one link of a generation of GPUs, in one direction: sm_90=20.6
    #[arg(long, value_name = "GENERATION=GB/S", value_parser = graph::rate)]
    rate: Vec<(String, f64)>,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

impl FindRings {
    pub(super) fn run(self) -> Result<(), CliError> {
        self.output.iter().try_for_each(|path| save::check("graph file", path))?;
        let (machine, rates) = graph::machine(&self.machine, &self.rate)?;
        let found = nccl_graph::rings(&machine, &rates).map_err(|error| told(error.to_string()))?;
        if let Some(path) = &self.output {
            terminal::say("note", nccl_graph::HOW_TO_RUN);
            save::save("graph file", path, found.text.clone())?;
        }
        if self.json {
            return terminal::write_json(&object! {
                /// The GPUs of each channel by their device numbers, in order.
                channels: &found.channels,
                /// What each channel carries, in GB/s.
                each_gbps: found.each_gbps,
                /// What all carry, in GB/s: the most that the busbw can be.
                total_gbps: found.total_gbps(),
                /// The link that gives no more.
                tightest_link: found.tightest,
            });
        }
        terminal::write(&(found.sentence() + "\n"))
    }
}
