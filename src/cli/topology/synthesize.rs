//! `collectune topology synthesize`: a schedule of a collective for a graph of links.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::{
    Args,
    builder::{PathBufValueParser, TypedValueParser},
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::graph::{WantedArguments, topology};
use crate::{
    cli::{
        arguments,
        error::{CliError, refuse},
        files,
        json::object,
        save, table, terminal,
    },
    progress::{Progress, Silent},
    schedule::synthesize::Method,
    text::{Column, Entry, Listing},
    topology::{
        export::Form,
        listing,
        model::Unit,
        robust,
        study::{Source, Study, StudyError},
    },
};

/// Find a schedule of a collective for a graph of links, and its distance to a lower bound
///
/// Reads a topology as CSV (the number of nodes, a header, and Src,Dest,Latency (ns),Bandwidth (GB/s) for each link in
/// one direction), or makes one: ring:5, mesh:4x4, torus:8x8, hypercube:4, full:8, dgx1v, switch:8, fattree:4x8,
/// twogroups:4x2, random:16:3:1. Every schedule is verified before it is shown.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune topology synthesize graph.csv --collective all_gather -o schedule.csv
  collectune topology synthesize mesh:8x8 --collective all_reduce --chunk 4MiB -o mesh.plan.json")]
pub(in crate::cli) struct Synthesize {
    /// A topology as CSV, or a form: mesh:4x4
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,

    #[command(flatten)]
    wanted: WantedArguments,

    /// The synthesizer that looks for a schedule
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = arguments::one_of(&Method::ALL, Method::name))]
    synthesizer: Method,

    /// When to stop and take the best so far: 500ms, 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time_limit: Duration,

    /// Save the schedule: .plan.json (an execution plan of MSCCL++), .csv (a result file with times in ns), .json,
    /// .trace.json (Perfetto) or .xml (an algorithm of MSCCL, for RCCL before ROCm 7.13)
    #[arg(short, long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(output))]
    output: Option<(PathBuf, Form)>,

    /// Save the topology as CSV
    #[arg(long, value_name = "FILE")]
    save_topology: Option<PathBuf>,

    /// Say how the schedule does when bandwidths vary and links are slow or dead
    #[arg(long)]
    robustness: bool,

    /// Number of machines of a dump (NCCL_TOPO_DUMP_FILE) to join by a switch [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,

    /// Seed of what is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is no time; write 500ms, 10s or 2m");
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().ok().ok_or_else(wrong)?;
    Duration::try_from_secs_f64(number * unit).ok().ok_or_else(wrong)
}

/// A file and the form that its name says.
fn output(path: PathBuf) -> Result<(PathBuf, Form), String> {
    let lower = path.to_string_lossy().to_ascii_lowercase();
    let form = [
        (".trace.json", Form::Perfetto),
        (".plan.json", Form::Mscclpp),
        (".json", Form::Json),
        (".csv", Form::Csv),
        (".xml", Form::Msccl),
    ];
    let form = form.iter().find(|(extension, _)| lower.ends_with(extension));
    form.map(|(_, form)| (path, *form))
        .ok_or_else(|| "the name of a schedule ends in .plan.json, .csv, .json, .trace.json or .xml".to_owned())
}

/// Decisions between two looks at the clock.
const SLICE: u64 = 100_000;

impl Synthesize {
    pub(super) fn run(self) -> Result<(), CliError> {
        let topology = topology(&self.graph, &self.wanted, self.nodes)?;
        let wanted = self.wanted.wanted()?;
        self.save_topology.iter().try_for_each(|path| save::check("topology", path))?;
        self.output.iter().try_for_each(|(path, _)| save::check("schedule", path))?;
        let method = self.synthesizer;
        let mut study = Study::default();
        let about = self.wanted.about::<StudyError>(&self.graph);
        study.open(Source::Edited(topology)).map_err(&about)?;
        if let Some((_, form)) = &self.output {
            study.check_form(&wanted, *form).map_err(&about)?;
        }
        let begin = Instant::now();
        let mut bar = terminal::Bar::new();
        let mut standing = study.begin(wanted, method, self.seed, SLICE, &mut bar).map_err(about)?;
        // Until there is something to take, no time is over.
        while standing.is_working && (begin.elapsed() < self.time_limit || standing.time_ns.is_none()) {
            let (spent, limit) = (begin.elapsed().as_millis() as u64, self.time_limit.as_millis() as u64);
            bar.report(&format!("Looking for a schedule: {}", standing.sentence), spent.min(limit), limit);
            standing = study.improve(SLICE, &mut Silent)?;
        }
        drop(bar);
        if standing.time_ns.is_none() {
            let why = method.made_for().unwrap_or("it has nothing more to try");
            let by = method.name();
            return refuse(format!("{by} makes no schedule here: {why}; take --synthesizer auto"));
        }
        let synthesis_ms = begin.elapsed().as_secs_f64() * 1000.0;
        if let Some(path) = &self.save_topology {
            export(&study, Form::Topology, path, "topology")?;
        }
        if let Some((path, form)) = &self.output {
            export(&study, *form, path, "schedule")?;
        }
        let (_, clock, search, _) = study.search()?;
        let (schedule, by) = search.best().ok_or(StudyError::NothingFound)?;
        let synthesizers: Vec<&str> = by.iter().map(|method| method.name()).collect();
        let names = synthesizers.join(" and ");
        let mut notes = Vec::new();
        if method != Method::Auto && !standing.is_optimal && !synthesizers.contains(&method.name()) {
            let why = method.made_for().map(|why| format!(": {why}")).unwrap_or_default();
            notes.push(format!("{} found nothing better than {names}{why}", method.name()));
        }
        terminal::say_notes(&notes);
        let robustness = self.robustness.then(|| robustness(&study)).transpose()?;
        if !self.json {
            let shown = study.show()?;
            let (sentences, bounds) = (shown.sentences.join("\n"), table::of_listing(&shown.bounds));
            let robustness = robustness.map(|(text, _)| text).unwrap_or_default();
            return terminal::write(&format!(
                "{sentences}\n\n{bounds}\nFound by {names} in {synthesis_ms:.1} ms.\n{robustness}"
            ));
        }
        let faults = search.problem.faults(&schedule);
        let fluid: f64 = search.bounds().iter().map(|of| clock.fluid_bound_ns(of)).sum();
        terminal::write_json(&object! {
            /// When the last transfer ends.
            time_ns: clock.ns(schedule.end(&search.problem.graph)),
            /// The lower bound on the time of any schedule, in ns: the largest of L2, L3 and L4. See `bounds_in_parts`.
            bound_ns: standing.bound_ns,
            /// The verifier found nothing wrong.
            verified: faults.is_empty(),
            /// Whether no schedule can be shorter.
            proven_optimal: standing.is_optimal,
            /// No schedule that adds all up before it copies is shorter.
            proven_optimal_in_parts: standing.is_optimal_in_parts,
            /// The time in ns that is proven to be a lower bound beyond `bound_ns`.
            proven_bound_ns: standing.proven_ns,
            /// Whether the bounds are sums of two halves, which hold for schedules that add all up before they copy:
            /// one that does both at once may be shorter.
            bounds_in_parts: search.bounds().len() as u64 * search.problem.repetitions() > 1,
            /// L1: what finer chunks could reach, of both halves where there are two.
            fluid_bound_ns: fluid * search.problem.repetitions() as f64,
            synthesis_ms: synthesis_ms,
            synthesizers: synthesizers,
            transfers: schedule.transfers.len(),
            faults: faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            notes: notes,
            #[serde(flatten)]
            robustness: robustness.map(|(_, robustness)| object! { robustness: robustness }),
        })
    }
}

fn export(study: &Study, form: Form, path: &Path, what: &'static str) -> Result<(), CliError> {
    let file = study.export(form)?;
    if study.topology().is_ok_and(|topology| topology.unit == Unit::Gb) && matches!(form, Form::Topology | Form::Csv) {
        terminal::say("note", &format!("{}: {}", files::name(path), file.note));
    }
    if matches!(form, Form::Mscclpp | Form::Msccl) {
        terminal::say("note", &file.note);
    }
    save::save(what, path, file.text)
}

/// How a schedule does when bandwidths vary, and when links and nodes are slow or dead: as text, and for JSON.
fn robustness(study: &Study) -> Result<(String, impl Serialize + use<>), CliError> {
    let question = robust::VariationOptions::default();
    let varied = study.varied(&question)?;
    let mut text = format!("\n{}\n\n", listing::varied(&varied, question.sigma));
    let topology = study.topology()?;
    let effort = robust::effort(study.timeline()?.len(), topology.links.len() + topology.nodes as usize);
    let mut table = |damages: Vec<robust::Damage>, what: &str| -> Result<_, CliError> {
        let listing = study.damaged(&damages, effort)?;
        text += &table::of_listing(&listing);
        if listing.rows.len() < damages.len() {
            let (tried, all) = (listing.rows.len(), damages.len());
            text += &format!("Only the first {tried} of {all} {what} were tried: the schedule is long.\n");
        }
        text.push('\n');
        Ok(records(&listing))
    };
    let links = table((0..topology.links.len() as u32).map(robust::Damage::Link).collect(), "links")?;
    let nodes = table((0..topology.nodes).map(robust::Damage::Node).collect(), "nodes")?;
    let robustness = object! {
        sigma: question.sigma,
        /// The number of simulated runs with varying bandwidths.
        draws: varied.ends_ns.len(),
        nominal_ns: varied.nominal_ns,
        p50_ns: varied.p50_ns,
        p95_ns: varied.p95_ns,
        p99_ns: varied.p99_ns,
        /// Each link damaged, by the names of the columns.
        links: links,
        /// The results with each node damaged.
        nodes: nodes,
    };
    Ok((text, robustness))
}

/// The rows of a table by the names of its columns: numbers where they are, else what stands there.
fn records(listing: &Listing) -> Vec<Map<String, Value>> {
    let cell = |(column, entry): (&Column, &Entry)| {
        let value = entry.number.map_or_else(|| entry.text.clone().into(), Value::from);
        (column.name.to_string(), value)
    };
    listing.rows.iter().map(|row| listing.columns.iter().zip(row).map(cell).collect()).collect()
}
