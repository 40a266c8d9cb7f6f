//! `collectune topology verify`: whether a schedule in a file can be run, and how good it is.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::graph::{self, WantedArguments, topology};
use crate::{
    cli::{
        arguments,
        error::{CliError, refuse, told},
        files, terminal,
    },
    text::visible,
    topology::{
        dump::{self, Dump},
        model::{Topology, Unit},
        msccl, mscclpp,
        nccl_graph::{self, Check},
        result, study,
    },
    units::{capitalised, count},
};

/// Check a schedule that somebody else made: durations, one chunk per link at a time, causality, completeness
///
/// Reads the result files of TACOS, its forks and BEAN TACOS (`chunk`, `chunk:end:start` in ps, `chunk:start:end` in
/// ns), plans of MSCCL++ as JSON and algorithms of MSCCL as XML, which are run, and graph files of NCCL. The exit code
/// is 3 where something is wrong.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune topology verify schedule.csv --graph graph.csv
  collectune topology verify allreduce.json
  collectune topology verify graph.xml --graph topology.xml")]
pub(in crate::cli) struct Verify {
    /// A result file, a plan of MSCCL++, an algorithm of MSCCL, or a graph file of NCCL
    #[arg(value_name = "RESULT")]
    result: PathBuf,

    /// The topology that it is for, as a file or as a form; the result's own links where not given. Of an algorithm
    /// each connection has to be one of its links
    #[arg(long, value_name = "GRAPH")]
    graph: Option<PathBuf>,

    #[command(flatten)]
    wanted: WantedArguments,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Default, Serialize)]
struct Checked {
    verified: bool,
    dialect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<f64>,
    /// The time in ns that the file claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_ns: Option<f64>,
    faults: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip)]
    sentences: Vec<String>,
}

impl Verify {
    pub(super) fn run(self) -> Result<(), CliError> {
        let text = files::text(&self.result)?;
        let checked = match () {
            () if dump::is_dump(&text) => self.graphs(&text)?,
            () if text.trim_start().starts_with('<') => self.algorithm(&text)?,
            () if mscclpp::is_plan(&text) => self.plan(&text)?,
            () if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) => {
                return refuse(format!(
                    "{} is JSON, and no execution plan of MSCCL++, which has gpus with threadblocks; a schedule is given \
                     as the CSV that `collectune topology synthesize -o` writes",
                    files::name(&self.result)
                ));
            }
            () => self.schedule(&text)?,
        };
        if self.json {
            terminal::write_json(&checked)?;
        } else {
            let faults = checked.faults.iter().map(|fault| format!("- {fault}\n")).collect::<String>();
            terminal::write(&(checked.sentences.join("\n") + "\n" + &faults))?;
        }
        if checked.verified { Ok(()) } else { Err(CliError::Found) }
    }

    fn schedule(&self, text: &str) -> Result<Checked, CliError> {
        let name = files::name(&self.result);
        let unit = if self.wanted.decimal { Unit::Gb } else { Unit::Gib };
        let result = result::read(text, &name, unit);
        let result = result.map_err(|error| told(format!("{name} can't be used: {error}")))?;
        let topology = self.graph()?;
        let nodes = topology.as_ref().unwrap_or(&result.topology).nodes;
        let wanted = self.wanted.asked(&result, nodes)?;
        let about = self.wanted.about(&self.result);
        let verified = study::check(&result, topology.as_ref(), wanted).map_err(about)?;
        Ok(Checked {
            verified: verified.faults.is_empty(),
            dialect: verified.dialect,
            time_ns: Some(verified.time_ns),
            bound_ns: Some(verified.bound_ns),
            claimed_ns: verified.claimed_ns,
            faults: verified.faults,
            notes: Vec::new(),
            sentences: verified.sentences,
        })
    }

    /// The graph, where one is given; what is said of a graph needs one.
    fn graph(&self) -> Result<Option<Topology>, CliError> {
        let Some(path) = &self.graph else {
            let of_graphs = ["merge", "latency", "bandwidth", "slow_latency", "slow_bandwidth", "rate"];
            arguments::refuse_unused(&of_graphs, " without --graph")?;
            return Ok(None);
        };
        topology(path, &self.wanted, None).map(Some)
    }

    /// A plan of MSCCL++, run; with a graph, each pair of ranks between which it moves data has to be a link.
    fn plan(&self, text: &str) -> Result<Checked, CliError> {
        let why = ": a plan of MSCCL++ says itself what it computes, in chunks of any size";
        arguments::refuse_unused(&["chunk", "chunks", "root", "conditions"], why)?;
        let topology = self.graph()?;
        if topology.is_none() {
            arguments::refuse_unused(&["decimal"], " without --graph")?;
        }
        let verdict = mscclpp::verdict(text);
        let mut faults = Vec::new();
        let asked = self.wanted.collective.map(|asked| asked.name().replace('_', ""));
        if let Some(asked) = asked.filter(|asked| *asked != verdict.collective) {
            faults.push(format!("it is a plan of {}, and {asked} was asked for", visible(&verdict.collective)));
        }
        let missing =
            |topology: &Topology| msccl::missing_links(verdict.ranks, verdict.pairs.iter().copied(), topology);
        faults.extend(topology.iter().filter(|_| verdict.ranks > 0).flat_map(missing));
        faults.extend(verdict.faults.iter().map(|fault| visible(&fault.to_string()).into_owned()));
        terminal::say_notes(&verdict.notes);
        let mut sentences = vec![verdict.sentence()];
        if verdict.faults.is_empty() && !faults.is_empty() {
            sentences.push("It is not what was asked for.".to_owned());
        }
        if let Some(topology) = topology.filter(|_| faults.is_empty()) {
            sentences.push(format!("Every pair of ranks between which it moves data is a link of {}.", topology.name));
        }
        let verified = faults.is_empty();
        let (dialect, notes) = ("plan of MSCCL++".to_owned(), verdict.notes);
        Ok(Checked { verified, dialect, faults, notes, sentences, ..Checked::default() })
    }

    /// An algorithm of MSCCL, run; with a graph, each pair of ranks that it connects has to be a link.
    /// A graph file of NCCL; with a machine, whether its links give what the channels state.
    fn graphs(&self, text: &str) -> Result<Checked, CliError> {
        let why = ": a graph file has channels, and no collective";
        arguments::refuse_unused(&["collective", "chunk", "chunks", "root", "conditions", "decimal", "merge"], why)?;
        let why = ": a graph file is about bandwidth, which --rate sets";
        arguments::refuse_unused(&["latency", "bandwidth", "slow_latency", "slow_bandwidth"], why)?;
        let name = files::name(&self.result);
        let graphs = match dump::read(text).map_err(|why| told(format!("{name} can't be used: {why}")))? {
            Dump::Patterns(graphs) => graphs,
            Dump::Machine(_) => {
                return refuse(format!(
                    "{name} is a machine; give what NCCL_GRAPH_DUMP_FILE wrote, and {name} as --graph"
                ));
            }
        };
        let machine = match &self.graph {
            Some(path) => Some(graph::machine(path, self.wanted.rate())?),
            None => {
                self.graph()?;
                None
            }
        };
        let checks = nccl_graph::checks(&graphs, machine.as_ref().map(|(machine, rates)| (machine, rates)));
        let faults: Vec<String> = checks
            .iter()
            .flat_map(|check| check.faults.iter().map(|fault| format!("{}: {fault}", check.kind)))
            .collect();
        let notes: Vec<String> = checks.iter().flat_map(|check| check.notes.iter().cloned()).collect();
        terminal::say_notes(&notes);
        let mut sentences = vec![nccl_graph::sentence(&checks)];
        for check in &checks {
            if let (Some(real), Some(tightest)) = (check.real_gbps, &check.tightest) {
                let Check { kind, channels, stated_gbps, .. } = check;
                sentences.push(format!(
                    "{}: {} of {stated_gbps} GB/s stated, {real:.2} by {tightest}.",
                    capitalised(kind),
                    count(*channels as u64, "channel")
                ));
            }
        }
        Ok(Checked {
            verified: faults.is_empty(),
            dialect: "graph file of NCCL".to_owned(),
            faults,
            notes,
            sentences,
            ..Checked::default()
        })
    }

    fn algorithm(&self, text: &str) -> Result<Checked, CliError> {
        let why = ": an algorithm of MSCCL says itself what it computes, in chunks of any size";
        arguments::refuse_unused(&["chunk", "chunks", "root", "conditions"], why)?;
        let topology = self.graph()?;
        if topology.is_none() {
            arguments::refuse_unused(&["decimal"], " without --graph")?;
        }
        let mut faults = Vec::new();
        let mut refused = "It can't be run".to_owned();
        let sentence = match msccl::Algo::read(text) {
            Err(error) => {
                faults.push(error.to_string());
                None
            }
            Ok(algo) => {
                let asked = self.wanted.collective.map(|asked| asked.name().replace('_', ""));
                if let Some(asked) = asked.filter(|asked| *asked != algo.collective) {
                    faults.push(format!("it is an algorithm of {}, and {asked} was asked for", algo.collective));
                }
                faults.extend(topology.iter().flat_map(|topology| msccl::not_in(&algo, topology)));
                let verdict = msccl::verdict(&algo);
                verdict.map_err(|refusal| (refused, _) = (refusal.meaning, faults.push(refusal.why))).ok()
            }
        };
        let mut sentences = vec![sentence.unwrap_or_else(|| refused + ".")];
        if let Some(topology) = topology.filter(|_| faults.is_empty()) {
            sentences.push(format!("Every pair of ranks that it connects is a link of {}.", topology.name));
        }
        Ok(Checked {
            verified: faults.is_empty(),
            dialect: "algorithm of MSCCL".to_owned(),
            faults,
            sentences,
            ..Checked::default()
        })
    }
}
