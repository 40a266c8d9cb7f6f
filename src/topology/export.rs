//! Exports of schedules: result CSV, JSON, a trace for Perfetto, a plan of MSCCL++, an algorithm of MSCCL, and the
//! topology.

use serde::Serialize;

use super::{
    conditions::CollectiveRequest,
    model::{Topology, Unit},
    msccl, mscclpp, result,
    shape::Shape,
    time::Clock,
    timeline::Timeline,
    trace,
};
use crate::{
    report::TextFile,
    schedule::{demand::Demand, plan::Schedule, problem::Problem},
    text::json,
    units::grouped,
};

/// The file formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Transfers link after link, as CSV.
    Csv,
    /// The schedule as JSON, with its problem and bound.
    Json,
    /// A trace for Perfetto and Chrome.
    Perfetto,
    /// An algorithm of MSCCL, as XML.
    Msccl,
    /// An execution plan of MSCCL++, as JSON.
    Mscclpp,
    /// The links of the topology, as CSV.
    Topology,
}

/// A schedule with the problem that it solves: all that a file needs.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The topology over which the schedule sends.
    pub topology: &'a Topology,
    /// The collective with the size of its chunks.
    pub request: &'a CollectiveRequest,
    /// The problem that the schedule solves, in ticks.
    pub problem: &'a Problem,
    /// The length of a tick in ns.
    pub clock: &'a Clock,
    /// The schedule, whose times are ticks of the clock.
    pub schedule: &'a Schedule,
    /// The lower bound of its time, in ns.
    pub bound_ns: f64,
}

/// The most transfers of an exported file: as text a transfer takes about ten times its memory.
const MAX_WRITTEN_TRANSFERS: usize = 2_000_000;

/// Why a schedule can't be exported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExportError {
    /// It has more than `MAX_WRITTEN_TRANSFERS` transfers.
    #[error(
        "the schedule has {} transfers, more than a file can have (at most {}); take fewer chunks",
        grouped(*.0 as u64),
        grouped(MAX_WRITTEN_TRANSFERS as u64)
    )]
    TooLong(usize),
    /// Returned when MSCCL can't express the schedule.
    #[error(transparent)]
    Msccl(#[from] msccl::ExportError),
    /// Returned when MSCCL++ can't express the schedule.
    #[error(transparent)]
    Mscclpp(#[from] mscclpp::WriteError),
    /// The algorithm violates a rule of the runtime.
    #[error("the algorithm would break a rule of the runtime: {0}")]
    Rule(#[from] msccl::RuleError),
    /// The algorithm does not compute the collective.
    #[error("the algorithm would not run: {0}")]
    Run(#[from] msccl::RunError),
}

#[derive(Serialize)]
struct ScheduleJson<'a> {
    topology: &'a str,
    collective: &'a str,
    nodes: u32,
    chunk_bytes: u64,
    chunks: usize,
    time_ns: f64,
    bound_ns: f64,
    links: Vec<LinkJson>,
}

#[derive(Serialize)]
struct LinkJson {
    from: u32,
    to: u32,
    latency_ns: f64,
    /// In GiB/s or GB/s; `None` where it is infinite.
    bandwidth: Option<f64>,
    unit: &'static str,
    transfers: Vec<TransferJson>,
}

#[derive(Serialize)]
struct TransferJson {
    chunk: u32,
    start_ns: f64,
    end_ns: f64,
    reduces: bool,
}

/// Refuses a number of transfers that is more than a format takes.
///
/// # Errors
/// Returns the [`ExportError`] of the format.
pub fn check_length(form: Form, transfers: usize) -> Result<(), ExportError> {
    match form {
        Form::Topology => Ok(()),
        Form::Mscclpp if transfers > mscclpp::MOST_TRANSFERS => Err(mscclpp::WriteError::Transfers(transfers).into()),
        Form::Msccl if transfers > msccl::MOST_TRANSFERS => Err(msccl::ExportError::Transfers(transfers).into()),
        _ if transfers > MAX_WRITTEN_TRANSFERS => Err(ExportError::TooLong(transfers)),
        _ => Ok(()),
    }
}

/// Exports a schedule.
///
/// # Errors
/// Returns an [`ExportError`] if the format can't express the schedule.
pub fn write(material: &Material<'_>, timeline: Option<&Timeline>, form: Form) -> Result<TextFile, ExportError> {
    let Material { topology, request, problem, clock, schedule, bound_ns } = *material;
    let graph = &problem.graph;
    let demand = problem.copy.as_ref().or(problem.reduce.as_ref());
    let chunks = demand.map_or(0, Demand::chunks);
    let name = |extension: &str| result::file_name(topology, request.key(), extension);
    Ok(match form {
        Form::Csv => TextFile {
            name: name("csv"),
            text: result::write(topology, graph, schedule, clock, chunks, request),
            note: "A result file with times in ns: chunk:start:end for each transfer of each link.".to_owned()
                + decimal(topology),
        },
        Form::Json => {
            let mut links: Vec<LinkJson> = topology
                .links
                .iter()
                .map(|link| LinkJson {
                    from: link.from,
                    to: link.to,
                    latency_ns: link.latency_ns,
                    bandwidth: Some(link.bandwidth).filter(|bandwidth| bandwidth.is_finite()),
                    unit: topology.unit.name(),
                    transfers: Vec::new(),
                })
                .collect();
            for (index, transfer) in schedule.transfers.iter().enumerate() {
                links[transfer.link as usize].transfers.push(TransferJson {
                    chunk: transfer.chunk,
                    start_ns: clock.ns(transfer.start),
                    end_ns: clock.ns(transfer.end(graph)),
                    reduces: index < schedule.reducing,
                });
            }
            let told = ScheduleJson {
                topology: &topology.name,
                collective: request.key(),
                nodes: topology.nodes,
                chunk_bytes: request.chunk_bytes,
                chunks,
                time_ns: clock.ns(schedule.end(graph)),
                bound_ns,
                links,
            };
            TextFile {
                name: name("json"),
                text: json::indented(&told) + "\n",
                note: "The schedule as JSON, times in ns.".to_owned(),
            }
        }
        Form::Perfetto => {
            let timeline = timeline.ok_or(ExportError::TooLong(schedule.transfers.len()))?;
            TextFile {
                name: name("trace.json"),
                text: trace::perfetto(timeline, &|node| topology.label(node)),
                note: "A trace: open it with ui.perfetto.dev or chrome://tracing.".to_owned(),
            }
        }
        Form::Msccl => {
            let collective = request.collective.ok_or(msccl::ExportError::Collective)?;
            let algo =
                msccl::write(graph, schedule, collective, request.chunks as usize, &name("xml").replace(".xml", ""))?;
            let text = algo.to_xml();
            // Read the algorithm back by the rules of the runtime and run it, with less buffer than the runtime has.
            msccl::run_with_capacity(&msccl::Algo::read(&text)?, 1)?;
            TextFile { name: name("xml"), text, note: msccl::HOW_TO_RUN.to_owned() }
        }
        Form::Mscclpp => {
            let collective = request.collective.ok_or(mscclpp::WriteError::Collective)?;
            let nodes = match &topology.shape {
                // Groups of a form are no machines: those of a dump are.
                Some(Shape::Groups(groups)) if !topology.labels.is_empty() => Some(&groups[..]),
                _ => None,
            };
            let (chunks, file) = (request.chunks as usize, name("plan.json"));
            let plan_name = file.trim_end_matches(".plan.json");
            let text =
                mscclpp::write(&mscclpp::PlanInput { name: plan_name, graph, schedule, collective, chunks, nodes })?;
            TextFile { name: file, text, note: mscclpp::HOW_TO_RUN.to_owned() }
        }
        Form::Topology => TextFile {
            name: result::file_name(topology, "topology", "csv"),
            text: topology_csv(topology),
            note: format!("The links; bandwidths are in {}.", topology.unit.name()) + decimal(topology),
        },
    })
}

/// A note for files with decimal bandwidths.
fn decimal(topology: &Topology) -> &'static str {
    match topology.unit {
        Unit::Gib => "",
        Unit::Gb => {
            " Its header says that bandwidths are in 10^9 bytes per second; programs that take them for GiB/s are 7 % off."
        }
    }
}

/// The topology as CSV, in the format that [`super::read`] reads.
pub fn topology_csv(topology: &Topology) -> String {
    let mut text = format!("{}\nSrc,Dest,Latency (ns),{}\n", topology.nodes, topology.unit.header());
    for link in &topology.links {
        text += &format!("{},{},{},{}\n", link.from, link.to, link.latency_ns, link.bandwidth);
    }
    text
}
